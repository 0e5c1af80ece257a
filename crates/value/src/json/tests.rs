mod properties;

use std::collections::BTreeSet;

use crate::{Map, Text, Value};

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
    (b"\"\\ud800\"", 1, "", "half of a surrogate pair, which is not a character"),
    (b"\"a\\udc00\"", 2, "", "half of a surrogate pair, which is not a character"),
    (b"\"\\ud800\\n\"", 1, "", "half of a surrogate pair, which is not a character"),
    (b"\"\\ud800\\u0041\"", 1, "", "half of a surrogate pair, which is not a character"),
    (b"\"\\ud800\\ud800\\udc00\"", 1, "", "half of a surrogate pair, which is not a character"),
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
