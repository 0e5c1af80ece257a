//! Files and directories that only their owner can use.
//!
//! A store has secrets that no answer shows, such as the keys of open lotteries. So new files have mode 0600 and new
//! directories 0700. An existing one that others can use is refused, with the command that corrects it.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

/// Makes a directory with mode 0700, and the missing ones above it.
///
/// An existing directory must not be open to others. If it is empty, its mode is corrected.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match refuse_loose(path, path) {
        Err(_) if fs::read_dir(path)?.next().is_none() => {
            fs::set_permissions(path, Permissions::from_mode(0o700))
        }
        checked => checked,
    }
}

/// Options that make a file with mode 0600.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Refuses a file or a directory that others on this machine can use. `whole` is the path in the command that corrects
/// it: the path itself, or its directory.
pub fn refuse_loose(path: &Path, whole: &Path) -> io::Result<()> {
    let mode = match fs::metadata(path) {
        Ok(found) => mode(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let (path, whole) = (path.display(), quoted(whole));
    let message = format!(
        "others on this machine may use `{path}` (mode {mode:03o}); run `chmod -R go-rwx {whole}`"
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}

/// A path, quoted for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match text.chars().all(plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The path of a directory without links, which may lead elsewhere later. It is the path itself where that cannot be
/// told, as of a file system that only another process sees.
pub fn without_links(path: &Path) -> io::Result<PathBuf> {
    let same = |other: &Path| {
        let (one, other) = (fs::metadata(path)?, fs::metadata(other)?);
        Ok::<_, io::Error>((one.dev(), one.ino()) == (other.dev(), other.ino()))
    };
    let real = fs::canonicalize(path).and_then(|real| Ok(same(&real)?.then_some(real)));
    match real {
        Ok(Some(real)) => Ok(real),
        Ok(None) => Ok(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => {
            Ok(path.to_owned())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(path: &Path) -> u32 {
        mode(&fs::metadata(path).unwrap())
    }

    #[test]
    fn what_we_make_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (above, path) = (directory.path().join("a"), directory.path().join("a/b"));
        make_directory(&path).unwrap();
        assert_eq!((modes(&above), modes(&path)), (0o700, 0o700));
        let file = path.join("file");
        options().write(true).create(true).open(&file).unwrap();
        assert_eq!(modes(&file), 0o600);
        make_directory(&path).unwrap();
    }

    #[test]
    fn a_directory_that_is_open_to_others_is_refused_unless_it_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("it's here");
        fs::create_dir(&path).unwrap();
        for mode in [0o755, 0o750, 0o701] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            make_directory(&path).unwrap();
            assert_eq!(modes(&path), 0o700, "{mode:o}");
        }
        fs::write(path.join("file"), "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let told = make_directory(&path).unwrap_err().to_string();
        assert!(told.contains("(mode 755); run `chmod -R go-rwx '"), "{told}");
        assert!(told.ends_with(r"it'\''s here'`"), "{told}");
        assert_eq!(modes(&path), 0o755, "it is left as it is");
    }
}
