//! A queue in a store, and a clock under the test's control.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_queue::{Clock, Embedded, Home, Message, Received, TryFailure};
use latchkey_table::{Map, Schema};

pub(crate) const LEASE_MS: u32 = 1_000;

pub(crate) struct World {
    pub(crate) store: Arc<Store>,
    pub(crate) queue: Embedded,
    now: Arc<AtomicI64>,
}

pub(crate) fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Things").with_index("GSI1"))
}

pub(crate) fn home() -> Home {
    Home::new(table(), "type", "orders").unwrap()
}

pub(crate) fn message(id: &str, sent_at: i64) -> Message {
    Message::new(id, Map::from([("orderId", id)]), sent_at).unwrap()
}

pub(crate) fn failure() -> TryFailure {
    TryFailure::new("BUSINESS", "NO_STOCK", "there is none left")
}

pub(crate) fn ids(received: &[Received]) -> Vec<&str> {
    received.iter().map(|received| received.message.id().as_str()).collect()
}

impl World {
    pub(crate) fn new() -> World {
        let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
        store.create_table(&table()).wait().unwrap();
        let now = Arc::new(AtomicI64::new(0));
        let clock = Clock::new({
            let now = Arc::clone(&now);
            move || now.load(Ordering::SeqCst)
        });
        let queue = Embedded::new(Arc::clone(&store), home(), LEASE_MS, clock);
        World { store, queue, now }
    }

    pub(crate) fn now(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, now: i64) {
        self.now.store(now, Ordering::SeqCst);
        self.queue.look_again();
    }

    pub(crate) async fn send(&self, id: &str, due: i64) {
        self.queue.send(message(id, self.now()), due).await.unwrap();
    }

    /// What is due now.
    pub(crate) async fn receive(&self, max: usize) -> Vec<Received> {
        self.queue.receive(max, Duration::ZERO).await.unwrap()
    }

    /// The one message that is due now.
    pub(crate) async fn receive_one(&self) -> Received {
        let mut received = self.receive(10).await;
        assert_eq!(received.len(), 1, "{received:?}");
        received.pop().unwrap()
    }
}
