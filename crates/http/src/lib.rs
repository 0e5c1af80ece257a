//! Contracts over HTTP: routes, tokens, limits, metrics.

mod headers;
mod linger;
mod log;
mod metrics;
mod request;
mod respond;
mod router;
mod server;
mod service;
mod test_clock;
mod token;

pub use router::Clash;
pub use server::{Server, ServerError};
pub use service::{MoreMetrics, Service, ServiceError, Settings};
pub use test_clock::TestClock;
pub use token::{Claims, SECRET_BYTES_MIN, TOKEN_BYTES_MAX, TokenError, Tokens, WeakSecret};
