//! Pages: full whatever their size, ending where the items do, and continued by nobody else.

use latchkey_runtime::{Call, Caller};
use latchkey_table::{Action, Key, Returning, Update, Value};
use latchkey_value::json;
use proptest::prelude::*;

use crate::support::{Told, World, call, call_by};

const SHELF: &str = r#"
entity Book "BOOK" {
  PK = "SHELF#{shelfId}"
  SK = "BOOK#{bookId}"
  shelfId id, bookId id, genre id, text text(400000)?
  index Genre { PK = "GENRE#{genre}"  SK = "{shelfId}#{bookId}" }
}
contract ADD "Add a book" {
  POST /shelves/{shelfId}/books
  input bookId id, genre id, text text(400000)?
  allow true
  book = put Book { shelfId, bookId, genre, text } if absent else 409 there
  return 201 book { bookId }
  facts
}
contract LIST "List a shelf" {
  GET /shelves/{shelfId}/books
  input order asc | desc = asc
  allow true
  books = query Book
    where PK = "SHELF#{shelfId}" and SK begins_with "BOOK#"
    order descending when order == desc
    page 3 max 100
  return books { bookId } with { shelfId }
  facts
}
contract GENRE "List a genre" {
  GET /genres/{genre}
  input order asc | desc = asc
  allow true
  books = query Book by Genre
    where PK = "GENRE#{genre}"
    order descending when order == desc
    page 3 max 100
  return books { bookId }
  facts
}
contract ALIKE "List a shelf otherwise" {
  GET /alike/{shelfId}
  input order asc | desc = asc
  allow true
  books = query Book
    where PK = "SHELF#{shelfId}" and SK begins_with "BOOK#"
    order descending when order == desc
    page 3
  return books { bookId }
  facts
}
contract TEXT "The text of a book" {
  GET /shelves/{shelfId}/books/{bookId}
  allow true
  book = get Book else 404 not-found
  return book { text }
  facts
}
contract TWENTY "Always so many" {
  GET /twenty/{shelfId}
  allow true
  books = query Book where PK = "SHELF#{shelfId}" and SK begins_with "BOOK#" first 20
  return books { bookId }
  facts
}
"#;

async fn shelf(books: usize) -> World {
    let world = World::start(SHELF).await;
    for book in 0..books {
        let inputs = format!(r#"{{"shelfId": "s", "bookId": "b{book:03}", "genre": "g"}}"#);
        world.ok("ADD", &inputs).await;
    }
    world
}

fn ids(told: &Told) -> Vec<String> {
    let items = told.member("items");
    items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["bookId"].as_str().unwrap().to_owned())
        .collect()
}

fn next(told: &Told) -> Option<String> {
    told.member("nextCursor").as_str().map(str::to_owned)
}

fn with_cursor(mut call: Call, cursor: Option<&str>) -> Call {
    call.inputs.retain(|(name, _)| name != "nextCursor");
    match cursor {
        Some(cursor) => call.input("nextCursor", cursor),
        None => call,
    }
}

/// Every page of a list, by going on until there is no cursor.
async fn pages(world: &World, call: Call) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    for _ in 0..1000 {
        let told = world.made(with_cursor(call.clone(), cursor.as_deref())).await;
        assert_eq!(told.status(), 200, "{}", told.body());
        pages.push(ids(&told));
        cursor = next(&told);
        if cursor.is_none() {
            return pages;
        }
    }
    panic!("the list does not end");
}

// `page 25 max 100` answers 25 items unless the caller asks for another number, and never more than 100; an
// exact fit ends there.
#[tokio::test]
async fn pages_are_full_and_end_where_the_items_do() {
    for count in 0..8 {
        let world = shelf(count).await;
        let all: Vec<String> = (0..count).map(|book| format!("b{book:03}")).collect();
        let reversed: Vec<String> = all.iter().rev().cloned().collect();
        for (contract, place) in [("LIST", r#""shelfId": "s""#), ("GENRE", r#""genre": "g""#)] {
            for (order, expected) in [("asc", &all), ("desc", &reversed)] {
                for size in [1, 2, 3, 5, 100] {
                    let inputs = format!(r#"{{{place}, "order": "{order}", "pageSize": {size}}}"#);
                    let found = pages(&world, call(contract, &inputs)).await;
                    let wanted: Vec<Vec<String>> = match count {
                        0 => vec![Vec::new()],
                        _ => expected.chunks(size).map(<[String]>::to_vec).collect(),
                    };
                    assert_eq!(found, wanted, "{contract} {inputs} of {count}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_page_has_a_size_of_its_own_and_a_greatest() {
    let world = shelf(7).await;
    let told = world.call("LIST", r#"{"shelfId": "s"}"#).await;
    assert_eq!(ids(&told).len(), 3);
    assert_eq!(told.member("shelfId"), "s", "`with` adds to a page beside its items");
    for (contract, size, status) in [
        ("LIST", "100", 200),
        ("LIST", "101", 400),
        ("LIST", "0", 400),
        ("LIST", "-1", 400),
        ("LIST", "1.5", 400),
        ("LIST", "\"3\"", 400),
        ("LIST", "null", 400),
        // Without `max` the first number is also the greatest.
        ("ALIKE", "3", 200),
        ("ALIKE", "4", 400),
    ] {
        let told =
            world.call(contract, &format!(r#"{{"shelfId": "s", "pageSize": {size}}}"#)).await;
        assert_eq!(told.status(), status, "{contract} of {size}");
        if status == 400 {
            assert_eq!(told.problem().errors[0].pointer, "/pageSize", "{contract} of {size}");
        }
    }
    let told = world.made(call("LIST", r#"{"shelfId": "s"}"#).input("pageSize", "2")).await;
    assert_eq!(ids(&told).len(), 2, "as text");
}

// A cursor that is tampered with, or of another contract, other inputs or another caller, is 400
// `invalid-cursor`.
#[tokio::test]
async fn a_cursor_is_good_for_its_list_alone() {
    let world = shelf(7).await;
    let list = || call("LIST", r#"{"shelfId": "s"}"#);
    let cursor = next(&world.made(list()).await).unwrap();
    let again = world.made(with_cursor(list(), Some(&cursor))).await;
    assert_eq!(ids(&again), ["b003", "b004", "b005"]);
    let twice = world.made(with_cursor(list(), Some(&cursor))).await;
    assert_eq!(ids(&twice), ids(&again), "it can be used again");
    let sized = call("LIST", r#"{"shelfId": "s", "pageSize": 1}"#);
    assert_eq!(ids(&world.made(with_cursor(sized, Some(&cursor))).await), ["b003"]);
    let stranger = call_by(Caller::new("mallory").role("clerk"), "LIST", r#"{"shelfId": "s"}"#);
    let others = [
        ("another caller", stranger),
        ("another contract", call("ALIKE", r#"{"shelfId": "s"}"#)),
        ("another partition", call("LIST", r#"{"shelfId": "t"}"#)),
        ("another direction", call("LIST", r#"{"shelfId": "s", "order": "desc"}"#)),
        ("an index", call("GENRE", r#"{"genre": "g"}"#)),
    ];
    for (what, call) in others {
        let told = world.made(with_cursor(call, Some(&cursor))).await;
        assert_eq!(told.told(), (400, "invalid-cursor".to_owned()), "{what}");
    }
    for broken in [
        "",
        "A",
        "====",
        "\u{e4}",
        cursor.get(1..).unwrap(),
        &format!("{cursor}A"),
        &"A".repeat(100_000),
    ] {
        let told = world.made(with_cursor(list(), Some(broken))).await;
        assert_eq!(told.told(), (400, "invalid-cursor".to_owned()), "{broken:.20}");
    }
    let told = world.call("LIST", r#"{"shelfId": "s", "nextCursor": 5}"#).await;
    assert_eq!(told.problem().errors[0].pointer, "/nextCursor");
    // Those of an item that has been removed lead to where it was.
    world
        .store
        .delete(
            latchkey_table::Delete {
                table: world.runtime.system().table().clone(),
                key: Key::new("SHELF#s", "BOOK#b002"),
                condition: None,
            },
            Returning::Nothing,
        )
        .await
        .unwrap();
    assert_eq!(ids(&world.made(with_cursor(list(), Some(&cursor))).await)[0], "b003");
}

#[tokio::test]
async fn no_bit_of_a_cursor_can_be_changed() {
    let world = shelf(7).await;
    let list = || call("GENRE", r#"{"genre": "g"}"#);
    let cursor = next(&world.made(list()).await).unwrap();
    for at in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        let told = world.made(with_cursor(list(), Some(&changed))).await;
        assert_eq!(told.told(), (400, "invalid-cursor".to_owned()), "letter {at}");
    }
}

// Pages stay full across the store's own 1 MB cut.
#[tokio::test]
async fn a_page_is_full_across_the_stores_own_cut() {
    let world = World::start(SHELF).await;
    let text = "x".repeat(300_000);
    for book in 0..9 {
        let inputs = format!(
            r#"{{"shelfId": "s", "bookId": "b{book:03}", "genre": "g", "text": "{text}"}}"#
        );
        world.ok("ADD", &inputs).await;
    }
    let all: Vec<String> = (0..9).map(|book| format!("b{book:03}")).collect();
    let reversed: Vec<String> = all.iter().rev().cloned().collect();
    for (contract, place) in [("LIST", r#""shelfId": "s""#), ("GENRE", r#""genre": "g""#)] {
        for (order, expected) in [("asc", &all), ("desc", &reversed)] {
            for size in [8, 9, 10] {
                let inputs = format!(r#"{{{place}, "order": "{order}", "pageSize": {size}}}"#);
                let mut first = call(contract, &inputs);
                first.trace = true;
                let told = world.made(first.clone()).await;
                assert!(told.0.trace.len() > 1, "the store cuts at 1 MB");
                let found = pages(&world, first).await;
                let wanted: Vec<Vec<String>> =
                    expected.chunks(size).map(<[String]>::to_vec).collect();
                assert_eq!(found, wanted, "{contract} {inputs}");
            }
        }
    }
    let told = world.call("TWENTY", r#"{"shelfId": "s"}"#).await;
    assert_eq!(ids(&told), all, "and so does a fixed number");
}

// What is written between two pages is met or not, but nothing is met twice.
#[tokio::test]
async fn a_list_goes_on_behind_what_was_shown() {
    let world = shelf(6).await;
    let first = world.call("LIST", r#"{"shelfId": "s"}"#).await;
    for book in ["a", "b0015", "b0025", "z"] {
        let inputs = format!(r#"{{"shelfId": "s", "bookId": "{book}", "genre": "g"}}"#);
        world.ok("ADD", &inputs).await;
    }
    let cursor = next(&first);
    let told = world
        .made(with_cursor(call("LIST", r#"{"shelfId": "s", "pageSize": 9}"#), cursor.as_deref()))
        .await;
    assert_eq!(ids(&told), ["b0025", "b003", "b004", "b005", "z"]);
}

// An item that leaves its index between two pages does not end the list.
#[tokio::test]
async fn a_list_by_an_index_survives_its_last_item() {
    let world = shelf(6).await;
    let first = world.call("GENRE", r#"{"genre": "g"}"#).await;
    let table = world.runtime.system().table().clone();
    let key = Key::new("SHELF#s", "BOOK#b002");
    let actions = vec![Action::set("genre", "h"), Action::set("GenrePK", Value::from("GENRE#h"))];
    let update = Update { table, key, actions, condition: None };
    world.store.update(update, Returning::Nothing).await.unwrap();
    let cursor = next(&first);
    let told = world.made(with_cursor(call("GENRE", r#"{"genre": "g"}"#), cursor.as_deref())).await;
    assert_eq!(ids(&told), ["b003", "b004", "b005"]);
}

proptest! {
    #![proptest_config(crate::support::cases(24))]

    // Whatever the sizes asked for on the way, all is shown once and in order.
    #[test]
    fn any_walk_through_a_list_meets_everything_once(
        sizes in proptest::collection::vec(1_usize..9, 1..30),
        descending in any::<bool>(),
        index in any::<bool>(),
        count in 0_usize..30,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = shelf(count).await;
            let (contract, place) =
                if index { ("GENRE", r#""genre": "g""#) } else { ("LIST", r#""shelfId": "s""#) };
            let order = if descending { "desc" } else { "asc" };
            let (mut met, mut cursor) = (Vec::new(), None::<String>);
            let mut sizes = sizes.iter().cycle();
            loop {
                let size = sizes.next().unwrap();
                let inputs = format!(r#"{{{place}, "order": "{order}", "pageSize": {size}}}"#);
                let told = world.made(with_cursor(call(contract, &inputs), cursor.as_deref())).await;
                assert_eq!(told.status(), 200);
                let found = ids(&told);
                cursor = next(&told);
                assert!(found.len() == *size || cursor.is_none(), "a page before the last is full");
                met.extend(found);
                if cursor.is_none() {
                    break;
                }
            }
            let mut all: Vec<String> = (0..count).map(|book| format!("b{book:03}")).collect();
            if descending {
                all.reverse();
            }
            assert_eq!(met, all);
        });
    }

    // Any text as a cursor is refused, and nothing else happens.
    #[test]
    fn no_text_is_a_cursor(cursor in ".{0,80}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(async {
            let world = shelf(4).await;
            let call = call("LIST", r#"{"shelfId": "s"}"#).json("nextCursor", cursor.as_str());
            world.made(call).await
        });
        prop_assert_eq!(told.told(), (400, "invalid-cursor".to_owned()));
        prop_assert!(json::read(told.body().as_bytes(), Default::default()).is_ok());
    }
}

const LIST: &str = r#"
entity Line "LINE" {
  PK = "LIST#{listId}"
  SK = "LINE#{n:03}"
  listId id, n int 1..999, state OPEN | SHUT = OPEN
}
contract ADD "Add" {
  POST /lists/{listId}/{n}
  input state Line.state = OPEN
  allow true
  line = put Line { listId, n, state } if absent else 409 there
  return 201 line
  facts
}
contract LINES "Lines" {
  GET /lists/{listId}
  allow true
  lines = query Line where PK = "LIST#{listId}" and SK begins_with "LINE#" page 2 max 3 as limit
  return lines { n } with { tally = count(lines by state), count = count(lines), total = sum(lines.n) }
  facts
}
"#;

// `page 25 max 100 as limit` lets the caller ask by `limit` instead; `count(page by state)` has every word.
#[tokio::test]
async fn pages_are_sized_by_another_name_and_counted() {
    let world = World::start(LIST).await;
    for (n, state) in [(1, "OPEN"), (2, "OPEN"), (3, "OPEN"), (4, "SHUT")] {
        let line = format!(r#"{{"listId": "l", "n": {n}, "state": {state:?}}}"#);
        world.ok("ADD", &line).await;
    }
    let told = world.ok("LINES", r#"{"listId": "l"}"#).await;
    assert_eq!((&told["count"], &told["total"]), (&2.into(), &3.into()));
    assert_eq!(told["tally"].to_string(), r#"{"OPEN":2,"SHUT":0}"#);
    let told = world.ok("LINES", r#"{"listId": "l", "limit": 3}"#).await;
    assert_eq!((&told["count"], &told["total"]), (&3.into(), &6.into()));
    for inputs in [r#"{"listId": "l", "limit": 4}"#, r#"{"listId": "l", "pageSize": 2}"#] {
        assert_eq!(world.call("LINES", inputs).await.status(), 400, "{inputs}");
    }
}
