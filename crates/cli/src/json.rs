//! Diagnostics and models as JSON, for programs.

mod query;

use latchkey_language::{Diagnostic, Level};
use latchkey_model::Model;
use latchkey_model::model::{
    Attribute, BatchBy, BindingId, Contract, Ending, Entity, EntityId, Expr, ExprKind, FailureKind,
    Given, GivenPart, Input, KeyAttribute, KeyNames, KeyShape, Leg, OnFailure, Op, PathPart, Place,
    PutMode, Read, RoleId, Segment, Send, Step, StepKind, Strong, TextPiece, What,
};
use latchkey_value::Rounding;
use serde_json::{Value, json};

use crate::line_and_column;

/// A diagnostic on one line.
pub fn diagnostic(path: &str, text: &str, diagnostic: &Diagnostic) -> Value {
    let place = |at: usize| {
        let (line, column) = line_and_column(text, at);
        json!({ "line": line, "column": column })
    };
    let others = diagnostic.others.iter().map(
        |(span, label)| json!({ "from": place(span.start), "to": place(span.end), "label": label }),
    );
    json!({
        "path": path,
        "rule": diagnostic.rule.slug(),
        "level": match diagnostic.level {
            Level::Error => "error",
            Level::Warning => "warning",
        },
        "message": diagnostic.message,
        "from": place(diagnostic.span.start),
        "to": place(diagnostic.span.end),
        "others": others.collect::<Vec<_>>(),
        "why": diagnostic.why,
        "help": diagnostic.help,
    })
}

/// A whole model.
pub fn model(model: &Model) -> Value {
    let role = |id: RoleId| model.roles[id].name.as_str();
    json!({
        "system": model.system,
        "table": {
            "name": model.table.name,
            "discriminator": model.table.discriminator,
            "ttl": model.table.ttl,
            "key": key_names(&model.table.key),
            "indexes": model.indexes.iter().map(|index| json!({
                "name": index.name,
                "key": key_names(&index.key),
                "holds": index.holds.as_ref().map(|listed| {
                    listed.iter().map(|name| name.node.as_str()).collect::<Vec<_>>()
                }),
            })).collect::<Vec<_>>(),
        },
        "roles": model.roles.iter().map(|it| json!({
            "name": it.name,
            "implies": it.implies.map(role),
        })).collect::<Vec<_>>(),
        "entities": model.entities.iter().map(|it| entity(model, it)).collect::<Vec<_>>(),
        "contracts": model.contracts.iter().map(|it| Writer { model, contract: it }.contract()).collect::<Vec<_>>(),
        "queues": model.queues.iter().map(|it| json!({
            "orderedBy": it.group().map(|field| field.name.clone()),
            "name": it.name,
            "fields": it.fields.iter().map(|field| json!({
                "name": field.name,
                "type": field.kind.to_string(),
                "optional": field.optional,
            })).collect::<Vec<_>>(),
            "leaseMs": it.lease_ms,
            "tries": it.tries,
        })).collect::<Vec<_>>(),
        "workers": model.workers.iter().map(|it| json!({
            "queue": model.queues[it.queue].name,
            "body": Writer { model, contract: &it.body }.contract(),
            "dead": it.dead.as_ref().map(|dead| Writer { model, contract: dead }.contract()),
        })).collect::<Vec<_>>(),
        "invariants": model.invariants.iter().map(|it| json!({
            "entity": model.entities[it.entity].name,
            "body": Writer { model, contract: &it.body }.contract(),
        })).collect::<Vec<_>>(),
    })
}

fn entity(model: &Model, entity: &Entity) -> Value {
    let name = |id: EntityId| model.entities[id].name.as_str();
    json!({
        "name": entity.name,
        "discriminator": entity.discriminator,
        "key": key(&entity.key),
        "indexes": entity.indexes.iter().map(|index| json!({
            "name": index.name,
            "key": key(&index.key),
            "moves": index.moves,
        })).collect::<Vec<_>>(),
        "viewOf": entity.view_of.map(name),
        "guardedBy": entity.guarded_by.map(name),
        "expires": entity.expires,
        "attributes": entity.attributes.iter().map(|one| attribute(model, one)).collect::<Vec<_>>(),
    })
}

fn attribute(model: &Model, attribute: &Attribute) -> Value {
    let computed = attribute.computed.and_then(|span| model.text.get(span.range()));
    json!({
        "name": attribute.name,
        "type": attribute.kind.to_string(),
        "optional": attribute.optional,
        "secret": attribute.secret,
        "copied": attribute.copied,
        "kept": attribute.kept,
        "default": attribute.default.as_ref().map(default),
        "computed": computed,
        "moves": attribute.moves.as_ref().map(|moves| {
            moves.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>()
        }),
    })
}

/// A default as it is written in the document.
fn default(default: &latchkey_table::Value) -> String {
    match default {
        latchkey_table::Value::Text(text) => text.to_string(),
        latchkey_table::Value::Bool(truth) => truth.to_string(),
        latchkey_table::Value::Number(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn key_names(names: &KeyNames) -> Value {
    let attribute = |key: &KeyAttribute| json!({ "name": key.name, "type": if key.number { "N" } else { "S" } });
    json!({
        "partition": attribute(&names.partition),
        "sort": names.sort.as_ref().map(attribute),
    })
}

fn key(key: &KeyShape) -> Value {
    json!({ "partition": key.partition.to_string(), "sort": key.sort.to_string() })
}

struct Writer<'a> {
    model: &'a Model,
    contract: &'a Contract,
}

impl Writer<'_> {
    fn contract(&self) -> Value {
        let it = self.contract;
        json!({
            "id": it.id,
            "title": it.title,
            "open": it.open.is_some(),
            "route": it.route.as_ref().map(|route| {
                let segment = |segment: &Segment| match segment {
                    Segment::Literal(text) => format!("/{text}"),
                    Segment::Input(input) => format!("/{{{}}}", it.inputs[*input].name),
                };
                json!({
                    "method": route.method.as_str(),
                    "path": route.segments.iter().map(segment).collect::<String>(),
                })
            }),
            "inputs": it.inputs.iter().map(|input| self.input(input)).collect::<Vec<_>>(),
            "steps": self.steps(&it.steps),
            "consistency": it.facts.consistency.as_ref().map(|fact| {
                if fact.value { "strong" } else { "eventual" }
            }),
            "expect": it.facts.expect.as_ref().map(|fact| json!({
                "low": fact.value.0,
                "high": fact.value.1,
            })),
            "rate": it.facts.rate.as_ref().map(|fact| fact.value.to_string()),
            "cost": it.facts.cost.as_ref().map(|fact| fact.value.to_string()),
            "idempotentBy": it.facts.idempotent.as_ref().map(|fact| self.entity(fact.value)),
            "idempotentByKey": it.facts.by_key.is_some(),
            "limit": it.facts.limit.as_ref().map(|fact| fact.value.to_string()),
            "cacheSeconds": it.facts.cache.as_ref().map(|fact| fact.value),
        })
    }

    fn input(&self, input: &Input) -> Value {
        json!({
            "name": input.name,
            "type": input.kind.to_string(),
            "optional": input.optional,
            "default": input.default.as_ref().map(|default| self.expr(default)),
            "in": match input.place {
                Place::Path => "path",
                Place::Query => "query",
                Place::Body => "body",
                Place::Message => "message",
                Place::Record => "record",
            },
        })
    }

    fn steps(&self, steps: &[Step]) -> Vec<Value> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Value {
        match &step.kind {
            StepKind::Allow(test) => json!({ "allow": self.expr(test) }),
            StepKind::Require(test, failure) => {
                json!({ "require": self.expr(test), "else": self.failure(failure.as_ref()) })
            }
            StepKind::Match(test, failure) => {
                json!({ "match": self.expr(test), "else": self.failure(failure.as_ref()) })
            }
            StepKind::When(test, yes, no) => {
                json!({ "when": self.expr(test), "then": self.steps(yes), "else": self.steps(no) })
            }
            StepKind::Let(binding, value) => {
                json!({ "let": self.name(*binding), "value": self.expr(value) })
            }
            StepKind::Read(read) => self.read(read),
            StepKind::Write(leg) => self.leg(leg),
            StepKind::Transact(legs) => json!({ "transact": self.steps(legs) }),
            StepKind::Return(returned) => json!({
                "return": returned.binding.map(|id| self.name(id)),
                "status": returned.status,
                "fields": returned.fields,
                "with": self.givens(&returned.with),
                "at": returned.at.as_ref().map(|path| self.path(path)),
            }),
            StepKind::Each(each) => json!({
                "each": self.name(each.element),
                "in": self.expr(&each.over),
                "most": each.most,
                "steps": self.steps(&each.body),
            }),
            StepKind::Send(send) => self.send(send),
            StepKind::End(ending) => self.ending(ending),
        }
    }

    fn send(&self, send: &Send) -> Value {
        let follow = |contract: &Option<Box<Contract>>| {
            contract.as_ref().map(|contract| Writer { model: self.model, contract }.contract())
        };
        json!({
            "send": self.model.queues[send.queue].name,
            "id": send.id,
            "fields": self.givens(&send.values),
            "at": send.at.as_ref().map(|at| self.expr(at)),
            "accepted": follow(&send.accepted),
            "refused": follow(&send.refused),
            "record": self.givens(&send.record),
        })
    }

    fn ending(&self, ending: &Ending) -> Value {
        match ending {
            Ending::Done => json!("done"),
            Ending::Later => json!("later"),
            Ending::Fail { code, message } => json!({
                "fail": code,
                "message": message.as_ref().map(|message| self.expr(message)),
            }),
        }
    }

    fn read(&self, read: &Read) -> Value {
        let strong = match &read.strong {
            Strong::No => json!(false),
            Strong::Yes => json!(true),
            Strong::When(test) => self.expr(test),
        };
        let mut value = json!({
            "as": read.binding.map(|id| self.name(id)),
            "entity": self.entity(read.entity),
            "strong": strong,
            "else": self.failure(read.failure.as_ref()),
        });
        let what = match &read.what {
            What::Get(key) => ("get", self.givens(key)),
            What::Batch(batch) => (
                "batch",
                match &batch.by {
                    BatchBy::Numbers { attribute, low, high } => json!({
                        "key": self.givens(&batch.key),
                        "attribute": attribute,
                        "low": low,
                        "high": high,
                        "snapshot": batch.snapshot,
                    }),
                    BatchBy::Elements { over, element, most } => json!({
                        "key": self.givens(&batch.key),
                        "for": self.name(*element),
                        "in": self.expr(over),
                        "most": most,
                        "snapshot": batch.snapshot,
                    }),
                },
            ),
            What::Query(query) => ("query", self.query(query)),
            What::Part(part) => {
                ("part", json!({ "of": self.name(part.of), "one": part.one, "paged": part.paged }))
            }
        };
        if let Some(object) = value.as_object_mut() {
            object.insert(what.0.to_owned(), what.1);
            if let Some(number) = read.snapshot {
                object.insert("snapshot".to_owned(), json!(number));
            }
            if !read.also.is_empty() {
                let entities = read.entities().map(|entity| self.entity(entity));
                object.insert("entities".to_owned(), entities.collect());
            }
        }
        value
    }

    fn leg(&self, leg: &Leg) -> Value {
        json!({
            leg.verb.word(): self.entity(leg.entity),
            "key": self.givens(&leg.key),
            "of": leg.of.map(|id| self.name(id)),
            "as": leg.result.map(|id| self.name(id)),
            "set": self.givens(&leg.values),
            "remove": leg.removes,
            "add": self.givens(&leg.adds),
            "mode": match leg.put {
                None => Value::Null,
                Some(PutMode::IfAbsent) => json!("ifAbsent"),
                Some(PutMode::Replace) => json!("replace"),
            },
            "if": leg.condition.as_ref().map(|condition| self.expr(condition)),
            "absent": self.failure(leg.absent.as_ref()),
            "else": self.failure(leg.failure.as_ref()),
        })
    }

    fn failure(&self, failure: Option<&OnFailure>) -> Value {
        match failure.map(|failure| &failure.kind) {
            None => Value::Null,
            Some(FailureKind::Retry) => json!("retry"),
            Some(FailureKind::End(ending)) => self.ending(ending),
            Some(FailureKind::Steps(steps)) => json!({ "steps": self.steps(steps) }),
            Some(FailureKind::Problem { status, code, message, with }) => json!({
                "status": status,
                "code": code,
                "message": message.as_ref().map(|message| self.expr(message)),
                "with": self.givens(with),
            }),
        }
    }

    fn givens(&self, givens: &[Given]) -> Value {
        let pair = |given: &Given| {
            let value = self.expr(&given.value);
            match &given.part {
                GivenPart::Whole => (given.attribute.clone(), value),
                GivenPart::Within(steps) => {
                    (format!("{}.{}", given.attribute, steps.join(".")), value)
                }
                GivenPart::Element => (given.attribute.clone(), json!({ "addElement": value })),
                GivenPart::NoElement => {
                    (given.attribute.clone(), json!({ "removeElement": value }))
                }
            }
        };
        Value::Object(givens.iter().map(pair).collect())
    }

    fn path(&self, path: &[PathPart]) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Literal(text) => format!("/{text}"),
            PathPart::Input(input) => format!("/{{{}}}", self.contract.inputs[*input].name),
            PathPart::Attribute(name) => format!("/{{{name}}}"),
        };
        path.iter().map(part).collect()
    }

    fn name(&self, binding: BindingId) -> &str {
        &self.contract.bindings[binding].name
    }

    fn entity(&self, entity: EntityId) -> &str {
        &self.model.entities[entity].name
    }

    fn exprs<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Value> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr(&self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Input(input) => json!({ "input": self.contract.inputs[*input].name }),
            ExprKind::Binding(id) => json!({ "name": self.name(*id) }),
            ExprKind::Attribute(id, name) => json!({ "of": self.name(*id), "attribute": name }),
            ExprKind::Stored(name) => json!({ "stored": name }),
            ExprKind::Through(name) => json!({ "through": name }),
            ExprKind::Member(record, name) => json!({ "in": self.expr(record), "member": name }),
            ExprKind::Contains(set, element) => {
                json!({ "element": self.expr(element), "of": self.expr(set) })
            }
            ExprKind::Nothing => Value::Null,
            ExprKind::Every { all, over, element, test } => json!({
                if *all { "all" } else { "any" }: self.name(*element),
                "in": self.expr(over),
                "test": self.expr(test),
            }),
            ExprKind::Size(of) => json!({ "sizeOf": self.expr(of) }),
            ExprKind::Total(of, member) => json!({ "totalOf": self.expr(of), "member": member }),
            ExprKind::Now => json!("now"),
            ExprKind::CallerId => json!("callerId"),
            ExprKind::Owns(what) => json!({ "callerOwns": self.expr(what) }),
            ExprKind::HasRole(role) => json!({ "callerIs": self.model.roles[*role].name }),
            ExprKind::Word(word) => json!({ "word": word }),
            ExprKind::Text(pieces) => {
                json!({ "text": pieces.iter().map(|piece| self.piece(piece)).collect::<Vec<_>>() })
            }
            ExprKind::Number(number) => json!({ "number": number.to_string() }),
            ExprKind::Duration(milliseconds) => json!({ "milliseconds": milliseconds }),
            ExprKind::Months(months) => json!({ "months": months }),
            ExprKind::Bool(value) => json!(value),
            ExprKind::New(what) => json!({ "new": what.word() }),
            ExprKind::Present(thing) => json!({ "present": self.expr(thing) }),
            ExprKind::Absent(thing) => json!({ "absent": self.expr(thing) }),
            ExprKind::Unchanged => json!("unchanged"),
            ExprKind::Not(inner) => json!({ "not": self.expr(inner) }),
            ExprKind::Binary(op, a, b) => json!({ operator(*op): self.exprs([&**a, b]) }),
            ExprKind::MovesTo(a, b) => json!({ "movesTo": self.exprs([&**a, b]) }),
            ExprKind::BeginsWith(a, b) => json!({ "beginsWith": self.exprs([&**a, b]) }),
            ExprKind::Between(a, b, c) => json!({ "between": self.exprs([&**a, b, c]) }),
            ExprKind::In(a, of) => json!({ "in": self.expr(a), "values": self.exprs(of) }),
            ExprKind::Told(told) => json!({ "told": format!("{told:?}") }),
            ExprKind::Shard(of, shards) => json!({ "shard": self.expr(of), "of": shards }),
            ExprKind::Draw(key, subject) => json!({ "draw": self.exprs([&**key, subject]) }),
            ExprKind::Day(of) => json!({ "day": self.expr(of) }),
            ExprKind::Rounded(rounding, of, by, places) => json!({
                rounded(*rounding): self.expr(of),
                "by": by.as_ref().map(|by| self.expr(by)),
                "places": places,
            }),
            ExprKind::Commitment(key) => json!({ "commitment": self.expr(key) }),
            ExprKind::Reveal(key) => json!({ "reveal": self.expr(key) }),
            ExprKind::Greatest(of) => json!({ "max": self.exprs(of) }),
            ExprKind::Coalesce(of) => json!({ "coalesce": self.exprs(of) }),
            ExprKind::Least(of) => json!({ "min": self.exprs(of) }),
            ExprKind::Count(id) => json!({ "count": self.name(*id) }),
            ExprKind::CountBy(id, by, _) => json!({ "count": self.name(*id), "by": by }),
            ExprKind::Sum(id, name) => json!({ "sum": self.name(*id), "attribute": name }),
            ExprKind::Object(members) => {
                let pair = |(name, value): &(String, Expr)| (name.clone(), self.expr(value));
                json!({ "object": Value::Object(members.iter().map(pair).collect()) })
            }
            ExprKind::Unknown => Value::Null,
        }
    }

    fn piece(&self, piece: &TextPiece) -> Value {
        match piece {
            TextPiece::Literal(text) => json!(text),
            TextPiece::Value(value, format) => {
                let format = format.map(|format| format.to_string());
                json!({ "value": self.expr(value), "format": format })
            }
        }
    }
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::Or => "or",
        Op::And => "and",
        Op::Equal => "==",
        Op::NotEqual => "!=",
        Op::Less => "<",
        Op::LessOrEqual => "<=",
        Op::Greater => ">",
        Op::GreaterOrEqual => ">=",
        Op::Plus => "+",
        Op::Minus => "-",
        Op::Times => "*",
        Op::Over => "/",
    }
}

fn rounded(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Nearest => "round",
        Rounding::Down => "floor",
        Rounding::Up => "ceil",
    }
}
