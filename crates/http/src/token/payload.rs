//! The claims of a token: where they are, and what they must be.

use latchkey_table::{Map, Number, Text, Value};

use super::{Claims, TokenError};

/// The longest path to a claim, in bytes.
const PATH_BYTES_MAX: usize = 512;

/// Where the tokens of an identity provider have their claims: each a name, or a path of names with dots between them.
///
/// At each object, the longest name of a member that the path begins with is followed. So a claim whose own name has
/// dots, such as a URL, is found by its name, and `realm_access.roles` is found within `realm_access`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimPaths {
    /// The caller.
    pub sub: Option<String>,
    /// The roles.
    pub roles: Option<String>,
    /// The organisations.
    pub orgs: Option<String>,
    /// What is compared with the audience.
    pub aud: Option<String>,
}

/// Why a claim cannot be mapped so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Not `CLAIM=PATH`.
    #[error("`{0}` is not CLAIM=PATH, such as roles=realm_access.roles")]
    Form(String),
    /// A claim that is not mapped.
    #[error("`{0}` cannot be had from another claim; `sub`, `roles`, `orgs` and `aud` can")]
    Claim(String),
    /// A claim is mapped twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// A path that is too long.
    #[error("the path of `{0}` is longer than {PATH_BYTES_MAX} bytes")]
    Long(String),
}

impl ClaimPaths {
    /// Reads `CLAIM=PATH` for each claim that is elsewhere.
    pub fn read(given: &[String]) -> Result<ClaimPaths, PathError> {
        let mut paths = ClaimPaths::default();
        for given in given {
            let split = given.split_once('=').filter(|(_, path)| !path.is_empty());
            let (claim, path) = split.ok_or_else(|| PathError::Form(given.clone()))?;
            let place = match claim {
                "sub" => &mut paths.sub,
                "roles" => &mut paths.roles,
                "orgs" => &mut paths.orgs,
                "aud" => &mut paths.aud,
                _ => return Err(PathError::Claim(claim.to_owned())),
            };
            if path.len() > PATH_BYTES_MAX {
                return Err(PathError::Long(claim.to_owned()));
            }
            if place.replace(path.to_owned()).is_some() {
                return Err(PathError::Twice(claim.to_owned()));
            }
        }
        Ok(paths)
    }
}

/// The same, ready to be followed.
pub(super) struct Paths<'a> {
    sub: &'a str,
    roles: &'a str,
    orgs: &'a str,
    aud: &'a str,
    /// Whether roles and organisations may be a text, with spaces between them.
    texts: bool,
}

impl Paths<'_> {
    /// Those of our own tokens.
    pub(super) const PLAIN: Paths<'static> =
        Paths { sub: "sub", roles: "roles", orgs: "orgs", aud: "aud", texts: false };

    /// Those of a provider.
    pub(super) fn of(paths: &ClaimPaths) -> Paths<'_> {
        fn or<'a>(path: &'a Option<String>, plain: &'a str) -> &'a str {
            path.as_deref().unwrap_or(plain)
        }
        Paths {
            sub: or(&paths.sub, "sub"),
            roles: or(&paths.roles, "roles"),
            orgs: or(&paths.orgs, "orgs"),
            aud: or(&paths.aud, "aud"),
            texts: true,
        }
    }

    /// Who a token says the caller is.
    pub(super) fn claims(&self, payload: &Map) -> Result<Claims, TokenError> {
        let wrong = TokenError::Claim("sub", "a text");
        let sub = follow(payload, self.sub).map_err(|_| wrong)?;
        let sub = sub.ok_or(TokenError::Missing("sub"))?.as_text().ok_or(wrong)?;
        Ok(Claims {
            sub: sub.clone(),
            roles: self.names(payload, "roles", self.roles)?,
            orgs: self.names(payload, "orgs", self.orgs)?,
        })
    }

    /// Checks that a token comes from an issuer and is for an audience.
    pub(super) fn check_scope(
        &self,
        payload: &Map,
        issuer: &Text,
        audience: &Text,
    ) -> Result<(), TokenError> {
        let wrong = TokenError::Claim("iss", "a text");
        let found = payload.get("iss").ok_or(TokenError::Missing("iss"))?;
        if found.as_text().ok_or(wrong)? != issuer {
            return Err(TokenError::Issuer);
        }
        let wrong = TokenError::Claim("aud", "a text or a list of texts");
        let found = follow(payload, self.aud).map_err(|_| wrong)?;
        let ours = match found.ok_or(TokenError::Missing("aud"))? {
            Value::Text(found) => found == audience,
            Value::List(values) => {
                let texts: Option<Vec<&Text>> = values.iter().map(Value::as_text).collect();
                texts.ok_or(wrong)?.contains(&audience)
            }
            _ => return Err(wrong),
        };
        if ours { Ok(()) } else { Err(TokenError::Audience) }
    }

    /// The texts of a list; none where there is no list. A text is a list with spaces, as OAuth's `scope` is.
    fn names(
        &self,
        payload: &Map,
        claim: &'static str,
        path: &str,
    ) -> Result<Vec<Text>, TokenError> {
        let wrong = match self.texts {
            true => {
                TokenError::Claim(claim, "a list of texts, or a text with spaces between names")
            }
            false => TokenError::Claim(claim, "a list of texts"),
        };
        match follow(payload, path).map_err(|_| wrong)? {
            None => Ok(Vec::new()),
            Some(Value::List(values)) => {
                values.iter().map(|value| value.as_text().cloned().ok_or(wrong)).collect()
            }
            Some(Value::Text(text)) if self.texts => {
                Ok(text.split(' ').filter(|name| !name.is_empty()).map(Text::from).collect())
            }
            Some(_) => Err(wrong),
        }
    }
}

/// A path leads into something that is not an object.
#[derive(Debug, PartialEq, Eq)]
struct NoObject;

/// What a path leads to, if it is there.
fn follow<'a>(payload: &'a Map, path: &str) -> Result<Option<&'a Value>, NoObject> {
    if let Some(value) = payload.get(path) {
        return Ok(Some(value));
    }
    // The longest name first: its end is the last dot.
    let mut names = path.rmatch_indices('.').filter_map(|(at, _)| path.split_at_checked(at));
    let found = names.find_map(|(name, rest)| Some((payload.get(name)?, rest)));
    match found {
        None => Ok(None),
        Some((Value::Map(within), rest)) => follow(within, rest.strip_prefix('.').unwrap_or(rest)),
        Some(_) => Err(NoObject),
    }
}

pub(super) fn number(payload: &Map, name: &'static str) -> Result<Option<Number>, TokenError> {
    let wrong = TokenError::Claim(name, "a number of seconds");
    payload.get(name).map(|value| value.as_number().ok_or(wrong)).transpose()
}

#[cfg(test)]
mod tests;
