//! Bytes that are almost right: kept ones, changed in a few places.
//!
//! `corpus/NAME.txt` has what is kept for a reader, one a line; `\xNN` is a byte and `\\` a backslash. What a reader
//! answers in a new way is kept for the length of a run, too, and changed further.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use latchkey_testing::chance::Chance;
use latchkey_testing::promise::{self, Progress};

use crate::readers::{READERS, Reader, unescape};

/// Nothing of this size takes a hundredth of this; what does hangs.
const HANG: Duration = Duration::from_secs(20);

/// How many inputs are kept at most.
const KEPT_MAX: usize = 5_000;

/// Longer ones are cut.
const BYTES_MAX: usize = 4_000;

/// Things that have broken readers before.
const SPLINTERS: &[&str] = &[
    "",
    "null",
    "true",
    "-1",
    "-0",
    "0",
    "00",
    "1e400",
    "1e-400",
    "-",
    "+",
    ".",
    "e",
    "E+",
    "1.0000000000000000000000000000000000000001",
    "99999999999999999999999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "NaN",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\\ud83d\\ude00",
    "{",
    "}",
    "{}",
    "[",
    "[[[[[[[[",
    "]",
    ",",
    ":",
    "#",
    "~",
    "%",
    "..",
    "/",
    "?",
    "&",
    "=",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u{0}",
    "é",
    "\u{202e}",
    "\u{feff}",
    "\u{10ffff}",
    "2026-02-30T00:00:00Z",
    "0000-00-00",
    "9999-12-31T23:59:59.999Z",
    "+14:00",
    "Z",
    "T",
    "-00:00",
    "60",
    "\"S\"",
    "\"N\"",
    "\"B\"",
    "\"BOOL\"",
    "\"NULL\"",
    "\"L\"",
    "\"M\"",
    "\"SS\"",
    "\"Item\"",
    "eyJ",
    "==",
];

/// As a line of a corpus.
fn escape(bytes: &[u8]) -> String {
    let mut line = String::new();
    for chunk in bytes.utf8_chunks() {
        for one in chunk.valid().chars() {
            match one {
                '\\' => line.push_str("\\\\"),
                one if one.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in one.encode_utf8(&mut bytes).bytes() {
                        write!(line, "\\x{byte:02x}").unwrap();
                    }
                }
                one => line.push(one),
            }
        }
        for byte in chunk.invalid() {
            write!(line, "\\x{byte:02x}").unwrap();
        }
    }
    line
}

/// One change of the kind an accident or an enemy makes.
fn change(bytes: &mut Vec<u8>, kept: &[Vec<u8>], chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    let end = (at + chance.below(12)).min(bytes.len());
    match chance.below(9) {
        0 => drop(bytes.drain(at..end)),
        1 => {
            let doubled = bytes.get(at..end).unwrap().to_vec();
            bytes.splice(at..at, doubled);
        }
        2 | 3 => {
            let splinter = SPLINTERS.get(chance.below(SPLINTERS.len())).unwrap();
            let end = if chance.below(2) == 0 { at } else { end };
            bytes.splice(at..end, splinter.bytes());
        }
        4 => {
            let other = kept.get(chance.below(kept.len())).unwrap();
            let from = chance.below(other.len() + 1);
            let to = (from + chance.below(80)).min(other.len());
            bytes.splice(at..at, other.get(from..to).unwrap().iter().copied());
        }
        5 => bytes.insert(at, u8::try_from(chance.below(256)).unwrap()),
        6 | 7 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
        _ => bytes.truncate(at),
    }
    bytes.truncate(BYTES_MAX);
}

/// Reads so many changed inputs. A reader says in a few words how it answered: what is new is kept and changed further.
fn fuzz(reader: &Reader, short: usize) {
    let Reader { name, read, .. } = reader;
    let runs = promise::rounds(short);
    let mut kept = reader.kept();
    let seeds = kept.len();
    let mut progress = Progress::new(name, runs);
    let mut chance = Chance::new(0x5eed);
    let mut answers = HashSet::new();
    for run in 0..seeds + runs {
        let mut bytes = match kept.get(run) {
            Some(seed) if run < seeds => seed.clone(),
            _ => kept.get(chance.below(kept.len())).unwrap().clone(),
        };
        if run >= seeds {
            for _ in 0..=chance.below(5) {
                change(&mut bytes, &kept, &mut chance);
            }
            progress.add(1);
        }
        let started = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let hangs = started.elapsed() > HANG;
        let keep = || format!("keep this as a line of corpus/{name}.txt:\n{}", escape(&bytes));
        assert!(answer.is_ok(), "{name} panics in run {run}; {}", keep());
        assert!(!hangs, "{name} hangs in run {run}; {}", keep());
        let answer = answer.unwrap();
        let mut hasher = DefaultHasher::new();
        answer.hash(&mut hasher);
        if answers.insert(hasher.finish()) && run >= seeds && kept.len() < KEPT_MAX {
            kept.push(bytes);
        }
    }
    assert!(answers.len() > 1, "{name}: all answers are alike");
    promise::tell(&format!(
        "{name}: {runs} inputs from {seeds} kept ones, {} kinds of answers, 0 panics, in {:?}",
        answers.len(),
        progress.spent()
    ));
}

/// Reads changed inputs by the reader of a name.
fn fuzz_reader(name: &str, short: usize) {
    let (_, make) = READERS.iter().find(|(reader, _)| *reader == name).unwrap();
    fuzz(&make(), short);
}

#[test]
fn json_is_read_or_refused() {
    fuzz_reader("json", 20_000);
}

#[test]
fn lines_of_an_export_are_read_or_refused() {
    fuzz_reader("line", 20_000);
}

#[test]
fn numbers_are_read_or_refused() {
    fuzz_reader("number", 40_000);
}

#[test]
fn times_and_ids_are_read_or_refused() {
    fuzz_reader("time", 40_000);
}

#[test]
fn tokens_are_believed_only_as_they_were_signed() {
    fuzz_reader("token", 20_000);
}

#[test]
fn what_a_signed_token_says_is_read_or_refused() {
    fuzz_reader("claims", 10_000);
}

#[test]
fn cursors_are_read_or_refused() {
    fuzz_reader("cursor", 4_000);
}

#[test]
fn documents_are_parsed_or_refused() {
    fuzz_reader("document", 10_000);
}

#[test]
fn documents_are_checked_or_refused() {
    fuzz_reader("check", 4_000);
}

#[test]
fn a_corpus_is_read_as_it_is_written() {
    let bytes: Vec<u8> = (0..=255).chain("é\\x🔑".bytes()).collect();
    assert_eq!(unescape(&escape(&bytes)), bytes);
    assert!(!escape(&bytes).contains('\n'));
}
