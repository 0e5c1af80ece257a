//! JSON by chance: what is written is read back, and another parser agrees.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::Number;

fn any_number() -> impl Strategy<Value = Number> {
    let wide = (any::<bool>(), 0..10u128.pow(38), -168..126i32).prop_filter_map("range", |parts| {
        let (negative, coefficient, exponent) = parts;
        Number::from_parts(negative, coefficient, exponent).ok()
    });
    let short = (any::<bool>(), 0..1000u128, -130..123i32).prop_filter_map("range", |parts| {
        let (negative, coefficient, exponent) = parts;
        Number::from_parts(negative, coefficient, exponent).ok()
    });
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        (-9i64..10).prop_map(Number::from),
        short,
        wide
    ]
}

fn any_text() -> impl Strategy<Value = Text> {
    let pieces = prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-c\"\\\\/\u{0}-\u{20}~]",
        "[a-z]{0,30}"
    ];
    vec(pieces, 0..4).prop_map(|pieces| Text::from(pieces.concat()))
}

/// Values that JSON has types for, so that reading gives back what was written.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any_text().prop_map(Value::Text),
        any_number().prop_map(Value::Number),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec((any_text(), inner), 0..6).prop_map(|pairs| Value::Map(Map::from_iter(pairs))),
        ]
    })
}

/// Texts that are nearly JSON: its tokens, some of them wrong, in any order.
fn any_tokens() -> impl Strategy<Value = String> {
    let tokens = prop::sample::select(&[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"a\":",
        "\"b\":",
        "1",
        "-",
        "0",
        ".5",
        "e3",
        "E-",
        "\"",
        "\\",
        "\\u",
        "\\ud83d",
        "\\ude00",
        "\\n",
        "true",
        "null",
        "nul",
        " ",
        "\n",
        "\u{0}",
        "1e200",
        "1e-200",
        "12345678901234567890",
        "é",
        "\u{feff}",
        "/",
        "[[[[[[[[[[[[",
        "]]]]]]",
    ]);
    vec(tokens, 0..12).prop_map(|tokens| tokens.concat())
}

/// JSON with a few bytes changed, left out, put in or repeated.
fn any_mutant() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        prop::sample::select(b"{}[],:\"\\0159.eE+-u ntf\x00\n".as_slice()),
        any::<u8>()
    ];
    let change = (any::<prop::sample::Index>(), 0..4u8, byte);
    (any_value(), any::<bool>(), vec(change, 0..4)).prop_map(|(value, lines, changes)| {
        let mut text = if lines { pretty(&value) } else { text_of(&value) }.into_bytes();
        for (index, kind, byte) in changes {
            let at = index.index(text.len() + 1);
            match kind {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                2 if at < text.len() => drop(text.remove(at)),
                _ => text.extend_from_within(at / 2..at),
            }
        }
        text
    })
}

/// Whether the two say the same, but for the precision the other has not got.
fn agree(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Text(a), serde_json::Value::String(b)) => a == b,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Number(a), serde_json::Value::Number(b)) => {
            let (a, b) = (a.to_string().parse::<f64>().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * 1e-14
        }
        (Value::List(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (Value::Map(a), serde_json::Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key.as_str()).is_some_and(|b| agree(a, b)))
        }
        _ => false,
    }
}

/// Holds what is read here to what another parser makes of it.
fn compare(text: &[u8]) -> Result<(), TestCaseError> {
    let ours = read_default(text);
    match (&ours, serde_json::from_slice::<serde_json::Value>(text)) {
        (Ok(ours), Ok(theirs)) => prop_assert!(agree(ours, &theirs), "{ours:?} {theirs:?}"),
        (Ok(ours), Err(theirs)) => prop_assert!(false, "read as {ours:?}; they say {theirs}"),
        (Err(ours), Ok(theirs)) => prop_assert!(
            matches!(
                ours.message,
                Fault::Duplicate { .. } | Fault::Number(_) | Fault::TooDeep { .. }
            ),
            "{ours}; read by them as {theirs}"
        ),
        (Err(_), Err(_)) => {}
    }
    if let Err(error) = ours {
        prop_assert!(error.offset <= text.len());
        prop_assert!(!error.to_string().contains(char::is_control));
    }
    Ok(())
}

#[test]
fn agrees_with_another_parser_on_what_is_refused() {
    for (text, ..) in REFUSED {
        compare(text).unwrap();
    }
}

proptest! {
    #[test]
    fn plain_bytes_are_counted_to_the_first_that_is_not(
        bytes in vec(prop_oneof![8 => Just(b'a'), 1 => any::<u8>()], 0..40),
    ) {
        let special = |byte: &u8| *byte < b' ' || b"\"\\".contains(byte);
        let expected = bytes.iter().position(special).unwrap_or(bytes.len());
        prop_assert_eq!(plain_length(&bytes), expected);
    }

    #[test]
    fn reads_back_what_it_writes(value in any_value()) {
        prop_assert_eq!(read_default(text_of(&value)).unwrap(), value.clone());
        prop_assert_eq!(read_default(pretty(&value)).unwrap(), value);
    }

    #[test]
    fn writes_what_others_read(value in any_value()) {
        let theirs = serde_json::from_str(&text_of(&value)).unwrap();
        prop_assert!(agree(&value, &theirs), "{theirs}");
        let theirs = serde_json::from_str(&pretty(&value)).unwrap();
        prop_assert!(agree(&value, &theirs), "{theirs}");
    }

    #[test]
    fn writes_numbers_as_they_are_shown(number in any_number()) {
        let mut out = String::from("9");
        write_number(&number, &mut out);
        prop_assert_eq!(out, format!("9{number}"));
    }

    #[test]
    fn agrees_with_another_parser_on_tokens(text in any_tokens()) {
        compare(text.as_bytes())?;
    }

    #[test]
    fn agrees_with_another_parser_on_mutants(text in any_mutant()) {
        compare(&text)?;
    }

    #[test]
    fn agrees_with_another_parser_on_bytes(text in vec(any::<u8>(), 0..8)) {
        compare(&text)?;
    }

    #[test]
    fn every_beginning_of_a_text_is_refused_at_its_end(value in any_value(), cut in any::<prop::sample::Index>()) {
        // In brackets, no beginning of the text is a text of its own.
        let text = format!("[{}]", text_of(&value));
        let cut = text.floor_char_boundary(cut.index(text.len()));
        let error = refused(&text.as_bytes()[..cut]);
        // A word that is cut is no word, from its first letter on.
        let word = error.message == Fault::Word && cut - error.offset < "false".len();
        prop_assert!(error.offset == cut || word, "{error}");
    }
}
