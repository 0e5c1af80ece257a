//! The queue will not take what is sent, or cannot be asked.

use serde_json::json;

use crate::event::{Event, QUEUE, admin, log, request_id};
use crate::serve::proxy::Proxy;
use crate::serve::until;
use crate::world::{Address, Patient, SHORT, World};

#[test]
fn a_request_the_queue_refuses_has_failed() {
    let world = World::on_sqs("participation", &SHORT, QUEUE, "refusing");
    let server = world.serve(&[]);
    let address = Address::of(&server);
    let event = Event { id: "refused", seats: 5 };
    event.open(&address);
    world.sqs.as_ref().unwrap().delete("refusing");

    let mut client = Patient::new(&address);
    let reply = event.reply(&mut client, "rose");
    assert_eq!((reply.status, &reply.json()["status"]), (202, &json!("FAILED_FINAL")), "{reply:?}");
    let request = request_id(&reply);
    let kept = client.get(&admin(), &format!("/admin/requests/{request}"));
    assert_eq!(kept["errorCode"], "FAILED_INGEST_ENQUEUE", "{kept}");
    assert_eq!((kept.get("queuedAt"), kept.get("startedAt")), (None, None), "{kept}");
    let logged: Vec<_> = log(&mut client, &request).into_iter().map(|line| line.0).collect();
    assert_eq!(logged, ["RECEIVED", "FAILED_FINAL"]);
    assert!(event.walk(&mut client, "asc", 10).is_empty(), "it was never accepted");
    let summary = event.summary(&mut client);
    assert_eq!((summary["RECEIVED"], summary["FAILED_FINAL"]), (0, 1), "{summary:?}");

    // The lock stays, the queue comes back.
    world.make_queues();
    let again = event.reply(&mut client, "rose");
    assert_eq!((again.status, request_id(&again)), (200, request));
    event.click(&mut client, "ruth");
    event.wait(&address, 2);
    assert_eq!(event.summary(&mut client)["SUCCEEDED"], 1);
}

#[test]
fn nothing_is_lost_while_the_queue_cannot_be_asked() {
    nothing_is_lost("away", Proxy::cut);
}

#[test]
fn nothing_is_lost_while_the_queue_does_not_answer() {
    nothing_is_lost("silent", Proxy::hang);
}

/// Calls are answered while the queue is out of reach in some way, and what they sent comes through later.
fn nothing_is_lost(queue: &str, fail: fn(&mut Proxy)) {
    let mut world = World::on_sqs("participation", &SHORT, QUEUE, queue);
    let mut way = Proxy::to(world.sqs.as_ref().unwrap().endpoint());
    world.through(&way.endpoint());
    let mut server = world.serve(&[]);
    let address = Address::of(&server);
    let event = Event { id: "away", seats: 2 };
    event.open(&address);
    fail(&mut way);
    let mut client = Patient::new(&address);
    for user in ["ann", "ben", "cid"] {
        let reply = event.reply(&mut client, user);
        assert_eq!((reply.status, &reply.json()["status"]), (202, &json!("RECEIVED")), "{reply:?}");
        let again = event.reply(&mut client, user);
        assert_eq!((again.status, request_id(&again)), (200, request_id(&reply)));
    }
    let depth = world.sqs.as_ref().unwrap().depth(queue);
    assert_eq!(depth, [0; 3], "nothing has come through");
    // Whoever has the outbox to sweep may die too.
    server.kill();
    way.mend();
    server = world.serve(&[]);
    address.is_now(&server);
    event.wait(&address, 3);
    let summary = event.summary(&mut client);
    assert_eq!((summary["SUCCEEDED"], summary["REJECTED"]), (2, 1), "{summary:?}");
    until("the outbox is empty", || outbox(&world) == 0);
}

/// How many records wait in outboxes.
pub(crate) fn outbox(world: &World) -> usize {
    let service = world.service.as_ref().unwrap();
    let scan = json!({
        "TableName": world.table(), "FilterExpression": "begins_with(PK, :outbox)",
        "ExpressionAttributeValues": {":outbox": {"S": "LATCHKEY#OUTBOX#"}},
    });
    let answer = service.ask("Scan", &scan);
    assert!(answer.get("LastEvaluatedKey").is_none(), "the table is small");
    answer["Items"].as_array().unwrap().len()
}
