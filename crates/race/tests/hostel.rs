//! Collections, batches, shards, `each` and items that end: `hostel.md` loses nothing, and every race that is planted
//! in it is found once the rule that refuses it is off.

#![expect(clippy::panic, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::{Level, Rule};
use latchkey_race::{Options, Report, SearchError, search};

const HOSTEL: &str = include_str!("hostel.md");

fn searched(text: &str, without: &[Rule], embedded: bool) -> Report {
    let options = Options { without: without.to_vec(), embedded, ..Options::default() };
    match search(text, &options, &|_| {}) {
        Ok(report) => report,
        Err(SearchError::Mistakes(mistakes)) => {
            let told: Vec<_> =
                mistakes.iter().map(|m| format!("{}: {}", m.rule, m.message)).collect();
            panic!("refused: {told:#?}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// The contracts of each loss.
fn lost(report: Report) -> Vec<Vec<String>> {
    report.losses.into_iter().map(|loss| loss.contracts).collect()
}

/// The document with one thing in it replaced by another.
fn planted(was: &str, is: &str) -> String {
    assert_eq!(HOSTEL.matches(was).count(), 1, "{was}");
    HOSTEL.replace(was, is)
}

/// Holds a mistake to what the check and the search say of it: a rule, and the contracts that lose something.
fn is_found(what: &str, text: &str, rule: Rule, contracts: &[&str]) {
    let found = latchkey_model::check(text).diagnostics;
    let errors = found.iter().filter(|one| one.level == Level::Error);
    let mut rules: Vec<Rule> = errors.map(|one| one.rule).collect();
    rules.dedup();
    assert_eq!(rules, [rule], "{what}");
    let is_it = |names: &Vec<String>| contracts.iter().all(|name| names.iter().any(|n| n == name));
    let lost = lost(searched(text, &[rule], true));
    assert!(lost.iter().any(is_it), "{what}: {lost:?}");
}

#[test]
fn the_hostel_has_no_mistakes_and_loses_nothing() {
    let found = latchkey_model::check(HOSTEL).diagnostics;
    // That it reads at two moments is told as a warning, and found below.
    let found =
        found.iter().filter(|one| (one.rule, one.level) != (Rule::StaleAnswer, Level::Warning));
    let told: Vec<String> = found.map(|one| format!("{}: {}", one.rule, one.message)).collect();
    assert_eq!(told, Vec::<String>::new());
    let report = searched(HOSTEL, &[], true);
    assert!(report.unsearched.is_empty(), "{:?}", report.unsearched);
    assert!(report.groups > 50 && report.schedules > 500, "{} {}", report.groups, report.schedules);
    assert_eq!(lost(report), Vec::<Vec<String>>::new());
}

/// On DynamoDB a query is one request and not one moment: what a transaction changes meanwhile is seen in part. So a
/// collection that is shown may be what it never was; a decision by one is made again.
#[test]
fn what_a_collection_shows_may_be_of_two_moments() {
    let lost = lost(searched(HOSTEL, &[], false));
    assert!(!lost.is_empty() && lost.iter().all(|names| names.contains(&"H-4".into())), "{lost:?}");
}

#[test]
fn a_count_of_a_collection_that_no_guard_holds() {
    let text = planted(
        "    update house set revision = .revision + 1 if unchanged    else retry\n    bed = put",
        "    update House set revision = .revision + 1                 else 404 not-found\n    bed = put",
    );
    is_found("a fourth bed", &text, Rule::Unpinned, &["H-2"]);
}

#[test]
fn each_of_a_collection_that_grows() {
    let text = planted(
        "    update house set open = false, revision = .revision + 1 if unchanged    else retry\n",
        "    update House set open = false, revision = .revision + 1 if .open        else retry\n",
    );
    is_found("a bed in a house that is closed", &text, Rule::Unpinned, &["H-2", "H-3"]);
}

#[test]
fn a_batch_whose_items_go() {
    let text = planted(
        "    update house set revision = .revision + 1 if unchanged    else retry\n    each bed in beds {\n      \
         update bed set partyId = partyId if .partyId is absent  else 409 taken \"{bed.bedId} is taken\"\n    }\n",
        "    waive missing-bump \"planted\"\n    \
         update Bed(houseId, bedId = \"a\") set partyId = partyId if .partyId is absent  else 409 taken\n",
    );
    is_found("a bed for a party that needs two", &text, Rule::Unpinned, &["H-3", "P-1"]);
}

#[test]
fn a_key_that_has_ended_is_another_guests() {
    let text = planted(
        "  update key set endsAt = now + 1h, version = .version + 1 if unchanged     else retry\n",
        "  update key set endsAt = now + 1h, version = .version + 1                  else retry\n",
    );
    is_found("a key that is kept for another guest", &text, Rule::Unpinned, &["K-1", "K-3"]);
}

#[test]
fn an_entry_that_is_noted_where_no_shard_has_it() {
    let first = "  entries = query Entry shard in 0..1 strong\n    where PK = \"LOG#{houseId}#{shard:02}\"\n    \
                 order descending\n    first 1\n";
    let noting =
        "  entry = put Entry { houseId, shard = shard(entryId, 2), entryId, words } if absent\n";
    let text = planted(
        noting,
        &format!("{}{noting}", first.replace("entries", "last").replace("\n    first 1\n",
        "\n    first 1\n  require last is absent or last.words != words else 409 said-already\n")),
    );
    is_found("the same words twice", &text, Rule::Unpinned, &["L-1"]);
}
