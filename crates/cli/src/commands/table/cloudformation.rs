//! Tables as a CloudFormation template.

use latchkey_runtime::System;
use latchkey_table::{KeyAttribute, KeyNames, Schema};

/// The most of a system's name that goes into a logical id.
const ID_CHARS_MAX: usize = 200;

/// A template of the tables of systems, as YAML.
pub(super) fn template(systems: &[System]) -> String {
    let mut yaml = Yaml::default();
    yaml.line(0, "AWSTemplateFormatVersion: '2010-09-09'");
    yaml.line(0, "Description: Tables of access-pattern documents");
    yaml.line(0, "Resources:");
    let mut ids: Vec<String> = Vec::new();
    for system in systems {
        for (part, schema) in ["", "-latchkey"].into_iter().zip(system.tables()) {
            let id = logical_id(&format!("{}{part}", system.name()), &ids);
            yaml.line(1, &format!("{id}:"));
            yaml.table(schema, system.ttl());
            ids.push(id);
        }
    }
    yaml.text
}

/// A logical id: letters and digits, different from those before it.
fn logical_id(name: &str, others: &[String]) -> String {
    let mut id = String::new();
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let (first, rest) = part.split_at(part.len().min(1));
        id.extend([&first.to_ascii_uppercase(), rest]);
    }
    id.truncate(ID_CHARS_MAX);
    id.push_str("Table");
    let numbered = (2_u32..).map(|number| format!("{id}{number}"));
    let mut ids = std::iter::once(id.clone()).chain(numbered);
    ids.find(|id| !others.contains(id)).unwrap_or(id)
}

/// YAML, line by line.
#[derive(Debug, Default)]
struct Yaml {
    text: String,
}

impl Yaml {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn table(&mut self, schema: &Schema, ttl: &str) {
        self.line(2, "Type: AWS::DynamoDB::Table");
        // A table that is removed from the template is not deleted.
        self.line(2, "DeletionPolicy: Retain");
        self.line(2, "UpdateReplacePolicy: Retain");
        self.line(2, "Properties:");
        self.line(3, &format!("TableName: {}", text(&schema.name)));
        self.line(3, "BillingMode: PAY_PER_REQUEST");
        self.line(3, "PointInTimeRecoverySpecification:");
        self.line(4, "PointInTimeRecoveryEnabled: true");
        self.line(3, "TimeToLiveSpecification:");
        self.line(4, &format!("AttributeName: {}", text(ttl)));
        self.line(4, "Enabled: true");
        self.line(3, "AttributeDefinitions:");
        for KeyAttribute { name, value_type } in schema.typed_key_attributes() {
            self.line(4, &format!("- AttributeName: {}", text(name)));
            self.line(5, &format!("AttributeType: {}", value_type.code()));
        }
        self.key(3, &schema.key);
        if !schema.indexes.is_empty() {
            self.line(3, "GlobalSecondaryIndexes:");
        }
        for index in &schema.indexes {
            self.line(4, &format!("- IndexName: {}", text(&index.name)));
            self.key(5, &index.key);
            self.line(5, "Projection:");
            self.line(6, &format!("ProjectionType: {}", index.holds.code()));
            if !index.holds.attributes().is_empty() {
                self.line(6, "NonKeyAttributes:");
            }
            for name in index.holds.attributes() {
                self.line(7, &format!("- {}", text(name)));
            }
        }
    }

    fn key(&mut self, depth: usize, key: &KeyNames) {
        self.line(depth, "KeySchema:");
        for (attribute, kind) in key.iter().zip(["HASH", "RANGE"]) {
            self.line(depth + 1, &format!("- AttributeName: {}", text(&attribute.name)));
            self.line(depth + 2, &format!("KeyType: {kind}"));
        }
    }
}

/// A name as a YAML text, whatever else it may look like.
fn text(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}
