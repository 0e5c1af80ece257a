//! Searches a file of redb for keys and their bytes, without redb.
//!
//! ```text
//! leaf   1   (unused) 1   count 2   ends of the keys, 4 each   ends of the bytes, 4 each   keys   bytes
//! ```
//!
//! Numbers begin with their lowest byte, and ends are counted from the beginning of the page. A page may be in use, or
//! be left from some time ago: nobody can tell by the page itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Every page begins at a multiple of this.
const PAGE: usize = 4096;

/// What a leaf begins with.
const LEAF: u8 = 1;

/// The longest leaf that is read: longer than one with the largest item.
const LEAF_BYTES_MAX: usize = 4 << 20;

/// Hands every key and its bytes to a function that a page of the file seems to have.
pub(crate) fn search(path: &Path, found: &mut dyn FnMut(&[u8], &[u8])) -> io::Result<()> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut offset = 0u64;
    let mut page = Vec::new();
    while offset < len {
        page.resize(PAGE, 0);
        let count = read(&file, offset, &mut page)?;
        page.truncate(count);
        if page.first() == Some(&LEAF) {
            if let Some(end) = end(&page).filter(|end| *end > PAGE && *end <= LEAF_BYTES_MAX) {
                page.resize(end, 0);
                let count = read(&file, offset, &mut page)?;
                page.truncate(count);
            }
            leaf(&page, found);
        }
        offset = offset.saturating_add(u64::try_from(PAGE).unwrap_or(u64::MAX));
    }
    Ok(())
}

/// Reads as much as there is.
fn read(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = out.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX))) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

fn count(page: &[u8]) -> Option<usize> {
    let (_, rest) = page.split_at_checked(2)?;
    rest.first_chunk().map(|count| usize::from(u16::from_le_bytes(*count)))
}

/// One of the ends, of which there are twice as many as keys.
fn nth_end(page: &[u8], nth: usize) -> Option<usize> {
    let end = page.get(4 + 4 * nth..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*end)).ok()
}

/// Where a leaf ends.
fn end(page: &[u8]) -> Option<usize> {
    nth_end(page, (2 * count(page)?).checked_sub(1)?)
}

fn leaf(page: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) {
    let Some(count) = count(page).filter(|count| *count > 0) else { return };
    let Some(bytes_start) = nth_end(page, count - 1) else { return };
    for nth in 0..count {
        let before = |first: usize, of: usize| match nth {
            0 => Some(first),
            _ => nth_end(page, of + nth - 1),
        };
        let key = before(4 + 8 * count, 0).zip(nth_end(page, nth));
        let bytes = before(bytes_start, count).zip(nth_end(page, count + nth));
        let part = |(start, end): (usize, usize)| page.get(start..end);
        if let (Some(key), Some(bytes)) = (key.and_then(part), bytes.and_then(part)) {
            found(key, bytes);
        }
    }
}
