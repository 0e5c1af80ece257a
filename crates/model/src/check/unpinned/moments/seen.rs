//! The facts that an answer rests on, each with the read that it is of.

use crate::check::flow::Group;
use crate::check::truth::Passed;
use crate::check::unpinned::Use;
use crate::check::unpinned::pin::{Pin, held};
use crate::model::{BindingId, Contract, Model, Read, Strong, What};

/// A fact, and the read that it is of.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a, 'u> {
    pub(super) used: &'u Use<'a>,
    pub(super) read: &'a Read,
    /// The place of the read among those of the way.
    pub(super) at: usize,
}

/// The facts of strong reads that nothing pins. A fact that many tests ask for is one: every two of them are compared,
/// wherever the call may end, and who can change a fact does not depend on the test that asks for it.
pub(super) fn seen<'a, 'u>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    uses: &'u [Use<'a>],
) -> Vec<Seen<'a, 'u>> {
    let guards = group.legs.last().map_or(&[][..], |leg| &leg.guards);
    let mut found: Vec<Seen<'a, 'u>> = Vec::new();
    for used in uses {
        if found.iter().any(|other| is_same(other.used, used)) {
            continue;
        }
        let Some((at, read)) = moment(group, used.fact.binding()) else { continue };
        if !matches!(read.strong, Strong::No)
            && held(model, contract, group, guards, used) == Pin::Nothing
        {
            found.push(Seen { used, read, at });
        }
    }
    found
}

/// Whether one fact is relied on within the same tests.
fn is_same(a: &Use<'_>, b: &Use<'_>) -> bool {
    let is_one =
        |(a, b): (&Passed<'_>, &Passed<'_>)| std::ptr::eq(a.test, b.test) && a.truth == b.truth;
    a.fact == b.fact && a.when.len() == b.when.len() && a.when.iter().zip(&b.when).all(is_one)
}

/// The read that a binding's values are of: of a part, the query it was taken from.
fn moment<'a>(group: &Group<'a>, binding: BindingId) -> Option<(usize, &'a Read)> {
    let (at, read) = group.read_of(binding)?;
    let (at, read) = match &read.what {
        What::Part(part) => group.read_of(part.of)?,
        _ => (at, read),
    };
    // What was read before the last commit is of another unit.
    let reading = group.way.readings.get(at)?;
    group.way.is_of_unit(reading).then_some((at, read))
}

#[cfg(test)]
mod tests {
    use super::super::{Search, failures};
    use super::*;
    use crate::check::changes::Changes;
    use crate::check::flow::moments;
    use crate::check::unpinned::Fact;

    /// A contract that asks for one attribute of an item in many tests.
    fn asking(tests: usize) -> String {
        let tests: String = (0..tests)
            .map(|n| format!("require card.state == DONE or caller.id == \"u{n}\" or card.at < now else 403 no{n}\n"))
            .collect();
        format!(
            "```contract\nsystem cards\ntable Cards {{ type kind }}\n\
             entity Card \"CARD\" {{\nPK = \"CARD#{{cardId}}\"\nSK = \"META\"\ncardId id, state OPEN | DONE, at time\n}}\n\
             contract C-1 \"Look\" {{\nGET /cards/{{cardId}}\nallow true\n\
             card = get Card strong else 404 not-found\n{tests}return card\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    }

    #[test]
    fn a_fact_that_many_tests_ask_for_is_compared_once() {
        for tests in [1, 10, 60] {
            let checked = crate::check(&asking(tests));
            let model = checked.model;
            let changes = Changes::new(&model);
            let search = Search::new(&model, &changes);
            let contract = &model.contracts[0];
            let failures = failures(contract);
            for group in moments(&model, contract) {
                let uses = search.rests_on(contract, &failures, &group);
                let seen = seen(&model, contract, &group, &uses);
                let of_key =
                    |one: &&Seen<'_, '_>| matches!(one.used.fact, Fact::Attribute(_, "cardId"));
                // `state`, `at`, and that the card is there.
                let asked = seen.iter().filter(|one| !of_key(one)).count();
                assert!(asked <= 3, "{asked} facts of {} uses", uses.len());
            }
        }
    }
}
