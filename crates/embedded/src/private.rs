//! Files and directories that only their owner can use.
//!
//! A store has secrets that no answer shows, such as the keys of open lotteries. So new files have mode 0600 and new
//! directories 0700. An existing one that others can use is refused, with the command that corrects it. So is one that
//! another user has made, who could change it at any time: in a place such as `/tmp` anyone can prepare what a process
//! will look for. What is root's is trusted. A process of root may use what is another user's, as in a container with a
//! volume of its host, unless it lies in such a place.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

/// Makes a directory with mode 0700, and the missing ones above it.
///
/// An existing directory must not be another user's nor open to others. If it is empty, its mode is corrected.
pub fn make_directory(path: &Path) -> io::Result<()> {
    refuse_no_directory(path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    refuse_foreign(path, path).map_err(|error| without_advice(error, path))?;
    match refuse_loose(path, path) {
        Err(_) if fs::read_dir(path)?.next().is_none() => {
            fs::set_permissions(path, Permissions::from_mode(0o700))
        }
        checked => checked.map_err(|error| without_advice(error, path)),
    }
}

/// The names that say that a directory is ours.
const OURS: [&str; 4] = ["store.redb", "journal-0", "journal-1", "development-secret"];

/// Why a directory is refused. A command that changes all below it is advised only if what is there is ours: `/` and
/// `/tmp` have the files of others.
fn without_advice(error: io::Error, path: &Path) -> io::Error {
    let is_ours = OURS.iter().any(|name| fs::symlink_metadata(path.join(name)).is_ok());
    // Of one that cannot be read nobody knows.
    let is_empty = fs::read_dir(path).is_ok_and(|mut files| files.next().is_none());
    if error.kind() != io::ErrorKind::PermissionDenied || is_ours || is_empty {
        return error;
    }
    let message = format!(
        "`{}` has other files, no store, and another owner or other users: name a directory of its own",
        path.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Refuses what is there in the place of a directory and is none.
pub fn refuse_no_directory(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_dir() => {
            let message = format!("`{}` is there, and is not a directory", path.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, message))
        }
        _ => Ok(()),
    }
}

/// Options that make a file with mode 0600.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Refuses a file or a directory that is another user's, or that others on this machine can use. `whole` is the path in
/// the command that corrects it: the path itself, or its directory.
pub fn refuse_others(path: &Path, whole: &Path) -> io::Result<()> {
    refuse_foreign(path, whole)?;
    refuse_loose(path, whole)
}

/// Refuses a file as [`refuse_others`] and [`refuse_no_file`] do.
pub fn refuse_strange(path: &Path, whole: &Path) -> io::Result<()> {
    refuse_no_file(path)?;
    refuse_others(path, whole)
}

/// Refuses what is there in the place of a file and is none: a directory, or a pipe, which would keep its reader waiting.
pub fn refuse_no_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let message = format!("`{}` is there, and is not a file: move it away", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Refuses a file or a directory that is another user's, or a link of another user to one.
pub fn refuse_foreign(path: &Path, whole: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    for found in [fs::symlink_metadata(path), fs::metadata(path)] {
        let owner = match found {
            Ok(found) => found.uid(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if is_foreign(owner, own, || is_in_shared_place(path))? {
            let (path, whole) = (path.display(), quoted(whole));
            let message = format!(
                "`{path}` belongs to user {owner}, and this process is of user {own}: name another place; or, if you \
                 know how it came there, run `chown -R {own} {whole}` as root"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(())
}

const ROOT: u32 = 0;

/// Whether a process of one user must not use what another user owns.
fn is_foreign(
    owner: u32,
    own: u32,
    is_in_shared_place: impl FnOnce() -> io::Result<bool>,
) -> io::Result<bool> {
    match own {
        _ if owner == own || owner == ROOT => Ok(false),
        ROOT => is_in_shared_place(),
        _ => Ok(true),
    }
}

/// Whether a path, or what it leads to, is below a directory in which every user can make files.
fn is_in_shared_place(path: &Path) -> io::Result<bool> {
    for path in [std::path::absolute(path)?, fs::canonicalize(path)?] {
        for above in path.ancestors().skip(1) {
            if fs::metadata(above)?.permissions().mode() & 0o002 != 0 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Refuses a file or a directory that others on this machine can use.
fn refuse_loose(path: &Path, whole: &Path) -> io::Result<()> {
    let mode = match fs::metadata(path) {
        Ok(found) => mode(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & 0o077 == 0 {
        return Ok(());
    }
    // The mode of a link is that of what it leads to, which need not be below `whole`.
    let mend = match fs::symlink_metadata(path)?.is_symlink() {
        true => format!("chmod go-rwx {}", quoted(&fs::canonicalize(path)?)),
        false => format!("chmod -R go-rwx {}", quoted(whole)),
    };
    let path = path.display();
    let message =
        format!("others on this machine may use `{path}` (mode {mode:03o}); run `{mend}`");
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
        // It advised `chmod -R go-rwx /` for `--data /`.
        let told = make_directory(&path).unwrap_err().to_string();
        assert!(told.ends_with("name a directory of its own"), "{told}");
        assert!(!told.contains("chmod") && !told.contains("chown"), "{told}");
        fs::write(path.join("store.redb"), "").unwrap();
        let told = make_directory(&path).unwrap_err().to_string();
        assert!(told.contains("(mode 755); run `chmod -R go-rwx '"), "{told}");
        assert!(told.ends_with(r"it'\''s here'`"), "{told}");
        assert_eq!(modes(&path), 0o755, "it is left as it is");
    }

    #[test]
    fn a_link_to_a_file_that_is_open_to_others_is_mended_where_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("a/link"));
        make_directory(&directory.path().join("a")).unwrap();
        fs::write(&target, "").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let told = refuse_strange(&link, &directory.path().join("a")).unwrap_err().to_string();
        let real = fs::canonicalize(&target).unwrap();
        assert!(told.ends_with(&format!("run `chmod go-rwx {}`", real.display())), "{told}");
        fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
        refuse_strange(&link, directory.path()).unwrap();
    }

    #[test]
    fn what_is_no_file_is_refused_and_a_file_is_no_directory() {
        let directory = tempfile::tempdir().unwrap();
        let (pipe, file) = (directory.path().join("pipe"), directory.path().join("file"));
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        for path in [pipe.as_path(), directory.path()] {
            let told = refuse_strange(path, directory.path()).unwrap_err().to_string();
            assert!(told.ends_with("is there, and is not a file: move it away"), "{told}");
        }
        fs::write(&file, "").unwrap();
        let told = make_directory(&file).unwrap_err().to_string();
        assert!(told.ends_with("is there, and is not a directory"), "{told}");
        assert_eq!(fs::read(&file).unwrap(), b"");
    }

    #[test]
    fn what_is_another_users_is_foreign_except_to_root_in_a_place_of_its_own() {
        let is = |owner, own, shared| is_foreign(owner, own, || Ok(shared)).unwrap();
        let cases = [
            (1000, 1000, true, false),
            (ROOT, ROOT, true, false),
            (ROOT, 1000, true, false),
            (1000, 1001, false, true),
            (1000, 1001, true, true),
            (1000, ROOT, false, false),
            (1000, ROOT, true, true),
        ];
        for (owner, own, shared, foreign) in cases {
            assert_eq!(is(owner, own, shared), foreign, "{owner} {own} {shared}");
        }
    }

    #[test]
    fn a_place_is_shared_if_everyone_can_make_files_above_it() {
        let directory = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
        let (above, path) = (directory.path().join("above"), directory.path().join("above/b/c"));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&above, Permissions::from_mode(0o1777)).unwrap();
        assert!(is_in_shared_place(&path).unwrap());
        let private = Path::new("/proc/self/status");
        assert!(!is_in_shared_place(private).unwrap());
        // A link lies in one place, and leads to another.
        let link = above.join("link");
        std::os::unix::fs::symlink(private, &link).unwrap();
        assert!(is_in_shared_place(&link).unwrap());
    }
}
