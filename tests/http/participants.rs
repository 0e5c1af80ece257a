//! What the tests of participation start from: events, people who take part, and what became of them.

use serde_json::{Value, json};

use crate::scene::{Scene, clock};
use crate::serve::{Client, Reply};

/// All that a request can be.
pub(crate) const STATUSES: [&str; 6] =
    ["RECEIVED", "QUEUED", "PROCESSING", "SUCCEEDED", "REJECTED", "FAILED_FINAL"];

/// An id that no request has.
pub(crate) const NO_REQUEST: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

impl Scene {
    /// Makes an event at nine o'clock, of a few members on top of its id and title.
    #[track_caller]
    pub(crate) fn event_of(&self, id: &str, more: &Value) -> Value {
        let mut body = json!({"eventId": id, "title": "Opening night"});
        let members = body.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        self.admin().at(&clock("09:00")).post("/admin/events", &body).is(201).json()
    }

    /// An event with so many seats, always open.
    #[track_caller]
    pub(crate) fn first_come(&self, id: &str, capacity: u32) -> Value {
        self.event_of(id, &json!({"mode": "FIRST_COME", "capacity": capacity}))
    }

    /// Someone takes part at a time of the day, for the first time.
    #[track_caller]
    pub(crate) fn joins(&self, who: &str, event: &str, time: &str) -> String {
        join(&mut self.person(who).at(&clock(time)), event).is(202).request_id()
    }

    /// A request, as an admin sees it.
    #[track_caller]
    pub(crate) fn request(&self, id: &str) -> Value {
        self.admin().get(&format!("/admin/requests/{id}")).is(200).json()
    }

    /// The statuses a request went through and when, oldest first.
    #[track_caller]
    pub(crate) fn log(&self, id: &str) -> Vec<(String, String)> {
        let page = self.admin().get(&format!("/admin/requests/{id}/logs")).is(200);
        page.listed("status").into_iter().zip(page.listed("occurredAt")).collect()
    }

    /// How many requests of an event there are of each status.
    #[track_caller]
    pub(crate) fn summary(&self, event: &str) -> Value {
        let reply = self.admin().get(&format!("/admin/events/{event}/summary")).is(200);
        reply.has("latchkey-contract", "AD-06").json()["byStatus"].clone()
    }
}

/// Takes part, with no body.
pub(crate) fn join(client: &mut Client, event: &str) -> Reply {
    client.send("POST", &format!("/events/{event}/participations"), &[], None)
}

/// Counts by status, in words such as `QUEUED 2, SUCCEEDED 1`; all else is none.
pub(crate) fn counts(words: &str) -> Value {
    let mut counts: Value = STATUSES.iter().map(|status| (*status, json!(0))).collect();
    for word in words.split(", ").filter(|word| !word.is_empty()) {
        let (status, count) = word.split_once(' ').unwrap();
        assert!(STATUSES.contains(&status), "`{status}` is no status");
        counts[status] = json!(count.parse::<u32>().unwrap());
    }
    counts
}

/// The values of a member of items.
pub(crate) fn each<'a>(items: &'a [Value], member: &str) -> Vec<&'a str> {
    items.iter().map(|item| item[member].as_str().unwrap_or_default()).collect()
}

/// The names of an object's members, in the order of the alphabet.
pub(crate) fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
