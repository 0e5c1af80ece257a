//! What the writes of a transaction rest on by the legs beside them. A `check` decides whether they happen, so that its
//! key and what its condition compares with are facts that they rest on. So is the test of a `when` around any leg or
//! send, also where it came out the other way: they happen without that leg.

use super::{Act, Site, Use, collect, gone_through, retain_known, tested, which_item};
use crate::check::flow::{Group, within};
use crate::check::truth::Passed;
use crate::model::{Contract, Kind, Leg, Verb};
use crate::types::Type;

/// The facts that writes and sends rest on by the other legs of their transaction.
pub(super) fn uses<'a, 'g>(
    contract: &'a Contract,
    group: &'g Group<'a>,
    acts: &[Site<'a, 'g>],
) -> Vec<(Site<'a, 'g>, Use<'a>)> {
    let mut all = Vec::new();
    if acts.is_empty() {
        return all;
    }
    let mut add = |site: Site<'a, 'g>, mut found: Vec<Use<'a>>| {
        which_item(contract, group, &mut found);
        retain_known(group, &mut found);
        all.extend(found.into_iter().map(|used| (site, used)));
    };
    for placed in group.legs.iter().filter(|placed| placed.leg.verb == Verb::Check) {
        let (leg, guards): (&'a Leg, _) = (placed.leg, &placed.guards[..]);
        let mut found = Vec::new();
        let values = leg.key.iter().map(|given| &given.value).chain(&leg.condition);
        values.for_each(|value| collect(group, value, None, &mut found));
        gone_through(guards, &mut found);
        add((Act::Write(leg), guards), found);
    }
    let legs = group.legs.iter().map(|placed| (Act::Write(placed.leg), &placed.guards[..]));
    let sends = group.sends.iter().map(|sent| (Act::Send(sent.send), &sent.guards[..]));
    for (act, guards) in legs.chain(sends) {
        for at in 0..guards.len() {
            let (Some(own), Some(test)) = (guards.get(..=at), guards.get(at)) else { continue };
            let alone = acts.iter().any(|(_, others)| !within(others, own));
            // An `each` goes through a list: that is no test.
            if !matches!(test.test.of, Kind::Test | Kind::Value(Type::Bool)) || !alone {
                continue;
            }
            let mut found = Vec::new();
            asked(group, own, test.truth, &mut found);
            asked(group, own, !test.truth, &mut found);
            add((act, &[]), found);
        }
    }
    all
}

/// The facts that the last of some tests, one within the other, asks for if it comes out so. A leg within the same tests
/// pins them.
fn asked<'a>(group: &Group<'a>, tests: &[Passed<'a>], truth: bool, found: &mut Vec<Use<'a>>) {
    let Some((last, around)) = tests.split_last() else { return };
    let last = Passed { truth, ..*last };
    let from = found.len();
    tested(group, last, found);
    let when: Vec<_> = around.iter().copied().chain([last]).collect();
    found.iter_mut().skip(from).for_each(|used| used.when.clone_from(&when));
}
