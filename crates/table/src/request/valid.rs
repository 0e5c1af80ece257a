//! Which requests are carried out: exactly those that DynamoDB would carry out.

use super::{BatchGet, Check, Delete, Get, Leg, Put, Query, Resume, SnapshotGet, Transact, Update};
use crate::limits::{KEYS_MAX, LEGS_MAX, TRANSACTION_BYTES_MAX};
use crate::{Action, Condition, Consistency, Datum, Error, Invalid, Key, action, render, validate};

impl Get {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.key.validate()
    }
}

impl BatchGet {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_keys(&self.keys)
    }
}

impl SnapshotGet {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_keys(&self.keys)
    }
}

fn validate_keys(keys: &[Key]) -> Result<(), Invalid> {
    if keys.is_empty() || keys.len() > KEYS_MAX {
        return Err(Invalid::Keys { count: keys.len() });
    }
    keys.iter().try_for_each(Key::validate)?;
    let mut sorted: Vec<_> = keys.iter().collect();
    sorted.sort_unstable();
    if has_twins(&sorted) { Err(Invalid::SameItem) } else { Ok(()) }
}

/// Whether a sorted run has something twice.
fn has_twins<T: PartialEq>(sorted: &[T]) -> bool {
    sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

impl<V: Datum> Query<V> {
    /// Refuses a query no backend would carry out, whatever it goes on from.
    pub fn validate_range(&self) -> Result<(), Invalid> {
        validate::partition(&self.partition)?;
        self.range.validate()?;
        if self.limit == Some(0) {
            return Err(Invalid::Limit);
        }
        if let Some(name) = &self.index {
            if self.table.index(name).is_none() {
                return Err(Invalid::NoIndex { name: name.clone() });
            }
            if self.consistency == Consistency::Strong {
                return Err(Invalid::StrongIndex { name: name.clone() });
            }
        }
        Ok(())
    }
}

impl Query {
    /// Refuses a query no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_range()?;
        self.resume.as_ref().map_or(Ok(()), |resume| self.validate_resume(resume))
    }

    /// A resume key lies in the range it was taken from.
    fn validate_resume(&self, resume: &Resume) -> Result<(), Invalid> {
        resume.key.validate()?;
        let at = match (&self.index, &resume.index_key) {
            (None, None) => &resume.key,
            (Some(_), Some(key)) => key,
            _ => return Err(Invalid::Resume),
        };
        at.validate()?;
        if at.partition != self.partition || !self.range.contains(&at.sort) {
            return Err(Invalid::Resume);
        }
        Ok(())
    }
}

impl Leg {
    /// Refuses a leg no backend would carry out, and tells how many bytes it brings.
    pub fn validate(&self) -> Result<usize, Invalid> {
        match self {
            Leg::Put(put) => put.validate(),
            Leg::Update(update) => update.validate(),
            Leg::Delete(delete) => delete.validate(),
            Leg::Check(check) => check.validate(),
        }
    }
}

impl Put {
    /// Refuses a put no backend would carry out, and tells how many bytes it brings.
    pub fn validate(&self) -> Result<usize, Invalid> {
        validate_condition(self.condition.as_ref())?;
        self.table.validate_item(&self.item)
    }
}

impl Update {
    /// Refuses an update no backend would carry out, and tells how many bytes it brings.
    pub fn validate(&self) -> Result<usize, Invalid> {
        self.condition.as_ref().map_or(Ok(()), Condition::validate)?;
        self.key.validate()?;
        action::validate(&self.actions)?;
        render::validate_size(&self.actions, self.condition.as_ref())?;
        let keys = [&self.table.key.partition, &self.table.key.sort];
        if let Some(action) = self.actions.iter().find(|action| keys.contains(&action.target())) {
            return Err(Invalid::ChangesKey { name: action.target().clone() });
        }
        for (name, value) in self.actions.iter().filter_map(Action::constant) {
            self.table.indexes.iter().try_for_each(|index| index.validate_key(name, value))?;
        }
        Ok(self.actions.iter().map(action::weight).sum())
    }
}

impl Delete {
    /// Refuses a delete no backend would carry out; it brings no bytes.
    pub fn validate(&self) -> Result<usize, Invalid> {
        validate_condition(self.condition.as_ref())?;
        self.key.validate().map(|()| 0)
    }
}

impl Check {
    /// Refuses a check no backend would carry out; it brings no bytes.
    pub fn validate(&self) -> Result<usize, Invalid> {
        validate_condition(Some(&self.condition))?;
        self.key.validate().map(|()| 0)
    }
}

fn validate_condition(condition: Option<&Condition>) -> Result<(), Invalid> {
    condition.map_or(Ok(()), Condition::validate)?;
    render::validate_size(&[], condition)
}

impl Transact {
    /// Refuses a transaction no backend would carry out, and tells how many bytes it brings.
    pub fn validate(&self) -> Result<usize, Error> {
        if self.legs.is_empty() || self.legs.len() > LEGS_MAX {
            return Err(Invalid::Legs { count: self.legs.len() }.into());
        }
        let mut bytes = 0;
        let mut items = Vec::with_capacity(self.legs.len());
        for (at, leg) in self.legs.iter().enumerate() {
            let invalid = |reason| Error::Invalid { leg: Some(at), reason };
            // Alone, it would create an item of its key; a transaction has no way to say so.
            if matches!(leg, Leg::Update(update) if update.actions.is_empty()) {
                return Err(invalid(Invalid::NoActions));
            }
            bytes += leg.validate().map_err(invalid)?;
            items.push((&leg.table().name, leg.key().map_err(invalid)?));
        }
        items.sort_unstable();
        if has_twins(&items) {
            return Err(Invalid::SameItem.into());
        }
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(Invalid::TransactionSize { bytes }.into());
        }
        Ok(bytes)
    }
}
