//! Why a table cannot be used, and what to do.

use std::error::Error;
use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};

use super::Mismatch;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is no table.
    #[error("there is no table `{table}`")]
    Missing {
        /// Its name.
        table: String,
    },
    /// The table differs from what the document needs.
    #[error("table `{table}` is not as its document needs it: {}", list(differences))]
    Differs {
        /// Its name.
        table: String,
        /// The differences.
        differences: Vec<Mismatch>,
    },
    /// There are no credentials.
    #[error("there are no AWS credentials: {reason}")]
    NoCredentials {
        /// Where the SDK looked for them.
        reason: String,
    },
    /// The service does not know the caller.
    #[error("the service refuses these AWS credentials: {reason}")]
    Credentials {
        /// What it says.
        reason: String,
    },
    /// The credentials do not allow the request.
    #[error("the service does not allow it: {reason}")]
    Denied {
        /// What it says.
        reason: String,
    },
    /// There is no region.
    #[error("there is no AWS region")]
    NoRegion,
    /// The service cannot be reached.
    #[error("the service cannot be reached: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// The service refuses the request.
    #[error("the service refuses: {reason}")]
    Refused {
        /// What it says.
        reason: String,
    },
}

impl TableError {
    /// What to do. `arguments` are those of `latchkey table` for this table.
    pub fn advice(&self, arguments: &str) -> Option<String> {
        let advice = match self {
            TableError::Missing { .. } => format!("make it with `latchkey table create{arguments}`"),
            TableError::Differs { differences, .. }
                if differences.iter().all(|one| matches!(one, Mismatch::NotActive(_))) =>
            {
                format!("wait for it with `latchkey table create{arguments}`")
            }
            TableError::Differs { .. } => {
                format!("`latchkey table diff{arguments}` says what to run")
            }
            TableError::NoCredentials { .. } => {
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a local service takes any"
                    .to_owned()
            }
            TableError::Credentials { .. } => {
                "run `aws sts get-caller-identity`, and look at AWS_PROFILE and AWS_ACCESS_KEY_ID"
                    .to_owned()
            }
            TableError::Denied { .. } => {
                "docs/dynamodb.md lists the actions a policy must allow; `aws sts get-caller-identity` says who asks"
                    .to_owned()
            }
            TableError::NoRegion => "set AWS_REGION, or choose an AWS_PROFILE that has one".to_owned(),
            TableError::Unreachable { .. } => {
                "is the endpoint right (`--endpoint`, AWS_ENDPOINT_URL_DYNAMODB), and the region (AWS_REGION)?"
                    .to_owned()
            }
            TableError::Refused { .. } => return None,
        };
        Some(advice)
    }

    /// The error for a request that the SDK cannot build.
    pub(super) fn unmade(error: BuildError) -> TableError {
        TableError::Refused { reason: error.to_string() }
    }

    /// What a failed request means.
    pub(super) fn of<E, R>(error: &SdkError<E, R>) -> TableError
    where
        E: ProvideErrorMetadata + Error + 'static,
        R: fmt::Debug + 'static,
    {
        match error {
            SdkError::ServiceError(failed) => TableError::answered(failed.err()),
            SdkError::ResponseError(_) => TableError::stranger(),
            _ => match credentials(error) {
                // No place where the SDK looks has any.
                Some(CredentialsError::CredentialsNotLoaded(_)) => TableError::NoCredentials {
                    reason: "neither the environment, a profile nor this machine has any"
                        .to_owned(),
                },
                Some(error) => TableError::NoCredentials { reason: reason(error) },
                None => TableError::Unreachable { reason: reason(error) },
            },
        }
    }

    fn stranger() -> TableError {
        TableError::Unreachable { reason: "what answers there is not DynamoDB".to_owned() }
    }

    fn answered(error: &impl ProvideErrorMetadata) -> TableError {
        let Some(code) = error.code() else { return TableError::stranger() };
        let reason = match error.message().filter(|message| !message.is_empty()) {
            Some(message) => format!("{code}: {message}"),
            None => code.to_owned(),
        };
        match code {
            "UnrecognizedClientException"
            | "InvalidSignatureException"
            | "InvalidClientTokenId"
            | "ExpiredTokenException"
            | "ExpiredToken"
            | "MissingAuthenticationTokenException"
            | "MissingAuthenticationToken"
            | "IncompleteSignatureException"
            | "IncompleteSignature"
            | "SignatureDoesNotMatch" => TableError::Credentials { reason },
            "AccessDeniedException" | "AccessDenied" | "OptInRequired" => {
                TableError::Denied { reason }
            }
            "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => {
                TableError::Unreachable { reason }
            }
            _ => TableError::Refused { reason },
        }
    }
}

/// The innermost causes. The outer ones only say that something failed.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut causes = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    let outer = causes.len().saturating_sub(2);
    causes.split_off(outer).join(": ")
}

/// The error of the search for credentials, if that is the cause.
fn credentials<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CredentialsError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

fn list(differences: &[Mismatch]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
