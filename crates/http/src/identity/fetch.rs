//! Fetches a small document over HTTPS, and nothing that was not asked for.
//!
//! No redirect is followed, nothing is sent but the path, and size and time are bounded. Plain HTTP is for this
//! machine alone.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// The largest document that is read.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// The address of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    uri: Uri,
    host: String,
    port: u16,
    tls: bool,
}

/// Why a text is no address that is fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not a URL.
    #[error("`{0}` is not a URL: write https://HOST/PATH")]
    Form(String),
    /// Plain HTTP to another machine.
    #[error(
        "`{0}` is not https://; plain http is for 127.0.0.1, [::1] and localhost alone, since keys that anyone on the way can change prove nothing"
    )]
    Plain(String),
    /// A name and a password.
    #[error("`{0}` has a user in it, which is not sent; leave it out")]
    User(String),
}

/// Why a document was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The name of the host cannot be resolved.
    #[error("cannot find the host: {0}")]
    Resolve(std::io::Error),
    /// A plain address that leads to another machine.
    #[error("the host is not on this machine, and http:// is for this machine alone")]
    Elsewhere,
    /// No connection.
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    /// The certificate is not one that this machine trusts, or TLS fails otherwise.
    #[error("TLS fails: {0}")]
    Tls(std::io::Error),
    /// What is answered is not HTTP, or breaks off.
    #[error("the exchange fails: {0}")]
    Exchange(hyper::Error),
    /// Another status than 200.
    #[error("it answers {0}; redirects are not followed")]
    Redirect(StatusCode),
    /// Another status than 200.
    #[error("it answers {0}")]
    Status(StatusCode),
    /// A body that is too long, or breaks off.
    #[error("its body is longer than {DOCUMENT_BYTES_MAX} bytes, or breaks off")]
    Body,
    /// The time is up.
    #[error("it takes longer than {0:?}")]
    Time(Duration),
    /// A request that cannot be made.
    #[error("the address cannot be asked for")]
    Request,
}

/// This machine has no certificates to trust.
#[derive(Debug, thiserror::Error)]
#[error(
    "no certificates of authorities are found on this machine, so no https:// address can be trusted; install them (ca-certificates), or name a file with SSL_CERT_FILE{0}"
)]
pub struct NoRoots(String);

impl Address {
    /// Reads an address.
    pub(crate) fn read(url: &str) -> Result<Address, AddressError> {
        let form = || AddressError::Form(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| form())?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(form()),
        };
        let authority = uri.authority().ok_or_else(form)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::User(url.to_owned()));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(form());
        }
        if !tls && !is_loopback(&host) {
            return Err(AddressError::Plain(url.to_owned()));
        }
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        Ok(Address { uri, host, port, tls })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls
    }
}

impl fmt::Display for Address {
    /// Without a query, which may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        write!(f, "{scheme}://{authority}{}", self.uri.path())
    }
}

/// Whether a host is this machine by its name. Its addresses are looked at too, once they are known.
fn is_loopback(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Fetches documents.
#[derive(Clone, Default)]
pub(crate) struct Fetcher {
    tls: Option<TlsConnector>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetcher")
    }
}

impl Fetcher {
    /// One that trusts the authorities that this machine trusts.
    pub(crate) fn with_system_roots() -> Result<Fetcher, NoRoots> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let errors = found.errors.iter().map(|error| format!("; {error}"));
            return Err(NoRoots(errors.collect()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| NoRoots(format!("; {error}")))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Fetcher { tls: Some(TlsConnector::from(Arc::new(config))) })
    }

    /// The document at an address.
    pub(crate) async fn get(
        &self,
        address: &Address,
        time_max: Duration,
    ) -> Result<Bytes, FetchError> {
        match tokio::time::timeout(time_max, self.connect_and_get(address)).await {
            Ok(got) => got,
            Err(_) => Err(FetchError::Time(time_max)),
        }
    }

    async fn connect_and_get(&self, address: &Address) -> Result<Bytes, FetchError> {
        let found = tokio::net::lookup_host((address.host.as_str(), address.port)).await;
        let found: Vec<SocketAddr> = found.map_err(FetchError::Resolve)?.collect();
        if !address.tls && !found.iter().all(|found| found.ip().is_loopback()) {
            return Err(FetchError::Elsewhere);
        }
        let stream = TcpStream::connect(found.as_slice()).await.map_err(FetchError::Connect)?;
        if !address.tls {
            return exchange(stream, address).await;
        }
        let untrusted = |reason: &str| FetchError::Tls(std::io::Error::other(reason.to_owned()));
        let tls = self.tls.as_ref().ok_or_else(|| untrusted("no authority is trusted"))?;
        let name = ServerName::try_from(address.host.clone())
            .map_err(|_| untrusted("the host is no name that a certificate can have"))?;
        exchange(tls.connect(name, stream).await.map_err(FetchError::Tls)?, address).await
    }
}

/// Sends one request, and reads the answer.
async fn exchange<S>(stream: S, address: &Address) -> Result<Bytes, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(FetchError::Exchange)?;
    // Ends when this function does.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let host = address.uri.authority().map_or("", |authority| authority.as_str());
    let path = address.uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, host)
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("latchkey/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| FetchError::Request)?;
    let response = sender.send_request(request).await.map_err(FetchError::Exchange)?;
    match response.status() {
        StatusCode::OK => {}
        status if status.is_redirection() => return Err(FetchError::Redirect(status)),
        status => return Err(FetchError::Status(status)),
    }
    let body = Limited::new(response.into_body(), DOCUMENT_BYTES_MAX).collect().await;
    Ok(body.map_err(|_| FetchError::Body)?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for url in [
            "https://id.example.com/keys",
            "https://id.example.com:8443/a?b=c",
            "http://127.0.0.1:80/",
            "http://127.8.9.1/x",
            "http://[::1]:9/x",
            "http://localhost:9/x",
        ] {
            assert!(Address::read(url).is_ok(), "{url}");
        }
        for url in [
            "http://id.example.com/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://[::]/",
            "http://0.0.0.0/",
        ] {
            assert!(matches!(Address::read(url), Err(AddressError::Plain(_))), "{url}");
        }
        for url in
            ["", "keys.json", "ftp://h/x", "file:///etc/passwd", "https://", "//h/x", "https:/x"]
        {
            assert!(matches!(Address::read(url), Err(AddressError::Form(_))), "{url}");
        }
        for url in ["https://me:word@id.example.com/", "http://localhost@evil.example/"] {
            assert!(matches!(Address::read(url), Err(AddressError::User(_))), "{url}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_query() {
        let address = Address::read("https://id.example.com:8443/keys?token=abc").unwrap();
        assert_eq!(address.to_string(), "https://id.example.com:8443/keys");
    }
}
