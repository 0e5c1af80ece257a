//! Who may change what: for every entity, which contract writes which attribute.

use std::collections::{HashMap, HashSet};

use super::each_leg;
use crate::model::{Contract, EntityId, ExprKind, Leg, Model, PutMode, Verb};

/// Who may change what.
pub(super) struct Changes<'a> {
    by_attribute: HashMap<(EntityId, &'a str), Vec<&'a Contract>>,
    replaced: HashMap<EntityId, Vec<&'a Contract>>,
    made: HashMap<EntityId, Vec<&'a Contract>>,
    /// Those that make items under keys that can be known before.
    made_under_known: HashMap<EntityId, Vec<&'a Contract>>,
    /// The entities that can be made under a key that was there before.
    remade: HashSet<EntityId>,
    removed: HashMap<EntityId, Vec<&'a Contract>>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(model: &'a Model) -> Changes<'a> {
        let mut changes = Changes {
            by_attribute: HashMap::new(),
            replaced: HashMap::new(),
            made: HashMap::new(),
            made_under_known: HashMap::new(),
            remade: HashSet::new(),
            removed: HashMap::new(),
        };
        for contract in model.bodies() {
            each_leg(contract, |leg, _| {
                changes.take_in(model, contract, leg);
                if model.entities[leg.entity].is_expiring() {
                    changes.take_in_end(model, contract, leg);
                }
            });
        }
        changes
    }

    /// What a write of an item that ends does beyond what it says. An item that has ended is absent: a `put` replaces it,
    /// and a change of its end may end it, or bring it back for a call with another `now`.
    fn take_in_end(&mut self, model: &'a Model, contract: &'a Contract, leg: &'a Leg) {
        let entity = &model.entities[leg.entity];
        let sets = |name: &str| {
            let mut set = leg.values.iter().chain(&leg.adds);
            set.any(|given| given.attribute == name)
                || leg.removes.iter().any(|other| other == name)
        };
        match leg.verb {
            Verb::Put if !is_new(leg) => {
                self.replaced.entry(leg.entity).or_default().push(contract);
                self.removed.entry(leg.entity).or_default().push(contract);
            }
            Verb::Update | Verb::Upsert if entity.expires.as_deref().is_some_and(sets) => {
                self.made.entry(leg.entity).or_default().push(contract);
                self.removed.entry(leg.entity).or_default().push(contract);
            }
            Verb::Put | Verb::Update | Verb::Upsert | Verb::Delete | Verb::Check => {}
        }
    }

    fn take_in(&mut self, model: &'a Model, contract: &'a Contract, leg: &'a Leg) {
        let of_entity = |map: &mut HashMap<EntityId, Vec<&'a Contract>>| {
            map.entry(leg.entity).or_default().push(contract);
        };
        match leg.verb {
            Verb::Put => {
                of_entity(&mut self.made);
                // A key with something new in it was never there before.
                if !is_new(leg) {
                    of_entity(&mut self.made_under_known);
                    self.remade.insert(leg.entity);
                }
                if leg.put != Some(PutMode::IfAbsent) {
                    of_entity(&mut self.replaced);
                }
            }
            Verb::Upsert => {
                of_entity(&mut self.made);
                of_entity(&mut self.made_under_known);
                self.remade.insert(leg.entity);
            }
            Verb::Delete => of_entity(&mut self.removed),
            Verb::Update | Verb::Check => {}
        }
        if matches!(leg.verb, Verb::Update | Verb::Upsert) {
            let set = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
            for attribute in set.chain(leg.removes.iter().map(String::as_str)) {
                self.by_attribute.entry((leg.entity, attribute)).or_default().push(contract);
            }
            for attribute in untold(model, leg).chain(kept_by_views(model, leg.entity)) {
                self.by_attribute.entry((leg.entity, attribute)).or_default().push(contract);
            }
        }
    }

    /// Who may change an attribute of an item that is there.
    pub(super) fn attribute(&self, entity: EntityId, attribute: &'a str) -> Vec<&'a Contract> {
        let mut all = self.by_attribute.get(&(entity, attribute)).cloned().unwrap_or_default();
        all.extend(self.replaced.get(&entity).into_iter().flatten());
        // Removed and made anew, it may be another.
        if self.remade.contains(&entity) {
            all.extend(self.removed.get(&entity).into_iter().flatten());
        }
        all
    }

    /// Who may update an attribute of an item that is there.
    pub(super) fn updates(&self, entity: EntityId, attribute: &str) -> Vec<&'a Contract> {
        self.by_attribute.get(&(entity, attribute)).cloned().unwrap_or_default()
    }

    /// Who may give an item that is there another value of an attribute.
    pub(super) fn overwrites(&self, entity: EntityId, attribute: &str) -> Vec<&'a Contract> {
        let mut all = self.updates(entity, attribute);
        all.extend(self.replaced.get(&entity).into_iter().flatten());
        all
    }

    /// Who may remove an item.
    pub(super) fn removal(&self, entity: EntityId) -> &[&'a Contract] {
        self.removed.get(&entity).map_or(&[], Vec::as_slice)
    }

    /// Who may make an item under a key that can be known before.
    pub(super) fn made_under_known_keys(&self, entity: EntityId) -> &[&'a Contract] {
        self.made_under_known.get(&entity).map_or(&[], Vec::as_slice)
    }

    /// Who may make an item.
    pub(super) fn making(&self, entity: EntityId) -> &[&'a Contract] {
        self.made.get(&entity).map_or(&[], Vec::as_slice)
    }
}

/// The attributes that an upsert writes with its key, and that its key does not tell: the item that is there may have
/// others.
pub(super) fn untold<'a>(model: &'a Model, leg: &'a Leg) -> impl Iterator<Item = &'a str> {
    let key = &model.entities[leg.entity].key;
    let parts = leg.key.iter().filter(|_| leg.verb == Verb::Upsert);
    parts.map(|given| given.attribute.as_str()).filter(|name| !key.tells(name))
}

/// The attributes that views of an entity keep where it has none: an update may set them.
fn kept_by_views(model: &Model, entity: EntityId) -> impl Iterator<Item = &str> {
    let views = model.entities.iter().filter(move |view| view.view_of == Some(entity));
    let kept = views.flat_map(|view| view.attributes.iter().filter(|attribute| attribute.kept));
    kept.map(|attribute| attribute.name.as_str())
}

/// Whether a leg is on an item that was never there before.
pub(super) fn is_new(leg: &Leg) -> bool {
    leg.key.iter().any(|given| matches!(given.value.kind, ExprKind::New(_)))
}
