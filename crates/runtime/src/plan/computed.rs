//! Defaults that are computed from what is stored of an item, for items that were not put here.

use latchkey_model::model::{self, EntityId, IdVec};
use latchkey_table::Text;

use super::expression::Expressions;
use super::refusal::Planned;
use super::{Code, Entities};

/// Plans the computed defaults of an entity.
pub(super) fn plan(
    model: &model::Model,
    entities: &Entities,
    id: EntityId,
) -> Planned<Vec<(Text, Code)>> {
    let entity = &model.entities[id];
    // They are no part of a contract, and name nothing of one.
    let contract = model::Contract {
        id: entity.name.clone(),
        title: String::new(),
        trigger: model::Trigger::Invariant,
        open: None,
        route: None,
        inputs: IdVec::default(),
        bindings: IdVec::default(),
        steps: Vec::new(),
        facts: model::Facts::default(),
        span: entity.span,
    };
    let mut expressions = Expressions {
        model,
        contract: &contract,
        entities,
        target: None,
        new_values: Vec::new(),
        through: None,
    };
    let plan = |(name, value): &(String, model::Expr)| {
        Ok((Text::from(name.as_str()), expressions.code(value)?))
    };
    entity.computed.iter().map(plan).collect()
}
