//! `cargo run -p latchkey-tests --bin mutants`: the study as a table.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

mod study;

use study::{Expected, mutants};

fn main() -> Result<(), String> {
    println!("| id | mistake | what comes of it |\n|---|---|---|");
    let (mut caught, mut harmless, mut example) = (0, 0, 0);
    for mutant in mutants()? {
        let found = mutant.found_by()?;
        let told = if !found.is_empty() {
            caught += 1;
            format!("caught by {}", found.join(", "))
        } else {
            match mutant.expected {
                Expected::Harmless(why) => {
                    harmless += 1;
                    format!("survives, harmless: {why}")
                }
                Expected::Example(which) => {
                    example += 1;
                    format!("survives, seen by an example: {which}")
                }
                Expected::Caught(rule) => format!("**survives, and {rule} should catch it**"),
            }
        };
        println!("| {} | {} | {told} |", mutant.id, mutant.mistake);
    }
    println!(
        "\n{} mutants: the check catches {caught}; {harmless} are harmless; {example} need an example.",
        mutants()?.len()
    );
    Ok(())
}
