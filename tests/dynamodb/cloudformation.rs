//! `latchkey table cloudformation`: what is printed makes a table that is as it should be.

use serde_json::{Map, Value, json};

use crate::world::{World, on_each, unique};

/// Reads as much of YAML as a template is written in: maps, lists, and texts with or without quotes.
fn yaml(text: &str) -> Value {
    let lines: Vec<(usize, String)> = text
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), line.trim_start().to_owned()))
        .collect();
    let (value, rest) = block(&lines);
    assert!(rest.is_empty(), "{rest:?}");
    value
}

fn block(lines: &[(usize, String)]) -> (Value, &[(usize, String)]) {
    let depth = lines[0].0;
    let mut rest = lines;
    if lines[0].1.starts_with("- ") {
        let mut list = Vec::new();
        while rest.first().is_some_and(|(at, line)| *at == depth && line.starts_with("- ")) {
            let end = rest.iter().skip(1).position(|(at, _)| *at <= depth);
            let (item, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
            let mut item = item.to_vec();
            item[0] = (depth + 2, item[0].1.strip_prefix("- ").unwrap().to_owned());
            list.push(match item[0].1.strip_prefix('\'') {
                Some(text) => json!(text.trim_matches('\'')),
                None => block(&item).0,
            });
            rest = after;
        }
        return (Value::Array(list), rest);
    }
    let mut map = Map::new();
    while let Some(((at, line), after)) = rest.split_first()
        && *at == depth
    {
        let (name, value) = line.split_once(':').unwrap();
        rest = after;
        let value = match value.trim() {
            "" => {
                let (value, after) = block(rest);
                rest = after;
                value
            }
            "true" => Value::Bool(true),
            text => json!(text.trim_matches('\'')),
        };
        assert!(map.insert(name.to_owned(), value).is_none(), "`{name}` stands twice");
    }
    (Value::Object(map), rest)
}

#[test]
fn the_template_of_a_document_is_its_table_and_its_upkeep() {
    let done = World::new().run(&["table", "cloudformation", "doors.md"]);
    done.is(0, &[]);
    let template = yaml(&done.output);
    assert_eq!(template["AWSTemplateFormatVersion"], "2010-09-09");
    let table = &template["Resources"]["DoorsTable"];
    assert_eq!(table["Type"], "AWS::DynamoDB::Table");
    assert_eq!(table["DeletionPolicy"], "Retain");
    assert_eq!(table["UpdateReplacePolicy"], "Retain");
    let properties = &table["Properties"];
    assert_eq!(properties["BillingMode"], "PAY_PER_REQUEST");
    let recovery = &properties["PointInTimeRecoverySpecification"];
    assert_eq!(*recovery, json!({"PointInTimeRecoveryEnabled": true}));
    let expiry = &properties["TimeToLiveSpecification"];
    assert_eq!(*expiry, json!({"AttributeName": "expires", "Enabled": true}));
}

#[test]
fn a_table_made_from_the_template_is_as_it_should_be() {
    let held = |holds: &str| format!("type kind  index ByOwner {{ {holds} }}");
    on_each(|service| {
        let removed = "type kind  ttl gone".to_owned();
        for table in ["type kind".to_owned(), held("holds keys"), held("holds keys, kind"), removed]
        {
            let (world, named) = (World::new(), format!("doors={}", unique("doors")));
            let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
            world.write("doors.md", &text.replace("type kind", &table));
            let template = world.run(&["table", "cloudformation", "doors.md", "--table", &named]);
            let template = yaml(&template.output);
            let mut request = template["Resources"]["DoorsTable"]["Properties"].clone();
            let request_map = request.as_object_mut().unwrap();
            request_map.remove("PointInTimeRecoverySpecification").unwrap();
            let expiry = request_map.remove("TimeToLiveSpecification").unwrap();
            let by = if table.contains("ttl gone") { "gone" } else { "expires" };
            assert_eq!(expiry["AttributeName"], by);
            service.ask("CreateTable", &request);
            let table = &request["TableName"];
            let expiry = json!({"TableName": table, "TimeToLiveSpecification": expiry});
            service.ask("UpdateTimeToLive", &expiry);
            let remote = ["--endpoint", service.endpoint(), "--table", &named];
            let done = world.run(&[&["table", "diff", "doors.md"], &remote[..]].concat());
            // Recovery is no business of `CreateTable`; where the service knows it, it is off.
            let all = format!("{}{}", done.output, done.errors);
            let lacks_recovery = done.output.contains("  point-in-time recovery is off\nrun");
            assert!(done.code == Some(0) || lacks_recovery, "{all}");
        }
    });
}

#[test]
fn every_document_has_its_resource_whatever_its_table_is_called() {
    let world = World::new();
    let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
    for (file, system, table) in [
        ("a.md", "back_door", "1.50"),
        ("b.md", "backDoor", "null"),
        ("c.md", "BackDoor", "a-b.c_d"),
    ] {
        let system = format!("system {system}");
        let document = text.replace("system doors", &system);
        world.write(file, &document.replace("table Doors", &format!("table {table}")));
    }
    let done = world.run(&["table", "cloudformation", "a.md", "b.md", "c.md"]);
    done.is(0, &["TableName: '1.50'", "TableName: 'null'"]);
    let template = yaml(&done.output);
    let resources = template["Resources"].as_object().unwrap();
    let ids: Vec<&String> = resources.keys().collect();
    assert_eq!(ids, ["BackDoorTable", "BackDoorTable2", "BackDoorTable3"]);
    let plain = |id: &&&String| id.chars().all(|c| c.is_ascii_alphanumeric());
    assert_eq!(ids.iter().filter(plain).count(), 3, "logical ids are letters and digits");
    // Without a document, those that are shipped.
    let shipped = yaml(&world.run(&["table", "cloudformation"]).output);
    assert!(shipped["Resources"].as_object().unwrap().len() >= 2, "{shipped}");
}
