//! Documents of `honest` with one change that makes them wrong: the rule that lets the right one through tells of it.

use latchkey_model::check;

const BASKETS: &str = include_str!("honest/baskets.md");
const MONTHS: &str = include_str!("honest/months.md");
const RIGHTS: &str = include_str!("honest/rights.md");
const ROOMS: &str = include_str!("honest/rooms.md");
const SCORES: &str = include_str!("honest/scores.md");
const SINGERS: &str = include_str!("honest/singers.md");
const STAFF: &str = include_str!("honest/staff.md");
const VIEWS: &str = include_str!("honest/views.md");

/// What a document is told after these changes.
fn told(document: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = document.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}`");
        text = text.replacen(from, to, 1);
    }
    let found = check(&text).diagnostics;
    found.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

fn rules(document: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let told = told(document, changes).into_iter();
    told.map(|one| one.split(':').next().unwrap_or_default().to_owned()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn the_opposite_of_a_comparison_pins_and_no_more_than_that() {
    let test = "when r.mx >= n {";
    let condition = "if .mx < n else";
    for (other_test, other_condition, pins) in [
        (test, "if n > .mx else", true),
        (test, "if not (.mx >= n) else", true),
        ("when not (r.mx < n) {", condition, true),
        ("when n <= r.mx {", condition, true),
        ("when r.mx > n {", "if .mx <= n else", true),
        ("when r.mx != n {", "if .mx == n else", true),
        ("when r.mx == n {", "if .mx != n else", true),
        (test, "if .mx <= n else", false),
        (test, "if .mx > n else", false),
        (test, "if .mx >= n else", false),
        (test, "if .mx != n else", false),
        ("when r.mx >= n - 1 {", condition, false),
    ] {
        let told = rules(SCORES, &[(test, other_test), (condition, other_condition)]);
        let expected: &[&str] = if pins { &[] } else { &["unpinned"] };
        assert_eq!(told, expected, "{other_test} {other_condition}");
    }
    // Where the attribute may be absent, `not (.mx >= n)` holds without it.
    let optional = ("mx int 0.. = 0", "mx int 0..?");
    let change = [
        optional,
        (
            test,
            "require r.mx is present else 409 none\n  when r.mx < n {\n    u = update X set mx = n if COND else retry\n    return u\n  }\n  when r.mx >= n {",
        ),
    ];
    let with = |condition: &str| {
        let inner = change[1].1.replace("COND", condition);
        rules(
            SCORES,
            &[
                optional,
                (test, &inner),
                ("  u = update X set mx = n if .mx < n else retry\n  return u\n", "  return r\n"),
            ],
        )
    };
    assert!(with("not (.mx >= n)").contains(&"unpinned".to_owned()));
    assert!(!with(".mx < n").contains(&"unpinned".to_owned()));
}

#[test]
fn an_element_says_that_its_own_set_is_there() {
    let condition = "check u if doc in .rights else retry";
    assert_eq!(
        rules(RIGHTS, &[(condition, "check u if .user == caller.id else retry")]),
        ["unpinned"]
    );
    assert_eq!(
        rules(RIGHTS, &[(condition, "check u if not (doc in .rights) else retry")]),
        ["unpinned"]
    );
}

#[test]
fn every_key_of_the_list_is_checked() {
    let check_each = "each k in skus { check Stock(sku = k) if .sku == k else retry }";
    let test = "require count(ss) == count(skus) else 409 unknown";
    for (from, to) in [
        (check_each, ""),
        (check_each, "each k in skus { check Stock(sku = k) if .sku != k else retry }"),
        (check_each, "each k in skus { check Order(o = k) if .o == k else retry }"),
        (test, "require count(ss) < count(skus) else 409 unknown"),
        (test, "require count(ss) > 1 else 409 unknown"),
    ] {
        let found = rules(BASKETS, &[(from, to)]);
        assert!(found.contains(&"unpinned".to_owned()), "{to}: {found:?}");
    }
    let text = BASKETS.replace(check_each, "");
    let help = check(&text).diagnostics.into_iter().find_map(|one| one.help).unwrap();
    assert!(help.starts_with("the keys are known: go through them in the transaction"), "{help}");
}

#[test]
fn a_guard_that_is_made_beside_its_item_is_that_items_guard() {
    let put = "x = put Room { r } if absent else 409 exists";
    let other = "x = put Room { r = caller.id } if absent else 409 exists";
    // Everyone is then a member of any room.
    assert_eq!(rules(ROOMS, &[(put, other)]), ["missing-bump", "foreign-allow"]);
    let alone = rules(
        ROOMS,
        &[
            (put, "x = get Room strong else 404 not-found"),
            ("transact {", ""),
            ("409 exists\n  }", "409 exists"),
        ],
    );
    assert!(alone.contains(&"missing-bump".to_owned()), "{alone:?}");
}

#[test]
fn a_month_is_like_a_month_alone() {
    let unlike = "type: this need not be like `[0-9]{4}-[01][0-9]`";
    assert_eq!(told(MONTHS, &[("[0-9]{4}-[0-9]{2}", "[0-9]{4}-[01][0-9]")]), [unlike]);
    let unlike = "type: this need not be like `[0-9]{4}-[0-9]{2}`";
    assert_eq!(told(MONTHS, &[("{now:month}", "{now:year}")]), [unlike]);
    assert_eq!(
        told(
            MONTHS,
            &[("text(7)", "text(10)"), ("{2}", "{2}-[0-9]{2}"), ("{now:month}", "{now:day}")]
        ),
        NONE
    );
}

#[test]
fn a_key_is_the_same_with_quotes_and_without() {
    let bare = "where PK = s";
    assert_eq!(told(SINGERS, &[(bare, "where PK = \"{s}\"")]), NONE);
    // The other half of the key is not fixed.
    let several = "type: more than one `D` may be in `all`";
    for partition in [bare, "where PK = \"{s}\""] {
        let found =
            told(SINGERS, &[(bare, partition), ("x = the S", "x = the D"), ("ds = D", "ds = S")]);
        assert!(found.contains(&several.to_owned()), "{found:?}");
    }
}

#[test]
fn an_index_of_its_own_that_no_query_reads_is_unused() {
    let declared = "index GSI1 moves { PK = \"{emp}\" SK = \"{name}\" }";
    let missing = told(STAFF, &[(declared, "")]);
    assert_eq!(missing, ["name: items of `Employee` are in index `GSI1`"]);
    let own = [("index GSI1 { PK SK  SK Data }", "index GSI1 { PK SK  SK Name }")];
    assert_eq!(told(STAFF, &own), ["unused: no query reads the index `GSI1`"]);
}

#[test]
fn a_count_is_waived_above_the_transaction_or_the_leg() {
    let waiver = "waive drift \"views\"\n";
    assert_eq!(rules(VIEWS, &[(waiver, "")]), ["drift"]);
    let leg = "upsert X add mx = 1";
    assert_eq!(rules(VIEWS, &[(waiver, ""), (leg, &format!("{waiver}    {leg}"))]), NONE);
    let needless = "waive drift \"views\"\n  allow true";
    assert_eq!(rules(VIEWS, &[(waiver, ""), ("allow true", needless)]), ["waive", "drift"]);
}
