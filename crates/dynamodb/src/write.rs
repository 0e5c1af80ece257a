//! Puts, updates, deletes and transactions.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{
    ConditionCheck, ConsumedCapacity, Delete as SdkDelete, Put as SdkPut, ReturnConsumedCapacity,
    ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem as SdkLeg,
    Update as SdkUpdate,
};
use latchkey_table::render::{
    ConditionCheck as RenderedCheck, DeleteItem, PutItem, ReturnValues, TransactWriteItem,
    UpdateItem,
};
use latchkey_table::{
    Capacity, Delete, Error, Failed, Item, Leg, Put, Returning, Text, Transact, Transacted, Update,
    Wrote,
};
use tokio::time::Instant;

use crate::client::{DynamoDb, Patience, RESENDS_MAX, patiently};
use crate::convert::{SdkItem, from_item, names, to_item, values};
use crate::error::{Effect, cancelled_by, meaning, told};
use crate::read::write_units;

impl DynamoDb {
    /// Writes a whole item.
    pub async fn put(
        &self,
        request: &Put,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        request.validate()?;
        patiently(deadline, Effect::Once, || self.put_once(request, returning)).await
    }

    async fn put_once(&self, request: &Put, returning: Returning) -> Result<Wrote, Error> {
        let rendered = PutItem::of(request, returning)?;
        let bytes = rendered.item.size();
        let sent = self
            .client
            .put_item()
            .table_name(rendered.table_name.as_str())
            .set_item(Some(to_item(rendered.item)))
            .set_condition_expression(rendered.condition)
            .set_expression_attribute_names(names(&rendered.placeholders))
            .set_expression_attribute_values(values(rendered.placeholders))
            .set_return_values(rendered.return_values.map(image))
            .set_return_values_on_condition_check_failure(
                rendered.return_values_on_condition_check_failure.map(failed_image),
            )
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer = sent.await.map_err(|error| {
            refused(&error, &request.table.name, |error| match error {
                PutItemError::ConditionalCheckFailedException(failed) => Some(failed),
                _ => None,
            })
        })?;
        let consumed = answer.consumed_capacity.as_ref();
        let mut wrote = wrote(answer.attributes, consumed, |old| Capacity::write(old, bytes))?;
        if returning == Returning::New {
            // The service returns only the old item.
            wrote.item = Some(request.item.clone());
        }
        Ok(wrote)
    }

    /// Changes an item.
    pub async fn update(
        &self,
        request: &Update,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        request.validate()?;
        patiently(deadline, Effect::Once, || self.update_once(request, returning)).await
    }

    async fn update_once(&self, request: &Update, returning: Returning) -> Result<Wrote, Error> {
        let rendered = UpdateItem::of(request, returning)?;
        let sent = self
            .client
            .update_item()
            .table_name(rendered.table_name.as_str())
            .set_key(Some(to_item(rendered.key)))
            .set_update_expression(rendered.update)
            .set_condition_expression(rendered.condition)
            .set_expression_attribute_names(names(&rendered.placeholders))
            .set_expression_attribute_values(values(rendered.placeholders))
            .set_return_values(rendered.return_values.map(image))
            .set_return_values_on_condition_check_failure(
                rendered.return_values_on_condition_check_failure.map(failed_image),
            )
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer = sent.await.map_err(|error| {
            refused(&error, &request.table.name, |error| match error {
                UpdateItemError::ConditionalCheckFailedException(failed) => Some(failed),
                _ => None,
            })
        })?;
        let consumed = answer.consumed_capacity.as_ref();
        wrote(answer.attributes, consumed, |bytes| Capacity::write(bytes, bytes))
    }

    /// Removes an item.
    pub async fn delete(
        &self,
        request: &Delete,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        request.validate()?;
        patiently(deadline, Effect::Once, || self.delete_once(request, returning)).await
    }

    async fn delete_once(&self, request: &Delete, returning: Returning) -> Result<Wrote, Error> {
        let rendered = DeleteItem::of(request, returning)?;
        let sent = self
            .client
            .delete_item()
            .table_name(rendered.table_name.as_str())
            .set_key(Some(to_item(rendered.key)))
            .set_condition_expression(rendered.condition)
            .set_expression_attribute_names(names(&rendered.placeholders))
            .set_expression_attribute_values(values(rendered.placeholders))
            .set_return_values(rendered.return_values.map(image))
            .set_return_values_on_condition_check_failure(
                rendered.return_values_on_condition_check_failure.map(failed_image),
            )
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer = sent.await.map_err(|error| {
            refused(&error, &request.table.name, |error| match error {
                DeleteItemError::ConditionalCheckFailedException(failed) => Some(failed),
                _ => None,
            })
        })?;
        let consumed = answer.consumed_capacity.as_ref();
        wrote(answer.attributes, consumed, |bytes| Capacity::write(bytes, 0))
    }

    /// Writes several items or none.
    ///
    /// A transaction without an answer is sent again with the same token, so that the service carries it out once. It
    /// is sent with the same bytes: some services take another order of names for another transaction.
    pub async fn transact(
        &self,
        request: &Transact,
        deadline: Instant,
    ) -> Result<Transacted, Error> {
        request.validate()?;
        let legs: Result<Vec<SdkLeg>, Error> = request.legs.iter().map(leg).collect();
        let prepared = self
            .client
            .transact_write_items()
            .set_transact_items(Some(legs?))
            .client_request_token(token()?)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let mut patience = Patience::until(deadline);
        let mut resends = 0;
        let mut unknown = None;
        loop {
            let sent = transact_once(prepared.clone(), request);
            let answer = patience.ask(Effect::Once, sent).await;
            match &answer {
                Err(Error::Throttled | Error::Conflict) => {}
                Err(Error::OutcomeUnknown { reason }) => unknown = Some(reason.clone()),
                // The earlier request may have been carried out. Only the service knows.
                Err(Error::Unavailable { .. }) if unknown.is_some() => {}
                Err(Error::Unavailable { .. }) if resends < RESENDS_MAX => resends += 1,
                // A service that has forgotten the token meets the effect of the earlier request.
                Err(Error::ConditionFailed(_)) if unknown.is_some() => {
                    return unknown.map_or(answer, |reason| Err(Error::OutcomeUnknown { reason }));
                }
                _ => return answer,
            }
            if !patience.wait().await {
                return unknown.map_or(answer, |reason| Err(Error::OutcomeUnknown { reason }));
            }
        }
    }
}

async fn transact_once(
    prepared: TransactWriteItemsFluentBuilder,
    request: &Transact,
) -> Result<Transacted, Error> {
    match prepared.send().await {
        Ok(answer) => {
            let consumed = answer.consumed_capacity.unwrap_or_default();
            let told: Option<Vec<Capacity>> =
                consumed.iter().map(|one| write_units(Some(one))).collect();
            let told = told.filter(|all| !all.is_empty());
            let capacity = told.map(|all| all.into_iter().sum());
            Ok(Transacted { capacity: capacity.unwrap_or_else(|| least(request)) })
        }
        Err(error) => Err(cancelled(&error, request)),
    }
}

/// The least capacity of a transaction, if the service does not say it.
fn least(request: &Transact) -> Capacity {
    let bytes = |leg: &Leg| match leg {
        Leg::Put(put) => put.item.size(),
        Leg::Update(_) | Leg::Delete(_) | Leg::Check(_) => 0,
    };
    request.legs.iter().map(|leg| Capacity::transact_write(bytes(leg), bytes(leg))).sum()
}

/// The token of a transaction, with which the service carries it out once.
fn token() -> Result<String, Error> {
    let mut random = [0; 16];
    // Without random bytes, two equal transactions would have the same token and count as one.
    getrandom::fill(&mut random)
        .map_err(|error| Error::Unavailable { reason: format!("no random bytes: {error}") })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The leg that failed first, in the order of the document, decides.
fn cancelled(error: &SdkError<TransactWriteItemsError>, request: &Transact) -> Error {
    // A transaction was validated before it was sent, so it has a leg.
    let Some(first) = request.legs.first() else {
        return Error::OutcomeUnknown { reason: told(error) };
    };
    let table = &first.table().name;
    let reasons = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons()
        }
        _ => return meaning(error, table, Effect::Once),
    };
    for (leg, reason) in reasons.iter().enumerate() {
        if reason.code.as_deref() == Some("ConditionalCheckFailed") {
            return failed(leg, reason.item.clone(), |_| least(request))
                .unwrap_or_else(|error| error);
        }
        // A leg in conflict was not tested. The whole transaction is sent again, and then an earlier leg may fail.
        match cancelled_by(reason) {
            None => {}
            Some(Error::Invalid { reason, .. }) => {
                return Error::Invalid { leg: Some(leg), reason };
            }
            Some(error) => return error,
        }
    }
    Error::Unavailable { reason: told(error) }
}

/// The result of a single write. If the service does not say the capacity, it is computed from the size of the returned
/// item.
fn wrote(
    attributes: Option<SdkItem>,
    consumed: Option<&ConsumedCapacity>,
    counted: impl FnOnce(usize) -> Capacity,
) -> Result<Wrote, Error> {
    let item = attributes.map(from_item).transpose();
    let item = item.map_err(|found| Effect::Once.foreign(found))?;
    let bytes = item.as_ref().map_or(0, Item::size);
    let capacity = write_units(consumed).unwrap_or_else(|| counted(bytes));
    Ok(Wrote { item, capacity })
}

/// Why a single write failed: its condition, or another error.
fn refused<E>(
    error: &SdkError<E>,
    table: &Text,
    condition: impl FnOnce(&E) -> Option<&ConditionalCheckFailedException>,
) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let Some(refused) = error.as_service_error().and_then(condition) else {
        return meaning(error, table, Effect::Once);
    };
    let counted = |bytes| Capacity::write(bytes, bytes);
    failed(0, refused.item.clone(), counted).unwrap_or_else(|error| error)
}

/// The error for a failed condition, with the stored item and the capacity by its size.
fn failed(
    leg: usize,
    item: Option<SdkItem>,
    counted: impl FnOnce(usize) -> Capacity,
) -> Result<Error, Error> {
    let item = item.filter(|item| !item.is_empty());
    // Nothing was written.
    let item = item.map(from_item).transpose().map_err(|found| Effect::None.foreign(found))?;
    let capacity = counted(item.as_ref().map_or(0, Item::size));
    Ok(Error::ConditionFailed(Box::new(Failed { leg, item, capacity })))
}

fn image(values: ReturnValues) -> ReturnValue {
    match values {
        ReturnValues::AllOld => ReturnValue::AllOld,
        ReturnValues::AllNew => ReturnValue::AllNew,
    }
}

fn failed_image(_: ReturnValues) -> ReturnValuesOnConditionCheckFailure {
    ReturnValuesOnConditionCheckFailure::AllOld
}

/// A leg as the SDK has it.
fn leg(leg: &Leg) -> Result<SdkLeg, Error> {
    let built = match TransactWriteItem::of(leg)? {
        TransactWriteItem::Put(put) => put_leg(put),
        TransactWriteItem::Update(update) => update_leg(update),
        TransactWriteItem::Delete(delete) => delete_leg(delete),
        TransactWriteItem::ConditionCheck(check) => check_leg(check),
    };
    built.map_err(|error| Error::Unavailable { reason: told(&error) })
}

type Built = Result<SdkLeg, aws_sdk_dynamodb::error::BuildError>;

fn put_leg(put: PutItem) -> Built {
    let failed = put.return_values_on_condition_check_failure.map(failed_image);
    let put = SdkPut::builder()
        .table_name(put.table_name.as_str())
        .set_item(Some(to_item(put.item)))
        .set_condition_expression(put.condition)
        .set_expression_attribute_names(names(&put.placeholders))
        .set_expression_attribute_values(values(put.placeholders))
        .set_return_values_on_condition_check_failure(failed)
        .build()?;
    Ok(SdkLeg::builder().put(put).build())
}

fn update_leg(update: UpdateItem) -> Built {
    let failed = update.return_values_on_condition_check_failure.map(failed_image);
    let update = SdkUpdate::builder()
        .table_name(update.table_name.as_str())
        .set_key(Some(to_item(update.key)))
        .set_update_expression(update.update)
        .set_condition_expression(update.condition)
        .set_expression_attribute_names(names(&update.placeholders))
        .set_expression_attribute_values(values(update.placeholders))
        .set_return_values_on_condition_check_failure(failed)
        .build()?;
    Ok(SdkLeg::builder().update(update).build())
}

fn delete_leg(delete: DeleteItem) -> Built {
    let failed = delete.return_values_on_condition_check_failure.map(failed_image);
    let delete = SdkDelete::builder()
        .table_name(delete.table_name.as_str())
        .set_key(Some(to_item(delete.key)))
        .set_condition_expression(delete.condition)
        .set_expression_attribute_names(names(&delete.placeholders))
        .set_expression_attribute_values(values(delete.placeholders))
        .set_return_values_on_condition_check_failure(failed)
        .build()?;
    Ok(SdkLeg::builder().delete(delete).build())
}

fn check_leg(check: RenderedCheck) -> Built {
    let check = ConditionCheck::builder()
        .table_name(check.table_name.as_str())
        .set_key(Some(to_item(check.key)))
        .condition_expression(check.condition)
        .set_expression_attribute_names(names(&check.placeholders))
        .set_expression_attribute_values(values(check.placeholders))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()?;
    Ok(SdkLeg::builder().condition_check(check).build())
}
