//! The warnings about a part of the items that is taken for all of them: mistakes planted in a shop, a workspace and a
//! bank, and honest twins.

use crate::warnings::{BANK, SHOP, WORKSPACE, all};

#[test]
fn the_first_items_taken_for_all_are_told() {
    let open = "POST /spaces/{spaceId}\ninput name Space.name\nallow caller is clerk\n\
                space = put Space { spaceId, name } if absent else 409 there\nreturn space";
    let close = |test: &str, refusal: &str, over: &str| {
        format!(
            "DELETE /spaces/{{spaceId}}\nallow caller is clerk\nspace = get Space strong else 404 no\n\
             {test}\
             all = query Member strong where PK = \"SPACE#{{spaceId}}\" and SK begins_with \"MEMBER#\" first 10\n{refusal}\
             waive unpinned \"members who join meanwhile are not members of anything\"\n\
             transact {{\n{over}each member in all {{\ndelete member\n}}\n}}\nreturn 204"
        )
    };
    let gone = "delete space if unchanged else retry\n";
    let waiver = "waive stale-answer \"a refusal removes nothing\"\n";
    let test = "require count(all) < 10 else 409 many\n";
    all(
        "partial-list",
        WORKSPACE,
        &[
            ("all members, of which ten are deleted", &[open, &close("", "", gone)], true),
            ("all members, fewer than ten", &[open, &close(waiver, test, gone)], false),
            ("some members", &[open, &close("", "", "")], false),
        ],
    );
    let lines = |with: &str| {
        format!(
            "GET /orders/{{orderId}}\nallow caller is clerk\n\
             lines = query Line strong where PK = \"ORDER#{{orderId}}\" and SK begins_with \"LINE#\" first 50\n\
             return with {{ lines, {with} }}"
        )
    };
    all(
        "partial-list",
        SHOP,
        &[
            (
                "whether the first of them are dear",
                &[&lines("dear = sum(lines.cents) > 1000")],
                true,
            ),
            ("whether there are more than are read", &[&lines("many = count(lines) > 99")], true),
            ("whether there may be more", &[&lines("more = count(lines) == 50")], false),
            ("whether there are some", &[&lines("some = count(lines) > 0")], false),
        ],
    );
}

#[test]
fn a_total_over_a_part_is_told() {
    let order = |shown: &str| {
        format!(
            "GET /orders/{{orderId}}\nallow caller is clerk\norder = get Order strong else 404 no\n\
             lines = query Line strong where PK = \"ORDER#{{orderId}}\" and SK begins_with \"LINE#\" {shown}"
        )
    };
    all(
        "partial-list",
        SHOP,
        &[
            (
                "the first",
                &[&order("first 50\nreturn order with { total = sum(lines.cents) }")],
                true,
            ),
            ("a page", &[&order("page 50\nreturn order with { lines = count(lines) }")], true),
            (
                "shown beside its page",
                &[&order(
                    "page 50\nreturn lines with { shown = count(lines), of = order.productId }",
                )],
                false,
            ),
        ],
    );
    let visits = |range: &str| {
        format!(
            "GET /spaces/{{spaceId}}/visits\nallow caller is clerk\nspace = get Space strong else 404 no\n\
             visits = get Visits shard in {range} strong\nreturn space with {{ visits = sum(visits.count) }}"
        )
    };
    all(
        "partial-list",
        WORKSPACE,
        &[
            ("half of the shards", &[&visits("0..7")], true),
            ("all but the first", &[&visits("1..15")], true),
            ("all", &[&visits("0..15")], false),
        ],
    );
    let balance = |limit: &str, written: &str| {
        format!(
            "GET /accounts/{{accountId}}/balance\nallow caller is clerk\naccount = get Account strong else 404 no\n\
             bookings = query Booking strong where PK = \"ACCOUNT#{{accountId}}\" and SK begins_with \"BOOKING#\" {limit}\n{written}"
        )
    };
    all(
        "partial-list",
        BANK,
        &[
            (
                "a balance",
                &[&balance("first 99", "return account with { balance = sum(bookings.cents) }")],
                true,
            ),
            (
                "what is shown",
                &[&balance(
                    "first 99",
                    "return bookings with { sum = sum(bookings.cents), id = account.accountId }",
                )],
                false,
            ),
        ],
    );
}
