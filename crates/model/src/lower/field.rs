//! The types and defaults of attributes and inputs.

use latchkey_language::ast::{self, ExprKind, Member};
use latchkey_language::{Diagnostic, Name, Rule, Spanned};
use latchkey_value::{Number, Value};

use super::entity::Declared;
use super::{Lowering, suggestion};
use crate::regular::like::{self, Unreadable};
use crate::regular::of_pattern;
use crate::types::Type;

/// How large a compiled pattern may become.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// The types that have a name.
pub(crate) const NAMED: &[&str] = &[
    "id", "ulid", "text", "int", "number", "counter", "bool", "time", "date", "list", "set", "map",
    "key",
];

/// The pattern of a text, for the whole of it.
pub fn pattern(like: &str) -> Result<regex::Regex, String> {
    compiled(like).map_err(|error| error.why())
}

/// A `like` in the syntax of the crate `regex`, which reads some classes otherwise.
pub fn written_pattern(like: &str) -> Result<String, String> {
    like::written(like).map_err(|error| error.why())
}

fn compiled(like: &str) -> Result<regex::Regex, Unreadable> {
    // By itself first: `a)|(b` is no pattern, although it is one between parentheses.
    of_pattern(like)?;
    let whole = format!(r"\A(?:{})\z", like::written(like)?);
    let compiled = regex::RegexBuilder::new(&whole).size_limit(PATTERN_BYTES_MAX).build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Unreadable::TooLarge,
        error => Unreadable::Compile(error.to_string()),
    })
}

/// Whether a number lies between two others.
pub(super) fn is_between(number: Number, low: Option<Number>, high: Option<Number>) -> bool {
    low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
}

impl Lowering {
    /// The type of an input, or of an attribute once all entities are known.
    pub(super) fn field_type(&mut self, field: &ast::Field) -> Option<Type> {
        self.type_of(&field.kind, None, 0)
    }

    /// The type of an attribute, which may be that of an attribute of any other entity.
    pub(super) fn attribute_type(
        &mut self,
        field: &ast::Field,
        all: &Declared<'_>,
    ) -> Option<Type> {
        self.type_of(&field.kind, Some(all), 0)
    }

    /// A type that lies so many levels deep in others. Before all entities are known, `all` has their declarations.
    pub(super) fn type_of(
        &mut self,
        written: &Spanned<ast::Type>,
        all: Option<&Declared<'_>>,
        level: usize,
    ) -> Option<Type> {
        match &written.node {
            ast::Type::OneOf(values) => Some(self.one_of(values)),
            ast::Type::Of(entity, attribute) => match all {
                Some(all) => self.declared_type(entity, attribute, all, level),
                None => self.known_type(entity, attribute),
            },
            ast::Type::Named { name, arguments, bounds, like } => {
                let kind = self.named_type(name, arguments, bounds.as_ref(), like.as_ref());
                if kind.is_none() {
                    let known = NAMED.iter().copied();
                    let help = suggestion(&name.node, known).or_else(|| {
                        Some(format!("the types are {} and `A | B`", NAMED.join(", ")))
                    });
                    self.unknown("type", name, help);
                }
                kind
            }
            ast::Type::ListOf { .. } | ast::Type::SetOf { .. } | ast::Type::Record(_) => {
                self.structure(written, all, level)
            }
        }
    }

    /// The type of an attribute of an entity.
    fn known_type(&mut self, entity: &Name, attribute: &Name) -> Option<Type> {
        let id = self.entity_id(entity)?;
        let found = self.model.entities[id].attribute(&attribute.node);
        let kind = found.map(|found| found.kind.clone());
        if kind.is_none() {
            self.unknown(&format!("attribute of `{}` named", entity.node), attribute, None);
        }
        // A counter counts one item's changes; elsewhere its value is a number like others.
        kind.map(|kind| match kind {
            Type::Counter => Type::Int { low: Some(1), high: None },
            kind => kind,
        })
    }

    /// The type of an attribute of an entity that is declared, and not known yet.
    fn declared_type(
        &mut self,
        entity: &Name,
        attribute: &Name,
        all: &Declared<'_>,
        level: usize,
    ) -> Option<Type> {
        self.entity_id(entity)?;
        let members = all.iter().filter(|other| other.name.node == entity.node);
        let found = members.flat_map(|entity| &entity.members).find_map(|member| match member {
            Member::Field(field) if field.name.node == attribute.node => Some(field),
            _ => None,
        });
        let message = match found.map(|found| &found.kind.node) {
            None => {
                self.unknown(&format!("attribute of `{}` named", entity.node), attribute, None);
                return None;
            }
            Some(ast::Type::Of(..)) => {
                format!("`{}` takes its type from elsewhere", attribute.node)
            }
            Some(ast::Type::ListOf { .. } | ast::Type::SetOf { .. } | ast::Type::Record(_))
                if level > 0 =>
            {
                format!("`{}` is made of other values", attribute.node)
            }
            Some(_) => {
                return found.and_then(|found| self.type_of(&found.kind, Some(all), level));
            }
        };
        let help = match level {
            0 => "name the attribute it takes it from",
            _ => "write the type out here",
        };
        self.report(Diagnostic::new(Rule::Type, attribute.span, message).help(help));
        None
    }

    fn one_of(&mut self, values: &[Name]) -> Type {
        for (at, value) in values.iter().enumerate() {
            if let Some(first) = values.iter().take(at).find(|other| other.node == value.node) {
                self.twice("value", value, first.span);
            }
        }
        Type::Enum(values.iter().map(|value| value.node.clone()).collect())
    }

    fn named_type(
        &mut self,
        name: &Name,
        arguments: &[Name],
        bounds: Option<&ast::Bounds>,
        like: Option<&Name>,
    ) -> Option<Type> {
        let argument = |at: usize| arguments.get(at).and_then(|text| text.node.parse::<u64>().ok());
        let low = bounds.and_then(|bounds| bounds.low.as_ref());
        let high = bounds.and_then(|bounds| bounds.high.as_ref());
        let whole = |text: Option<&Name>| text.and_then(|text| text.node.parse().ok());
        let number = |text: Option<&Name>| text.and_then(|text| text.node.parse().ok());
        let kind = match name.node.as_str() {
            "id" => Type::Id,
            "ulid" => Type::Ulid,
            "text" => Type::Text { max: argument(0), like: like.map(|like| like.node.clone()) },
            "int" => Type::Int { low: whole(low), high: whole(high) },
            "number" => Type::Number { low: number(low), high: number(high) },
            "counter" => Type::Counter,
            "bool" => Type::Bool,
            "time" => Type::Time,
            "date" => Type::Date,
            "list" => Type::List,
            "set" => {
                self.bare_set(name);
                return Some(Type::SetOf { of: Box::new(Type::Id), most: 1 });
            }
            "map" => Type::Map { bytes: argument(0).unwrap_or(0), depth: argument(1).unwrap_or(0) },
            "key" => Type::Key,
            _ => return None,
        };
        self.arguments(name, arguments);
        self.extras(name, bounds, like);
        Some(kind)
    }

    fn arguments(&mut self, name: &Name, arguments: &[Name]) {
        let (takes, help) = match name.node.as_str() {
            "text" => (1, "write `text(80)`: the most bytes"),
            "map" => (2, "write `map(2048, 5)`: the most bytes and levels"),
            _ => (0, "leave the parentheses out"),
        };
        let whole = arguments.iter().all(|text| text.node.parse::<u64>().is_ok_and(|n| n > 0));
        if arguments.len() != takes || !whole {
            let message = match takes {
                0 => format!("`{}` takes no numbers in parentheses", name.node),
                1 => format!("`{}` takes one whole number in parentheses", name.node),
                _ => format!("`{}` takes {takes} whole numbers in parentheses", name.node),
            };
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
    }

    /// Bounds are for numbers, patterns for texts.
    fn extras(&mut self, name: &Name, bounds: Option<&ast::Bounds>, like: Option<&Name>) {
        if let Some(like) = like.filter(|_| name.node != "text") {
            let message = format!("`{}` has no pattern; only a text has", name.node);
            self.report(Diagnostic::new(Rule::Type, like.span, message));
        }
        if let Some(like) = like
            && let Err(error) = compiled(&like.node)
        {
            let diagnostic = Diagnostic::new(Rule::Type, like.span, "this is not a pattern");
            self.report(diagnostic.why(error.why()).help(error.help()));
        }
        let Some(bounds) = bounds else { return };
        let ends: Vec<&Name> = bounds.low.iter().chain(&bounds.high).collect();
        let span = ends.iter().fold(name.span, |span, end| span.to(end.span));
        let whole = || ends.iter().all(|end| end.node.parse::<i64>().is_ok());
        let numbers: Result<Vec<Number>, _> = ends.iter().map(|end| end.node.parse()).collect();
        let message = match (name.node.as_str(), numbers) {
            ("int", _) if !whole() => "the bounds of an `int` are whole numbers".to_owned(),
            ("int" | "number", Ok(numbers))
                if numbers.len() == 2 && numbers.first() > numbers.last() =>
            {
                "the least value is above the greatest".to_owned()
            }
            ("int" | "number", Ok(_)) => return,
            ("int" | "number", Err(error)) => format!("a bound is not a number: {error}"),
            (other, _) => format!("`{other}` has no bounds; only a number has"),
        };
        self.report(Diagnostic::new(Rule::Type, span, message));
    }

    /// What has a default is never absent.
    pub(super) fn never_both(&mut self, field: &ast::Field) {
        if let (Some(optional), Some(_)) = (field.optional, &field.default) {
            let message = format!("`{}` has a default and is never absent", field.name.node);
            let help = "leave out the `?` or the default";
            self.report(Diagnostic::new(Rule::Type, optional, message).help(help));
        }
    }

    /// The default of an attribute: a constant of its type. One of another type is reported, and null.
    pub(super) fn constant(&mut self, default: &ast::Expr, kind: &Type) -> Value {
        constant_of(default, kind).unwrap_or_else(|| {
            let message = format!("this is not a constant of type {kind}");
            let mut diagnostic = Diagnostic::new(Rule::Type, default.span, message);
            let has_constants = matches!(
                kind,
                Type::Enum(_) | Type::Bool | Type::Int { .. } | Type::Number { .. } | Type::Text { .. }
            );
            if !has_constants {
                diagnostic = diagnostic.help(
                    "words of an enum, `true` and `false`, numbers and texts can be defaults; a value of another type \
                     means one thing alone, so give it in the `put`, or let the attribute be optional",
                );
            }
            self.report(diagnostic);
            Value::Null
        })
    }
}

/// A constant as a value of a type, if it is one.
fn constant_of(written: &ast::Expr, kind: &Type) -> Option<Value> {
    match (kind, &written.node) {
        (Type::Enum(values), ExprKind::Name(word)) => {
            values.contains(word).then(|| Value::from(word.as_str()))
        }
        (Type::Bool, ExprKind::Name(word)) => word.parse().ok().map(Value::Bool),
        (Type::Int { low, high }, ExprKind::Number(number)) => {
            let number: i64 = number.parse().ok()?;
            let fits =
                low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high);
            fits.then(|| Value::from(number))
        }
        (Type::Number { low, high }, ExprKind::Number(number)) => {
            let number = number.parse().ok()?;
            is_between(number, *low, *high).then_some(Value::Number(number))
        }
        (Type::Text { max, like }, ExprKind::Text(template)) => {
            let text = match template.pieces.as_slice() {
                [] => "",
                [ast::Piece::Literal(text)] => text.node.as_str(),
                _ => return None,
            };
            let alike = |like: &String| pattern(like).is_ok_and(|like| like.is_match(text));
            let short = |max: u64| u64::try_from(text.len()).is_ok_and(|length| length <= max);
            (max.is_none_or(short) && like.as_ref().is_none_or(alike)).then(|| Value::from(text))
        }
        _ => None,
    }
}
