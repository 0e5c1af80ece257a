use proptest::prelude::*;

use super::*;
use crate::ast::{Entity, ExampleStep, Member, QueueMode, StatementKind};

const SMARTLOCKER: &str = include_str!("../../../../systems/smartlocker.md");

/// The line and message of each mistake in a contract block; line 1 is the block's first.
fn mistakes(block: &str) -> Vec<String> {
    let text = format!("```contract\n{block}\n```\n");
    let line = |at: usize| text.get(..at).unwrap().matches('\n').count();
    let parsed = parse(&text);
    parsed.diagnostics.iter().map(|d| format!("{}: {}", line(d.span.start), d.message)).collect()
}

#[test]
fn the_shipped_document_is_read_whole() {
    let parsed = parse(SMARTLOCKER);
    assert_eq!(parsed.diagnostics, []);
    let count =
        |of: fn(&Item) -> bool| parsed.document.items.iter().filter(|item| of(item)).count();
    let blocks = SMARTLOCKER.matches("\nentity ").count();
    assert_eq!(count(|item| matches!(item, Item::Entity(_))), blocks);
    let blocks = SMARTLOCKER.matches("\ncontract QC-").count();
    assert_eq!(count(|item| matches!(item, Item::Contract(_))), blocks);
}

#[test]
fn a_mistake_is_reported_once_and_the_rest_is_read() {
    let block = "\
system doors
entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  SK =
  doorId id
  state
  name text(80)?
}
contract D-01 \"Get\" {
  GET doors
  allow caller owns
  require a = b else 404 not-found
  frobnicate
  door = get Door strong else not-found
  return door
}
contract D-02 \"Get\" {
  GET /x
  return door
}";
    assert_eq!(
        mistakes(block),
        [
            "4: expected a text in quotes, but the line ends behind `=`",
            "6: `state` has no type",
            "10: expected a path such as `/doors/{doorId}`, but found `doors`",
            "11: expected a value, but the line ends behind `owns`",
            "12: `=` does not compare here",
            "13: `frobnicate` begins no statement",
            "14: expected a status such as `404`, but found `not-found`",
        ]
    );
}

/// The name of the table of a block, and what is wrong with the block.
fn table(block: &str) -> (String, Vec<String>) {
    let parsed = parse(&format!("```contract\n{block}\n```\n"));
    let table = parsed.document.items.into_iter().find_map(|item| match item {
        Item::Table(table) => Some(table.name.node),
        _ => None,
    });
    (table.unwrap_or_default(), mistakes(block))
}

#[test]
fn a_table_is_called_as_dynamodb_lets_it_be() {
    let longest = "t".repeat(255);
    let names = [
        "aolfclub-entities",
        "Doors",
        "a.b",
        "0_1",
        "-x-",
        "...",
        "a--b",
        "2024.events",
        "3d-doors",
        "abc-",
        "table",
        &longest,
    ];
    for name in names {
        for block in [
            format!("table {name} {{ type kind }}"),
            format!("table {name}{{type kind}}\nrole warden"),
        ] {
            assert_eq!(table(&block), (name.to_owned(), Vec::new()), "{block}");
        }
    }
    let commented = "table a-b-c// the doors\n{ type kind }";
    assert_eq!(table(commented), ("a-b-c".to_owned(), Vec::new()));
}

#[test]
fn a_name_no_table_can_have_is_told_once_and_the_rest_is_read() {
    let too_long = "t".repeat(256);
    for name in
        ["ab", "-", "a/b", "doors:1", "a|b", "Doors?", "doors,", "a->b", "(doors)", &too_long]
    {
        let block = format!("table {name} {{ type kind }}\nrole warden\nbogus");
        let told = [
            format!("1: `{name}` is not a name for a table"),
            "3: `bogus` begins no declaration".to_owned(),
        ];
        assert_eq!(table(&block), (name.to_owned(), told.to_vec()), "{block}");
    }
    for (block, told) in [
        ("table doors#1 { type kind }", "`#` means nothing here"),
        ("table { type kind }", "expected the table's name, but found `{`"),
        ("table", "expected the table's name, but the line ends behind `table`"),
        ("table \"Doors\" { type kind }", "expected the table's name, but found `\"Doors\"`"),
        ("table a-b-c type kind", "expected `{`, but found `type`"),
        ("table Doors 2 { type kind }", "expected `{`, but found `2`"),
    ] {
        assert_eq!(mistakes(block), [format!("1: {told}")], "{block}");
    }
}

#[test]
fn a_key_in_quotes_has_more_characters() {
    let keys = |written: &str| {
        let parsed =
            parse(&format!("```contract\ntable Logs {{ type kind PK id SK {written} }}\n```\n"));
        let found = parsed.document.items.into_iter().find_map(|item| match item {
            Item::Table(table) => table.keys.last().map(|key| key.attribute.node.clone()),
            _ => None,
        });
        (
            found.unwrap(),
            parsed.diagnostics.into_iter().map(|told| told.message).collect::<Vec<_>>(),
        )
    };
    for name in ["State#Date", "a:b/c@d|e", "plain", &"k".repeat(255)] {
        assert_eq!(keys(&format!("\"{name}\"")), (name.to_owned(), Vec::new()));
    }
    for name in ["", "a b", "a,b", "it's", "Größe", &"k".repeat(256)] {
        let told = format!("`{name}` is not a name for an attribute");
        assert_eq!(keys(&format!("\"{name}\"")), (name.to_owned(), vec![told]));
    }
}

proptest! {
    #[test]
    fn a_table_keeps_its_name_to_the_letter(name in "[A-Za-z0-9_.-]{3,40}") {
        let block = format!("table {name} {{ type kind }}");
        prop_assert_eq!(table(&block), (name, Vec::new()));
    }
}

#[test]
fn a_missing_brace_does_not_drown_what_follows() {
    let block = "\
entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  doorId id

contract D-01 \"Get\" {
  GET /doors/{doorId}
  when a == b {
    return door
}

contract D-02 \"Get\" {
  GET /x
  bogus bogus
}";
    assert_eq!(
        mistakes(block),
        [
            "1: a brace that is never closed",
            "5: a brace that is never closed",
            "13: `bogus` begins no statement",
        ]
    );
}

fn entity(block: &str) -> Entity {
    let parsed = parse(&format!("```contract\n{block}\n```"));
    assert_eq!(parsed.diagnostics, []);
    match parsed.document.items.into_iter().next() {
        Some(Item::Entity(entity)) => entity,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_may_share_a_line() {
    let members = entity(
        "entity A \"A\" {\n  a id, b int 0.., c X | Y = X, d number -90..90\n  e text(9)? \n}",
    );
    let names: Vec<_> = members
        .members
        .iter()
        .map(|member| match member {
            Member::Field(field) => field.name.node.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}

#[test]
fn examples_are_read_by_the_line() {
    let text = "```example\nat 2026-01-01T00:00:00Z as bob role operator org acme\n\
                POST /doors?x=1 If-Match: \"3\" {\n  \"a\": \"}\"\n}\n201 {\"a\": [1,\n2]}\n// done\nGET /x\n404\n```";
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    let steps = &parsed.document.examples[0].steps;
    assert_eq!(steps.len(), 4);
    let ExampleStep::Call(call) = &steps[2] else { panic!("{steps:?}") };
    assert_eq!(call.path.node, "/doors?x=1");
    assert_eq!(call.headers[0].1.node, "\"3\"");
    assert_eq!(call.body.as_ref().unwrap().node, "{\n\"a\": \"}\"\n}");
    assert_eq!(call.status.as_ref().unwrap().node, 201);
    assert_eq!(call.answer.as_ref().unwrap().node, "{\"a\": [1,\n2]}");
}

#[test]
fn a_header_has_as_many_words_as_it_likes() {
    // A value used to end at the first space, and the rest of it was taken for JSON.
    let text = "```example\nPUT /doors Authorization: Bearer x.y If-Match: \"3\" {\"a\": 1}\n200\n\
                GET /doors Accept:\n200\n```";
    let parsed = parse(text);
    let told: Vec<&str> = parsed.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(told, ["a header without a value"]);
    let ExampleStep::Call(call) = &parsed.document.examples[0].steps[0] else { panic!() };
    let headers: Vec<_> =
        call.headers.iter().map(|(name, value)| (&*name.node, &*value.node)).collect();
    assert_eq!(headers, [("Authorization", "Bearer x.y"), ("If-Match", "\"3\"")]);
    assert_eq!(call.body.as_ref().unwrap().node, "{\"a\": 1}");
}

#[test]
fn comments_are_no_part_of_the_json() {
    // A comment between the lines of a body used to stay in it.
    let text = "```example\nPOST /doors { // the body\n  // not this\n\
                \"a\": \"http://x // y\"\n}\n201\n```";
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    let ExampleStep::Call(call) = &parsed.document.examples[0].steps[0] else { panic!() };
    assert_eq!(call.body.as_ref().unwrap().node, "{\n\"a\": \"http://x // y\"\n}");
}

#[test]
fn an_attribute_may_be_called_as_a_declaration_is() {
    // It used to end the entity, with a complaint about its brace.
    let block = "\
entity Door \"DOOR\" {
  PK = \"DOOR#{contract}\"
  contract id
  role text(20)
  system id, table id
}
contract D-01 \"Get\" {
  GET /doors/{contract}
  table = get Door else 404 not-found
  return table
}";
    assert_eq!(mistakes(block), Vec::<String>::new());
}

#[test]
fn a_rate_is_one_word() {
    // It used to be told that a slash was missing.
    let block = "contract D-01 \"Get\" {\n  rate 100 /s\n  expect 1 item\n}";
    assert_eq!(mistakes(block), ["2: a space before `/s`"]);
}

#[test]
fn a_backslash_escapes_a_quote_or_itself() {
    // `\\d` in a pattern used to become `d` without a word.
    let block = r#"entity Door "a \" b \\ c" { code text(9) like "\d\\d" }"#;
    assert_eq!(mistakes(block), [r"1: `\d` is not an escape of a text"]);
    let door = entity(r#"entity Door "a \" b \\ c" { code text(9) like "\\d+" }"#);
    assert_eq!(door.discriminator.node, r#"a " b \ c"#);
}

#[test]
fn nesting_has_an_end() {
    for opening in ["when a { ", "x = (", "transact { ", "require not "] {
        let block = format!("contract A-1 \"A\" {{\n{}\n}}", opening.repeat(100_000));
        assert!(!mistakes(&block).is_empty());
    }
}

#[test]
fn a_long_expression_has_an_end() {
    // Every one of these once built a tree as deep as it was long, and walking that tree overflowed the stack.
    for joined in [" or a", " and a", " + a", ".a", " - a.b"] {
        for template in ["require a@ else 404 x", "x = (a@)", "allow a in (a@, a)", "x = \"{a@}\""]
        {
            let line = template.replace('@', &joined.repeat(100_000));
            let told = mistakes(&format!("contract A-1 \"A\" {{\n{line}\n}}"));
            assert!(told.iter().any(|told| told.contains("more than 100 terms")), "{told:?}");
        }
    }
}

#[test]
fn what_stands_outside_the_blocks_is_prose() {
    let parsed = parse("entity Nothing {\n```json\nentity\n```\n");
    assert!(parsed.diagnostics.is_empty() && parsed.document.items.is_empty());
}

#[test]
fn statements_keep_their_place_in_the_markdown() {
    let parsed = parse(SMARTLOCKER);
    for item in &parsed.document.items {
        let Item::Contract(contract) = item else { continue };
        for statement in &contract.body {
            let text = SMARTLOCKER.get(statement.span.range()).unwrap();
            if let StatementKind::Allow(_) = statement.node {
                assert!(text.starts_with("allow ") && !text.contains('\n'), "{text}");
            }
        }
    }
}

/// A document with some of its pieces cut, doubled, swapped or replaced.
fn mangled() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0usize..40,
        ".{0,6}|[{}()\"|=.,/`\n]{1,4}|contract|transact|else",
    );
    prop::collection::vec(edit, 1..8).prop_map(|edits| {
        let mut text: Vec<char> = SMARTLOCKER.chars().collect();
        for (at, length, insert) in edits {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, insert.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_read(text in "\\PC*") {
        let _ = parse(&format!("```contract\n{text}\n```\n```example\n{text}\n```"));
    }

    #[test]
    fn a_mangled_document_is_read(text in mangled()) {
        let parsed = parse(&text);
        for diagnostic in parsed.diagnostics {
            prop_assert!(text.get(diagnostic.span.range()).is_some());
        }
    }
}

#[test]
fn queues_workers_and_steps_are_read() {
    let block = "\
queue mails ordered by mailId {
  mailId id, at time?
  lease id

  lease 30s
  tries 5
  waive unused \"soon\"
}
steps sent(mail Mail, at time) { do logged(mail.id, at) }
worker W-1 \"Mail\" {
  on mails { mailId, at, }
  mail = get Mail shard in 0..15 snapshot else later
  when mail is absent { done }
  transact {
    send mails { mailId, at = now } at now + 1h
      accepted { done }
      refused { later }
    do sent(mail, max(now, at))
  }
  total = { a = sum(mail.n), b = count(mail by state) }
  x = query Mail page 5 max 9 as limit else fail NONE \"none of {mailId}\"
  fail GONE
  on dead { done }
  rate 1/s
}";
    assert_eq!(mistakes(block), [""; 0]);
    let parsed = parse(&format!("```contract\n{block}\n```\n"));
    let [Item::Queue(queue), Item::Steps(steps), Item::Worker(worker)] =
        parsed.document.items.as_slice()
    else {
        panic!("a queue, steps and a worker")
    };
    // A field may be called as a setting is.
    let fields: Vec<&str> = queue.fields.iter().map(|field| field.name.node.as_str()).collect();
    assert_eq!(fields, ["mailId", "at", "lease"]);
    assert_eq!(queue.ordered_by.as_ref().map(|name| name.node.as_str()), Some("mailId"));
    assert_eq!((queue.leases.len(), queue.tries.len(), queue.waivers.len()), (1, 1, 1));
    assert_eq!(steps.parameters.len(), 2);
    let StatementKind::Transact(legs) = &worker.body[3].node else { panic!("a transaction") };
    let StatementKind::Send(send) = &legs[0].node else { panic!("a send") };
    assert!(send.at.is_some() && send.accepted.is_some() && send.refused.is_some());
    assert_eq!(legs.len(), 2);
}

#[test]
fn mistakes_in_queues_and_workers_are_told_once() {
    let block = "\
queue mails {
  mailId
  tries many
}
worker W-1 \"Mail\" {
  on mails
  send mails
  do
  fail
  mail = get Mail shard in here
  done
}
steps sent(mail) { done }
role clerk";
    assert_eq!(
        mistakes(block),
        [
            "2: `mailId` has no type",
            "6: expected `{`, but the line ends behind `mails`",
            "7: expected `{`, but the line ends behind `mails`",
            "8: expected the name of the steps to do, but the line ends behind `do`",
            "9: expected the failure's name, such as `EVENT_GONE`, but the line ends behind `fail`",
            "10: expected a range such as `0..15`",
            "13: expected a type, but found `)`",
        ]
    );
}

#[test]
fn an_example_says_what_a_queue_does() {
    let text = "```example\nqueue mails holds // for now\nqueue mails refuses\nqueue mails works\n\
                queue mails\nqueue mails sleeps\nqueue mails works now\n```\n";
    let parsed = parse(text);
    let modes: Vec<QueueMode> = parsed.document.examples[0]
        .steps
        .iter()
        .filter_map(|step| match step {
            ExampleStep::Queue(name, mode) if name.node == "mails" => Some(mode.node),
            _ => None,
        })
        .collect();
    assert_eq!(modes, [QueueMode::Holds, QueueMode::Refuses, QueueMode::Works]);
    let lines: Vec<usize> = parsed
        .diagnostics
        .iter()
        .map(|d| text.get(..d.span.start).unwrap().matches('\n').count())
        .collect();
    assert_eq!(lines, [4, 5, 6]);
}

#[test]
fn requests_at_once_have_no_answers() {
    let example = |lines: &str| {
        let parsed = parse(&format!("```example\nas ann\n{lines}\n```\n"));
        let told: Vec<String> = parsed.diagnostics.into_iter().map(|found| found.message).collect();
        (parsed.document.examples[0].steps.len(), told)
    };
    let two = "together {\n  GET /a {\n  }\n  as bob\n  deliver mails\n} // both\nGET /c\n200";
    assert_eq!(example(two), (3, vec![]));
    let cases = [
        ("together {\nGET /a\n}", "nothing is made at once here"),
        (
            "together {\nGET /a\n200\nGET /b\n}",
            "which request is first is open, and so is its answer",
        ),
        ("together {\nGET /a\nGET /b", "`together {` that is never closed"),
        ("together\nGET /a\nGET /b\n}", "expected `together {`"),
        ("deliver mails", "`deliver` outside of `together`"),
        ("together {\nGET /a\ndeliver\nGET /b\n}", "expected the name of a queue"),
        (
            "together {\nGET /a\nqueue q holds\nGET /b\n}",
            "a queue changes what it does before requests are made",
        ),
        ("together {\ntogether {\nGET /a\nGET /b\n}", "`together` within `together`"),
    ];
    for (lines, message) in cases {
        assert_eq!(example(lines).1, [message], "{lines}");
    }
}
