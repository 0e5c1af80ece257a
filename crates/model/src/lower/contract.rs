//! Contracts: routes, inputs, statements, facts.

use std::collections::{HashMap, HashSet};

use latchkey_language::ast::{self, Document, Item, Statement, StatementKind};
use latchkey_language::{Diagnostic, Name, Span};

use super::entity::waiver;
use super::{Lowering, suggestion};
use crate::model::{
    Binding, Contract, Expr, Facts, Failure, FailureKind, Input, Kind, Limit, Place, Route,
    Segment, Stated, Step, StepKind, Waiver, What,
};
use crate::types::Type;

/// The most statements of a contract: what the check does with one grows with their square.
const STATEMENTS_MAX: usize = 200;

/// How it begins, when nobody tells what a name stands for.
pub(crate) const UNTOLD: &str = "nobody tells what";

/// A thing that may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Access {
    Input(String),
    Binding(usize),
    Attribute(usize, String),
}

/// What is known at a place of a contract.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) inputs: Vec<Input>,
    pub(super) bindings: Vec<Binding>,
    /// The bindings that can be named here, by the end of their block.
    pub(super) visible: Vec<usize>,
    /// What is known to be there.
    pub(super) present: HashSet<Access>,
    /// The entity whose stored attributes `.x` means here.
    pub(super) stored: Option<usize>,
    /// Whether this is within a `transact`.
    pub(super) in_transaction: bool,
    /// The bindings of which nobody tells what they are by now, and since when.
    pub(super) untold: HashMap<usize, Span>,
}

/// Whether a page is read anywhere in these steps.
fn has_page(steps: &[Step]) -> bool {
    let in_failure = |failure: Option<&Failure>| match failure.map(|failure| &failure.kind) {
        Some(FailureKind::Steps(steps)) => has_page(steps),
        _ => false,
    };
    steps.iter().any(|step| match &step.kind {
        StepKind::Read(read) => {
            let page = matches!(&read.what, What::Query(query) if matches!(query.limit, Some(Limit::Page(..))));
            page || in_failure(read.failure.as_ref())
        }
        StepKind::When(_, then, otherwise) => has_page(then) || has_page(otherwise),
        StepKind::Transact(legs) => has_page(legs),
        StepKind::Write(leg) => in_failure(leg.failure.as_ref()),
        StepKind::Require(_, failure) | StepKind::Match(_, failure) => in_failure(failure.as_ref()),
        StepKind::Allow(_) | StepKind::Let(..) | StepKind::Return(_) => false,
    })
}

/// Whether a statement can stand in a transaction.
fn is_leg(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Operate(_, operation) => {
            !matches!(operation.verb.node, ast::Verb::Get | ast::Verb::Query)
        }
        StatementKind::When { .. } | StatementKind::Waive(_) => true,
        _ => false,
    }
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
            let Item::Contract(contract) = item else { continue };
            if let Some(first) = ids.get(contract.id.node.as_str()) {
                self.twice("contract", &contract.id, *first);
                continue;
            }
            ids.insert(&contract.id.node, contract.id.span);
            let lowered = self.contract(contract);
            self.model.contracts.push(lowered);
        }
    }

    fn contract(&mut self, contract: &ast::Contract) -> Contract {
        let mut scope = Scope::default();
        self.used_inputs.clear();
        let route = self.route(contract, &mut scope);
        self.inputs(contract, route.as_ref(), &mut scope);
        let mut facts = Facts::default();
        let mut steps = Vec::new();
        if count(&contract.body) > STATEMENTS_MAX {
            let message = format!("a contract of more than {STATEMENTS_MAX} statements");
            self.report(Diagnostic::new("name", contract.id.span, message).help("split it"));
        } else {
            self.steps(&contract.body, &mut scope, &mut steps, &mut facts, true);
        }
        if !ends(&steps) {
            let message = "the contract has no `return` at its end";
            let help = "end it, and every way through it, with `return NAME`";
            self.report(Diagnostic::new("name", contract.id.span, message).help(help));
        }
        self.paging_is_free(&scope, &steps);
        for input in &scope.inputs {
            if !self.used_inputs.contains(&input.name) {
                let message = format!("nothing uses the input `{}`", input.name);
                let help = "delete it, or use it";
                self.diagnostics.push(Diagnostic::new("unused", input.span, message).help(help));
            }
        }
        Contract {
            id: contract.id.node.clone(),
            title: contract.title.node.clone(),
            route,
            inputs: scope.inputs,
            bindings: scope.bindings,
            steps,
            facts,
            span: contract.id.span,
        }
    }

    /// Every page has two inputs of its own.
    fn paging_is_free(&mut self, scope: &Scope, steps: &[Step]) {
        let taken = |input: &&Input| ["pageSize", "nextCursor"].contains(&input.name.as_str());
        if let Some(input) = scope.inputs.iter().find(taken).filter(|_| has_page(steps)) {
            let message = format!("a page has a `{}` of its own", input.name);
            let diagnostic = Diagnostic::new("name", input.span, message);
            self.report(diagnostic.help("choose another name"));
        }
    }

    fn route(&mut self, contract: &ast::Contract, scope: &mut Scope) -> Option<Route> {
        let mut found: Option<Route> = None;
        for statement in &contract.body {
            let StatementKind::Route { method, path } = &statement.node else { continue };
            if let Some(first) = &found {
                let second = Diagnostic::new("name", statement.span, "a second route")
                    .other(first.span, "the first is here");
                self.report(second);
                continue;
            }
            let mut segments = Vec::new();
            for part in path.node.split('/').skip(1) {
                match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                    Some(name) => {
                        segments.push(Segment::Input(name.to_owned()));
                        let name = Name::new(name.to_owned(), path.span);
                        self.path_input(&name, scope);
                    }
                    None => segments.push(Segment::Literal(part.to_owned())),
                }
            }
            found = Some(Route { method: method.node.clone(), segments, span: statement.span });
        }
        if found.is_none() {
            let help = "write `GET /path` or another method and path first in it";
            let missing = Diagnostic::new("name", contract.id.span, "the contract has no route");
            self.report(missing.help(help));
        }
        found
    }

    /// An input of the path has the type of the attribute of its name.
    fn path_input(&mut self, name: &Name, scope: &mut Scope) {
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
        });
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

    /// Statements of one block. What is bound in it is gone after it.
    pub(super) fn steps(
        &mut self,
        statements: &[Statement],
        scope: &mut Scope,
        steps: &mut Vec<Step>,
        facts: &mut Facts,
        top: bool,
    ) {
        let visible = scope.visible.len();
        let mut waivers: Vec<Waiver> = Vec::new();
        for statement in statements {
            if scope.in_transaction && !is_leg(&statement.node) {
                let message = "a transaction is made of writes, and of `when` around them";
                let help = "move it before the transaction, or behind it";
                self.report(Diagnostic::new("name", statement.span, message).help(help));
                continue;
            }
            let kind = match &statement.node {
                StatementKind::Waive(waive) => {
                    waivers.push(waiver(waive));
                    continue;
                }
                StatementKind::Fact(fact) => {
                    self.fact(fact, statement.span, facts, top);
                    facts.waivers.append(&mut waivers);
                    continue;
                }
                StatementKind::Route { .. } | StatementKind::Input(_) => {
                    if !top {
                        let message = "a route or an input within a block";
                        self.report(Diagnostic::new("name", statement.span, message));
                    }
                    continue;
                }
                other => self.step(other, scope, facts),
            };
            if let Some(kind) = kind {
                let waivers = std::mem::take(&mut waivers);
                steps.push(Step { kind, waivers, span: statement.span });
            }
        }
        for waiver in waivers {
            let diagnostic = Diagnostic::new("waive", waiver.span, "a waiver above nothing");
            self.report(diagnostic.help("write it directly above the statement it is for"));
        }
        if !top {
            scope.visible.truncate(visible);
        }
    }

    fn step(
        &mut self,
        statement: &StatementKind,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        Some(match statement {
            StatementKind::Allow(test) => {
                let test = self.test(test, scope);
                narrow(&test, true, &mut scope.present);
                StepKind::Allow(test)
            }
            StatementKind::Require(test, failure) => {
                let (test, failure) = self.gate(test, failure.as_ref(), scope, facts);
                StepKind::Require(test, failure)
            }
            StatementKind::Match(test, failure) => {
                let (test, failure) = self.gate(test, failure.as_ref(), scope, facts);
                StepKind::Match(test, failure)
            }
            StatementKind::When { condition, then, otherwise } => {
                self.when(condition, then, otherwise, scope, facts)
            }
            StatementKind::Let(name, value) => {
                let value = self.sure(value, scope, None);
                if matches!(value.of, Kind::Item(_) | Kind::Page(_)) {
                    let message = "what was read has a name already";
                    let second = Diagnostic::new("name", name.span, message);
                    self.report(second.help("use the name it was read by"));
                }
                let secret = self.is_secret(&value, scope);
                let binding = self.bind(name, value.of.clone(), true, scope);
                if let Some(bound) = scope.bindings.get_mut(binding) {
                    bound.secret = secret;
                }
                StepKind::Let(binding, value)
            }
            StatementKind::Operate(name, operation) => {
                return self.operation(name.as_ref(), operation, scope, facts);
            }
            StatementKind::Transact(legs) => {
                let mut steps = Vec::new();
                // What a leg leaves can be named after the transaction.
                let visible = scope.visible.len();
                scope.in_transaction = true;
                self.steps(legs, scope, &mut steps, facts, true);
                scope.in_transaction = false;
                debug_assert!(scope.visible.len() >= visible, "nothing is forgotten");
                StepKind::Transact(steps)
            }
            StatementKind::Return(returned) => self.returned(returned, scope),
            StatementKind::Route { .. }
            | StatementKind::Input(_)
            | StatementKind::Fact(_)
            | StatementKind::Waive(_) => return None,
        })
    }

    fn gate(
        &mut self,
        test: &ast::Expr,
        failure: Option<&ast::Else>,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> (Expr, Option<Failure>) {
        let test = self.test(test, scope);
        let before = scope.present.clone();
        narrow(&test, false, &mut scope.present);
        let failure = failure.map(|failure| self.failure(failure, scope, facts));
        scope.present = before;
        narrow(&test, true, &mut scope.present);
        (test, failure)
    }

    fn when(
        &mut self,
        condition: &ast::Expr,
        then: &[Statement],
        otherwise: &[Statement],
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> StepKind {
        let test = self.test(condition, scope);
        let before = scope.present.clone();
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        narrow(&test, true, &mut scope.present);
        self.steps(then, scope, &mut yes, facts, false);
        scope.present.clone_from(&before);
        narrow(&test, false, &mut scope.present);
        self.steps(otherwise, scope, &mut no, facts, false);
        scope.present = before;
        // Where one way ends the call, what follows has gone the other.
        if ends(&yes) {
            narrow(&test, false, &mut scope.present);
        }
        if ends(&no) {
            narrow(&test, true, &mut scope.present);
        }
        StepKind::When(test, yes, no)
    }

    fn fact(&mut self, fact: &ast::Fact, span: Span, facts: &mut Facts, top: bool) {
        if !top {
            self.report(Diagnostic::new("name", span, "a fact within a block"));
            return;
        }
        match fact {
            ast::Fact::Consistency(word) => match word.node.as_str() {
                "strong" => facts.consistency = Some(Stated { value: true, span }),
                "eventual" => facts.consistency = Some(Stated { value: false, span }),
                _ => self.unknown(
                    "consistency",
                    word,
                    Some("write `eventual` or `strong`".to_owned()),
                ),
            },
            ast::Fact::Expect { low, high } => {
                let number = |text: &Name| text.node.parse::<u64>().ok();
                match (number(low), high.as_ref().map(number)) {
                    (Some(low), None) => facts.expect = Some(Stated { value: (low, None), span }),
                    (Some(low), Some(Some(high))) if low <= high => {
                        facts.expect = Some(Stated { value: (low, Some(high)), span });
                    }
                    _ => self.report(Diagnostic::new("type", span, "no range of whole numbers")),
                }
            }
            ast::Fact::Rate { count, per } => {
                if !["s", "m", "h", "d"].contains(&per.node.as_str()) {
                    let help = Some("write `/s`, `/m`, `/h` or `/d`".to_owned());
                    self.unknown("unit of time", per, help);
                }
                let value = format!("{}/{}", count.node, per.node);
                facts.rate = Some(Stated { value, span });
            }
            ast::Fact::Cost(units) => {
                for (_, unit) in units {
                    if !["rcu", "wcu"].contains(&unit.node.as_str()) {
                        self.unknown("unit", unit, Some("write `rcu` or `wcu`".to_owned()));
                    }
                }
                let units =
                    units.iter().map(|(count, unit)| format!("{} {}", count.node, unit.node));
                let value = units.collect::<Vec<_>>().join(", ");
                facts.cost = Some(Stated { value, span });
            }
        }
    }

    /// Binds a name that is not bound yet.
    pub(super) fn bind(
        &mut self,
        name: &Name,
        kind: Kind,
        present: bool,
        scope: &mut Scope,
    ) -> usize {
        let clash = scope
            .visible
            .iter()
            .filter_map(|id| scope.bindings.get(*id))
            .map(|binding| (&binding.name, binding.span))
            .chain(scope.inputs.iter().map(|input| (&input.name, input.span)))
            .find(|(other, _)| **other == name.node);
        if let Some((_, first)) = clash {
            let message = format!("`{}` has a meaning already", name.node);
            let shadow = Diagnostic::new("name", name.span, message)
                .other(first, "given here")
                .help("choose another name: a name means one thing in a contract");
            self.report(shadow);
        }
        let id = scope.bindings.len();
        let secret = false;
        scope.bindings.push(Binding { name: name.node.clone(), kind, secret, span: name.span });
        scope.visible.push(id);
        if present {
            scope.present.insert(Access::Binding(id));
        }
        id
    }

    /// The binding of a name.
    pub(super) fn binding(&mut self, name: &Name, scope: &Scope) -> Option<usize> {
        let named = |id: &&usize| scope.bindings.get(**id).is_some_and(|b| b.name == name.node);
        let found = scope.visible.iter().rev().find(named).copied();
        if found.is_none() {
            let known = scope.visible.iter().filter_map(|id| scope.bindings.get(*id));
            let help = suggestion(&name.node, known.map(|binding| binding.name.as_str()));
            self.unknown("name", name, help);
        }
        found
    }

    pub(super) fn must_be_present(&mut self, access: Access, name: &Name, scope: &Scope) {
        if let Access::Binding(id) = &access
            && let Some(since) = scope.untold.get(id)
        {
            let message = format!("{UNTOLD} `{}` is by now", name.node);
            let diagnostic = Diagnostic::new("type", name.span, message)
                .other(*since, "this computes with what is stored at that moment")
                .why(
                    "a transaction answers with no items, and what was read may have changed since",
                )
                .help(
                    "write `if unchanged … else retry` there, or `get` the item again behind the transaction",
                );
            self.report(diagnostic);
        }
        if !scope.present.contains(&access) {
            let message = format!("`{}` may be absent here", name.node);
            let help = format!(
                "test it first: `require {0} is present else …`, or `when {0} is present {{ … }}`",
                name.node
            );
            self.report(Diagnostic::new("absent", name.span, message).help(help));
        }
    }

    pub(super) fn attribute_of(&mut self, entity: usize, name: &Name) -> Option<Type> {
        let entity = self.model.entities.get(entity)?;
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

/// How many statements there are, those in blocks too.
fn count(statements: &[Statement]) -> usize {
    let within = |statement: &Statement| match &statement.node {
        StatementKind::When { then, otherwise, .. } => count(then) + count(otherwise),
        StatementKind::Transact(legs) => count(legs),
        StatementKind::Require(_, failure) | StatementKind::Match(_, failure) => {
            blocked(failure.as_ref())
        }
        StatementKind::Operate(_, operation) => blocked(operation.otherwise.as_ref()),
        _ => 0,
    };
    statements.iter().map(|statement| 1 + within(statement)).sum()
}

fn blocked(failure: Option<&ast::Else>) -> usize {
    match failure.map(|failure| &failure.kind) {
        Some(ast::ElseKind::Block(statements)) => count(statements),
        _ => 0,
    }
}

/// Whether a block never goes on to what follows it.
pub(crate) fn ends(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.kind {
        StepKind::Return(_) => true,
        StepKind::When(_, yes, no) => ends(yes) && ends(no),
        _ => false,
    })
}

/// Takes in what is there if a test came out so.
pub(super) fn narrow(test: &Expr, truth: bool, present: &mut HashSet<Access>) {
    use crate::model::{ExprKind, Op};
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
    use crate::model::ExprKind;
    match &thing.kind {
        ExprKind::Input(name) => Some(Access::Input(name.clone())),
        ExprKind::Binding(id) => Some(Access::Binding(*id)),
        ExprKind::Attribute(id, name) => Some(Access::Attribute(*id, name.clone())),
        _ => None,
    }
}
