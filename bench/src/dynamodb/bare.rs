//! The calls of the SDK that the contracts come down to, written by hand.

use std::collections::HashMap;

use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use crate::Result;

/// A client with a door of its own.
pub(super) struct Bare {
    client: Client,
    table: String,
    version: u64,
}

/// How both sides reach the service.
pub(super) fn config(endpoint: &str) -> ConfigLoader {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("bench", "bench", None, None, "bench"))
        .endpoint_url(endpoint)
}

impl Bare {
    pub(super) async fn connect(config: ConfigLoader, table: String) -> Bare {
        Bare { client: Client::new(&config.load().await), table, version: 1 }
    }

    fn key() -> HashMap<String, AttributeValue> {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        HashMap::from([("PK".to_owned(), text("DOOR#bare")), ("SK".to_owned(), text("META"))])
    }

    pub(super) async fn get(&self) -> Result<()> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(Bare::key()))
            .consistent_read(false)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await?;
        answer.item.map(drop).ok_or_else(|| "the door is gone".into())
    }

    pub(super) async fn change(&mut self) -> Result<()> {
        let state = if self.version.is_multiple_of(2) { "SHUT" } else { "OPEN" };
        let number = |number: u64| AttributeValue::N(number.to_string());
        let answer = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(Bare::key()))
            .update_expression("SET #state = :state, #version = #version + :one")
            .condition_expression("#version = :version")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":state", AttributeValue::S(state.to_owned()))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":version", number(self.version))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await?;
        self.version += 1;
        answer.attributes.map(drop).ok_or_else(|| "the door is gone".into())
    }
}
