//! Text that was stored or written by anyone, made fit to be shown.
//!
//! Markup is escaped where pages are made. What is left are characters that cannot be seen, or that change how the text
//! around them is read: they are shown as signs of their own.

use std::borrow::Cow;

use latchkey_value::hidden::{is_hidden, sign};
use maud::PreEscaped;

/// A text in which every character can be seen and none turns another around.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if is_hidden(c) { sign(c) } else { c }).collect::<String>().into()
}

/// The same for the text of an element, where quotes need no escape: much of a page with JSON in it is quotes.
pub(crate) fn content(text: &str) -> PreEscaped<String> {
    let text = shown(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    PreEscaped(out)
}

#[cfg(test)]
mod tests {
    use super::{content, shown};

    #[test]
    fn what_cannot_be_seen_has_a_sign() {
        assert_eq!(shown("plain <b> ü 日本 עברית"), "plain <b> ü 日本 עברית");
        assert_eq!(shown("a\u{0}b\u{1b}[31m\u{7f}"), "a␀b␛[31m␡");
        assert_eq!(shown("evil\u{202E}gpj.exe"), "evil\u{FFFD}gpj.exe");
        for hidden in
            ['\u{AD}', '\u{61C}', '\u{2028}', '\u{180E}', '\u{3164}', '\u{FFF9}', '\u{E0041}']
        {
            assert_eq!(shown(&format!("a{hidden}b")), "a\u{FFFD}b", "{hidden:?}");
        }
    }

    #[test]
    fn content_is_no_markup() {
        assert_eq!(content("<b a=\"x\">&\u{0}").into_string(), "&lt;b a=\"x\"&gt;&amp;␀");
    }
}
