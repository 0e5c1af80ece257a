//! The shape of what a contract answers: one for all ways through it, since generated clients know one type of success.
//!
//! Where the ways differ, the shape has the members of all of them, and those that not every way has may be absent.

use latchkey_model::model::{
    Attribute, BindingId, Contract, EntityId, Expr, ExprKind, Kind, Model, Return, Step, StepKind,
    TextPiece, What, each_step,
};
use latchkey_model::{Member as RecordMember, Type};

/// The shape of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A value of a type.
    Type(Type),
    /// Anything.
    Any,
    /// Where a list goes on, or `null`.
    Cursor,
    /// An item as it is shown as a whole.
    Entity(EntityId),
    /// An item of one of these entities, with its type.
    Typed(Vec<EntityId>),
    List(Box<Shape>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// The attributes of an entity that are shown.
pub(crate) fn shown(model: &Model, entity: EntityId) -> impl Iterator<Item = &Attribute> {
    model.entities[entity].attributes.iter().filter(|attribute| !attribute.secret)
}

/// Reads the shapes of a contract's answers.
pub(crate) struct Shapes<'a> {
    pub(crate) model: &'a Model,
    pub(crate) contract: &'a Contract,
}

impl Shapes<'_> {
    /// The shape of an answer; nothing where it has no body.
    pub(crate) fn returned(&self, returned: &Return) -> Option<Shape> {
        if returned.status == 204 {
            return None;
        }
        let kind = returned.binding.map(|id| &self.contract.bindings[id].kind);
        let mut members = match (kind, returned.binding) {
            (Some(Kind::Item(entity)), Some(binding)) => {
                if returned.fields.is_empty()
                    && returned.with.is_empty()
                    && returned.next.is_none()
                    && self.is_whole(binding, *entity)
                {
                    return Some(Shape::Entity(*entity));
                }
                let mut members = self.attributes(binding, *entity, &returned.fields);
                // What is on the first page is not on the others.
                members.iter_mut().for_each(|member| member.required &= returned.next.is_none());
                members
            }
            (Some(Kind::Page(entity)), Some(binding)) => {
                let item = match returned.fields.is_empty() && self.is_whole(binding, *entity) {
                    true => Shape::Entity(*entity),
                    false => Shape::Object(self.attributes(binding, *entity, &returned.fields)),
                };
                page(item)
            }
            (Some(Kind::Collection(entities)), _) => page(Shape::Typed(entities.clone())),
            _ => Vec::new(),
        };
        if returned.next.is_some() {
            members.push(cursor());
        }
        for given in &returned.with {
            let (name, shape) = (given.attribute.clone(), self.value(&given.value));
            members.push(Member { name, shape, required: self.is_sure(&given.value) });
        }
        Some(Shape::Object(members))
    }

    /// Whether all attributes are known of an item that was found so.
    fn is_whole(&self, binding: BindingId, entity: EntityId) -> bool {
        let left_out =
            |attribute: &Attribute| self.model.is_left_out(self.contract, binding, &attribute.name);
        !shown(self.model, entity).any(left_out)
    }

    /// The attributes that are shown of an item: those that are listed, or else all.
    fn attributes(&self, binding: BindingId, entity: EntityId, fields: &[String]) -> Vec<Member> {
        let attributes = shown(self.model, entity)
            .filter(|one| !self.model.is_left_out(self.contract, binding, &one.name));
        let all: Vec<Member> = attributes.map(attribute).collect();
        if fields.is_empty() {
            return all;
        }
        let listed = |name: &String| all.iter().find(|member| member.name == *name).cloned();
        fields.iter().filter_map(listed).collect()
    }

    /// The shape of a value that is shown.
    pub(crate) fn value(&self, expr: &Expr) -> Shape {
        match (&expr.kind, &expr.of) {
            (ExprKind::Binding(_), Kind::Page(entity)) => {
                Shape::List(Box::new(Shape::Entity(*entity)))
            }
            (ExprKind::Word(word), _) => Shape::Type(Type::Enum(vec![word.clone()])),
            (ExprKind::Text(pieces), _) => match pieces.as_slice() {
                [TextPiece::Literal(text)] => Shape::Type(Type::Enum(vec![text.clone()])),
                _ => Shape::Type(Type::Text { max: None, like: None }),
            },
            (ExprKind::CountBy(_, _, words), _) => Shape::Object(
                words
                    .iter()
                    .map(|word| Member { name: word.clone(), shape: count(), required: true })
                    .collect(),
            ),
            (ExprKind::Count(_) | ExprKind::Size(_), _) => count(),
            (ExprKind::Object(members), _) => Shape::Object(
                members
                    .iter()
                    .map(|(name, value)| Member {
                        name: name.clone(),
                        shape: self.value(value),
                        required: self.is_sure(value),
                    })
                    .collect(),
            ),
            (ExprKind::Binding(id), Kind::Object) => match self.named(*id) {
                Some(value) => self.value(value),
                None => Shape::Any,
            },
            (_, Kind::Test) => Shape::Type(Type::Bool),
            // What is declared is within its bounds; what is computed may leave those of its parts.
            (
                ExprKind::Input(_) | ExprKind::Attribute(..) | ExprKind::Member(..),
                Kind::Value(kind),
            ) => Shape::Type(kind.clone()),
            (_, Kind::Value(kind)) => Shape::Type(unbounded(kind)),
            _ => Shape::Any,
        }
    }

    /// Whether a value is always there.
    pub(crate) fn is_sure(&self, expr: &Expr) -> bool {
        if expr.of == Kind::Test {
            return true;
        }
        match &expr.kind {
            ExprKind::Input(id) => {
                let input = &self.contract.inputs[*id];
                !input.optional || input.default.is_some()
            }
            ExprKind::Attribute(id, name) => {
                let entity = self.contract.bindings[*id].kind.entity();
                let attribute = entity.and_then(|id| self.model.entities[id].attribute(name));
                self.is_found(*id) && attribute.is_some_and(|attribute| !attribute.optional)
            }
            ExprKind::Member(of, name) => {
                let member: Option<&RecordMember> = match &of.of {
                    Kind::Value(kind) => kind.member(name),
                    _ => None,
                };
                self.is_sure(of) && member.is_some_and(|member| !member.optional)
            }
            ExprKind::Binding(id) => match &expr.of {
                Kind::Page(_) => true,
                _ => self.named(*id).is_some_and(|value| self.is_sure(value)),
            },
            // The last is always there; and what is counted is at least 0.
            ExprKind::Coalesce(_)
            | ExprKind::Object(_)
            | ExprKind::Count(_)
            | ExprKind::CountBy(..)
            | ExprKind::Sum(..) => true,
            _ => {
                let mut sure = true;
                expr.walk(&mut |part| {
                    let open = matches!(
                        part.kind,
                        ExprKind::Input(_)
                            | ExprKind::Attribute(..)
                            | ExprKind::Member(..)
                            | ExprKind::Binding(_)
                    );
                    sure &= !open || self.is_sure(part);
                });
                sure
            }
        }
    }

    /// Whether an item is certainly there: its read answers otherwise, or it was written.
    fn is_found(&self, binding: BindingId) -> bool {
        match self.contract.read_of(binding) {
            Some(read) => {
                let later = matches!(read.what, What::Part(part) if part.one && part.paged);
                read.failure.is_some() && !later
            }
            None => true,
        }
    }

    /// The value that a name was given.
    fn named(&self, binding: BindingId) -> Option<&Expr> {
        let mut found = None;
        each_step(&self.contract.steps, &mut |step: &Step| {
            if let StepKind::Let(id, value) = &step.kind
                && *id == binding
            {
                found = Some(value);
            }
        });
        found
    }
}

fn attribute(attribute: &Attribute) -> Member {
    Member {
        name: attribute.name.clone(),
        shape: Shape::Type(attribute.kind.clone()),
        required: !attribute.optional,
    }
}

fn page(item: Shape) -> Vec<Member> {
    let items = Shape::List(Box::new(item));
    vec![Member { name: "items".to_owned(), shape: items, required: true }, cursor()]
}

fn cursor() -> Member {
    let name = latchkey_model::model::NEXT_CURSOR.to_owned();
    Member { name, shape: Shape::Cursor, required: true }
}

fn count() -> Shape {
    Shape::Type(Type::Int { low: Some(0), high: None })
}

fn unbounded(kind: &Type) -> Type {
    match kind {
        Type::Int { .. } | Type::Counter => Type::Int { low: None, high: None },
        Type::Number { .. } => Type::Number { low: None, high: None },
        Type::Text { .. } => Type::Text { max: None, like: None },
        other => other.clone(),
    }
}

impl Shape {
    /// The shape of what has one of two shapes.
    pub(crate) fn or(self, other: Shape, model: &Model) -> Shape {
        match (self, other) {
            (a, b) if a == b => a,
            (Shape::Type(a), Shape::Type(b)) => either(a, b).map_or(Shape::Any, Shape::Type),
            (Shape::List(a), Shape::List(b)) => Shape::List(Box::new(a.or(*b, model))),
            (a, b) => match (a.members(model), b.members(model)) {
                (Some(a), Some(b)) => Shape::Object(join(a, b, model)),
                _ => Shape::Any,
            },
        }
    }

    /// The members of an item or an object.
    fn members(self, model: &Model) -> Option<Vec<Member>> {
        match self {
            Shape::Object(members) => Some(members),
            Shape::Entity(entity) => Some(shown(model, entity).map(attribute).collect()),
            Shape::Typed(entities) => {
                let words = entities.iter().map(|id| model.entities[*id].discriminator.clone());
                let kind = Shape::Type(Type::Enum(words.collect()));
                let name = model.table.discriminator.clone();
                let mut all = entities.iter().map(|id| shown(model, *id).map(attribute).collect());
                let first = all.next().unwrap_or_default();
                let mut members = all.fold(first, |a, b| join(a, b, model));
                members.insert(0, Member { name, shape: kind, required: true });
                Some(members)
            }
            Shape::Type(_) | Shape::Any | Shape::Cursor | Shape::List(_) => None,
        }
    }
}

/// The members of both, of which those that only one has may be absent.
fn join(one: Vec<Member>, mut other: Vec<Member>, model: &Model) -> Vec<Member> {
    let mut all = Vec::new();
    for Member { name, shape, required } in one {
        let twin = other.iter().position(|member| member.name == name).map(|at| other.remove(at));
        all.push(match twin {
            Some(twin) => {
                let (shape, required) = (shape.or(twin.shape, model), required && twin.required);
                Member { name, shape, required }
            }
            None => Member { name, shape, required: false },
        });
    }
    all.extend(other.into_iter().map(|member| Member { required: false, ..member }));
    all
}

/// The type of what is of one of two types, if there is one.
fn either(a: Type, b: Type) -> Option<Type> {
    let is_text =
        |kind: &Type| matches!(kind, Type::Id | Type::Ulid | Type::Text { .. } | Type::Enum(_));
    let is_whole = |kind: &Type| matches!(kind, Type::Int { .. } | Type::Counter);
    Some(match (a, b) {
        (a, b) if a == b => a,
        (Type::Enum(mut words), Type::Enum(others)) => {
            let new = others.into_iter().filter(|word| !words.contains(word)).collect::<Vec<_>>();
            words.extend(new);
            Type::Enum(words)
        }
        (a, b) if is_text(&a) && is_text(&b) => Type::Text { max: None, like: None },
        (a, b) if is_whole(&a) && is_whole(&b) => Type::Int { low: None, high: None },
        (a, b)
            if (is_whole(&a) || matches!(a, Type::Number { .. }))
                && (is_whole(&b) || matches!(b, Type::Number { .. })) =>
        {
            Type::Number { low: None, high: None }
        }
        _ => return None,
    })
}
