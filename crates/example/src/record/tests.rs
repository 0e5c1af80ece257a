//! The recorder on a small document, and its changes applied forward and backward.

use serde_json::Value as Json;

use super::*;
use crate::recording::Change;

const TOOLS: &str = include_str!("tools.md");

fn recorded() -> Recording {
    let checked = latchkey_model::check(TOOLS);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(record(&checked.model)).unwrap()
}

/// What a step was and what it changed, in a few words.
fn told(step: &Step) -> String {
    let did = match &step.did {
        Did::Call(call) => format!("{} {}", call.method, call.status),
        Did::Work { queue, ended, .. } => format!("{queue} {ended}"),
        Did::Queue { queue, mode } => format!("{queue} {mode:?}"),
    };
    let changes = step.changes.iter().map(|change| match &change.what {
        Changed::Put(_) => format!("+{}", change.key.partition),
        Changed::Gone(_) => format!("-{}", change.key.partition),
        Changed::Set(set) => {
            set.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>().join(",")
        }
    });
    std::iter::once(did).chain(changes).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_step_is_recorded_with_what_it_changed() {
    let recording = recorded();
    assert_eq!(recording.cut, None);
    let told: Vec<String> = recording.steps.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "POST 201 +TOOL#saw",
            "POST 200 ByStatePK,by,state,version",
            "POST 409",
            "GET 200",
            "ends done ByStatePK,state,version",
            "GET 401",
            "GET 200",
            "DELETE 204 -TOOL#saw",
            "GET 404",
        ]
    );
    let titles: Vec<&str> = recording.blocks.iter().map(|block| block.title.as_str()).collect();
    assert_eq!(titles, ["Lending", "An hour later"]);
    let blocks: Vec<usize> = recording.steps.iter().map(|step| step.block).collect();
    assert_eq!(blocks, [0, 0, 0, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn a_write_has_its_units_and_a_refusal_its_statement() {
    let recording = recorded();
    let step = |at: usize| &recording.steps[at];
    assert_eq!(step(0).contract.as_deref(), Some("T-01"));
    assert!(step(0).capacity.write > 0);
    let sum: Capacity = step(1).requests.iter().map(|asked| asked.capacity).sum();
    assert_eq!(sum, step(1).capacity);
    assert_eq!(step(1).requests.last().unwrap().operation, "TransactWriteItems");

    let refused = step(2);
    let statement = refused.statement.as_ref().unwrap();
    assert!(statement.text.contains("not-free"), "{statement:?}");
    assert_eq!(TOOLS.lines().nth(statement.line - 1), Some(statement.text.lines().next().unwrap()));
    let Did::Call(call) = &refused.did else { panic!("{refused:?}") };
    assert_eq!(call.code.as_deref(), Some("not-free"));
    assert!(call.answer.contains("saw is lent"), "{}", call.answer);
    assert_eq!(call.caller.as_ref().unwrap().sub, "ann");
    assert_eq!(step(2).line, Some(line(TOOLS, TOOLS.rfind("POST /tools/saw/lend").unwrap())));
}

#[test]
fn a_worker_is_recorded_when_its_message_falls_due() {
    let recording = recorded();
    let sent = &recording.steps[1].queues;
    let waiting = |waiting| Waiting { waiting, dead: 0 };
    let change =
        |was, is| QueueChange { queue: "ends".to_owned(), was: waiting(was), is: waiting(is) };
    assert_eq!(*sent, [change(0, 1)]);
    let worked = &recording.steps[4];
    assert_eq!(worked.queues, [change(1, 0)]);
    assert_eq!(worked.contract.as_deref(), Some("W-01"));
    assert_eq!(worked.at, "2026-03-01T11:00:00.000Z");
    assert!(worked.requests.len() >= 2 && worked.capacity.write > 0, "{worked:?}");
}

#[test]
fn reads_say_what_they_read() {
    let recording = recorded();
    let reads = &recording.steps[3].requests[0].reads;
    let lent = Read { index: Some("ByState".into()), partition: "STATE#LENT".into(), sort: None };
    assert_eq!(*reads, [lent]);
    let reads = &recording.steps[6].requests[0].reads;
    assert_eq!(reads[0].partition, Value::from("TOOL#saw"));
    assert_eq!(reads[0].sort, Some(Value::from("META")));
}

#[test]
fn a_wrong_answer_is_told() {
    let recording = recorded();
    let wrong = recording.steps.iter().map(|step| match &step.did {
        Did::Call(call) => call.wrong.as_deref(),
        _ => None,
    });
    let wrong: Vec<&str> = wrong.flatten().collect();
    assert_eq!(wrong, ["answered 404, not 200"]);
}

#[test]
fn secrets_are_nowhere() {
    let film = recorded().to_json();
    assert!(!film.contains("hidden-1"), "{film}");
    assert!(film.contains("(secret)"), "{film}");
    // What Latchkey keeps for itself is in its requests alone.
    assert!(
        !serde_json::from_str::<Json>(&film).unwrap()["steps"]
            .as_array()
            .unwrap()
            .iter()
            .any(|step| step["changes"].to_string().contains(HOUSEKEEPING))
    );
}

#[test]
fn a_recording_is_the_same_each_time() {
    assert_eq!(recorded().to_json(), recorded().to_json());
}

fn forward(items: &mut Items, change: &Change) {
    match &change.what {
        Changed::Put(item) => {
            assert_eq!(items.insert(change.key.clone(), item.clone()), None);
        }
        Changed::Gone(item) => assert_eq!(items.remove(&change.key).as_ref(), Some(item)),
        Changed::Set(set) => {
            let item = items.get_mut(&change.key).unwrap();
            for (name, was, is) in set {
                assert_eq!(item.remove(name), *was);
                is.iter().for_each(|is| drop(item.insert(name.clone(), is.clone())));
            }
        }
    }
}

fn backward(items: &mut Items, change: &Change) {
    let what = match &change.what {
        Changed::Put(item) => Changed::Gone(item.clone()),
        Changed::Gone(item) => Changed::Put(item.clone()),
        Changed::Set(set) => {
            let swapped = set.iter().map(|(name, was, is)| (name.clone(), is.clone(), was.clone()));
            Changed::Set(swapped.collect())
        }
    };
    forward(items, &Change { key: change.key.clone(), what });
}

#[test]
fn changes_go_forward_and_back_through_the_same_states() {
    let recording = recorded();
    let (mut items, mut states) = (Items::new(), vec![Items::new()]);
    for step in &recording.steps {
        step.changes.iter().for_each(|change| forward(&mut items, change));
        states.push(items.clone());
    }
    assert_eq!(states.iter().map(Items::len).max(), Some(1));
    for (step, state) in recording.steps.iter().zip(&states).rev() {
        step.changes.iter().rev().for_each(|change| backward(&mut items, change));
        assert_eq!(items, *state);
    }
}

#[test]
fn the_json_has_what_the_page_needs() {
    let film: Json = serde_json::from_str(&recorded().to_json()).unwrap();
    assert_eq!(film["format"], 1);
    assert_eq!(film["places"][0]["partition"], "PK");
    assert_eq!(film["places"][1]["name"], "ByState");
    let put = &film["steps"][0]["changes"][0]["put"];
    assert_eq!(
        (&put["PK"], &put["kind"], &put["size"]),
        (&"TOOL#saw".into(), &"TOOL".into(), &1.5.into())
    );
    let set = &film["steps"][1]["changes"][0];
    assert_eq!(set["key"], serde_json::json!(["TOOL#saw", "META"]));
    let by = set["set"].as_array().unwrap().iter().find(|set| set["name"] == "by").unwrap();
    assert_eq!(*by, serde_json::json!({ "name": "by", "is": "ann" }));
    assert_eq!(film["steps"][5]["call"]["by"], Json::Null);
    assert_eq!(film["steps"][6]["call"]["by"]["roles"][0], "helper");
    assert_eq!(film["steps"][6]["rcu"], 0.5);
}

#[test]
fn blanks_go_from_between_tokens_alone() {
    assert_eq!(
        compact("{\n  \"a b\": \"c \\\" d\",\n  \"e\": [1, 2]\n}"),
        r#"{"a b":"c \" d","e":[1,2]}"#
    );
}
