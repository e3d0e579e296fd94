//! The ids of a word in one or two numbers.

/// Ids in a number, and in both.
pub(super) const FEW: usize = 3;
pub(super) const MORE: usize = 2 * FEW;

/// Bits of an id; larger ones do not fit.
const BITS: u32 = 20;
const ID: u64 = (1 << BITS) - 1;
/// The number of ids stands above them, in the first.
const COUNT: u32 = FEW as u32 * BITS;
/// In the place of it: the word has more than fit here, and is among the longer ones.
const ELSEWHERE: u64 = 15 << COUNT;

/// The ids of a word; zeros where there is no word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(pub(super) [u64; 2]);

impl Packed {
    /// The word is among longer ones, as its ids do not fit.
    pub(super) const ELSEWHERE: Self = Self([ELSEWHERE, 0]);

    /// Of these, at least one and at most [`MORE`], if they fit.
    pub(super) fn new(ids: &[u32]) -> Option<Self> {
        if ids.is_empty() || ids.len() > MORE || ids.iter().any(|id| u64::from(*id) > ID) {
            return None;
        }
        let part = |from: usize| {
            let part = ids.iter().skip(from).take(FEW).rev();
            part.fold(0, |all, id| all << BITS | u64::from(*id))
        };
        Some(Self([part(0) | (ids.len() as u64) << COUNT, part(FEW)]))
    }

    /// As they are kept, in one number or two.
    #[inline]
    pub(super) fn of<const N: usize>(kept: [u64; N]) -> Self {
        Self(std::array::from_fn(|at| kept.get(at).copied().unwrap_or_default()))
    }

    /// Whether there is no word.
    #[inline]
    pub(super) fn is_none(self) -> bool {
        self.0[0] == 0
    }

    /// Whether there are ids; a word may be there whose ids are among those of longer words.
    #[inline]
    pub(super) fn has_ids(self) -> bool {
        self.0[0].wrapping_sub(1) < ELSEWHERE - 1
    }

    /// Appends the ids: all places of a number, and then as many are taken off as are not used.
    #[inline]
    pub(super) fn put(self, out: &mut Vec<u32>) {
        let places = |number: u64| std::array::from_fn::<u32, FEW, _>(|at| (number >> (at as u32 * BITS) & ID) as u32);
        let length = out.len() + (self.0[0] >> COUNT) as usize;
        out.extend_from_slice(&places(self.0[0]));
        if length > out.len() {
            out.extend_from_slice(&places(self.0[1]));
        }
        out.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_out_as_they_were_put_in() {
        for count in 1..=MORE {
            let ids: Vec<u32> = (0..count as u32).map(|at| ID as u32 - at * 77_777).collect();
            let packed = Packed::new(&ids).unwrap();
            let mut out = vec![9];
            packed.put(&mut out);
            assert_eq!((out[0], &out[1..]), (9, ids.as_slice()));
            assert!(packed.has_ids() && !packed.is_none());
            // Those of a tiny word stand in one number.
            assert_eq!(Packed::of([packed.0[0]]) == packed, count <= FEW);
        }
        let zeros = Packed::new(&[0, 0]).unwrap();
        assert!(zeros.has_ids());
        for ids in [&[][..], &[0; MORE + 1], &[ID as u32 + 1]] {
            assert_eq!(Packed::new(ids), None);
        }
        assert!(!Packed::ELSEWHERE.has_ids() && !Packed::ELSEWHERE.is_none());
        assert!(!Packed::default().has_ids() && Packed::default().is_none());
    }
}
