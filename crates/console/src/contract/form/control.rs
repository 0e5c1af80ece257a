//! A field of a form: a control for a value of a type, and fields within it for a list, a set or a record.

use latchkey_model::{Member, Type};
use latchkey_openapi::pattern_of;
use maud::{Markup, html};

use crate::shown::shown;

/// A field.
pub(super) struct Field<'a> {
    /// The name of the input or the member; none for an element of a list.
    pub(super) name: &'a str,
    /// The name for people.
    pub(super) label: &'a str,
    /// The id of its control within the page.
    pub(super) id: String,
    pub(super) kind: &'a Type,
    pub(super) required: bool,
    /// What it is unless given, as the document says.
    pub(super) default: Option<String>,
    /// Whether it can be set to `null`.
    pub(super) nullable: bool,
    /// Whether it is not to be seen.
    pub(super) secret: bool,
    /// Where a call has it; none within another field.
    pub(super) place: Option<&'static str>,
}

/// How the script reads a field.
fn read_as(kind: &Type) -> &'static str {
    match kind {
        Type::Id
        | Type::Ulid
        | Type::Text { .. }
        | Type::Time
        | Type::Date
        | Type::Duration
        | Type::Enum(_)
        | Type::Key => "text",
        Type::Int { .. } | Type::Number { .. } | Type::Counter | Type::Months | Type::Bool => "raw",
        Type::List | Type::Map { .. } => "json",
        Type::ListOf(_) | Type::SetOf { .. } => "list",
        Type::Record(_) => "record",
    }
}

/// The word of a type that the script knows hints for.
fn word(kind: &Type) -> &'static str {
    match kind {
        Type::Id => "id",
        Type::Ulid => "ulid",
        Type::Text { .. } => "text",
        Type::Int { .. } | Type::Counter | Type::Months => "int",
        Type::Number { .. } => "number",
        Type::Bool => "bool",
        Type::Time => "time",
        Type::Date => "date",
        Type::Duration => "duration",
        Type::Enum(_) => "enum",
        Type::Key => "key",
        Type::List => "list",
        Type::Map { .. } => "map",
        Type::ListOf(_) | Type::SetOf { .. } | Type::Record(_) => "structure",
    }
}

/// The bounds of a number.
fn bounds(kind: &Type) -> (Option<String>, Option<String>) {
    let text = |bound: Option<String>| bound;
    match kind {
        Type::Int { low, high } => {
            (text(low.map(|low| low.to_string())), text(high.map(|high| high.to_string())))
        }
        Type::Number { low, high } => {
            (text(low.map(|low| low.to_string())), text(high.map(|high| high.to_string())))
        }
        Type::Counter => (Some("1".to_owned()), None),
        _ => (None, None),
    }
}

/// What a value of a type is, for people.
pub(in crate::contract) fn described(kind: &Type) -> String {
    let between = |(low, high): (Option<String>, Option<String>)| match (low, high) {
        (None, None) => String::new(),
        (Some(low), None) => format!(", from {low}"),
        (None, Some(high)) => format!(", up to {high}"),
        (Some(low), Some(high)) => format!(", {low} to {high}"),
    };
    match kind {
        Type::Text { max: None, .. } => "text".to_owned(),
        Type::Text { max: Some(max), like: None } => {
            format!("text, up to {}", counted(*max, "byte"))
        }
        Type::Text { max: Some(max), like: Some(like) } => {
            format!("text, up to {}, like {like}", counted(*max, "byte"))
        }
        Type::Int { .. } | Type::Counter => format!("whole number{}", between(bounds(kind))),
        Type::Number { .. } => format!("number{}", between(bounds(kind))),
        Type::Bool => "true or false".to_owned(),
        Type::Enum(words) => format!("one of {}", words.join(", ")),
        Type::List => "JSON list".to_owned(),
        Type::Map { bytes, depth } => {
            let (bytes, levels) = (counted(*bytes, "byte"), counted(*depth, "level"));
            format!("JSON object, up to {bytes} and {levels}")
        }
        Type::ListOf(list) if list.low == list.high => {
            format!("list, {}", counted(list.high, "element"))
        }
        Type::ListOf(list) => format!("list, {} to {} elements", list.low, list.high),
        Type::SetOf { most: 1, .. } => "set, up to 1 element".to_owned(),
        Type::SetOf { most, .. } => format!("set, up to {most} different elements"),
        Type::Record(_) => "record".to_owned(),
        other => other.to_string(),
    }
}

/// How many of something.
fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

impl Field<'_> {
    pub(super) fn markup(&self) -> Markup {
        let (low, high) = bounds(self.kind);
        let (max, like) = match self.kind {
            Type::Text { max, like } => (*max, like.as_deref()),
            _ => (None, None),
        };
        html! {
            div.field data-field=(self.name) data-read=(read_as(self.kind)) data-type=(word(self.kind)) data-place=[self.place]
                data-required[self.required] data-secret[self.secret] data-low=[low] data-high=[high] data-max=[max]
                data-like=[like] data-pattern=[like.and_then(pattern_of)] {
                @match self.kind {
                    Type::Record(members) => (self.record(members)),
                    Type::ListOf(list) => (self.list(&list.of, list.low, list.high)),
                    Type::SetOf { of, most } => (self.list(of, 0, *most)),
                    _ => (self.simple()),
                }
            }
        }
    }

    /// A label, a control and what is wrong with it.
    fn simple(&self) -> Markup {
        html! {
            // An element of a list needs no name of its own to be seen.
            div.field-head hidden[self.name.is_empty()] {
                label for=(self.id) { (shown(self.label)) @if self.required { span.must aria-hidden="true" { "*" } } }
                span.field-type { (shown(&described(self.kind))) }
                (self.tools())
            }
            (self.control())
            p.say id={ (self.id) "-say" } {}
        }
    }

    /// Buttons that set what cannot be typed.
    fn tools(&self) -> Markup {
        let empty = match self.kind {
            Type::Text { like: None, max: Some(_) } => Some("the empty text"),
            Type::ListOf(list) if list.low == 0 && !self.required => Some("an empty list"),
            _ => None,
        };
        html! {
            span.tools {
                @match self.kind {
                    Type::Time => button.tiny type="button" data-now aria-label={ "Set " (shown(self.label)) " to now" } { "now" },
                    Type::Date => button.tiny type="button" data-now title="The day that it is now, in UTC" aria-label={ "Set " (shown(self.label)) " to today" } { "today" },
                    _ => {},
                }
                @if self.name == "idempotency-key" || (matches!(self.kind, Type::Ulid) && self.place.is_some()) {
                    button.tiny type="button" data-new aria-label={ "Make a new " (shown(self.label)) } { "new" }
                }
                @if let Some(empty) = empty {
                    button.tiny type="button" data-set="empty" aria-pressed="false"
                        aria-label={ "Send " (shown(self.label)) " as " (empty) } { "empty" }
                }
                @if self.nullable {
                    button.tiny type="button" data-set="null" aria-pressed="false"
                        aria-label={ "Send " (shown(self.label)) " as null" } { "null" }
                }
            }
        }
    }

    fn control(&self) -> Markup {
        let say = format!("{}-say", self.id);
        let (name, secret) = (shown(self.label), self.secret);
        let hint = self.unless_given();
        let inputmode = match self.kind {
            Type::Int { low: Some(0..), .. } | Type::Counter => Some("numeric"),
            Type::Number { .. } => Some("decimal"),
            _ => None,
        };
        let words: Option<Vec<&str>> = match self.kind {
            Type::Bool => Some(vec!["true", "false"]),
            Type::Enum(words) => Some(words.iter().map(String::as_str).collect()),
            _ => None,
        };
        html! {
            @match (words, self.kind) {
                (Some(words), _) => select id=(self.id) data-control required[self.required] aria-describedby=(say) aria-label=(name) {
                    option value="" { (shown(&hint)) }
                    @for word in words { option value=(word) { (shown(word)) } }
                },
                (None, Type::List | Type::Map { .. }) => textarea id=(self.id) data-control rows="4" required[self.required]
                    aria-describedby=(say) aria-label=(name) spellcheck="false" placeholder=(shown(&hint)) {},
                (None, _) => input id=(self.id) data-control type=(if secret { "password" } else { "text" }) required[self.required]
                    inputmode=[inputmode] aria-describedby=(say) aria-label=(name) placeholder=(shown(&hint))
                    autocomplete=(if secret { "new-password" } else { "off" }) autocapitalize="off" spellcheck="false";
            }
        }
    }

    /// What a field says while it is empty.
    fn unless_given(&self) -> String {
        let example = match self.kind {
            Type::Time => "2026-02-25T10:00:00Z",
            Type::Date => "2026-02-25",
            Type::List => "[…]",
            Type::Map { .. } => "{…}",
            Type::Bool | Type::Enum(_) => "choose",
            _ => "",
        };
        match &self.default {
            Some(default) => format!("default: {default}"),
            None if self.required => example.to_owned(),
            None => "left out".to_owned(),
        }
    }

    /// Fields in a frame of their own.
    fn record(&self, members: &[Member]) -> Markup {
        html! {
            fieldset.cluster id=(self.id) data-group tabindex="-1" {
                (self.legend())
                div.members {
                    @for member in members {
                        (Field {
                            name: &member.name,
                            label: &member.name,
                            id: format!("{}-{}", self.id, member.name),
                            kind: &member.kind,
                            required: !member.optional,
                            default: None,
                            nullable: false,
                            secret: self.secret,
                            place: None,
                        }.markup())
                    }
                }
            }
        }
    }

    /// Rows that can be added and removed. A template has an empty one.
    fn list(&self, of: &Type, low: u64, high: u64) -> Markup {
        let row = Field {
            name: "",
            label: self.label,
            id: format!("{}-row", self.id),
            kind: of,
            required: true,
            default: None,
            nullable: false,
            secret: self.secret,
            place: None,
        };
        html! {
            fieldset.cluster id=(self.id) data-group data-least=(low) data-most=(high) tabindex="-1" {
                (self.legend())
                div.rows {}
                template {
                    div.row {
                        (row.markup())
                        button.tiny type="button" data-remove aria-label={ "Remove this element of " (shown(self.label)) } { "remove" }
                    }
                }
                button.add type="button" data-add { "Add to " (shown(self.label)) }
            }
        }
    }

    fn legend(&self) -> Markup {
        let say = format!("{}-say", self.id);
        html! {
            legend { (shown(self.label)) @if self.required { span.must aria-hidden="true" { "*" } } }
            div.field-head {
                span.field-type {
                    // A frame shows that it is a record.
                    @if !(self.required && matches!(self.kind, Type::Record(_))) { (shown(&described(self.kind))) }
                    @if let Some(default) = &self.default { ", default " (shown(default)) }
                    @else if !self.required { ", may be left out" }
                }
                (self.tools())
            }
            p.say id=(say) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use latchkey_model::ListOf;

    use super::*;

    fn field<'a>(kind: &'a Type, name: &'a str) -> Field<'a> {
        Field {
            name,
            label: name,
            id: format!("in-{name}"),
            kind,
            required: true,
            default: None,
            nullable: false,
            secret: false,
            place: Some("body"),
        }
    }

    #[test]
    fn a_list_of_records_has_a_template_with_a_field_for_each_member() {
        let member = |name: &str, kind, optional| Member { name: name.to_owned(), kind, optional };
        let of = Type::Record(vec![
            member("sku", Type::Id, false),
            member("quantity", Type::Int { low: Some(1), high: Some(99) }, true),
        ]);
        let list = Type::ListOf(Box::new(ListOf { of, low: 1, high: 20, unique: None }));
        let html = field(&list, "lines").markup().into_string();
        let (before, row) = html.split_once("<template>").unwrap();
        assert!(
            before.contains(r#"data-read="list""#) && before.contains(r#"data-most="20""#),
            "{before}"
        );
        assert!(
            row.contains(r#"data-field="sku" data-read="text" data-type="id" data-required"#),
            "{row}"
        );
        assert!(row.contains(r#"data-field="quantity" data-read="raw" data-type="int" data-low="1" data-high="99""#), "{row}");
    }

    #[test]
    fn what_a_document_says_is_never_markup() {
        let kind = Type::Text { max: Some(9), like: Some("[<\"]+".to_owned()) };
        let mut hostile = field(&kind, "a");
        hostile.default = Some("\"><script>\u{202E}".to_owned());
        let html = hostile.markup().into_string();
        assert!(!html.contains("<script>") && !html.contains('\u{202E}'), "{html}");
        assert!(html.contains("data-like=\"[&lt;&quot;]+\""), "{html}");
    }
}
