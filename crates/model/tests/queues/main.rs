//! Queues, sends, workers, steps and functions: what the check says of them.

mod functions;
mod messages;
mod steps;

use latchkey_language::{Level, Rule};
use latchkey_model::check;

const AROUND: &str = include_str!("../around.md");

const PACKER: &str = "\
worker W-1 \"Pack\" {
  on packing { orderId, hint }
  BODY
  consistency strong
  expect 1 item
  rate 1/s
}";

/// What a document says that has these declarations too, each as its rule and message.
fn told(more: &str) -> Vec<String> {
    let text = format!("{AROUND}\n```contract\n{more}\n```\n");
    check(&text)
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|d| format!("{}: {}", d.rule, d.message))
        .collect()
}

/// The rules that a worker with these statements breaks.
fn broken(body: &str) -> Vec<String> {
    // What it is given is used, whatever it does.
    let body = format!("when hint is present and hint == orderId {{ done }}\n{body}");
    let told = told(&PACKER.replace("BODY", &body));
    let mut rules: Vec<String> =
        told.iter().map(|one| one.split(':').next().unwrap_or_default().to_owned()).collect();
    rules.dedup();
    rules
}

/// What a contract with this transaction says, beside a worker that does nothing.
fn sending(legs: &str) -> Vec<String> {
    let worker = PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone");
    told(&format!(
        "{worker}\ncontract S-1 \"Send\" {{\n  POST /orders/{{orderId}}/pack\n  input sku id\n  allow caller is clerk\n  \
         order = get Order strong else 404 not-found\n  when sku == order.sku {{ return order }}\n  transact {{\n{legs}\n  }}\n  return order\n  \
         consistency strong\n  expect 1 item\n  rate 1/s\n}}"
    ))
}

#[test]
fn what_stands_around_is_clean_with_a_worker() {
    assert_eq!(broken("done"), [""; 0]);
    assert_eq!(sending("check order if unchanged else retry"), [""; 0]);
}

const READ: &str = "order = get Order strong else done\n";

#[test]
fn what_repeats_needs_something_that_happens_once() {
    let repeating = [
        ("adds", "upsert Count(shard = shard(orderId, 16)) add PACKED = 1"),
        ("counts down", "update Stock(sku = orderId) set left = .left - 1 if .left > 0 else later"),
        (
            "makes something new",
            "put Line { orderId, at = order.packedAt, lineId = new ulid } if absent else later",
        ),
        ("is made now", "put Line { orderId, at = now, lineId = orderId } if absent else later"),
        (
            "is made when it was sent",
            "put Line { orderId, at = message.sentAt, lineId = orderId } if absent else later",
        ),
        ("is sent", "send mails { orderId }"),
    ];
    for (what, leg) in repeating {
        let present = "require order.packedAt is present else later\n";
        let pin = "check order if unchanged else later";
        let loose = format!("{READ}{present}transact {{\n{leg}\n{pin}\n}}\ndone");
        assert_eq!(broken(&loose), ["not-idempotent"], "{what}");
        for once in [
            "put Done { orderId } if absent else done",
            "update order set state = PACKED, version = .version + 1 if unchanged and .state == OPEN else later",
            "update order set packed = true, version = .version + 1 if unchanged and .packed == false else later",
        ] {
            let pin = if once.starts_with("put") { pin } else { "" };
            let closed = format!("{READ}{present}transact {{\n{once}\n{leg}\n{pin}\n}}\ndone");
            assert_eq!(broken(&closed), [""; 0], "{what}, with {once}");
        }
    }
}

#[test]
fn a_test_on_the_way_closes_what_its_own_transaction_turns() {
    let add = "upsert Count(shard = shard(orderId, 16)) add PACKED = 1";
    let update = |set: &str| {
        format!(
            "transact {{\nupdate order set {set}, version = .version + 1 if unchanged else later\n{add}\n}}\ndone"
        )
    };
    let cases = [
        ("the status moves on", "when order.state != OPEN { done }", "state = PACKED", true),
        (
            "it is one of those that end",
            "when order.state in (PACKED, SHIPPED, DEAD) { done }",
            "state = PACKED",
            true,
        ),
        ("it is marked", "when order.packed { done }", "packed = true", true),
        ("it is marked otherwise", "require not order.packed else done", "packed = true", true),
        ("it is dated", "when order.packedAt is present { done }", "packedAt = now", true),
        ("it is marked as it was", "when order.packed { done }", "packed = false", false),
        ("what it asks is not what it sets", "when order.packed { done }", "note = \"x\"", false),
        ("it asks nothing", "", "packed = true", false),
        ("the other way round", "when order.state == PACKED { later }", "packed = true", false),
    ];
    for (what, test, set, closed) in cases {
        let expected: &[&str] = if closed { &[] } else { &["not-idempotent"] };
        assert_eq!(broken(&format!("{READ}{test}\n{}", update(set))), expected, "{what}");
    }
}

#[test]
fn a_leg_that_happens_once_closes_what_happens_with_it() {
    // The mark is made only sometimes, and what is added always.
    let sometimes = format!(
        "{READ}transact {{\nwhen order.packed {{ put Done {{ orderId }} if absent else done }}\n\
         upsert Count(shard = 1) add PACKED = 1\ncheck order if unchanged else later\n}}\ndone"
    );
    assert_eq!(broken(&sometimes), ["not-idempotent"]);
    // Here what is added is added only where the mark is made.
    let together = format!(
        "{READ}transact {{\nwhen order.packed {{ put Done {{ orderId }} if absent else done\n\
         upsert Count(shard = 1) add PACKED = 1 }}\ncheck order if unchanged else later\n}}\ndone"
    );
    assert_eq!(broken(&together), [""; 0]);
    // A key that is another each time is never taken.
    let moving = format!(
        "{READ}transact {{\nput Line {{ orderId, at = now, lineId = orderId }} if absent else done\n\
         upsert Count(shard = 1) add PACKED = 1\ncheck order if unchanged else later\n}}\ndone"
    );
    assert_eq!(broken(&moving), ["not-idempotent"]);
}

#[test]
fn what_may_run_twice_without_harm_is_let_through() {
    for body in [
        "put Done { orderId } replace\ndone",
        "delete Done\ndone",
        "order = get Order strong else done\nupdate order set note = \"packed\", version = .version + 1 if unchanged else retry\ndone",
        "order = get Order strong else done\nparcels = order.parcels\nupdate order set parcels = 3, version = .version + 1 if unchanged and .parcels == parcels else later\ndone",
    ] {
        assert_eq!(broken(body), [""; 0], "{body}");
    }
    let counted = "order = get Order strong else done\nnext = order.parcels + 1\n\
                   update order set parcels = next, version = .version + 1 if unchanged else later\ndone";
    assert_eq!(broken(counted), ["not-idempotent"], "what was read is what is stored");
}

#[test]
fn a_worker_is_held_to_the_rules_of_contracts() {
    let cases = [
        (
            "unpinned",
            format!(
                "{READ}when order.packed {{ done }}\nput Done {{ orderId }} if absent else done\ndone"
            ),
        ),
        (
            "illegal-move",
            format!(
                "{READ}update order set state = SHIPPED, version = .version + 1 if unchanged else later\ndone"
            ),
        ),
        (
            "moving-index-key",
            format!(
                "{READ}update order set packedAt = now, version = .version + 1 if unchanged else later\ndone"
            ),
        ),
        (
            "missing-bump",
            format!("{READ}update order set note = \"x\" if unchanged else later\ndone"),
        ),
        (
            "unmapped-failure",
            format!(
                "{READ}update order set note = \"x\", version = .version + 1 if unchanged\ndone"
            ),
        ),
        (
            "eventual-decision",
            "order = get Order else done\nwhen order.packed { done }\ndone".to_owned(),
        ),
        ("blind-put", "put Done { orderId }\ndone".to_owned()),
    ];
    for (rule, body) in cases {
        let broken = broken(&body);
        assert!(broken.iter().any(|other| other == rule), "{rule}: {broken:?}");
    }
}

#[test]
fn a_worker_answers_nobody() {
    let cases = [
        ("return order", "nobody calls this, so there is nothing to `return`"),
        ("allow true\ndone", "nobody calls this, so there is nothing to `allow`"),
        (
            "match order.version == 1 else later\ndone",
            "nobody calls this, so there is nothing to `match`",
        ),
        (
            "require order.packed else 404 not-found\ndone",
            "nobody calls this, so there is nothing to `answer`",
        ),
        ("require order.ownerId == caller.id else done\ndone", "there is no caller here"),
        ("require caller is clerk else done\ndone", "there is no caller here"),
        ("x = order.note is present", "the worker has no end"),
        ("on dead { fail NO_WAY }\ndone", "nothing comes behind this that could see it fail"),
        ("x = sent.at\ndone", "there is no name `sent`"),
        ("x = failure.code\ndone", "there is no name `failure`"),
        ("x = message.body\ndone", "there is no part of `message` named `body`"),
        (
            "input x id\ndone",
            "a worker has no route, and its inputs are the fields of its messages",
        ),
    ];
    for (body, message) in cases {
        let said = told(&PACKER.replace(
            "BODY",
            &format!("require hint is present and hint != orderId else done\n{READ}{body}"),
        ));
        assert!(said.iter().any(|one| one.ends_with(message)), "{body}: {said:?}");
    }
    let contract = sending("check order if unchanged else later");
    assert!(
        contract[0].contains("a caller waits for an answer, and `later` is none"),
        "{contract:?}"
    );
}

#[test]
fn a_queue_is_used_and_its_settings_are_within_bounds() {
    let worker = PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone");
    let cases = [
        ("queue lost { x id }", "unused: nothing is sent to the queue `lost`"),
        ("queue packing { x id }", "name: queue `packing` is declared twice"),
        ("queue lost { lease 500ms }", "type: `500ms` is not a lease"),
        ("queue lost { lease 13h }", "type: `13h` is not a lease"),
        ("queue lost { tries 0 }", "type: `0` is not a number of tries"),
        ("queue lost { lease 1s\nlease 2s }", "name: a queue says this once"),
        (
            "queue lost { x id = new ulid }",
            "type: a field of a message has no default: the sender gives it",
        ),
        ("queue lost { x key }", "type: a message keeps no secrets"),
        ("queue lost ordered by y { x id }", "name: there is no field of `lost` named `y`"),
        (
            "queue lost ordered by x { x id? }",
            "type: `x` may be absent, so a message may have no group",
        ),
        (
            "queue lost ordered by x { x text(20) }",
            "type: a queue cannot be ordered by `x`, a field of type `text(20)`",
        ),
        (
            "queue lost ordered by x { x time }",
            "type: a queue cannot be ordered by `x`, a field of type `time`",
        ),
        (
            "queue lost { x map(200000, 5) }",
            "item-size: a message of `lost` can have 1800024 bytes as it is sent; the most is 262144",
        ),
        (&worker.replace("W-1", "W-2"), "name: a second worker of one queue"),
        (&worker.replace("W-1", "O-1"), "name: worker `O-1` is declared twice"),
        ("worker W-3 \"x\" { done }", "name: the worker is on no queue"),
    ];
    for (more, message) in cases {
        let said = told(&format!("{worker}\n{more}"));
        assert!(said.iter().any(|one| one == message), "{more}: {said:?}");
    }
    let said = told(
        &PACKER
            .replace(", hint }", " }")
            .replace("BODY", "put Done { orderId } if absent else done\ndone"),
    );
    assert_eq!(said, ["unused: no worker asks for `hint` of `packing`"]);
}

#[test]
fn a_queue_is_ordered_by_a_field_that_no_worker_need_ask_for() {
    let around = AROUND.replace(
        "queue packing { orderId id, hint id? }",
        "queue packing ordered by orderId { orderId id }",
    );
    assert_ne!(around, AROUND);
    let worker = PACKER.replace("orderId, hint", "").replace("BODY", "done");
    let checked = check(&format!("{around}\n```contract\n{worker}\n```\n"));
    let told: Vec<String> = checked
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|d| d.message.clone())
        .collect();
    assert_eq!(told, [""; 0]);
    let packing = checked.model.queues.iter().find(|queue| queue.name == "packing").unwrap();
    assert_eq!(packing.group().unwrap().name, "orderId");
    for kind in ["id", "ulid", "NORTH | SOUTH"] {
        let said = told_of_order(kind);
        assert!(!said.iter().any(|one| one.contains("ordered")), "{kind}: {said:?}");
    }
}

fn told_of_order(kind: &str) -> Vec<String> {
    told(&format!("queue lost ordered by x {{ x {kind} }}"))
}
