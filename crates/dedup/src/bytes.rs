//! Lengths of common prefixes and suffixes.

/// Number of bytes that are compared in one step.
const BYTES_PER_STEP: usize = 32;

/// Size of a word in bytes. The first difference in a word is found with one operation.
const WORD_BYTES: usize = 8;

/// Returns the length of the common prefix in bytes.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (left, _) = a.as_chunks::<BYTES_PER_STEP>();
    let (right, _) = b.as_chunks::<BYTES_PER_STEP>();
    let mut same = BYTES_PER_STEP * left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(same..).unwrap_or_default(), b.get(same..).unwrap_or_default());
    for (a, b) in a.as_chunks::<WORD_BYTES>().0.iter().zip(b.as_chunks::<WORD_BYTES>().0) {
        let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differs != 0 {
            return same + differs.trailing_zeros() as usize / 8;
        }
        same += WORD_BYTES;
    }
    let most = a.len().min(b.len());
    let rest = most - most % WORD_BYTES;
    same + a.iter().skip(rest).zip(b.iter().skip(rest)).take_while(|(a, b)| a == b).count()
}

/// Returns the length of the common suffix in bytes.
#[inline]
pub(super) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let (_, left) = a.as_rchunks::<BYTES_PER_STEP>();
    let (_, right) = b.as_rchunks::<BYTES_PER_STEP>();
    let mut same = BYTES_PER_STEP * left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same.min(a.len())], &b[..b.len() - same.min(b.len())]);
    for (a, b) in a.as_rchunks::<WORD_BYTES>().1.iter().rev().zip(b.as_rchunks::<WORD_BYTES>().1.iter().rev()) {
        let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differs != 0 {
            return same + differs.leading_zeros() as usize / 8;
        }
        same += WORD_BYTES;
    }
    let most = a.len().min(b.len());
    let rest = most - most % WORD_BYTES;
    same + a.iter().rev().skip(rest).zip(b.iter().rev().skip(rest)).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefix_and_suffix_end_at_the_first_difference() {
        let text = [b'x'; 100];
        for len in [0, 1, 31, 32, 33, 64, 100] {
            assert_eq!(common_prefix(&text[..len], &text), len);
            assert_eq!(common_suffix(&text, &text[..len]), len);
            for wrong in 0..len {
                let mut other = text[..len].to_vec();
                other[wrong] = b'y';
                assert_eq!(common_prefix(&other, &text), wrong);
                assert_eq!(common_suffix(&other, &text), len - 1 - wrong);
            }
        }
    }
}
