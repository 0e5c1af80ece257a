//! Statements in words: reads, writes, sends and endings, as a document writes them.

use latchkey_model::model::{EntityId, Verb};
use latchkey_table::{Direction, Text};

use super::{Tightness, Words, hole};
use crate::plan::{
    Assign, AttributePart, BatchKeys, BatchOp, Beside, Bounds, Code, Elements, EndOp, GetOp, Keep,
    Key, Leg, OnFailure, Part, PartOp, Piece, ProblemOp, QueryOp, ReturnOp, Send, Shown, Strength,
};

/// What happens on `retry`.
pub(crate) const AGAIN: &str = "run again from the start, at most 5 times, then 503 busy";

/// What a worker does on `retry`.
const AGAIN_LATER: &str = "run again from the start, at most 5 times, then later";

impl<'a> Words<'a> {
    fn entity(&self, id: EntityId) -> &'a str {
        &self.system.entities[id].name
    }

    /// What is sent.
    pub(in crate::explain) fn send(&self, send: &Send) -> String {
        let queue = &self.system.queues[send.queue].name;
        let at = send.at.as_ref().map(|at| format!(" at {}", self.code(at)));
        format!("send {queue}{}{}", self.fields(&send.values), at.unwrap_or_default())
    }

    pub(in crate::explain) fn ending(&self, op: &EndOp) -> String {
        match op {
            EndOp::Done => "done".to_owned(),
            EndOp::Later => "later".to_owned(),
            EndOp::Fail { code, message } => {
                let message = message.as_ref().map(|message| format!(" {}", self.code(message)));
                format!("fail {code}{}", message.unwrap_or_default())
            }
        }
    }

    pub(in crate::explain) fn batch(&self, op: &BatchOp) -> String {
        let how = if op.snapshot { " snapshot".to_owned() } else { self.strength(&op.strong) };
        let entity = self.entity(op.entity);
        match &op.keys {
            BatchKeys::Numbers(keys, (attribute, low, high)) => {
                let givens =
                    keys.first().map(|key| self.givens(op.entity, key)).unwrap_or_default();
                let givens: Vec<_> =
                    givens.into_iter().filter(|(name, _)| *name != attribute).collect();
                format!("get {entity}{} {attribute} in {low}..{high}{how}", self.key(&givens))
            }
            BatchKeys::Elements(keys) => {
                let of = self.key(&self.givens(op.entity, &keys.key));
                format!("get {entity}{of} for {}{how}", self.elements(&keys.source))
            }
        }
    }

    /// What is gone through: `line in lines`
    pub(in crate::explain) fn elements(&self, source: &Elements) -> String {
        format!("{} in {}", self.binding(source.element), self.code(&source.over))
    }

    pub(in crate::explain) fn get(&self, op: &GetOp) -> String {
        format!("{}{}", self.got(op), self.strength(&op.strong))
    }

    /// A `get`, but for how it is read.
    pub(in crate::explain) fn got(&self, op: &GetOp) -> String {
        let of = self.key(&self.givens(op.entity, &op.key));
        format!("get {}{of}", self.entity(op.entity))
    }

    fn strength(&self, strength: &Strength) -> String {
        match strength {
            Strength::Never => String::new(),
            Strength::Always => " strong".to_owned(),
            Strength::When(test) => format!(" strong when {}", self.code(test)),
        }
    }

    pub(in crate::explain) fn query(&self, op: &QueryOp) -> String {
        let by = op.index.as_ref().map(|index| format!(" by {index}")).unwrap_or_default();
        let entities: Vec<&str> = op.entities.iter().map(|id| self.entity(*id)).collect();
        let shards = op.shards.as_ref().map(|shards| {
            let (name, low, high) = &shards.through;
            format!(" {name} in {low}..{high}")
        });
        let (entities, shards) = (entities.join(", "), shards.unwrap_or_default());
        let mut text = format!("query {entities}{shards}{by}{}", self.strength(&op.strong));
        let partition = op.partition.as_ref();
        text.extend(partition.map(|partition| format!(" where PK = {}", self.code(partition))));
        let range = match &op.range {
            Bounds::All => None,
            Bounds::Equal(key) => Some(format!("= {}", self.code(key))),
            Bounds::BeginsWith(prefix) => Some(format!("begins_with {}", self.code(prefix))),
            Bounds::Between(low, high) => {
                Some(format!("between {} and {}", self.code(low), self.code(high)))
            }
            Bounds::Side { below, inclusive, bound } => {
                let symbol = if *below { "<" } else { ">" };
                let equal = if *inclusive { "=" } else { "" };
                Some(format!("{symbol}{equal} {}", self.code(bound)))
            }
        };
        text.extend(range.map(|range| format!(" and SK {range}")));
        match &op.turned {
            Some(test) => text.push_str(&format!(" order descending when {}", self.code(test))),
            None if op.direction == Direction::Descending => text.push_str(" order descending"),
            None => {}
        }
        match op.paging {
            Some(paging) if paging.size == paging.size_max => {
                text.push_str(&format!(" page {}", paging.size));
            }
            Some(paging) => {
                text.push_str(&format!(" page {} max {}", paging.size, paging.size_max))
            }
            None => text.push_str(&format!(" first {}", op.items_max)),
        }
        text.push_str(&self.kept(op));
        text.extend(op.reading.map(|most| format!(" reading {most}")));
        text
    }

    /// What a query asks of the items that it keeps.
    fn kept(&self, op: &QueryOp) -> String {
        let asked = |keep: &Keep| keep.test.as_ref().map(|test| self.code(test));
        match op.keep.as_slice() {
            [] => String::new(),
            [one] => asked(one).map(|test| format!(" keep {test}")).unwrap_or_default(),
            several => {
                let each = several.iter().map(|keep| {
                    let entity = self.entity(keep.entity);
                    match asked(keep) {
                        Some(test) => format!("each {entity} with {test}"),
                        None => format!("every {entity}"),
                    }
                });
                format!(" keep {}", each.collect::<Vec<_>>().join(", "))
            }
        }
    }

    pub(in crate::explain) fn part(&self, op: &PartOp) -> String {
        let the = if op.one { "the " } else { "" };
        format!("{the}{} in {}", self.entity(op.entity), self.binding(op.of))
    }

    pub(in crate::explain) fn leg(&self, leg: &Leg) -> String {
        let verb = leg.verb.word();
        let entity = self.entity(leg.entity);
        let key: Vec<_> = leg.key_values.iter().map(|a| (&a.attribute, &a.value)).collect();
        let mut text = match (leg.verb, leg.target, &leg.of) {
            (Verb::Put, _, Some((source, _))) => {
                format!("put {entity} of {}{}", self.binding(*source), self.fields(&leg.values))
            }
            (Verb::Put, ..) => {
                let mut fields: Vec<&Assign> = leg.key_values.iter().collect();
                let given = |name: &Text| leg.values.iter().any(|other| other.attribute == *name);
                fields.retain(|assign| !given(&assign.attribute));
                fields.extend(&leg.values);
                format!("put {entity}{}", self.fields(fields))
            }
            (_, Some(target), _) => format!("{verb} {}", self.binding(target)),
            (_, None, _) => format!("{verb} {entity}{}", self.key(&key)),
        };
        if leg.verb != Verb::Put {
            self.changes(leg, &mut text);
        }
        let absent = leg.if_absent.then(|| "absent".to_owned());
        let test = leg.condition.as_ref().map(|test| self.within(test, Tightness::And));
        let tests: Vec<String> = absent.into_iter().chain(test).collect();
        if !tests.is_empty() {
            text.push_str(&format!(" if {}", tests.join(" and ")));
        } else if leg.verb == Verb::Put {
            text.push_str(" replace");
        }
        match leg.result.filter(|result| leg.target != Some(*result)) {
            Some(result) => format!("{} = {text}", self.binding(result)),
            None => text,
        }
    }

    /// What a key is made of, by the attributes of its entity.
    fn givens<'k>(&self, entity: EntityId, key: &'k Key) -> Vec<(&'a Text, &'k Code)> {
        let entity = &self.system.entities[entity];
        let mut givens: Vec<(&Text, &Code)> = Vec::new();
        for (parts, code) in
            [(&entity.key.partition, &key.partition), (&entity.key.sort, &key.sort)]
        {
            let Code::Text(pieces) = code else { continue };
            let names = parts.iter().filter_map(|part| match part {
                Part::Attribute(name, _) => Some(name),
                Part::Literal(_) => None,
            });
            let codes = pieces.iter().filter_map(|piece| match piece {
                Piece::Value(code, _) => Some(code),
                Piece::Literal(_) => None,
            });
            for (name, code) in names.zip(codes) {
                if givens.iter().all(|(other, _)| *other != name) {
                    givens.push((name, code));
                }
            }
        }
        givens
    }

    /// How a key is given, unless by inputs of the same names.
    fn key(&self, givens: &[(&Text, &Code)]) -> String {
        let source = |(name, code): &(&Text, &Code)| match code {
            Code::Attribute(id, attribute) if attribute == *name => Some(*id),
            _ => None,
        };
        let first = givens.first().and_then(source);
        if let Some(id) = first
            && givens.iter().all(|given| source(given) == Some(id))
        {
            return format!(" of {}", self.binding(id));
        }
        let others = givens.iter().map(|(name, code)| (name, self.code(code)));
        let others: Vec<String> = others
            .filter(|(name, code)| **name != code.as_str())
            .map(|(name, code)| format!("{name} = {code}"))
            .collect();
        if others.is_empty() { String::new() } else { format!("({})", others.join(", ")) }
    }

    /// What a leg changes: `set`, `remove` and `add`.
    fn changes(&self, leg: &Leg, text: &mut String) {
        let [mut set, mut remove, mut add] = [const { Vec::new() }; 3];
        for assign in &leg.values {
            let given = self.assign(assign);
            match (&assign.part, &assign.value) {
                (AttributePart::Within { member, .. }, Code::Nothing) => {
                    remove.push(member.to_string());
                }
                (AttributePart::Whole | AttributePart::Within { .. }, _) => set.push(given),
                (AttributePart::Element, _) => add.push(given),
                (AttributePart::NoElement, _) => remove.push(given),
            }
        }
        remove.splice(0..0, leg.removes.iter().map(|name| name.to_string()));
        add.extend(leg.adds.iter().map(|assign| self.assign(assign)));
        for (lead, all) in [("set", set), ("remove", remove), ("add", add)] {
            if !all.is_empty() {
                text.push_str(&format!(" {lead} {}", all.join(", ")));
            }
        }
    }

    fn assign(&self, assign: &Assign) -> String {
        let sign = if assign.maybe { "?=" } else { "=" };
        let place = match &assign.part {
            AttributePart::Within { member, .. } => member.to_string(),
            _ => assign.attribute.to_string(),
        };
        format!("{place} {sign} {}", self.code(&assign.value))
    }

    pub(in crate::explain) fn problem(&self, op: &ProblemOp) -> String {
        let message = op.message.as_ref().map(|message| format!(" {}", self.code(message)));
        let with = self.fields(&op.with);
        let with = if with.is_empty() { with } else { format!(" with{with}") };
        format!("{} {}{}{with}", op.status, op.code, message.unwrap_or_default())
    }

    /// The answer of a failure, unless another block runs or it is no failure.
    pub(in crate::explain) fn failure(&self, failure: &OnFailure) -> Option<String> {
        match failure {
            OnFailure::Problem(op) => Some(self.problem(op)),
            OnFailure::Retry if self.contract.info.method.is_none() => Some(AGAIN_LATER.to_owned()),
            OnFailure::Retry => Some(AGAIN.to_owned()),
            OnFailure::End(op) => Some(self.ending(op)),
            OnFailure::Goto { .. } | OnFailure::Nothing => None,
        }
    }

    pub(in crate::explain) fn returned(&self, op: &ReturnOp) -> String {
        let name = op.binding.map_or_else(String::new, |id| format!(" {}", self.binding(id)));
        let with = op.with.iter().map(|(shown, beside)| {
            let value = match beside {
                Beside::Value(code) => self.code(code),
                Beside::List(list, _) => self.binding(*list).to_owned(),
            };
            let name = &shown.attribute;
            if *name == value.as_str() { value } else { format!("{name} = {value}") }
        });
        let with: Vec<String> = with.collect();
        let with = match with.is_empty() {
            true => String::new(),
            false => format!(" with {{ {} }}", with.join(", ")),
        };
        let at = op.at.as_ref().map(|pieces| {
            let path = pieces.iter().map(|piece| match piece {
                Piece::Literal(literal) => literal.to_string(),
                Piece::Value(code, format) => hole(&self.code(code), *format),
            });
            format!(" at {}", path.collect::<String>())
        });
        format!("return {}{name}{with}{}", op.status, at.unwrap_or_default())
    }

    /// What an answer has.
    pub(in crate::explain) fn answered(&self, op: &ReturnOp) -> String {
        let names = |shown: &[Shown]| {
            let names: Vec<&str> = shown.iter().map(|shown| shown.attribute.as_str()).collect();
            names.join(", ")
        };
        let mut text = match (&op.kinds, op.page, op.next) {
            (Some(kinds), ..) => {
                let each = kinds.shown.iter().map(|(kind, shown)| {
                    let kind = super::constant(kind);
                    format!("{}: {kind}, {}", kinds.discriminator.attribute, names(shown))
                });
                let each: Vec<String> = each.collect();
                format!("nextCursor, and items with {}", each.join("; or with "))
            }
            (None, true, _) => format!("nextCursor, and items with {}", names(&op.shown)),
            (None, false, Some(_)) => format!("nextCursor, and an item with {}", names(&op.shown)),
            (None, false, None) => format!("an item with {}", names(&op.shown)),
        };
        for (shown, beside) in &op.with {
            if let Beside::List(_, of_each) = beside {
                text.push_str(&format!("; {}: items with {}", shown.attribute, names(of_each)));
            }
        }
        text
    }
}
