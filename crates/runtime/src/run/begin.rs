//! The begin of a call: it reads the inputs and the `Idempotency-Key`, and makes the `new` values.

use latchkey_model::model::Method;
use latchkey_table::{Number, Text, Value};

use super::{Ended, Session};
use crate::call::IfMatch;
use crate::draw::KEY_BYTES;
use crate::evaluate::{Fault, Inputs, Values};
use crate::idempotency::{KEY_CHARS_MAX, Named};
use crate::input;
use crate::plan::{Code, New};
use crate::problem::{FieldError, Problem};

impl Session<'_> {
    /// Reads the inputs, and fixes what must not change while the contract runs again.
    pub(super) fn begin(
        &mut self,
        inputs: Vec<(Text, crate::call::RawInput)>,
        if_match: Option<IfMatch>,
        key: Option<&str>,
        now: i64,
    ) -> Result<(), Ended> {
        let contract = self.call.contract;
        let safe = contract.info.method == Some(Method::Get);
        if if_match.is_some() && contract.version_input.is_none() && !safe {
            let detail = "this contract has no version to match; leave `If-Match` out";
            return Err(Ended::Refused(Problem::bad(detail)));
        }
        if contract.needs_key && key.is_none() {
            let detail = "this call needs an `Idempotency-Key`; send a new one for each new call, and the same one \
                          when you try again";
            let problem = Problem::new(400, "idempotency-key-missing", detail);
            return Err(Ended::Refused(problem));
        }
        let versioned = contract.version_input.filter(|_| if_match.is_some());
        let typed = input::read(contract, inputs, versioned).map_err(Ended::Refused)?;
        if let Some(input) = versioned.filter(|input| typed.given[*input].is_some()) {
            let detail = "is given in `If-Match` too; give it once";
            let wrong = vec![FieldError::named(&contract.inputs[input].name, detail)];
            return Err(Ended::Refused(Problem::invalid(wrong)));
        }
        if contract.info.method == Some(Method::Post)
            && let Some(key) = key
        {
            let key = bare(key)?;
            if contract.info.open && contract.idempotent_by.is_none() {
                let detail = "anyone may call this, so no record is kept of whose call it was; leave \
                              `Idempotency-Key` out";
                return Err(Ended::Refused(Problem::bad(detail)));
            }
            let named = || self.name(key, &typed.given, if_match.as_ref(), now);
            self.call.named = contract.takes_names.then(named);
        }
        self.call.if_match = if_match.filter(|_| versioned.is_some());
        self.call.page_size = typed.page_size;
        self.call.cursor = typed.cursor;
        self.make_values(now)?;
        self.frame.inputs = typed.given;
        self.stand_in()?;
        for (id, input) in contract.inputs.enumerate() {
            let constant = matches!(&input.default, None | Some(Code::Constant(_)));
            let given = self.frame.given(id).is_some();
            if let Some(code) = input.default.as_ref().filter(|_| !given) {
                let value = self.frame.value(code)?.map(|value| value.into_owned());
                if let (Some(value), false) = (&value, constant) {
                    input::fits(input, value).map_err(Ended::Refused)?;
                }
                self.frame.inputs[id] = value;
            }
            if contract.paging.is_some() {
                // What is made anew in every call cannot bind the next.
                let sealed = if given || constant { self.frame.given(id).cloned() } else { None };
                self.call.sealed_inputs.push(sealed);
            }
        }
        Ok(())
    }

    /// A version in `If-Match` is one that the caller has given: a test whether it is there holds. Which of several it is,
    /// the `match` says.
    fn stand_in(&mut self) -> Result<(), Fault> {
        let Some(tags) = &self.call.if_match else { return Ok(()) };
        let first = match tags {
            IfMatch::OneOf(versions) => versions.first().copied(),
            IfMatch::Any => None,
        };
        *self.version_place()? = Some(Value::Number(first.unwrap_or(Number::ZERO)));
        Ok(())
    }

    fn name(&self, key: &str, given: &Inputs, if_match: Option<&IfMatch>, now: i64) -> Named {
        let caller = &self.frame.caller.id;
        let tag = if_match.map(|tag| format!("{tag:?}")).unwrap_or_default();
        Named::new(self.call.system, self.call.contract, caller, given, &tag, key, now)
    }

    /// What `new` makes is made once.
    pub(super) fn make_values(&mut self, now: i64) -> Result<(), Ended> {
        for new in &self.call.contract.new_values {
            let value = match new {
                New::Key => Value::Bytes(self.random::<KEY_BYTES>()?.to_vec()),
                New::Ulid => Value::Text(self.ulid(now)?),
            };
            self.frame.new_values.push(value);
        }
        if self.call.contract.incarnates {
            self.frame.incarnation = Some(self.ulid(now)?);
        }
        Ok(())
    }

    fn ulid(&self, now: i64) -> Result<Text, Ended> {
        // No ULID is of an instant before 1970.
        let milliseconds = u64::try_from(now).map_err(|_| Fault::OutOfRange)?;
        let ulid = self.call.runtime.ulids.next(milliseconds, self.random()?);
        Ok(ulid.to_string().as_str().into())
    }

    /// Bytes nobody can guess.
    pub(super) fn random<const N: usize>(&self) -> Result<[u8; N], Ended> {
        let mut random = [0; N];
        match self.call.runtime.source.random(&mut random) {
            Ok(()) => Ok(random),
            Err(error) => {
                tracing::error!(%error, "no random bytes are available");
                let detail = "no random bytes are available; try again in a moment";
                Err(Ended::Refused(Problem::later("store-unavailable", detail)))
            }
        }
    }
}

/// An `Idempotency-Key` without its quotes, which stand at both ends or at neither. The OpenAPI document has the same as
/// a pattern.
fn bare(key: &str) -> Result<&str, Ended> {
    let quoted = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    let at_an_end = |c: char| matches!(c, '"' | ' ');
    let bare = quoted
        .or_else(|| (!key.starts_with(at_an_end) && !key.ends_with(at_an_end)).then_some(key));
    let fits = |bare: &&str| {
        let visible = bare.bytes().all(|b| (b' '..=b'~').contains(&b));
        !bare.is_empty() && bare.len() <= KEY_CHARS_MAX && visible
    };
    bare.filter(fits).ok_or_else(|| {
        let detail = format!(
            "`Idempotency-Key` must have 1 to {KEY_CHARS_MAX} visible characters, with quotes around them or without"
        );
        Ended::Refused(Problem::bad(detail))
    })
}
