//! A stable bucket sort.

/// Groups elements by bucket, preserving their order in a bucket. `bucket` returns which of the `buckets` an element belongs to. Bucket `n`
/// ends at `ends[n]` and starts where the previous bucket ends. `spare` and `ends` are reusable buffers.
pub(super) fn distribute<T: Copy>(
    things: &mut [T],
    spare: &mut Vec<T>,
    ends: &mut Vec<usize>,
    buckets: usize,
    bucket: impl Fn(&T) -> usize,
) {
    ends.clear();
    ends.resize(buckets, 0);
    for thing in things.iter() {
        ends[bucket(thing)] += 1;
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        sum += std::mem::replace(end, sum);
    }
    spare.clear();
    spare.extend_from_slice(things);
    for thing in spare.iter() {
        let end = &mut ends[bucket(thing)];
        things[*end] = *thing;
        *end += 1;
    }
}

/// Like [`distribute`], and also sorts each bucket by `key`.
pub(super) fn distribute_and_sort<T: Copy, K: Ord>(
    things: &mut [T],
    spare: &mut Vec<T>,
    ends: &mut Vec<usize>,
    buckets: usize,
    bucket: impl Fn(&T) -> usize,
    key: impl Fn(&T) -> K,
) {
    distribute(things, spare, ends, buckets, bucket);
    let mut start = 0;
    for end in ends.iter().copied() {
        things[start..end].sort_unstable_by_key(&key);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributes_items_to_buckets_in_stable_order() {
        let mix = |n: u64| super::super::window_hash::mix(n);
        let (mut spare, mut ends) = (Vec::new(), Vec::new());
        for count in [0_u64, 1, 2, 3, 100, 5_000] {
            for buckets in [1, 2, 16, 1 << 12] {
                let all: Vec<(u64, u64)> = (0..count).map(|n| (mix(n) % 97, n)).collect();
                let bucket = |thing: &(u64, u64)| (thing.0 % buckets as u64) as usize;
                let mut things = all.clone();
                distribute(&mut things, &mut spare, &mut ends, buckets, bucket);
                let mut expected = all.clone();
                expected.sort_by_key(bucket);
                assert_eq!(things, expected);
                assert_eq!(
                    ends,
                    (0..buckets).map(|b| all.iter().filter(|t| bucket(t) <= b).count()).collect::<Vec<_>>()
                );
                distribute_and_sort(&mut things, &mut spare, &mut ends, buckets, bucket, |thing| *thing);
                expected.sort_unstable_by_key(|thing| (bucket(thing), *thing));
                assert_eq!(things, expected);
            }
        }
    }
}
