//! What is shown of a value: the members that its type declares, and no others.

use std::borrow::Cow;

use latchkey_model::Type;
use latchkey_model::model::{Expr, ExprKind, Kind};
use latchkey_table::{Text, Value};

/// How much of a value is shown.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    All,
    /// These members, in the order of their names.
    Record(Vec<(Text, Form)>),
    /// So much of each element.
    List(Box<Form>),
}

impl Form {
    pub(crate) fn of(kind: &Type) -> Form {
        match kind {
            Type::Record(members) => {
                let form = |name: &str, kind| (Text::from(name), Form::of(kind));
                let members = members.iter().map(|member| form(&member.name, &member.kind));
                Form::Record(members.collect())
            }
            Type::ListOf(list) => match Form::of(&list.of) {
                Form::All => Form::All,
                part => Form::List(Box::new(part)),
            },
            _ => Form::All,
        }
    }

    /// How much of what an expression gives is shown.
    pub(super) fn of_value(value: &Expr) -> Form {
        match (&value.kind, &value.of) {
            (ExprKind::Object(members), _) => {
                let form = |(name, value): &(String, Expr)| {
                    (Text::from(name.as_str()), Form::of_value(value))
                };
                Form::Record(members.iter().map(form).collect())
            }
            (_, Kind::Value(kind)) => Form::of(kind),
            _ => Form::All,
        }
    }

    /// What is shown of a value.
    pub(crate) fn shown<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match self.is_all(value) {
            true => Cow::Borrowed(value),
            false => Cow::Owned(self.cut(value)),
        }
    }

    /// Whether all of a value is shown, as of every value that Latchkey has written.
    fn is_all(&self, value: &Value) -> bool {
        match (self, value) {
            (Form::Record(members), Value::Map(map)) => map.iter().all(|(name, value)| {
                members.iter().any(|(own, form)| own == name && form.is_all(value))
            }),
            (Form::List(form), Value::List(values)) => {
                values.iter().all(|value| form.is_all(value))
            }
            _ => true,
        }
    }

    fn cut(&self, value: &Value) -> Value {
        match (self, value) {
            (Form::Record(members), Value::Map(map)) => {
                let shown = map.iter().filter_map(|(name, value)| {
                    let (_, form) = members.iter().find(|(own, _)| own == name)?;
                    Some((name.clone(), form.cut(value)))
                });
                Value::Map(shown.collect())
            }
            (Form::List(form), Value::List(values)) => {
                Value::List(values.iter().map(|value| form.cut(value)).collect())
            }
            _ => value.clone(),
        }
    }
}
