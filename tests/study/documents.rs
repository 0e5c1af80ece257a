//! The documents of the study.

/// A document that is shipped.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    /// Its name.
    pub name: &'static str,
    /// Its text, without its demo.
    pub text: &'static str,
}

/// The documents that are shipped.
pub const DOCUMENTS: [Document; 3] = [
    Document {
        name: "smartlocker",
        text: without_demo(include_str!("../../systems/smartlocker.md")),
    },
    Document { name: "locations", text: without_demo(include_str!("../../systems/locations.md")) },
    Document {
        name: "participation",
        text: without_demo(include_str!("../../systems/participation.md")),
    },
];

/// A document without its demo, which is its last block: a mutant is to be caught by a rule or an example, and not
/// because a request of the demo no longer fits.
const fn without_demo(text: &'static str) -> &'static str {
    let mut rest = text.as_bytes();
    while let Some((_, before)) = rest.split_last() {
        if let Some(b"\n```demo\n") = rest.last_chunk() {
            return text.split_at(rest.len() - "```demo\n".len()).0;
        }
        rest = before;
    }
    text
}
