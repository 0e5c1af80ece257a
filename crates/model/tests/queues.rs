//! Queues, sends, workers, steps and functions: what the check says of them.

use latchkey_model::check;

const AROUND: &str = include_str!("around.md");

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
    check(&text).diagnostics.iter().map(|d| format!("{}: {}", d.rule, d.message)).collect()
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
fn a_message_is_whole_and_of_its_types() {
    let cases = [
        ("send packing { orderId = order.token }", "absent: this may be absent here"),
        (
            "send packing { hint = sku }",
            "type: this sends a message to `packing` without `orderId`",
        ),
        ("send packing { orderId = now }", "type: this is time, and id is expected"),
        (
            "send packing { orderId, colour = sku }",
            "name: there is no field of `packing` named `colour`",
        ),
        ("send parking { orderId }", "name: there is no queue `parking`"),
        ("send packing { orderId } at sku", "type: this is id, and time is expected"),
        (
            "send packing { orderId } accepted { done }",
            "unmapped-failure: the queue may refuse this, and nothing says what then",
        ),
        (
            "send packing { orderId } refused { fail LOST }",
            "name: nothing comes behind this that could see it fail",
        ),
        (
            "send packing { orderId } accepted { update order set note = \"x\" else done } refused { done }",
            "name: there is no entity `order`",
        ),
    ];
    for (leg, message) in cases {
        let said = sending(&format!("{leg}\ncheck order if unchanged else retry"));
        assert!(said.iter().any(|one| one == message), "{leg}: {said:?}");
    }
    let alone = told(&format!(
        "{}\ncontract S-1 \"Send\" {{\n  POST /x/{{orderId}}\n  allow true\n  send packing {{ orderId }}\n  mark = get Done strong else 404 not-found\n  \
         return mark\n  consistency strong\n  expect 1 item\n  rate 1/s\n}}",
        PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone")
    ));
    assert!(alone.iter().any(|one| one == "name: a `send` is a leg of a transaction"), "{alone:?}");
}

#[test]
fn what_a_message_rests_on_is_held() {
    assert_eq!(
        sending("send packing { orderId, hint = order.ownerId }"),
        ["unpinned: this write rests on `order.sku`, which may no longer hold"]
    );
    assert_eq!(sending("send packing { orderId }\ncheck order if unchanged else retry"), [""; 0]);
}

#[test]
fn the_record_of_a_send_keeps_what_follows_needs() {
    let legs = "send packing { orderId } at now + 1h\n\
        accepted { again = get Order(orderId = order.orderId) strong else done\n\
          update again set note = \"{caller.id} {sku} {sent.at}\", version = .version + 1 if unchanged and .note is absent else later }\n\
        refused { put Done { orderId } if absent else done }\n\
        check order if unchanged else retry";
    assert_eq!(sending(legs), [""; 0]);
    let text = format!(
        "{AROUND}\n```contract\ncontract S-1 \"Send\" {{\nPOST /orders/{{orderId}}/pack\ninput sku id\n\
         order = get Order strong else 404 not-found\ntransact {{\n{legs}\n}}\nreturn order\n}}\n```\n"
    );
    let model = check(&text).model;
    let contract = model.contracts.iter().find(|contract| contract.id == "S-1").unwrap();
    let [send] = contract.sends()[..] else { panic!("one send") };
    assert_eq!(send.id, "S-1/packing");
    let kept: Vec<&str> = send.record.iter().map(|given| given.attribute.as_str()).collect();
    assert_eq!(kept, ["order.orderId", "caller.id", "sku", "orderId"]);
    let inputs = |block: &Option<Box<latchkey_model::model::Contract>>| -> Vec<String> {
        block.as_ref().unwrap().inputs.iter().map(|input| input.name.clone()).collect()
    };
    assert_eq!(inputs(&send.accepted), ["order.orderId", "caller.id", "sku"]);
    assert_eq!(inputs(&send.refused), ["orderId"]);
}

#[test]
fn what_follows_a_send_does_not_rest_on_what_was_then() {
    let said = sending(
        "send packing { orderId }\n\
         accepted { put Line { orderId, at = sent.at, lineId = order.sku } replace }\nrefused { done }\n\
         check order if unchanged else retry",
    );
    let stale = "unpinned: what follows this send rests on `order.sku` as it was then, which may no longer hold";
    assert!(said.iter().any(|one| one == stale), "{said:?}");
    let twice = "not-idempotent: run twice, this makes another `Line`, and nothing stops it";
    assert!(said.iter().any(|one| one == twice), "{said:?}");
}

const STEPS: &str = "\
steps packed(order Order, at time, to Order.state) {
  transact {
    update order set state = to, packedAt = at, version = .version + 1
      if unchanged and .state == OPEN and .packedAt is absent else later
    do counted(order.orderId)
  }
}
steps counted(orderId id) { upsert Count(shard = shard(orderId, 16)) add PACKED = 1, OPEN = -1 }
";

#[test]
fn steps_are_done_as_if_they_stood_there() {
    let with = |body: &str| {
        told(&format!(
            "{STEPS}{}",
            PACKER.replace(
                "BODY",
                &format!("require hint is absent or hint != orderId else done\n{READ}{body}")
            )
        ))
    };
    assert_eq!(with("do packed(order, now, PACKED)\ndone"), [""; 0]);
    let cases = [
        (
            "do packed(order, now, SHIPPED)\ndone",
            "illegal-move: this can move `state` from OPEN to SHIPPED, which is not declared",
        ),
        ("do packed(order, now)\ndone", "type: `packed` takes 3 values, and here are 2"),
        ("do packed(order, orderId, PACKED)\ndone", "type: this is id, and time is expected"),
        (
            "do packed(orderId, now, PACKED)\ndone",
            "type: the name of an item of `Order` is expected here",
        ),
        ("do unpacked(order)\ndone", "name: there is no steps named `unpacked`"),
    ];
    for (body, message) in cases {
        let said = with(body);
        assert!(said.iter().any(|one| one == message), "{body}: {said:?}");
    }
    assert!(with("done").iter().any(|one| one == "unused: nothing does the steps `packed`"));
}

#[test]
fn steps_end() {
    let worker = PACKER.replace(
        "BODY",
        "require hint is present and hint == orderId else done\ndo a(orderId)\ndone",
    );
    let said = told(&format!("steps a(x id) {{ do b(x) }}\nsteps b(x id) {{ do a(x) }}\n{worker}"));
    assert_eq!(said, ["name: `a` would do itself, without end"]);
    // Each doubles the one before.
    let mut text = String::from("steps s0(x id) { y = x }\n");
    for n in 1..40 {
        text += &format!("steps s{n}(x id) {{ do s{0}(x)\n do s{0}(x) }}\n", n - 1);
    }
    let worker = worker.replace("do a(", "do s39(");
    let said = told(&format!("{text}{worker}"));
    assert!(
        said.iter().any(|one| one == "name: a contract of more than 200 statements"),
        "{said:?}"
    );
}

#[test]
fn names_in_steps_are_their_own() {
    let body = "require hint is present and hint == orderId else done\ndo a(orderId)\ndone";
    let said = told(&format!("steps a(x id) {{ y = orderId }}\n{}", PACKER.replace("BODY", body)));
    assert_eq!(said, ["name: there is no name `orderId`"]);
}

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
            "type: a shard is of a text, an id, a whole number or a time, and one of a few",
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
        ("count(order)", "type: this is no page, nor a batch of items"),
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
        ("OPEN in 0..3", "name: `OPEN` is no part of the key"),
    ];
    for (clause, message) in wrong {
        let said = batch(clause);
        assert!(said.iter().any(|one| one == message), "{clause}: {said:?}");
    }
}

#[test]
fn a_queue_is_used_and_its_settings_are_within_bounds() {
    let worker = PACKER.replace("BODY", "when hint is present and hint == orderId { later }\ndone");
    let cases = [
        ("queue lost { x id }", "unused: nothing is sent to the queue `lost`"),
        ("queue packing { x id }", "name: queue `packing` is declared twice"),
        ("queue lost { lease 500ms }", "type: `500ms` is no lease"),
        ("queue lost { lease 13h }", "type: `13h` is no lease"),
        ("queue lost { tries 0 }", "type: `0` is no number of tries"),
        ("queue lost { lease 1s\nlease 2s }", "name: a queue says this once"),
        (
            "queue lost { x id = new ulid }",
            "type: a field of a message has no default: whoever sends it gives it",
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
    let told: Vec<String> = checked.diagnostics.iter().map(|d| d.message.clone()).collect();
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

#[test]
fn what_follows_a_send_is_conditional() {
    let following = |condition: &str| {
        sending(&format!(
            "check order if unchanged else retry\nsend packing {{ orderId }}\naccepted {{\n\
             update Order(orderId = orderId) set note = \"taken\", version = .version + 1{condition} else done\n}}\n\
             refused {{ done }}"
        ))
    };
    let wanted = "not-idempotent: what follows a send must be conditional".to_owned();
    assert!(following("").contains(&wanted), "{:?}", following(""));
    let conditional = following(" if .state == OPEN and .note is absent");
    assert!(!conditional.contains(&wanted), "{conditional:?}");
}
