//! Functions and batches: what they take.

use super::*;

#[test]
fn functions_take_what_they_are_for() {
    let shown = |value: &str| {
        told(&format!(
            "{}\ncontract F-1 \"Show\" {{\nGET /show/{{orderId}}\nallow true\norder = get Order strong else 404 not-found\n\
             counts = get Count shard in 0..15 snapshot\nwhen order.drawKey is present {{\nx = {value}\nreturn order with {{ x }}\n}}\n\
             return order with {{ n = sum(counts.OPEN) }}\nconsistency strong\nexpect 1 item\nrate 1/s\n}}",
            PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone")
        ))
    };
    let fine = [
        "max(now, now + 1h)",
        "min(order.parcels, 3, 0.5)",
        "shard(orderId, 16)",
        "commitment(order.drawKey)",
        "reveal(order.drawKey)",
        "draw(order.drawKey, \"{orderId}#x\") < 0.5",
        "0.25 >= draw(order.drawKey, orderId)",
        "count(counts)",
    ];
    for value in fine {
        assert_eq!(shown(value), [""; 0], "{value}");
    }
    let wrong = [
        ("order.drawKey", "type: this is secret and never shown"),
        ("max(now)", "type: `max` does not take these"),
        ("max(now, 3)", "type: time and int have no order"),
        (
            "max(order.state, OPEN)",
            "type: OPEN | PACKED | SHIPPED | DEAD and OPEN | PACKED | SHIPPED | DEAD have no order",
        ),
        (
            "shard(orderId, 0)",
            "type: a shard is of a text, an id, a whole number, a time or a date, and one of a few",
        ),
        (
            "draw(order.drawKey, orderId)",
            "type: what is drawn compares with a number, and does nothing else",
        ),
        (
            "draw(order.drawKey, orderId) == 0.5",
            "type: what is drawn compares with a number, and does nothing else",
        ),
        (
            "draw(order.drawKey, orderId) < now",
            "type: what is drawn compares with a number, and does nothing else",
        ),
        ("draw(orderId, orderId) < 0.5", "type: this is id, and key is expected"),
        ("reveal(orderId)", "type: this is id, and key is expected"),
        ("count(order)", "type: this is neither a list nor a page nor a batch of items"),
        ("sum(counts)", "type: a sum is of an attribute"),
        ("count(counts by OPEN)", "type: `OPEN` is int, which has too many values to count by"),
        ("{ a = 1 }", "type: this can be shown, and nothing else"),
        ("frob(1)", "name: there is no function `frob`"),
    ];
    for (value, message) in wrong {
        let said = shown(value);
        assert!(said.iter().any(|one| one == message), "{value}: {said:?}");
    }
}

#[test]
fn a_batch_is_of_numbers_of_the_key() {
    let batch = |clause: &str| {
        told(&format!(
            "{}\ncontract F-1 \"Show\" {{\nGET /show/{{orderId}}\nallow true\norder = get Order strong else 404 not-found\n\
             counts = get Count {clause} strong\nreturn order with {{ n = sum(counts.OPEN) }}\nconsistency strong\nexpect 1 item\nrate 1/s\n}}",
            PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone")
        ))
    };
    assert_eq!(batch("shard in 3..7"), [""; 0]);
    let wrong = [
        ("shard in 0..16", "type: `shard` is int, and is never all of 0..16"),
        ("shard in 7..3", "type: `shard` is int, and is never all of 7..3"),
        ("shard in 0..", "type: a range of keys has two ends, both whole numbers"),
        ("OPEN in 0..3", "name: `OPEN` is not a part of the key"),
    ];
    for (clause, message) in wrong {
        let said = batch(clause);
        assert!(said.iter().any(|one| one == message), "{clause}: {said:?}");
    }
}
