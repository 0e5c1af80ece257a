//! Defaults that are computed from other attributes: checked where they are declared, and written into every `put` that
//! leaves them to their default, as if they stood in its braces.

use std::collections::HashMap;

use latchkey_language::ast::{self, ExprKind as Written, Member};
use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::Value;

use super::Lowering;
use super::key::fields;
use super::scope::{Scope, unknown};
use crate::model::{
    Attribute, BindingId, EntityId, Expr, ExprKind, Given, Kind, Leg, TextPiece, Verb,
};
use crate::types::Type;

/// Whether a default is more than a constant: it names an attribute, or computes.
pub(super) fn is_computed(default: &ast::Expr, entity: &ast::Entity) -> bool {
    match &default.node {
        Written::Name(name) => entity.members.iter().any(|member| match member {
            Member::Field(field) => field.name.node == *name,
            Member::Copies(names) => names.iter().any(|copied| copied.name.node == *name),
            _ => false,
        }),
        Written::Text(template) => {
            template.pieces.iter().any(|piece| matches!(piece, ast::Piece::Hole { .. }))
        }
        Written::Call(..) | Written::Binary(..) | Written::Member(..) | Written::New(_) => true,
        Written::Stored(_) | Written::Not(_) | Written::Is(..) | Written::In(..) => true,
        Written::BeginsWith(..) | Written::Between(..) => true,
        _ => false,
    }
}

impl Lowering {
    /// Takes in the defaults of an entity that are computed, and refuses those that cannot be.
    pub(super) fn computed_defaults(
        &mut self,
        entity: &ast::Entity,
        attributes: &mut [Attribute],
    ) -> Vec<(String, Expr)> {
        let mut all = Vec::new();
        let Some(id) = self.entity_ids.get(&entity.name.node).copied() else { return all };
        let mut uses: HashMap<String, Vec<String>> = HashMap::new();
        for member in &entity.members {
            let Member::Field(field) = member else { continue };
            let Some(default) = field.default.as_ref().filter(|one| is_computed(one, entity))
            else {
                continue;
            };
            let Some(at) = attributes.iter().position(|one| one.name == field.name.node) else {
                continue;
            };
            let Some((named, value)) = self.computed_default(default, at, attributes) else {
                continue;
            };
            uses.insert(field.name.node.clone(), named);
            all.push((field.name.node.clone(), value));
            if let Some(attribute) = attributes.get_mut(at) {
                attribute.computed = Some(default.span);
            }
            self.computed.insert((id, field.name.node.clone()), default.clone());
        }
        self.computed_in_order(attributes, &uses);
        all
    }

    /// Checks one of them, and returns the attributes that it names and its value.
    fn computed_default(
        &mut self,
        default: &ast::Expr,
        at: usize,
        attributes: &[Attribute],
    ) -> Option<(Vec<String>, Expr)> {
        let own = attributes.get(at)?;
        let stored = |one: &Attribute| Expr {
            kind: ExprKind::Stored(one.name.clone()),
            of: Kind::Value(one.kind.clone()),
            span: one.span,
        };
        let all = attributes.iter().map(|one| (one.name.clone(), stored(one))).collect();
        let mut scope = Scope { parameters: Some(all), ..Scope::default() };
        let value = self.value(default, &mut scope, Some(&own.kind));
        self.must_fit(&value, Some(&own.kind));
        let mut named = Vec::new();
        let mut beside = None;
        let mut passed_over = Vec::new();
        value.walk(&mut |part| match &part.kind {
            ExprKind::Coalesce(all) => {
                let first = all.split_last().map_or(&[][..], |(_, first)| first);
                passed_over.extend(first.iter().map(|one| one.span));
            }
            ExprKind::Stored(name) => named.push((name.clone(), part.span)),
            ExprKind::Now | ExprKind::New(_) | ExprKind::CallerId | ExprKind::HasRole(_) => {
                beside = beside.or(Some(part.span));
            }
            ExprKind::Owns(_) => beside = beside.or(Some(part.span)),
            _ => {}
        });
        if let Some(span) = beside {
            let message = "a default is computed from the attributes of its item alone";
            let help = "give this value in the `put`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
        for (name, span) in &named {
            let sure =
                !passed_over.iter().any(|over| over.start <= span.start && span.end <= over.end);
            if let Some(of) = attributes.iter().find(|one| one.name == *name) {
                self.computed_of(own, of, *span, sure);
            }
        }
        Some((named.into_iter().map(|(name, _)| name).collect(), value))
    }

    /// Refuses an attribute that no default can be computed from. It must be there for sure, but in a `coalesce`.
    fn computed_of(&mut self, own: &Attribute, of: &Attribute, span: Span, sure: bool) {
        let name = &of.name;
        let (rule, message, help) = if of.optional && sure {
            let message = format!("`{name}` may be absent");
            (
                Rule::Absent,
                message,
                "leave out its `?`, write `coalesce(…, …)`, or give the value in the `put`"
                    .to_owned(),
            )
        } else if of.kind == Type::Counter {
            let message = format!("`{name}` counts the changes of the item, and is no value yet");
            (Rule::Type, message, "name another attribute".to_owned())
        } else if of.secret && !own.secret {
            let message = format!("`{name}` is secret, and `{}` is not", own.name);
            (Rule::Type, message, format!("declare it so: `{} … secret`", own.name))
        } else {
            return;
        };
        self.report(Diagnostic::new(rule, span, message).help(help));
    }

    /// A default is computed from attributes above it, so that none is computed from itself.
    fn computed_in_order(&mut self, attributes: &[Attribute], uses: &HashMap<String, Vec<String>>) {
        let place = |name: &str| attributes.iter().position(|one| one.name == name);
        for (at, own) in attributes.iter().enumerate() {
            let Some(span) = own.computed else { continue };
            let used = uses.get(&own.name).into_iter().flatten();
            let below = used.clone().find(|name| place(name).is_some_and(|place| place >= at));
            let Some(below) = below else { continue };
            let name = &own.name;
            let mut message = format!("`{name}` is computed from `{below}`, which stands below it");
            let mut help = format!("declare `{below}` above `{name}`");
            if let Some(circle) = circle(name, uses) {
                message = format!("`{name}` is computed from itself: {circle}");
                help = "give one of them in every `put`, without a default".to_owned();
            }
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// The values that a put leaves to be computed.
    pub(super) fn computed_values(
        &mut self,
        leg: &Leg,
        operation: &ast::Operation,
        scope: &mut Scope,
    ) -> Vec<Given> {
        if leg.verb != Verb::Put {
            return Vec::new();
        }
        let entity = &self.model.entities[leg.entity];
        let source = leg.of.and_then(|of| scope.bindings[of].kind.item());
        let taken = |name: &str| {
            source.is_some_and(|source| self.model.entities[source].attribute(name).is_some())
        };
        let given = |name: &str| {
            leg.key.iter().chain(&leg.values).any(|given| given.attribute == name) || taken(name)
        };
        let open = entity.attributes.iter().filter(|one| one.computed.is_some());
        let open: Vec<String> =
            open.map(|one| one.name.clone()).filter(|name| !given(name)).collect();
        let mut values = Vec::new();
        for attribute in open {
            if let Some(value) = self.computed(operation, leg.entity, leg.of, &attribute, scope) {
                values.push(Given::whole(attribute, value, false, leg.span));
            }
        }
        values
    }

    /// The value of an attribute that a put gives no value for, computed from those that it gives.
    pub(super) fn computed(
        &mut self,
        operation: &ast::Operation,
        entity: EntityId,
        of: Option<BindingId>,
        attribute: &str,
        scope: &mut Scope,
    ) -> Option<Expr> {
        let default = self.computed.get(&(entity, attribute.to_owned())).cloned()?;
        let shape = &self.model.entities[entity];
        // An order that goes wrong was reported; this makes an end of it.
        let above = shape.attributes.iter().take_while(|one| one.name != attribute);
        let above: Vec<Attribute> = above.cloned().collect();
        let kind = shape.attribute(attribute).map(|one| one.kind.clone());
        // Whatever is wrong is told where it is declared, or where the other attributes are given.
        let told = self.diagnostics.len();
        let mut parameters = HashMap::new();
        for one in above {
            let value = self.given_or_default(operation, entity, of, &one, scope);
            // What is written is within the bounds of its attribute, or the write is refused.
            let of = Kind::Value(one.kind);
            parameters.insert(one.name, Expr { of, ..value });
        }
        let outer = scope.parameters.replace(parameters);
        let visible = std::mem::take(&mut scope.visible);
        let around = scope.outer.take();
        let value = self.value(&default, scope, kind.as_ref());
        scope.outer = around;
        scope.visible = visible;
        scope.parameters = outer;
        self.diagnostics.truncate(told);
        self.made_before(&value);
        Some(value)
    }

    /// What a put gives for an attribute, or leaves it at.
    fn given_or_default(
        &mut self,
        operation: &ast::Operation,
        entity: EntityId,
        of: Option<BindingId>,
        attribute: &Attribute,
        scope: &mut Scope,
    ) -> Expr {
        let name = &attribute.name;
        let span = operation.target.span;
        let mut written = operation.key.iter().chain(fields(operation));
        if let Some(written) = written.find(|given| given.name.node == *name) {
            return self.expr(&written.value, scope, Some(&attribute.kind));
        }
        if let Some(taken) = of.and_then(|id| self.attribute_of_item(id, name, span, scope)) {
            return taken;
        }
        if self.model.entities[entity].key.attributes().contains(&name.as_str())
            && self.is_input(name, scope)
        {
            return self.input_of_key(name, span, scope);
        }
        if attribute.computed.is_some() {
            let computed = self.computed(operation, entity, of, name, scope);
            return computed.unwrap_or_else(|| unknown(span));
        }
        constant(attribute, span).unwrap_or_else(|| unknown(span))
    }
}

/// The constant that an attribute is by default, as an expression.
fn constant(attribute: &Attribute, span: Span) -> Option<Expr> {
    let kind = match (attribute.default.as_ref()?, &attribute.kind) {
        (Value::Number(number), _) => ExprKind::Number(*number),
        (Value::Bool(truth), _) => ExprKind::Bool(*truth),
        (Value::Text(word), Type::Enum(_)) => ExprKind::Word(word.to_string()),
        (Value::Text(text), _) => ExprKind::Text(vec![TextPiece::Literal(text.to_string())]),
        // One of another type was reported.
        _ => return None,
    };
    Some(Expr { kind, of: Kind::Value(attribute.kind.clone()), span })
}

/// The way from an attribute back to itself, if there is one.
fn circle(start: &str, uses: &HashMap<String, Vec<String>>) -> Option<String> {
    let mut open = vec![vec![start.to_owned()]];
    let mut seen = Vec::new();
    while let Some(way) = open.pop() {
        let last = way.last()?;
        for next in uses.get(last).into_iter().flatten() {
            if next == start {
                let steps = way.iter().map(|name| format!("`{name}`"));
                return Some(
                    steps.chain([format!("`{start}`")]).collect::<Vec<_>>().join(" from "),
                );
            }
            if !seen.contains(next) {
                seen.push(next.clone());
                let mut longer = way.clone();
                longer.push(next.clone());
                open.push(longer);
            }
        }
    }
    None
}
