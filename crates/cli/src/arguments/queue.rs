//! The arguments about queues.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Storage, web};

/// How many messages of a queue are worked on at once by default.
const AT_ONCE: usize = 32;

/// Where queues are.
#[derive(Debug, Default, Args)]
pub(crate) struct Queues {
    /// Keep messages on SQS, not in the data directory. Credentials and region are found as the AWS SDK finds them.
    #[arg(long)]
    pub(crate) sqs: bool,
    /// A service that speaks SQS's protocol, instead of AWS's; also AWS_ENDPOINT_URL_SQS.
    #[arg(long, value_name = "URL")]
    pub(crate) sqs_endpoint: Option<String>,
    /// The SQS queue for a queue of the document, instead of the one with its name. A name that ends with `.fifo` is a
    /// FIFO queue.
    #[arg(long = "sqs-queue", value_name = "QUEUE=NAME")]
    pub(crate) sqs_queues: Vec<String>,
}

/// Where items and messages are kept.
#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// Where items and messages are kept, and the development secret.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) storage: Storage,
    #[command(flatten)]
    pub(crate) queues: Queues,
}

/// How messages are worked on.
#[derive(Debug, Args)]
pub(crate) struct Working {
    /// How many messages of a queue are worked on at once.
    #[arg(long, value_name = "N", default_value_t = AT_ONCE, value_parser = at_once)]
    pub(crate) workers: usize,
    /// Deliver every message this many times at once, which must not change the result. For tests, on loopback only.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_once, hide = true)]
    pub(crate) test_deliveries: usize,
}

/// A number of things at once.
fn at_once(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => Err("from 1 to 1024".to_owned()),
    }
}

/// A number of messages to look at.
fn shown_at_once(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=100) => Ok(count),
        _ => Err("from 1 to 100".to_owned()),
    }
}

/// The arguments of `work`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey work --dynamodb --sqs                       beside `latchkey serve --dynamodb --sqs --no-workers`
  latchkey work doors.md --dynamodb --sqs --workers 64
  latchkey work --data ./doors                         work off what a stopped server has left

SIGTERM, SIGHUP and Ctrl-C stop it once the messages that are being worked on are finished; twice, at once. A store on
this machine has one process: there, `latchkey serve` works through its queues itself.")]
pub(crate) struct Work {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kept: DataArguments,
    #[command(flatten)]
    pub(crate) working: Working,
    /// The address for `/health` and `/metrics`; without it they are not served.
    #[arg(long, value_name = "ADDR", value_parser = web::address)]
    pub(crate) listen: Option<SocketAddr>,
}

/// The arguments of `queue`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  latchkey queue ls                                    every queue: how full, how old, how many given up
  latchkey queue peek orders --dead                    what was given up, and why
  latchkey queue redrive orders                        try all of it again
  latchkey queue purge orders --dead --yes             remove it for good
  latchkey queue create --sqs                          the queues of the shipped systems on SQS

A server that has the data directory open is asked to do it.")]
pub(crate) enum QueueCommand {
    /// Lists queues: how many messages wait, for how long, are being worked on, are due later, are dead.
    #[command(after_help = "\
Examples:
  latchkey queue ls
  latchkey queue ls doors.md --data ./doors
  latchkey queue ls doors.md --dynamodb --sqs")]
    Ls {
        /// The documents; without any, those that are shipped.
        #[arg(id = "listed", value_name = "DOC")]
        listed: Vec<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Shows messages without removing them.
    #[command(after_help = "\
Examples:
  latchkey queue peek orders                           those that wait
  latchkey queue peek orders --dead --limit 5
  latchkey queue peek doors/orders --held              of the system `doors`")]
    Peek {
        /// The queue: NAME, or SYSTEM/NAME.
        #[arg(value_name = "QUEUE")]
        queue: String,
        #[command(flatten)]
        which: Which,
        /// How many, at most 100.
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = shown_at_once)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Sends dead messages again, with all their tries.
    #[command(after_help = "\
Examples:
  latchkey queue redrive orders
  latchkey queue redrive orders --id 01JZ5K…")]
    Redrive {
        /// The queue: NAME, or SYSTEM/NAME.
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// The message's id; without it, all.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Removes messages for good.
    #[command(after_help = "\
Examples:
  latchkey queue purge orders --dead --yes
  latchkey queue purge orders --yes                    those that wait")]
    Purge {
        /// The queue: NAME, or SYSTEM/NAME.
        #[arg(value_name = "QUEUE")]
        queue: String,
        #[command(flatten)]
        which: Which,
        /// Confirm the removal.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Makes queues on SQS, each with a dead-letter queue. Existing queues are not changed.
    #[command(after_help = "\
Examples:
  latchkey queue create --doc doors.md --sqs
  latchkey queue create --sqs --sqs-queue orders=orders-prod.fifo
  latchkey queue create --sqs --sqs-endpoint http://127.0.0.1:5000")]
    Create {
        /// The documents; without any, those that are shipped.
        #[arg(long = "doc", value_name = "DOC")]
        documents: Vec<PathBuf>,
        #[command(flatten)]
        queues: Queues,
    },
}

/// Which messages.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false)]
pub(crate) struct Which {
    /// The dead messages.
    #[arg(long)]
    pub(crate) dead: bool,
    /// The messages that a worker has.
    #[arg(long)]
    pub(crate) held: bool,
}

/// Where the queues are.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The documents; without any, those that are shipped.
    #[arg(long = "doc", value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kept: DataArguments,
}
