//! What is made of a service that loses, refuses, delays or garbles: what is known is told, and what is not
//! known is never guessed.

mod batches;
mod scene;

use std::time::Duration;

use latchkey_table::Error;

use self::scene::{
    ALL, DeleteIt, PutIt, READS, Request, SINGLE_WRITES, Scene, TIME_MAX, always, ask, ends_with,
    first, is_unavailable, is_unknown, n,
};
use crate::backend::{client, runtime, table};
use latchkey_testing::fate::Fate;
use latchkey_testing::services::{Kind, Service};

#[test]
fn a_single_write_nobody_answered_is_of_unknown_outcome_and_sent_once() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::Lost,
            Fate::Garbage,
            Fate::error(500, "InternalServerError"),
            Fate::error(503, "ServiceUnavailable"),
            Fate::Answer(502, "<html>Bad Gateway</html>".to_owned()),
        ] {
            for request in SINGLE_WRITES {
                let scene = Scene::set(&service, first(1, fate.clone())).await;
                let answer = scene.ask(request).await;
                assert!(is_unknown(&answer), "{request:?} {fate:?}: {answer:?}");
                assert_eq!(scene.sent(), 1, "{request:?} {fate:?}");
                if fate == Fate::Lost && request != DeleteIt {
                    let stored = scene.stored().await;
                    assert_eq!(n(stored.as_ref()), Some(&1.into()), "{request:?}");
                }
            }
        }
        for request in SINGLE_WRITES {
            let scene = Scene::set(&service, always(Fate::Hang)).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(is_unknown(&answer), "{request:?}: {answer:?}");
            // None, where the deadline came before the connection.
            assert!(scene.sent() <= 1, "{request:?} is sent {} times", scene.sent());
        }
    });
}

#[test]
fn a_read_nobody_answered_is_sent_again() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::Lost,
            Fate::Garbage,
            Fate::error(500, "InternalServerError"),
            Fate::Answer(502, "<html>Bad Gateway</html>".to_owned()),
        ] {
            for request in READS {
                let scene = Scene::set(&service, first(2, fate.clone())).await;
                assert_eq!(scene.ask(request).await, Ok(()), "{request:?} {fate:?}");
                assert_eq!(scene.sent(), 3, "{request:?} {fate:?}");
                let scene = Scene::set(&service, always(fate.clone())).await;
                let answer = scene.ask_in_vain(request).await;
                assert!(is_unavailable(&answer), "{request:?} {fate:?}: {answer:?}");
            }
        }
        for request in READS {
            let scene = Scene::set(&service, always(Fate::Hang)).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(is_unavailable(&answer), "{request:?}: {answer:?}");
        }
    });
}

/// The transaction of each sending, token and all.
fn sendings(scene: &Scene) -> Vec<String> {
    let seen = scene.proxy.seen();
    assert!(seen.iter().all(|seen| seen.operation == "TransactWriteItems"), "{seen:?}");
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body["ClientRequestToken"].as_str().map(str::len), Some(32), "{body}");
    seen.into_iter().map(|seen| seen.body).collect()
}

#[test]
fn a_transaction_nobody_answered_is_sent_again_and_done_once() {
    for kind in [Kind::Dynoxide, Kind::DynamoDbLocal] {
        let service = Service::of(kind);
        runtime().block_on(async {
            for times in 1..4 {
                let scene = Scene::set(&service, first(times, Fate::Lost)).await;
                assert_eq!(
                    scene.ask(Request::Transact).await,
                    Ok(()),
                    "{kind:?}, lost {times} times"
                );
                let sendings = sendings(&scene);
                assert_eq!(sendings.len(), times + 1, "{kind:?}: {sendings:?}");
                // Names once came in another order each time, and DynamoDB Local took it for another.
                assert!(sendings.iter().all(|sent| *sent == sendings[0]), "{sendings:?}");
                let stored = scene.stored().await;
                assert_eq!(n(stored.as_ref()), Some(&1.into()), "{kind:?}, lost {times} times");
                // The next is another.
                assert_eq!(scene.ask(Request::Transact).await, Ok(()));
                let stored = scene.stored().await;
                assert_eq!(n(stored.as_ref()), Some(&2.into()), "{kind:?}");
            }
        });
    }
}

#[test]
fn a_transaction_that_is_never_answered_is_of_unknown_outcome() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        let in_progress = Fate::error(400, "TransactionInProgressException");
        let mismatch = Fate::error(400, "IdempotentParameterMismatchException");
        let failing = Fate::error(500, "InternalServerError");
        for fate in [Fate::Lost, Fate::Hang, Fate::Garbage, in_progress, mismatch, failing] {
            let scene = Scene::set(&service, always(fate.clone())).await;
            let answer = scene.ask_in_vain(Request::Transact).await;
            assert!(is_unknown(&answer), "{fate:?}: {answer:?}");
        }
        // It is not known any better once the service does not let it in any more.
        let throttled = Fate::error(400, "ThrottlingException");
        let conflict = Fate::cancelled(&["TransactionConflict"]);
        let denied = Fate::error(400, "AccessDeniedException");
        for then in [throttled, conflict, denied] {
            let fates = then.clone();
            let decide = move |at| if at == 0 { Fate::Lost } else { fates.clone() };
            let scene = Scene::set(&service, decide).await;
            let answer = scene.ask_in_vain(Request::Transact).await;
            assert!(is_unknown(&answer), "{then:?}: {answer:?}");
        }
    });
}

#[test]
fn a_transaction_is_sent_again_until_it_is_done() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::error(400, "TransactionInProgressException"),
            Fate::error(500, "InternalServerError"),
            Fate::cancelled(&["TransactionConflict"]),
            Fate::cancelled(&["ThrottlingError"]),
            Fate::cancelled(&["ProvisionedThroughputExceeded"]),
            Fate::Garbage,
        ] {
            let scene = Scene::set(&service, first(3, fate.clone())).await;
            assert_eq!(scene.ask(Request::Transact).await, Ok(()), "{fate:?}");
            assert_eq!(scene.sent(), 4, "{fate:?}");
            let stored = scene.stored().await;
            assert_eq!(n(stored.as_ref()), Some(&1.into()), "{fate:?}");
        }
        let scene = Scene::set(&service, always(Fate::cancelled(&["TransactionConflict"]))).await;
        let answer = scene.ask_in_vain(Request::Transact).await;
        assert!(ends_with(&Error::Conflict, Request::Transact, &answer), "{answer:?}");
    });
}

#[test]
fn nobody_there_is_known_to_have_done_nothing() {
    runtime().block_on(async {
        // A port that was free a moment ago.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let (client, table) = (client(&endpoint).await, table());
        for request in ALL {
            // It is told at once: whoever waited for this deadline would be taken for hanging.
            let answer = ask(&client, &table, request, 100 * TIME_MAX);
            let answer = tokio::time::timeout(TIME_MAX, answer).await.unwrap();
            assert!(is_unavailable(&answer), "{request:?}: {answer:?}");
        }
        let no_time = ask(&client, &table, PutIt, Duration::ZERO).await;
        assert!(is_unavailable(&no_time), "{no_time:?}");
    });
}

#[test]
fn throttling_is_waited_out_until_the_deadline() {
    let service = Service::dynoxide();
    let codes =
        ["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"];
    runtime().block_on(async {
        for request in ALL {
            for code in codes {
                let scene = Scene::set(&service, first(3, Fate::error(400, code))).await;
                assert_eq!(scene.ask(request).await, Ok(()), "{request:?} {code}");
                assert_eq!(scene.sent(), 4, "{request:?} {code}");
            }
            let scene = Scene::set(&service, always(Fate::error(400, codes[0]))).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(ends_with(&Error::Throttled, request, &answer), "{request:?}: {answer:?}");
        }
    });
}

#[test]
fn a_single_write_in_the_way_of_a_transaction_is_sent_again() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        let conflict = Fate::error(400, "TransactionConflictException");
        for request in SINGLE_WRITES {
            let scene = Scene::set(&service, first(3, conflict.clone())).await;
            assert_eq!(scene.ask(request).await, Ok(()), "{request:?}");
            let scene = Scene::set(&service, always(conflict.clone())).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(ends_with(&Error::Conflict, request, &answer), "{request:?}: {answer:?}");
        }
    });
}

#[test]
fn what_the_service_refuses_it_has_not_done() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for request in ALL {
            for code in ["AccessDeniedException", "UnrecognizedClientException"] {
                let scene = Scene::set(&service, always(Fate::error(400, code))).await;
                let answer = scene.ask(request).await;
                assert!(is_unavailable(&answer), "{request:?} {code}: {answer:?}");
            }
            let scene = Scene::set(&service, always(Fate::error(400, "ValidationException"))).await;
            let answer = scene.ask(request).await;
            assert!(matches!(answer, Err(Error::Invalid { leg: None, .. })), "{answer:?}");
            assert_eq!(scene.sent(), 1, "{request:?}");
        }
    });
}

#[test]
fn the_first_reason_of_a_cancelled_transaction_decides() {
    let service = Service::dynoxide();
    let told = |error: &Error| match error {
        Error::ConditionFailed(failed) => format!("condition of leg {}", failed.leg),
        Error::Invalid { leg, .. } => format!("invalid {leg:?}"),
        Error::Unavailable { .. } => "unavailable".to_owned(),
        other => format!("{other:?}"),
    };
    let cases: [(&[&str], &str); 4] = [
        (&["None", "ConditionalCheckFailed"], "condition of leg 1"),
        (&["ConditionalCheckFailed", "TransactionConflict"], "condition of leg 0"),
        (&["None", "ValidationError"], "invalid Some(1)"),
        (&["None", "Whatever"], "unavailable"),
    ];
    let sent_again: [(&[&str], Error); 2] = [
        (&["TransactionConflict", "ConditionalCheckFailed"], Error::Conflict),
        (&["None", "ThrottlingError"], Error::Throttled),
    ];
    runtime().block_on(async {
        for (reasons, expected) in cases {
            let scene = Scene::set(&service, always(Fate::cancelled(reasons))).await;
            let error = scene.ask(Request::Transact).await.unwrap_err();
            assert_eq!(told(&error), expected, "{reasons:?}");
        }
        for (reasons, expected) in sent_again {
            let scene = Scene::set(&service, always(Fate::cancelled(reasons))).await;
            let answer = scene.ask_in_vain(Request::Transact).await;
            assert!(ends_with(&expected, Request::Transact, &answer), "{reasons:?}: {answer:?}");
        }
    });
}
