//! Values that are computed: from what the same write leaves, into what may not hold them, from what they are a copy of.
//! Ski lifts, each mistake beside its honest twin.

use latchkey_model::check;

const LIFTS: &str = r#"
system lifts
table Lifts { type kind }
role guard
entity Lift "LIFT" {
  PK = "LIFT#{liftId}" SK = "META"
  liftId id, name text(40), due time, nextAt time?, open bool = false, rides int?, full int 0..9000 = 0
  chairs int 0..200, level int 0.. = 0, lastId id?, seen set(50) of id?, tune { gain int, mode A | B }
  version counter
}
entity Day "DAY" {
  PK = "DAY#{day}" SK = "META"
  day date, rides int 0..20 = 0, total int 0.. = 0, ids set(3) of id?, kinds set(3) of A | B | C?
}
entity Pass "PASS" {
  PK = "LIFT#{liftId}" SK = "PASS#{passId}"
  liftId id, passId id, label text(200)?, cost int?, info { name text(40), of int }?
}
queue rides { liftId id, rideId id, at time, n int 1..9, was bool }
"#;

const MAKE: &str = "PUT /lifts/{liftId}\ninput name text(40), due time, chairs int 0..200\nallow caller is guard\n\
     lift = put Lift { liftId, name, due, chairs, tune = { gain = 1, mode = A } } if absent else 409 there\nreturn 201 lift";

const SEND: &str = "POST /lifts/{liftId}/rides\n\
     input rideId id = new ulid, at time, n int 1..9, was bool\nallow caller is guard\n\
     transact {\ncheck Lift if .liftId is present else 404 none\nsend rides { liftId, rideId, at, n, was }\n}\n\
     return 202 with { rideId }";

/// What is told of a document with these contracts and workers, by one rule.
fn told(rule: &str, contracts: &[&str], worker: Option<&str>) -> Vec<String> {
    let facts = "consistency strong\nexpect 0.. items\nrate 1/s\n";
    let mut text = format!("```contract\n{LIFTS}");
    for (at, contract) in contracts.iter().enumerate() {
        text.push_str(&format!("contract L-{at} \"Lift\" {{\n{contract}\n{facts}}}\n"));
    }
    if let Some(steps) = worker {
        text.push_str(&format!(
            "worker W-1 \"Ride\" {{\non rides {{ liftId, rideId, at, n, was }}\n{steps}\ndone\n{facts}}}\n"
        ));
    }
    text.push_str("```\n");
    let found = check(&text).diagnostics;
    let wrong = found.iter().filter(|one| ["syntax", "type", "name"].contains(&one.rule.slug()));
    let wrong: Vec<_> = wrong.map(|one| one.message.clone()).collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{contracts:?}\n{worker:?}");
    let of_rule = found.into_iter().filter(|one| one.rule.slug() == rule);
    of_rule.map(|one| one.message).collect()
}

fn worker(steps: &str) -> Vec<String> {
    told("not-idempotent", &[MAKE, SEND], Some(steps))
}

fn set(value: &str) -> String {
    format!(
        "lift = get Lift strong else done\n\
         update lift set {value}, version = .version + 1 if unchanged else retry"
    )
}

#[test]
fn a_value_that_is_computed_from_itself_is_told_whatever_computes_it() {
    for value in [
        "open = not lift.open",
        "open = lift.open == false",
        "open = lift.open != was",
        "rides = coalesce(lift.rides, 0) + 1",
        "due = max(lift.due, now) + 1d",
        "nextAt = coalesce(lift.nextAt, lift.due) + 1d",
        "level = max(lift.level - n, 0)",
        "level = round(lift.level * 3 / 2)",
        "level = min(9, max(lift.level, 1) * 2)",
        "rides = coalesce(max(lift.rides, n), 0)",
        "tune.gain = lift.tune.gain + 1",
        "tune = { gain = lift.tune.gain + 1, mode = lift.tune.mode }",
    ] {
        let found = worker(&set(value));
        assert_eq!(found.len(), 1, "{value}: {found:?}");
        assert!(found.iter().all(|one| one.contains("from what it left")), "{value}: {found:?}");
        let (attribute, computed) = value.split_once(" = ").unwrap();
        // A record that is written out has no name.
        if !computed.starts_with('{') {
            let named = set(&format!("{attribute} = made"));
            let named = named.replace("update", &format!("made = {computed}\nupdate"));
            assert_eq!(worker(&named).len(), 1, "{value}, named");
        }
    }
}

#[test]
fn a_value_that_is_the_same_again_is_let_through() {
    for value in [
        "open = true",
        "open = was",
        "open = lift.open or was",
        "open = lift.open == true",
        "due = max(lift.due, at)",
        "due = min(lift.due, at)",
        "level = max(0, min(lift.level, n))",
        "rides = coalesce(lift.rides, n)",
        "rides = max(coalesce(lift.rides, 0), n)",
        "rides = coalesce(max(lift.rides, n), n)",
        "level = lift.level",
        "level = round(lift.level)",
        "nextAt = lift.due + 1d",
        "level = lift.chairs + n",
        "tune.gain = n",
        "tune = { gain = n, mode = lift.tune.mode }",
    ] {
        assert_eq!(worker(&set(value)), [""; 0], "{value}");
    }
}

#[test]
fn a_guard_of_what_is_computed_stops_a_second_run() {
    let guarded = |set: &str, test: &str| {
        format!(
            "lift = get Lift strong else done\nupdate lift set {set}, version = .version + 1 if {test} else done"
        )
    };
    for (set, test) in [
        ("due = at + 1m", ".due == at"),
        ("due = lift.due + 1m", ".due == at and .due == lift.due"),
        ("due = max(lift.due, now) + 1d", ".due == at and .due == lift.due"),
        (
            "nextAt = coalesce(lift.nextAt, lift.due) + 1d",
            ".nextAt == at and .version == lift.version",
        ),
        ("open = not lift.open", ".open == was and .open == lift.open"),
    ] {
        assert_eq!(worker(&guarded(set, test)), [""; 0], "{set} if {test}");
    }
    // What was asked for holds again.
    assert_eq!(
        worker(&guarded("due = max(at, now) + 1d, level = lift.level + 1", ".due != at")).len(),
        1
    );
}

#[test]
fn an_element_that_is_noted_where_it_was_not_or_where_there_was_no_set() {
    let seen = |test: &str, noted: &str| {
        worker(&format!(
            "update Lift add full = n, seen = {noted}\nset version = .version + 1 if {test} else done"
        ))
    };
    assert_eq!(seen("not rideId in .seen", "rideId"), [""; 0]);
    assert_eq!(seen(".seen is absent or not rideId in .seen", "rideId"), [""; 0]);
    assert_eq!(seen("not (.seen is present and rideId in .seen)", "rideId"), [""; 0]);
    // Another one is noted than is asked for; or either side may hold again.
    assert_eq!(seen(".seen is absent or not rideId in .seen", "liftId").len(), 1);
    assert_eq!(seen(".open == false or not rideId in .seen", "rideId").len(), 1);
    // The message before the last one may come again.
    let last = "update Lift add full = n\nset lastId = rideId, version = .version + 1 if .lastId != rideId else done";
    assert_eq!(worker(last).len(), 1);
}

fn drift(steps: &str) -> Vec<String> {
    let contract = format!(
        "POST /lifts/{{liftId}}/more\ninput n int 1..9, rideId id, madeId id = new ulid\nallow caller is guard\n{steps}\nreturn 204"
    );
    told("drift", &[MAKE, &contract], None)
}

#[test]
fn a_call_that_counts_within_a_function_drifts() {
    let read = "lift = get Lift strong else 404 none\nupdate lift set";
    let pin = "version = .version + 1 if unchanged else retry";
    for value in [
        "level = max(0, lift.level - n)",
        "rides = coalesce(lift.rides, 0) + n",
        "level = lift.level * 2",
        "level = min(lift.level + n, 100)",
    ] {
        assert_eq!(drift(&format!("{read} {value}, {pin}")).len(), 1, "{value}");
    }
    for value in
        ["level = max(lift.level, n)", "rides = coalesce(lift.rides, n)", "level = lift.chairs + n"]
    {
        assert_eq!(drift(&format!("{read} {value}, {pin}")), [""; 0], "{value}");
    }
}

#[test]
fn a_call_that_notes_what_it_was_given_does_not_drift() {
    let noted = |note: &str, test: &str| {
        drift(&format!(
            "update Lift add level = 1 set {note}, version = .version + 1 if {test} else 409 again"
        ))
    };
    assert_eq!(noted("lastId = rideId", ".lastId != rideId"), [""; 0]);
    assert_eq!(noted("lastId = rideId", ".open and .lastId != rideId"), [""; 0]);
    assert_eq!(noted("lastId = rideId", ".lastId is absent or .lastId != rideId"), [""; 0]);
    // A call without an id is given another one each time.
    assert_eq!(noted("lastId = madeId", ".lastId != madeId").len(), 1);
    assert_eq!(noted("lastId = liftId", ".lastId != rideId").len(), 1);
}

fn half(steps: &str) -> Vec<String> {
    let contract = format!(
        "POST /lifts/{{liftId}}/ride\ninput rideId id, n int 1..9, kind A | B | C\nallow caller is guard\n{steps}"
    );
    told("half-done", &[MAKE, &contract], None)
}

#[test]
fn a_later_write_that_may_not_fit_refuses_a_call_that_is_half_done() {
    let first = "lift = update Lift set open = true else 404 none";
    let day = |change: &str| {
        half(&format!(
            "{first}\nwaive drift \"a trial\"\nupsert Day(day = day(now)) {change}\nreturn lift"
        ))
    };
    for change in ["add rides = 1", "add rides = n", "add ids = rideId", "set rides = .rides + n"] {
        let found = day(change);
        assert_eq!(found.len(), 1, "{change}: {found:?}");
        // In one transaction, all of it is refused.
        let one = format!(
            "transact {{\nupdate Lift set open = true else 404 none\nwaive drift \"a trial\"\n\
             upsert Day(day = day(now)) {change}\n}}\nreturn 204"
        );
        assert_eq!(half(&one), [""; 0], "{change}");
    }
    for change in [
        "add total = 1",
        "add total = n",
        "add kinds = kind",
        "set rides = n",
        "set total = .total + n",
    ] {
        assert_eq!(day(change), [""; 0], "{change}");
    }
    assert_eq!(day("add total = -1").len(), 1);
    // What was asked for fits.
    let asked = format!(
        "d = get Day(day = day(now)) strong else 404 none\nrequire d.rides < 10 else 409 full\n{first}\n\
         waive drift \"a trial\"\nupsert Day(day = day(now)) add rides = n\nreturn lift"
    );
    assert_eq!(half(&asked), [""; 0]);
}

#[test]
fn a_division_by_zero_behind_a_write_refuses_a_call_that_is_half_done() {
    let shown = |before: &str, by: &str| {
        half(&format!(
            "{before}lift = update Lift add full = n else 404 none\nreturn lift with {{ each = floor(lift.full / {by}) }}"
        ))
    };
    assert_eq!(shown("", "lift.chairs").len(), 1);
    assert_eq!(shown("", "(lift.level + lift.chairs)").len(), 1);
    for by in ["2", "n", "max(1, lift.chairs)", "(lift.chairs + 1)", "lift.version"] {
        assert_eq!(shown("", by), [""; 0], "{by}");
    }
    let read = "old = get Lift strong else 404 none\nrequire old.chairs > 0 else 409 bare\n";
    assert_eq!(shown(read, "lift.chairs"), [""; 0]);
    // Before the first write, it refuses a call that has done nothing.
    let before = "old = get Lift strong else 404 none\neach = floor(old.full / old.chairs)\n\
                  lift = update Lift add full = n else 404 none\nreturn lift with { each }";
    assert_eq!(half(before), [""; 0]);
}

fn loose(value: &str, with: &str) -> Vec<String> {
    let rename = "PATCH /lifts/{liftId}\ninput name text(40), chairs int 0..200, mode A | B\nallow caller is guard\n\
         lift = update Lift set name = name, chairs = chairs, tune.mode = mode, version = .version + 1 else 404 none\n\
         return lift";
    let sell = format!(
        "PUT /lifts/{{liftId}}/passes/{{passId}}\ninput n int 1..9, name text(20)\nallow caller is guard\n\
         lift = get Lift strong else 404 none\n{with}transact {{\ncheck lift if unchanged else retry\n\
         pass = put Pass {{ liftId, passId, {value} }} if absent else 409 there\n}}\nreturn 201 pass"
    );
    told("loose-copy", &[MAKE, rename, &sell], None)
}

#[test]
fn a_copy_that_is_made_of_what_changes_is_loose() {
    for value in [
        "label = lift.name",
        "label = \"Lift {lift.name}\"",
        "label = \"{lift.name}: {lift.chairs}\"",
        "cost = lift.chairs * 2",
        "cost = 5 + lift.chairs",
        "cost = round(lift.chairs * 15 / 100)",
        "info = { name = lift.name, of = 1 }",
        "info = { name, of = lift.chairs }",
    ] {
        assert_eq!(loose(value, "").len(), 1, "{value}");
    }
    assert_eq!(loose("cost", "cost = lift.chairs * 2\n").len(), 1);
    // What is computed with an input is a fact of its own; what never changes is no loose copy.
    for value in [
        "cost = lift.chairs * n",
        "label = \"{name} on {lift.name}\"",
        "label = \"Lift {lift.liftId}\"",
        "info = { name, of = n }",
    ] {
        assert_eq!(loose(value, ""), [""; 0], "{value}");
    }
}

#[test]
fn a_word_beside_an_enum_is_one_of_it() {
    let mode = |value: &str| {
        let contract = format!(
            "PUT /lifts/{{liftId}}/mode\ninput mode A | B ?\nallow caller is guard\n{value}\n\
             update Lift set tune.mode = m else 404 none\nreturn 204"
        );
        told("unpinned", &[MAKE, &contract], None)
    };
    assert_eq!(mode("m = coalesce(mode, B)"), [""; 0]);
}
