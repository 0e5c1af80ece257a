//! Which requests are carried out: exactly those that DynamoDB would carry out.

use super::{
    BatchGet, Check, Delete, Get, IndexScan, Leg, Put, Query, Resume, SnapshotGet, Transact, Update,
};
use crate::limits::{KEYS_MAX, LEGS_MAX, TRANSACTION_BYTES_MAX};
use crate::{Action, Condition, Consistency, Datum, Error, Invalid, Key, KeyNames, action, render};

impl Get {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.table.key.validate_key(&self.key)
    }
}

impl BatchGet {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_keys(&self.table.key, &self.keys)
    }
}

impl SnapshotGet {
    /// Refuses a get no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_keys(&self.table.key, &self.keys)
    }
}

fn validate_keys(names: &KeyNames, keys: &[Key]) -> Result<(), Invalid> {
    if keys.is_empty() || keys.len() > KEYS_MAX {
        return Err(Invalid::Keys { count: keys.len() });
    }
    keys.iter().try_for_each(|key| names.validate_key(key))?;
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
        let names = self.key_names()?;
        names.validate_partition(&self.partition)?;
        names.validate_range(&self.range)?;
        validate_filter(names, self.filter.as_ref())?;
        match &self.index {
            _ if self.limit == Some(0) => Err(Invalid::Limit),
            Some(name) if self.consistency == Consistency::Strong => {
                Err(Invalid::StrongIndex { name: name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The names of the key by which it reads.
    pub fn key_names(&self) -> Result<&KeyNames, Invalid> {
        match &self.index {
            None => Ok(&self.table.key),
            Some(name) => {
                let index = self.table.index(name);
                index.map(|index| &index.key).ok_or_else(|| Invalid::NoIndex { name: name.clone() })
            }
        }
    }
}

impl Query {
    /// Refuses a query no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_range()?;
        render::validate_size(&[], self.filter.as_ref())?;
        self.resume.as_ref().map_or(Ok(()), |resume| self.validate_resume(resume))
    }

    /// A resume key lies in the range it was taken from.
    fn validate_resume(&self, resume: &Resume) -> Result<(), Invalid> {
        self.table.key.validate_key(&resume.key)?;
        let at = match (&self.index, &resume.index_key) {
            (None, None) => &resume.key,
            (Some(_), Some(key)) => key,
            _ => return Err(Invalid::Resume),
        };
        self.key_names()?.validate_key(at)?;
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
        self.table.key.validate_key(&self.key)?;
        action::validate(&self.actions)?;
        render::validate_size(&self.actions, self.condition.as_ref())?;
        let names = &self.table.key;
        if let Some(action) = self.actions.iter().find(|action| names.has(action.target())) {
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
        self.table.key.validate_key(&self.key).map(|()| 0)
    }
}

impl Check {
    /// Refuses a check no backend would carry out; it brings no bytes.
    pub fn validate(&self) -> Result<usize, Invalid> {
        validate_condition(Some(&self.condition))?;
        self.table.key.validate_key(&self.key).map(|()| 0)
    }
}

/// Refuses a filter on the keys by which items are read: DynamoDB takes those of a query in one place only.
fn validate_filter<V: Datum>(
    names: &KeyNames,
    filter: Option<&Condition<V>>,
) -> Result<(), Invalid> {
    let Some(filter) = filter else { return Ok(()) };
    filter.validate()?;
    match filter.names().into_iter().find(|name| names.has(name)) {
        Some(name) => Err(Invalid::FiltersKey { name: name.clone() }),
        None => Ok(()),
    }
}

impl IndexScan {
    /// Refuses a scan no backend would carry out.
    pub fn validate(&self) -> Result<(), Invalid> {
        let names = self.key_names()?;
        if self.limit == Some(0) {
            return Err(Invalid::Limit);
        }
        validate_filter(names, self.filter.as_ref())?;
        render::validate_size(&[], self.filter.as_ref())?;
        let Some(resume) = &self.resume else { return Ok(()) };
        self.table.key.validate_key(&resume.key)?;
        names.validate_key(resume.index_key.as_ref().ok_or(Invalid::Resume)?)
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
