//! What is sent, and what follows a send.

use super::*;

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
