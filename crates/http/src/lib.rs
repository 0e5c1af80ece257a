//! Contracts over HTTP: routes, tokens, limits, metrics.

mod body;
mod bug;
mod connections;
mod headers;
mod log;
mod metrics;
mod request;
mod respond;
mod router;
mod server;
mod service;
mod stream;
mod test_clock;
mod token;

pub use log::Log;
pub use respond::Response;
pub use router::Clash;
pub use server::{Limits, Server, ServerError};
pub use service::{MoreMetrics, Service, ServiceError, Settings};
pub use test_clock::TestClock;
pub use token::{Claims, SECRET_BYTES_MIN, TOKEN_BYTES_MAX, TokenError, Tokens, WeakSecret};
