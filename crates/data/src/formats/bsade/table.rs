//! The suffix array of a shard (docs/formats/bsade.md §3): construction in memory, and verification.

use gristmill_core::{Cancel, Outcome};

/// Returns the size of a table entry in bytes: the smallest number of whole bytes that holds every position in a text of `bytes` bytes.
pub fn table_width(bytes: u64) -> u32 {
    let bits = if bytes < 2 { 0 } else { 64 - (bytes - 1).leading_zeros() };
    bits.div_ceil(8)
}

/// Returns the maximum memory, in bytes, for building the table of a shard of `bytes` bytes, including the text itself.
pub fn table_memory(bytes: u64) -> u64 {
    bytes.saturating_mul(16).saturating_add(1 << 20)
}

/// Returns a position in little-endian order; a table stores the first `width` of these bytes.
pub fn table_entry(place: u64) -> [u8; 8] {
    place.to_le_bytes()
}

/// Returns the suffix array of a text: the offsets of its suffixes in sorted order. A suffix that is a prefix of another one sorts before
/// it. Returns `None` for a text of 4 GiB or more.
pub fn build_table(text: &[u8], cancel: &Cancel) -> Outcome<Option<Vec<u32>>> {
    if u32::try_from(text.len()).is_err() {
        return Ok(None);
    }
    sorted(text, 255, cancel).map(Some)
}

/// A rank to which no suffix is assigned yet.
const NONE: u32 = u32::MAX;

/// A bit set with one bit per position of the text.
struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
    fn set(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }
}

fn read(values: &[u32], at: usize) -> u32 {
    values.get(at).copied().unwrap_or(NONE)
}

fn write(values: &mut [u32], at: usize, value: u32) {
    if let Some(place) = values.get_mut(at) {
        *place = value;
    }
}

/// Sorts suffixes by induced sorting (SA-IS). A suffix that is smaller than the next one has type S, a larger one type L. The leftmost S
/// suffixes of each run (LMS) are sorted as a text of their own, which is at most half as long; they determine the order of all others.
fn sorted<L: Copy + Into<u32>>(letters: &[L], largest: u32, cancel: &Cancel) -> Outcome<Vec<u32>> {
    cancel.check()?;
    let len = letters.len();
    let text = |at: usize| letters.get(at).map_or(0, |letter| (*letter).into());
    if len < 2 {
        return Ok((0..len as u32).collect());
    }
    let is_s = types_of_suffixes(len, text);
    let is_lms = |at: usize| at > 0 && is_s.get(at) && !is_s.get(at - 1);
    let (starts_l, starts_s) = first_ranks(len, largest, text, &is_s);

    let induce = |order: &mut Vec<u32>, lms: &[u32]| -> Outcome<()> {
        order.clear();
        order.resize(len, NONE);
        let mut next = starts_s.clone();
        for at in lms {
            place_suffix(order, &mut next, text(*at as usize), *at, false);
        }
        cancel.check()?;
        let mut next = starts_l.clone();
        place_suffix(order, &mut next, text(len - 1), len as u32 - 1, false);
        for rank in 0..len {
            let at = read(order, rank);
            if at != NONE && at > 0 && !is_s.get(at as usize - 1) {
                place_suffix(order, &mut next, text(at as usize - 1), at - 1, false);
            }
        }
        cancel.check()?;
        // S suffixes in descending order; those of a letter end where the L suffixes of the next letter begin.
        let mut next: Vec<u32> = starts_l.iter().skip(1).copied().collect();
        for rank in (0..len).rev() {
            let at = read(order, rank);
            if at != NONE && at > 0 && is_s.get(at as usize - 1) {
                place_suffix(order, &mut next, text(at as usize - 1), at - 1, true);
            }
        }
        Ok(())
    };

    let lms: Vec<u32> = (1..len).filter(|at| is_lms(*at)).map(|at| at as u32).collect();
    let mut order = Vec::new();
    induce(&mut order, &lms)?;
    if lms.is_empty() {
        return Ok(order);
    }
    // LMS positions in the order of their substrings; equal substrings share a name.
    let in_order: Vec<u32> = order.iter().copied().filter(|at| *at != NONE && is_lms(*at as usize)).collect();
    drop(order);
    let place_of = |at: u32| lms.binary_search(&at).unwrap_or_default();
    let end_of = |at: u32| lms.get(place_of(at) + 1).map_or(len, |end| *end as usize);
    let mut names = vec![0u32; lms.len()];
    let mut name = 0;
    for pair in in_order.windows(2) {
        let &[before, at] = pair else { continue };
        let (end_before, end) = (end_of(before), end_of(at));
        let is_same = end - at as usize == end_before - before as usize
            && end < len
            && end_before < len
            && (0..=end - at as usize).all(|step| text(before as usize + step) == text(at as usize + step));
        name += u32::from(!is_same);
        write(&mut names, place_of(at), name);
    }
    let lms = match name as usize + 1 == lms.len() {
        // All names are distinct, so this order is final.
        true => in_order,
        false => {
            drop(in_order);
            let of_names = sorted(&names, name, cancel)?;
            of_names.iter().map(|place| read(&lms, *place as usize)).collect()
        }
    };
    drop(names);
    let mut order = Vec::new();
    induce(&mut order, &lms)?;
    Ok(order)
}

/// Returns the type of each suffix: set for type S. The text is not empty.
#[inline]
fn types_of_suffixes(len: usize, text: impl Fn(usize) -> u32) -> Bits {
    let mut is_s = Bits(vec![0; len / 64 + 1]);
    for at in (0..len - 1).rev() {
        let (here, next) = (text(at), text(at + 1));
        if here < next || here == next && is_s.get(at + 1) {
            is_s.set(at);
        }
    }
    is_s
}

/// Returns the first rank of the L suffixes of each letter, and of its S suffixes.
#[inline]
fn first_ranks(len: usize, largest: u32, text: impl Fn(usize) -> u32, is_s: &Bits) -> (Vec<u32>, Vec<u32>) {
    let mut starts_l = vec![0u32; largest as usize + 2];
    let mut starts_s = vec![0u32; largest as usize + 2];
    for at in 0..len {
        let letter = text(at) as usize;
        let (starts, place) = if is_s.get(at) { (&mut starts_l, letter + 1) } else { (&mut starts_s, letter) };
        if let Some(count) = starts.get_mut(place) {
            *count += 1;
        }
    }
    let mut sum = 0u32;
    for letter in 0..=largest as usize {
        // Here `starts_l` holds the S suffixes of the previous letter, and `starts_s` the L suffixes of this letter.
        sum += read(&starts_l, letter);
        write(&mut starts_l, letter, sum);
        sum += read(&starts_s, letter);
        write(&mut starts_s, letter, sum);
    }
    write(&mut starts_l, largest as usize + 1, len as u32);
    (starts_l, starts_s)
}

/// Stores a suffix at the next free rank of its letter, or at the last free rank if `is_backwards`.
fn place_suffix(order: &mut [u32], next: &mut [u32], letter: u32, at: u32, is_backwards: bool) {
    if let Some(place) = next.get_mut(letter as usize) {
        if is_backwards {
            *place -= 1;
        }
        if let Some(entry) = order.get_mut(*place as usize) {
            *entry = at;
        }
        if !is_backwards {
            *place += 1;
        }
    }
}

/// Result of checking a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCheck {
    /// The table is correct.
    Right,
    /// The entry with this number is not a position in the text, or repeats an earlier one.
    NotAPosition(u64),
    /// The suffix of the entry with this number does not sort after the suffix of the previous entry. The comparison assumes that the
    /// suffixes one byte further are in order, so the reported pair may not be the misplaced one.
    OutOfOrder(u64),
}

impl TableCheck {
    /// Checks all entries. Uses four bytes of memory per entry, in addition to the text and the entries.
    pub fn of(text: &[u8], table: &[u32]) -> Self {
        let mut rank = vec![NONE; text.len()];
        for (number, at) in table.iter().enumerate() {
            match rank.get_mut(*at as usize) {
                Some(place) if *place == NONE => *place = number as u32,
                _ => return Self::NotAPosition(number as u64),
            }
        }
        if table.len() != text.len() {
            return Self::NotAPosition(table.len() as u64);
        }
        // Two neighbours are in order if their first bytes are in order, or if these are equal and the suffixes after them are in order.
        // The end of the text sorts first.
        let rank_of = |at: usize| rank.get(at).map_or(0, |rank| u64::from(*rank) + 1);
        for (number, pair) in table.windows(2).enumerate() {
            let &[before, at] = pair else { continue };
            let key = |at: u32| (text.get(at as usize).copied(), rank_of(at as usize + 1));
            if key(before) >= key(at) {
                return Self::OutOfOrder(number as u64 + 1);
            }
        }
        Self::Right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(text: &[u8]) -> Vec<u32> {
        build_table(text, &Cancel::default()).unwrap().unwrap()
    }

    #[test]
    fn table_width_is_rounded_up_to_whole_bytes() {
        for (bytes, width) in [(0, 0), (1, 0), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (1 << 32, 4)] {
            assert_eq!(table_width(bytes), width, "{bytes}");
        }
        assert_eq!(table_width(u64::MAX), 8);
    }

    #[test]
    fn suffix_table_of_periodic_text_is_sorted() {
        for period in [1, 2, 3, 499] {
            let text: Vec<u8> = (0..20_000).map(|at| b'a' + ((at % period) * 7 % 26) as u8).collect();
            assert_eq!(TableCheck::of(&text, &build(&text)), TableCheck::Right, "{period}");
        }
    }

    #[test]
    fn wrong_suffix_table_is_reported_with_first_wrong_entry() {
        let text = b"banana";
        let table = build(text);
        assert_eq!(table, [5, 3, 1, 0, 4, 2]);
        // The entries of `na` and `nana` are swapped; the check reports them at `ana` and `anana`.
        assert_eq!(TableCheck::of(text, &[5, 3, 1, 0, 2, 4]), TableCheck::OutOfOrder(2));
        assert_eq!(TableCheck::of(text, &[3, 5, 1, 0, 4, 2]), TableCheck::OutOfOrder(1));
        assert_eq!(TableCheck::of(text, &[5, 3, 1, 0, 4, 4]), TableCheck::NotAPosition(5));
        assert_eq!(TableCheck::of(text, &[5, 3, 1, 0, 4, 6]), TableCheck::NotAPosition(5));
        assert_eq!(TableCheck::of(text, &[5, 3, 1, 0, 4]), TableCheck::NotAPosition(5));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn suffix_table_matches_naive_sort(text in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(97), Just(255)], 0..80)) {
            let mut slow: Vec<u32> = (0..text.len() as u32).collect();
            slow.sort_by_key(|at| &text[*at as usize..]);
            let ours = build(&text);
            prop_assert_eq!(&ours, &slow);
            prop_assert_eq!(TableCheck::of(&text, &ours), TableCheck::Right);
        }
    }
}
