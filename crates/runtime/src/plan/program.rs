//! Contracts as programs: a flat list of operations, with jumps.
//!
//! Flat, so that the rest of a contract can be looked at from any operation on: whether a write is the
//! last, and what will be answered after it.

use latchkey_model::model::{
    self, BindingId, Ending, EntityId, Expr, ExprKind, FailureKind, IdVec, InputId, Kind, Method,
    Model, PathPart, Step, StepKind, Trigger, Verb, each_step,
};
use latchkey_table::Text;

use super::detail::{Cause, detail};
use super::entity::value_type;
use super::expression::Expressions;
use super::form::Form;
use super::input::{Input, InputType};
use super::leg::{EachNode, Elements, Leg, LegNode, assigns};
use super::op::{Beside, EndOp, Kinds, OnFailure, Op, Paging, ProblemOp, ReturnOp, TransactOp};
use super::refusal::{Planned, Unplanned};
use super::tag::{Tag, is_whole, named_by_url};
use super::{
    Cached, Code, Contract, ContractInfo, Entities, Entity, InputInfo, Piece, Send, Shown, kept,
};

/// Plans a contract.
pub(super) fn plan(
    model: &Model,
    entities: &Entities,
    contract: &model::Contract,
) -> Planned<Contract> {
    let expressions = Expressions {
        model,
        contract,
        entities,
        target: None,
        new_values: Vec::new(),
        through: None,
    };
    let mut planner = Planner {
        entities,
        expressions,
        program: Vec::new(),
        paging: None,
        page_size: Text::const_new(model::PAGE_SIZE),
        version_input: None,
        incarnates: false,
    };
    let mut inputs = IdVec::default();
    for (id, input) in contract.inputs.enumerate() {
        // In the order of the model, so that an id means the same in both.
        inputs.push(planner.input(id, input)?);
    }
    planner.steps(&contract.steps)?;
    let Planner { expressions, program, paging, page_size, version_input, incarnates, .. } =
        planner;
    // Workers and what follows a send have no route.
    let route = contract.route.as_ref();
    if route.is_none() && contract.trigger == Trigger::Request {
        return Err(Unplanned::new("it has no route"));
    }
    let info = ContractInfo {
        id: contract.id.as_str().into(),
        title: contract.title.clone(),
        method: route.map(|route| route.method),
        path: route.map_or_else(Vec::new, |route| route.segments.clone()),
        inputs: contract
            .inputs
            .map(|_, input| InputInfo { name: input.name.as_str().into(), place: input.place }),
        paged: paging.is_some(),
        open: contract.open.is_some(),
        limit: contract.facts.limit.as_ref().map(|fact| fact.value.clone()),
        versioned: version_input.is_some(),
    };
    Ok(Contract {
        info,
        inputs,
        bindings: contract.bindings.map(|_, binding| binding.name.as_str().into()),
        binding_entities: contract.bindings.map(|_, binding| binding.kind.entity()),
        program,
        new_values: expressions.new_values,
        incarnates,
        paging,
        page_size,
        version_input,
        idempotent_by: contract.facts.idempotent.as_ref().map(|fact| fact.value),
        needs_key: contract.facts.by_key.is_some(),
        takes_names: contract.keeps_records(),
        cache: Cached::plan(contract),
    })
}

/// The entities that a transaction writes, each once.
fn written(legs: &[Step]) -> Vec<EntityId> {
    let mut writes = Vec::new();
    each_step(legs, &mut |step| {
        if let StepKind::Write(leg) = &step.kind
            && leg.verb != Verb::Check
            && !writes.contains(&leg.entity)
        {
            writes.push(leg.entity);
        }
    });
    writes
}

pub(super) struct Planner<'a> {
    pub(super) entities: &'a Entities,
    pub(super) expressions: Expressions<'a>,
    program: Vec<Op>,
    pub(super) paging: Option<Paging>,
    pub(super) page_size: Text,
    version_input: Option<InputId>,
    incarnates: bool,
}

impl Planner<'_> {
    fn input(&mut self, id: InputId, input: &model::Input) -> Planned<Input> {
        let (model, contract) = (self.expressions.model, self.expressions.contract);
        let kind = InputType::plan(&input.kind).map_err(|error| error.at(input.span))?;
        let default = input.default.as_ref().map(|default| self.expressions.code(default));
        Ok(Input {
            name: input.name.as_str().into(),
            kind,
            value_type: value_type(&input.kind),
            place: input.place,
            optional: input.optional,
            nullable: model.takes_null(contract, id),
            default: default.transpose()?,
        })
    }

    fn steps(&mut self, steps: &[Step]) -> Planned<()> {
        let mut rest = steps;
        while let Some((step, others)) = rest.split_first() {
            rest = others;
            let planned = match &step.kind {
                StepKind::Read(first) if first.snapshot.is_some() => {
                    let with = others.iter().map_while(|step| match &step.kind {
                        StepKind::Read(other) if other.is_with(first) => Some(&**other),
                        _ => None,
                    });
                    let reads: Vec<&model::Read> = std::iter::once(&**first).chain(with).collect();
                    rest = others.get(reads.len() - 1..).unwrap_or_default();
                    self.place(|planner| planner.snapshot(&reads))
                }
                kind => self.step(kind),
            };
            planned.map_err(|error| error.at(step.span))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &StepKind) -> Planned<()> {
        let op = match step {
            StepKind::Allow(test) => Op::Allow(self.expressions.code(test)?, test.span),
            StepKind::Require(required, failure) => {
                let test = self.expressions.code(required)?;
                return self.place(|planner| {
                    Ok(Op::Require(
                        test,
                        planner.failure(failure.as_ref(), &Cause::Require(required))?,
                    ))
                });
            }
            StepKind::Match(test, failure) => {
                let versioned = self.find_version(test);
                let test = self.expressions.code(test)?;
                return self.place(|planner| {
                    Ok(Op::Match(
                        test,
                        planner.failure(failure.as_ref(), &Cause::Match)?,
                        versioned,
                    ))
                });
            }
            StepKind::When(test, then, otherwise) => return self.when(test, then, otherwise),
            StepKind::Let(binding, value) => Op::Let(*binding, self.expressions.code(value)?),
            StepKind::Read(read) => return self.place(|planner| planner.read(read)),
            StepKind::Write(leg) => {
                return self.place(|planner| Ok(Op::Write(Box::new(planner.leg(leg)?))));
            }
            StepKind::Transact(legs) => {
                return self.place(|planner| {
                    let writes = written(legs);
                    let mut legs = planner.legs(legs)?;
                    kept::tie(&mut legs, planner.entities);
                    Ok(Op::Transact(Box::new(TransactOp { legs, writes })))
                });
            }
            StepKind::Return(returned) => Op::Return(Box::new(self.returned(returned)?)),
            StepKind::End(ending) => Op::End(Box::new(self.ending(ending)?)),
            StepKind::Send(_) | StepKind::Each(_) => {
                return Err(Unplanned::new("a leg is outside a transaction"));
            }
        };
        self.program.push(op);
        Ok(())
    }

    /// Keeps a place for an operation whose failures are planned behind it.
    fn place(&mut self, make: impl FnOnce(&mut Self) -> Planned<Op>) -> Planned<()> {
        let at = self.program.len();
        self.program.push(Op::Jump(at + 1));
        let op = make(self)?;
        self.replace(at, op)
    }

    fn replace(&mut self, at: usize, op: Op) -> Planned<()> {
        let place = self.program.get_mut(at);
        *place.ok_or_else(|| Unplanned::new("its program has lost an operation"))? = op;
        Ok(())
    }

    fn when(&mut self, test: &Expr, then: &[Step], otherwise: &[Step]) -> Planned<()> {
        let test = self.expressions.code(test)?;
        let mut jump = 0;
        self.place(|planner| {
            planner.steps(then)?;
            jump = planner.program.len();
            planner.program.push(Op::Jump(0));
            Ok(Op::JumpUnless(test, planner.program.len()))
        })?;
        self.steps(otherwise)?;
        self.replace(jump, Op::Jump(self.program.len()))
    }

    pub(super) fn failure(
        &mut self,
        failure: Option<&model::OnFailure>,
        cause: &Cause<'_>,
    ) -> Planned<OnFailure> {
        let Some(failure) = failure else { return Ok(OnFailure::Nothing) };
        let span = failure.span;
        Ok(match &failure.kind {
            FailureKind::Retry => OnFailure::Retry,
            FailureKind::End(ending) => OnFailure::End(Box::new(self.ending(ending)?)),
            FailureKind::Problem { status, code, message, with } => {
                let message = message.as_ref().map(|message| self.expressions.code(message));
                let message = message.transpose()?;
                let with = assigns(&mut self.expressions, with)?;
                let (status, code) = (*status, code.as_str().into());
                let detail = detail(self.expressions.model, status, cause)?;
                OnFailure::Problem(Box::new(ProblemOp {
                    status,
                    code,
                    message,
                    detail,
                    with,
                    span,
                }))
            }
            FailureKind::Steps(steps) => {
                let (mut start, mut end) = (0, 0);
                self.place(|planner| {
                    start = planner.program.len();
                    planner.steps(steps)?;
                    end = planner.program.len();
                    Ok(Op::Jump(end))
                })?;
                OnFailure::Goto { start, end }
            }
        })
    }

    fn ending(&mut self, ending: &Ending) -> Planned<EndOp> {
        Ok(match ending {
            Ending::Done => EndOp::Done,
            Ending::Later => EndOp::Later,
            Ending::Fail { code, message } => {
                let message = message.as_ref().map(|message| self.expressions.code(message));
                EndOp::Fail { code: code.as_str().into(), message: message.transpose()? }
            }
        })
    }

    fn leg(&mut self, leg: &model::Leg) -> Planned<Leg> {
        let absent = match &leg.absent {
            Some(absent) => Some(self.failure(Some(absent), &Cause::Read(leg.entity))?),
            None => None,
        };
        let failures = (absent, self.failure(leg.failure.as_ref(), &Cause::Leg(leg))?);
        let leg = Leg::plan(&mut self.expressions, &self.entities[leg.entity], leg, failures)?;
        self.incarnates |= leg.incarnates;
        Ok(leg)
    }

    fn legs(&mut self, steps: &[Step]) -> Planned<Vec<LegNode>> {
        let mut legs = Vec::new();
        for step in steps {
            let node = self.leg_node(&step.kind).map_err(|error| error.at(step.span))?;
            legs.push(node);
        }
        Ok(legs)
    }

    fn leg_node(&mut self, step: &StepKind) -> Planned<LegNode> {
        Ok(match step {
            StepKind::Write(leg) => LegNode::Leg(Box::new(self.leg(leg)?)),
            StepKind::Send(send) => {
                let send = Send::plan(&mut self.expressions, self.entities, send)?;
                LegNode::Send(Box::new(send))
            }
            StepKind::When(test, then, otherwise) => {
                let test = self.expressions.code(test)?;
                LegNode::When(test, self.legs(then)?, self.legs(otherwise)?)
            }
            StepKind::Each(each) => {
                let (over, most) = (&each.over, each.most);
                let source = Elements::plan(&mut self.expressions, over, each.element, most)?;
                LegNode::Each(Box::new(EachNode { source, body: self.legs(&each.body)? }))
            }
            StepKind::Allow(_)
            | StepKind::Require(..)
            | StepKind::Match(..)
            | StepKind::Let(..)
            | StepKind::Read(_)
            | StepKind::Transact(_)
            | StepKind::Return(_)
            | StepKind::End(_) => {
                return Err(Unplanned::new("this is not a write, and a transaction holds it"));
            }
        })
    }

    /// Looks for `item.version == input`, where `item` counts its changes by `version`.
    fn find_version(&mut self, test: &Expr) -> Option<(BindingId, Text)> {
        let (model, contract) = (self.expressions.model, self.expressions.contract);
        let found = model.versioned(contract, test)?;
        self.version_input = self.version_input.or(Some(found.input));
        Some((found.binding, Text::from(found.counter)))
    }

    fn returned(&mut self, returned: &model::Return) -> Planned<ReturnOp> {
        let binding = returned.binding.map(|id| &self.expressions.contract.bindings[id]);
        let (entity, page, kinds) = match binding.map(|binding| &binding.kind) {
            Some(Kind::Item(id)) => (Some(&self.entities[*id]), false, None),
            Some(Kind::Page(id)) => (Some(&self.entities[*id]), true, None),
            Some(Kind::Collection(ids)) => (None, true, Some(self.kinds(ids))),
            None => (None, false, None),
            _ => return Err(Unplanned::new("it returns neither an item nor a page")),
        };
        let shown = match (entity, returned.fields.as_slice()) {
            (None, _) => Vec::new(),
            (Some(entity), []) => entity.shown.clone(),
            (Some(entity), fields) => {
                let shown = |field: &String| {
                    let known = entity.shown.iter().find(|shown| shown.attribute == *field);
                    known.cloned().unwrap_or_else(|| Shown::new(field, Form::All))
                };
                fields.iter().map(shown).collect()
            }
        };
        let tag = entity.map_or(Tag::None, |entity| self.tag(returned, entity));
        let mut with = Vec::with_capacity(returned.with.len());
        for given in &returned.with {
            let shown = Shown::new(&given.attribute, Form::of_value(&given.value));
            with.push((shown, self.beside(&given.value)?));
        }
        let at = returned.at.as_ref().map(|path| self.path(path, returned.binding)).transpose()?;
        Ok(ReturnOp {
            status: returned.status,
            binding: returned.binding,
            page,
            shown,
            kinds,
            with,
            next: returned.next,
            at,
            tag,
        })
    }

    /// What is shown beside what is returned.
    fn beside(&mut self, value: &Expr) -> Planned<Beside> {
        Ok(match (&value.kind, &value.of) {
            (ExprKind::Binding(list), Kind::Page(entity)) => {
                Beside::List(*list, self.entities[*entity].shown.clone())
            }
            _ => Beside::Value(self.expressions.code(value)?),
        })
    }

    /// How items of several entities are shown.
    fn kinds(&self, entities: &[EntityId]) -> Kinds {
        let discriminator = Shown::new(&self.expressions.model.table.discriminator, Form::All);
        let shown = entities.iter().map(|id| &self.entities[*id]);
        let shown = shown.map(|entity| (entity.kind.clone(), entity.shown.clone())).collect();
        Kinds { discriminator, shown }
    }

    /// What the `ETag` is made of.
    fn tag(&self, returned: &model::Return, entity: &Entity) -> Tag {
        let (model, contract) = (self.expressions.model, self.expressions.contract);
        let Some(counter) = model.tag_counter(contract, returned) else { return Tag::None };
        let counter = Text::from(counter.name.as_str());
        let asked = contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
        let named = |binding| !asked || named_by_url(contract, binding);
        let whole = is_whole(returned) && returned.binding.is_some_and(named);
        match (entity.counting.counted && whole, entity.remade) {
            (true, false) => Tag::Counter(counter),
            (true, true) if entity.counting.knows_first => Tag::CounterOfFirst(counter),
            _ => Tag::CounterAndBody(counter),
        }
    }

    /// The path to what is returned.
    fn path(&self, path: &[PathPart], binding: Option<BindingId>) -> Planned<Vec<Piece>> {
        let mut pieces = Vec::new();
        for part in path {
            pieces.push(Piece::Literal("/".into()));
            pieces.push(match (part, binding) {
                (PathPart::Literal(text), _) => Piece::Literal(text.as_str().into()),
                (PathPart::Input(input), _) => Piece::Value(Code::Input(*input), None),
                (PathPart::Attribute(name), Some(id)) => {
                    Piece::Value(Code::Attribute(id, name.as_str().into()), None)
                }
                (PathPart::Attribute(name), None) => {
                    return Err(Unplanned::new(format!("`{name}` is an attribute of nothing")));
                }
            });
        }
        Ok(pieces)
    }
}
