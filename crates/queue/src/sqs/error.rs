//! What a failure of SQS means.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use crate::Error;

/// What SQS says where it will not take a message, now or later. All else an operator, or time, can mend, and what
/// waits is sent then.
const FINAL: [&str; 17] = [
    "QueueDoesNotExist",
    "NonExistentQueue",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDeletedRecently",
    "AccessDenied",
    "AccessDeniedException",
    "InvalidMessageContents",
    "InvalidAddress",
    "InvalidSecurity",
    "UnsupportedOperation",
    "AWS.SimpleQueueService.UnsupportedOperation",
    "InvalidParameterValue",
    "InvalidAttributeValue",
    "MissingParameter",
    "KmsDisabled",
    "KmsNotFound",
    "KmsAccessDenied",
];

/// What a client is told of a message that it does not hold, or no longer.
const NOT_HELD: [&str; 5] = [
    "ReceiptHandleIsInvalid",
    "MessageNotInflight",
    "InvalidParameterValue",
    "AWS.SimpleQueueService.MessageNotInflight",
    "InvalidIdFormat",
];

/// Whether the queue will not do it, or cannot now.
pub(crate) fn meaning<E>(error: &SdkError<E>) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let reason = told(error);
    match error {
        SdkError::ServiceError(failed) if failed.raw().status().is_client_error() => {
            match failed.err().code() {
                Some(code) if FINAL.contains(&code) => Error::Refused { reason },
                _ => Error::Unavailable { reason },
            }
        }
        SdkError::ConstructionFailure(_) => Error::Refused { reason },
        _ => Error::Unavailable { reason },
    }
}

/// As [`meaning`], for what is asked about a message in hand.
pub(crate) fn stale_or<E>(error: &SdkError<E>) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    if code.is_some_and(|code| NOT_HELD.contains(&code)) { Error::Stale } else { meaning(error) }
}

/// An error and its causes in one line, for the log.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        told.push_str(": ");
        told.push_str(&cause.to_string());
        source = cause.source();
    }
    told
}
