//! Rights to one thing that are used for another, in a shop, a workspace with tenants and a bank.

use latchkey_language::Level;
use latchkey_model::check;

const FACTS: &str = "consistency strong\nexpect 1 item\nrate 1/s\n";

/// Whether `foreign-allow` is told of a contract beside some entities; nothing else but what is waived there may be.
fn is_foreign(entities: &str, contract: &str) -> bool {
    let text = format!(
        "```contract\nsystem abc\ntable Abc {{ type kind }}\nrole admin\n{entities}\n\
         contract TRAP \"Trap\" {{\n{contract}\n{FACTS}}}\n```\n"
    );
    let found = check(&text).diagnostics;
    let errors = found.iter().filter(|one| one.level == Level::Error);
    let rules: Vec<&str> = errors.map(|one| one.rule.slug()).collect();
    let other = |rule: &&&str| !["foreign-allow", "unpinned", "undeclared"].contains(*rule);
    assert_eq!(rules.iter().find(other), None, "{contract}: {rules:?}");
    rules.contains(&"foreign-allow")
}

fn all(entities: &str, cases: &[(&str, &str, bool)]) {
    for (what, contract, foreign) in cases {
        assert_eq!(is_foreign(entities, contract), *foreign, "{what}");
    }
}

const WORKSPACE: &str = "entity Member \"MEMBER\" {\nPK = \"SPACE#{spaceId}\"\nSK = \"MEMBER#{userId}\"\nspaceId id, userId id\n\
    rank ADMIN | GUEST\n}\n\
    entity Card \"CARD\" {\nPK = \"CARD#{cardId}\"\nSK = \"META\"\ncardId id, spaceId id, body text(80), likes int = 0\n}\n\
    entity Note \"NOTE\" {\nPK = \"SPACE#{spaceId}\"\nSK = \"NOTE#{noteId}\"\nspaceId id, noteId id, body text(80)\n}\n";

const MEMBER: &str = "member = get Member(spaceId, userId = caller.id) strong else 403 stranger\nallow member.rank == ADMIN\n";
const CARD: &str = "card = get Card strong else 404 not-found\n";

#[test]
fn a_membership_covers_its_own_workspace() {
    let member = MEMBER;
    let card = CARD;
    let get = "GET /spaces/{spaceId}/cards/{cardId}\n";
    let put = "PUT /spaces/{spaceId}/cards/{cardId}\ninput body text(80)\n";
    let same = "require card.spaceId == spaceId else 404 not-found\n";
    all(
        WORKSPACE,
        &[
            ("a card of any workspace", &format!("{get}{member}{card}return card\n"), true),
            ("compared", &format!("{get}{member}{card}{same}return card\n"), false),
            (
                "compared with the membership",
                &format!(
                    "{get}{member}{card}require card.spaceId == member.spaceId else 404 no\nreturn card\n"
                ),
                false,
            ),
            (
                "its text is changed",
                &format!("{put}{member}update Card set body = body else 404 no\nreturn member\n"),
                true,
            ),
            (
                "its text is changed if it is of the workspace",
                &format!(
                    "{put}{member}update Card set body = body if .spaceId == spaceId else 404 no\nreturn member\n"
                ),
                false,
            ),
            (
                "a value does not tie what is changed",
                &format!(
                    "{put}{member}update Card set spaceId = spaceId, body = body else 404 no\nreturn member\n"
                ),
                true,
            ),
            (
                "it is deleted",
                &format!(
                    "{put}{member}require body != \"\" else 400 no\ndelete Card\nreturn member\n"
                ),
                true,
            ),
            (
                "a like counts",
                &format!(
                    "{put}{member}require body != \"\" else 400 no\nupdate Card add likes = 1 else 404 no\nreturn member\n"
                ),
                false,
            ),
        ],
    );
}

#[test]
fn a_role_or_everyone_covers_all() {
    let member = MEMBER;
    let card = CARD;
    let get = "GET /spaces/{spaceId}/cards/{cardId}\n";
    all(
        WORKSPACE,
        &[
            (
                "a note of the workspace",
                &format!(
                    "GET /spaces/{{spaceId}}/notes/{{noteId}}\n{member}note = get Note strong else 404 no\nreturn note\n"
                ),
                false,
            ),
            (
                "notes of another",
                &format!(
                    "GET /spaces/{{spaceId}}/notes\ninput other id\n{member}\
                     notes = query Note strong where PK = \"SPACE#{{other}}\" and SK begins_with \"NOTE#\" page 9\nreturn notes\n"
                ),
                true,
            ),
            ("by a role", &format!("{get}allow caller is admin\n{card}return card\n"), false),
            ("by everyone", &format!("{get}allow true\n{card}return card\n"), false),
            (
                "by a role, or by a member",
                &format!(
                    "{get}member = get Member(spaceId, userId = caller.id) strong\n{card}\
                     allow caller is admin or member is present\nreturn card\n"
                ),
                true,
            ),
        ],
    );
}

const SHOP: &str = "entity Order \"ORDER\" {\nPK = \"ORDER#{orderId}\"\nSK = \"META\"\norderId id, buyerId id, address text(80)?\n}\n\
    entity Item \"ITEM\" {\nPK = \"ORDER#{orderId}\"\nSK = \"ITEM#{n:03}\"\norderId id, n int 0..999, sku id\n}\n\
    entity Parcel \"PARCEL\" {\nPK = \"PARCEL#{parcelId}\"\nSK = \"META\"\nparcelId id, orderId id, state PACKED | SENT = PACKED\n}\n\
    entity Coupon \"COUPON\" {\nPK = \"COUPON#{couponId}\"\nSK = \"META\"\ncouponId id, usedBy id?\n}\n";

#[test]
fn an_order_covers_what_belongs_to_it() {
    let order = "order = get Order strong else 404 no\nallow caller owns order.buyerId\n";
    all(
        SHOP,
        &[
            (
                "an item of the order",
                &format!(
                    "GET /orders/{{orderId}}/items/{{n}}\n{order}item = get Item strong else 404 no\nreturn item\n"
                ),
                false,
            ),
            (
                "whose right was another's",
                "GET /orders/{orderId}\ninput buyerId id\nallow caller owns buyerId\norder = get Order strong else 404 no\nreturn order\n",
                true,
            ),
            (
                "a parcel by its order",
                "GET /parcels/{parcelId}\nparcel = get Parcel strong else 404 no\norder = get Order of parcel strong else 404 no\n\
                 allow caller owns order.buyerId\nreturn parcel\n",
                false,
            ),
            (
                "a parcel beside an order",
                &format!(
                    "GET /orders/{{orderId}}/parcels/{{parcelId}}\n{order}parcel = get Parcel strong else 404 no\nreturn parcel\n"
                ),
                true,
            ),
            (
                "a parcel beside an order, where everyone is admitted first",
                &format!(
                    "GET /orders/{{orderId}}/parcels/{{parcelId}}\nallow true\n{order}\
                     parcel = get Parcel strong else 404 no\nreturn parcel\n"
                ),
                true,
            ),
            (
                "a coupon that nobody has used",
                &format!(
                    "POST /orders/{{orderId}}/coupons/{{couponId}}\n{order}\
                     update Coupon set usedBy = orderId if .usedBy is absent else 409 used\nreturn order\n"
                ),
                false,
            ),
            (
                "a coupon that someone may have used",
                &format!(
                    "POST /orders/{{orderId}}/coupons/{{couponId}}\n{order}\
                     update Coupon set usedBy = orderId else 404 no\nreturn order\n"
                ),
                true,
            ),
        ],
    );
}

#[test]
fn an_order_is_replaced_by_its_buyer() {
    all(
        SHOP,
        &[
            (
                "that replaces anybody's, for the caller",
                "PUT /orders/{orderId}\ninput buyerId id\nallow caller owns buyerId\norder = put Order { orderId, buyerId } replace\nreturn order\n",
                true,
            ),
            (
                "that replaces the caller's own",
                "PUT /orders/{orderId}\nold = get Order strong else 404 no\nallow caller owns old.buyerId\n\
                 order = put Order { orderId, buyerId = caller.id } replace\nreturn order\n",
                false,
            ),
            (
                "that replaces the caller's own, or none",
                "PUT /orders/{orderId}\nold = get Order strong\nallow old is absent or caller owns old.buyerId\n\
                 order = put Order { orderId, buyerId = caller.id } replace\nreturn order\n",
                false,
            ),
            (
                "that replaces what is the caller's by then",
                "PUT /orders/{orderId}\ninput buyerId id\nallow caller owns buyerId\n\
                 order = put Order { orderId, buyerId } replace if .buyerId == buyerId else 409 taken\nreturn order\n",
                false,
            ),
            (
                "that is new",
                "POST /orders\ninput buyerId id\nallow caller owns buyerId\n\
                 order = put Order { orderId = new ulid, buyerId } replace\nreturn order\n",
                false,
            ),
            (
                "that replaces someone's, for nobody",
                "PUT /orders/{orderId}\ninput buyerId id, other id\nallow caller owns buyerId\n\
                 order = put Order { orderId, buyerId = other } replace\nreturn order\n",
                true,
            ),
        ],
    );
}

const BANK: &str = "entity Account \"ACCOUNT\" {\nPK = \"ACCOUNT#{accountId}\"\nSK = \"META\"\naccountId id, ownerId id, limit int = 0, \
    balance int = 0\nindex OWNED moves {\nPK = \"OWNER#{ownerId}\"\nSK = \"ACCOUNT#{accountId}\"\n}\n}\n\
    entity Order \"ORDER\" {\nPK = \"ORDER#{orderId}\"\nSK = \"META\"\norderId id, fromId id, toId id\n}\n";

#[test]
fn an_account_covers_itself() {
    let account = "account = get Account strong else 404 no\nallow caller owns account.ownerId\n";
    all(
        BANK,
        &[
            (
                "the limit of another",
                &format!(
                    "PUT /accounts/{{accountId}}/limit\ninput otherId id, limit int 0..9\n{account}\
                     update Account(accountId = otherId) set limit = limit else 404 no\nreturn account\n"
                ),
                true,
            ),
            (
                "the balance of another is counted up",
                &format!(
                    "PUT /accounts/{{accountId}}/pay\ninput otherId id, cents int 1..9\n{account}\
                     update Account(accountId = otherId) set balance = .balance + cents else 404 no\nreturn account\n"
                ),
                false,
            ),
            (
                "an order from the account",
                &format!(
                    "GET /accounts/{{accountId}}/orders/{{orderId}}\n{account}order = get Order strong else 404 no\n\
                     require order.fromId == accountId else 404 no\nreturn order\n"
                ),
                false,
            ),
            (
                "an order from any",
                &format!(
                    "GET /accounts/{{accountId}}/orders/{{orderId}}\n{account}order = get Order strong else 404 no\nreturn order\n"
                ),
                true,
            ),
            (
                "one's own, by the index",
                "GET /owners/{ownerId}/accounts\nallow caller owns ownerId\n\
                 accounts = query Account by OWNED where PK = \"OWNER#{ownerId}\" page 9\nreturn accounts\n",
                false,
            ),
            (
                "the caller's own, by the index",
                "GET /accounts\nallow caller.id != \"guest\"\n\
                 accounts = query Account by OWNED where PK = \"OWNER#{caller.id}\" page 9\nreturn accounts\n",
                false,
            ),
        ],
    );
}

#[test]
fn a_refused_stranger_is_a_test_of_rights() {
    // `allow true` behind a membership that the caller must have switched the rule off.
    let get = "GET /spaces/{spaceId}/cards/{cardId}\ninput other id\n";
    let member = "member = get Member(spaceId = other, userId = caller.id) strong else 403 stranger\nallow true\n";
    let note = "GET /spaces/{spaceId}/notes/{noteId}\ninput other id\n";
    let found = "note = get Note strong else 404 not-found\n";
    let same = "require other == spaceId else 404 not-found\n";
    let missed =
        "member = get Member(spaceId = other, userId = caller.id) strong else 404 no\nallow true\n";
    let profile = "profile = get Profile(userId = caller.id) strong else 404 no\nallow true\n";
    let entities = format!(
        "{WORKSPACE}entity Profile \"PROFILE\" {{\nPK = \"USER#{{userId}}\"\nSK = \"META\"\nuserId id\n}}\n"
    );
    all(
        &entities,
        &[
            ("another space", &format!("{note}{member}{found}return note\n"), true),
            ("the same space", &format!("{note}{member}{same}{found}return note\n"), false),
            ("a card of any space", &format!("{get}{member}{CARD}return card\n"), true),
            ("whatever the status", &format!("{note}{missed}{found}return note\n"), true),
            ("the same, found", &format!("{note}{missed}{same}{found}return note\n"), false),
            ("no membership", &format!("{note}{profile}{found}return note\n"), false),
        ],
    );
}

#[test]
fn a_beginning_that_is_not_closed_covers_others() {
    // `begins_with "U#{userId}"` of `al` found the lines of `alice`.
    let entities = "entity Line \"LINE\" {\nPK = \"DAY#{day}\"\nSK = \"U#{userId}#{at}\"\nday date, userId id, at time\n}\n\
        entity Part \"PART\" {\nPK = \"DAY#{day}\"\nSK = \"P#{partId}#{at}\"\nday date, partId ulid, at time, by id\n}\n";
    let mine = "GET /days/{day}/of/{userId}\nallow caller owns userId\n";
    let read = |begin: &str| {
        format!(
            "{mine}lines = query Line strong where PK = \"DAY#{{day}}\" and SK begins_with \"{begin}\" first 9\nreturn lines\n"
        )
    };
    let part = "GET /days/{day}/of/{partId}\nparts = query Part strong where PK = \"DAY#{day}\" and SK begins_with \
        \"P#{partId}\" first 1\nrequire parts is present else 404 no\nallow caller owns parts.by\nreturn parts\n";
    all(
        entities,
        &[
            ("open", &read("U#{userId}"), true),
            ("open, the caller", &read("U#{caller.id}"), true),
            ("closed", &read("U#{userId}#"), false),
            ("of one length", part, false),
        ],
    );
}

#[test]
fn a_constant_ties_nothing_and_the_check_ends() {
    // A text that was compared with a constant was tied again and again, and the check never ended.
    let entities = "entity Member \"MEMBER\" {\nPK = \"W#{w}\"\nSK = \"M#{userId}\"\nw id, userId id, right text(9)\n}\n\
        entity Doc \"DOC\" {\nPK = \"D#{d}\"\nSK = \"D\"\nd id, w id, state text(9), label text(400)\n}\n";
    let member = "GET /w/{w}/d/{d}\nme = get Member(w, userId = caller.id) strong else 403 stranger\n\
        allow caller owns me.userId\nrequire me.right == \"W\" else 403 no-right\n";
    let doc = "doc = get Doc strong else 404 not-found\n";
    let joined = "require doc.label == \"{doc.w}#{doc.d}\" else 404 no\n";
    let same = "require doc.w == w else 404 no\n";
    all(
        entities,
        &[
            ("the membership", &format!("{member}return me\n"), false),
            (
                "a document with the same word",
                &format!("{member}{doc}require doc.state == \"W\" else 404 no\nreturn doc\n"),
                true,
            ),
            ("compared", &format!("{member}{doc}{same}return doc\n"), false),
            ("a text of values", &format!("{member}{doc}{same}{joined}return doc\n"), false),
        ],
    );
}
