//! What holds of the rendering of any request.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::expressions::{self, plain, tokens};
use super::json::Json;
use super::{check, exists, key, table, update};
use crate::render::expression::Most;
use crate::render::{
    ConditionCheck, DeleteItem, Placeholders, PutItem, Rendered, TransactWriteItem, UpdateItem,
};
use crate::{
    Action, Condition, Delete, Item, Leg, Put, Request, Returning, Text, Transact, Value,
    arbitrary, holds, validate,
};

/// Conditions that can be rendered: the first of a few, combined anew, for of the larger ones most
/// cannot.
fn condition() -> impl Strategy<Value = Condition> {
    let valid = |condition: &Condition| condition.validate().is_ok();
    let leaf = vec(arbitrary::condition(), 1..4)
        .prop_map(move |some| some.into_iter().find(valid).unwrap_or(exists("a")));
    let combined = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(Condition::And),
            vec(inner.clone(), 1..4).prop_map(Condition::Or),
            inner.prop_map(|condition| Condition::Not(Box::new(condition))),
        ]
    });
    combined.prop_filter("not too large", valid)
}

/// Actions that can be rendered together: as many of a few as can.
fn actions() -> impl Strategy<Value = Vec<Action>> {
    vec(arbitrary::action(), 1..8).prop_map(|some| {
        let mut all = vec![Action::set("z", 1)];
        for action in some {
            all.push(action);
            if UpdateItem::of(&update(all.clone(), None), Returning::Nothing).is_err() {
                all.pop();
            }
        }
        all
    })
}

/// Items that can be stored, but for attributes that cannot.
fn item() -> impl Strategy<Value = Item> {
    arbitrary::item().prop_map(|item| {
        let valid =
            |(name, value): &(Text, Value)| !name.is_empty() && validate::value(value).is_ok();
        item.into_iter().filter(valid).collect()
    })
}

/// Every placeholder that is used is defined, and every one that is defined is used.
fn assert_whole<'a>(texts: impl IntoIterator<Item = &'a String>, placeholders: &Placeholders) {
    let mut used: Vec<_> = texts.into_iter().flat_map(|text| tokens(text)).collect();
    used.retain(|token| token.starts_with(['#', ':']));
    used.sort();
    used.dedup();
    let names = placeholders.names.iter().map(|(placeholder, _)| placeholder);
    let values = placeholders.values.iter().map(|(placeholder, _)| placeholder);
    let mut defined: Vec<_> = names.chain(values).cloned().collect();
    defined.sort();
    assert_eq!(used, defined);
    let mut names: Vec<_> = placeholders.names.iter().map(|(_, name)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), placeholders.names.len(), "a name has one placeholder");
}

/// What the JSON says the placeholders stand for.
fn shown_placeholders(body: &Json) -> Placeholders {
    let members = |name: &str| match body.get(name) {
        Some(Json::Object(members)) if !members.is_empty() => members.clone(),
        None => vec![],
        other => panic!("{name} is {other:?}"),
    };
    let names = members("ExpressionAttributeNames").into_iter();
    let values = members("ExpressionAttributeValues").into_iter();
    Placeholders {
        names: names.map(|(placeholder, name)| (placeholder, name.text().into())).collect(),
        values: values.map(|(placeholder, value)| (placeholder, value.attribute())).collect(),
    }
}

proptest! {
    #[test]
    fn a_condition_can_be_read_back(
        condition in condition(),
        item in option::of(arbitrary::item()),
    ) {
        let rendered = ConditionCheck::of(&check(condition.clone())).unwrap();
        let read = expressions::condition(&rendered.condition, &rendered.placeholders);
        prop_assert_eq!(&read, &plain(&condition));
        prop_assert_eq!(holds(&read, item.as_ref()), holds(&condition, item.as_ref()));
        assert_whole([&rendered.condition], &rendered.placeholders);
    }

    #[test]
    fn an_update_can_be_read_back(
        actions in actions(),
        condition in option::of(condition()),
    ) {
        let request = update(actions.clone(), condition.clone());
        let rendered = UpdateItem::of(&request, Returning::Nothing).unwrap();
        let mut clauses = actions;
        clauses.sort_by_key(|action| match action {
            Action::Set(..) => 0,
            Action::Remove(_) => 1,
            Action::Add(..) => 2,
            Action::Delete(..) => 3,
        });
        let text = rendered.update.as_ref().unwrap();
        prop_assert_eq!(expressions::update(text, &rendered.placeholders), clauses);
        let read = rendered.condition.as_ref();
        let read = read.map(|text| expressions::condition(text, &rendered.placeholders));
        prop_assert_eq!(read, condition.as_ref().map(plain));
        let texts = rendered.update.iter().chain(&rendered.condition);
        assert_whole(texts, &rendered.placeholders);
    }

    #[test]
    fn no_expression_is_larger_than_it_is_taken_for(
        actions in actions(),
        condition in condition(),
    ) {
        let request = update(actions, Some(condition));
        let most = Most::of(&request.actions, request.condition.as_ref());
        let rendered = UpdateItem::of(&request, Returning::Nothing).unwrap();
        let texts = rendered.update.iter().chain(&rendered.condition);
        prop_assert!(texts.map(String::len).sum::<usize>() <= most.text);
        let Placeholders { names, values } = rendered.placeholders;
        let names: usize = names.iter().map(|(_, name)| name.len()).sum();
        let values: usize = values.iter().map(|(_, value)| value.size()).sum();
        prop_assert!(names + values <= most.substituted);
    }

    #[test]
    fn no_request_makes_it_panic(
        actions in vec(arbitrary::action(), 0..5),
        condition in arbitrary::condition(),
        item in arbitrary::item(),
    ) {
        let put = Put { table: table(), item, condition: Some(condition.clone()) };
        let update = update(actions, Some(condition));
        for request in [
            Request::Put(put, Returning::New),
            Request::Update(update.clone(), Returning::New),
            Request::Transact(Transact { legs: vec![Leg::Update(update)] }),
        ] {
            if let Ok(rendered) = Rendered::of(&request) {
                Json::read(&rendered.to_json());
            }
        }
    }

    #[test]
    fn a_transaction_shows_all_it_has(
        actions in actions(),
        condition in condition(),
        item in item(),
    ) {
        let some = Some(condition.clone());
        let legs = vec![
            Leg::Put(Put { table: table(), item: item.clone(), condition: some.clone() }),
            Leg::Update(update(actions, some.clone())),
            Leg::Delete(Delete { table: table(), key: key(), condition: some }),
            Leg::Check(check(condition)),
        ];
        let rendered = Rendered::of(&Request::Transact(Transact { legs })).unwrap();
        let shown = Json::read(&rendered.to_json());
        let Some(Json::List(shown)) = shown.get("TransactItems") else { panic!("{shown:?}") };
        let Rendered::TransactWriteItems(rendered) = rendered else { panic!("{rendered:?}") };
        prop_assert_eq!(shown.len(), rendered.legs.len());
        for (shown, leg) in shown.iter().zip(&rendered.legs) {
            let body = shown.get(leg.operation()).unwrap();
            let (condition, placeholders) = match leg {
                TransactWriteItem::Put(PutItem { condition, placeholders, .. })
                | TransactWriteItem::Update(UpdateItem { condition, placeholders, .. })
                | TransactWriteItem::Delete(DeleteItem { condition, placeholders, .. }) => {
                    (condition.as_ref().unwrap(), placeholders)
                }
                TransactWriteItem::ConditionCheck(check) => (&check.condition, &check.placeholders),
            };
            prop_assert_eq!(body.get("ConditionExpression").unwrap().text(), condition);
            prop_assert_eq!(&shown_placeholders(body), placeholders);
            match leg {
                TransactWriteItem::Put(_) => {
                    prop_assert_eq!(&body.get("Item").unwrap().attributes(), &item);
                    assert_whole([condition], placeholders);
                }
                TransactWriteItem::Update(leg) => {
                    let text = leg.update.as_ref().unwrap();
                    prop_assert_eq!(body.get("UpdateExpression").unwrap().text(), text);
                    assert_whole([text, condition], placeholders);
                }
                _ => {
                    let expected = Item::from([("PK", "p"), ("SK", "s")]);
                    prop_assert_eq!(body.get("Key").unwrap().attributes(), expected);
                    assert_whole([condition], placeholders);
                }
            }
        }
    }

    #[test]
    fn any_item_survives_its_json(item in item()) {
        let put = Put { table: table(), item: item.clone(), condition: None };
        let text = Rendered::of(&Request::Put(put, Returning::Nothing)).unwrap().to_json();
        prop_assert_eq!(Json::read(&text).get("Item").unwrap().attributes(), item);
        prop_assert!(text.lines().all(|line| line.trim_end() == line), "{}", text);
    }
}
