//! Chooses the parts of the inputs that a preview reads.

use super::inputs::Pass;
use gristmill_data::source::jsonl::Unit;

/// Number of bytes of text that are read at a place.
const BYTES_PER_PLACE: u64 = 128 << 10;
const PLACES_PER_PASS: u64 = 24;

/// Returns evenly spaced places of a pass. A place in a file that can be divided is a range of bytes, otherwise the whole file. The first
/// place is at the beginning of its file. A pass that is not larger than all places is returned as a whole.
pub(super) fn places(pass: &Pass, total: u64) -> Vec<(usize, Unit)> {
    let mut places = Vec::new();
    if total <= PLACES_PER_PASS * BYTES_PER_PLACE {
        for (number, file) in pass.files.iter().enumerate() {
            let end = if file.source.is_divisible(file) { file.bytes } else { PLACES_PER_PASS * BYTES_PER_PLACE };
            places.push((number, Unit { start: 0, end }));
        }
        return places;
    }
    let step = (total / PLACES_PER_PASS).max(BYTES_PER_PLACE);
    let (mut before, mut next) = (0_u64, 0_u64);
    for (number, file) in pass.files.iter().enumerate() {
        let mut is_begun = false;
        while next < before + file.bytes {
            let start = if is_begun { next - before } else { 0 };
            next += step;
            if file.source.is_divisible(file) {
                places.push((number, Unit { start, end: (start + BYTES_PER_PLACE).min(file.bytes) }));
            } else if !is_begun {
                places.push((number, Unit { start: 0, end: BYTES_PER_PLACE }));
            }
            is_begun = true;
        }
        before += file.bytes;
    }
    places
}
