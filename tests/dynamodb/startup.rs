//! What a server says when it cannot start.

use serde_json::{Value, json};

use crate::impostor::{doors, impostor, refusal, silence};
use crate::serve::Server;
use crate::world::{Done, SECRET_KEY, World, on_each, unique};

fn serve(world: &World, endpoint: &str) -> Done {
    world.run(&[
        "serve",
        "doors.md",
        "--listen",
        "127.0.0.1:0",
        "--dynamodb",
        "--endpoint",
        endpoint,
    ])
}

#[test]
fn credentials_that_are_refused_are_told() {
    let cases = [
        ("UnrecognizedClientException", "The security token included in the request is invalid."),
        ("InvalidSignatureException", "The request signature we calculated does not match."),
        ("ExpiredTokenException", "The security token included in the request is expired"),
    ];
    for (code, message) in cases {
        let endpoint = impostor(move |_| refusal(code, message));
        let told = format!("{code}: {message}");
        serve(&World::new(), &endpoint).is(
            2,
            &[&endpoint, "refuses these AWS credentials", &told, "aws sts get-caller-identity"],
        );
    }
}

#[test]
fn what_a_policy_does_not_allow_is_told() {
    let message =
        "User: arn:aws:iam::1:user/dana is not authorized to perform: dynamodb:DescribeTable";
    let endpoint = impostor(move |_| refusal("AccessDeniedException", message));
    serve(&World::new(), &endpoint).is(2, &["does not allow it", message, "docs/dynamodb.md"]);
}

#[test]
fn a_service_without_transactions_is_refused_with_the_contracts_that_need_them() {
    let unknown = |operation: &str| match operation {
        "DescribeTable" => (200, json!({"Table": doors()})),
        _ => refusal("UnknownOperationException", ""),
    };
    // Some answer in HTML what they do not know.
    let absent = |operation: &str| match operation {
        "DescribeTable" => (200, json!({"Table": doors()})),
        _ => (404, Value::Null),
    };
    for endpoint in [impostor(unknown), impostor(absent)] {
        let done = serve(&World::new(), &endpoint);
        done.is(2, &["this service has no transactions, which these contracts need: D-03;"]);
        assert!(!done.errors.contains("D-01"), "a read needs none: {}", done.errors);
    }
}

#[test]
fn what_cannot_be_reached_is_told_soon() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    serve(&World::new(), &closed).is(
        2,
        &[
            &closed,
            "cannot be reached",
            "Connection refused",
            "is the endpoint right (`--endpoint`",
        ],
    );
    let silent = silence();
    serve(&World::new(), &silent).is(2, &[&silent, "cannot be reached", "timeout"]);
    let stranger = impostor(|_| (200, json!("hello")));
    serve(&World::new(), &stranger).is(2, &["what answers there is not DynamoDB"]);
    let html = impostor(|_| (404, json!("not here")));
    serve(&World::new(), &html).is(2, &["what answers there is not DynamoDB"]);
}

#[test]
fn a_password_in_an_endpoint_is_not_shown() {
    let endpoint = format!("http://dana:{SECRET_KEY}@127.0.0.1:1");
    // The world looks for it.
    serve(&World::new(), &endpoint).is(2, &["DynamoDB at http://127.0.0.1:1"]);
}

#[test]
fn no_region_and_no_credentials_are_told() {
    let endpoint = impostor(|_| refusal("ResourceNotFoundException", ""));
    let lone = World::bare().with("AWS_ACCESS_KEY_ID", "test");
    let keyed = lone.with("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    serve(&keyed, &endpoint).is(2, &["there is no AWS region", "set AWS_REGION"]);
    let placed = World::bare().with("AWS_REGION", "us-east-1");
    serve(&placed, &endpoint).is(2, &["there are no AWS credentials", "set AWS_PROFILE"]);
    // A machine that does not say whether it has any is not waited for long.
    let asking = placed
        .with("AWS_EC2_METADATA_DISABLED", "false")
        .with("AWS_EC2_METADATA_SERVICE_ENDPOINT", &silence());
    serve(&asking, &endpoint).is(2, &["AWS"]);
    let lost = World::bare()
        .with("AWS_EC2_METADATA_DISABLED", "false")
        .with("AWS_EC2_METADATA_SERVICE_ENDPOINT", &silence());
    serve(&lost, &endpoint).is(2, &["AWS_REGION"]);
}

#[test]
fn a_missing_table_is_told_with_the_command_that_makes_it() {
    on_each(|service| {
        let (world, endpoint) = (World::new(), service.endpoint());
        let named = format!("doors={}", unique("doors"));
        let remote = ["--endpoint", endpoint, "--table", &named];
        let make = format!("latchkey table create doors.md --endpoint {endpoint} --table {named}");
        let missing = |arguments: &[&str]| {
            world.run(&[arguments, &remote].concat()).is(2, &["there is no table", &make]);
        };
        missing(&["serve", "doors.md", "--listen", "127.0.0.1:0", "--dynamodb"]);
        missing(&["call", "D-01", "doorId=D1", "--as", "alice", "--doc", "doors.md", "--dynamodb"]);
        // What is told works.
        let arguments: Vec<&str> = make.split(' ').skip(1).collect();
        world.run(&arguments).is(0, &["made table"]);
        let called =
            ["call", "D-01", "doorId=D1", "--as", "alice", "--doc", "doors.md", "--dynamodb"];
        world.run(&[&called, &remote[..]].concat()).is(1, &["not-found"]);
    });
}

#[test]
fn the_command_names_the_table_of_the_environment() {
    on_each(|service| {
        let table = unique("doors");
        let world = World::new()
            .with("DYNAMODB_TABLE_NAME", &table)
            .with("AWS_ENDPOINT_URL_DYNAMODB", service.endpoint());
        let arguments = ["serve", "doors.md", "--listen", "127.0.0.1:0", "--dynamodb"];
        let make = format!("latchkey table create doors.md --table doors={table}");
        world.run(&arguments).is(2, &[service.endpoint(), "there is no table", &make]);
        world.run(&["table", "create", "doors.md"]).is(0, &[&table]);
        let data = world.path().join("data");
        let mut command = world.command(&["serve", "doors.md", "--dynamodb", "--data"]);
        command.arg(&data);
        let server = Server::start_by(command, &data);
        let (on, at) = (format!("on table {table}"), format!("DynamoDB at {}", service.endpoint()));
        assert!(server.greeting.contains(&on), "{}", server.greeting);
        assert!(server.greeting.contains(&at), "{}", server.greeting);
    });
}

#[test]
fn servers_on_dynamodb_share_a_directory_that_holds_the_secret_alone() {
    on_each(|service| {
        let world = World::new();
        let named = format!("doors={}", unique("doors"));
        let remote = ["--endpoint", service.endpoint(), "--table", &named];
        world.run(&[&["table", "create", "doors.md"], &remote[..]].concat()).is(0, &[]);
        let data = world.path().join("data");
        let start = || {
            let mut command = world.command(&["serve", "doors.md", "--dynamodb", "--data"]);
            command.arg(&data).args(remote);
            Server::start_by(command, &data)
        };
        let (mut one, two) = (start(), start());
        let token = one.token("alice", &[], &[]);
        let made = one.client().with_token(&token).post("/doors", &json!({"doorId": "D1"}));
        assert_eq!(made.status, 201, "{made}");
        let found = two.client().with_token(&token).get("/doors/D1");
        assert_eq!(found.status, 200, "{found}");
        let names = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let kept: Vec<_> = std::fs::read_dir(&data).unwrap().map(names).collect();
        assert_eq!(kept, ["development-secret"], "the store is not opened");
        assert!(one.stop().success());
    });
}
