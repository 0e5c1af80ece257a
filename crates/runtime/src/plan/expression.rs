//! Expressions, with numbers read and roles unfolded.

use std::cmp::Ordering;
use std::sync::Arc;

use latchkey_model::Type;
use latchkey_model::model::{
    self, BindingId, Expr, ExprKind, InputId, Kind, Model, New, Op, RoleId, TextPiece, Told,
};
use latchkey_table::{Comparator, Number, Path, Text, Value, ValueType};
use latchkey_value::name::INCARNATION_ATTRIBUTE;
use latchkey_value::{Format, Rounding};

use super::Entities;
use super::assumed::Lacks;
use super::entity::value_type;
use super::refusal::{Planned, Unplanned};

/// An expression.
#[derive(Debug, Clone)]
pub(crate) enum Code {
    Constant(Value),
    Input(InputId),
    /// A value that was named, or an item whose presence is asked.
    Binding(BindingId),
    Attribute(BindingId, Text),
    /// A member of a record.
    Member(Box<Code>, MemberOf),
    /// Whether a set or a list has an element.
    Contains(Box<Code>, Box<Code>),
    /// No value.
    Nothing,
    /// Whether a test holds of all elements of a list, or of one.
    Every(Box<EveryOf>),
    /// How many elements a list or a set has.
    Size(Box<Code>),
    /// The sum of the elements of a list, or of a member of each.
    Total(Box<Code>, Option<Text>),
    /// What is stored, which the table evaluates.
    Stored(Path),
    /// The number of the partition that is read, of several. A call has a constant in its place.
    Through(Text),
    Now,
    CallerId,
    /// A value made in this call, by its place among them.
    New(New, usize),
    Text(Vec<Piece>),
    Owns(Box<Code>),
    /// Whether the caller has a role: one of these, each of which implies it.
    HasRole(Text, Vec<Text>),
    Present(Box<Code>),
    /// Whether these attributes of an item are as they were read: the counter, and the incarnation where the counter
    /// can start again.
    Unchanged(BindingId, Arc<[Text]>),
    /// That a stored item lacks an attribute, which then has its default.
    Lacks(Lacks),
    /// A test, and what is asked for it where attributes may have their defaults.
    Assumed(Box<Code>, Box<Code>),
    Not(Box<Code>),
    And(Box<Code>, Box<Code>),
    Or(Box<Code>, Box<Code>),
    Compare(Box<Code>, Comparator, Box<Code>),
    /// The sum of two numbers, or their difference.
    Add(Box<Code>, Sign, Box<Code>),
    /// An instant or a date so many milliseconds after another, or before.
    Shift(Box<Code>, Sign, Box<Code>),
    /// An instant or a date so many months after another, or before.
    ShiftMonths(Box<Code>, Sign, Box<Code>),
    /// The milliseconds between two instants, or two dates.
    Elapsed(Box<Code>, Box<Code>),
    /// The product of two numbers.
    Multiply(Box<Code>, Box<Code>),
    /// A number, or the quotient of two, rounded to so many places.
    Rounded(Rounding, Box<Code>, Option<Box<Code>>, u8),
    /// The day of an instant.
    Day(Box<Code>),
    MovesTo(Box<Code>, Box<Code>, Moves),
    BeginsWith(Box<Code>, Box<Code>),
    Between(Box<Code>, Box<Code>, Box<Code>),
    In(Box<Code>, Vec<Code>),
    /// A fact about a message or a send.
    Told(Told),
    Shard(Box<Code>, u64),
    /// What a key draws for a subject: a side of a comparison with a number.
    Draw(Box<Code>, Box<Code>),
    Commitment(Box<Code>),
    Reveal(Box<Code>),
    /// The least or the greatest of several values.
    Extreme(Ordering, Vec<Code>),
    /// The first of several of which all parts are there, each with these parts.
    Coalesce(Vec<(Vec<Code>, Code)>),
    /// How many items a name holds.
    Count(BindingId),
    /// How many of them have each of these values.
    CountBy(BindingId, Text, Vec<Text>),
    Sum(BindingId, Text),
    Object(Vec<(Text, Code)>),
}

/// A test of the elements of a list.
#[derive(Debug, Clone)]
pub(crate) struct EveryOf {
    /// Whether it must hold of all, or else of one.
    pub(crate) all: bool,
    pub(crate) over: Code,
    /// The name of the element within the test.
    pub(crate) element: BindingId,
    pub(crate) test: Code,
}

/// A member of a record: its name, what it is stored as, and whether it may be absent.
#[derive(Debug, Clone)]
pub(crate) struct MemberOf {
    pub(crate) name: Text,
    pub(crate) value_type: ValueType,
    pub(crate) optional: bool,
}

/// Which words may follow which.
type Moves = Arc<[(Text, Vec<Text>)]>;

impl Code {
    /// The inputs that a sum, a difference or a product is made of.
    pub(crate) fn summands(&self, inputs: &mut Vec<InputId>) {
        match self {
            Code::Input(input) => inputs.push(*input),
            Code::Add(a, _, b) | Code::Multiply(a, b) => {
                a.summands(inputs);
                b.summands(inputs);
            }
            _ => {}
        }
    }
}

/// Plus or minus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    /// The sum or the difference of two numbers, if there is such a number.
    pub(crate) fn applied(self, a: Number, b: Number) -> Option<Number> {
        match self {
            Sign::Plus => a.checked_add(b).ok(),
            Sign::Minus => a.checked_sub(b).ok(),
        }
    }

    /// The same, if both are known.
    pub(crate) fn of(self, a: Option<Number>, b: Option<Number>) -> Option<Number> {
        self.applied(a?, b?)
    }

    pub(crate) fn opposite(self) -> Sign {
        match self {
            Sign::Plus => Sign::Minus,
            Sign::Minus => Sign::Plus,
        }
    }
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Literal(Text),
    /// A value, in a form of its own if one is given.
    Value(Code, Option<Format>),
}

/// Plans the expressions of one contract.
pub(super) struct Expressions<'a> {
    pub(super) model: &'a Model,
    pub(super) contract: &'a latchkey_model::model::Contract,
    pub(super) entities: &'a Entities,
    /// The binding whose item `.x` and `unchanged` are about.
    pub(super) target: Option<BindingId>,
    /// The values it makes.
    pub(super) new_values: Vec<New>,
    /// The number of the partition that is planned, of several.
    pub(super) through: Option<i64>,
}

impl Expressions<'_> {
    /// Plans an expression. Each `new` in it is a value of its own from then on: one that stands in the
    /// document once is planned once, and its code is cloned.
    pub(super) fn code(&mut self, expr: &Expr) -> Planned<Code> {
        self.planned(expr).map_err(|error| error.at(expr.span))
    }

    fn planned(&mut self, expr: &Expr) -> Planned<Code> {
        Ok(match &expr.kind {
            ExprKind::Input(input) => Code::Input(*input),
            ExprKind::Binding(id) => Code::Binding(*id),
            ExprKind::Attribute(id, name) => Code::Attribute(*id, name.as_str().into()),
            ExprKind::Through(name) => match self.through {
                Some(number) => Code::Constant(Value::from(number)),
                None => Code::Through(name.as_str().into()),
            },
            ExprKind::Stored(_) | ExprKind::Member(..) => self.member(expr)?,
            ExprKind::Contains(set, element) => {
                Code::Contains(self.boxed(set)?, self.boxed(element)?)
            }
            ExprKind::Nothing => Code::Nothing,
            ExprKind::Now => Code::Now,
            ExprKind::CallerId => Code::CallerId,
            ExprKind::Owns(what) => Code::Owns(self.boxed(what)?),
            ExprKind::HasRole(role) => Code::HasRole(
                self.model.roles[*role].name.as_str().into(),
                roles_with(self.model, *role),
            ),
            ExprKind::Word(word) => Code::Constant(Value::from(word.as_str())),
            ExprKind::Text(pieces) => self.text(pieces)?,
            ExprKind::Number(number) => Code::Constant(Value::Number(*number)),
            ExprKind::Duration(milliseconds) => {
                Code::Constant(Value::Number((*milliseconds).into()))
            }
            ExprKind::Months(months) => Code::Constant(Value::Number(u64::from(*months).into())),
            ExprKind::Bool(value) => Code::Constant(Value::Bool(*value)),
            ExprKind::New(what) => self.made(*what),
            ExprKind::Present(thing) => Code::Present(self.boxed(thing)?),
            ExprKind::Absent(thing) => Code::Not(Box::new(Code::Present(self.boxed(thing)?))),
            ExprKind::Unchanged => self.unchanged()?,
            ExprKind::Not(inner) => Code::Not(self.boxed(inner)?),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b)?,
            ExprKind::MovesTo(from, to) => {
                let moves = self.moves(from)?;
                Code::MovesTo(self.boxed(from)?, self.boxed(to)?, moves)
            }
            ExprKind::BeginsWith(a, b) => Code::BeginsWith(self.boxed(a)?, self.boxed(b)?),
            ExprKind::Between(a, b, c) => {
                Code::Between(self.boxed(a)?, self.boxed(b)?, self.boxed(c)?)
            }
            ExprKind::In(a, values) => Code::In(self.boxed(a)?, self.all(values)?),
            ExprKind::Unknown => return Err(Unplanned::new("nobody knows what this is")),
            _ => self.function(expr)?,
        })
    }

    /// What is stored, or a member of a record that is stored or at hand.
    fn member(&mut self, expr: &Expr) -> Planned<Code> {
        if let Some(path) = stored_path(expr) {
            return Ok(Code::Stored(path));
        }
        let ExprKind::Member(record, name) = &expr.kind else {
            return Err(Unplanned::new("this is no member of a record"));
        };
        let member = match &record.of {
            Kind::Value(kind) => kind.member(name),
            _ => None,
        };
        let member =
            member.ok_or_else(|| Unplanned::new(format!("there is no member `{name}`")))?;
        let of = MemberOf {
            name: name.as_str().into(),
            value_type: value_type(&member.kind),
            optional: member.optional,
        };
        Ok(Code::Member(self.boxed(record)?, of))
    }

    /// A function of the language.
    fn function(&mut self, expr: &Expr) -> Planned<Code> {
        Ok(match &expr.kind {
            ExprKind::Told(told) => Code::Told(*told),
            ExprKind::Shard(of, shards) => Code::Shard(self.boxed(of)?, *shards),
            ExprKind::Draw(key, subject) => Code::Draw(self.boxed(key)?, self.boxed(subject)?),
            ExprKind::Day(instant) => Code::Day(self.boxed(instant)?),
            ExprKind::Rounded(rounding, a, by, places) => {
                let by = by.as_ref().map(|by| self.boxed(by)).transpose()?;
                Code::Rounded(*rounding, self.boxed(a)?, by, *places)
            }
            ExprKind::Commitment(key) => Code::Commitment(self.boxed(key)?),
            ExprKind::Reveal(key) => Code::Reveal(self.boxed(key)?),
            ExprKind::Greatest(of) => Code::Extreme(Ordering::Greater, self.all(of)?),
            ExprKind::Least(of) => Code::Extreme(Ordering::Less, self.all(of)?),
            ExprKind::Coalesce(of) => {
                let each = of.iter().map(|one| Ok((self.parts(one)?, self.code(one)?)));
                Code::Coalesce(each.collect::<Planned<_>>()?)
            }
            ExprKind::Count(id) => Code::Count(*id),
            ExprKind::CountBy(id, name, words) => {
                let words = words.iter().map(|word| word.as_str().into()).collect();
                Code::CountBy(*id, name.as_str().into(), words)
            }
            ExprKind::Sum(id, name) => Code::Sum(*id, name.as_str().into()),
            ExprKind::Every { all, over, element, test } => Code::Every(Box::new(EveryOf {
                all: *all,
                over: self.code(over)?,
                element: *element,
                test: self.code(test)?,
            })),
            ExprKind::Size(of) => Code::Size(self.boxed(of)?),
            ExprKind::Total(of, member) => {
                Code::Total(self.boxed(of)?, member.as_ref().map(|name| name.as_str().into()))
            }
            ExprKind::Object(members) => {
                let mut object = Vec::with_capacity(members.len());
                for (name, value) in members {
                    object.push((Text::from(name.as_str()), self.code(value)?));
                }
                Code::Object(object)
            }
            other => return Err(Unplanned::new(format!("there is no plan for {other:?}"))),
        })
    }

    fn boxed(&mut self, expr: &Expr) -> Planned<Box<Code>> {
        self.code(expr).map(Box::new)
    }

    fn all(&mut self, of: &[Expr]) -> Planned<Vec<Code>> {
        of.iter().map(|one| self.code(one)).collect()
    }

    fn text(&mut self, pieces: &[TextPiece]) -> Planned<Code> {
        let mut planned = Vec::with_capacity(pieces.len());
        for piece in pieces {
            planned.push(match piece {
                TextPiece::Literal(text) => Piece::Literal(text.as_str().into()),
                TextPiece::Value(value, format) => Piece::Value(self.code(value)?, *format),
            });
        }
        Ok(joined(planned))
    }

    /// What is read of inputs and items within a value.
    fn parts(&mut self, value: &Expr) -> Planned<Vec<Code>> {
        let mut parts = Vec::new();
        value.walk(&mut |part| match &part.kind {
            ExprKind::Input(_)
            | ExprKind::Attribute(..)
            | ExprKind::Stored(_)
            | ExprKind::Member(..) => parts.push(part),
            _ => {}
        });
        parts.into_iter().map(|part| self.code(part)).collect()
    }

    /// A value that each call makes for itself.
    pub(super) fn made(&mut self, new: New) -> Code {
        self.new_values.push(new);
        Code::New(new, self.new_values.len() - 1)
    }

    /// The entity of a binding that is an item.
    pub(super) fn item_entity(&self, binding: BindingId) -> Planned<&model::Entity> {
        let entity = self.contract.bindings[binding].kind.item();
        let entity = entity.ok_or_else(|| Unplanned::new("this is not an item"))?;
        Ok(&self.model.entities[entity])
    }

    fn unchanged(&self) -> Planned<Code> {
        let target = self.target.ok_or_else(|| Unplanned::new("nothing was read before"))?;
        let entity = self.contract.bindings[target].kind.item();
        let entity = entity.ok_or_else(|| Unplanned::new("this is not an item"))?;
        let counter = self.model.entities[entity].counter();
        let counter = counter.ok_or_else(|| Unplanned::new("nothing counts its changes"))?;
        let mut names = vec![Text::from(counter.name.as_str())];
        if self.entities[entity].remade {
            names.push(Text::const_new(INCARNATION_ATTRIBUTE));
        }
        Ok(Code::Unchanged(target, names.into()))
    }

    fn binary(&mut self, op: Op, a: &Expr, b: &Expr) -> Planned<Code> {
        let times = (is_time(a), is_time(b));
        let months = b.of == Kind::Value(Type::Months);
        let (left, right) = (self.boxed(a)?, self.boxed(b)?);
        let compare = |comparator| Code::Compare(left.clone(), comparator, right.clone());
        Ok(match op {
            Op::And => Code::And(left, right),
            Op::Or => Code::Or(left, right),
            Op::Equal => compare(Comparator::Equal),
            Op::NotEqual => compare(Comparator::NotEqual),
            Op::Less => compare(Comparator::Less),
            Op::LessOrEqual => compare(Comparator::LessOrEqual),
            Op::Greater => compare(Comparator::Greater),
            Op::GreaterOrEqual => compare(Comparator::GreaterOrEqual),
            Op::Plus | Op::Minus => {
                let sign = if op == Op::Plus { Sign::Plus } else { Sign::Minus };
                match times {
                    (true, true) => Code::Elapsed(left, right),
                    (true, false) if months => Code::ShiftMonths(left, sign, right),
                    (true, false) => Code::Shift(left, sign, right),
                    _ => Code::Add(left, sign, right),
                }
            }
            Op::Times => Code::Multiply(left, right),
            Op::Over => return Err(Unplanned::new("nothing says how a quotient is rounded")),
        })
    }

    /// The declared moves of the attribute that a value is of.
    fn moves(&self, from: &Expr) -> Planned<Moves> {
        let moves = match &from.kind {
            ExprKind::Attribute(id, name) => {
                self.item_entity(*id)?.attribute(name).and_then(|one| one.moves.as_ref())
            }
            _ => None,
        };
        let moves = moves.ok_or_else(|| Unplanned::new("no moves of it are declared"))?;
        let text = |word: &String| Text::from(word.as_str());
        let moves = moves.iter().map(|(from, to)| (text(from), to.iter().map(text).collect()));
        Ok(moves.collect())
    }
}

impl Code {
    /// The value that is all of a text, or else the text itself.
    pub(crate) fn lone(&self) -> &Code {
        match self {
            Code::Text(pieces) => match pieces.as_slice() {
                [Piece::Value(code, None)] => code,
                _ => self,
            },
            _ => self,
        }
    }
}

/// A text of pieces; one without values is a constant.
pub(super) fn joined(pieces: Vec<Piece>) -> Code {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => joined.push(piece),
        }
    }
    match joined.as_slice() {
        [] => Code::Constant(Value::from("")),
        [Piece::Literal(text)] => Code::Constant(Value::Text(text.clone())),
        _ => Code::Text(joined),
    }
}

/// Where a stored value lies.
fn stored_path(expr: &Expr) -> Option<Path> {
    match &expr.kind {
        ExprKind::Stored(name) => Some(Path::attribute(name.as_str())),
        ExprKind::Member(record, name) => Some(stored_path(record)?.field(name.as_str())),
        _ => None,
    }
}

fn is_time(expr: &Expr) -> bool {
    matches!(expr.of, Kind::Value(Type::Time | Type::Date))
}

/// A role, and all that imply it.
fn roles_with(model: &Model, role: RoleId) -> Vec<Text> {
    // A role implies one that is declared above it, so the walk ends.
    let implied = |id: RoleId| std::iter::successors(Some(id), |id| model.roles[*id].implies);
    let roles = model.roles.enumerate().filter(|(id, _)| implied(*id).any(|id| id == role));
    roles.map(|(_, role)| Text::from(role.name.as_str())).collect()
}
