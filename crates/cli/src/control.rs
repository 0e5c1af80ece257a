//! A socket in the data directory, by which a command asks the process that has the directory open. Only the owner of
//! the directory can use it.

mod place;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use latchkey_embedded::{Store, private};
use latchkey_runtime::Runtime;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use self::place::Place;
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

/// How often the process looks whether the socket is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Listens to commands until it is dropped.
pub(crate) struct Control {
    place: Arc<Place>,
    task: JoinHandle<()>,
}

impl Control {
    /// Listens in a directory whose store this process has open. If that fails, commands must wait until the store is
    /// free.
    pub(crate) fn listen(data: &Path, runtimes: &[Runtime], store: &Arc<Store>) -> Control {
        // By its real path: a link to the directory may lead to that of another server later.
        let real = private::without_links(data);
        let (place, listener) = Place::take(real.as_deref().unwrap_or(data));
        let place = Arc::new(place);
        // The store closes when the server is done with it, whoever reads it.
        let store = Arc::downgrade(store);
        let task = tokio::spawn(attend(Arc::clone(&place), listener, runtimes.into(), store));
        Control { place, task }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        self.place.leave();
    }
}

/// Answers commands for ever.
async fn attend(
    place: Arc<Place>,
    mut listener: Option<UnixListener>,
    runtimes: Arc<[Runtime]>,
    store: Weak<Store>,
) {
    // They all end with this task, whatever they are at.
    let mut answers = JoinSet::new();
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        while answers.try_join_next().is_some() {}
        tokio::select! {
            accepted = accept(listener.as_ref()) => match accepted {
                Ok((stream, _)) => {
                    let (runtimes, store) = (Arc::clone(&runtimes), Weak::clone(&store));
                    answers.spawn(async move {
                        // If this fails, the command that asked is gone.
                        let _ = answer(stream, &runtimes, &store).await;
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            _ = looks.tick() => {
                if let Some(again) = place.look() {
                    listener = Some(again);
                }
            }
        }
    }
}

/// Waits for a command. Without a socket none comes.
async fn accept(listener: Option<&UnixListener>) -> io::Result<(UnixStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
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
