//! The demo of a document: what its lines come to, once its names have values.
//!
//! [`Filling`] is what fills the store, all at once; [`Live`] is what goes on, round by round. Chance is drawn from a
//! [`Draw`], so that the same demo fills the same store each time. Names that only an answer tells, such as `$next`,
//! stay as they are: whoever makes the requests fills them in.

mod check;
mod value;

use std::collections::BTreeMap;
use std::time::Duration;

use latchkey_language::ast::{Demo, DemoStep, DemoValue, ExampleCall, ExampleStep};
use latchkey_language::{Bindings, Diagnostic, Name, Rule, Span, Spanned, filled};
use latchkey_value::time;

pub(crate) use check::check;
use value::{Known, Scene};

/// The shortest time between two rounds: a demo shows traffic, and is no load test.
const PAUSE_MIN: Duration = Duration::from_millis(200);

/// The longest time between two rounds.
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// Why a demo cannot be played.
pub type Mistake = Box<Diagnostic>;

fn mistake(rule: Rule, span: Span, message: impl Into<String>, help: &str) -> Mistake {
    Box::new(Diagnostic::new(rule, span, message).help(help))
}

/// What a demo does next.
#[derive(Debug)]
pub enum Act {
    /// A block begins: nobody calls yet.
    Block,
    /// A round begins: names that answers tell from here on are for this round.
    Round,
    /// The round is over, and its names are forgotten.
    Over,
    /// The time, the caller or a request, as in an example.
    Step(Box<ExampleStep>),
}

/// The requests that fill the store.
#[derive(Debug)]
pub struct Filling {
    /// What is done, in order.
    pub acts: Vec<Act>,
    names: Names,
}

/// Requests that go on while the server runs.
#[derive(Debug)]
pub struct Live {
    /// The time between two rounds.
    pub pause: Duration,
    steps: Vec<DemoStep>,
    names: Names,
}

/// Which of several is taken.
#[derive(Debug, Clone)]
pub enum Draw {
    /// By chance; the same for the same seed.
    Chance(u64),
    /// The first in round 0, the second in round 1, and so on.
    InTurn(u64),
}

impl Draw {
    /// One of so many, from 0. The first of none.
    fn of(&mut self, count: u64) -> u64 {
        let drawn = match self {
            // SplitMix64: small, and good enough to choose words.
            Draw::Chance(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                mixed ^ (mixed >> 31)
            }
            Draw::InTurn(round) => *round,
        };
        drawn.checked_rem(count).unwrap_or(0)
    }

    /// One of so many numbers, from 0; in turn, the lowest and the highest.
    fn of_numbers(&mut self, count: u64) -> u64 {
        match self {
            Draw::Chance(_) => self.of(count),
            Draw::InTurn(round) => (*round % 2).saturating_mul(count.saturating_sub(1)),
        }
    }
}

/// The values of names, and how they are written.
#[derive(Debug, Clone, Default)]
struct Names {
    values: BTreeMap<String, Known>,
    texts: Bindings,
}

/// What the blocks of a document fill the store with, in the order of the text.
pub fn filling(demos: &[Demo], now: i64, draw: Draw) -> Result<Filling, Mistake> {
    let mut script = Script { now, n: None, draw, names: Names::default(), acts: Vec::new() };
    for demo in demos {
        script.acts.push(Act::Block);
        for step in &demo.steps {
            match step {
                DemoStep::Repeat { times, steps } => {
                    for round in 1..=times.node {
                        script.round(i64::from(round), steps)?;
                    }
                }
                DemoStep::Every { .. } => {}
                step => script.step(step)?,
            }
        }
    }
    Ok(Filling { acts: script.acts, names: script.names })
}

/// What goes on, once the store is filled.
pub fn live(demos: &[Demo], filling: &Filling) -> Result<Vec<Live>, Mistake> {
    let steps = demos.iter().flat_map(|demo| &demo.steps);
    let every = steps.filter_map(|step| match step {
        DemoStep::Every { pause, steps } => Some((pause, steps)),
        _ => None,
    });
    every
        .map(|(pause, steps)| {
            let (pause, names) = (rest(pause)?, filling.names.clone());
            Ok(Live { pause, steps: steps.clone(), names })
        })
        .collect()
}

impl Live {
    /// What is done in a round, from 1.
    pub fn round(&self, n: i64, now: i64, draw: &mut Draw) -> Result<Vec<ExampleStep>, Mistake> {
        let (names, acts) = (self.names.clone(), Vec::new());
        let mut script = Script { now, n: None, draw: draw.clone(), names, acts };
        script.number(n);
        self.steps.iter().try_for_each(|step| script.step(step))?;
        *draw = script.draw;
        let steps = script.acts.into_iter().filter_map(|act| match act {
            Act::Step(step) => Some(*step),
            Act::Block | Act::Round | Act::Over => None,
        });
        Ok(steps.collect())
    }
}

/// The time between two rounds, as it is written.
fn rest(pause: &Name) -> Result<Duration, Mistake> {
    let time = crate::lower::milliseconds(&pause.node).map(Duration::from_millis);
    time.filter(|pause| (PAUSE_MIN..=PAUSE_MAX).contains(pause)).ok_or_else(|| {
        let message = format!("`{}` is no time between two rounds", pause.node);
        mistake(
            Rule::Type,
            pause.span,
            message,
            "write one from `200ms` to `1h`, such as `every 2s {`",
        )
    })
}

/// A demo that is being written out.
struct Script {
    now: i64,
    /// The number of the round.
    n: Option<i64>,
    draw: Draw,
    names: Names,
    acts: Vec<Act>,
}

impl Script {
    /// A round, whose names are its own.
    fn round(&mut self, n: i64, steps: &[DemoStep]) -> Result<(), Mistake> {
        let outside = self.names.clone();
        self.acts.push(Act::Round);
        self.number(n);
        steps.iter().try_for_each(|step| self.step(step))?;
        self.acts.push(Act::Over);
        (self.n, self.names) = (None, outside);
        Ok(())
    }

    /// Gives the round its number, for expressions and for requests.
    fn number(&mut self, n: i64) {
        self.n = Some(n);
        self.names.texts.insert("n".to_owned(), n.to_string());
    }

    /// A step that has no others in it.
    fn step(&mut self, step: &DemoStep) -> Result<(), Mistake> {
        let said = match step {
            DemoStep::Named(name, value) => return self.name(name, value),
            DemoStep::At(when) => {
                let Known::Time(at) = self.scene().value(when)? else {
                    let help = "write `at now - 3d`";
                    return Err(mistake(Rule::Type, when.span, "this is not a time", help));
                };
                let at = time::format(at).ok_or_else(|| value::too_far(when.span))?;
                ExampleStep::At(Spanned::new(at.to_string(), when.span))
            }
            DemoStep::As { id, roles, orgs } => {
                let all = |names: &[Name]| names.iter().map(|name| self.fill(name)).collect();
                ExampleStep::As { id: self.fill(id), roles: all(roles), orgs: all(orgs) }
            }
            DemoStep::Call(call) => ExampleStep::Call(self.call(call)),
            // Braces have none within them.
            DemoStep::Repeat { .. } | DemoStep::Every { .. } => return Ok(()),
        };
        self.acts.push(Act::Step(Box::new(said)));
        Ok(())
    }

    fn scene(&self) -> Scene<'_> {
        Scene { now: self.now, n: self.n, known: &self.names.values }
    }

    fn name(&mut self, name: &Name, value: &DemoValue) -> Result<(), Mistake> {
        if matches!(name.node.as_str(), "n" | "now" | "absent") {
            let message = format!("`{}` has a meaning of its own", name.node);
            return Err(mistake(Rule::Name, name.span, message, "choose another name"));
        }
        let written = match value {
            DemoValue::Computed(expression) => expression.span,
            DemoValue::OneOf(_) | DemoValue::Between(..) => name.span,
        };
        let value = match value {
            DemoValue::OneOf(texts) => {
                let at = self.draw.of(u64::try_from(texts.len()).unwrap_or(u64::MAX));
                let text = usize::try_from(at).ok().and_then(|at| texts.get(at));
                Known::Text(text.map_or_else(String::new, |text| text.node.clone()))
            }
            DemoValue::Between(low, high) => {
                let count = high.node.abs_diff(low.node).saturating_add(1);
                let drawn = low.node.saturating_add_unsigned(self.draw.of_numbers(count));
                Known::Number(drawn)
            }
            DemoValue::Computed(expression) => self.scene().value(expression)?,
        };
        let text = value.text().ok_or_else(|| value::too_far(written))?;
        self.names.texts.insert(name.node.clone(), text);
        self.names.values.insert(name.node.clone(), value);
        Ok(())
    }

    fn fill(&self, name: &Name) -> Name {
        Spanned::new(filled(&name.node, &self.names.texts), name.span)
    }

    fn call(&self, call: &ExampleCall) -> ExampleCall {
        let pairs = |pairs: &[(Name, Name)]| {
            pairs.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect()
        };
        ExampleCall {
            method: call.method.clone(),
            path: self.fill(&call.path),
            headers: pairs(&call.headers),
            body: call.body.as_ref().map(|body| self.fill(body)),
            status: call.status.clone(),
            answer_headers: pairs(&call.answer_headers),
            answer: call.answer.as_ref().map(|answer| self.fill(answer)),
        }
    }
}
