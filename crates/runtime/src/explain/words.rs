//! Plans in words, close to the language they are written in: expressions here, statements in `statement.rs`.

mod statement;

use latchkey_model::model::{BindingId, InputId, Told};
use latchkey_table::{Comparator, Text, Value};
use latchkey_value::{Format, Rounding};

use crate::json;
use crate::plan::{Assign, Code, Contract, New, Piece, Sign, System};
pub(super) use statement::AGAIN;

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
    Product,
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
        use Tightness::{And, Comparison, Name, Or, Product, Sum};
        let joined = |own, a: String, word: &str, b: String| (own, format!("{a} {word} {b}"));
        let compared = |word, a, b| {
            let duration = is_duration(a) || is_duration(b);
            joined(Comparison, self.measured(a, duration), word, self.measured(b, duration))
        };
        match code {
            Code::Owns(what) => (Comparison, format!("caller owns {}", self.code(what))),
            Code::HasRole(role, _) => (Comparison, format!("caller is {role}")),
            Code::Present(thing) => (Comparison, format!("{} is present", self.code(thing))),
            Code::Not(inner) => (Tightness::Not, self.negation(inner, Tightness::Not)),
            Code::And(a, b) => joined(And, self.within(a, And), "and", self.within(b, And)),
            Code::Or(a, b) => joined(Or, self.within(a, Or), "or", self.within(b, Or)),
            Code::Compare(a, comparator, b) => compared(symbol(*comparator), a, b),
            Code::Add(a, sign, b) => {
                joined(Sum, self.within(a, Sum), word(*sign), self.within(b, Product))
            }
            Code::Multiply(a, b) => {
                joined(Product, self.within(a, Product), "*", self.within(b, Name))
            }
            Code::ShiftMonths(a, sign, by) => {
                joined(Sum, self.within(a, Sum), word(*sign), self.months(by))
            }
            Code::Shift(a, sign, by) => {
                joined(Sum, self.within(a, Sum), word(*sign), self.measured(by, true))
            }
            Code::Elapsed(a, b) => joined(Sum, self.within(a, Sum), "-", self.within(b, Product)),
            Code::MovesTo(a, b, _) => compared("moves to", a, b),
            Code::BeginsWith(a, b) => compared("begins_with", a, b),
            Code::Between(a, low, high) => {
                let (a, low, high) =
                    (self.within(a, Sum), self.within(low, Sum), self.within(high, Sum));
                (Comparison, format!("{a} between {low} and {high}"))
            }
            Code::In(a, values) => {
                (Comparison, format!("{} in ({})", self.within(a, Sum), self.list(values)))
            }
            Code::Constant(value) => (Name, constant(value)),
            Code::Input(at) => (Name, self.input(*at).to_owned()),
            Code::Binding(id) => (Name, self.binding(*id).to_owned()),
            Code::Attribute(id, name) => (Name, format!("{}.{name}", self.binding(*id))),
            Code::Stored(path) => (Name, format!(".{path}")),
            Code::Through(name) => (Name, name.to_string()),
            Code::Member(record, of) => {
                (Name, format!("{}.{}", self.within(record, Name), of.name))
            }
            Code::Contains(set, element) => compared("in", element, set),
            Code::Now | Code::CallerId | Code::Unchanged(..) | Code::Nothing => (Name, plain(code)),
            Code::New(new, at) => (Name, self.new_value(*new, *at)),
            Code::Text(pieces) => (Name, self.text(pieces)),
            Code::Assumed(test, _) => self.parts(test),
            Code::Lacks(lacks) => (Comparison, format!(".{} is absent", lacks.attribute)),
            Code::Told(told) => (Name, self::told(*told).to_owned()),
            Code::Every(_)
            | Code::Size(_)
            | Code::Total(..)
            | Code::Shard(..)
            | Code::Draw(..)
            | Code::Commitment(_)
            | Code::Reveal(_)
            | Code::Extreme(..)
            | Code::Coalesce(_)
            | Code::Count(_)
            | Code::CountBy(..)
            | Code::Sum(..)
            | Code::Day(_)
            | Code::Rounded(..)
            | Code::Object(_) => (Name, self.function(code)),
        }
    }

    /// A function of the language, and what is asked of all elements of a list.
    fn function(&self, code: &Code) -> String {
        match code {
            Code::Every(every) => {
                let word = if every.all { "all" } else { "any" };
                let (element, over) = (self.binding(every.element), self.code(&every.over));
                format!("{word} {element} in {over} ({})", self.code(&every.test))
            }
            Code::Size(of) => format!("count({})", self.code(of)),
            Code::Total(of, None) => format!("sum({})", self.code(of)),
            Code::Total(of, Some(member)) => format!("sum({}.{member})", self.code(of)),
            Code::Shard(of, shards) => format!("shard({}, {shards})", self.code(of)),
            Code::Draw(key, subject) => {
                format!("draw({}, {})", self.code(key), self.code(subject))
            }
            Code::Commitment(key) => format!("commitment({})", self.code(key)),
            Code::Reveal(key) => format!("reveal({})", self.code(key)),
            Code::Day(instant) => format!("day({})", self.code(instant)),
            Code::Rounded(rounding, a, by, places) => {
                self.rounded(*rounding, a, by.as_deref(), *places)
            }
            Code::Extreme(wanted, of) => {
                let name = if wanted.is_gt() { "max" } else { "min" };
                format!("{name}({})", self.list(of))
            }
            Code::Coalesce(of) => {
                let each: Vec<String> = of.iter().map(|(_, code)| self.code(code)).collect();
                // It can stand within braces itself.
                format!("coalesce({})", each.join(", ").replace('{', "<").replace('}', ">"))
            }
            Code::Count(id) => format!("count({})", self.binding(*id)),
            Code::CountBy(id, name, _) => format!("count({} by {name})", self.binding(*id)),
            Code::Sum(id, name) => format!("sum({}.{name})", self.binding(*id)),
            Code::Object(members) => self.object(members),
            // All others are told by `parts`.
            other => format!("{other:?}"),
        }
    }

    fn object(&self, members: &[(Text, Code)]) -> String {
        let pairs = members.iter().map(|(name, code)| (name, code));
        self.members(pairs).trim_start().to_owned()
    }

    /// A span of months, which is a constant or a name.
    fn months(&self, by: &Code) -> String {
        match by {
            Code::Constant(Value::Number(number)) => match number.to_i64() {
                Some(months) if months % 12 == 0 && months != 0 => format!("{}y", months / 12),
                _ => format!("{number}mo"),
            },
            other => self.within(other, Tightness::Product),
        }
    }

    fn rounded(&self, rounding: Rounding, a: &Code, by: Option<&Code>, places: u8) -> String {
        let name = match rounding {
            Rounding::Nearest => "round",
            Rounding::Down => "floor",
            Rounding::Up => "ceil",
        };
        let of = match by {
            Some(by) => {
                let a = self.within(a, Tightness::Product);
                format!("{a} / {}", self.within(by, Tightness::Name))
            }
            None => self.code(a),
        };
        let places = if places == 0 { String::new() } else { format!(", {places}") };
        format!("{name}({of}{places})")
    }

    fn list(&self, codes: &[Code]) -> String {
        codes.iter().map(|code| self.code(code)).collect::<Vec<_>>().join(", ")
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
    fn new_value(&self, new: New, at: usize) -> String {
        let name = match new {
            New::Key => "new key",
            New::Ulid => "new ulid",
        };
        let before =
            self.contract.new_values.iter().take(at).filter(|other| **other == new).count();
        if before == 0 { name.to_owned() } else { format!("{name} {}", before + 1) }
    }

    fn text(&self, pieces: &[Piece]) -> String {
        let mut text = String::from("\"");
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => {
                    let literal = quoted(&braced(literal));
                    text.extend(literal.chars().skip(1));
                    // The quote it ends with.
                    text.pop();
                }
                Piece::Value(code, format) => {
                    text.push_str(&hole(&self.code(code), *format));
                }
            }
        }
        text.push('"');
        text
    }

    /// Attributes in braces, with nothing said twice.
    fn fields<'f>(&self, assigns: impl IntoIterator<Item = &'f Assign>) -> String {
        let pairs = assigns.into_iter().map(|assign| (&assign.attribute, &assign.value));
        self.members(pairs)
    }

    fn members<'f>(&self, pairs: impl Iterator<Item = (&'f Text, &'f Code)>) -> String {
        let field = |(name, code): (&Text, &Code)| {
            let value = self.code(code);
            if *name == value.as_str() { value } else { format!("{name} = {value}") }
        };
        let fields: Vec<String> = pairs.map(field).collect();
        if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) }
    }
}

/// What has one word for itself.
fn plain(code: &Code) -> String {
    let word = match code {
        Code::Now => "now",
        Code::CallerId => "caller.id",
        Code::Unchanged(..) => "unchanged",
        _ => "nothing",
    };
    word.to_owned()
}

/// A value in a text, with its form if it has one of its own.
pub(super) fn hole(name: &str, format: Option<Format>) -> String {
    match format {
        Some(format) => format!("{{{name}:{format}}}"),
        None => format!("{{{name}}}"),
    }
}

/// A value as it is written in a document.
pub(super) fn constant(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(&braced(text)),
        other => {
            let mut text = String::new();
            json::write(other, &mut text);
            text
        }
    }
}

/// A text with its own braces doubled, for a single one begins or ends a name.
pub(super) fn braced(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
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
                Op::Allow(test, _) => Some(format!("allow {}", words.code(test))),
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
