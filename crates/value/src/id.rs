//! Ids and ULIDs: texts of few characters, none of which can forge a key.

/// The longest id.
pub const ID_BYTES_MAX: usize = 128;

/// The length of a ULID.
pub const ULID_BYTES: usize = 26;

/// Whether an id can have this byte.
pub fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._:@|-".contains(&byte)
}

/// Whether a text is an id: 1 to 128 of `A-Z a-z 0-9 . _ : @ | -`.
///
/// ```
/// use latchkey_value::id;
/// assert!(id::is_id("user:7@example"));
/// assert!(!id::is_id("user#7"));
/// ```
pub fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_id_byte)
}

/// Whether a caller may give a text as an id: an id that a path can carry. Clients of HTTP take `.` and `..` in a path
/// for directories, encoded or not, so nobody could ask for an item of that id. Stored ids may be such texts: earlier
/// versions took them.
///
/// ```
/// use latchkey_value::id;
/// assert!(id::is_given_id("...") && !id::is_given_id("..") && !id::is_given_id("user#7"));
/// ```
pub fn is_given_id(text: &str) -> bool {
    is_id(text) && !matches!(text, "." | "..")
}

/// Whether a ULID can have this byte.
pub fn is_ulid_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(&byte))
}

/// Whether a text is a ULID. Its first character holds three bits only.
pub fn is_ulid(text: &str) -> bool {
    text.len() == ULID_BYTES
        && text.bytes().all(is_ulid_byte)
        && text.starts_with(|c: char| ('0'..='7').contains(&c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_is_what_its_pattern_says(text in "([A-Za-z0-9._:@|-]{0,130}|.{0,10}|[a-z#]{1,5})") {
            let letters = |c: char| c.is_ascii_alphanumeric() || "._:@|-".contains(c);
            let expected = !text.is_empty() && text.len() <= 128 && text.chars().all(letters);
            prop_assert_eq!(is_id(&text), expected);
            prop_assert!(!is_id(&text) || !text.contains('#'));
        }

        #[test]
        fn a_ulid_is_one_that_can_be_made(
            text in "([0-9A-HJKMNP-TV-Z]{25,27}|[0-9A-Za-z]{26}|.{26})"
        ) {
            let made = text.parse::<ulid::Ulid>().is_ok_and(|ulid| ulid.to_string() == text);
            prop_assert_eq!(is_ulid(&text), made, "{}", text);
        }
    }
}
