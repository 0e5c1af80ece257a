//! What a contract can answer that is no success: what its statements say, with their lines, and what the server adds.

use latchkey_model::model::{
    Ending, Expr, ExprKind, FailureKind, Step, StepKind, Trigger, each_step,
};
use latchkey_openapi::{Serving, problems};
use maud::{Markup, html};

use super::Subject;
use crate::shown::shown;

/// A failure that a statement of the document answers.
#[derive(Debug)]
struct Told {
    /// The status; none for a worker, which has no caller.
    status: Option<u16>,
    code: String,
    message: Option<String>,
    /// The lines of the statements that answer it so.
    lines: Vec<usize>,
}

pub(super) fn card(subject: Subject<'_>) -> Markup {
    let own = own(subject);
    let others = others(subject, &own);
    let called = subject.contract.trigger == Trigger::Request;
    html! {
        section.card aria-labelledby="failures-title" {
            header { h2 #failures-title { @if called { "What it can refuse" } @else { "How it can fail" } } }
            @if own.is_empty() { p.muted { @if called { "No statement of it refuses." } @else { "No statement of it fails." } } }
            ul.failures {
                @for told in &own {
                    li {
                        span.pill.bad { @match told.status { Some(status) => (status), None => "fails" } }
                        span.failure {
                            code { (shown(&told.code)) }
                            @if let Some(message) = &told.message { span.muted { (shown(message)) } }
                        }
                        span.line-links {
                            @for line in &told.lines { a.line-link href={ "#L" (line) } { "line " (line) } }
                        }
                    }
                }
            }
            @if !others.is_empty() {
                details.others {
                    summary { "And what the server itself may answer" }
                    ul.failures {
                        @for (status, code, when) in &others {
                            li { span.pill { (status) } span.failure { code { (shown(code)) } span.muted { (shown(when)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// What the statements answer, in the order of the text.
fn own(subject: Subject<'_>) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    each_step(&subject.contract.steps, &mut |step| {
        for told in of_step(subject, step) {
            let twin = all.iter_mut().find(|own| {
                (own.status, &own.code, &own.message) == (told.status, &told.code, &told.message)
            });
            match twin {
                Some(twin) => twin.lines.extend(told.lines),
                None => all.push(told),
            }
        }
    });
    all
}

fn of_step(subject: Subject<'_>, step: &Step) -> Vec<Told> {
    let told = |status, code: &str, message: Option<&Expr>, at: usize| Told {
        status,
        code: code.to_owned(),
        message: message.map(|message| said(subject, message)),
        lines: vec![subject.line(at)],
    };
    let mut all = Vec::new();
    match &step.kind {
        StepKind::Allow(test) if !matches!(test.kind, ExprKind::Bool(true)) => {
            all.push(told(Some(403), "forbidden", None, step.span.start));
        }
        StepKind::Require(_, None) | StepKind::Match(_, None) => {
            all.push(told(Some(409), "conflict", None, step.span.start));
        }
        StepKind::Write(leg) if leg.failure.is_none() && leg.can_fail() => {
            all.push(told(Some(409), "conflict", None, step.span.start));
        }
        StepKind::End(Ending::Fail { code, message }) => {
            all.push(told(None, code, message.as_ref(), step.span.start));
        }
        _ => {}
    }
    for failure in step.failures() {
        let at = failure.span.start;
        match &failure.kind {
            FailureKind::Problem { status, code, message, .. } => {
                all.push(told(Some(*status), code, message.as_ref(), at));
            }
            FailureKind::End(Ending::Fail { code, message }) => {
                all.push(told(None, code, message.as_ref(), at));
            }
            FailureKind::End(Ending::Done | Ending::Later)
            | FailureKind::Retry
            | FailureKind::Steps(_) => {}
        }
    }
    all
}

/// A message as it is written, without its quotes.
fn said(subject: Subject<'_>, message: &Expr) -> String {
    let text = subject.words(message.span);
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(&text).to_owned()
}

/// What a call can also be answered with: a status, a code, and when.
fn others(subject: Subject<'_>, own: &[Told]) -> Vec<(u16, String, String)> {
    if subject.contract.trigger != Trigger::Request {
        return Vec::new();
    }
    let all = problems(subject.model, subject.contract, &Serving::default());
    let told =
        |status, code: &str| own.iter().any(|own| own.status == Some(status) && own.code == code);
    let others = all.into_iter().filter(|one| !told(one.status, &one.code));
    others.map(|one| (one.status, one.code, one.when)).collect()
}
