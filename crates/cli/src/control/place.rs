//! The file of the socket. Someone may remove it, as by `rm DIR/*`, while the process still has all that was in the
//! store, and should be asked for a backup. So the file is looked for, and made again in its place.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::UnixListener;

use super::{SOCKET, at};

/// The device and the number of a file.
type Identity = (u64, u64);

/// The place of a socket in a directory.
pub(super) struct Place {
    data: PathBuf,
    /// The directory as it was first. One that was made in its place may be another server's.
    directory: Option<Identity>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The file that was bound last.
    bound: Option<Identity>,
    /// Whether it was told that the socket cannot be used.
    told: bool,
    left: bool,
}

impl Place {
    /// The place in a directory whose store this process has open, and the socket, if it can be bound.
    pub(super) fn take(data: &Path) -> (Place, Option<UnixListener>) {
        let directory = fs::metadata(data).ok().map(|found| (found.dev(), found.ino()));
        let place = Place { data: data.to_owned(), directory, state: Mutex::default() };
        // A socket here is left from a process that died, because only one process has the store. If it cannot be
        // removed, `bind` fails and says so.
        let _ = fs::remove_file(place.path());
        let listener = place.bind(&mut place.state());
        (place, listener)
    }

    /// Looks whether the socket's file is still there. If it was removed it is bound again.
    pub(super) fn look(&self) -> Option<UnixListener> {
        let mut state = self.state();
        let found = match fs::symlink_metadata(self.path()) {
            Ok(found) => Some((found.dev(), found.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.tell(&mut state, &error);
                return None;
            }
        };
        match found {
            None if !state.left && self.has_directory() => {
                let again = self.bind(&mut state)?;
                tracing::warn!(file = %self.path().display(), "the socket for other commands was gone, and is made again");
                Some(again)
            }
            Some(_) if found != state.bound => {
                self.tell(&mut state, &io::Error::other("another file is in its place"));
                None
            }
            _ => None,
        }
    }

    /// Removes the socket, if it is still this process's own. It is not bound any more.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.left = true;
        let found = fs::symlink_metadata(self.path()).map(|found| (found.dev(), found.ino()));
        if found.is_ok_and(|found| Some(found) == state.bound) {
            // If it stays, the next process removes it.
            let _ = fs::remove_file(self.path());
        }
    }

    fn bind(&self, state: &mut State) -> Option<UnixListener> {
        let bound = at(&self.data, |path| UnixListener::bind(path)).and_then(|listener| {
            // For the owner only, whatever the mode of the directory.
            fs::set_permissions(self.path(), Permissions::from_mode(0o600))?;
            Ok((listener, fs::symlink_metadata(self.path())?))
        });
        match bound {
            Ok((listener, file)) => {
                *state = State { bound: Some((file.dev(), file.ino())), ..State::default() };
                Some(listener)
            }
            Err(error) => {
                self.tell(state, &error);
                None
            }
        }
    }

    /// Tells once, until the socket is bound again, that it cannot be used.
    fn tell(&self, state: &mut State, error: &io::Error) {
        if !std::mem::replace(&mut state.told, true) {
            tracing::warn!(file = %self.path().display(), %error, "no other command can ask this process");
        }
    }

    fn has_directory(&self) -> bool {
        let found = fs::metadata(&self.data).ok().map(|found| (found.dev(), found.ino()));
        found.is_some() && found == self.directory
    }

    fn path(&self) -> PathBuf {
        self.data.join(SOCKET)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn a_socket_that_was_removed_is_bound_again_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (place, first) = Place::take(directory.path());
        assert!(first.is_some() && place.look().is_none());
        let path = directory.path().join(SOCKET);
        fs::remove_file(&path).unwrap();
        let again = place.look();
        assert!(again.is_some() && place.look().is_none());
        assert_eq!(mode(&path), 0o600);
        std::os::unix::net::UnixStream::connect(&path).unwrap();
        place.leave();
        assert!(!path.exists() && place.look().is_none() && !path.exists());
    }

    #[tokio::test]
    async fn a_place_that_is_another_ones_is_left_to_it() {
        // At its end a server removed the socket of another one.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(SOCKET);
        fs::create_dir(&path).unwrap();
        let (place, none) = Place::take(directory.path());
        assert!(none.is_none() && place.look().is_none());
        fs::remove_dir(&path).unwrap();
        let listener = place.look();
        assert!(listener.is_some(), "it is bound as soon as it can be");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another").unwrap();
        assert!(place.look().is_none());
        place.leave();
        assert_eq!(fs::read(&path).unwrap(), b"another");
    }

    #[tokio::test]
    async fn no_socket_is_made_in_another_directory_of_the_same_name() {
        let above = tempfile::tempdir().unwrap();
        let data = above.path().join("data");
        fs::create_dir(&data).unwrap();
        let (place, _listener) = Place::take(&data);
        fs::rename(&data, above.path().join("moved")).unwrap();
        assert!(place.look().is_none());
        fs::create_dir(&data).unwrap();
        assert!(place.look().is_none() && !data.join(SOCKET).exists());
    }
}
