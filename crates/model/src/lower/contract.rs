//! Contracts: routes, inputs, statements, facts.

use std::collections::{HashMap, HashSet};

use latchkey_language::ast::{self, Document, Item, Method, StatementKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::scope::Scope;
use super::statement::{count, ends};
use super::{Asked, Lowering, suggestion};
use crate::model::{
    Contract, EntityId, Facts, FailureKind, IdVec, Input, InputId, Limit, Place, Route, Segment,
    Step, StepKind, Trigger, What, each_step,
};
use crate::types::Type;

/// The most statements of a contract: what the check does with one grows with their square.
pub(super) const STATEMENTS_MAX: usize = 200;

/// Every page that is read anywhere in these steps, and where.
pub(super) fn pages(steps: &[Step]) -> Vec<(&Limit, Span)> {
    let mut pages = Vec::new();
    each_step(steps, &mut |step| pages.extend(page(step)));
    pages
}

/// The page a step reads, and where.
fn page(step: &Step) -> Option<(&Limit, Span)> {
    let StepKind::Read(read) = &step.kind else { return None };
    let What::Query(query) = &read.what else { return None };
    let page = query.limit.as_ref().filter(|limit| matches!(limit, Limit::Page { .. }));
    page.map(|page| (page, read.span))
}

/// Notes which inputs statements use.
pub(super) fn mark_used(inputs: &mut IdVec<InputId, Input>, used: &HashSet<InputId>) {
    for id in used {
        inputs[*id].used = true;
    }
}

/// Two pages that one call can read; `seen` is one that is read on the way to these steps, and then to what follows.
fn two_pages(steps: &[Step], seen: &mut Option<Span>) -> Option<[Span; 2]> {
    for step in steps {
        if let Some((_, second)) = page(step) {
            if let Some(first) = *seen {
                return Some([first, second]);
            }
            *seen = Some(second);
        }
        let found = match &step.kind {
            StepKind::When(_, yes, no) => {
                let (mut one, mut other) = (*seen, *seen);
                let found = two_pages(yes, &mut one).or_else(|| two_pages(no, &mut other));
                // A way that ends is no way to what follows.
                let goes_on = |block: &[Step], seen: Option<Span>| seen.filter(|_| !ends(block));
                *seen = goes_on(yes, one).or(goes_on(no, other));
                found
            }
            StepKind::Transact(legs) => two_pages(legs, &mut seen.clone()),
            _ => step.failures().find_map(|failure| match &failure.kind {
                FailureKind::Steps(steps) => two_pages(steps, &mut seen.clone()),
                _ => None,
            }),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

impl Lowering {
    pub(super) fn contracts(&mut self, document: &Document) {
        // Those of the table's keys before those of indexes, should types differ.
        let keys = self.model.entities.iter().map(|entity| &entity.key);
        let indexes = self.model.entities.iter().flat_map(|entity| &entity.indexes);
        for shape in keys.chain(indexes.map(|index| &index.key)) {
            for hole in shape.partition.holes().chain(shape.sort.holes()) {
                let known = self.key_types.entry(hole.attribute.clone());
                known.or_insert_with(|| hole.kind.clone());
            }
        }
        let mut ids: HashMap<&str, Span> = HashMap::new();
        for item in &document.items {
            let (Item::Contract(contract) | Item::Worker(contract)) = item else { continue };
            let is_worker = matches!(item, Item::Worker(_));
            if let Some(first) = ids.get(contract.id.node.as_str()) {
                let what = if is_worker { "worker" } else { "contract" };
                self.twice(what, &contract.id, *first);
                continue;
            }
            ids.insert(&contract.id.node, contract.id.span);
            if is_worker {
                self.worker(contract);
            } else {
                let lowered = self.contract(contract);
                self.model.contracts.push(lowered);
            }
        }
        self.unused_steps();
    }

    /// The statements of a contract or a worker.
    pub(super) fn body(
        &mut self,
        contract: &ast::Contract,
        scope: &mut Scope,
    ) -> (Vec<Step>, Facts) {
        let (mut steps, mut facts) = (Vec::new(), Facts::default());
        self.statements = count(&contract.body);
        if self.statements > STATEMENTS_MAX {
            self.too_long(contract.id.span);
        } else {
            self.steps(&contract.body, scope, &mut steps, &mut facts, true);
        }
        (steps, facts)
    }

    pub(super) fn too_long(&mut self, span: Span) {
        let message = format!("a contract of more than {STATEMENTS_MAX} statements");
        self.report(Diagnostic::new(Rule::Name, span, message).help("split it"));
    }

    fn contract(&mut self, contract: &ast::Contract) -> Contract {
        let mut scope = Scope { id: contract.id.node.clone(), ..Scope::default() };
        self.asked = Asked::default();
        let route = self.route(contract, &mut scope);
        self.inputs(contract, route.as_ref(), &mut scope);
        let (steps, facts) = self.body(contract, &mut scope);
        if !ends(&steps) {
            let message = "the contract has no `return` at its end";
            let help = "end it, and every way through it, with `return NAME`";
            self.report(Diagnostic::new(Rule::Name, contract.id.span, message).help(help));
        }
        self.one_page(&steps);
        self.paging_is_free(&scope, &steps);
        self.orders_no_secret(&steps, &mut scope);
        mark_used(&mut scope.inputs, &scope.used_inputs);
        let open = self.open();
        Contract {
            id: contract.id.node.clone(),
            title: contract.title.node.clone(),
            trigger: Trigger::Request,
            open,
            route,
            inputs: scope.inputs,
            bindings: scope.bindings,
            steps,
            facts,
            span: contract.id.span,
        }
    }

    /// Where a contract says that anyone may call it. It then knows no caller.
    fn open(&mut self) -> Option<Span> {
        let Asked { anyone, callers, allows } = std::mem::take(&mut self.asked);
        let anyone = anyone?;
        for span in callers {
            let message = "anyone may call this, so there may be no caller";
            let unknown = Diagnostic::new(Rule::Name, span, message)
                .other(anyone, "said here")
                .help("leave the caller out, or `allow` those who have a token: `allow true`");
            self.report(unknown);
        }
        for span in allows {
            let message = "a contract that anyone may call has no other `allow`";
            let second = Diagnostic::new(Rule::Name, span, message)
                .other(anyone, "said here")
                .help("delete one of them, or make two contracts; to test more, write `require`");
            self.report(second);
        }
        Some(anyone)
    }

    /// A call answers one page: its cursor and its size are for that one alone.
    fn one_page(&mut self, steps: &[Step]) {
        if let Some([first, second]) = two_pages(steps, &mut None) {
            let message = "a second page in one call";
            let diagnostic = Diagnostic::new(Rule::Name, second, message)
                .other(first, "the first is here")
                .why("a caller goes on with one cursor, which is good for one of the two alone")
                .help("read one of them with `first N`, or make two contracts of them");
            self.report(diagnostic);
            return;
        }
        let mut pages = pages(steps).into_iter();
        let Some((first, size)) = pages.next() else { return };
        if let Some((_, span)) = pages.find(|(page, _)| *page != first) {
            let message = "the pages of a contract differ in their size";
            let diagnostic = Diagnostic::new(Rule::Name, span, message)
                .other(size, "the other is here")
                .why("a caller asks for a size before it is known which of them is answered")
                .help("give both the same `page … max … as …`");
            self.report(diagnostic);
        }
    }

    /// Every page has two inputs of its own.
    fn paging_is_free(&mut self, scope: &Scope, steps: &[Step]) {
        let mut own: Vec<&str> = Vec::new();
        for (page, _) in pages(steps) {
            if let Limit::Page { sized_by, .. } = page {
                own.extend([sized_by.as_deref().unwrap_or("pageSize"), "nextCursor"]);
            }
        }
        let taken = |input: &&Input| own.contains(&input.name.as_str());
        if let Some(input) = scope.inputs.iter().find(taken) {
            let message = format!("a page has its own `{}`", input.name);
            let diagnostic = Diagnostic::new(Rule::Name, input.span, message);
            self.report(diagnostic.help("choose another name"));
        }
    }

    fn route(&mut self, contract: &ast::Contract, scope: &mut Scope) -> Option<Route> {
        let mut found: Option<Route> = None;
        for statement in &contract.body {
            let StatementKind::Route { method, path } = &statement.node else { continue };
            if let Some(first) = &found {
                let second = Diagnostic::new(Rule::Name, statement.span, "a second route")
                    .other(first.span, "the first is here");
                self.report(second);
                continue;
            }
            let mut segments = Vec::new();
            for part in path.node.split('/').skip(1) {
                match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                    Some(name) => {
                        let name = Name::new(name.to_owned(), path.span);
                        if scope.input_named(&name.node).is_some() {
                            self.stands_twice(&name);
                        }
                        segments.push(Segment::Input(self.path_input(&name, scope)));
                    }
                    None => segments.push(Segment::Literal(part.to_owned())),
                }
            }
            found = Some(Route { method: *method, segments, span: statement.span });
        }
        if found.is_none() {
            let help = "write `GET /path` or another method and path first in it";
            let missing =
                Diagnostic::new(Rule::Name, contract.id.span, "the contract has no route");
            self.report(missing.help(help));
        }
        found
    }

    /// Two places in the path have two values, and an input has one.
    fn stands_twice(&mut self, name: &Name) {
        let message = format!("`{{{}}}` is in the path twice", name.node);
        let help = "give each place in the path a name of its own";
        self.report(Diagnostic::new(Rule::Name, name.span, message).help(help));
    }

    /// An input of the path has the type of the attribute of its name.
    fn path_input(&mut self, name: &Name, scope: &mut Scope) -> InputId {
        self.no_word(name, scope.trigger);
        let kind = self.key_types.get(&name.node).cloned();
        if kind.is_none() {
            let message =
                format!("`{}` in the path is not an attribute of a key or an index", name.node);
            let close = suggestion(&name.node, self.key_types.keys().map(String::as_str));
            let help = close.unwrap_or_else(|| {
                "name an attribute of the key of what the contract reads; take anything else as an `input`"
                    .to_owned()
            });
            let why = "the path says which item is meant, and an item is found by its key";
            self.report(Diagnostic::new(Rule::Name, name.span, message).why(why).help(help));
        }
        let misnamed = kind.is_none();
        let input = scope.inputs.push(Input {
            name: name.node.clone(),
            kind: kind.unwrap_or(Type::Id),
            optional: false,
            default: None,
            secret: false,
            place: Place::Path,
            used: false,
            span: name.span,
        });
        if misnamed {
            scope.misnamed.insert(input);
            scope.used_inputs.insert(input);
        }
        input
    }

    fn inputs(&mut self, contract: &ast::Contract, route: Option<&Route>, scope: &mut Scope) {
        let in_query =
            route.is_some_and(|route| matches!(route.method, Method::Get | Method::Delete));
        let place = if in_query { Place::Query } else { Place::Body };
        for statement in &contract.body {
            let StatementKind::Input(fields) = &statement.node else { continue };
            for field in fields {
                if let Some(first) = scope.inputs.iter().find(|input| input.name == field.name.node)
                {
                    let span = first.span;
                    let id = scope.input_named(&field.name.node);
                    if !id.is_some_and(|id| scope.misnamed.contains(&id)) {
                        self.twice("input", &field.name, span);
                    }
                    continue;
                }
                self.no_word(&field.name, scope.trigger);
                let kind = self.field_type(field).unwrap_or(Type::Id);
                self.never_both(field);
                let default =
                    field.default.as_ref().map(|default| self.sure(default, scope, Some(&kind)));
                if let Some(default) = &default {
                    self.must_fit(default, Some(&kind));
                }
                scope.inputs.push(Input {
                    name: field.name.node.clone(),
                    secret: field.secret.is_some() || kind == Type::Key,
                    kind,
                    optional: field.optional.is_some(),
                    default,
                    place,
                    used: false,
                    span: field.name.span,
                });
            }
        }
    }

    pub(super) fn attribute_of(&mut self, entity: EntityId, name: &Name) -> Option<Type> {
        let entity = &self.model.entities[entity];
        match entity.attribute(&name.node) {
            Some(attribute) => Some(attribute.kind.clone()),
            None => {
                let known = entity.attributes.iter().map(|attribute| attribute.name.as_str());
                let help = suggestion(&name.node, known);
                let what = format!("attribute of `{}` named", entity.name);
                self.unknown_operand(&what, name, help);
                None
            }
        }
    }
}
