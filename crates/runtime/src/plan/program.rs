//! Contracts as programs: a flat list of operations, with jumps.
//!
//! Flat, so that the rest of a contract can be looked at from any operation on: whether a write is the
//! last, and what will be answered after it.

use latchkey_model::model::{
    self, BindingId, Ending, EntityId, Expr, ExprKind, FailureKind, InputId, Kind, Limit, Model,
    PathPart, Range, Step, StepKind, Strong, What,
};
use latchkey_table::{Direction, Text};

use super::entity::value_type;
use super::expression::Expressions;
use super::input::{Input, InputType, nullable};
use super::leg::{Assign, Key, Leg, LegNode, assigns};
use super::{Code, Contract, ContractInfo, Entities, InputInfo, Piece, Send, Shown};
use crate::input::PAGE_SIZE;

/// What a program does.
#[derive(Debug)]
pub(crate) enum Op {
    Allow(Code),
    Require(Code, Failure),
    /// A caller's precondition; and of which item the test asks the version, by which attribute.
    Match(Code, Failure, Option<(BindingId, Text)>),
    JumpUnless(Code, usize),
    Jump(usize),
    Let(BindingId, Code),
    Get(Box<GetOp>),
    Batch(Box<BatchOp>),
    Query(Box<QueryOp>),
    Write(Box<Leg>),
    Transact(Box<TransactOp>),
    Return(Box<ReturnOp>),
    End(Box<EndOp>),
}

impl Op {
    /// The names of the problems it can answer.
    pub(super) fn problems<'a>(&'a self, codes: &mut Vec<&'a str>) {
        match self {
            Op::Allow(Code::Constant(_)) => {}
            Op::Allow(_) => codes.push("forbidden"),
            Op::Require(_, failure) | Op::Match(_, failure, _) => failure.problem(codes),
            Op::Get(op) => op.failure.problem(codes),
            Op::Batch(op) => op.failure.problem(codes),
            Op::Query(op) => op.failure.problem(codes),
            Op::Write(leg) => leg.failure.problem(codes),
            Op::Transact(op) => op.legs.iter().for_each(|leg| leg_problems(leg, codes)),
            Op::JumpUnless(..) | Op::Jump(_) | Op::Let(..) | Op::Return(_) | Op::End(_) => {}
        }
    }
}

fn leg_problems<'a>(node: &'a LegNode, codes: &mut Vec<&'a str>) {
    match node {
        LegNode::Leg(leg) => leg.failure.problem(codes),
        LegNode::Send(_) => {}
        LegNode::When(_, then, otherwise) => {
            then.iter().chain(otherwise).for_each(|leg| leg_problems(leg, codes));
        }
    }
}

/// What happens when something did not.
#[derive(Debug)]
pub(crate) enum Failure {
    Problem(Box<ProblemOp>),
    Retry,
    /// Ends where nobody waits for an answer.
    End(Box<EndOp>),
    /// Goes on at a block, which ends the call.
    Goto {
        start: usize,
        end: usize,
    },
    /// Nothing: what was asked for may be absent.
    Nothing,
}

impl Failure {
    fn problem<'a>(&'a self, codes: &mut Vec<&'a str>) {
        if let Failure::Problem(op) = self {
            codes.push(&op.code);
        }
    }
}

/// How a run ends that nobody waits for.
#[derive(Debug)]
pub(crate) enum EndOp {
    Done,
    Later,
    Fail { code: Text, message: Option<Code> },
}

/// A problem to answer.
#[derive(Debug)]
pub(crate) struct ProblemOp {
    pub(crate) status: u16,
    pub(crate) code: Text,
    pub(crate) message: Option<Code>,
    pub(crate) with: Vec<Assign>,
}

/// Reads one item.
#[derive(Debug)]
pub(crate) struct GetOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) key: Key,
    pub(crate) strong: Strength,
    pub(crate) failure: Failure,
}

/// Reads several items of one entity.
#[derive(Debug)]
pub(crate) struct BatchOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) keys: Vec<Key>,
    /// The attribute that goes through a range, its least and its greatest value.
    pub(crate) through: (Text, i64, i64),
    pub(crate) strong: Strength,
    /// Whether all are read at one instant.
    pub(crate) snapshot: bool,
    pub(crate) failure: Failure,
}

/// When a read is strong.
#[derive(Debug)]
pub(crate) enum Strength {
    Never,
    Always,
    When(Code),
}

/// Reads a range.
#[derive(Debug)]
pub(crate) struct QueryOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) index: Option<Text>,
    pub(crate) partition: Code,
    pub(crate) range: Bounds,
    /// The direction, and when it is the other.
    pub(crate) direction: Direction,
    pub(crate) turned: Option<Code>,
    pub(crate) strong: Strength,
    /// The page a caller can size, or else how many there are at most.
    pub(crate) paging: Option<Paging>,
    pub(crate) items_max: u32,
    pub(crate) failure: Failure,
}

/// A page: its size, and the largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paging {
    pub(crate) size: u32,
    pub(crate) size_max: u32,
}

/// The sort keys of a query.
#[derive(Debug)]
pub(crate) enum Bounds {
    All,
    Equal(Code),
    BeginsWith(Code),
    Between(Code, Code),
    Side { below: bool, inclusive: bool, bound: Code },
}

/// Writes several items or none.
#[derive(Debug)]
pub(crate) struct TransactOp {
    pub(crate) legs: Vec<LegNode>,
}

/// Answers.
#[derive(Debug)]
pub(crate) struct ReturnOp {
    pub(crate) status: u16,
    pub(crate) binding: Option<BindingId>,
    pub(crate) page: bool,
    pub(crate) shown: Vec<Shown>,
    pub(crate) with: Vec<(Shown, Code)>,
    /// Where the thing is to be found.
    pub(crate) at: Option<Vec<Piece>>,
    /// The attribute that tells its version.
    pub(crate) counter: Option<Text>,
}

/// Plans a contract.
pub(super) fn plan(model: &Model, entities: &Entities, contract: &model::Contract) -> Contract {
    let expressions = Expressions { model, contract, target: None, new_values: Vec::new() };
    let mut planner = Planner {
        entities,
        expressions,
        program: Vec::new(),
        paging: None,
        page_size: Text::const_new(PAGE_SIZE),
        version_input: None,
    };
    let inputs = contract.inputs.map(|id, input| planner.input(id, input));
    planner.steps(&contract.steps);
    let Planner { expressions, program, paging, page_size, version_input, .. } = planner;
    let route = contract.route.as_ref();
    let info = ContractInfo {
        id: contract.id.as_str().into(),
        title: contract.title.clone(),
        method: route.map(|route| route.method.clone()).unwrap_or_default(),
        path: route.map(|route| route.segments.clone()).unwrap_or_default(),
        inputs: contract
            .inputs
            .map(|_, input| InputInfo { name: input.name.as_str().into(), place: input.place }),
        paged: paging.is_some(),
    };
    Contract {
        info,
        inputs,
        bindings: contract.bindings.map(|_, binding| binding.name.as_str().into()),
        binding_entities: contract.bindings.map(|_, binding| binding.kind.entity()),
        program,
        new_values: expressions.new_values,
        paging,
        page_size,
        version_input,
        idempotent_by: contract.facts.idempotent.as_ref().map(|fact| fact.value),
    }
}

struct Planner<'a> {
    entities: &'a Entities,
    expressions: Expressions<'a>,
    program: Vec<Op>,
    paging: Option<Paging>,
    page_size: Text,
    version_input: Option<InputId>,
}

impl Planner<'_> {
    fn input(&mut self, id: InputId, input: &model::Input) -> Input {
        let steps = &self.expressions.contract.steps;
        let optional = input.optional;
        Input {
            name: input.name.as_str().into(),
            kind: InputType::plan(&input.kind),
            value_type: value_type(&input.kind),
            place: input.place,
            optional,
            nullable: optional && nullable(self.expressions.model, steps, id),
            default: input.default.as_ref().map(|default| self.expressions.code(default)),
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(&step.kind);
        }
    }

    fn step(&mut self, step: &StepKind) {
        match step {
            StepKind::Allow(test) => {
                let test = self.expressions.code(test);
                self.program.push(Op::Allow(test));
            }
            StepKind::Require(test, failure) => {
                let test = self.expressions.code(test);
                self.place(|planner| Op::Require(test, planner.failure(failure.as_ref())));
            }
            StepKind::Match(test, failure) => {
                let versioned = self.find_version(test);
                let test = self.expressions.code(test);
                self.place(|planner| Op::Match(test, planner.failure(failure.as_ref()), versioned));
            }
            StepKind::When(test, then, otherwise) => self.when(test, then, otherwise),
            StepKind::Let(binding, value) => {
                let value = self.expressions.code(value);
                self.program.push(Op::Let(*binding, value));
            }
            StepKind::Read(read) => self.place(|planner| planner.read(read)),
            StepKind::Write(leg) => {
                self.place(|planner| Op::Write(Box::new(planner.leg(leg))));
            }
            StepKind::Transact(legs) => self.place(|planner| {
                let legs = planner.legs(legs);
                Op::Transact(Box::new(TransactOp { legs }))
            }),
            StepKind::Return(returned) => {
                let op = self.returned(returned);
                self.program.push(Op::Return(Box::new(op)));
            }
            StepKind::End(ending) => {
                let op = self.ending(ending);
                self.program.push(Op::End(Box::new(op)));
            }
            // A leg, which the model has in transactions alone.
            StepKind::Send(_) => {}
        }
    }

    /// Keeps a place for an operation whose failures are planned behind it.
    fn place(&mut self, make: impl FnOnce(&mut Self) -> Op) {
        let at = self.program.len();
        self.program.push(Op::Jump(at + 1));
        let op = make(self);
        if let Some(place) = self.program.get_mut(at) {
            *place = op;
        }
    }

    fn when(&mut self, test: &Expr, then: &[Step], otherwise: &[Step]) {
        let test = self.expressions.code(test);
        let mut jump = 0;
        self.place(|planner| {
            planner.steps(then);
            jump = planner.program.len();
            planner.program.push(Op::Jump(0));
            Op::JumpUnless(test, planner.program.len())
        });
        self.steps(otherwise);
        let end = self.program.len();
        if let Some(op) = self.program.get_mut(jump) {
            *op = Op::Jump(end);
        }
    }

    fn failure(&mut self, failure: Option<&model::Failure>) -> Failure {
        match failure.map(|failure| &failure.kind) {
            None => Failure::Nothing,
            Some(FailureKind::Retry) => Failure::Retry,
            Some(FailureKind::End(ending)) => Failure::End(Box::new(self.ending(ending))),
            Some(FailureKind::Problem { status, code, message, with }) => {
                let message = message.as_ref().map(|message| self.expressions.code(message));
                let with = assigns(&mut self.expressions, with);
                let (status, code) = (*status, code.as_str().into());
                Failure::Problem(Box::new(ProblemOp { status, code, message, with }))
            }
            Some(FailureKind::Steps(steps)) => {
                let (mut start, mut end) = (0, 0);
                self.place(|planner| {
                    start = planner.program.len();
                    planner.steps(steps);
                    end = planner.program.len();
                    Op::Jump(end)
                });
                Failure::Goto { start, end }
            }
        }
    }

    fn ending(&mut self, ending: &Ending) -> EndOp {
        match ending {
            Ending::Done => EndOp::Done,
            Ending::Later => EndOp::Later,
            Ending::Fail { code, message } => EndOp::Fail {
                code: code.as_str().into(),
                message: message.as_ref().map(|message| self.expressions.code(message)),
            },
        }
    }

    fn leg(&mut self, leg: &model::Leg) -> Leg {
        let failure = self.failure(leg.failure.as_ref());
        Leg::plan(&mut self.expressions, &self.entities[leg.entity], leg, failure)
    }

    fn legs(&mut self, steps: &[Step]) -> Vec<LegNode> {
        let mut legs = Vec::new();
        for step in steps {
            match &step.kind {
                StepKind::Write(leg) => legs.push(LegNode::Leg(Box::new(self.leg(leg)))),
                StepKind::Send(send) => {
                    let send = Send::plan(&mut self.expressions, self.entities, send);
                    legs.push(LegNode::Send(Box::new(send)));
                }
                StepKind::When(test, then, otherwise) => {
                    let test = self.expressions.code(test);
                    let (then, otherwise) = (self.legs(then), self.legs(otherwise));
                    legs.push(LegNode::When(test, then, otherwise));
                }
                // The model lets nothing else into a transaction.
                _ => {}
            }
        }
        legs
    }

    fn read(&mut self, read: &model::Read) -> Op {
        let failure = self.failure(read.failure.as_ref());
        let strong = match &read.strong {
            Strong::No => Strength::Never,
            Strong::Yes => Strength::Always,
            Strong::When(test) => Strength::When(self.expressions.code(test)),
        };
        let (entity, binding) = (read.entity, read.binding);
        match &read.what {
            What::Get(given) => {
                let key = Key::plan(&mut self.expressions, &self.entities[entity].key, given);
                Op::Get(Box::new(GetOp { entity, binding, key, strong, failure }))
            }
            What::Batch(batch) => {
                let op = self.batch(batch, entity, binding, strong, failure);
                Op::Batch(Box::new(op))
            }
            What::Query(query) => {
                let op = self.query(query, entity, binding, strong, failure);
                Op::Query(Box::new(op))
            }
        }
    }

    fn batch(
        &mut self,
        batch: &model::Batch,
        entity: EntityId,
        binding: Option<BindingId>,
        strong: Strength,
        failure: Failure,
    ) -> BatchOp {
        let attribute = batch.attribute.as_str();
        let shape = &self.entities[entity].key;
        let one = |number| {
            let fixed = Some((attribute, number));
            Key::plan_one(&mut self.expressions, shape, &batch.key, fixed)
        };
        let keys = (batch.low..=batch.high).map(one).collect();
        BatchOp {
            entity,
            binding,
            keys,
            through: (attribute.into(), batch.low, batch.high),
            strong,
            snapshot: batch.snapshot,
            failure,
        }
    }

    fn query(
        &mut self,
        query: &model::Query,
        entity: EntityId,
        binding: Option<BindingId>,
        strong: Strength,
        failure: Failure,
    ) -> QueryOp {
        let mut code = |expr: &Expr| self.expressions.code(expr);
        let range = match &query.range {
            Range::All => Bounds::All,
            Range::Equal(text) => Bounds::Equal(code(text)),
            Range::BeginsWith(text) => Bounds::BeginsWith(code(text)),
            Range::Between(low, high) => Bounds::Between(code(low), code(high)),
            Range::Side { below, inclusive, bound } => {
                Bounds::Side { below: *below, inclusive: *inclusive, bound: code(bound) }
            }
        };
        let partition = query.partition.as_ref().map_or(Code::Now, &mut code);
        let (direction, turned) = match &query.descending {
            None => (Direction::Ascending, None),
            Some(None) => (Direction::Descending, None),
            Some(Some(test)) => (Direction::Ascending, Some(code(test))),
        };
        let count = |n: u64| u32::try_from(n).unwrap_or(1);
        let (paging, items_max) = match query.limit {
            Some(Limit::Page(size, size_max)) => {
                let paging = Paging { size: count(size), size_max: count(size_max) };
                self.paging.get_or_insert(paging);
                if let Some(name) = &query.sized_by {
                    self.page_size = name.as_str().into();
                }
                (Some(paging), count(size_max))
            }
            Some(Limit::First(items)) => (None, count(items)),
            None => (None, 1),
        };
        let index = query.index.as_deref().map(Text::from);
        QueryOp {
            entity,
            binding,
            index,
            partition,
            range,
            direction,
            turned,
            strong,
            paging,
            items_max,
            failure,
        }
    }

    /// Looks for `item.version == input`, where `item` counts its changes by `version`.
    fn find_version(&mut self, test: &Expr) -> Option<(BindingId, Text)> {
        let Expressions { model, contract, .. } = &self.expressions;
        let counted = |expr: &Expr| {
            let ExprKind::Attribute(binding, name) = &expr.kind else { return None };
            let counter = model.entities[contract.bindings[*binding].kind.item()?].counter();
            let counter = counter.filter(|counter| counter.name == *name)?;
            Some((*binding, Text::from(counter.name.as_str())))
        };
        let mut found = None;
        test.walk(&mut |part| {
            let ExprKind::Binary(model::Op::Equal, a, b) = &part.kind else { return };
            for (a, b) in [(a, b), (b, a)] {
                if let (Some(counted), ExprKind::Input(input)) = (counted(a), &b.kind) {
                    found = Some((*input, counted));
                }
            }
        });
        let (input, counted) = found?;
        self.version_input = self.version_input.or(Some(input));
        Some(counted)
    }

    fn returned(&mut self, returned: &model::Return) -> ReturnOp {
        let bindings = &self.expressions.contract.bindings;
        let (entity, page) = match returned.binding.map(|id| &bindings[id].kind) {
            Some(Kind::Item(id)) => (Some(&self.entities[*id]), false),
            Some(Kind::Page(id)) => (Some(&self.entities[*id]), true),
            _ => (None, false),
        };
        let shown = match (entity, returned.fields.as_slice()) {
            (Some(entity), []) => entity.shown.clone(),
            (_, fields) => fields.iter().map(|field| Shown::new(field)).collect(),
        };
        let with = returned.with.iter();
        let with =
            with.map(|given| (Shown::new(&given.attribute), self.expressions.code(&given.value)));
        let with = with.collect();
        let at = returned.at.as_ref().map(|path| self.path(path, returned.binding));
        let counter = entity.filter(|_| !page).and_then(|entity| entity.counter.clone());
        ReturnOp {
            status: returned.status,
            binding: returned.binding,
            page,
            shown,
            with,
            at,
            counter,
        }
    }

    /// The path to what is returned.
    fn path(&self, path: &[PathPart], binding: Option<BindingId>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in path {
            pieces.push(Piece::Literal("/".into()));
            pieces.push(match (part, binding) {
                (PathPart::Literal(text), _) => Piece::Literal(text.as_str().into()),
                (PathPart::Input(input), _) => Piece::Value(Code::Input(*input), None),
                (PathPart::Attribute(name), Some(id)) => {
                    Piece::Value(Code::Attribute(id, name.as_str().into()), None)
                }
                // The check refuses a `return` of what has no name.
                (PathPart::Attribute(name), None) => Piece::Literal(name.as_str().into()),
            });
        }
        pieces
    }
}
