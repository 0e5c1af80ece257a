//! Items that are easily changed on their way. Each is its own line as an export writes it.

/// Deep maps and lists: as deep as an item may be.
const LEVELS: usize = 31;

/// What every store can hold.
pub(crate) fn items() -> Vec<String> {
    let nines = "9".repeat(38);
    let numbers = [
        "0".to_owned(),
        nines.clone(),
        format!("-{nines}"),
        format!("1{}", "0".repeat(125)),
        format!("{nines}{}", "0".repeat(88)),
        format!("0.{}1", "0".repeat(129)),
        format!("-0.{}1", "0".repeat(129)),
        "0.1".to_owned(),
        "-1.5".to_owned(),
        "123456789012345678.01234567890123456789".to_owned(),
    ];
    let texts = [
        "plain",
        " \\t spaces \\n and \\r lines \\u0000\\u0001\\u001f ",
        "quotes \\\" and \\\\ and / and \u{7f}",
        "é e\u{301} ß 漢字 🔑 👩‍👩‍👧 \u{2028}\u{2029}\u{feff}\u{fffd}\u{10ffff}",
    ];
    let mut items = Vec::new();
    for (at, number) in numbers.iter().enumerate() {
        items.push(item(&format!("NUMBER#{at:02}"), &format!("\"v\":{{\"N\":\"{number}\"}}")));
    }
    for (at, text) in texts.iter().enumerate() {
        items.push(item(&format!("TEXT#{at}"), &format!("\"v\":{{\"S\":\"{text}\"}}")));
    }
    let others = [
        ("BINARY", r#""v":{"B":"AAECA/79/v8="}"#.to_owned()),
        ("BINARY-ZERO", r#""v":{"B":"AA=="}"#.to_owned()),
        ("BOOL", r#""v":{"BOOL":false},"w":{"BOOL":true}"#.to_owned()),
        ("NULL", r#""v":{"NULL":true}"#.to_owned()),
        ("EMPTY", r#""v":{"L":[]},"w":{"M":{}}"#.to_owned()),
        ("SET#TEXT", r#""v":{"SS":["B","a","b","é","🔑"]}"#.to_owned()),
        ("SET#NUMBER", format!(r#""v":{{"NS":["-10","-9","0","0.5","9","10","{nines}"]}}"#)),
        ("SET#BINARY", r#""v":{"BS":["AA==","AAA=","/w=="]}"#.to_owned()),
        (
            "DEEP#LIST",
            format!(
                r#""v":{}{}{}"#,
                r#"{"L":["#.repeat(LEVELS),
                r#"{"N":"1"}"#,
                "]}".repeat(LEVELS)
            ),
        ),
        (
            "DEEP#MAP",
            format!(
                r#""v":{}{}{}"#,
                r#"{"M":{"m":"#.repeat(LEVELS),
                r#"{"SS":["x"]}"#,
                "}}".repeat(LEVELS)
            ),
        ),
        ("LARGE", format!(r#""v":{{"S":"{}"}}"#, "é".repeat(195 * 1024))),
        ("LARGE#BINARY", format!(r#""v":{{"B":"{}"}}"#, "/v79".repeat(130 * 1024))),
        ("EXPIRY", r#""expires":{"N":"1"}"#.to_owned()),
    ];
    items.extend(others.iter().map(|(sort, rest)| item(sort, rest)));
    items.extend(keys_and_names());
    items
}

/// Keys and names that are long, or do not sort as they look.
fn keys_and_names() -> Vec<String> {
    let mut items = Vec::new();
    items.push(format!(
        r#"{{"Item":{{"ByShelfPK":{{"S":"SHELF#1"}},"ByShelfSK":{{"S":"{}"}},"PK":{{"S":"A"}},"SK":{{"S":"INDEX"}}}}}}"#,
        "s".repeat(1024)
    ));
    // Names of every kind, in their order.
    items.push(
        r##"{"Item":{"#a":{"S":"1"},":b":{"S":"2"},"PK":{"S":"A"},"SK":{"S":"NAMES"},"a.b[0]":{"S":"3"},"select":{"S":"4"},"é 🔑\n":{"S":"5"}}}"##
            .to_owned(),
    );
    // Keys of every length there may be, and of what does not sort as it looks.
    for (partition, sort) in
        [("p".repeat(2048), "s".repeat(1024)), ("é#\\u0000".to_owned(), "🔑".to_owned())]
    {
        items.push(format!(r#"{{"Item":{{"PK":{{"S":"{partition}"}},"SK":{{"S":"{sort}"}}}}}}"#));
    }
    items.push(r#"{"Item":{"PK":{"S":"LATCHKEY#IDEM#x"},"SK":{"S":"x"},"body":{"B":"e30="},"expires":{"N":"99"}}}"#.to_owned());
    items
}

/// Empty texts and bytes, which DynamoDB has had since 2020.
pub(crate) fn empty() -> Vec<String> {
    vec![
        item("EMPTY#TEXT", r#""v":{"S":""}"#),
        item("EMPTY#BINARY", r#""v":{"B":""}"#),
        item("EMPTY#SET", r#""v":{"SS":["","x"]},"w":{"BS":["","AA=="]}"#),
        item("EMPTY#DEEP", r#""v":{"L":[{"S":""},{"M":{"m":{"B":""}}}]}"#),
    ]
}

/// An item of one partition, its other attributes sorted behind its key.
fn item(sort: &str, rest: &str) -> String {
    format!(r#"{{"Item":{{"PK":{{"S":"A"}},"SK":{{"S":"{sort}"}},{rest}}}}}"#)
}
