//! Documents for which the check once said "no mistakes" while the service did something else than they say.

use latchkey_language::{Diagnostic, Level, Rule};
use latchkey_model::check;

/// What is said about a document: the rule and the message of each mistake.
fn told(text: &str) -> Vec<String> {
    let found = check(text).diagnostics;
    let errors = found.iter().filter(|one| counts(one));
    errors.map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

/// Warnings have tests of their own, but for what nothing uses.
fn counts(found: &Diagnostic) -> bool {
    found.level == Level::Error || found.rule == Rule::Unused
}

const NOTHING: [&str; 0] = [];

/// A shop with one more attribute of its product, which `P-1` puts and shows.
fn shop(kind: &str, attribute: &str) -> String {
    format!(
        "```contract\nsystem shop\ntable Shop {{ type {kind} }}\nrole seller\n\n\
         entity Product \"PRODUCT\" {{\nPK = \"PRODUCT#{{sku}}\"\nSK = \"META\"\nsku id\nshelf id?\n{attribute} id\n\
         index GSI1 {{\nPK = \"SHELF#{{shelf}}\"\nSK = \"PRODUCT#{{sku}}\"\n}}\n}}\n\n\
         contract P-1 \"Add a product\" {{\nPOST /products/{{sku}}\ninput given id, shelf id?\nallow caller is seller\n\
         product = put Product {{ sku, shelf, {attribute} = given }} if absent else 409 exists\nreturn 201 product\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\n\
         contract P-2 \"List a shelf\" {{\nGET /shelves/{{shelf}}\nallow caller is seller\n\
         products = query Product by GSI1 where PK = \"SHELF#{{shelf}}\" and SK begins_with \"PRODUCT#\" page 10\n\
         return products\nconsistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n"
    )
}

#[test]
fn names_that_the_table_itself_uses_are_refused() {
    // An attribute `PK` replaced the item's key: a caller chose which item was overwritten.
    let reserved = [
        ("PK", "the partition key of every item"),
        ("SK", "the sort key of every item"),
        ("GSI1PK", "the partition key of index `GSI1`"),
        ("GSI1SK", "the sort key of index `GSI1`"),
    ];
    for (name, holds) in reserved {
        let message = format!("name: `{name}` is reserved: it holds {holds}");
        assert_eq!(told(&shop("kind", name)), [message.as_str()], "as an attribute");
        assert_eq!(told(&shop(name, "maker")), [message.as_str()], "as the type");
    }
    let expires = "name: `expires` is reserved: it holds the second from which on DynamoDB may remove the item (TTL)";
    assert_eq!(told(&shop("expires", "maker")), [expires], "as the type");
    let twice = shop("kind", "maker").replace("maker id", "maker id, expires id?");
    assert_eq!(told(&twice), [expires], "as an attribute");
    let kind = "name: `kind` is reserved: it holds the type of every item";
    assert_eq!(told(&shop("kind", "kind")), [kind]);
    // Those of an index that no entity has are free.
    for name in ["maker", "GSI2PK", "pk", "expiresAt"] {
        assert_eq!(told(&shop("kind", name)), NOTHING, "{name}");
    }
}

/// The shop with a contract of these lines.
fn shop_with(lines: &str) -> String {
    let contract = format!(
        "```contract\ncontract P-3 \"Try\" {{\nGET /products/{{sku}}/try\n{lines}\n\
         consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n"
    );
    format!("{}{contract}", shop("kind", "maker"))
}

const PRODUCT: &str = "allow caller is seller\nproduct = get Product strong else 404 not-found\n";

fn shelf(name: &str, limit: &str) -> String {
    format!(
        "{name} = query Product by GSI1 where PK = \"SHELF#{{sku}}\" and SK begins_with \"PRODUCT#\" {limit}\n"
    )
}

#[test]
fn a_with_takes_values_and_neither_items_nor_pages() {
    // Both were dropped without a word.
    let page = shelf("page", "page 5");
    let some = shelf("some", "first 3");
    let cases = [
        ("return page with { product }", "an item of `Product`"),
        ("return page with { one = { two = product } }", "an item of `Product`"),
        ("return product with { items = page }", "a page of `Product`"),
        ("return product with { shelf = { some } }", "a page of `Product`"),
    ];
    for (answer, what) in cases {
        let told = told(&shop_with(&format!("{PRODUCT}{page}{some}{answer}")));
        let said = format!("type: a `with` shows values, and this is {what}");
        assert!(told.contains(&said), "{answer}: {told:?}");
    }
    let problem = format!(
        "{PRODUCT}require product.sku != \"x\" else 409 no with {{ product }}\nreturn product"
    );
    let said = "type: a `with` shows values, and this is an item of `Product`";
    assert_eq!(told(&shop_with(&problem)), [said]);
    let shown =
        "return product { sku } with { shelf = { some = count(some), maker = product.maker } }";
    assert_eq!(told(&shop_with(&format!("{PRODUCT}{some}{shown}"))), NOTHING);
    // A list without a cursor is shown whole.
    for listed in ["return product { sku } with { some }", "return with { first = some }"] {
        assert_eq!(told(&shop_with(&format!("{PRODUCT}{some}{listed}"))), NOTHING, "{listed}");
    }
}

#[test]
fn an_item_stands_for_no_value() {
    // A comparison of items was false, and an item in a text nothing.
    let cases = [
        "require product == product else 409 no\nreturn product",
        "require product in (product) else 409 no\nreturn product",
        "require product.sku == \"a{product}\" else 409 no\nreturn product",
        "require product.sku != \"x\" else 409 no \"it is {product}\"\nreturn product",
    ];
    for lines in cases {
        let told = told(&shop_with(&format!("{PRODUCT}{lines}")));
        let said = "type: this is an item of `Product`, and ";
        assert!(told.iter().any(|one| one.starts_with(said)), "{lines}: {told:?}");
    }
}

#[test]
fn a_list_or_a_map_stands_in_no_key_and_no_text() {
    // They were left out of the text: all items had one key.
    for kind in ["list", "map(100, 2)"] {
        let document = shop("kind", "maker").replace("maker id\n", &format!("maker {kind}\n"));
        let document = document.replace("given id", &format!("given {kind}"));
        assert_eq!(told(&document), NOTHING, "{kind}");
        let said = format!("type: `maker` is a {kind}, which cannot stand in a key");
        let keyed = document.replace("SK = \"META\"", "SK = \"META#{maker}\"");
        assert!(told(&keyed).contains(&said), "{kind}: {:?}", told(&keyed));
    }
}

#[test]
fn a_call_reads_one_page() {
    // The cursor of the second was always refused, for the first was asked to go on with it.
    let (one, two) = (shelf("one", "page 5 max 10"), shelf("two", "page 5 max 10"));
    let shown = "return one with { all = count(two) }";
    let second = "name: a second page in one call";
    assert_eq!(told(&shop_with(&format!("{PRODUCT}{one}{two}{shown}"))), [second]);
    let either = |two: &str| {
        format!("{PRODUCT}when product.maker == \"x\" {{\n{one}return one\n}}\n{two}return two")
    };
    assert_eq!(told(&shop_with(&either(&two))), NOTHING);
    let behind = format!("{PRODUCT}when product.maker == \"x\" {{\n{one}}}\n{two}return two");
    assert!(told(&shop_with(&behind)).contains(&second.to_owned()));
    let differ = "name: the pages of a contract differ in their size";
    for other in ["page 5 max 20", "page 6 max 10", "page 5 max 10 as limit"] {
        assert_eq!(told(&shop_with(&either(&shelf("two", other)))), [differ], "{other}");
    }
}

/// A booking system whose `B-2` books a room after reading `read`, on the terms of `test`, with one leg more.
fn bookings(guarded: &str, read: &str, test: &str, leg: &str) -> String {
    format!(
        "```contract\nsystem bookings\ntable Bookings {{ type kind }}\n\n\
         entity Diary \"DIARY\" {{\nPK = \"ROOM#{{roomId}}\"\nSK = \"DIARY\"\nroomId id, revision counter\n}}\n\n\
         entity Booking \"BOOKING\" {guarded} {{\nPK = \"ROOM#{{roomId}}\"\nSK = \"BOOKING#{{startAt}}\"\n\
         roomId id, startAt time, endAt time, guests int 1..10, version counter\n}}\n\n\
         contract B-1 \"Open a room\" {{\nPOST /rooms\ninput roomId id\nallow caller owns roomId\n\
         diary = put Diary {{ roomId }} if absent else 409 exists\nreturn 201 diary\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\n\
         contract B-2 \"Book a room\" {{\nPOST /rooms/{{roomId}}/bookings\ninput startAt time, endAt time, guests int 1..10\n\
         allow caller owns roomId\nrequire startAt < endAt else 400 invalid\n\
         {read}\nrequire {test} else 409 taken\ntransact {{\n\
         booking = put Booking {{ roomId, startAt, endAt, guests }} if absent else retry\n{leg}\n}}\nreturn 201 booking\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
    )
}

const DIARY: &str = "diary = get Diary strong else 404 not-found\n";
const MOVED: &str = "update diary set revision = .revision + 1 if unchanged else retry";

fn booked(limit: &str) -> String {
    format!(
        "found = query Booking strong where PK = \"ROOM#{{roomId}}\" and SK begins_with \"BOOKING#\" order descending {limit}"
    )
}

fn rules(text: &str) -> Vec<&'static str> {
    let found = check(text).diagnostics;
    let errors = found.iter().filter(|one| counts(one));
    let mut rules: Vec<_> = errors.map(|one| one.rule.slug()).collect();
    rules.dedup();
    rules
}

#[test]
fn a_check_of_the_row_a_query_found_does_not_hold_the_range() {
    // Twelve overlapping bookings went through: the row was unchanged, and another had come behind it.
    let last = booked("first 1 else 404 none");
    let test = "found.endAt <= startAt";
    let checked = "check found if unchanged else retry";
    // (It may also be the row that is put: `transaction`.)
    assert!(rules(&bookings("", &last, test, checked)).contains(&"unpinned"));
    let guarded = "guarded by Diary";
    let leg = format!("{checked}\nupdate Diary set revision = .revision + 1 else 404 not-found");
    assert!(rules(&bookings(guarded, &last, test, &leg)).contains(&"unpinned"));
    let text = bookings(guarded, &format!("{DIARY}{last}"), test, MOVED);
    assert_eq!(rules(&text), NOTHING);
    let loose = bookings("", &last, test, checked);
    let help = check(&loose).diagnostics.into_iter().find_map(|one| one.help).unwrap();
    assert!(help.contains("guarded by") && !help.contains("check found"), "{help}");
}

#[test]
fn a_count_and_a_sum_are_facts_about_a_range() {
    // A limit of 3 let 6 through.
    let some = booked("first 30");
    let (guarded, held) = ("guarded by Diary", format!("{DIARY}{some}"));
    for test in ["count(found) < 3", "sum(found.guests) + guests <= 20"] {
        assert_eq!(rules(&bookings("", &some, test, "")), ["unpinned"], "{test}");
        assert_eq!(rules(&bookings(guarded, &held, test, MOVED)), NOTHING, "{test}");
    }
    let named = format!("{some}\nmany = count(found)");
    assert_eq!(rules(&bookings("", &named, "many < 3", "")), ["unpinned"], "by a name");
}

/// A bank that spreads what an account has over shards.
#[test]
fn a_sum_over_shards_is_a_fact_about_all_of_them() {
    let bank = "```contract\nsystem bank\ntable Bank { type kind }\n\n\
        entity Share \"SHARE\" {\nPK = \"ACCOUNT#{accountId}#{shard:02}\"\nSK = \"SHARE\"\n\
        accountId id, shard int 0..7, cents int 0.. = 0\n}\n\n\
        entity Loan \"LOAN\" {\nPK = \"ACCOUNT#{accountId}\"\nSK = \"LOAN#{loanId}\"\naccountId id, loanId id\n}\n\n\
        contract K-1 \"Pay in\" {\nPOST /accounts/{accountId}/shares/{shard}\ninput cents int 1..\nallow caller owns accountId\n\
        share = upsert Share add cents = cents\nreturn share\nconsistency strong\nexpect 1 item\nrate 1/s\n}\n\n\
        contract K-2 \"Lend\" {\nPOST /accounts/{accountId}/loans\ninput loanId id\nallow caller owns accountId\n\
        all = get Share shard in 0..7 strong\nrequire sum(all.cents) > 1000 else 409 poor\n\
        loan = put Loan { accountId, loanId } if absent else 409 exists\nreturn loan\n\
        consistency strong\nexpect 1 item\nrate 1/s\n}\n```\n";
    assert_eq!(rules(bank), ["unpinned"]);
}

#[test]
fn a_mistake_is_told_once_and_nothing_false_with_it() {
    // A path input that is no key attribute was told to be declared twice, and its type guessed.
    let text = shop_with(PRODUCT).replace("/products/{sku}/try", "/products/{sku}/{name-of}");
    let text = text.replace(
        PRODUCT,
        &format!(
            "input colour text(9)\n{PRODUCT}require colour == \"red\" else 409 no\nreturn product"
        ),
    );
    let path =
        |name: &str| format!("name: `{name}` in the path is not an attribute of a key or an index");
    assert_eq!(told(&text), [path("name-of")]);
    assert_eq!(told(&text.replace("{name-of}", "{colour}")), [path("colour")]);
    // An index may have dashes.
    let index = shop("kind", "maker").replace("GSI1", "GSI-1");
    assert_eq!(told(&index), NOTHING);
    // A word of an enum may have dashes; where none is expected, a dash may be meant to subtract.
    let words = shop("kind", "maker").replace("maker id\n", "maker new | in-stock = in-stock\n");
    let words = words.replace("given id", "given Product.maker");
    assert_eq!(told(&words), NOTHING);
    let joined = format!("{PRODUCT}require count-limit > 0 else 409 no\nreturn product");
    let found = check(&shop_with(&joined)).diagnostics;
    let first = found.first().unwrap();
    assert_eq!(first.message, "there is no name `count-limit`");
    assert_eq!(first.help.as_deref(), Some("write `count - limit` to subtract"));
    // A bound that was not given is not told as a number.
    let unbound = shop("kind", "maker")
        .replace("maker id\n", "maker text\n")
        .replace("given id", "given text(80)");
    assert_eq!(told(&unbound), ["type: `text` takes one whole number in parentheses"]);
    let wide = shop("kind", "maker")
        .replace("maker id\n", "maker int\n")
        .replace("given id", "given text");
    assert!(!format!("{:?}", check(&wide).diagnostics).contains("18446744073709551615"));
}

#[test]
fn what_is_told_to_be_strong_can_be() {
    // A query by an index was told to be `strong`, which is an error.
    let decided = format!(
        "allow caller is seller\n{}require found.maker == \"x\" else 409 no\nreturn found",
        shelf("found", "first 1 else 404 none")
    );
    let found = check(&shop_with(&decided)).diagnostics;
    let [one] = found.as_slice() else { panic!("{found:?}") };
    let help = one.help.as_deref().unwrap();
    assert_eq!(
        (one.rule.slug(), help.contains("`get` the item it found, `strong`")),
        ("eventual-decision", true)
    );
}

/// The shop with a contract that changes a product it has not read.
fn changed(write: &str) -> String {
    let contract = format!(
        "```contract\ncontract P-3 \"Move\" {{\nPATCH /products/{{sku}}\ninput shelf id?\nallow caller is seller\n\
         product = update Product {write} else 404 not-found\nreturn product\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
    );
    format!("{}{contract}", shop("kind", "maker").replace("index GSI1 {", "index GSI1 moves {"))
}

#[test]
fn a_lone_part_of_an_index_needs_no_read() {
    assert_eq!(told(&changed("set shelf ?= shelf")), NOTHING);
    assert_eq!(told(&changed("set shelf = shelf")), NOTHING);
    let removed = changed("remove shelf").replace(
        "input shelf id?\nallow caller is seller\nproduct = update",
        "allow caller is seller\nproduct = update",
    );
    assert_eq!(told(&removed), NOTHING);
    // With a second part that is not known, the place in the index is not known either.
    let two =
        |text: String| text.replace("SK = \"PRODUCT#{sku}\"", "SK = \"PRODUCT#{maker}#{sku}\"");
    let unknown = "type: this moves the item in `GSI1`, and `shelf` is not known";
    assert_eq!(told(&two(changed("set shelf ?= shelf"))), [unknown]);
    assert_eq!(told(&two(removed)), NOTHING);
}

#[test]
fn a_document_without_a_contract_is_none() {
    // It was "no mistakes", with a block marked `contracts` or with none at all.
    for text in [
        "",
        "# Doors\n",
        "```json\n{}\n```\n",
        "```contract\nsystem abc\ntable Abc { type kind }\n```\n",
    ] {
        assert_eq!(told(text), ["name: the document has no contract"], "{text}");
    }
    let near = shop("kind", "maker").replace("```contract", "```contracts");
    assert_eq!(told(&near), ["syntax: a block that is not read"]);
    let help = check(&near).diagnostics.into_iter().find_map(|one| one.help);
    assert_eq!(help.as_deref(), Some("did you mean `contract`?"));
    let beside = format!("{}```Examples\n```\n", shop("kind", "maker"));
    assert_eq!(told(&beside), ["syntax: a block that is not read"]);
}

#[test]
fn a_word_of_the_language_is_no_name() {
    // `require now < 3` asked for the input, and `allow true` for an input of the caller's.
    for word in ["now", "true", "false", "caller", "new", "unchanged"] {
        let message = format!("name: `{word}` is a word of the language");
        let input = shop_with(&format!("input {word} int\n{PRODUCT}return product"));
        assert!(told(&input).contains(&message), "an input `{word}`: {:?}", told(&input));
        let named = shop_with(&format!("{PRODUCT}{word} = 3\nreturn product"));
        assert!(told(&named).contains(&message), "a name `{word}`: {:?}", told(&named));
    }
    // What is a word in a worker alone is a name elsewhere.
    for word in ["message", "sent", "failure"] {
        let text = format!("input {word} text(9)?\n{PRODUCT}return product with {{ {word} }}");
        assert_eq!(told(&shop_with(&text)), NOTHING, "{word}");
    }
}

#[test]
fn a_test_of_a_secret_is_secret() {
    // `with { less = account.pin < guess }` told a secret, one call after another.
    let bank = |shown: &str| {
        format!(
            "```contract\nsystem bank\ntable Bank {{ type kind }}\n\
             entity Account \"ACCOUNT\" {{\nPK = \"ACCOUNT#{{accountId}}\"\nSK = \"META\"\naccountId id\n\
             pin int 0..9999 secret\n}}\n\
             contract B-0 \"Open\" {{\nPOST /accounts/{{accountId}}\ninput pin int 0..9999\nallow caller owns accountId\n\
             account = put Account {{ accountId, pin }} if absent else 409 there\nreturn 201 account\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
             contract B-1 \"Look\" {{\nGET /accounts/{{accountId}}\ninput guess int 0..9999\nallow caller owns accountId\n\
             account = get Account strong else 404 not-found\n{shown}\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    };
    let secret = ["type: this is secret and never shown"];
    for test in [
        "account.pin < guess",
        "account.pin == guess",
        "not (account.pin == guess)",
        "account.pin in (1, guess)",
        "account.pin between 0 and guess",
        "account.pin > 0 and guess > 0",
    ] {
        let shown = format!("return account with {{ less = {test} }}");
        assert_eq!(told(&bank(&shown)), secret, "{test}");
        let named = format!("less = {test}\nreturn account with {{ less }}");
        assert_eq!(told(&bank(&named)), secret, "{test}, by a name");
    }
    // It decides, and is not shown.
    let decides = "require account.pin == guess else 403 wrong-pin\nreturn account with { guess }";
    assert_eq!(told(&bank(decides)), NOTHING);
}

#[test]
fn a_sum_that_ignores_a_default_is_refused() {
    // An `upsert … add` began at 0, though the attribute was declared to begin at 10.
    let shop = |default: &str| {
        format!(
            "```contract\nsystem shop\ntable Shop {{ type kind }}\n\
             entity Tally \"TALLY\" {{\nPK = \"SHOP#{{shopId}}\"\nSK = \"TALLY\"\nshopId id\npoints int {default}\n}}\n\
             contract S-1 \"Score\" {{\nPOST /shops/{{shopId}}/score\nallow caller owns shopId\n\
             tally = upsert Tally add points = 1\nreturn tally\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    };
    let message = "type: an item that this makes would begin `points` at 0, not at its default";
    assert_eq!(told(&shop("= 10")), [message]);
    assert_eq!(told(&shop("= 0")), NOTHING);
    assert_eq!(told(&shop("")), NOTHING);
}

#[test]
fn a_transaction_has_room_for_what_the_runtime_adds() {
    // A hundred legs, waived, and the record of an `Idempotency-Key`: no store takes 101.
    let shop = |method: &str, legs: usize| {
        let puts: String =
            (0..legs).map(|at| format!("put Line {{ shopId, n = {at} }} replace\n")).collect();
        format!(
            "```contract\nsystem shop\ntable Shop {{ type kind }}\n\
             entity Line \"LINE\" {{\nPK = \"SHOP#{{shopId}}\"\nSK = \"LINE#{{n:03}}\"\nshopId id, n int 0..999\n}}\n\
             contract S-1 \"Fill\" {{\n{method} /shops/{{shopId}}\nallow caller owns shopId\n\
             waive transaction \"all at once\"\ntransact {{\n{puts}}}\n\
             line = get Line(n = 0) strong else 404 not-found\nreturn line\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    };
    assert_eq!(told(&shop("PUT", 100)), NOTHING);
    assert_eq!(told(&shop("POST", 99)), NOTHING);
    let told_of = |method: &str, legs: usize| told(&shop(method, legs)).join("\n");
    let own = "transaction: 100 legs and one that Latchkey adds; a store takes 100";
    assert!(told_of("POST", 100).contains(own), "{}", told_of("POST", 100));
    assert!(told_of("PUT", 101).contains("transaction: 101 legs"), "{}", told_of("PUT", 101));
}

// A transaction of more than 4 MB was answered 400 by the store, and the check said nothing.
#[test]
fn a_transaction_whose_items_are_too_large_together_is_refused() {
    let book = |most: u32, waiver: &str| {
        let text = format!(
            "```contract\nsystem books\ntable Books {{ type kind }}\n\nentity Page \"PAGE\" {{\nPK = \"BOOK#{{bookId}}\"\n\
             SK = \"PAGE#{{n:02}}\"\nbookId id, n int 0..99, text text(300000)\n}}\n\n\
             contract B-1 \"Write\" {{\nPOST /books/{{bookId}}\n\
             input pages list(1..{most}) of {{ n int 0..99, text text(300000) }} unique by n\nallow true\n{waiver}\
             transact {{\neach page in pages {{\n\
             put Page {{ bookId, n = page.n, text = page.text }} if absent else 409 there\n}}\n}}\nreturn 204\n\
             consistency strong\nexpect 0 items\nrate 1/d\n}}\n```\n"
        );
        let all = told(&text);
        all.into_iter().filter(|one| !one.starts_with("unused")).collect::<Vec<_>>()
    };
    assert_eq!(book(13, ""), NOTHING);
    let refused = book(14, "");
    let begins = "transaction: the items of this transaction can have 42";
    assert!(refused.len() == 1 && refused.iter().all(|one| one.starts_with(begins)), "{refused:?}");
    assert_eq!(book(14, "waive transaction \"pages are short\"\n"), NOTHING);
}

// `?=` erased the stored members that were not sent; and two messages spoke of what was not there.
#[test]
fn what_is_never_absent_counted_or_left_is_told_so() {
    let text = |statement: &str| {
        format!(
            "```contract\nsystem s\ntable T {{ type kind }}\nentity E \"E\" {{\nPK = \"E#{{e}}\"\nSK = \"META\"\ne id\n\
             log list(0..9) of text(9)\nrec {{ a text(9)?, in {{ c text(9)? }} }}?\n}}\n\
             contract C-1 \"Change\" {{\nPUT /e/{{e}}\ninput c text(9)?, log E.log, rec E.rec\nallow true\n{statement}\n\
             return 204\nconsistency strong\nexpect 0 items\nrate 1/s\n}}\n```\n"
        )
    };
    let said = |statement: &str| {
        let found = check(&text(statement)).diagnostics.into_iter();
        let found = found.filter(|one| one.rule == Rule::Type);
        let said: Vec<(String, bool)> = found.map(|one| (one.message, one.why.is_some())).collect();
        said
    };
    let never = "a record in braces is never absent, so `?=` leaves nothing as it is";
    for set in ["rec.in ?= { c }", "rec ?= { in = { c } }"] {
        let said = said(&format!("update E set {set} else 409 no"));
        assert!(said.iter().any(|(message, _)| message == never), "{set}: {said:?}");
    }
    let counted = said("update E set log = log if count(.log) < 5 else 409 full");
    assert!(
        counted.iter().any(|(message, _)| message == "a condition does not count what is stored")
    );
    let named = said("x = delete E");
    assert_eq!(named, [("`delete` leaves nothing to name".to_owned(), false)]);
}
