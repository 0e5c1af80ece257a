//! Writes, explained.

use latchkey_model::model::Verb;
use latchkey_table::render::TransactWriteItem;
use latchkey_table::{Action, Consistency, Expression, Get, Key, Leg, Map, Request, Returning};

use super::scope::{Bindings, Bound, Way};
use super::symbol::{Joined, Presence, Symbol};
use super::{Asked, Explainer};
use crate::evaluate::Fault;
use crate::plan::{self, LegNode, OnFailure};
use crate::request::Filler;

/// A leg in one of the ways it can be made.
type LegWay = Way<Leg<Symbol>>;

impl<'a> Explainer<'a> {
    /// A write of one item for itself.
    pub(super) fn write(&mut self, leg: &'a plan::Leg, at: usize, number: &str) {
        self.statement(number, &self.words.leg(leg));
        let filled = self.filled(leg);
        let before = self.scope.bound.clone();
        self.indented(3, |page| {
            let Ok((ways, image)) = filled else { return page.untold() };
            let returned = leg.result.filter(|_| leg.verb != Verb::Put);
            let returning = if returned.is_some() { Returning::New } else { Returning::Nothing };
            let notes = notes(&ways);
            let sought = ways.first().and_then(|way| key_of(&way.made)).cloned();
            let alone = |way: LegWay| Way { when: way.when, made: way.made.alone(returning) };
            page.requests(Ok(ways.into_iter().map(alone).collect()));
            notes.iter().for_each(|note| page.line(note));
            let kept = page.record_with(at, "this write is then a leg behind it");
            page.refused(leg, number, before);
            page.looked_for(leg, sought);
            page.kept = kept;
            match image {
                Some(image) => page.leaves(leg, image),
                // The table tells what it left.
                None => page.scope.bind_item(leg.result),
            }
        });
    }

    fn untold(&mut self) {
        self.line("(the request is only known at the call)");
    }

    fn leaves(&mut self, leg: &plan::Leg, image: Map<Symbol>) {
        if let Some(result) = leg.result {
            self.scope.bind(result, Bound::Item(image));
        }
    }

    /// How a refusal ends. Names stand for what they stood for before.
    fn refused(&mut self, leg: &plan::Leg, number: &str, before: Bindings) {
        let after = std::mem::replace(&mut self.scope.bound, before);
        if !leg.keeps.is_empty() {
            let names: Vec<&str> = leg.keeps.iter().map(|kept| kept.attribute.as_str()).collect();
            self.line(&format!(
                "if refused for {}: run again, and set in the source what the view alone has",
                names.join(", ")
            ));
        }
        if let Some(absent) = &leg.absent {
            self.failure("if there is no such item", absent, number);
        }
        match &leg.failure {
            OnFailure::Nothing if leg.absent.is_some() => {}
            OnFailure::Nothing => {
                if leg.condition.is_some() {
                    self.line("if refused: 409 conflict");
                }
                self.line("if an item of another type is there: 500 damaged-item");
            }
            failure => self.failure("if refused", failure, number),
        }
        self.scope.bound = after;
    }

    /// How a refused write finds out whether its item is there.
    fn looked_for(&mut self, leg: &plan::Leg, key: Option<Key<Joined>>) {
        let (Some(_), Some(key)) = (&leg.absent, key.filter(|_| leg.verb != Verb::Check)) else {
            return;
        };
        self.line("if refused, and the store does not tell whether there is an item:");
        let table = self.system().table.clone();
        let get = Get { table, key, consistency: Consistency::Strong };
        self.indented(3, |page| {
            page.requests(Ok(vec![Way { when: None, made: Request::Get(get) }]));
        });
    }

    pub(super) fn transact(&mut self, legs: &'a [LegNode], at: usize, number: &str) {
        self.line(&format!("{number} transact"));
        let before = self.scope.bound.clone();
        self.indented(3, |page| {
            page.line("TransactWriteItems of these legs, all or none; the first refused decides");
            if legs.iter().all(|leg| matches!(leg, LegNode::When(..) | LegNode::Each(_))) {
                page.line("if there is no leg at all: not sent");
            }
            let kept = page.record_with(at, "it goes first");
            page.legs(legs, &mut 0, number, &before);
            page.kept = kept;
            page.followed(legs);
        });
    }

    fn legs(&mut self, nodes: &'a [LegNode], count: &mut usize, number: &str, before: &Bindings) {
        for node in nodes {
            self.gap();
            match node {
                LegNode::Leg(leg) => {
                    *count += 1;
                    self.leg(leg, *count, number, before);
                }
                LegNode::Send(send) => {
                    *count += 1;
                    self.send(send, *count);
                }
                LegNode::When(test, then, otherwise) => {
                    self.line(&format!("when {}", self.words.code(test)));
                    let start = self.scope.bound.clone();
                    self.indented(3, |page| page.legs(then, count, number, before));
                    let after = std::mem::replace(&mut self.scope.bound, start);
                    if !otherwise.is_empty() {
                        self.gap();
                        self.line("otherwise");
                        self.indented(3, |page| page.legs(otherwise, count, number, before));
                    }
                    let others = std::mem::take(&mut self.scope.bound);
                    self.scope.meet(&after, &others);
                }
                LegNode::Each(each) => {
                    let most = each.source.most;
                    let elements = self.words.elements(&each.source);
                    self.line(&format!("for each {elements}, {most} times at most"));
                    self.scope.bind_element(&each.source);
                    self.indented(3, |page| page.legs(&each.body, count, number, before));
                }
            }
        }
    }

    fn leg(&mut self, leg: &'a plan::Leg, count: usize, number: &str, before: &Bindings) {
        self.statement(&format!("leg {count}:"), &self.words.leg(leg));
        let filled = self.filled(leg);
        self.indented(3, |page| {
            let Ok((ways, image)) = filled else { return page.untold() };
            let notes = notes(&ways);
            let shown = ways.into_iter();
            let shown = shown.filter_map(|way| Some((way.when, page.as_leg(&way.made)?))).collect();
            page.show(shown);
            notes.iter().for_each(|note| page.line(note));
            page.refused(leg, &format!("{number}{count}."), before.clone());
            if let Some(image) = image {
                page.leaves(leg, image);
            }
        });
    }

    /// A leg as part of a transaction.
    pub(super) fn as_leg(&self, leg: &Leg<Symbol>) -> Option<Asked> {
        let rendered = TransactWriteItem::of(leg).ok()?;
        Some(Asked { operation: rendered.operation(), json: rendered.to_json(), otherwise: false })
    }

    /// A leg in every way it can be made, and the item it leaves.
    fn filled(&self, leg: &plan::Leg) -> Result<(Vec<LegWay>, Option<Map<Symbol>>), Fault> {
        let filler = Filler { system: self.system(), scope: &self.scope };
        let mut image = None;
        let ways = self.scope.ways(|| filler.leg(leg))?.into_iter().map(|way| {
            image = image.take().or(way.made.image);
            Way { when: way.when, made: way.made.leg }
        });
        let ways = ways.collect();
        Ok((ways, image))
    }
}

/// The key of an item that is changed or removed.
fn key_of(leg: &Leg<Symbol>) -> Option<&Key<Joined>> {
    match leg {
        Leg::Update(update) => Some(&update.key),
        Leg::Delete(delete) => Some(&delete.key),
        Leg::Check(check) => Some(&check.key),
        Leg::Put(_) => None,
    }
}

/// What becomes of values that are absent.
fn notes(ways: &[LegWay]) -> Vec<String> {
    let Some(Way { made: leg, .. }) = ways.first() else { return Vec::new() };
    let values: Vec<(String, &Symbol)> = match leg {
        Leg::Put(put) => put.item.iter().map(|(name, value)| (name.to_string(), value)).collect(),
        Leg::Update(update) => update
            .actions
            .iter()
            .filter_map(|action| match action {
                Action::Set(path, Expression::Value(value)) => Some((path.to_string(), value)),
                _ => None,
            })
            .collect(),
        Leg::Delete(_) | Leg::Check(_) => return Vec::new(),
    };
    let put = matches!(leg, Leg::Put(_));
    let absent = if put { "left out if absent" } else { "REMOVE instead of SET if absent" };
    let leads =
        [absent, "left as it is if not given", "left as it is if not given, REMOVE if null"];
    let mut names = [const { Vec::new() }; 3];
    let [absent, maybe, maybe_null] = &mut names;
    for (name, value) in values {
        match value {
            Symbol::Named(named) if named.given == Presence::Maybe => maybe.push(name),
            Symbol::Named(named) if named.given == Presence::MaybeNull => {
                maybe_null.push(name);
            }
            value => absent.extend_from_slice(value.absent()),
        }
    }
    let told = leads.into_iter().zip(names).filter_map(|(lead, mut names)| {
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then(|| format!("{lead}: {}", names.join(", ")))
    });
    told.collect()
}
