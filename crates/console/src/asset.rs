//! Styles and scripts: files of this crate that are in the binary.
//!
//! Their path has a hash of all of them, so a browser may keep them for ever and still gets new ones.

use std::sync::LazyLock;

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use latchkey_http::Response;
use sha2::{Digest, Sha256};

use crate::answer::Refusal;
use crate::{answer, route, shell};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// The files: a name, a type, a text.
const FILES: &[(&str, &str, &str)] = &[
    ("console.css", CSS, include_str!("../assets/console.css")),
    ("document.css", CSS, include_str!("../assets/document.css")),
    ("document.js", JS, include_str!("../assets/document.js")),
    ("theme.js", JS, include_str!("../assets/theme.js")),
    ("console.js", JS, include_str!("../assets/console.js")),
    ("contract.css", CSS, include_str!("../assets/contract.css")),
    ("contract.js", JS, include_str!("../assets/contract.js")),
    ("table.js", JS, include_str!("../assets/table.js")),
    ("table.css", CSS, include_str!("../assets/table.css")),
    ("home.js", JS, include_str!("../assets/home.js")),
    ("spark.js", JS, include_str!("../assets/spark.js")),
    ("traffic.css", CSS, include_str!("../assets/traffic.css")),
    ("operations.js", JS, include_str!("../assets/operations.js")),
    ("operations.css", CSS, include_str!("../assets/operations.css")),
    ("play.css", CSS, include_str!("../assets/play.css")),
    ("play.js", JS, include_str!("../assets/play.js")),
    ("fields.js", JS, include_str!("../assets/fields.js")),
    ("outcome.js", JS, include_str!("../assets/outcome.js")),
    ("items.js", JS, include_str!("../assets/items.js")),
    ("views.css", CSS, include_str!("../assets/views.css")),
    ("views.js", JS, include_str!("../assets/views.js")),
    ("show.js", JS, include_str!("../assets/show.js")),
];

/// The hash of all files: 64 bits are enough to tell two builds apart.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, text) in FILES {
        hash.update(name);
        hash.update(text);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
});

/// The path of a file.
pub(crate) fn path(name: &str) -> String {
    route::asset(&VERSION, name)
}

/// The text of a file.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(own, _, _)| *own == name).map(|(_, _, text)| *text)
}

/// The answer to a request for a file.
pub(crate) fn answer(version: &str, name: &str) -> Response {
    let found = FILES.iter().find(|(own, _, _)| *own == name);
    let Some((_, kind, text)) = found.filter(|_| version == VERSION.as_str()) else {
        let text = "The console has no such file; load the page again.";
        return shell::bare(Refusal::NotFound, "No such file", text);
    };
    let mut response = answer::bytes(StatusCode::OK, kind, *text);
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, kept);
    response
}
