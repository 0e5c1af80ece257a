//! Requests to the table: entities, keys and clauses.

use latchkey_language::ast::{self, BinaryOp, ClauseKind, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::Format;

use super::Lowering;
use super::scope::Scope;
use super::secret::is_one_name;
use crate::model::{
    Batch, BatchBy, BindingId, By, EntityId, Expr, ExprKind, Facts, Kind, Limit, Order, Query,
    Range, Read, StepKind, Strong, Template, TextPiece, Verb, What,
};
use crate::types::Type;

impl Lowering {
    pub(super) fn operation(
        &mut self,
        name: Option<&Name>,
        operation: &ast::Operation,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        let (entity, target) = self.target(operation, scope)?;
        self.clauses_once(operation);
        match operation.verb.node {
            ast::Verb::Get | ast::Verb::Query => self
                .read(name, operation, (entity, target), scope, facts)
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

    /// Refuses a clause that is given twice, since only one of the two would count.
    fn clauses_once(&mut self, operation: &ast::Operation) {
        for (at, clause) in operation.clauses.iter().enumerate() {
            let first = operation.clauses.iter().take(at).find(|other| {
                let modes =
                    |kind: &ClauseKind| matches!(kind, ClauseKind::Replace | ClauseKind::IfAbsent);
                let limits = |kind: &ClauseKind| {
                    matches!(kind, ClauseKind::Page { .. } | ClauseKind::First(_))
                };
                std::mem::discriminant(&other.node) == std::mem::discriminant(&clause.node)
                    || (modes(&other.node) && modes(&clause.node))
                    || (limits(&other.node) && limits(&clause.node))
            });
            if let Some(first) = first {
                let message = "an operation says this once";
                let second = Diagnostic::new(Rule::Name, clause.span, message)
                    .other(first.span, "it is said here already");
                self.report(second);
            }
        }
    }

    /// The entity of an operation, and the binding of its item.
    fn target(
        &mut self,
        operation: &ast::Operation,
        scope: &Scope,
    ) -> Option<(EntityId, Option<BindingId>)> {
        let name = &operation.target;
        if let Some(id) = scope.binding_named(&name.node) {
            if !self.can_be_asked(id, &name.node, name.span, scope) {
                return None;
            }
            return match scope.bindings[id].kind {
                Kind::Item(entity) => Some((entity, Some(id))),
                Kind::Unknown => None,
                _ => {
                    let message = format!("`{}` is not an item", name.node);
                    self.report(Diagnostic::new(Rule::Type, name.span, message));
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
        (entity, target): (EntityId, Option<BindingId>),
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<Read> {
        if let Some(absent) = &operation.absent {
            let message = "a read fails only if nothing is there";
            let help = "write `else …` without `absent`";
            self.report(Diagnostic::new(Rule::Type, absent.span, message).help(help));
        }
        let within = scope.snapshot.take();
        let strong = self.strong(operation, scope);
        let also = self.also(entity, operation, scope);
        let what = match operation.verb.node {
            ast::Verb::Query => What::Query(Box::new(self.query(operation, entity, &also, scope))),
            _ => self.got(operation, entity, target, scope),
        };
        let at_once = matches!(&what, What::Batch(batch) if batch.snapshot);
        let strong = if at_once || within.is_some() { Strong::Yes } else { strong };
        if within.is_some() {
            self.no_clauses(operation);
        }
        let failure =
            operation.otherwise.as_ref().map(|failure| self.failure(failure, scope, facts));
        scope.snapshot = within;
        let is_page = match &what {
            What::Query(query) => !matches!(query.limit, Some(Limit::First(1))),
            What::Batch(_) => true,
            What::Get(_) | What::Part(_) => false,
        };
        let kind = match (also.is_empty(), is_page) {
            (false, _) => Kind::Collection([&[entity], &also[..]].concat()),
            (true, true) => Kind::Page(entity),
            (true, false) => Kind::Item(entity),
        };
        let present = is_page || failure.is_some();
        let binding = match name {
            Some(name) => Some(self.bind(name, kind, present, scope)),
            None => {
                let message = "what is read here has no name";
                let help = "write `name = get …`";
                self.report(Diagnostic::new(Rule::Name, operation.verb.span, message).help(help));
                None
            }
        };
        if let Some(binding) = binding {
            let most = match &what {
                // Of a page, the caller says how many.
                What::Batch(batch) => match batch.result() {
                    Some((result, _)) => scope.items_max.get(&result).copied(),
                    None => Some(batch.count()),
                },
                What::Query(query) => match &query.limit {
                    Some(Limit::First(most)) => Some(u64::from(*most)),
                    Some(Limit::Page { max, .. }) => {
                        scope.page_items_max.insert(binding, u64::from(*max));
                        None
                    }
                    None => None,
                },
                What::Get(_) | What::Part(_) => None,
            };
            scope.items_max.extend(most.map(|most| (binding, most)));
        }
        let last = operation.also.last().unwrap_or(&operation.target);
        let span = operation.verb.span.to(last.span);
        let read = Read { binding, entity, also, strong, what, snapshot: within, failure, span };
        self.gather(&read, scope);
        Some(read)
    }

    /// What a `get` reads: one item, or one for each number of a range.
    fn got(
        &mut self,
        operation: &ast::Operation,
        entity: EntityId,
        target: Option<BindingId>,
        scope: &mut Scope,
    ) -> What {
        let (mut through, mut listed, mut snapshot) = (None, None, None);
        for clause in &operation.clauses {
            match &clause.node {
                ClauseKind::Strong(_) => {}
                ClauseKind::Snapshot => snapshot = Some(clause.span),
                ClauseKind::Through(attribute, bounds) => through = Some((attribute, bounds)),
                ClauseKind::For(element, over) => listed = Some((element, over, clause.span)),
                other => self.misplaced(other, clause.span, "get"),
            }
        }
        if let (Some(_), Some((.., span))) = (through, listed) {
            let message = "the items of a `get` are those of a range or those of a list";
            self.report(Diagnostic::new(Rule::Name, span, message).help("leave one of them out"));
        }
        if let Some((element, over, _)) = listed {
            let source = self.source(over, scope);
            let visible = scope.visible.len();
            let element = source.map(|(over, kind, most)| {
                let element = self.bind_element(element, kind, &over, scope);
                BatchBy::Elements { over, element, most }
            });
            let key = self.key(operation, entity, target, None, scope);
            scope.visible.truncate(visible);
            let snapshot = snapshot.is_some();
            return match element {
                Some(through) => What::Batch(Box::new(Batch { key, by: through, snapshot })),
                None => What::Get(key),
            };
        }
        let Some((attribute, bounds)) = through else {
            if let Some(span) = snapshot {
                let message = "one item is read at one instant as it is";
                let help =
                    "leave `snapshot` out, or write `snapshot { … }` around this `get` and others";
                self.report(Diagnostic::new(Rule::Name, span, message).help(help));
            }
            return What::Get(self.key(operation, entity, target, None, scope));
        };
        let key = self.key(operation, entity, target, Some(&attribute.node), scope);
        let (low, high) = self.numbers(attribute, bounds, entity);
        let (attribute, snapshot) = (attribute.node.clone(), snapshot.is_some());
        let through = BatchBy::Numbers { attribute, low, high };
        What::Batch(Box::new(Batch { key, by: through, snapshot }))
    }

    /// The numbers a part of a key goes through.
    fn numbers(&mut self, part: &Name, bounds: &ast::Bounds, entity: EntityId) -> (i64, i64) {
        let shape = &self.model.entities[entity];
        let in_key = shape.key.attributes().contains(&part.node.as_str());
        let kind = shape.attribute(&part.node).map(|found| found.kind.clone());
        if !in_key {
            let message = format!("`{}` is not a part of the key", part.node);
            self.report(Diagnostic::new(Rule::Name, part.span, message));
            return (0, 0);
        }
        let Some((low, high)) = self.ends(part, bounds) else { return (0, 0) };
        let within = match &kind {
            Some(Type::Int { low: least, high: most }) => {
                least.is_none_or(|least| least <= low) && most.is_none_or(|most| high <= most)
            }
            _ => false,
        };
        if !within || low > high {
            let shown = kind.map_or_else(String::new, |kind| kind.to_string());
            let message = format!("`{}` is {shown}, and is never all of {low}..{high}", part.node);
            self.report(Diagnostic::new(Rule::Type, part.span, message));
        }
        (low, high)
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

    fn query(
        &mut self,
        operation: &ast::Operation,
        entity: EntityId,
        also: &[EntityId],
        scope: &mut Scope,
    ) -> Query {
        let mut query = Query {
            by: By::Table,
            through: None,
            partition: None,
            range: Range::All,
            filters: Vec::new(),
            keep: None,
            reading: None,
            order: Order::Ascending,
            limit: None,
        };
        let named = operation.key.first().map(|given| given.name.span);
        if let Some(span) = named.or(operation.of.as_ref().map(|of| of.span)) {
            let help = "write `where PK = \"…\"`";
            let message = "a query is by its `where` alone";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
        let entities = [&[entity], also].concat();
        let index = operation.clauses.iter().find_map(|clause| match &clause.node {
            ClauseKind::By(index) => Some(index),
            _ => None,
        });
        if let Some(index) = index {
            query.by = self.by_index(index, operation, &entities);
        }
        query.through = self.through(operation, &entities, query.by, scope);
        for clause in &operation.clauses {
            match &clause.node {
                ClauseKind::Where(condition) => self.key_conditions(condition, &mut query, scope),
                ClauseKind::Order { descending: true, when } => {
                    query.order = match when {
                        Some(test) => Order::DescendingWhen(self.test(test, scope)),
                        None => Order::Descending,
                    };
                }
                ClauseKind::Page { size, max, asked } => {
                    let sized_by = asked.as_ref().map(|name| name.node.clone());
                    let size = self.items(size);
                    let max = max.as_ref().map_or(size, |max| self.items(max));
                    let pages = size.zip(max);
                    query.limit = pages.map(|(size, max)| Limit::Page { size, max, sized_by });
                }
                ClauseKind::First(count) => query.limit = self.items(count).map(Limit::First),
                ClauseKind::Order { .. }
                | ClauseKind::Strong(_)
                | ClauseKind::By(_)
                | ClauseKind::Through(..)
                | ClauseKind::Keep(_)
                | ClauseKind::Reading(_) => {}
                other => self.misplaced(other, clause.span, "query"),
            }
        }
        self.kept(operation, &entities, &mut query, scope);
        self.spreads(&query, scope);
        for entity in &entities {
            self.keys_keep_secrets(&query, *entity, scope);
            self.ranges_keep_secrets(&query, *entity, scope);
        }
        self.keys_have_types(&query);
        query
    }

    /// Refuses a secret in the key of a query, if an attribute of that key is not secret: the items would show it.
    fn keys_keep_secrets(&mut self, query: &Query, entity: EntityId, scope: &Scope) {
        let shape = &self.model.entities[entity];
        let Some(key) = shape.place(query.by) else { return };
        let open = |template: &Template| {
            let mut names = template.holes().map(|hole| hole.attribute.clone());
            names.find(|name| shape.attribute(name).is_some_and(|attribute| !attribute.secret))
        };
        let (partition, sort) = (open(&key.partition), open(&key.sort));
        for (at, text) in query.texts().enumerate() {
            let open = if at == 0 && query.partition.is_some() { &partition } else { &sort };
            if let Some(name) = open
                && self.is_secret(text, scope)
            {
                self.open_attribute(name, text.span);
            }
        }
    }

    /// Reports a secret that is put into an attribute that is not secret.
    pub(super) fn open_attribute(&mut self, name: &str, span: Span) {
        let message = format!("this is secret, and `{name}` is not");
        let help = format!("declare it so: `{name} … secret`");
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
    }

    /// How many items a query is to return.
    pub(super) fn items(&mut self, count: &Name) -> Option<u32> {
        let items = count.node.parse().ok();
        if items.is_none() {
            let message = format!("`{}` is not a number of items", count.node);
            self.report(Diagnostic::new(Rule::Type, count.span, message));
        }
        items
    }

    pub(super) fn misplaced(&mut self, clause: &ClauseKind, span: Span, verb: &str) {
        let word = match clause {
            ClauseKind::Strong(_) => "strong",
            ClauseKind::Snapshot => "snapshot",
            ClauseKind::Through(..) => "in",
            ClauseKind::For(..) => "for",
            ClauseKind::By(_) => "by",
            ClauseKind::Where(_) => "where",
            ClauseKind::Order { .. } => "order",
            ClauseKind::Page { .. } => "page",
            ClauseKind::First(_) => "first",
            ClauseKind::Keep(_) => "keep",
            ClauseKind::Reading(_) => "reading",
            ClauseKind::Fields(_) => "{ … }",
            ClauseKind::Set(_) => "set",
            ClauseKind::Remove(_) => "remove",
            ClauseKind::Add(_) => "add",
            ClauseKind::Replace => "replace",
            ClauseKind::IfAbsent | ClauseKind::If(_) => "if",
        };
        let message = format!("`{verb}` takes no `{word}`");
        self.report(Diagnostic::new(Rule::Name, span, message));
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
        let about = match &condition.node {
            Written::Binary(left, ..)
            | Written::BeginsWith(left, _)
            | Written::Between(left, ..) => part(left),
            _ => None,
        };
        let taken = match about {
            Some(true) => query.partition.is_some(),
            Some(false) => !matches!(query.range, Range::All),
            None => false,
        };
        if taken {
            let message = "a query has one condition on a key";
            let help = "write `between … and …` for a range with two ends";
            self.report(Diagnostic::new(Rule::Type, condition.span, message).help(help));
            return;
        }
        match &condition.node {
            Written::Binary(left, op, right)
                if part(left) == Some(true) && op.node == BinaryOp::Equal =>
            {
                query.partition = Some(self.sure(right, scope, None));
            }
            Written::Binary(left, op, right) if part(left) == Some(false) => {
                let bound = self.sure(right, scope, None);
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
                let prefix = self.sure(prefix, scope, None);
                self.begins_with_something(&prefix);
                query.range = Range::BeginsWith(prefix);
            }
            Written::Between(left, low, high) if part(left) == Some(false) => {
                let (low, high) = (self.sure(low, scope, None), self.sure(high, scope, None));
                // Of numbers that are counted down, the greater has the lesser text.
                query.range = match is_by_number(&low, &high) {
                    true => Range::Between(high, low),
                    false => Range::Between(low, high),
                };
            }
            _ => query.filters.push(condition.span),
        }
    }

    /// Refuses a beginning without a character: no table takes it for a key.
    fn begins_with_something(&mut self, prefix: &Expr) {
        if let ExprKind::Text(pieces) = &prefix.kind
            && pieces
                .iter()
                .all(|piece| matches!(piece, TextPiece::Literal(text) if text.is_empty()))
        {
            let message = "every key begins so, and a table refuses the empty text";
            let help = "leave the condition out: the query then reads the whole partition";
            self.report(Diagnostic::new(Rule::Type, prefix.span, message).help(help));
        }
    }
}

/// Whether two bounds go from a lesser number to a greater one, and so from a greater text to a lesser: the first part
/// in which they differ is a number that is counted down in both. Where the texts behind it differ, the bound with the
/// greater one is the last of the keys, whichever is written first.
fn is_by_number(low: &Expr, high: &Expr) -> bool {
    let (ExprKind::Text(low), ExprKind::Text(high)) = (&low.kind, &high.kind) else { return false };
    let same = |(a, b): &(&TextPiece, &TextPiece)| match (a, b) {
        (TextPiece::Literal(a), TextPiece::Literal(b)) => a == b,
        (TextPiece::Value(a, format), TextPiece::Value(b, other)) => {
            format == other && is_one_name(a, b)
        }
        _ => false,
    };
    let counts =
        |piece: &TextPiece| matches!(piece, TextPiece::Value(_, Some(Format::Countdown(_))));
    let Some(at) = low.iter().zip(high).position(|pair| !same(&pair)) else { return false };
    let (mut low, mut high) = (low.iter().skip(at), high.iter().skip(at));
    if !low.next().is_some_and(counts) || !high.next().is_some_and(counts) {
        return false;
    }
    loop {
        match (low.next(), high.next()) {
            (None, Some(_)) => return false,
            (Some(TextPiece::Literal(a)), Some(TextPiece::Literal(b))) if a != b => return a > b,
            (Some(a), Some(b)) if same(&(a, b)) => {}
            _ => return true,
        }
    }
}
