//! Writes: what a leg changes, and whether it leaves a whole item.

use latchkey_language::ast::{self, ClauseKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::Number;

use super::fit::wider;
use super::scope::{Access, Scope};
use super::{Lowering, stored};
use crate::model::{
    Attribute, BindingId, EntityId, Expr, ExprKind, Facts, Given, GivenPart, Kind, Leg, Op,
    PutMode, Verb,
};
use crate::types::Type;

impl Lowering {
    #[expect(clippy::too_many_arguments, reason = "they are what a leg is made of")]
    pub(super) fn leg(
        &mut self,
        name: Option<&Name>,
        verb: Verb,
        operation: &ast::Operation,
        entity: EntityId,
        target: Option<BindingId>,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Leg {
        let key = self.key(operation, entity, target, None, scope);
        let of = operation.of.as_ref().and_then(|of| scope.binding_named(&of.node));
        let span = operation.verb.span.to(operation.target.span);
        let mut leg = Leg {
            verb,
            entity,
            key,
            target,
            of,
            result: None,
            values: Vec::new(),
            removes: Vec::new(),
            adds: Vec::new(),
            put: None,
            condition: None,
            absent: None,
            failure: None,
            span,
        };
        let outer = scope.stored.replace(entity);
        for clause in &operation.clauses {
            self.leg_clause(&mut leg, clause, scope);
        }
        scope.stored = outer;
        let computed = self.computed_values(&leg, operation, scope);
        leg.values.extend(computed);
        self.one_change_each(operation);
        if matches!(verb, Verb::Put | Verb::Upsert) && operation.of.is_some() == of.is_some() {
            self.leaves_a_whole_item(&leg, scope);
        }
        leg.absent = operation.absent.as_ref().map(|absent| self.failure(absent, scope, facts));
        if let Some(absent) = &operation.absent {
            self.absence_tells(absent, operation.otherwise.as_ref(), &leg);
        }
        leg.failure =
            operation.otherwise.as_ref().map(|failure| self.failure(failure, scope, facts));
        self.places_in_indexes(&leg);
        self.keeps_the_end(&leg);
        if let Some(target) = leg.target.filter(|_| scope.in_transaction && is_untold(&leg)) {
            scope.untold.insert(target, leg.span);
        }
        if let Some(name) = name {
            self.leaves_what_is_named(name, &leg, scope);
        }
        self.forgets(&leg, scope);
        leg.result = match name {
            Some(name) => Some(self.bind(name, Kind::Item(entity), true, scope)),
            None => target,
        };
        leg
    }

    /// Refuses an `else absent` that tells nothing apart.
    fn absence_tells(&mut self, absent: &ast::Else, otherwise: Option<&ast::Else>, leg: &Leg) {
        let verb = leg.verb.word();
        let (span, message, help) = match (leg.verb, &leg.condition, otherwise) {
            (Verb::Put | Verb::Upsert, ..) => (
                absent.span,
                format!("a `{verb}` makes the item where there is none"),
                "write `else …`, or `update`, which needs the item",
            ),
            // A member has a place only where its record is.
            (Verb::Update, None, Some(_)) if self.needs_a_record(leg) => return,
            (Verb::Update, None, _) => (
                absent.span,
                "without an `if`, the `else` of an `update` is for an absent item alone".to_owned(),
                "write `else …` without `absent`; a value beyond its bounds is a 400 whatever it says",
            ),
            (Verb::Delete, None, Some(other)) => (
                other.span,
                "a `delete` without an `if` fails only if its item is absent".to_owned(),
                "write the `else absent …` alone",
            ),
            (Verb::Update | Verb::Delete | Verb::Check, ..) => return,
        };
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
    }

    /// Refuses a name for an item whose contents are not known.
    fn leaves_what_is_named(&mut self, name: &Name, leg: &Leg, scope: &Scope) {
        let verb = leg.verb.word();
        let (message, help) = match leg.verb {
            Verb::Put => return,
            Verb::Delete | Verb::Check => {
                (format!("`{verb}` leaves nothing to name"), "leave the name out")
            }
            Verb::Update | Verb::Upsert if scope.in_transaction && leg.target.is_none() => {
                let message = format!("nobody tells what this `{verb}` leaves");
                (message, "`get` the item first, and write the name it is read by")
            }
            Verb::Update | Verb::Upsert => return,
        };
        let diagnostic = Diagnostic::new(Rule::Type, name.span, message).help(help);
        self.report(match leg.verb {
            Verb::Update | Verb::Upsert => diagnostic.why("a transaction answers with no items"),
            Verb::Put | Verb::Delete | Verb::Check => diagnostic,
        });
    }

    /// An index key is made of several attributes; who changes one must know the others.
    fn places_in_indexes(&mut self, leg: &Leg) {
        if !matches!(leg.verb, Verb::Update | Verb::Upsert) || leg.target.is_some() {
            return;
        }
        let entity = &self.model.entities[leg.entity];
        // An upsert writes what its key is made of; otherwise it is known as far as the key tells it.
        let told = |part: &&str| leg.verb == Verb::Upsert || entity.key.tells(part);
        let key: Vec<&str> = entity.key.attributes().into_iter().filter(told).collect();
        let set = |name: &str| {
            let value = leg.values.iter().find(|given| given.attribute == name);
            value.is_some_and(|given| !given.maybe && !stored::mentions(&given.value))
        };
        let changed =
            |name: &str| leg.values.iter().chain(&leg.adds).any(|given| given.attribute == name);
        let maybe = |name: &str| {
            let value = leg.values.iter().find(|given| given.attribute == name);
            value.is_some_and(|given| given.maybe && !stored::mentions(&given.value))
        };
        // A part that may be left alone leaves its text alone, if the rest of it is the item's own key.
        let lone = |parts: &[&str]| {
            let mut open = parts.iter().filter(|part| !key.contains(part));
            leg.verb == Verb::Update
                && open.next().is_some_and(|part| maybe(part))
                && open.next().is_none()
        };
        let mut unknown = None;
        for index in &entity.indexes {
            let parts = index.key.attributes();
            // Where both halves are attributes, or other keys, the store keeps the index by itself.
            if !index.own_partition && !index.own_sort {
                continue;
            }
            // An item that lacks one part of the key is not in the index, whatever its other parts are.
            if leg.removes.iter().any(|removed| parts.contains(&removed.as_str())) {
                continue;
            }
            let always = parts
                .iter()
                .all(|part| entity.attribute(part).is_some_and(|attribute| !attribute.optional));
            let missing = |parts: &[&str]| {
                let unknown = parts.iter().find(|part| !set(part) && !key.contains(part));
                let unknown = unknown.filter(|_| !lone(parts));
                unknown.map(|part| (index.name.clone(), (*part).to_owned()))
            };
            if leg.verb == Verb::Upsert || (!always && parts.iter().any(|part| changed(part))) {
                unknown = unknown.or(missing(&parts));
                continue;
            }
            // The item stays in the index; only the half of its key that changes is written.
            let halves =
                [(index.own_partition, &index.key.partition), (index.own_sort, &index.key.sort)];
            for (_, template) in halves.into_iter().filter(|(own, _)| *own) {
                let parts: Vec<&str> =
                    template.holes().map(|hole| hole.attribute.as_str()).collect();
                if parts.iter().any(|part| changed(part)) {
                    unknown = unknown.or(missing(&parts));
                }
            }
        }
        if let Some((index, part)) = unknown {
            let message = format!("this moves the item in `{index}`, and `{part}` is not known");
            let help = "`get` the item first, and write the name it is read by";
            self.report(Diagnostic::new(Rule::Type, leg.span, message).help(help));
        }
    }

    fn leg_clause(&mut self, leg: &mut Leg, clause: &ast::Clause, scope: &mut Scope) {
        let (put, change) =
            (leg.verb == Verb::Put, matches!(leg.verb, Verb::Update | Verb::Upsert));
        match &clause.node {
            ClauseKind::Fields(given) if put => {
                self.never_maybe(given);
                self.no_counter(given, leg.entity);
                leg.values.extend(self.given(given, leg, scope, true));
            }
            ClauseKind::Set(given) if change => {
                for assign in given {
                    self.may_change(&assign.name, leg.entity);
                    let value = match assign.within.as_slice() {
                        [] => self.given_one(assign, leg, scope, true),
                        within => self.given_within(assign, within, leg, scope),
                    };
                    leg.values.push(value);
                }
            }
            ClauseKind::Add(given) if change => {
                self.never_maybe(given);
                for assign in given {
                    if self.set_of(leg.entity, &assign.name.node).is_some() {
                        let element = self.element(&assign.name, &assign.value, leg, scope);
                        leg.values.extend(
                            element.map(|given| Given { part: GivenPart::Element, ..given }),
                        );
                        continue;
                    }
                    self.adds_up(&assign.name, leg.entity);
                    if leg.verb == Verb::Upsert {
                        self.begins_at_zero(&assign.name, leg.entity);
                    }
                    let more = self.given_one(assign, leg, scope, false);
                    leg.adds.push(more);
                }
            }
            ClauseKind::Remove(removals) if change => {
                removals.iter().for_each(|removal| self.removal(removal, leg, scope));
            }
            ClauseKind::Replace if put => leg.put = Some(PutMode::Replace),
            ClauseKind::IfAbsent if put => leg.put = Some(PutMode::IfAbsent),
            ClauseKind::If(test) => {
                let test = self.test(test, scope);
                self.diagnostics.extend(stored::condition(&test));
                self.since_it_was_read(&test, leg);
                leg.condition = Some(test);
            }
            other => self.misplaced(other, clause.span, leg.verb.word()),
        }
    }

    /// Values for attributes; `whole` unless they are added to what is stored.
    fn given(
        &mut self,
        assigns: &[ast::Assign],
        leg: &Leg,
        scope: &mut Scope,
        whole: bool,
    ) -> Vec<Given> {
        assigns.iter().map(|assign| self.given_one(assign, leg, scope, whole)).collect()
    }

    fn given_one(
        &mut self,
        assign: &ast::Assign,
        leg: &Leg,
        scope: &mut Scope,
        whole: bool,
    ) -> Given {
        let kind = self.attribute_of(leg.entity, &assign.name);
        let value = self.value(&assign.value, scope, kind.as_ref());
        self.must_fit(&value, kind.as_ref().filter(|_| whole));
        self.diagnostics.extend(stored::value(&value));
        self.keeps_secret(leg.entity, &assign.name.node, &value, scope);
        self.may_be_left(assign, &value);
        let optional =
            self.declared(leg.entity, &assign.name.node).is_none_or(|attribute| attribute.optional);
        // An upsert may make the item, and what it leaves alone is not there then.
        if !optional && (!assign.maybe || leg.verb == Verb::Upsert) {
            self.must_have(&value, scope);
        }
        Given::whole(assign.name.node.clone(), value, assign.maybe, assign.name.span)
    }

    /// `unchanged` means: since the item was read. So there must be a read, and the write must be of that item.
    fn since_it_was_read(&mut self, condition: &Expr, leg: &Leg) {
        let mut asked = None;
        condition.walk(&mut |part| {
            if matches!(part.kind, ExprKind::Unchanged) {
                asked = asked.or(Some(part.span));
            }
        });
        if let Some(span) = asked.filter(|_| leg.target.is_none()) {
            let message = "unchanged since when? nothing was read under this name";
            let help =
                "`get` the item first, and write the name it is read by instead of its entity";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// Refuses a secret that is given to an attribute that is not secret.
    pub(super) fn keeps_secret(
        &mut self,
        entity: EntityId,
        attribute: &str,
        value: &Expr,
        scope: &Scope,
    ) {
        let open = self.declared(entity, attribute).is_some_and(|attribute| !attribute.secret);
        if open && self.is_secret(value, scope) {
            self.open_attribute(attribute, value.span);
        }
    }

    pub(super) fn declared(&self, entity: EntityId, name: &str) -> Option<&Attribute> {
        self.model.entities[entity].attribute(name)
    }

    /// Refuses an attribute that is given twice in one list.
    pub(super) fn given_once(&mut self, assigns: &[ast::Assign]) {
        let names: Vec<&Name> = assigns.iter().map(|assign| &assign.name).collect();
        self.named_once(&names);
    }

    fn named_once(&mut self, names: &[&Name]) {
        for (at, name) in names.iter().enumerate() {
            if let Some(first) = names.iter().take(at).find(|other| other.node == name.node) {
                let message = format!("`{}` is given twice", name.node);
                let twice = Diagnostic::new(Rule::Name, name.span, message)
                    .other(first.span, "it is given here already");
                self.report(twice);
            }
        }
    }

    /// `?=` leaves what is stored alone, so it means something in a `set` only.
    pub(super) fn never_maybe(&mut self, assigns: &[ast::Assign]) {
        for assign in assigns.iter().filter(|assign| assign.maybe) {
            let message = "`?=` leaves an attribute as it is stored, and nothing is stored here";
            let help = format!("write `{} = …`", assign.name.node);
            self.report(Diagnostic::new(Rule::Type, assign.name.span, message).help(help));
        }
    }

    fn no_counter(&mut self, assigns: &[ast::Assign], entity: EntityId) {
        for assign in assigns {
            let name = &assign.name;
            if self.declared(entity, &name.node).is_some_and(|a| a.kind == Type::Counter) {
                let message = format!("`{}` is a counter, which starts at 1 by itself", name.node);
                self.report(Diagnostic::new(Rule::Type, name.span, message).help("leave it out"));
            }
        }
    }

    /// What a key is made of never changes: that would be another item.
    fn may_change(&mut self, name: &Name, entity: EntityId) {
        let shape = &self.model.entities[entity];
        if shape.key.attributes().contains(&name.node.as_str()) {
            let message = format!("`{}` is part of the key, which never changes", name.node);
            let help = "`delete` the item and `put` another, in one transaction";
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
    }

    pub(super) fn may_remove(&mut self, name: &Name, entity: EntityId) {
        self.attribute_of(entity, name);
        if self.declared(entity, &name.node).is_some_and(|attribute| !attribute.optional) {
            let message = format!("`{}` is never absent", name.node);
            let help = format!("leave it, or make it optional: `{} …?`", name.node);
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
    }

    fn adds_up(&mut self, name: &Name, entity: EntityId) {
        self.may_change(name, entity);
        let Some(attribute) = self.declared(entity, &name.node) else { return };
        if !matches!(attribute.kind, Type::Int { .. } | Type::Number { .. } | Type::Counter) {
            let message = format!("`{}` is {}, which does not add up", name.node, attribute.kind);
            self.report(Diagnostic::new(Rule::Type, name.span, message));
        }
    }

    /// A sum begins at 0 where there is no item, whatever the default says.
    fn begins_at_zero(&mut self, name: &Name, entity: EntityId) {
        let Some(attribute) = self.declared(entity, &name.node) else { return };
        if attribute
            .default
            .as_ref()
            .is_some_and(|default| default.as_number() != Some(Number::ZERO))
        {
            let message = format!(
                "an item that this makes would begin `{}` at 0, not at its default",
                name.node
            );
            let diagnostic = Diagnostic::new(Rule::Type, name.span, message)
                .other(attribute.span, "the default is here")
                .help("make the default 0; or `put` the item before, and `update` it here");
            self.report(diagnostic);
        }
    }

    /// Refuses a write that makes an item without something it must have.
    fn leaves_a_whole_item(&mut self, leg: &Leg, scope: &Scope) {
        let entity = &self.model.entities[leg.entity];
        let key = entity.key.attributes();
        let given =
            |name: &str| leg.values.iter().chain(&leg.adds).any(|given| given.attribute == *name);
        let needed = entity.attributes.iter().filter(|attribute| {
            !attribute.optional
                && attribute.default.is_none()
                && attribute.kind != Type::Counter
                && !key.contains(&attribute.name.as_str())
                && !given(&attribute.name)
        });
        let needed: Vec<Attribute> = needed.cloned().collect();
        let name = entity.name.clone();
        let source = leg.of.filter(|_| leg.verb == Verb::Put);
        let missing: Vec<String> = needed
            .iter()
            .filter(|attribute| !self.comes_from(source, attribute, leg.span, scope))
            .map(|attribute| format!("`{}`", attribute.name))
            .collect();
        if !missing.is_empty() {
            let message = format!("this leaves an item of `{name}` without {}", missing.join(", "));
            let help = match leg.verb {
                Verb::Put => "give it in the braces, give it a default, or make it optional",
                _ => "give it in the `set`, give it a default, or make it optional",
            };
            self.report(Diagnostic::new(Rule::Type, leg.span, message).help(help));
        }
    }

    /// Whether an attribute is taken from the item a put is `of`; reports one that does not fit.
    fn comes_from(
        &mut self,
        source: Option<BindingId>,
        attribute: &Attribute,
        span: Span,
        scope: &Scope,
    ) -> bool {
        let Some(id) = source else { return false };
        let Some(entity) = scope.bindings[id].kind.item() else { return false };
        let Some(found) = self.declared(entity, &attribute.name) else { return false };
        let known = Access::Attribute(id, attribute.name.clone());
        if found.secret && !attribute.secret {
            let message = format!("`{}` is secret there, and here it is not", attribute.name);
            self.report(Diagnostic::new(Rule::Type, span, message));
        } else if found.optional && !scope.present.contains(&known) {
            let message = format!("`{}` may be absent here", attribute.name);
            self.report(Diagnostic::new(Rule::Absent, span, message));
        } else if !found.kind.fits(&attribute.kind) {
            let message = format!(
                "`{}` is {} there, and {} is expected",
                attribute.name, found.kind, attribute.kind
            );
            self.report(Diagnostic::new(Rule::Type, span, message));
        } else if let Some((message, help)) = wider(None, &found.kind, &attribute.kind) {
            let message = format!("`{}`: {message}", attribute.name);
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
        true
    }
}

/// Whether the result of a write depends on the stored item at that moment, and not on an earlier read.
fn is_untold(leg: &Leg) -> bool {
    let mut pinned = false;
    // `unchanged` by itself or with `and`: the stored item is the one that was read.
    let mut open: Vec<&Expr> = leg.condition.iter().collect();
    while let Some(test) = open.pop() {
        match &test.kind {
            ExprKind::Unchanged => pinned = true,
            // The counter is what it was said to be; whether that is what was read is for `unpinned`.
            ExprKind::Binary(Op::Equal, a, b) => {
                let counts = |side: &Expr| {
                    matches!(&side.of, Kind::Value(Type::Counter))
                        && matches!(&side.kind, ExprKind::Stored(_))
                };
                pinned |= counts(a) || counts(b);
            }
            ExprKind::Binary(Op::And, a, b) => open.extend([a.as_ref(), b.as_ref()]),
            _ => {}
        }
    }
    let computes = !leg.adds.is_empty()
        || leg.values.iter().any(|given| !given.is_whole() || stored::mentions(&given.value));
    matches!(leg.verb, Verb::Update | Verb::Upsert) && computes && !pinned
}
