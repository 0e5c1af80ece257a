//! Items that end: from its end on an item counts as absent, whether or not it has been removed.
//!
//! An item ends at the instant in one of its attributes. Beside it stands the table's `ttl`, in seconds, by which a store
//! removes the item some time later. No read and no condition looks at that, except for the records of calls, which
//! have no other end.

use latchkey_table::{Comparator, Condition, Item, Operand, Path, Text, Value};

use crate::time;

/// The attribute that holds the end of the items of an entity.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) attribute: Text,
    /// Whether an item may be without an end.
    pub(crate) optional: bool,
}

impl End {
    /// Whether an item has ended by an instant, which is written as the end is: such texts sort as instants do.
    pub(crate) fn is_past(&self, item: &Item, now: &Value) -> bool {
        match (item.get(&self.attribute), now) {
            (Some(Value::Text(end)), Value::Text(now)) => end <= now,
            // No end, or one that is no text: what the item is then, its shape says.
            _ => false,
        }
    }

    /// That the stored item has ended. An item without the attribute has not.
    pub(crate) fn is_over<V>(&self, now: V) -> Condition<V> {
        over(&self.attribute, now)
    }

    /// That the stored item has not ended.
    pub(crate) fn is_ahead<V>(&self, now: V) -> Condition<V> {
        let path = || Path::attribute(self.attribute.clone());
        let ahead =
            Condition::Compare(Operand::Path(path()), Comparator::Greater, Operand::Value(now));
        match self.optional {
            true => Condition::Or(vec![Condition::Absent(path()), ahead]),
            false => ahead,
        }
    }
}

/// That what an attribute holds is not after a value.
pub(crate) fn over<V>(attribute: &str, now: V) -> Condition<V> {
    let end = Operand::Path(Path::attribute(attribute));
    Condition::Compare(end, Comparator::LessOrEqual, Operand::Value(now))
}

/// The first whole second that is not before an end; nothing if the text is no instant.
pub(crate) fn second_of(end: &str) -> Option<i64> {
    let end = time::parse(end)?;
    Some(end.div_euclid(1000) + i64::from(end.rem_euclid(1000) > 0))
}

#[cfg(test)]
mod tests {
    use latchkey_table::{Item, Text, Value, holds};

    use super::{End, second_of};

    fn item(end: Option<&str>) -> Item {
        end.map(|end| (Text::from("endsAt"), Value::from(end))).into_iter().collect()
    }

    #[test]
    fn an_item_ends_at_its_end_and_not_a_millisecond_before() {
        let now = Value::from("2026-02-25T10:00:00.000Z");
        let cases = [
            (Some("2026-02-25T09:59:59.999Z"), true),
            (Some("2026-02-25T10:00:00.000Z"), true),
            (Some("2026-02-25T10:00:00.001Z"), false),
            (None, false),
        ];
        for optional in [true, false] {
            let end = End { attribute: Text::const_new("endsAt"), optional };
            for (at, past) in cases {
                let item = item(at);
                assert_eq!(end.is_past(&item, &now), past, "{at:?}");
                assert_eq!(holds(&end.is_over(now.clone()), Some(&item)), past, "{at:?}");
                // An item that must have an end and has none is damaged: no condition takes it for a good one.
                let ahead = !past && (at.is_some() || optional);
                assert_eq!(holds(&end.is_ahead(now.clone()), Some(&item)), ahead, "{at:?}");
            }
        }
    }

    #[test]
    fn an_item_is_removed_no_second_before_its_end() {
        assert_eq!(second_of("1970-01-01T00:00:07.000Z"), Some(7));
        assert_eq!(second_of("1970-01-01T00:00:07.001Z"), Some(8));
        assert_eq!(second_of("1969-12-31T23:59:58.500Z"), Some(-1));
        assert_eq!(second_of("soon"), None);
    }
}
