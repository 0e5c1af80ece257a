//! What is known at a place of a contract: names, and which of them are sure to be there.

use std::collections::{HashMap, HashSet};

use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::collection::Gathered;
use super::{Lowering, suggestion};
use crate::model::{
    Attribute, Binding, BindingId, EntityId, Expr, ExprKind, Given, IdVec, Input, InputId, Kind,
    Op, Part, Place, QueueId, Step, Trigger,
};
use crate::types::Type;

/// A thing that may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Access {
    Input(InputId),
    Binding(BindingId),
    Attribute(BindingId, String),
    Stored(String),
    Member(Box<Access>, String),
}

impl Access {
    /// Whether it is a member of another, or a member of one.
    pub(super) fn is_within(&self, other: &Access) -> bool {
        match self {
            Access::Member(record, _) => **record == *other || record.is_within(other),
            Access::Input(_) | Access::Binding(_) | Access::Attribute(..) | Access::Stored(_) => {
                false
            }
        }
    }
}

/// What is known at a place of a contract.
#[derive(Default)]
pub(super) struct Scope {
    /// The id of the contract or worker.
    pub(super) id: String,
    pub(super) trigger: Trigger,
    pub(super) inputs: IdVec<InputId, Input>,
    /// The inputs that something makes use of.
    pub(super) used_inputs: HashSet<InputId>,
    /// The inputs of the path whose names are no attributes of a key, which was reported.
    pub(super) misnamed: HashSet<InputId>,
    pub(super) bindings: IdVec<BindingId, Binding>,
    /// The bindings that can be named here, by the end of their block.
    pub(super) visible: Vec<BindingId>,
    /// What is known to be there.
    pub(super) present: HashSet<Access>,
    /// Whether what may be absent is taken to be there, as in a `coalesce`, which passes over it otherwise.
    pub(super) assumes_presence: bool,
    /// The entity whose stored attributes `.x` means here.
    pub(super) stored: Option<EntityId>,
    /// The item whose attributes `.x` means, within an invariant.
    pub(super) subject: Option<BindingId>,
    /// Whether this is within a `transact`.
    pub(super) in_transaction: bool,
    /// Whether this is within an `each`.
    pub(super) in_each: bool,
    /// The number of the `snapshot` that this is within.
    pub(super) snapshot: Option<u32>,
    /// How many `snapshot` blocks there are by here.
    pub(super) snapshots: u32,
    /// How many items the results of reads have at most, but for pages.
    pub(super) items_max: HashMap<BindingId, u64>,
    /// How many items pages have at most.
    pub(super) page_items_max: HashMap<BindingId, u64>,
    /// The bindings whose items may have changed since they were read, and the write that changed them.
    pub(super) untold: HashMap<BindingId, Span>,
    /// What the parameters stand for, within steps; inputs cannot be named there.
    pub(super) parameters: Option<HashMap<String, Expr>>,
    /// How often each queue was sent to.
    pub(super) sends: HashMap<QueueId, usize>,
    /// What is known where a message is sent, within a block that follows the sending.
    pub(super) outer: Option<Box<Scope>>,
    /// What such a block needs of it.
    pub(super) record: Vec<Given>,
    /// The name and the type of the number that a query goes through, while the query is read.
    pub(super) through: Option<(String, Type)>,
    /// What queries of several entities have found, and what is known of that.
    pub(super) gathered: HashMap<BindingId, Gathered>,
    /// The parts that have been taken of it.
    pub(super) taken: HashMap<BindingId, Part>,
    /// Parts that a `return` takes of it, which come before the `return`.
    pub(super) parts: Vec<Step>,
}

impl Scope {
    /// The binding of a name, except those around a send.
    pub(super) fn binding_named(&self, name: &str) -> Option<BindingId> {
        let named = |id: &&BindingId| self.bindings[**id].name == name;
        self.visible.iter().rev().find(named).copied().or_else(|| {
            match self.parameters.as_ref()?.get(name)?.kind {
                ExprKind::Binding(id) => Some(id),
                _ => None,
            }
        })
    }

    /// The input of a name, where inputs can be named.
    pub(super) fn input_named(&self, name: &str) -> Option<InputId> {
        match &self.parameters {
            Some(_) => None,
            None => self.inputs.position(|input| input.name == name),
        }
    }

    /// The meaning of a name, except those around a send.
    fn own(&self, name: &str, span: Span) -> Option<Expr> {
        if let Some(number) = self.through_named(name, span) {
            return Some(number);
        }
        if let Some(id) = self.binding_named(name) {
            let of = self.bindings[id].kind.clone();
            return Some(Expr { kind: ExprKind::Binding(id), of, span });
        }
        if let Some(value) = self.parameters.as_ref().and_then(|all| all.get(name)) {
            return Some(Expr { span, ..value.clone() });
        }
        let input = self.input_named(name)?;
        if self.misnamed.contains(&input) {
            return Some(unknown(span));
        }
        let of = Kind::Value(self.inputs[input].kind.clone());
        Some(Expr { kind: ExprKind::Input(input), of, span })
    }

    /// Whether a name has a meaning, here or around the send that comes before.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.own(name, Span::default()).is_some()
            || self.outer.as_ref().is_some_and(|outer| outer.knows(name))
    }

    /// The names that mean something here.
    pub(super) fn names(&self) -> Vec<&str> {
        let bindings = self.visible.iter().map(|id| self.bindings[*id].name.as_str());
        // The item of an invariant has none.
        let mut names: Vec<&str> = bindings.filter(|name| !name.is_empty()).collect();
        match &self.parameters {
            Some(parameters) => names.extend(parameters.keys().map(String::as_str)),
            None => names.extend(self.inputs.iter().map(|input| input.name.as_str())),
        }
        names.extend(self.outer.iter().flat_map(|outer| outer.names()));
        names
    }

    /// Where a name was given its meaning.
    pub(super) fn given_at(&self, name: &str) -> Option<Span> {
        let bound = self.binding_named(name).map(|id| self.bindings[id].span);
        let parameter = self.parameters.as_ref().and_then(|all| all.get(name)).map(|e| e.span);
        let input = self.input_named(name).map(|input| self.inputs[input].span);
        let around = || self.outer.as_ref().and_then(|outer| outer.given_at(name));
        bound.or(parameter).or(input).or_else(around)
    }
}

impl Lowering {
    /// The meaning of a name. Values known around a send are kept in its record for the statements after it.
    pub(super) fn named(&mut self, name: &str, span: Span, scope: &mut Scope) -> Option<Expr> {
        if let Some(found) = scope.own(name, span) {
            if let ExprKind::Input(input) = found.kind {
                scope.used_inputs.insert(input);
            }
            if let ExprKind::Binding(id) = found.kind
                && !self.can_be_asked(id, name, span, scope)
            {
                return Some(unknown(span));
            }
            return Some(found);
        }
        let outer = scope.outer.as_ref()?;
        let found = outer.own(name, span)?;
        if !found.of.entities().is_empty() {
            let message = format!("`{name}` is not at hand here, only its attributes are");
            let help = "name one of them, or `get` the item again under another name";
            let why = "this runs by itself, once the queue has answered";
            self.report(Diagnostic::new(Rule::Name, span, message).why(why).help(help));
            return Some(unknown(span));
        }
        Some(self.keep(name.to_owned(), found, scope))
    }

    /// Keeps a value from around a send in the record of the send.
    pub(super) fn keep(&mut self, name: String, value: Expr, scope: &mut Scope) -> Expr {
        let span = value.span;
        let Some(mut outer) = scope.outer.take() else { return unknown(span) };
        if let ExprKind::Input(input) = value.kind {
            outer.used_inputs.insert(input);
        }
        if self.is_secret(&value, &outer) {
            let message = "this is secret, and the record of a send is not";
            self.report(
                Diagnostic::new(Rule::Type, span, message).help("`get` the item again here"),
            );
        }
        let kind = match &value.of {
            Kind::Value(kind) => kind.clone(),
            _ => Type::Bool,
        };
        let optional = self.may_be_absent(&value, &outer);
        scope.outer = Some(outer);
        let input = scope.inputs.position(|input| input.name == name).unwrap_or_else(|| {
            let (default, secret, place) = (None, false, Place::Record);
            let (name, kind) = (name.clone(), kind.clone());
            scope.inputs.push(Input {
                name,
                kind,
                optional,
                default,
                secret,
                place,
                used: true,
                span,
            })
        });
        if !scope.record.iter().any(|given| given.attribute == name) {
            let attribute = name;
            scope.record.push(Given::whole(attribute, value, optional, span));
        }
        Expr { kind: ExprKind::Input(input), of: Kind::Value(kind), span }
    }

    /// Refuses a name that has a meaning already.
    pub(super) fn must_be_free(&mut self, name: &Name, scope: &Scope) {
        if let Some(first) = scope.given_at(&name.node) {
            let message = format!("`{}` has a meaning already", name.node);
            let shadow = Diagnostic::new(Rule::Name, name.span, message)
                .other(first, "given here")
                .help("choose another name: a name means one thing in a contract");
            self.report(shadow);
        }
    }

    /// Binds a name that is not bound yet.
    pub(super) fn bind(
        &mut self,
        name: &Name,
        kind: Kind,
        present: bool,
        scope: &mut Scope,
    ) -> BindingId {
        self.no_word(name, scope.trigger);
        self.must_be_free(name, scope);
        let (name, secret, span) = (name.node.clone(), false, name.span);
        let id = scope.bindings.push(Binding { name, kind, secret, span });
        scope.visible.push(id);
        if present {
            scope.present.insert(Access::Binding(id));
        }
        id
    }

    /// The binding of a name.
    pub(super) fn binding(&mut self, name: &Name, scope: &Scope) -> Option<BindingId> {
        let found = scope.binding_named(&name.node);
        if found.is_none() {
            let help = suggestion(&name.node, scope.names().into_iter());
            let around = scope.outer.as_ref().is_some_and(|outer| outer.knows(&name.node));
            let again = "this runs by itself, once the queue has answered: `get` the item again";
            let help = if around { Some(again.to_owned()) } else { help };
            self.unknown("name", name, help);
        }
        found.filter(|id| self.can_be_asked(*id, &name.node, name.span, scope))
    }

    pub(super) fn must_be_present(&mut self, access: Access, name: &Name, scope: &Scope) {
        if let Access::Binding(id) = &access
            && let Some(since) = scope.untold.get(id)
        {
            let message = format!("nobody tells what `{}` is by now", name.node);
            let diagnostic = Diagnostic::new(Rule::Type, name.span, message)
                .other(*since, "this computes with what is stored at that moment")
                .why(
                    "a transaction answers with no items, and what was read may have changed since",
                )
                .help(
                    "write `if unchanged … else retry` there, or `get` the item again behind the transaction",
                );
            self.untold.push(diagnostic);
        }
        if !scope.present.contains(&access) {
            let message = format!("`{}` may be absent here", name.node);
            let help = format!(
                "test it first: `require {0} is present else …`, or `when {0} is present {{ … }}`",
                name.node
            );
            self.report(Diagnostic::new(Rule::Absent, name.span, message).help(help));
        }
    }

    /// An attribute of the item that a name was read as, as its entity declares it.
    pub(super) fn attribute_read(
        &self,
        binding: BindingId,
        name: &str,
        scope: &Scope,
    ) -> Option<&Attribute> {
        let entity = scope.bindings[binding].kind.entity()?;
        self.model.entities[entity].attribute(name)
    }

    /// Whether a value may be absent, for all that is known.
    pub(super) fn may_be_absent(&self, value: &Expr, scope: &Scope) -> bool {
        let optional = match &value.kind {
            ExprKind::Input(input) => scope.inputs[*input].optional,
            ExprKind::Attribute(id, name) => {
                let declared = self.attribute_read(*id, name, scope);
                declared.is_some_and(|attribute| attribute.optional)
            }
            ExprKind::Member(record, name) => match &record.of {
                Kind::Value(kind) => kind.member(name).is_some_and(|member| member.optional),
                _ => false,
            },
            _ => false,
        };
        optional && !access(value).is_some_and(|at| scope.present.contains(&at))
    }
}

/// Something that was reported.
pub(super) fn unknown(span: Span) -> Expr {
    Expr { kind: ExprKind::Unknown, of: Kind::Unknown, span }
}

/// Takes in what is there if a test came out so.
pub(super) fn narrow(test: &Expr, truth: bool, present: &mut HashSet<Access>) {
    match (&test.kind, truth) {
        (ExprKind::Present(thing), true) | (ExprKind::Absent(thing), false) => {
            present.extend(access(thing));
        }
        (ExprKind::Not(test), truth) => narrow(test, !truth, present),
        (ExprKind::Binary(Op::And, a, b), true) | (ExprKind::Binary(Op::Or, a, b), false) => {
            narrow(a, truth, present);
            narrow(b, truth, present);
        }
        _ => {}
    }
}

pub(super) fn access(thing: &Expr) -> Option<Access> {
    match &thing.kind {
        ExprKind::Input(input) => Some(Access::Input(*input)),
        ExprKind::Binding(id) => Some(Access::Binding(*id)),
        ExprKind::Attribute(id, name) => Some(Access::Attribute(*id, name.clone())),
        ExprKind::Stored(name) => Some(Access::Stored(name.clone())),
        ExprKind::Member(record, name) => {
            Some(Access::Member(Box::new(access(record)?), name.clone()))
        }
        _ => None,
    }
}
