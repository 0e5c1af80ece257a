//! A socket in the data directory, by which a command asks the process that has the directory open. Only the owner of
//! the directory can use it.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use latchkey_embedded::{Store, private};
use latchkey_runtime::Runtime;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::Failure;
use crate::stream::{self, Kind, Piece, Task};
use crate::upkeep::Order;

/// The socket's name in the directory.
pub(crate) const SOCKET: &str = "control.sock";

/// The longest path that every system takes as the address of a socket: they take 103 bytes or 107.
const PATH_BYTES_MAX: usize = 103;

/// The longest order.
const ORDER_BYTES_MAX: u64 = 16 * 1024;

/// The longest answer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a command says of an answer that it cannot read.
pub(crate) const STRANGE: &str =
    "the server's answer cannot be read; is the server of another version of latchkey?";

/// How long a command may take to send its order.
const ASK_TIME_MAX: Duration = Duration::from_secs(5);

/// Listens to commands until it is dropped.
pub(crate) struct Control {
    path: PathBuf,
    task: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens in a directory whose store this process has open. If that fails, commands must wait until the store is
    /// free.
    pub(crate) fn listen(data: &Path, runtimes: &[Runtime], store: &Arc<Store>) -> Control {
        // By its real path: a link to the directory may lead to that of another server later.
        let real = private::without_links(data);
        let data = real.as_deref().unwrap_or(data);
        let path = data.join(SOCKET);
        // A socket here is left from a process that died, because only one process has the store. If it cannot be
        // removed, `bind` fails and says so.
        let _ = std::fs::remove_file(&path);
        let listener = match at(data, |path| UnixListener::bind(path)) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "no other command can ask this process");
                return Control { path, task: None };
            }
        };
        // For the owner only, whatever the mode of the directory.
        if let Err(error) = std::fs::set_permissions(&path, Permissions::from_mode(0o600)) {
            tracing::warn!(%error, "no other command can ask this process");
            return Control { path, task: None };
        }
        let runtimes: Arc<[Runtime]> = runtimes.into();
        // The store closes when the server is done with it, whoever reads it.
        let store = Arc::downgrade(store);
        let task = tokio::spawn(async move {
            // They all end with this task, whatever they are at.
            let mut answers = JoinSet::new();
            loop {
                while answers.try_join_next().is_some() {}
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let (runtimes, store) = (Arc::clone(&runtimes), Weak::clone(&store));
                        answers.spawn(async move {
                            // If this fails, the command that asked is gone.
                            let _ = answer(stream, &runtimes, &store).await;
                        });
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Control { path, task: Some(task) }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

async fn answer(
    mut stream: UnixStream,
    runtimes: &[Runtime],
    store: &Weak<Store>,
) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut line = Vec::new();
    let mut read = BufReader::new(read).take(ORDER_BYTES_MAX);
    tokio::time::timeout(ASK_TIME_MAX, read.read_until(b'\n', &mut line)).await??;
    let asked: Option<Value> = serde_json::from_slice(&line).ok();
    if let Some(task) = asked.as_ref().and_then(Task::from_json)
        && let Some(view) = store.upgrade().map(|store| store.view())
    {
        return stream::send(task, view, &mut write).await;
    }
    let answer = match asked.as_ref().and_then(Order::from_json) {
        None => json!({"error": "this is not an order; is the server of another version?"}),
        Some(order) => match order.carry_out(runtimes).await {
            Ok(done) => json!({"done": done}),
            Err(error) => json!({"error": error}),
        },
    };
    write.write_all(answer.to_string().as_bytes()).await?;
    write.shutdown().await
}

/// Does something with the path of the socket in a directory. A path that is too long for an address is taken through
/// the open directory, as Linux has it under `/proc`.
fn at<T>(data: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return act(&path);
    }
    let directory = File::open(data)?;
    let near = format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd());
    act(Path::new(&near))
}

/// Connects to the socket of a directory, also outside of an asynchronous task.
fn dial(data: &Path) -> io::Result<std::os::unix::net::UnixStream> {
    // Another user's process could answer anything.
    private::refuse_foreign(&data.join(SOCKET), data)?;
    at(data, |path| std::os::unix::net::UnixStream::connect(path))
}

/// Connects to the socket of a directory.
fn connect(data: &Path) -> io::Result<UnixStream> {
    let stream = dial(data)?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// Asks the process that has a directory open to read its store, and hands each piece to a function up to the last,
/// whose answer this returns. Nothing if there is no such process.
pub(crate) async fn read(
    data: &Path,
    task: &Task,
    mut take: impl FnMut(Piece) -> Result<(), Failure>,
) -> Option<Result<Value, Failure>> {
    let mut incoming = match begin(data, task).await? {
        Ok(incoming) => incoming,
        Err(failure) => return Some(Err(failure)),
    };
    loop {
        let taken = match stream::receive(&mut incoming).await {
            Ok(piece) if piece.kind == Kind::End => return Some(piece.value()),
            Ok(piece) => take(piece),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = taken {
            return Some(Err(failure));
        }
    }
}

/// Whether a process has a directory open and can be asked.
pub(crate) fn is_there(data: &Path) -> bool {
    dial(data).is_ok()
}

/// Asks the process that has a directory open to read its store. The pieces follow.
pub(crate) async fn begin(
    data: &Path,
    task: &Task,
) -> Option<Result<BufReader<UnixStream>, Failure>> {
    let mut stream = match connect(data) {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => None,
                _ => Some(Err(Failure::Unusable(format!(
                    "cannot ask the server at `{}`: {error}",
                    data.join(SOCKET).display()
                )))),
            };
        }
    };
    match stream.write_all(format!("{}\n", task.to_json()).as_bytes()).await {
        Ok(()) => Some(Ok(BufReader::new(stream))),
        Err(error) => Some(Err(Failure::Unusable(format!("the server cannot be asked: {error}")))),
    }
}

/// Asks the process that has a directory open to carry out an order. Nothing if there is no such process: no socket, or
/// one that a dead process left.
pub(crate) async fn ask(data: &Path, order: &Order) -> Option<Result<Value, String>> {
    let path = data.join(SOCKET);
    let mut stream = match connect(data) {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => None,
                _ => Some(Err(format!("cannot ask the server at `{}`: {error}", path.display()))),
            };
        }
    };
    let asked = async {
        stream.write_all(format!("{}\n", order.to_json()).as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = match asked.await {
        Ok(answer) => answer,
        Err(error) => return Some(Err(format!("the server did not answer: {error}"))),
    };
    let mut answer: Value = match serde_json::from_slice(&answer) {
        Ok(answer) => answer,
        Err(_) => return Some(Err("the server stopped before it answered".to_owned())),
    };
    if let Some(error) = answer.get("error").and_then(Value::as_str) {
        return Some(Err(error.to_owned()));
    }
    match answer.get_mut("done") {
        Some(done) => Some(Ok(done.take())),
        None => Some(Err(STRANGE.to_owned())),
    }
}
