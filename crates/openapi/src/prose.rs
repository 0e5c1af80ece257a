//! The document's own words: its head, the prose above a block, the comment behind an attribute.

use latchkey_language::{Span, blocks};
use latchkey_model::Model;

/// The title of a document, and what it says before its first block.
pub(crate) struct Head {
    pub(crate) title: String,
    pub(crate) text: String,
}

pub(crate) fn head(model: &Model) -> Head {
    let text = model.text.as_str();
    let first = blocks(text).first().map_or(text.len(), |block| block.opening.start);
    let before = text.get(..first).unwrap_or_default();
    let title = before.lines().find_map(|line| line.strip_prefix("# "));
    let title = title.map_or(model.system.as_str(), str::trim).to_owned();
    let said = nearest(before);
    let text = if said.is_empty() { format!("The system {}.", model.system) } else { said };
    Head { title, text }
}

/// The prose above the block in which something is declared, up to a heading or another block.
pub(crate) fn above(model: &Model, declared: Span) -> Option<String> {
    let text = model.text.as_str();
    let within = |block: &latchkey_language::Block| {
        block.text.start <= declared.start && declared.start < block.text.end
    };
    let block = blocks(text).into_iter().find(within)?;
    let said = nearest(text.get(..block.opening.start)?);
    (!said.is_empty()).then_some(said)
}

/// The last paragraphs of a text, behind the last heading, fence or end of an HTML comment.
fn nearest(text: &str) -> String {
    let ends = |line: &str| {
        let line = line.trim_start();
        ["#", "```", "~~~"].into_iter().any(|mark| line.starts_with(mark)) || line.ends_with("-->")
    };
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().rposition(|line| ends(line)).map_or(0, |at| at + 1);
    lines.get(start..).unwrap_or_default().join("\n").trim().to_owned()
}

/// The comment at the end of the line of a declaration, if nothing else is declared there.
pub(crate) fn comment(model: &Model, declared: Span, others: &[Span]) -> Option<String> {
    let rest = model.text.get(declared.end..)?;
    let line = rest.lines().next()?;
    let end = declared.end + line.len();
    let before = model.text.get(..declared.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let here = |other: &&Span| (before..end).contains(&other.start);
    if others.iter().filter(here).count() > 1 {
        return None;
    }
    let mut quoted = false;
    let mut escaped = false;
    let mut place = None;
    for (at, c) in line.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '/' if !quoted && line.get(at..).is_some_and(|rest| rest.starts_with("//")) => {
                place = Some(at);
                break;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    let said = line.get(place? + 2..)?.trim();
    let mut characters = said.chars();
    let first = characters.next()?.to_uppercase();
    let ended = if said.ends_with(['.', '!', '?']) { "" } else { "." };
    Some(format!("{first}{}{ended}", characters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# Doors\n\nWhat opens.\n\nAnd shuts.\n\n```contract\nsystem doors\n\
        entity Door \"DOOR\" {\n  a id  // the // first\n  b id, c id // both\n  d text(9) like \"//\" // \"last\"\n}\n```\n\n\
        ## Getting\nOne of them.\n\n```contract\ncontract D-01 \"Get\" {\n}\n```\n```example\n```\n\n\
        ```contract\ncontract D-02 \"Put\" {\n}\n```\n";

    fn model() -> Model {
        Model { text: DOCUMENT.to_owned(), system: "doors".to_owned(), ..Model::default() }
    }

    fn span(of: &str) -> Span {
        let start = DOCUMENT.find(of).unwrap();
        Span::new(start, start + of.len())
    }

    #[test]
    fn the_head_is_what_comes_before_the_first_block() {
        let Head { title, text } = head(&model());
        assert_eq!((title.as_str(), text.as_str()), ("Doors", "What opens.\n\nAnd shuts."));
    }

    #[test]
    fn the_prose_above_a_block_ends_at_a_heading_or_a_block() {
        assert_eq!(above(&model(), span("contract D-01")).as_deref(), Some("One of them."));
        assert_eq!(above(&model(), span("contract D-02")), None);
    }

    #[test]
    fn a_comment_is_of_the_one_attribute_in_its_line() {
        let model = model();
        let all = ["a id ", "b id,", "c id ", "d text"].map(span);
        let said = all.map(|one| comment(&model, one, &all));
        let expected = [Some("The // first."), None, None, Some("\"last\".")];
        assert_eq!(said.each_ref().map(Option::as_deref), expected);
    }
}
