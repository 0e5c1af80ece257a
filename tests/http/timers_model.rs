//! Reservations and their timers against a model that is a list of windows and no more.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::serve::{Client, backend};

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}

/// A window in minutes of the story, and what became of it.
#[derive(Debug, Clone)]
struct Window {
    id: String,
    start: i64,
    end: i64,
    /// When it expires, if it is not cancelled: at its end, or as it is made.
    expires: i64,
    status: &'static str,
}

impl Window {
    fn lasts_at(&self, minute: i64) -> bool {
        self.status == "ACTIVE" && self.start <= minute && minute < self.end
    }
}

/// What one locker goes through, and what should come of it.
struct Story<'a> {
    scene: &'a Scene,
    operator: Client,
    locker: String,
    /// The day it begins: each story has days of its own, so that time only passes.
    day: i64,
    now: i64,
    windows: Vec<Window>,
    chance: Chance,
    /// What happened so far, for whoever reads a failure.
    told: String,
}

impl<'a> Story<'a> {
    fn begin(scene: &'a Scene, number: i64) -> Story<'a> {
        let locker = format!("L{number}");
        scene.locker(&locker, "alice");
        let seed = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(u64::try_from(number).unwrap() + 1);
        Story {
            scene,
            operator: scene.operator(),
            locker,
            day: 1 + number,
            now: 0,
            windows: Vec::new(),
            chance: Chance(seed),
            told: String::new(),
        }
    }

    /// A minute of the story as an instant. It begins at six in the morning.
    fn instant(&self, minute: i64) -> String {
        let minute = minute + 6 * 60;
        assert!((0..24 * 60).contains(&minute), "a story is told within a day");
        format!("2026-03-{:02}T{:02}:{:02}:00.000Z", self.day, minute / 60, minute % 60)
    }

    fn path(&self, rest: &str) -> String {
        format!("/lockers/{}/reservations{rest}", self.locker)
    }

    fn tell(&mut self, what: &str) {
        writeln!(self.told, "at {}: {what}", self.now).unwrap();
    }

    fn step(&mut self) {
        match self.chance.below(100) {
            0..45 => self.make(),
            45..65 => self.cancel(),
            65..85 => self.pass(),
            _ => self.now += self.chance.below(8),
        }
        let later = self.now + self.chance.below(40);
        self.look(self.now);
        self.look(later);
    }

    fn make(&mut self) {
        let id = format!("R{}", self.windows.len());
        let start = self.now - 40 + self.chance.below(90);
        let end = start + 1 + self.chance.below(30);
        self.tell(&format!("reserve {id} {start}..{end}"));
        let body = json!({
            "reservationId": id, "ownerId": "rita", "startAt": self.instant(start),
            "endAt": self.instant(end),
        });
        self.operator.now = Some(self.instant(self.now));
        let reply = self.operator.post(&self.path(""), &body);
        let overlaps =
            |other: &Window| other.status == "ACTIVE" && other.start < end && start < other.end;
        // One that is over expires as it is made, and blocks nothing.
        let over = end <= self.now;
        if !over && self.windows.iter().any(overlaps) {
            assert_eq!(reply.code(), "reservation-overlap", "{}{reply}", self.told);
        } else {
            assert_eq!(reply.status, 201, "{}{reply}", self.told);
            let (expires, status) = if over { (self.now, "EXPIRED") } else { (end, "ACTIVE") };
            self.windows.push(Window { id, start, end, expires, status });
        }
    }

    fn cancel(&mut self) {
        if self.windows.is_empty() {
            return;
        }
        let bound = i64::try_from(self.windows.len()).unwrap();
        let at = usize::try_from(self.chance.below(bound)).unwrap();
        let window = self.windows[at].clone();
        self.tell(&format!("cancel {}", window.id));
        self.operator.now = Some(self.instant(self.now));
        let path = self.path(&format!("/{}/cancel", window.id));
        let reply = self.operator.post(&path, &json!({}));
        if window.status == "CANCELLED" || (window.status == "ACTIVE" && self.now < window.end) {
            assert_eq!(reply.status, 200, "{}{reply}", self.told);
            self.windows[at].status = "CANCELLED";
        } else {
            assert_eq!(reply.code(), "reservation-ended", "{}{reply}", self.told);
        }
    }

    /// Timers come, all that are due by now.
    fn pass(&mut self) {
        self.now += self.chance.below(12);
        self.tell("time passes");
        self.scene.pass_to(&self.instant(self.now));
        for window in &mut self.windows {
            if window.status == "ACTIVE" && window.end <= self.now {
                window.status = "EXPIRED";
            }
        }
        // No timer is late now, so the pointer alone tells of who is there.
        if self.windows.iter().any(|window| window.lasts_at(self.now)) {
            let reply = self.active(self.now);
            assert_eq!(reply.1, "rcu=4, wcu=0", "what it costs to find it\n{}", self.told);
        }
        self.statuses();
    }

    /// The active one at a minute, if any, and what it cost to find it.
    fn active(&mut self, minute: i64) -> (Option<String>, String) {
        self.operator.now = Some(self.instant(minute));
        let reply = self.operator.get(&self.path("/active"));
        let cost = reply.header("latchkey-capacity").to_owned();
        if reply.status == 200 {
            (reply.json()["reservationId"].as_str().map(str::to_owned), cost)
        } else {
            assert_eq!(reply.code(), "no-active-reservation", "{}{reply}", self.told);
            (None, cost)
        }
    }

    fn look(&mut self, minute: i64) {
        let (shown, _) = self.active(minute);
        let mut lasting = self.windows.iter().filter(|window| window.lasts_at(minute));
        let expected = lasting.next().map(|window| window.id.clone());
        assert!(lasting.next().is_none(), "live windows never overlap\n{}", self.told);
        assert_eq!(shown, expected, "who is active at {minute}\n{}", self.told);
    }

    fn statuses(&mut self) {
        let ages = "?startISO=2026-01-01T00:00:00Z&endISO=2027-01-01T00:00:00Z&pageSize=100";
        let items = self.operator.get(&self.path(ages)).is(200).items();
        assert_eq!(items.len(), self.windows.len(), "{}", self.told);
        for window in &self.windows {
            let shown = items.iter().find(|item| item["reservationId"] == window.id);
            let shown = shown.unwrap_or(&Value::Null);
            assert_eq!(shown["status"], window.status, "{}: {shown}\n{}", window.id, self.told);
            if window.status == "EXPIRED" {
                let expired = self.instant(window.expires);
                assert_eq!(shown["updatedAt"], expired, "{}: {shown}\n{}", window.id, self.told);
            }
        }
    }
}

#[test]
fn whatever_happens_the_active_reservation_is_the_one_under_way() {
    let scene = Scene::start();
    let mut ended = [0; 3];
    for number in 0..i64::try_from(backend::rounds(27)).unwrap() {
        let mut story = Story::begin(&scene, number);
        story.now = 60;
        for _ in 0..80 {
            story.step();
        }
        story.pass();
        for (count, status) in ended.iter_mut().zip(["ACTIVE", "CANCELLED", "EXPIRED"]) {
            *count += story.windows.iter().filter(|window| window.status == status).count();
        }
    }
    assert!(ended.iter().all(|count| *count > 5), "something of everything happened: {ended:?}");
}
