//! `impossible-example`: examples that no stored item makes true, in a shop, a workspace and a bank, and beside each an
//! honest twin. The rule must never tell of an example that a run can make true.

use latchkey_language::Rule;
use latchkey_model::check;

const SHOP: &str = r#"
role clerk
entity Product "PRODUCT" {
  PK = "PRODUCT#{productId}" SK = "META"
  productId id, sellerId id, name text(20), cents int 0..1000, state DRAFT | LIVE | GONE = DRAFT, madeAt time
  version counter
  state moves { DRAFT -> LIVE  LIVE -> GONE }
  index BySeller { PK = "SELLER#{sellerId}" SK = "PRODUCT#{madeAt}#{productId}" }
}
contract S-1 "Add a product" {
  POST /products
  input productId id = new ulid, sellerId id, name text(20), cents int 0..1000
  allow caller owns sellerId or caller is clerk
  product = put Product { productId, sellerId, name, cents, madeAt = now } if absent else 409 product-exists
  return 201 product at /products/{productId}
  consistency strong  expect 1 item  rate 1/s
}
contract S-2 "Get a product" {
  GET /products/{productId}
  product = get Product else 404 not-found
  allow product.state == LIVE or caller owns product.sellerId
  return product { productId, name, state, version }
  consistency eventual  expect 1 item  rate 1/s
}
contract S-3 "List a seller's products" {
  GET /sellers/{sellerId}/products
  input order asc | desc = desc
  allow caller owns sellerId
  products = query Product by BySeller
    where PK = "SELLER#{sellerId}" and SK begins_with "PRODUCT#"
    order descending when order == desc
    page 2 max 3
  return products { productId, madeAt, name } with { seller = sellerId }
  consistency eventual  expect 0.. items  rate 1/s
}
contract S-4 "Change a product" {
  PATCH /products/{productId}
  input name text(20)?, expectedVersion int 1..
  product = get Product strong else 404 not-found
  allow caller owns product.sellerId
  match product.version == expectedVersion else 409 version-conflict with { current = product.version }
  update product set name ?= name, version = .version + 1 if unchanged else retry
  return product
  consistency strong  expect 1 item  rate 1/s
}
contract S-6 "Take a product back" {
  POST /products/{productId}/back
  allow caller is clerk
  product = update Product set state = GONE, version = .version + 1
    if .state == LIVE else absent 404 not-found else 409 not-live
  return product
  consistency strong  expect 1 item  rate 1/s
}
contract S-5 "Show a product" {
  POST /products/{productId}/show
  product = get Product strong else 404 not-found
  allow caller owns product.sellerId
  when product.state == LIVE { return product }
  require product.state moves to LIVE else 409 gone
  update product set state = LIVE, version = .version + 1 if unchanged else retry
  return product
  consistency strong  expect 1 item  rate 1/s
}
"#;

const SPACE: &str = r#"
role support
entity Card "CARD" {
  PK = "SPACE#{spaceId}" SK = "CARD#{place:03}"
  spaceId id, place int 0..999, text text(40), dueAt time?, secretNote text(40)? secret
}
contract C-1 "Add a card" {
  POST /spaces/{spaceId}/cards
  input place int 0..999, text text(40), dueAt time?, days int 1..9 = 1, secretNote text(40)? secret
  require dueAt is absent or now < dueAt else 400 too-late
  allow caller is support or spaceId == caller.id
  card = put Card { spaceId, place, text, dueAt, secretNote } if absent else 409 taken
  return 201 card with { until = now + 1h, big = days > 5, parts = { a = text, b = days } }
  consistency strong  expect 1 item  rate 1/s
}
contract C-2 "List cards" {
  GET /spaces/{spaceId}/cards
  allow caller is support
  cards = query Card where PK = "SPACE#{spaceId}" and SK begins_with "CARD#" page 25
  return cards
  consistency eventual  expect 0.. items  rate 1/s
}
contract C-3 "The first card" {
  GET /spaces/{spaceId}/cards/first
  allow caller is support
  card = query Card strong where PK = "SPACE#{spaceId}" and SK begins_with "CARD#" first 1 else 404 no-card
  return card
  consistency strong  expect 1 item  rate 1/s
}
"#;

const BANK: &str = r#"
role teller
role head implies teller
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}" SK = "META"
  accountId id, ownerId id, cents number 0.. = 0, state OPEN | CLOSED = OPEN, closedAt time?
}
contract A-1 "Open an account" {
  POST /accounts
  input accountId id, ownerId id, cents number 0..
  allow caller is teller
  account = put Account { accountId, ownerId, cents } if absent else 409 account-exists
  return 201 account
  consistency strong  expect 1 item  rate 1/s
}
contract A-2 "Close an account" {
  DELETE /accounts/{accountId}
  account = get Account strong else 404 not-found
  allow caller owns account.ownerId
  require account.state == OPEN else 409 closed
  update account set state = CLOSED, closedAt = now if .state == OPEN else retry
  return account
  consistency strong  expect 1 item  rate 1/s
}
contract A-3 "Add money" {
  POST /accounts/{accountId}/deposits
  input cents number 0..
  allow caller is head
  account = update Account set cents = .cents + cents if .state == OPEN else 409 closed
  return account { accountId, cents }
  consistency strong  expect 1 item  rate 1/s  idempotent by key
}
contract A-4 "Close an account for its owner" {
  POST /accounts/{accountId}/close
  allow caller is head
  account = update Account set state = CLOSED, closedAt = now if .state == OPEN
    else absent 404 not-found
    else 409 closed
  return account
  consistency strong  expect 1 item  rate 1/s
}
"#;

/// Whether the rule tells of the only request of an example.
fn told(contracts: &str, example: &str) -> Vec<String> {
    let text = format!(
        "```contract\nsystem trial\ntable Trial {{ type kind }}\n{contracts}```\n\n```example\n{example}\n```\n"
    );
    let found = check(&text).diagnostics;
    let other = found
        .iter()
        .find(|one| !matches!(one.rule, Rule::ImpossibleExample | Rule::Unused | Rule::Drift));
    assert!(other.is_none(), "{other:?}");
    let own = found.iter().filter(|one| one.rule == Rule::ImpossibleExample);
    own.map(|one| format!("{}: {:?}", one.message, one.why)).collect()
}

/// Holds pairs of examples, one that cannot hold and its honest twin, to what is told of them.
fn pairs(contracts: &str, pairs: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (what, planted, honest) in pairs {
        if told(contracts, planted).len() != 1 {
            wrong.push(format!("{what}: not told of\n{planted}"));
        }
        let about_honest = told(contracts, honest);
        if !about_honest.is_empty() {
            wrong.push(format!("{what}: told {about_honest:?} of\n{honest}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What cannot hold, and its honest twin.
const SHOP_PAIRS: &[(&str, &str, &str)] = &[
    (
        "a status that no way has",
        "as ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n200",
        "as ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201",
    ),
    (
        "a caller whom the literal owner refuses",
        "as bob\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201",
        "as bob org ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201",
    ),
    (
        "a right that the caller has",
        "as ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n403",
        "as bob\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n403 {\"code\": \"forbidden\"}",
    ),
    (
        "a default",
        "as ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"state\": \"LIVE\"}",
        "as ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"state\": \"DRAFT\", \"version\": 1, \"productId\": \"$made\"}",
    ),
    (
        "the clock",
        "at 2026-02-03T10:00:00Z\nas ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"madeAt\": \"2026-02-03T10:00:01.000Z\"}",
        "at 2026-02-03T10:00:00Z\nas ann\nPOST /products {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"madeAt\": \"2026-02-03T10:00:00.000Z\"}",
    ),
    (
        "the clock, of a call that may be a repeated one",
        "as ann\nPOST /products Idempotency-Key: k {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"madeAt\": \"today\"}",
        "as ann\nPOST /products Idempotency-Key: k {\"sellerId\": \"ann\", \"name\": \"Lamp\", \"cents\": 1}\n201 {\"madeAt\": \"2020-02-03T10:00:00.000Z\"}",
    ),
    (
        "a member that is not shown",
        "as ann\nGET /products/P1\n200 {\"cents\": 1}",
        "as ann\nGET /products/P1\n200 {\"cents\": \"$absent\", \"name\": \"Lamp\"}",
    ),
    (
        "an unknown code",
        "as ann\nGET /products/P1\n404 {\"code\": \"gone\"}",
        "as ann\nGET /products/P1\n404 {\"code\": \"not-found\"}",
    ),
    (
        "a word of another enum",
        "as ann\nGET /products/P1\n200 {\"state\": \"SOLD\"}",
        "as ann\nGET /products/P1\n200 {\"state\": \"GONE\"}",
    ),
    (
        "the key",
        "as ann\nGET /products/P1\n200 {\"productId\": \"P2\"}",
        "as ann\nGET /products/P1\n200 {\"productId\": \"P1\"}",
    ),
    (
        "the order",
        "as ann\nGET /sellers/ann/products\n200 {\"items\": [{\"madeAt\": \"2026-01-01T00:00:00.000Z\"}, {\"madeAt\": \"2026-01-02T00:00:00.000Z\"}]}",
        "as ann\nGET /sellers/ann/products?order=asc\n200 {\"items\": [{\"madeAt\": \"2026-01-01T00:00:00.000Z\"}, {\"madeAt\": \"2026-01-02T00:00:00.000Z\"}], \"seller\": \"ann\"}",
    ),
    (
        "the order by the second part",
        "as ann\nGET /sellers/ann/products\n200 {\"items\": [{\"madeAt\": \"2026-01-01T00:00:00.000Z\", \"productId\": \"A\"}, {\"madeAt\": \"2026-01-01T00:00:00.000Z\", \"productId\": \"B\"}]}",
        "as ann\nGET /sellers/ann/products\n200 {\"items\": [{\"productId\": \"A\"}, {\"productId\": \"B\"}]}",
    ),
    (
        "more than a page",
        "as ann\nGET /sellers/ann/products?pageSize=3\n200 {\"items\": [{}, {}, {}, {}]}",
        "as ann\nGET /sellers/ann/products?pageSize=3\n200 {\"items\": [{}, {}, {}], \"nextCursor\": \"$next\"}",
    ),
    (
        "a page that is too large",
        "as ann\nGET /sellers/ann/products?pageSize=4\n200",
        "as ann\nGET /sellers/ann/products?pageSize=4\n400 {\"errors\": [{\"pointer\": \"/pageSize\"}]}",
    ),
    (
        "the version after a match",
        "as ann\nPATCH /products/P1 {\"name\": \"Lamp\", \"expectedVersion\": 3}\n200 {\"version\": 3}",
        "as ann\nPATCH /products/P1 {\"name\": \"Lamp\", \"expectedVersion\": 3}\n200 {\"version\": 4, \"name\": \"Lamp\"}",
    ),
    (
        "412 without If-Match",
        "as ann\nPATCH /products/P1 {\"name\": \"Lamp\", \"expectedVersion\": 3}\n412",
        "as ann\nPATCH /products/P1 If-Match: \"3\" {\"name\": \"Lamp\"}\n412 {\"code\": \"version-conflict\", \"current\": 4}",
    ),
    (
        "what a name holds that was not sent",
        "as ann\nPATCH /products/P1 {\"expectedVersion\": 3}\n200 {\"name\": 7}",
        "as ann\nPATCH /products/P1 {\"expectedVersion\": 3}\n200 {\"name\": \"Lamp\"}",
    ),
    (
        "either way",
        "as ann\nPOST /products/P1/show\n200 {\"state\": \"DRAFT\"}",
        "as ann\nPOST /products/P1/show\n200 {\"state\": \"LIVE\"}",
    ),
    // Only the other refusal of the write was known.
    (
        "an item that is not there",
        "as c role clerk\nPOST /products/P1/back\n404 {\"code\": \"gone\"}",
        "as c role clerk\nPOST /products/P1/back\n404 {\"code\": \"not-found\"}",
    ),
    (
        "an item that is otherwise",
        "as c role clerk\nPOST /products/P1/back\n409 {\"code\": \"not-found\"}",
        "as c role clerk\nPOST /products/P1/back\n409 {\"code\": \"not-live\"}",
    ),
    ("a path", "as ann\nGET /product/P1\n200", "as ann\nGET /product/P1\n404"),
    ("a method", "as ann\nPUT /products/P1\n404", "as ann\nPUT /products/P1\n405"),
];

#[test]
fn examples_of_a_shop() {
    pairs(SHOP, SHOP_PAIRS);
}

#[test]
fn examples_of_a_workspace() {
    let post = |more: &str, answer: &str| {
        format!(
            "at 2026-01-05T10:00:00Z\nas s1\nPOST /spaces/s1/cards {{\"place\": 7, \"text\": \"x\"{more}}}\n{answer}"
        )
    };
    let cases = [
        ("a time that has passed", post(r#", "dueAt": "2026-01-05T10:00:00Z""#, "201"), post(r#", "dueAt": "2026-01-05T10:00:01Z""#, "201")),
        ("a problem that is not there", post("", "400 {\"code\": \"too-late\"}"), post(r#", "dueAt": "2026-01-04T10:00:01Z""#, "400 {\"code\": \"too-late\"}")),
        ("a sum", post("", r#"201 {"until": "2026-01-05T10:00:00.000Z"}"#), post("", r#"201 {"until": "2026-01-05T11:00:00.000Z"}"#)),
        ("a test", post("", r#"201 {"big": true}"#), post(r#", "days": 6"#, r#"201 {"big": true}"#)),
        ("a member of an object", post("", r#"201 {"parts": {"c": 1}}"#), post("", r#"201 {"parts": {"a": "x", "b": 1}}"#)),
        ("a secret", post(r#", "secretNote": "y""#, r#"201 {"secretNote": "y"}"#), post(r#", "secretNote": "y""#, r#"201 {"secretNote": "$absent"}"#)),
        ("what is not given", post("", r#"201 {"dueAt": "$due"}"#), post("", r#"201 {"dueAt": "$absent"}"#)),
        ("what is given", post(r#", "dueAt": "2026-01-06T00:00:00Z""#, r#"201 {"dueAt": "$absent"}"#), post(r#", "dueAt": "2026-01-06T00:00:00Z""#, r#"201 {"dueAt": "2026-01-06T00:00:00.000Z"}"#)),
        ("wrong fields", post(r#", "days": 10, "big": 1"#, r#"400 {"errors": [{"pointer": "/days"}]}"#), post(r#", "days": 10, "big": 1"#, r#"400 {"errors": [{"pointer": "/big"}, {"pointer": "/days"}]}"#)),
        ("a missing field", "as s1\nPOST /spaces/s1/cards {\"place\": 7}\n201".to_owned(), "as s1\nPOST /spaces/s1/cards {\"place\": 7}\n400".to_owned()),
        ("padded numbers in order", "as o role support\nGET /spaces/s/cards\n200 {\"items\": [{\"place\": 10}, {\"place\": 9}]}".to_owned(), "as o role support\nGET /spaces/s/cards\n200 {\"items\": [{\"place\": 9}, {\"place\": 10}]}".to_owned()),
        ("a list for an item", "as o role support\nGET /spaces/s/cards/first\n200 {\"items\": []}".to_owned(), "as o role support\nGET /spaces/s/cards/first\n200 {\"place\": 3, \"spaceId\": \"s\"}".to_owned()),
        ("a name that a run gives", "as o role support\nGET /spaces/$x/cards\n200 {\"item\": 1}".to_owned(), "as o role support\nGET /spaces/$x/cards\n200 {\"items\": [{\"spaceId\": \"s\"}]}".to_owned()),
    ];
    let cases: Vec<(&str, &str, &str)> = cases
        .iter()
        .map(|(what, planted, honest)| (*what, planted.as_str(), honest.as_str()))
        .collect();
    pairs(SPACE, &cases);
}

/// What cannot hold, and its honest twin.
const BANK_PAIRS: &[(&str, &str, &str)] = &[
    (
        "an item that is not there, which has an answer of its own",
        "as h role head\nPOST /accounts/A/close\n404 {\"code\": \"closed\"}",
        "as h role head\nPOST /accounts/A/close\n404 {\"code\": \"not-found\"}",
    ),
    (
        "a role",
        "as t\nPOST /accounts {\"accountId\": \"A\", \"ownerId\": \"o\", \"cents\": 1}\n201",
        "as t role head\nPOST /accounts {\"accountId\": \"A\", \"ownerId\": \"o\", \"cents\": 1}\n201",
    ),
    (
        "exact numbers",
        "as t role teller\nPOST /accounts {\"accountId\": \"A\", \"ownerId\": \"o\", \"cents\": 1.50}\n201 {\"cents\": 1.05}",
        "as t role teller\nPOST /accounts {\"accountId\": \"A\", \"ownerId\": \"o\", \"cents\": 1.50}\n201 {\"cents\": 1.5}",
    ),
    (
        "a word that is written",
        "as o\nDELETE /accounts/A\n200 {\"state\": \"OPEN\"}",
        "as o\nDELETE /accounts/A\n200 {\"state\": \"CLOSED\", \"closedAt\": \"2026-01-01T00:00:00.000Z\"}",
    ),
    (
        "a status of none",
        "as o\nDELETE /accounts/A\n204",
        "as o\nDELETE /accounts/A\n409 {\"code\": \"closed\"}",
    ),
    // A sum may leave its bounds, a key may be missing: both are a 400 that no statement names.
    (
        "another code",
        "as o role head\nPOST /accounts/A/deposits {\"cents\": 5}\n400 {\"code\": \"too-much\"}",
        "as o role head\nPOST /accounts/A/deposits {\"cents\": 5}\n400 {\"code\": \"invalid-input\"}",
    ),
    (
        "what the server says",
        "as o role head\nPOST /accounts/A/deposits {\"cents\": 5}\n410",
        "as o role head\nPOST /accounts/A/deposits Idempotency-Key: k {\"cents\": 5}\n422",
    ),
];

#[test]
fn examples_of_a_bank() {
    pairs(BANK, BANK_PAIRS);
}

/// A set that is full refuses what is added to it, and so is 400.
#[test]
fn an_example_of_a_full_set_is_possible() {
    let seats = r#"
entity Seat "SEAT" { PK = "SEAT#{seatId}" SK = "META"  seatId id, tags set(1) of id? }
contract T-1 "Tag a seat" {
  POST /seats/{seatId}/tag
  input tag id
  allow true
  seat = update Seat add tags = tag else 404 not-found
  return seat
  consistency strong  expect 1 item  rate 1/s
}
"#;
    let tag = |answer: &str| format!("as u\nPOST /seats/1/tag {{\"tag\": \"b\"}}\n{answer}");
    pairs(seats, &[("a full set", &tag("409"), &tag("400"))]);
}
