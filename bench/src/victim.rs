//! A process that has a file open and writes to it, until it is killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::Result;
use crate::bare::Bare;
use crate::items::Items;
use crate::latchkey::{Indexes, Latchkey};
use crate::load::{Operation, Side, Work, run, runtime};

/// How long it writes before it is killed.
const WRITES: Duration = Duration::from_millis(700);

/// It ends by itself should no one kill it.
const LIFE_MAX: Duration = Duration::from_secs(60);

const CLIENTS: u64 = 64;

const READY: &str = "ready";

/// What a victim is told.
#[derive(Debug, Args)]
pub(crate) struct Victim {
    what: What,
    directory: PathBuf,
    items: u64,
}

/// Which side it writes to.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum What {
    Latchkey,
    Bare,
    BareQuickRepair,
}

/// Starts a process that writes to a directory no one has open, and kills it.
pub(crate) fn kill_while_writing(what: What, directory: &Path, items: Items) -> Result<()> {
    let name = what.to_possible_value().ok_or("a victim without a name")?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["victim", name.get_name()])
        .arg(directory)
        .arg(items.total().to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    thread::sleep(WRITES);
    let died_early = child.try_wait()?.is_some();
    // SIGKILL, to this process alone.
    child.kill()?;
    child.wait()?;
    if died_early || line.trim() != READY { Err("the victim failed".into()) } else { Ok(()) }
}

/// Writes until killed.
pub(crate) fn write(victim: &Victim) -> Result<()> {
    let items = Items::new(victim.items);
    let directory = &victim.directory;
    match victim.what {
        What::Latchkey => write_to(Latchkey::open(directory, items, Indexes::None)?),
        What::Bare => write_to(Bare::open(directory, items, false)?),
        What::BareQuickRepair => write_to(Bare::open(directory, items, true)?),
    }
}

fn write_to(side: impl Side) -> Result<()> {
    println!("{READY}");
    let seed = std::process::id();
    let work = Work { operation: Operation::Put, clients: CLIENTS, time: LIFE_MAX, seed };
    run(&runtime()?, &Arc::new(side), work).map(drop)
}
