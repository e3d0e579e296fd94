//! The parts of the inputs that a preview reads.

use super::inputs::Pass;
use gristmill_data::source::jsonl::Unit;

/// Bytes of text read at a place.
const BYTES_PER_PLACE: u64 = 128 << 10;
/// Number of places in a pass.
const PLACES_PER_PASS: u64 = 24;

/// Returns the places of a pass: the files that contain evenly spread bytes and, for plain files, those bytes, with the first moved to the
/// beginning of the file. Returns everything if it is not more than that.
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
