//! Characters that cannot be seen, or that change how the text around them is read: pages show a sign of each instead.

/// Whether a character cannot be seen, or changes the direction of others.
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// What is shown instead: Unicode has a picture of each control character of ASCII.
pub fn sign(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{FFFD}'),
        0x7F => '\u{2421}',
        _ => '\u{FFFD}',
    }
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, sign};

    #[test]
    fn what_cannot_be_seen_is_hidden_and_has_a_sign() {
        for seen in ['a', ' ', '\n', '\t', 'ü', '日', 'ע', '\u{1F600}'] {
            assert!(!is_hidden(seen), "{seen:?}");
        }
        for (hidden, shown) in
            [('\0', '␀'), ('\u{7f}', '␡'), ('\u{202E}', '\u{FFFD}'), ('\u{E0041}', '\u{FFFD}')]
        {
            assert!(is_hidden(hidden), "{hidden:?}");
            assert_eq!(sign(hidden), shown);
        }
    }
}
