//! What a failure of the service means: whether anything was done, and whether to ask again.

use std::error::Error as StdError;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::CancellationReason;
use hyper_util::client::legacy::Error as ClientError;
use latchkey_table::{Error, Invalid, Text};

use crate::convert::Foreign;

/// Whether a request may have had an effect when nobody answered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It reads.
    None,
    /// It writes, and must not be sent again.
    Once,
}

impl Effect {
    /// What it means that nobody knows how a request ended.
    pub(crate) fn lost(self, reason: String) -> Error {
        match self {
            Effect::None => Error::Unavailable { reason },
            Effect::Once => Error::OutcomeUnknown { reason },
        }
    }

    /// What it means that the service did what it was asked, and its answer is none.
    pub(crate) fn foreign(self, _: Foreign) -> Error {
        self.lost("the service answered what is no item of ours".to_owned())
    }
}

/// What a failure means. Only what is known to have had no effect is called `Unavailable`.
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

/// What a service says by its error's code and its status.
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
        // What was sent first under its token is not done yet, or was done and is not recognised.
        "TransactionInProgressException" | "IdempotentParameterMismatchException" => {
            Error::OutcomeUnknown { reason: told }
        }
        "ResourceNotFoundException" => Error::NoTable { name: table.clone() },
        "ValidationException" => Error::Invalid {
            leg: None,
            reason: Invalid::Service { message: error.message().unwrap_or_default().to_owned() },
        },
        // It may have written before it failed. What the caller is at fault for, it did not do.
        _ if !(400..500).contains(&status) => effect.lost(told),
        _ => Error::Unavailable { reason: told },
    }
}

/// What it means that one part of a transaction had it cancelled; nothing where the part had not.
pub(crate) fn cancelled_by(reason: &CancellationReason) -> Option<Error> {
    let code = reason.code.as_deref().unwrap_or_default();
    let message = || reason.message.clone().unwrap_or_default();
    Some(match code {
        "" | "None" => return None,
        "TransactionConflict" => Error::Conflict,
        "ThrottlingError" | "ProvisionedThroughputExceeded" => Error::Throttled,
        "ValidationError" => Invalid::Service { message: message() }.into(),
        _ => Error::Unavailable { reason: format!("cancelled: {code}: {}", message()) },
    })
}

/// Whether it failed before there was a connection: nobody to sign as, nobody to speak to.
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
