//! An SQS endpoint, and queues on it.

use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use latchkey_queue::{Clock, Sqs, SqsOptions, SqsService};

use latchkey_testing::moto::Moto;

/// A service of the test's own, ended when it is dropped.
pub(crate) struct Service {
    pub(crate) moto: Moto,
    pub(crate) client: Client,
}

fn config() -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
}

impl Service {
    pub(crate) async fn start() -> Service {
        let moto = Moto::start();
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = config().http_client(http).endpoint_url(&moto.endpoint).load().await;
        Service { moto, client: Client::new(&config) }
    }

    /// Makes a queue and opens it, with a lease that ends in no test by itself.
    pub(crate) async fn queue(
        &self,
        name: &str,
        attributes: &[(Attribute, &str)],
        clock: Clock,
    ) -> Sqs {
        let mut create = self.client.create_queue().queue_name(name);
        for (name, value) in attributes {
            create = create.attributes(name.clone(), *value);
        }
        create.send().await.unwrap();
        self.open(name, clock).await.unwrap()
    }

    pub(crate) async fn open(
        &self,
        name: &str,
        clock: Clock,
    ) -> Result<Sqs, latchkey_queue::Error> {
        let service = SqsService::connect_from(config(), Some(&self.moto.endpoint)).await;
        let group = Some("group".into());
        let options = SqsOptions { lease_ms: 600_000, group };
        service.queue(name, options, clock).await
    }

    pub(crate) async fn url(&self, name: &str) -> String {
        let answer = self.client.get_queue_url().queue_name(name).send().await.unwrap();
        answer.queue_url().unwrap().to_owned()
    }
}
