//! Sends, explained: the leg a send is on the queue in the store, and what follows it.

use latchkey_queue::{Message, Stamp};
use latchkey_table::{Leg, Map, Put, ValueType};
use latchkey_value::Format;

use super::symbol::{Joined, Symbol};
use super::{Asked, Explainer, Explanation, Symbolic, Words};
use crate::evaluate::Values;
use crate::plan::{Contract, LegNode, Send};
use crate::request::Filler;

impl<'a> Explainer<'a> {
    pub(super) fn send(&mut self, send: &'a Send, count: usize) {
        self.statement(&format!("leg {count}:"), &self.words.send(send));
        let asked = self.send_leg(send);
        self.indented(3, |page| match asked {
            Some(asked) => {
                page.show(vec![(None, asked)]);
                page.line("(of a queue outside the store: a record of it under LATCHKEY#OUTBOX#, until it is taken)");
            }
            None => page.line("(the message is only known at the call)"),
        });
    }

    /// The message as it is written, with names for what only a call can tell.
    fn send_leg(&self, send: &Send) -> Option<Asked> {
        let queue = &self.system().queues[send.queue];
        let home = self.system().home(queue).ok()?;
        let nameless = Message::new("0", Map::new(), 0).ok()?;
        // A timer is due behind the instant at which it is sent.
        let due = i64::from(send.at.is_some());
        let Leg::Put(put) = latchkey_queue::leg(&home, nameless, due, Stamp::default()) else {
            return None;
        };
        let id = self.scope.value(&send.message).ok()??.into_owned();
        let at = send.at.as_ref().map_or_else(|| "now".to_owned(), |at| self.words.code(at));
        let filler = Filler { system: self.system(), scope: &self.scope };
        let body = filler.map(&send.values).ok()?;
        let mut place = Joined::default();
        match (&queue.ordered_by, &send.at) {
            (Some(group), None) => {
                place.literal("GROUP#");
                place.push(body.get(group)?, None);
                place.literal("#");
                place.name("sent.at, in milliseconds", Some(Format::Padded(15)));
                place.literal("#");
                place.name("sequence", Some(Format::Padded(6)));
            }
            _ => {
                place.literal("DUE#");
                place.name(format!("{at}, in milliseconds"), Some(Format::Padded(15)));
            }
        }
        place.literal("#");
        place.push(&id, None);
        let milliseconds =
            |name: &str| Symbol::named(&format!("{name}, in milliseconds"), ValueType::Number);
        let mut item: Map<Symbol> = put.item.into_iter().collect();
        let names = &put.table.key;
        let sort = names.sort.as_ref().map(|sort| sort.name.clone());
        if let Some(sort) = sort {
            item.insert(sort, place);
        }
        item.insert("id", id);
        item.insert("body", Symbol::Map(body));
        item.insert("sentAt", milliseconds("sent.at"));
        item.insert("dueAt", milliseconds(&at));
        if send.accepted.is_some() {
            item.insert("accepted", Symbol::named("what `accepted` needs", ValueType::Map));
        }
        self.as_leg(&Leg::Put(Put { table: put.table, item, condition: None }))
    }

    /// What follows the sends of a transaction, once it has happened.
    pub(super) fn followed(&mut self, nodes: &'a [LegNode]) {
        for node in nodes {
            match node {
                LegNode::Leg(_) => {}
                LegNode::When(_, then, otherwise) => {
                    self.followed(then);
                    self.followed(otherwise);
                }
                LegNode::Each(each) => self.followed(&each.body),
                LegNode::Send(send) => {
                    let queue = &self.system().queues[send.queue].name;
                    let taken = (&send.accepted, format!("once {queue} has taken it:"));
                    let lost = (&send.refused, format!("if {queue} refuses it:"));
                    for (contract, when) in [taken, lost] {
                        if let Some(contract) = contract {
                            self.gap();
                            self.line(&when);
                            self.indented(3, |page| page.within(contract));
                        }
                    }
                }
            }
        }
    }

    /// Explains what runs by itself, here.
    pub(super) fn within(&mut self, contract: &'a Contract) {
        let words = Words { system: self.system(), contract };
        let out = std::mem::replace(
            &mut self.out,
            Explanation { text: String::new(), requests: Vec::new() },
        );
        let mut inner = Explainer {
            words,
            scope: Symbolic::new(words),
            kept: super::RecordWritten::No,
            out,
            indent: self.indent,
        };
        inner.block(0, contract.program.len(), "");
        self.out = inner.out;
    }
}
