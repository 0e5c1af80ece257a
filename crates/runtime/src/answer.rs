//! Answers: the body and the headers of a `return`, and the outcome of a call.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use latchkey_model::model::BindingId;
use latchkey_table::{Capacity, Item, Text, Value};
use latchkey_value::name::INCARNATION_ATTRIBUTE;
use sha2::{Digest, Sha256};

use crate::evaluate::{Bound, Fault, Frame, Values, push};
use crate::json;
use crate::pages::ItemPage;
use crate::plan::{Beside, Kinds, Piece, ReturnOp, Shown, Tag};
use crate::problem::{PROBLEM_BASE, Problem};
use crate::trace::Trace;

/// The bytes of a body's hash in an `ETag`: 128 bits are enough against collisions.
const HASH_BYTES: usize = 16;

/// The status of an answer without a body.
pub(crate) const NO_CONTENT: u16 = 204;

/// The outcome of a call.
#[derive(Debug)]
pub struct Outcome {
    /// The contract, if there is one of that id.
    pub contract: Option<Text>,
    /// The answer, or why there is none.
    pub result: Result<Answer, Problem>,
    /// What it consumed.
    pub capacity: Capacity,
    /// Whether it was answered from the record of an earlier call.
    pub replayed: bool,
    /// For how long the answer may be used, if its contract has a `cache` and no read was strong.
    pub fresh: Option<Freshness>,
    /// What was asked of the table, if that was to be kept.
    pub trace: Trace,
}

/// How fresh what an answer was made of is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// For how many seconds an answer may be used, from when it was read: those of the `cache`, and none beyond the end
    /// of an item.
    pub lasts_s: u32,
    /// How many seconds ago that was read; nothing if it was read for this call.
    pub age_s: Option<u64>,
    /// Whether the answer is for anyone.
    pub open: bool,
}

/// What a contract answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// JSON; empty where the status is 204.
    pub body: String,
    /// The version of the returned item, quoted. A hash of the body follows, unless the version alone tells
    /// all that the body shows.
    pub etag: Option<String>,
    /// The path at which what is returned is to be found.
    pub found_at: Option<String>,
}

impl Answer {
    /// The version of the returned item, as it stands in the tag.
    pub(crate) fn version(&self) -> Option<&str> {
        let tag = self.etag.as_deref()?.strip_prefix('"')?.strip_suffix('"')?;
        Some(tag.split_once('-').map_or(tag, |(version, _)| version))
    }
}

impl Outcome {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match &self.result {
            Ok(answer) => answer.status,
            Err(problem) => problem.status,
        }
    }

    /// JSON: the answer, or the problem. Empty where the status is 204.
    pub fn body(&self) -> String {
        match &self.result {
            Ok(answer) => answer.body.clone(),
            Err(problem) => {
                let mut body = String::new();
                problem.write(PROBLEM_BASE, self.contract.as_deref(), &mut body);
                body
            }
        }
    }
}

/// Makes the answer of a `return`.
pub(crate) fn answer(frame: &Frame<'_>, op: &ReturnOp) -> Result<Answer, Fault> {
    if op.status == NO_CONTENT {
        let (body, etag, found_at) = (String::new(), None, None);
        return Ok(Answer { status: op.status, body, etag, found_at });
    }
    let mut body = String::with_capacity(256);
    body.push('{');
    let bound = op.binding.map(|id| &frame.bound[id]);
    match bound {
        Some(Bound::Item(item)) => write_members(item, &op.shown, &mut body),
        Some(Bound::Page(page)) => {
            body.push_str("\"items\":");
            match &op.kinds {
                None => write_items(page, &op.shown, &mut body),
                Some(kinds) => write_kinds(page, kinds, &mut body)?,
            }
            write_cursor(page, &mut body);
        }
        // What is on the first page is not on the others.
        Some(Bound::Nothing) if op.next.is_some() => {}
        None => {}
        Some(_) => return Err(Fault::bug("what is returned is neither an item nor a page")),
    }
    if let Some(next) = op.next {
        write_cursor(page(frame, next)?, &mut body);
    }
    for (shown, beside) in &op.with {
        match beside {
            Beside::Value(code) => {
                if let Some(value) = frame.value(code)? {
                    write_member(shown, &value, &mut body);
                }
            }
            Beside::List(list, of_each) => {
                write_name(shown, &mut body);
                write_items(page(frame, *list)?, of_each, &mut body);
            }
        }
    }
    body.push('}');
    let etag = etag(bound, &op.tag, &body)?;
    let found_at = op.at.as_ref().map(|pieces| path(frame, pieces)).transpose()?;
    Ok(Answer { status: op.status, body, etag, found_at })
}

/// The `ETag` of a body.
fn etag(bound: Option<&Bound>, tag: &Tag, body: &str) -> Result<Option<String>, Fault> {
    let Some(Bound::Item(item)) = bound else {
        return match tag {
            Tag::None => Ok(None),
            _ => Err(Fault::bug("a version is told of no item")),
        };
    };
    let (counter, hashed) = match tag {
        Tag::None => return Ok(None),
        Tag::Counter(counter) => (counter, false),
        Tag::CounterAndBody(counter) => (counter, true),
        Tag::CounterOfFirst(counter) => (counter, item.get(INCARNATION_ATTRIBUTE).is_some()),
    };
    let version = item.get(counter).and_then(Value::as_number);
    let version = version.ok_or_else(|| Fault::bug("an item has no version to tell"))?;
    if !hashed {
        return Ok(Some(format!("\"{version}\"")));
    }
    let hash = Sha256::digest(body);
    let hash = hash.first_chunk::<HASH_BYTES>();
    let hash = hash.ok_or_else(|| Fault::bug("a hash is shorter than its part"))?;
    Ok(Some(format!("\"{version}-{}\"", BASE64.encode(hash))))
}

/// Writes the attributes that are there.
fn write_members(item: &Item, shown: &[Shown], out: &mut String) {
    for shown in shown {
        if let Some(value) = item.get(&shown.attribute) {
            write_member(shown, value, out);
        }
    }
}

/// Writes the items of a page, of one entity.
fn write_items(page: &ItemPage, shown: &[Shown], out: &mut String) {
    out.push('[');
    for (at, item) in page.items.iter().enumerate() {
        out.push_str(if at == 0 { "{" } else { ",{" });
        write_members(item, shown, out);
        out.push('}');
    }
    out.push(']');
}

/// Writes the items of a page, each with its type.
fn write_kinds(page: &ItemPage, kinds: &Kinds, out: &mut String) -> Result<(), Fault> {
    out.push('[');
    for (at, item) in page.items.iter().enumerate() {
        let kind = item.get(&kinds.discriminator.attribute);
        let shown = kinds.shown.iter().find(|(own, _)| Some(own) == kind);
        let (kind, shown) = shown.ok_or_else(|| Fault::bug("an item of no type is returned"))?;
        out.push_str(if at == 0 { "{" } else { ",{" });
        write_member(&kinds.discriminator, kind, out);
        write_members(item, shown, out);
        out.push('}');
    }
    out.push(']');
    Ok(())
}

/// Writes where a page goes on.
fn write_cursor(page: &ItemPage, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push_str("\"nextCursor\":");
    match &page.next {
        Some(cursor) => json::write_text(cursor, out),
        None => out.push_str("null"),
    }
}

/// The items of a name.
fn page<'a>(frame: &'a Frame<'_>, binding: BindingId) -> Result<&'a ItemPage, Fault> {
    match &frame.bound[binding] {
        Bound::Page(page) => Ok(page),
        _ => Err(Fault::bug("a list is shown of what is none")),
    }
}

fn write_name(shown: &Shown, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push_str(&shown.member);
}

fn write_member(shown: &Shown, value: &Value, out: &mut String) {
    write_name(shown, out);
    json::write(&shown.form.shown(value), out);
}

/// A path, its values percent-encoded.
fn path(frame: &Frame<'_>, pieces: &[Piece]) -> Result<String, Fault> {
    let mut path = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => path.push_str(text),
            Piece::Value(code, format) => {
                let value = frame.value(code)?;
                let value = value.ok_or_else(|| Fault::bug("a part of a path is absent"))?;
                let mut text = Text::default();
                push(&mut text, &value, *format)?;
                encode(&text, &mut path);
            }
        }
    }
    Ok(path)
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
