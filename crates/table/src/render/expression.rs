//! Conditions, updates and key conditions as DynamoDB's expressions.

use std::collections::HashMap;

use super::Placeholders;
use crate::limits::{EXPRESSION_BYTES_MAX, SUBSTITUTED_BYTES_MAX};
use crate::{
    Action, Condition, Datum, Expression, Invalid, KeyAttribute, KeyNames, Operand, Path,
    SortRange, Step, Text, Value, action,
};

/// Writes the expressions of one operation, which share their placeholders.
#[derive(Debug)]
pub(super) struct Expressions<V> {
    placeholders: Placeholders<V>,
    /// The placeholder of each name so far.
    names: HashMap<Text, String>,
}

/// How tightly a condition is bound, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
}

/// The clauses of an update, in the order they are written.
const CLAUSES: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

impl<V> Default for Expressions<V> {
    fn default() -> Expressions<V> {
        let placeholders = Placeholders { names: Vec::new(), values: Vec::new() };
        Expressions { placeholders, names: HashMap::new() }
    }
}

impl<V: Datum> Expressions<V> {
    /// What the placeholders of everything written stand for.
    pub(super) fn into_placeholders(self) -> Placeholders<V> {
        self.placeholders
    }

    /// A condition on an item, once it is known to be none that DynamoDB would refuse unseen: the depth
    /// of the walk is bounded, and there is no `and` of nothing.
    pub(super) fn condition(&mut self, condition: &Condition<V>) -> Result<String, Invalid> {
        condition.validate()?;
        Ok(self.bound(condition, Binding::Or))
    }

    /// The condition that chooses the keys of a query.
    pub(super) fn key_condition(
        &mut self,
        names: &KeyNames,
        partition: &V::Text,
        range: &SortRange<V::Text>,
    ) -> String {
        let KeyNames { partition: attribute, sort } = names;
        let partition =
            format!("{} = {}", self.name(&attribute.name), self.key(attribute, partition));
        // Where there is no sort key, there is no range of it.
        let Some(sort) = sort else { return partition };
        let comparison = match range {
            SortRange::All => return partition,
            SortRange::Equal(text) => ("=", text),
            SortRange::Less(text) => ("<", text),
            SortRange::LessOrEqual(text) => ("<=", text),
            SortRange::Greater(text) => (">", text),
            SortRange::GreaterOrEqual(text) => (">=", text),
            SortRange::Between(low, high) => {
                let (low, high, sort) =
                    (self.key(sort, low), self.key(sort, high), self.name(&sort.name));
                return format!("{partition} AND {sort} BETWEEN {low} AND {high}");
            }
            SortRange::BeginsWith(prefix) => {
                let (prefix, sort) = (self.key(sort, prefix), self.name(&sort.name));
                return format!("{partition} AND begins_with({sort}, {prefix})");
            }
        };
        let (symbol, text) = comparison;
        let (text, sort) = (self.key(sort, text), self.name(&sort.name));
        format!("{partition} AND {sort} {symbol} {text}")
    }

    /// The changes of an update, if there are any.
    pub(super) fn update(&mut self, actions: &[Action<V>]) -> Result<Option<String>, Invalid> {
        action::validate(actions)?;
        let mut clauses = Vec::new();
        for clause in CLAUSES {
            let mut parts = Vec::new();
            for action in actions.iter().filter(|action| clause_of(action) == clause) {
                parts.push(self.action(action)?);
            }
            if !parts.is_empty() {
                clauses.push(format!("{clause} {}", parts.join(", ")));
            }
        }
        Ok(if clauses.is_empty() { None } else { Some(clauses.join(" ")) })
    }

    /// Writes a condition, in parentheses if it would otherwise fall apart among what is around it.
    ///
    /// Only where they are needed: DynamoDB refuses some that are not.
    fn bound(&mut self, condition: &Condition<V>, around: Binding) -> String {
        match unwrapped(condition) {
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::Absent(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::HasType(path, value_type) => {
                let (path, code) =
                    (self.path(path), self.value(Value::from(value_type.code()).into()));
                format!("attribute_type({path}, {code})")
            }
            Condition::Compare(a, comparator, b) => {
                let (a, b) = (self.operand(a), self.operand(b));
                format!("{a} {} {b}", comparator.symbol())
            }
            Condition::Between(value, low, high) => {
                let (value, low) = (self.operand(value), self.operand(low));
                format!("{value} BETWEEN {low} AND {}", self.operand(high))
            }
            Condition::In(value, alternatives) => {
                let value = self.operand(value);
                let all: Vec<_> = alternatives.iter().map(|one| self.operand(one)).collect();
                format!("{value} IN ({})", all.join(", "))
            }
            Condition::BeginsWith(path, prefix) => {
                let (path, prefix) = (self.path(path), self.operand(prefix));
                format!("begins_with({path}, {prefix})")
            }
            Condition::Contains(path, element) => {
                let (path, element) = (self.path(path), self.operand(element));
                format!("contains({path}, {element})")
            }
            Condition::And(all) => self.joined(all, " AND ", Binding::And, around),
            Condition::Or(any) => self.joined(any, " OR ", Binding::Or, around),
            Condition::Not(inner) => match unwrapped(inner) {
                // Two negations are none, and not every reader of expressions takes `NOT NOT`.
                Condition::Not(inner) => self.bound(inner, around),
                inner => format!("NOT {}", self.bound(inner, Binding::Not)),
            },
        }
    }

    fn joined(
        &mut self,
        conditions: &[Condition<V>],
        word: &str,
        own: Binding,
        around: Binding,
    ) -> String {
        let parts: Vec<_> = conditions.iter().map(|condition| self.bound(condition, own)).collect();
        let text = parts.join(word);
        if own < around { format!("({text})") } else { text }
    }

    fn operand(&mut self, operand: &Operand<V>) -> String {
        match operand {
            Operand::Value(value) => self.value(value.clone()),
            Operand::Path(path) => self.path(path),
            Operand::Size(path) => format!("size({})", self.path(path)),
        }
    }

    fn action(&mut self, action: &Action<V>) -> Result<String, Invalid> {
        Ok(match action {
            Action::Set(path, expression) => {
                format!("{} = {}", self.path(path), self.computed(expression)?)
            }
            Action::Remove(path) => self.path(path),
            Action::Add(name, value) | Action::Delete(name, value) => {
                format!("{} {}", self.name(name), self.value(value.clone()))
            }
        })
    }

    /// What an attribute is set to: a term, or one sum, difference or list made of two.
    fn computed(&mut self, expression: &Expression<V>) -> Result<String, Invalid> {
        Ok(match expression {
            Expression::Sum(a, b) => format!("{} + {}", self.term(a)?, self.term(b)?),
            Expression::Difference(a, b) => format!("{} - {}", self.term(a)?, self.term(b)?),
            Expression::Append(a, b) => {
                format!("list_append({}, {})", self.term(a)?, self.term(b)?)
            }
            term => self.term(term)?,
        })
    }

    /// DynamoDB takes `if_not_exists` within another function or a sum, and nothing else.
    fn term(&mut self, expression: &Expression<V>) -> Result<String, Invalid> {
        match expression {
            Expression::Value(value) => Ok(self.value(value.clone())),
            Expression::Path(path) => Ok(self.path(path)),
            Expression::OrElse(path, other) => {
                Ok(format!("if_not_exists({}, {})", self.path(path), self.term(other)?))
            }
            Expression::Sum(..) | Expression::Difference(..) | Expression::Append(..) => {
                Err(Invalid::Nested)
            }
        }
    }

    fn path(&mut self, path: &Path) -> String {
        let mut text = self.name(path.root());
        for step in path.steps() {
            match step {
                Step::Field(name) => {
                    text.push('.');
                    text.push_str(&self.name(name));
                }
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }

    /// The placeholder of a name, always the same.
    fn name(&mut self, name: &Text) -> String {
        if let Some(placeholder) = self.names.get(name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.placeholders.names.len());
        self.placeholders.names.push((placeholder.clone(), name.clone()));
        self.names.insert(name.clone(), placeholder.clone());
        placeholder
    }

    /// A placeholder for a value. Equal values have one each: DynamoDB refuses to compare an operand with
    /// itself, and two constants may be compared.
    fn value(&mut self, value: V) -> String {
        let placeholder = format!(":v{}", self.placeholders.values.len());
        self.placeholders.values.push((placeholder.clone(), value));
        placeholder
    }

    fn key(&mut self, attribute: &KeyAttribute, text: &V::Text) -> String {
        self.value(attribute.datum(text))
    }
}

/// Refuses a condition and an update of one operation that DynamoDB would find too large. Both are known
/// to be valid otherwise.
pub(crate) fn validate_size(
    actions: &[Action],
    condition: Option<&Condition>,
) -> Result<(), Invalid> {
    let most = Most::of(actions, condition);
    if most.text <= EXPRESSION_BYTES_MAX && most.substituted <= SUBSTITUTED_BYTES_MAX {
        return Ok(());
    }
    let mut expressions = Expressions::default();
    let update = expressions.update(actions)?;
    let condition = condition.map(|condition| expressions.condition(condition)).transpose()?;
    if update.iter().chain(&condition).any(|text| text.len() > EXPRESSION_BYTES_MAX) {
        return Err(Invalid::ExpressionSize);
    }
    let Placeholders { names, values } = expressions.into_placeholders();
    let names: usize = names.iter().map(|(_, name)| name.len()).sum();
    match names + values.iter().map(|(_, value)| value.size()).sum::<usize>() {
        bytes if bytes > SUBSTITUTED_BYTES_MAX => Err(Invalid::SubstitutedSize { bytes }),
        _ => Ok(()),
    }
}

/// How large expressions can be at most, found without writing them: most are far from any limit.
#[derive(Debug, Default)]
pub(super) struct Most {
    pub(super) text: usize,
    pub(super) substituted: usize,
}

/// More than any placeholder has, of those that fit in an expression, with what parts it from the next.
const PLACEHOLDER_BYTES: usize = 8;

/// More than any function or operator adds to its operands, parentheses and what joins it to the next.
const OPERATOR_BYTES: usize = 40;

/// More than an index has.
const INDEX_BYTES: usize = 24;

impl Most {
    pub(super) fn of(actions: &[Action], condition: Option<&Condition>) -> Most {
        let mut most = Most::default();
        actions.iter().for_each(|action| most.action(action));
        condition.into_iter().for_each(|condition| most.condition(condition));
        most
    }

    fn value(&mut self, value: &Value) {
        self.text += PLACEHOLDER_BYTES;
        self.substituted += value.size();
    }

    fn name(&mut self, name: &Text) {
        self.text += PLACEHOLDER_BYTES;
        self.substituted += name.len();
    }

    fn path(&mut self, path: &Path) {
        self.name(path.root());
        for step in path.steps() {
            match step {
                Step::Field(name) => self.name(name),
                Step::Index(_) => self.text += INDEX_BYTES,
            }
        }
    }

    fn operand(&mut self, operand: &Operand) {
        self.text += OPERATOR_BYTES;
        match operand {
            Operand::Value(value) => self.value(value),
            Operand::Path(path) | Operand::Size(path) => self.path(path),
        }
    }

    fn condition(&mut self, condition: &Condition) {
        self.text += OPERATOR_BYTES;
        match condition {
            Condition::Exists(path) | Condition::Absent(path) => self.path(path),
            Condition::HasType(path, value_type) => {
                self.path(path);
                self.value(&value_type.code().into());
            }
            Condition::Compare(a, _, b) => [a, b].into_iter().for_each(|one| self.operand(one)),
            Condition::Between(a, b, c) => [a, b, c].into_iter().for_each(|one| self.operand(one)),
            Condition::In(value, alternatives) => {
                self.operand(value);
                alternatives.iter().for_each(|one| self.operand(one));
            }
            Condition::BeginsWith(path, operand) | Condition::Contains(path, operand) => {
                self.path(path);
                self.operand(operand);
            }
            Condition::And(all) | Condition::Or(all) => {
                all.iter().for_each(|one| self.condition(one));
            }
            Condition::Not(inner) => self.condition(inner),
        }
    }

    fn action(&mut self, action: &Action) {
        self.text += OPERATOR_BYTES;
        match action {
            Action::Set(path, expression) => {
                self.path(path);
                self.expression(expression);
            }
            Action::Remove(path) => self.path(path),
            Action::Add(name, value) | Action::Delete(name, value) => {
                self.name(name);
                self.value(value);
            }
        }
    }

    fn expression(&mut self, expression: &Expression) {
        self.text += OPERATOR_BYTES;
        match expression {
            Expression::Value(value) => self.value(value),
            Expression::Path(path) => self.path(path),
            Expression::OrElse(path, other) => {
                self.path(path);
                self.expression(other);
            }
            Expression::Sum(a, b) | Expression::Difference(a, b) | Expression::Append(a, b) => {
                self.expression(a);
                self.expression(b);
            }
        }
    }
}

/// An `and` or `or` of one condition is that condition.
fn unwrapped<V>(mut condition: &Condition<V>) -> &Condition<V> {
    while let Condition::And(all) | Condition::Or(all) = condition
        && let [only] = all.as_slice()
    {
        condition = only;
    }
    condition
}

fn clause_of<V>(action: &Action<V>) -> &'static str {
    match action {
        Action::Set(..) => "SET",
        Action::Remove(_) => "REMOVE",
        Action::Add(..) => "ADD",
        Action::Delete(..) => "DELETE",
    }
}
