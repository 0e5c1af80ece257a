//! What a failure of the service means: whether anything was done, and whether to ask again.

use std::error::Error as _;
use std::fmt;
use std::io::ErrorKind;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use latchkey_table::{Error, Invalid, Text};

/// Whether a request may have had an effect when nobody answered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It reads.
    None,
    /// It writes, and must not be sent again.
    Once,
}

/// What a failure means.
pub(crate) fn meaning<E, R>(error: &SdkError<E, R>, table: &Text, effect: Effect) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: fmt::Debug + 'static,
{
    let unavailable = |reason: String| Error::Unavailable { reason };
    let lost = |reason: String| match effect {
        Effect::None => Error::Unavailable { reason },
        Effect::Once => Error::OutcomeUnknown { reason },
    };
    let told = told(error);
    match error {
        SdkError::ServiceError(failed) => coded(failed.err(), table, told, effect),
        SdkError::ConstructionFailure(_) => unavailable(told),
        // No connection, no credentials: it was never sent.
        SdkError::DispatchFailure(failure) if failure.is_user() || never_sent(error) => {
            unavailable(told)
        }
        SdkError::DispatchFailure(failure) if failure.is_other() => unavailable(told),
        SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) | SdkError::ResponseError(_) => {
            lost(told)
        }
        _ => lost(told),
    }
}

/// What a service says by its error's code.
fn coded(
    error: &(impl ProvideErrorMetadata + ?Sized),
    table: &Text,
    told: String,
    effect: Effect,
) -> Error {
    match error.code().unwrap_or_default() {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => Error::Throttled,
        "TransactionConflictException" => Error::Conflict,
        // What was sent first under its token is not done yet.
        "TransactionInProgressException" => Error::OutcomeUnknown { reason: told },
        "ResourceNotFoundException" => Error::NoTable { name: table.clone() },
        "ValidationException" => Error::Invalid {
            leg: None,
            reason: Invalid::Service { message: error.message().unwrap_or_default().to_owned() },
        },
        // It may have written before it failed.
        "InternalServerError" | "InternalFailure" | "ServiceUnavailable"
            if effect == Effect::Once =>
        {
            Error::OutcomeUnknown { reason: told }
        }
        _ => Error::Unavailable { reason: told },
    }
}

/// Whether the connection was refused, so that nothing was sent.
fn never_sent<E, R>(error: &SdkError<E, R>) -> bool
where
    E: std::error::Error + 'static,
    R: fmt::Debug + 'static,
{
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && matches!(io.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
        {
            return true;
        }
        if cause.to_string().contains("tcp connect error") {
            return true;
        }
        source = cause.source();
    }
    false
}

/// An error and its causes in one line, for the log.
pub(crate) fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        told.push_str(": ");
        told.push_str(&cause.to_string());
        source = cause.source();
    }
    told
}
