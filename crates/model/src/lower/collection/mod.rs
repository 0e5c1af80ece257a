//! Queries of several entities, and the parts that statements take of what such a query has found.

mod kept;
mod proof;

use latchkey_language::ast::{self, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};

pub(super) use self::kept::Specialised;
use self::proof::{Unproved, prove};
use super::Lowering;
use super::scope::{Access, Scope, unknown};
use crate::model::{
    Binding, BindingId, EntityId, Expr, ExprKind, Facts, Given, Kind, Limit, OnFailure, Part, Read,
    Step, StepKind, Strong, Trigger, What,
};

/// The member of an answer that says where a list goes on.
const CURSOR: &[&str] = &["nextCursor"];

/// What a query of several entities has found.
pub(super) struct Gathered {
    strong: Strong,
    paged: bool,
    /// How many items it reads, unless it reads page by page.
    first: Option<u32>,
    /// Its entities, and whether the one item of each is found if it is there.
    entities: Vec<(EntityId, Result<(), Unproved>)>,
}

impl Gathered {
    /// How many items of an entity are read for sure: those that the one item of each other entity leaves room for.
    fn sure(&self, entity: EntityId) -> Option<u32> {
        let mut room = self.first?;
        for (_, proved) in self.entities.iter().filter(|(other, _)| *other != entity) {
            if *proved == Err(Unproved::Several) {
                return None;
            }
            room = room.checked_sub(1)?;
        }
        Some(room)
    }
}

impl Lowering {
    /// The entities of a query beside the first.
    pub(super) fn also(
        &mut self,
        first: EntityId,
        operation: &ast::Operation,
        scope: &Scope,
    ) -> Vec<EntityId> {
        let mut also = Vec::new();
        for name in &operation.also {
            let Some(entity) = self.entity_id(name) else { continue };
            if entity == first || also.contains(&entity) {
                let message = format!("`{}` is listed twice", name.node);
                self.report(Diagnostic::new(Rule::Name, name.span, message));
                continue;
            }
            also.push(entity);
        }
        if let (false, Some(otherwise)) = (also.is_empty(), &operation.otherwise) {
            let message = "what a query of several entities finds may be anything, or nothing";
            let help = "write the `else` where you take the item that must be there: `x = the X in all else …`";
            self.report(Diagnostic::new(Rule::Name, otherwise.span, message).help(help));
        }
        if !also.is_empty() && scope.trigger == Trigger::Invariant {
            let message = "a query of an invariant is of one entity";
            self.report(Diagnostic::new(Rule::Name, operation.target.span, message));
        }
        also
    }

    /// Notes what a query of several entities finds.
    pub(super) fn gather(&mut self, read: &Read, scope: &mut Scope) {
        let (What::Query(query), false, Some(binding)) =
            (&read.what, read.also.is_empty(), read.binding)
        else {
            return;
        };
        if matches!(query.limit, Some(Limit::First(1))) {
            let message = "one item is of one entity";
            let help = "query one entity, or write `first` with a greater number";
            self.report(Diagnostic::new(Rule::Type, read.span, message).help(help));
        }
        let all: Vec<EntityId> = read.entities().collect();
        let proved = |entity: EntityId| {
            let others: Vec<EntityId> = all.iter().copied().filter(|it| *it != entity).collect();
            (entity, prove(&self.model, entity, &others, query))
        };
        let entities = all.iter().map(|entity| proved(*entity)).collect();
        let (paged, first) = match &query.limit {
            Some(Limit::Page { .. }) => (true, None),
            Some(Limit::First(count)) => (false, Some(*count)),
            None => (false, None),
        };
        let strong = read.strong.clone();
        scope.present.insert(Access::Binding(binding));
        scope.gathered.insert(binding, Gathered { strong, paged, first, entities });
    }

    /// `x = the X in all`
    pub(super) fn pick(
        &mut self,
        name: &Name,
        pick: &ast::Pick,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        let failure = pick.otherwise.as_ref().map(|failure| self.failure(failure, scope, facts));
        let found = self.part(&pick.entity, &pick.of, true, scope);
        let Some((entity, part, strong)) = found else {
            self.bind(name, Kind::Unknown, true, scope);
            return None;
        };
        if part.paged && failure.is_none() {
            let message = "what if it is not there?";
            let help = "write `else 404 not-found`; behind a cursor it is not asked for";
            self.report(Diagnostic::new(Rule::Name, pick.entity.span, message).help(help));
        }
        let present = failure.is_some() || part.paged;
        let binding = self.bind(name, Kind::Item(entity), present, scope);
        let span = pick.entity.span.to(pick.of.span);
        Some(taken(binding, entity, part, strong, failure, span, scope))
    }

    /// `xs = X in all`
    pub(super) fn all_of(
        &mut self,
        name: &Name,
        entity: &Name,
        of: &Name,
        span: Span,
        scope: &mut Scope,
    ) -> Option<StepKind> {
        let Some((entity, part, strong)) = self.part(entity, of, false, scope) else {
            self.bind(name, Kind::Unknown, true, scope);
            return None;
        };
        let most = scope.gathered.get(&part.of).and_then(|whole| whole.first).map(u64::from);
        let binding = self.bind(name, Kind::Page(entity), true, scope);
        scope.items_max.extend(most.map(|most| (binding, most)));
        Some(taken(binding, entity, part, strong, None, span, scope))
    }

    /// The part that is named of what a query has found.
    fn part(
        &mut self,
        entity: &Name,
        of: &Name,
        one: bool,
        scope: &Scope,
    ) -> Option<(EntityId, Part, Strong)> {
        let id = self.entity_id(entity)?;
        let Some(whole) = scope.binding_named(&of.node) else {
            self.binding(of, scope);
            return None;
        };
        let Some(gathered) = scope.gathered.get(&whole) else {
            if scope.bindings[whole].kind != Kind::Unknown {
                let message = format!("`{}` is of one entity", of.node);
                let help =
                    "a part is taken of what a query of several has found: `all = query X, Y …`";
                self.report(Diagnostic::new(Rule::Type, of.span, message).help(help));
            }
            return None;
        };
        let Some((_, proved)) = gathered.entities.iter().find(|(listed, _)| *listed == id) else {
            let message = format!("`{}` holds no `{}`", of.node, entity.node);
            let help = "list the entity in the query";
            let diagnostic = Diagnostic::new(Rule::Type, entity.span, message)
                .other(scope.bindings[whole].span, "queried here");
            self.report(diagnostic.help(help));
            return None;
        };
        if let (true, Err(unproved)) = (one, proved) {
            self.report(unproved.tell(entity, of, scope.bindings[whole].span));
        }
        let sure = gathered.sure(id);
        Some((id, Part { of: whole, one, paged: gathered.paged, sure }, gathered.strong.clone()))
    }

    /// `X in all` in an expression.
    pub(super) fn misplaced_part(&mut self, entity: &Name, of: &Name) -> Expr {
        let span = entity.span.to(of.span);
        let message = "the items of an entity are named first";
        let help = format!("write `items = {} in {}` above, and use `items`", entity.node, of.node);
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        unknown(span)
    }

    /// Whether a name can be used for more than to be returned or taken apart.
    pub(super) fn can_be_asked(
        &mut self,
        id: BindingId,
        name: &str,
        span: Span,
        scope: &Scope,
    ) -> bool {
        let (message, help) = if scope.gathered.contains_key(&id) {
            let message = format!("`{name}` holds items of several entities");
            (message, "take a part of it first: `x = the X in all else …`, or `xs = X in all`")
        } else if scope.taken.get(&id).is_some_and(|part| part.one && part.paged) {
            let message = format!("`{name}` is on the first page only: nothing can rest on it");
            (message, "`get` the item, or read `first N` in place of the `page`")
        } else {
            return true;
        };
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        false
    }

    /// What is returned under a name.
    pub(super) fn returned_binding(&mut self, name: &Name, scope: &Scope) -> Option<BindingId> {
        let known = scope.binding_named(&name.node);
        let apart =
            |id: &BindingId| scope.gathered.contains_key(id) || scope.taken.contains_key(id);
        known.filter(apart).or_else(|| self.binding(name, scope))
    }

    /// Refuses to choose attributes of items of several entities.
    pub(super) fn returns_whole(&mut self, returned: &ast::Return) {
        let fields = returned.fields.first().map(|field| field.span);
        if let Some(span) = fields.or(returned.at.as_ref().map(|path| path.span)) {
            let message = "items of several entities are returned as they are";
            let help =
                "return an item, and lists of the others `with` it: `with { xs = X in all }`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// What is shown beside what is returned: values, and lists.
    pub(super) fn shown_beside(&mut self, with: &[ast::Assign], scope: &mut Scope) -> Vec<Given> {
        self.given_once(with);
        let mut shown = Vec::new();
        for assign in with {
            match self.list_beside(assign, scope) {
                Some(value) => {
                    let (attribute, span) = (assign.name.node.clone(), assign.name.span);
                    shown.push(Given::whole(attribute, value, false, span));
                }
                None => shown.extend(self.shown(std::slice::from_ref(assign), scope)),
            }
        }
        shown
    }

    /// A list that has no cursor, if that is what is to be shown: a part of what a query has found, or all that a read
    /// with a bound has.
    fn list_beside(&mut self, assign: &ast::Assign, scope: &mut Scope) -> Option<Expr> {
        let span = assign.value.span;
        let list = |id, entity| Expr { kind: ExprKind::Binding(id), of: Kind::Page(entity), span };
        match &assign.value.node {
            Written::Name(name) => {
                let id = scope.binding_named(name)?;
                let kind = &scope.bindings[id].kind;
                let part = scope.taken.get(&id).is_some_and(|part| !part.one);
                let whole = matches!(kind, Kind::Page(_)) && scope.items_max.contains_key(&id);
                kind.entity().filter(|_| part || whole).map(|entity| list(id, entity))
            }
            Written::Within(entity, of) if !scope.knows(&entity.node) => {
                let name = format!("{} in {}", entity.node, of.node);
                let Some((entity, part, strong)) = self.part(entity, of, false, scope) else {
                    return Some(unknown(span));
                };
                let kind = Kind::Page(entity);
                let id = scope.bindings.push(Binding { name, kind, secret: false, span });
                let kind = taken(id, entity, part, strong, None, span, scope);
                scope.parts.push(Step { kind, waivers: Vec::new(), span });
                Some(list(id, entity))
            }
            _ => None,
        }
    }

    /// The page whose cursor an answer shows beside an item: the one that the item, or a list beside it, is a part of.
    pub(super) fn next_shown(
        &mut self,
        returned: &ast::Return,
        (binding, entity): (Option<BindingId>, Option<EntityId>),
        with: &[Given],
        scope: &Scope,
    ) -> Option<BindingId> {
        // What is a list itself has its cursor.
        let of = binding.map(|id| &scope.bindings[id].kind);
        let item = of.is_none_or(|kind| matches!(kind, Kind::Item(_)));
        let beside = with.iter().filter_map(|given| match given.value.kind {
            ExprKind::Binding(id) => Some(id),
            _ => None,
        });
        let mut parts = binding.into_iter().chain(beside).filter_map(|id| scope.taken.get(&id));
        let next = parts.find(|part| part.paged).map(|part| part.of).filter(|_| item)?;
        self.not_taken(&returned.with, CURSOR, "an answer that goes on");
        let shape = entity.map(|entity| &self.model.entities[entity]);
        let own = shape.and_then(|shape| shape.attribute("nextCursor"));
        let listed = |name: &str| {
            returned.fields.is_empty() || returned.fields.iter().any(|field| field.node == name)
        };
        if let (Some(own), Some(value)) =
            (own.filter(|own| !own.secret && listed(&own.name)), &returned.value)
        {
            let message = "an answer that goes on has its own `nextCursor`";
            let diagnostic = Diagnostic::new(Rule::Name, value.span, message)
                .other(own.span, "and the item has one too");
            self.report(diagnostic.help("list the attributes to show in braces"));
        }
        Some(next)
    }
}

/// The step that takes a part.
fn taken(
    binding: BindingId,
    entity: EntityId,
    part: Part,
    strong: Strong,
    failure: Option<OnFailure>,
    span: Span,
    scope: &mut Scope,
) -> StepKind {
    scope.taken.insert(binding, part);
    let (binding, also, what) = (Some(binding), Vec::new(), What::Part(part));
    let snapshot = None;
    StepKind::Read(Box::new(Read { binding, entity, also, strong, what, snapshot, failure, span }))
}

impl Unproved {
    fn tell(self, entity: &Name, of: &Name, queried: Span) -> Diagnostic {
        let (entity_name, of_name) = (&entity.node, &of.node);
        let (message, why, help) = match self {
            Unproved::Several => (
                format!("more than one `{entity_name}` may be in `{of_name}`"),
                "`the` is for the one item whose key the query fixes, every part of it",
                format!(
                    "take all of them: `items = {entity_name} in {of_name}`; or `get` the one you mean"
                ),
            ),
            Unproved::Outside => (
                format!("the range of `{of_name}` may leave the `{entity_name}` out"),
                "an item that is there would be taken for absent",
                "widen the range until its key lies in it for sure, or `get` the item".to_owned(),
            ),
            Unproved::Behind => (
                format!("the `{entity_name}` may come behind more items than `{of_name}` reads"),
                "an item that is there would be taken for absent",
                "turn `order` round so that it is read first, or `get` the item".to_owned(),
            ),
            Unproved::Dropped => (
                format!("the filter of `{of_name}` may drop the `{entity_name}`"),
                "an item that is there would be taken for absent",
                format!(
                    "keep every `{entity_name}`, by something that it lacks: `keep .x is absent or …`; or `get` the item"
                ),
            ),
        };
        Diagnostic::new(Rule::Type, entity.span.to(of.span), message)
            .other(queried, "queried here")
            .why(why)
            .help(help)
    }
}
