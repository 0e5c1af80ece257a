//! Documents with filters, scans of an index and indexes that hold a part of each item.

use proptest::prelude::*;
use proptest::sample::select;

use super::calls::{Weighted, all, end, id, int, perhaps, step, text, yes};

/// What is drawn of such a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    page: u8,
    /// The most items that a filtered page reads.
    reading: u8,
    /// What the index by owner holds beside its keys; nothing if it holds whole items.
    owned: Option<&'static str>,
    /// The same of the index that is scanned.
    featured: Option<&'static str>,
    /// The filter of the things and the box of a shelf.
    both: &'static str,
    /// The filter of the things alone.
    things: &'static str,
}

/// Filters of a query of boxes and things. A box has no size and no note, and a thing has no label.
const BOTH: [&str; 6] = [
    ".size is absent or .size >= least",
    "not (.size is present and .size < least)",
    ".note is absent or .note != note",
    "least > 5 or (.note is absent or .note == note) and (.label is absent or .label != note)",
    ".shelf != note",
    "(.label is absent or .label begins_with note) and (.size is absent or .size in (1, least))",
];

/// Filters of things.
const THINGS: [&str; 5] = [
    ".size >= least",
    ".size between 2 and least and .note is present",
    ".note is absent or .note != note",
    "not (.size in (1, least)) or .note == note",
    "least > 5 or .note == note and .shelf begins_with \"s\"",
];

/// What an index holds.
const HELD: [Option<&str>; 4] =
    [None, Some("endsAt"), Some("endsAt, size"), Some("endsAt, note, size, kind")];

pub(super) fn kept() -> impl Strategy<Value = Kept> {
    let held = || select(HELD.to_vec());
    let drawn = (1..4u8, 0..4u8, held(), held(), select(BOTH.to_vec()), select(THINGS.to_vec()));
    drawn.prop_map(|(page, more, owned, featured, both, things)| {
        // A page must fit, and room for a few more leaves some pages cut short.
        Kept { page, reading: page + more, owned, featured, both, things }
    })
}

impl Kept {
    pub(super) fn text(&self) -> String {
        let holds =
            |held: Option<&str>| held.map_or(String::new(), |held| format!("holds keys, {held}"));
        let tests = |held: Option<&str>| held.is_none_or(|held| held.contains("size"));
        let filter = |held, waiver: bool| match (tests(held), waiver) {
            (false, _) => "",
            (true, true) => "waive filter \"drawn\"",
            (true, false) => "keep .size >= least",
        };
        // Without a filter, a query of an index reads what it answers, and passes over what has ended.
        KEPT.replace("OWNED_HOLDS", &holds(self.owned))
            .replace("FEATURED_HOLDS", &holds(self.featured))
            .replace("OWNED_WAIVER", filter(self.owned, true))
            .replace("OWNED_FILTER", filter(self.owned, false))
            .replace("FEATURED_WAIVER", filter(self.featured, true))
            .replace("FEATURED_FILTER", filter(self.featured, false))
            .replace("BOTH_FILTER", self.both)
            .replace("THINGS_FILTER", self.things)
            .replace("PAGE", &self.page.to_string())
            .replace("READING", &self.reading.to_string())
    }
}

/// What is called of such a document.
pub(super) fn calls() -> Vec<Weighted> {
    let shelf = || ("shelf", text(&["s", "s", "t"]));
    let thing = || ("thing", int(0..7));
    let filter = || [("least", int(0..10)), ("note", id())];
    let filtered = |more: &[(&'static str, BoxedStrategy<latchkey_table::Value>)]| {
        all([filter().to_vec(), more.to_vec()].concat())
    };
    let owner = || ("owner", text(&["o", "p"]));
    vec![
        step(1, "BOX", all(vec![shelf(), ("label", perhaps(id()))])),
        step(
            8,
            "THING",
            all(vec![
                shelf(),
                thing(),
                owner(),
                ("size", int(0..10)),
                ("note", perhaps(id())),
                ("rank", perhaps(int(0..3))),
                ("endsAt", perhaps(end())),
            ]),
        ),
        step(
            3,
            "GROW",
            all(vec![shelf(), thing(), ("size", int(0..10)), ("rank", perhaps(int(0..3)))]),
        ),
        step(1, "DROP", all(vec![shelf(), thing()])),
        step(3, "BOTH", filtered(&[shelf(), ("down", yes())])),
        step(2, "SHELF", filtered(&[shelf()])),
        step(3, "LARGE", filtered(&[shelf(), ("down", yes())])),
        step(1, "TWO", filtered(&[shelf()])),
        step(3, "HELD", all(vec![owner(), ("least", int(0..6)), ("down", yes())])),
        step(2, "SCAN", all(vec![])),
        step(2, "SIFT", all(vec![("least", int(0..6))])),
    ]
}

const KEPT: &str = r##"
table Drawn {
  type kind
  index ByOwner { OWNED_HOLDS }
  index Featured { FEATURED_HOLDS }
}
entity Box "BOX" {
  PK = "SHELF#{shelf}"
  SK = "A"
  shelf id, label id?
}
entity Thing "THING" {
  PK = "SHELF#{shelf}"
  SK = "T#{thing:02}"
  shelf id, thing int 0..20, owner id, size int 0..9, note id?, rank int 0..9?, endsAt time?, version counter
  index ByOwner moves { PK = "OWNER#{owner}"  SK = "{size:02}#{thing:02}#{shelf}" }
  index Featured moves { PK = "RANK#{rank}"  SK = "{thing:02}#{shelf}" }
  expires endsAt
}
contract BOX "Put a box" {
  PUT /shelves/{shelf}
  input label id?
  allow true
  made = put Box { shelf, label } if absent else 409 there
  return 201 made
  facts
}
contract THING "Put a thing" {
  PUT /shelves/{shelf}/{thing}
  input owner id, size Thing.size, note id?, rank Thing.rank ?, endsAt time?
  allow true
  made = put Thing { shelf, thing, owner, size, note, rank, endsAt } if absent else 409 there
  return 201 made
  facts
}
contract GROW "Make a thing larger" {
  POST /shelves/{shelf}/{thing}
  input size Thing.size, rank Thing.rank ?
  found = get Thing strong else 404 gone
  allow true
  require found.size < size else 409 not-less
  update found set size = size, rank ?= rank, version = .version + 1 if unchanged else retry
  return found
  facts
}
contract DROP "Take a thing away" {
  DELETE /shelves/{shelf}/{thing}
  allow true
  delete Thing else absent 404 gone
  return 204
  facts
}
contract BOTH "A box and its things" {
  GET /shelves/{shelf}/all
  input least int 0..9, note id, down bool
  allow true
  waive filter "drawn"
  found = query Box, Thing strong where PK = "SHELF#{shelf}" order descending when down
    page PAGE keep BOTH_FILTER reading READING
  return found with { least, note }
  facts
}
contract SHELF "A box with its things" {
  GET /shelves/{shelf}
  input least int 0..9, note id
  allow true
  waive filter "drawn"
  found = query Box, Thing where PK = "SHELF#{shelf}" page PAGE
    keep .size is absent or THINGS_FILTER reading READING
  made = the Box in found else 404 gone
  return made with { things = Thing in found, least, note }
  facts
}
contract LARGE "Things of a shelf" {
  GET /shelves/{shelf}/things
  input least int 0..9, note id, down bool
  allow true
  waive filter "drawn"
  things = query Thing where PK = "SHELF#{shelf}" and SK begins_with "T#" order descending when down
    page PAGE keep THINGS_FILTER reading READING
  return things with { least, note }
  facts
}
contract TWO "The first things of a shelf" {
  GET /shelves/{shelf}/two
  input least int 0..9, note id
  allow true
  waive filter "drawn"
  things = query Thing strong where PK = "SHELF#{shelf}" and SK begins_with "T#" first 2 keep THINGS_FILTER reading 100
  return things with { least, note, found = count(things) }
  facts
}
contract HELD "Things of an owner" {
  GET /owners/{owner}
  input least int 0..9, down bool
  allow true
  OWNED_WAIVER
  things = query Thing by ByOwner where PK = "OWNER#{owner}" order descending when down
    page PAGE OWNED_FILTER reading READING
  return things { shelf, thing, size } with { least }
  facts
}
contract SCAN "All that are featured" {
  GET /featured
  allow true
  waive scan "drawn"
  things = query Thing by Featured page PAGE reading READING
  return things { shelf, thing, rank }
  facts
}
contract SIFT "The large ones that are featured" {
  GET /featured/large
  input least int 0..9
  allow true
  waive scan "drawn"
  FEATURED_WAIVER
  things = query Thing by Featured page PAGE FEATURED_FILTER reading READING
  return things { shelf, thing } with { least }
  facts
}
"##;
