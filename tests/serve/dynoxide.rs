//! dynoxide-rs as a service in a process of its own.
//!
//! `dynoxide-service [PORT [DIR]]`: PORT 0, or none, takes a free one. With DIR its tables are kept there, else
//! in memory. Prints `listening URL`, and ends at once when its standard input is closed: so it never outlives
//! whoever started it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

use std::error::Error;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use dynoxide::Database;

fn main() -> ExitCode {
    std::thread::spawn(|| {
        // Nothing is ever written to it.
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dynoxide does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let database = match arguments.next() {
        None => Database::memory()?,
        Some(directory) => {
            std::fs::create_dir_all(&directory)?;
            let file = Path::new(&directory).join("dynoxide.sqlite");
            Database::new(&file.to_string_lossy())?
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        println!("listening http://{}", listener.local_addr()?);
        dynoxide::server::serve_on(listener, database).await;
        Ok(())
    })
}
