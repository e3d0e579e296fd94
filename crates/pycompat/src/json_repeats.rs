//! Keys that come more than once in an object.

use super::json_fields::as_python;
use xxhash_rust::xxh3::xxh3_64;

/// What is remembered of a key: equal texts have equal hashes, however they are escaped.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenKey {
    hash: u64,
}

/// Up to so many keys are compared each with each.
const FEW: usize = 16;

impl SeenKey {
    /// Of a key as it stands between its quotes.
    pub(super) fn new(key: &[u8]) -> Self {
        Self { hash: xxh3_64(&as_python(key)) }
    }
}

/// One key that comes more than once: the first place, the last place, and all places but the first.
pub(super) type Repeat = (usize, usize, Vec<usize>);

/// Appends which of the keys of one object come more than once. Hashes only say where to look: the keys are compared.
pub(super) fn repeats<'a>(seen: &[SeenKey], key_at: impl Fn(usize) -> &'a [u8], out: &mut Vec<Repeat>) {
    let is_unlikely = seen.len() <= FEW && {
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
        // Keys that were made to have one hash are told apart without comparing each with each.
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
