//! How an answer of a contract is best shown: as a timeline, a tally, a table or a card.
//!
//! All of it follows from the document: from the types of what a contract returns, from the order of the keys that it
//! reads by, and from the statuses that the document lets move. No value is looked at, and no name means anything.

pub(crate) mod order;

use latchkey_model::model::{
    Attribute, BindingId, Contract, EntityId, Expr, ExprKind, Given, Kind, Method, Model, Return,
    StepKind, each_step,
};
use latchkey_model::{Type, model::Verb};
use serde_json::{Value, json};

/// The name under which a contract answers the items of a page.
const ITEMS: &str = "items";

/// The views of a contract's answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Views {
    /// What is known of the members of an answer that are no list.
    item: Fields,
    /// The lists of an answer.
    lists: Vec<List>,
    /// The members that count something.
    tallies: Vec<Tally>,
}

/// What is known of the members of an item.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Fields {
    /// Those that are times.
    times: Vec<String>,
    /// Those that are one of a few words.
    statuses: Vec<Status>,
}

/// A member that is one of a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    name: String,
    words: Vec<String>,
    moves: Moves,
}

/// Whether a member goes from word to word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moves {
    Never,
    /// Something changes it.
    Somehow,
    /// The document says how it moves.
    Declared,
}

/// A list of items.
#[derive(Debug, PartialEq, Eq)]
struct List {
    name: String,
    fields: Fields,
    /// The time by which its keys are ordered.
    at: Option<String>,
    /// The times at which an item begins and ends.
    ends: Option<(String, String)>,
    /// Whether every item says when it begins.
    begins: bool,
}

/// Members of an answer that count something.
#[derive(Debug, PartialEq, Eq)]
struct Tally {
    /// The member that has them; none where they are members of the answer itself.
    name: Option<String>,
    words: Vec<String>,
}

impl Views {
    /// The views of a contract.
    pub(crate) fn of(model: &Model, contract: &Contract) -> Views {
        let mut views = Views::default();
        each_step(&contract.steps, &mut |step| {
            if let StepKind::Return(returned) = &step.kind {
                views.add(Answers { model, contract }.read(returned));
            }
        });
        views
    }

    /// Adds what another way through the contract answers. A list that is ordered otherwise there has no order.
    fn add(&mut self, other: Views) {
        self.item.add(other.item);
        for list in other.lists {
            match self.lists.iter_mut().find(|own| own.name == list.name) {
                Some(own) => {
                    own.at = own.at.take().filter(|at| list.at.as_ref() == Some(at));
                    own.ends = own.ends.take().filter(|ends| list.ends.as_ref() == Some(ends));
                    own.begins &= list.begins;
                    own.fields.add(list.fields);
                }
                None => self.lists.push(list),
            }
        }
        for tally in other.tallies {
            match self.tallies.iter_mut().find(|own| own.name == tally.name) {
                Some(own) => add_new(&mut own.words, tally.words),
                None => self.tallies.push(tally),
            }
        }
    }

    /// The view that is shown at first.
    fn first(&self) -> &'static str {
        let moves = |list: &List| list.fields.moves() > Moves::Never;
        if self.lists.iter().any(|list| list.ends.is_some() && list.begins) {
            "timeline"
        } else if self.tallies.iter().any(|tally| tally.name.is_some())
            || self.lists.iter().any(moves)
        {
            "tally"
        } else if self.lists.iter().any(|list| list.at.is_some()) {
            "timeline"
        } else if self.lists.is_empty() {
            "card"
        } else {
            "table"
        }
    }

    /// The views for the script of a page.
    pub(crate) fn told(&self, contract: &Contract) -> Value {
        let lists = self.lists.iter().map(|list| {
            json!({
                "name": list.name,
                "at": list.at,
                "ends": list.ends.as_ref().map(|(begin, end)| [begin, end]),
                "times": list.fields.times,
                "statuses": list.fields.told(),
            })
        });
        let tallies =
            self.tallies.iter().map(|tally| json!({ "name": tally.name, "words": tally.words }));
        json!({
            "first": self.first(),
            "watch": reads(contract),
            "item": { "times": self.item.times, "statuses": self.item.told() },
            "lists": lists.collect::<Vec<_>>(),
            "tallies": tallies.collect::<Vec<_>>(),
        })
    }
}

/// Whether a contract reads and does nothing else, so that it can be called again and again.
fn reads(contract: &Contract) -> bool {
    let mut reads = contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
    each_step(&contract.steps, &mut |step| {
        reads &= match &step.kind {
            StepKind::Write(_) | StepKind::Transact(_) | StepKind::Each(_) | StepKind::Send(_) => {
                false
            }
            StepKind::Allow(_)
            | StepKind::Require(..)
            | StepKind::Match(..)
            | StepKind::When(..)
            | StepKind::Let(..)
            | StepKind::Read(_)
            | StepKind::Return(_)
            | StepKind::End(_) => true,
        };
    });
    reads
}

/// Adds those that are not among them yet.
fn add_new(all: &mut Vec<String>, others: Vec<String>) {
    for other in others {
        if !all.contains(&other) {
            all.push(other);
        }
    }
}

impl Fields {
    /// Adds a member of a type.
    fn member(&mut self, name: &str, kind: &Type, moves: Moves) {
        match kind {
            Type::Time => add_new(&mut self.times, vec![name.to_owned()]),
            Type::Enum(words) => self.status(name, words, moves),
            _ => {}
        }
    }

    fn status(&mut self, name: &str, words: &[String], moves: Moves) {
        match self.statuses.iter_mut().find(|status| status.name == name) {
            Some(status) => {
                add_new(&mut status.words, words.to_vec());
                status.moves = status.moves.max(moves);
            }
            None => {
                let status = Status { name: name.to_owned(), words: words.to_vec(), moves };
                self.statuses.push(status);
            }
        }
    }

    fn add(&mut self, other: Fields) {
        add_new(&mut self.times, other.times);
        for Status { name, words, moves } in other.statuses {
            self.status(&name, &words, moves);
        }
    }

    /// How its statuses move: those that move in another way do not count.
    fn moves(&self) -> Moves {
        self.statuses.iter().map(|status| status.moves).max().unwrap_or(Moves::Never)
    }

    /// The statuses for the script, those that move first.
    fn told(&self) -> Vec<Value> {
        let all = self.moves();
        let is_moving = |status: &Status| status.moves == all && all > Moves::Never;
        let (moving, still): (Vec<&Status>, Vec<&Status>) =
            self.statuses.iter().partition(|status| is_moving(status));
        let told = |status: &Status| json!({ "name": status.name, "words": status.words, "moves": is_moving(status) });
        moving.into_iter().chain(still).map(told).collect()
    }
}

/// Reads what a contract answers.
struct Answers<'a> {
    model: &'a Model,
    contract: &'a Contract,
}

impl<'a> Answers<'a> {
    fn read(&self, returned: &Return) -> Views {
        let mut views = Views::default();
        let mut counted = Vec::new();
        let kind = returned.binding.map(|id| (id, &self.contract.bindings[id].kind));
        match kind {
            Some((binding, Kind::Item(entity))) => {
                for attribute in self.shown(binding, *entity, &returned.fields) {
                    self.note(&mut views.item, *entity, attribute);
                    if self.is_count(*entity, attribute) {
                        counted.push(attribute.name.clone());
                    }
                }
            }
            Some((binding, Kind::Page(entity))) => {
                views.lists.push(self.list(ITEMS, binding, *entity, &returned.fields));
            }
            Some((binding, Kind::Collection(entities))) => {
                views.lists.push(self.collection(binding, entities));
            }
            Some((_, Kind::Value(_) | Kind::Test | Kind::Object | Kind::Draw | Kind::Unknown))
            | None => {}
        }
        for Given { attribute: name, value, .. } in &returned.with {
            self.beside(&mut views, &mut counted, name, value);
        }
        if !counted.is_empty() {
            views.tallies.push(Tally { name: None, words: counted });
        }
        views
    }

    /// A value that is shown beside an item or a list.
    fn beside(&self, views: &mut Views, counted: &mut Vec<String>, name: &str, value: &Expr) {
        let value = self.meant(value);
        let named = Some(name.to_owned());
        match (&value.kind, &value.of) {
            (ExprKind::Binding(binding), Kind::Page(entity)) => {
                views.lists.push(self.list(name, *binding, *entity, &[]));
            }
            (ExprKind::CountBy(_, _, words), _) => {
                views.tallies.push(Tally { name: named, words: words.clone() });
            }
            (ExprKind::Object(members), _)
                if members.len() > 1 && members.iter().all(|(_, value)| counts(value)) =>
            {
                let words = members.iter().map(|(name, _)| name.clone()).collect();
                views.tallies.push(Tally { name: named, words });
            }
            _ if counts(value) => counted.push(name.to_owned()),
            (_, Kind::Value(kind)) => views.item.member(name, kind, Moves::Never),
            _ => {}
        }
    }

    /// The value that a name was given, where an expression is that name.
    fn meant<'b>(&'b self, value: &'b Expr) -> &'b Expr {
        let ExprKind::Binding(binding) = value.kind else { return value };
        let mut found = None;
        each_step(&self.contract.steps, &mut |step| {
            if let StepKind::Let(id, given) = &step.kind
                && *id == binding
            {
                found = Some(given);
            }
        });
        found.unwrap_or(value)
    }

    /// The attributes that are shown of an item: those that are listed, or else all that are known.
    fn shown(
        &self,
        binding: BindingId,
        entity: EntityId,
        fields: &[String],
    ) -> impl Iterator<Item = &'a Attribute> {
        let (model, contract) = (self.model, self.contract);
        let listed = |attribute: &Attribute| fields.is_empty() || fields.contains(&attribute.name);
        let all = model.entities[entity].attributes.iter().filter(move |attribute| {
            !attribute.secret && !model.is_left_out(contract, binding, &attribute.name)
        });
        all.filter(|attribute| listed(attribute)).collect::<Vec<_>>().into_iter()
    }

    /// Adds an attribute to what is known of the members.
    fn note(&self, fields: &mut Fields, entity: EntityId, attribute: &Attribute) {
        let moves = match &attribute.kind {
            Type::Enum(_) if attribute.moves.is_some() => Moves::Declared,
            Type::Enum(_) if self.is_changed(entity, &attribute.name, |_| true) => Moves::Somehow,
            _ => Moves::Never,
        };
        fields.member(&attribute.name, &attribute.kind, moves);
    }

    fn list(&self, name: &str, binding: BindingId, entity: EntityId, fields: &[String]) -> List {
        let shown: Vec<&Attribute> = self.shown(binding, entity, fields).collect();
        let has = |name: &str| shown.iter().any(|attribute| attribute.name == name);
        let mut known = Fields::default();
        shown.iter().for_each(|attribute| self.note(&mut known, entity, attribute));
        let at = order::time_of(self.model, self.contract, binding, &[entity]);
        let ends = order::ends(self.model, entity);
        let ends = ends.into_iter().find(|(begin, end)| has(begin) && has(end));
        let begins = ends.as_ref().is_some_and(|(begin, _)| {
            shown.iter().any(|attribute| attribute.name == *begin && !attribute.optional)
        });
        let at = at.filter(|at| has(at));
        List { name: name.to_owned(), fields: known, at, ends, begins }
    }

    /// A list of items of several entities, each with its type.
    fn collection(&self, binding: BindingId, entities: &[EntityId]) -> List {
        let mut fields = Fields::default();
        let types = entities.iter().map(|id| self.model.entities[*id].discriminator.clone());
        fields.status(&self.model.table.discriminator, &types.collect::<Vec<_>>(), Moves::Never);
        for entity in entities {
            let all = self.model.entities[*entity].attributes.iter();
            let all = all.filter(|attribute| !attribute.secret);
            all.for_each(|attribute| self.note(&mut fields, *entity, attribute));
        }
        let at = order::time_of(self.model, self.contract, binding, entities);
        List { name: ITEMS.to_owned(), fields, at, ends: None, begins: false }
    }

    /// Whether an attribute is a number that the document counts up or down, and no version.
    fn is_count(&self, entity: EntityId, attribute: &Attribute) -> bool {
        let Attribute { name, kind, .. } = attribute;
        let number = matches!(kind, Type::Int { .. } | Type::Number { .. });
        number
            && self.is_changed(entity, name, |value| value.is_none_or(|value| is_of(value, name)))
    }

    /// Whether something changes an attribute of an item that is there, by a value of which a test holds. What is added
    /// to has no value of its own.
    fn is_changed(
        &self,
        entity: EntityId,
        name: &str,
        holds: impl Fn(Option<&Expr>) -> bool,
    ) -> bool {
        let mut found = false;
        for body in self.model.bodies() {
            each_step(&body.steps, &mut |step| {
                let StepKind::Write(leg) = &step.kind else { return };
                let changes = match leg.verb {
                    Verb::Update | Verb::Upsert => leg.entity == entity,
                    Verb::Put | Verb::Delete | Verb::Check => false,
                };
                let own = |given: &&Given| given.attribute == name && given.is_whole();
                found |= changes
                    && (leg.adds.iter().any(|given| own(&given) && holds(None))
                        || leg.values.iter().filter(own).any(|given| holds(Some(&given.value))));
            });
        }
        found
    }
}

/// Whether a value is made of what is stored under a name.
fn is_of(value: &Expr, name: &str) -> bool {
    let mut found = false;
    value.walk(&mut |part| {
        found |= matches!(&part.kind, ExprKind::Stored(stored) if *stored == name);
    });
    found
}

/// Whether a value is a count or a sum of what was read.
fn counts(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Count(_) | ExprKind::Sum(..))
}

#[cfg(test)]
mod tests;
