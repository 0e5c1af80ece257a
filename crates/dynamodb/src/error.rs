//! What a failure of the service means: whether anything was done, and whether to ask again.

use std::error::Error as StdError;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::CancellationReason;
use hyper_util::client::legacy::Error as ClientError;
use latchkey_table::{Error, Invalid, Text};
use latchkey_value::NumberError;

use crate::convert::Foreign;

/// Whether a request without an answer may have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A read.
    None,
    /// A write, which must not be sent again.
    Once,
}

impl Effect {
    /// The error for a request whose outcome is not known.
    pub(crate) fn lost(self, reason: String) -> Error {
        match self {
            Effect::None => Error::Unavailable { reason },
            Effect::Once => Error::OutcomeUnknown { reason },
        }
    }

    /// The error for an answer that cannot be read: the service has carried out the request.
    pub(crate) fn foreign(self, _: Foreign) -> Error {
        self.lost("the service answered with an item that Latchkey did not write".to_owned())
    }
}

/// The error for a failed request. `Unavailable` means that the request had no effect.
pub(crate) fn meaning<E>(error: &SdkError<E>, table: &Text, effect: Effect) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let told = told(error);
    match error {
        SdkError::ServiceError(failed) => {
            let status = failed.raw().status().as_u16();
            coded(failed.err(), status, table, told, effect)
        }
        SdkError::ConstructionFailure(_) => Error::Unavailable { reason: told },
        SdkError::DispatchFailure(failure) if failure.is_user() || never_sent(error) => {
            Error::Unavailable { reason: told }
        }
        _ => effect.lost(told),
    }
}

/// The error for a code and a status of the service.
fn coded(
    error: &(impl ProvideErrorMetadata + ?Sized),
    status: u16,
    table: &Text,
    told: String,
    effect: Effect,
) -> Error {
    match error.code().unwrap_or_default() {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => Error::Throttled,
        "TransactionConflictException" | "ReplicatedWriteConflictException" => Error::Conflict,
        // The first request with this token is still running, or it is done and not recognised.
        "TransactionInProgressException" | "IdempotentParameterMismatchException" => {
            Error::OutcomeUnknown { reason: told }
        }
        "ResourceNotFoundException" => Error::NoTable { name: table.clone() },
        "ValidationException" => {
            Error::Invalid { leg: None, reason: invalid(error.message().unwrap_or_default()) }
        }
        // The service may have written before it failed. A request with a mistake of the caller was not carried out.
        _ if !(400..500).contains(&status) => effect.lost(told),
        _ => Error::Unavailable { reason: told },
    }
}

/// The error for a leg that cancelled its transaction; nothing for a leg that did not.
pub(crate) fn cancelled_by(reason: &CancellationReason) -> Option<Error> {
    let code = reason.code.as_deref().unwrap_or_default();
    let message = || reason.message.as_deref().unwrap_or_default();
    Some(match code {
        "" | "None" => return None,
        "TransactionConflict" => Error::Conflict,
        "ThrottlingError" | "ProvisionedThroughputExceeded" => Error::Throttled,
        "ValidationError" => invalid(message()).into(),
        _ => Error::Unavailable { reason: format!("cancelled: {code}: {}", message()) },
    })
}

/// What a service refuses by a message: a number that it has computed and cannot hold, or anything else.
fn invalid(message: &str) -> Invalid {
    let numbers = [
        ("significant digits", NumberError::TooPrecise),
        ("precision up to 38 digits", NumberError::TooPrecise),
        ("Number overflow", NumberError::TooLarge),
        ("Number underflow", NumberError::TooSmall),
    ];
    match numbers.into_iter().find(|(part, _)| message.contains(part)) {
        Some((_, error)) => Invalid::Number(error),
        None => Invalid::Service { message: message.to_owned() },
    }
}

/// Whether the request failed before it was sent: no credentials, or no connection.
fn never_sent(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| {
        cause.is::<CredentialsError>()
            || cause.downcast_ref::<ClientError>().is_some_and(ClientError::is_connect)
    })
}

/// An error and its causes in one line, for the log.
pub(crate) fn told(error: &(dyn StdError + 'static)) -> String {
    let told: Vec<_> = causes(error).map(ToString::to_string).collect();
    told.join(": ")
}

fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
