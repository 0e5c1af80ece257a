//! An SQS endpoint, asked behind the back of whoever works with it.

use serde_json::{Value, json};

use crate::aws;
use crate::moto::Moto;

/// A service of the test's own, ended when it is dropped.
pub struct Sqs(Moto);

impl Sqs {
    pub fn start() -> Sqs {
        Sqs(Moto::start())
    }

    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// Asks it directly, behind the back of whoever works with it.
    pub fn ask(&self, operation: &str, request: &Value) -> Value {
        let target = format!("AmazonSQS.{operation}");
        let body = aws::ask(&self.0.endpoint, "sqs", &target, request);
        // Some operations answer nothing.
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    fn url(&self, queue: &str) -> Value {
        self.ask("GetQueueUrl", &json!({"QueueName": queue}))["QueueUrl"].clone()
    }

    pub fn delete(&self, queue: &str) {
        self.ask("DeleteQueue", &json!({"QueueUrl": self.url(queue)}));
    }

    /// An attribute of a queue.
    pub fn attribute(&self, queue: &str, name: &str) -> String {
        let request = json!({"QueueUrl": self.url(queue), "AttributeNames": [name]});
        let answer = self.ask("GetQueueAttributes", &request);
        answer["Attributes"][name].as_str().unwrap().to_owned()
    }

    pub fn set_attribute(&self, queue: &str, name: &str, value: &str) {
        let request = json!({"QueueUrl": self.url(queue), "Attributes": {name: value}});
        self.ask("SetQueueAttributes", &request);
    }

    /// How many messages are due, held and due later.
    pub fn depth(&self, queue: &str) -> [u64; 3] {
        let names = ["", "NotVisible", "Delayed"];
        names.map(|name| {
            let name = format!("ApproximateNumberOfMessages{name}");
            self.attribute(queue, &name).parse().unwrap()
        })
    }
}
