//! What holds between the reads of a contract and its commits, in a clinic, a shop and a bank.

use latchkey_language::{Level, Rule};
use latchkey_model::check;

/// The rules a document breaks, in the order they are told.
fn broken(declarations: &str, contract: &str) -> Vec<&'static str> {
    let text = format!(
        "```contract\n{declarations}\ncontract TRAP \"Trap\" {{\n{contract}\n{FACTS}}}\n```\n"
    );
    check(&text)
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|one| one.rule.slug())
        .collect()
}

const FACTS: &str = "consistency strong\nexpect 1 item\nrate 1/s\n";
const NONE: [&str; 0] = [];

/// Pets by their vet and day; both can change.
fn clinic() -> String {
    format!(
        "system clinic\ntable Clinic {{ type kind }}\nrole vet\n\
         entity Pet \"PET\" {{\nPK = \"PET#{{petId}}\"\nSK = \"META\"\npetId id\nvetId id\nday time\nname text(40)?\n\
         index DAYS moves {{\nPK = \"VET#{{vetId}}\"\nSK = \"DAY#{{day}}#{{petId}}\"\n}}\n}}\n\
         contract C-1 \"Put off\" {{\nPUT /pets/{{petId}}/day\ninput day time\nallow caller is vet\n\
         p = get Pet strong else 404 not-found\n\
         update p set day = day if .vetId == p.vetId else retry\nreturn p\n{FACTS}}}\n\
         contract C-2 \"List\" {{\nGET /vets/{{vetId}}/pets\nallow caller is vet\n\
         pets = query Pet by DAYS where PK = \"VET#{{vetId}}\" page 25\nreturn pets\n\
         consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n"
    )
}

#[test]
fn a_write_rests_on_the_parts_of_an_index_key_that_it_does_not_set() {
    // The key in the index was made with the day as it was read, while the day was changed.
    let hand_over = |condition: &str| {
        format!(
            "PUT /pets/{{petId}}/vet\ninput newVetId id\nallow caller is vet\np = get Pet strong else 404 not-found\n\
             update p set vetId = newVetId {condition}\nreturn p\n"
        )
    };
    assert_eq!(broken(&clinic(), &hand_over("else 404 not-found")), ["unpinned"]);
    assert_eq!(broken(&clinic(), &hand_over("if .day == p.day else retry")), NONE);
    // An attribute of no index moves nothing.
    let rename = "PUT /pets/{petId}/name\ninput name text(40)\nallow caller is vet\np = get Pet strong else 404 not-found\n\
                  update p set name = name else 404 not-found\nreturn p\n";
    assert_eq!(broken(&clinic(), rename), NONE);
    // Both parts are set.
    let both = "PUT /pets/{petId}/vet\ninput newVetId id, day time\nallow caller is vet\np = get Pet strong else 404 not-found\n\
                update p set vetId = newVetId, day = day else 404 not-found\nreturn p\n";
    assert_eq!(broken(&clinic(), both), NONE);
}

/// Orders of a buyer, at most five open at once, guarded by the buyer's desk.
fn shop() -> String {
    format!(
        "system shop\ntable Shop {{ type kind }}\n\
         entity Desk \"DESK\" {{\nPK = \"BUYER#{{buyerId}}\"\nSK = \"DESK\"\nbuyerId id\nrevision counter\n}}\n\
         entity Order \"ORDER\" guarded by Desk {{\nPK = \"BUYER#{{buyerId}}\"\nSK = \"ORDER#{{orderId}}\"\nbuyerId id\n\
         orderId id\n}}\n\
         contract S-0 \"Sign up\" {{\nPOST /buyers/{{buyerId}}\nallow caller owns buyerId\n\
         desk = put Desk {{ buyerId }} if absent else 409 there\nreturn 201 desk\n{FACTS}}}\n"
    )
}

const FIVE: &str = "POST /buyers/{buyerId}/orders\nallow caller owns buyerId\ndesk = get Desk strong else 404 not-found\n\
                    open = query Order strong where PK = \"BUYER#{buyerId}\" and SK begins_with \"ORDER#\" first 5\n\
                    require count(open) < 5 else 409 too-many\n";

fn one_more(name: &str) -> String {
    format!(
        "transact {{\n{name} = put Order {{ buyerId, orderId = new ulid }} if absent else retry\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\n"
    )
}

#[test]
fn a_count_is_good_for_one_commit() {
    // Two transactions after one count: the fifth and the sixth order.
    let (one, two) = (one_more("one"), one_more("two"));
    assert_eq!(broken(&shop(), &format!("{FIVE}{one}return 201 one\n")), NONE);
    let twice = format!("{FIVE}{one}waive half-done \"x\"\n{two}return 201 two\n");
    assert_eq!(broken(&shop(), &twice), ["unpinned"]);
    let again = "left = query Order strong where PK = \"BUYER#{buyerId}\" and SK begins_with \"ORDER#\" first 5\n\
                 waive half-done \"the first order is wanted alone, too\"\n\
                 require count(left) < 5 else 409 too-many\n";
    let counted = format!("{FIVE}{one}{again}waive half-done \"x\"\n{two}return 201 two\n");
    assert_eq!(broken(&shop(), &counted), NONE);
}

/// Accounts with a balance that no bound holds.
fn bank() -> String {
    format!(
        "system bank\ntable Bank {{ type kind }}\n\
         entity Account \"ACCOUNT\" {{\nPK = \"ACCOUNT#{{accountId}}\"\nSK = \"META\"\naccountId id\nownerId id\n\
         balance int = 0\nversion counter\n}}\n\
         entity Entry \"ENTRY\" {{\nPK = \"ACCOUNT#{{accountId}}\"\nSK = \"ENTRY#{{entryId}}\"\naccountId id\nentryId id\n}}\n\
         contract B-0 \"Open\" {{\nPOST /accounts\ninput accountId id, ownerId id\nallow caller owns ownerId\n\
         account = put Account {{ accountId, ownerId }} if absent else 409 there\nreturn 201 account\n{FACTS}}}\n\
         contract B-1 \"List\" {{\nGET /accounts/{{accountId}}/entries\naccount = get Account strong else 404 no\n\
         allow caller owns account.ownerId\n\
         entries = query Entry strong where PK = \"ACCOUNT#{{accountId}}\" and SK begins_with \"ENTRY#\" page 9\n\
         return entries\nconsistency strong\nexpect 0.. items\nrate 1/s\n}}\n"
    )
}

const TAKE: &str = "POST /accounts/{accountId}/take\ninput amount int 1..\naccount = get Account strong else 404 no\n\
                    allow caller owns account.ownerId\nrequire account.balance >= amount else 409 too-little\n";

fn taken(condition: &str) -> String {
    format!(
        "update account set balance = .balance - amount, version = .version + 1 if {condition} else 409 too-little\n"
    )
}

#[test]
fn a_test_of_a_balance_is_good_for_one_commit() {
    let (one, waiver) = (taken("unchanged"), "waive half-done \"x\"\n");
    assert_eq!(broken(&bank(), &format!("{TAKE}{one}return account\n")), NONE);
    let twice = format!("{TAKE}{one}{waiver}{one}return account\n");
    assert_eq!(broken(&bank(), &twice), ["unpinned"]);
    // The second asks for itself.
    let asks = taken("unchanged and .balance >= amount");
    assert_eq!(broken(&bank(), &format!("{TAKE}{one}{waiver}{asks}return account\n")), NONE);
    let tested = "waive half-done \"x\"\nrequire account.balance >= amount else 409 too-little\n";
    assert_eq!(broken(&bank(), &format!("{TAKE}{one}{tested}{waiver}{one}return account\n")), NONE);
    // The owner is still who was asked for: nothing here writes that.
    let counted = format!(
        "{TAKE}{one}{waiver}update account set version = .version + 1 if unchanged else retry\nreturn account\n"
    );
    assert_eq!(broken(&bank(), &counted), NONE);
}

#[test]
fn no_call_is_refused_after_a_write() {
    let one = taken("unchanged");
    let entry = |failure: &str| {
        format!(
            "entry = put Entry {{ accountId, entryId = new ulid }} if absent {failure}\nreturn entry\n"
        )
    };
    let cases = [
        ("a second write that is refused", entry("else 409 there"), true),
        ("a second write that retries", entry("else retry"), true),
        (
            "two transactions",
            "transact {\nentry = put Entry { accountId, entryId = new ulid } if absent else retry\n\
             check account if unchanged else retry\n}\nreturn entry\n"
                .to_owned(),
            true,
        ),
        (
            "a test too late",
            "require account.balance >= 0 else 409 too-little\nreturn account\n".to_owned(),
            true,
        ),
        (
            "a right too late",
            "allow caller owns account.ownerId\nreturn account\n".to_owned(),
            true,
        ),
        (
            "a read that sends it back",
            "left = get Account strong else retry\nreturn left\n".to_owned(),
            true,
        ),
        (
            "a read for the answer",
            "left = get Account strong else 404 gone\nreturn left\n".to_owned(),
            false,
        ),
        (
            "a second write that cannot be refused",
            "entry = put Entry { accountId, entryId = new ulid } replace\nreturn entry\n".to_owned(),
            false,
        ),
        (
            "a second write that does something else then",
            entry("else { return account }"),
            false,
        ),
    ];
    for (what, rest, found) in cases {
        let rules = broken(&bank(), &format!("{TAKE}{one}{rest}"));
        assert_eq!(rules.contains(&"half-done"), found, "{what}: {rules:?}");
    }
    // Within a `when`, too; and not on the way that has ended.
    let branched = format!(
        "{TAKE}when amount > 9 {{\n{one}}}\nrequire account.balance >= 0 else 409 too-little\nreturn account\n"
    );
    assert!(broken(&bank(), &branched).contains(&"half-done"));
    let ended = format!(
        "{TAKE}when amount > 9 {{\n{one}return account\n}}\nrequire account.balance > 9 else 409 no\nreturn account\n"
    );
    assert_eq!(broken(&bank(), &ended), NONE);
}
