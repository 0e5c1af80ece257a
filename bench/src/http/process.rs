//! Servers in processes of their own.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::client::{SECRET, Signing, provider};
use super::lockers::DOCUMENT;
use super::peer::Peer;
use crate::Result;

/// A program of this name is the command, whichever file it is in: a server is to be the real one, and this
/// is the one program that is sure to be there.
const LATCHKEY: &str = "latchkey";

/// What a server says before its address.
pub(crate) const LISTENING: &str = "listening";

/// How many of the units `/proc` counts in make a second, on every Linux.
const TICKS: f64 = 100.0;

/// Whether a service tells of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// As it does unless told otherwise.
    Requests,
    Warnings,
}

/// A server. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    log: File,
    /// Open for as long as the server is: it fails if it cannot say what else it has to.
    _output: Lines<BufReader<ChildStdout>>,
}

/// Whether this process was started as the command.
pub(crate) fn is_latchkey() -> bool {
    std::env::args_os().next().is_some_and(|name| name == LATCHKEY)
}

/// The command, yet to be told what to do.
pub(crate) fn latchkey() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(LATCHKEY);
    Ok(command)
}

impl Server {
    /// `latchkey serve`, on the store in a directory; its log is a file there.
    pub(crate) fn latchkey(
        directory: &Path,
        log: Log,
        signing: Signing,
        flags: &[&str],
    ) -> Result<Server> {
        let mut command = latchkey()?;
        command.args(["serve", DOCUMENT]).args(flags);
        match log {
            Log::Requests => command.env_remove("LATCHKEY_LOG"),
            Log::Warnings => command.env("LATCHKEY_LOG", "warn"),
        };
        if signing == Signing::Rs256 {
            let keys = directory.join("keys.json");
            std::fs::write(&keys, json!({"keys": [provider().jwk()]}).to_string())?;
            command.arg("--jwks").arg(keys);
            command.args(["--issuer", "latchkey", "--audience", "latchkey"]);
        }
        Server::serve(command, directory)
    }

    /// `latchkey serve` with what else it is told.
    pub(crate) fn serve(mut command: Command, directory: &Path) -> Result<Server> {
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(directory);
        command.env("LATCHKEY_SECRET", SECRET);
        Server::start(command, directory)
    }

    /// The bare handler.
    pub(crate) fn peer(directory: &Path, peer: &Peer) -> Result<Server> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["http-peer", "--body", &peer.body]);
        command.args(peer.headers.iter().flat_map(|header| ["--header", header]));
        Server::start(command, directory)
    }

    fn start(mut command: Command, directory: &Path) -> Result<Server> {
        let path = directory.join("log");
        let log = File::options().append(true).create(true).open(&path)?;
        let mut child = command.stdout(Stdio::piped()).stderr(log.try_clone()?).spawn()?;
        let output = child.stdout.take().ok_or("a server has no output")?;
        let mut output = BufReader::new(output).lines();
        let address = output.by_ref().map_while(|line| line.ok()).find_map(|line| {
            let address = line.trim().strip_prefix(LISTENING)?.trim().strip_prefix("http://")?;
            address.parse().ok()
        });
        match address {
            Some(address) => Ok(Server { child, address, log, _output: output }),
            None => {
                child.kill()?;
                child.wait()?;
                Err(format!("a server failed: {}", std::fs::read_to_string(path)?).into())
            }
        }
    }

    /// Empties the log. It is kept in memory by the system for a while, and if it grew from run to run it
    /// would reach the disk while something else is measured.
    pub(crate) fn empty_log(&self) -> Result<()> {
        Ok(self.log.set_len(0)?)
    }

    /// How long all its threads have run, where the system tells.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        cpu(&text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The time in user and in system mode. The name, which is second, may hold anything.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some(Duration::from_secs_f64((f64::from(user) + f64::from(system)) / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_found() {
        let stat = "42 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 250 50 13 14 20 0 3 0 999";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu("42 (latchkey) S 1 2"), None);
    }
}
