//! Documents that are drawn: the same contracts on keys of different shapes.

use proptest::prelude::*;
use proptest::sample::select;

use super::kept::{Kept, kept};

/// What every contract states; a line `facts` stands for it.
const FACTS: &str = "consistency eventual\n  expect 0.. items\n  rate 1/s";

/// What is drawn of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Design {
    /// Rooms with seats beside them, deals in several partitions, holds that end.
    Rooms(Rooms),
    /// A table whose keys are numbers.
    Numbers { shards: u8, page: u8 },
    /// A table without a sort key.
    Alone { page: u8 },
    /// Filters, scans and indexes of parts.
    Kept(Kept),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rooms {
    /// Whether the table has key names of its own, and an index that is the table the other way round.
    named: bool,
    /// The sort key of a room: before its seats, between them or behind.
    room: &'static str,
    shards: u8,
    page: u8,
    /// Whether what ends may be without an end.
    endless: bool,
}

pub(crate) fn design() -> impl Strategy<Value = Design> {
    let rooms = (any::<bool>(), select(vec!["A", "M", "Z"]), 1..4u8, 1..4u8, any::<bool>());
    let rooms = rooms.prop_map(|(named, room, shards, page, endless)| {
        Design::Rooms(Rooms { named, room, shards, page, endless })
    });
    prop_oneof![
        4 => rooms,
        2 => (1..4u8, 1..4u8).prop_map(|(shards, page)| Design::Numbers { shards, page }),
        1 => (1..4u8).prop_map(|page| Design::Alone { page }),
        4 => kept().prop_map(Design::Kept),
    ]
}

impl Design {
    /// The document.
    pub(crate) fn text(&self) -> String {
        let declarations = match self {
            Design::Rooms(rooms) => rooms.text(),
            Design::Numbers { shards, page } => {
                NUMBERS.replace("SHARDS", &shards.to_string()).replace("PAGE", &page.to_string())
            }
            Design::Alone { page } => ALONE.replace("PAGE", &page.to_string()),
            Design::Kept(kept) => kept.text(),
        };
        let declarations = declarations.replace("\n  facts", &format!("\n  {FACTS}"));
        format!("```contract\nsystem drawn\n{declarations}\n```\n")
    }

    /// The most that a shard can be.
    pub(crate) fn shards(&self) -> u8 {
        match self {
            Design::Rooms(rooms) => rooms.shards,
            Design::Numbers { shards, .. } => *shards,
            Design::Alone { .. } | Design::Kept(_) => 0,
        }
    }
}

impl Rooms {
    fn text(&self) -> String {
        let (table, inverted) = match self.named {
            true => (NAMED, true),
            false => ("table Drawn { type kind }", false),
        };
        // The table the other way round holds every entity. Where the sort key is the same for all, that is one partition.
        let turned = |text: &str, partition: &str, sort: &str| {
            let waiver = if sort.contains('{') { "" } else { "waive hot-partition \"drawn\"" };
            let index =
                format!("  index inverted {{ PK = \"{sort}\"  SK = \"{partition}\" }}\n  {waiver}");
            text.replace("  INVERTED", if inverted { &index } else { "" })
        };
        let room = turned(ROOM, "ROOM#{room}", "ROOM_SORT");
        let seat = turned(SEAT, "ROOM#{room}", "S#{place:02}");
        let deal = turned(DEAL, "DEALS#{shard:02}", "D#{rank:02}#{deal}");
        let hold = turned(HOLD, "HOLD#{name}", "HOLD");
        let ends = if self.endless { "time?" } else { "time" };
        let all = [table, &room, &seat, &deal, &hold, &self.the_room()].join("\n");
        all.replace("ROOM_SORT", self.room)
            .replace("ENDS", ends)
            .replace("SHARDS", &self.shards.to_string())
            .replace("PAGE", &self.page.to_string())
    }

    /// A room with its seats, where the room is the first that is read.
    fn the_room(&self) -> String {
        let order = match self.room {
            "A" => "",
            "Z" => "order descending ",
            _ => return String::new(),
        };
        WITH.replace("ORDER ", order)
    }
}

const NAMED: &str = "table Drawn {\n  type entityType\n  PK pk\n  SK sk\n  index By-Tag { PK tag_pk  SK tag_sk }\n  \
                     index inverted { PK sk  SK pk }\n}";

const ROOM: &str = r#"
entity Room "ROOM" {
  PK = "ROOM#{room}"
  SK = "ROOM_SORT"
  room id, n int 0..99, box { a int 0..9, b id? }, tags set(2) of id?, version counter
  INVERTED
}
contract ROOM "Make a room" {
  PUT /rooms/{room}
  input n int 0..99, box Room.box
  allow true
  made = put Room { room, n, box } if absent else 409 there
  return 201 made
  facts
}
contract NEST "Change a part" {
  PATCH /rooms/{room}
  input a int 0..9, b id?
  allow true
  made = update Room set box.a = a, box.b ?= b, version = .version + 1
    if .box.a < a or .box.b is absent
    else absent 404 gone
    else 409 not-less
  return made
  facts
}
contract TAG "Add a tag" {
  PUT /rooms/{room}/tags
  input tag id
  allow true
  transact { update Room add tags = tag set version = .version + 1 if .n > 1 else absent 404 gone else 409 small }
  return 204
  facts
}
contract UNTAG "Take a tag out" {
  DELETE /rooms/{room}/tags
  input tag id
  allow true
  made = update Room remove tags = tag set version = .version + 1 if tag in .tags else 409 not-tagged
  return made
  facts
}
contract LEAVE "Give a room up" {
  DELETE /rooms/{room}
  allow true
  delete Room if .n < 50 else absent 404 gone else 409 large
  return 204
  facts
}
contract ALL "All of a room" {
  GET /rooms/{room}/all
  input down bool
  allow true
  all = query Room, Seat strong where PK = "ROOM#{room}" order descending when down page PAGE max 100
  return all
  facts
}
"#;

const WITH: &str = r#"
contract WITH "A room with its seats" {
  GET /rooms/{room}
  allow true
  all = query Room, Seat where PK = "ROOM#{room}" ORDER page PAGE max 100
  made = the Room in all else 404 gone
  return made with { seats = Seat in all }
  facts
}
"#;

const SEAT: &str = r#"
entity Seat "SEAT" {
  PK = "ROOM#{room}"
  SK = "S#{place:02}"
  room id, place int 0..20, deal id
  INVERTED
}
contract SEATS "Put some seats" {
  PUT /rooms/{room}/seats
  input seats list(1..3) of { place int 0..20, deal id } unique by place
  allow true
  transact {
    each seat in seats {
      put Seat { room, place = seat.place, deal = seat.deal } if absent else 409 taken "{seat.place} is taken"
    }
  }
  return 201 with { room }
  facts
}
contract SEATED "The deals of the seats" {
  GET /rooms/{room}/deals
  input shard int 0..SHARDS, rank int 0..9
  allow true
  seats = query Seat where PK = "ROOM#{room}" and SK begins_with "S#" page PAGE
  deals = get Deal(shard, rank, deal = seat.deal) for seat in seats
  return deals
  facts
}
"#;

const DEAL: &str = r#"
entity Deal "DEAL" {
  PK = "DEALS#{shard:02}"
  SK = "D#{rank:02}#{deal}"
  shard int 0..SHARDS, rank int 0..9, deal id, tag id, endsAt time?
  index By-Tag { PK = "TAG#{tag}#{shard:02}" SK = "{rank:02}" }
  INVERTED
  expires endsAt
}
contract DEAL "Put a deal" {
  PUT /deals/{deal}
  input shard int 0..SHARDS, rank int 0..9, tag id, endsAt time?
  allow true
  made = put Deal { shard, rank, deal, tag, endsAt } if absent else 409 there
  return 201 made
  facts
}
contract UNDEAL "Take a deal out" {
  DELETE /deals/{deal}
  input shard int 0..SHARDS, rank int 0..9, tag id
  allow true
  delete Deal if .tag == tag else absent 404 gone else 409 another-tag
  return 204
  facts
}
contract DEALS "All deals" {
  GET /deals
  input down bool
  allow true
  deals = query Deal shard in 0..SHARDS where PK = "DEALS#{shard:02}" order descending when down page PAGE
  return deals
  facts
}
contract RANKED "Deals between two ranks" {
  GET /deals/ranked
  input low int 0..9, high int 0..9
  allow true
  deals = query Deal shard in 0..SHARDS
    where PK = "DEALS#{shard:02}" and SK between "D#{low:02}#" and "D#{high:02}~"
    page PAGE
  return deals
  facts
}
contract TAGGED "Deals of a tag" {
  GET /tags/{tag}
  input down bool
  allow true
  deals = query Deal by By-Tag shard in 0..SHARDS
    where PK = "TAG#{tag}#{shard:02}"
    order descending when down
    page PAGE
  return deals { rank, shard }
  facts
}
contract SOME "Some deals" {
  GET /deals/some
  input shard int 0..SHARDS, rank int 0..9, ids list(0..3) of id
  allow true
  deals = get Deal(shard, rank, deal = id) for id in ids snapshot else 404 none
  return deals with { found = count(deals) }
  facts
}
"#;

const HOLD: &str = r#"
entity Hold "HOLD" {
  PK = "HOLD#{name}"
  SK = "HOLD"
  name id, turns int 0..3 = 0, endsAt ENDS
  INVERTED
  expires endsAt
}
contract HOLD "Hold" {
  PUT /holds/{name}
  input endsAt time
  allow true
  made = put Hold { name, endsAt } if absent else 409 held
  return 201 made
  facts
}
contract TURN "Turn" {
  POST /holds/{name}
  allow true
  made = update Hold set turns = .turns + 1 if .turns != 2 else absent 404 gone else 409 two
  return made
  facts
}
contract FREE "Free" {
  DELETE /holds/{name}
  allow true
  delete Hold if .turns > 0 else absent 404 gone else 409 not-turned
  return 204
  facts
}
"#;

const NUMBERS: &str = r#"
table Drawn {
  type kind
  PK shard number
  SK at number
  index ByOwner { PK owner  SK rank number }
}
entity Event "EVENT" {
  PK = "{shard}"
  SK = "{at}"
  shard int 0..SHARDS, at number, owner id, rank int
  index ByOwner moves { PK = "{owner}"  SK = "{rank}" }
}
contract EVENT "Put an event" {
  PUT /events
  input shard int 0..SHARDS, at number, owner id, rank int
  allow true
  made = put Event { shard, at, owner, rank } if absent else 409 there
  return 201 made
  facts
}
contract MOVE "Move an event" {
  POST /events
  input shard int 0..SHARDS, at number, rank int
  allow true
  made = update Event set rank = rank if .rank < rank else absent 404 gone else 409 not-less
  return made
  facts
}
contract EVENTS "Events of a shard" {
  GET /shards/{shard}
  input low number, high number, down bool
  allow true
  events = query Event where PK = shard and SK between low and high order descending when down page PAGE
  return events { at }
  facts
}
contract EVERY "Events of all shards" {
  GET /events
  input down bool
  allow true
  events = query Event shard in 0..SHARDS where PK = shard order descending when down page PAGE
  return events { shard, at }
  facts
}
contract SPAN "Events of all shards between two" {
  GET /span
  input low number, high number, down bool
  allow true
  events = query Event shard in 0..SHARDS
    where PK = shard and SK between low and high
    order descending when down
    page PAGE
  return events { shard, at }
  facts
}
contract OWNED "Events of an owner" {
  GET /owners/{owner}
  input down bool
  allow true
  events = query Event by ByOwner where PK = "{owner}" order descending when down page PAGE
  return events { rank }
  facts
}
"#;

const ALONE: &str = r#"
table Drawn {
  type kind
  PK name
  index ByUser { PK user }
}
entity Session "SESSION" {
  PK = "{name}"
  name id, user id, turns int 0..3 = 0, endsAt time?
  index ByUser { PK = "{user}" }
  expires endsAt
}
contract SESSION "Begin" {
  PUT /sessions/{name}
  input user id, endsAt time?
  allow true
  made = put Session { name, user, endsAt } if absent else 409 there
  return 201 made
  facts
}
contract TURN "Turn" {
  POST /sessions/{name}
  allow true
  made = update Session set turns = .turns + 1 if .turns != 2 else absent 404 gone else 409 two
  return made
  facts
}
contract FREE "End" {
  DELETE /sessions/{name}
  allow true
  delete Session if .turns > 0 else absent 404 gone else 409 not-turned
  return 204
  facts
}
contract COUNT "Some sessions" {
  GET /sessions
  input ids list(0..3) of id
  allow true
  sessions = get Session(name = id) for id in ids strong
  return sessions with { found = count(sessions) }
  facts
}
contract USER "How many sessions a user has" {
  GET /users/{user}
  allow true
  sessions = query Session by ByUser where PK = "{user}" page PAGE max 100
  return sessions { user }
  facts
}
"#;
