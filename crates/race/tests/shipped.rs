//! The documents that are shipped lose nothing.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_race::{Options, search};

fn loses_nothing(text: &str, contracts: &[&str]) {
    let contracts = contracts.iter().map(|id| (*id).to_owned()).collect();
    let options = Options { contracts, ..Options::default() };
    let report = search(text, &options, &|_| {}).unwrap();
    let told: Vec<String> = report.losses.iter().map(|loss| format!("{loss:#?}")).collect();
    assert_eq!(told, Vec::<String>::new());
    assert!(report.groups > 10, "{report:?}");
    assert_eq!(report.cut, 0);
}

#[test]
fn locations() {
    loses_nothing(include_str!("../../../systems/locations.md"), &[]);
}

#[test]
fn participation() {
    loses_nothing(include_str!("../../../systems/participation.md"), &[]);
}

#[test]
fn smartlocker() {
    loses_nothing(include_str!("../../../systems/smartlocker.md"), &[]);
}
