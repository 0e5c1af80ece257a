use std::collections::BTreeSet;

use crate::{Map, Number, Text, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Value {
    Value::Number(text.parse().unwrap())
}

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(values.into_iter().collect())
}

fn text_of(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn read_default(text: impl AsRef<[u8]>) -> Result<Value, JsonError> {
    read(text.as_ref(), Limits::default())
}

fn refused(text: impl AsRef<[u8]>) -> JsonError {
    let text = text.as_ref();
    match read_default(text) {
        Err(error) => error,
        Ok(value) => panic!("{} is read as {value:?}", String::from_utf8_lossy(text)),
    }
}

#[test]
fn reads_every_kind_of_value() {
    for (text, value) in [
        ("null", Value::Null),
        (" true\r\n", Value::Bool(true)),
        ("\tfalse ", Value::Bool(false)),
        ("\"\"", Value::from("")),
        ("[]", list([])),
        ("[ ]", list([])),
        ("{}", Map::new().into()),
        ("{ \n }", Map::new().into()),
        ("[null , [true],{}]", list([Value::Null, list([true.into()]), Map::new().into()])),
        (
            r#"{"b":1,"a":{"":[2]}}"#,
            Map::from([("a", Map::from([("", list([2.into()]))]).into()), ("b", Value::from(1))])
                .into(),
        ),
    ] {
        assert_eq!(read_default(text).unwrap(), value, "{text}");
    }
}

#[test]
fn reads_every_escape() {
    for (text, value) in [
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u0041\u00e9\u20AC\uFFFF""#, "Aé€\u{ffff}"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\uD800\uDC00\udbff\udfff""#, "\u{10000}\u{10ffff}"),
        (r#""\u0000 a""#, "\0 a"),
        ("\"é😀\u{7f}\u{2028}\u{feff}\"", "é😀\u{7f}\u{2028}\u{feff}"),
        (
            r#""a long text without any escape in it, which does not fit in place""#,
            "a long text without any escape in it, which does not fit in place",
        ),
        (
            r#""a long text with an escape at its end, which does not fit in place\n""#,
            "a long text with an escape at its end, which does not fit in place\n",
        ),
    ] {
        assert_eq!(read_default(text).unwrap(), Value::from(value), "{text}");
    }
}

#[test]
fn reads_numbers_exactly() {
    for (text, plain) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e-0", "0"),
        ("0e999999999999", "0"),
        ("-7", "-7"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("0.10", "0.1"),
        ("1E2", "100"),
        ("1.5e+3", "1500"),
        ("12e-4", "0.0012"),
        ("0.1234567890123456789012345678901234567", "0.1234567890123456789012345678901234567"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ] {
        assert_eq!(read_default(text).unwrap(), number(plain), "{text}");
        assert_eq!(text_of(&number(plain)), plain);
    }
}

/// Each with the byte it goes wrong at, the value it is in, and what is said.
const REFUSED: &[(&[u8], usize, &str, &str)] = &[
    (b"", 0, "", "there is no JSON here"),
    (b" \n", 2, "", "there is no JSON here"),
    (b"\xef\xbb\xbf1", 0, "", "a byte order mark, which JSON does not have"),
    (b" \xef\xbb\xbf1", 1, "", "`\\u{feff}` where a value should be"),
    // UTF-8
    (b"\xff", 0, "", "this is not UTF-8"),
    (b"1\xff", 1, "", "this is not UTF-8"),
    (b"\"a\xc3\"", 2, "", "this is not UTF-8"),
    (b"{\"a\":[0,\"\xed\xa0\x80\"]}", 9, "/a/1", "this is not UTF-8"),
    (b"[x,\"\xff\"]", 1, "/0", "a word that is none of `true`, `false` and `null`"),
    (b"1\x00", 1, "", "`\\0` after the end of the value"),
    // Structure
    (b"[", 1, "/0", "the text ends where a value should be"),
    (b"[1", 2, "", "the text ends where `,` or `]` should be"),
    (b"[1,", 3, "/1", "the text ends where a value should be"),
    (b"[1,]", 3, "/1", "`]` where a value should be"),
    (b"[,1]", 1, "/0", "`,` where a value should be"),
    (b"[1 2]", 3, "", "`2` where `,` or `]` should be"),
    (b"[1}", 2, "", "`}` where `,` or `]` should be"),
    (b"]", 0, "", "`]` where a value should be"),
    (b"{", 1, "", "the text ends where a key in quotes should be"),
    (b"{\"a\"", 4, "/a", "the text ends where `:` should be"),
    (b"{\"a\":", 5, "/a", "the text ends where a value should be"),
    (b"{\"a\":1", 6, "", "the text ends where `,` or `}` should be"),
    (b"{\"a\":1,}", 7, "", "`}` where a key in quotes should be"),
    (b"{\"a\":1]", 6, "", "`]` where `,` or `}` should be"),
    (b"{a:1}", 1, "", "`a` where a key in quotes should be"),
    (b"{\"a\" 1}", 5, "/a", "`1` where `:` should be"),
    (b"{\"a\"::1}", 5, "/a", "`:` where a value should be"),
    (b"{\"a\":{\"b\":[[],{\"c\":?}]}}", 19, "/a/b/1/c", "`?` where a value should be"),
    (b"{\"~\":{\"/\":{\"\":?}}}", 14, "/~0/~1/", "`?` where a value should be"),
    (b"{\"a\":[1],\"b\":[2,{}],\"c\":?}", 24, "/c", "`?` where a value should be"),
    (b"{} {}", 3, "", "`{` after the end of the value"),
    (b"1 // no", 2, "", "`/` after the end of the value"),
    (b"nullx", 4, "", "`x` after the end of the value"),
    (b"\x0c1", 0, "", "`\\u{c}` where a value should be"),
    (b"\xc2\xa01", 0, "", "`\\u{a0}` where a value should be"),
    // Words
    (b"nul", 0, "", "a word that is none of `true`, `false` and `null`"),
    (b"[True]", 1, "/0", "a word that is none of `true`, `false` and `null`"),
    (b"NaN", 0, "", "a word that is none of `true`, `false` and `null`"),
    (b"-Infinity", 1, "", "`I` where a digit should be"),
    // Numbers
    (b"+1", 0, "", "`+` where a value should be"),
    (b".5", 0, "", "`.` where a value should be"),
    (b"-", 1, "", "the text ends where a digit should be"),
    (b"-.5", 1, "", "`.` where a digit should be"),
    (b"1.", 2, "", "the text ends where a digit should be"),
    (b"[1.]", 3, "/0", "`]` where a digit should be"),
    (b"1.e5", 2, "", "`e` where a digit should be"),
    (b"1e", 2, "", "the text ends where a digit should be"),
    (b"1e+ 5", 3, "", "` ` where a digit should be"),
    (b"1e+-5", 3, "", "`-` where a digit should be"),
    (b"0x10", 1, "", "`x` after the end of the value"),
    (b"[0, 01]", 4, "/1", "a number that starts with a needless `0`"),
    (b"-00", 0, "", "a number that starts with a needless `0`"),
    (b"1_000", 1, "", "`_` after the end of the value"),
    (b" 1e126", 1, "", "a number with magnitude above 9.99E+125"),
    (b"1e-131", 0, "", "a number with magnitude below 1E-130"),
    (
        b"[1.00000000000000000000000000000000000001]",
        1,
        "/0",
        "a number with more than 38 significant digits",
    ),
    // Strings
    (b"\"", 1, "", "the text ends where the `\"` that ends a string should be"),
    (b"\"a\\", 3, "", "the text ends where an escape should be"),
    (b"\"a\\\"", 4, "", "the text ends where the `\"` that ends a string should be"),
    (b"'a'", 0, "", "`'` where a value should be"),
    (b"[\"a\nb\"]", 3, "/0", "a control character in a string: write it as `\\u000a`"),
    (b"{\"a\x00\":1}", 3, "", "a control character in a string: write it as `\\u0000`"),
    (b"\"\\n\x1f\"", 3, "", "a control character in a string: write it as `\\u001f`"),
    (b"\"a\\x41\"", 2, "", "`\\x` is not an escape"),
    (b"\"\\\xc3\xa9\"", 1, "", "`\\é` is not an escape"),
    (b"\"\\\n\"", 1, "", "`\\\\n` is not an escape"),
    (b"\"\\u12", 5, "", "the text ends where a hexadecimal digit should be"),
    (b"\"\\u+123\"", 3, "", "`+` where a hexadecimal digit should be"),
    (b"\"\\u12\xc3\xa9\"", 5, "", "`é` where a hexadecimal digit should be"),
    (b"\"\\U0041\"", 1, "", "`\\U` is not an escape"),
    (b"\"\\ud800\"", 1, "", "half of a surrogate pair, which is no character"),
    (b"\"a\\udc00\"", 2, "", "half of a surrogate pair, which is no character"),
    (b"\"\\ud800\\n\"", 1, "", "half of a surrogate pair, which is no character"),
    (b"\"\\ud800\\u0041\"", 1, "", "half of a surrogate pair, which is no character"),
    (b"\"\\ud800\\ud800\\udc00\"", 1, "", "half of a surrogate pair, which is no character"),
    (b"\"\\ud800\\u1\"", 10, "", "`\"` where a hexadecimal digit should be"),
    // Keys
    (b"{\"a\":1,\"a\":2}", 7, "/a", "the key `a` twice in one object"),
    (b"{\"a\":1,\"b\":[{\"x\":0,\"\\u0078\":0}]}", 19, "/b/0/x", "the key `x` twice in one object"),
    (b"{\"\":1,\"\":2}", 6, "/", "the key `` twice in one object"),
    (b"{\"a\\n\":1,\"a\\n\":2}", 9, "/a\n", "the key `a\\n` twice in one object"),
];

#[test]
fn refuses_with_the_place_and_the_reason() {
    for (text, offset, pointer, message) in REFUSED {
        let error = refused(text);
        let found = (error.offset, error.pointer.as_str(), error.message.to_string());
        let shown = String::from_utf8_lossy(text);
        assert_eq!(found, (*offset, *pointer, (*message).to_owned()), "{shown}");
        // Nothing that is said breaks the line it is said in.
        assert!(!error.to_string().contains(char::is_control), "{shown}");
    }
}

#[test]
fn errors_tell_line_and_column() {
    for (text, line, column) in [
        ("", 1, 1),
        ("?", 1, 1),
        ("[\n  1,\n  ?]", 3, 3),
        ("[\"é😀\",?]", 1, 7),
        ("[1,\r\n?", 2, 1),
        ("[1,\n", 2, 1),
    ] {
        let error = refused(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}");
    }
    assert_eq!(
        refused("[\n01").to_string(),
        "a number that starts with a needless `0`, at line 2, column 1"
    );
}

#[test]
fn keys_in_messages_are_cut() {
    let key = "é".repeat(1_000);
    let error = refused(format!("{{\"{key}\":1,\"{key}\":1}}"));
    assert_eq!(error.pointer, format!("/{key}"));
    let shown = "é".repeat(KEY_SHOWN_MAX);
    assert_eq!(error.message.to_string(), format!("the key `{shown}…` twice in one object"));
    let key = "é".repeat(KEY_SHOWN_MAX);
    let error = refused(format!("{{\"{key}\":1,\"{key}\":1}}"));
    assert_eq!(error.message.to_string(), format!("the key `{key}` twice in one object"));
}

#[test]
fn a_key_is_not_found_twice_however_many_there_are() {
    for count in [1, 2, 15, 16, 17, 18, 40, 20_000] {
        let entries: Vec<String> =
            (0..count).map(|index| format!("\"k{index}\":{index}")).collect();
        let object = format!("{{{}}}", entries.join(","));
        let Ok(Value::Map(map)) = read_default(&object) else { panic!("{count}") };
        assert_eq!(map.len(), count);
        for twice in [0, count / 2, count - 1] {
            let object = format!("{{{},\"k{twice}\":0}}", entries.join(","));
            let error = refused(&object);
            assert_eq!(error.message, Fault::Duplicate { key: format!("k{twice}").into() });
            assert_eq!(error.offset, object.rfind("\"k").unwrap());
        }
    }
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize, open: &str, close: &str| {
        format!("{}0{}", open.repeat(levels), close.repeat(levels))
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[1,", "]}]")] {
        let levels = open.matches(['[', '{']).count();
        for levels_max in [0, 3, 30, LEVELS_CEILING, usize::MAX] {
            let allowed = levels_max.min(LEVELS_CEILING);
            let limits = Limits { levels_max };
            let value = read(nested(allowed / levels, open, close).as_bytes(), limits).unwrap();
            assert!(value.nests_within(allowed));
            for more in [1, 5_000, 200_000] {
                let text = nested(allowed / levels + more, open, close);
                let error = read(text.as_bytes(), limits).unwrap_err();
                assert_eq!(error.message, Fault::TooDeep { levels_max: allowed });
                assert_eq!(error.pointer.matches('/').count(), allowed);
            }
        }
    }
    assert!(read_default(nested(LEVELS_MAX, "[", "]")).is_ok());
    assert_eq!(refused(nested(LEVELS_MAX + 1, "[", "]")).offset, LEVELS_MAX);
}

#[test]
fn a_key_that_is_special_elsewhere_is_a_key() {
    // A parser that keeps numbers as text under this name would take the object for a number.
    let text = r#"{"$serde_json::private::Number":"1"}"#;
    let value = Map::from([("$serde_json::private::Number", "1")]).into();
    assert_eq!(read_default(text).unwrap(), value);
    assert_eq!(text_of(&value), text);
}

#[test]
fn writes_values_json_has_no_type_for() {
    for (value, text) in [
        (Value::Bytes(Vec::new()), "\"\""),
        (Value::Bytes(vec![0xfb, 0xff, 0]), "\"+/8A\""),
        (Value::Bytes(vec![0xff]), "\"/w==\""),
        (Value::TextSet(["b", "a\""].map(Text::from).into()), r#"["a\"","b"]"#),
        (Value::NumberSet(["2", "-1.5"].map(|n| n.parse().unwrap()).into()), "[-1.5,2]"),
        (Value::BytesSet([vec![1], vec![]].into()), r#"["","AQ=="]"#),
        (Value::TextSet(BTreeSet::new()), "[]"),
    ] {
        assert_eq!(text_of(&value), text);
    }
}

#[test]
fn escapes_only_what_has_to_be() {
    let mut out = String::from("x");
    write_text("a\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}é😀\u{2028}", &mut out);
    assert_eq!(out, "x\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}é😀\u{2028}\"");
}

#[test]
fn pretty_has_a_line_for_every_part() {
    let value = read_default(r#"{"b":[1,[],{"x":null}],"a":{},"c":"d"}"#).unwrap();
    let expected = "{
  \"a\": {},
  \"b\": [
    1,
    [],
    {
      \"x\": null
    }
  ],
  \"c\": \"d\"
}";
    assert_eq!(pretty(&value), expected);
    assert_eq!(pretty(&5.into()), "5");
    assert_eq!(pretty(&Value::TextSet(["a"].map(Text::from).into())), "[\n  \"a\"\n]");
}

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
