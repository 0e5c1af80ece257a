//! `latchkey token`

use std::time::Duration;

use latchkey_http::Claims;
use latchkey_runtime::{Source, SystemSource};
use latchkey_table::Text;

use crate::Failure;
use crate::arguments::Token;
use crate::secret::Secret;

pub(crate) fn run(arguments: &Token) -> Result<(), Failure> {
    let tokens = Secret::find(&arguments.data)?.tokens(&arguments.trust)?;
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
