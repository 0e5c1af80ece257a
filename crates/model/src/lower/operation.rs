//! Requests to the table: entities, keys and clauses.

use latchkey_language::ast::{self, BinaryOp, ClauseKind, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Span};

use super::Lowering;
use super::contract::{Access, Scope};
use crate::model::{
    Expr, ExprKind, Facts, Given, Kind, Leg, Limit, PutMode, Query, Range, Read, StepKind, Strong,
    Verb, What,
};

impl Lowering {
    pub(super) fn operation(
        &mut self,
        name: Option<&Name>,
        operation: &ast::Operation,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        let (entity, target) = self.target(operation, scope)?;
        match operation.verb.node {
            ast::Verb::Get | ast::Verb::Query => self
                .read(name, operation, entity, scope, facts)
                .map(|read| StepKind::Read(Box::new(read))),
            verb => {
                let verb = match verb {
                    ast::Verb::Put => Verb::Put,
                    ast::Verb::Update => Verb::Update,
                    ast::Verb::Upsert => Verb::Upsert,
                    ast::Verb::Delete => Verb::Delete,
                    _ => Verb::Check,
                };
                let leg = self.leg(name, verb, operation, entity, target, scope, facts);
                Some(StepKind::Write(Box::new(leg)))
            }
        }
    }

    /// The entity an operation is on, and the binding that stands for its item.
    fn target(
        &mut self,
        operation: &ast::Operation,
        scope: &Scope,
    ) -> Option<(usize, Option<usize>)> {
        let name = &operation.target;
        let named = |id: &&usize| scope.bindings.get(**id).is_some_and(|b| b.name == name.node);
        if let Some(id) = scope.visible.iter().rev().find(named).copied() {
            return match scope.bindings.get(id).map(|binding| binding.kind.clone()) {
                Some(Kind::Item(entity)) => Some((entity, Some(id))),
                Some(Kind::Unknown) | None => None,
                Some(_) => {
                    let message = format!("`{}` is no item", name.node);
                    self.report(Diagnostic::new("type", name.span, message));
                    None
                }
            };
        }
        self.entity_id(name).map(|entity| (entity, None))
    }

    fn read(
        &mut self,
        name: Option<&Name>,
        operation: &ast::Operation,
        entity: usize,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<Read> {
        let strong = self.strong(operation, scope);
        let what = match operation.verb.node {
            ast::Verb::Query => What::Query(Box::new(self.query(operation, entity, scope))),
            _ => What::Get(self.key(operation, entity, None, scope)),
        };
        let failure =
            operation.otherwise.as_ref().map(|failure| self.failure(failure, scope, facts));
        let is_page =
            matches!(&what, What::Query(query) if !matches!(query.limit, Some(Limit::First(1))));
        let kind = if is_page { Kind::Page(entity) } else { Kind::Item(entity) };
        let present = is_page || failure.is_some();
        let binding = match name {
            Some(name) => Some(self.bind(name, kind, present, scope)),
            None => {
                let message = "what is read here has no name";
                let help = "write `name = get …`";
                self.report(Diagnostic::new("name", operation.verb.span, message).help(help));
                None
            }
        };
        let span = operation.verb.span.to(operation.target.span);
        Some(Read { binding, entity, strong, what, failure, span })
    }

    fn strong(&mut self, operation: &ast::Operation, scope: &mut Scope) -> Strong {
        for clause in &operation.clauses {
            if let ClauseKind::Strong(when) = &clause.node {
                return match when {
                    Some(test) => Strong::When(self.test(test, scope)),
                    None => Strong::Yes,
                };
            }
        }
        Strong::No
    }

    fn query(&mut self, operation: &ast::Operation, entity: usize, scope: &mut Scope) -> Query {
        let mut query = Query {
            index: None,
            partition: None,
            range: Range::All,
            filters: Vec::new(),
            descending: None,
            limit: None,
        };
        for clause in &operation.clauses {
            match &clause.node {
                ClauseKind::By(index) => {
                    let known = self.model.entities.get(entity);
                    let found =
                        known.is_some_and(|e| e.indexes.iter().any(|i| i.name == index.node));
                    if !found {
                        self.unknown("index of the entity named", index, None);
                    }
                    query.index = Some(index.node.clone());
                }
                ClauseKind::Where(condition) => self.key_conditions(condition, &mut query, scope),
                ClauseKind::Order { descending: true, when } => {
                    query.descending = Some(when.as_ref().map(|test| self.test(test, scope)));
                }
                ClauseKind::Page { size, max } => {
                    let number = |text: &Name| text.node.parse().unwrap_or(u64::MAX);
                    let size_number = number(size);
                    let max = max.as_ref().map_or(size_number, number);
                    query.limit = Some(Limit::Page(size_number, max));
                }
                ClauseKind::First(count) => {
                    query.limit = Some(Limit::First(count.node.parse().unwrap_or(u64::MAX)));
                }
                ClauseKind::Order { .. } | ClauseKind::Strong(_) => {}
                other => self.misplaced(other, clause.span, "query"),
            }
        }
        query
    }

    fn misplaced(&mut self, clause: &ClauseKind, span: Span, verb: &str) {
        let word = match clause {
            ClauseKind::Strong(_) => "strong",
            ClauseKind::By(_) => "by",
            ClauseKind::Where(_) => "where",
            ClauseKind::Order { .. } => "order",
            ClauseKind::Page { .. } => "page",
            ClauseKind::First(_) => "first",
            ClauseKind::Fields(_) => "{ … }",
            ClauseKind::Set(_) => "set",
            ClauseKind::Remove(_) => "remove",
            ClauseKind::Add(_) => "add",
            ClauseKind::Replace => "replace",
            ClauseKind::IfAbsent | ClauseKind::If(_) => "if",
        };
        let message = format!("a `{verb}` has no `{word}`");
        self.report(Diagnostic::new("name", span, message));
    }

    /// Sorts the conditions of a `where` into the partition, the sort key, and the rest.
    fn key_conditions(&mut self, condition: &ast::Expr, query: &mut Query, scope: &mut Scope) {
        if let Written::Binary(left, op, right) = &condition.node
            && op.node == BinaryOp::And
        {
            self.key_conditions(left, query, scope);
            self.key_conditions(right, query, scope);
            return;
        }
        let part = |expr: &ast::Expr| match &expr.node {
            Written::Name(name) if name == "PK" => Some(true),
            Written::Name(name) if name == "SK" => Some(false),
            _ => None,
        };
        match &condition.node {
            Written::Binary(left, op, right)
                if part(left) == Some(true) && op.node == BinaryOp::Equal =>
            {
                query.partition = Some(self.value(right, scope, None));
            }
            Written::Binary(left, op, right) if part(left) == Some(false) => {
                let bound = self.value(right, scope, None);
                query.range = match op.node {
                    BinaryOp::Equal => Range::Equal(bound),
                    BinaryOp::Less => Range::Side { below: true, inclusive: false, bound },
                    BinaryOp::LessOrEqual => Range::Side { below: true, inclusive: true, bound },
                    BinaryOp::Greater => Range::Side { below: false, inclusive: false, bound },
                    BinaryOp::GreaterOrEqual => {
                        Range::Side { below: false, inclusive: true, bound }
                    }
                    _ => {
                        query.filters.push(condition.span);
                        return;
                    }
                };
            }
            Written::BeginsWith(left, prefix) if part(left) == Some(false) => {
                query.range = Range::BeginsWith(self.value(prefix, scope, None));
            }
            Written::Between(left, low, high) if part(left) == Some(false) => {
                let (low, high) = (self.value(low, scope, None), self.value(high, scope, None));
                query.range = Range::Between(low, high);
            }
            _ => query.filters.push(condition.span),
        }
    }

    /// The attributes of a key: as given, from `of`, from the item itself, or from the inputs.
    fn key(
        &mut self,
        operation: &ast::Operation,
        entity: usize,
        target: Option<usize>,
        scope: &mut Scope,
    ) -> Vec<Given> {
        let Some(shape) = self.model.entities.get(entity) else { return Vec::new() };
        let names: Vec<String> = shape.key.attributes().into_iter().map(str::to_owned).collect();
        let of = operation.of.as_ref().and_then(|of| self.binding(of, scope));
        if let (Some(id), Some(name)) = (of, &operation.of) {
            self.must_be_present(Access::Binding(id), name, scope);
        }
        if let Some(id) = target {
            self.must_be_present(Access::Binding(id), &operation.target, scope);
        }
        for given in &operation.key {
            if !names.contains(&given.name.node) {
                let message = format!("`{}` is no part of the key", given.name.node);
                self.report(Diagnostic::new("name", given.name.span, message));
            }
        }
        let mut key = Vec::new();
        for attribute in names {
            let written = operation
                .key
                .iter()
                .chain(fields(operation))
                .find(|given| given.name.node == attribute);
            let span = written.map_or(operation.target.span, |written| written.name.span);
            let kind = self.attribute_of(entity, &Name::new(attribute.clone(), span));
            let value = match (written, of.or(target)) {
                (Some(written), _) => self.value(&written.value, scope, kind.as_ref()),
                (None, Some(id)) if self.binding_has(id, &attribute, scope) => {
                    let of = kind.map_or(Kind::Unknown, Kind::Value);
                    Expr { kind: ExprKind::Attribute(id, attribute.clone()), of, span }
                }
                _ => self.input_of_key(&attribute, operation.target.span, scope),
            };
            self.must_have(&value, scope);
            key.push(Given { attribute, value, maybe: false, span });
        }
        key
    }

    fn binding_has(&self, binding: usize, attribute: &str, scope: &Scope) -> bool {
        match scope.bindings.get(binding).map(|binding| &binding.kind) {
            Some(Kind::Item(entity)) => self
                .model
                .entities
                .get(*entity)
                .is_some_and(|entity| entity.attribute(attribute).is_some()),
            _ => false,
        }
    }

    fn input_of_key(&mut self, attribute: &str, span: Span, scope: &Scope) -> Expr {
        match scope.inputs.iter().find(|input| input.name == attribute) {
            Some(input) => {
                let of = Kind::Value(input.kind.clone());
                Expr { kind: ExprKind::Input(attribute.to_owned()), of, span }
            }
            None => {
                let message = format!("nothing says which `{attribute}` is meant");
                let help = format!(
                    "write `({attribute} = …)` behind the entity, or `of` an item that has it"
                );
                self.report(Diagnostic::new("name", span, message).help(help));
                Expr { kind: ExprKind::Unknown, of: Kind::Unknown, span }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a leg is made of")]
    fn leg(
        &mut self,
        name: Option<&Name>,
        verb: Verb,
        operation: &ast::Operation,
        entity: usize,
        target: Option<usize>,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Leg {
        let key = self.key(operation, entity, target, scope);
        let of = operation.of.as_ref().and_then(|of| {
            let named = |id: &&usize| scope.bindings.get(**id).is_some_and(|b| b.name == of.node);
            scope.visible.iter().rev().find(named).copied()
        });
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
            failure: None,
            span,
        };
        let outer = scope.stored.replace(entity);
        for clause in &operation.clauses {
            self.leg_clause(&mut leg, clause, scope);
        }
        scope.stored = outer;
        leg.failure =
            operation.otherwise.as_ref().map(|failure| self.failure(failure, scope, facts));
        leg.result = match name {
            Some(name) => Some(self.bind(name, Kind::Item(entity), true, scope)),
            None => target,
        };
        leg
    }

    fn leg_clause(&mut self, leg: &mut Leg, clause: &ast::Clause, scope: &mut Scope) {
        let (put, change) =
            (leg.verb == Verb::Put, matches!(leg.verb, Verb::Update | Verb::Upsert));
        match &clause.node {
            ClauseKind::Fields(given) if put => {
                leg.values.extend(self.given(given, leg.entity, scope));
            }
            ClauseKind::Set(given) if change => {
                leg.values.extend(self.given(given, leg.entity, scope));
            }
            ClauseKind::Add(given) if change => {
                leg.adds.extend(self.given(given, leg.entity, scope))
            }
            ClauseKind::Remove(names) if change => {
                for name in names {
                    self.attribute_of(leg.entity, name);
                    leg.removes.push(name.node.clone());
                }
            }
            ClauseKind::Replace if put => leg.put = Some(PutMode::Replace),
            ClauseKind::IfAbsent if put => leg.put = Some(PutMode::IfAbsent),
            ClauseKind::If(test) => leg.condition = Some(self.test(test, scope)),
            other => {
                let verb = match leg.verb {
                    Verb::Put => "put",
                    Verb::Update => "update",
                    Verb::Upsert => "upsert",
                    Verb::Delete => "delete",
                    Verb::Check => "check",
                };
                self.misplaced(other, clause.span, verb);
            }
        }
    }

    fn given(&mut self, assigns: &[ast::Assign], entity: usize, scope: &mut Scope) -> Vec<Given> {
        let mut given = Vec::new();
        for assign in assigns {
            let kind = self.attribute_of(entity, &assign.name);
            let value = self.value(&assign.value, scope, kind.as_ref());
            let optional = self
                .model
                .entities
                .get(entity)
                .and_then(|entity| entity.attribute(&assign.name.node))
                .is_none_or(|attribute| attribute.optional);
            if !optional && !assign.maybe {
                self.must_have(&value, scope);
            }
            let (attribute, span) = (assign.name.node.clone(), assign.name.span);
            given.push(Given { attribute, value, maybe: assign.maybe, span });
        }
        given
    }
}

/// The fields a put gives, which may be part of its key.
fn fields(operation: &ast::Operation) -> impl Iterator<Item = &ast::Assign> {
    operation
        .clauses
        .iter()
        .filter_map(|clause| match &clause.node {
            ClauseKind::Fields(given) => Some(given),
            _ => None,
        })
        .flatten()
}
