//! The shipped documents as OpenAPI, kept word for word: a change of what callers are told is seen in review.

use std::fs;

use latchkey_openapi::{OpenApi, Serving};

use crate::{VERSIONS, root, shipped};

#[test]
fn the_golden_files_are_as_the_shipped_documents_say() {
    let bless = std::env::var_os("LATCHKEY_BLESS").is_some();
    for document in shipped() {
        let model = document.model();
        for (version, number) in VERSIONS {
            let written = OpenApi::new(&[&model], version, &Serving::default()).pretty();
            let path = root().join(format!("tests/openapi/golden/{}-{number}.json", document.name));
            if bless {
                fs::write(&path, &written).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            let path = path.display();
            assert!(written == kept, "{path} differs: run with LATCHKEY_BLESS=1 to rewrite it");
        }
    }
}

#[test]
fn what_is_written_for_people_and_for_programs_is_the_same() {
    for document in shipped() {
        let model = document.model();
        for (version, _) in VERSIONS {
            let openapi = OpenApi::new(&[&model], version, &Serving::default());
            let pretty: serde_json::Value = serde_json::from_str(&openapi.pretty()).unwrap();
            let compact: serde_json::Value = serde_json::from_str(&openapi.compact()).unwrap();
            assert_eq!(pretty, compact);
            let again = OpenApi::new(&[&document.model()], version, &Serving::default());
            assert_eq!(openapi.pretty(), again.pretty(), "the same document gives the same bytes");
        }
    }
}
