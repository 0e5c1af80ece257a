//! What replies are held to. Every assertion shows the request and the reply.

use serde_json::Value;

use crate::Reply;

/// What every problem has.
const PROBLEM: [&str; 5] = ["type", "title", "status", "detail", "code"];

impl Reply {
    /// The id of the request it tells of.
    #[track_caller]
    pub fn request_id(&self) -> String {
        let id = self.json()["requestId"].as_str().unwrap_or_default().to_owned();
        assert_eq!(id.len(), 26, "a request's id is a ULID; {self}");
        id
    }

    /// The items of a page that may have more beside them.
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "the status; {self}");
        self.json()["items"].as_array().cloned().unwrap_or_default()
    }

    /// It has this status, and is JSON unless there is nothing to tell.
    #[track_caller]
    pub fn is(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "the status; {self}");
        if status == 204 {
            self.lacks("content-type").names_its_contract()
        } else if status < 300 {
            assert_eq!(self.header("content-type"), "application/json", "the media type; {self}");
            self.names_its_contract()
        } else {
            self
        }
    }

    /// It is a problem of this status and this code, with all that a problem has.
    #[track_caller]
    pub fn refuses(self, status: u16, code: &str) -> Reply {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{self}");
        self.tells_a_problem()
    }

    /// It is `application/problem+json`, as RFC 9457 and we ask of it.
    #[track_caller]
    pub fn tells_a_problem(self) -> Reply {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{self}");
        for name in PROBLEM {
            assert!(body.get(name).is_some(), "the problem has no `{name}`; {self}");
        }
        assert_eq!(body["status"], self.status, "the problem's own status; {self}");
        for name in ["type", "title", "detail", "code"] {
            let text = body[name].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "the problem's `{name}` says nothing; {self}");
        }
        if body.get("contract").is_some() { self.names_its_contract() } else { self }
    }

    /// It says which contract answered and what it cost.
    #[track_caller]
    pub fn names_its_contract(self) -> Reply {
        let contract = self.header("latchkey-contract");
        let known =
            ["QC-", "LOC-", "EP-", "AD-", "G-"].iter().any(|system| contract.starts_with(system));
        assert!(known, "`Latchkey-Contract`; {self}");
        if self.status >= 400 {
            assert_eq!(self.json()["contract"], contract, "the problem's contract; {self}");
        }
        let capacity = self.header("latchkey-capacity");
        let units = capacity.strip_prefix("rcu=").and_then(|rest| rest.split_once(", wcu="));
        let number = |text: &str| text.parse::<f64>().is_ok();
        let well = units.is_some_and(|(read, written)| number(read) && number(written));
        assert!(well, "`Latchkey-Capacity`; {self}");
        self
    }

    /// It is 400 `invalid-input`, and these fields, no others, are told to be wrong.
    #[track_caller]
    pub fn blames(self, pointers: &[&str]) -> Reply {
        let reply = self.refuses(400, "invalid-input");
        let errors = reply.json()["errors"].as_array().cloned().unwrap_or_default();
        let text = |error: &Value, name: &str| error[name].as_str().unwrap_or_default().to_owned();
        let mut told: Vec<String> = errors.iter().map(|error| text(error, "pointer")).collect();
        told.sort_unstable();
        let mut wanted = pointers.to_vec();
        wanted.sort_unstable();
        assert_eq!(told, wanted, "the fields that are wrong; {reply}");
        for error in &errors {
            assert!(!text(error, "detail").is_empty(), "an error without its detail; {reply}");
        }
        reply
    }

    /// Its body has at least what is expected of it.
    #[track_caller]
    pub fn shows(self, expected: &Value) -> Reply {
        let body = self.json();
        let Value::Object(members) = expected else {
            assert_eq!(&body, expected, "the body; {self}");
            return self;
        };
        for (name, value) in members {
            assert_eq!(body.get(name), Some(value), "`{name}` of the body; {self}");
        }
        self
    }

    /// Its body is this and no more.
    #[track_caller]
    pub fn shows_just(self, expected: &Value) -> Reply {
        assert_eq!(&self.json(), expected, "the body; {self}");
        self
    }

    /// A header has this value.
    #[track_caller]
    pub fn has(self, name: &str, value: &str) -> Reply {
        assert_eq!(self.header(name), value, "the header `{name}`; {self}");
        self
    }

    /// There is no such header.
    #[track_caller]
    pub fn lacks(self, name: &str) -> Reply {
        assert!(!self.headers.contains_key(name), "the header `{name}`; {self}");
        self
    }

    /// It is a page of these, by one of their members, with or without more to come.
    #[track_caller]
    pub fn lists(self, member: &str, expected: &[&str], more: bool) -> Reply {
        assert_eq!(self.listed(member), expected, "the items by `{member}`; {self}");
        assert_eq!(self.next().is_some(), more, "whether there is more; {self}");
        self
    }

    /// It is a page of so many, and the last.
    #[track_caller]
    pub fn counts(self, expected: usize) -> Reply {
        assert_eq!(self.listed("").len(), expected, "the number of items; {self}");
        assert_eq!(self.next(), None, "whether there is more; {self}");
        self
    }

    /// One member of each item of a page.
    #[track_caller]
    pub fn listed(&self, member: &str) -> Vec<String> {
        let body = self.json();
        assert_eq!(self.status, 200, "the status; {self}");
        let names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["items", "nextCursor"], "what a page has; {self}");
        let items = body["items"].as_array().unwrap().iter();
        items.map(|item| item[member].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The cursor of a page, unless it is the last.
    #[track_caller]
    pub fn next(&self) -> Option<String> {
        let next = self.json()["nextCursor"].clone();
        let well = next.is_null() || next.as_str().is_some_and(|cursor| !cursor.is_empty());
        assert!(well, "`nextCursor` is neither text nor null; {self}");
        next.as_str().map(str::to_owned)
    }

    /// The units it read and wrote.
    #[track_caller]
    pub fn cost(self, expected: &str) -> Reply {
        self.has("latchkey-capacity", expected)
    }
}

/// One of them acted, with this status, and each of the others was told this.
#[track_caller]
pub fn one_acted(replies: &[Reply], status: u16, refusal: (u16, &str)) {
    let acted = replies.iter().filter(|reply| reply.status == status).count();
    assert_eq!(acted, 1, "how many acted; {replies:?}");
    for reply in replies.iter().filter(|reply| reply.status != status) {
        reply.clone().refuses(refusal.0, refusal.1);
    }
}
