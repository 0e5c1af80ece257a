//! The contracts of a document, in the groups that its headings make.

use latchkey_model::Model;
use latchkey_model::model::Contract;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

/// A heading of a document, and the contracts below it.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// The text of the heading; empty for contracts above the first.
    pub(crate) title: String,
    /// The contracts, in the order of the document.
    pub(crate) contracts: Vec<&'a Contract>,
}

/// The contracts and workers of a document by its headings of the first two levels. A smaller heading is often that of
/// one contract, and makes no group.
pub(crate) fn groups(model: &Model) -> Vec<Group<'_>> {
    let headings = headings(&model.text);
    let mut groups: Vec<(usize, Group<'_>)> = Vec::new();
    let mut all: Vec<&Contract> =
        model.contracts.iter().chain(model.workers.iter().map(|worker| &worker.body)).collect();
    all.sort_by_key(|contract| contract.span.start);
    for contract in all {
        let at = headings.partition_point(|(start, _)| *start < contract.span.start);
        let title = at.checked_sub(1).and_then(|before| headings.get(before));
        let title = title.map_or_else(String::new, |(_, title)| title.clone());
        match groups.last_mut().filter(|(own, _)| *own == at) {
            Some((_, group)) => group.contracts.push(contract),
            None => groups.push((at, Group { title, contracts: vec![contract] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The headings of the first two levels: where each begins, and its text.
fn headings(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open) = (Vec::new(), None::<(usize, String)>);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, .. }), _) if level <= HeadingLevel::H2 => {
                open = Some((range.start, String::new()));
            }
            (Event::Text(part) | Event::Code(part), Some((_, title))) => title.push_str(&part),
            (Event::End(TagEnd::Heading(_)), _) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::headings;

    #[test]
    fn headings_of_two_levels_are_found() {
        let found = headings("# A `b`\n\ntext\n\n## C\n### D\n```\n# no\n```\nE\n-\n");
        let found: Vec<(usize, &str)> =
            found.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(found, [(0, "A b"), (15, "C"), (39, "E")]);
    }
}
