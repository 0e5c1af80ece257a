//! The orders of `latchkey queue`, carried out by this process or by the one that has the store open.

use latchkey_runtime::queue::{Blocked, Count, Peeked, Which};
use latchkey_runtime::{Purged, QueueHandle, Runtime};
use latchkey_table::{Map, Value as Stored};
use latchkey_value::{json, time};
use serde_json::{Value, json};

/// An order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// List the queues with their numbers of messages.
    List,
    /// Show messages of a queue.
    Peek { queue: String, which: Which, limit: usize },
    /// Send dead messages again: the one with an id, or all.
    Redrive { queue: String, id: Option<String> },
    /// Remove messages of a queue.
    Purge { queue: String, which: Which },
}

impl Order {
    /// The order as JSON, for another process.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Order::List => json!({"do": "list"}),
            Order::Peek { queue, which, limit } => {
                json!({"do": "peek", "queue": queue, "which": word(*which), "limit": limit})
            }
            Order::Redrive { queue, id } => json!({"do": "redrive", "queue": queue, "id": id}),
            Order::Purge { queue, which } => {
                json!({"do": "purge", "queue": queue, "which": word(*which)})
            }
        }
    }

    /// Reads the order of another process.
    pub(crate) fn from_json(value: &Value) -> Option<Order> {
        let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let which = || match value.get("which")?.as_str()? {
            "waiting" => Some(Which::Waiting),
            "held" => Some(Which::Held),
            "dead" => Some(Which::Dead),
            _ => None,
        };
        Some(match value.get("do")?.as_str()? {
            "list" => Order::List,
            "peek" => {
                let limit = usize::try_from(value.get("limit")?.as_u64()?).ok()?;
                Order::Peek { queue: text("queue")?, which: which()?, limit }
            }
            "redrive" => Order::Redrive { queue: text("queue")?, id: text("id") },
            "purge" => Order::Purge { queue: text("queue")?, which: which()? },
            _ => return None,
        })
    }

    /// Carries out the order.
    pub(crate) async fn carry_out(&self, runtimes: &[Runtime]) -> Result<Value, String> {
        match self {
            Order::List => list(runtimes).await,
            Order::Peek { queue, which, limit } => {
                let (runtime, queue) = found(runtimes, queue)?;
                let peeked = queue.peek(*which, *limit).await.map_err(told)?;
                let shown = peeked.iter().map(|one| shown(runtime, one));
                Ok(Value::Array(shown.collect::<Result<_, _>>()?))
            }
            Order::Redrive { queue, id } => {
                let (_, queue) = found(runtimes, queue)?;
                let count = queue.redrive(id.as_deref()).await.map_err(told)?;
                Ok(json!(count))
            }
            Order::Purge { queue, which } => {
                let (_, queue) = found(runtimes, queue)?;
                match queue.purge(*which).await.map_err(told)? {
                    Purged::Counted(count) => Ok(json!(count)),
                    Purged::All => Ok(Value::Null),
                }
            }
        }
    }
}

fn word(which: Which) -> &'static str {
    match which {
        Which::Waiting => "waiting",
        Which::Held => "held",
        Which::Dead => "dead",
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The queue of `NAME` or `SYSTEM/NAME`.
fn found<'a>(
    runtimes: &'a [Runtime],
    queue: &str,
) -> Result<(&'a Runtime, QueueHandle<'a>), String> {
    let (system, name) = match queue.split_once('/') {
        Some((system, name)) => (Some(system), name),
        None => (None, queue),
    };
    let meant = |runtime: &&Runtime| system.is_none_or(|system| runtime.system().name() == system);
    let of = |runtime: &'a Runtime| Some((runtime, runtime.queue(name)?));
    let mut named = runtimes.iter().filter(meant).filter_map(of);
    match (named.next(), named.next()) {
        (Some(found), None) => Ok(found),
        (Some(_), Some(_)) => {
            Err(format!("several systems have a queue `{name}`; write SYSTEM/{name}"))
        }
        (None, _) => {
            let all = runtimes.iter().flat_map(|runtime| {
                let system = runtime.system();
                system.queues().map(|queue| format!("{}/{}", system.name(), queue.name))
            });
            let all: Vec<String> = all.collect();
            Err(format!("there is no queue `{queue}`; there are: {}", all.join(", ")))
        }
    }
}

async fn list(runtimes: &[Runtime]) -> Result<Value, String> {
    let count = |count: Count| json!({"counted": count.counted, "more": count.more});
    let mut all = Vec::new();
    for runtime in runtimes {
        let system = runtime.system();
        for queue in system.queues() {
            let told = |error| format!("`{}`: {error}", queue.name);
            let (_, held) = found(std::slice::from_ref(runtime), queue.name)?;
            let depth = held.depth().await.map_err(told)?;
            let letters = held.letters().await.map_err(told)?;
            let blocked = held.blocked().await.map_err(told)?;
            all.push(json!({
                "system": system.name(),
                "queue": queue.name,
                "worker": queue.worker,
                "visible": count(depth.visible),
                "delayed": count(depth.delayed),
                "inFlight": count(depth.in_flight),
                "oldestMs": depth.oldest_ms,
                "dead": count(letters),
                "orderedBy": queue.ordered_by,
                "blocked": blocked.iter().map(blocked_group).collect::<Vec<_>>(),
            }));
        }
    }
    Ok(json!(all))
}

/// A group that its first message blocks.
fn blocked_group(blocked: &Blocked) -> Value {
    let failure = blocked.failure.as_ref();
    json!({
        "group": blocked.group.as_str(),
        "id": blocked.id.as_str(),
        "tries": blocked.tries,
        "since": time::format(blocked.since).map(|text| text.to_string()),
        "failure": failure.map(|failure| format!("{} {}: {}", failure.class, failure.code, failure.message)),
    })
}

/// A message for people. Attributes that are secret in an entity are not shown.
fn shown(runtime: &Runtime, peeked: &Peeked) -> Result<Value, String> {
    let mut body = Map::new();
    for (name, value) in peeked.message.body().iter() {
        let value = if runtime.system().is_secret(name) { "…".into() } else { value.clone() };
        body.insert(name.clone(), value);
    }
    let mut text = String::new();
    json::write(&Stored::Map(body), &mut text);
    let id = peeked.message.id().as_str();
    let body: Value = serde_json::from_str(&text)
        .map_err(|error| format!("message `{id}` cannot be shown: {error}"))?;
    let instant = |ms| time::format(ms).map(|text| text.to_string());
    let failure = peeked.failure.as_ref().map(|failure| {
        json!({
            "class": failure.class.as_str(),
            "code": failure.code.as_str(),
            "message": failure.message.as_str(),
        })
    });
    Ok(json!({
        "id": id,
        "sentAt": instant(peeked.message.sent_at()),
        "at": instant(peeked.at),
        "tries": peeked.tries,
        "body": body,
        "failure": failure,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_through_as_they_were_given() {
        let queue = || "doors/orders".to_owned();
        let mut orders = vec![
            Order::List,
            Order::Redrive { queue: queue(), id: None },
            Order::Redrive { queue: queue(), id: Some("01J".to_owned()) },
        ];
        for which in [Which::Waiting, Which::Held, Which::Dead] {
            orders.push(Order::Peek { queue: queue(), which, limit: 7 });
            orders.push(Order::Purge { queue: queue(), which });
        }
        for order in orders {
            assert_eq!(Order::from_json(&order.to_json()), Some(order));
        }
        for wrong in [json!({}), json!({"do": "drop"}), json!({"do": "peek", "queue": "q"})] {
            assert_eq!(Order::from_json(&wrong), None);
        }
    }
}
