//! Puts the documents in `systems/` into the command, so that it serves them with nothing beside it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let systems = variable("CARGO_MANIFEST_DIR").join("../../systems").canonicalize()?;
    println!("cargo::rerun-if-changed={}", systems.display());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&systems)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension() == Some("md".as_ref()));
    paths.sort();
    let mut code = String::from("&[\n");
    for path in &paths {
        let name = Path::new("systems").join(path.file_name().unwrap_or_default());
        // Writing to a string does not fail.
        let _ = writeln!(code, "    ({name:?}, include_str!({path:?})),");
    }
    code.push_str("]\n");
    fs::write(variable("OUT_DIR").join("shipped.rs"), code)
}
