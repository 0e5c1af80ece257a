//! The colours of entities, by their places in the document.

use latchkey_model::Model;
use latchkey_model::model::EntityId;

/// How many colours there are.
const COLOURS: usize = 8;

/// How many rounds of colours look different: plain, and three patterns.
const ROUNDS: usize = 4;

/// The classes of an entity: that of its colour, which begins with a prefix, and from the ninth entity on that of a
/// pattern, so that two entities of one colour are told apart.
pub(crate) fn class(model: &Model, entity: EntityId, prefix: &str) -> String {
    let at = model.entities.enumerate().take_while(|(id, _)| *id != entity).count();
    of(at, prefix)
}

fn of(at: usize, prefix: &str) -> String {
    let (colour, round) = (at % COLOURS, at / COLOURS % ROUNDS);
    match round {
        0 => format!("{prefix}{colour}"),
        round => format!("{prefix}{colour} round-{round}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_entities_look_different() {
        assert_eq!((of(0, "e").as_str(), of(7, "e").as_str()), ("e0", "e7"));
        assert_eq!((of(8, "e").as_str(), of(31, "b").as_str()), ("e0 round-1", "b7 round-3"));
        let mut all: Vec<String> = (0..COLOURS * ROUNDS).map(|at| of(at, "e")).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), COLOURS * ROUNDS);
    }
}
