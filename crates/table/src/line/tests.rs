use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Fault, JSON_LEVELS_MAX, LineError, read, write};
use crate::limits::VALUE_LEVELS_MAX;
use crate::{Item, Map, NumberError, Text, Value, arbitrary};

/// JSON as plain values; numbers never stand in a line without quotes.
fn plain(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Bool(*truth),
        serde_json::Value::Number(number) => Value::Number(number.to_string().parse().unwrap()),
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(values) => Value::List(values.iter().map(plain).collect()),
        serde_json::Value::Object(members) => {
            Value::Map(members.iter().map(|(name, value)| (name.as_str(), plain(value))).collect())
        }
    }
}

fn read_text(text: &str) -> Result<Item, LineError> {
    read(plain(&serde_json::from_str(text).unwrap()))
}

fn written(item: &Item) -> String {
    let mut text = String::new();
    write(item, &mut text);
    text
}

#[test]
fn a_line_is_that_of_an_export() {
    let item = Item::from([
        ("PK", Value::from("A\n\"é\"")),
        ("SK", Value::from("B")),
        ("n", Value::Number("-1.50e2".parse().unwrap())),
        ("b", Value::Bytes(b"fo".to_vec())),
        ("t", Value::Bool(true)),
        ("f", Value::Bool(false)),
        ("z", Value::Null),
        ("l", Value::List(vec![Value::from(1), Value::from("")])),
        ("m", Value::Map(Map::from([("b", 2), ("a", 1)]))),
        ("ss", Value::TextSet(["b", "a"].into_iter().map(Text::from).collect())),
        ("ns", Value::NumberSet([10i64, 9].into_iter().map(Into::into).collect())),
        ("bs", Value::BytesSet(BTreeSet::from([vec![255], vec![]]))),
    ]);
    let expected = concat!(
        r#"{"Item":{"PK":{"S":"A\n\"é\""},"SK":{"S":"B"},"b":{"B":"Zm8="},"bs":{"BS":["","/w=="]},"#,
        r#""f":{"BOOL":false},"l":{"L":[{"N":"1"},{"S":""}]},"m":{"M":{"a":{"N":"1"},"b":{"N":"2"}}},"#,
        r#""n":{"N":"-150"},"ns":{"NS":["9","10"]},"ss":{"SS":["a","b"]},"t":{"BOOL":true},"#,
        r#""z":{"NULL":true}}}"#,
    );
    assert_eq!(written(&item), expected);
    assert_eq!(read_text(expected), Ok(item));
}

#[test]
fn what_no_export_has_is_refused_with_its_place() {
    let values = "a value is an object of one member, named S, N, B, BOOL, NULL, L, M, SS, NS or BS for its type";
    let cases = [
        (r#"{"Item":5}"#, r#"a line is `{"Item": {…}}` and nothing else"#.to_owned()),
        (r#"{"Items":{}}"#, r#"a line is `{"Item": {…}}` and nothing else"#.to_owned()),
        (r#"{"Item":{},"Keys":{}}"#, r#"a line is `{"Item": {…}}` and nothing else"#.to_owned()),
        ("[]", r#"a line is `{"Item": {…}}` and nothing else"#.to_owned()),
        (r#"{"Item":{"a":"x"}}"#, format!("`a`: {values}")),
        (r#"{"Item":{"a":{}}}"#, format!("`a`: {values}")),
        (r#"{"Item":{"a":{"S":"x","N":"1"}}}"#, format!("`a`: {values}")),
        (r#"{"Item":{"a":{"s":"x"}}}"#, format!("`a`: {values}")),
        (r#"{"Item":{"a":{"S":1}}}"#, "`a`: the value of `S` is a string".to_owned()),
        (r#"{"Item":{"a":{"N":1}}}"#, "`a`: the value of `N` is a number in quotes".to_owned()),
        (r#"{"Item":{"a":{"N":"x"}}}"#, "`a`: a bad number: not a decimal number".to_owned()),
        (r#"{"Item":{"a":{"B":1}}}"#, "`a`: the value of `B` is base64 in quotes".to_owned()),
        (
            r#"{"Item":{"a":{"B":"Zg="}}}"#,
            "`a`: binary that is not base64 (the standard alphabet, padded)".to_owned(),
        ),
        (
            r#"{"Item":{"a":{"BOOL":"true"}}}"#,
            "`a`: the value of `BOOL` is true or false".to_owned(),
        ),
        (r#"{"Item":{"a":{"NULL":false}}}"#, "`a`: the value of `NULL` is true".to_owned()),
        (r#"{"Item":{"a":{"L":{}}}}"#, "`a`: the value of `L` is an array of values".to_owned()),
        (r#"{"Item":{"a":{"M":[]}}}"#, "`a`: the value of `M` is an object of values".to_owned()),
        (
            r#"{"Item":{"a":{"SS":"x"}}}"#,
            "`a`: the value of `SS` is an array of strings".to_owned(),
        ),
        (
            r#"{"Item":{"a":{"NS":[1]}}}"#,
            "`a`: the value of `NS` is an array of strings".to_owned(),
        ),
        (r#"{"Item":{"a":{"NS":["1","1.0"]}}}"#, "`a`: a set has something twice".to_owned()),
        (r#"{"Item":{"a":{"BS":["Zg==","Zg=="]}}}"#, "`a`: a set has something twice".to_owned()),
        (
            r#"{"Item":{"a":{"L":[{"S":""},{"M":{"b":{"N":1}}}]}}}"#,
            "`a.1.b`: the value of `N` is a number in quotes".to_owned(),
        ),
    ];
    for (text, message) in cases {
        assert_eq!(read_text(text).map_err(|error| error.to_string()), Err(message), "{text}");
    }
    let precise = format!(r#"{{"Item":{{"a":{{"N":"{}"}}}}}}"#, "1".repeat(39));
    let fault = read_text(&precise).map_err(|error| error.fault);
    assert_eq!(fault, Err(Fault::Number(NumberError::TooPrecise)));
}

#[test]
fn a_long_path_is_cut_in_a_message() {
    let text = format!(r#"{{"Item":{{"{}":{{"S":1}}}}}}"#, "n".repeat(5_000));
    let error = read_text(&text).unwrap_err();
    assert_eq!(error.path.len(), 5_000);
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn nesting_is_read_up_to_the_limit_and_not_beyond() {
    let nested = |levels: usize| {
        let (open, close) = (r#"{"L":["#.repeat(levels), "]}".repeat(levels));
        format!(r#"{{"Item":{{"a":{open}{{"NS":["1"]}}{close}}}}}"#)
    };
    let text = nested(VALUE_LEVELS_MAX);
    let levels = text.matches(['{', '[']).count();
    assert_eq!(levels, JSON_LEVELS_MAX, "the JSON of the deepest item has as many levels");
    assert!(read_text(&text).is_ok());
    let fault = read_text(&nested(VALUE_LEVELS_MAX + 1)).map_err(|error| error.fault);
    assert_eq!(fault, Err(Fault::TooDeep));
}

#[test]
fn base64_has_one_reading() {
    let cases: [(&str, Option<&[u8]>); 14] = [
        ("", Some(b"")),
        ("Zg==", Some(b"f")),
        ("Zm8=", Some(b"fo")),
        ("Zm9v", Some(b"foo")),
        ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
        ("Zg", None),
        ("Zg=", None),
        // Bits that stand for nothing.
        ("Zh==", None),
        ("Zm9=", None),
        ("====", None),
        ("Z===", None),
        ("Zg==Zg==", None),
        ("Zm-v", None),
        ("Zm\nv", None),
    ];
    for (text, bytes) in cases {
        let read = super::bytes(text);
        assert_eq!(read.as_deref().ok(), bytes, "{text:?}");
    }
}

proptest! {
    #[test]
    fn every_item_comes_back_from_its_line(item in arbitrary::item()) {
        let text = written(&item);
        prop_assert!(!text.contains('\n'), "{text}");
        prop_assert_eq!(read_text(&text), Ok(item));
    }

    #[test]
    fn any_json_is_read_or_refused(json in arbitrary::value()) {
        let item = Map::from([("Item", Map::from([("a", json.clone())]))]);
        let _ = read(Value::Map(item));
        let _ = read(json);
    }
}
