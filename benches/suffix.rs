//! Finds removable ranges with a suffix array: the usual method, to which the engine is compared.

use libsais::SuffixArrayConstruction;

/// Returns the ranges `[start, end)` whose windows of `length` bytes occur earlier; each document follows one byte 0xFF. Suffixes that
/// agree on `length` bytes are adjacent; the first of them in the text is kept.
pub fn ranges(text: &[u8], length: usize) -> Vec<(u64, u64)> {
    let sorted =
        SuffixArrayConstruction::for_text(text).in_owned_buffer32().single_threaded().run().expect("a suffix array");
    let both = sorted.plcp_construction().single_threaded().run().expect("its prefixes");
    let (suffixes, agree, _) = both.into_parts();
    let mut removable = vec![0u64; text.len() / 64 + 1];
    let mut first = 0;
    for (rank, &suffix) in suffixes.iter().enumerate() {
        let suffix = suffix as usize;
        if rank == 0 || (agree[suffix] as usize) < length {
            first = suffix;
            continue;
        }
        let later = suffix.max(first);
        first = suffix.min(first);
        removable[later / 64] |= 1 << (later % 64);
    }
    drop((suffixes, agree));
    // Windows that contain a separator repeat other such windows; none of them counts.
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut start = 0;
    for document in text.split(|byte| *byte == 0xff) {
        for at in start..(start + document.len() + 1).saturating_sub(length) {
            if removable[at / 64] >> (at % 64) & 1 == 1 {
                let (from, to) = (at as u64, (at + length) as u64);
                match ranges.last_mut() {
                    Some(last) if from <= last.1 => last.1 = to,
                    _ => ranges.push((from, to)),
                }
            }
        }
        start += document.len() + 1;
    }
    ranges
}
