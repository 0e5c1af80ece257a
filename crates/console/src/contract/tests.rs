//! The parts of the page, of a document that tries to be more than text.

use latchkey_http::Claims;
use latchkey_value::Text;
use serde_json::{Value, json};

use super::*;

const DOCUMENT: &str = r#"# Doors

```contract
system doors
table Doors { type kind }
role guard
entity Door "DOOR" {
  PK = "DOOR#{doorId}"
  SK = "META"
  doorId id, name text(80)?, version counter
}
```

Opens <img src=x onerror=alert(1)> **all** `doors`, [see](#doors), [not](javascript:alert(1)), [nor](#nowhere).

```contract
contract D-01 "Name <script>alert(1)</script>" {
  PUT /doors/{doorId}
  input name text(80)?, expectedVersion int 1..
  door = get Door strong                     else 404 not-found "no <b>door</b>"
  allow caller is guard
  match door.version == expectedVersion      else 409 version-conflict
  require name is present                    else 409 version-conflict
  update door set name ?= name, version = .version + 1 if unchanged else retry
  return door
  consistency strong
  expect 1 item
  rate 1/s
}
contract D-02 "Get" {
  GET /doors/{doorId}
  door = get Door else 404 not-found
  allow true
  return door
  consistency eventual
  expect 1 item
  rate 1/s
}
```

```example
as ann role guard
PUT /doors/a%20b?x=1%2B1 If-Match: "3" {"name": "</script>"}
404
GET /doors/a
404
```
"#;

/// Does something with a contract of the document, and a visitor whose name is no name.
fn with<T>(id: &str, act: impl FnOnce(Subject<'_>) -> T) -> T {
    let model = latchkey_model::check(DOCUMENT).model;
    let claims = Claims { sub: Text::from("<i>ann"), roles: Vec::new(), orgs: Vec::new() };
    let visitor = Visitor { claims, token: String::new(), admin: false };
    let contract = find(&model, id).unwrap();
    act(Subject { model: &model, contract, visitor: &visitor, api: None })
}

#[test]
fn what_a_document_or_a_token_says_is_never_markup() {
    let html = with("D-01", |subject| subject.page(&keys::cards(subject, &[])).into_string());
    for hostile in ["<script", "<img", "<b>", "<i>", "style="] {
        assert!(!html.contains(hostile), "{hostile} in {html}");
    }
    // The prose is rendered; its links lead to headings of the document alone.
    assert!(html.contains("<strong>all</strong> <code>doors</code>"), "{html}");
    assert!(html.contains("href=\"/console/systems/doors#h-doors\">see</a>"), "{html}");
    assert!(!html.contains("href=\"javascript") && !html.contains("#h-nowhere"), "{html}");
    assert!(html.contains("Name &lt;script&gt;") && html.contains("&lt;b&gt;door"), "{html}");
}

#[test]
fn an_example_fills_the_form_of_the_contract_that_it_leads_to() {
    let given = |id| {
        let html = with(id, |subject| examples::card(subject).unwrap().into_string());
        let texts = html.split("data-fill=\"").skip(1).map(|rest| {
            let text = rest.split('"').next().unwrap();
            let text = text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
            serde_json::from_str::<Value>(&text.replace("&amp;", "&")).unwrap()
        });
        texts.collect::<Vec<_>>()
    };
    let (texts, headers) = (json!({ "doorId": "a b", "x": "1+1" }), json!({ "if-match": "\"3\"" }));
    let first = json!({ "texts": texts, "headers": headers, "body": "{\"name\": \"</script>\"}" });
    assert_eq!(given("D-01"), [first]);
    assert_eq!(given("D-02"), [json!({ "texts": { "doorId": "a" }, "headers": {}, "body": null })]);
}

#[test]
fn a_failure_that_two_statements_answer_is_listed_once_with_both_lines() {
    let html = with("D-01", |subject| failures::card(subject).into_string());
    assert_eq!(html.matches("<code>version-conflict</code>").count(), 1 + 1, "{html}");
    assert!(html.contains("#L22") && html.contains("#L23"), "{html}");
    // The server's own answer to an `If-Match` has another status.
    assert!(html.contains("412") && html.contains("unauthenticated"), "{html}");
}

#[test]
fn a_link_to_a_contract_knows_the_version_that_it_asks_for() {
    let told = with("D-02", known::told);
    let contracts = told.get("contracts").unwrap();
    let version = json!({ "input": "expectedVersion", "counter": "version" });
    assert_eq!(contracts.pointer("/0/version"), Some(&version));
    assert_eq!(contracts.pointer("/1/version"), Some(&Value::Null));
    let segments = json!([{ "text": "doors" }, { "input": "doorId" }]);
    assert_eq!(contracts.pointer("/1/segments"), Some(&segments));
    assert_eq!(told.pointer("/who/sub"), Some(&json!("<i>ann")));
}

// A console at an address of its own told people to call the contracts at that address.
#[test]
fn a_page_knows_where_the_contracts_are() {
    let told = |api: Option<&str>| {
        with("D-02", |subject| {
            let api = api.map(|address| address.parse().unwrap());
            known::told(Subject { api, ..subject }).pointer("/api").cloned().unwrap()
        })
    };
    assert_eq!(told(None), Value::Null);
    assert_eq!(told(Some("127.0.0.1:80")), json!({ "host": "127.0.0.1", "port": 80 }));
    assert_eq!(told(Some("[::1]:81")), json!({ "host": "[::1]", "port": 81 }));
    assert_eq!(told(Some("0.0.0.0:82")), json!({ "host": null, "port": 82 }));
}
