//! Writes that are too long for DynamoDB, found before there is a call.

use latchkey_table::render::{Query, Scan, expression_bytes};
use latchkey_value::limits::EXPRESSION_BYTES_MAX;

use super::scope::{Bound, Symbolic};
use super::words::Words;
use crate::evaluate::{Fault, Values};
use crate::plan::{Contract, Leg, LegNode, Op, Planned, QueryOp, System, Unplanned};
use crate::request::Filler;

/// Refuses a contract of which a write has a longer condition, or a longer list of changes, than DynamoDB takes. Each
/// write is filled with names in the place of values: only the number of values decides how long it is.
pub(crate) fn check_expression_size(system: &System, contract: &Contract) -> Planned<()> {
    let words = Words { system, contract };
    let mut scope = Symbolic::new(words);
    for (binding, _) in contract.bindings.enumerate() {
        scope.bind_item(Some(binding));
    }
    for op in &contract.program {
        match op {
            Op::Let(binding, code) => {
                let value = scope.value(code).map_err(|fault| unfilled(&fault))?;
                let value = value.map(|value| value.into_owned());
                scope.bind(*binding, value.map_or(Bound::Nothing, Bound::Value));
            }
            Op::Write(leg) => check_leg(&scope, leg)?,
            Op::Query(op) => check_filter(&scope, op)?,
            Op::Transact(op) => check_legs(&mut scope, &op.legs)?,
            _ => {}
        }
    }
    Ok(())
}

fn unfilled(fault: &Fault) -> Unplanned {
    Unplanned::new(format!("a request cannot be filled: {fault:?}"))
}

fn check_legs(scope: &mut Symbolic<'_>, nodes: &[LegNode]) -> Planned<()> {
    nodes.iter().try_for_each(|node| match node {
        LegNode::Leg(leg) => check_leg(scope, leg),
        LegNode::Send(send) => {
            let mut behind = [&send.accepted, &send.refused].into_iter().flatten();
            behind.try_for_each(|contract| check_expression_size(scope.words.system, contract))
        }
        LegNode::When(_, then, otherwise) => {
            check_legs(scope, then)?;
            check_legs(scope, otherwise)
        }
        LegNode::Each(each) => {
            scope.bind_element(&each.source);
            check_legs(scope, &each.body)
        }
    })
}

/// Refuses a filter that is longer than DynamoDB takes.
fn check_filter(scope: &Symbolic<'_>, op: &QueryOp) -> Planned<()> {
    if op.keep.is_empty() {
        return Ok(());
    }
    let filler = Filler { system: scope.words.system, scope };
    let rendered = || {
        if op.partition.is_none() {
            return Ok(filler.index_scan(op)?.map(|scan| Scan::of(&scan).map(|scan| scan.filter)));
        }
        Ok(filler.query(op)?.map(|query| Query::of(&query).map(|query| query.filter)))
    };
    let ways = scope.ways(rendered).map_err(|fault| unfilled(&fault))?;
    for filter in ways.into_iter().filter_map(|way| way.made) {
        let wrong = match filter.map(|filter| filter.map_or(0, |filter| filter.len())) {
            Ok(bytes) if bytes <= EXPRESSION_BYTES_MAX => continue,
            Ok(bytes) => {
                format!("an expression of {bytes} bytes; the most is {EXPRESSION_BYTES_MAX}")
            }
            Err(invalid) => invalid.to_string(),
        };
        let what = format!("a filter is more than DynamoDB takes: {wrong}");
        return Err(Unplanned::limit(what, "test fewer attributes in one filter"));
    }
    Ok(())
}

fn check_leg(scope: &Symbolic<'_>, leg: &Leg) -> Planned<()> {
    let filler = Filler { system: scope.words.system, scope };
    let ways = scope.ways(|| filler.leg(leg)).map_err(|fault| unfilled(&fault))?;
    for way in ways {
        let wrong = match expression_bytes(&way.made.leg) {
            Ok(bytes) if bytes <= EXPRESSION_BYTES_MAX => continue,
            Ok(bytes) => {
                format!("an expression of {bytes} bytes; the most is {EXPRESSION_BYTES_MAX}")
            }
            Err(invalid) => invalid.to_string(),
        };
        let entity = &scope.words.system.entities[leg.entity].name;
        let what = format!("a write of `{entity}` is more than DynamoDB takes: {wrong}");
        return Err(Unplanned::limit(what, "test or change fewer attributes in one write"));
    }
    Ok(())
}
