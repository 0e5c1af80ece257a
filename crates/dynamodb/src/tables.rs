//! Makes, describes and deletes tables, and compares them with what a document needs.

mod description;
mod difference;
mod error;

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, ConditionCheck, GlobalSecondaryIndex, KeySchemaElement,
    KeyType as SdkKeyType, PointInTimeRecoverySpecification, Projection, ProjectionType,
    ScalarAttributeType, TableDescription, TimeToLiveSpecification, TransactWriteItem,
};
use latchkey_table::{Key, KeyAttribute, KeyNames, KeyType, Number, Schema, Text, ValueType};
use latchkey_value::name::EXPIRY_ATTRIBUTE;
use tokio::time::Instant;

use crate::client::DynamoDb;
use crate::convert::to_item;
pub use description::{Description, IndexDescription, Setting};
pub use difference::Mismatch;
use difference::differences;
pub use error::TableError;

/// How long a request about a table may take, with its retries.
const ASK_TIME_MAX: Duration = Duration::from_secs(6);

/// How often a request about a table is sent.
const ASKED_MAX: u32 = 3;

/// How long making a table may take: with indexes DynamoDB takes about a minute.
const MAKE_TIME_MAX: Duration = Duration::from_secs(600);

/// How often the command asks whether the table is ready.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The settings of requests that change no item: they may be sent again.
fn patient() -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder()
        .retry_config(RetryConfig::standard().with_max_attempts(ASKED_MAX))
        .timeout_config(TimeoutConfig::builder().operation_timeout(ASK_TIME_MAX).build())
}

impl DynamoDb {
    /// The region.
    pub fn region(&self) -> Option<&str> {
        self.client.config().region().map(AsRef::as_ref)
    }

    /// Checks that a table exists and fits its schema, and what attributes are stored as.
    pub async fn examine(
        &self,
        schema: &Schema,
        stored: &[(Text, ValueType)],
    ) -> Result<(), TableError> {
        let table = schema.name.to_string();
        match self.difference(schema, stored).await? {
            None => Err(TableError::Missing { table }),
            Some(differences) if differences.is_empty() => Ok(()),
            Some(differences) => Err(TableError::Differs { table, differences }),
        }
    }

    /// How a table differs from its schema, and from what attributes are stored as; nothing if there is no table.
    pub async fn difference(
        &self,
        schema: &Schema,
        stored: &[(Text, ValueType)],
    ) -> Result<Option<Vec<Mismatch>>, TableError> {
        let found = self.find(&schema.name).await?;
        Ok(found.map(|found| differences(schema, stored, &found)))
    }

    /// Describes a table; nothing if there is no table.
    pub async fn describe(&self, table: &str) -> Result<Option<Description>, TableError> {
        let Some(found) = self.find(table).await? else { return Ok(None) };
        let recovery = self.recovery(table).await;
        let expiry = self.expiry(table).await;
        Ok(Some(Description::new(&found, recovery, expiry)))
    }

    async fn find(&self, table: &str) -> Result<Option<TableDescription>, TableError> {
        if self.region().is_none() {
            return Err(TableError::NoRegion);
        }
        let asked = self.client.describe_table().table_name(table).customize();
        match asked.config_override(patient()).send().await {
            Ok(answer) => Ok(answer.table),
            Err(error) if code(&error) == Some("ResourceNotFoundException") => Ok(None),
            Err(error) => Err(TableError::of(&error)),
        }
    }

    /// Makes a table with on-demand billing, point-in-time recovery and expiry, and waits for it. An existing table is
    /// not changed. True if the table was made.
    pub async fn create(&self, schema: &Schema) -> Result<bool, TableError> {
        let made = self.make(schema, &[], |_| {}).await?;
        if made {
            for problem in self.protect(&schema.name, EXPIRY_ATTRIBUTE).await {
                tracing::warn!(table = %schema.name, "{problem}");
            }
        }
        Ok(made)
    }

    /// Makes a table with on-demand billing, and waits for it. Meanwhile it reports what is not ready. An existing
    /// table is not changed. True if the table was made.
    pub async fn make(
        &self,
        schema: &Schema,
        stored: &[(Text, ValueType)],
        mut waiting: impl FnMut(&[Mismatch]),
    ) -> Result<bool, TableError> {
        if self.find(&schema.name).await?.is_some() {
            return self.until_active(schema, stored, &mut waiting).await.map(|()| false);
        }
        let indexes = indexes(schema).map_err(TableError::unmade)?;
        let sent = self
            .client
            .create_table()
            .table_name(schema.name.as_str())
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(attributes(schema).map_err(TableError::unmade)?))
            .set_key_schema(Some(key_schema(&schema.key).map_err(TableError::unmade)?))
            .set_global_secondary_indexes((!indexes.is_empty()).then_some(indexes))
            .send();
        let made = match sent.await {
            Ok(_) => true,
            // Another process is making it.
            Err(error) if code(&error) == Some("ResourceInUseException") => false,
            Err(error) => return Err(TableError::of(&error)),
        };
        self.until_active(schema, stored, &mut waiting).await.map(|()| made)
    }

    async fn until_active(
        &self,
        schema: &Schema,
        stored: &[(Text, ValueType)],
        waiting: &mut impl FnMut(&[Mismatch]),
    ) -> Result<(), TableError> {
        let deadline = Instant::now() + MAKE_TIME_MAX;
        loop {
            match self.examine(schema, stored).await {
                Err(TableError::Differs { differences, .. })
                    if differences.iter().all(|one| matches!(one, Mismatch::NotActive(_)))
                        && Instant::now() < deadline =>
                {
                    waiting(&differences);
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                examined => return examined,
            }
        }
    }

    /// Turns on recovery, and expiry by an attribute, and returns what the service refuses. Some compatible services have neither, and
    /// can be used all the same.
    pub async fn protect(&self, table: &str, ttl: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if let Err(reason) = self.recover(table).await {
            problems.push(format!("no point-in-time recovery: {reason}"));
        }
        if let Err(reason) = self.expire(table, ttl).await {
            problems.push(format!("records that are over are not removed: {reason}"));
        }
        problems
    }

    async fn recover(&self, table: &str) -> Result<(), TableError> {
        let recovery = PointInTimeRecoverySpecification::builder()
            .point_in_time_recovery_enabled(true)
            .build()
            .map_err(TableError::unmade)?;
        let asked = self.client.update_continuous_backups().table_name(table);
        let asked = asked.point_in_time_recovery_specification(recovery).customize();
        let sent = asked.config_override(patient()).send().await;
        sent.map(drop).map_err(|error| TableError::of(&error))
    }

    async fn expire(&self, table: &str, ttl: &str) -> Result<(), TableError> {
        let expiry = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name(ttl)
            .build()
            .map_err(TableError::unmade)?;
        let asked = self.client.update_time_to_live().table_name(table);
        let asked = asked.time_to_live_specification(expiry).customize();
        let sent = asked.config_override(patient()).send().await;
        sent.map(drop).map_err(|error| TableError::of(&error))
    }

    /// Deletes a table with its items. False if there is no table. Waits for a table that is being made.
    pub async fn delete_table(&self, table: &str) -> Result<bool, TableError> {
        let deadline = Instant::now() + MAKE_TIME_MAX;
        loop {
            let asked = self.client.delete_table().table_name(table).customize();
            match asked.config_override(patient()).send().await {
                Ok(_) => return Ok(true),
                Err(error) => match code(&error) {
                    Some("ResourceNotFoundException") => return Ok(false),
                    Some("ResourceInUseException") if Instant::now() < deadline => {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                    _ => return Err(TableError::of(&error)),
                },
            }
        }
    }

    /// Whether the service has transactions; not all compatible services do. Sends a transaction that writes nothing.
    pub async fn has_transactions(&self, schema: &Schema) -> Result<bool, TableError> {
        let key = schema.key.item(&no_item(&schema.key));
        let check = ConditionCheck::builder()
            .table_name(schema.name.as_str())
            .set_key(Some(to_item(key)))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", schema.key.partition.name.as_str())
            .build()
            .map_err(TableError::unmade)?;
        let leg = TransactWriteItem::builder().condition_check(check).build();
        let asked = self.client.transact_write_items().transact_items(leg).customize();
        let Err(error) = asked.config_override(patient()).send().await else { return Ok(true) };
        let status = error.raw_response().map(|response| response.status().as_u16());
        match (code(&error), status) {
            // The service tested the condition, so it has transactions.
            (Some("TransactionCanceledException" | "TransactionConflictException"), _) => Ok(true),
            (Some("UnknownOperationException" | "ValidationException"), _)
            | (None, Some(404 | 501)) => Ok(false),
            _ => Err(TableError::of(&error)),
        }
    }
}

/// The code a service answered with.
fn code<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> Option<&str> {
    error.as_service_error().and_then(ProvideErrorMetadata::code)
}

/// A key under which a condition can be tested. There need not be an item.
fn no_item(names: &KeyNames) -> Key {
    let text = |attribute: &KeyAttribute| match attribute.value_type {
        KeyType::Text => Text::const_new("LATCHKEY#READY"),
        KeyType::Number => Number::ZERO.to_key(),
    };
    Key {
        partition: text(&names.partition),
        sort: names.sort.as_ref().map(text).unwrap_or_default(),
    }
}

/// The attributes that are keys.
fn attributes(schema: &Schema) -> Result<Vec<AttributeDefinition>, BuildError> {
    let define = |attribute: &KeyAttribute| {
        let value_type = match attribute.value_type {
            KeyType::Text => ScalarAttributeType::S,
            KeyType::Number => ScalarAttributeType::N,
        };
        AttributeDefinition::builder()
            .attribute_name(attribute.name.as_str())
            .attribute_type(value_type)
            .build()
    };
    schema.typed_key_attributes().into_iter().map(define).collect()
}

/// The indexes.
fn indexes(schema: &Schema) -> Result<Vec<GlobalSecondaryIndex>, BuildError> {
    let build = |index: &latchkey_table::Index| {
        let listed = index.holds.attributes().iter().map(ToString::to_string).collect();
        let holds = Projection::builder()
            .projection_type(ProjectionType::from(index.holds.code()))
            .set_non_key_attributes(Some(listed).filter(|listed: &Vec<String>| !listed.is_empty()))
            .build();
        GlobalSecondaryIndex::builder()
            .index_name(index.name.as_str())
            .set_key_schema(Some(key_schema(&index.key)?))
            .projection(holds)
            .build()
    };
    schema.indexes.iter().map(build).collect()
}

fn key_schema(names: &KeyNames) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element = |name: &str, kind: SdkKeyType| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
    };
    let kinds = [SdkKeyType::Hash, SdkKeyType::Range];
    let elements = names.iter().zip(kinds).map(|(attribute, kind)| element(&attribute.name, kind));
    elements.collect()
}
