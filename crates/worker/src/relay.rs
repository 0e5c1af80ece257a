//! Outboxes: what nobody relayed, timers whose time has come, and messages of a table that was moved.

use std::sync::Arc;
use std::time::Duration;

use latchkey_runtime::QueueHandle;
use latchkey_value::limits::OUTBOX_SHARDS;
use tokio::sync::watch;

use crate::meter::Meter;

/// How often an outbox is looked through. On DynamoDB a look costs half a read unit a shard.
const EVERY: Duration = Duration::from_secs(5);

/// Every how many looks it is also looked for messages of a table that was moved.
const ADOPT_EVERY: u64 = 60;

/// How many steps in a row one shard takes: others have their turn, and it goes on the next time.
const STEPS_MAX: usize = 40;

/// By how much the clock has to go back for outboxes to be looked after.
const SET_BACK_MS: i64 = 10_000;

/// Sweeps the outbox of a queue until it is told to stop.
pub(crate) async fn sweep(meter: Arc<Meter>, mut stop: watch::Receiver<bool>) {
    let queue = meter.queue();
    let mut afters: Vec<_> = (0..OUTBOX_SHARDS).map(|_| None).collect();
    let mut last_now = meter.runtime.now();
    // The clock may have been ahead before this process: one page of each shard costs little.
    look_ahead(queue, &meter, 1, &stop).await;
    for round in 0_u64.. {
        if round.is_multiple_of(ADOPT_EVERY) {
            adopt(queue, &meter).await;
        }
        let now = meter.runtime.now();
        if last_now.saturating_sub(now) >= SET_BACK_MS {
            look_ahead(queue, &meter, usize::MAX, &stop).await;
        }
        last_now = now;
        for (shard, after) in (0..OUTBOX_SHARDS).zip(&mut afters) {
            for _ in 0..STEPS_MAX {
                if *stop.borrow() {
                    return;
                }
                match queue.sweep_outbox(shard, after.take()).await {
                    Ok(step) => {
                        meter.relayed(step.relayed);
                        *after = step.after;
                    }
                    Err(error) => {
                        tracing::warn!(queue = %meter.name, %error, "an outbox could not be swept");
                    }
                }
                if after.is_none() {
                    break;
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            // The stop signal came, or its sender was dropped.
            _ = stop.changed() => return,
        }
    }
}

/// Relays what was to be relayed at once by a clock that was ahead, as far as some pages of each shard show it.
async fn look_ahead(
    queue: QueueHandle<'_>,
    meter: &Meter,
    pages_max: usize,
    stop: &watch::Receiver<bool>,
) {
    for shard in 0..OUTBOX_SHARDS {
        let mut after = None;
        for _ in 0..pages_max {
            if *stop.borrow() {
                return;
            }
            match queue.sweep_ahead(shard, after.take()).await {
                Ok(step) => {
                    meter.relayed(step.relayed);
                    after = step.after;
                }
                Err(error) => {
                    tracing::warn!(queue = %meter.name, %error, "an outbox could not be swept");
                }
            }
            if after.is_none() {
                break;
            }
        }
    }
}

async fn adopt(queue: QueueHandle<'_>, meter: &Meter) {
    match queue.adopt().await {
        Ok(0) => {}
        Ok(count) => {
            tracing::info!(queue = %meter.name, count, "messages of a moved table were taken over");
        }
        Err(error) => {
            tracing::warn!(queue = %meter.name, %error, "messages could not be taken over");
        }
    }
}
