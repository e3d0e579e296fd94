use super::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::Path;

fn vectors() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets/numpy_vectors.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Parses `seed=42,n=10`.
fn seed_and_count(key: &str) -> (u64, u64) {
    let (seed, count) = key.split_once(',').unwrap();
    (seed.strip_prefix("seed=").unwrap().parse().unwrap(), count.strip_prefix("n=").unwrap().parse().unwrap())
}

fn numbers(value: &Value) -> Vec<u64> {
    let number = |v: &Value| v.as_u64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap());
    value.as_array().unwrap().iter().map(number).collect()
}

fn hash(numbers: impl Iterator<Item = u64>) -> String {
    let mut hash = Sha256::new();
    numbers.for_each(|n| hash.update(n.to_le_bytes()));
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn each(vectors: &Value, name: &str, mut check: impl FnMut(&str, &Value)) {
    let cases = vectors[name].as_object().unwrap();
    assert!(!cases.is_empty());
    cases.iter().for_each(|(key, expected)| check(key, expected));
}

fn legacy_shuffled(key: &str) -> Vec<u64> {
    let (seed, count) = seed_and_count(key);
    let mut items: Vec<u64> = (0..count).collect();
    RandomState::seeded(seed as u32).shuffle(&mut items);
    items
}

#[test]
fn random_numbers_match_the_numpy_vectors() {
    let vectors = vectors();
    each(&vectors, "mt_first_u32", |key, expected| {
        let mut state = RandomState::seeded(key.parse().unwrap());
        assert_eq!((0..6).map(|_| u64::from(state.next_u32())).collect::<Vec<_>>(), numbers(expected), "{key}");
    });
    each(&vectors, "seedsequence_4xu64", |key, expected| {
        assert_eq!(SeedSequence::new(key.parse().unwrap()).words::<4>().to_vec(), numbers(expected), "{key}");
    });
    each(&vectors, "pcg64_first_u64", |key, expected| {
        let mut generator = Generator::seeded(key.parse().unwrap());
        assert_eq!((0..4).map(|_| generator.next_u64()).collect::<Vec<_>>(), numbers(expected), "{key}");
    });
    each(&vectors, "mt_shuffle_arange", |key, expected| assert_eq!(legacy_shuffled(key), numbers(expected), "{key}"));
    each(&vectors, "mt_shuffle_sha256_u64le", |key, expected| {
        assert_eq!(hash(legacy_shuffled(key).into_iter()), expected.as_str().unwrap(), "{key}");
    });
    each(&vectors, "pcg_permutation", |key, expected| {
        let (seed, count) = seed_and_count(key);
        let order = Generator::seeded(seed).permutation(count);
        assert_eq!(order.iter().collect::<Vec<_>>(), numbers(expected), "{key}");
    });
    each(&vectors, "pcg_permutation_sha256_u64le", |key, expected| {
        let (seed, count) = seed_and_count(key);
        assert_eq!(hash(Generator::seeded(seed).permutation(count).iter()), expected.as_str().unwrap(), "{key}");
    });
}

#[test]
fn unused_half_word_of_a_permutation_is_used_by_the_next_draw() {
    let mut generator = Generator::seeded(42);
    let first = generator.next_u32();
    let second = generator.next_u32();
    let word = Generator::seeded(42).next_u64();
    assert_eq!((first, second), (word as u32, (word >> 32) as u32));
    // Two items use one draw of 32 bits.
    let mut after = Generator::seeded(42);
    after.permutation(2);
    assert_eq!(after.next_u32(), second);
}

#[test]
fn permutation_of_fewer_than_two_items_draws_nothing() {
    let mut generator = Generator::seeded(7);
    assert!(generator.permutation(0).is_empty());
    assert_eq!(generator.permutation(1).iter().collect::<Vec<_>>(), [0]);
    assert_eq!(generator.next_u64(), Generator::seeded(7).next_u64());
}

/// Returns the given words in sequence, to test how large intervals are drawn.
struct CountedWords(Vec<u64>);

impl RandomWords for CountedWords {
    fn next32(&mut self) -> u32 {
        panic!("an interval beyond 32 bits draws 64");
    }
    fn next64(&mut self) -> u64 {
        self.0.remove(0)
    }
}

#[test]
fn intervals_beyond_32_bits_draw_64_bits_with_a_mask() {
    let mut words = CountedWords(vec![u64::MAX, (1 << 33) | 5, 3 << 40]);
    assert_eq!(words.interval(1 << 32), 0x0_0000_0005, "the first two are masked to 33 bits; the first is too large");
    assert_eq!(words.0.len(), 1);
    let mut legacy = RandomState::seeded(42);
    assert_eq!(legacy.next64(), (1_608_637_542 << 32) | 3_421_126_067);
}
