//! What holds of every OpenAPI document, so that generated clients can be made of it and miss no answer.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_model::Model;
use latchkey_openapi::Version;
use latchkey_runtime::{System, explain};
use serde_json::Value;

use crate::{VERSIONS, described, everything, shipped};

/// The operations of a document, by their ids.
fn operations(openapi: &Value) -> BTreeMap<String, &Value> {
    let mut all = BTreeMap::new();
    for path in openapi["paths"].as_object().unwrap().values() {
        for operation in path.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(all.insert(id.clone(), operation).is_none(), "two operations are {id}");
        }
    }
    all
}

/// Every value of a document that is an object, with where it stands.
fn each_object<'a>(value: &'a Value, at: &str, see: &mut impl FnMut(&str, &'a Value)) {
    match value {
        Value::Object(members) => {
            see(at, value);
            for (name, member) in members {
                each_object(member, &format!("{at}/{}", name.replace('/', "~1")), see);
            }
        }
        Value::Array(all) => {
            for (number, one) in all.iter().enumerate() {
                each_object(one, &format!("{at}/{number}"), see);
            }
        }
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_stands_alone() {
    for document in everything() {
        for (version, _) in VERSIONS {
            let openapi = described(&[&document.model()], version);
            each_object(&openapi, "#", &mut |at, object| {
                // An example may have a member of that name.
                let Some(to) = object.get("$ref").and_then(Value::as_str) else { return };
                let found = openapi.pointer(to.strip_prefix('#').unwrap());
                assert!(found.is_some(), "{}: {at} refers to {to}", document.name);
                assert_eq!(object.as_object().unwrap().len(), 1, "{}: {at}", document.name);
            });
        }
    }
}

#[test]
fn null_is_told_at_leaves_and_nothing_is_inherited() {
    for document in everything() {
        for (version, number) in VERSIONS {
            let openapi = described(&[&document.model()], version);
            each_object(&openapi["components"]["schemas"], "", &mut |at, schema| {
                let place = format!("{} {number} {at}", document.name);
                for word in ["allOf", "anyOf"] {
                    assert!(schema.get(word).is_none_or(|value| !value.is_array()), "{place}");
                }
                let kinds = schema.get("type").and_then(Value::as_array);
                let null = kinds.is_some_and(|kinds| kinds.contains(&"null".into()));
                assert!(!null || version == Version::V3_1, "{place}");
                let nullable = schema.get("nullable").is_some_and(Value::is_boolean);
                assert!(!nullable || version == Version::V3_0, "{place}");
            });
        }
    }
}

/// The statuses and codes that an explanation tells of.
fn explained(text: &str) -> BTreeSet<(String, Option<String>)> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_status =
                |word: &str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit());
            match pair {
                ["return", status] if is_status(status) => {
                    found.insert(((*status).to_owned(), None));
                }
                ["status", "412"] => drop(found.insert(("412".to_owned(), None))),
                [before, status] if is_status(status) => {
                    let told = before.ends_with(':') || *before == "then";
                    let code = line.split(status).nth(1).unwrap().split_whitespace().next();
                    if let (true, Some(code)) = (told, code) {
                        found.insert(((*status).to_owned(), Some(code.to_owned())));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn every_operation_has_each_status_that_its_explanation_tells_of() {
    let mut seen = BTreeSet::new();
    for document in everything() {
        let system = System::read(&document.text).unwrap();
        let openapi = described(&[&document.model()], Version::V3_1);
        let operations = operations(&openapi);
        for (_, info) in system.routes() {
            let operation = operations[info.id.as_str()];
            let explanation = explain(&system, &info.id).unwrap().to_string();
            let codes = &openapi["components"]["schemas"][problem(operation)];
            let codes = codes["properties"]["code"]["enum"].as_array().unwrap();
            for (status, code) in explained(&explanation) {
                let place = format!("{} {}: {status} {code:?}", document.name, info.id);
                assert!(operation["responses"].get(&status).is_some(), "{place}\n{explanation}");
                if let Some(code) = code {
                    assert!(codes.contains(&code.as_str().into()), "{place}\n{explanation}");
                }
                seen.insert(status);
            }
        }
    }
    // The explanations were read.
    for status in ["200", "201", "204", "403", "404", "409", "412", "503"] {
        assert!(seen.contains(status), "{seen:?}");
    }
}

/// The name of the one schema of an operation's problems.
fn problem(operation: &Value) -> String {
    let mut names = BTreeSet::new();
    for (status, response) in operation["responses"].as_object().unwrap() {
        if status.as_str() >= "400" {
            let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
            names.insert(schema.as_str().unwrap().rsplit('/').next().unwrap().to_owned());
        }
    }
    assert_eq!(names.len(), 1, "{names:?}");
    names.pop_first().unwrap()
}

#[test]
fn an_operation_has_one_type_of_success_and_one_of_failure() {
    for document in everything() {
        for (version, _) in VERSIONS {
            let openapi = described(&[&document.model()], version);
            for (id, operation) in operations(&openapi) {
                problem(operation);
                let responses = operation["responses"].as_object().unwrap();
                let successes = responses.iter().filter(|(status, _)| status.starts_with('2'));
                let schemas: BTreeSet<String> = successes
                    .map(|(_, response)| {
                        response["content"]["application/json"]["schema"].to_string()
                    })
                    .collect();
                assert_eq!(schemas.len(), 1, "{} {id}: {schemas:?}", document.name);
            }
        }
    }
}

#[test]
fn every_operation_and_every_parameter_is_described() {
    for document in everything() {
        let openapi = described(&[&document.model()], Version::V3_1);
        for (id, operation) in operations(&openapi) {
            for member in ["summary", "description", "tags", "security"] {
                assert!(operation.get(member).is_some(), "{} {id} {member}", document.name);
            }
            for parameter in operation["parameters"].as_array().unwrap() {
                let told = ["schema", "$ref"].iter().any(|m| parameter.get(m).is_some());
                assert!(told, "{} {id}: {parameter}", document.name);
            }
        }
    }
}

#[test]
fn the_shipped_documents_give_an_example_of_every_body_and_every_path() {
    for document in shipped() {
        let openapi = described(&[&document.model()], Version::V3_1);
        for (id, operation) in operations(&openapi) {
            if let Some(body) = operation.get("requestBody") {
                let example = &body["content"]["application/json"]["example"];
                assert!(example.is_object(), "{} {id} has no example of its body", document.name);
            }
            for parameter in operation["parameters"].as_array().unwrap() {
                let in_path = parameter.get("in") == Some(&"path".into());
                let example = parameter.get("example").is_some();
                assert!(!in_path || example, "{} {id}: {parameter}", document.name);
            }
        }
    }
}

#[test]
fn the_shipped_documents_together_have_all_that_each_has() {
    let models: Vec<Model> = shipped().iter().map(|document| document.model()).collect();
    let together = described(&models.iter().collect::<Vec<_>>(), Version::V3_1);
    let all: BTreeSet<String> = operations(&together).into_keys().collect();
    let each = models.iter().flat_map(|model| {
        let openapi = described(&[model], Version::V3_1);
        operations(&openapi).into_keys().collect::<Vec<String>>()
    });
    assert_eq!(all, each.collect());
    let tags: Vec<&str> = together["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    assert_eq!(tags, models.iter().map(|model| model.system.as_str()).collect::<Vec<_>>());
}
