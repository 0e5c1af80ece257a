//! `latchkey queue`

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use latchkey_runtime::queue::{Count, Which};
use latchkey_runtime::{Source, SystemSource};
use serde_json::Value;

use crate::arguments::{self, Queue, Queues};
use crate::aws::Sqs;
use crate::running::{Reach, Running, on_sqs, refuse_standard};
use crate::upkeep::Order;
use crate::{Failure, control, document};

pub(crate) fn run(arguments: &Queue, colour: bool) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    runtime.block_on(async {
        match arguments {
            Queue::Ls { json, place } => {
                let listed = carry_out(place, &Order::List, colour).await?;
                show(if *json { format!("{listed:#}\n") } else { table(&listed) });
            }
            Queue::Peek { queue, which, limit, json, place } => {
                let (queue, which) = (queue.clone(), which.meant());
                let order = Order::Peek { queue, which, limit: *limit };
                let peeked = carry_out(place, &order, colour).await?;
                show(if *json { format!("{peeked:#}\n") } else { messages(&peeked, which) });
            }
            Queue::Redrive { queue, id, place } => {
                let order = Order::Redrive { queue: queue.clone(), id: id.clone() };
                let count = carry_out(place, &order, colour).await?;
                if let (Some(id), Some(0)) = (id, count.as_u64()) {
                    let message = format!("no message `{id}` of `{queue}` was given up");
                    return Err(Failure::Unusable(message));
                }
                println!("{} sent again", many(&count));
            }
            Queue::Purge { queue, which, yes, place } => {
                let which = which.meant();
                if !yes {
                    return Err(Failure::Unusable(format!(
                        "this removes messages of `{queue}` for good; add --yes"
                    )));
                }
                let order = Order::Purge { queue: queue.clone(), which };
                let count = carry_out(place, &order, colour).await?;
                println!("{} removed", many(&count));
            }
            Queue::Create { documents, queues } => create(documents, queues, colour).await?,
        }
        Ok(())
    })
}

/// Whoever reads may have seen enough.
fn show(text: String) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

impl arguments::Which {
    fn meant(self) -> Which {
        match self {
            arguments::Which { dead: true, .. } => Which::Dead,
            arguments::Which { held: true, .. } => Which::Held,
            arguments::Which { .. } => Which::Waiting,
        }
    }
}

/// By the process that has the store open, or else by this one.
async fn carry_out(
    place: &arguments::Place,
    order: &Order,
    colour: bool,
) -> Result<Value, Failure> {
    let kept = &place.kept;
    let elsewhere = kept.storage.dynamodb && kept.queues.sqs;
    if !elsewhere && let Some(done) = control::ask(&kept.data, order).await {
        return done.map_err(Failure::Unusable);
    }
    if !kept.storage.dynamodb && !kept.data.is_dir() {
        let path = kept.data.display();
        return Err(Failure::Unusable(format!("there is no data directory `{path}`")));
    }
    let documents = document::all(&place.documents)?;
    let systems = kept.storage.place(document::systems(&documents, colour)?)?;
    let source: Arc<dyn Source> = Arc::new(SystemSource);
    let running = Running::start(kept, &place.documents, systems, &source, Reach::Own).await?;
    order.carry_out(&running.runtimes).await.map_err(Failure::Unusable)
}

async fn create(documents: &[PathBuf], queues: &Queues, colour: bool) -> Result<(), Failure> {
    if !queues.sqs {
        return Err(Failure::unusable(
            "queues in the data directory need not be made; add --sqs for those on SQS",
        ));
    }
    let systems = document::systems(&document::all(documents)?, colour)?;
    let names = queues.names(&systems)?;
    let sqs = Sqs::connect(queues).await?;
    for system in &systems {
        for queue in system.queues() {
            let name = &on_sqs(&names, &queue);
            refuse_standard(&queue, name)?;
            sqs.create(name, queue.lease_ms, queue.tries).await?;
            println!("{}/{}: {name} is there", system.name(), queue.name);
        }
    }
    Ok(())
}

/// How many messages, for people.
fn many(count: &Value) -> String {
    match count.as_u64() {
        None => "all messages are being".to_owned(),
        Some(1) => "1 message".to_owned(),
        Some(count) => format!("{} messages", Count::exactly(count)),
    }
}

/// Queues, one a line.
fn table(listed: &Value) -> String {
    let head = ["QUEUE", "WORKER", "WAITING", "OLDEST", "HELD", "LATER", "DEAD"];
    let mut rows = vec![head.map(str::to_owned)];
    let text = |queue: &Value, name: &str| {
        queue.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
    };
    for queue in listed.as_array().into_iter().flatten() {
        let count = |name: &str| {
            let count = queue.get(name);
            let counted = count.and_then(|count| count.get("counted")?.as_u64()).unwrap_or(0);
            let more = count.and_then(|count| count.get("more")?.as_bool()).unwrap_or(false);
            Count { counted, more }.to_string()
        };
        let oldest = queue.get("oldestMs").and_then(Value::as_u64);
        rows.push([
            format!("{}/{}", text(queue, "system"), text(queue, "queue")),
            text(queue, "worker"),
            count("visible"),
            oldest.map_or_else(|| "-".to_owned(), age),
            count("inFlight"),
            count("delayed"),
            count("dead"),
        ]);
    }
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| {
            if at < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out.push_str(&blocked(listed));
    if rows.len() == 1 { "no document has a queue\n".to_owned() } else { out }
}

/// The groups that a message holds up, one a line.
fn blocked(listed: &Value) -> String {
    let mut out = String::new();
    for queue in listed.as_array().into_iter().flatten() {
        for group in queue.get("blocked").and_then(Value::as_array).into_iter().flatten() {
            let text = |of: &Value, name: &str| {
                of.get(name).and_then(Value::as_str).unwrap_or("?").escape_debug().to_string()
            };
            let tries = group.get("tries").and_then(Value::as_u64).unwrap_or(0);
            let why = match group.get("failure").and_then(Value::as_str) {
                Some(failure) => format!("tried {tries} times, last {}", failure.escape_debug()),
                None => "put off".to_owned(),
            };
            out.push_str(&format!(
                "{}/{}: {} {} is blocked by {}, in its place since {}: {why}\n",
                text(queue, "system"),
                text(queue, "queue"),
                text(queue, "orderedBy"),
                text(group, "group"),
                text(group, "id"),
                text(group, "since"),
            ));
        }
    }
    out
}

/// A duration in the unit that says most.
fn age(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..120_000 => format!("{}s", ms / 1_000),
        120_000..7_200_000 => format!("{}min", ms / 60_000),
        7_200_000..172_800_000 => format!("{}h", ms / 3_600_000),
        _ => format!("{}d", ms / 86_400_000),
    }
}

/// Messages, a block each.
fn messages(peeked: &Value, which: Which) -> String {
    let at = match which {
        Which::Waiting => "due",
        Which::Held => "held until",
        Which::Dead => "given up",
    };
    let mut out = String::new();
    for message in peeked.as_array().into_iter().flatten() {
        let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or("?");
        let tries = message.get("tries").and_then(Value::as_u64).unwrap_or(0);
        let body = message.get("body").unwrap_or(&Value::Null);
        out.push_str(&format!(
            "{}  sent {}, {at} {}, tried {tries} times\n  {body}\n",
            text("id"),
            text("sentAt"),
            text("at")
        ));
        if let Some(failure) = message.get("failure").filter(|failure| !failure.is_null()) {
            let part = |name: &str| failure.get(name).and_then(Value::as_str).unwrap_or("?");
            out.push_str(&format!(
                "  {} {}: {}\n",
                part("class"),
                part("code"),
                part("message").escape_debug()
            ));
        }
    }
    if out.is_empty() { "none\n".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queues_are_listed_under_their_heads() {
        let none = json!({"counted": 0, "more": false});
        let listed = json!([{
            "system": "doors", "queue": "orders", "worker": "D-09", "visible": {"counted": 10000, "more": true},
            "delayed": none, "inFlight": none, "oldestMs": 61_000, "dead": {"counted": 2, "more": false},
            "orderedBy": "doorId", "blocked": [
                {"group": "d1", "id": "01J", "tries": 2, "since": "2026-03-01T10:00:00.000Z", "failure": "FAILED JAM: it jams"},
                {"group": "d2", "id": "01K", "tries": 0, "since": "2026-03-01T10:00:00.000Z", "failure": null},
            ],
        }]);
        let wanted = "\
QUEUE         WORKER  WAITING  OLDEST  HELD  LATER  DEAD
doors/orders  D-09    10,000+     61s     0      0     2
doors/orders: doorId d1 is blocked by 01J, in its place since 2026-03-01T10:00:00.000Z: tried 2 times, last FAILED JAM: it jams
doors/orders: doorId d2 is blocked by 01K, in its place since 2026-03-01T10:00:00.000Z: put off
";
        assert_eq!(table(&listed), wanted);
        assert_eq!(table(&json!([])), "no document has a queue\n");
    }

    #[test]
    fn ages_are_told_in_the_unit_that_says_most() {
        let cases = [(0, "0ms"), (999, "999ms"), (1_000, "1s"), (180_000, "3min")];
        for (ms, told) in cases.into_iter().chain([(7_200_000, "2h"), (200_000_000, "2d")]) {
            assert_eq!(age(ms), told);
        }
    }
}
