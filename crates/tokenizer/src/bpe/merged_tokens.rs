//! Finds the tokens that result from merging their own bytes.
//!
//! A merge may be unreachable, because the bytes of its product may be merged in another way. To decide whether its two parts become
//! neighbours, merges are undone: the later of the last merges of both parts is undone, and the two symbols that are then adjacent must not
//! be a pair that merges earlier. This requires that a token results from merges in the order of their ranks, which is true if each merge
//! has a higher rank than all merges that produce its parts.

use super::pairs::{Merge, Pairs};
use super::symbols::NONE;

/// The merge that produces a token.
#[derive(Clone, Copy, Debug)]
struct Token {
    left: u32,
    right: u32,
    /// The rank of its last merge plus one; 0 for a byte.
    last_join: u32,
}

/// Tokens that result from merging their bytes.
#[derive(Debug)]
pub(super) struct MergedTokens(Vec<Option<Token>>);

impl MergedTokens {
    /// Computes these tokens from the ids of bytes and the merges in the order of ranks. Returns `None` if a merge has a lower rank than a
    /// merge that produces one of its parts.
    pub(super) fn new(bytes: &[u32; 256], merges: &[Merge], pairs: &Pairs) -> Option<Self> {
        let bytes = bytes.iter().copied().filter(|id| *id != NONE);
        let count = merges.iter().map(|merge| merge.product).chain(bytes.clone()).max()? as usize + 1;
        let mut last = vec![0; count];
        for (merge, rank) in merges.iter().zip(1_u32..) {
            *last.get_mut(merge.product as usize)? = rank;
        }
        let is_made_before =
            |part: u32, rank: usize| last.get(part as usize).is_some_and(|last| *last as usize <= rank);
        let mut ranked = merges.iter().enumerate();
        if !ranked.all(|(rank, merge)| is_made_before(merge.left, rank) && is_made_before(merge.right, rank)) {
            return None;
        }
        let mut made = Self(vec![None; count]);
        for id in bytes {
            *made.0.get_mut(id as usize)? = Some(Token { left: NONE, right: NONE, last_join: 0 });
        }
        for (rank, Merge { left, right, product }) in merges.iter().enumerate() {
            let is_reached = pairs.rank(*left, *right) == rank as u32 && made.can_be_neighbours(pairs, *left, *right);
            if !made.has(*product) && is_reached {
                *made.0.get_mut(*product as usize)? =
                    Some(Token { left: *left, right: *right, last_join: rank as u32 + 1 });
            }
        }
        Some(made)
    }

    fn get(&self, id: u32) -> Option<&Token> {
        self.0.get(id as usize)?.as_ref()
    }

    /// Whether a token results from merging its bytes.
    pub(super) fn has(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// Whether two tokens become neighbours in a text that consists of their bytes.
    fn can_be_neighbours(&self, pairs: &Pairs, mut left: u32, mut right: u32) -> bool {
        loop {
            let (Some(first), Some(second)) = (self.get(left), self.get(right)) else { return false };
            // Of two merges with equal ranks, the left one was done first.
            let is_right = second.last_join >= first.last_join;
            let made = first.last_join.max(second.last_join);
            if made == 0 {
                return true;
            }
            (left, right) = if is_right { (left, second.left) } else { (first.right, right) };
            // Of pairs with equal ranks, the leftmost is merged first, and these two symbols are to the left of a merge in the right token.
            if pairs.rank(left, right) < made - u32::from(!is_right) {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::RandomNumbers;
    use std::collections::HashMap;

    /// Merges symbols by the definition of the algorithm.
    fn joined(mut symbols: Vec<u32>, ranks: &HashMap<(u32, u32), u32>, merges: &[Merge]) -> Vec<u32> {
        loop {
            let known =
                symbols.windows(2).enumerate().filter_map(|(at, two)| Some((*ranks.get(&(two[0], two[1]))?, at)));
            let Some((rank, at)) = known.min() else { return symbols };
            symbols.splice(at..at + 2, [merges[rank as usize].product]);
        }
    }

    #[test]
    fn token_is_reachable_only_if_merging_its_bytes_gives_it() {
        let mut dice = RandomNumbers(3);
        let (mut reached, mut missed, mut refused) = (0, 0, 0);
        for round in 0..300 {
            // Three bytes, and products of random pairs of known tokens. Some products have two pairs, and some merges are out of order.
            let mut bytes = [NONE; 256];
            (0..3).for_each(|byte| bytes[byte] = byte as u32);
            let mut spelled: Vec<Vec<u32>> = (0..3).map(|byte| vec![byte]).collect();
            let mut merges: Vec<Merge> = Vec::new();
            for _ in 0..3 + dice.roll(25) {
                let (left, right) = (dice.roll(spelled.len()), dice.roll(spelled.len()));
                let whole = [spelled[left].as_slice(), &spelled[right]].concat();
                let known = spelled.iter().position(|known| *known == whole);
                let product = known.unwrap_or_else(|| {
                    spelled.push(whole);
                    spelled.len() - 1
                });
                let merge = Merge { left: left as u32, right: right as u32, product: product as u32 };
                if !merges.contains(&merge) {
                    merges.push(merge);
                }
            }
            if round % 5 == 0 {
                let (one, other) = (dice.roll(merges.len()), dice.roll(merges.len()));
                merges.swap(one, other);
            }
            let pairs = Pairs::new(&merges).unwrap();
            let ranks = merges.iter().zip(0..).map(|(merge, rank)| ((merge.left, merge.right), rank)).collect();
            let Some(made) = MergedTokens::new(&bytes, &merges, &pairs) else {
                refused += 1;
                continue;
            };
            for (id, spelled) in spelled.iter().enumerate() {
                let is_made = joined(spelled.clone(), &ranks, &merges) == [id as u32];
                assert_eq!(made.has(id as u32), is_made, "{id} {spelled:?} {merges:?}");
                *(if is_made { &mut reached } else { &mut missed }) += 1;
            }
        }
        assert!(reached > 1_000 && missed > 100 && refused > 5, "{reached} {missed} {refused}");
    }
}
