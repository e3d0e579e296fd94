//! How small text is packed in a file, by its beginning.

use super::packing::Unpacked;
use super::TextFile;
use gristmill_core::Outcome;
use gristmill_storage::read::open_read;
use std::sync::Arc;

/// Bytes unpacked at a time.
const STEP: usize = 16 << 10;
/// Text that is unpacked, as a multiple of what is read of the file.
const MAX_GIVEN: u64 = 32;

/// Unpacks the beginning of a file, about `most` bytes of it: so many of them gave so many. What cannot be unpacked gives nothing more.
///
/// More is taken from a file than what was unpacked of it, by what waits to be unpacked, and decoders hold a block back. Just before more is
/// taken both are about the same, so that what came between two such moments belongs together; at the end everything does.
pub fn unpacked_share(file: &TextFile, most: u64) -> Outcome<(u64, u64)> {
    let mut input = Unpacked::new(Arc::new(open_read(&file.path)?), file.packing)?.uncapped();
    let (mut buffer, mut taken, mut given) = (vec![0; STEP], 0_u64, 0_u64);
    let (mut first, mut last) = (None, None);
    // Equal documents may give thousands of times what is taken.
    while (taken < most || last.is_none()) && given < MAX_GIVEN * most {
        let count = input.read(&mut buffer)?;
        let now = input.consumed();
        if count == 0 {
            return Ok((now, given));
        }
        if given > 0 && now > taken {
            match first {
                None => first = Some((taken, given)),
                Some((from, of)) => last = Some((taken - from, given - of)),
            }
        }
        given += count as u64;
        taken = now;
    }
    Ok(last.unwrap_or((taken, given)))
}
