//! The pages that explain problems: what a code means, which contracts answer it, with which status and in which words.
//! They say what the OpenAPI document says.

use std::collections::BTreeMap;

use latchkey_model::Model;
use latchkey_model::model::Place;
use latchkey_value::hidden::{is_hidden, sign};

use crate::Serving;
use crate::json::{Json, Object};
use crate::problem::{OUTSIDE, Refusals, titled};

/// What a code means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemPage {
    /// The code.
    pub code: String,
    /// The page for people.
    pub html: String,
    /// The same for programs.
    pub json: String,
}

/// One way in which a code is answered: its status and its words.
type Way = (u16, String);

/// Who answers it so: contracts, or the server itself.
type Who = Vec<String>;

/// The pages of all problems of systems that one server serves, by their codes. The models have no mistakes.
pub fn problem_pages(models: &[&Model], serving: &Serving) -> Vec<ProblemPage> {
    let mut all: BTreeMap<String, BTreeMap<Way, Who>> = BTreeMap::new();
    let mut contracts = 0;
    for model in models {
        for contract in model.contracts.iter().filter(|contract| contract.route.is_some()) {
            contracts += 1;
            let takes_body = contract.inputs.iter().any(|input| input.place == Place::Body);
            let limited = serving.limits_all || contract.facts.limit.is_some();
            for refusal in Refusals::of(model, contract, takes_body, limited).all {
                let way = (refusal.status, refusal.when);
                let who = all.entry(refusal.code).or_default().entry(way).or_default();
                who.push(format!("{} of {}", contract.id, model.system));
            }
        }
    }
    for (status, code, when) in OUTSIDE {
        all.entry(code.to_owned()).or_default().entry((status, when.to_owned())).or_default();
    }
    let page = |(code, ways): (String, BTreeMap<Way, Who>)| {
        let json = in_json(&code, &ways);
        ProblemPage { html: in_html(&code, &ways, contracts), json, code }
    };
    all.into_iter().map(page).collect()
}

fn in_json(code: &str, ways: &BTreeMap<Way, Who>) -> String {
    let answers = ways.iter().map(|((status, when), who)| {
        let who: Vec<&str> = who.iter().map(String::as_str).collect();
        let answer = Object::new().with("status", i64::from(*status)).with("when", when.as_str());
        answer.with("contracts", who)
    });
    let answers: Vec<Object> = answers.collect();
    let page = Object::new().with("code", code).with("title", titled(code).trim_end_matches('.'));
    let mut text = String::new();
    Json::from(page.with("answers", answers)).write(&mut text);
    text
}

fn in_html(code: &str, ways: &BTreeMap<Way, Who>, contracts: usize) -> String {
    let title = escaped(titled(code).trim_end_matches('.'));
    let code = escaped(code);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<h1>{title}</h1>\n\
         <p>A problem with the code <code>{code}</code> is answered:</p>\n<ul>\n"
    );
    for ((status, when), who) in ways {
        let who = match who.len() {
            0 => "by the server itself".to_owned(),
            all if all == contracts && all > 1 => "by every contract".to_owned(),
            _ => format!("by {}", escaped(&who.join(", "))),
        };
        page.push_str(&format!("<li><p>{} <br>Status {status}, {who}.</p>\n", escaped(when)));
    }
    page.push_str("</ul>\n");
    page
}

/// A text of a document, as a page shows it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            hidden if is_hidden(hidden) => escaped.push(sign(hidden)),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOORS: &str = r#"```contract
system doors
table Doors { type kind }
entity Door "DOOR" {
  PK = "DOOR#{doorId}"
  SK = "META"
  doorId id, ownerId id, name text(80)?
}
contract D-01 "Make a door" {
  POST /doors
  input doorId id
  allow true
  door = put Door { doorId, ownerId = caller.id } if absent
    else 409 door-exists "a door <b>{doorId}</b> is there & stays"
  return 201 door
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

    #[test]
    fn a_page_says_who_answers_a_code_and_runs_nothing_of_a_document() {
        let model = latchkey_model::check(DOORS).model;
        let pages = problem_pages(&[&model], &Serving::default());
        let page = |code: &str| pages.iter().find(|page| page.code == code).unwrap();
        let exists = page("door-exists");
        assert_eq!(
            exists.json,
            concat!(
                r#"{"code":"door-exists","title":"Door exists","answers":[{"status":409,"#,
                r#""when":"A door <b>{doorId}</b> is there & stays.","contracts":["D-01 of doors"]}]}"#
            )
        );
        assert!(
            exists.html.contains("A door &lt;b&gt;{doorId}&lt;/b&gt; is there &amp; stays."),
            "{}",
            exists.html
        );
        assert!(exists.html.contains("Status 409, by D-01 of doors."), "{}", exists.html);
        assert!(page("method-not-allowed").html.contains("Status 405, by the server itself."));
        for code in ["invalid-input", "malformed-request", "path-too-long", "busy", "not-found"] {
            assert!(!page(code).html.is_empty());
        }
    }

    #[test]
    fn a_page_shows_a_sign_of_what_cannot_be_seen() {
        assert_eq!(escaped("a\u{202E}<b>\u{200B}"), "a\u{FFFD}&lt;b&gt;\u{FFFD}");
    }
}
