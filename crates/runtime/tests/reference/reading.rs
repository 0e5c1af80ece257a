//! Reading: how a key is found, every kind of range, order, strength, and how many.

use latchkey_table::{Consistency, Direction, Request};

use crate::support::{Told, World, call};

const WEATHER: &str = r#"
entity Station "STATION" {
  PK = "STATION#{stationId}"
  SK = "META"
  stationId id, ownerId id, first time?
}
entity Sample "SAMPLE" {
  PK = "SAMPLES#{stationId}"
  SK = "AT#{at}"
  stationId id, at time, degrees number
}
entity Note "NOTE" {
  PK = "NOTES#{stationId}"
  SK = "NO#{no:03}"
  stationId id, no int 1..999, words text(20), about id
}
contract STATION "Make a station" {
  PUT /stations/{stationId}
  input ownerId id
  allow true
  station = put Station { stationId, ownerId } replace
  return station
  facts
}
contract SAMPLE "Take a sample" {
  POST /stations/{stationId}/samples
  input at time, degrees number
  allow true
  sample = put Sample { stationId, at, degrees } replace
  return 201 sample
  facts
}
contract NOTE "Note" {
  POST /stations/{stationId}/notes
  input no Note.no, words text(20), about id
  allow true
  note = put Note { stationId, no, words, about } replace
  return 201 note
  facts
}
"#;

async fn weather(contracts: &str) -> World {
    let world = World::start(&format!("{WEATHER}{contracts}")).await;
    world.ok("STATION", r#"{"stationId": "s", "ownerId": "o"}"#).await;
    world.ok("STATION", r#"{"stationId": "t", "ownerId": "p"}"#).await;
    for hour in 0..6 {
        for station in ["s", "t"] {
            let at = format!("2026-01-01T0{hour}:00:00Z");
            let inputs =
                format!(r#"{{"stationId": "{station}", "at": "{at}", "degrees": {hour}}}"#);
            world.ok("SAMPLE", &inputs).await;
        }
    }
    world
}

/// The degrees of a page.
fn degrees(told: &Told) -> Vec<i64> {
    let items = told.member("items");
    items.as_array().unwrap().iter().map(|item| item["degrees"].as_i64().unwrap()).collect()
}

fn list(range: &str, clauses: &str) -> String {
    format!(
        "contract LIST \"List\" {{\n  GET /stations/{{stationId}}/samples\n  input from time, to time\n  \
         allow true\n  samples = query Sample\n    where PK = \"SAMPLES#{{stationId}}\"{range}\n    \
         {clauses}\n  return samples {{ at, degrees }} with {{ from, to }}\n  facts\n}}\n"
    )
}

// `where` fixes the partition and may bound the sort key with one of `=`, `<`, `<=`, `>`, `>=`, `begins_with`
// or `between … and …`.
#[tokio::test]
async fn every_kind_of_range_holds_what_it_says() {
    let from = "AT#{from}";
    let cases: [(String, &[i64]); 10] = [
        (String::new(), &[0, 1, 2, 3, 4, 5]),
        (format!(" and SK = \"{from}\""), &[2]),
        (format!(" and SK < \"{from}\""), &[0, 1]),
        (format!(" and SK <= \"{from}\""), &[0, 1, 2]),
        (format!(" and SK > \"{from}\""), &[3, 4, 5]),
        (format!(" and SK >= \"{from}\""), &[2, 3, 4, 5]),
        (" and SK begins_with \"AT#\"".to_owned(), &[0, 1, 2, 3, 4, 5]),
        (format!(" and SK begins_with \"{from}\""), &[2]),
        (format!(" and SK between \"{from}\" and \"AT#{{to}}\""), &[2, 3, 4]),
        (format!(" and SK between \"{from}\" and \"AT#{{to}}~\""), &[2, 3, 4]),
    ];
    for (range, expected) in cases {
        let world = weather(&list(&range, "page 25")).await;
        let inputs =
            r#"{"stationId": "s", "from": "2026-01-01T02:00:00Z", "to": "2026-01-01T04:00:00Z"}"#;
        let told = world.call("LIST", inputs).await;
        assert_eq!(degrees(&told), expected, "{range}");
        assert_eq!(told.member("nextCursor"), serde_json::Value::Null, "{range}");
    }
}

// Both ends of `between` are included, be they one.
#[tokio::test]
async fn a_range_of_one_point_holds_it() {
    let world = weather(&list(" and SK between \"AT#{from}\" and \"AT#{to}\"", "page 25")).await;
    let at = "2026-01-01T03:00:00Z";
    let told =
        world.call("LIST", &format!(r#"{{"stationId": "s", "from": "{at}", "to": "{at}"}}"#)).await;
    assert_eq!(degrees(&told), [3]);
}

// An empty range answers an empty page.
#[tokio::test]
async fn a_reversed_range_is_an_empty_page() {
    let range = " and SK between \"AT#{from}\" and \"AT#{to}\"";
    for clauses in ["page 25", "first 7", "order descending\n    page 25"] {
        let world = weather(&list(range, clauses)).await;
        let inputs =
            r#"{"stationId": "s", "from": "2026-01-01T04:00:00Z", "to": "2026-01-01T02:00:00Z"}"#;
        let told = world.call("LIST", inputs).await;
        assert_eq!(told.status(), 200, "{clauses}: {}", told.body());
        assert_eq!(degrees(&told), [0; 0], "{clauses}");
        assert_eq!(told.member("nextCursor"), serde_json::Value::Null, "{clauses}");
        let inputs = r#"{"stationId": "nowhere", "from": "2026-01-01T02:00:00Z", "to": "2026-01-01T04:00:00Z"}"#;
        assert_eq!(degrees(&world.call("LIST", inputs).await), [0; 0], "{clauses}");
    }
}

const ORDERS: &str = r#"
contract LIST "List" {
  GET /stations/{stationId}/samples
  input order asc | desc = asc, sure bool = false
  allow true
  samples = query Sample strong when sure
    where PK = "SAMPLES#{stationId}" and SK begins_with "AT#"
    order descending when order == desc
    page 4 max 5
  return samples { degrees }
  facts
}
contract FALL "Newest first" {
  GET /stations/{stationId}/newest
  allow true
  samples = query Sample
    where PK = "SAMPLES#{stationId}"
    order descending
    first 2
  return samples { degrees }
  facts
}
contract LAST "The newest" {
  GET /stations/{stationId}/last
  allow true
  sample = query Sample
    where PK = "SAMPLES#{stationId}"
    order descending
    first 1
    else 404 no-samples
  return sample { degrees }
  facts
}
contract FIRST "The oldest, if there is one" {
  GET /stations/{stationId}/first
  allow true
  station = get Station strong else 404 not-found
  sample = query Sample strong
    where PK = "SAMPLES#{stationId}"
    first 1
  when sample is absent {
    return station { stationId }
  }
  return station { stationId } with { first = sample.at, found = sample is present }
  facts
}
"#;

// `order descending` turns the order round, with `when` only if that holds; `ascending` is the default.
#[tokio::test]
async fn order_and_strength_are_as_asked() {
    let world = weather(ORDERS).await;
    let cases = [
        (r#"{"stationId": "s"}"#, vec![0, 1, 2, 3], Direction::Ascending, Consistency::Eventual),
        (
            r#"{"stationId": "s", "order": "desc"}"#,
            vec![5, 4, 3, 2],
            Direction::Descending,
            Consistency::Eventual,
        ),
        (
            r#"{"stationId": "s", "order": "asc", "sure": true}"#,
            vec![0, 1, 2, 3],
            Direction::Ascending,
            Consistency::Strong,
        ),
    ];
    for (inputs, expected, direction, consistency) in cases {
        let mut call = call("LIST", inputs);
        call.trace = true;
        let told = world.made(call).await;
        assert_eq!(degrees(&told), expected, "{inputs}");
        let [step] = told.0.trace.as_slice() else { panic!("one request: {:?}", told.0.trace) };
        let Request::Query(query) = &step.request else { panic!("a query: {step:?}") };
        assert_eq!((query.direction, query.consistency), (direction, consistency), "{inputs}");
        assert_eq!(step.capacity, told.0.capacity);
    }
}

// `first 1` reads one item, `first N` a fixed number. `else` says what happens if nothing is found; without it
// the item may be absent.
#[tokio::test]
async fn first_reads_so_many() {
    let world = weather(ORDERS).await;
    let told = world.call("FALL", r#"{"stationId": "s"}"#).await;
    assert_eq!(degrees(&told), [5, 4]);
    assert_eq!(told.member("nextCursor"), serde_json::Value::Null, "a fixed number has no next");
    let told = world.call("LAST", r#"{"stationId": "s"}"#).await;
    assert_eq!(told.body(), r#"{"degrees":5}"#);
    let told = world.call("LAST", r#"{"stationId": "nowhere"}"#).await;
    assert_eq!(told.told(), (404, "no-samples".to_owned()));
    let told = world.call("FIRST", r#"{"stationId": "s"}"#).await;
    assert_eq!(told.body(), r#"{"stationId":"s","first":"2026-01-01T00:00:00.000Z","found":true}"#);
    world.ok("STATION", r#"{"stationId": "new", "ownerId": "o"}"#).await;
    assert_eq!(
        world.call("FIRST", r#"{"stationId": "new"}"#).await.body(),
        r#"{"stationId":"new"}"#
    );
    for contract in ["FALL", "LAST", "FIRST"] {
        let told = world.call(contract, r#"{"stationId": "s", "pageSize": 1}"#).await;
        assert_eq!(told.status(), 400, "{contract} has no page to size");
    }
}

const KEYS: &str = r#"
contract ONE "By inputs of the same name" {
  GET /stations/{stationId}/notes/{no}
  allow true
  note = get Note else 404 not-found
  return note
  facts
}
contract OTHER "By what is given" {
  GET /stations/{stationId}/about/{no}
  allow true
  note = get Note strong else 404 not-found
  station = get Station(stationId = note.about) else 404 no-station
  return station
  facts
}
contract OF "By what an item has" {
  GET /of/{stationId}/{no}
  allow true
  note = get Note strong else 404 not-found
  station = get Station of note else 404 no-station
  return station with { words = note.words }
  facts
}
contract MIXED "By both" {
  GET /mixed/{stationId}/{no}
  allow true
  note = get Note strong else 404 not-found
  next = get Note(no = note.no + 1) of note else 404 no-next
  return next
  facts
}
contract INPUTS "Bindings are never searched" {
  GET /inputs/{stationId}/{no}
  allow true
  note = get Note strong else 404 not-found
  about = get Note(stationId = note.about) else 404 no-note
  return about
  facts
}
contract STRONG "Strong when asked" {
  GET /strong/{stationId}
  input sure bool = false
  allow true
  station = get Station strong when sure else 404 not-found
  return station
  facts
}
"#;

// The key of a `get` comes from inputs of the same name; `(a = x)` gives an attribute, `of b` takes those that
// `b` has. Bindings are never searched.
#[tokio::test]
async fn a_key_is_found_where_it_is_said() {
    let world = weather(KEYS).await;
    let note = async |station: &str, no: i64, words: &str, about: &str| {
        let inputs = format!(
            r#"{{"stationId": "{station}", "no": {no}, "words": "{words}", "about": "{about}"}}"#
        );
        world.ok("NOTE", &inputs).await
    };
    note("s", 7, "seven", "t").await;
    note("s", 8, "eight", "s").await;
    note("t", 7, "other", "s").await;
    let words = async |contract: &str, no: i64| {
        world.ok(contract, &format!(r#"{{"stationId": "s", "no": {no}}}"#)).await
    };
    assert!(world.stored("NOTES#s", "NO#007").is_some(), "a padded number");
    assert_eq!(words("ONE", 7).await["words"], "seven");
    assert_eq!(words("OTHER", 7).await["stationId"], "t");
    assert_eq!(words("OTHER", 8).await["stationId"], "s");
    assert_eq!(words("OF", 7).await["stationId"], "s");
    assert_eq!(words("OF", 7).await["words"], "seven");
    assert_eq!(words("MIXED", 7).await["words"], "eight");
    assert_eq!(words("INPUTS", 7).await["words"], "other");
    let told = world.call("ONE", r#"{"stationId": "s", "no": 9}"#).await;
    assert_eq!(told.told(), (404, "not-found".to_owned()));
    let told = world.call("MIXED", r#"{"stationId": "s", "no": 8}"#).await;
    assert_eq!(told.told(), (404, "no-next".to_owned()));
    let told = world.call("ONE", r#"{"stationId": "s", "no": 1000}"#).await;
    assert_eq!(told.problem().errors[0].pointer, "/no", "the path has the attribute's type");
}

// `strong` sees every write before it; `strong when CONDITION` only then. Without it a read is eventual.
#[tokio::test]
async fn a_get_is_strong_when_it_says_so() {
    let world = weather(KEYS).await;
    for (inputs, expected, capacity) in [
        (r#"{"stationId": "s"}"#, Consistency::Eventual, "rcu=0.5, wcu=0"),
        (r#"{"stationId": "s", "sure": false}"#, Consistency::Eventual, "rcu=0.5, wcu=0"),
        (r#"{"stationId": "s", "sure": true}"#, Consistency::Strong, "rcu=1, wcu=0"),
    ] {
        let mut call = call("STRONG", inputs);
        call.trace = true;
        let told = world.made(call).await;
        let Request::Get(get) = &told.0.trace[0].request else { panic!("a get") };
        assert_eq!(get.consistency, expected, "{inputs}");
        assert_eq!(told.capacity(), capacity, "{inputs}");
    }
}
