//! Tables: making them, and whether they are as a document needs them.

use std::fmt;
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    PointInTimeRecoverySpecification, Projection, ProjectionType, ScalarAttributeType,
    TableDescription, TableStatus, TimeToLiveSpecification,
};
use aws_sdk_dynamodb::types::{Get as SdkGet, IndexStatus, TransactGetItem};
use latchkey_table::{Key, KeyNames, Schema};

use crate::client::DynamoDb;
use crate::convert::to_item;
use crate::error::told;

/// How long a table may take to be made.
const MAKE_TIME_MAX: Duration = Duration::from_secs(120);

/// How often it is looked whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is none.
    #[error("there is no table `{table}`; make it with `latchkey table create`")]
    Missing {
        /// Its name.
        table: String,
    },
    /// It is not as it should be.
    #[error("table `{table}` is not as the document needs it: {}", list(differences))]
    Differs {
        /// Its name.
        table: String,
        /// In what.
        differences: Vec<Mismatch>,
    },
    /// The caller may not, or is not known.
    #[error(
        "the service refuses these credentials: {reason}; see `aws sts get-caller-identity`, AWS_PROFILE, AWS_ACCESS_KEY_ID"
    )]
    Credentials {
        /// What it says.
        reason: String,
    },
    /// The service cannot be asked.
    #[error(
        "the service cannot be asked: {reason}; is the endpoint right (--endpoint, AWS_ENDPOINT_URL_DYNAMODB), and the region (AWS_REGION)?"
    )]
    Unreachable {
        /// Why.
        reason: String,
    },
}

/// What a table lacks, or has otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// Another key.
    Key {
        /// What it should be.
        wanted: KeyNames,
        /// What it is.
        found: String,
    },
    /// No index of a name.
    NoIndex(String),
    /// An index with another key.
    IndexKey {
        /// The index.
        index: String,
        /// What its key should be.
        wanted: KeyNames,
        /// What it is.
        found: String,
    },
    /// An index that does not hold whole items.
    Projection(String),
    /// Something that is being made, or unmade.
    NotActive(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Key { wanted, found } => {
                write!(f, "its key is {found}, not {}, {}", wanted.partition, wanted.sort)
            }
            Mismatch::NoIndex(index) => write!(f, "it has no index `{index}`"),
            Mismatch::IndexKey { index, wanted, found } => write!(
                f,
                "the key of index `{index}` is {found}, not {}, {}",
                wanted.partition, wanted.sort
            ),
            Mismatch::Projection(index) => {
                write!(f, "index `{index}` does not hold whole items (ProjectionType ALL)")
            }
            Mismatch::NotActive(what) => write!(f, "{what} is not active yet"),
        }
    }
}

fn list(differences: &[Mismatch]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl DynamoDb {
    /// Whether a table is there and as it should be.
    pub async fn examine(&self, schema: &Schema) -> Result<(), TableError> {
        let table = schema.name.to_string();
        let description =
            self.describe(&table).await?.ok_or(TableError::Missing { table: table.clone() })?;
        let differences = differences(schema, &description);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(TableError::Differs { table, differences })
        }
    }

    /// What a table lacks, or has otherwise; nothing if there is none.
    pub async fn difference(&self, schema: &Schema) -> Result<Option<Vec<Mismatch>>, TableError> {
        let description = self.describe(&schema.name).await?;
        Ok(description.map(|description| differences(schema, &description)))
    }

    async fn describe(&self, table: &str) -> Result<Option<TableDescription>, TableError> {
        match self.client.describe_table().table_name(table).send().await {
            Ok(answer) => Ok(answer.table),
            Err(error) => {
                use aws_sdk_dynamodb::error::ProvideErrorMetadata;
                let code = error.as_service_error().and_then(|error| error.code());
                match code {
                    Some("ResourceNotFoundException") => Ok(None),
                    code => Err(unusable(code, told(&error))),
                }
            }
        }
    }

    /// Makes a table, with on-demand billing, point-in-time recovery and expiry, and waits for it. One
    /// that is there is left alone.
    pub async fn create(&self, schema: &Schema) -> Result<bool, TableError> {
        if self.describe(&schema.name).await?.is_some() {
            return self.examine(schema).await.map(|()| false);
        }
        let mut attributes = vec![&schema.key.partition, &schema.key.sort];
        for index in &schema.indexes {
            attributes.extend([&index.key.partition, &index.key.sort]);
        }
        attributes.sort_unstable();
        attributes.dedup();
        let attributes: Result<Vec<_>, _> = attributes
            .into_iter()
            .map(|name| {
                AttributeDefinition::builder()
                    .attribute_name(name.as_str())
                    .attribute_type(ScalarAttributeType::S)
                    .build()
            })
            .collect();
        let indexes: Result<Vec<_>, _> = schema
            .indexes
            .iter()
            .map(|index| {
                let all = Projection::builder().projection_type(ProjectionType::All).build();
                GlobalSecondaryIndex::builder()
                    .index_name(index.name.as_str())
                    .set_key_schema(Some(key_schema(&index.key)?))
                    .projection(all)
                    .build()
            })
            .collect();
        let unbuilt = |error| TableError::Unreachable { reason: told(&error) };
        let indexes = indexes.map_err(unbuilt)?;
        self.client
            .create_table()
            .table_name(schema.name.as_str())
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(attributes.map_err(unbuilt)?))
            .set_key_schema(Some(key_schema(&schema.key).map_err(unbuilt)?))
            .set_global_secondary_indexes((!indexes.is_empty()).then_some(indexes))
            .send()
            .await
            .map_err(|error| unusable(None, told(&error)))?;
        self.until_active(schema).await?;
        self.keep_safe(schema).await;
        Ok(true)
    }

    async fn until_active(&self, schema: &Schema) -> Result<(), TableError> {
        let deadline = tokio::time::Instant::now() + MAKE_TIME_MAX;
        loop {
            match self.examine(schema).await {
                Err(TableError::Differs { differences, .. })
                    if differences.iter().all(|one| matches!(one, Mismatch::NotActive(_)))
                        && tokio::time::Instant::now() < deadline =>
                {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                examined => return examined,
            }
        }
    }

    /// Recovery and expiry: a compatible that has neither serves as well.
    async fn keep_safe(&self, schema: &Schema) {
        let recovery = PointInTimeRecoverySpecification::builder()
            .point_in_time_recovery_enabled(true)
            .build();
        if let Ok(recovery) = recovery {
            let sent = self
                .client
                .update_continuous_backups()
                .table_name(schema.name.as_str())
                .point_in_time_recovery_specification(recovery)
                .send();
            if let Err(error) = sent.await {
                tracing::warn!(table = %schema.name, error = told(&error), "no point-in-time recovery");
            }
        }
        let expiry =
            TimeToLiveSpecification::builder().enabled(true).attribute_name("expires").build();
        if let Ok(expiry) = expiry {
            let sent = self
                .client
                .update_time_to_live()
                .table_name(schema.name.as_str())
                .time_to_live_specification(expiry)
                .send();
            if let Err(error) = sent.await {
                tracing::warn!(table = %schema.name, error = told(&error), "records do not expire");
            }
        }
    }

    /// Whether the service does transactions; not all that speak its protocol do.
    pub async fn has_transactions(&self, schema: &Schema) -> Result<bool, TableError> {
        let key = Key::new("LATCHKEY#READY", "READY");
        let item = latchkey_table::Item::from([
            (schema.key.partition.clone(), key.partition),
            (schema.key.sort.clone(), key.sort),
        ]);
        let get = SdkGet::builder().table_name(schema.name.as_str()).set_key(Some(to_item(item)));
        let get = get.build().map_err(|error| TableError::Unreachable { reason: told(&error) })?;
        let leg = TransactGetItem::builder().get(get).build();
        match self.client.transact_get_items().transact_items(leg).send().await {
            Ok(_) => Ok(true),
            Err(error) => {
                use aws_sdk_dynamodb::error::ProvideErrorMetadata;
                let code = error.as_service_error().and_then(|error| error.code());
                match code {
                    Some("UnknownOperationException" | "ValidationException") => Ok(false),
                    code => Err(unusable(code, told(&error))),
                }
            }
        }
    }
}

fn unusable(code: Option<&str>, reason: String) -> TableError {
    let credentials = [
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "AccessDeniedException",
        "ExpiredTokenException",
        "MissingAuthenticationTokenException",
        "IncompleteSignatureException",
    ];
    let unsigned = reason.contains("no credentials") || reason.contains("credentials provider");
    if code.is_some_and(|code| credentials.contains(&code)) || unsigned {
        TableError::Credentials { reason }
    } else {
        TableError::Unreachable { reason }
    }
}

fn key_schema(
    names: &KeyNames,
) -> Result<Vec<KeySchemaElement>, aws_sdk_dynamodb::error::BuildError> {
    let element = |name: &str, kind: KeyType| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
    };
    Ok(vec![element(&names.partition, KeyType::Hash)?, element(&names.sort, KeyType::Range)?])
}

fn differences(schema: &Schema, table: &TableDescription) -> Vec<Mismatch> {
    let mut differences = Vec::new();
    let (same, found) = compared(&schema.key, table.key_schema());
    if !same {
        differences.push(Mismatch::Key { wanted: schema.key.clone(), found });
    }
    if table.table_status.as_ref().is_some_and(|status| *status != TableStatus::Active) {
        differences.push(Mismatch::NotActive("the table".to_owned()));
    }
    for index in &schema.indexes {
        let named = |found: &&aws_sdk_dynamodb::types::GlobalSecondaryIndexDescription| {
            found.index_name() == Some(index.name.as_str())
        };
        let Some(found) = table.global_secondary_indexes().iter().find(named) else {
            differences.push(Mismatch::NoIndex(index.name.to_string()));
            continue;
        };
        let (same, key) = compared(&index.key, found.key_schema());
        if !same {
            let (index, wanted) = (index.name.to_string(), index.key.clone());
            differences.push(Mismatch::IndexKey { index, wanted, found: key });
        }
        let projection = found.projection().and_then(|projection| projection.projection_type());
        if projection.is_some_and(|projection| *projection != ProjectionType::All) {
            differences.push(Mismatch::Projection(index.name.to_string()));
        }
        if found.index_status.as_ref().is_some_and(|status| *status != IndexStatus::Active) {
            differences.push(Mismatch::NotActive(format!("index `{}`", index.name)));
        }
    }
    differences
}

/// Whether a key is of these names, and how it is told.
fn compared(wanted: &KeyNames, found: &[KeySchemaElement]) -> (bool, String) {
    let of = |kind: KeyType| {
        let element = found.iter().find(|element| element.key_type == kind);
        element.map(|element| element.attribute_name.as_str())
    };
    let (partition, sort) = (of(KeyType::Hash), of(KeyType::Range));
    let same = partition == Some(wanted.partition.as_str()) && sort == Some(wanted.sort.as_str());
    let names: Vec<&str> = [partition, sort].into_iter().flatten().collect();
    (same, names.join(", "))
}
