//! A loss, told to a person.

use latchkey_language::Span;
use latchkey_runtime::RawInput;
use latchkey_table::{Answer, Item, Key, Request, Value};
use latchkey_value::{json, time};

use crate::act::{Act, Kind, Reply};
use crate::conflict::keys;
use crate::example::example;
use crate::group::{Group, SEED};
use crate::judge::{Lost, Wrong};
use crate::lab::Lab;
use crate::machine::{Effect, Event, Machine, Stuck};
use crate::outcome::{End, Left, Outcome};
use crate::statement::{remedies, stale_reads, statements};
use crate::world::State;

/// How much of a value is shown.
const SHOWN_CHARS_MAX: usize = 120;

/// A schedule that lost.
#[derive(Debug)]
pub struct Loss {
    /// What was lost, in a sentence.
    pub headline: String,
    /// The contracts and workers, each once, in the order of their letters.
    pub contracts: Vec<String>,
    /// The state it begins in.
    pub state: String,
    /// Who asks what, by a letter.
    pub calls: Vec<(char, String)>,
    /// The schedule, request by request.
    pub rows: Vec<Row>,
    /// How each ended.
    pub ends: Vec<(char, String)>,
    /// What is otherwise than in the order of units that comes nearest, or after one clean run.
    pub differences: Vec<String>,
    /// The statements that made it so.
    pub statements: Vec<(Span, String)>,
    /// What can be done, where a read saw a part of a transaction.
    pub remedies: Vec<String>,
    /// The lines of an `example` block that makes the calls at once, to be kept in the document.
    pub example: String,
}

impl Loss {
    /// The schedule as a table, with what each call asks and is told.
    pub fn table(&self) -> String {
        let mut lines = Vec::new();
        lines.extend(self.calls.iter().map(|(who, call)| format!("{who}: {call}")));
        let width = |of: fn(&Row) -> &str| {
            self.rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0)
        };
        let (asked, saw) = (width(|row| &row.asked), width(|row| &row.saw));
        for (at, Row { who, asked: what, saw: seen, note }) in self.rows.iter().enumerate() {
            let line = format!("{:>3}  {who}  {what:asked$}  {seen:saw$}  {note}", at + 1);
            lines.push(line.trim_end().to_owned());
        }
        lines.extend(self.ends.iter().map(|(who, end)| format!("{who}: {end}")));
        lines.extend(self.differences.iter().map(|difference| format!("wrong: {difference}")));
        lines.join("\n")
    }
}

/// A request of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Whose it is.
    pub who: char,
    /// What it asked.
    pub asked: String,
    /// What came of it.
    pub saw: String,
    /// What is to be noticed.
    pub note: String,
}

/// Runs a schedule that lost once more, and tells it.
pub(crate) fn loss(lab: &Lab, state: &State, group: &Group, lost: &Lost) -> Result<Loss, Stuck> {
    let mut machine = Machine::start(lab, &state.table, &group.acts, SEED)?;
    for step in &lost.steps {
        machine.step(*step)?;
    }
    let stale = stale_reads(lab, &machine);
    let rows = machine.events.iter().enumerate();
    let rows = rows.map(|(at, event)| {
        let note = stale.iter().find(|stale| stale.read == at || stale.write == at);
        let note = note.map_or_else(String::new, |stale| stale.note(at));
        row(lab, event, note)
    });
    let rows = rows.collect();
    let mut contracts: Vec<String> = group.acts.iter().map(|act| act.body.to_string()).collect();
    contracts.dedup();
    let calls = group.acts.iter().enumerate().map(|(at, act)| (letter(at), asked(act)));
    let ends = lost.outcome.ends.iter().enumerate().map(|(at, end)| (letter(at), ended(end)));
    Ok(Loss {
        headline: headline(&lost.wrong, &contracts, group.acts.len()),
        state: format!("{}, at {}", state.label, instant(state.now)),
        calls: calls.collect(),
        rows,
        ends: ends.collect(),
        differences: differences(lab, lost),
        statements: statements(lab, &group.acts, &machine, &stale, lost),
        remedies: remedies(&machine.events, &stale),
        example: example(lab, state, &group.acts),
        contracts,
    })
}

fn headline(wrong: &Wrong, contracts: &[String], acts: usize) -> String {
    let who = match contracts {
        [one] if acts == 1 => one.clone(),
        [one] => format!("{one} beside itself"),
        [first, second] => format!("{first} beside {second}"),
        more => more.join(" beside "),
    };
    match wrong {
        Wrong::NoOrder(_) => format!("{who}: no order of these calls comes to this"),
        Wrong::Broken(breach) => format!("{who}: {breach}"),
        Wrong::Twice(_) => {
            format!("{who}: done twice, or again after a crash, it leaves something else than once")
        }
    }
}

/// The letter of an act.
pub(crate) fn letter(at: usize) -> char {
    u8::try_from(at).ok().and_then(|at| b'A'.checked_add(at)).map_or('?', char::from)
}

fn instant(now: i64) -> String {
    time::format(now).map_or_else(|| now.to_string(), Into::into)
}

/// What an act asks for.
fn asked(act: &Act) -> String {
    let now = instant(act.now);
    match &act.kind {
        Kind::Call(call) => {
            let nobody = call.caller.id.is_empty();
            let caller = if nobody { "nobody" } else { call.caller.id.as_str() };
            let mut text = format!("{} as {caller}", call.contract);
            call.caller.roles.iter().for_each(|role| text.push_str(&format!(" role {role}")));
            call.caller.orgs.iter().for_each(|org| text.push_str(&format!(" org {org}")));
            for (name, given) in &call.inputs {
                let value = match given {
                    RawInput::Text(text) => text.to_string(),
                    RawInput::Json(value) => written(value),
                    RawInput::Undecodable | RawInput::Misplaced(_) => "(unreadable)".to_owned(),
                };
                text.push_str(&format!(" {name}={value}"));
            }
            if let Some(key) = &call.idempotency_key {
                text.push_str(&format!(" Idempotency-Key: \"{key}\""));
            }
            format!("{text} at {now}")
        }
        Kind::Work { message, .. } => {
            let body = written(&Value::Map(message.body().clone()));
            format!("{} works on {body} at {now}", act.body)
        }
        Kind::Dead { message, .. } => {
            let body = written(&Value::Map(message.body().clone()));
            format!("{} gives {body} up at {now}", act.body)
        }
        Kind::Follow { .. } => format!("{} at {now}", act.body),
    }
}

fn ended(end: &End) -> String {
    match end {
        End::Told(Reply { status: 0, body, .. }) => body.clone(),
        End::Told(told) => {
            let tag = told.etag.as_ref().map(|tag| format!(" ETag: {tag}")).unwrap_or_default();
            format!("{}{tag} {}", told.status, cut(&told.body))
        }
        End::Stopped(commits) => format!("stopped after {commits} commits"),
    }
}

fn row(lab: &Lab, event: &Event, note: String) -> Row {
    let mut asked = match &event.request {
        Request::Get(_) => "get",
        Request::BatchGet(_) => "batch get",
        Request::SnapshotGet(_) => "snapshot",
        Request::Query(_) => "query",
        Request::IndexScan(_) => "scan",
        Request::Put(..) => "put",
        Request::Update(..) => "update",
        Request::Delete(..) => "delete",
        Request::Transact(_) => "transact",
    }
    .to_owned();
    for key in keys(&event.request) {
        asked.push_str(&format!(" {}", place(&key)));
    }
    let mut saw = match &event.effect {
        Effect::Read(answer) => seen(lab, answer),
        Effect::Committed(_) => "done".to_owned(),
        Effect::Refused(leg) => format!("refused by the condition of leg {}", leg + 1),
        Effect::Failed(error) => error.to_string(),
    };
    if event.apart {
        let how = if event.request.is_eventual() { "as it was" } else { "a part as it was" };
        saw.push_str(&format!(" ({how})"));
    }
    Row { who: letter(event.who), asked: cut(&asked), saw: cut(&saw), note }
}

pub(crate) fn place(key: &Key) -> String {
    match key.sort.is_empty() {
        true => key.partition.to_string(),
        false => format!("{}/{}", key.partition, key.sort),
    }
}

fn seen(lab: &Lab, answer: &Answer) -> String {
    let items: Vec<&Item> = match answer {
        Answer::Got(got) => got.item.iter().collect(),
        Answer::GotMany(got) => got.items.iter().flatten().collect(),
        Answer::Page(page) => page.items.iter().collect(),
        Answer::Wrote(_) | Answer::Transacted(_) => Vec::new(),
    };
    match items.as_slice() {
        [] => "nothing".to_owned(),
        [one] => shown(lab, one),
        many => format!(
            "{} items: {}",
            many.len(),
            many.iter().map(|item| shown(lab, item)).collect::<Vec<_>>().join(" ")
        ),
    }
}

/// An item without its keys, and without secrets.
fn shown(lab: &Lab, item: &Item) -> String {
    let keys = lab.system.key_attributes();
    let own = item
        .iter()
        .filter(|(name, _)| !keys.contains(&name.as_str()) && !lab.system.is_secret(name));
    let own: Item = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    written(&Value::Map(own))
}

fn written(value: &Value) -> String {
    let mut text = String::new();
    json::write(value, &mut text);
    text
}

fn cut(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

fn differences(lab: &Lab, lost: &Lost) -> Vec<String> {
    match &lost.wrong {
        Wrong::Broken(_) => Vec::new(),
        Wrong::NoOrder(nearest) => {
            let Outcome { ends, left } = &**nearest;
            let mut told = Vec::new();
            for (at, (here, there)) in lost.outcome.ends.iter().zip(ends).enumerate() {
                if here != there {
                    let (letter, here, there) = (letter(at), ended(here), ended(there));
                    told.push(format!("{letter} is told {here}; in the nearest order, {there}"));
                }
            }
            items(lab, &lost.outcome.left, left, "in the nearest order", &mut told);
            told
        }
        Wrong::Twice(clean) => {
            let mut told = Vec::new();
            items(lab, &lost.outcome.left, clean, "after one clean run", &mut told);
            told
        }
    }
}

fn items(lab: &Lab, here: &Left, there: &Left, other: &str, told: &mut Vec<String>) {
    for key in here.differing(there) {
        let (a, b) = (here.items.get(key), there.items.get(key));
        let text = |item: Option<&Option<std::sync::Arc<Item>>>| match item {
            None => "as it was".to_owned(),
            Some(None) => "gone".to_owned(),
            Some(Some(item)) => shown(lab, item),
        };
        told.push(format!("{} is {}; {other}, {}", place(key), text(a), text(b)));
    }
    if here.messages != there.messages {
        let (a, b) = (here.messages.join(", "), there.messages.join(", "));
        told.push(format!("sent: {a}; {other}: {b}"));
    }
}
