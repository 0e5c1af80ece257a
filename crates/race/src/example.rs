//! A loss as an example: what led to its state, and the calls at once.

use latchkey_model::model::{Contract, Place, Segment};
use latchkey_runtime::{Call, IfMatch, RawInput};
use latchkey_table::{Item, Value};
use latchkey_value::{json, time};

use crate::act::{Act, Kind, Reply};
use crate::lab::Lab;
use crate::matching::Bindings;
use crate::world::State;

/// What led to a state, beyond the examples of the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The line of the example's step that it begins behind; none where it begins with nothing stored.
    pub(crate) line: Option<usize>,
    /// What the names of the examples stand for there.
    pub(crate) names: Bindings,
    /// What was done since, and what it told.
    pub(crate) done: Vec<(Act, Option<Reply>)>,
}

impl History {
    /// The same, and one more.
    pub(crate) fn then(&self, act: &Act, told: Option<&Reply>) -> History {
        let mut history = self.clone();
        history.done.push((act.clone(), told.cloned()));
        history
    }
}

/// Shorter texts are not taken for values that were made: they may stand there by chance.
const MADE_CHARS_MIN: usize = 16;

/// The lines of an `example` block that leads to a state and makes the calls of a group at once.
pub(crate) fn example(lab: &Lab, state: &State, acts: &[Act]) -> String {
    let mut writer =
        Writer { lab, text: String::new(), now: None, caller: String::new(), names: Vec::new() };
    let History { line, names, done } = &state.history;
    match line {
        Some(line) => writer.line(&format!("// behind line {line}: {}", state.label)),
        None if done.is_empty() => {}
        None => writer.line(&format!("// {}", state.label)),
    }
    let known = names.iter().map(|(name, value)| (value.clone(), name.clone()));
    writer.names = known.filter(|(value, _)| value.len() >= MADE_CHARS_MIN).collect();
    let mut held: Vec<String> =
        lab.sent(&state.table).iter().map(|(home, _)| home.queue().to_string()).collect();
    held.dedup();
    for queue in held {
        writer.line(&format!("queue {queue} holds"));
    }
    for (at, (act, told)) in done.iter().enumerate() {
        let later = done.iter().skip(at + 1).map(|(act, _)| act).chain(acts);
        writer.done(act, told.as_ref(), &later.collect::<Vec<_>>());
    }
    writer.line("together {");
    for act in acts {
        writer.act(act, "  ");
    }
    writer.line("}");
    writer.text
}

struct Writer<'a> {
    lab: &'a Lab,
    text: String,
    now: Option<i64>,
    caller: String,
    /// Values that were made, and their names.
    names: Vec<(String, String)>,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A step that led to the state, with its answer.
    fn done(&mut self, act: &Act, told: Option<&Reply>, later: &[&Act]) {
        self.act(act, "");
        let (Kind::Call(_), Some(told)) = (&act.kind, told) else { return };
        let answer = json::read(told.body.as_bytes(), json::Limits::default());
        let Ok(Value::Map(answer)) = answer else { return self.line(&told.status.to_string()) };
        let mut named = Item::new();
        for (member, value) in answer.iter() {
            let Some(made) = value.as_text().filter(|text| text.len() >= MADE_CHARS_MIN) else {
                continue;
            };
            let uses =
                |act: &Act| self.asked(act).is_some_and(|asked| asked.contains(made.as_str()));
            if !uses(act) && later.iter().any(|act| uses(act)) {
                let name = format!("{member}{}", self.names.len() + 1);
                self.names.push((made.to_string(), name.clone()));
                named.insert(member.clone(), format!("${name}").as_str());
            }
        }
        let mut line = told.status.to_string();
        if !named.is_empty() {
            line.push(' ');
            json::write_map(&named, &mut line);
        }
        self.line(&line);
    }

    fn act(&mut self, act: &Act, indent: &str) {
        let asked = match &act.kind {
            Kind::Call(call) => {
                self.settings(call, act.now, indent);
                self.asked(act)
            }
            Kind::Work { queue, .. } => Some(format!("deliver {queue}")),
            Kind::Dead { .. } | Kind::Follow { .. } => None,
        };
        let line =
            asked.unwrap_or_else(|| format!("// {}: no line of an example says this", act.body));
        let line = self
            .names
            .iter()
            .fold(line, |line, (value, name)| line.replace(value, &format!("${name}")));
        self.line(&format!("{indent}{line}"));
    }

    fn settings(&mut self, call: &Call, now: i64, indent: &str) {
        let mut settings = Vec::new();
        if self.now != Some(now) {
            self.now = Some(now);
            settings.extend(time::format(now).map(|now| format!("at {now}")));
        }
        let nobody = call.caller.id.is_empty();
        let mut caller = format!("as {}", if nobody { "nobody" } else { &call.caller.id });
        call.caller.roles.iter().for_each(|role| caller.push_str(&format!(" role {role}")));
        call.caller.orgs.iter().for_each(|org| caller.push_str(&format!(" org {org}")));
        if self.caller != caller {
            self.caller.clone_from(&caller);
            settings.push(caller);
        }
        if !settings.is_empty() {
            self.line(&format!("{indent}{}", settings.join(" ")));
        }
    }

    /// The request of a call.
    fn asked(&self, act: &Act) -> Option<String> {
        let Kind::Call(call) = &act.kind else { return None };
        let contract =
            self.lab.model.contracts.iter().find(|own| own.id == call.contract.as_str())?;
        request(contract, call)
    }
}

/// A call as a request of an example.
fn request(contract: &Contract, call: &Call) -> Option<String> {
    let route = contract.route.as_ref()?;
    let given =
        |name: &str| call.inputs.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let mut path = String::new();
    for segment in &route.segments {
        path.push('/');
        match segment {
            Segment::Literal(text) => path.push_str(text),
            Segment::Input(id) => {
                path.push_str(&encoded(&plain(given(&contract.inputs[*id].name)?)?));
            }
        }
    }
    let (mut query, mut body) = (Vec::new(), Item::new());
    for (name, value) in &call.inputs {
        let declared = contract.inputs.iter().find(|input| *name == input.name);
        match declared.map(|input| input.place) {
            Some(Place::Path) => {}
            Some(Place::Body) => {
                let RawInput::Json(value) = value else { return None };
                body.insert(name.clone(), value.clone());
            }
            // The size of a page and its cursor are no inputs of the document.
            Some(Place::Query | Place::Message | Place::Record) | None => {
                query.push(format!("{name}={}", encoded(&plain(value)?)));
            }
        }
    }
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let mut line = format!("{} {path}{query}", route.method);
    match &call.if_match {
        None => {}
        Some(IfMatch::Any) => line.push_str(" If-Match: *"),
        Some(IfMatch::OneOf(versions)) => {
            let tags: Vec<String> =
                versions.iter().map(|version| format!("\"{version}\"")).collect();
            line.push_str(&format!(" If-Match: {}", tags.join(", ")));
        }
    }
    if let Some(key) = &call.idempotency_key {
        line.push_str(&format!(" Idempotency-Key: \"{key}\""));
    }
    if !body.is_empty() {
        line.push(' ');
        json::write_map(&body, &mut line);
    }
    Some(line)
}

/// A value as it stands in a path or a query.
fn plain(value: &RawInput) -> Option<String> {
    match value {
        RawInput::Text(text) => Some(text.to_string()),
        RawInput::Json(value) => {
            latchkey_runtime::draw::part(value, None).map(|text| text.to_string())
        }
        RawInput::Undecodable | RawInput::Misplaced(_) => None,
    }
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
