//! Documents that are right, as people write them: nothing is told of them.

use std::fs;
use std::path::Path;

#[test]
fn a_document_that_is_right_is_let_through() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/honest");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let told: Vec<String> = latchkey_model::check(&text)
            .diagnostics
            .iter()
            .map(|found| latchkey_cli::render(&path.display().to_string(), &text, found, false))
            .collect();
        assert!(told.is_empty(), "{}", told.join("\n\n"));
        seen += 1;
    }
    assert!(seen >= 9, "{seen}");
}
