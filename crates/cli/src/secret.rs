//! The secret that signs tokens and seals cursors.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use latchkey_embedded::private;
use latchkey_http::{SECRET_BYTES_MIN, Tokens};
use latchkey_runtime::{Source, SystemSource};

use crate::Failure;
use crate::arguments::Trust;

/// The variable that holds the secret of a deployment.
const VARIABLE: &str = "LATCHKEY_SECRET";

/// The variable that holds the secrets before it, separated by commas. They verify, and sign nothing.
const OLD_VARIABLE: &str = "LATCHKEY_SECRETS_OLD";

/// The most secrets before the one that signs: each is tried for a token that is not signed by those before it.
const OLD_MAX: usize = 8;

/// The fewest different characters of a secret of the deployment. One that was drawn at random has more.
const DIFFERENT_MIN: usize = 8;

/// The file of a data directory that holds the development secret.
const FILE: &str = "development-secret";

/// A secret, those before it, and whether it is for development only.
pub(crate) struct Secret {
    bytes: Vec<u8>,
    old: Vec<Vec<u8>>,
    pub(crate) development: bool,
}

impl Secret {
    /// The secret of the deployment, or else that of a data directory, which is made if there is none.
    pub(crate) fn find(data: &Path) -> Result<Secret, Failure> {
        Secret::of_deployment().transpose().unwrap_or_else(|| Secret::of_directory(data))
    }

    /// The secret of the deployment, or else the one that a server has made in a data directory. A command that signs
    /// tokens makes no secret: in a directory that is spelled wrong it would be one that no server has.
    pub(crate) fn find_made(data: &Path) -> Result<Secret, Failure> {
        if let Some(secret) = Secret::of_deployment()? {
            return Ok(secret);
        }
        let path = data.join(FILE);
        let there = path.try_exists().map_err(|error| unusable(&path, &error))?;
        if !there {
            return Err(Failure::Unusable(format!(
                "there is no secret in `{}`; name the data directory of the server with --data, or start the server, which makes the secret",
                data.display()
            )));
        }
        Secret::of_directory(data)
    }

    /// A secret for one run, which nothing keeps.
    pub(crate) fn of_one_run() -> Result<Secret, Failure> {
        let bytes = random().map_err(Failure::unusable)?.into_bytes();
        Ok(Secret { bytes, old: Vec::new(), development: true })
    }

    fn of_deployment() -> Result<Option<Secret>, Failure> {
        let (current, old) = (std::env::var_os(VARIABLE), std::env::var_os(OLD_VARIABLE));
        let (current, old) = match (current, old) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                return Err(Failure::Unusable(format!(
                    "{OLD_VARIABLE} is set and {VARIABLE} is not; set {VARIABLE} to the secret that signs, or unset both"
                )));
            }
            (Some(current), old) => (current.into_encoded_bytes(), old),
        };
        refuse_weak(VARIABLE, &current)?;
        refuse_unlisted(VARIABLE, &current)?;
        let old: Vec<Vec<u8>> = match old.map(OsString::into_encoded_bytes) {
            None => Vec::new(),
            Some(list) => list.split(|byte| *byte == b',').map(<[u8]>::to_vec).collect(),
        };
        if old.len() > OLD_MAX {
            return Err(Failure::Unusable(format!(
                "{OLD_VARIABLE} has {} secrets; at most {OLD_MAX} are taken",
                old.len()
            )));
        }
        for secret in &old {
            refuse_weak(OLD_VARIABLE, secret)?;
            if secret.trim_ascii().len() != secret.len() {
                return Err(Failure::Unusable(format!(
                    "a secret in {OLD_VARIABLE} has white space around it; write commas alone between secrets"
                )));
            }
            refuse_unlisted(OLD_VARIABLE, secret)?;
        }
        Ok(Some(Secret { bytes: current, old, development: false }))
    }

    /// The development secret of a data directory.
    fn of_directory(data: &Path) -> Result<Secret, Failure> {
        let path = data.join(FILE);
        let failed = |error: io::Error| unusable(&path, &error);
        private::refuse_no_directory(data).map_err(Failure::unusable)?;
        private::refuse_strange(&path, data).map_err(failed)?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private::make_directory(data).map_err(failed)?;
                make(&path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        let bytes = text.trim().as_bytes().to_vec();
        if bytes.len() < SECRET_BYTES_MIN {
            let message =
                format!("`{}` holds no secret; remove it to have one made", path.display());
            return Err(Failure::Unusable(message));
        }
        refuse_unlisted(&format!("`{}`", path.display()), &bytes)?;
        Ok(Secret { bytes, old: Vec::new(), development: true })
    }

    /// Makes tokens with the secret, and verifies tokens of it and of those before it.
    pub(crate) fn tokens(&self, trust: &Trust) -> Result<Tokens, Failure> {
        let tokens = Tokens::new(&self.bytes, trust.issuer(), trust.audience());
        let tokens = tokens.map_err(Failure::unusable)?;
        self.old
            .iter()
            .try_fold(tokens, |tokens, old| tokens.with_old_secret(old))
            .map_err(Failure::unusable)
    }

    /// The key that seals cursors. It differs from the key that signs tokens.
    pub(crate) fn for_cursors(&self) -> Vec<u8> {
        for_cursors(&self.bytes)
    }

    /// The keys that sealed cursors before.
    pub(crate) fn for_old_cursors(&self) -> impl Iterator<Item = Vec<u8>> {
        self.old.iter().map(|old| for_cursors(old))
    }
}

fn for_cursors(secret: &[u8]) -> Vec<u8> {
    [b"latchkey cursors: ".as_slice(), secret].concat()
}

/// Refuses a secret that is blank, short, or of few different characters. White space around a secret does not count.
fn refuse_weak(variable: &str, secret: &[u8]) -> Result<(), Failure> {
    const MAKE: &str = "make one with `openssl rand -hex 32`";
    let reason = match secret.trim_ascii().len() {
        0 => format!("{variable} has a secret that is empty or blank; {MAKE}, or unset {variable}"),
        bytes if bytes < SECRET_BYTES_MIN => {
            format!("a secret in {variable} must have {SECRET_BYTES_MIN} bytes or more; {MAKE}")
        }
        _ if different(secret) < DIFFERENT_MIN => format!(
            "a secret in {variable} must have {DIFFERENT_MIN} different characters or more; {MAKE}"
        ),
        _ => return Ok(()),
    };
    Err(Failure::Unusable(reason))
}

/// How many different bytes a secret has.
fn different(secret: &[u8]) -> usize {
    secret.iter().collect::<BTreeSet<_>>().len()
}

/// Refuses a secret that could not be put into the list of old secrets once it is replaced.
fn refuse_unlisted(place: &str, secret: &[u8]) -> Result<(), Failure> {
    let reason = match secret {
        _ if secret.trim_ascii().len() != secret.len() => "white space around it",
        _ if secret.contains(&b',') => "a comma",
        _ if secret.iter().any(u8::is_ascii_control) => "a control character",
        _ => return Ok(()),
    };
    Err(Failure::Unusable(format!(
        "the secret in {place} has {reason}, so {OLD_VARIABLE} could not have it once it is replaced; take that out, or \
         make another with `openssl rand -hex 32`"
    )))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::Unusable(format!("cannot use the secret in `{}`: {error}", path.display()))
}

/// A new secret.
fn random() -> io::Result<String> {
    let mut random = [0; 32];
    SystemSource.random(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes a secret, under another name first, so that no reader finds a part of it. What a process has left there that
/// was killed is written over.
fn make(path: &Path) -> io::Result<String> {
    let draft = path.with_extension("new");
    private::refuse_strange(&draft, &draft)?;
    let file = private::options().write(true).create(true).truncate(false).open(&draft)?;
    // If two processes make one at the same time, both use that of the first.
    file.lock()?;
    let made = match path.try_exists()? {
        true => fs::read_to_string(path),
        false => return fill(&file, &draft, path).inspect_err(|_| drop(fs::remove_file(&draft))),
    };
    // The one that was made had this name, or this process has made the file in vain.
    drop(fs::remove_file(&draft));
    made
}

/// Writes a new secret to a file, and gives that its name.
fn fill(mut file: &File, draft: &Path, path: &Path) -> io::Result<String> {
    let text = random()?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    Ok(text)
}
