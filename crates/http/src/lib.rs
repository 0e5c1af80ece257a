//! Contracts over HTTP: routes, tokens, limits, metrics.
//!
//! ```no_run
//! use std::sync::Arc;
//! use latchkey_http::{Limits, Server, Service, Settings, Tokens};
//! use latchkey_runtime::Runtime;
//!
//! async fn serve(runtime: Runtime, secret: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//!     let tokens = Tokens::new(secret, "latchkey", "latchkey")?;
//!     let service = Arc::new(Service::new(vec![runtime], tokens, Settings::default())?);
//!     let server = Server::listen("127.0.0.1:8080".parse()?, Limits::default()).await?;
//!     println!("http://{}", server.address());
//!     let stop = std::future::pending(); // or a future that is ready when the server must stop
//!     server.run(service, stop).await;
//!     Ok(())
//! }
//! ```

mod body;
mod browsers;
mod budget;
mod bug;
mod call_limits;
mod connections;
mod headers;
mod identity;
mod log;
mod metrics;
mod raw;
mod reading;
mod refusal;
mod request;
mod respond;
mod router;
mod server;
mod service;
mod site;
mod stream;
mod test_clock;
mod token;

pub use browsers::{BadOrigin, Cors};
pub use identity::{
    AddressError, FetchError, KeySource, LoadError, NoRoots, Provider, ProviderError, SetError,
    Timing,
};
pub use log::Log;
pub use reading::Routes;
pub use respond::Response;
pub use router::Clash;
pub use server::{Limits, Served, Server, ServerError};
pub use service::{
    ContractFigures, Counts, Door, Explanation, Figures, HotPartition, MoreMetrics, Service,
    ServiceError, Settings, Starting, latency_bounds,
};
pub use site::{Site, Traced, Visit};
pub use test_clock::{Delivered, MESSAGES_MAX, TestClock};
pub use token::{
    ClaimPaths, Claims, PathError, SECRET_BYTES_MIN, TOKEN_BYTES_MAX, TokenError, Tokens, Trusted,
    WeakSecret,
};
