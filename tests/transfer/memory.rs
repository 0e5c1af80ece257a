//! However large the input, it is not read into memory.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::{Place, file, plain};

/// Far more than it may take, in MiB.
const INPUT: usize = 384;
const MEMORY: u64 = 160;

/// The most memory a process has had, in MiB.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

#[test]
fn an_import_takes_no_more_memory_than_it_needs_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    // The same items over and over: the store stays small, and so does its cache.
    let some = plain(40, 100 * 1024);
    let mut import = here.import(Path::new("-"));
    let mut child = import.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut most = 0;
    for _ in 0..INPUT * 1024 * 1024 / some.len() {
        input.write_all(some.as_bytes()).unwrap();
        most = most.max(peak(&child).unwrap_or(0));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(most > 0, "its memory could not be read");
    assert!(most < MEMORY, "{most} MiB for {INPUT} MiB of input");
}
