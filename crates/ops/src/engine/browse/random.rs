//! Reproducible random samples: the same seed and number of samples give the same selection.

use super::{Groups, Matches, SampleAt};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the `nth` number below `total` for a seed, uniformly distributed; `None` if `total` is 0.
pub fn number(seed: u64, nth: u64, total: u64) -> Option<u64> {
    if total == 0 {
        return None;
    }
    let bits = xxh3_64_with_seed(&nth.to_le_bytes(), seed);
    u64::try_from((u128::from(bits) * u128::from(total)) >> 64).ok()
}

/// Returns the `nth` random sample: of the matches if a filter is set, otherwise of all samples.
pub fn sample(groups: &Groups, matches: Option<&Matches>, seed: u64, nth: u64) -> Option<SampleAt> {
    match matches {
        Some(matches) => matches.select(number(seed, nth, matches.total())?),
        None => groups.locate(number(seed, nth, groups.total())?),
    }
}

/// Returns up to `count` distinct random samples, in the order of drawing.
pub fn distinct(groups: &Groups, matches: Option<&Matches>, seed: u64, count: usize) -> Vec<SampleAt> {
    let total = matches.map_or_else(|| groups.total(), Matches::total);
    let count = usize::try_from(total).unwrap_or(usize::MAX).min(count);
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    // When nearly all samples are requested, the last ones are rarely drawn, so the remaining ones are then added in order.
    let draws = (count as u64).saturating_mul(20).saturating_add(100);
    let numbers = (0..draws).filter_map(|nth| number(seed, nth, total)).chain(0..total);
    for number in numbers {
        if found.len() >= count {
            break;
        }
        if seen.insert(number) {
            found.extend(matches.map_or_else(|| groups.locate(number), |matches| matches.select(number)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;

    fn groups(samples: u64) -> Groups {
        let group = Group { name: "a".into(), samples, is_counted: true, bytes: 0, failure: None };
        Groups::new(1, vec![group], true)
    }

    #[test]
    fn random_draw_is_reproducible_by_seed() {
        let groups = groups(1_000_000);
        let drawn = distinct(&groups, None, 7, 20);
        assert_eq!(drawn, distinct(&groups, None, 7, 20));
        assert_eq!(drawn[0], sample(&groups, None, 7, 0).unwrap());
        assert_ne!(drawn, distinct(&groups, None, 8, 20));
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 20);
    }

    #[test]
    fn random_draw_beyond_the_number_of_samples_gives_all_of_them() {
        assert_eq!(distinct(&groups(5), None, 3, 9).len(), 5);
        assert_eq!(distinct(&groups(0), None, 3, 9), []);
        assert_eq!(distinct(&groups(5), Some(&Matches::default()), 3, 9), []);
        assert_eq!(sample(&groups(0), None, 1, 1), None);
    }

    #[test]
    fn random_numbers_are_spread_over_the_whole_range() {
        let mut tenths = [0u32; 10];
        for nth in 0..10_000 {
            tenths[(number(42, nth, 1_000).unwrap() / 100) as usize] += 1;
        }
        assert!(tenths.iter().all(|&count| (850..1_150).contains(&count)), "{tenths:?}");
    }
}
