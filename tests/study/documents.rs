//! The documents of the study.

/// A document that is shipped.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The documents that are shipped.
pub const DOCUMENTS: [Document; 3] = [
    Document { name: "smartlocker", text: include_str!("../../systems/smartlocker.md") },
    Document { name: "locations", text: include_str!("../../systems/locations.md") },
    Document { name: "participation", text: include_str!("../../systems/participation.md") },
];
