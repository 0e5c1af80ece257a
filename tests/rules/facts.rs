//! What a contract states of itself, it states once.

use latchkey_model::check;

/// What is told of a contract with these facts: the message, and the texts at both places.
fn told(facts: &str) -> Vec<(String, String, Vec<String>)> {
    let text = format!(
        "```contract\nsystem doors\ntable Doors {{ type kind }}\nentity Door \"DOOR\" {{\nPK = \"DOOR#{{doorId}}\"\n\
         SK = \"META\"\ndoorId id\n}}\ncontract D-1 \"Make\" {{\nPOST /doors/{{doorId}}\nallow true\n\
         door = put Door if absent else 409 there\nreturn 201 door\n{facts}\n}}\ncontract D-2 \"Get\" {{\n\
         GET /doors/{{doorId}}\nallow true\ndoor = get Door strong else 404 not-found\nreturn door\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
    );
    let at = |span: latchkey_language::Span| text.get(span.start..span.end).unwrap().to_owned();
    let found = check(&text).diagnostics.into_iter();
    found
        .map(|one| {
            let others = one.others.iter().map(|(span, _)| at(*span)).collect();
            (format!("{}: {}", one.rule, one.message), at(one.span), others)
        })
        .collect()
}

#[test]
fn a_fact_that_is_stated_twice_is_told_with_both_places() {
    // The last one counted, and nothing was said.
    let all = "consistency strong\nexpect 1 item\nrate 1/s\ncost 9 wcu\nidempotent by key";
    assert_eq!(told(all), []);
    let cases = [
        ("consistency", "consistency eventual", "consistency strong"),
        ("consistency", "consistency strong", "consistency strong"),
        ("expect", "expect 0..9 items", "expect 1 item"),
        ("rate", "rate 2/s", "rate 1/s"),
        ("cost", "cost 8 wcu", "cost 9 wcu"),
        ("idempotent by", "idempotent by key", "idempotent by key"),
    ];
    for (word, second, first) in cases {
        let message = format!("name: `{word}` is stated twice");
        let expected = [(message, second.to_owned(), vec![first.to_owned()])];
        assert_eq!(told(&format!("{all}\n{second}")), expected, "{second}");
    }
}
