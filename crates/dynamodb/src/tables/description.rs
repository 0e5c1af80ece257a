//! The description of a table, for people.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, KeySchemaElement, KeyType, PointInTimeRecoveryStatus, Projection,
    TableDescription, TimeToLiveStatus,
};

use super::{TableError, code, patient};
use crate::client::DynamoDb;

/// The description of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its name.
    pub table: String,
    /// Whether it is active, as DynamoDB writes it.
    pub status: String,
    /// Its key attributes with their types: `PK (S), SK (S)`.
    pub key: String,
    /// Its global indexes, then its local ones.
    pub indexes: Vec<IndexDescription>,
    /// How it is paid for, as DynamoDB writes it.
    pub billing: String,
    /// Whether it has point-in-time recovery.
    pub recovery: Setting,
    /// Whether expired items are removed, and by which attribute.
    pub expiry: Setting,
    /// How many items there are, by a count that DynamoDB updates every few hours.
    pub items: i64,
    /// How many bytes the items have, by the same count.
    pub bytes: i64,
}

/// The description of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// Its name.
    pub index: String,
    /// Its key attributes with their types.
    pub key: String,
    /// Which attributes it has, as DynamoDB writes it.
    pub projection: String,
    /// Whether it is active, as DynamoDB writes it, or `local`.
    pub status: String,
}

/// A feature of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// On, with details.
    On(String),
    /// Off.
    Off,
    /// Not known, with the reason.
    Unknown(String),
}

impl Description {
    pub(super) fn new(table: &TableDescription, recovery: Setting, expiry: Setting) -> Description {
        let attributes = table.attribute_definitions();
        let indexes = table.global_secondary_indexes().iter().map(|index| IndexDescription {
            index: index.index_name().unwrap_or_default().to_owned(),
            key: key(index.key_schema(), attributes),
            projection: projection(index.projection()),
            status: index.index_status().map_or_else(unknown, ToString::to_string),
        });
        // A local index lives as long as its table does, and has no status of its own.
        let local = table.local_secondary_indexes().iter().map(|index| IndexDescription {
            index: index.index_name().unwrap_or_default().to_owned(),
            key: key(index.key_schema(), attributes),
            projection: projection(index.projection()),
            status: "local".to_owned(),
        });
        let billing = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
        Description {
            table: table.table_name().unwrap_or_default().to_owned(),
            status: table.table_status().map_or_else(unknown, ToString::to_string),
            key: key(table.key_schema(), attributes),
            indexes: indexes.chain(local).collect(),
            // DynamoDB leaves it out for a table that has always been provisioned.
            billing: billing.map_or_else(|| "PROVISIONED".to_owned(), ToString::to_string),
            recovery,
            expiry,
            items: table.item_count().unwrap_or_default(),
            bytes: table.table_size_bytes().unwrap_or_default(),
        }
    }
}

/// What an index holds, as DynamoDB writes it.
fn projection(described: Option<&Projection>) -> String {
    let Some(kind) = described.and_then(Projection::projection_type) else { return unknown() };
    let listed = described.into_iter().flat_map(|one| one.non_key_attributes());
    listed.fold(kind.to_string(), |told, name| format!("{told} {name}"))
}

/// Why the service does not say.
fn unasked<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match code(error) {
        Some("UnknownOperationException") => "the service does not know it".to_owned(),
        _ => TableError::of(error).to_string(),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn key(elements: &[KeySchemaElement], attributes: &[AttributeDefinition]) -> String {
    let mut elements: Vec<&KeySchemaElement> = elements.iter().collect();
    elements.sort_by_key(|element| element.key_type != KeyType::Hash);
    let told = elements.into_iter().map(|element| {
        let name = &element.attribute_name;
        let named = |one: &&AttributeDefinition| one.attribute_name == *name;
        let kind = attributes.iter().find(named).map(|one| one.attribute_type.to_string());
        format!("{name} ({})", kind.unwrap_or_else(unknown))
    });
    told.collect::<Vec<_>>().join(", ")
}

impl DynamoDb {
    /// Whether a table has point-in-time recovery.
    pub async fn recovery(&self, table: &str) -> Setting {
        let asked = self.client.describe_continuous_backups().table_name(table).customize();
        match asked.config_override(patient()).send().await {
            Ok(answer) => {
                let backups = answer.continuous_backups_description();
                let recovery = backups.and_then(|one| one.point_in_time_recovery_description());
                match recovery.and_then(|one| one.point_in_time_recovery_status()) {
                    Some(PointInTimeRecoveryStatus::Enabled) => Setting::On(String::new()),
                    _ => Setting::Off,
                }
            }
            Err(error) => Setting::Unknown(unasked(&error)),
        }
    }

    /// Whether a table removes expired items, and by which attribute.
    pub async fn expiry(&self, table: &str) -> Setting {
        let asked = self.client.describe_time_to_live().table_name(table).customize();
        match asked.config_override(patient()).send().await {
            Ok(answer) => {
                let expiry = answer.time_to_live_description();
                match expiry.and_then(|one| one.time_to_live_status()) {
                    Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) => {
                        let attribute = expiry.and_then(|one| one.attribute_name());
                        Setting::On(attribute.unwrap_or_default().to_owned())
                    }
                    _ => Setting::Off,
                }
            }
            Err(error) => Setting::Unknown(unasked(&error)),
        }
    }
}
