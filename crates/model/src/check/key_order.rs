//! `key-order`: a part of a sort key that does not sort as its value does.

use latchkey_language::Diagnostic;

use super::Report;
use crate::model::{Hole, Model};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        let indexes = entity.indexes.iter().map(|index| &index.key.sort);
        for hole in indexes.chain([&entity.key.sort]).flat_map(|sort| sort.holes()) {
            if let Some((message, help)) = breach(hole) {
                let diagnostic = Diagnostic::new("key-order", hole.span, message)
                    .why("keys are compared as text: `10` sorts before `9`")
                    .help(help);
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
}

fn breach(hole: &Hole) -> Option<(String, String)> {
    let name = &hole.attribute;
    match (&hole.kind, hole.width) {
        (Type::Int { .. } | Type::Counter, None) => Some((
            format!("`{name}` does not sort as a number does"),
            format!("pad it: `{{{name}:06}}`"),
        )),
        (Type::Int { low, .. }, Some(_)) if low.is_none_or(|low| low < 0) => Some((
            format!("`{name}` may be negative, which does not sort"),
            format!("bound it from below: `{name} int 0..`"),
        )),
        (Type::Int { high: Some(high), .. }, Some(width)) if high.to_string().len() > width => {
            Some((
                format!("`{name}` can have more than {width} digits"),
                format!(
                    "pad it to {}: `{{{name}:0{}}}`",
                    high.to_string().len(),
                    high.to_string().len()
                ),
            ))
        }
        (Type::Number { .. }, _) => Some((
            format!("`{name}` is a decimal, which does not sort as text"),
            "store a whole number of the smallest unit instead, and pad it".to_owned(),
        )),
        _ => None,
    }
}
