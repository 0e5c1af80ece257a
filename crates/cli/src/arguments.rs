//! The command line.

mod docs;
mod identity;
mod keeping;
mod moving;
mod queue;
mod race;
mod web;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use latchkey_runtime::model::{CallLimit, Whose};
use latchkey_value::limits::LIMIT_CALLS_MAX;

use crate::commands::{
    backup, call, check, docs as docs_command, examine, explain, export, import, model, openapi,
    queue as queue_command, race as race_command, restore, serve, store, table, test, token,
    verify, work,
};

use crate::{output, surroundings};

pub(crate) use docs::Docs;
pub(crate) use identity::{Identity, Trust};
pub(crate) use keeping::{Backup, Restore, StoreCommand, StoreSalvage, StoreVerify};
pub(crate) use moving::{Examine, Export, Import, TableChoice, Verify};
pub(crate) use queue::{DataArguments, QueueCommand, Queues, Which, Work, Working};
pub(crate) use race::Race;
pub(crate) use web::Web;

const EXAMPLES: &str = "\
Examples:
  latchkey serve --demo                      the shipped systems, filled and at work, to look at
  latchkey serve                             the shipped systems, on http://127.0.0.1:8080
  latchkey check doors.md                    is the document right?
  latchkey check --deny warnings doors.md    and nothing in it doubtful? (for CI)
  latchkey test doors.md                     does it do what its examples say?
  latchkey serve doors.md --data ./doors     serve it, and keep its items there
  latchkey token --data ./doors --sub alice  a token for a caller
  latchkey explain D-01 doors.md             the DynamoDB requests of a contract
  latchkey openapi doors.md                  the OpenAPI document, for clients
  latchkey docs doors.md --out site          its pages, for people
  latchkey backup --data ./doors --out FILE  all it holds, while it is served
  latchkey table create doors.md             its table on DynamoDB
  latchkey serve doors.md --dynamodb         serve it from there

Exit codes: 0 if all is well, 1 if a document has mistakes, an example fails or an outcome does not follow, 2 if a
file cannot be used or the call is wrong.";

/// Access-pattern documents that run.
#[derive(Debug, Parser)]
#[command(name = "latchkey", version, after_help = EXAMPLES)]
struct Arguments {
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

/// What `check` does not let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings, as if they were mistakes.
    Warnings,
}

/// The version of an OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpenApiVersion {
    /// OpenAPI 3.1.
    #[value(name = "3.1")]
    V3_1,
    /// OpenAPI 3.0, for generators that do not read 3.1.
    #[value(name = "3.0")]
    V3_0,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves documents over HTTP; without any, the shipped systems.
    Serve(Serve),
    /// Checks documents: names, types, and every rule. Prints all mistakes and warnings at once.
    Check {
        /// The documents; without any, those that are shipped.
        #[arg(value_name = "DOC")]
        documents: Vec<PathBuf>,
        /// Print mistakes and warnings as JSON, one a line.
        #[arg(long)]
        json: bool,
        /// Exit with 1 also if there are only warnings.
        #[arg(long, value_name = "WHAT")]
        deny: Option<Deny>,
    },
    /// Runs the examples of documents.
    Test(Test),
    /// Searches what the contracts of documents can do to each other.
    Race(Race),
    /// Calls a contract.
    Call(Call),
    /// Shows the DynamoDB requests of a contract, on every path, with placeholders.
    Explain {
        /// The contract's id.
        #[arg(value_name = "CONTRACT")]
        contract: String,
        /// The documents; without any, those that are shipped.
        #[arg(value_name = "DOC")]
        documents: Vec<PathBuf>,
    },
    /// Prints the OpenAPI document of what one server serves, for clients and their generators.
    #[command(after_help = "\
Examples:
  latchkey openapi doors.md > doors.json
  latchkey openapi doors.md --version 3.0 > doors-3.0.json    for generators that do not read 3.1
  curl http://127.0.0.1:8080/openapi.json                     the same of a running server")]
    Openapi {
        /// The documents; without any, those that are shipped.
        #[arg(value_name = "DOC")]
        documents: Vec<PathBuf>,
        /// The version of OpenAPI.
        #[arg(long, value_name = "VERSION", default_value = "3.1")]
        version: OpenApiVersion,
    },
    /// Writes documents as a site of HTML and Markdown, with all that is computed of them.
    Docs(Docs),
    /// Works on the messages of the queues of documents, and serves no contract.
    Work(Work),
    /// Shows queues and their messages, sends dead messages again, and removes messages.
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Makes, shows and compares the DynamoDB tables of documents.
    #[command(subcommand)]
    Table(Table),
    /// Prints a token for a caller, signed with the development secret of a data directory.
    Token(Token),
    /// Writes every item of a table as lines of DynamoDB JSON.
    Export(Export),
    /// Loads the lines of an export into a table.
    Import(Import),
    /// Reads a table and tells which of its items are not as the document says, and which contracts miss them.
    Examine(Examine),
    /// Writes everything that a data directory holds into one file, also while a server has it open.
    Backup(Backup),
    /// Makes a new data directory of a backup.
    Restore(Restore),
    /// Checks a data directory, saves what can be read of a damaged one, or makes its files small.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Verifies a lottery: that every outcome follows from the key that was committed to.
    Verify(Verify),
    /// Prints the checked models of documents, for other programs.
    Model {
        /// The documents; without any, those that are shipped. One JSON object follows the other.
        #[arg(value_name = "DOC")]
        documents: Vec<PathBuf>,
        /// Print JSON; there is no other form yet.
        #[arg(long, required = true)]
        json: bool,
    },
}

/// The arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey serve --demo                                the shipped systems, filled and at work, to look at
  latchkey serve                                       the shipped systems
  latchkey serve doors.md --listen 127.0.0.1:9000      your own
  latchkey serve doors.md --demo                       your own, with what its `demo` blocks say
  LATCHKEY_SECRET=… latchkey serve doors.md --listen 0.0.0.0:8080
  latchkey serve doors.md --dynamodb                   on DynamoDB, with your AWS profile
  latchkey serve doors.md --dynamodb --endpoint http://127.0.0.1:8000
  latchkey serve --dynamodb --table doors=doors-prod   on a table of another name
  latchkey serve doors.md --dynamodb --sqs             and its queues on SQS
  latchkey serve doors.md --oidc https://id.example.com/ --audience doors    tokens of your identity provider
  latchkey serve doors.md --jwks keys.json --issuer https://id.example.com/ --audience doors
  latchkey serve doors.md --cors https://app.example   for pages of that origin too
  latchkey serve doors.md --limit-per-caller '100/s burst 300' --proxies 1   behind one load balancer
  latchkey serve doors.md --admin-listen 127.0.0.1:9090    with /metrics and /ready there alone
  latchkey serve doors.md --problem-base https://docs.example/problems

DynamoDB's table must be there: `latchkey table create` makes it; `latchkey queue create` makes queues on SQS.
Without --sqs messages are kept in the data directory, also those of a table on DynamoDB.

Without LATCHKEY_SECRET (32 bytes or more) a development secret is made and kept in the data directory; with it
the server listens on loopback alone. LATCHKEY_SECRETS_OLD has the secrets before it, separated by commas: they
still verify tokens and open cursors. Requests are logged to standard error as JSON lines; LATCHKEY_LOG=warn
leaves them out. SIGTERM, SIGHUP and Ctrl-C stop the server once its requests are answered; twice, at once.")]
pub(crate) struct Serve {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = web::address)]
    pub(crate) listen: SocketAddr,
    /// Fill the systems with what the `demo` blocks of their documents say, and go on calling them. All is kept in
    /// memory, and gone when the server stops; so there is no data directory, no DynamoDB and no SQS. Requests are
    /// logged only if LATCHKEY_LOG is set.
    #[arg(long, conflicts_with = "data")]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) kept: DataArguments,
    #[command(flatten)]
    pub(crate) working: Working,
    /// Work on no messages; leave them to `latchkey work`.
    #[arg(long, conflicts_with = "workers")]
    pub(crate) no_workers: bool,
    #[command(flatten)]
    pub(crate) trust: Trust,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) web: Web,
    /// How often one caller may call, all contracts together: `100/s`, or `100/s burst 300`. Calls without a token are
    /// counted by their address.
    #[arg(long, value_name = "LIMIT", value_parser = limit_per_caller)]
    pub(crate) limit_per_caller: Option<CallLimit>,
    /// How many proxies of yours stand before the server. A caller's address is then read from `X-Forwarded-For`.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=16))]
    pub(crate) proxies: u8,
    /// Let requests give their instant in `Latchkey-Now`. Messages are worked on only during `POST /test-clock/pass`.
    /// For tests, on loopback only.
    #[arg(long)]
    pub(crate) test_clock: bool,
}

fn limit_per_caller(text: &str) -> Result<CallLimit, String> {
    let limit = CallLimit::parse(text, Whose::Caller);
    limit.ok_or_else(|| {
        let most = format!("at most {LIMIT_CALLS_MAX} calls in s, m, h or d");
        format!("write `100/s` or `100/s burst 300`: {most}")
    })
}

/// Which store has the items.
#[derive(Debug, Args)]
pub(crate) struct Storage {
    /// Keep items in DynamoDB, not in the data directory. Credentials and region are found as the AWS SDK finds them.
    #[arg(long)]
    pub(crate) dynamodb: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// Where DynamoDB is, and which tables are used there.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// A service that speaks DynamoDB's protocol, instead of AWS's; also AWS_ENDPOINT_URL_DYNAMODB.
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The DynamoDB table of a system, instead of the one in its document; for a single system also
    /// DYNAMODB_TABLE_NAME.
    #[arg(long = "table", value_name = "SYSTEM=NAME")]
    pub(crate) tables: Vec<String>,
}

/// The arguments of `test`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey test doors.md                     on a store of its own, in memory
  latchkey test doors.md --complete          and fail if a failure has no example
  latchkey test doors.md --dynamodb          on a table of its own in DynamoDB, removed afterwards
  latchkey serve doors.md --test-clock --data ./empty &
  latchkey test doors.md --against http://127.0.0.1:8080 --data ./empty

Examples run in order, on a store with nothing in it; a server they run against must be so too, and must let
them set the clock. Its tokens are signed with LATCHKEY_SECRET, or the development secret in its data directory.")]
pub(crate) struct Test {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    /// Run the examples against a running server.
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,
    /// Run the examples on DynamoDB, on a new table that is removed afterwards.
    #[arg(long, conflicts_with = "against")]
    pub(crate) dynamodb: bool,
    /// A service that speaks DynamoDB's protocol, instead of AWS's; also AWS_ENDPOINT_URL_DYNAMODB.
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// The data directory of that server, for its secret.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// Fail if a contract, or one of its failures, has no example.
    #[arg(long)]
    pub(crate) complete: bool,
}

/// The arguments of `call`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey call D-01 doorId=D1 --as alice --doc doors.md
  latchkey call D-02 doorId=D1 --as alice --role operator --trace
  latchkey call D-03 'tags:=[\"a\", \"b\"]' --as alice     := gives JSON
  latchkey call D-01 doorId=D1 --as alice --doc doors.md --dynamodb

The store is opened in place, so no server may have it open; with --dynamodb any number may.")]
pub(crate) struct Call {
    /// The contract's id.
    #[arg(value_name = "CONTRACT")]
    pub(crate) contract: String,
    /// The inputs: NAME=TEXT, or NAME:=JSON.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Who calls.
    #[arg(long = "as", value_name = "ID")]
    pub(crate) caller: String,
    /// A role of the caller.
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// An organisation of the caller.
    #[arg(long = "org", value_name = "ID")]
    pub(crate) orgs: Vec<String>,
    /// The documents; without any, those that are shipped.
    #[arg(long = "doc", value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kept: DataArguments,
    /// Show the requests to the table.
    #[arg(long)]
    pub(crate) trace: bool,
    /// The instant of the call, instead of now.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// The `Idempotency-Key` of the call.
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
}

/// The arguments of `table`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  latchkey table create doors.md                                    on AWS, with your profile
  latchkey table create doors.md --endpoint http://127.0.0.1:8000   on a service of your own
  latchkey table create doors.md --table doors=doors-prod           under another name
  latchkey table diff doors.md                                      is it as the document needs it?
  latchkey table cloudformation doors.md > doors-table.yaml

Credentials, region and endpoint are found as by every program of the AWS SDK.")]
pub(crate) enum Table {
    /// Makes tables: on-demand billing, point-in-time recovery, expiry. Existing tables are not changed.
    #[command(after_help = "\
Examples:
  latchkey table create doors.md
  latchkey table create doors.md --endpoint http://127.0.0.1:8000
  AWS_PROFILE=prod latchkey table create doors.md --table doors=doors-prod

Waits until tables and indexes are active. Exit code 1 if a table is there and not as its document needs it.")]
    Create(Tables),
    /// Shows tables: key, indexes, billing, recovery, expiry, size.
    #[command(after_help = "\
Examples:
  latchkey table describe doors.md
  latchkey table describe doors.md --table doors=doors-prod --endpoint http://127.0.0.1:8000

Exit code 1 if a table is not there.")]
    Describe(Tables),
    /// Compares tables with what their documents need, and says what to run where they differ.
    #[command(after_help = "\
Examples:
  latchkey table diff doors.md
  latchkey table diff && latchkey serve --dynamodb

Exit code 1 if there are differences.")]
    Diff(Tables),
    /// Prints a CloudFormation template of tables.
    #[command(after_help = "\
Examples:
  latchkey table cloudformation doors.md > doors-table.yaml
  latchkey table cloudformation doors.md --table doors=doors-prod
  aws cloudformation deploy --stack-name doors-table --template-file doors-table.yaml

Nothing is asked of AWS. The tables stay when the stack is removed.")]
    Cloudformation {
        /// The documents; without any, those that are shipped.
        #[arg(value_name = "DOC")]
        documents: Vec<PathBuf>,
        /// The table of a system, instead of the one in its document; for a single system also DYNAMODB_TABLE_NAME.
        #[arg(long = "table", value_name = "SYSTEM=NAME")]
        tables: Vec<String>,
    },
}

/// Which tables.
#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// The arguments of `token`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey token --sub alice
  latchkey token --data ./doors --sub dana --role operator --org acme --hours 1
  latchkey token --data ./doors --sub dana --role operator --doc doors.md    refuse a role it does not have
  curl -H \"authorization: Bearer $(latchkey token --sub alice)\" http://127.0.0.1:8080/…")]
pub(crate) struct Token {
    /// The data directory of the server, which has the secret.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    /// The caller's id.
    #[arg(long, value_name = "ID")]
    pub(crate) sub: String,
    /// A role of the caller.
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// An organisation of the caller.
    #[arg(long = "org", value_name = "ID")]
    pub(crate) orgs: Vec<String>,
    /// The documents that the token is for. Roles that none of them has are refused.
    #[arg(long = "doc", value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    /// How many hours the token is valid.
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub(crate) hours: u32,
    #[command(flatten)]
    pub(crate) trust: Trust,
}

/// Runs the command the process was started with.
pub fn main() -> ExitCode {
    surroundings::settle();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Also help that was asked for.
        Err(told) => return output::tell(&told),
    };
    let colour = match arguments.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    };
    let done = match arguments.command {
        Command::Serve(serve) => serve::run(serve, colour),
        Command::Check { documents, json, deny } => {
            return check::run(&documents, json, deny, colour);
        }
        Command::Test(test) => test::run(&test, colour),
        Command::Race(race) => race_command::run(&race, colour),
        Command::Call(call) => call::run(call, colour),
        Command::Explain { contract, documents } => explain::run(&contract, &documents, colour),
        Command::Openapi { documents, version } => {
            let version = match version {
                OpenApiVersion::V3_1 => latchkey_openapi::Version::V3_1,
                OpenApiVersion::V3_0 => latchkey_openapi::Version::V3_0,
            };
            openapi::run(&documents, version, colour)
        }
        Command::Docs(docs) => docs_command::run(&docs, colour),
        Command::Work(work) => work::run(&work, colour),
        Command::Queue(queue) => queue_command::run(&queue, colour),
        Command::Table(table) => table::run(table, colour),
        Command::Token(token) => token::run(&token, colour),
        Command::Export(export) => export::run(&export, colour),
        Command::Import(import) => import::run(&import, colour),
        Command::Examine(examine) => examine::run(&examine, colour),
        Command::Backup(backup) => backup::run(&backup),
        Command::Restore(restore) => restore::run(&restore),
        Command::Store(store) => store::run(&store),
        Command::Verify(verify) => verify::run(&verify),
        Command::Model { documents, .. } => return model::run(&documents, colour),
    };
    done.map_or_else(crate::Failure::exit_code, |()| ExitCode::SUCCESS)
}
