//! The system of `docs/language.md`, called with anything: no call panics, none is an internal error, and what is
//! stored stays as the document promises.

use std::sync::Arc;

use latchkey_runtime::{Call, Caller, IfMatch, Options, RawInput};
use latchkey_table::{Item, Number, Text, Value};
use proptest::prelude::*;

use crate::support::{NOW, Told, World, all_of};

const DEPOT: &str = include_str!("../../../../docs/language.md");

/// The inputs of each contract. `?` are those that are not always given.
const CONTRACTS: [(&str, &[&str]); 10] = [
    ("P-01", &["parcelId", "consistent?"]),
    ("P-02", &["ownerId", "order?", "pageSize?", "nextCursor?"]),
    ("P-03", &["shelf", "pageSize?", "nextCursor?"]),
    ("P-04", &["parcelId?", "ownerId", "label", "grams", "shelf", "note?", "doorCode?"]),
    ("P-05", &["parcelId", "shelf?", "note?", "expectedVersion"]),
    ("P-06", &["parcelId", "roundId"]),
    ("R-01", &["roundId?"]),
    ("R-02", &["roundId", "place"]),
    ("R-03", &["parcelId", "code?"]),
    ("T-01", &["ownerId"]),
];

/// Values a caller who knows the document might give.
fn sensible(name: &str) -> BoxedStrategy<RawInput> {
    let texts: &[&str] = match name {
        "parcelId" => &["p1", "p2", "p3"],
        "ownerId" => &["ann", "bob"],
        "roundId" => &["r1", "r2"],
        "label" => &["BOOKS-1", "ABC"],
        "order" => &["asc", "desc"],
        "consistent" => &["true", "false"],
        "shelf" | "place" | "expectedVersion" | "pageSize" => &["1", "2", "3", "7"],
        "grams" => &["1", "30000"],
        "note" | "doorCode" | "code" => &["x", "1234"],
        _ => &["AAAA"],
    };
    let text = proptest::sample::select(texts.to_vec());
    text.prop_map(|text| match text.parse::<Number>() {
        Ok(number) if text != "1234" => RawInput::Json(Value::Number(number)),
        _ if text == "true" || text == "false" => RawInput::Json(Value::Bool(text == "true")),
        _ => RawInput::Json(Value::from(text)),
    })
    .boxed()
}

fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        "-?[0-9]{1,38}(\\.[0-9]{1,9})?(e-?[0-9]{1,3})?"
            .prop_map(|text| text.parse().map_or(Value::Null, Value::Number)),
        ".{0,40}".prop_map(|text| Value::from(text.as_str())),
        "[a-z#/{}\\\\\"]{0,200}".prop_map(|text| Value::from(text.as_str())),
        Just(Value::from("9999-12-31T23:59:59.999Z")),
        Just(Value::Bytes(vec![0, 255])),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            proptest::collection::vec((".{0,5}", inner), 0..4)
                .prop_map(|pairs| Value::Map(pairs.into_iter().collect::<Item>())),
        ]
    })
    .boxed()
}

fn anything() -> BoxedStrategy<RawInput> {
    prop_oneof![
        value().prop_map(RawInput::Json),
        ".{0,60}".prop_map(|text| RawInput::Text(text.into())),
        "[0-9.e+-]{0,50}".prop_map(|text| RawInput::Text(text.into())),
        Just(RawInput::Undecodable),
        Just(RawInput::Misplaced("belongs elsewhere")),
    ]
    .boxed()
}

fn inputs(names: &'static [&'static str], wild: u32) -> BoxedStrategy<Vec<(Text, RawInput)>> {
    let each: Vec<_> = names
        .iter()
        .map(|name| {
            let bare = name.trim_end_matches('?');
            let given = prop_oneof![20 => sensible(bare), wild => anything()];
            let here = if name.ends_with('?') { 0.6 } else { 1.0 - f64::from(wild) / 60.0 };
            proptest::option::weighted(here, given).prop_map(move |given| (Text::from(bare), given))
        })
        .collect();
    let more = proptest::collection::vec((".{0,9}", anything()), 0..2);
    let more = proptest::option::weighted(f64::from(wild) / 60.0, more);
    (each, more)
        .prop_map(|(each, more)| {
            let given = each.into_iter().filter_map(|(name, given)| Some((name, given?)));
            let more = more.into_iter().flatten().map(|(name, given)| (Text::from(name), given));
            given.chain(more).collect()
        })
        .boxed()
}

fn caller() -> BoxedStrategy<Caller> {
    let ids = proptest::sample::select(vec!["ann", "bob", "cy", "", "a#b"]);
    let roles = proptest::sample::subsequence(vec!["courier", "clerk", "manager", "none"], 0..4);
    (ids, roles, proptest::option::of(Just("ann")))
        .prop_map(|(id, roles, org)| {
            let caller = roles.into_iter().fold(Caller::new(id), |caller, role| caller.role(role));
            org.into_iter().fold(caller, |caller, org| caller.org(org))
        })
        .boxed()
}

/// Someone who may do everything.
fn chief() -> Caller {
    Caller::new("ann").role("manager").role("courier")
}

fn a_call(wild: u32) -> BoxedStrategy<Call> {
    let contract = proptest::sample::select(CONTRACTS.to_vec());
    let tags = prop_oneof![
        8 => Just(None),
        1 => Just(Some(IfMatch::Any)),
        1 => proptest::collection::vec(-2_i64..9, 0..3)
            .prop_map(|all| Some(IfMatch::OneOf(all.into_iter().map(Number::from).collect()))),
    ];
    let keys = proptest::option::weighted(0.3, prop_oneof![4 => "[ab]", 1 => ".{0,300}"]);
    contract
        .prop_flat_map(move |(contract, names)| {
            let caller = prop_oneof![3 => Just(chief()).boxed(), 1 => caller()];
            (
                Just(contract),
                inputs(names, wild),
                caller,
                tags.clone(),
                keys.clone(),
                any::<bool>(),
                0_i64..100,
            )
        })
        .prop_map(|(contract, inputs, caller, if_match, key, trace, at)| {
            let mut call = Call::new(contract, caller);
            call.inputs = inputs;
            call.if_match = if_match;
            call.idempotency_key = key.map(Text::from);
            call.trace = trace;
            call.at = Some(NOW + at * 1_000_000);
            call
        })
        .boxed()
}

fn is_clean(told: &Told, call: &Call) {
    let busy = told.status() == 503 && told.told().1 == "busy";
    assert!(told.status() < 500 || busy, "{call:?}: {}", told.body());
    let body = told.json();
    assert!(body.is_object(), "{call:?}: {body}");
    if let Err(problem) = &told.0.result {
        assert_eq!(body["status"], problem.status, "{call:?}");
        assert!(
            body["code"].is_string() && body["title"].is_string() && body["detail"].is_string()
        );
    }
    if told.status() == 400 && told.told().1 == "invalid-input" {
        assert!(!told.problem().detail.contains("lacks"), "{call:?}: {}", told.body());
    }
    assert!(!told.body().contains("doorCode\":"), "a secret is never shown: {}", told.body());
}

fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(Value::as_text).map(Text::to_string).unwrap_or_default()
}

fn int(item: &Item, name: &str) -> Option<i64> {
    item.get(name).and_then(Value::as_number).and_then(|number| number.to_i64())
}

/// What the document promises of all that is stored.
fn is_sound(world: &World) {
    let (parcels, views) = (world.all("PARCEL#"), world.all("OWNER#"));
    for parcel in &parcels {
        let (owner, id) = (text(parcel, "ownerId"), text(parcel, "parcelId"));
        let view =
            world.stored(&format!("OWNER#{owner}"), &format!("PARCEL#{id}")).expect("a view");
        for name in ["ownerId", "parcelId", "label", "state"] {
            assert_eq!(view.get(name), parcel.get(name), "{name} of {parcel:?}");
        }
        assert!((1..=30_000).contains(&int(parcel, "grams").unwrap()), "{parcel:?}");
        let shelf = int(parcel, "shelf").unwrap();
        assert_eq!(text(parcel, "ByShelfPK"), format!("SHELF#{shelf:02}"));
        let place = format!("PARCEL#{}#{id}", text(parcel, "createdAt"));
        assert_eq!(text(parcel, "ByShelfSK"), place);
        assert!(int(parcel, "version").unwrap() >= 1);
        assert_eq!(text(parcel, "state") == "STORED", parcel.get("sentAt").is_none(), "{parcel:?}");
    }
    let of_parcels = |item: &&Item| text(item, "kind") == "OWNER_PARCEL";
    assert_eq!(views.iter().filter(of_parcels).count(), parcels.len(), "a view for each");
    let received: i64 = views
        .iter()
        .filter(|item| text(item, "kind") == "TALLY")
        .filter_map(|t| int(t, "received"))
        .sum();
    assert_eq!(received, i64::try_from(parcels.len()).unwrap(), "each was tallied once");
    world.store.verify(world.runtime.system().table()).unwrap();
}

fn depot(calls: &[Call], together: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::of(DEPOT, Options::default().source).await;
        for group in calls.chunks(together) {
            let made = group.iter().map(|call| world.made(call.clone())).collect();
            for (told, call) in all_of(made).await.iter().zip(group) {
                is_clean(told, call);
            }
        }
        is_sound(&world);
    });
}

proptest! {
    #![proptest_config(crate::support::cases(48))]

    #[test]
    fn anything_is_answered(calls in proptest::collection::vec(a_call(20), 1..60)) {
        depot(&calls, 1);
    }

    #[test]
    fn sensible_calls_keep_the_depot_sound(calls in proptest::collection::vec(a_call(1), 40..120)) {
        depot(&calls, 1);
    }

    #[test]
    fn calls_at_the_same_time_keep_the_depot_sound(calls in proptest::collection::vec(a_call(1), 40..120)) {
        depot(&calls, 8);
    }
}

// The depot does what the reference says of it, in one walk through its contracts.
#[tokio::test]
async fn the_depot_works() {
    let world = World::of(DEPOT, Arc::new(crate::support::Still(1))).await;
    let by = |caller: Caller, contract: &str, inputs: &str| {
        crate::support::call_by(caller, contract, inputs)
    };
    let clerk = || Caller::new("dana").role("clerk");
    let courier = || Caller::new("cy").role("courier");
    let parcel = r#"{"parcelId": "P1", "ownerId": "olga", "label": "BOOKS-1", "grams": 1200, "shelf": 7, "doorCode": "77"}"#;
    let told = world.made(by(clerk(), "P-04", parcel)).await;
    assert_eq!((told.status(), told.answer().found_at.as_deref()), (201, Some("/parcels/P1")));
    assert_eq!(told.member("fee"), 0);
    let told = world.made(by(Caller::new("x").org("olga"), "P-01", r#"{"parcelId": "P1"}"#)).await;
    assert_eq!((told.status(), told.answer().etag.as_deref()), (200, Some("\"1\"")));
    let told = world.made(by(courier(), "R-01", r#"{"roundId": "R1"}"#)).await;
    assert_eq!((told.status(), told.member("courierId")), (201, "cy".into()));
    let told = world.made(by(clerk(), "P-06", r#"{"parcelId": "P1", "roundId": "R1"}"#)).await;
    assert_eq!((told.member("state"), told.member("place")), ("SENT".into(), 1.into()));
    let told = world.made(by(clerk(), "P-06", r#"{"parcelId": "P1", "roundId": "R1"}"#)).await;
    assert_eq!(told.told(), (409, "not-here".to_owned()));
    let told = world.made(by(courier(), "R-03", r#"{"parcelId": "P1", "code": "78"}"#)).await;
    assert_eq!(told.told(), (403, "wrong-code".to_owned()));
    let mut late = by(courier(), "R-03", r#"{"parcelId": "P1", "code": "77"}"#);
    late.at = Some(NOW + 30 * 24 * 3_600_000);
    assert_eq!(world.made(late).await.told(), (409, "lost".to_owned()));
    let told = world.made(by(courier(), "R-02", r#"{"roundId": "R1", "place": 1}"#)).await;
    assert_eq!(told.body(), r#"{"parcelId":"P1","state":"STORED","shelf":7}"#);
    let told = world.made(by(clerk(), "P-06", r#"{"parcelId": "P1", "roundId": "R1"}"#)).await;
    assert_eq!(told.member("place"), 1, "the place is free again");
    let told = world.made(by(courier(), "R-03", r#"{"parcelId": "P1", "code": "77"}"#)).await;
    assert_eq!(told.member("state"), "DELIVERED");
    let told = world.made(by(courier(), "T-01", r#"{"ownerId": "olga"}"#)).await;
    assert_eq!(told.body(), r#"{"ownerId":"olga","received":1}"#);
}
