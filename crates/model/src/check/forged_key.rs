//! `forged-key`: a part of a key whose end is not clear, so that two different items can have the same key, or that a
//! query which asks for one part finds the items of another.

mod asked;

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use crate::model::{Hole, Model, Piece, Template};
use crate::regular::{Split, Splits, splits};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    asked::check(model, report);
    for entity in &model.entities {
        let indexes =
            entity.indexes.iter().flat_map(|index| [&index.key.partition, &index.key.sort]);
        for template in indexes.chain([&entity.key.partition, &entity.key.sort]) {
            let mut rest = template.pieces.as_slice();
            while let [piece, behind @ ..] = rest {
                rest = behind;
                let Piece::Hole(hole) = piece else { continue };
                if let Some(diagnostic) = breach(hole, behind) {
                    report.raise(diagnostic, &entity.waivers);
                }
            }
        }
    }
}

/// What is wrong with a part of a key, given the pieces that follow it.
fn breach(hole: &Hole, behind: &[Piece]) -> Option<Diagnostic> {
    if hole.kind.is_any_text() {
        return Some(any_text(hole));
    }
    let language = hole.kind.language(hole.format);
    let separator = match behind.first() {
        Some(Piece::Literal(text)) => text.chars().next().filter(char::is_ascii),
        Some(Piece::Hole(_)) | None => None,
    };
    let contains = |c: char| u8::try_from(c).is_ok_and(|byte| language.alphabet().contains(byte));
    // Most parts are followed by a character that they cannot contain.
    if separator.is_some_and(|c| !contains(c)) {
        return None;
    }
    match splits(&language, &Template::language_of(behind)) {
        Splits::Never => None,
        Splits::Twice(split) => Some(unclear(hole, separator, &split)),
        Splits::TooLarge => Some(undecided(hole)),
    }
}

fn any_text(hole: &Hole) -> Diagnostic {
    let name = &hole.attribute;
    let message = format!("`{name}` is {} and can hold any text, `#` too", hole.kind);
    Diagnostic::new(Rule::ForgedKey, hole.span, message)
        .why("a value such as `x#y` could be taken for two parts of the key")
        .help(format!("make `{name}` an `id`, or bind it with `like \"[a-z0-9-]{{1,64}}\"`"))
}

/// Two values of the part, each with what follows, make one text.
fn unclear(hole: &Hole, separator: Option<char>, split: &Split) -> Diagnostic {
    let name = &hole.attribute;
    let part = |length: usize| {
        let bytes = split.text.get(..length).unwrap_or(&split.text);
        String::from_utf8_lossy(bytes).escape_debug().to_string()
    };
    let message = match separator {
        Some(c) => format!("`{name}` can contain the `{c}` that follows it"),
        None => format!("nothing tells where `{name}` ends"),
    };
    let help = match (separator, &hole.kind) {
        (Some(c), Type::Text { like: Some(like), .. }) => format!(
            "change `like \"{like}\"` so that `{name}` cannot contain `{c}`, or write another character behind it"
        ),
        (Some(_), _) => {
            format!("write a character behind it that `{name}` cannot contain: `{{{name}}}#…`")
        }
        (None, _) => format!("write `#` behind it: `{{{name}}}#…`"),
    };
    Diagnostic::new(Rule::ForgedKey, hole.span, message)
        .why(format!(
            "`{}` begins with `{name}` = `{}` or with `{name}` = `{}`: two different items could have the same key",
            part(split.text.len()),
            part(split.short),
            part(split.long),
        ))
        .help(help)
}

fn undecided(hole: &Hole) -> Diagnostic {
    let name = &hole.attribute;
    let message = format!("the patterns are too large to tell where `{name}` ends");
    Diagnostic::new(Rule::ForgedKey, hole.span, message)
        .why("two different items could have the same key")
        .help(format!("write a character behind it that `{name}` cannot contain: `{{{name}}}#…`"))
}
