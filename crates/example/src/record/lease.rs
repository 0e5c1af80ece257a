//! Leases of messages in recorded requests. A lease is a number that no two processes give, so each run has another; a
//! recording says what it is instead.

use super::HOUSEKEEPING;
use latchkey_table::{Condition, Leg, Operand, Request, Value};

/// The attribute of a message that has its lease.
const ATTRIBUTE: &str = "lease";

/// What stands for a lease.
const LEASE: &str = "(lease)";

/// Names the leases that the conditions of a transaction compare with.
pub(super) fn name_leases(request: &mut Request) {
    let Request::Transact(transact) = request else { return };
    for leg in &mut transact.legs {
        let (key, condition) = match leg {
            Leg::Delete(delete) => (&delete.key, delete.condition.as_mut()),
            Leg::Update(update) => (&update.key, update.condition.as_mut()),
            Leg::Check(check) => (&check.key, Some(&mut check.condition)),
            // No message is put under a condition on its lease.
            Leg::Put(_) => continue,
        };
        if key.partition.starts_with(HOUSEKEEPING) {
            condition.into_iter().for_each(name);
        }
    }
}

fn name(condition: &mut Condition) {
    match condition {
        Condition::And(all) | Condition::Or(all) => all.iter_mut().for_each(name),
        Condition::Not(inner) => name(inner),
        Condition::Compare(Operand::Path(path), _, Operand::Value(value))
            if path.root() == ATTRIBUTE =>
        {
            *value = Value::from(LEASE);
        }
        Condition::Compare(..)
        | Condition::Between(..)
        | Condition::In(..)
        | Condition::BeginsWith(..)
        | Condition::Contains(..)
        | Condition::Exists(_)
        | Condition::Absent(_)
        | Condition::HasType(..) => {}
    }
}
