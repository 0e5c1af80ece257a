//! Whether a demo can be played: each request reaches a contract, with inputs of their types and a caller that can be.
//!
//! The demo is written out as when it is played, with each of several choices once, and each request is looked at by
//! itself. What is stored is not known here: whether a request is refused, only a run tells.

use std::collections::BTreeSet;

use latchkey_language::ast::{Demo, DemoStep, DemoValue, ExampleCall, ExampleStep};
use latchkey_language::{Diagnostic, Name, Rule, Span, names_in};
use latchkey_value::id;

use super::{Act, Draw, Mistake, Names, Script, rest};
use crate::check::asked;
use crate::lower::suggestion;
use crate::model::{Contract, Model};

/// The instant at which a demo is looked at. Any would do: times of a demo are told from now.
const NOW: i64 = 1_767_225_600_000;

/// How many requests may fill a store.
const REQUESTS_MAX: usize = 10_000;

/// How many requests are looked at, those with other choices too: a bound for the time of the check.
const LOOKED_AT_MAX: usize = 100_000;

/// What cannot be played.
pub(crate) fn check(model: &Model) -> Vec<Diagnostic> {
    let (draw, names, acts) = (Draw::InTurn(0), Names::default(), Vec::new());
    let mut script = Script { now: NOW, n: None, draw, names, acts };
    let mut critic = Critic {
        model,
        found: Vec::new(),
        answered: BTreeSet::new(),
        caller: false,
        instant: None,
        requests: 0,
        looked_at: 0,
    };
    for demo in &model.demos {
        critic.caller = false;
        if let Err(mistake) = block(demo, &mut script, &mut critic) {
            critic.found.push(*mistake);
            script.n = None;
        }
        if let Some(message) = critic.too_many() {
            critic.found.push(Diagnostic::new(Rule::Syntax, demo.span, message));
            break;
        }
    }
    critic.found
}

/// Looks at a block, up to the first value that cannot be computed.
fn block(demo: &Demo, script: &mut Script, critic: &mut Critic<'_>) -> Result<(), Mistake> {
    // What goes on begins when all is filled, with all names.
    let (every, filling): (Vec<&DemoStep>, Vec<&DemoStep>) =
        demo.steps.iter().partition(|step| matches!(step, DemoStep::Every { .. }));
    for step in filling.into_iter().chain(every) {
        let caller = critic.caller;
        let (rounds, steps) = match step {
            DemoStep::Repeat { times, steps } => (u64::from(times.node), steps),
            DemoStep::Every { pause, steps } => {
                rest(pause)?;
                critic.caller = false;
                (1, steps)
            }
            step => {
                script.step(step)?;
                critic.look(&std::mem::take(&mut script.acts));
                critic.requests += usize::from(matches!(step, DemoStep::Call(_)));
                continue;
            }
        };
        let answered = critic.answered.clone();
        for round in 0..rounds.max(choices(steps)) {
            if critic.too_many().is_some() {
                return Ok(());
            }
            script.draw = Draw::InTurn(round);
            let n = round.min(rounds.saturating_sub(1)).saturating_add(1);
            script.round(i64::try_from(n).unwrap_or(i64::MAX), steps)?;
            critic.answered.clone_from(&answered);
            let before = critic.looked_at;
            critic.look(&std::mem::take(&mut script.acts));
            if matches!(step, DemoStep::Repeat { .. }) && round < rounds {
                critic.requests += critic.looked_at - before;
            }
        }
        critic.answered = answered;
        if matches!(step, DemoStep::Every { .. }) {
            critic.caller = caller;
        }
    }
    Ok(())
}

/// How many rounds it takes until each choice was made; of numbers, the lowest and the highest.
fn choices(steps: &[DemoStep]) -> u64 {
    let counts = steps.iter().map(|step| match step {
        DemoStep::Named(_, DemoValue::OneOf(texts)) => {
            u64::try_from(texts.len()).unwrap_or(u64::MAX)
        }
        DemoStep::Named(_, DemoValue::Between(..)) => 2,
        _ => 1,
    });
    counts.max().unwrap_or(1)
}

/// Looks at what is done, in order.
struct Critic<'a> {
    model: &'a Model,
    found: Vec<Diagnostic>,
    /// The names that answers have told.
    answered: BTreeSet<String>,
    /// Whether someone has been said to call.
    caller: bool,
    /// Where the clock was set last.
    instant: Option<String>,
    /// How many requests fill the store.
    requests: usize,
    looked_at: usize,
}

impl Critic<'_> {
    fn too_many(&self) -> Option<String> {
        if self.requests > REQUESTS_MAX {
            return Some(format!("more than {REQUESTS_MAX} requests fill the store"));
        }
        let many = self.looked_at > LOOKED_AT_MAX;
        many.then(|| format!("more than {LOOKED_AT_MAX} requests, each choice of a round counted"))
    }

    fn tell(&mut self, rule: Rule, span: Span, message: impl Into<String>, help: &str) {
        let told = Diagnostic::new(rule, span, message).help(help);
        // Each round may have the same.
        if !self.found.contains(&told) {
            self.found.push(told);
        }
    }

    fn look(&mut self, acts: &[Act]) {
        for act in acts {
            let Act::Step(step) = act else { continue };
            match &**step {
                ExampleStep::At(instant) => self.clock(instant),
                ExampleStep::As { id, roles, .. } => self.caller(id, roles),
                ExampleStep::Call(call) => self.call(call),
                // A demo has none of these.
                ExampleStep::Queue(..) | ExampleStep::Together(..) | ExampleStep::Deliver(_) => {}
            }
        }
    }

    fn clock(&mut self, instant: &Name) {
        let now = latchkey_value::time::format(NOW).map(|now| now.to_string());
        if now.as_ref().is_some_and(|now| *now < instant.node) {
            let help = "what is still to come is written with `every`";
            self.tell(Rule::Type, instant.span, "a demo is filled up to now", help);
        } else if self.instant.as_ref().is_some_and(|before| instant.node < *before) {
            let help = "write what happened first above what happened then";
            self.tell(Rule::Type, instant.span, "time does not go back", help);
        } else {
            self.instant = Some(instant.node.clone());
        }
    }

    fn caller(&mut self, caller: &Name, roles: &[Name]) {
        self.caller = true;
        self.names(caller);
        if !caller.node.contains('$') && !id::is_given_id(&caller.node) {
            let help = "a caller has an id: letters, digits and a few signs";
            self.tell(Rule::Type, caller.span, format!("`{}` is no id", caller.node), help);
        }
        let known: Vec<&str> = self.model.roles.iter().map(|role| role.name.as_str()).collect();
        for role in roles.iter().filter(|role| !known.contains(&role.node.as_str())) {
            let near = suggestion(&role.node, known.iter().copied());
            let help = near.unwrap_or_else(|| "declare it, or name another".to_owned());
            self.tell(Rule::Name, role.span, format!("there is no role `{}`", role.node), &help);
        }
    }

    /// Names that nothing has given a value.
    fn names(&mut self, text: &Name) {
        let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let open: Vec<String> = names_in(&text.node)
            .filter(is_name)
            .filter(|name| !self.answered.contains(*name))
            .map(str::to_owned)
            .collect();
        for name in open {
            let help = "give it a value above, as in `id = \"D{n:03}\"`, or name it in an answer";
            self.tell(Rule::Name, text.span, format!("nothing is called `${name}`"), help);
        }
    }

    fn call(&mut self, call: &ExampleCall) {
        self.looked_at += 1;
        let before = self.found.len();
        if !self.caller {
            let help = "write `as ID` above it, or `as nobody`";
            self.tell(Rule::Syntax, call.method.span, "nobody says who asks", help);
        }
        self.names(&call.path);
        call.headers.iter().for_each(|(_, value)| self.names(value));
        call.body.iter().for_each(|body| self.names(body));
        if self.found.len() == before && !matches!(call.method.node.as_str(), "HEAD" | "OPTIONS") {
            self.routed(call);
        }
        let told = call.answer_headers.iter().map(|(_, value)| &value.node);
        for text in told.chain(call.answer.iter().map(|answer| &answer.node)) {
            self.answered.extend(names_in(text).map(str::to_owned));
        }
    }

    fn routed(&mut self, call: &ExampleCall) {
        let span = call.method.span.to(call.path.span);
        if let Some(odd) = call.path.node.chars().find(|c| !c.is_ascii_graphic()) {
            let help = "write it percent-encoded";
            return self.tell(Rule::Type, span, format!("a path cannot have `{odd}`"), help);
        }
        // Splitting yields a first part of any text.
        let path = call.path.node.split('?').next().unwrap_or_default();
        let model = self.model;
        let routes = model.routes(path);
        let of_method = |contract: &Contract| {
            contract.route.as_ref().is_some_and(|route| route.method.as_str() == call.method.node)
        };
        let Some((contract, parameters)) = routes.iter().find(|(contract, _)| of_method(contract))
        else {
            let help = "mend the path or the method, or write the contract";
            return self.tell(Rule::Name, span, "no contract answers this request", help);
        };
        if call.status.as_ref().is_some_and(|status| status.node == 400) {
            return;
        }
        let has_version =
            call.headers.iter().any(|(name, _)| name.node.eq_ignore_ascii_case("if-match"));
        match asked(contract, parameters, call, has_version) {
            Some(asked) if asked.valid == Some(false) => {
                let wrong = asked.wrong.iter().flatten().map(|name| format!("`{name}`"));
                let wrong: Vec<String> = wrong.collect();
                let what = match wrong.as_slice() {
                    [] => "an input".to_owned(),
                    some => some.join(", "),
                };
                let message = format!("{what}: not as `{}` declares it", contract.id);
                let help = "an input is unknown, missing or not of its type";
                self.tell(Rule::Type, span, message, help);
            }
            // A name outside of quotes may stand for a number.
            None if !call.body.as_ref().is_some_and(|body| body.node.contains('$')) => {
                let help = "write `{\"name\": value}`";
                self.tell(Rule::Type, span, "the body is not a JSON object", help);
            }
            Some(_) | None => {}
        }
    }
}
