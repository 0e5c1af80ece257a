//! The readers of the suite `fuzz`, with inputs that libFuzzer changes until they lead to other code. `run.sh` builds and
//! runs it.

#![no_main]

use std::sync::OnceLock;
use std::{env, fs};

use libfuzzer_sys::fuzz_target;

// This package is no member of the workspace, so the suite cannot be a dependency of it.
#[path = "../../readers.rs"]
mod readers;

use readers::{READERS, Reader};

/// The reader that `LATCHKEY_READER` names.
fn reader() -> &'static Reader {
    static READER: OnceLock<Reader> = OnceLock::new();
    READER.get_or_init(|| {
        let name = env::var("LATCHKEY_READER").expect("LATCHKEY_READER names a reader");
        let (_, make) = READERS.iter().find(|(reader, _)| *reader == name).expect("no such reader");
        make()
    })
}

/// Writes what is kept for the reader where libFuzzer looks for inputs.
fn keep() {
    let Some(folder) = env::var_os("LATCHKEY_CORPUS") else { return };
    for (number, bytes) in reader().kept().iter().enumerate() {
        let file = std::path::Path::new(&folder).join(format!("kept-{number}"));
        fs::write(file, bytes).expect("the corpus can be written");
    }
}

fuzz_target!(init: keep(), |bytes: &[u8]| {
    (reader().read)(bytes);
});
