//! Turns the parts of a request into the inputs of a call.

use latchkey_runtime::model::{Place, Segment};
use latchkey_runtime::{ContractInfo, FieldError, Problem, RawInput};
use latchkey_table::{Text, Value};
use latchkey_value::json::{self, JsonError};

use crate::router::{Bad, Decoded, query};

/// How much of a pointer an answer shows.
const POINTER_CHARS_MAX: usize = 200;

/// The inputs of a call.
pub(crate) type Inputs = Vec<(Text, RawInput)>;

/// Takes the inputs of the path.
pub(crate) fn from_path(contract: &ContractInfo, parameters: Vec<Decoded<'_>>) -> Inputs {
    let names = contract.path.iter().filter_map(|segment| match segment {
        Segment::Input(input) => Some(contract.inputs[*input].name.clone()),
        Segment::Literal(_) => None,
    });
    names.zip(parameters.into_iter().map(given)).collect()
}

fn given(text: Decoded<'_>) -> RawInput {
    text.map_or(RawInput::Undecodable, |text| RawInput::Text(Text::from(text)))
}

/// Takes the inputs of the query string.
pub(crate) fn from_query(
    contract: &ContractInfo,
    text: &str,
    inputs: &mut Inputs,
) -> Result<(), Problem> {
    for (name, value) in query(text) {
        let name = name.map_err(|bad: Bad| Problem::bad(format!("the query string: {bad}")))?;
        let place = contract.inputs.iter().find(|input| input.name == *name);
        let value = match place.map(|input| input.place) {
            Some(Place::Body) => RawInput::Misplaced("belongs in the body"),
            Some(Place::Path) => RawInput::Misplaced("belongs in the path alone"),
            Some(Place::Query | Place::Message | Place::Record) | None => given(value),
        };
        inputs.push((Text::from(name), value));
    }
    Ok(())
}

/// Takes the inputs of the body.
pub(crate) fn from_body(
    contract: &ContractInfo,
    body: &[u8],
    inputs: &mut Inputs,
) -> Result<(), Problem> {
    let value = json::read(body, json::Limits::default()).map_err(|error| unreadable(&error))?;
    let Value::Map(map) = value else {
        // The pointer to the whole of a document is empty.
        let (pointer, detail) = (String::new(), "must be a JSON object".to_owned());
        let mut problem = Problem::bad("the body must be a JSON object");
        problem.errors.push(FieldError { pointer, detail });
        return Err(problem);
    };
    for (name, value) in map {
        let place = contract.inputs.iter().find(|input| input.name == name);
        let value = match place.map(|input| input.place) {
            Some(Place::Query) => RawInput::Misplaced("belongs in the query string"),
            Some(Place::Path) => RawInput::Misplaced("belongs in the path alone"),
            None if contract.paged => RawInput::Misplaced("is not a field of the body"),
            Some(Place::Body | Place::Message | Place::Record) | None => RawInput::Json(value),
        };
        inputs.push((name, value));
    }
    Ok(())
}

fn unreadable(error: &JsonError) -> Problem {
    let pointer = error.pointer.chars().take(POINTER_CHARS_MAX).collect();
    let field = FieldError { pointer, detail: error.to_string() };
    let mut problem = Problem::bad(format!("the body is not JSON that can be read: {error}"));
    problem.errors.push(field);
    problem
}
