use std::sync::Arc;

use latchkey_table::{
    Check, Comparator, Delete, Failed, Get, Got, Item, Key, Page, Query, Returning, SortRange,
    Transact,
};

use super::*;

const VAULTS: &str = r#"
```contract
system vaults
table Vaults { type kind }
entity Vault "VAULT" {
  PK = "VAULT#{vaultId}"
  SK = "META"
  vaultId id, code text(20) secret, tries int secret = 0, label text(20) = "l"
}
contract V-01 "Make" {
  POST /vaults
  input vaultId id, code text(20)
  allow true
  vault = put Vault { vaultId, code } if absent else 409 there
  return 201 vault
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

fn path(name: &str) -> Path {
    Path::attribute(name)
}

fn told(value: &str) -> Operand {
    Operand::Value(Value::from(value))
}

/// Every way in which a condition can tell of a secret.
fn conditions() -> Vec<Condition> {
    let code = || Operand::Path(path("code"));
    let simple = vec![
        Condition::equals("code", "HUSH"),
        Condition::Compare(told("HUSH"), Comparator::Less, code()),
        Condition::Compare(Operand::Size(path("code")), Comparator::Less, told("HUSH")),
        Condition::Between(code(), told("HUSH"), told("HUSH")),
        Condition::Between(told("HUSH"), code(), told("HUSH")),
        Condition::In(code(), vec![told("a"), told("HUSH")]),
        Condition::In(told("HUSH"), vec![code()]),
        Condition::BeginsWith(path("code"), told("HUSH")),
        Condition::Contains(path("code"), told("HUSH")),
    ];
    let nested = simple.iter().cloned().flat_map(|one| {
        let other = Condition::Exists(path("label"));
        [
            Condition::And(vec![other.clone(), one.clone()]),
            Condition::Or(vec![one.clone(), other]),
            Condition::Not(Box::new(Condition::Not(Box::new(one)))),
        ]
    });
    let nested: Vec<Condition> = nested.collect();
    simple.into_iter().chain(nested).collect()
}

#[test]
fn no_request_shows_a_secret() {
    let system = System::read(VAULTS).unwrap();
    let table = system.table.clone();
    let key = Key::new("VAULT#v", "META");
    let item = Item::from([("PK", "VAULT#v"), ("SK", "META"), ("code", "HUSH"), ("label", "open")]);
    let actions = vec![
        Action::set("code", "HUSH"),
        Action::set("label", "open"),
        Action::Add("tries".into(), Value::from(424_242)),
        Action::Set(
            path("code"),
            Expression::OrElse(path("code"), Box::new(Expression::Value(Value::from("HUSH")))),
        ),
    ];
    for condition in conditions() {
        let some = Some(condition.clone());
        let put = Put { table: table.clone(), item: item.clone(), condition: some.clone() };
        let update = Update {
            table: table.clone(),
            key: key.clone(),
            actions: actions.clone(),
            condition: some.clone(),
        };
        let delete = Delete { table: table.clone(), key: key.clone(), condition: some };
        let check = Check { table: table.clone(), key: key.clone(), condition };
        let legs = vec![
            Leg::Put(put.clone()),
            Leg::Update(update.clone()),
            Leg::Delete(delete.clone()),
            Leg::Check(check),
        ];
        for request in [
            Request::Put(put, Returning::Nothing),
            Request::Update(update, Returning::New),
            Request::Delete(delete, Returning::Nothing),
            Request::Transact(Transact { legs }),
        ] {
            let shown = format!("{:?}", blackened(&system, request.clone()));
            assert!(!shown.contains("HUSH") && !shown.contains("424242"), "{shown}");
            assert!(shown.contains(BLACK), "{shown}");
            // What is no secret is told.
            assert_eq!(shown.contains("open"), format!("{request:?}").contains("open"));
        }
    }
}

#[test]
fn what_has_no_secret_is_shown_as_it_is() {
    let system = System::read(VAULTS).unwrap();
    let table: Arc<_> = system.table.clone();
    let get = Get {
        table: table.clone(),
        key: Key::new("VAULT#v", "META"),
        consistency: latchkey_table::Consistency::Strong,
    };
    let query = Query {
        table: table.clone(),
        index: None,
        partition: "VAULT#v".into(),
        range: SortRange::All,
        filter: None,
        direction: latchkey_table::Direction::Ascending,
        limit: Some(1),
        resume: None,
        consistency: latchkey_table::Consistency::Eventual,
    };
    let item = Item::from([("PK", "VAULT#v"), ("SK", "META"), ("label", "open")]);
    let condition = Some(Condition::equals("label", "open"));
    let put = Put { table, item, condition };
    for request in [Request::Get(get), Request::Query(query), Request::Put(put, Returning::Nothing)]
    {
        assert_eq!(blackened(&system, request.clone()), request);
    }
}

#[test]
fn outcomes_are_told_as_people_would() {
    let capacity = Capacity::ZERO;
    let request = Request::Transact(Transact { legs: Vec::new() });
    let told = |answer| outcome(&request, &answer);
    let page = |count| {
        Ok(Answer::Page(Page {
            items: vec![Item::new(); count],
            resume: None,
            read: count,
            capacity,
        }))
    };
    assert_eq!(told(page(0)), "0 items");
    assert_eq!(told(page(1)), "1 item");
    assert_eq!(told(page(2)), "2 items");
    assert_eq!(told(Ok(Answer::Got(Got { item: None, capacity }))), "nothing there");
    let failed = Error::ConditionFailed(Box::new(Failed { leg: 1, item: None, capacity }));
    assert_eq!(told(Err(failed)), "the condition of leg 2 did not hold");
}
