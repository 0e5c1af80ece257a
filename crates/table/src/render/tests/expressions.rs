//! Reads expressions back, by DynamoDB's grammar.

use crate::render::Placeholders;
use crate::{Action, Comparator, Condition, Expression, Operand, Path, Text, Value, ValueType};

const TYPES: [ValueType; 10] = [
    ValueType::Text,
    ValueType::Number,
    ValueType::Bytes,
    ValueType::Bool,
    ValueType::Null,
    ValueType::List,
    ValueType::Map,
    ValueType::TextSet,
    ValueType::NumberSet,
    ValueType::BytesSet,
];

const COMPARATORS: [Comparator; 6] = [
    Comparator::Equal,
    Comparator::NotEqual,
    Comparator::Less,
    Comparator::LessOrEqual,
    Comparator::Greater,
    Comparator::GreaterOrEqual,
];

pub(super) fn tokens(text: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_#:".contains(c);
    let mut tokens: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        let continues = (word(before) && word(c)) || (before == '<' && ">=".contains(c));
        match tokens.last_mut() {
            Some(last) if continues || (before == '>' && c == '=') => last.push(c),
            _ if c != ' ' => tokens.push(c.to_string()),
            _ => {}
        }
        before = c;
    }
    tokens
}

/// Reads a condition; every panic is a fault of what was rendered.
pub(super) fn condition(text: &str, placeholders: &Placeholders) -> Condition {
    let mut reader = Reader::new(text, placeholders);
    let condition = reader.any();
    assert_eq!(reader.peek(), "", "{text}");
    condition
}

/// Reads the changes of an update, each clause at most once.
pub(super) fn update(text: &str, placeholders: &Placeholders) -> Vec<Action> {
    let mut reader = Reader::new(text, placeholders);
    let mut actions = Vec::new();
    let mut clauses = Vec::new();
    while reader.peek() != "" {
        let clause = reader.next();
        assert!(!clauses.contains(&clause), "{text}");
        loop {
            actions.push(reader.action(&clause));
            if !reader.take(",") {
                break;
            }
        }
        clauses.push(clause);
    }
    actions
}

struct Reader<'a> {
    tokens: Vec<String>,
    at: usize,
    placeholders: &'a Placeholders,
}

impl Reader<'_> {
    fn new<'a>(text: &str, placeholders: &'a Placeholders) -> Reader<'a> {
        Reader { tokens: tokens(text), at: 0, placeholders }
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) {
        assert!(self.take(token), "`{token}` at {} of {:?}", self.at, self.tokens);
    }

    fn any(&mut self) -> Condition {
        let mut any = vec![self.all()];
        while self.take("OR") {
            any.push(self.all());
        }
        if any.len() == 1 { any.remove(0) } else { Condition::Or(any) }
    }

    fn all(&mut self) -> Condition {
        let mut all = vec![self.one()];
        while self.take("AND") {
            all.push(self.one());
        }
        if all.len() == 1 { all.remove(0) } else { Condition::And(all) }
    }

    fn one(&mut self) -> Condition {
        match self.peek() {
            "NOT" => {
                self.expect("NOT");
                assert_ne!(self.peek(), "NOT", "not every reader takes this");
                Condition::Not(Box::new(self.one()))
            }
            "(" => {
                self.expect("(");
                let inner = self.any();
                self.expect(")");
                assert!(matches!(inner, Condition::And(_) | Condition::Or(_)), "idle parentheses");
                inner
            }
            word if word.starts_with(['#', ':']) || word == "size" => self.comparison(),
            _ => self.function(),
        }
    }

    fn function(&mut self) -> Condition {
        let name = self.next();
        self.expect("(");
        let path = self.path();
        let condition = match name.as_str() {
            "attribute_exists" => Condition::Exists(path),
            "attribute_not_exists" => Condition::Absent(path),
            name => {
                self.expect(",");
                let operand = self.operand();
                match (name, &operand) {
                    ("attribute_type", Operand::Value(Value::Text(code))) => {
                        let found = TYPES.into_iter().find(|it| it.code() == code).unwrap();
                        Condition::HasType(path, found)
                    }
                    ("begins_with", _) => Condition::BeginsWith(path, operand),
                    ("contains", _) => Condition::Contains(path, operand),
                    _ => panic!("{name} of {operand:?}"),
                }
            }
        };
        self.expect(")");
        condition
    }

    fn comparison(&mut self) -> Condition {
        let a = self.operand();
        match self.next().as_str() {
            "BETWEEN" => {
                let low = self.operand();
                self.expect("AND");
                Condition::Between(a, low, self.operand())
            }
            "IN" => {
                self.expect("(");
                let mut all = vec![self.operand()];
                while self.take(",") {
                    all.push(self.operand());
                }
                self.expect(")");
                Condition::In(a, all)
            }
            symbol => {
                let comparator = COMPARATORS.into_iter().find(|it| it.symbol() == symbol);
                Condition::Compare(a, comparator.unwrap(), self.operand())
            }
        }
    }

    fn operand(&mut self) -> Operand {
        match self.peek() {
            "size" => {
                self.expect("size");
                self.expect("(");
                let path = self.path();
                self.expect(")");
                Operand::Size(path)
            }
            word if word.starts_with(':') => Operand::Value(self.value()),
            _ => Operand::Path(self.path()),
        }
    }

    fn action(&mut self, clause: &str) -> Action {
        let path = self.path();
        match clause {
            "SET" => {
                self.expect("=");
                Action::Set(path, self.computed())
            }
            "REMOVE" => Action::Remove(path),
            "ADD" => Action::Add(path.root().clone(), self.value()),
            "DELETE" => Action::Delete(path.root().clone(), self.value()),
            other => panic!("{other}"),
        }
    }

    fn computed(&mut self) -> Expression {
        if self.take("list_append") {
            self.expect("(");
            let a = self.term();
            self.expect(",");
            let b = self.term();
            self.expect(")");
            return Expression::Append(a, b);
        }
        let a = self.term();
        if self.take("+") {
            Expression::Sum(a, self.term())
        } else if self.take("-") {
            Expression::Difference(a, self.term())
        } else {
            *a
        }
    }

    fn term(&mut self) -> Box<Expression> {
        Box::new(match self.peek() {
            "if_not_exists" => {
                self.expect("if_not_exists");
                self.expect("(");
                let path = self.path();
                self.expect(",");
                let other = self.term();
                self.expect(")");
                Expression::OrElse(path, other)
            }
            word if word.starts_with(':') => Expression::Value(self.value()),
            _ => Expression::Path(self.path()),
        })
    }

    fn path(&mut self) -> Path {
        let mut path = Path::attribute(self.name());
        loop {
            if self.take(".") {
                path = path.field(self.name());
            } else if self.take("[") {
                path = path.index(self.next().parse().unwrap());
                self.expect("]");
            } else {
                return path;
            }
        }
    }

    fn name(&mut self) -> Text {
        let placeholder = self.next();
        let found = self.placeholders.names.iter().find(|(name, _)| *name == placeholder);
        found.unwrap_or_else(|| panic!("{placeholder} in {:?}", self.tokens)).1.clone()
    }

    fn value(&mut self) -> Value {
        let placeholder = self.next();
        let found = self.placeholders.values.iter().find(|(name, _)| *name == placeholder);
        found.unwrap_or_else(|| panic!("{placeholder} in {:?}", self.tokens)).1.clone()
    }
}

/// The condition with what has no text of its own taken away: conjunctions of one, those within their
/// like, and negations of negations.
pub(super) fn plain(condition: &Condition) -> Condition {
    let flat = |all: &[Condition], like: fn(&Condition) -> Option<&Vec<Condition>>| {
        let parts = all.iter().map(plain);
        parts.flat_map(|part| like(&part).cloned().unwrap_or(vec![part])).collect::<Vec<_>>()
    };
    match condition {
        Condition::And(all) | Condition::Or(all) if all.len() == 1 => plain(&all[0]),
        Condition::And(all) => Condition::And(flat(all, |part| match part {
            Condition::And(all) => Some(all),
            _ => None,
        })),
        Condition::Or(any) => Condition::Or(flat(any, |part| match part {
            Condition::Or(any) => Some(any),
            _ => None,
        })),
        Condition::Not(inner) => match plain(inner) {
            Condition::Not(inner) => *inner,
            inner => Condition::Not(Box::new(inner)),
        },
        other => other.clone(),
    }
}

#[test]
fn expressions_fall_apart_into_tokens() {
    let found = tokens("SET #n0.#n1[12] = if_not_exists(#n2, :v0) - :v1");
    let expected = "SET #n0 . #n1 [ 12 ] = if_not_exists ( #n2 , :v0 ) - :v1";
    assert_eq!(found.join(" "), expected);
    assert_eq!(tokens("#n0<=:v0 <> < >= >").join(" "), "#n0 <= :v0 <> < >= >");
}
