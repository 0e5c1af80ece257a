//! Plans in words, close to the language they are written in.

use latchkey_model::model::{BindingId, EntityId, InputId, Told, Verb};
use latchkey_table::{Comparator, Direction, Text, Value};

use crate::json;
use crate::plan::{
    Assign, BatchOp, Bounds, Code, Contract, EndOp, Failure, GetOp, Key, Leg, New, Part, Piece,
    ProblemOp, QueryOp, ReturnOp, Send, Sign, Strength, System,
};

/// What happens on `retry`.
pub(super) const AGAIN: &str = "run again from the start, at most 5 times, then 503 busy";

/// What happens on `retry` where nobody waits for an answer.
const AGAIN_LATER: &str = "run again from the start, at most 5 times, then later";

/// The units of a duration, the largest first, in milliseconds.
const UNITS: [(&str, i64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// How tightly an expression is bound, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Name,
}

/// Says what the plan of a contract does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) system: &'a System,
    pub(super) contract: &'a Contract,
}

impl<'a> Words<'a> {
    pub(super) fn binding(&self, id: BindingId) -> &'a str {
        &self.contract.bindings[id]
    }

    fn entity(&self, id: EntityId) -> &'a str {
        &self.system.entities[id].name
    }

    /// An expression.
    pub(super) fn code(&self, code: &Code) -> String {
        self.within(code, Tightness::Or)
    }

    /// A test beside others that hold with it.
    pub(super) fn conjunct(&self, test: &Code) -> String {
        self.within(test, Tightness::And)
    }

    /// The opposite of a test, beside others that hold with it.
    pub(super) fn negated(&self, test: &Code) -> String {
        self.negation(test, Tightness::And)
    }

    /// An expression, in parentheses if what is around it would tear it apart.
    fn within(&self, code: &Code, around: Tightness) -> String {
        let (own, text) = self.parts(code);
        if own < around { format!("({text})") } else { text }
    }

    fn parts(&self, code: &Code) -> (Tightness, String) {
        use Tightness::{And, Comparison, Name, Or, Sum};
        let joined = |own, a: String, word: &str, b: String| (own, format!("{a} {word} {b}"));
        let compared = |word, a, b| {
            let duration = is_duration(a) || is_duration(b);
            joined(Comparison, self.measured(a, duration), word, self.measured(b, duration))
        };
        match code {
            Code::Constant(value) => (Name, constant(value)),
            Code::Input(at) => (Name, self.input(*at).to_owned()),
            Code::Binding(id) => (Name, self.binding(*id).to_owned()),
            Code::Attribute(id, name) => (Name, format!("{}.{name}", self.binding(*id))),
            Code::Stored(path) => (Name, format!(".{path}")),
            Code::Now => (Name, "now".to_owned()),
            Code::CallerId => (Name, "caller.id".to_owned()),
            Code::New(at) => (Name, self.new_value(*at)),
            Code::Text(pieces) => (Name, self.text(pieces)),
            Code::Owns(what) => (Comparison, format!("caller owns {}", self.code(what))),
            // The first is the role that was named; the others imply it.
            Code::HasRole(roles) => {
                (Comparison, format!("caller is {}", roles.first().map_or("", Text::as_str)))
            }
            Code::Present(thing) => (Comparison, format!("{} is present", self.code(thing))),
            Code::Unchanged(..) => (Name, "unchanged".to_owned()),
            Code::Not(inner) => (Tightness::Not, self.negation(inner, Tightness::Not)),
            Code::And(a, b) => joined(And, self.within(a, And), "and", self.within(b, And)),
            Code::Or(a, b) => joined(Or, self.within(a, Or), "or", self.within(b, Or)),
            Code::Compare(a, comparator, b) => compared(symbol(*comparator), a, b),
            Code::Add(a, sign, b) => {
                joined(Sum, self.within(a, Sum), word(*sign), self.within(b, Name))
            }
            Code::Shift(a, sign, by) => {
                joined(Sum, self.within(a, Sum), word(*sign), self.measured(by, true))
            }
            Code::Elapsed(a, b) => joined(Sum, self.within(a, Sum), "-", self.within(b, Name)),
            Code::MovesTo(a, b, _) => compared("moves to", a, b),
            Code::BeginsWith(a, b) => compared("begins_with", a, b),
            Code::Between(a, low, high) => {
                let (a, low, high) =
                    (self.within(a, Sum), self.within(low, Sum), self.within(high, Sum));
                (Comparison, format!("{a} between {low} and {high}"))
            }
            Code::In(a, values) => {
                let values: Vec<_> = values.iter().map(|value| self.code(value)).collect();
                (Comparison, format!("{} in ({})", self.within(a, Sum), values.join(", ")))
            }
            other => (Name, self.function(other)),
        }
    }

    /// What is called by a name.
    fn function(&self, code: &Code) -> String {
        let called = |name: &str, of: &[&Code]| {
            let of: Vec<String> = of.iter().map(|one| self.code(one)).collect();
            format!("{name}({})", of.join(", "))
        };
        match code {
            Code::Told(told) => self::told(*told).to_owned(),
            Code::Shard(of, shards) => format!("shard({}, {shards})", self.code(of)),
            Code::Draw(key, subject) => called("draw", &[key, subject]),
            Code::Commitment(key) => called("commitment", &[key]),
            Code::Reveal(key) => called("reveal", &[key]),
            Code::Extreme(wanted, of) => {
                let name = if wanted.is_gt() { "max" } else { "min" };
                called(name, &of.iter().collect::<Vec<_>>())
            }
            Code::Count(id) => format!("count({})", self.binding(*id)),
            Code::CountBy(id, name, _) => format!("count({} by {name})", self.binding(*id)),
            Code::Sum(id, name) => format!("sum({}.{name})", self.binding(*id)),
            Code::Object(members) => {
                let pairs = members.iter().map(|(name, code)| (name, code));
                self.braced(pairs).trim_start().to_owned()
            }
            _ => String::new(),
        }
    }

    /// What is sent.
    pub(super) fn send(&self, send: &Send) -> String {
        let queue = &self.system.queues[send.queue].name;
        let at = send.at.as_ref().map(|at| format!(" at {}", self.code(at)));
        format!("send {queue}{}{}", self.fields(&send.values), at.unwrap_or_default())
    }

    pub(super) fn ending(&self, op: &EndOp) -> String {
        match op {
            EndOp::Done => "done".to_owned(),
            EndOp::Later => "later".to_owned(),
            EndOp::Fail { code, message } => {
                let message = message.as_ref().map(|message| format!(" {}", self.code(message)));
                format!("fail {code}{}", message.unwrap_or_default())
            }
        }
    }

    pub(super) fn batch(&self, op: &BatchOp) -> String {
        let (attribute, low, high) = &op.through;
        let givens = op.keys.first().map(|key| self.givens(op.entity, key)).unwrap_or_default();
        let givens: Vec<_> = givens.into_iter().filter(|(name, _)| *name != attribute).collect();
        let of = self.key(&givens);
        let how = if op.snapshot { " snapshot".to_owned() } else { self.strength(&op.strong) };
        format!("get {}{of} {attribute} in {low}..{high}{how}", self.entity(op.entity))
    }

    fn negation(&self, test: &Code, around: Tightness) -> String {
        match test {
            Code::Present(thing) => format!("{} is absent", self.code(thing)),
            Code::Not(inner) => self.within(inner, around),
            Code::Compare(a, Comparator::Equal, b) => {
                self.code(&Code::Compare(a.clone(), Comparator::NotEqual, b.clone()))
            }
            other => format!("not {}", self.within(other, Tightness::Name)),
        }
    }

    /// A side of a comparison, which may be a duration.
    pub(super) fn measured(&self, code: &Code, duration: bool) -> String {
        match code {
            Code::Constant(Value::Number(number)) if duration => match number.to_i64() {
                Some(milliseconds) => self::duration(milliseconds),
                None => number.to_string(),
            },
            other => self.within(other, Tightness::Sum),
        }
    }

    pub(super) fn input(&self, id: InputId) -> &'a str {
        &self.contract.inputs[id].name
    }

    /// A value the call makes; of several of a kind, which.
    pub(super) fn new_value(&self, at: usize) -> String {
        let made = &self.contract.new_values;
        let new = made.get(at).copied().unwrap_or(New::Ulid);
        let name = if new == New::Key { "new key" } else { "new ulid" };
        let before = made.iter().take(at).filter(|other| **other == new).count();
        if before == 0 { name.to_owned() } else { format!("{name} {}", before + 1) }
    }

    fn text(&self, pieces: &[Piece]) -> String {
        let mut text = String::from("\"");
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => {
                    let literal = quoted(&literal.replace('{', "{{").replace('}', "}}"));
                    text.extend(literal.chars().skip(1));
                    // The quote it ends with.
                    text.pop();
                }
                Piece::Value(code, width) => {
                    text.push_str(&hole(&self.code(code), *width));
                }
            }
        }
        text.push('"');
        text
    }

    pub(super) fn get(&self, op: &GetOp) -> String {
        let of = self.key(&self.givens(op.entity, &op.key));
        format!("get {}{of}{}", self.entity(op.entity), self.strength(&op.strong))
    }

    fn strength(&self, strength: &Strength) -> String {
        match strength {
            Strength::Never => String::new(),
            Strength::Always => " strong".to_owned(),
            Strength::When(test) => format!(" strong when {}", self.code(test)),
        }
    }

    pub(super) fn query(&self, op: &QueryOp) -> String {
        let by = op.index.as_ref().map(|index| format!(" by {index}")).unwrap_or_default();
        let mut text = format!("query {}{by}{}", self.entity(op.entity), self.strength(&op.strong));
        text.push_str(&format!(" where PK = {}", self.code(&op.partition)));
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
        text
    }

    pub(super) fn leg(&self, leg: &Leg) -> String {
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
            text.push_str(&self.assigns(" set ", &leg.values));
            if !leg.removes.is_empty() {
                text.push_str(&format!(" remove {}", leg.removes.join(", ")));
            }
            text.push_str(&self.assigns(" add ", &leg.adds));
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

    fn assigns(&self, lead: &str, assigns: &[Assign]) -> String {
        let assign = |assign: &Assign| {
            let sign = if assign.maybe { "?=" } else { "=" };
            format!("{} {sign} {}", assign.attribute, self.code(&assign.value))
        };
        let all: Vec<String> = assigns.iter().map(assign).collect();
        if all.is_empty() { String::new() } else { format!("{lead}{}", all.join(", ")) }
    }

    /// Attributes in braces, with nothing said twice.
    fn fields<'f>(&self, assigns: impl IntoIterator<Item = &'f Assign>) -> String {
        let pairs = assigns.into_iter().map(|assign| (&assign.attribute, &assign.value));
        self.braced(pairs)
    }

    fn braced<'f>(&self, pairs: impl Iterator<Item = (&'f Text, &'f Code)>) -> String {
        let field = |(name, code): (&Text, &Code)| {
            let value = self.code(code);
            if *name == value.as_str() { value } else { format!("{name} = {value}") }
        };
        let fields: Vec<String> = pairs.map(field).collect();
        if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) }
    }

    pub(super) fn problem(&self, op: &ProblemOp) -> String {
        let message = op.message.as_ref().map(|message| format!(" {}", self.code(message)));
        let with = self.fields(&op.with);
        let with = if with.is_empty() { with } else { format!(" with{with}") };
        format!("{} {}{}{with}", op.status, op.code, message.unwrap_or_default())
    }

    /// What a failure comes to, unless it goes on elsewhere or is none.
    pub(super) fn failure(&self, failure: &Failure) -> Option<String> {
        match failure {
            Failure::Problem(op) => Some(self.problem(op)),
            Failure::Retry if self.contract.info.method.is_empty() => Some(AGAIN_LATER.to_owned()),
            Failure::Retry => Some(AGAIN.to_owned()),
            Failure::End(op) => Some(self.ending(op)),
            Failure::Goto { .. } | Failure::Nothing => None,
        }
    }

    pub(super) fn returned(&self, op: &ReturnOp) -> String {
        let name = op.binding.map_or("", |id| self.binding(id));
        let with = self.braced(op.with.iter().map(|(shown, code)| (&shown.attribute, code)));
        let with = if with.is_empty() { with } else { format!(" with{with}") };
        let at = op.at.as_ref().map(|pieces| {
            let path = pieces.iter().map(|piece| match piece {
                Piece::Literal(literal) => literal.to_string(),
                Piece::Value(code, width) => hole(&self.code(code), *width),
            });
            format!(" at {}", path.collect::<String>())
        });
        format!("return {} {name}{with}{}", op.status, at.unwrap_or_default())
    }
}

/// A value in a text, with its width if it has one.
pub(super) fn hole(name: &str, width: Option<usize>) -> String {
    match width {
        Some(width) => format!("{{{name}:{width:02}}}"),
        None => format!("{{{name}}}"),
    }
}

/// A value as it is written in a document.
pub(super) fn constant(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        other => {
            let mut text = String::new();
            json::write(other, &mut text);
            text
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    json::write_text(text, &mut quoted);
    quoted
}

fn duration(milliseconds: i64) -> String {
    let unit = UNITS.iter().find(|(_, size)| milliseconds % size == 0);
    match unit {
        Some((unit, size)) if milliseconds != 0 => format!("{}{unit}", milliseconds / size),
        _ => format!("{milliseconds}ms"),
    }
}

fn told(told: Told) -> &'static str {
    match told {
        Told::MessageSentAt => "message.sentAt",
        Told::MessageTries => "message.tries",
        Told::SentAt => "sent.at",
        Told::FailureClass => "failure.class",
        Told::FailureCode => "failure.code",
        Told::FailureMessage => "failure.message",
    }
}

fn is_duration(code: &Code) -> bool {
    match code {
        Code::Elapsed(..) => true,
        Code::Add(a, _, b) => is_duration(a) || is_duration(b),
        _ => false,
    }
}

fn symbol(comparator: Comparator) -> &'static str {
    match comparator {
        Comparator::Equal => "==",
        Comparator::NotEqual => "!=",
        other => other.symbol(),
    }
}

pub(super) fn word(sign: Sign) -> &'static str {
    match sign {
        Sign::Plus => "+",
        Sign::Minus => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::{Words, duration};
    use crate::plan::{Op, System};

    /// A contract whose statements are to come back as they are written.
    const DOORS: &str = r#"```contract
system doors
table Doors { type kind }
role porter
role chief implies porter
entity Door "DOOR" {
  PK = "DOOR#{doorId}"
  SK = "META"
  doorId id, ownerId id, state OPEN | SHUT = SHUT, uses int 0.. = 0, note text(40)?, at time, version counter
}
contract D-1 "Use a door" {
  POST /doors/{doorId}
  input limit int, note text(40)?
  door = get Door strong else 404 not-found
  allow caller owns door.ownerId or caller is porter and not (caller is chief)
  require (door.uses < limit or limit == 0) and door.uses - (limit - 1) < 3 else 409 worn
  require now - door.at < 90m and door.at + 2d > now else 409 late
  require note is absent or note begins_with "a\"b" else 409 note
  require door.uses in (1, limit) and door.uses between 0 and 10 else 409 odd
  update door
    set uses = .uses + 1, note ?= note, at = now, version = .version + 1
    if unchanged and (.uses < limit or .note is absent) else retry
  return door
  consistency strong
  expect 1 item
  rate 1/s
}
```"#;

    #[test]
    fn statements_come_back_as_they_are_written() {
        let system = System::read(DOORS).map_err(|mistakes| mistakes.to_string());
        let system = system.expect("the document is right");
        let contract = system.contract("D-1").expect("there is one");
        let words = Words { system: &system, contract };
        let mut told = Vec::new();
        for op in &contract.program {
            told.extend(match op {
                Op::Allow(test) => Some(format!("allow {}", words.code(test))),
                Op::Require(test, failure) => words
                    .failure(failure)
                    .map(|failure| format!("require {} else {failure}", words.code(test))),
                Op::Write(leg) => Some(words.leg(leg)),
                _ => None,
            });
        }
        let flat: String = DOORS.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told.len(), 6);
        for line in told {
            assert!(flat.contains(&line), "the document does not say\n  {line}");
        }
    }

    #[test]
    fn tests_can_be_turned_round() {
        let system = System::read(DOORS).map_err(|mistakes| mistakes.to_string());
        let system = system.expect("the document is right");
        let contract = system.contract("D-1").expect("there is one");
        let words = Words { system: &system, contract };
        let told: Vec<String> = contract
            .program
            .iter()
            .filter_map(|op| match op {
                Op::Require(test, _) => Some(words.negated(test)),
                _ => None,
            })
            .collect();
        assert!(told[2].starts_with("not (note is absent or"), "{}", told[2]);
    }

    #[test]
    fn durations_have_the_largest_unit_that_fits() {
        for (milliseconds, shown) in [
            (0, "0ms"),
            (1, "1ms"),
            (1_000, "1s"),
            (90_000, "90s"),
            (5_400_000, "90m"),
            (172_800_000, "2d"),
        ] {
            assert_eq!(duration(milliseconds), shown);
        }
    }
}
