//! `route-clash`: two contracts that can match one request.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use crate::model::{Contract, Model, Route, Segment};
use crate::regular::Language;

pub(super) fn check(model: &Model, report: &mut Report) {
    // Only routes of one method, length and first word can clash, or those whose first word is open.
    let mut alike: HashMap<_, Vec<(&Contract, &Route)>> = HashMap::new();
    for contract in &model.contracts {
        let Some(route) = &contract.route else { continue };
        let key = |first| (route.method, route.segments.len(), first);
        let first = match route.segments.first() {
            Some(Segment::Literal(text)) => Some(text.as_str()),
            _ => None,
        };
        let same = alike.get(&key(first)).into_iter().flatten();
        let open = first.and_then(|_| alike.get(&key(None))).into_iter().flatten();
        // An open first word can be any of those above.
        let any = alike.iter().filter(|((method, length, word), _)| {
            let fits = *method == route.method && *length == route.segments.len();
            fits && first.is_none() && word.is_some()
        });
        let any = any.flat_map(|(_, contracts)| contracts);
        for (other, other_route) in same.chain(open).chain(any) {
            if clash(contract, route, other, other_route) {
                raise(contract, route, other, other_route, report);
            }
        }
        alike.entry(key(first)).or_default().push((contract, route));
    }
}

fn raise(
    contract: &Contract,
    route: &Route,
    other: &Contract,
    other_route: &Route,
    report: &mut Report,
) {
    let message = format!("`{}` and `{}` can be meant by one request", contract.id, other.id);
    let diagnostic = Diagnostic::new(Rule::RouteClash, route.span, message)
        .other(other_route.span, format!("the route of `{}`", other.id))
        .why("which of the two answers would depend on chance")
        .help("change one of the paths by a word of its own");
    report.raise(diagnostic, &[]);
}

fn clash(contract: &Contract, route: &Route, other: &Contract, other_route: &Route) -> bool {
    let pairs = || route.segments.iter().zip(&other_route.segments);
    let apart = |(a, b): (&Segment, &Segment)| matches!((a, b), (Segment::Literal(a), Segment::Literal(b)) if a != b);
    !pairs().any(apart) && pairs().all(|(a, b)| language(contract, a).meets(&language(other, b)))
}

fn language(contract: &Contract, segment: &Segment) -> Language {
    match segment {
        Segment::Literal(text) => Language::literal(text),
        Segment::Input(input) => contract.inputs[*input].kind.language(None),
    }
}
