//! The types and defaults of attributes and inputs.

use latchkey_language::ast::{self, ExprKind, Member};
use latchkey_language::{Diagnostic, Name};
use latchkey_value::Number;

use super::entity::Declared;
use super::{Lowering, suggestion};
use crate::types::Type;

/// The most bytes of a text whose bound could not be read.
pub(crate) const UNREAD_BYTES: u64 = u64::MAX;

/// How large a compiled pattern may become.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// The types that have a name.
pub(crate) const NAMED: &[&str] =
    &["id", "ulid", "text", "int", "number", "counter", "bool", "time", "list", "map", "key"];

/// The pattern of a text, for the whole of it.
pub fn pattern(like: &str) -> Result<regex::Regex, String> {
    let compiled =
        regex::RegexBuilder::new(&format!(r"\A(?:{like})\z")).size_limit(PATTERN_BYTES_MAX).build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The last line says what is wrong; those above draw it.
        error => error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    })
}

/// Whether a decimal lies between two others, all as they are written.
pub(crate) fn is_between(number: &str, low: Option<&str>, high: Option<&str>) -> bool {
    let read = |text: &str| text.parse::<Number>().ok();
    let Some(number) = read(number) else { return false };
    low.is_none_or(|low| read(low).is_some_and(|low| low <= number))
        && high.is_none_or(|high| read(high).is_some_and(|high| number <= high))
}

impl Lowering {
    /// The type of an input, or of an attribute once all entities are known.
    pub(super) fn field_type(&mut self, field: &ast::Field) -> Option<Type> {
        match &field.kind.node {
            ast::Type::OneOf(values) => Some(self.one_of(values)),
            ast::Type::Of(entity, attribute) => {
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
        }
    }

    /// The type of an attribute, which may be that of an attribute of any other entity.
    pub(super) fn attribute_type(
        &mut self,
        field: &ast::Field,
        all: &Declared<'_>,
    ) -> Option<Type> {
        let ast::Type::Of(entity, attribute) = &field.kind.node else {
            return self.field_type(field);
        };
        self.entity_id(entity)?;
        let members = all.iter().filter(|other| other.name.node == entity.node);
        let found = members.flat_map(|entity| &entity.members).find_map(|member| match member {
            Member::Field(field) if field.name.node == attribute.node => Some(field),
            _ => None,
        });
        match found {
            Some(found) if !matches!(found.kind.node, ast::Type::Of(..)) => self.field_type(found),
            Some(_) => {
                let message = format!("`{}` takes its type from elsewhere", attribute.node);
                let help = "name the attribute it takes it from";
                self.report(Diagnostic::new("type", attribute.span, message).help(help));
                None
            }
            None => {
                self.unknown(&format!("attribute of `{}` named", entity.node), attribute, None);
                None
            }
        }
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
        let bound = |of: fn(&ast::Bounds) -> &Option<Name>| {
            bounds.and_then(|bounds| of(bounds).as_ref()).map(|text| text.node.clone())
        };
        let (low, high) = (bound(|bounds| &bounds.low), bound(|bounds| &bounds.high));
        let whole = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let kind = match name.node.as_str() {
            "id" => Type::Id,
            "ulid" => Type::Ulid,
            "text" => Type::Text {
                max: argument(0).unwrap_or(UNREAD_BYTES),
                like: like.map(|like| like.node.clone()),
            },
            "int" => Type::Int { low: whole(low), high: whole(high) },
            "number" => Type::Number { low, high },
            "counter" => Type::Counter,
            "bool" => Type::Bool,
            "time" => Type::Time,
            "list" => Type::List,
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
            self.report(Diagnostic::new("type", name.span, message).help(help));
        }
    }

    /// Bounds are for numbers, patterns for texts.
    fn extras(&mut self, name: &Name, bounds: Option<&ast::Bounds>, like: Option<&Name>) {
        if let Some(like) = like.filter(|_| name.node != "text") {
            let message = format!("`{}` has no pattern; only a text has", name.node);
            self.report(Diagnostic::new("type", like.span, message));
        }
        if let Some(Err(error)) = like.map(|like| pattern(&like.node)) {
            let span = like.map_or(name.span, |like| like.span);
            let diagnostic = Diagnostic::new("type", span, "this is no pattern");
            self.report(
                diagnostic.why(error).help("write a regular expression such as `[a-z]{3,64}`"),
            );
        }
        let Some(bounds) = bounds else { return };
        let ends: Vec<&Name> = bounds.low.iter().chain(&bounds.high).collect();
        let span = ends.iter().fold(name.span, |span, end| span.to(end.span));
        let whole: Option<Vec<i64>> = ends.iter().map(|end| end.node.parse().ok()).collect();
        let message = match (name.node.as_str(), whole) {
            ("int", None) => "the bounds of an `int` are whole numbers".to_owned(),
            ("int" | "number", Some(whole)) if whole.len() == 2 && whole.first() > whole.last() => {
                "the least value is above the greatest".to_owned()
            }
            ("int" | "number", _) => return,
            (other, _) => format!("`{other}` has no bounds; only a number has"),
        };
        self.report(Diagnostic::new("type", span, message));
    }

    /// What has a default is never absent.
    pub(super) fn never_both(&mut self, field: &ast::Field) {
        if let (Some(optional), Some(_)) = (field.optional, &field.default) {
            let message = format!("`{}` has a default and is never absent", field.name.node);
            let help = "leave out the `?` or the default";
            self.report(Diagnostic::new("type", optional, message).help(help));
        }
    }

    /// The default of an attribute: a constant of its type.
    pub(super) fn constant(&mut self, default: &ast::Expr, kind: &Type) -> String {
        let literal = match &default.node {
            ExprKind::Name(word) | ExprKind::Number(word) => Some(word.clone()),
            ExprKind::Text(template) => match template.pieces.as_slice() {
                [] => Some(String::new()),
                [ast::Piece::Literal(text)] => Some(text.node.clone()),
                _ => None,
            },
            _ => None,
        };
        let fits = match (kind, &default.node, &literal) {
            (Type::Enum(values), ExprKind::Name(word), _) => values.contains(word),
            (Type::Bool, ExprKind::Name(word), _) => word == "true" || word == "false",
            (Type::Int { low, high }, ExprKind::Number(number), _) => {
                number.parse::<i64>().is_ok_and(|number| {
                    low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
                })
            }
            (Type::Number { low, high }, ExprKind::Number(number), _) => {
                let (low, high) = (low.as_deref(), high.as_deref());
                is_between(number, low, high)
            }
            (Type::Text { max, like }, ExprKind::Text(_), Some(text)) => {
                let alike = |like: &String| pattern(like).is_ok_and(|like| like.is_match(text));
                u64::try_from(text.len()).is_ok_and(|length| length <= *max)
                    && like.as_ref().is_none_or(alike)
            }
            _ => false,
        };
        if !fits {
            let message = format!("this is no constant of type {kind}");
            self.report(Diagnostic::new("type", default.span, message));
        }
        literal.unwrap_or_default()
    }
}
