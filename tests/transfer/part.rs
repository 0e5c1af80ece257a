//! An export that was interrupted continues only the file that it has written.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Place, done, file, plain, refused, write};

/// An export that broke off: the store, the file to write, its part and its mark.
struct Broken {
    directory: tempfile::TempDir,
    here: Place,
    text: String,
    out: PathBuf,
    part: PathBuf,
    marks: PathBuf,
}

impl Broken {
    fn new() -> Broken {
        let directory = tempfile::tempdir().unwrap();
        let here = Place::here(&file(&directory, "here"));
        let source = file(&directory, "source.json");
        let text = plain(60_000, 600);
        write(&source, &text);
        done(&mut here.import(&source));
        let [out, part, marks] =
            ["out.json", "out.json.part", "out.json.progress"].map(|name| file(&directory, name));
        // A limit on the size of files breaks it off behind its first mark, however fast it is.
        let export = here.export(&out);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 8192; exec \"$0\" \"$@\""]).arg(export.get_program());
        limited.args(export.get_args());
        let told = refused(&mut limited);
        assert!(told.contains("cannot write"), "{told}");
        let mark: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&marks).unwrap()).unwrap();
        assert!(mark["items"].as_u64().unwrap() > 0, "{mark}");
        Broken { directory, here, text, out, part, marks }
    }

    /// Refuses to continue, names the part and what to do, and leaves it as it is.
    fn is_refused(&self, says: &[&str]) {
        let before = fs::read(&self.part).unwrap();
        let told = refused(&mut self.here.export(&self.out));
        for one in says.iter().chain(&["out.json.part", "--restart"]) {
            assert!(told.contains(one), "it does not say `{one}`: {told}");
        }
        assert!(fs::read(&self.part).unwrap() == before, "the file is left alone");
        assert!(!self.out.exists());
    }
}

#[test]
fn a_changed_or_foreign_line_is_refused() {
    // Nothing but the length was looked at: the export went on behind whatever the file had.
    let broken = Broken::new();
    let whole = fs::read_to_string(&broken.part).unwrap();
    write(&broken.part, &whole.replacen("xxx", "xyx", 1));
    broken.is_refused(&["has changed within its first"]);
    let second = whole.lines().next().unwrap().len() + 1;
    let (first, rest) = whole.split_at(second);
    let foreign = format!("{first}{}", rest.replacen('{', "#", 1));
    write(&broken.part, &foreign);
    broken.is_refused(&["line 2, is not of this export"]);
    // Behind the mark, too.
    let (entire, _) = whole.rsplit_once('\n').unwrap();
    write(&broken.part, &format!("{entire}\na line of someone else\n"));
    let line = entire.lines().count() + 1;
    broken.is_refused(&[&format!("line {line}, is not of this export")]);
    write(&broken.part, first);
    broken.is_refused(&["is shorter than it was"]);
    write(&broken.part, &whole);
    done(&mut broken.here.export(&broken.out));
    assert!(fs::read_to_string(&broken.out).unwrap() == broken.text);
}

#[test]
fn a_part_without_a_mark_is_left_alone() {
    // It was emptied without a word.
    let broken = Broken::new();
    fs::remove_file(&broken.marks).unwrap();
    broken.is_refused(&["no progress file"]);
    done(broken.here.export(&broken.out).arg("--restart"));
    assert!(fs::read_to_string(&broken.out).unwrap() == broken.text);
}

#[test]
fn a_store_that_was_made_again_is_another_one() {
    let broken = Broken::new();
    let data = file(&broken.directory, "here");
    fs::remove_dir_all(&data).unwrap();
    let other = file(&broken.directory, "other.json");
    write(&other, &plain(100, 5));
    done(&mut broken.here.import(&other));
    let told = refused(&mut broken.here.export(&broken.out));
    assert!(told.contains("was made again since") && told.contains("--restart"), "{told}");
}
