//! Writes, explained.

use latchkey_model::model::Verb;
use latchkey_table::render::{Rendered, TransactWriteItem};
use latchkey_table::{Action, Expression, Leg, Path, Request, Returning, Text, Transact, Value};

use super::symbol::Given;
use super::{Asked, Explainer};
use crate::evaluate::{Bindings, Bound, Fault};
use crate::plan::{self, Entity, Failure, LegNode};
use crate::request::Filler;

/// A leg in one of the ways it can be made, and when it is that one.
type LegWay = (Option<String>, Leg);

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
            let (notes, asks) = (page.notes(&ways), asks(&ways));
            let shown = ways.into_iter().filter_map(|(when, leg)| {
                let rendered = Rendered::of(&leg.alone(returning)).ok()?;
                let operation = rendered.operation();
                Some((when, Asked { operation, json: page.scope.symbols.json(rendered) }))
            });
            let shown = shown.collect();
            page.show(shown);
            notes.iter().for_each(|note| page.line(note));
            let kept = page.record_with(at, "this write is then a leg behind it");
            page.refused(leg, asks, number, before);
            page.kept = kept;
            match image {
                Some(image) => page.leaves(leg, image),
                // The table tells what it left.
                None => page.scope.bind_item(leg.result),
            }
        });
    }

    fn untold(&mut self) {
        self.line("(what it asks for cannot be told before the call)");
    }

    fn leaves(&mut self, leg: &plan::Leg, image: latchkey_table::Item) {
        if let Some(result) = leg.result {
            self.scope.bind(result, Bound::Item(image));
        }
    }

    /// How a refusal ends. Names stand for what they stood for before.
    fn refused(&mut self, leg: &plan::Leg, asks: bool, number: &str, before: Bindings) {
        let after = std::mem::replace(&mut self.scope.bound, before);
        match &leg.failure {
            Failure::Nothing if asks => self.line("if refused: 409 conflict"),
            Failure::Nothing => {}
            failure => self.failure("if refused", failure, number),
        }
        self.scope.bound = after;
    }

    pub(super) fn transact(&mut self, legs: &'a [LegNode], at: usize, number: &str) {
        self.line(&format!("{number} transact"));
        let before = self.scope.bound.clone();
        self.indented(3, |page| {
            page.line("TransactWriteItems of these legs, all or none; the first refused decides");
            if legs.iter().all(|leg| matches!(leg, LegNode::When(..))) {
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
            }
        }
    }

    fn leg(&mut self, leg: &'a plan::Leg, count: usize, number: &str, before: &Bindings) {
        self.statement(&format!("leg {count}:"), &self.words.leg(leg));
        let filled = self.filled(leg);
        self.indented(3, |page| {
            let Ok((ways, image)) = filled else { return page.untold() };
            let (notes, asks) = (page.notes(&ways), asks(&ways));
            let shown = ways.into_iter();
            let shown = shown.filter_map(|(when, leg)| Some((when, page.as_leg(leg)?))).collect();
            page.show(shown);
            notes.iter().for_each(|note| page.line(note));
            page.refused(leg, asks, &format!("{number}{count}."), before.clone());
            if let Some(image) = image {
                page.leaves(leg, image);
            }
        });
    }

    /// A leg as it stands in a transaction.
    pub(super) fn as_leg(&self, leg: Leg) -> Option<Asked> {
        let rendered = Rendered::of(&Request::Transact(Transact { legs: vec![leg] })).ok()?;
        let operation = match &rendered {
            Rendered::TransactWriteItems(transact) => {
                transact.legs.first().map(TransactWriteItem::operation)?
            }
            _ => return None,
        };
        let whole = self.scope.symbols.json(rendered);
        // It is the one element of `{"TransactItems": [ … ]}`, on lines of its own, 4 columns in.
        let lines = whole.lines().filter_map(|line| line.strip_prefix("    "));
        let json = lines.collect::<Vec<_>>().join("\n");
        Some(Asked { operation, json })
    }

    /// A leg in every way it can be made, and the item it leaves.
    fn filled(
        &self,
        leg: &plan::Leg,
    ) -> Result<(Vec<LegWay>, Option<latchkey_table::Item>), Fault> {
        let filler = Filler { system: self.system(), scope: &self.scope };
        let mut image = None;
        let ways = self.scope.ways(|| filler.leg(leg))?;
        let ways = ways.into_iter().map(|way| {
            let mut filled = way.made;
            self.with_places(&mut filled.leg, leg, &self.system().entities[leg.entity]);
            if let Leg::Update(update) = &mut filled.leg {
                self.scope.symbols.as_operands(&mut update.actions);
            }
            image = image.take().or(filled.image);
            (way.when, filled.leg)
        });
        let ways = ways.collect();
        Ok((ways, image))
    }

    /// Shows places in indexes with the widths of their parts.
    fn with_places(&self, filled: &mut Leg, leg: &plan::Leg, entity: &Entity) {
        let indexes = leg.indexes.iter().filter_map(|at| entity.indexes.get(*at));
        let places = indexes.flat_map(|index| {
            [(&index.partition, &index.key.partition), (&index.sort, &index.key.sort)]
        });
        for (name, parts) in places {
            let place = |value: &Value| Some(self.scope.place(parts, value.as_text()?));
            match filled {
                Leg::Put(put) => {
                    if let Some(value) = put.item.get(name).and_then(place) {
                        put.item.insert(name.clone(), value);
                    }
                }
                Leg::Update(update) => {
                    let path = Path::attribute(name.clone());
                    for action in &mut update.actions {
                        if let Action::Set(target, Expression::Value(value)) = action
                            && *target == path
                            && let Some(place) = place(value)
                        {
                            *value = place;
                        }
                    }
                }
                Leg::Delete(_) | Leg::Check(_) => {}
            }
        }
    }

    /// What becomes of values that are absent.
    fn notes(&self, ways: &[LegWay]) -> Vec<String> {
        let values: Vec<(&Text, &Value)> = match ways.first() {
            Some((_, Leg::Put(put))) => put.item.iter().collect(),
            Some((_, Leg::Update(update))) => update
                .actions
                .iter()
                .filter_map(|action| match action {
                    Action::Set(path, Expression::Value(value)) => Some((path.root(), value)),
                    _ => None,
                })
                .collect(),
            _ => return Vec::new(),
        };
        let put = matches!(ways.first(), Some((_, Leg::Put(_))));
        let absent = if put { "left out if absent" } else { "REMOVE instead of SET if absent" };
        let leads =
            [absent, "left as it is if not given", "left as it is if not given, REMOVE if null"];
        let mut names = [const { Vec::new() }; 3];
        let [absent, maybe, maybe_null] = &mut names;
        for (name, value) in values {
            let Some(symbol) = self.scope.symbols.of(value) else { continue };
            match symbol.given {
                Given::Always => absent.extend(symbol.absent),
                Given::Maybe => maybe.push(name.to_string()),
                Given::MaybeNull => maybe_null.push(name.to_string()),
            }
        }
        let told = leads.into_iter().zip(names).filter_map(|(lead, mut names)| {
            names.sort_unstable();
            names.dedup();
            (!names.is_empty()).then(|| format!("{lead}: {}", names.join(", ")))
        });
        told.collect()
    }
}

/// Whether a leg has something to insist on, and so to be refused for.
fn asks(ways: &[LegWay]) -> bool {
    ways.iter().any(|(_, leg)| leg.condition().is_some())
}
