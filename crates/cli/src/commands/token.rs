//! `latchkey token`

use std::time::Duration;

use latchkey_http::Claims;
use latchkey_runtime::{Source, SystemSource};
use latchkey_table::Text;

use crate::arguments::Token;
use crate::document::{self, refuse_unknown_roles};
use crate::secret::Secret;
use crate::{Failure, logging};

pub(crate) fn run(arguments: &Token, colour: bool) -> Result<(), Failure> {
    check_roles(arguments, colour)?;
    let tokens = Secret::find_made(&arguments.data)?.tokens(&arguments.trust)?;
    let texts = |all: &[String]| all.iter().map(|one| Text::from(one.as_str())).collect();
    let claims = Claims {
        sub: arguments.sub.as_str().into(),
        roles: texts(&arguments.roles),
        orgs: texts(&arguments.orgs),
    };
    let lifetime = Duration::from_secs(u64::from(arguments.hours) * 60 * 60);
    let token = tokens.sign(&claims, SystemSource.now(), lifetime).map_err(Failure::unusable)?;
    println!("{token}");
    Ok(())
}

/// Refuses a role that no document has: it is probably spelled wrong. Without a document the roles are not known, and
/// the command says so.
fn check_roles(arguments: &Token, colour: bool) -> Result<(), Failure> {
    if !arguments.documents.is_empty() {
        let documents = document::all(&arguments.documents)?;
        return refuse_unknown_roles(&arguments.roles, &document::systems(&documents, colour)?);
    }
    if !arguments.roles.is_empty() {
        let roles = arguments.roles.join("`, `");
        logging::tell_last(&format!(
            "note: no document was given, so `{roles}` may be spelled wrong; add --doc DOC to have roles checked\n"
        ));
    }
    Ok(())
}
