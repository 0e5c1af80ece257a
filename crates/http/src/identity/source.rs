//! Where keys come from: a file, an address, or an OpenID Connect provider.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use latchkey_table::Value;
use latchkey_value::json::{self, Limits};

use super::fetch::{Address, AddressError, DOCUMENT_BYTES_MAX, FetchError, Fetcher};
use super::keys::{KeySet, SetError};

/// The path of a provider's description, behind its issuer (OpenID Connect Discovery 1.0).
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// How much of a wrong issuer is shown, in characters.
const SHOWN_MAX: usize = 200;

/// Where keys come from.
#[derive(Debug, Clone)]
pub struct KeySource(Kind);

#[derive(Debug, Clone)]
enum Kind {
    File(PathBuf),
    Url(Address),
    Oidc { issuer: String, description: Address },
}

/// Why keys could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read `{0}`: {1}")]
    File(PathBuf, std::io::Error),
    /// The file is too long.
    #[error("`{0}` is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong(PathBuf),
    /// A document cannot be fetched.
    #[error("cannot fetch {0}: {1}")]
    Fetch(String, FetchError),
    /// The description of a provider is none.
    #[error("{0} is not a JSON object with the texts `issuer` and `jwks_uri`")]
    Description(String),
    /// The provider says it is another.
    #[error(
        "the provider's issuer is `{found}` and not `{given}`; give exactly the former, if that is the one you mean"
    )]
    Issuer {
        /// What it says.
        found: String,
        /// What was configured.
        given: String,
    },
    /// The provider's keys are where they are not fetched from.
    #[error("the provider's `jwks_uri` is not fetched: {0}")]
    KeysAddress(AddressError),
    /// The keys of a provider with TLS are not behind TLS.
    #[error("the provider's `jwks_uri` is not https://, though the provider is")]
    KeysPlain,
    /// The file has a key that is not public.
    #[error(
        "`{0}` has {1}, and whoever reads the file could sign tokens; write the public parts alone, without `d`, `p`, `q`, `dp`, `dq`, `qi` and `oth`, and leave symmetric keys out: HS256 tokens are verified by LATCHKEY_SECRET, with --accept-hs256"
    )]
    Exposed(PathBuf, String),
    /// The set is refused.
    #[error("the key set of {0} is refused: {1}")]
    Set(String, SetError),
}

impl KeySource {
    /// A key set: of a file, or of an address that begins with `http://` or `https://`.
    pub fn jwks(place: &str) -> Result<KeySource, AddressError> {
        match place.contains("://") {
            true => Ok(KeySource(Kind::Url(Address::read(place)?))),
            false => Ok(KeySource(Kind::File(PathBuf::from(place)))),
        }
    }

    /// The keys of an OpenID Connect provider, by its issuer.
    pub fn oidc(issuer: &str) -> Result<KeySource, AddressError> {
        if issuer.contains(['?', '#']) {
            return Err(AddressError::Form(issuer.to_owned()));
        }
        let description = Address::read(&format!("{}{DISCOVERY}", issuer.trim_end_matches('/')))?;
        Ok(KeySource(Kind::Oidc { issuer: issuer.to_owned(), description }))
    }

    /// Where the description of an OpenID Connect provider is.
    pub fn description(&self) -> Option<String> {
        match &self.0 {
            Kind::Oidc { description, .. } => Some(description.to_string()),
            Kind::File(_) | Kind::Url(_) => None,
        }
    }

    /// Whether the keys are in a file of this machine.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.0, Kind::File(_))
    }

    /// Whether TLS is needed to fetch the keys.
    pub(super) fn needs_tls(&self) -> bool {
        match &self.0 {
            Kind::File(_) => false,
            Kind::Url(address) | Kind::Oidc { description: address, .. } => address.is_tls(),
        }
    }

    /// Reads or fetches the keys, each document within a time.
    pub(super) async fn load(
        &self,
        fetcher: &Fetcher,
        time_max: Duration,
    ) -> Result<KeySet, LoadError> {
        let (place, text) = match &self.0 {
            Kind::File(path) => (path.display().to_string(), read_file(path).await?.into()),
            Kind::Url(address) => (address.to_string(), get(fetcher, address, time_max).await?),
            Kind::Oidc { issuer, description } => {
                let text = get(fetcher, description, time_max).await?;
                let keys = keys_address(&text, issuer, description)?;
                (keys.to_string(), get(fetcher, &keys, time_max).await?)
            }
        };
        let set = KeySet::read(&text).map_err(|error| LoadError::Set(place, error))?;
        match (&self.0, set.exposed.first()) {
            // A file is one's own to mend. A provider's keys are honoured all the same, and the log tells of them.
            (Kind::File(path), Some(key)) => Err(LoadError::Exposed(path.clone(), key.to_string())),
            _ => Ok(set),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::File(path) => write!(f, "{}", path.display()),
            Kind::Url(address) => address.fmt(f),
            Kind::Oidc { issuer, .. } => f.write_str(issuer),
        }
    }
}

async fn get(
    fetcher: &Fetcher,
    address: &Address,
    time_max: Duration,
) -> Result<hyper::body::Bytes, LoadError> {
    let got = fetcher.get(address, time_max).await;
    got.map_err(|error| LoadError::Fetch(address.to_string(), error))
}

/// Where a provider has its keys, by its description.
fn keys_address(text: &[u8], issuer: &str, description: &Address) -> Result<Address, LoadError> {
    let form = || LoadError::Description(description.to_string());
    let Ok(Value::Map(told)) = json::read(text, Limits::default()) else { return Err(form()) };
    let text = |name: &str| told.get(name).and_then(Value::as_text).ok_or_else(form);
    let (found, keys) = (text("issuer")?, text("jwks_uri")?);
    if found != issuer {
        let found = found.chars().take(SHOWN_MAX).collect();
        let given = issuer.to_owned();
        return Err(LoadError::Issuer { found, given });
    }
    let keys = Address::read(keys).map_err(LoadError::KeysAddress)?;
    if description.is_tls() && !keys.is_tls() {
        return Err(LoadError::KeysPlain);
    }
    Ok(keys)
}

async fn read_file(path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |error| LoadError::File(path.to_owned(), error);
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let limit = u64::try_from(DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        std::fs::File::open(owned)?.take(limit).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = read.await.map_err(|error| failed(std::io::Error::other(error)))?;
    let bytes = bytes.map_err(failed)?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        Err(LoadError::TooLong(path.to_owned()))
    } else {
        Ok(bytes)
    }
}
