//! How long the check takes, by the size of the document.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::Result;
use crate::load::median;

/// Contracts a part of the document has.
const CONTRACTS_A_PART: usize = 5;

/// Checks documents of more and more contracts.
pub(crate) fn measure(rounds: u32) -> Result<()> {
    println!("Medians of {rounds} rounds, one thread\n");
    println!("| contracts | document |    parse |    check | check, a contract |");
    println!("|----------:|---------:|---------:|---------:|------------------:|");
    for contracts in [50usize, 100, 250, 500, 1000, 2000] {
        let text = document(contracts / CONTRACTS_A_PART);
        let mut parses = Vec::new();
        let mut checks = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            let parsed = latchkey_language::parse(&text);
            parses.push(start.elapsed());
            drop(parsed);
            let start = Instant::now();
            let checked = latchkey_model::check(&text);
            checks.push(start.elapsed());
            if let Some(mistake) = checked.diagnostics.first() {
                return Err(format!("the document has a mistake: {mistake:?}").into());
            }
        }
        let (parse, check) = (median_time(parses), median_time(checks));
        let each = check / u32::try_from(contracts).unwrap_or(u32::MAX);
        println!(
            "| {contracts:>9} | {:>5} KB | {:>5.1} ms | {:>5.1} ms | {:>14.0} µs |",
            text.len() / 1024,
            parse.as_secs_f64() * 1e3,
            check.as_secs_f64() * 1e3,
            each.as_secs_f64() * 1e6,
        );
    }
    Ok(())
}

fn median_time(times: Vec<Duration>) -> Duration {
    Duration::from_secs_f64(median(times.iter().map(Duration::as_secs_f64).collect()))
}

/// A document of so many parts, each with entities, a view, a guard and contracts of its own.
fn document(parts: usize) -> String {
    let mut text =
        "# Large\n```contract\nsystem large\ntable Large { type kind }\nrole operator\n```\n"
            .to_owned();
    for part in 0..parts {
        let filled = PART.replace("~~", &format!("{part:04}"));
        let _ = writeln!(text, "\n## Part {part}\n\nProse for people.\n\n```contract\n{filled}```");
    }
    text
}

const PART: &str = include_str!("check-part.txt");
