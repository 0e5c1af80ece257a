//! What a contract does and states of itself: the prose above it, who may call it, and its facts.

use latchkey_model::model::{ExprKind, Facts, StepKind, each_step};
use latchkey_openapi::prose_above;
use maud::{Markup, html};

use super::Subject;
use crate::markdown::{self, Insert};
use crate::route;
use crate::shown::shown;

pub(super) fn cards(subject: Subject<'_>) -> Markup {
    let prose = prose_above(subject.model, subject.contract.span).unwrap_or_default();
    let prose = markdown::render(&prose, &[], &mut Links(subject));
    let (callers, facts) = (callers(subject), facts(subject));
    html! {
        section.card.about aria-label="What it does" {
            @if !prose.0.is_empty() { div.prose { (prose) } }
            dl.facts {
                @if !callers.is_empty() {
                    div.wide {
                        dt { "Who may call" }
                        dd { @for one in &callers { (one) } }
                    }
                }
                @for (name, value) in &facts { div { dt { (name) } dd { (shown(value)) } } }
            }
        }
    }
}

/// The links of the prose: to the headings of its document.
struct Links<'a>(Subject<'a>);

impl Insert for Links<'_> {
    fn block(&mut self, _: usize) -> Option<String> {
        None
    }

    fn relative(&self, target: &str) -> Option<String> {
        let id = markdown::heading_id(target.strip_prefix('#')?);
        let model = self.0.model;
        let known = markdown::headings(&model.text).iter().any(|heading| heading.id == id);
        known.then(|| format!("{}#{id}", route::document(&model.system)))
    }
}

/// Who may call it, as the document says. A worker has no caller.
fn callers(subject: Subject<'_>) -> Vec<Markup> {
    let Subject { contract, .. } = subject;
    if contract.open.is_some() {
        return vec![html! { p { "anyone, without a token" } }];
    }
    let mut all = Vec::new();
    let mut tests: Vec<String> = Vec::new();
    each_step(&contract.steps, &mut |step| {
        let StepKind::Allow(test) = &step.kind else { return };
        let words = subject.words(test.span);
        if tests.contains(&words) {
            return;
        }
        all.push(match test.kind {
            ExprKind::Bool(true) => html! { p { "everyone with a token" } },
            _ => html! { p { code { (shown(&words)) } } },
        });
        tests.push(words);
    });
    if all.is_empty() && contract.route.is_some() {
        all.push(html! { p { "everyone with a token" } });
    }
    all
}

/// The facts, by name.
fn facts(subject: Subject<'_>) -> Vec<(&'static str, String)> {
    let Subject { model, contract, .. } = subject;
    let Facts { consistency, expect, rate, cost, idempotent, by_key, cache, limit, waivers: _ } =
        &contract.facts;
    let mut all = Vec::new();
    let mut add = |name, value: Option<String>| all.extend(value.map(|value| (name, value)));
    let strong = |strong: bool| if strong { "strong" } else { "eventual" }.to_owned();
    add("Consistency", consistency.as_ref().map(|stated| strong(stated.value)));
    add("Expects", expect.as_ref().map(|stated| items(stated.value)));
    add("Called", rate.as_ref().map(|stated| stated.value.to_string()));
    add("Limit", limit.as_ref().map(|stated| stated.value.to_string()));
    add("Cost declared", cost.as_ref().map(|stated| stated.value.to_string()));
    add("Kept for", cache.as_ref().map(|stated| format!("{} s", stated.value)));
    let by_entity = idempotent.as_ref().map(|stated| model.entities[stated.value].name.clone());
    add("Idempotent by", by_entity.or(by_key.map(|_| "Idempotency-Key".to_owned())));
    if let Some(page) = contract.page() {
        let size = u64::from(page.size);
        add("Page", Some(format!("{}, at most {}", items((size, Some(size))), page.max)));
    }
    all
}

/// How many items: `1 item`, `0 to 25 items`, `at least 2 items`, `any number of items`.
fn items((low, high): (u64, Option<u64>)) -> String {
    match high {
        Some(1) if low == 1 => "1 item".to_owned(),
        Some(high) if high == low => format!("{low} items"),
        Some(high) => format!("{low} to {high} items"),
        None if low == 0 => "any number of items".to_owned(),
        None => format!("at least {low} items"),
    }
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn a_number_of_items_is_told_in_words() {
        assert_eq!(items((1, Some(1))), "1 item");
        assert_eq!(items((0, Some(1))), "0 to 1 items");
        assert_eq!(items((3, Some(3))), "3 items");
        assert_eq!(items((0, None)), "any number of items");
        assert_eq!(items((2, None)), "at least 2 items");
    }
}
