//! What is not done, and what people are told to do.

use std::fs;

use crate::{Place, done, file, latchkey, plain, refused, sorted, write};
use latchkey_testing::services::Service;

/// All of these must be in what was told.
fn says(told: &str, all: &[&str]) {
    for one in all {
        assert!(told.contains(one), "it does not say `{one}`: {told}");
    }
}

#[test]
fn a_bad_line_stops_an_import_and_once_mended_it_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    let here = Place::here(&file(&directory, "here"));
    let (good, rest) = (plain(5000, 10), plain(6000, 10));
    let rest: String = rest.lines().skip(5000).map(|line| format!("{line}\n")).collect();
    let bad = [
        ("{\"Item\":", "the text ends where"),
        ("not json", "column 1"),
        ("{\"Item\":{\"PK\":{\"S\":\"P\"}}}", "does not have its key: text `PK`, text `SK`"),
        (
            "{\"Item\":{\"PK\":{\"S\":\"P\"},\"SK\":{\"S\":\"S\"},\"n\":{\"N\":\"x\"}}}",
            "`n`: a bad number",
        ),
        ("{\"NewImage\":{}}", "a line is `{\"Item\": {…}}`"),
    ];
    for (line, message) in bad {
        write(&source, &format!("{good}{line}\n{rest}"));
        let told = refused(&mut here.import(&source));
        says(&told, &["line 5001", message, "before line 5001 are loaded", "the same command"]);
        assert_eq!(here.lines(), good, "what stands before it is loaded");
    }
    write(&source, &format!("{good}{rest}"));
    done(&mut here.import(&source));
    assert_eq!(here.lines(), plain(6000, 10));
}

#[test]
fn a_file_that_is_compressed_or_no_text_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    let source = file(&directory, "source.json.gz");
    fs::write(&source, [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    says(&refused(&mut here.import(&source)), &["line 1", "gunzip"]);
    fs::write(&source, [0xff, 0xfe, 0]).unwrap();
    says(&refused(&mut here.import(&source)), &["line 1", "not UTF-8"]);
}

#[test]
fn a_table_that_has_items_is_left_alone_unless_told() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    let (first, second) = (file(&directory, "first.json"), file(&directory, "second.json"));
    write(&first, &plain(20, 10));
    write(&second, &plain(10, 11));
    done(&mut here.import(&first));
    for _ in 0..2 {
        says(&refused(&mut here.import(&second)), &["has items", "--merge"]);
        assert_eq!(here.lines(), plain(20, 10));
    }
    says(&refused(&mut here.import("-".as_ref())), &["has items", "--merge"]);
    done(here.import(&second).arg("--merge"));
    let stay: String = plain(20, 10).lines().skip(10).map(|line| format!("{line}\n")).collect();
    assert_eq!(here.lines(), plain(10, 11) + &stay, "those of the same key are replaced");
}

#[test]
fn an_import_goes_on_only_with_the_same_file_and_the_same_table() {
    let directory = tempfile::tempdir().unwrap();
    let data = file(&directory, "here");
    let here = Place::here(&data);
    let source = file(&directory, "source.json");
    let half = format!("{}bad\n", plain(3000, 10));
    write(&source, &half);
    refused(&mut here.import(&source));
    let other = Place::here(&file(&directory, "other"));
    says(&refused(&mut other.import(&source)), &["another table", "--restart"]);
    // Another file of that name.
    write(&source, &plain(4000, 12));
    says(&refused(&mut here.import(&source)), &["has changed before line 3000", "--restart"]);
    // The same file, and a table that was made anew.
    write(&source, &half.replace("bad\n", ""));
    fs::remove_dir_all(&data).unwrap();
    says(&refused(&mut here.import(&source)), &["does not have what was loaded", "--restart"]);
    done(here.import(&source).arg("--restart"));
    assert_eq!(here.lines(), plain(3000, 10));
    // And what nobody can read.
    write(&file(&directory, "source.json.progress"), "{}");
    says(&refused(&mut here.import(&source)), &["source.json.progress", "--restart"]);
}

#[test]
fn an_import_into_a_table_of_dynamodb_that_was_made_anew_begins_anew() {
    let service = Service::dynoxide();
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    write(&source, &format!("{}bad\n", plain(100, 10)));
    let (one, other) = (Place::there(&service), Place::there(&service));
    refused(&mut one.import(&source));
    says(&refused(&mut other.import(&source)), &["another table", "--restart"]);
    write(&source, &plain(120, 10));
    done(&mut one.import(&source));
    assert_eq!(sorted(&one.lines()), sorted(&plain(120, 10)));
}

#[test]
fn a_file_that_is_there_is_not_written_over_unless_told() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    let (source, out) = (file(&directory, "source.json"), file(&directory, "out.json"));
    write(&source, &plain(20, 10));
    done(&mut here.import(&source));
    write(&out, "precious");
    says(&refused(&mut here.export(&out)), &["there already", "--restart"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
    done(here.export(&out).arg("--restart"));
    assert_eq!(fs::read_to_string(&out).unwrap(), plain(20, 10));
    let nowhere = file(&directory, "no/such/out.json");
    says(&refused(&mut here.export(&nowhere)), &["cannot write", "no/such/out.json"]);
}

#[test]
fn whoever_is_told_too_little_or_wrong_is_told_what_to_say() {
    let directory = tempfile::tempdir().unwrap();
    let missing = file(&directory, "missing");
    let out = file(&directory, "out.json");
    let here = Place::here(&missing);
    says(&refused(&mut here.export(&out)), &["no data directory", "--data"]);
    assert!(!missing.exists(), "an export makes no store");
    fs::create_dir(&missing).unwrap();
    says(&refused(&mut here.export(&out)), &["no table `DepotTable`"]);
    says(&refused(&mut here.import(&out)), &["cannot read", "out.json"]);
    let mut several = latchkey();
    several.args(["export", "--out", "-", "--data"]).arg(&missing);
    says(&refused(&mut several), &["--system", "smartlocker"]);
    let mut wrong = latchkey();
    wrong.args(["export", "--system", "depots", "--out", "-", "--data"]).arg(&missing);
    says(&refused(&mut wrong), &["no system `depots`", "smartlocker"]);
    let service = Service::dynoxide();
    let mut nowhere = Place::there(&service);
    nowhere.flags.pop();
    nowhere.flags.push("depot=NotThere".to_owned());
    says(&refused(&mut nowhere.export(&out)), &["no table `NotThere`", "latchkey table create"]);
    write(&out, "");
    says(&refused(&mut nowhere.import(&out)), &["no table `NotThere`", "latchkey table create"]);
}

#[test]
fn a_store_that_is_served_is_told_to_be_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let data = file(&directory, "here");
    let here = Place::here(&data);
    let source = file(&directory, "source.json");
    write(&source, &plain(5, 5));
    done(&mut here.import(&source));
    let store = latchkey_embedded::Store::open(&data, &latchkey_embedded::Options::default());
    let told = refused(&mut here.export("-".as_ref()));
    says(&told, &["is in use", &format!("by process {}", std::process::id())]);
    says(&refused(here.import(&source).arg("--merge")), &["is in use"]);
    drop(store.unwrap());
    assert_eq!(here.lines(), plain(5, 5));
}

/// A line of the document's own: what an owner got so far.
fn tally(owner: &str, received: &str) -> String {
    format!(
        "{{\"Item\":{{\"PK\":{{\"S\":\"OWNER#{owner}\"}},\"SK\":{{\"S\":\"TALLY\"}},\"kind\":{{\"S\":\"TALLY\"}},\
         \"ownerId\":{{\"S\":\"{owner}\"}},\"received\":{{\"N\":\"{received}\"}}}}}}\n"
    )
}

// Lines that no contract could have written were loaded, and read as half items later.
#[test]
fn every_line_is_held_to_the_document() {
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    let here = Place::here(&file(&directory, "here"));
    let housekeeping = "{\"Item\":{\"PK\":{\"S\":\"LATCHKEY#IDEM#x\"},\"SK\":{\"S\":\"IDEM\"}}}\n";
    let first = format!("{}{housekeeping}", tally("ann", "1"));
    let mut wrong = tally("bob", "-1");
    wrong.push_str(
        &tally("cid", "1").replace("\"S\":\"TALLY\"},\"ownerId", "\"S\":\"TALLI\"},\"ownerId"),
    );
    wrong.push_str("not json\n");
    wrong.push_str(&tally("dan", "2"));
    wrong.push_str(&tally("eva", "3").replace("OWNER#eva", "OWNER#eve"));
    let more: String = (0..30).map(|at| tally(&format!("o{at}"), "1.5")).collect();
    write(&source, &format!("{first}{wrong}{more}"));
    let told = refused(&mut here.import_checked(&source));
    let all = [
        "line 3: Tally: `received` must be a whole number of 0 or more",
        "line 4: `kind` names no entity of the document",
        "line 5: column 1",
        "line 7: Tally: `PK` must be `OWNER#eva`",
        "line 24: Tally: `received`",
        "and 13 more lines",
        "before line 3 are loaded",
    ];
    says(&told, &all);
    assert!(!told.contains("line 6:"), "{told}");
    assert_eq!(sorted(&here.lines()), sorted(&first));
    write(&source, &format!("{first}{}", tally("bob", "1")));
    done(&mut here.import_checked(&source));
    assert_eq!(here.lines().lines().count(), 3);
}
