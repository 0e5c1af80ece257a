//! What the suites share: chance that repeats itself, races, and what a consistent locker is.

use std::collections::BTreeMap;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::serve::{Client, Reply, Server, backend};

/// The callers of a race.
pub(crate) const CALLERS: usize = 64;

/// A range that holds every instant the suites use.
pub(crate) const ALWAYS: &str = "startISO=2000-01-01T00:00:00Z&endISO=2200-01-01T00:00:00Z";

/// Numbers that look random and are the same every time (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// An instant, so many minutes into the suites' year, whose months have 28 days.
/// It lies far ahead: a window that is over has no slot.
pub(crate) fn minute(n: usize) -> String {
    let (day, hour, minute) = (n / 1440, n / 60 % 24, n % 60);
    let (year, month) = (2126 + day / 336, 1 + day / 28 % 12);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:00.000Z", 1 + day % 28)
}

/// A token that may do anything.
pub(crate) fn operator(server: &Server) -> String {
    server.token("dev", &["admin", "device"], &[])
}

/// Lets callers act at the same moment, each on a connection of its own that is open by then.
pub(crate) fn race<T: Send>(
    address: &str,
    token: &str,
    callers: usize,
    act: impl Fn(usize, &mut Client) -> T + Sync,
) -> Vec<T> {
    let barrier = Barrier::new(callers);
    thread::scope(|scope| {
        let act = &act;
        let barrier = &barrier;
        let start = |caller| {
            scope.spawn(move || {
                let mut client = Client::new(address).with_token(token);
                let open = client.try_send("GET", "/health", &[], None);
                // Whoever fails before it is waited for in vain.
                barrier.wait();
                assert_eq!(open.unwrap().status, 200);
                act(caller, &mut client)
            })
        };
        let threads: Vec<_> = (0..callers).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How often each outcome came: `201`, `409 reservation-overlap`.
pub(crate) fn outcomes(replies: &[Reply]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for reply in replies {
        *counted.entry(outcome(reply)).or_default() += 1;
    }
    counted
}

pub(crate) fn outcome(reply: &Reply) -> String {
    format!("{} {}", reply.status, reply.code()).trim_end().to_owned()
}

/// A refusal for being busy says when to come back; true if it is one.
pub(crate) fn busy(reply: &Reply) -> bool {
    let busy = reply.status == 503 && reply.code() == "busy";
    if busy {
        let seconds: u32 = reply.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{reply:?}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
        // On the store of this machine calls wait in line, until their time is over.
        let early = reply.is_busy_early() && backend::service().is_none();
        assert!(!early, "busy after {:?}: {reply:?}", reply.took);
    }
    busy
}

/// The time of a call can end while a service is asked that is too slow for all who ask at once. Whether a write
/// was made is then not known. The store on this machine never leaves it open; true if it was.
pub(crate) fn in_doubt(reply: &Reply) -> bool {
    let doubt = backend::service().is_some() && outcome(reply) == "503 outcome-unknown";
    assert!(!doubt || reply.header("retry-after") == "1", "{reply:?}");
    doubt
}

/// A service that did not even get to what it was asked in that time has done nothing; true if so.
pub(crate) fn too_slow(reply: &Reply) -> bool {
    backend::service().is_some() && outcome(reply) == "503 store-unavailable"
}

pub(crate) fn register(client: &mut Client, locker: &str, owner: &str) -> Value {
    let reply = client.post("/lockers", &json!({ "lockerId": locker, "ownerId": owner }));
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()
}

/// All items of a list, page by page.
pub(crate) fn list(client: &mut Client, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    let mark = if path.contains('?') { '&' } else { '?' };
    loop {
        let reply = client.get(&format!("{path}{mark}pageSize=100{cursor}"));
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        let page = reply.json();
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&nextCursor={next}"),
            None => return items,
        }
    }
}

pub(crate) fn lockers_of(client: &mut Client, owner: &str) -> Vec<Value> {
    list(client, &format!("/owners/{owner}/lockers"))
}

pub(crate) fn locker(client: &mut Client, locker: &str) -> Value {
    let reply = client.get(&format!("/lockers/{locker}?consistent=true"));
    assert_eq!(reply.status, 200, "{locker}: {reply:?}");
    reply.json()
}

/// Each of the locker's views is its owner's, and the same as the locker itself.
pub(crate) fn view_is_the_locker(client: &mut Client, id: &str, owners: &[&str]) {
    let meta = locker(client, id);
    for owner in owners {
        let views = lockers_of(client, owner);
        let views: Vec<_> = views.iter().filter(|view| view["lockerId"] == id).collect();
        if meta["ownerId"] == *owner {
            assert_eq!(views, [&meta], "the view of {owner} is the locker");
        } else {
            assert!(views.is_empty(), "{owner} does not own {id}: {views:?}; {meta}");
        }
    }
}

/// The start and the end of a reservation, as they sort.
pub(crate) fn window(reservation: &Value) -> (String, String) {
    let text = |name: &str| reservation[name].as_str().unwrap().to_owned();
    (text("startAt"), text("endAt"))
}

pub(crate) fn overlap(a: &(String, String), b: &(String, String)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// No two live reservations of a list overlap.
pub(crate) fn no_two_overlap(reservations: &[Value]) {
    let live: Vec<_> = reservations.iter().filter(|one| one["status"] == "ACTIVE").collect();
    for (at, one) in live.iter().enumerate() {
        for other in live.iter().skip(at + 1) {
            assert!(!overlap(&window(one), &window(other)), "{one} and {other} overlap");
        }
    }
}

/// Tells a process something.
pub(crate) fn signal(id: u32, name: &str) {
    let status = Command::new("kill").args([name, &id.to_string()]).status().unwrap();
    assert!(status.success(), "kill {name} {id}");
}

/// The command, under limits of the shell that starts it.
pub(crate) fn limited(limits: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// A server that was started with a command of the test's own.
pub(crate) struct Own {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) greeting: String,
}

impl Own {
    /// Starts it and reads until it has said where it can be asked for its health.
    pub(crate) fn start(command: &mut Command) -> Own {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (greeting, address) = crate::serve::greeting(&mut child, "  health");
        Own { child, address, greeting }
    }

    pub(crate) fn stop(&mut self) -> ExitStatus {
        signal(self.child.id(), "-TERM");
        self.child.wait().unwrap()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
