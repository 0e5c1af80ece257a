//! What the README shows is what the tool says.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

const README: &str = include_str!("../../../README.md");
const SMARTLOCKER: &str = include_str!("../../../systems/smartlocker.md");

/// The blocks of the README that are fenced with three backticks, with what they are marked as.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in README.lines() {
        match (open.take(), line.strip_prefix("```")) {
            (None, Some(mark)) if !mark.starts_with('`') => open = Some((mark, Vec::new())),
            (Some((mark, lines)), Some("")) => blocks.push((mark, lines.join("\n"))),
            (Some((mark, mut lines)), _) => {
                lines.push(line);
                open = Some((mark, lines));
            }
            (None, _) => {}
        }
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
                let document = changed(&diff.take().unwrap());
                let told: Vec<String> = latchkey_model::check(&document)
                    .diagnostics
                    .iter()
                    .map(|found| {
                        latchkey_cli::render("systems/smartlocker.md", &document, found, false)
                    })
                    .collect();
                let told = told.join("\n\n");
                if std::env::var_os("LATCHKEY_BLESS").is_some() {
                    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
                    let now = std::fs::read_to_string(path).unwrap();
                    std::fs::write(path, now.replacen(&body, &told, 1)).unwrap();
                } else {
                    assert_eq!(told, body);
                }
                shown += 1;
            }
            _ => {}
        }
    }
    assert_eq!(shown, 2);
}

/// What the command says of the README's first document.
fn said(arguments: &[&str]) -> String {
    let (_, document) = README.split_once("````markdown\n").unwrap();
    let (document, _) = document.split_once("````").unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), document).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_latchkey"))
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, error) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{error}");
    out
}

#[test]
fn its_first_contract_is_right_and_does_what_it_says() {
    assert_eq!(said(&["check", "doors.md"]), "doors.md: 1 entity, 2 contracts, no mistakes\n");
    let tested = said(&["test", "doors.md"]);
    assert!(tested.starts_with("doors.md: 1 example, 2 requests, all as they say\n"), "{tested}");
    let explained = said(&["explain", "D-02", "doors.md"]);
    assert!(explained.contains("attribute_not_exists"), "{explained}");
}
