//! The reference of a document in Markdown: its keys, the table of its accesses, and the card of each contract.
//!
//! What the document says is escaped, so that no word of it is a heading, a link or HTML.

use std::fmt::Write as _;

use super::access::Access;
use super::card::{Card, Who};
use super::{Reading, keyspace};
use crate::shown::shown;

/// The reference.
pub(crate) fn markdown(reading: &Reading<'_>) -> String {
    let model = reading.model;
    let mut out = format!("# {}\n\n", text(&model.system));
    line(
        &mut out,
        &format!(
            "Made by `latchkey docs` from {}. Table {}.",
            code(reading.path),
            code(&model.table.name)
        ),
    );
    keys(reading, &mut out);
    line(&mut out, "## Screen → key");
    let mut rows = Vec::new();
    for card in &reading.cards {
        for access in &card.accesses {
            let contract = format!("{} {}", text(&card.id), text(&card.title));
            rows.push(std::iter::once(contract).chain(cells(access)).collect());
        }
    }
    table(
        &mut out,
        &["Contract", "Operation", "On", "Partition", "Sort key", "Consistency"],
        &rows,
    );
    findings(reading, &mut out);
    line(&mut out, "## Contracts");
    for card in &reading.cards {
        contract(card, &mut out);
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

/// A paragraph.
fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = write!(out, "{text}\n\n");
}

fn keys(reading: &Reading<'_>, out: &mut String) {
    let model = reading.model;
    line(out, "## Keys");
    for space in keyspace::spaces(model) {
        let kind = if space.index { "Index" } else { "Table" };
        line(out, &format!("{kind} {}, by {}:", code(space.name), code(&space.key)));
        let mut rows = Vec::new();
        for partition in &space.partitions {
            for (sort, partition, id) in &partition.lies {
                let entity = &model.entities[*id];
                let tied = keyspace::note(model, entity).unwrap_or_default();
                rows.push(vec![code(partition), code(sort), text(&entity.name), text(&tied)]);
            }
        }
        table(out, &["Partition", "Sort key", "Entity", "Tied to"], &rows);
    }
}

fn findings(reading: &Reading<'_>, out: &mut String) {
    line(out, "## Findings of the check");
    if reading.findings.is_empty() {
        line(out, "No warning, and no rule is waived.");
        return;
    }
    let rows: Vec<Vec<String>> = reading
        .findings
        .iter()
        .map(|one| {
            vec![
                one.line.to_string(),
                one.kind.word().to_owned(),
                code(one.rule),
                text(&one.message),
            ]
        })
        .collect();
    table(out, &["Line", "Kind", "Rule", "What"], &rows);
}

fn contract(card: &Card, out: &mut String) {
    line(out, &format!("### {}: {}", text(&card.id), text(&card.title)));
    let mut list = vec![format!("{} {}", text(&card.method), code(&card.path))];
    list.extend(card.who.iter().map(|who| match who {
        Who::Told(words) => format!("who may call: {words}"),
        Who::Test(test) => format!("who may call: {}", code(test)),
    }));
    let declared = card
        .declared
        .as_ref()
        .map_or_else(String::new, |declared| format!(", declared {}", text(declared)));
    let record = if card.keeps_records {
        ", and the record of a call with an `Idempotency-Key`"
    } else {
        ""
    };
    list.push(format!("cost of a call: at most {}{declared}{record}", card.most));
    list.extend(card.facts.iter().map(|(name, value)| format!("{name}: {}", text(value))));
    let uses: Vec<String> = card.uses.iter().map(|(line, _)| line.to_string()).collect();
    if !uses.is_empty() {
        list.push(format!("examples in lines {}", uses.join(", ")));
    }
    for item in &list {
        let _ = writeln!(out, "- {item}");
    }
    out.push('\n');
    let rows: Vec<Vec<String>> =
        card.accesses.iter().map(|access| cells(access).collect()).collect();
    table(out, &["Operation", "On", "Partition", "Sort key", "Consistency"], &rows);
    let failed = card.failures.iter().map(|failure| {
        let status =
            failure.status.map_or_else(|| "a failed try".to_owned(), |status| status.to_string());
        vec![status, code(&failure.code), text(&failure.message), failure.line.to_string()]
    });
    table(out, &["Status", "Code", "Message", "Line"], &failed.collect::<Vec<_>>());
    for asked in card.requests.iter().flatten() {
        let fence = "`".repeat(ticks(&asked.json).max(2) + 1);
        line(out, &format!("{}:\n\n{fence}json\n{}\n{fence}", asked.operation, shown(&asked.json)));
    }
}

fn cells(access: &Access) -> impl Iterator<Item = String> {
    let on = access.index.as_deref().map_or_else(|| "table".to_owned(), code);
    let fresh = if access.consistency.is_empty() { "write" } else { access.consistency };
    let cells = [
        access.operation.to_owned(),
        on,
        code(&access.partition),
        code(&access.sort),
        fresh.to_owned(),
    ];
    cells.into_iter()
}

/// A table; nothing where it has no row.
fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}

/// The longest run of backticks in a text.
fn ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A text on one line, with every sign of Markdown and HTML escaped.
fn text(text: &str) -> String {
    let mut out = String::new();
    for c in shown(text).chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '(' | ')' | '#' | '!'
            | '|' | '~' | '&' | ':' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A text as code on one line, also in the cell of a table; nothing where it is empty.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let one = shown(text).replace(['\n', '\t'], " ");
    let fence = "`".repeat(ticks(&one) + 1);
    let space = if one.starts_with('`') || one.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", one.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_escaped() {
        assert_eq!(text("a|<b>[x](javascript:y)"), "a\\|\\<b\\>\\[x\\]\\(javascript\\:y\\)");
        assert_eq!(text("# a\n\n# b"), "\\# a  \\# b");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a|"), "`` `a\\| ``");
    }
}
