//! Whether the order of two requests can matter.

use latchkey_table::{Action, Check, Delete, IndexScan, Key, Leg, Put, Query, Request, Update};

use crate::table::Table;

/// A part of a write, wherever it stands.
#[derive(Debug, Clone, Copy)]
enum Part<'a> {
    Put(&'a Put),
    Update(&'a Update),
    Delete(&'a Delete),
    Check(&'a Check),
}

impl Part<'_> {
    fn key(self) -> Option<Key> {
        match self {
            Part::Put(put) => put.table.key_of(&put.item).ok(),
            Part::Update(update) => Some(update.key.clone()),
            Part::Delete(delete) => Some(delete.key.clone()),
            Part::Check(check) => Some(check.key.clone()),
        }
    }

    fn writes(self) -> bool {
        !matches!(self, Part::Check(_))
    }

    /// Whether it may change what a scan of an index finds.
    fn meets_scan(self, key: &Key, scan: &IndexScan, table: &Table) -> bool {
        let Ok(names) = scan.key_names() else { return false };
        let was = table.get(key).is_some_and(|old| names.of(old).is_some());
        was || match self {
            Part::Put(put) => names.of(&put.item).is_some(),
            Part::Update(update) => update.actions.iter().any(|action| names.has(action.target())),
            Part::Delete(_) | Part::Check(_) => false,
        }
    }

    /// Whether it may change what a query finds.
    fn meets(self, key: &Key, query: &Query, table: &Table) -> bool {
        let within =
            |place: &Key| place.partition == query.partition && query.range.contains(&place.sort);
        let Some(name) = &query.index else { return within(key) };
        let Some(index) = query.table.index(name) else { return false };
        let old = table.get(key);
        let old_within = old.and_then(|old| index.key.of(old)).is_some_and(|at| within(&at));
        let new_within = match self {
            Part::Put(put) => index.key.of(&put.item).is_some_and(|at| within(&at)),
            Part::Update(update) => {
                let moves = |action: &Action| index.key.has(action.target());
                update.actions.iter().any(moves)
            }
            Part::Delete(_) | Part::Check(_) => false,
        };
        old_within || new_within
    }
}

fn parts(request: &Request) -> Vec<Part<'_>> {
    match request {
        Request::Put(put, _) => vec![Part::Put(put)],
        Request::Update(update, _) => vec![Part::Update(update)],
        Request::Delete(delete, _) => vec![Part::Delete(delete)],
        Request::Transact(transact) => transact.legs.iter().map(of_leg).collect(),
        Request::Get(_)
        | Request::BatchGet(_)
        | Request::SnapshotGet(_)
        | Request::Query(_)
        | Request::IndexScan(_) => Vec::new(),
    }
}

fn of_leg(leg: &Leg) -> Part<'_> {
    match leg {
        Leg::Put(put) => Part::Put(put),
        Leg::Update(update) => Part::Update(update),
        Leg::Delete(delete) => Part::Delete(delete),
        Leg::Check(check) => Part::Check(check),
    }
}

/// The items of a write that another request looks at, in the order of the legs.
pub(crate) fn met(write: &Request, other: &Request, table: &Table) -> Vec<Key> {
    let mut met = Vec::new();
    for part in parts(write).into_iter().filter(|part| part.writes()) {
        let Some(key) = part.key() else { continue };
        let meets = match other {
            Request::Get(get) => get.key == key,
            Request::BatchGet(get) => get.keys.contains(&key),
            Request::SnapshotGet(get) => get.keys.contains(&key),
            Request::Query(query) => part.meets(&key, query, table),
            Request::IndexScan(scan) => part.meets_scan(&key, scan, table),
            write => parts(write).into_iter().any(|part| part.key().as_ref() == Some(&key)),
        };
        if meets {
            met.push(key);
        }
    }
    met
}

/// Whether what two requests come to may depend on which is first.
pub(crate) fn dependent(a: &Request, b: &Request, table: &Table) -> bool {
    (a.writes() && !met(a, b, table).is_empty()) || (b.writes() && !met(b, a, table).is_empty())
}

/// The keys a request names, and the partition it reads: what a person is told of it.
pub(crate) fn keys(request: &Request) -> Vec<Key> {
    match request {
        Request::Get(get) => vec![get.key.clone()],
        Request::BatchGet(get) => get.keys.clone(),
        Request::SnapshotGet(get) => get.keys.clone(),
        Request::Query(query) => vec![Key::new(query.partition.clone(), "")],
        Request::IndexScan(_) => Vec::new(),
        write => parts(write).into_iter().filter_map(Part::key).collect(),
    }
}
