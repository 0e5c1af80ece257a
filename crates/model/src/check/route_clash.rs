//! `route-clash`: two contracts that can match one request.

use latchkey_language::Diagnostic;

use super::Report;
use crate::model::{Contract, Model, Route, Segment};
use crate::regular::Language;

pub(super) fn check(model: &Model, report: &mut Report) {
    for (at, contract) in model.contracts.iter().enumerate() {
        let Some(route) = &contract.route else { continue };
        for other in model.contracts.iter().take(at) {
            let Some(other_route) = &other.route else { continue };
            if clash(contract, route, other, other_route) {
                let message =
                    format!("`{}` and `{}` can be meant by one request", contract.id, other.id);
                let diagnostic = Diagnostic::new("route-clash", route.span, message)
                    .other(other_route.span, format!("the route of `{}`", other.id))
                    .why("which of the two answers would depend on chance")
                    .help("change one of the paths by a word of its own");
                report.raise(diagnostic, &[]);
            }
        }
    }
}

fn clash(contract: &Contract, route: &Route, other: &Contract, other_route: &Route) -> bool {
    route.method == other_route.method
        && route.segments.len() == other_route.segments.len()
        && route
            .segments
            .iter()
            .zip(&other_route.segments)
            .all(|(a, b)| language(contract, a).meets(&language(other, b)))
}

fn language(contract: &Contract, segment: &Segment) -> Language {
    match segment {
        Segment::Literal(text) => Language::literal(text),
        Segment::Input(name) => {
            let input = contract.inputs.iter().find(|input| input.name == *name);
            input.map_or_else(
                || Language::default().then_anything(),
                |input| input.kind.language(None),
            )
        }
    }
}
