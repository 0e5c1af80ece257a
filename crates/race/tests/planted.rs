//! Documents with a race that was planted, and their honest twins. None has an example.

#![expect(clippy::panic, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::{Level, Rule};
use latchkey_race::{Options, Report, SearchError, search};

/// A document of these statements. `facts` stands for what every contract states.
fn document(statements: &str) -> String {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let statements = statements.replace("facts", facts);
    format!(
        "# Planted\n```contract\nsystem planted\ntable Planted {{ type kind }}\n{statements}\n```\n"
    )
}

fn searched(text: &str, without: &[Rule]) -> Report {
    let options = Options { without: without.to_vec(), ..Options::default() };
    match search(text, &options, &|_| {}) {
        Ok(report) => report,
        Err(SearchError::Mistakes(mistakes)) => {
            let told: Vec<_> =
                mistakes.iter().map(|m| format!("{}: {}", m.rule, m.message)).collect();
            panic!("refused: {told:#?}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// The contracts of each loss.
fn lost(statements: &str, without: &[Rule]) -> Vec<Vec<String>> {
    let report = searched(&document(statements), without);
    assert!(report.groups > 0 && report.schedules > 0, "{report:?}");
    report.losses.into_iter().map(|loss| loss.contracts).collect()
}

/// The rules by which the check refuses a document.
fn told(statements: &str) -> Vec<Rule> {
    let found = latchkey_model::check(&document(statements)).diagnostics;
    let errors = found.iter().filter(|found| found.level == Level::Error);
    let mut rules: Vec<Rule> = errors.map(|found| found.rule).collect();
    rules.dedup();
    rules
}

fn names(losses: &[Vec<String>]) -> Vec<String> {
    losses.iter().map(|contracts| contracts.join("+")).collect()
}

const TILLS: &str = r#"
entity Till "TILL" {
  PK = "TILL#{tillId}"
  SK = "META"
  tillId id, left int 0..1000, version counter
}
contract OPEN "Open a till" {
  POST /tills
  input tillId id, left Till.left
  allow true
  till = put Till { tillId, left } if absent else 409 there
  return 201 till
  facts
}
contract PAY "Pay out" {
  POST /tills/{tillId}/pay
  input amount int 1..1000
  till = get Till strong else 404 gone
  allow true
  require till.left >= amount else 409 too-little
  paid = update till set left = till.left - amount, version = .version + 1 CONDITION
  return paid
  facts
}
"#;

#[test]
fn a_lost_update() {
    let planted = TILLS.replace("CONDITION", "else 404 gone");
    assert_eq!(told(&planted), [Rule::Unpinned]);
    let losses = lost(&planted, &[Rule::Unpinned]);
    assert!(names(&losses).contains(&"PAY".to_owned()), "{losses:?}");
    let honest = TILLS.replace("CONDITION", "if unchanged else retry");
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

/// At most three loans a member, by counting them.
const LOANS: &str = r#"
entity Member "MEMBER" {
  PK = "MEMBER#{memberId}"
  SK = "META"
  memberId id, revision counter
}
entity Loan "LOAN" GUARDED {
  PK = "MEMBER#{memberId}"
  SK = "LOAN#{bookId}"
  memberId id, bookId id
}
contract JOIN "Join" {
  POST /members
  input memberId id
  allow true
  member = put Member { memberId } if absent else 409 there
  return 201 member
  facts
}
contract LEND "Lend a book" {
  POST /members/{memberId}/loans
  input bookId id
  allow true
  member = get Member strong else 404 gone
  loans = query Loan strong
    where PK = "MEMBER#{memberId}" and SK begins_with "LOAN#"
    first 10
  require count(loans) < 3 else 409 too-many
  transact {
    PINNED
    loan = put Loan { memberId, bookId } if absent else 409 lent
  }
  return 201 loan
  facts
}
"#;

#[test]
fn a_limit_by_count() {
    let planted = LOANS
        .replace("GUARDED", "")
        .replace("PINNED", "update member set revision = .revision + 1 else 404 gone");
    let rules = told(&planted);
    assert!(!rules.is_empty());
    let losses = lost(&planted, &rules);
    assert!(names(&losses).contains(&"LEND".to_owned()), "{losses:?}");
    let honest = LOANS
        .replace("GUARDED", "guarded by Member")
        .replace("PINNED", "update member set revision = .revision + 1 if unchanged else retry");
    assert_eq!(told(&honest), []);
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

/// A room is booked for a window; only the last booking before its end is looked at.
const ROOMS: &str = r#"
entity Room "ROOM" {
  PK = "ROOM#{roomId}"
  SK = "META"
  roomId id, revision counter
}
entity Booking "BOOKING" GUARDED {
  PK = "ROOM#{roomId}"
  SK = "BOOKING#{startAt}"
  roomId id, startAt time, endAt time, revision counter
}
contract ROOM "Make a room" {
  POST /rooms
  input roomId id
  allow true
  room = put Room { roomId } if absent else 409 there
  return 201 room
  facts
}
contract BOOK "Book a room" {
  POST /rooms/{roomId}/bookings
  input startAt time, endAt time
  require startAt < endAt else 400 empty
  allow true
  room = get Room strong else 404 gone
  before = query Booking strong
    where PK = "ROOM#{roomId}" and SK between "BOOKING#" and "BOOKING#{endAt - 1ms}"
    order descending
    first 1
  require before is absent or before.endAt <= startAt else 409 taken
  transact {
    booking = put Booking { roomId, startAt, endAt } if absent else 409 taken
    PINNED
  }
  return 201 booking
  facts
}
"#;

#[test]
fn a_range_pinned_by_its_first_row() {
    let planted = ROOMS
        .replace("GUARDED", "")
        .replace("PINNED", "when before is present { check before if unchanged else retry }");
    let rules = told(&planted);
    assert!(!rules.is_empty());
    let losses = lost(&planted, &rules);
    assert!(names(&losses).contains(&"BOOK".to_owned()), "{losses:?}");
    let honest = ROOMS
        .replace("GUARDED", "guarded by Room")
        .replace("PINNED", "update room set revision = .revision + 1 if unchanged else retry");
    assert_eq!(told(&honest), []);
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

/// What is left is spread over shards, and summed up before it is spent.
const SHARDS: &str = r#"
entity Share "SHARE" {
  PK = "FUND#{fundId}#{shard:02}"
  SK = "SHARE"
  fundId id, shard int 0..1, spent int 0..100 = 0
}
contract FUND "Start a fund" {
  POST /funds
  input fundId id
  allow true
  transact {
    first = put Share { fundId, shard = 0 } if absent else 409 there
    put Share { fundId, shard = 1 } if absent else 409 there
  }
  return 201 first
  facts
}
contract SPEND "Spend of a fund" {
  POST /funds/{fundId}/spend
  input shard Share.shard, amount int 1..100
  allow true
  shares = get Share shard in 0..1 snapshot else 404 gone
  require sum(shares.spent) < 1 else 409 spent
  spent = update Share set spent = .spent + amount if .spent < 100 else 409 spent
  return spent
  facts
}
"#;

#[test]
fn a_sum_of_shards() {
    let rules = told(SHARDS);
    assert!(!rules.is_empty());
    let losses = lost(SHARDS, &rules);
    assert!(names(&losses).contains(&"SPEND".to_owned()), "{losses:?}");
}

/// A boat that is sunk and bought again starts its counter at 1.
const BOATS: &str = r#"
entity Boat "BOAT" {
  PK = "BOAT#{boatId}"
  SK = "META"
  boatId id, ownerId id, berth int 0..99, version counter
}
contract BUY "Buy a boat" {
  POST /boats
  input boatId id
  allow true
  boat = put Boat { boatId, ownerId = caller.id, berth = 0 } if absent else 409 there
  return 201 boat
  facts
}
contract MOOR "Moor a boat" {
  POST /boats/{boatId}/moor
  input berth Boat.berth
  boat = get Boat strong else 404 gone
  allow caller owns boat.ownerId
  moored = update boat set berth = berth, version = .version + 1 if CONDITION else retry
  return moored
  facts
}
contract SINK "Sink a boat" {
  DELETE /boats/{boatId}
  boat = get Boat strong else 404 gone
  allow caller owns boat.ownerId
  delete boat if unchanged else retry
  return boat
  facts
}
"#;

#[test]
fn an_item_that_is_removed_and_made_again() {
    let planted = BOATS.replace("CONDITION", ".version == boat.version");
    let losses = lost(&planted, &told(&planted));
    let moored = |contracts: &Vec<String>| contracts.contains(&"MOOR".to_owned());
    assert!(losses.iter().any(moored), "{losses:?}");
    let honest = BOATS.replace("CONDITION", "unchanged");
    assert_eq!(told(&honest), []);
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

const VISITS: &str = r#"
entity Visit "VISIT" {
  PK = "VISIT#{visitId}"
  SK = "META"
  visitId id, roomId id, counted bool = false, version counter
}
entity Hall "HALL" {
  PK = "HALL#{roomId}"
  SK = "META"
  roomId id, visits int = 0
}
queue doors { visitId id, roomId id }
contract ENTER "Enter a room" {
  POST /rooms/{roomId}/visits
  input visitId id
  allow true
  transact {
    visit = put Visit { visitId, roomId } if absent else 409 there
    send doors { visitId, roomId }
  }
  return 202 visit
  facts
}
contract SEE "How often a room was visited" {
  GET /rooms/{roomId}
  allow true
  room = get Hall strong else 404 gone
  return room
  facts
}
worker COUNT "Count a visit" {
  on doors { visitId, roomId }
  visit = get Visit strong else done
  when visit.counted == true { done }
  transact {
    COUNTED
    upsert Hall add visits = 1
  }
  done
  facts
}
"#;

#[test]
fn a_worker_that_counts_twice() {
    let planted =
        VISITS.replace("COUNTED", "").replace("  when visit.counted == true { done }\n", "");
    let rules = told(&planted);
    assert!(rules.contains(&Rule::NotIdempotent), "{rules:?}");
    let losses = lost(&planted, &rules);
    assert!(names(&losses).contains(&"COUNT".to_owned()), "{losses:?}");
    let honest = VISITS.replace(
        "COUNTED",
        "update visit set counted = true, version = .version + 1 if unchanged and .counted == false else retry",
    );
    assert_eq!(told(&honest), []);
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

#[test]
fn the_same_document_gives_the_same_report() {
    let text = document(
        &LOANS
            .replace("GUARDED", "")
            .replace("PINNED", "update member set revision = .revision + 1 else 404 gone"),
    );
    let rules = told(
        &LOANS
            .replace("GUARDED", "")
            .replace("PINNED", "update member set revision = .revision + 1 else 404 gone"),
    );
    let (one, other) = (searched(&text, &rules), searched(&text, &rules));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// A book is moved from one shelf to another; a list shows both shelves.
const SHELVES: &str = include_str!("documents/shelves.txt");

#[test]
fn a_read_of_several_items_may_see_half_a_transaction() {
    let batch =
        SHELVES.replace("READ", "get Shelf shard in 0..1 strong").replace("shard in", "shelf in");
    assert_eq!(told(&batch), []);
    let losses = lost(&batch, &[]);
    assert!(names(&losses).contains(&"MOVE+TOTAL".to_owned()), "{losses:?}");
    // The embedded store reads all of them at one instant.
    let options = Options { embedded: true, ..Options::default() };
    let report = search(&document(&batch), &options, &|_| {});
    assert!(report.is_ok_and(|report| report.losses.is_empty()));
    let snapshot = batch.replace("0..1 strong", "0..1 snapshot");
    assert_eq!(told(&snapshot), []);
    assert_eq!(lost(&snapshot, &[]), Vec::<Vec<String>>::new());
}

/// A card is taken from a member and changed in one transaction; the member reads it.
const CARDS: &str = include_str!("documents/cards.txt");

#[test]
fn a_right_at_one_moment_and_what_it_is_used_for_at_another() {
    let without = [Rule::ForeignAllow, Rule::Drift];
    let gets = "member = get Member else 404 gone\n card = get Card else 404 no-card";
    let apart = CARDS.replace("READS", &gets.replace(" else", " strong else"));
    let found = latchkey_model::check(&document(&apart)).diagnostics;
    assert!(found.iter().any(|found| found.rule == Rule::StaleAnswer), "{found:#?}");
    let losses = lost(&apart, &without);
    assert!(names(&losses).contains(&"HIDE+READ".to_owned()), "{losses:?}");
    let snapshot = CARDS.replace("READS", &format!("snapshot {{\n{gets}\n}}"));
    let found = latchkey_model::check(&document(&snapshot)).diagnostics;
    assert!(!found.iter().any(|found| found.rule == Rule::StaleAnswer), "{found:#?}");
    assert_eq!(lost(&snapshot, &without), Vec::<Vec<String>>::new());
}

/// A view that one contract forgets.
const LABELS: &str = r#"
entity Parcel "PARCEL" {
  PK = "PARCEL#{parcelId}"
  SK = "META"
  parcelId id, ownerId id, label text(20), version counter
}
entity Owned "OWNED" view of Parcel {
  PK = "OWNER#{ownerId}"
  SK = "PARCEL#{parcelId}"
  copies ownerId, parcelId, label, version
}
contract SEND "Send a parcel" {
  POST /parcels
  input parcelId id, label Parcel.label
  allow true
  transact {
    parcel = put Parcel { parcelId, ownerId = caller.id, label } if absent else 409 there
    put Owned of parcel replace
  }
  return 201 parcel
  facts
}
contract NAME "Label a parcel anew" {
  PUT /parcels/{parcelId}/label
  input label Parcel.label
  parcel = get Parcel strong else 404 gone
  allow caller owns parcel.ownerId
  transact {
    update parcel set label = label, version = .version + 1 if unchanged else retry
    VIEW
  }
  return parcel
  facts
}
contract LIST "List parcels" {
  GET /parcels
  allow true
  parcels = query Owned
    where PK = "OWNER#{caller.id}" and SK begins_with "PARCEL#"
    page 20 max 100
  return parcels
  consistency eventual
  expect 0.. items
  rate 1/s
}
"#;

#[test]
fn a_view_that_is_left_behind() {
    let planted = LABELS.replace("VIEW", "");
    let rules = told(&planted);
    assert_eq!(rules, [Rule::StaleCopy]);
    let report = searched(&document(&planted), &rules);
    let told: Vec<&str> = report.losses.iter().map(|loss| loss.headline.as_str()).collect();
    let view = |told: &&str| told.contains("NAME") && told.contains("the view Owned");
    assert!(told.iter().any(view), "{told:?}");
    let honest = LABELS.replace("VIEW", "put Owned of parcel replace");
    assert_eq!(lost(&honest, &[]), Vec::<Vec<String>>::new());
}

#[test]
fn a_guard_or_a_counter_that_a_commit_leaves_alone() {
    let guard = "update member set revision = .revision + 1 if unchanged else retry";
    let guarded = LOANS.replace("GUARDED", "guarded by Member");
    let planted = guarded.replace("PINNED", "check member if unchanged else retry");
    assert_eq!(told(&planted), [Rule::MissingBump]);
    let headlines = |statements: &str| -> Vec<String> {
        let report = searched(&document(statements), &told(statements));
        report.losses.into_iter().map(|loss| loss.headline).collect()
    };
    let losses = headlines(&planted);
    let guard_stays = |told: &String| told.contains("the counter of its Member did not");
    assert!(losses.iter().any(guard_stays), "{losses:?}");
    assert_eq!(headlines(&guarded.replace("PINNED", guard)), Vec::<String>::new());

    let planted =
        TILLS.replace(", version = .version + 1 CONDITION", " if .left == till.left else retry");
    assert!(told(&planted).contains(&Rule::MissingBump));
    let losses = headlines(&planted);
    let counter_stays = |told: &String| told.contains("its `version` did not move by 1");
    assert!(losses.iter().any(counter_stays), "{losses:?}");
}

#[test]
fn what_is_done_about_a_dead_letter_beside_its_message() {
    // The message may still be worked on, late, while it is given up.
    let counted = "update visit set counted = true, version = .version + 1 if unchanged and .counted == false else retry";
    let dead = |leg: &str| {
        VISITS.replace("COUNTED", counted).replace(
            "  done\n  facts\n}\n",
            &format!("  done\n  facts\n  on dead {{\n    lost = get Visit strong else done\n    when lost.counted == false {{\n      {leg}\n    }}\n  }}\n}}\n"),
        )
    };
    let honest =
        dead("update lost set counted = true, version = .version + 1 if unchanged else done");
    assert_eq!(told(&honest), []);
    let report = searched(&document(&honest), &[]);
    assert_eq!(report.losses.len(), 0, "{:#?}", report.losses);
    let planted = dead("update lost set counted = true, version = .version + 1 else done");
    let losses = lost(&planted, &told(&planted));
    let beside = |contracts: &Vec<String>| contracts.iter().any(|id| id == "COUNT dead");
    assert!(losses.iter().any(beside), "{losses:?}");
}
