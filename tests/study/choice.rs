//! Which mutants are studied, and which are held back: by hashes, so that nobody chooses.

use std::collections::BTreeMap;

use crate::documents::DOCUMENTS;
use crate::mutant::{Mutant, Operator};
use crate::sites;

/// The most mutants of one operator in one document.
const EACH_MAX: usize = 9;

/// The share that is held back: one in so many.
const HELD_BACK: u64 = 5;

/// The mutants of a seed: of each operator in each document at most so many, in the order of the text.
pub fn mutants(seed: u64) -> Vec<Mutant> {
    let mut chosen = Vec::new();
    for (at, document) in DOCUMENTS.iter().enumerate() {
        let mut by_operator: BTreeMap<Operator, Vec<(u64, Mutant)>> = BTreeMap::new();
        for mut mutant in sites::mutants(at, document.text) {
            let number = drawn(seed, document.name, &mutant.text(document.text));
            mutant.held_back = number.is_multiple_of(HELD_BACK);
            by_operator.entry(mutant.operator).or_default().push((number >> 8, mutant));
        }
        for mut mutants in by_operator.into_values() {
            mutants.sort_by_key(|(number, _)| *number);
            mutants.truncate(EACH_MAX);
            let line = |mutant: &Mutant| mutant.line(document.text);
            mutants.sort_by_key(|(number, mutant)| (line(mutant), *number));
            chosen.extend(mutants.into_iter().map(|(_, mutant)| mutant));
        }
    }
    chosen
}

/// A number that a seed and a text decide (FNV-1a, mixed).
fn drawn(seed: u64, name: &str, text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for byte in name.bytes().chain(text.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
