//! The `detail` of a problem for which the document has no text: what happened, and what to do.

use latchkey_model::model::{self, EntityId, Expr, GivenPart, Model, PutMode, Verb};

use super::{Planned, Unplanned};

/// What a problem is answered to.
pub(super) enum Cause<'a> {
    /// A read of an entity found nothing.
    Read(EntityId),
    /// A requirement does not hold.
    Require(&'a Expr),
    /// The caller's version is not the current one.
    Match,
    /// A write was refused.
    Leg(&'a model::Leg),
}

/// What happened, and what to do.
///
/// Within a status that hides things, 403 and 404, every cause is told alike: whether something is there and not
/// the caller's must not show.
pub(super) fn detail(model: &Model, status: u16, cause: &Cause<'_>) -> Planned<String> {
    let name = |entity: EntityId| &model.entities[entity].name;
    Ok(match (status, cause) {
        (401 | 403, _) => "the caller does not have the right to do this".to_owned(),
        (404, _) => "nothing was found for what was sent; check the ids".to_owned(),
        (_, Cause::Read(entity)) => {
            format!("there is no {} for what was sent", name(*entity))
        }
        (_, Cause::Match) => {
            "the version that was sent is not the current one; read again, and send the version that is there now"
                .to_owned()
        }
        (_, Cause::Require(test)) => {
            format!("this needs `{}`, which does not hold", text(model, test)?)
        }
        (_, Cause::Leg(leg)) => {
            let name = name(leg.entity);
            match (&leg.condition, leg.verb) {
                (Some(test), _) => format!(
                    "the {name} that is stored must be so: `{}`; read it before you try again",
                    text(model, test)?
                ),
                (None, Verb::Put) if leg.put == Some(PutMode::Replace) => {
                    format!("an item of another type has the key of this {name}")
                }
                (None, Verb::Put) => {
                    format!("the key is taken, by the {name} itself or by an item of another type")
                }
                (None, _) => match (records(model, leg), leg.absent.is_some()) {
                    (None, _) => format!("there is no {name} to change for what was sent"),
                    (Some(records), true) => format!("the {name} has no {records} to change"),
                    (Some(records), false) => {
                        format!("there is no {name} to change for what was sent, or it has no {records}")
                    }
                },
            }
        }
    })
}

/// The records of which a write sets members, and that may be absent.
fn records(model: &Model, leg: &model::Leg) -> Option<String> {
    let entity = &model.entities[leg.entity];
    let within = leg.values.iter().filter_map(|given| match &given.part {
        GivenPart::Within(steps) => {
            let attribute = entity.attribute(&given.attribute)?;
            (attribute.optional || steps.len() > 1).then_some(given.attribute.as_str())
        }
        GivenPart::Whole | GivenPart::Element | GivenPart::NoElement => None,
    });
    let mut names: Vec<&str> = within.collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// An expression as the document has it, in one line.
fn text(model: &Model, expression: &Expr) -> Planned<String> {
    let text = model.text.get(expression.span.range());
    let text = text.ok_or_else(|| Unplanned::new("a test does not stand in the document"))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
