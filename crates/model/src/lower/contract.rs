//! Contracts: routes, inputs, statements, facts.

use std::collections::{HashMap, HashSet};

use latchkey_language::ast::{self, Document, Item, StatementKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::scope::Scope;
use super::statement::{count, ends};
use super::{Lowering, suggestion};
use crate::model::{
    Contract, EntityId, Facts, IdVec, Input, InputId, Limit, Place, Route, Segment, Step, StepKind,
    Trigger, What, each_step,
};
use crate::types::Type;

/// The most statements of a contract: what the check does with one grows with their square.
pub(super) const STATEMENTS_MAX: usize = 200;

/// Every page that is read anywhere in these steps, as the name a caller sizes it by.
pub(super) fn pages(steps: &[Step]) -> Vec<&str> {
    let mut pages = Vec::new();
    each_step(steps, &mut |step| {
        if let StepKind::Read(read) = &step.kind
            && let What::Query(query) = &read.what
            && let Some(Limit::Page { sized_by, .. }) = &query.limit
        {
            pages.push(sized_by.as_deref().unwrap_or("pageSize"));
        }
    });
    pages
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
        let route = self.route(contract, &mut scope);
        self.inputs(contract, route.as_ref(), &mut scope);
        let (steps, facts) = self.body(contract, &mut scope);
        if !ends(&steps) {
            let message = "the contract has no `return` at its end";
            let help = "end it, and every way through it, with `return NAME`";
            self.report(Diagnostic::new(Rule::Name, contract.id.span, message).help(help));
        }
        self.paging_is_free(&scope, &steps);
        self.unused_inputs(&scope.inputs, &scope.used_inputs);
        Contract {
            id: contract.id.node.clone(),
            title: contract.title.node.clone(),
            trigger: Trigger::Request,
            route,
            inputs: scope.inputs,
            bindings: scope.bindings,
            steps,
            facts,
            span: contract.id.span,
        }
    }

    pub(super) fn unused_inputs(
        &mut self,
        inputs: &IdVec<InputId, Input>,
        used: &HashSet<InputId>,
    ) {
        for (id, input) in inputs.enumerate() {
            if !used.contains(&id) {
                let message = format!("nothing uses the input `{}`", input.name);
                let help = "delete it, or use it";
                self.diagnostics
                    .push(Diagnostic::new(Rule::Unused, input.span, message).help(help));
            }
        }
    }

    /// Every page has two inputs of its own.
    fn paging_is_free(&mut self, scope: &Scope, steps: &[Step]) {
        let mut own: Vec<&str> = Vec::new();
        for page in pages(steps) {
            own.extend([page, "nextCursor"]);
        }
        let taken = |input: &&Input| own.contains(&input.name.as_str());
        if let Some(input) = scope.inputs.iter().find(taken) {
            let message = format!("a page has a `{}` of its own", input.name);
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
                        segments.push(Segment::Input(self.path_input(&name, scope)));
                    }
                    None => segments.push(Segment::Literal(part.to_owned())),
                }
            }
            found = Some(Route { method: method.node.clone(), segments, span: statement.span });
        }
        if found.is_none() {
            let help = "write `GET /path` or another method and path first in it";
            let missing =
                Diagnostic::new(Rule::Name, contract.id.span, "the contract has no route");
            self.report(missing.help(help));
        }
        found
    }

    /// An input of the path has the type of the attribute of its name.
    fn path_input(&mut self, name: &Name, scope: &mut Scope) -> InputId {
        let kind = self.key_types.get(&name.node).cloned();
        if kind.is_none() {
            let help = suggestion(&name.node, self.key_types.keys().map(String::as_str));
            self.unknown("attribute of a key named", name, help);
        }
        scope.inputs.push(Input {
            name: name.node.clone(),
            kind: kind.unwrap_or(Type::Id),
            optional: false,
            default: None,
            secret: false,
            place: Place::Path,
            span: name.span,
        })
    }

    fn inputs(&mut self, contract: &ast::Contract, route: Option<&Route>, scope: &mut Scope) {
        let in_query = route.is_some_and(|route| matches!(route.method.as_str(), "GET" | "DELETE"));
        let place = if in_query { Place::Query } else { Place::Body };
        for statement in &contract.body {
            let StatementKind::Input(fields) = &statement.node else { continue };
            for field in fields {
                if let Some(first) = scope.inputs.iter().find(|input| input.name == field.name.node)
                {
                    let span = first.span;
                    self.twice("input", &field.name, span);
                    continue;
                }
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
                self.unknown(&what, name, help);
                None
            }
        }
    }
}
