//! A document run from Rust, without a server: `cargo run -p latchkey-runtime --example embed`.

#![expect(clippy::print_stdout, reason = "it is an example")]

use latchkey_embedded::Store;
use latchkey_runtime::{Call, Caller, Options, Runtime, System};

const DOORS: &str = include_str!("../tests/doors.md");

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::read(DOORS)?;
    let store = Store::in_memory(&latchkey_embedded::Options::default())?;
    let runtime = Runtime::start(system, store, Options::default()).await?;

    let alice = Caller::new("alice");
    for call in [
        Call::new("D-02", alice.clone()).input("doorId", "D1"),
        Call::new("D-01", alice).input("doorId", "D1"),
        Call::new("D-01", Caller::new("mallory")).input("doorId", "D1"),
    ] {
        let outcome = runtime.call(call).await;
        println!("{} {} ({})", outcome.status(), outcome.body(), outcome.capacity);
    }
    Ok(())
}
