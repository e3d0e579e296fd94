//! The parts of the inputs that a preview reads.

use super::inputs::Pass;
use crate::source::documents::{read_unit, unpacked_share, Blocks, Position, TextFile};
use crate::source::jsonl::Unit;
use crate::tokens::encode::FileBlock;
use gristmill_core::{Cancel, Outcome};
use gristmill_storage::read::open_read;

/// Bytes of text read at a place.
const STRETCH_BYTES: u64 = 128 << 10;
/// Number of places in a pass.
const PLACES_PER_PASS: u64 = 24;
/// Bytes of a compressed file used to measure its compression ratio.
const RATIO_SAMPLE_BYTES: u64 = 1 << 20;

/// Returns the places of a pass: the files that contain evenly spread bytes and, for plain files, those bytes, with the first moved to the
/// beginning of the file. Returns everything if it is not more than that.
pub(super) fn places(pass: &Pass, total: u64) -> Vec<(usize, Unit)> {
    let mut places = Vec::new();
    if total <= PLACES_PER_PASS * STRETCH_BYTES {
        for (number, file) in pass.files.iter().enumerate() {
            let end = if file.packing.is_plain() { file.bytes } else { PLACES_PER_PASS * STRETCH_BYTES };
            places.push((number, Unit { start: 0, end }));
        }
        return places;
    }
    let step = (total / PLACES_PER_PASS).max(STRETCH_BYTES);
    let (mut before, mut next) = (0_u64, 0_u64);
    for (number, file) in pass.files.iter().enumerate() {
        let mut is_begun = false;
        while next < before + file.bytes {
            let start = if is_begun { next - before } else { 0 };
            next += step;
            if file.packing.is_plain() {
                places.push((number, Unit { start, end: (start + STRETCH_BYTES).min(file.bytes) }));
            } else if !is_begun {
                places.push((number, Unit { start: 0, end: STRETCH_BYTES }));
            }
            is_begun = true;
        }
        before += file.bytes;
    }
    places
}

/// Returns some lines of a file, and their bytes on disk.
pub(super) fn stretch(input: &TextFile, file: usize, unit: Unit, cancel: &Cancel) -> Outcome<(FileBlock, u64)> {
    if input.packing.is_plain() {
        let block = read_unit(&open_read(&input.path)?, unit, Vec::new(), cancel)?;
        let bytes = block.bytes.len() as u64;
        return Ok((FileBlock { file, block, spans: None }, bytes));
    }
    let size = usize::try_from(unit.end - unit.start).unwrap_or(1);
    let mut blocks = Blocks::open(input, size, Position::default(), cancel)?;
    let block = blocks.next(Vec::new())?.unwrap_or_default();
    let text = block.bytes.len() as u64;
    let (taken, given) = unpacked_share(input, RATIO_SAMPLE_BYTES)?;
    let on_disk = (text as f64 * taken as f64 / given.max(1) as f64).round() as u64;
    Ok((FileBlock { file, block, spans: None }, on_disk.clamp(1, input.bytes.max(1))))
}
