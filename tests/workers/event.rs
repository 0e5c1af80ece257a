//! An event that people race for, and what must hold of it in the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::serve::{Reply, until};
use crate::world::{Address, Patient, World, token};

/// The queue of participation.
pub(crate) const QUEUE: &str = "participations";

/// The names of what a request says of itself, in the order of its life.
const TIMES: [&str; 4] = ["requestedAt", "queuedAt", "startedAt", "finishedAt"];

/// Of how many requests the log is read, beside those of the winners.
const LOGS: usize = 300;

/// An event.
pub(crate) struct Event<'a> {
    pub(crate) id: &'a str,
    pub(crate) seats: usize,
}

/// Which request each was told to have.
pub(crate) type Told = BTreeMap<String, String>;

pub(crate) fn admin() -> String {
    token("ada", &["admin"])
}

/// The request that a reply tells of.
pub(crate) fn request_id(reply: &Reply) -> String {
    reply.json()["requestId"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

impl Event<'_> {
    /// Makes it.
    pub(crate) fn open(&self, address: &Address) {
        self.open_as(address, "A race");
    }

    pub(crate) fn open_as(&self, address: &Address, title: &str) {
        let body = json!({
            "eventId": self.id, "title": title, "mode": "FIRST_COME", "capacity": self.seats,
        });
        let mut client = Patient::new(address);
        let reply = client.ask(&admin(), "POST", "/admin/events", Some(&body.to_string()));
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    /// Takes part, and says with which request.
    pub(crate) fn click(&self, client: &mut Patient<'_>, user: &str) -> String {
        let reply = self.reply(client, user);
        assert!([200, 202].contains(&reply.status), "{reply:?}");
        request_id(&reply)
    }

    pub(crate) fn reply(&self, client: &mut Patient<'_>, user: &str) -> Reply {
        let path = format!("/events/{}/participations", self.id);
        client.ask(&token(user, &[]), "POST", &path, None)
    }

    /// How many requests have each status.
    pub(crate) fn summary(&self, client: &mut Patient<'_>) -> BTreeMap<String, usize> {
        let summary = client.get(&admin(), &format!("/admin/events/{}/summary", self.id));
        serde_json::from_value(summary["byStatus"].clone()).unwrap()
    }

    /// How many are decided.
    pub(crate) fn decided(&self, client: &mut Patient<'_>) -> usize {
        let summary = self.summary(client);
        summary["SUCCEEDED"] + summary["REJECTED"] + summary["FAILED_FINAL"]
    }

    pub(crate) fn wait(&self, address: &Address, count: usize) {
        let mut client = Patient::new(address);
        let what = format!("{count} requests for {} are decided", self.id);
        until(&what, || self.decided(&mut client) >= count);
    }

    /// The requests by when they were accepted, all pages.
    pub(crate) fn walk(&self, client: &mut Patient<'_>, order: &str, limit: usize) -> Vec<Value> {
        let path = format!("/admin/events/{}/requests?order={order}&limit={limit}", self.id);
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = client.get(&admin(), &format!("{path}{cursor}"));
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&nextCursor={next}"),
                None => return items,
            }
        }
    }

    /// Everything is decided, once, and all that is told of it agrees.
    pub(crate) fn is_settled(&self, world: &World, address: &Address, told: &Told) {
        let mut client = Patient::new(address);
        let requests = self.walk(&mut client, "asc", 100);
        let mut backwards = self.walk(&mut client, "desc", 100);
        backwards.reverse();
        assert_eq!(requests, backwards, "both orders show the same");
        is_in_order(&requests);

        let listed = requests.iter().map(|one| (text(one, "userId"), text(one, "requestId")));
        let listed: Told = listed.collect();
        assert_eq!(listed.len(), requests.len(), "one request for each user");
        assert_eq!(&listed, told, "the request each was told of is the one there is");

        let winners: Vec<&Value> = requests.iter().filter(|one| won(one)).collect();
        assert_eq!(winners.len(), self.seats.min(told.len()), "winners");
        if world.sqs.is_none() {
            seats_went_to_the_first(&requests);
        }
        for one in requests.iter().filter(|one| !won(one)) {
            assert_eq!(
                (&one["status"], &one["uiResult"]),
                (&json!("REJECTED"), &json!("REJECTED_CAPACITY")),
                "{one}"
            );
        }
        for one in &requests {
            assert!(TIMES.is_sorted_by(|a, b| text(one, a) <= text(one, b)), "{one}");
            for absent in ["failureClass", "errorCode", "errorMessage"] {
                assert!(one.get(absent).is_none(), "{one}");
            }
        }

        let event = client.get(&admin(), &format!("/events/{}", self.id));
        let left = self.seats - winners.len();
        assert_eq!(event["capacityRemaining"], json!(left), "{event}");
        let mut counted: BTreeMap<String, usize> = self.summary(&mut client);
        counted.retain(|_, count| *count != 0);
        let mut walked = BTreeMap::new();
        requests.iter().for_each(|one| *walked.entry(text(one, "status")).or_default() += 1);
        assert_eq!(counted, walked, "the summary is the sum of the requests");

        let every = (requests.len() / LOGS).max(1);
        let sample = requests.iter().enumerate();
        for (_, one) in sample.filter(|(at, one)| won(one) || at % every == 0) {
            is_logged(&mut client, one);
        }
        // A copy that was put off comes once more, and finds that all is done.
        until("the queue is empty", || world.depth() == [0; 4]);
        if let Some(sqs) = &world.sqs {
            let name = world.queue_name();
            let dead = match name.strip_suffix(".fifo") {
                Some(name) => format!("{name}-dead.fifo"),
                None => format!("{name}-dead"),
            };
            assert_eq!(sqs.depth(&dead), [0; 3], "SQS has given nothing up");
        }
    }
}

pub(crate) fn text(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_else(|| panic!("there is no {name} in {of}")).to_owned()
}

fn won(request: &Value) -> bool {
    request["status"] == "SUCCEEDED" && request["uiResult"] == "SUCCESS"
}

/// Nobody won who was accepted after one who lost; within one millisecond any may be first.
pub(crate) fn seats_went_to_the_first(requests: &[Value]) {
    let last = requests.iter().filter(|one| won(one)).map(|one| text(one, "queuedAt")).max();
    let first = requests.iter().filter(|one| !won(one)).map(|one| text(one, "queuedAt")).min();
    if let (Some(last), Some(first)) = (last, first) {
        let places: Vec<usize> = (0..requests.len()).filter(|at| won(&requests[*at])).collect();
        assert!(last <= first, "places that won: {places:?}");
    }
}

/// They come by when they were accepted, each once.
pub(crate) fn is_in_order(requests: &[Value]) {
    let keys: Vec<_> =
        requests.iter().map(|one| (text(one, "queuedAt"), text(one, "requestId"))).collect();
    assert!(keys.is_sorted(), "they come as they were accepted");
    let once: BTreeSet<&str> = keys.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(once.len(), keys.len(), "each comes once");
}

/// The changes of a request, by the log.
pub(crate) fn log(client: &mut Patient<'_>, request: &str) -> Vec<(String, String)> {
    let page = client.get(&admin(), &format!("/admin/requests/{request}/logs"));
    assert_eq!(page["nextCursor"], Value::Null, "{page}");
    let lines = page["items"].as_array().unwrap().iter();
    lines.map(|line| (text(line, "status"), text(line, "occurredAt"))).collect()
}

/// The log has every change once, at the time the request says.
fn is_logged(client: &mut Patient<'_>, request: &Value) {
    let end = text(request, "status");
    let statuses = ["RECEIVED", "QUEUED", "PROCESSING", &end];
    let wanted: Vec<_> =
        statuses.iter().zip(TIMES).map(|(s, at)| ((*s).to_owned(), text(request, at))).collect();
    assert_eq!(log(client, &text(request, "requestId")), wanted, "{request}");
}
