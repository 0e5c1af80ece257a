//! What a view keeps: an attribute that only a stored view has is set in its source, and not erased.

use latchkey_table::{Action, Condition, Expression, Path};

use super::condition::as_stored;
use super::{Filler, KeyOf};
use crate::evaluate::{Fault, Values};
use crate::plan::{self, Entity, Kept};

impl<S: Values> Filler<'_, S> {
    /// What a write of a view asks of the stored view, so that it erases nothing: it lacks what its source lacks, or has
    /// what was found in it and is written with it.
    pub(super) fn spares(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
    ) -> Result<Vec<Condition<S::Value>>, Fault> {
        let mut all = Vec::new();
        for kept in &leg.keeps {
            let Some(spared) = self.spared(kept)? else { continue };
            // What has ended is absent, with all that it had.
            all.push(match &entity.end {
                Some(end) => Condition::Or(vec![spared, end.is_over(self.now()?)]),
                None => spared,
            });
        }
        Ok(all)
    }

    fn spared(&self, kept: &Kept) -> Result<Option<Condition<S::Value>>, Fault> {
        if let Some(given) = &kept.maybe
            && !self.scope.leaves_alone(given)?
        {
            return Ok(None);
        }
        let found = self.scope.found(&self.key(&kept.source)?, &kept.attribute);
        if self.scope.test(&kept.present)? {
            let value = self.scope.value(&kept.value)?;
            let brought = found.is_some() && found == value.as_deref();
            return Ok(brought.then(|| as_stored(&kept.attribute, found)));
        }
        Ok(Some(as_stored(&kept.attribute, found)))
    }

    /// Sets what a view alone has.
    pub(super) fn bring(
        &self,
        leg: &plan::Leg,
        key: &KeyOf<S>,
        actions: &mut Vec<Action<S::Value>>,
    ) {
        for name in &leg.brings {
            let given = actions.iter().any(|action| action.target() == name);
            let lacks = leg.target.is_some_and(|it| self.scope.stored(it, name).is_none());
            if let Some(value) = self.scope.found(key, name).filter(|_| lacks && !given) {
                let path = Path::attribute(name.clone());
                actions.push(Action::Set(path, Expression::Value(value.clone())));
            }
        }
    }

    /// What an update asks of its item where it sets what a view alone has: the item still lacks it.
    pub(super) fn lacks(&self, leg: &plan::Leg, key: &KeyOf<S>) -> Vec<Condition<S::Value>> {
        let brought = leg.brings.iter().filter(|name| {
            let lacks = leg.target.is_some_and(|it| self.scope.stored(it, name).is_none());
            lacks && self.scope.found(key, name).is_some()
        });
        brought.map(|name| as_stored(name, None)).collect()
    }
}
