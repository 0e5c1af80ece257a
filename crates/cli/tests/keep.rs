//! A data directory is backed up, checked, exported, saved and made small, as people do it, while a server has it open
//! and while none has.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

use std::fmt::Write;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

const SYSTEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/participation.md");

fn latchkey(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey"));
    command.args(arguments).env_remove("LATCHKEY_SECRET");
    command
}

fn run(arguments: &[&str], data: &Path) -> Output {
    latchkey(arguments).arg("--data").arg(data).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs a command that must exit with a code.
fn ends(code: i32, arguments: &[&str], data: &Path) -> String {
    let output = run(arguments, data);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    said(&output)
}

/// A server, which is killed if a test fails.
struct Server(Child);

impl Server {
    fn start(data: &Path, more: &[&str]) -> Server {
        let mut command = latchkey(&["serve", SYSTEM, "--listen", "127.0.0.1:0"]);
        command.args(more).arg("--data").arg(data).env("LATCHKEY_LOG", "error");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("health") {}
        Server(child)
    }

    /// Tells it to stop, and returns how long that took.
    fn stop(mut self) -> Duration {
        let started = Instant::now();
        let told = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(told.success());
        assert!(self.0.wait().unwrap().success());
        started.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory with an open lottery, and messages that nobody has worked on.
fn lottery(data: &Path) {
    let call =
        |arguments: &[&str]| ends(0, &[&["call"], arguments, &["--doc", SYSTEM]].concat(), data);
    let made = ["AD-04", "eventId=spring", "title=A draw", "mode=LOTTERY", "winRate:=0.5"];
    call(&[made.as_slice(), &["--as", "ada", "--role", "admin"]].concat());
    for person in ["ann", "bob", "cy", "dee"] {
        call(&["EP-01", "eventId=spring", "--as", person]);
    }
}

/// A directory with many items.
fn many(data: &Path, count: usize) {
    let lines = data.with_extension("json");
    let mut text = String::new();
    for n in 0..count {
        let filler = "x".repeat(300);
        writeln!(
            text,
            r#"{{"Item":{{"PK":{{"S":"P#{n:06}"}},"SK":{{"S":"META"}},"text":{{"S":"{filler}"}}}}}}"#
        )
        .unwrap();
    }
    fs::write(&lines, text).unwrap();
    ends(0, &["import", SYSTEM, "--as-is", "--from", lines.to_str().unwrap()], data);
}

fn export(data: &Path) -> String {
    let output = run(&["export", SYSTEM, "--out", "-"], data);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn waiting(data: &Path) -> u64 {
    let listed = run(&["queue", "ls", "--json", "--doc", SYSTEM], data);
    assert!(listed.status.success(), "{}", said(&listed));
    let listed: Json = serde_json::from_slice(&listed.stdout).unwrap();
    listed[0]["visible"]["counted"].as_u64().unwrap()
}

fn path(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

#[test]
fn a_backup_of_a_running_server_is_restored_with_messages_and_keys() {
    let directory = tempfile::tempdir().unwrap();
    let (data, again) = (path(&directory, "data"), path(&directory, "again"));
    lottery(&data);
    let server = Server::start(&data, &["--no-workers"]);
    let file = path(&directory, "a.backup");
    let out = ["backup", "--out", file.to_str().unwrap()];
    ends(0, &out, &data);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(ends(2, &out, &data).contains("is there already"));
    let sound = ends(0, &["store", "verify"], &data);
    assert!(sound.contains("is sound"), "{sound}");
    let exported = export(&data);
    assert!(exported.contains("drawKey") || exported.contains("\"key\""), "{exported}");
    server.stop();
    assert_eq!(exported, export(&data), "of a server and of its directory");
    let restore = ["restore", file.to_str().unwrap()];
    ends(0, &restore, &again);
    assert!(ends(2, &restore, &again).contains("has a store already"));
    ends(0, &["store", "verify"], &again);
    // With it the draw keys are the same.
    assert_eq!(exported, export(&again));
    assert_eq!(waiting(&again), 4);
    let server = Server::start(&again, &[]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while waiting(&again) > 0 {
        assert!(Instant::now() < deadline, "its messages are not worked on");
        sleep(Duration::from_millis(50));
    }
    server.stop();
}

// A backup to `-` was a file of that name.
#[test]
fn a_backup_goes_through_a_pipe_and_one_that_is_cut_there_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (data, again) = (path(&directory, "data"), path(&directory, "again"));
    many(&data, 1000);
    // A reader that was gone, and a full disk, were told as a call that was wrong.
    for command in [&["backup", "--out", "-"][..], &["export", SYSTEM, "--out", "-"]] {
        let (reader, gone) = std::io::pipe().unwrap();
        drop(reader);
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        for (code, output) in [(141, Stdio::from(gone)), (1, full.into())] {
            let mut command = latchkey(command);
            let output = command.arg("--data").arg(&data).stdout(output).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{command:?}: {}", said(&output));
        }
    }
    let output = run(&["backup", "--out", "-"], &data);
    assert!(output.status.success(), "{}", said(&output));
    let restored = |bytes: &[u8]| {
        let mut command = latchkey(&["restore", "-", "--data"]);
        let command = command.arg(&again).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It may end before it has read all.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        child.wait().unwrap().code()
    };
    assert_eq!(restored(&output.stdout[..output.stdout.len() - 1]), Some(2));
    assert!(!again.join("store.redb").exists());
    assert_eq!(restored(&output.stdout), Some(0));
    assert!(export(&again) == export(&data));
}

#[test]
fn a_backup_is_slow_if_asked_and_does_not_keep_a_server_from_stopping() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 20_000);
    let file = path(&directory, "a.backup");
    let server = Server::start(&data, &[]);
    let mut backup =
        latchkey(&["backup", "--rate", "1", "--out", file.to_str().unwrap(), "--data"]);
    let backup = backup.arg(&data).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(2));
    let part = path(&directory, "a.backup.part");
    let (sent, all) = (fs::metadata(&part).unwrap().len(), 20_000 * 300);
    assert!(sent > 100_000 && sent < all / 2, "{sent} of {all} bytes in two seconds");
    assert!(server.stop() < Duration::from_secs(5));
    let output = backup.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = said(&output);
    assert!(told.contains("the server stopped before it had sent everything"), "{told}");
    assert!(!part.exists() && !file.exists());
    // Without a server it is made here.
    ends(0, &["backup", "--out", file.to_str().unwrap()], &data);
    ends(0, &["restore", file.to_str().unwrap()], &path(&directory, "again"));
}

#[test]
fn damage_is_told_by_its_key_and_the_rest_is_saved() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    assert!(ends(2, &["store", "verify"], &data).contains("there is no store in"));
    many(&data, 3000);
    let file = data.join("store.redb");
    let mut bytes = fs::read(&file).unwrap();
    let place =
        |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).rposition(|some| some == text);
    // Behind the key in its leaf, all values are the same.
    let at = place(&bytes, "x".repeat(300).as_bytes()).unwrap();
    bytes[at + 7] = b'y';
    fs::write(&file, bytes).unwrap();
    let offline = ends(1, &["store", "verify"], &data);
    let server = Server::start(&data, &[]);
    let online = ends(1, &["store", "verify"], &data);
    let json = run(&["store", "verify", "--json"], &data);
    let backup = path(&directory, "a.backup");
    let refused = ends(2, &["backup", "--out", backup.to_str().unwrap()], &data);
    assert!(refused.contains("the item is damaged") && !backup.exists(), "{refused}");
    assert!(ends(2, &["store", "compact"], &data).contains("is in use"));
    server.stop();
    let lines: Vec<Json> = String::from_utf8(json.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [damage, summary] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(summary["checked"]["damages"], 1);
    let key = damage["key"].as_str().unwrap();
    let shown = format!("key `{key}`: the item is damaged");
    assert!(offline.contains(&shown) && online.contains(&shown), "{shown}: {offline} {online}");
    assert!(offline.contains("wrong checksums") || offline.contains("pages of"), "{offline}");
    let saved = path(&directory, "saved");
    let told = ends(1, &["store", "salvage", "--out", saved.to_str().unwrap()], &data);
    assert!(told.contains("saved 2,999 items"), "{told}");
    let lost = fs::read_to_string(saved.join("lost.json")).unwrap();
    assert!(lost.contains(&format!("\"key\":\"{key}\"")), "{lost}");
    let table = fs::read_dir(&saved).unwrap().map(|entry| entry.unwrap().path());
    let table = table.filter(|path| !path.ends_with("lost.json")).collect::<Vec<_>>();
    let [table] = table.as_slice() else { panic!("{table:?}") };
    assert_eq!(fs::metadata(table).unwrap().permissions().mode() & 0o777, 0o600);
    let again = path(&directory, "again");
    ends(0, &["import", SYSTEM, "--as-is", "--from", table.to_str().unwrap()], &again);
    assert_eq!(export(&again).lines().count(), 2999);
    ends(0, &["store", "verify"], &again);
}

// Where `store.redb` was gone, `salvage` was refused, although the journals had the last writes.
#[test]
fn what_the_journals_have_is_imported_again() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 100);
    let expected = export(&data);
    fs::remove_file(data.join("store.redb")).unwrap();
    let saved = path(&directory, "saved");
    let told = ends(1, &["store", "salvage", "--out", saved.to_str().unwrap()], &data);
    assert!(told.contains("saved 100 items of 1 table"), "{told}");
    let lost = fs::read_to_string(saved.join("lost.json")).unwrap();
    let first: Json = serde_json::from_str(lost.lines().next().unwrap()).unwrap();
    assert_eq!(first["why"], "`store.redb` is missing");
    assert!(lost.contains(r#""table":"unnamed-1""#), "{lost}");
    let again = path(&directory, "again");
    let file = saved.join("unnamed-1.uncertain.json");
    ends(0, &["import", SYSTEM, "--as-is", "--from", file.to_str().unwrap()], &again);
    assert!(export(&again) == expected);
}

// Of an empty `store.redb` it was told that the catalog has no format and that journals belong to another store.
#[test]
fn a_store_that_is_empty_or_missing_is_told_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 10);
    let advice = format!("save what can be read: latchkey store salvage --data {}", data.display());
    let file = data.join("store.redb");
    fs::write(&file, "").unwrap();
    let one = format!("`{}` has 1 damage: 0 tables", data.display());
    let told = ends(1, &["store", "verify"], &data);
    assert!(told.starts_with("damaged: `store.redb` is empty: it has 0 bytes\n"), "{told}");
    assert!(told.contains(&one) && told.contains(&advice), "{told}");
    let refused = ends(2, &["export", SYSTEM, "--out", "-"], &data);
    assert!(refused.contains("the file is empty: restore a backup"), "{refused}");
    fs::remove_file(&file).unwrap();
    let told = ends(1, &["store", "verify"], &data);
    assert!(told.starts_with("damaged: `store.redb` is missing\n"), "{told}");
    assert!(told.contains(&one) && told.contains(&advice), "{told}");
    fs::remove_file(data.join("journal-0")).unwrap();
    fs::remove_file(data.join("journal-1")).unwrap();
    assert!(ends(2, &["store", "verify"], &data).contains("there is no store in"));
    // Nothing is left, and that is told.
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    ends(1, &["store", "verify"], &data);
    let saved = path(&directory, "saved");
    ends(1, &["store", "salvage", "--out", saved.to_str().unwrap()], &data);
    let lost = fs::read_to_string(saved.join("lost.json")).unwrap();
    assert!(lost.contains("no item was found; only a backup can help"), "{lost}");
}

// Both commands wanted to write `lock`, so a disk that was mounted to save what is on it could not be looked at.
#[test]
fn a_store_where_nothing_can_be_written_is_checked_and_saved() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 100);
    let script = r#"
        for lock in there missing; do
            mkdir "$1/$lock"
            mount -t tmpfs tmpfs "$1/$lock"
            cp -a "$1/data" "$1/$lock/data"
            test $lock = there || rm "$1/$lock/data/lock"
            mount -o remount,ro "$1/$lock"
            ! touch "$1/$lock/data/new" || exit 1
            "$2" store verify --data "$1/$lock/data"
            "$2" store salvage --data "$1/$lock/data" --out "$1/saved-$lock"
            file=lock
            test $lock = there || file=store.redb
            flock "$1/$lock/data/$file" "$2" store verify --data "$1/$lock/data" || echo "code $?"
        done
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-euc", script, "sh"]).arg(directory.path());
    let output = command.arg(env!("CARGO_BIN_EXE_latchkey")).output().unwrap();
    let told = said(&output);
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("is sound: 1 table").count(), 2, "{told}");
    assert_eq!(told.matches("saved 100 items").count(), 2, "{told}");
    // Who has it open is seen all the same.
    assert_eq!(
        (told.matches("is in use").count(), told.matches("code 2").count()),
        (2, 2),
        "{told}"
    );
}

// After a restore that was killed, the next start served an empty store, and nothing said so.
#[test]
fn a_restore_that_is_killed_is_not_taken_for_an_empty_store() {
    let directory = tempfile::tempdir().unwrap();
    let (data, again) = (path(&directory, "data"), path(&directory, "again"));
    many(&data, 100);
    let (file, pipe) = (path(&directory, "a.backup"), path(&directory, "pipe"));
    ends(0, &["backup", "--out", file.to_str().unwrap()], &data);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let restore = ["restore", pipe.to_str().unwrap(), "--data"];
    let mut restoring = latchkey(&restore).arg(&again).spawn().unwrap();
    let backup = fs::read(&file).unwrap();
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(&backup[..backup.len() / 2]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(300);
    while !again.join("store.new").exists() {
        assert!(Instant::now() < deadline, "no restore");
        sleep(Duration::from_millis(1));
    }
    restoring.kill().unwrap();
    restoring.wait().unwrap();
    drop(writer);
    for arguments in
        [["serve", SYSTEM, "--listen", "127.0.0.1:0"], ["export", SYSTEM, "--out", "-"]]
    {
        let told = ends(2, &arguments, &again);
        let run = format!("run `latchkey restore FILE --data {}` again", again.display());
        assert!(told.contains(&run), "{told}");
        let mark = again.join("restoring.txt");
        assert!(told.contains(&format!("or remove `{}`", mark.display())), "{told}");
    }
    assert!(ends(2, &["store", "verify"], &again).contains("there is no store in"));
    ends(0, &["restore", file.to_str().unwrap()], &again);
    assert!(!again.join("restoring.txt").exists() && !again.join("store.new").exists());
    // A restore that was killed at its very end has made a whole store.
    fs::write(again.join("restoring.txt"), "").unwrap();
    assert!(export(&again) == export(&data));
    assert!(!again.join("restoring.txt").exists());
}

// An export from a server could not be made slower than 64 MB a second, though a backup could.
#[test]
fn an_export_is_slow_if_asked() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 6000);
    let expected = export(&data);
    let server = Server::start(&data, &[]);
    let out = path(&directory, "out.json");
    let started = Instant::now();
    ends(0, &["export", SYSTEM, "--out", out.to_str().unwrap(), "--rate", "1"], &data);
    let took = started.elapsed();
    server.stop();
    assert!(fs::read_to_string(&out).unwrap() == expected);
    let micros = u64::try_from(expected.len()).unwrap();
    assert!(
        micros > 2_000_000 && took >= Duration::from_micros(micros),
        "{micros} bytes, {took:?}"
    );
    let service = ["export", SYSTEM, "--out", "-", "--dynamodb", "--rate", "1"];
    assert!(ends(2, &service, &data).contains("cannot be used with"));
}

#[test]
fn a_restore_that_fails_on_a_full_disk_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 3000);
    ends(0, &["backup", "--out", path(&directory, "a.backup").to_str().unwrap()], &data);
    let script = r#"
        mkdir "$1/disk"
        mount -t tmpfs -o size=16m tmpfs "$1/disk"
        for kilobytes in 0 4 8 12 16 64 256; do
            head -c $(( (16384 - kilobytes) * 1024 )) /dev/zero > "$1/disk/filler" || true
            if "$2" restore "$1/a.backup" --data "$1/disk/again"; then exit 1; fi
            test ! -e "$1/disk/again/restoring.txt" -a ! -e "$1/disk/again/store.new"
            rm "$1/disk/filler"
        done
        "$2" restore "$1/a.backup" --data "$1/disk/again"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-euc", script, "sh"]).arg(directory.path());
    let output = command.arg(env!("CARGO_BIN_EXE_latchkey")).output().unwrap();
    let told = said(&output);
    assert!(output.status.success() && told.contains("restored "), "{told}");
}

#[test]
fn an_export_goes_on_after_its_server_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 60_000);
    let expected = export(&data);
    let out = path(&directory, "out.json");
    let arguments = ["export", SYSTEM, "--out", out.to_str().unwrap(), "--data"];
    let mut server = Server::start(&data, &[]);
    let exporting = latchkey(&arguments).arg(&data).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The mark is there from the beginning, and says how far the export is.
    let begun = |text: String| {
        let mark: serde_json::Value = serde_json::from_str(&text).unwrap();
        mark["items"].as_u64().unwrap() > 0
    };
    while !fs::read_to_string(path(&directory, "out.json.progress")).is_ok_and(begun) {
        assert!(Instant::now() < deadline, "no export");
        sleep(Duration::from_millis(1));
    }
    server.0.kill().unwrap();
    let output = exporting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let told = said(&output);
    assert!(told.contains("server stopped") && told.contains("continues where"), "{told}");
    drop(server);
    let server = Server::start(&data, &[]);
    ends(0, &arguments[..4], &data);
    server.stop();
    assert!(fs::read_to_string(&out).unwrap() == expected);
}

#[test]
fn a_compaction_that_is_killed_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let data = path(&directory, "data");
    many(&data, 20_000);
    let lines = path(&directory, "data.json");
    let text = fs::read_to_string(&lines).unwrap();
    // The items change, and the file keeps the room of what they were.
    fs::write(&lines, text.replace(&"x".repeat(300), "y")).unwrap();
    ends(0, &["import", SYSTEM, "--as-is", "--merge", "--from", lines.to_str().unwrap()], &data);
    let expected = export(&data);
    let size = |data: &Path| fs::metadata(data.join("store.redb")).unwrap().len();
    let before = size(&data);
    for pause in [5, 10, 20, 40, 80, 160] {
        let mut compacting = latchkey(&["store", "compact", "--data"]).arg(&data).spawn().unwrap();
        sleep(Duration::from_millis(pause));
        compacting.kill().unwrap();
        compacting.wait().unwrap();
        // Before the store opens, which mends what redb has left half done.
        ends(0, &["store", "verify"], &data);
        assert!(export(&data) == expected, "killed after {pause} ms");
    }
    let told = ends(0, &["store", "compact"], &data);
    assert!(told.contains(" and has "), "{told}");
    assert!(size(&data) < before / 2, "{before} and {}", size(&data));
    assert!(export(&data) == expected);
    ends(0, &["store", "verify"], &data);
}
