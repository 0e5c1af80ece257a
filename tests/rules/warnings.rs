//! The warnings about counts, copies, claims and indexes: mistakes planted in a shop, a workspace and a bank,
//! and beside each an honest twin of which nothing is told.

use latchkey_model::check;

use crate::planted::PARTIAL;

/// The rules that a document of these entities and contracts breaks; those that miss the rest of it aside, but for the
/// one that is looked at.
fn told(rule: &str, entities: &str, contracts: &[&str]) -> Vec<(&'static str, String)> {
    let mut text =
        "```contract\nsystem trial\ntable Trial { type kind }\nrole clerk\n".to_owned() + entities;
    for (at, contract) in contracts.iter().enumerate() {
        let at = at + 1;
        text.push_str(&format!(
            "\ncontract T-{at} \"Trial\" {{\n{contract}\nconsistency strong\nexpect 0.. items\nrate 1/s\n}}\n"
        ));
    }
    text.push_str("```\n");
    let found = check(&text).diagnostics.into_iter();
    let found = found.filter(|one| one.rule.slug() == rule || !PARTIAL.contains(&one.rule.slug()));
    found.map(|one| (one.rule.slug(), format!("{:?}: {}", one.level, one.message))).collect()
}

/// Holds each document to what it should be told.
pub(crate) fn all(rule: &'static str, entities: &str, cases: &[(&str, &[&str], bool)]) {
    let mut wrong = Vec::new();
    for (what, contracts, planted) in cases {
        let found = told(rule, entities, contracts);
        let slugs: Vec<&str> = found.iter().map(|(slug, _)| *slug).collect();
        let expected: &[&str] = if *planted { &[rule] } else { &[] };
        let warned = found.iter().all(|(_, message)| message.starts_with("Warning"));
        if slugs != expected || !warned {
            wrong.push(format!("{rule}, {what}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) const SHOP: &str = r#"
entity Product "PRODUCT" {
  PK = "PRODUCT#{productId}" SK = "META"
  productId id, title text(80), cents int 0.., sold int 0.. = 0, code text(20) like "[A-Z]+", version counter
}
entity Code "CODE" { PK = "CODE#{code}" SK = "META" code Product.code, productId id }
entity Order "ORDER" {
  PK = "ORDER#{orderId}" SK = "META"
  orderId id, productId id, status PLACED | PAID | SENT = PLACED, courier id?, paidAt time?
  index ByCourier { PK = "COURIER#{courier}" SK = "ORDER#{orderId}" }
}
entity Line "LINE" { PK = "ORDER#{orderId}" SK = "LINE#{lineId}" orderId id, lineId ulid, cents int 0.., title text(80) }
entity Sale "SALE" { PK = "PRODUCT#{productId}" SK = "SALE#{saleId}" productId id, saleId id }
entity Price "PRICE" { PK = "PRODUCT#{productId}" SK = "PRICE#{at}" productId id, at time, title text(80) }
entity Tags "TAGS" { PK = "PRODUCT#{productId}" SK = "TAGS" productId id, tags set(9) of text(9)? }
"#;

pub(crate) const WORKSPACE: &str = r#"
entity Space "SPACE" { PK = "SPACE#{spaceId}" SK = "META" spaceId id, name text(80), members int 0.. = 0, version counter }
entity Member "MEMBER" { PK = "SPACE#{spaceId}" SK = "MEMBER#{userId}" spaceId id, userId id, right READ | WRITE = READ }
entity Page "PAGE" {
  PK = "SPACE#{spaceId}" SK = "PAGE#{pageId}"
  spaceId id, pageId ulid, slug text(40) like "[a-z-]+", state DRAFT | LIVE = DRAFT, space text(80)?, pinnedAt time?
  index Pinned { PK = "PINNED#{spaceId}" SK = "{pinnedAt}#{pageId}" }
}
entity Slug "SLUG" { PK = "SPACE#{spaceId}" SK = "SLUG#{slug}" spaceId id, slug Page.slug, pageId ulid }
entity Visits "VISITS" { PK = "SPACE#{spaceId}#{shard:02}" SK = "VISITS" spaceId id, shard int 0..15, count int 0.. = 0 }
"#;

pub(crate) const BANK: &str = r#"
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}" SK = "META"
  accountId id, cents int 0.. = 0, owner text(80), iban text(34) like "[A-Z0-9]+", first id?, state OPEN | CLOSED = OPEN
}
entity Iban "IBAN" { PK = "IBAN#{iban}" SK = "META" iban Account.iban, accountId id }
entity Booking "BOOKING" {
  PK = "ACCOUNT#{accountId}" SK = "BOOKING#{bookingId}"
  accountId id, bookingId id, cents int, owner text(80)?, batch id?
  index ByBatch { PK = "BATCH#{batch}" SK = "BOOKING#{bookingId}" }
}
entity Entry "ENTRY" { PK = "ACCOUNT#{accountId}" SK = "ENTRY#{entryId}" accountId id, entryId id, cents int }
"#;

#[test]
fn what_can_be_repeated_drifts() {
    let tag = |condition: &str| {
        format!(
            "POST /products/{{productId}}/tags\ninput tag text(9)\nallow caller is clerk\ntransact {{\n\
             upsert Tags(productId) add tags = tag {condition}\n\
             update Product set sold = .sold + 1, version = .version + 1 else 404 no\n}}\nreturn 204"
        )
    };
    let make = "POST /products/{productId}\ninput title Product.title, code Product.code\nallow caller is clerk\n\
                product = put Product { productId, title, cents = 1, code } if absent else 409 there\nreturn product";
    let r#in = "POST /products/{productId}/sales\nallow caller is clerk\n";
    let sold = "update Product set sold = .sold + 1, version = .version + 1 else 404 no";
    let sell = |order: &str| {
        format!(
            "{in}input saleId id\ntransact {{\nsale = put Sale {{ productId, saleId }} {order}\n{sold}\n}}\nreturn sale"
        )
    };
    let by_key = format!("{in}product = {sold}\nreturn product\nidempotent by key");
    all(
        "drift",
        SHOP,
        &[
            ("an order that is replaced", &[&sell("replace")], true),
            ("an order that is made once", &[&sell("if absent else 409 sold")], false),
            ("nothing but a count", &[&format!("{in}product = {sold}\nreturn product")], true),
            ("nothing but a count, by key", &[&by_key], false),
            ("a tag that is given again", &[&tag(""), make], true),
            (
                "a tag that is given once",
                &[&tag("if not tag in .tags else 409 tagged"), make],
                false,
            ),
            ("another tag", &[&tag("if not \"new\" in .tags else 409 tagged"), make], true),
            ("a tag that must be there", &[&tag("if tag in .tags else 409 new"), make], true),
            (
                "an order under a new id",
                &[&sell("if absent else retry")
                    .replace("saleId }", "saleId = new ulid }")
                    .replace("input saleId id\n", "")],
                false,
            ),
            (
                "a status that is set again, with another line",
                &[
                    "POST /orders/{orderId}/pay\nallow caller is clerk\ntransact {\nupdate Order set status = PAID else 404 no\n\
                   line = put Line { orderId, lineId = new ulid, cents = 1, title = \"a\" } if absent else retry\n}\nreturn line",
                ],
                true,
            ),
            (
                "a status that moves, with a line",
                &[
                    "POST /orders/{orderId}/pay\nallow caller is clerk\ntransact {\nupdate Order set status = PAID if .status == PLACED else 409 no\n\
                   line = put Line { orderId, lineId = new ulid, cents = 1, title = \"a\" } if absent else retry\n}\nreturn line",
                ],
                false,
            ),
        ],
    );
}

#[test]
fn joining_leaving_and_booking_again_drift() {
    let join = |put: &str| {
        format!(
            "POST /spaces/{{spaceId}}/members/{{userId}}\ninput right Member.right\nallow caller is clerk\ntransact {{\n\
             member = put Member {{ spaceId, userId, right }} {put}\n\
             update Space add members = 1 set version = .version + 1 else 404 no\n}}\nreturn member"
        )
    };
    let leave = |condition: &str| {
        format!(
            "DELETE /spaces/{{spaceId}}/members/{{userId}}\nallow caller is clerk\n\
             space = get Space strong else 404 no\ntransact {{\ndelete Member{condition}\n\
             update space set members = .members - 1, version = .version + 1 if unchanged else retry\n}}\nreturn space"
        )
    };
    all(
        "drift",
        WORKSPACE,
        &[
            ("joining twice", &[&join("replace")], true),
            ("joining once", &[&join("if absent else 409 joined")], false),
            ("leaving twice", &[&leave("")], true),
            ("leaving once", &[&leave(" if .userId == userId else 404 gone")], false),
            // A delete that needs its item was taken for one that happens again.
            ("leaving what is there", &[&leave(" else absent 404 gone")], false),
        ],
    );
    let book = |put: &str| {
        format!(
            "POST /accounts/{{accountId}}/entries\ninput entryId id, cents int 1..\nallow caller is clerk\n\
             transact {{\nentry = put Entry {{ accountId, entryId, cents }} {put}\n\
             update Account add cents = cents else 404 no\n}}\nreturn entry"
        )
    };
    let spend = "POST /accounts/{accountId}/spend\ninput cents int 1..\nallow caller is clerk\n\
                 account = update Account set cents = .cents - cents if .cents >= cents else 409 short\nreturn account";
    all(
        "drift",
        BANK,
        &[
            ("a booking that is replaced", &[&book("replace")], true),
            ("a booking that is made once", &[&book("if absent else 409 booked")], false),
            ("enough is no once", &[spend], true),
            ("enough, by key", &[&format!("{spend}\nidempotent by key")], false),
        ],
    );
}

#[test]
fn an_index_without_its_part_is_never_listed() {
    let order = "POST /orders\ninput orderId id, productId id, status Order.status, paidAt time?\nallow caller is clerk\n\
                 order = put Order { orderId, productId, status, paidAt } if absent else 409 there\nreturn order";
    let assign = "PUT /orders/{orderId}/couriers/{courier}\nallow caller is clerk\n\
                  order = update Order set courier = courier if .courier is absent else 409 has-one\nreturn order";
    let get = "GET /orders/{orderId}\nallow caller is clerk\norder = get Order strong else 404 no\nreturn order";
    all(
        "never-listed",
        SHOP,
        &[
            ("no courier", &[order, get], true),
            ("a courier is assigned", &[order, assign], false),
            ("the orders come from elsewhere", &[get], false),
        ],
    );
    let page = "POST /spaces/{spaceId}/pages\ninput slug Page.slug, state Page.state, space text(80)?\nallow caller is clerk\n\
                page = put Page { spaceId, pageId = new ulid, slug, state, space } if absent else retry\nreturn page";
    let pin = "PUT /spaces/{spaceId}/pages/{pageId}/pin\nallow caller is clerk\n\
               page = update Page set pinnedAt = now if .pinnedAt is absent else 409 pinned\nreturn page";
    all(
        "never-listed",
        WORKSPACE,
        &[("nothing is pinned", &[page], true), ("pages are pinned", &[page, pin], false)],
    );
    let book = |batch: &str| {
        format!(
            "POST /accounts/{{accountId}}/bookings\ninput bookingId id, cents int, owner text(80)?{batch}\nallow caller is clerk\n\
             booking = put Booking {{ accountId, bookingId, cents, owner{} }} if absent else 409 there\nreturn booking",
            if batch.is_empty() { "" } else { ", batch" }
        )
    };
    all(
        "never-listed",
        BANK,
        &[("no batch", &[&book("")], true), ("each has a batch", &[&book(", batch id")], false)],
    );
}

#[test]
fn a_claim_that_nothing_releases_is_told() {
    let make = "POST /products/{productId}\ninput title Product.title, code Product.code\nallow caller is clerk\ntransact {\n\
                product = put Product { productId, title, cents = 1, code } if absent else 409 there\n\
                put Code { code, productId } if absent else 409 taken\n}\nreturn product";
    let rename = |release: &str| {
        format!(
            "PUT /products/{{productId}}/code\ninput code Product.code\nallow caller is clerk\n\
             product = get Product strong else 404 no\nrequire product.code != code else 409 same\ntransact {{\n{release}\
             update product set code = code, version = .version + 1 if unchanged else retry\n\
             put Code {{ code, productId }} if absent else 409 taken\n}}\nreturn product"
        )
    };
    let remove = |release: &str| {
        format!(
            "DELETE /products/{{productId}}\nallow caller is clerk\nproduct = get Product strong else 404 no\n\
             transact {{\ndelete product if unchanged else retry\n{release}}}\nreturn 204"
        )
    };
    let wrong = rename("delete Code(code = code)\n")
        .replace("put Code { code, productId } if absent else 409 taken\n", "");
    all(
        "unreleased",
        SHOP,
        &[
            ("a code that changes", &[make, &rename("")], true),
            (
                "a code that is released",
                &[make, &rename("delete Code(code = product.code)\n")],
                false,
            ),
            ("a code that never changes", &[make], false),
            (
                "a code that one way releases, and another does not",
                &[make, &rename("delete Code(code = product.code)\n"), &remove("")],
                true,
            ),
            (
                "a code that both ways release",
                &[
                    make,
                    &rename("delete Code(code = product.code)\n"),
                    &remove("delete Code(code = product.code)\n"),
                ],
                false,
            ),
            (
                "the new code released",
                &[make, &wrong, &remove("delete Code(code = product.code)\n")],
                true,
            ),
        ],
    );
}

#[test]
fn a_slug_that_nothing_releases_is_told() {
    let write = "POST /spaces/{spaceId}/pages\ninput slug Page.slug, state Page.state, space text(80)?\nallow caller is clerk\ntransact {\n\
                 page = put Page { spaceId, pageId = new ulid, slug, state, space, pinnedAt = now } if absent else retry\n\
                 put Slug { spaceId, slug, pageId = page.pageId } if absent else 409 taken\n}\nreturn page";
    let remove = |release: &str| {
        format!(
            "DELETE /spaces/{{spaceId}}/pages/{{pageId}}\nallow caller is clerk\n\
             page = get Page strong else 404 no\ntransact {{\ndelete page if .slug == page.slug else retry\n{release}}}\n\
             return page"
        )
    };
    all(
        "unreleased",
        WORKSPACE,
        &[
            ("a slug of a page that is gone", &[write, &remove("")], true),
            (
                "a slug that goes with its page",
                &[write, &remove("delete Slug(slug = page.slug)\n")],
                false,
            ),
        ],
    );
}

#[test]
fn a_claim_of_a_bank_that_nothing_releases_is_told() {
    let open = "POST /accounts/{accountId}\ninput owner Account.owner, iban Account.iban, state Account.state, first id?\n\
                allow caller is clerk\ntransact {\n\
                account = put Account { accountId, owner, iban, state, first } if absent else 409 there\n\
                put Iban { iban, accountId } if absent else 409 taken\n}\nreturn account";
    let close = |release: &str| {
        format!(
            "DELETE /accounts/{{accountId}}\nallow caller is clerk\naccount = get Account strong else 404 no\n\
             transact {{\ndelete account if .iban == account.iban else retry\n{release}}}\nreturn account {{ accountId }}"
        )
    };
    // A booking made with its account is no claim: it is under the account's key.
    let booked = open
        .replace("input owner", "input bookingId id, owner")
        .replace(", first id?", "")
        .replace("state, first }", "state, first = bookingId }")
        .replace(
            "put Iban { iban, accountId } if absent else 409 taken",
            "put Booking { accountId, bookingId, cents = 0, batch = bookingId } if absent else 409 taken",
        );
    all(
        "unreleased",
        BANK,
        &[
            ("an iban of a closed account", &[open, &close("")], true),
            ("an iban that is freed", &[open, &close("delete Iban(iban = account.iban)\n")], false),
            ("a booking", &[&booked, &close("")], false),
        ],
    );
}

#[test]
fn a_copy_without_a_view_is_loose() {
    let rename = "PUT /products/{productId}\ninput title Product.title\nallow caller is clerk\n\
                  product = update Product set title = title, version = .version + 1 else 404 no\nreturn product";
    let pinned = "check product if .title == product.title else retry\n";
    let line = |put: &str| {
        format!(
            "POST /orders/{{orderId}}/lines/{{productId}}\nallow caller is clerk\nproduct = get Product strong else 404 no\n\
             transact {{\n{pinned}{put}\n}}\nreturn line"
        )
    };
    let copied = line(
        "line = put Line { orderId, lineId = new ulid, cents = 1, title = product.title } if absent else retry",
    );
    let made = line(
        "line = put Line { orderId, lineId = new ulid, cents = 1, title = \"{product.title}\" } if absent else retry",
    );
    let price = line(
        "line = put Price { productId, at = now, title = product.title } if absent else retry",
    );
    all(
        "loose-copy",
        SHOP,
        &[
            ("a title", &[&copied, rename], true),
            ("a title that never changes", &[&copied], false),
            ("a text that is made of it", &[&made, rename], true),
            ("a title at a time", &[&price, rename], false),
        ],
    );
    let name = "PUT /spaces/{spaceId}\ninput name Space.name\nallow caller is clerk\n\
                space = update Space set name = name, version = .version + 1 else 404 no\nreturn space";
    let page = |value: &str| {
        format!(
            "POST /spaces/{{spaceId}}/pages\ninput slug Page.slug, state Page.state, other Space.name\nallow caller is clerk\n\
             space = get Space strong else 404 no\ntransact {{\ncheck space if unchanged else retry\n\
             page = put Page {{ spaceId, pageId = new ulid, slug, state, space = {value}, pinnedAt = now }} if absent else retry\n}}\nreturn page"
        )
    };
    all(
        "loose-copy",
        WORKSPACE,
        &[
            ("the name of the space", &[&page("space.name"), name], true),
            ("a name of its own", &[&page("other"), name], false),
        ],
    );
    let marry = "PUT /accounts/{accountId}\ninput owner Account.owner\nallow caller is clerk\n\
                 account = update Account set owner = owner else 404 no\nreturn account";
    let book = |owner: &str| {
        format!(
            "POST /accounts/{{accountId}}/bookings\ninput bookingId id, batch id, signed text(80)\nallow caller is clerk\n\
             account = get Account strong else 404 no\ntransact {{\n\
             check account if .owner == account.owner else retry\n\
             booking = put Booking {{ accountId, bookingId, cents = 1, batch{owner} }} if absent else 409 there\n}}\nreturn booking"
        )
    };
    all(
        "loose-copy",
        BANK,
        &[
            (
                "the owner of the account",
                &[&book(", owner = account.owner").replace(", signed text(80)", ""), marry],
                true,
            ),
            ("no copy", &[&book(", owner = signed"), marry], false),
        ],
    );
}
