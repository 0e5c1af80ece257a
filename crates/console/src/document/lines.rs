//! The lines of a document.

/// Where each line of a text begins.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn new(text: &str) -> Lines {
        let ends = text.char_indices().filter(|(_, c)| *c == '\n').map(|(at, _)| at + 1);
        Lines(std::iter::once(0).chain(ends).collect())
    }

    /// The line that a byte is in, counted from 1.
    pub(crate) fn of(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new("ab\n\nc");
        let of: Vec<usize> = (0..6).map(|at| lines.of(at)).collect();
        assert_eq!(of, [1, 1, 1, 2, 3, 3]);
    }
}
