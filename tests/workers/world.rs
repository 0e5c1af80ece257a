//! Systems that run in processes of their own, somewhere, and clients that do not give up.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::jwt;
use crate::serve::services::{ENVIRONMENT, Service};
use crate::serve::sqs::Sqs;
use crate::serve::{Client, HANG, Reply, latchkey};

const SECRET: &str = "the secret of tests that all of them know";

/// How long a client goes on asking a server that is not there.
const PATIENCE: Duration = HANG;

/// Leases of the shipped document are long; these are over soon after whoever held them was killed.
pub(crate) const SHORT: [(&str, &str); 1] = [("\n  lease 30s\n", "\n  lease 4s\n")];

/// The shipped document without its order, for a queue that keeps none.
const UNORDERED: [(&str, &str); 2] = [
    (
        "queue participations ordered by eventId {\n  requestId ulid\n  eventId   id\n",
        "queue participations {\n  requestId ulid\n",
    ),
    ("send participations { requestId, eventId }", "send participations { requestId }"),
];

/// Fewer tries than the shipped document has.
pub(crate) fn tries(count: &'static str) -> [(&'static str, &'static str); 2] {
    let [lease] = SHORT;
    [lease, ("\n  tries 5\n", count)]
}

/// Where a system runs.
pub(crate) struct World {
    directory: TempDir,
    document: PathBuf,
    system: String,
    /// Where items and messages are.
    flags: Vec<String>,
    /// What holds the table, if it is not here.
    pub(crate) service: Option<Service>,
    /// What holds the messages, if it is neither here nor there.
    pub(crate) sqs: Option<Arc<Sqs>>,
}

impl World {
    /// A shipped document with some words replaced, on a store in a directory of its own.
    pub(crate) fn embedded(system: &str, edits: &[(&str, &str)]) -> World {
        let directory = tempfile::tempdir().unwrap();
        let shipped = format!("{}/../systems/{system}.md", env!("CARGO_MANIFEST_DIR"));
        let mut text = fs::read_to_string(shipped).unwrap();
        for (old, new) in edits {
            assert_eq!(text.matches(old).count(), 1, "the document says once: {old}");
            text = text.replace(old, new);
        }
        let document = directory.path().join(format!("{system}.md"));
        fs::write(&document, text).unwrap();
        let (flags, system) = (Vec::new(), system.to_owned());
        World { directory, document, system, flags, service: None, sqs: None }
    }

    /// Replaces some words of the document, for the processes that are started from here on.
    pub(crate) fn edit(&self, old: &str, new: &str) {
        let text = fs::read_to_string(&self.document).unwrap();
        assert_eq!(text.matches(old).count(), 1, "the document says once: {old}");
        fs::write(&self.document, text.replace(old, new)).unwrap();
    }

    /// The same with its table on DynamoDB Local; the messages are in the directory.
    pub(crate) fn on_dynamodb(system: &str, edits: &[(&str, &str)]) -> World {
        World::on_service(system, edits, Service::dynamodb_local())
    }

    /// The same with its table on a service.
    fn on_service(system: &str, edits: &[(&str, &str)], service: Service) -> World {
        let world = World::embedded(system, edits);
        let flags = ["--endpoint", service.endpoint(), "--table", &world.table_flag()];
        let flags = flags.map(str::to_owned).to_vec();
        let mut create = world.command();
        create.args(["table", "create"]).arg(&world.document).args(&flags);
        done(&mut create);
        let flags = [vec!["--dynamodb".to_owned()], flags].concat();
        World { flags, service: Some(service), ..world }
    }

    /// The same with its messages on SQS, under this name. A standard queue keeps no order, and its document
    /// asks for none.
    pub(crate) fn on_sqs(system: &str, edits: &[(&str, &str)], queue: &str, name: &str) -> World {
        let services = (Service::dynamodb_local(), Arc::new(Sqs::start()));
        World::on_both(system, edits, &format!("{queue}={name}"), services)
    }

    /// The same on services that others may use, too. `queue` is a queue of the document and its name there.
    pub(crate) fn on_both(
        system: &str,
        edits: &[(&str, &str)],
        queue: &str,
        (service, sqs): (Service, Arc<Sqs>),
    ) -> World {
        let endpoint = sqs.endpoint().to_owned();
        let unordered: &[_] = if queue.ends_with(".fifo") { &[] } else { &UNORDERED };
        let edits = [edits, unordered].concat();
        let world = World { sqs: Some(sqs), ..World::on_service(system, &edits, service) };
        world.with_queues_at(&endpoint, queue)
    }

    /// The queues are at this endpoint, and are made there.
    fn with_queues_at(mut self, endpoint: &str, names: &str) -> World {
        let flags = ["--sqs", "--sqs-endpoint", endpoint, "--sqs-queue", names];
        self.flags.extend(flags.map(str::to_owned));
        self.make_queues();
        self
    }

    /// Another way to the same queues.
    pub(crate) fn through(&mut self, sqs_endpoint: &str) {
        let at = self.flags.iter().position(|flag| flag == "--sqs-endpoint").unwrap();
        self.flags[at + 1] = sqs_endpoint.to_owned();
    }

    pub(crate) fn make_queues(&self) {
        let mut create = self.command();
        create.args(["queue", "create", "--doc"]).arg(&self.document);
        let at = self.flags.iter().position(|flag| flag == "--sqs").unwrap();
        let told = done(create.args(&self.flags[at..]));
        assert!(told.contains("is there"), "{told}");
    }

    /// The name its queue has on SQS.
    pub(crate) fn queue_name(&self) -> &str {
        let at = self.flags.iter().position(|flag| flag == "--sqs-queue").unwrap();
        self.flags[at + 1].split_once('=').unwrap().1
    }

    fn table_flag(&self) -> String {
        format!("{}={}", self.system, self.table())
    }

    /// The table, of this world alone.
    pub(crate) fn table(&self) -> String {
        let name = self.directory.path().file_name().unwrap().to_string_lossy().into_owned();
        format!("{}-{}-{}", self.system, std::process::id(), name.trim_start_matches('.'))
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The command, with what it needs of the environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = latchkey();
        command.envs(ENVIRONMENT).env("LATCHKEY_SECRET", SECRET).env("LATCHKEY_LOG", "error");
        command
    }

    /// `latchkey serve`, or another command on the same document, items and messages.
    pub(crate) fn on(&self, command: &str, more: &[&str]) -> Command {
        let mut started = self.command();
        started.arg(command).arg(&self.document).arg("--data").arg(self.data_of(command));
        started.args(&self.flags).args(more);
        started
    }

    /// Each process has its own, unless it holds items or messages.
    fn data_of(&self, command: &str) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        match &self.sqs {
            None => self.data(),
            Some(_) => {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                self.path().join(format!("{command}-{number}"))
            }
        }
    }

    pub(crate) fn serve(&self, more: &[&str]) -> Process {
        Process::start(self.on("serve", more).args(["--listen", "127.0.0.1:0"]))
    }

    pub(crate) fn work(&self, more: &[&str]) -> Process {
        Process::start(self.on("work", more).args(["--listen", "127.0.0.1:0"]))
    }

    /// A worker with a way of its own to the table.
    pub(crate) fn work_through(&self, endpoint: &str) -> Process {
        self.through_ways("work", &[], &[("--endpoint", endpoint)])
    }

    /// A process with ways of its own: flags, and where they lead.
    pub(crate) fn through_ways(
        &self,
        command: &str,
        more: &[&str],
        ways: &[(&str, &str)],
    ) -> Process {
        Process::start(&mut self.by_ways(command, more, ways))
    }

    /// A worker with ways of its own, whose warnings go to a file.
    pub(crate) fn work_logged(&self, more: &[&str], ways: &[(&str, &str)], log: &Path) -> Process {
        let mut work = self.by_ways("work", more, ways);
        Process::start(work.env("LATCHKEY_LOG", "warn").stderr(File::create(log).unwrap()))
    }

    fn by_ways(&self, command: &str, more: &[&str], ways: &[(&str, &str)]) -> Command {
        let mut started = self.on(command, more);
        started.args(["--listen", "127.0.0.1:0"]);
        let mut arguments: Vec<_> = started.get_args().map(OsStr::to_owned).collect();
        for (flag, endpoint) in ways {
            let at = arguments.iter().position(|one| one == flag).unwrap();
            arguments[at + 1] = endpoint.into();
        }
        let mut started = self.command();
        started.args(arguments);
        started
    }

    /// `latchkey queue`, done to its end.
    pub(crate) fn queue(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = self.command();
        command.arg("queue").args(arguments).arg("--doc").arg(&self.document);
        command.arg("--data").arg(self.data()).args(&self.flags).output().unwrap()
    }

    /// What `latchkey queue` says, once it has done what it was told.
    pub(crate) fn queue_told(&self, arguments: &[&str]) -> String {
        let output = self.queue(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the one queue of the system has: due, held, due later, given up.
    pub(crate) fn depth(&self) -> [u64; 4] {
        let listed: Value = serde_json::from_str(&self.queue_told(&["ls", "--json"])).unwrap();
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        let count = |name: &str| listed[0][name]["counted"].as_u64().unwrap();
        ["visible", "inFlight", "delayed", "dead"].map(count)
    }

    /// The items of the store, which nobody has open.
    pub(crate) fn exported(&self) -> Vec<Value> {
        let mut export = self.command();
        let file = self.path().join("export.jsonl");
        let _ = fs::remove_file(&file);
        export.arg("export").arg(&self.document).arg("--out").arg(&file);
        done(export.arg("--data").arg(self.data()).args(&self.flags));
        let text = fs::read_to_string(&file).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// A running `latchkey serve` or `latchkey work`. Dropped, it is killed.
pub(crate) struct Process {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
}

impl Process {
    /// Starts it and reads until it has said where it listens.
    fn start(command: &mut Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut greeting, mut address) = (String::new(), None);
        while address.is_none() {
            let Some(Ok(line)) = lines.next() else { break };
            let url = ["listening", "metrics"].iter().find_map(|w| line.trim().strip_prefix(w));
            address = url.map(|url| {
                let url = url.trim().strip_prefix("http://").unwrap();
                url.trim_end_matches("/metrics").to_owned()
            });
            greeting.push_str(&line);
            greeting.push('\n');
        }
        let address = address.unwrap_or_else(|| panic!("it does not start: {greeting}"));
        // Whatever else it prints is read, or it would wait for a reader.
        thread::spawn(move || lines.for_each(drop));
        Process { child, address }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }

    pub(crate) fn admin(&self) -> Client {
        Client::new(&self.address).with_token(&token("ada", &["admin"]))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A token of someone.
pub(crate) fn token(sub: &str, roles: &[&str]) -> String {
    jwt::token(SECRET, &jwt::claims(sub, roles, &[]))
}

/// Where the server is now: it has another port after each start.
#[derive(Default)]
pub(crate) struct Address(RwLock<String>);

impl Address {
    pub(crate) fn of(process: &Process) -> Address {
        Address(RwLock::new(process.address.clone()))
    }

    pub(crate) fn is_now(&self, process: &Process) {
        process.address.clone_into(&mut self.0.write().unwrap());
    }

    fn get(&self) -> String {
        self.0.read().unwrap().clone()
    }
}

/// A client that asks again, until it is answered, a server that is killed now and then.
pub(crate) struct Patient<'a> {
    address: &'a Address,
    known: String,
    client: Client,
    /// How often it had to ask again.
    pub(crate) again: usize,
}

impl<'a> Patient<'a> {
    pub(crate) fn new(address: &'a Address) -> Patient<'a> {
        let known = address.get();
        Patient { address, client: Client::new(&known), known, again: 0 }
    }

    pub(crate) fn ask(
        &mut self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Reply {
        let started = Instant::now();
        loop {
            let address = self.address.get();
            if self.known != address {
                self.client = Client::new(&address);
                self.known = address;
            }
            self.client.token = Some(token.to_owned());
            match self.client.try_send(method, path, &[], body) {
                Ok(reply) if reply.status != 503 => return reply,
                other => {
                    let waited = started.elapsed();
                    assert!(waited < PATIENCE, "{method} {path} is not answered: {other:?}");
                }
            }
            self.again += 1;
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn get(&mut self, token: &str, path: &str) -> Value {
        let reply = self.ask(token, "GET", path, None);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }
}

/// Numbers that look random (SplitMix64). Moments differ from run to run whatever they are.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number below another.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    /// A time between two, in milliseconds.
    pub(crate) fn pause(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}
