//! `route-clash`: two contracts that can match one request, or a contract and the server itself.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::name::SERVER_PATHS;

use super::Report;
use crate::model::{Contract, Model, Route, Segment};
use crate::regular::Language;

pub(super) fn check(model: &Model, report: &mut Report) {
    // Only routes of one method, length and first word can clash, or those whose first word is open.
    let mut alike: HashMap<_, Vec<(&Contract, &Route)>> = HashMap::new();
    for contract in &model.contracts {
        let Some(route) = &contract.route else { continue };
        of_the_server(contract, route, report);
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

/// A route that can be one of the paths that the server answers itself, whatever the method.
fn of_the_server(contract: &Contract, route: &Route, report: &mut Report) {
    let [segment] = route.segments.as_slice() else { return };
    let meets = |path: &&str| language(contract, segment).meets(&Language::literal(path));
    let Some(path) = SERVER_PATHS.into_iter().find(meets) else { return };
    let (message, why, waivers) = match segment {
        Segment::Literal(_) => (
            format!("`/{path}` is a path of the server itself"),
            "a server would refuse the document",
            [].as_slice(),
        ),
        Segment::Input(_) => (
            format!(
                "`{}` and the server's own path `/{path}` can be meant by one request",
                contract.id
            ),
            "the server would answer, for a word comes before an input",
            contract.facts.waivers.as_slice(),
        ),
    };
    let help = "change the path by a word of its own";
    let diagnostic = Diagnostic::new(Rule::RouteClash, route.span, message);
    report.raise(diagnostic.why(why).help(help), waivers);
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
        .other(other_route.span, format!("the route of `{}`", other.id));
    let help = "change one of the paths by a word of its own";
    if is_special(other_route, route) {
        // The waiver stands above the route that loses requests to the other.
        let why = format!("`{}` would answer, for a word comes before an input", other.id);
        report.raise(diagnostic.why(why).help(help), &contract.facts.waivers);
    } else if is_special(route, other_route) {
        let why = format!("`{}` would answer, for a word comes before an input", contract.id);
        report.raise(diagnostic.why(why).help(help), &other.facts.waivers);
    } else {
        let why = "which of the two answers would depend on chance";
        report.raise(diagnostic.why(why).help(help), &[]);
    }
}

/// Whether a route has a word wherever another has one, and in at least one place more.
fn is_special(route: &Route, other: &Route) -> bool {
    let is_word = |segment: &Segment| matches!(segment, Segment::Literal(_));
    let mut pairs = route.segments.iter().zip(&other.segments);
    let words = |route: &Route| route.segments.iter().filter(|one| is_word(one)).count();
    pairs.all(|(own, its)| is_word(own) || !is_word(its)) && words(route) > words(other)
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

#[cfg(test)]
mod tests {
    use latchkey_language::Level;

    /// The errors of a document with these two routes, each with what stands above it.
    fn told(first: &str, second: &str) -> Vec<String> {
        let contract = |id: &str, route: &str| {
            format!(
                "contract {id} \"Get\" {{\n  {route}\n  allow true\n  \
                 found = get Door(hall = \"x\", door = \"y\") strong else 404 not-found\n  \
                 return found\n  consistency strong\n  expect 1 item\n  rate 1/s\n}}\n"
            )
        };
        let text = format!(
            "```contract\nsystem doors\ntable Doors {{ type kind }}\nentity Door \"DOOR\" {{\n  \
             PK = \"HALL#{{hall}}\"\n  SK = \"DOOR#{{door}}\"\n  hall id, door id\n}}\n{}{}```\n",
            contract("D-1", first),
            contract("D-2", second)
        );
        let found = crate::check(&text).diagnostics.into_iter();
        let errors = found.filter(|found| found.level == Level::Error);
        errors.map(|found| format!("{}: {}", found.rule, found.message)).collect()
    }

    const CLASH: &str = "route-clash: `D-2` and `D-1` can be meant by one request";
    const WAIVE: &str = "waive route-clash \"no door is called front\"\n  ";

    #[test]
    fn a_word_may_come_before_an_input_where_the_input_says_why() {
        let (open, word) = ("GET /halls/{hall}/{door}", "GET /halls/{hall}/front");
        let waived = format!("{WAIVE}{open}");
        assert_eq!(told(open, word), [CLASH]);
        assert_eq!(told(&waived, word), [""; 0]);
        assert_eq!(told(word, &waived), [""; 0]);
        // Above the other route it excuses nothing.
        let needless = "waive: nothing here breaks `route-clash`";
        let mut found = told(open, &format!("{WAIVE}{word}"));
        found.sort_unstable();
        assert_eq!(found, [CLASH, needless]);
    }

    /// `check` found nothing, and `serve` refused the document.
    #[test]
    fn no_route_is_one_of_the_servers_own() {
        for path in latchkey_value::name::SERVER_PATHS {
            let told_own = format!("route-clash: `/{path}` is a path of the server itself");
            assert_eq!(told(&format!("GET /{path}"), "GET /halls"), [&*told_own]);
            // Whatever the method, and whatever a waiver says.
            let waived = told(&format!("{WAIVE}POST /{path}"), "GET /halls");
            assert!(waived.contains(&told_own), "{waived:?}");
            assert_eq!(told(&format!("GET /halls/{path}"), "GET /halls"), [""; 0]);
        }
        let open =
            "route-clash: `D-1` and the server's own path `/health` can be meant by one request";
        assert_eq!(told("GET /{hall}", "GET /halls/main"), [open]);
        assert_eq!(told(&format!("{WAIVE}GET /{{hall}}"), "GET /halls/main"), [""; 0]);
    }

    #[test]
    fn routes_of_which_neither_has_more_words_clash_whatever_is_said() {
        for (first, second) in [
            ("GET /halls/{hall}/{door}", "GET /halls/{door}/{hall}"),
            ("GET /halls/{hall}/front", "GET /halls/main/{door}"),
            ("GET /halls/main/front", "GET /halls/main/front"),
        ] {
            let found = told(&format!("{WAIVE}{first}"), &format!("{WAIVE}{second}"));
            assert!(found.iter().any(|one| one == CLASH), "{first}, {second}: {found:?}");
        }
    }
}
