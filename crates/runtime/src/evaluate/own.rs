//! Expressions over the attributes of one item, outside of a call.

use latchkey_model::model::IdVec;
use latchkey_table::{Item, Value};

use super::{Elements, Fault, Found, Frame, Values};
use crate::call::Caller;
use crate::plan::Code;

/// What an expression makes of the attributes of an item, and of nothing else.
pub(crate) fn of_item(code: &Code, item: &Item) -> Result<Option<Value>, Fault> {
    let nobody = Caller::default();
    let frame = Frame {
        caller: &nobody,
        caller_id: Value::Text(nobody.id.clone()),
        now: None,
        inputs: IdVec::default(),
        new_values: Vec::new(),
        incarnation: None,
        commits: 0,
        told: Vec::new(),
        bound: IdVec::default(),
        assumed: Vec::new(),
        found: Found::default(),
        own: Some(item.clone()),
        elements: Elements::default(),
    };
    Ok(frame.value(code)?.map(|value| value.into_owned()))
}
