//! How small text is packed in a file, by its beginning.

use super::packing::Unpacked;
use super::TextFile;
use crate::model::{Cancel, Outcome};
use crate::storage::read::open_read;
use std::sync::Arc;

/// Packed bytes that are looked at, and bytes of text, at most.
const MOST_PACKED: u64 = 1 << 20;
const MOST_TEXT: u64 = 16 << 20;
/// Bytes of text that are unpacked at a time.
const STEP: usize = 16 << 10;

/// Bytes on disk for each byte of text of a file, by its first megabyte; 1 where nothing can be unpacked.
///
/// More is taken from a file than what was unpacked of it, by what waits to be unpacked. Both belong together just before more is taken,
/// and at the end; a decoder that works in blocks still holds back one of them, so what is told is a little too much.
pub fn packed_share(file: &TextFile, cancel: &Cancel) -> Outcome<f64> {
    let mut input = Unpacked::new(Arc::new(open_read(&file.path)?), file.packing)?;
    let (mut text, mut taken, mut piece) = (0_u64, 0_u64, vec![0; STEP]);
    let mut share = None;
    loop {
        cancel.check()?;
        let count = input.read(&mut piece)?;
        let now = input.consumed();
        if text > 0 && (now > taken || count == 0) {
            share = Some(taken as f64 / text as f64);
        }
        if count == 0 || share.is_some() && taken >= MOST_PACKED || text >= MOST_TEXT {
            let told = share.unwrap_or_else(|| taken as f64 / text.max(1) as f64);
            return Ok(if text == 0 { 1.0 } else { told });
        }
        text += count as u64;
        taken = now;
    }
}
