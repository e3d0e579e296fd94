//! Finds repeated keys of an object. Compares texts, regardless of escapes.

use super::json_text::as_python;
use xxhash_rust::xxh3::xxh3_64;

/// The stored hash of a key: equal texts have equal hashes, regardless of escapes.
#[derive(Clone, Copy, Debug)]
pub struct KeyFingerprint {
    hash: u64,
}

/// Maximum number of keys for which every key is compared with every other.
const MAX_PAIRWISE_KEYS: usize = 16;

impl KeyFingerprint {
    /// Returns the fingerprint of a key, as written between its quotes.
    pub fn new(key: &[u8]) -> Self {
        Self { hash: xxh3_64(&as_python(key)) }
    }
}

/// A repeated key: the index of its first occurrence, of its last occurrence, and of all occurrences except the first.
pub type Repeat = (usize, usize, Vec<usize>);

/// Appends the repeated keys of one object. Hashes only select candidates; the keys themselves are compared.
pub fn repeats<'a>(seen: &[KeyFingerprint], key_at: impl Fn(usize) -> &'a [u8], out: &mut Vec<Repeat>) {
    let is_unlikely = seen.len() <= MAX_PAIRWISE_KEYS && {
        let mut rest = seen;
        loop {
            let Some((first, others)) = rest.split_first() else { break true };
            if others.iter().any(|other| other.hash == first.hash) {
                break false;
            }
            rest = others;
        }
    };
    if is_unlikely {
        return;
    }
    let mut order: Vec<(u64, usize)> = seen.iter().enumerate().map(|(at, key)| (key.hash, at)).collect();
    order.sort_unstable();
    for same in order.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        // Sorting is fast even if many keys were crafted to have the same hash.
        let mut keys: Vec<_> = same.iter().map(|(_, at)| (as_python(key_at(*at)), *at)).collect();
        keys.sort_unstable();
        for group in keys.chunk_by(|a, b| a.0 == b.0) {
            if let [(_, first), others @ ..] = group {
                if let Some((_, last)) = others.last() {
                    out.push((*first, *last, others.iter().map(|(_, at)| *at).collect()));
                }
            }
        }
    }
}
