//! Every answer that one request can get, whatever is stored: the ways through a contract with what is known of it.

use latchkey_value::{Number, Value};

use super::known::{Facts, Item, Known};
use crate::lower::ends;
use crate::model::{
    BindingId, By, Contract, Entity, Expr, ExprKind, FailureKind, Given, GivenPart, Kind, Leg,
    Limit, OnFailure, Op, Order, PutMode, Query, Read, Return, Step, StepKind, Template, TextPiece,
    Verb, What,
};
use crate::types::Type;

/// An answer that a contract can give.
pub(super) enum Outcome<'a> {
    /// What a `return` answers.
    Answer(Answer<'a>),
    /// A problem: its status, its code and what stands beside them.
    Problem(u16, &'a str, Vec<(&'a str, Known)>),
}

/// What a `return` answers.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) body: Body<'a>,
    /// What stands beside the item or the list.
    pub(super) with: Vec<(&'a str, Known)>,
}

/// What a `return` shows.
pub(super) enum Body<'a> {
    /// One item, or none where the binding is not an item that is known.
    Item(&'a Entity, Item, &'a [String]),
    List(List<'a>),
    /// Something of which nothing is known.
    Open,
}

/// A list of items.
#[derive(Clone)]
pub(super) struct List<'a> {
    pub(super) entity: &'a Entity,
    pub(super) fields: &'a [String],
    /// What the query fixes of every item.
    pub(super) fixed: Item,
    /// The sort key that orders them, and whether the highest comes first.
    pub(super) order: Option<(&'a Template, bool)>,
    /// The most items there are.
    pub(super) most: Option<u32>,
}

/// The answers of one request.
pub(super) struct Walk<'a> {
    pub(super) outcomes: Vec<Outcome<'a>>,
    /// Whether some `allow` may refuse the caller.
    pub(super) forbids: bool,
    /// Whether a computed value may leave its bounds, which is a 400.
    pub(super) computes: bool,
    contract: &'a Contract,
    /// Whether the caller's version came in `If-Match`.
    versioned: bool,
    lists: Vec<(BindingId, List<'a>)>,
}

impl<'a> Walk<'a> {
    /// Goes through a contract.
    pub(super) fn of(contract: &'a Contract, versioned: bool, mut facts: Facts<'a>) -> Walk<'a> {
        let (outcomes, lists) = (Vec::new(), Vec::new());
        let mut walk =
            Walk { outcomes, forbids: false, computes: false, contract, versioned, lists };
        for (id, input) in contract.inputs.enumerate() {
            if let Some(default) = &input.default
                && !facts.inputs.contains_key(&id)
            {
                walk.computes |= !matches!(
                    default.kind,
                    ExprKind::Word(_) | ExprKind::Bool(_) | ExprKind::Number(_) | ExprKind::Now
                );
                let value = facts.value(default);
                facts.inputs.insert(id, value);
            }
        }
        walk.steps(&contract.steps, facts);
        walk
    }

    /// Goes along steps; what is known behind them, unless no way leads there.
    fn steps(&mut self, steps: &'a [Step], mut facts: Facts<'a>) -> Option<Facts<'a>> {
        for step in steps {
            facts = self.step(step, facts)?;
        }
        Some(facts)
    }

    fn step(&mut self, step: &'a Step, mut facts: Facts<'a>) -> Option<Facts<'a>> {
        match &step.kind {
            StepKind::Allow(test) => {
                let holds = facts.holds(test);
                self.forbids |= holds != Some(true);
                (holds != Some(false)).then(|| learned(facts, test, true))
            }
            StepKind::Require(test, failure) | StepKind::Match(test, failure) => {
                let holds = facts.holds(test);
                if holds != Some(true) {
                    let caller_states = matches!(step.kind, StepKind::Match(..));
                    let facts = learned(facts.clone(), test, false);
                    self.failed(failure.as_ref(), facts, caller_states);
                }
                (holds != Some(false)).then(|| learned(facts, test, true))
            }
            StepKind::When(test, yes, no) => self.when(test, yes, no, facts),
            StepKind::Let(binding, value) => {
                let value = facts.value(value);
                facts.lets.insert(*binding, value);
                Some(facts)
            }
            StepKind::Read(read) => Some(self.read(read, facts)),
            StepKind::Write(leg) => self.write(leg, facts),
            StepKind::Transact(legs) => self.steps(legs, facts),
            StepKind::Return(answer) => {
                let answer = self.answer(answer, &facts);
                self.outcomes.push(Outcome::Answer(answer));
                None
            }
            StepKind::End(_) => None,
            StepKind::Send(_) => Some(facts),
            // There may be no element, and nothing is known of one.
            StepKind::Each(each) => match self.steps(&each.body, facts.clone()) {
                Some(after) => Some(facts.or(&after)),
                None => Some(facts),
            },
        }
    }

    fn when(
        &mut self,
        test: &'a Expr,
        yes: &'a [Step],
        no: &'a [Step],
        facts: Facts<'a>,
    ) -> Option<Facts<'a>> {
        let holds = facts.holds(test);
        let mut ways = Vec::new();
        for (block, truth) in [(yes, true), (no, false)] {
            if holds != Some(!truth) {
                let facts = learned(facts.clone(), test, truth);
                ways.extend(self.steps(block, facts).filter(|_| !ends(block)));
            }
        }
        let first = ways.pop()?;
        Some(ways.iter().fold(first, |facts, other| facts.or(other)))
    }

    /// Goes along what a failure does. The problem of a `match` is 412 where the version came in `If-Match`.
    fn failed(&mut self, failure: Option<&'a OnFailure>, facts: Facts<'a>, caller_states: bool) {
        let Some(failure) = failure else { return };
        match &failure.kind {
            FailureKind::Problem { status, code, with, .. } => {
                let with: Vec<(&str, Known)> = shown(with, &facts);
                if caller_states && self.versioned {
                    self.outcomes.push(Outcome::Problem(412, code, with.clone()));
                }
                self.outcomes.push(Outcome::Problem(*status, code, with));
            }
            FailureKind::Steps(steps) => {
                self.steps(steps, facts);
            }
            // It comes to one of the other answers, or to a 503, which every contract can give.
            FailureKind::Retry | FailureKind::End(_) => {}
        }
    }

    fn read(&mut self, read: &'a Read, mut facts: Facts<'a>) -> Facts<'a> {
        let entity = &facts.model.entities[read.entity];
        let mut found = Item { there: None, ..Item::default() };
        match &read.what {
            What::Get(key) => key_of(told_by(entity, key), &facts, &mut found),
            What::Query(query) => {
                fixed_by(entity, query, &facts, &mut found);
                self.list(read, query, entity, &found, &facts);
            }
            What::Batch(batch) => {
                key_of(told_by(entity, &batch.key), &facts, &mut found);
                self.named_list(read, entity, &found, None, None);
            }
            What::Part(part) if part.one => {}
            What::Part(_) => self.named_list(read, entity, &found, None, None),
        }
        if read.failure.is_some() {
            let mut none = facts.clone();
            if let Some(binding) = read.binding {
                let absent = Item { there: Some(false), ..Item::default() };
                none.items.insert(binding, (entity, absent));
            }
            self.failed(read.failure.as_ref(), none, false);
            found.there = Some(true);
        }
        if let Some(binding) = read.binding
            && is_of_one_entity(&self.contract.bindings[binding].kind)
        {
            facts.items.insert(binding, (entity, found));
        }
        facts
    }

    fn list(
        &mut self,
        read: &'a Read,
        query: &'a Query,
        entity: &'a Entity,
        found: &Item,
        facts: &Facts<'a>,
    ) {
        let descending = match &query.order {
            Order::Ascending => Some(false),
            Order::Descending => Some(true),
            Order::DescendingWhen(test) => facts.holds(test),
        };
        let sort = entity.place(query.by).map(|shape| &shape.sort);
        let most = match &query.limit {
            Some(Limit::Page { max, .. }) => Some(*max),
            Some(Limit::First(count)) => Some(*count),
            None => None,
        };
        self.named_list(read, entity, found, sort.zip(descending), most);
    }

    fn named_list(
        &mut self,
        read: &'a Read,
        entity: &'a Entity,
        found: &Item,
        order: Option<(&'a Template, bool)>,
        most: Option<u32>,
    ) {
        let Some(binding) = read.binding else { return };
        // The first one of a range is an item, not a list of one.
        if !matches!(self.contract.bindings[binding].kind, Kind::Page(_)) {
            return;
        }
        let list = List { entity, fields: &[], fixed: found.clone(), order, most };
        self.lists.push((binding, list));
    }

    fn write(&mut self, leg: &'a Leg, mut facts: Facts<'a>) -> Option<Facts<'a>> {
        let entity = &facts.model.entities[leg.entity];
        // A set may be full, too.
        let may_leave = |given: &Given| given.part == GivenPart::Element || computes(&given.value);
        self.computes |= !leg.adds.is_empty() || leg.values.iter().any(may_leave);
        for failure in [&leg.absent, &leg.failure] {
            self.failed(failure.as_ref(), facts.clone(), false);
        }
        let target = leg.target.and_then(|binding| facts.items.get(&binding)).cloned();
        let mut item = match target {
            Some((_, item)) => item,
            None => Item::default(),
        };
        match leg.verb {
            // They write what they are given as the key.
            Verb::Put | Verb::Upsert => key_of(&leg.key, &facts, &mut item),
            Verb::Update | Verb::Delete | Verb::Check => {
                key_of(told_by(entity, &leg.key), &facts, &mut item);
            }
        }
        item.there = Some(leg.verb != Verb::Delete);
        if let Some(test) = &leg.condition {
            facts.stored = Some((entity, item));
            facts = learned(facts, test, true);
            item = facts.stored.take().map_or_else(Item::default, |(_, item)| item);
        }
        match leg.verb {
            Verb::Put => item = put(leg, entity, &facts, item),
            Verb::Update => changed(leg, entity, &mut facts, &mut item),
            // What an item has that is made, and one that was there, is not told apart.
            Verb::Upsert => item.attributes.clear(),
            Verb::Delete | Verb::Check => {}
        }
        for binding in [leg.target, leg.result].into_iter().flatten() {
            if leg.verb != Verb::Check {
                facts.items.insert(binding, (entity, item.clone()));
            }
        }
        Some(facts)
    }

    fn answer(&self, answer: &'a Return, facts: &Facts<'a>) -> Answer<'a> {
        let body = match answer.binding.filter(|_| answer.next.is_none()) {
            Some(binding) => self.body(binding, answer, facts),
            None => Body::Open,
        };
        Answer { status: answer.status, body, with: shown(&answer.with, facts) }
    }

    fn body(&self, binding: BindingId, answer: &'a Return, facts: &Facts<'a>) -> Body<'a> {
        let list = self.lists.iter().rev().find(|(id, _)| *id == binding);
        match (list, facts.items.get(&binding)) {
            (Some((_, list)), _) => Body::List(List { fields: &answer.fields, ..list.clone() }),
            (_, Some((entity, item))) => Body::Item(entity, item.clone(), &answer.fields),
            _ => Body::Open,
        }
    }
}

/// Whether all items of a binding are of one entity, so that they have its attributes.
fn is_of_one_entity(kind: &Kind) -> bool {
    matches!(kind, Kind::Item(_) | Kind::Page(_))
}

fn shown<'a>(with: &'a [Given], facts: &Facts<'a>) -> Vec<(&'a str, Known)> {
    with.iter().map(|given| (given.attribute.as_str(), facts.value(&given.value))).collect()
}

/// The parts of a key that tell the attributes of the item.
fn told_by<'a>(entity: &'a Entity, key: &'a [Given]) -> impl Iterator<Item = &'a Given> {
    key.iter().filter(|given| entity.key.tells(&given.attribute))
}

/// Takes in what a key gives.
fn key_of<'a>(key: impl IntoIterator<Item = &'a Given>, facts: &Facts<'_>, item: &mut Item) {
    for given in key {
        item.attributes.insert(given.attribute.clone(), facts.value(&given.value));
    }
}

/// Takes in what the partition of a query fixes of every item.
fn fixed_by(entity: &Entity, query: &Query, facts: &Facts<'_>, item: &mut Item) {
    let Some(shape) = entity.place(query.by).filter(|_| query.by != By::Unknown) else { return };
    let Some(ExprKind::Text(texts)) = query.partition.as_ref().map(|text| &text.kind) else {
        return;
    };
    let mut fixed = Vec::new();
    for (piece, text) in shape.partition.pieces.iter().zip(texts) {
        match (piece, text) {
            (crate::model::Piece::Literal(a), TextPiece::Literal(b)) if a == b => {}
            (crate::model::Piece::Hole(hole), TextPiece::Value(..)) if hole.is_lossy() => {}
            (crate::model::Piece::Hole(hole), TextPiece::Value(value, format))
                if hole.format == *format =>
            {
                fixed.push((hole.attribute.clone(), facts.value(value)));
            }
            _ => return,
        }
    }
    if shape.partition.pieces.len() == texts.len() {
        item.attributes.extend(fixed);
    }
}

/// Whether a value is computed, and so may leave its bounds.
fn computes(value: &Expr) -> bool {
    let mut found = false;
    value.walk(&mut |part| {
        found |= match &part.kind {
            ExprKind::Binary(op, ..) => matches!(op, Op::Plus | Op::Minus | Op::Times),
            ExprKind::Text(_) | ExprKind::Rounded(..) => true,
            _ => false,
        };
    });
    found
}

/// The item that a put leaves.
fn put(leg: &Leg, entity: &Entity, facts: &Facts<'_>, key: Item) -> Item {
    let mut item = Item { there: Some(true), ..key };
    let source = leg.of.and_then(|binding| facts.items.get(&binding));
    for attribute in &entity.attributes {
        let name = &attribute.name;
        let known = match leg.values.iter().find(|given| given.attribute == *name) {
            Some(given) => match (facts.value(&given.value), &attribute.default) {
                (Known::Absent, Some(default)) => Known::Is(default.clone()),
                (Known::Open, Some(_)) => Known::There,
                (known, _) => known,
            },
            None if item.attributes.contains_key(name) => continue,
            None if attribute.kind == Type::Counter => {
                Known::Is(Value::Number(Number::from(1_u64)))
            }
            None => match (source, &attribute.default) {
                (Some((entity, source)), _) if entity.attribute(name).is_some() => {
                    source.get(entity, name)
                }
                (_, Some(default)) => Known::Is(default.clone()),
                _ => Known::Absent,
            },
        };
        item.attributes.insert(name.clone(), known);
    }
    // An item that is replaced goes on counting where its counter was.
    if leg.put != Some(PutMode::IfAbsent)
        && let Some(counter) = entity.counter()
    {
        item.attributes.insert(counter.name.clone(), Known::There);
    }
    item
}

/// Changes an item as an update does.
fn changed<'a>(leg: &Leg, entity: &'a Entity, facts: &mut Facts<'a>, item: &mut Item) {
    facts.stored = Some((entity, item.clone()));
    for given in &leg.values {
        let known = match facts.value(&given.value) {
            // Of a set, the last element may be gone; a record stays where it is.
            _ if given.part == GivenPart::NoElement => Known::Open,
            _ if !given.is_whole() => Known::There,
            Known::Absent | Known::Open if given.maybe => {
                continue_maybe(entity, item, given, facts)
            }
            known => known,
        };
        item.attributes.insert(given.attribute.clone(), known);
    }
    for name in &leg.removes {
        item.attributes.insert(name.clone(), Known::Absent);
    }
    for given in &leg.adds {
        item.attributes.insert(given.attribute.clone(), Known::There);
    }
    facts.stored = None;
}

/// What `a ?= x` leaves: what was there, if nothing was sent.
fn continue_maybe(entity: &Entity, item: &Item, given: &Given, facts: &Facts<'_>) -> Known {
    match facts.value(&given.value) {
        Known::Absent => item.get(entity, &given.attribute),
        _ => Known::Open,
    }
}

/// What is known once a test has come out.
fn learned<'a>(mut facts: Facts<'a>, test: &Expr, truth: bool) -> Facts<'a> {
    match (&test.kind, truth) {
        (ExprKind::Not(inner), _) => learned(facts, inner, !truth),
        (ExprKind::Binary(Op::And, a, b), true) | (ExprKind::Binary(Op::Or, a, b), false) => {
            let facts = learned(facts, a, truth);
            learned(facts, b, truth)
        }
        (ExprKind::Binary(Op::Equal, a, b), true)
        | (ExprKind::Binary(Op::NotEqual, a, b), false) => {
            for (a, b) in [(a, b), (b, a)] {
                if let known @ Known::Is(_) = facts.value(b) {
                    facts.learn(a, known);
                }
            }
            facts
        }
        (ExprKind::Present(thing), _) | (ExprKind::Absent(thing), _) => {
            let there = truth == matches!(test.kind, ExprKind::Present(_));
            let is_open = facts.value(thing).is_there().is_none();
            if is_open {
                facts.learn(thing, if there { Known::There } else { Known::Absent });
            }
            facts
        }
        _ => facts,
    }
}

impl Facts<'_> {
    /// Takes in what is known of an attribute, a stored one, or whether an item is there.
    fn learn(&mut self, thing: &Expr, known: Known) {
        match &thing.kind {
            ExprKind::Attribute(id, name) => {
                if let Some((_, item)) = self.items.get_mut(id) {
                    item.attributes.insert(name.clone(), known);
                }
            }
            ExprKind::Stored(name) => {
                if let Some((_, item)) = &mut self.stored {
                    item.attributes.insert(name.clone(), known);
                }
            }
            ExprKind::Binding(id) if matches!(thing.of, Kind::Item(_)) => {
                if let Some((_, item)) = self.items.get_mut(id) {
                    item.there = known.is_there();
                }
            }
            _ => {}
        }
    }
}
