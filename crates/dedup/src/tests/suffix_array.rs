//! Compares the result for two megabytes of words with a suffix array. The benchmark `dedup` does the same for a hundred megabytes.

use super::super::all::SEPARATOR;
use super::super::{find_all, Rule};
use super::oracle::RandomNumbers;
use gristmill_core::dedup::Keep;

#[path = "../../../../benches/suffix.rs"]
mod suffix;

#[test]
fn ranges_match_a_suffix_array() {
    let mut dice = RandomNumbers(99);
    let lexicon: Vec<String> = (0..3000)
        .map(|_| (0..1 + dice.below(9)).map(|_| char::from(b'a' + dice.below(26) as u8)).collect::<String>() + " ")
        .collect();
    let mut text: Vec<u8> = Vec::new();
    while text.len() < 2_000_000 {
        let earlier = text.len() as u64;
        text.push(SEPARATOR);
        for _ in 0..1 + dice.below(6) {
            if dice.below(4) == 0 && earlier > 0 {
                let start = dice.below(earlier) as usize;
                let some: Vec<u8> = text[start..].iter().take(dice.below(900) as usize).copied().collect();
                text.extend(some.into_iter().filter(|byte| *byte != SEPARATOR));
            }
            for _ in 0..dice.below(60) {
                // Small numbers are much more frequent.
                let word = dice.below(3000) * dice.below(3000) * dice.below(3000) / 9_000_000;
                text.extend_from_slice(lexicon[word as usize].as_bytes());
            }
        }
    }
    for min_length in [14, 30, 100, 500] {
        let found = find_all(&text, &Rule { min_length, keep: Keep::First, min_count: 2 }).unwrap();
        let found: Vec<(u64, u64)> = found.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(found, suffix::ranges(&text, min_length as usize), "{min_length}");
        assert!(found.len() > 100, "{min_length}");
    }
}
