//! What a contract asks of the table, before there are values.
//!
//! The plan is walked from its start, both ways at every branch. Requests are filled and rendered by the code
//! that does so for a call, with symbols in the place of values: a type of its own, so no name is ever taken
//! for a value, and no request of names can be carried out.

mod read;
mod record;
mod scope;
mod send;
mod size;
mod symbol;
mod words;
mod write;

use std::fmt;

use latchkey_model::model::{Place, Segment};
use latchkey_table::Request;
use latchkey_table::render::Rendered;

use crate::answer::NO_CONTENT;
use crate::evaluate::{Fault, Values};
use crate::plan::{Code, Contract, OnFailure, Op, Queue, ReturnOp, System, Tag};
use record::RecordWritten;
use scope::{Bound, Symbolic, Way};
pub(crate) use size::check_expression_size;
use symbol::Symbol;
use words::Words;

/// Statements are broken here, requests as they are rendered.
const COLUMNS_MAX: usize = 100;

/// What a contract does, and asks of the table, on every path.
#[derive(Debug, Clone)]
pub struct Explanation {
    text: String,
    requests: Vec<Asked>,
}

/// A request, or a leg of one, with a placeholder for every value that a call would bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// DynamoDB's name for it: `GetItem`, or `Put` for a leg of a transaction.
    pub operation: &'static str,
    /// Its JSON, as the low-level API takes it.
    pub json: String,
    /// Whether it is another form of the request before it: a call makes one of the two.
    pub otherwise: bool,
}

impl Asked {
    /// Whether it is a leg of a transaction.
    pub fn is_leg(&self) -> bool {
        matches!(self.operation, "Put" | "Update" | "Delete" | "ConditionCheck")
    }
}

impl Explanation {
    /// The requests in the order of the contract, the legs of transactions one by one.
    pub fn requests(&self) -> &[Asked] {
        &self.requests
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Explains a contract or a worker, if there is one of that id.
pub fn explain(system: &System, id: &str) -> Option<Explanation> {
    let worker = system.worker(id);
    let contract = system.contract(id).or(worker.map(|(_, worker)| &worker.body))?;
    let words = Words { system, contract };
    let mut explainer = Explainer {
        words,
        scope: Symbolic::new(words),
        kept: RecordWritten::No,
        out: Explanation { text: String::new(), requests: Vec::new() },
        indent: 0,
    };
    explainer.head(worker.map(|(queue, _)| queue));
    explainer.block(0, contract.program.len(), "");
    if let Some(dead) = worker.and_then(|(_, worker)| worker.dead.as_ref()) {
        explainer.gap();
        explainer.line("once a message was tried too often:");
        explainer.indented(3, |page| page.within(dead));
    }
    Some(explainer.out)
}

/// One explanation under way.
struct Explainer<'a> {
    words: Words<'a>,
    scope: Symbolic<'a>,
    /// Whether the record of the call has been written by here.
    kept: RecordWritten,
    out: Explanation,
    indent: usize,
}

impl<'a> Explainer<'a> {
    fn system(&self) -> &'a System {
        self.words.system
    }

    fn contract(&self) -> &'a Contract {
        self.words.contract
    }

    fn line(&mut self, text: &str) {
        for line in text.lines() {
            self.out.text.extend(std::iter::repeat_n(' ', self.indent));
            self.out.text.push_str(line);
            self.out.text.push('\n');
        }
    }

    /// A statement, on as many lines as it takes.
    fn statement(&mut self, number: &str, text: &str) {
        let mut line = number.to_owned();
        let mut lines = Vec::new();
        for word in text.split(' ') {
            let columns = self.indent + line.chars().count() + 1 + word.chars().count();
            if columns > COLUMNS_MAX {
                lines.push(std::mem::replace(&mut line, " ".repeat(number.len().min(4))));
            }
            line.push(' ');
            line.push_str(word);
        }
        lines.push(line);
        self.line(&lines.join("\n"));
    }

    fn gap(&mut self) {
        self.out.text.push('\n');
    }

    fn indented(&mut self, by: usize, inner: impl FnOnce(&mut Self)) {
        self.indent += by;
        inner(self);
        self.indent -= by;
    }

    fn head(&mut self, queue: Option<&Queue>) {
        let info = &self.contract().info;
        self.line(&format!("{} of {}: {}", info.id, self.system().name, info.title));
        if let Some(queue) = queue {
            let (name, tries, seconds) = (&queue.name, queue.tries, queue.lease_ms / 1000);
            self.line(&format!(
                "on {name}: a message is leased for {seconds} s; tries: {tries} at most"
            ));
            if let Some(group) = &queue.ordered_by {
                self.line(&format!("messages of one {group} are worked on one after the other"));
            }
        }
        let path = info.path.iter().map(|segment| match segment {
            Segment::Literal(text) => format!("/{text}"),
            Segment::Input(input) => format!("/{{{}}}", info.inputs[*input].name),
        });
        if let Some(method) = info.method {
            self.line(&format!("{method} {}", path.collect::<String>()));
        }
        let inputs = self.contract().inputs.iter().map(|input| {
            let place = match input.place {
                Place::Path => "path",
                Place::Query => "query",
                Place::Body => "body",
                Place::Message => "message",
                Place::Record => "kept",
            };
            let default = input.default.as_ref().map(|default| self.words.code(default));
            match default {
                Some(default) => format!("{} ({place}, or else {default})", input.name),
                None if input.optional => format!("{} ({place}, optional)", input.name),
                None => format!("{} ({place})", input.name),
            }
        });
        let inputs: Vec<String> = inputs.collect();
        if !inputs.is_empty() {
            self.statement("inputs:", &inputs.join(", "));
        }
        if let Some(cache) = &self.contract().cache {
            let names = cache.reads.iter().map(|id| self.system().entities[*id].name.as_str());
            let names: Vec<&str> = names.collect();
            let told = format!(
                "for {} s what a call has read answers other calls, unless it is strong; a write of {} by this process \
                 ends that",
                cache.seconds,
                names.join(" or "),
            );
            self.statement("cache:", &told);
        }
        self.gap();
        self.line(
            "{x} is the value of x in a call; requests are as DynamoDB's low-level API takes them.",
        );
        self.record_is_looked_up();
    }

    /// Explains the operations from one up to another; says whether it is ever reached.
    fn block(&mut self, from: usize, to: usize, number: &str) -> bool {
        let program = &self.contract().program;
        let (mut at, mut count) = (from, 0);
        while at < to {
            let Some(op) = program.get(at) else { break };
            // Jumps lead on, never back.
            if let Op::Jump(next) = op {
                at = (*next).max(at + 1);
                continue;
            }
            count += 1;
            match self.op(op, at, &format!("{number}{count}.")) {
                Some(next) => at = next.max(at + 1),
                None => return false,
            }
        }
        true
    }

    /// Explains an operation, and says which is next, unless it is the last.
    fn op(&mut self, op: &'a Op, at: usize, number: &str) -> Option<usize> {
        self.gap();
        match op {
            Op::Allow(..) if self.contract().info.open => self.statement(number, "allow anyone"),
            Op::Allow(test, _) => {
                self.statement(number, &format!("allow {}", self.words.code(test)));
                if !matches!(test, Code::Constant(_)) {
                    self.indented(3, |page| page.line("otherwise: 403 forbidden"));
                }
            }
            Op::Require(test, failure) => {
                self.statement(number, &format!("require {}", self.words.code(test)));
                self.indented(3, |page| page.failure("otherwise", failure, number));
            }
            Op::Match(test, failure, versioned) => {
                self.statement(number, &format!("match {}", self.words.code(test)));
                self.indented(3, |page| {
                    page.failure("otherwise", failure, number);
                    if versioned.is_some() && matches!(failure, OnFailure::Problem(_)) {
                        page.line("with If-Match: its versions instead, and status 412");
                    }
                });
            }
            Op::JumpUnless(test, target) => return self.when(test, at, *target, number),
            Op::Jump(next) => return Some(*next),
            Op::Let(binding, code) => {
                let name = self.words.binding(*binding);
                self.statement(number, &format!("{name} = {}", self.words.code(code)));
                let value = self.scope.value(code).ok().flatten();
                let value = value.map(|value| value.into_owned().renamed(name));
                self.scope.bind(*binding, value.map_or(Bound::Nothing, Bound::Value));
            }
            Op::Get(op) => self.get(op, number),
            Op::Snapshot(op) => self.snapshot(op, number),
            Op::Batch(op) => self.batch(op, number),
            Op::Query(op) => self.query(op, number),
            Op::Part(op) => self.part(op, number),
            Op::Write(leg) => self.write(leg, at, number),
            Op::Transact(op) => self.transact(&op.legs, at, number),
            Op::Return(op) => {
                self.returned(op, number);
                return None;
            }
            Op::End(op) => {
                self.statement(number, &self.words.ending(op));
                return None;
            }
        }
        Some(at + 1)
    }

    fn when(&mut self, test: &Code, at: usize, target: usize, number: &str) -> Option<usize> {
        let end = match self.contract().program.get(target.saturating_sub(1)) {
            Some(Op::Jump(end)) => *end,
            _ => target,
        };
        self.statement(number, &format!("when {}", self.words.code(test)));
        let before = (self.scope.bound.clone(), self.kept);
        let mut then = false;
        self.indented(3, |page| then = page.block(at + 1, target.saturating_sub(1), number));
        let after = std::mem::replace(&mut self.scope.bound, before.0);
        let kept = std::mem::replace(&mut self.kept, before.1);
        let mut otherwise = true;
        if target < end {
            self.gap();
            self.line(&format!("{number} otherwise"));
            let number = format!("{number}else.");
            self.indented(3, |page| otherwise = page.block(target, end, &number));
        }
        match (then, otherwise) {
            (false, false) => return None,
            (false, true) => {}
            (true, false) => (self.scope.bound, self.kept) = (after, kept),
            (true, true) => {
                let others = std::mem::take(&mut self.scope.bound);
                self.scope.meet(&after, &others);
                self.kept = self.kept.or(kept);
            }
        }
        Some(end)
    }

    /// What happens when something did not.
    fn failure(&mut self, when: &str, failure: &OnFailure, number: &str) {
        if let OnFailure::Goto { start, end } = failure {
            self.line(&format!("{when}:"));
            let before = (self.scope.bound.clone(), self.kept);
            let number = format!("{number}else.");
            self.indented(3, |page| {
                // It ends the call.
                page.block(*start, *end, &number);
            });
            (self.scope.bound, self.kept) = before;
        } else if let Some(told) = self.words.failure(failure) {
            self.line(&format!("{when}: {told}"));
        }
    }

    fn returned(&mut self, op: &ReturnOp, number: &str) {
        self.statement(number, &self.words.returned(op));
        self.indented(3, |page| {
            page.record_alone(op);
            match op.binding {
                Some(_) => page.statement("answers", &page.words.answered(op)),
                None if op.status == NO_CONTENT => page.line("answers nothing"),
                None => page.line("answers these values"),
            }
            if op.next.is_some() && op.binding.is_some() && !op.page {
                page.line("behind a cursor: without the item");
            }
            let item = op.binding.and_then(|id| page.scope.item(id));
            let (counter, hash) = match &op.tag {
                Tag::None => return,
                Tag::Counter(counter) => (counter, ""),
                Tag::CounterAndBody(counter) => (counter, "-{hash of the body}"),
                Tag::CounterOfFirst(counter) => (counter, "[-{hash of the body}]"),
            };
            if let Some(version) = item.and_then(|item| item.get(counter)).map(Symbol::shown) {
                page.line(&format!("ETag: \"{version}{hash}\""));
            }
        });
    }

    /// Shows the ways a request can be made in.
    fn requests(&mut self, ways: Result<Vec<Way<Request<Symbol>>>, Fault>) {
        let Ok(ways) = ways else {
            self.line("(the request is only known at the call)");
            return;
        };
        let mut shown: Vec<(Option<String>, Asked)> = Vec::new();
        for way in ways {
            match Rendered::of(&way.made) {
                Ok(rendered) => {
                    let (operation, json) = (rendered.operation(), rendered.to_json());
                    shown.push((way.when, Asked { operation, json, otherwise: false }));
                }
                Err(error) => self.line(&format!("(it has no rendering: {error})")),
            }
        }
        self.show(shown);
    }

    fn show(&mut self, mut ways: Vec<(Option<String>, Asked)>) {
        // Tests that make no difference are not worth telling.
        if let Some(((_, first), rest)) = ways.split_first()
            && rest.iter().all(|(_, other)| other == first)
        {
            ways.truncate(1);
            ways.iter_mut().for_each(|(when, _)| *when = None);
        }
        for (at, (when, mut asked)) in ways.into_iter().enumerate() {
            asked.otherwise = at > 0;
            let when = when.map(|when| format!("when {when}"));
            // A leg says itself what it is.
            let operation = (!asked.is_leg()).then(|| asked.operation.to_owned());
            let head: Vec<String> = operation.into_iter().chain(when).collect();
            self.line(&head.join(" "));
            self.line(&asked.json);
            self.out.requests.push(asked);
        }
    }
}

#[cfg(test)]
mod tests;
