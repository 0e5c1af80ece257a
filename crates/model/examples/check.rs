//! Checks system documents and shows what is wrong: `cargo run -p latchkey-model --example check -- FILE…`

#![expect(clippy::print_stdout, reason = "showing it is what this is for")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut clean = true;
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{path}: {error}");
                clean = false;
                continue;
            }
        };
        let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        for found in latchkey_model::check(&text).diagnostics {
            clean = false;
            println!("{path}:{}: {}: {}", line(found.span.start), found.rule, found.message);
            for (span, label) in &found.others {
                println!("    {}: {label}", line(span.start));
            }
            for note in found.why.iter().chain(&found.help) {
                println!("    {note}");
            }
        }
    }
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
