//! Which tokens a server accepts: those of its secret, or those of an identity provider.

use latchkey_http::{ClaimPaths, KeySource, Provider, Timing, Tokens, Trusted};

use crate::Failure;
use crate::arguments::{Identity, Trust};
use crate::secret::Secret;

/// Verifies tokens as the arguments say. Keys of a provider are fetched first.
pub(crate) async fn tokens(
    secret: &Secret,
    trust: &Trust,
    identity: &Identity,
) -> Result<Tokens, Failure> {
    let source = match (&identity.oidc, &identity.jwks) {
        (Some(issuer), _) => KeySource::oidc(issuer),
        (None, Some(place)) => KeySource::jwks(place),
        (None, None) => {
            refuse_alone(identity)?;
            return secret.tokens(trust);
        }
    };
    let source = source.map_err(Failure::unusable)?;
    let claims = ClaimPaths::read(&identity.claims)
        .map_err(|error| Failure::Unusable(format!("--claim: {error}")))?;
    if identity.accept_hs256 && secret.development {
        return Err(Failure::unusable(
            "--accept-hs256 is for tokens that are signed with LATCHKEY_SECRET, and LATCHKEY_SECRET is not set",
        ));
    }
    let tokens = match &identity.oidc {
        Some(issuer) => secret.tokens(&trust.of_issuer(issuer))?,
        None => secret.tokens(trust)?,
    };
    let provider = Provider::start(source, Timing::default()).await.map_err(Failure::unusable)?;
    Ok(tokens.trusting(Trusted { provider, claims, hs256: identity.accept_hs256 }))
}

/// Refuses the arguments of a provider without one.
fn refuse_alone(identity: &Identity) -> Result<(), Failure> {
    let flag = match (identity.claims.is_empty(), identity.accept_hs256) {
        (true, false) => return Ok(()),
        (false, _) => "--claim",
        (true, true) => "--accept-hs256",
    };
    Err(Failure::Unusable(format!(
        "`{flag}` is for the tokens of an identity provider; add `--oidc` or `--jwks`, or leave it out"
    )))
}
