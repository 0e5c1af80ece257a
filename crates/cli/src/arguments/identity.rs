//! Which tokens are accepted: the arguments of `serve`, and those that it shares with `token` and `test`.

use clap::Args;

/// The issuer and the audience of tokens, unless others are given.
const OURS: &str = "latchkey";

/// Which tokens are accepted.
#[derive(Debug, Default, Args)]
pub(crate) struct Trust {
    /// The `iss` of tokens; `latchkey` if it is not given.
    #[arg(long, value_name = "ISS", value_parser = not_blank)]
    issuer: Option<String>,
    /// The `aud` of tokens; `latchkey` if it is not given.
    #[arg(long, value_name = "AUD", value_parser = not_blank)]
    audience: Option<String>,
}

/// A text that says something. An unset variable of a shell is an empty one.
fn not_blank(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it is empty or blank; name one, or leave the flag out".to_owned()),
        false => Ok(text.to_owned()),
    }
}

impl Trust {
    pub(crate) fn issuer(&self) -> &str {
        self.issuer.as_deref().unwrap_or(OURS)
    }

    pub(crate) fn audience(&self) -> &str {
        self.audience.as_deref().unwrap_or(OURS)
    }

    /// The same, with the issuer that an identity provider has.
    pub(crate) fn of_issuer(&self, issuer: &str) -> Trust {
        Trust { issuer: Some(issuer.to_owned()), audience: self.audience.clone() }
    }
}

/// Whose tokens are accepted, beside those of the shared secret.
#[derive(Debug, Args)]
pub(crate) struct Identity {
    /// Accept the tokens of an OpenID Connect provider, by the issuer in its tokens. Its keys are found at
    /// ISSUER/.well-known/openid-configuration. Needs --audience.
    #[arg(long, value_name = "ISSUER", requires = "audience", conflicts_with_all = ["issuer", "jwks"])]
    pub(crate) oidc: Option<String>,
    /// Accept tokens that are signed with a key of this JSON Web Key Set. Needs --issuer and --audience.
    #[arg(long, value_name = "FILE|URL", requires_all = ["issuer", "audience"])]
    pub(crate) jwks: Option<String>,
    /// Where the provider's tokens have `sub`, `roles`, `orgs` or `aud`: the name of a claim, or a path of names
    /// with dots between them.
    #[arg(long = "claim", value_name = "CLAIM=PATH")]
    pub(crate) claims: Vec<String>,
    /// Accept HS256 tokens that are signed with LATCHKEY_SECRET too, of the same issuer and audience.
    #[arg(long)]
    pub(crate) accept_hs256: bool,
}
