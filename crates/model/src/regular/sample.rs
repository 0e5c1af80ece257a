//! Texts that a pattern matches, for whoever needs some.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Of how many characters of a class one is chosen.
const CHARS_MAX: usize = 128;

/// A text that a pattern matches as a whole. Each number chooses otherwise, so another number mostly gives another
/// text. None where the number's text is longer than it may be, or does not match: a pattern may ask for a border
/// between words where there is none.
pub fn sample(like: &str, bytes_max: u64, number: usize) -> Option<String> {
    let hir = super::like::hir(like).ok()?;
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let mut writing = Writing { text: String::new(), bytes_max, number };
    writing.part(&hir)?;
    crate::pattern(like).ok()?.is_match(&writing.text).then_some(writing.text)
}

struct Writing {
    text: String,
    bytes_max: usize,
    /// What the choices that are still to be made come from.
    number: usize,
}

impl Writing {
    fn part(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let chars = chars(class);
                let chosen = self.choose(chars.len());
                self.text.push(*chars.get(chosen)?);
            }
            HirKind::Capture(capture) => self.part(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.part(part))?,
            HirKind::Alternation(parts) => {
                let chosen = self.choose(parts.len());
                self.part(parts.get(chosen)?)?;
            }
            HirKind::Repetition(repetition) => {
                // Once, where it need not be there at all: an empty text is a poor value.
                let count = repetition.min.max(1).min(repetition.max.unwrap_or(u32::MAX));
                for _ in 0..count {
                    let before = self.text.len();
                    self.part(&repetition.sub)?;
                    if self.text.len() == before {
                        break;
                    }
                }
            }
        }
        (self.text.len() <= self.bytes_max).then_some(())
    }

    /// One of so many choices.
    fn choose(&mut self, count: usize) -> usize {
        let count = count.max(1);
        let chosen = self.number % count;
        self.number /= count;
        chosen
    }
}

/// Characters of a class: letters and digits if it has some, and else what can be seen.
fn chars(class: &Class) -> Vec<char> {
    let all: Vec<char> = match class {
        Class::Unicode(class) => {
            class.iter().flat_map(|range| range.start()..=range.end()).take(CHARS_MAX).collect()
        }
        Class::Bytes(class) => {
            let bytes = class.iter().flat_map(|range| range.start()..=range.end());
            bytes.take(CHARS_MAX).map(char::from).collect()
        }
    };
    let kinds = [char::is_ascii_alphanumeric, char::is_ascii_graphic];
    let some = kinds.iter().map(|is| all.iter().copied().filter(is).collect::<Vec<_>>());
    some.into_iter().find(|some| !some.is_empty()).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn a_sample_matches_and_another_number_gives_another() {
        for like in [
            "[A-Z]{3}-[0-9]{4}",
            "(red|green) [a-z]+",
            r"\w{2,}@\w+\.(org|com)",
            "[^a-z]{3}",
            "..",
            "ä[ö-ü]*",
        ] {
            let samples: Vec<_> = (0..2).filter_map(|number| sample(like, 20, number)).collect();
            assert_eq!(samples.len(), 2, "{like}");
            assert_ne!(samples[0], samples[1], "{like}");
            for text in samples {
                assert!(crate::pattern(like).unwrap().is_match(&text), "{like}: {text}");
            }
        }
    }

    #[test]
    fn there_is_no_sample_where_none_fits() {
        assert_eq!(sample("[a-z]{9}", 8, 0), None);
        assert_eq!(sample(r"a\bb", 8, 0), None);
        assert_eq!(sample("(", 8, 0), None);
        assert_eq!(sample("[a-z]{1000}", u64::MAX, 0).map(|text| text.len()), Some(1000));
        assert_eq!(sample("a{0}", 8, 0).as_deref(), Some(""));
    }
}
