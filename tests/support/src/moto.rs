//! `moto`, which speaks SQS's protocol, from PyPI: installed once for all tests, also for those of the queues,
//! which take this file. What it holds is gone when it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

const MOTO: &str = "moto[server]==5.2.5";

/// It ends when its standard input is closed, so that it never outlives the test.
///
/// SQS hands out no message of a FIFO group while others of the group are in flight. moto looks at that once, before it
/// waits for messages, so that one of two waiting receivers gets what is behind the other's; and when leases have run
/// out, it passes over all but the last of the messages. So a receiver of a FIFO queue here waits outside of moto, and
/// asks it anew each time, alone, after the leases that are over were taken back.
const PROGRAM: &str = "
import sys, threading, time
from moto.server import ThreadedMotoServer
from moto.sqs.models import SQSBackend
receive, alone = SQSBackend.receive_message, threading.Lock()
def receive_in_order(self, queue_name, count, wait, visibility, names=None):
    queue = self.get_queue(queue_name)
    if not queue.fifo_queue:
        return receive(self, queue_name, count, wait, visibility, names)
    end = time.monotonic() + wait
    while True:
        with alone:
            for message in [one for one in list(queue.pending_messages) if one.visible]:
                queue.pending_messages.discard(message)
            received = receive(self, queue_name, count, 0, visibility, names)
        if received or time.monotonic() >= end:
            return received
        time.sleep(0.02)
SQSBackend.receive_message = receive_in_order
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
";

/// A service of the test's own, ended when it is dropped.
pub struct Moto {
    child: Child,
    input: Option<ChildStdin>,
    /// `http://127.0.0.1:PORT`
    pub endpoint: String,
}

/// Where moto is installed, once for all tests.
fn python() -> PathBuf {
    let folder = crate::target().join("tmp");
    fs::create_dir_all(&folder).unwrap();
    let (ready, python) = (folder.join("moto.ready"), folder.join("moto/bin/python"));
    let lock = File::create(folder.join("moto.lock")).unwrap();
    lock.lock().unwrap();
    if fs::read_to_string(&ready).ok().as_deref() != Some(MOTO) {
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("moto")));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", MOTO]));
        fs::write(ready, MOTO).unwrap();
    }
    python
}

impl Moto {
    pub fn start() -> Moto {
        let mut child = Command::new(python())
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port: u16 = lines.filter_map(|line| line.parse().ok()).next().unwrap();
        Moto { child, input, endpoint: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
