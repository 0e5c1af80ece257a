//! Reading documents from disk.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use latchkey_language::DOCUMENT_BYTES_MAX;

/// The text of a document, or a message for whoever called.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read `{shown}`: {error}");
    let limit = u64::try_from(DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    // One byte more than is allowed, to tell a document that is too large from one that just fits.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(format!(
            "`{shown}` has more than {DOCUMENT_BYTES_MAX} bytes: split the document"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not UTF-8 text"))
}
