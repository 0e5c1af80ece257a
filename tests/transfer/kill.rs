//! Killed half-way, and run again.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, done, file, plain, sorted, write};
use latchkey_testing::services::Service;

/// Enough for a second or two of work.
const ITEMS: usize = 60_000;

/// Starts a command and kills it once its mark tells that it has come so many items far. False if it was done
/// before.
fn kill_at(command: &mut Command, marks: &Path, items: u64) -> bool {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    loop {
        let mark = std::fs::read_to_string(marks).unwrap_or_default();
        let mark: serde_json::Value = serde_json::from_str(&mark).unwrap_or_default();
        if mark["items"].as_u64().is_some_and(|done| done >= items) {
            break;
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return false;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "it does not get on: {mark}");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// Imports, and is killed on the way, twice.
fn import_killed(place: &Place, text: &str, items: u64) {
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    let marks = file(&directory, "source.json.progress");
    write(&source, text);
    assert!(kill_at(&mut place.import(&source), &marks, 1), "it ended before it was killed");
    let first = place.lines().lines().count() as u64;
    assert!((1..items).contains(&first), "{first} items were loaded when it was killed");
    if kill_at(&mut place.import(&source), &marks, items / 3) {
        done(&mut place.import(&source));
    }
    assert!(!marks.exists(), "there is nothing left to go on with");
    assert!(sorted(&place.lines()) == sorted(text), "something is missing, or too much");
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    import_killed(&Place::here(directory.path()), &plain(ITEMS, 600), ITEMS as u64);
}

#[test]
fn so_does_one_into_dynamodb() {
    import_killed(&Place::there(&Service::dynoxide()), &plain(20_000, 300), 20_000);
}

/// Exports, and is killed on the way, twice.
fn export_killed(place: &Place, text: &str, items: u64) {
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    write(&source, text);
    done(&mut place.import(&source));
    let out = file(&directory, "out.json");
    let marks = file(&directory, "out.json.progress");
    assert!(kill_at(&mut place.export(&out), &marks, 1), "it ended before it was killed");
    assert!(!out.exists(), "a file that is not whole does not have its name");
    let part = std::fs::metadata(file(&directory, "out.json.part")).unwrap().len();
    assert!(part > 0 && part < text.len() as u64, "{part} bytes were written");
    if kill_at(&mut place.export(&out), &marks, items / 3) {
        done(&mut place.export(&out));
    }
    assert!(!marks.exists() && !file(&directory, "out.json.part").exists(), "it is finished");
    let exported = std::fs::read_to_string(&out).unwrap();
    assert!(sorted(&exported) == sorted(text), "something is missing, or too much");
}

#[test]
fn an_export_that_was_killed_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    export_killed(&Place::here(directory.path()), &plain(ITEMS, 600), ITEMS as u64);
}

#[test]
fn so_does_one_from_dynamodb() {
    export_killed(&Place::there(&Service::dynoxide()), &plain(20_000, 1000), 20_000);
}

#[test]
fn what_was_written_behind_the_last_mark_is_not_there_twice() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    let (source, out) = (file(&directory, "source.json"), file(&directory, "out.json"));
    let text = plain(ITEMS, 600);
    write(&source, &text);
    done(&mut here.import(&source));
    let marks = file(&directory, "out.json.progress");
    assert!(kill_at(&mut here.export(&out), &marks, 1), "it ended before it was killed");
    // As a kill in the middle of a line would leave it.
    let part = file(&directory, "out.json.part");
    let half = std::fs::read_to_string(&part).unwrap() + "{\"Item\":{\"PK\":{\"S\":\"ha";
    write(&part, &half);
    done(&mut here.export(&out));
    assert!(std::fs::read_to_string(&out).unwrap() == text, "a line is cut, or there twice");
}
