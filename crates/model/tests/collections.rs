//! Queries of several entities: what they may find, what can be taken of it, and what may rest on that.

use latchkey_language::{Level, Rule};
use latchkey_model::check;

const FACTS: &str = "consistency strong\nexpect 0.. items\nrate 1/s\n";
const SHOWN: &str = "consistency eventual\nexpect 0.. items\nrate 1/s\n";
const NONE: [&str; 0] = [];

/// Customers with orders and invoices in their partition, and a contract on them.
fn found(steps: &str) -> Vec<(Rule, String)> {
    let shown = if steps.contains("strong") { FACTS } else { SHOWN };
    let text = format!(
        "```contract\nsystem shop\ntable Shop {{ type kind }}\nrole clerk\n\
         entity Desk \"DESK\" {{\nPK = \"CUSTOMER#{{customerId}}\"\nSK = \"DESK\"\ncustomerId id\nrevision counter\n}}\n\
         entity Customer \"CUSTOMER\" {{\nPK = \"CUSTOMER#{{customerId}}\"\nSK = \"META\"\ncustomerId id\n\
         ownerId id\nnote text(9)? secret\nversion counter\n\
         index ByOwner {{ PK = \"OWNER#{{ownerId}}\" SK = \"CUSTOMER#{{customerId}}\" }}\n}}\n\
         entity Order \"ORDER\" guarded by Desk {{\nPK = \"CUSTOMER#{{customerId}}\"\nSK = \"ORDER#{{orderId}}\"\n\
         customerId id\norderId id\ncents int 1..\nownerId id\n\
         index ByOwner {{ PK = \"OWNER#{{ownerId}}\" SK = \"ORDER#{{orderId}}\" }}\n}}\n\
         entity Refund \"REFUND\" guarded by Desk {{\nPK = \"CUSTOMER#{{customerId}}\"\nSK = \"ORDER#{{orderId}}#REFUND\"\n\
         customerId id\norderId id\ncents int 1..\n}}\n\
         contract A-0 \"Open\" {{\nPOST /customers/{{customerId}}\ninput note text(9)?\nallow caller is clerk\n\
         transact {{\ndesk = put Desk {{ customerId }} if absent else 409 there\n\
         put Customer {{ customerId, ownerId = caller.id, note }} if absent else 409 there\n}}\n\
         return 201 desk\n{FACTS}}}\n\
         contract A-1 \"Order\" {{\nPOST /customers/{{customerId}}/orders\ninput orderId id, cents Order.cents\n\
         allow caller is clerk\ndesk = get Desk strong else 404 no-desk\ntransact {{\n\
         order = put Order {{ customerId, orderId, cents, ownerId = caller.id }} if absent else 409 there\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 order\n{FACTS}}}\n\
         contract A-2 \"Refund\" {{\nPOST /customers/{{customerId}}/refunds\ninput orderId id, cents Order.cents\n\
         allow caller is clerk\ndesk = get Desk strong else 404 no-desk\ntransact {{\n\
         refund = put Refund {{ customerId, orderId, cents }} if absent else 409 there\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 refund\n{FACTS}}}\n\
         contract A-3 \"Hand over\" {{\nPOST /customers/{{customerId}}/owner\ninput to id\nallow caller is clerk\n\
         customer = get Customer strong else 404 not-found\n\
         waive moving-index-key \"few\"\n\
         update customer set note = \"x\", version = .version + 1 if unchanged and .ownerId != to else retry\n\
         return customer\n{FACTS}}}\n\
         contract T \"Trap\" {{\n{steps}\n{shown}}}\n```\n"
    );
    let all = check(&text).diagnostics;
    let of_trap = |rule: Rule| !matches!(rule, Rule::Waive | Rule::Unused);
    let told = all.iter().filter(|one| of_trap(one.rule));
    told.map(|one| (one.rule, one.message.clone())).collect()
}

#[track_caller]
fn is(steps: &str, expected: &[&str]) {
    let all = found(steps);
    let rules: Vec<&str> = all.iter().map(|(rule, _)| rule.slug()).collect();
    assert_eq!(rules, expected, "{steps}\n{all:#?}");
}

#[track_caller]
fn says(steps: &str, message: &str) {
    let all = found(steps);
    assert!(all.iter().any(|(_, told)| told == message), "{steps}\n{all:#?}");
}

const GET: &str = "GET /customers/{customerId}/all\nallow caller is clerk\n";
const WHOLE: &str =
    "all = query Desk, Customer, Order, Refund where PK = \"CUSTOMER#{customerId}\"";

#[test]
fn a_query_lists_every_entity_it_can_meet() {
    is(&format!("{GET}{WHOLE} page 25\nreturn all"), &NONE);
    let some =
        "all = query Customer, Order where PK = \"CUSTOMER#{customerId}\" page 25\nreturn all";
    is(&format!("{GET}{some}"), &["foreign-items", "foreign-items"]);
    let missing = "all = query Customer, Order, Refund\nwhere PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\"\n\
                   page 25\nreturn all";
    is(&format!("{GET}{missing}"), &["foreign-items"]);
    let own = "all = query Order, Refund\nwhere PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\"\npage 25\n\
               return all";
    is(&format!("{GET}{own}"), &NONE);
    let by =
        "all = query Customer, Order by ByOwner where PK = \"OWNER#{ownerId}\" page 25\nreturn all";
    is(&format!("GET /owners/{{ownerId}}/all\nallow caller is clerk\n{by}"), &NONE);
    let other = "all = query Customer, Refund by ByOwner where PK = \"OWNER#{ownerId}\" page 25\nreturn all";
    is(&format!("GET /owners/{{ownerId}}/all\nallow caller is clerk\n{other}"), &["name"]);
}

#[test]
fn the_one_item_is_found_if_it_is_there() {
    let the = |query: &str, entity: &str| {
        format!(
            "{GET}all = query Desk, Customer, Order, Refund {query}\nx = the {entity} in all else 404 none\nreturn x"
        )
    };
    let part = "where PK = \"CUSTOMER#{customerId}\"";
    is(&the(&format!("{part} first 9"), "Desk"), &NONE);
    let behind = "the `Customer` may come behind more items than `all` reads";
    says(&the(&format!("{part} first 9"), "Customer"), behind);
    says(&the(&format!("{part} order descending first 9"), "Customer"), behind);
    let several = "more than one `Order` may be in `all`";
    says(&the(&format!("{part} first 9"), "Order"), several);
    // The order is the caller's choice.
    let turned = "input newest bool = true\nall = query Desk, Customer, Order, Refund\nwhere PK = \"CUSTOMER#{customerId}\"\n\
                  order descending when newest\nfirst 9\nx = the Desk in all else 404 none\nreturn x";
    is(&format!("{GET}{turned}"), &["type"]);
    // The range may begin behind the item.
    let from = "input from text(9) like \"[A-Z]{1,9}\"\nall = query Desk, Customer, Order, Refund\n\
                where PK = \"CUSTOMER#{customerId}\" and SK >= \"{from}\"\nfirst 9\nx = the Desk in all else 404 none\nreturn x";
    says(&format!("{GET}{from}"), "the range of `all` may leave the `Desk` out");
    let fixed = "all = query Desk, Customer, Order, Refund\nwhere PK = \"CUSTOMER#{customerId}\" and SK >= \"D\"\nfirst 9\n\
                 x = the Desk in all else 404 none\nreturn x";
    is(&format!("{GET}{fixed}"), &["foreign-items"; 0]);
    // An index may hold several items under one key.
    let by = "GET /owners/{ownerId}/all\nallow caller is clerk\nall = query Customer, Order by ByOwner\n\
              where PK = \"OWNER#{ownerId}\"\nfirst 9\nx = the Customer in all else 404 none\nreturn x";
    says(by, "more than one `Customer` may be in `all`");
}

#[test]
fn what_is_on_the_first_page_alone_decides_nothing() {
    let paged = format!("{WHOLE} page 25\ndesk = the Desk in all else 404 none\n");
    is(&format!("{GET}{paged}return desk with {{ orders = Order in all }}"), &NONE);
    let only = "`desk` is on the first page only: nothing can rest on it";
    for use_of_it in [
        "require desk.revision > 3 else 409 new\nreturn desk",
        "when desk is absent { return all }\nreturn desk",
        "return all with { revision = desk.revision }",
        "other = get Customer of desk else 404 none\nreturn other",
    ] {
        says(&format!("{GET}{paged}{use_of_it}"), only);
    }
    let allowed = "GET /customers/{customerId}/all\nall = query Desk, Customer, Order, Refund where PK = \"CUSTOMER#{customerId}\"\n\
                   page 25\ndesk = the Desk in all else 404 none\nallow caller owns desk.customerId\nreturn desk";
    says(allowed, only);
    is(&format!("{GET}{WHOLE} page 25\ndesk = the Desk in all\nreturn desk"), &["name"]);
    is(&allowed.replace("page 25", "strong first 25"), &NONE);
    is(&allowed.replace("page 25", "first 25"), &NONE);
    let listed = allowed
        .replace("page 25", "first 25")
        .replace("return desk", "return desk with { orders = Order in all }");
    is(&listed, &["eventual-decision"]);
}

#[test]
fn a_part_is_taken_of_what_was_listed_and_by_its_name() {
    let all = format!("{GET}{WHOLE} first 9\n");
    says(
        &format!("{all}return all with {{ n = count(Order in all) }}"),
        "the items of an entity are named first",
    );
    says(
        &format!("{all}require all is present else 409 none\nreturn all"),
        "`all` holds items of several entities",
    );
    says(
        &format!("{all}return all {{ customerId }}"),
        "items of several entities are returned as they are",
    );
    let one = "orders = query Order where PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\" first 9\n";
    says(&format!("{GET}{one}x = the Order in orders\nreturn orders"), "`orders` is of one entity");
    let two = "all = query Order, Refund where PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\" first 9\n";
    says(&format!("{GET}{two}x = the Desk in all\nreturn all"), "`all` holds no `Desk`");
    says(
        &format!("{GET}{} else 404 none\nreturn all", two.trim_end()),
        "what a query of several entities finds may be anything, or nothing",
    );
    is(
        &format!(
            "{GET}{two}orders = Order in all\nreturn orders with {{ refunds = Refund in all, n = count(orders) }}"
        ),
        &NONE,
    );
}

#[test]
fn a_list_beside_another_answer_is_no_total() {
    let two = "all = query Order, Refund where PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\" page 9\n\
               orders = Order in all\nrefunds = Refund in all\n";
    is(&format!("{GET}{two}return refunds with {{ n = count(orders) }}"), &["partial-list"]);
    is(&format!("{GET}{two}return refunds with {{ orders, n = count(orders) }}"), &NONE);
    is(&format!("{GET}{two}return all with {{ n = count(orders) }}"), &NONE);
}

/// A contract that makes one more order, if there are few in a collection.
fn limited(query: &str, test: &str) -> String {
    format!(
        "POST /customers/{{customerId}}/more\nallow caller is clerk\ndesk = get Desk strong else 404 no-desk\n{query}\n\
         orders = Order in all\nrequire {test} else 409 full\ntransact {{\n\
         order = put Order {{ customerId, orderId = new ulid, cents = 1, ownerId = caller.id }} if absent else retry\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 order"
    )
}

#[test]
fn a_collection_is_pinned_if_one_guard_moves_with_all_of_it() {
    let own = "all = query Desk, Order strong where PK = \"CUSTOMER#{customerId}\" and SK between \"D\" and \"ORDER$\" first 9";
    // A refund lies in the range, too; and of several kinds nobody knows how many of one are read.
    is(&limited(own, "count(orders) < 5"), &["foreign-items", "foreign-items"]);
    let two = "all = query Order, Refund strong where PK = \"CUSTOMER#{customerId}\" and SK begins_with \"ORDER#\" first 9";
    is(&limited(two, "count(orders) < 5"), &["range-as-count"]);
    let unguarded = "all = query Desk, Customer, Order, Refund strong where PK = \"CUSTOMER#{customerId}\" first 9";
    assert!(
        found(&limited(unguarded, "count(orders) < 5"))
            .iter()
            .any(|(rule, _)| *rule == Rule::RangeAsCount)
    );
}

/// Orders of a desk, with a note that no guard moves.
fn desk(beside: &str, listed: &str, limit: &str) -> Vec<&'static str> {
    let text = format!(
        "```contract\nsystem desks\ntable Desks {{ type kind }}\n\
         entity Desk \"DESK\" {{\nPK = \"DESK#{{deskId}}\"\nSK = \"DESK\"\ndeskId id\nrevision counter\n}}\n\
         entity Note \"NOTE\" {beside} {{\nPK = \"DESK#{{deskId}}\"\nSK = \"NOTE\"\ndeskId id\ntext text(9)\n}}\n\
         entity Order \"ORDER\" guarded by Desk {{\nPK = \"DESK#{{deskId}}\"\nSK = \"ORDER#{{orderId}}\"\ndeskId id, orderId id\n}}\n\
         contract D-1 \"Open\" {{\nPOST /desks\ninput deskId id\nallow true\n\
         desk = put Desk {{ deskId }} if absent else 409 there\nreturn 201 desk\n{FACTS}}}\n\
         contract D-2 \"Note\" {{\nPOST /desks/{{deskId}}/note\ninput text text(9)\nallow true\n\
         desk = get Desk strong else 404 none\ntransact {{\nnote = put Note {{ deskId, text }} if absent else 409 there\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 note\n{FACTS}}}\n\
         contract D-3 \"Order\" {{\nPOST /desks/{{deskId}}/orders\nallow true\ndesk = get Desk strong else 404 none\n\
         all = query {listed} strong where PK = \"DESK#{{deskId}}\" first {limit}\norders = Order in all\n\
         require count(orders) < 5 else 409 full\ntransact {{\n\
         order = put Order {{ deskId, orderId = new ulid }} if absent else retry\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 order\n{FACTS}}}\n```\n"
    );
    let all = check(&text).diagnostics;
    all.iter().filter(|one| one.level == Level::Error).map(|one| one.rule.slug()).collect()
}

// The items of an entity that `first N` has read were taken for those of a page, of which the caller says how many.
#[test]
fn each_item_of_an_entity_may_be_written() {
    let each = |query: &str, held: &str| {
        format!(
            "POST /customers/{{customerId}}/clear\nallow caller is clerk\ndesk = get Desk strong else 404 no-desk\n\
             all = query Order, Refund strong where PK = \"CUSTOMER#{{customerId}}\" and SK begins_with \"ORDER#\" {query}\n\
             orders = Order in all\ntransact {{\neach order in orders {{ delete order }}\n{held}\n}}\nreturn desk"
        )
    };
    let held = "update desk set revision = .revision + 1 if unchanged else retry";
    is(&each("first 9", held), &NONE);
    let loose = each("first 9", "update Desk set revision = .revision + 1 else retry");
    let loose = found(&loose.replace("return desk", "return 204"));
    assert!(
        !loose.is_empty() && loose.iter().all(|(rule, _)| *rule == Rule::Unpinned),
        "{loose:?}"
    );
    says(&each("page 9", held), "how many items a page has is the caller's choice");
}

#[test]
fn the_places_of_others_are_left_out_of_a_count() {
    assert_eq!(desk("guarded by Desk", "Desk, Note, Order", "7"), NONE);
    assert_eq!(desk("guarded by Desk", "Desk, Note, Order", "6"), ["range-as-count"]);
    // A note that comes or goes changes which orders are read, and no guard tells.
    assert_eq!(desk("", "Desk, Note, Order", "7"), ["unpinned"]);
}

#[test]
fn what_is_shown_of_a_collection_is_tied_to_the_right() {
    let mine = "GET /customers/{customerId}/mine\n\
                waive stale-answer \"an order may show before its revision\"\nall = query Desk, Customer, Order, Refund strong where PK = \"CUSTOMER#{customerId}\"\n\
                first 9\ndesk = the Desk in all else 404 none\nallow caller owns desk.customerId\n\
                return desk with { orders = Order in all }";
    is(mine, &NONE);
    let other = "GET /customers/{customerId}/other/{deskId}\ninput other id\n\
                 desk = get Desk(customerId = other) strong else 404 none\nallow caller owns desk.customerId\n\
                 all = query Desk, Customer, Order, Refund where PK = \"CUSTOMER#{customerId}\" first 9\n\
                 return desk with { orders = Order in all }";
    assert!(found(other).iter().any(|(rule, _)| *rule == Rule::ForeignAllow), "{:?}", found(other));
}

/// Repositories between their issues and their stars, and accounts of two kinds that share their names.
fn of_repos(steps: &str) -> Vec<(Rule, String)> {
    let text = format!(
        "```contract\nsystem hub\ntable Hub {{ type kind }}\n\
         entity Repo \"REPO\" {{\nPK = \"REPO#{{owner}}#{{name}}\"\nSK = \"REPO#{{owner}}#{{name}}\"\nowner id\nname id\n}}\n\
         entity Issue \"ISSUE\" {{\nPK = \"REPO#{{owner}}#{{name}}\"\nSK = \"ISSUE#{{number:06}}\"\n\
         owner id\nname id\nnumber int 1..999999\n}}\n\
         entity Star \"STAR\" {{\nPK = \"REPO#{{owner}}#{{name}}\"\nSK = \"STAR#{{by}}\"\nowner id\nname id\nby id\n}}\n\
         entity User \"USER\" {{\nPK = \"ACCOUNT#{{owner}}\"\nSK = \"ACCOUNT#{{owner}}\"\nowner id\n}}\n\
         entity Team \"TEAM\" {{\nwaive shared-key \"one name\"\nPK = \"ACCOUNT#{{team}}\"\nSK = \"ACCOUNT#{{team}}\"\n\
         team id\n}}\n\
         entity Member \"MEMBER\" {{\nPK = \"ACCOUNT#{{team}}\"\nSK = \"MEMBER#{{by}}\"\nteam id\nby id\n}}\n\
         contract T \"Trap\" {{\n{steps}\n{SHOWN}}}\n```\n"
    );
    let told = check(&text).diagnostics.into_iter();
    let told = told.filter(|one| !matches!(one.rule, Rule::Waive | Rule::Unused));
    told.map(|one| (one.rule, one.message)).collect()
}

// A range that ends with the item itself was said to leave the item out.
#[test]
fn a_range_may_begin_or_end_with_the_item() {
    let of = |with: &str, range: &str| {
        of_repos(&format!(
            "GET /repos/{{owner}}/{{name}}/all\nallow true\nall = query Repo, {with}\n\
             where PK = \"REPO#{{owner}}#{{name}}\" and {range}\nrepo = the Repo in all else 404 none\nreturn repo"
        ))
    };
    let own = "\"REPO#{owner}#{name}\"";
    assert_eq!(of("Issue", &format!("SK <= {own}\norder descending\npage 9")), []);
    assert_eq!(of("Star", &format!("SK >= {own}\npage 9")), []);
    assert_eq!(of("Star", &format!("SK between {own} and \"STAR#~\"\npage 9")), []);
    let outside = "the range of `all` may leave the `Repo` out";
    let leaves = |with: &str, range: &str| {
        let told = of(with, range);
        assert!(told.iter().any(|(_, message)| message == outside), "{range}: {told:#?}");
    };
    leaves("Issue", &format!("SK < {own}\norder descending\npage 9"));
    leaves("Star", &format!("SK > {own}\npage 9"));
    leaves("Issue", "SK <= \"REPO#{name}#{owner}\"\norder descending\npage 9");
    leaves("Issue", "SK <= \"REPO#{owner}#{caller.id}\"\norder descending\npage 9");
}

// Of two entities that share a key, the item of one was said to come behind that of the other.
#[test]
fn an_item_is_not_behind_one_with_its_own_key() {
    let all = "GET /teams/{team}\nallow true\nall = query User, Team, Member where PK = \"ACCOUNT#{team}\" page 9\n";
    assert_eq!(of_repos(&format!("{all}found = the Team in all else 404 none\nreturn found")), []);
    let last = all.replace("page 9", "order descending page 9");
    let told = of_repos(&format!("{last}found = the Team in all else 404 none\nreturn found"));
    assert!(told.iter().any(|(_, message)| message.contains("may come behind")), "{told:#?}");
}

const FEW: &str = "waive filter \"a customer has few orders\"\n";

#[test]
fn a_filter_says_what_becomes_of_each_entity() {
    let kept =
        |test: &str| format!("{GET}{FEW}{WHOLE} page 25 keep {test} reading 100\nreturn all");
    // An attribute that all have is asked of all.
    is(&kept(".customerId begins_with \"c\""), &NONE);
    // What some lack is absent there: they are kept, or the filter has no meaning for them.
    is(&kept(".cents is absent or .cents > 3"), &NONE);
    is(&kept("not (.cents is present and .cents <= 3)"), &NONE);
    is(&kept(".cents > 3"), &["absent", "absent"]);
    says(&kept(".cents > 3"), "`Desk` has no `cents`");
    says(&kept(".cents > 3"), "`Customer` has no `cents`");
    is(&kept(".cents is present and .cents > 3"), &["type", "type"]);
    says(&kept(".cents is present and .cents > 3"), "this filter drops every `Desk`");
    // A mistake is told once, whatever the number of entities.
    is(&kept(".nothing == 1"), &["name"]);
    is(&kept(".customerId == nobody"), &["name"]);
    is(&kept(".cents is absent or .cents > 3 and .note == \"x\""), &["absent", "absent"]);
    // The secret of one of them is a secret.
    is(&kept(".note is absent or .note > \"x\""), &["type"]);
    is(&kept(".note is absent or .note == \"x\""), &NONE);
    // A filter has a reason and a bound here, too.
    is(&kept(".cents is absent or .cents > 3").replace(FEW, ""), &["filter"]);
    is(&kept(".cents is absent or .cents > 3").replace("reading 100", ""), &["unbounded"]);
}

#[test]
fn the_one_item_is_not_dropped() {
    let the = |test: &str| {
        format!(
            "{GET}{FEW}all = query Desk, Customer, Order, Refund where PK = \"CUSTOMER#{{customerId}}\" first 25 \
             keep {test} reading 100\nx = the Desk in all else 404 none\nreturn x with {{ orders = Order in all }}"
        )
    };
    is(&the(".cents is absent or .cents > 3"), &NONE);
    says(&the(".customerId begins_with \"c\""), "the filter of `all` may drop the `Desk`");
    // What the caller sends decides, so it may be dropped.
    let sent = the(".cents is present or caller.id == \"x\"");
    says(&sent, "the filter of `all` may drop the `Desk`");
}

/// What is kept of one entity is counted and written, and a guard holds it.
#[test]
fn a_decision_by_what_is_kept_is_held_by_the_guard() {
    let listed = "Desk, Note, Order";
    let kept = "7 keep .text is absent or .text != \"x\" reading 50";
    assert_eq!(desk("guarded by Desk", listed, kept), ["filter"]);
    // A note that comes, goes or is kept now changes which orders are read, and no guard tells.
    let mut loose = desk("", listed, kept);
    loose.sort_unstable();
    assert_eq!(loose, ["filter", "unpinned"]);
    let each = |held: &str| {
        format!(
            "POST /customers/{{customerId}}/clear\nallow caller is clerk\ndesk = get Desk strong else 404 no-desk\n{FEW}\
             all = query Order, Refund strong where PK = \"CUSTOMER#{{customerId}}\" and SK begins_with \"ORDER#\"\n\
             first 9 keep .cents > 3 reading 50\norders = Order in all\n\
             transact {{\neach order in orders {{ delete order }}\n{held}\n}}\nreturn 204"
        )
    };
    is(&each("update desk set revision = .revision + 1 if unchanged else retry"), &NONE);
    let loose = found(&each("update Desk set revision = .revision + 1 else retry"));
    assert!(
        !loose.is_empty() && loose.iter().all(|(rule, _)| *rule == Rule::Unpinned),
        "{loose:?}"
    );
}
