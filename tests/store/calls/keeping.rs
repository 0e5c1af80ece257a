//! The commands that look after a store, while their Nth call fails: compaction, backup, restore, salvage. Nothing that
//! was acknowledged is lost, and what is said to be done is done.

use std::fs;
use std::ops::ControlFlow;

use latchkey_embedded::check_directory;

use super::*;

const COMMAND: &str = env!("CARGO_BIN_EXE_latchkey-under-test");

/// A store, and what is made of it where nothing fails.
struct Whole {
    directory: TempDir,
    acknowledged: BTreeMap<String, i64>,
    table: Arc<Schema>,
}

/// What is done to a store: a name, and the arguments; those that begin with `@` are paths in its place.
type Doing = (&'static str, &'static [&'static str]);

const COMPACT: Doing = ("compact", &["store", "compact", "--data", "@data"]);
const BACKUP: Doing = ("backup", &["backup", "--data", "@data", "--out", "@backup"]);
const RESTORE: Doing = ("restore", &["restore", "@backup", "--data", "@again"]);
const SALVAGE: Doing = ("salvage", &["store", "salvage", "--data", "@data", "--out", "@saved"]);

fn command(place: &Path, doing: Doing) -> Command {
    let mut command = Command::new(COMMAND);
    for argument in doing.1 {
        match argument.strip_prefix('@') {
            Some(name) => command.arg(place.join(name)),
            None => command.arg(argument),
        };
    }
    command.env_remove("LATCHKEY_SECRET");
    command
}

impl Whole {
    fn make() -> Whole {
        let directory = tempfile::tempdir().unwrap();
        let acknowledged = written(&directory.path().join("data"));
        let table = Arc::new(Schema::new("Kill").with_index("GSI1"));
        let whole = Whole { directory, acknowledged, table };
        for doing in [BACKUP, SALVAGE, RESTORE] {
            let done = command(whole.directory.path(), doing).output().unwrap();
            assert!(done.status.success(), "{doing:?}: {done:?}");
        }
        whole.check("again", &whole.directory.path().join("again"));
        whole
    }

    /// A file that is made of the store where nothing fails.
    fn made(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap()
    }

    /// All writes are there, and the files are sound.
    fn check(&self, what: &str, data: &Path) {
        let store = Store::open(data, &Options::default());
        let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&store, &self.table, &self.acknowledged);
        drop(store);
        let mut damages = Vec::new();
        let go_on = &mut |_| ControlFlow::Continue(());
        check_directory(data, &Options::default(), go_on, &mut |damage| damages.push(damage))
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(damages.is_empty(), "{what}: {damages:?}");
    }

    /// A copy in a place of its own, what the command did there, and whether it said that it was done.
    fn run(&self, library: &Library, doing: Doing, fault: Fault) -> (TempDir, bool) {
        let place = tempfile::tempdir().unwrap();
        copy(self.directory.path(), place.path());
        if doing == RESTORE {
            fs::copy(self.directory.path().join("backup"), place.path().join("backup")).unwrap();
        }
        let mut command = command(place.path(), doing);
        library.load(&mut command, place.path(), fault);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!told.contains("panicked"), "{doing:?} {fault:?}: {told}");
        let code = output.status.code().unwrap_or_else(|| panic!("{doing:?} {fault:?}: {told}"));
        assert!([0, 1, 2].contains(&code), "{doing:?} {fault:?}: {code} {told}");
        assert!(code == 0 || !told.is_empty(), "{doing:?} {fault:?}: {code} without a word");
        (place, code == 0)
    }
}

/// Runs a command with every fault, and has a function look at what became of it.
fn each(doing: Doing, look: impl Fn(&Whole, &str, &Path, bool)) {
    let (library, most, whole) = (Library::build(), promise::rounds(6), Whole::make());
    let mut progress = Progress::new(doing.0, most);
    let (mut runs, mut refused) = (0, 0);
    for nth in 1..=most {
        for fault in faults(nth) {
            let (place, done) = whole.run(&library, doing, fault);
            let what = format!("{} {fault:?}", doing.0);
            whole.check(&what, &place.path().join("data"));
            look(&whole, &what, place.path(), done);
            (runs, refused) = (runs + 1, refused + usize::from(!done));
        }
        progress.add(1);
    }
    assert!(refused > 5, "{}: {refused} of {runs}", doing.0);
    promise::tell(&format!(
        "{}: {runs} times with a failing call, {refused} refused, 0 of {} writes lost, in {:?}",
        doing.0,
        whole.acknowledged.values().sum::<i64>(),
        progress.spent()
    ));
}

#[test]
fn a_compaction_whose_nth_call_fails_loses_nothing() {
    each(COMPACT, |_, _, _, _| ());
}

#[test]
fn a_backup_whose_nth_call_fails_is_whole_or_not_there() {
    each(BACKUP, |whole, what, place, done| {
        assert!(!place.join("backup.part").exists(), "{what}");
        match fs::read(place.join("backup")) {
            Ok(bytes) => assert!(bytes == whole.made("backup"), "{what}: {} bytes", bytes.len()),
            Err(error) => assert!(!done, "{what}: {error}"),
        }
    });
}

#[test]
fn a_restore_whose_nth_call_fails_is_done_again() {
    each(RESTORE, |whole, what, place, done| {
        let again = place.join("again");
        if !again.join("store.redb").exists() {
            assert!(!done, "{what}: nothing is there");
            let output = command(place, RESTORE).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
        }
        whole.check(what, &again);
    });
}

#[test]
fn a_salvage_whose_nth_call_fails_says_so() {
    each(SALVAGE, |whole, what, place, done| {
        let made = fs::read(place.join("saved/Kill.json")).unwrap_or_default();
        assert!(!done || made == whole.made("saved/Kill.json"), "{what}: {} bytes", made.len());
    });
}
