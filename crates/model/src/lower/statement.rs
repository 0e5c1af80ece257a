//! The statements of contracts and workers.

use latchkey_language::ast::{self, ExprKind, Statement, StatementKind};
use latchkey_language::{Diagnostic, Name, Rule, Span, Spanned};
use latchkey_value::Number;
use latchkey_value::limits::{CACHE_SECONDS_MAX, LIMIT_CALLS_MAX};

use super::Lowering;
use super::literal::milliseconds;
use super::scope::{Scope, narrow};
use crate::model;
use crate::model::{
    CallLimit, CapacityUnit, Cost, Expr, Facts, Input, Kind, OnFailure, Period, Place, Rate,
    Stated, Step, StepKind, Trigger, Waiver, Whose, whole_calls,
};
use crate::types::Type;

/// Whether a statement can stand in a transaction.
fn is_leg(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Operate(_, operation) => {
            !matches!(operation.verb.node, ast::Verb::Get | ast::Verb::Query)
        }
        StatementKind::When { .. }
        | StatementKind::Each { .. }
        | StatementKind::Waive(_)
        | StatementKind::Send(_)
        | StatementKind::Do { .. } => true,
        _ => false,
    }
}

impl Lowering {
    /// Statements of one block. What is bound in it is gone after it, unless it is the top one.
    pub(super) fn steps(
        &mut self,
        statements: &[Statement],
        scope: &mut Scope,
        steps: &mut Vec<Step>,
        facts: &mut Facts,
        top: bool,
    ) {
        let visible = scope.visible.len();
        self.open_block(statements, scope, steps, facts, top);
        if !top {
            scope.visible.truncate(visible);
        }
    }

    /// Statements of one block. What is bound in it is still known after it.
    pub(super) fn open_block(
        &mut self,
        statements: &[Statement],
        scope: &mut Scope,
        steps: &mut Vec<Step>,
        facts: &mut Facts,
        top: bool,
    ) {
        let mut waivers: Vec<Waiver> = Vec::new();
        for statement in statements {
            if scope.in_transaction && !is_leg(&statement.node) {
                let message =
                    "a transaction is made of writes and sends, and of `when` around them";
                let help = "move it before the transaction, or behind it";
                self.report(Diagnostic::new(Rule::Name, statement.span, message).help(help));
                continue;
            }
            let kind = match &statement.node {
                StatementKind::Waive(waive) => {
                    waivers.extend(self.waiver(waive));
                    continue;
                }
                StatementKind::Fact(fact) => {
                    self.fact(fact, statement.span, facts, top, scope);
                    facts.waivers.append(&mut waivers);
                    continue;
                }
                StatementKind::Route { .. }
                | StatementKind::Input(_)
                | StatementKind::On(..)
                | StatementKind::OnDead(_) => {
                    self.heading(&statement.node, statement.span, scope, top);
                    facts.waivers.append(&mut waivers);
                    continue;
                }
                StatementKind::Do { result, name, arguments } => {
                    let mut done = Vec::new();
                    self.inline((result.as_ref(), name, arguments), scope, &mut done, facts);
                    done.iter_mut()
                        .for_each(|step: &mut Step| step.waivers.extend(waivers.clone()));
                    waivers.clear();
                    steps.append(&mut done);
                    continue;
                }
                StatementKind::Snapshot(gets) => {
                    let mut read = self.snapshot(gets, statement.span, scope, facts);
                    read.iter_mut().for_each(|step| step.waivers.extend(waivers.clone()));
                    waivers.clear();
                    steps.append(&mut read);
                    continue;
                }
                other => self.step(other, statement.span, scope, facts),
            };
            steps.append(&mut scope.parts);
            if let Some(kind) = kind {
                let waivers = std::mem::take(&mut waivers);
                steps.push(Step { kind, waivers, span: statement.span });
            }
        }
        for waiver in waivers {
            let diagnostic = Diagnostic::new(Rule::Waive, waiver.span, "a waiver above nothing");
            self.report(diagnostic.help("write it directly above the statement it is for"));
        }
    }

    /// What stands at the top of a contract or a worker was read before its statements.
    fn heading(&mut self, statement: &StatementKind, span: Span, scope: &Scope, top: bool) {
        let of_contract =
            matches!(statement, StatementKind::Route { .. } | StatementKind::Input(_));
        let own = of_contract == (scope.trigger == Trigger::Request);
        let message = match (of_contract, top && scope.parameters.is_none()) {
            (_, true) if own => return,
            (true, true) => "a worker has no route, and its inputs are the fields of its messages",
            (false, true) => "only a worker is `on` a queue",
            (true, false) => "a route or an input within a block",
            (false, false) => "an `on` within a block",
        };
        self.report(Diagnostic::new(Rule::Name, span, message));
    }

    fn step(
        &mut self,
        statement: &StatementKind,
        span: Span,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        Some(match statement {
            StatementKind::Allow(test) => {
                self.must_be_called("allow", span, scope);
                self.asked.allows.push(span);
                let test = self.test(test, scope);
                narrow(&test, true, &mut scope.present);
                StepKind::Allow(test)
            }
            StatementKind::AllowAnyone => self.allow_anyone(span, scope),
            StatementKind::Require(test, failure) => {
                let (test, failure) = self.gate(test, failure.as_ref(), scope, facts);
                StepKind::Require(test, failure)
            }
            StatementKind::Match(test, failure) => {
                self.must_be_called("match", span, scope);
                let (test, failure) = self.gate(test, failure.as_ref(), scope, facts);
                StepKind::Match(test, failure)
            }
            StatementKind::When { condition, then, otherwise } => {
                self.when(condition, then, otherwise, scope, facts)
            }
            StatementKind::Pick(name, pick) => {
                return self.pick(name, pick, scope, facts);
            }
            StatementKind::Let(name, Spanned { node: ExprKind::Within(entity, of), .. })
                if !scope.knows(&entity.node) =>
            {
                return self.all_of(name, entity, of, span, scope);
            }
            StatementKind::Let(name, value) => self.name_value(name, value, scope),
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
            StatementKind::Each { element, over, body } => {
                return self.each(element, over, body, span, scope, facts);
            }
            StatementKind::Send(send) => return self.send(send, span, scope),
            StatementKind::Return(returned) => {
                self.must_be_called("return", span, scope);
                self.returned(returned, scope)
            }
            StatementKind::End(ending) => StepKind::End(self.ending(ending, span, scope)),
            StatementKind::Route { .. }
            | StatementKind::Input(_)
            | StatementKind::On(..)
            | StatementKind::OnDead(_)
            | StatementKind::Do { .. }
            | StatementKind::Snapshot(_)
            | StatementKind::Fact(_)
            | StatementKind::Waive(_) => return None,
        })
    }

    /// `NAME = VALUE`
    fn name_value(&mut self, name: &Name, value: &ast::Expr, scope: &mut Scope) -> StepKind {
        let value = self.expr(value, scope, None);
        if !value.of.entities().is_empty() {
            let message = "what was read has a name already";
            let second = Diagnostic::new(Rule::Name, name.span, message);
            self.report(second.help("use the name it was read by"));
        } else {
            self.must_be_value(&value, None);
            self.must_have(&value, scope);
        }
        let secret = self.is_secret(&value, scope);
        let binding = self.bind(name, value.of.clone(), true, scope);
        scope.bindings[binding].secret = secret;
        StepKind::Let(binding, value)
    }

    fn allow_anyone(&mut self, span: Span, scope: &Scope) -> StepKind {
        self.must_be_called("allow", span, scope);
        self.asked.anyone.get_or_insert(span);
        let (kind, of) = (model::ExprKind::Bool(true), Kind::Value(Type::Bool));
        StepKind::Allow(Expr { kind, of, span })
    }

    fn gate(
        &mut self,
        test: &ast::Expr,
        failure: Option<&ast::Else>,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> (Expr, Option<OnFailure>) {
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
        let untold = scope.untold.clone();
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        narrow(&test, true, &mut scope.present);
        self.steps(then, scope, &mut yes, facts, false);
        scope.present.clone_from(&before);
        narrow(&test, false, &mut scope.present);
        // What one block writes the other has not written; what follows may have gone through either.
        let written = std::mem::replace(&mut scope.untold, untold);
        self.steps(otherwise, scope, &mut no, facts, false);
        scope.present = before;
        scope.untold.extend(written);
        // Where one way ends the call, what follows has gone the other.
        if ends(&yes) {
            narrow(&test, false, &mut scope.present);
        }
        if ends(&no) {
            narrow(&test, true, &mut scope.present);
        }
        StepKind::When(test, yes, no)
    }

    fn fact(&mut self, fact: &ast::Fact, span: Span, facts: &mut Facts, top: bool, scope: &Scope) {
        if !top {
            self.report(Diagnostic::new(Rule::Name, span, "a fact within a block"));
            return;
        }
        if let Some((word, first)) = stated(fact, facts) {
            let message = format!("`{word}` is stated twice");
            let twice =
                Diagnostic::new(Rule::Name, span, message).other(first, "the first is here");
            self.report(twice.help("a contract states a fact once: delete one of the two"));
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
                    _ => {
                        self.report(Diagnostic::new(Rule::Type, span, "no range of whole numbers"))
                    }
                }
            }
            ast::Fact::Rate { count, per } => {
                let period = self.period(per);
                let stated = self.amount(count).zip(period);
                let value = stated.map(|(calls, per)| Rate { calls, per });
                facts.rate = value.map(|value| Stated { value, span });
            }
            ast::Fact::Cost(units) => {
                let mut cost = Vec::new();
                for (count, unit) in units {
                    let known = CapacityUnit::named(&unit.node);
                    if known.is_none() {
                        self.unknown("unit", unit, Some("write `rcu` or `wcu`".to_owned()));
                    }
                    cost.extend(self.amount(count).zip(known));
                }
                facts.cost = Some(Stated { value: Cost(cost), span });
            }
            ast::Fact::Cache(text) => {
                facts.cache = self.cache_seconds(text).map(|value| Stated { value, span });
            }
            ast::Fact::Limit { count, per, whose, burst } => {
                let value = self.limit(count, per, whose, burst.as_ref(), scope);
                facts.limit = value.map(|value| Stated { value, span });
            }
            ast::Fact::Idempotent(key) if key.node == "key" => facts.by_key = Some(span),
            ast::Fact::Idempotent(entity) => {
                let value = self.entity_id(entity);
                facts.idempotent = value.map(|value| Stated { value, span });
            }
        }
    }
}

impl Lowering {
    /// A number that a fact states.
    fn amount(&mut self, written: &Name) -> Option<Number> {
        let number: Result<Number, _> = written.node.parse();
        if let Err(error) = &number {
            let message = format!("`{}` is not a number: {error}", written.node);
            self.report(Diagnostic::new(Rule::Type, written.span, message));
        }
        number.ok()
    }

    fn period(&mut self, word: &Name) -> Option<Period> {
        let period = Period::named(&word.node);
        if period.is_none() {
            let help = Some("write `/s`, `/m`, `/h` or `/d`".to_owned());
            self.unknown("unit of time", word, help);
        }
        period
    }

    fn limit(
        &mut self,
        count: &Name,
        per: &Name,
        whose: &Name,
        burst: Option<&Name>,
        scope: &Scope,
    ) -> Option<CallLimit> {
        let whose_calls = match whose.node.as_str() {
            "caller" => Some(Whose::Caller),
            "address" => Some(Whose::Address),
            _ => self.limited_input(whose, scope),
        };
        let (calls, period) = (self.calls(count), self.period(per));
        let burst = burst.map_or(calls, |burst| self.calls(burst));
        Some(CallLimit { calls: calls?, per: period?, whose: whose_calls?, burst: burst? })
    }

    /// An input by which a limit counts: an id of the path, which is known before the body is read.
    fn limited_input(&mut self, name: &Name, scope: &Scope) -> Option<Whose> {
        let countable = |input: &&Input| {
            input.place == Place::Path && matches!(input.kind, Type::Id | Type::Ulid)
        };
        let input = scope.inputs.iter().find(|input| input.name == name.node);
        if input.as_ref().is_some_and(countable) {
            return Some(Whose::Input(name.node.clone()));
        }
        let choices = ["caller", "address"].into_iter().map(str::to_owned);
        let inputs = scope.inputs.iter().filter(countable).map(|input| input.name.clone());
        let all: Vec<String> = choices.chain(inputs).map(|one| format!("`per {one}`")).collect();
        let help = format!("write {}", all.join(" or "));
        match input {
            None => self.unknown("limit", name, Some(help)),
            Some(_) => {
                let message = format!("a limit cannot count by `{}`", name.node);
                let why = "calls are counted before the body is read, each by an id of the path";
                self.report(Diagnostic::new(Rule::Type, name.span, message).why(why).help(help));
            }
        }
        None
    }

    /// A number of calls that a limit states.
    fn calls(&mut self, written: &Name) -> Option<u32> {
        let calls = whole_calls(&written.node);
        if calls.is_none() {
            let message = format!("`{}` is not a number of calls", written.node);
            let help = format!("write a whole number from 1 to {LIMIT_CALLS_MAX}");
            self.report(Diagnostic::new(Rule::Type, written.span, message).help(help));
        }
        calls
    }

    /// For how many seconds something is remembered: callers are told in seconds.
    fn cache_seconds(&mut self, written: &Name) -> Option<u32> {
        let ms = milliseconds(&written.node).filter(|ms| ms.is_multiple_of(1000));
        let seconds = ms.and_then(|ms| u32::try_from(ms / 1000).ok());
        let seconds = seconds.filter(|seconds| (1..=CACHE_SECONDS_MAX).contains(seconds));
        if seconds.is_none() {
            let message = format!("`{}` is not how long a cache can last", written.node);
            let help = "write whole seconds, from `1s` to `1d`";
            self.report(Diagnostic::new(Rule::Type, written.span, message).help(help));
        }
        seconds
    }
}

/// The word of a fact that was stated before, and where.
fn stated(fact: &ast::Fact, facts: &Facts) -> Option<(&'static str, Span)> {
    let (word, first) = match fact {
        ast::Fact::Consistency(_) => ("consistency", facts.consistency.as_ref().map(|it| it.span)),
        ast::Fact::Expect { .. } => ("expect", facts.expect.as_ref().map(|it| it.span)),
        ast::Fact::Rate { .. } => ("rate", facts.rate.as_ref().map(|it| it.span)),
        ast::Fact::Cost(_) => ("cost", facts.cost.as_ref().map(|it| it.span)),
        ast::Fact::Cache(_) => ("cache", facts.cache.as_ref().map(|it| it.span)),
        ast::Fact::Limit { .. } => ("limit", facts.limit.as_ref().map(|it| it.span)),
        // Of one by a key and one by an entity, the rule `undeclared` tells.
        ast::Fact::Idempotent(by) => match by.node == "key" {
            true => ("idempotent by", facts.by_key),
            false => ("idempotent by", facts.idempotent.as_ref().map(|it| it.span)),
        },
    };
    first.map(|first| (word, first))
}

/// How many statements there are, those in blocks too.
pub(super) fn count(statements: &[Statement]) -> usize {
    let within = |statement: &Statement| match &statement.node {
        StatementKind::When { then, otherwise, .. } => count(then) + count(otherwise),
        StatementKind::Transact(inner) | StatementKind::Snapshot(inner) => count(inner),
        StatementKind::Require(_, failure) | StatementKind::Match(_, failure) => {
            blocked(failure.as_ref())
        }
        StatementKind::Operate(_, operation) => {
            blocked(operation.absent.as_deref()) + blocked(operation.otherwise.as_ref())
        }
        StatementKind::Pick(_, pick) => blocked(pick.otherwise.as_ref()),
        StatementKind::OnDead(statements) => count(statements),
        StatementKind::Send(send) => {
            let blocks = [&send.accepted, &send.refused].into_iter().flatten();
            blocks.map(|block| count(&block.node)).sum()
        }
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

/// Whether no statement after a block is ever reached from it.
pub(crate) fn ends(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.kind {
        StepKind::Return(_) | StepKind::End(_) => true,
        StepKind::When(_, yes, no) => ends(yes) && ends(no),
        _ => false,
    })
}
