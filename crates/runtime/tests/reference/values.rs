//! Keys and texts made from values, dates, months, products and quotients.

use crate::support::{World, broken};

const DEALS: &str = r#"
entity Deal "DEAL" {
  PK = "DEALS#{at:day}"
  SK = "{state}#{at}#{rank:-03}#{dealId}"
  dealId id, at time, rank int 0..999, state in-progress | done = in-progress, until date
  index ByOwner { PK = "OWNER#{owner:lower}" SK = "{until:month}#{rank:-03}#{dealId}" }
  index ByName { PK = "OWNER#{owner:upper}" SK = "{dealId}" }
  owner id
}
contract MAKE "Make" {
  POST /deals
  input dealId id, rank Deal.rank, owner id, at time = now, until date = day(now) + 1mo, state Deal.state = in-progress
  allow true
  deal = put Deal { dealId, at, rank, owner, until, state } if absent else 409 there
  return 201 deal
  facts
}
contract TODAY "Today" {
  GET /deals
  allow true
  deals = query Deal where PK = "DEALS#{now:day}" and SK begins_with "in-progress#{now:hour}" page 9
  return deals { dealId }
  facts
}
contract DAY "A day" {
  GET /deals/of
  input day date, state Deal.state
  allow true
  deals = query Deal where PK = "DEALS#{day}" and SK begins_with "{state}#{day}" page 9
  return deals { dealId }
  facts
}
contract NAMED "Named" {
  GET /deals/named
  input owner id
  allow true
  deals = query Deal by ByName where PK = "OWNER#{owner:upper}" page 9
  return deals { dealId }
  facts
}
contract OWNED "Owned" {
  GET /deals/owned
  input owner id, month date
  allow true
  deals = query Deal by ByOwner
    where PK = "OWNER#{owner:lower}" and SK begins_with "{month:month}" page 9
  return deals { dealId, until, state }
  facts
}
"#;

// `{at:day}`, `{n:-03}`, `{name:lower}`, `{name:upper}`: in keys of an item, of an index, and in a `where`.
#[tokio::test]
async fn keys_are_made_from_values() {
    let world = World::start(DEALS).await;
    world.ok("MAKE", r#"{"dealId": "a", "rank": 7, "owner": "Ann.B"}"#).await;
    world.ok("MAKE", r#"{"dealId": "b", "rank": 999, "owner": "ANN.b"}"#).await;
    world
        .ok("MAKE", r#"{"dealId": "c", "rank": 0, "owner": "bob", "at": "2026-02-25T23:00:00Z", "state": "done"}"#)
        .await;
    let item = world.stored("DEALS#2026-02-25", "in-progress#2026-02-25T10:00:00.000Z#992#a");
    let item = item.expect("it is stored there");
    assert_eq!(item.get("ByOwnerPK").unwrap().as_text().unwrap(), "OWNER#ann.b");
    assert_eq!(item.get("ByOwnerSK").unwrap().as_text().unwrap(), "2026-03#992#a");
    assert_eq!(item.get("ByNamePK").unwrap().as_text().unwrap(), "OWNER#ANN.B");
    assert_eq!(item.get("owner").unwrap().as_text().unwrap(), "Ann.B");
    assert_eq!(item.get("until").unwrap().as_text().unwrap(), "2026-03-25");
    let ids = |told: serde_json::Value| -> Vec<String> {
        let items = told["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["dealId"].as_str().unwrap().to_owned()).collect()
    };
    // The greater rank comes first.
    assert_eq!(ids(world.ok("TODAY", "{}").await), ["b", "a"]);
    let done = r#"{"day": "2026-02-25", "state": "done"}"#;
    assert_eq!(ids(world.ok("DAY", done).await), ["c"]);
    let other = r#"{"day": "2026-02-26", "state": "done"}"#;
    assert_eq!(ids(world.ok("DAY", other).await), [""; 0]);
    let owned = r#"{"owner": "aNN.b", "month": "2026-03-01"}"#;
    let told = world.ok("OWNED", owned).await;
    assert_eq!(told["items"][0]["state"], "in-progress");
    assert_eq!(ids(told), ["b", "a"]);
    assert_eq!(ids(world.ok("NAMED", r#"{"owner": "ann.B"}"#).await), ["a", "b"]);
    let wrong = world.call("DAY", r#"{"day": "2026-02-30", "state": "in-progress"}"#).await;
    assert_eq!(wrong.status(), 400, "{}", wrong.body());
    assert!(wrong.body().contains("must be a date such as `2026-02-25`"), "{}", wrong.body());
}

/// A contract that shows one value.
fn shows(inputs: &str, values: &str) -> String {
    format!(
        "entity Sample \"SAMPLE\" {{\n  PK = \"SAMPLE#{{sampleId}}\"\n  SK = \"META\"\n  sampleId id\n}}\n\
         contract SHOW \"Show\" {{\n  POST /show\n  input sampleId id{inputs}\n  allow true\n  \
         sample = put Sample {{ sampleId }} replace\n  return sample with {{ {values} }}\n  facts\n}}\n"
    )
}

async fn shown(inputs: &str, values: &str, given: &str) -> serde_json::Value {
    World::start(&shows(inputs, values)).await.ok("SHOW", given).await
}

// The last day of a month is the latest that a month added to another day comes to.
#[tokio::test]
async fn months_and_years_are_those_of_the_calendar() {
    let told = shown(
        ", at time, day date, other date",
        "a = at + 1mo, b = at - 2mo, c = day + 1y, d = day - 1d, e = day(at), f = day(at) == day, \
         g = day + 1mo > other, h = day - other, i = \"{day:month} {day:year} {at:hour}\", j = day + 24mo",
        r#"{"sampleId": "s", "at": "2024-01-31T10:30:00Z", "day": "2024-02-29", "other": "2024-02-01"}"#,
    )
    .await;
    assert_eq!(told["a"], "2024-02-29T10:30:00.000Z");
    assert_eq!(told["b"], "2023-11-30T10:30:00.000Z");
    assert_eq!(told["c"], "2025-02-28");
    assert_eq!(told["d"], "2024-02-28");
    assert_eq!(told["e"], "2024-01-31");
    assert_eq!(told["f"], false);
    assert_eq!(told["g"], true);
    assert_eq!(told["h"], 28 * 86_400_000_i64);
    assert_eq!(told["i"], "2024-02 2024 2024-01-31T10");
    assert_eq!(told["j"], "2026-02-28");
    let late = World::start(&shows(", day date", "a = day + 1y")).await;
    let told = late.call("SHOW", r#"{"sampleId": "s", "day": "9999-12-31"}"#).await;
    assert_eq!(told.status(), 400, "{}", told.body());
}

// `*` is exact; a quotient is rounded as is said; nothing is divided by zero.
#[tokio::test]
async fn products_and_quotients_are_exact_or_say_how_they_are_rounded() {
    let told = shown(
        ", price number, count int 0..99",
        "a = price * count, b = round(price * count / 3, 2), c = floor(price), d = ceil(price / 2), \
         e = price + price * 2, f = round(price, 1), g = (price + 1) * 2, h = floor(-7 / 2)",
        r#"{"sampleId": "s", "price": 19.95, "count": 3}"#,
    )
    .await;
    let number = |name: &str| told[name].to_string();
    assert_eq!(number("a"), "59.85");
    assert_eq!(number("b"), "19.95");
    assert_eq!(number("c"), "19");
    assert_eq!(number("d"), "10");
    assert_eq!(number("e"), "59.85");
    assert_eq!(number("f"), "20");
    assert_eq!(number("g"), "41.9");
    assert_eq!(number("h"), "-4");
    let document_text = shows(", a number, b number", "c = round(a / b, 2), d = a * b");
    let waived = "waive half-done \"the sample may stay\"\n  return";
    let world = World::start(&document_text.replace("return", waived)).await;
    let zero = world.call("SHOW", r#"{"sampleId": "s", "a": 1, "b": 0}"#).await;
    assert_eq!(zero.status(), 400, "{}", zero.body());
    assert!(zero.body().contains("divided by zero"), "{}", zero.body());
    let long = r#"{"sampleId": "s", "a": 12345678901234567890123, "b": 12345678901234567890123}"#;
    assert_eq!(world.call("SHOW", long).await.status(), 400);
}

// What no value can be is said where it is written.
#[test]
fn what_has_no_such_form_is_refused() {
    let cases = [
        (", n int", "a = \"{n:-03}\"", "type: this is int, which has no form `-03`"),
        (", n int 0..1000", "a = \"{n:-03}\"", "type: this is int, which has no form `-03`"),
        (", n int 0..9", "a = \"{n:day}\"", "type: this is int, which has no form `day`"),
        (", d date", "a = \"{d:day}\"", "type: this is date, which has no form `day`"),
        (", d date", "a = \"{d:hour}\"", "type: this is date, which has no form `hour`"),
        (", t time", "a = \"{t:lower}\"", "type: this is time, which has no form `lower`"),
        (", n int", "a = \"{n:upper}\"", "type: this is int, which has no form `upper`"),
        (", t id", "a = \"{t:02}\"", "type: this is id, which has no form `02`"),
        (
            ", t time",
            "a = t + 1mo < now + 1y, b = 1mo",
            "type: a month has no one length: it moves a time or a date",
        ),
        (", n int", "a = n + 1mo", "type: int and a number of months do not add up"),
        (", d date", "a = d + 1h", "type: a date moves by whole days, months or years"),
        (", d date", "a = d < now", "type: date and time do not compare"),
        (", d date, e date", "a = d + e", "type: date and date do not add up"),
        (", n number", "a = n / 2", "type: a quotient says how it is rounded"),
        (", n number", "a = round(n / 2 * 3, 2)", "type: a quotient says how it is rounded"),
        (", n number", "a = round(n / 0, 2)", "type: nothing can be divided by zero"),
        (", n number", "a = round(n, 99)", "type: the places are one whole number from 0 to 37"),
        (", t time", "a = t * 2", "type: time and int do not multiply"),
        (", d date", "a = day(d)", "type: this is date, and time is expected"),
    ];
    for (inputs, values, message) in cases {
        assert_eq!(broken(&shows(inputs, values)), [message], "{values}");
    }
}

const LINES: &str = r#"
entity Line "LINE" {
  PK = "LINES#{day}"
  SK = "{sort}#{lineId}"
  lineId id, price number 0.., amount int 1..99 = 2, placedAt time, rate TEN | none-at-all = none-at-all
  total number 0..1000 = price * amount, twice number = total * 2, day date = day(placedAt)
  label text(40) like "[^#]{1,40}" = "Line"
  sort text(40) like "[^#]{1,40}" = label, note text(400)? = "{lineId:lower} for {total}, {rate}"
  rank int 0..99
  index ByRank { PK = "RANK#{day}" SK = "{rank:-02}#{lineId}" }
}
entity Copy "COPY" view of Line {
  PK = "COPY#{lineId}"
  SK = "{day}#{sort}"
  copies lineId, price, day, sort
  cents int = round(price * 100)
}
contract PUT "Put" {
  POST /lines
  input lineId id, price Line.price, amount Line.amount?
  allow true
  when amount is present {
    transact {
      line = put Line { lineId, price, amount, placedAt = now + 14h, rank = 7 } if absent else 409 there
      put Copy of line replace
    }
    return 201 line
  }
  transact {
    other = put Line { lineId, price, placedAt = now, rank = 7, note = "given" } if absent else 409 there
    put Copy of other replace
  }
  return 201 other
  facts
}
contract RANKED "Ranked" {
  GET /lines/{day}
  allow true
  lines = query Line by ByRank where PK = "RANK#{day}" page 9
  return lines { lineId, total }
  facts
}
"#;

// `total number = price * amount`: computed in every `put` that does not give it, from what the `put` gives or leaves to
// a default; also as a part of a key.
#[tokio::test]
async fn a_default_is_computed_from_what_is_put() {
    let world = World::start(LINES).await;
    let told = world.ok("PUT", r#"{"lineId": "A", "price": 1.5, "amount": 3}"#).await;
    assert_eq!(told["total"].to_string(), "4.5");
    assert_eq!(told["twice"].to_string(), "9");
    assert_eq!(told["day"], "2026-02-26");
    assert_eq!(told["note"], "a for 4.5, none-at-all");
    let item = world.stored("LINES#2026-02-26", "Line#A").expect("it is stored there");
    assert_eq!(item.get("ByRankSK").unwrap().as_text().unwrap(), "92#A");
    assert_eq!(world.attribute("COPY#A", "2026-02-26#Line", "cents").as_deref(), Some("150"));
    let told = world.ok("PUT", r#"{"lineId": "B", "price": 1.25}"#).await;
    assert_eq!(told["total"].to_string(), "2.5");
    assert_eq!(told["note"], "given");
    assert_eq!(told["day"], "2026-02-25");
    let ranked = world.ok("RANKED", r#"{"day": "2026-02-25"}"#).await;
    assert_eq!(ranked["items"].to_string(), r#"[{"lineId":"B","total":2.5}]"#);
    // What is computed keeps its bounds.
    let much = world.call("PUT", r#"{"lineId": "C", "price": 900, "amount": 2}"#).await;
    assert_eq!(much.status(), 400, "{}", much.body());
}

// An attribute with a computed default that an older item lacks: absent with a `?`, and damage without.
#[tokio::test]
async fn what_was_not_computed_then_is_not_computed_later() {
    let entity = |rest: &str| {
        format!(
            "entity Old \"OLD\" {{\n  PK = \"OLD#{{oldId}}\"\n  SK = \"META\"\n  oldId id, n int\n{rest}}}\n\
             contract PUT \"Put\" {{\n  PUT /old/{{oldId}}\n  input n int\n  allow true\n  \
             old = put Old {{ oldId, n }} if absent else 409 there\n  return old\n  facts\n}}\n\
             contract GET \"Get\" {{\n  GET /old/{{oldId}}\n  allow true\n  \
             old = get Old strong else 404 gone\n  return old\n  facts\n}}\n"
        )
    };
    let before = World::start(&entity("")).await;
    before.ok("PUT", r#"{"oldId": "a", "n": 2}"#).await;
    for (more, status) in [("  twice int? = n * 2\n", 200), ("  twice int = n * 2\n", 500)] {
        let after = before.again(&entity(more)).await;
        assert_eq!(after.call("GET", r#"{"oldId": "a"}"#).await.status(), status, "{more}");
    }
}

// What a default cannot be computed from is refused where it is declared.
#[test]
fn a_default_is_computed_from_attributes_above_it() {
    let cases = [
        ("a int = b + 1, b int", "type: `a` is computed from `b`, which stands below it"),
        ("a int = a + 1", "type: `a` is computed from itself: `a` from `a`"),
        (
            "a int = b + 1, b int = a + 1",
            "type: `a` is computed from itself: `a` from `b` from `a`",
        ),
        ("b int?, a int = b + 1", "absent: `b` may be absent"),
        ("b int secret, a int = b + 1", "type: `b` is secret, and `a` is not"),
        (
            "v counter, a int = v + 1",
            "type: `v` counts the changes of the item, and is no value yet",
        ),
        ("a time = now", "type: this is not a constant of type time"),
        ("a time = now + 1d", "type: a default is computed from the attributes of its item alone"),
        ("a id = new ulid", "type: a default is computed from the attributes of its item alone"),
        ("b int, a text(9) = b", "type: this is int, and text(9) is expected"),
        ("b text(20), a text(9) = b", "type: this is text(20), and there is room for 9 bytes"),
        ("a int = c + 1", "name: there is no name `c`"),
    ];
    for (attributes, message) in cases {
        let text = format!(
            "entity Thing \"THING\" {{\n  PK = \"THING#{{thingId}}\"\n  SK = \"META\"\n  thingId id\n  {attributes}\n}}\n\
             contract SHOW \"Show\" {{\n  GET /things/{{thingId}}\n  allow true\n  \
             thing = get Thing strong else 404 gone\n  return thing\n  facts\n}}\n"
        );
        assert_eq!(broken(&text), [message], "{attributes}");
    }
    // What is new has a name first, or it would be two.
    let new = "entity Thing \"THING\" {\n  PK = \"THING#{thingId}\"\n  SK = \"META\"\n  thingId ulid\n  \
               small text(40) = \"{thingId:lower}\"\n}\n\
               contract PUT \"Put\" {\n  POST /things\n  allow true\n  \
               thing = put Thing { thingId = new ulid } if absent else retry\n  return thing\n  facts\n}\n";
    assert_eq!(broken(new), ["type: what is new is given a name first"]);
    let named = new.replace("allow true\n", "allow true\n  thingId = new ulid\n");
    assert_eq!(broken(&named.replace("thingId = new ulid }", "thingId }")), [""; 0]);
    // An upsert may find the item, so it computes nothing.
    let upsert = "entity Thing \"THING\" {\n  PK = \"THING#{thingId}\"\n  SK = \"META\"\n  thingId id, n int\n  \
                  twice int = n * 2\n}\n\
                  contract PUT \"Put\" {\n  PUT /things/{thingId}\n  input n int\n  allow true\n  \
                  thing = upsert Thing set n = n\n  return thing\n  facts\n}\n";
    assert_eq!(broken(upsert), ["type: this leaves an item of `Thing` without `twice`"]);
}

// What is added up may be stored, and the inputs right: the answer blamed an input.
#[tokio::test]
async fn a_sum_of_stored_numbers_that_does_not_fit_blames_no_input() {
    let text = r#"
entity Row "ROW" {
  PK = "SHEET#{sheetId}"
  SK = "ROW#{rowId}"
  sheetId id, rowId id, n number
}
contract WRITE "Write" {
  PUT /sheets/{sheetId}/{rowId}
  input n number
  allow true
  row = put Row { sheetId, rowId, n } if absent else 409 there
  return 201 row
  facts
}
contract TOTAL "Total" {
  GET /sheets/{sheetId}
  allow true
  rows = query Row strong where PK = "SHEET#{sheetId}" first 10
  return rows with { total = sum(rows.n) }
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("WRITE", r#"{"sheetId": "s", "rowId": "a", "n": 1}"#).await;
    assert_eq!(world.ok("TOTAL", r#"{"sheetId": "s"}"#).await["total"], 1);
    world.ok("WRITE", r#"{"sheetId": "s", "rowId": "b", "n": 1e125}"#).await;
    let told = world.call("TOTAL", r#"{"sheetId": "s"}"#).await;
    assert_eq!(told.told(), (400, "not-computable".to_owned()));
    let detail = &told.problem().detail;
    assert!(detail.contains("stored items does not fit"), "{detail}");
    assert!(told.problem().errors.is_empty(), "no input is pointed at");
}

const SCORES: &str = r#"
entity Score "SCORE" {
  PK = "GAME#{game}"
  SK = "S#{points:-03}#{player}"
  game id, points int 0..999, player id, more int = 0
}
contract SCORE "Score" {
  POST /scores
  input game id, points Score.points, player id, more int
  allow true
  score = put Score { game, points, player, more } replace
  return 201 score
  facts
}
contract BETWEEN "Scores between two" {
  GET /scores/{game}
  input least Score.points, most Score.points
  allow true
  scores = query Score where PK = "GAME#{game}" and SK between "S#{least:-03}#~" and "S#{most:-03}#" page 9
  return scores { points, player }
  facts
}
contract KEYS "Scores between two, in the order of the keys" {
  GET /scores/{game}/keys
  input least Score.points, most Score.points
  allow true
  scores = query Score where PK = "GAME#{game}" and SK between "S#{most:-03}#" and "S#{least:-03}#~" page 9
  return scores { points, player }
  facts
}
contract MORE "More" {
  PUT /scores/{game}/{points}/{player}
  input by int
  allow true
  score = update Score set more = .more + by else 404 gone
  return score
  facts
}
contract LESS "Less" {
  DELETE /scores/{game}/{points}/{player}
  input by int
  allow true
  score = update Score add more = by else 404 gone
  return score
  facts
}
"#;

/// Of numbers that are counted down, the greater sorts first. A range is written from the lesser to the greater.
#[tokio::test]
async fn a_range_of_numbers_that_are_counted_down_is_from_the_lesser_to_the_greater() {
    let world = World::start(SCORES).await;
    for points in [0, 9, 10, 15, 20, 21, 999] {
        let inputs = format!(r#"{{"game": "g", "points": {points}, "player": "p", "more": 0}}"#);
        world.ok("SCORE", &inputs).await;
    }
    for (least, most, expected) in [
        (10, 20, vec![20, 15, 10]),
        (0, 999, vec![999, 21, 20, 15, 10, 9, 0]),
        (15, 15, vec![15]),
        (20, 10, vec![]),
        (11, 14, vec![]),
    ] {
        let inputs = format!(r#"{{"game": "g", "least": {least}, "most": {most}}}"#);
        // What was written in the order of the keys found nothing.
        for contract in ["BETWEEN", "KEYS"] {
            let told = world.ok(contract, &inputs).await;
            let items = told["items"].as_array().unwrap().iter();
            let found: Vec<i64> = items.map(|item| item["points"].as_i64().unwrap()).collect();
            assert_eq!(found, expected, "{contract}: {least} to {most}");
        }
    }
}

/// A sum left 64 bits, and what was exported then could not be imported.
#[tokio::test]
async fn a_whole_number_never_leaves_its_64_bits() {
    let world = World::start(SCORES).await;
    let (least, most) = (i64::MIN, i64::MAX);
    let one = |by: i64| format!(r#"{{"game": "g", "points": 1, "player": "p", "by": {by}}}"#);
    for (start, by, status) in [
        (most, 1, 400),
        (most - 1, 1, 200),
        (most, 0, 200),
        (most, -1, 200),
        (least, -1, 400),
        (least, most, 200),
        (0, least, 200),
        (-1, least, 400),
        (1, most, 400),
    ] {
        for contract in ["MORE", "LESS"] {
            let inputs = format!(r#"{{"game": "g", "points": 1, "player": "p", "more": {start}}}"#);
            world.ok("SCORE", &inputs).await;
            let told = world.call(contract, &one(by)).await;
            assert_eq!(told.status(), status, "{contract} {start} {by}: {}", told.body());
            let sum = if status == 200 { start + by } else { start };
            let stored = world.stored("GAME#g", "S#998#p").unwrap();
            assert_eq!(stored.get("more").unwrap().as_number().unwrap().to_i64(), Some(sum));
            assert!(status == 200 || told.body().contains("takes `more` out of its bounds"));
        }
    }
}
