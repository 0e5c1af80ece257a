//! The documents in `designs/` are clean, lose nothing in a race, and ask of their tables what their lists of patterns
//! say. That their examples hold, on every backend, is a test of `tests/http/examples.rs`.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

mod keys;
mod patterns;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use latchkey_race::{Options, search};

/// Each design is tests of its own, which run side by side.
macro_rules! designs {
    ($($name:ident: $file:literal,)*) => {
        const DESIGNS: &[&str] = &[$($file),*];
        $(
            mod $name {
                #[test]
                fn is_clean() {
                    super::is_clean($file);
                }

                #[test]
                fn loses_nothing() {
                    super::loses_nothing($file);
                }

                #[test]
                fn asks_of_its_table_what_is_published() {
                    super::patterns::are_asked_as_published(&super::text($file));
                }
            }
        )*
    };
}

designs! {
    big_time_deals: "big-time-deals.md",
    complaint_management: "complaint-management.md",
    device_status: "device-status.md",
    e_commerce: "e-commerce.md",
    gaming_profile: "gaming-profile.md",
    github: "github.md",
    mall: "mall.md",
    online_shop: "online-shop.md",
    recurring_payments: "recurring-payments.md",
    session_store: "session-store.md",
    social_network: "social-network.md",
    task_manager: "task-manager.md",
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../designs"))
}

fn text(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap()
}

fn is_clean(file: &str) {
    let text = text(file);
    let line = |at: usize| text.get(..at).unwrap().matches('\n').count() + 1;
    let found = latchkey_model::check(&text).diagnostics;
    let told = found.iter().map(|d| format!("{}: {}: {}", line(d.span.start), d.rule, d.message));
    assert_eq!(told.collect::<Vec<String>>(), [""; 0]);
}

fn loses_nothing(file: &str) {
    let report = search(&text(file), &Options::default(), &|_| {}).unwrap();
    let told: Vec<String> = report.losses.iter().map(|loss| format!("{loss:#?}")).collect();
    assert_eq!(told, [""; 0]);
    assert!(report.groups > 0, "{report:?}");
    assert_eq!(report.cut, 0);
}

#[test]
fn every_design_is_tested() {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let files = files.map(|name| name.into_string().unwrap());
    let found: BTreeSet<String> = files.filter(|name| name != "README.md").collect();
    let tested: BTreeSet<String> = DESIGNS.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(found, tested);
}

#[test]
fn the_readme_counts_the_patterns_as_they_are_listed() {
    let readme = text("README.md");
    let mut total = patterns::Count::default();
    for file in DESIGNS {
        let count = patterns::count(&text(file));
        let row = readme.lines().find(|line| line.contains(&format!("]({file})")));
        let row = row.unwrap_or_default();
        assert!(
            row.ends_with(&count.cells()),
            "{file} has {}, and its row is {row}",
            count.cells()
        );
        total = total.and(count);
    }
    let row = readme.lines().find(|line| line.starts_with("| all")).unwrap();
    assert!(row.ends_with(&total.cells()), "there are {}, and the row is {row}", total.cells());
    // Of all patterns, at least 95 in 100 are as they are published.
    assert!(total.exact * 100 >= (total.exact + total.changed + total.not) * 95, "{total:?}");
}
