//! Bitmaps: checks that all rows are present, compressed or not.

use super::super::bmp::{bitmap, Bitmap};
use super::{error, truncated};
use crate::{ProbeError, Reader};

pub(super) fn check(reader: &mut Reader) -> Result<(), ProbeError> {
    let pixels = u32::from_le_bytes(reader.array(10)?);
    let bitmap = bitmap(reader, 14, pixels, false).map_err(error)?;
    part(reader, &bitmap, bitmap.height)
}

/// Checks the first `height` rows of a bitmap, in file order.
pub(super) fn part(reader: &mut Reader, bitmap: &Bitmap, height: u32) -> Result<(), ProbeError> {
    if bitmap.palette > 1024 {
        return Err(ProbeError::broken("the bitmap has a palette of too many colours", 14));
    }
    if bitmap.mode == "L" && bitmap.run_bits == 0 && bitmap.bits < 8 {
        // Pillow reads `width` bytes for each row of greys, and fails if the stored row is shorter.
        let row = (u64::from(bitmap.width) * u64::from(bitmap.bits)).div_ceil(32) * 4;
        if row < bitmap.width.into() {
            return Err(ProbeError::broken("the bitmap has greys of a depth that Pillow does not read", 14));
        }
    }
    let is_whole = if bitmap.run_bits > 0 {
        runs(reader, bitmap, height)?
    } else {
        bitmap.end_of(height) <= u128::from(reader.len())
    };
    if is_whole {
        Ok(())
    } else {
        Err(truncated(reader))
    }
}

/// Whether the runs yield all pixels. An end marker before the last pixel is allowed only at the end of the data.
fn runs(reader: &mut Reader, bitmap: &Bitmap, height: u32) -> Result<bool, ProbeError> {
    let width = u64::from(bitmap.width);
    let all = width * u64::from(height);
    let (mut at, mut done, mut x) = (bitmap.pixels, 0_u64, 0_u64);
    while done < all {
        let &[count, value] = reader.up_to(at, 2)? else { break };
        at += 2;
        match (count, value) {
            (0, 0) => (done, x) = (done.next_multiple_of(width), 0),
            (0, 1) => break,
            (0, 2) => {
                let &[right, up] = reader.up_to(at, 2)? else { break };
                at += 2;
                done += (u64::from(right) + u64::from(up) * width).min(all - done);
                x = done % width;
            }
            (0, count) => {
                let take = u64::from(count).min(all - done);
                let bytes = if bitmap.run_bits == 4 { take.div_ceil(2) } else { take };
                let there = reader.len().saturating_sub(at).min(bytes);
                done += if there < bytes { there * 8 / u64::from(bitmap.run_bits) } else { take };
                at += bytes;
                if there < bytes || done == all {
                    break;
                }
                x += u64::from(count);
                at += at % 2;
            }
            (count, _) => {
                let take = u64::from(count).min(width.saturating_sub(x));
                done += take;
                x += take;
            }
        }
    }
    Ok(done >= all)
}
