//! The problems that a contract can answer: those of its own statements, and those of the server.

use latchkey_model::Type;
use latchkey_model::model::{
    Contract, Expr, ExprKind, FailureKind, Given, Kind, Leg, Method, Model, Op, PutMode, Step,
    StepKind, TextPiece, Verb, Whose, each_step,
};

use crate::shape::{Member, Shape, Shapes};

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: String,
    /// When it is answered, for people.
    pub(crate) when: String,
}

/// The problems of a contract.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Each once, by status.
    pub(crate) all: Vec<Refusal>,
    /// The members that some of them have beside what every problem has.
    pub(crate) with: Vec<Member>,
}

/// What the server itself may answer to a call of any contract.
const SERVER: [(u16, &str, &str); 9] = [
    (400, "invalid-input", "An input is wrong; `errors` lists each."),
    (400, "malformed-request", "The request is not HTTP/1.1, or has no `Host` or several."),
    (414, "path-too-long", "Path and query together are longer than 65,534 bytes."),
    (
        431,
        "head-too-large",
        "Path and headers together are larger than 64 KiB, or there are more than 100 headers.",
    ),
    (500, "damaged-item", "A stored item is not as the document declares it."),
    (500, "internal-error", "A bug of the server."),
    (
        503,
        "busy",
        "The server has too much to do, or others kept changing the same items. Try again.",
    ),
    (503, "starting", "The server opens its store; nothing was done. Try again."),
    (503, "store-unavailable", "The store cannot be used; nothing was written. Try again."),
];

/// What the server may answer to a call that has a body.
const BODY: [(u16, &str, &str); 3] = [
    (408, "request-timeout", "The body took too long. Send it again."),
    (413, "body-too-large", "The body is larger than 1 MiB."),
    (415, "unsupported-media-type", "The body is not `application/json`, or it is compressed."),
];

/// What the server may answer to a request that is no call of a contract.
pub(crate) const OUTSIDE: [(u16, &str, &str); 2] = [
    (404, "not-found", "No contract has the path."),
    (405, "method-not-allowed", "The path has other methods; `Allow` lists them."),
];

/// When a call is one too many.
fn limited_when(contract: &Contract) -> String {
    let who = match contract.facts.limit.as_ref().map(|limit| &limit.value.whose) {
        Some(Whose::Input(name)) => {
            format!("As many calls as may be were made for this `{name}`, or by this caller.")
        }
        Some(Whose::Caller | Whose::Address) | None => {
            "The caller, or the address, has made as many calls as it may.".to_owned()
        }
    };
    format!("{who} Try again after `Retry-After`.")
}

impl Refusals {
    /// The problems of a contract, with the statuses of bodies if it takes one, and of limits if its calls are limited.
    pub(crate) fn of(
        model: &Model,
        contract: &Contract,
        takes_body: bool,
        limited: bool,
    ) -> Refusals {
        let mut refusals = Refusals::default();
        let shapes = Shapes { model, contract };
        each_step(&contract.steps, &mut |step| refusals.step(&shapes, step));
        for (status, code, when) in SERVER {
            refusals.add(status, code, when);
        }
        if takes_body {
            for (status, code, when) in BODY {
                refusals.add(status, code, when);
            }
        }
        refusals.add(
            401,
            "unauthenticated",
            match contract.open {
                Some(_) => "The token is not valid. Without a token, anyone may call.",
                None => "There is no token, or it is not valid.",
            },
        );
        if limited {
            refusals.add(429, "too-many-requests", &limited_when(contract));
        }
        if let Some(when) = precondition(contract) {
            refusals.add(412, "precondition-failed", when);
        }
        if computes(model, contract) {
            let when = "A value that is computed from inputs and stored items does not fit, or is divided by zero.";
            refusals.add(400, "not-computable", when);
        }
        if contract.page().is_some() {
            let when = "The cursor belongs to another list, caller or server.";
            refusals.add(400, "invalid-cursor", when);
        }
        if contract.facts.by_key.is_some() {
            let when = "The call needs an `Idempotency-Key`.";
            refusals.add(400, "idempotency-key-missing", when);
        }
        if contract.keeps_records() {
            let when = "The `Idempotency-Key` was used for another request.";
            refusals.add(422, "idempotency-key-reused", when);
        }
        if contract.keeps_records() || writes(contract) {
            let when = "The store failed during the write, which may have happened or not. Read before you try again.";
            refusals.add(503, "outcome-unknown", when);
        }
        refusals.all.sort_by_key(|refusal| refusal.status);
        refusals
    }

    fn step(&mut self, shapes: &Shapes<'_>, step: &Step) {
        match &step.kind {
            StepKind::Allow(test) if !matches!(test.kind, ExprKind::Bool(true)) => {
                self.add(403, "forbidden", "The caller may not do this.");
            }
            StepKind::Match(test, Some(failure)) => {
                if let FailureKind::Problem { code, .. } = &failure.kind
                    && shapes.model.versioned(shapes.contract, test).is_some()
                {
                    let when = "`If-Match` names another version. Read the item again.";
                    self.add(412, code, when);
                }
            }
            StepKind::Match(test, None) => {
                if shapes.model.versioned(shapes.contract, test).is_some() {
                    let when = "`If-Match` names another version. Read the item again.";
                    self.add(412, "conflict", when);
                }
                self.conflict();
            }
            StepKind::Require(_, None) => self.conflict(),
            StepKind::Write(leg) if leg.failure.is_none() && leg.can_fail() => self.conflict(),
            _ => {}
        }
        for failure in step.failures() {
            if let FailureKind::Problem { status, code, message, with } = &failure.kind {
                let text = message.as_ref().map(|message| told(shapes.model, message));
                self.add(*status, code, &text.unwrap_or_else(|| titled(code)));
                for given in with {
                    let (name, shape) = (given.attribute.clone(), shapes.value(&given.value));
                    self.join(Member { name, shape, required: false }, shapes.model);
                }
            }
        }
    }

    fn conflict(&mut self) {
        self.add(409, "conflict", "The stored item does not allow the write.");
    }

    fn add(&mut self, status: u16, code: &str, when: &str) {
        let twin = self.all.iter_mut().find(|one| one.status == status && one.code == code);
        match twin {
            // Two statements may give one problem, each with words of its own.
            Some(twin) if !twin.when.contains(when) => {
                twin.when.push_str(" Or: ");
                twin.when.push_str(when);
            }
            Some(_) => {}
            None => {
                let (code, when) = (code.to_owned(), when.to_owned());
                self.all.push(Refusal { status, code, when });
            }
        }
    }

    fn join(&mut self, member: Member, model: &Model) {
        match self.with.iter_mut().find(|own| own.name == member.name) {
            Some(own) => {
                let shape = std::mem::replace(&mut own.shape, Shape::Any);
                own.shape = shape.or(member.shape, model);
            }
            None => self.with.push(member),
        }
    }

    /// The codes, each once, in the order of their statuses.
    pub(crate) fn codes(&self) -> Vec<String> {
        let mut codes: Vec<String> = Vec::new();
        for refusal in &self.all {
            if !codes.contains(&refusal.code) {
                codes.push(refusal.code.clone());
            }
        }
        codes
    }
}

/// Whether a contract computes a value that may not exist: a number that is too large, a time that is too late.
fn computes(model: &Model, contract: &Contract) -> bool {
    let mut computes = false;
    let is_fraction = |kind: &Type| matches!(kind, Type::Number { .. });
    let mut look = |expr: &Expr| {
        expr.walk(&mut |part| {
            computes |= match &part.kind {
                // The store adds to what it holds, and answers for the bounds. Those of a fraction bound no digits.
                ExprKind::Binary(Op::Plus | Op::Minus | Op::Times, a, b) => {
                    let fraction = matches!(&part.of, Kind::Value(kind) if is_fraction(kind));
                    fraction || a.stored_root().is_none() && b.stored_root().is_none()
                }
                ExprKind::Sum(..) | ExprKind::Total(..) | ExprKind::Rounded(..) => true,
                _ => false,
            };
        });
    };
    each_step(&contract.steps, &mut |step| step.expressions(&mut look));
    contract.inputs.iter().filter_map(|input| input.default.as_ref()).for_each(look);
    each_step(&contract.steps, &mut |step| {
        let StepKind::Write(leg) = &step.kind else { return };
        let attribute = |given: &Given| model.entities[leg.entity].attribute(&given.attribute);
        let mut added = leg.adds.iter().filter_map(attribute);
        computes |= added.any(|attribute| is_fraction(&attribute.kind));
    });
    computes
}

/// When a header that asks for a precondition fails, beside the version that a `match` asks for.
fn precondition(contract: &Contract) -> Option<&'static str> {
    let method = contract.route.as_ref().map(|route| route.method);
    if method == Some(Method::Get) {
        return Some("`If-Match` names another version than there is.");
    }
    let mut changes = false;
    each_step(&contract.steps, &mut |step| {
        changes |= matches!(&step.kind, StepKind::Write(leg) if leg_changes(leg));
    });
    changes.then_some("`If-None-Match: *` was sent, and the call would change what is there.")
}

/// Whether a leg changes or removes an item that is there.
fn leg_changes(leg: &Leg) -> bool {
    match leg.verb {
        // A copy of what is made is made with it.
        Verb::Put => leg.put != Some(PutMode::IfAbsent) && leg.of.is_none(),
        Verb::Update | Verb::Upsert | Verb::Delete => true,
        Verb::Check => false,
    }
}

fn writes(contract: &Contract) -> bool {
    let mut writes = false;
    each_step(&contract.steps, &mut |step| {
        writes |= matches!(step.kind, StepKind::Write(_) | StepKind::Send(_));
    });
    writes
}

/// A message as it is written, with the holes of its text.
fn told(model: &Model, message: &Expr) -> String {
    let ExprKind::Text(pieces) = &message.kind else { return String::new() };
    let piece = |piece: &TextPiece| match piece {
        TextPiece::Literal(text) => text.clone(),
        TextPiece::Value(value, _) => {
            format!("{{{}}}", model.text.get(value.span.range()).unwrap_or("…"))
        }
    };
    let text: String = pieces.iter().map(piece).collect();
    sentence(&text)
}

/// `version-conflict` as people write it.
pub(crate) fn titled(code: &str) -> String {
    sentence(&code.replace('-', " "))
}

/// A message as a sentence. A name at its begin, such as `opensAt`, stays as it is.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let is_name = |word: &str| word.contains(|c: char| c.is_uppercase() || c == '_');
    let mut characters = text.chars();
    let first: String = match text.split(char::is_whitespace).next().is_some_and(is_name) {
        true => characters.next().into_iter().collect(),
        false => characters.next().into_iter().flat_map(char::to_uppercase).collect(),
    };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_a_sentence_as_it_is_written() {
        let told = [
            "no events",
            "opensAt must be before closesAt",
            "a_b is taken.",
            "LOTTERY ends!",
            " x ",
        ];
        let expected = [
            "No events.",
            "opensAt must be before closesAt.",
            "a_b is taken.",
            "LOTTERY ends!",
            "X.",
        ];
        assert_eq!(told.map(sentence), expected);
    }
}
