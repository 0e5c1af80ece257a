//! A message as an item, and its three places: where it waits, where it is held, and its place in a group.
//!
//! On a queue without an order a message lies under `DUE#{when}#{id}` while it waits and under
//! `LEASE#{until}#{id}` while someone holds it. On an ordered queue a message that is due lies under
//! `GROUP#{group}#{when}#{sequence}#{id}` until it is done, whoever holds it; a timer lies under `DUE#` until
//! it falls due. Moving a message is one transaction: it is never in two places, nor in none.

use std::sync::Arc;

use latchkey_embedded::Stamp;
use latchkey_table::{
    Check, Condition, Delete, Item, Key, Leg, Number, Put, SortRange, Text, Value,
};

use super::sequel::Sequel;
use crate::home::{Home, stamp};
use crate::message::{Message, TryFailure, number};

/// What a message's item carries in the discriminator.
const KIND: &str = "LATCHKEY_MESSAGE";

/// When the message was first due; every message has it.
const DUE_AT: &str = "dueAt";

/// The lease a message is held by. No two leases are the same, so it fences: whoever names another no
/// longer holds the message.
pub(super) const LEASE: &str = "lease";

/// That the message was to be worked on at once, by the clock of its sender: it is no timer. Messages that an earlier
/// release has sent are without it.
const AT_ONCE: &str = "atOnce";

/// When a message that holds its group is worked on again.
const AGAIN_AT: &str = "againAt";

/// When a message that holds its group was first put off.
const PUT_OFF_SINCE: &str = "putOffSince";

/// How the keys of messages in groups begin.
const GROUP: &str = "GROUP#";

/// Where messages lie by a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Those that wait, by when they are due.
    Waiting,
    /// Those that are held, by when the lease ends.
    Held,
}

impl Part {
    fn prefix(self) -> &'static str {
        match self {
            Part::Waiting => "DUE#",
            Part::Held => "LEASE#",
        }
    }

    /// The keys up to a time. No key ends with its time, so none equals a bound.
    pub(crate) fn until(self, now: i64) -> SortRange {
        let high = format!("{}{}", self.prefix(), stamp(now.saturating_add(1)));
        SortRange::Between(self.prefix().into(), high.into())
    }

    /// The keys after a time.
    pub(crate) fn after(self, now: i64) -> SortRange {
        let prefix = self.prefix();
        let low = format!("{prefix}{}", stamp(now.saturating_add(1)));
        SortRange::Between(low.into(), format!("{prefix}~").into())
    }

    /// All keys.
    pub(crate) fn all(self) -> SortRange {
        SortRange::BeginsWith(self.prefix().into())
    }
}

/// The keys of all messages in groups.
pub(crate) fn grouped() -> SortRange {
    SortRange::BeginsWith(GROUP.into())
}

/// The keys of all groups behind one, in the order of their names. `$` is the byte after `#`, and no group has
/// a byte below it in its name.
pub(crate) fn behind(group: &str) -> SortRange {
    let low = if group.is_empty() { GROUP.to_owned() } else { format!("{GROUP}{group}$") };
    SortRange::Between(low.into(), format!("{GROUP}~").into())
}

/// Where a message lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// By a time.
    At(Part, i64),
    /// In a group, until it is done.
    Group(Text, Stamp),
}

impl Place {
    fn sort(&self, id: &str) -> Text {
        Text::from(match self {
            Place::At(part, at) => format!("{}{}#{id}", part.prefix(), stamp(*at)),
            Place::Group(group, place) => {
                format!("{GROUP}{group}#{}#{:06}#{id}", stamp(place.at), place.seq)
            }
        })
    }

    fn read(sort: &str) -> Option<Place> {
        if let Some(rest) = sort.strip_prefix(GROUP) {
            let mut parts = rest.split('#');
            let group = Text::from(parts.next()?);
            let (at, seq) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            return Some(Place::Group(group, Stamp { at, seq }));
        }
        let (part, rest) = [Part::Waiting, Part::Held]
            .into_iter()
            .find_map(|part| Some((part, sort.strip_prefix(part.prefix())?)))?;
        Some(Place::At(part, rest.split('#').next()?.parse().ok()?))
    }

    /// The time of the place.
    pub(crate) fn at(&self) -> i64 {
        match self {
            Place::At(_, at) => *at,
            Place::Group(_, place) => place.at,
        }
    }
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) message: Arc<Message>,
    /// When it was first due.
    pub(crate) due_at: i64,
    /// Whether it was to be worked on at once when it was sent.
    pub(crate) at_once: bool,
    /// How many tries were begun that count.
    pub(crate) tries: i64,
    /// The lease, where it is held.
    pub(crate) lease: Option<Number>,
    /// How the last try failed.
    pub(crate) failure: Option<TryFailure>,
    /// When it is worked on again, where it holds its group.
    pub(crate) again_at: Option<i64>,
    /// When it was first put off, where it holds its group.
    pub(crate) put_off_since: Option<i64>,
    /// What follows its send, if that may not be done.
    pub(crate) sequel: Option<Arc<Sequel>>,
    /// Where it lies.
    pub(crate) place: Place,
}

impl Stored {
    /// A message that was never received.
    pub(crate) fn new(message: Message, due: i64, at_once: bool, place: Place) -> Stored {
        Stored {
            message: Arc::new(message),
            due_at: due,
            at_once,
            tries: 0,
            lease: None,
            failure: None,
            again_at: None,
            put_off_since: None,
            sequel: None,
            place,
        }
    }

    /// The message of an item; nothing if it cannot be read, which is logged and counted.
    pub(crate) fn read(home: &Home, mut item: Item) -> Option<Stored> {
        let stored = Stored::parse(home, &mut item);
        if stored.is_none() {
            home.cannot_read(&item);
        }
        stored
    }

    fn parse(home: &Home, item: &mut Item) -> Option<Stored> {
        let sort = home.table().key.of(item)?.sort;
        Some(Stored {
            place: Place::read(&sort)?,
            due_at: number(item, DUE_AT)?,
            at_once: item.get(AT_ONCE) == Some(&Value::Bool(true)),
            tries: number(item, "tries")?,
            lease: item.get(LEASE).and_then(Value::as_number),
            failure: TryFailure::read(item),
            again_at: number(item, AGAIN_AT),
            put_off_since: number(item, PUT_OFF_SINCE),
            sequel: Sequel::read(item)?.map(Arc::new),
            message: Arc::new(Message::read(item)?),
        })
    }

    /// Its key.
    pub(crate) fn key(&self, home: &Home) -> Key {
        Key::new(home.messages(), self.place.sort(self.message.id()))
    }

    /// Writes it where it lies.
    pub(crate) fn put(&self, home: &Home) -> Put {
        let mut item = home.item(&self.key(home), KIND);
        self.message.write(&mut item);
        item.insert(DUE_AT, self.due_at);
        item.insert("tries", self.tries);
        if self.at_once {
            item.insert(AT_ONCE, true);
        }
        if let Some(lease) = self.lease {
            item.insert(LEASE, lease);
        }
        if let Some(again_at) = self.again_at {
            item.insert(AGAIN_AT, again_at);
        }
        if let Some(since) = self.put_off_since {
            item.insert(PUT_OFF_SINCE, since);
        }
        if let Some(failure) = &self.failure {
            failure.write(&mut item);
        }
        if let Some(sequel) = &self.sequel {
            sequel.write(&mut item);
        }
        Put { table: Arc::clone(home.table()), item, condition: None }
    }

    /// That it is still there, and held by the same lease if it is held.
    fn unmoved(&self) -> Condition {
        match self.lease {
            Some(lease) => Condition::equals(LEASE, lease),
            None => Condition::Exists(DUE_AT.into()),
        }
    }

    /// Takes it away, if it is still there, and held by the same lease if it is held.
    pub(crate) fn delete(&self, home: &Home) -> Delete {
        let (table, key) = (Arc::clone(home.table()), self.key(home));
        Delete { table, key, condition: Some(self.unmoved()) }
    }

    /// Insists that it is still there, and held by the same lease if it is held.
    pub(crate) fn check(&self, home: &Home) -> Check {
        let (table, key) = (Arc::clone(home.table()), self.key(home));
        Check { table, key, condition: self.unmoved() }
    }

    /// Insists that it is gone.
    pub(crate) fn gone(&self, home: &Home) -> Check {
        let (table, key) = (Arc::clone(home.table()), self.key(home));
        Check { table, key, condition: Condition::Absent(DUE_AT.into()) }
    }

    /// Moves it from where it lies to where another says. Two legs, for an item's key does not change;
    /// one, where it stays.
    ///
    /// A message may have been sent twice under one id. Two that wait under one key are one again; two
    /// that are held are never, or two would hold what one can end.
    pub(crate) fn moved_to(&self, new: &Stored, home: &Home) -> Vec<Leg> {
        let (delete, mut put) = (self.delete(home), new.put(home));
        if delete.key == new.key(home) {
            return vec![Leg::Put(Put { condition: delete.condition, ..put })];
        }
        if matches!(new.place, Place::At(Part::Held, _)) {
            put.condition = Some(Condition::Absent(DUE_AT.into()));
        }
        vec![Leg::Delete(delete), Leg::Put(put)]
    }

    /// It, held by a new lease until a time. Whoever held it before has not said what became of it.
    pub(crate) fn held(&self, lease: u64, until: i64) -> Stored {
        let place = match &self.place {
            Place::At(..) => Place::At(Part::Held, until),
            place @ Place::Group(..) => place.clone(),
        };
        let tries = self.tries.saturating_add(1);
        let failure = match self.lease {
            Some(_) => Some(TryFailure::crashed()),
            None => self.failure.clone(),
        };
        Stored { tries, lease: Some(lease.into()), again_at: None, failure, place, ..self.clone() }
    }

    /// It, waiting again: in its place, where it has one.
    pub(crate) fn waiting(&self, until: i64) -> Stored {
        let (place, again_at) = match &self.place {
            Place::At(..) => (Place::At(Part::Waiting, until), None),
            place @ Place::Group(..) => (place.clone(), Some(until)),
        };
        Stored { place, lease: None, again_at, ..self.clone() }
    }

    /// It, waiting by a time, wherever it lies.
    pub(crate) fn ungrouped(&self, until: i64) -> Stored {
        let place = Place::At(Part::Waiting, until);
        Stored { place, lease: None, again_at: None, ..self.clone() }
    }

    /// It, as if it had not been handed out.
    pub(crate) fn returned(&self, now: i64) -> Stored {
        // The clock may have been set back since it was sent.
        let due = if self.at_once { self.due_at.min(now) } else { self.due_at };
        let waiting = self.waiting(due);
        Stored { tries: self.tries.saturating_sub(1), again_at: None, ..waiting }
    }

    /// It, in its group by a place. It counts as sent when it takes its place.
    pub(crate) fn placed(&self, group: Text, place: Stamp) -> Stored {
        let message = Arc::new(self.message.sent_again(place.at));
        Stored { message, place: Place::Group(group, place), lease: None, ..self.clone() }
    }

    /// It, put off until an instant, and since when. This was no try.
    pub(crate) fn put_off(&self, since: Option<i64>, until: i64) -> Stored {
        let put_off_since = since.filter(|_| self.group().is_some());
        let tries = self.tries.saturating_sub(1);
        Stored { tries, put_off_since, ..self.waiting(until) }
    }

    /// Its group, if it has its place in one.
    pub(crate) fn group(&self) -> Option<&Text> {
        if let Place::Group(group, _) = &self.place { Some(group) } else { None }
    }
}
