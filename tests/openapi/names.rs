//! Names of several documents on one server.

use latchkey_openapi::{OpenApi, Serving, Version};

use crate::{described, model};

fn system(name: &str, path: &str) -> String {
    format!(
        r#"# {name}

```contract
system {name}

table {name}-table {{ type kind }}

entity Door "DOOR" {{
  PK = "DOOR#{{doorId}}"
  SK = "META"

  doorId id
  size   int 1..9 // how wide it is
}}

contract D-01 "Get a door" {{
  GET /{path}/{{doorId}}
  allow anyone

  door = get Door else 404 not-found
  return door

  consistency eventual
  expect 1 item
  rate 1/s
}}

contract D-02 "Shut a door" {{
  POST /{path}/{{doorId}}
  allow true

  door = get Door else 404 not-found
  return door {{ size }}

  consistency eventual
  expect 1 item
  rate 1/s
}}
```
"#
    )
}

// Two documents with the same names would give two operations of one id, and one schema of two meanings.
#[test]
fn names_that_two_systems_have_are_said_with_the_system() {
    let (one, two) = (model(&system("north", "north")), model(&system("south_side", "south")));
    let openapi = described(&[&one, &two], Version::V3_1);
    let get = |path: &str| openapi["paths"][path]["get"].clone();
    assert_eq!(get("/north/{doorId}")["operationId"], "north-D-01");
    assert_eq!(get("/south/{doorId}")["operationId"], "south_side-D-01");
    let schema = |path: &str| {
        get(path)["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].clone()
    };
    assert_eq!(schema("/north/{doorId}"), "#/components/schemas/NorthDoor");
    assert_eq!(schema("/south/{doorId}"), "#/components/schemas/SouthSideDoor");
    // In the other order the names are the same.
    let turned = described(&[&two, &one], Version::V3_1);
    assert_eq!(turned["components"], openapi["components"]);
    // Alone, neither needs it.
    let alone = described(&[&one], Version::V3_1);
    assert_eq!(alone["paths"]["/north/{doorId}"]["get"]["operationId"], "D-01");
}

#[test]
fn anyone_may_call_without_a_token_or_with_one() {
    let openapi = described(&[&model(&system("north", "north"))], Version::V3_1);
    let open = &openapi["paths"]["/north/{doorId}"]["get"]["security"];
    assert_eq!(open, &serde_json::json!([{}, {"bearer": []}]));
    let closed = &openapi["paths"]["/north/{doorId}"]["post"]["security"];
    assert_eq!(closed, &serde_json::json!([{"bearer": []}]));
    let size = &openapi["components"]["schemas"]["Door"]["properties"]["size"];
    assert_eq!(size["description"], "How wide it is.");
}

#[test]
fn where_tokens_are_had_is_told_where_the_server_knows_it() {
    let model = model(&system("north", "north"));
    let url = "https://id.example.com/.well-known/openid-configuration";
    let serving = Serving { oidc: Some(url.to_owned()), ..Serving::default() };
    for version in [Version::V3_1, Version::V3_0] {
        let openapi = OpenApi::new(&[&model], version, &serving).compact();
        let openapi: serde_json::Value = serde_json::from_str(&openapi).unwrap();
        let schemes = &openapi["components"]["securitySchemes"];
        assert_eq!(schemes["openIdConnect"]["type"], "openIdConnect");
        assert_eq!(schemes["openIdConnect"]["openIdConnectUrl"], url);
        assert_eq!(schemes["bearer"]["scheme"], "bearer", "clients send a token as ever");
        let door = &openapi["paths"]["/north/{doorId}"];
        let open = serde_json::json!([{}, {"bearer": []}, {"openIdConnect": []}]);
        assert_eq!(door["get"]["security"], open);
        let closed = serde_json::json!([{"bearer": []}, {"openIdConnect": []}]);
        assert_eq!(door["post"]["security"], closed);
        let without = described(&[&model], version);
        assert_eq!(without["components"]["securitySchemes"].get("openIdConnect"), None);
    }
}
