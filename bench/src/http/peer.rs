//! The bare handler a get is measured against: what one would write with axum alone to answer a constant.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Router, serve};
use clap::Args;
use tokio::net::TcpListener;

use super::process::LISTENING;
use crate::Result;

/// What it answers.
#[derive(Debug, Args)]
pub(crate) struct Peer {
    /// The body.
    #[arg(long)]
    pub(crate) body: String,
    /// A header, as NAME:VALUE.
    #[arg(long = "header")]
    pub(crate) headers: Vec<String>,
}

struct Constant {
    headers: HeaderMap,
    body: Bytes,
}

/// Answers until killed, on as many threads as the runtime has by default.
pub(crate) fn run(peer: Peer) -> Result<()> {
    let headers: Result<HeaderMap> = peer.headers.iter().map(|header| parse(header)).collect();
    let constant = Arc::new(Constant { headers: headers?, body: peer.body.into() });
    let router = Router::new().route("/lockers/{id}", get(answer)).with_state(constant);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{LISTENING} http://{}", listener.local_addr()?);
        // As the service does.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        Ok(serve(listener, router).await?)
    })
}

async fn answer(Path(_): Path<String>, State(constant): State<Arc<Constant>>) -> Response<Body> {
    let mut response = Response::new(Body::from(constant.body.clone()));
    *response.headers_mut() = constant.headers.clone();
    response
}

fn parse(header: &str) -> Result<(HeaderName, HeaderValue)> {
    let (name, value) = header.split_once(':').ok_or("a header is NAME:VALUE")?;
    Ok((name.parse()?, value.parse()?))
}
