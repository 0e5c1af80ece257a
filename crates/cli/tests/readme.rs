//! What the README shows is what the tool says.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

const README: &str = include_str!("../../../README.md");
const SMARTLOCKER: &str = include_str!("../../../systems/smartlocker.md");

/// The fenced blocks of the README, with what they are marked as.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let mut blocks = Vec::new();
    let mut rest = README;
    while let Some((_, fenced)) = rest.split_once("\n```") {
        let (mark, body) = fenced.split_once('\n').unwrap();
        let (body, after) = body.split_once("\n```").unwrap();
        blocks.push((mark, body));
        rest = after;
    }
    blocks
}

/// The status contract of the document, changed as a diff says.
fn changed(diff: &str) -> String {
    let side = |own: char| -> String {
        let lines = diff.lines().filter(|line| line.starts_with([own, ' ']));
        lines.map(|line| format!("{}\n", line.get(1..).unwrap())).collect()
    };
    let (start, contract) = SMARTLOCKER.split_once("contract QC-03").unwrap();
    let (old, new) = (side('-'), side('+'));
    assert!(contract.contains(&old), "the document has no\n{old}");
    format!("{start}contract QC-03{}", contract.replacen(&old, &new, 1))
}

#[test]
fn the_mistakes_it_shows_are_caught_just_so() {
    let mut diff = None;
    let mut shown = 0;
    for (mark, body) in blocks() {
        match mark {
            "diff" => diff = Some(body),
            "text" => {
                let document = changed(diff.take().unwrap());
                let told: Vec<String> = latchkey_model::check(&document)
                    .diagnostics
                    .iter()
                    .map(|found| {
                        latchkey_cli::render("systems/smartlocker.md", &document, found, false)
                    })
                    .collect();
                assert_eq!(told.join("\n\n"), body);
                shown += 1;
            }
            _ => {}
        }
    }
    assert_eq!(shown, 2);
}

#[test]
fn its_first_contract_is_right() {
    let (_, document) = README.split_once("````markdown\n").unwrap();
    let (document, _) = document.split_once("````").unwrap();
    assert_eq!(latchkey_model::check(document).diagnostics, []);
}
