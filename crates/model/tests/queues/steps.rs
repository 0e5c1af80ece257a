//! Steps: as if they stood where they are done.

use super::*;

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
