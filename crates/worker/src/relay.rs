//! Outboxes: what nobody relayed, timers whose time has come, and messages of a table that was moved.

use std::sync::Arc;
use std::time::Duration;

use latchkey_runtime::OUTBOX_SHARDS;
use tokio::sync::watch;

use crate::Meters;

/// How often each outbox is looked through. On DynamoDB a look costs half a read unit a shard.
const EVERY: Duration = Duration::from_secs(5);

/// How many steps in a row one shard takes: others have their turn.
const STEPS_MAX: usize = 40;

/// Sweeps the outboxes of all queues until it is told to stop.
pub(crate) async fn sweep(meters: Arc<Meters>, mut stop: watch::Receiver<bool>) {
    loop {
        for at in 0..meters.queues().len() {
            if *stop.borrow() {
                return;
            }
            sweep_queue(&meters, at).await;
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            // It is told, or whoever would tell it is gone.
            _ = stop.changed() => return,
        }
    }
}

async fn sweep_queue(meters: &Meters, at: usize) {
    let Some(meter) = meters.queues().get(at) else { return };
    let Some(runtime) = meters.runtimes().get(meter.runtime) else { return };
    match runtime.adopt(&meter.name).await {
        Ok(0) => {}
        Ok(count) => {
            tracing::info!(queue = %meter.name, count, "messages of a moved table were taken over");
        }
        Err(error) => {
            tracing::warn!(queue = %meter.name, %error, "messages could not be taken over");
        }
    }
    for shard in 0..OUTBOX_SHARDS {
        let mut after = None;
        for _ in 0..STEPS_MAX {
            match runtime.sweep_outbox(&meter.name, shard, after).await {
                Ok(step) => {
                    meter.relayed(step.relayed);
                    after = step.after;
                }
                Err(error) => {
                    tracing::warn!(queue = %meter.name, %error, "an outbox could not be swept");
                    return;
                }
            }
            if after.is_none() {
                break;
            }
        }
    }
}
