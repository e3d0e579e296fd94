//! `.npz` archives: only the beginning of each array is decompressed.

use super::npy::{self, NEEDED_BYTES};
use super::TensorView;
use crate::preview::PartBytes;
use gristmill_core::text::{count, display_safe_bytes};
use gristmill_core::Outcome;
use std::io::Read as _;

/// Maximum number of arrays that are read.
const MAX_ARRAYS: usize = 64;
/// Maximum size in bytes of the central directory that is read.
const MAX_DIRECTORY_BYTES: u64 = 8 << 20;
/// Maximum number of bytes that are decompressed of each array of an archive with several arrays.
const MAX_UNPACKED_BYTES: usize = 256 << 10;
/// Size in bytes of the end record with the longest possible comment.
const MAX_END_BYTES: usize = 22 + 65_535;
/// Signature of the zip64 end record, which has the offset of the central directory in 64 bits.
const END_64: &[u8] = b"PK\x06\x06";

/// The arrays of an archive, and its problems; safe to show.
pub type Views = (Vec<TensorView>, Vec<String>);

/// Returns the arrays of an archive, and its problems. The inner error is for the user, safe to show.
pub fn views(bytes: &dyn PartBytes) -> Outcome<Result<Views, String>> {
    let length = bytes.len();
    let from = length.saturating_sub(MAX_END_BYTES as u64);
    let tail = bytes.read(from, MAX_END_BYTES)?;
    let Some((at, size, number)) = contents(&tail, from, bytes)? else {
        return Ok(Err("it is not a zip archive, or it is cut short".into()));
    };
    if size > MAX_DIRECTORY_BYTES || at.checked_add(size).is_none_or(|end| end > length) {
        return Ok(Err("its list of contents is beyond its end".into()));
    }
    let list = bytes.read(at, usize::try_from(size).unwrap_or(0))?;
    let entries = entries(&list);
    let mut notes = Vec::new();
    if entries.len() as u64 != number && entries.len() < MAX_ARRAYS {
        notes.push(format!(
            "its list of contents is damaged: {} of {} can be read",
            entries.len(),
            count(number, "entry")
        ));
    }
    if number > MAX_ARRAYS as u64 {
        notes.push(format!("only the first {MAX_ARRAYS} of {number} arrays are shown"));
    }
    let mut views = Vec::new();
    for entry in &entries {
        let name = entry.name.strip_suffix(".npy").unwrap_or(&entry.name);
        let unpacked = if entries.len() == 1 { NEEDED_BYTES } else { MAX_UNPACKED_BYTES };
        match entry.beginning(bytes, unpacked)?.and_then(|first| npy::view(name, &first, entry.size)) {
            Ok(view) => views.push(view),
            Err(why) => notes.push(format!("{name}: {why}")),
        }
    }
    Ok(Ok((views, notes)))
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let digits = bytes.get(at..at.checked_add(width)?)?;
    Some(digits.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}

/// Returns the offset, the length and the number of entries of the central directory.
fn contents(tail: &[u8], from: u64, bytes: &dyn PartBytes) -> Outcome<Option<(u64, u64, u64)>> {
    let Some(end) = memchr::memmem::rfind(tail, b"PK\x05\x06") else { return Ok(None) };
    let field = |at, width| number(tail, end + at, width);
    let (Some(entries), Some(size), Some(at)) = (field(10, 2), field(12, 4), field(16, 4)) else { return Ok(None) };
    if entries != 0xffff && size != 0xffff_ffff && at != 0xffff_ffff {
        return Ok(Some((at, size, entries)));
    }
    // The zip64 locator of 20 bytes is directly before the end record.
    let Some(place) = (from + end as u64).checked_sub(20) else { return Ok(None) };
    let locator = bytes.read(place, 20)?;
    let Some(at) = number(&locator, 8, 8).filter(|_| locator.starts_with(b"PK\x06\x07")) else { return Ok(None) };
    let end = bytes.read(at, 56)?;
    let fields = (number(&end, 48, 8), number(&end, 40, 8), number(&end, 32, 8));
    match fields {
        (Some(at), Some(size), Some(entries)) if end.starts_with(END_64) => Ok(Some((at, size, entries))),
        _ => Ok(None),
    }
}

/// One entry of the central directory.
struct Entry {
    name: String,
    method: u64,
    /// Uncompressed and compressed size, in bytes.
    size: u64,
    packed: u64,
    at: u64,
}

fn entries(list: &[u8]) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut at = 0;
    while out.len() < MAX_ARRAYS {
        let Some((entry, next)) = entry(list, at) else { break };
        out.push(entry);
        at = next;
    }
    out
}

fn entry(list: &[u8], start: usize) -> Option<(Entry, usize)> {
    let rest = list.get(start..)?;
    if !rest.starts_with(b"PK\x01\x02") {
        return None;
    }
    let lengths = [number(rest, 28, 2)?, number(rest, 30, 2)?, number(rest, 32, 2)?];
    let [name, extra, comment] = lengths.map(|l| usize::try_from(l).unwrap_or(usize::MAX));
    let mut entry = Entry {
        name: display_safe_bytes(rest.get(46..46 + name)?),
        method: number(rest, 10, 2)?,
        packed: number(rest, 20, 4)?,
        size: number(rest, 24, 4)?,
        at: number(rest, 42, 4)?,
    };
    entry.take_long_numbers(rest.get(46 + name..46 + name + extra)?);
    Some((entry, start + 46 + name + extra + comment))
}

impl Entry {
    /// Reads numbers that do not fit in 32 bits from the extra field, which contains only those that need it, in a fixed order.
    fn take_long_numbers(&mut self, extra: &[u8]) {
        let mut at = 0;
        while let (Some(tag), Some(length)) = (number(extra, at, 2), number(extra, at + 2, 2)) {
            let mut place = at + 4;
            at = place + usize::try_from(length).unwrap_or(usize::MAX);
            if tag != 1 {
                continue;
            }
            for field in [&mut self.size, &mut self.packed, &mut self.at] {
                if *field == 0xffff_ffff {
                    let Some(long) = number(extra, place, 8) else { return };
                    *field = long;
                    place += 8;
                }
            }
            return;
        }
    }

    /// Returns the first decompressed bytes of the entry, at most `limit`.
    fn beginning(&self, bytes: &dyn PartBytes, limit: usize) -> Outcome<Result<Vec<u8>, String>> {
        let local = bytes.read(self.at, 30)?;
        let (Some(name), Some(extra)) = (number(&local, 26, 2), number(&local, 28, 2)) else {
            return Ok(Err("its place is beyond the end of the archive".into()));
        };
        if !local.starts_with(b"PK\x03\x04") {
            return Ok(Err("there is no entry where it should be".into()));
        }
        let from = self.at.saturating_add(30 + name + extra);
        let packed = usize::try_from(self.packed).unwrap_or(usize::MAX);
        match self.method {
            0 => Ok(Ok(bytes.read(from, packed.min(limit))?)),
            8 => {
                // Compressed data is hardly larger than the required bytes after decompression.
                let packed = bytes.read(from, packed.min(limit + (limit >> 4) + 1024))?;
                let mut out = Vec::new();
                let unpacked =
                    flate2::read::DeflateDecoder::new(packed.as_slice()).take(limit as u64).read_to_end(&mut out);
                // If the compressed bytes were only partly read, an early end is not damage.
                Ok(if out.is_empty() && unpacked.is_err() { Err("it cannot be unpacked".into()) } else { Ok(out) })
            }
            method => Ok(Err(format!("it is packed in a way that is not known ({method})"))),
        }
    }
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::super::npy::tests::file;
    use super::*;
    use std::io::Write as _;

    /// Returns an archive of these entries: name, content, and whether to compress it.
    pub(in super::super::super) fn archive(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for (name, content, packed) in entries {
            let body = if *packed {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(content).unwrap();
                encoder.finish().unwrap()
            } else {
                content.to_vec()
            };
            let method: u16 = if *packed { 8 } else { 0 };
            let at = out.len() as u32;
            let mut common = method.to_le_bytes().to_vec();
            common.extend([0; 8]);
            common.extend((body.len() as u32).to_le_bytes());
            common.extend((content.len() as u32).to_le_bytes());
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0; 2]);
            out.extend(b"PK\x03\x04\x14\0\0\0");
            out.extend(&common);
            out.extend(name.as_bytes());
            out.extend(body);
            list.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
            list.extend(&common);
            list.extend([0; 10]);
            list.extend(at.to_le_bytes());
            list.extend(name.as_bytes());
        }
        let at = out.len() as u32;
        out.extend(&list);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend([(entries.len() as u16).to_le_bytes(); 2].concat());
        out.extend((list.len() as u32).to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend([0; 2]);
        out
    }

    #[test]
    fn compressed_and_stored_npz_arrays_are_read() {
        let array = file("'|u1'", "(3,)", &[1, 2, 3]);
        let bytes = archive(&[("a.npy", &array, false), ("b\u{1b}.npy", &array, true), ("x.txt", b"no array", true)]);
        let (views, notes) = views(&bytes).unwrap().unwrap();
        assert_eq!(views.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["a", "b␛"]);
        assert!(views.iter().all(|v| v.values == ["1", "2", "3"]));
        assert_eq!(notes, ["x.txt: it is not a numpy array file"]);
    }

    #[test]
    fn npz_bomb_is_decompressed_only_up_to_the_limit() {
        let mut array = file("'|u1'", "(100000000,)", &[]);
        array.resize(100_000_000, 0);
        let bytes = archive(&[("bomb.npy", &array, true), ("again.npy", &array[..200], false)]);
        assert!(bytes.len() < 200_000);
        let (views, _) = views(&bytes).unwrap().unwrap();
        assert_eq!(views[0].shape, [100_000_000]);
        assert!(views[0].spread.as_ref().unwrap().examined <= MAX_UNPACKED_BYTES as u64);
    }

    #[test]
    fn invalid_npz_archive_is_refused_and_cut_ones_do_not_panic() {
        for bytes in [Vec::new(), b"PK\x05\x06".to_vec(), vec![0; 100], b"PK\x05\x06".repeat(20_000)] {
            assert!(views(&bytes).unwrap().is_err());
        }
        let array = file("'|u1'", "(3,)", &[1, 2, 3]);
        let whole = archive(&[("a.npy", &array, false)]);
        for cut in 0..whole.len() {
            let _ = views(&whole[cut..].to_vec()).unwrap();
            let _ = views(&whole[..cut].to_vec()).unwrap();
        }
    }
}
