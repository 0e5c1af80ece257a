//! `latchkey queue`

use std::path::PathBuf;
use std::sync::Arc;

use latchkey_runtime::queue::{Count, Which};
use latchkey_runtime::{Source, System, SystemSource};
use latchkey_table::{Error, Need, PrepareError};
use serde_json::Value;

use crate::arguments::{self, DataArguments, QueueCommand, Queues};
use crate::aws::Sqs;
use crate::running::{Reach, Running, on_sqs, refuse_standard};
use crate::upkeep::Order;
use crate::{Failure, control, document, output};

pub(crate) fn run(arguments: &QueueCommand, colour: bool) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    runtime.block_on(async {
        match arguments {
            QueueCommand::Ls { listed, json, place } => {
                let documents = [listed.as_slice(), &place.documents].concat();
                let listed = carry_out(&documents, &place.kept, &Order::List, colour).await?;
                let text = match json {
                    true => format!("{listed:#}\n"),
                    false => table(&listed).ok_or_else(strange)?,
                };
                output::print(&text);
            }
            QueueCommand::Peek { queue, which, limit, json, place } => {
                let (queue, which) = (queue.clone(), which.meant());
                let order = Order::Peek { queue, which, limit: *limit };
                let peeked = carry_out(&place.documents, &place.kept, &order, colour).await?;
                let text = if *json {
                    format!("{peeked:#}\n")
                } else {
                    messages(&peeked, which).ok_or_else(strange)?
                };
                output::print(&text);
            }
            QueueCommand::Redrive { queue, id, place } => {
                let order = Order::Redrive { queue: queue.clone(), id: id.clone() };
                let count = carry_out(&place.documents, &place.kept, &order, colour).await?;
                if let (Some(id), Some(0)) = (id, count.as_u64()) {
                    let message = format!("no message `{id}` of `{queue}` was given up");
                    return Err(Failure::Unusable(message));
                }
                println!("{} sent again", many(&count));
            }
            QueueCommand::Purge { queue, which, yes, place } => {
                let which = which.meant();
                if !yes {
                    return Err(Failure::Unusable(format!(
                        "this removes messages of `{queue}` for good; add --yes"
                    )));
                }
                let order = Order::Purge { queue: queue.clone(), which };
                let count = carry_out(&place.documents, &place.kept, &order, colour).await?;
                println!("{} removed", many(&count));
            }
            QueueCommand::Create { documents, queues } => create(documents, queues, colour).await?,
        }
        Ok(())
    })
}

/// The server answered in another shape than this command reads.
fn strange() -> Failure {
    Failure::unusable(control::STRANGE)
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

/// Carries out an order: in the process that has the store open, or else in this one.
async fn carry_out(
    named: &[PathBuf],
    kept: &DataArguments,
    order: &Order,
    colour: bool,
) -> Result<Value, Failure> {
    let elsewhere = kept.storage.dynamodb && kept.queues.sqs;
    if !elsewhere && let Some(done) = control::ask(&kept.data, order).await {
        return done.map_err(Failure::Unusable);
    }
    if !kept.storage.dynamodb && !kept.data.is_dir() {
        let path = kept.data.display();
        return Err(Failure::Unusable(format!("there is no data directory `{path}`")));
    }
    let documents = document::all(named)?;
    let systems = kept.storage.place(document::systems(&documents, colour)?)?;
    // Where nothing is stored yet, nothing is of another document.
    let stored = !kept.storage.dynamodb && kept.data.join("store.redb").exists();
    if named.is_empty() && stored {
        warn_of_foreign(kept, &systems).await?;
    }
    let source: Arc<dyn Source> = Arc::new(SystemSource);
    let running = Running::start(kept, named, systems, &source, Reach::Own).await?;
    order.carry_out(&running.runtimes).await.map_err(Failure::Unusable)
}

/// Warns of a data directory that has no table of the shipped systems: its messages may be those of other documents.
async fn warn_of_foreign(kept: &DataArguments, systems: &[System]) -> Result<(), Failure> {
    let opened = kept.storage.open(&kept.data).await?;
    for system in systems {
        match opened.backend.prepare(&system.places(), Need::Read).await {
            Err(PrepareError::Store(Error::NoTable { .. })) => {}
            // It is there; whether it fits is told where it is used.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
    let names: Vec<&str> = systems.iter().map(System::name).collect();
    eprintln!(
        "warning: `{}` has no table of the shipped systems ({}); name the documents that are served from there: \
         `latchkey queue ls DOC`, or `--doc DOC`",
        kept.data.display(),
        names.join(", ")
    );
    Ok(())
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

/// A text of an answer.
fn text<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of.get(name)?.as_str()
}

/// What an answer says, where it may say null.
fn said<'a>(of: &'a Value, name: &str) -> Option<Option<&'a Value>> {
    of.get(name).map(|value| Some(value).filter(|value| !value.is_null()))
}

/// Queues, one a line. Nothing if the answer has another shape.
fn table(listed: &Value) -> Option<String> {
    let head = ["QUEUE", "WORKER", "WAITING", "OLDEST", "HELD", "LATER", "DEAD"];
    let mut rows = vec![head.map(str::to_owned)];
    for queue in listed.as_array()? {
        let count = |name: &str| {
            let count = queue.get(name)?;
            let (counted, more) = (count.get("counted")?.as_u64()?, count.get("more")?.as_bool()?);
            Some(Count { counted, more }.to_string())
        };
        rows.push([
            format!("{}/{}", text(queue, "system")?, text(queue, "queue")?),
            match said(queue, "worker")? {
                Some(worker) => worker.as_str()?.to_owned(),
                None => "-".to_owned(),
            },
            count("visible")?,
            match said(queue, "oldestMs")? {
                Some(oldest) => age(oldest.as_u64()?),
                None => "-".to_owned(),
            },
            count("inFlight")?,
            count("delayed")?,
            count("dead")?,
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
    out.push_str(&blocked(listed)?);
    Some(if rows.len() == 1 { "no document has a queue\n".to_owned() } else { out })
}

/// The blocked groups, one a line. Nothing if the answer has another shape.
fn blocked(listed: &Value) -> Option<String> {
    let mut out = String::new();
    for queue in listed.as_array()? {
        for group in queue.get("blocked")?.as_array()? {
            let tries = group.get("tries")?.as_u64()?;
            let why = match said(group, "failure")? {
                Some(failure) => {
                    format!("tries: {tries}, last {}", failure.as_str()?.escape_debug())
                }
                None => "put off".to_owned(),
            };
            out.push_str(&format!(
                "{}/{}: {} {} is blocked by {}, in its place since {}: {why}\n",
                text(queue, "system")?,
                text(queue, "queue")?,
                text(queue, "orderedBy")?,
                text(group, "group")?.escape_debug(),
                text(group, "id")?.escape_debug(),
                instant(group, "since")?,
            ));
        }
    }
    Some(out)
}

/// An instant of an answer; a question mark for one beyond the year 9999.
fn instant<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    match said(of, name)? {
        Some(instant) => instant.as_str(),
        None => Some("?"),
    }
}

/// A duration, in a unit that keeps the number short.
fn age(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..120_000 => format!("{}s", ms / 1_000),
        120_000..7_200_000 => format!("{}min", ms / 60_000),
        7_200_000..172_800_000 => format!("{}h", ms / 3_600_000),
        _ => format!("{}d", ms / 86_400_000),
    }
}

/// Messages, a block each. Nothing if the answer has another shape.
fn messages(peeked: &Value, which: Which) -> Option<String> {
    let at = match which {
        Which::Waiting => "due",
        Which::Held => "held until",
        Which::Dead => "given up",
    };
    let mut out = String::new();
    for message in peeked.as_array()? {
        out.push_str(&format!(
            "{}  sent {}, {at} {}, tries: {}\n  {}\n",
            text(message, "id")?,
            instant(message, "sentAt")?,
            instant(message, "at")?,
            message.get("tries")?.as_u64()?,
            message.get("body")?
        ));
        if let Some(failure) = said(message, "failure")? {
            out.push_str(&format!(
                "  {} {}: {}\n",
                text(failure, "class")?,
                text(failure, "code")?,
                text(failure, "message")?.escape_debug()
            ));
        }
    }
    Some(if out.is_empty() { "none\n".to_owned() } else { out })
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
doors/orders: doorId d1 is blocked by 01J, in its place since 2026-03-01T10:00:00.000Z: tries: 2, last FAILED JAM: it jams
doors/orders: doorId d2 is blocked by 01K, in its place since 2026-03-01T10:00:00.000Z: put off
";
        assert_eq!(table(&listed).unwrap(), wanted);
        assert_eq!(table(&json!([])).unwrap(), "no document has a queue\n");
    }

    // An answer in another shape was shown as `-`, `?` and 0.
    #[test]
    fn an_answer_in_another_shape_is_not_shown() {
        for strange in [json!({}), json!([{"system": "doors", "queue": "orders"}])] {
            assert_eq!(table(&strange), None);
            assert_eq!(messages(&strange, Which::Waiting), None);
        }
    }

    #[test]
    fn ages_are_told_in_the_unit_that_says_most() {
        let cases = [(0, "0ms"), (999, "999ms"), (1_000, "1s"), (180_000, "3min")];
        for (ms, told) in cases.into_iter().chain([(7_200_000, "2h"), (200_000_000, "2d")]) {
            assert_eq!(age(ms), told);
        }
    }
}
