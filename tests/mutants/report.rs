//! `cargo run -p latchkey-tests --bin mutants`: the study as a table.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

mod study;

use study::{Expected, Fate, mutants, original_holds};

fn main() -> Result<(), String> {
    original_holds()?;
    println!("| id | mistake | what comes of it |\n|---|---|---|");
    let (mut checked, mut shown, mut harmless, mut unseen) = (0, 0, 0, 0);
    for mutant in mutants()? {
        let told = match (mutant.fate()?, mutant.expected) {
            (Fate::Checked(rules), _) => {
                checked += 1;
                format!("caught by the check: {}", rules.join(", "))
            }
            (Fate::Shown(first), _) => {
                shown += 1;
                format!("caught by an example: {first}")
            }
            (Fate::Survived, Expected::Harmless(why)) => {
                harmless += 1;
                format!("survives, harmless: {why}")
            }
            (Fate::Survived, Expected::Unseen(why)) => {
                unseen += 1;
                format!("survives, unseen: {why}")
            }
            (Fate::Survived, Expected::Checked(_) | Expected::Example(_)) => {
                "**survives, and should not**".to_owned()
            }
        };
        println!("| {} | {} | {told} |", mutant.id, mutant.mistake);
    }
    println!("\n{} mutants: the check catches {checked}, an example {shown};", mutants()?.len());
    println!("{harmless} are harmless, {unseen} can be seen by neither.");
    Ok(())
}
