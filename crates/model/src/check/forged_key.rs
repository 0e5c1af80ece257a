//! `forged-key`: a part of a key whose value could end it and begin the next.

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use crate::model::{Hole, Model, Piece, Template};
use crate::regular::{Atom, Bytes};

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        let indexes =
            entity.indexes.iter().flat_map(|index| [&index.key.partition, &index.key.sort]);
        for template in indexes.chain([&entity.key.partition, &entity.key.sort]) {
            for diagnostic in breaches(template) {
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
}

fn breaches(template: &Template) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (at, piece) in template.pieces.iter().enumerate() {
        let Piece::Hole(hole) = piece else { continue };
        let name = &hole.attribute;
        // Of fixed width, or one of a few words that no other begins with, it ends where it ends.
        let atoms = hole.kind.language(hole.width).atoms;
        let next = template.pieces.get(at + 1);
        let Some(bytes) = open_ended(&atoms) else {
            if matches!(next, Some(Piece::Hole(_))) && begins_another(&atoms) {
                found.push(endless(hole));
            }
            continue;
        };
        if bytes == Bytes::ALL {
            let message = format!("`{name}` is {} and can hold any text, `#` too", hole.kind);
            let diagnostic = Diagnostic::new(Rule::ForgedKey, hole.span, message)
                .why("a value such as `x#y` would make the key of another item")
                .help(format!(
                    "make `{name}` an `id`, or bind it with `like \"[a-z0-9-]{{1,64}}\"`"
                ));
            found.push(diagnostic);
            continue;
        }
        let separated = match next {
            None => true,
            Some(Piece::Literal(text)) => {
                text.bytes().next().is_some_and(|byte| !bytes.contains(byte))
            }
            Some(Piece::Hole(_)) => false,
        };
        if !separated {
            found.push(endless(hole));
        }
    }
    found
}

fn endless(hole: &Hole) -> Diagnostic {
    let name = &hole.attribute;
    let message = format!("nothing tells where `{name}` ends");
    Diagnostic::new(Rule::ForgedKey, hole.span, message)
        .why("two different items could have the same key")
        .help(format!("write `#` behind it: `{{{name}}}#…`"))
}

/// Whether one of a few words begins another of them.
fn begins_another(atoms: &[Atom]) -> bool {
    atoms.iter().any(|atom| match atom {
        Atom::Choice(words) => {
            let begins =
                |word: &Vec<u8>| words.iter().any(|other| other != word && other.starts_with(word));
            words.iter().any(begins)
        }
        _ => false,
    })
}

/// The bytes of a part that can be of any length.
fn open_ended(atoms: &[Atom]) -> Option<Bytes> {
    atoms.iter().find_map(|atom| match atom {
        Atom::Many(bytes) | Atom::Any(bytes) => Some(*bytes),
        Atom::One(_) | Atom::Choice(_) => None,
    })
}
