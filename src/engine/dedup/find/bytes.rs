//! How far two texts agree.

/// Bytes compared in one step.
const STEP: usize = 32;

/// How many bytes agree from the start on.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (left, _) = a.as_chunks::<STEP>();
    let (right, _) = b.as_chunks::<STEP>();
    let same = STEP * left.iter().zip(right).take_while(|(a, b)| a == b).count();
    same + a.iter().skip(same).zip(b.iter().skip(same)).take_while(|(a, b)| a == b).count()
}

/// How many bytes agree from the end backwards.
pub(super) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let (_, left) = a.as_rchunks::<STEP>();
    let (_, right) = b.as_rchunks::<STEP>();
    let same = STEP * left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    same + a.iter().rev().skip(same).zip(b.iter().rev().skip(same)).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
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
