//! What a test starts from: a server, people, a few things.

use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::jwt;
use crate::serve::{Client, Reply, Server, backend};

/// The day on which everything happens.
pub(crate) const DAY: &str = "2026-02-25";

/// A server of its own, with a clock that requests set.
pub(crate) struct Scene {
    pub(crate) server: Server,
    /// What signs tokens.
    pub(crate) secret: String,
    directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn start() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start(directory.path());
        let secret = std::fs::read_to_string(directory.path().join("development-secret")).unwrap();
        Scene { server, secret: secret.trim().to_owned(), directory }
    }

    /// A server of documents on a table that has items already: those of a file that `latchkey import` reads so.
    pub(crate) fn on_items(document: &Path, items: &str, how: &str) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        // A data directory is for its owner alone, and the server makes it so.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, items).unwrap();
        let documents = [document.to_owned()];
        let mut import = backend::on_backend("import", data, &documents);
        let output = import.arg(how).arg("--from").arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let server = Server::start_on(data, &documents);
        let secret = std::fs::read_to_string(data.join("development-secret")).unwrap();
        Scene { server, secret: secret.trim().to_owned(), directory }
    }

    /// Stops the server, does something to what it left, and starts it again.
    pub(crate) fn restart(mut self, meanwhile: impl FnOnce(&std::path::Path)) -> Scene {
        let status = self.server.stop();
        assert!(status.success(), "the server stopped with {status}");
        let Scene { server, secret, directory } = self;
        drop(server);
        meanwhile(directory.path());
        Scene { server: Server::start(directory.path()), secret, directory }
    }

    /// Ends the server as a power cut would, and starts it again.
    pub(crate) fn crash(self) -> Scene {
        let Scene { server, secret, directory } = self;
        server.kill();
        Scene { server: Server::start(directory.path()), secret, directory }
    }

    /// Someone with roles and organisations, at ten o'clock.
    pub(crate) fn someone(&self, sub: &str, roles: &[&str], orgs: &[&str]) -> Client {
        let token = jwt::token(&self.secret, &jwt::claims(sub, roles, orgs));
        self.nobody().with_token(&token)
    }

    /// Someone who is nothing but themselves.
    pub(crate) fn person(&self, sub: &str) -> Client {
        self.someone(sub, &[], &[])
    }

    pub(crate) fn operator(&self) -> Client {
        self.someone("olga", &["operator"], &[])
    }

    pub(crate) fn admin(&self) -> Client {
        self.someone("ada", &["admin"], &[])
    }

    /// No token at all.
    pub(crate) fn nobody(&self) -> Client {
        self.server.client().at(&clock("10:00"))
    }

    /// Lets time pass up to a time of the day, with all that falls due until then.
    #[track_caller]
    pub(crate) fn pass(&self, time: &str) {
        self.pass_to(&clock(time));
    }

    /// Lets time pass up to an instant.
    #[track_caller]
    pub(crate) fn pass_to(&self, instant: &str) {
        let reply = self.server.client().at(instant).send("POST", "/test-clock/pass", &[], None);
        assert_eq!(reply.status, 200, "time does not pass; {reply}");
    }

    /// Has a queue do something else from here on: it `works`, `holds` or `refuses`.
    #[track_caller]
    pub(crate) fn queue(&self, name: &str, does: &str) {
        let path = format!("/test-clock/queues/{name}/{does}");
        let reply = self.server.client().send("POST", &path, &[], None);
        assert_eq!(reply.status, 200, "the queue does as it did; {reply}");
    }

    /// Registers a locker, at nine o'clock.
    #[track_caller]
    pub(crate) fn locker(&self, locker: &str, owner: &str) -> Value {
        let body = json!({"lockerId": locker, "ownerId": owner});
        self.operator().at(&clock("09:00")).post("/lockers", &body).is(201).json()
    }

    /// Reserves a locker for someone, between two times of the day.
    #[track_caller]
    pub(crate) fn reservation(&self, locker: &str, id: &str, who: &str, window: &str) -> Value {
        let path = format!("/lockers/{locker}/reservations");
        self.operator().at(&clock("09:00")).post(&path, &booking(id, who, window)).is(201).json()
    }

    /// Binds a device to a locker, at nine o'clock.
    #[track_caller]
    pub(crate) fn device(&self, locker: &str, device: &str) -> Value {
        let path = format!("/lockers/{locker}/device");
        let body = json!({"deviceId": device});
        self.operator().at(&clock("09:00")).put(&path, &body).is(200).json()
    }

    /// Logs an event at a time of the day, when that time has come.
    #[track_caller]
    pub(crate) fn event(&self, locker: &str, id: &str, time: &str) -> Value {
        let body = json!({
            "eventId": id, "timestamp": clock(time), "action": "OPEN", "actorId": "alice",
            "result": "SUCCESS",
        });
        let path = format!("/lockers/{locker}/events");
        self.operator().at(&clock(time)).post(&path, &body).is(201).json()
    }
}

/// Asks so many times at once.
pub(crate) fn at_once(count: usize, ask: impl Fn(usize) -> Reply + Sync) -> Vec<Reply> {
    thread::scope(|scope| {
        let ask = &ask;
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || ask(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A time of the day, as answers write it: `10:00`, `10:00:01`, `10:00:01.500`.
pub(crate) fn clock(time: &str) -> String {
    let full = "00:00:00.000".chars().skip(time.chars().count());
    format!("{DAY}T{time}{}Z", full.collect::<String>())
}

/// The body of a reservation for a window such as `10:00-11:00`.
pub(crate) fn booking(id: &str, who: &str, window: &str) -> Value {
    let (start, end) = window.split_once('-').unwrap();
    json!({"reservationId": id, "ownerId": who, "startAt": clock(start), "endAt": clock(end)})
}
