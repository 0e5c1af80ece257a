//! Numbers that look random and are the same in every run.

/// A stream of numbers that is the same for the same seed (xorshift).
pub struct Chance(u64);

impl Chance {
    /// The stream of a seed; 0 counts as 1.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    /// One of some choices.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len());
        *choices.get(at).unwrap()
    }
}
