use latchkey_table::holds;

use super::*;

const NOW: i64 = 1_772_013_600_000;

fn doors() -> System {
    System::read(include_str!("../../tests/doors.md")).unwrap()
}

fn named(
    system: &System,
    caller: &str,
    door: Option<&str>,
    tag: &str,
    key: &str,
    now: i64,
) -> Named {
    let contract = system.contract("D-02").unwrap();
    let inputs = contract.inputs.map(|_, _| door.map(Value::from));
    Named::new(system, contract, caller, &inputs, tag, key, now)
}

fn answer() -> Answer {
    Answer {
        status: 201,
        body: "{\"a\":1}".to_owned(),
        etag: Some("\"7\"".to_owned()),
        found_at: Some("/doors/D1".to_owned()),
    }
}

fn record(system: &System, named: &Named) -> Put {
    named.put(system, &answer(), None).unwrap()
}

#[test]
fn a_record_says_what_was_answered() {
    let system = doors();
    let call = named(&system, "ann", Some("d"), "", "k", NOW);
    let Ok(Some(Recorded::Answer(found))) = call.read(&system, &record(&system, &call).item) else {
        panic!("no answer")
    };
    assert_eq!(found, answer());
    let plain = Answer { etag: None, found_at: None, ..answer() };
    let put = call.put(&system, &plain, None).unwrap();
    assert!(
        matches!(call.read(&system, &put.item), Ok(Some(Recorded::Answer(found))) if found == plain)
    );
    assert_eq!(put.item.get("PK").and_then(Value::as_text), Some(&call.get(&system).key.partition));
}

#[test]
fn a_name_is_of_the_caller_the_contract_and_the_key() {
    let system = doors();
    let base = named(&system, "ann", Some("d"), "", "k", NOW);
    let same = named(&system, "ann", Some("e"), "x", "k", NOW + 5_000);
    assert_eq!(base.key, same.key, "what is given in the body is no part of the name");
    assert_ne!(base.given, same.given);
    for (caller, key) in [("bob", "k"), ("ann", "l"), ("an", "nk"), ("annk", "")] {
        assert_ne!(named(&system, caller, Some("d"), "", key, NOW).key, base.key, "{caller} {key}");
    }
    for (door, tag) in [(None, ""), (Some("e"), ""), (Some("d"), "t"), (Some(""), "d")] {
        assert_ne!(named(&system, "ann", door, tag, "k", NOW).given, base.given, "{door:?} {tag}");
    }
}

#[test]
fn another_body_is_told_apart() {
    let system = doors();
    let put = record(&system, &named(&system, "ann", Some("d"), "", "k", NOW));
    let other = named(&system, "ann", Some("e"), "", "k", NOW);
    assert!(matches!(other.read(&system, &put.item), Ok(Some(Recorded::Other))));
}

#[test]
fn a_record_counts_for_a_day_to_the_second() {
    let system = doors();
    let first = named(&system, "ann", Some("d"), "", "k", NOW);
    let item = record(&system, &first).item;
    let day = KEPT_SECONDS * 1000;
    for (after, counts) in [(0, true), (day - 1, true), (day, false), (day + 1, false)] {
        let later = named(&system, "ann", Some("d"), "", "k", NOW + after);
        assert_eq!(later.read(&system, &item).unwrap().is_some(), counts, "after {after} ms");
        // Whoever does not see it may write it anew, and nobody else.
        let condition = record(&system, &later).condition.unwrap();
        assert_eq!(holds(&condition, Some(&item)), !counts, "after {after} ms");
        assert_eq!(
            holds(&expiry::over("expires", (NOW + after).div_euclid(1000).into()), Some(&item)),
            !counts
        );
    }
    assert!(holds(&record(&system, &first).condition.unwrap(), None), "where there is none");
}

#[test]
fn what_is_no_record_says_nothing() {
    let system = doors();
    let call = named(&system, "ann", Some("d"), "", "k", NOW);
    let whole = record(&system, &call).item;
    assert!(call.read(&system, &Item::new()).is_err());
    for name in ["given", "status", "body", "expires"] {
        let mut item = whole.clone();
        item.remove(name);
        assert!(call.read(&system, &item).is_err(), "without its {name}");
    }
    let mut item = whole;
    item.insert("status", 70_000);
    assert!(call.read(&system, &item).is_err(), "a status nobody has");
}

#[test]
fn an_answer_that_is_too_long_is_not_kept() {
    let system = doors();
    let call = named(&system, "ann", Some("d"), "", "k", NOW);
    let of = |bytes: usize| Answer { body: "x".repeat(bytes), ..answer() };
    assert!(call.put(&system, &of(ANSWER_BYTES_MAX + 1), None).is_none());
    let put = call.put(&system, &of(ANSWER_BYTES_MAX), None).unwrap();
    assert!(put.item.size() <= 400 * 1024, "what is kept can be");
}
