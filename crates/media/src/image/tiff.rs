//! TIFF and BigTIFF: the first directory. For TIFF only, Pillow applies the orientation tag, so the size is that of the rotated image.

use super::tiff_modes::{self, Pixel};
use super::{else_other, Picture, ReadEnd, CUT};
use crate::{ProbeError, Reader};
use std::collections::BTreeMap;

pub(super) fn accepts(first: &[u8]) -> bool {
    let prefixes: [&[u8]; 6] = [b"MM\0\x2a", b"II\x2a\0", b"MM\x2a\0", b"II\0\x2a", b"MM\0\x2b", b"II\x2b\0"];
    prefixes.iter().any(|prefix| first.starts_with(prefix))
}

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const FILL_ORDER: u16 = 266;
const STRIP_OFFSETS: u16 = 273;
const ORIENTATION: u16 = 274;
const SAMPLES: u16 = 277;
const ROWS_PER_STRIP: u16 = 278;
const STRIP_BYTES: u16 = 279;
const PLANAR: u16 = 284;
const COLOUR_MAP: u16 = 320;
const TILE_WIDTH: u16 = 322;
const TILE_HEIGHT: u16 = 323;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTES: u16 = 325;
const EXTRA_SAMPLES: u16 = 338;
const SAMPLE_FORMAT: u16 = 339;
const MEDIA_PHOTO: u16 = 0xbc01;

const KEPT_TAGS: [u16; 19] = [
    WIDTH,
    HEIGHT,
    BITS,
    COMPRESSION,
    PHOTOMETRIC,
    FILL_ORDER,
    STRIP_OFFSETS,
    ORIENTATION,
    SAMPLES,
    ROWS_PER_STRIP,
    STRIP_BYTES,
    PLANAR,
    COLOUR_MAP,
    TILE_WIDTH,
    TILE_HEIGHT,
    TILE_OFFSETS,
    TILE_BYTES,
    EXTRA_SAMPLES,
    SAMPLE_FORMAT,
];

/// The maximum number of tags that are read of a directory; real files have far fewer.
const MAX_TAGS: u64 = 65_536;
/// The maximum number of values of one tag that are read.
const MAX_VALUES: u64 = 4096;
const OLD_JPEG: i64 = 6;
const MAX_SAMPLES: i64 = 6;

/// One tag that is evaluated.
struct TiffTag {
    kind: u16,
    count: u64,
    /// Offset of its values, in bytes.
    at: u64,
}

/// The first directory, and how to read its values.
struct Directory<'r, 'a> {
    reader: &'r mut Reader<'a>,
    big_endian: bool,
    tags: BTreeMap<u16, TiffTag>,
    /// Whether the file ends within the directory. Pillow uses the tags that are present, libtiff uses none.
    is_cut: bool,
}

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    directory(reader)?.picture()
}

/// Whether all pixels are present; `None` for compressed ones. In fax compressions, any bits are valid pixels.
pub(super) fn pixels(reader: &mut Reader) -> Result<Option<bool>, ReadEnd> {
    let mut directory = directory(reader)?;
    match directory.number(COMPRESSION)?.unwrap_or(1) {
        1 => directory.bare_pixels().map(Some),
        _ if directory.exceeds_file((STRIP_OFFSETS, STRIP_BYTES))?
            || directory.exceeds_file((TILE_OFFSETS, TILE_BYTES))? =>
        {
            Ok(Some(false))
        }
        2..=4 => Ok(Some(true)),
        _ => Ok(None),
    }
}

/// A compressed strip or tile: its offset and length, and its length after decompression, in bytes.
pub(super) struct CompressedStrip {
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) unpacked: u64,
}

/// Returns the compression and the strips or tiles of the image; `None` for YCbCr, whose chroma may be subsampled, and if a tag is missing
/// or a size implausible.
pub(super) fn packed(reader: &mut Reader) -> Result<Option<(i64, Vec<CompressedStrip>)>, ReadEnd> {
    let mut directory = directory(reader)?;
    if directory.is_cut {
        return Err(ReadEnd::broken("the TIFF file ends within its directory", directory.reader.len()));
    }
    let compression = directory.number(COMPRESSION)?.unwrap_or(1);
    let photo = directory.photo(compression)?;
    if photo == 6 {
        return Ok(None);
    }
    Ok(directory.packed_parts(compression, photo)?.map(|parts| (compression, parts)))
}

fn directory<'r, 'a>(reader: &'r mut Reader<'a>) -> Result<Directory<'r, 'a>, ReadEnd> {
    let header = else_other(reader.array::<8>(0))?;
    let big_endian = header.starts_with(b"MM");
    // The marker of BigTIFF is checked only in this byte.
    let large = header[2] == 43;
    let mut directory = Directory { reader, big_endian, tags: BTreeMap::new(), is_cut: false };
    let start = if large { else_other(directory.u64(8))? } else { directory.u32(4)?.into() };
    if start == 0 {
        return Err(ReadEnd::other("a TIFF file without a directory"));
    }
    if start >= 1 << 63 {
        return Err(ReadEnd::broken("the directory of the TIFF file is too far away", 4));
    }
    directory.load(start, large)?;
    Ok(directory)
}

/// Returns the bytes per value of a TIFF type.
fn unit(kind: u16) -> Option<u64> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 => 8,
        _ => return None,
    })
}

impl Directory<'_, '_> {
    fn u16(&mut self, at: u64) -> Result<u16, ProbeError> {
        let bytes = self.reader.array(at)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }
    fn u32(&mut self, at: u64) -> Result<u32, ProbeError> {
        let bytes = self.reader.array(at)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
    fn u64(&mut self, at: u64) -> Result<u64, ProbeError> {
        let bytes = self.reader.array(at)?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Reads the tags. If the file ends within the directory, the directory ends there.
    fn load(&mut self, start: u64, large: bool) -> Result<(), ReadEnd> {
        match self.tags_from(start, large) {
            Ok(()) => Ok(()),
            Err(ProbeError::Broken { .. }) => {
                self.is_cut = true;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn tags_from(&mut self, start: u64, large: bool) -> Result<(), ProbeError> {
        let (count, mut at) = if large { (self.u64(start)?, start + 8) } else { (self.u16(start)?.into(), start + 2) };
        let (entry, inline) = if large { (20, 8) } else { (12, 4) };
        let mut outside = 0_u64;
        for _ in 0..count.min(MAX_TAGS) {
            let (tag, kind) = (self.u16(at)?, self.u16(at + 2)?);
            let count = if large { self.u64(at + 4)? } else { self.u32(at + 4)?.into() };
            let value = at + entry - inline;
            self.reader.exactly(value, inline as usize)?;
            at += entry;
            if self.tags.contains_key(&tag) {
                continue;
            }
            let Some(size) = unit(kind).and_then(|unit| unit.checked_mul(count)).filter(|size| *size > 0) else {
                continue;
            };
            let mut place = value;
            if size > inline {
                place = if large { self.u64(value)? } else { self.u32(value)?.into() };
                outside = outside.saturating_add(size);
                if place >= 1 << 63 || outside > self.reader.len() {
                    continue;
                }
                if place.saturating_add(size) > self.reader.len() {
                    // Pillow stops reading tags here.
                    return Ok(());
                }
            }
            if KEPT_TAGS.contains(&tag) || tag == MEDIA_PHOTO {
                self.tags.insert(tag, TiffTag { kind, count, at: place });
            }
        }
        Ok(())
    }

    /// Returns up to `most` integers of a tag; fails if the tag is of another type.
    fn numbers(&mut self, tag: u16, most: u64) -> Result<Option<Vec<i64>>, ReadEnd> {
        let Some(TiffTag { kind, count, at }) = self.tags.get(&tag) else { return Ok(None) };
        let (kind, count, at) = (*kind, (*count).min(most), *at);
        let mut numbers = Vec::new();
        for index in 0..count {
            numbers.push(match kind {
                3 => self.u16(at + 2 * index)?.into(),
                8 => i64::from(self.u16(at + 2 * index)?.cast_signed()),
                4 | 13 => self.u32(at + 4 * index)?.into(),
                9 => i64::from(self.u32(at + 4 * index)?.cast_signed()),
                6 => i64::from(self.reader.array::<1>(at + index)?[0].cast_signed()),
                16 => i64::try_from(self.u64(at + 8 * index)?).unwrap_or(i64::MAX),
                _ => return Err(ReadEnd::other("a TIFF file with a tag of an unfitting type")),
            });
        }
        Ok(Some(numbers))
    }

    /// Returns the first integer of a tag.
    fn number(&mut self, tag: u16) -> Result<Option<i64>, ReadEnd> {
        Ok(self.numbers(tag, 1)?.and_then(|numbers| numbers.first().copied()))
    }

    fn picture(&mut self) -> Result<Picture, ReadEnd> {
        if self.tags.contains_key(&MEDIA_PHOTO) {
            return Err(ReadEnd::broken("a Windows Media Photo in a TIFF file is not known", 0));
        }
        let compression = self.number(COMPRESSION)?.unwrap_or(1);
        if !matches!(compression, 1..=8 | 32771 | 32773 | 32809 | 32946 | 34676 | 34677 | 34925 | 50000 | 50001) {
            return Err(ReadEnd::other(format!("a TIFF file of compression {compression}")));
        }
        let photo = self.photo(compression)?;
        let (width, height) = self.size()?;
        let mode = self.mode(compression, photo)?;
        let raw = compression == 1;
        let strips = self.tags.contains_key(&STRIP_OFFSETS);
        if raw && !strips && !self.tags.contains_key(&TILE_OFFSETS) {
            return Err(ReadEnd::other("a TIFF file without pixels"));
        }
        if raw
            && !strips
            && (self.number_or_absent(TILE_WIDTH)?.is_none() || self.number_or_absent(TILE_HEIGHT)?.is_none())
        {
            return Err(ReadEnd::broken("the TIFF file has tiles of no size", 0));
        }
        if matches!(mode, "P" | "PA") && self.numbers(COLOUR_MAP, 1)?.is_none() {
            return Err(ReadEnd::other("a TIFF file without its palette"));
        }
        let turned = matches!(self.number(ORIENTATION), Ok(Some(5..=8)));
        let (width, height) = if turned { (height, width) } else { (width, height) };
        let mut picture = Picture::new(width, height, "TIFF", mode)?;
        let is_cut = raw && matches!(self.bare_pixels(), Ok(false));
        if is_cut
            || self.exceeds_file(if strips { (STRIP_OFFSETS, STRIP_BYTES) } else { (TILE_OFFSETS, TILE_BYTES) })?
        {
            picture.remark(CUT);
        }
        Ok(picture)
    }

    fn photo(&mut self, compression: i64) -> Result<i64, ReadEnd> {
        let several = self.tags.get(&PHOTOMETRIC).is_some_and(|tag| tag.count > 1);
        Ok(match self.number(PHOTOMETRIC)? {
            _ if compression == OLD_JPEG => 6,
            // Pillow ignores a tag with several values.
            Some(photo) if !several => photo,
            _ => 0,
        })
    }

    /// Like [`number`](Self::number), but treats a tag of another type as absent.
    fn number_or_absent(&mut self, tag: u16) -> Result<Option<i64>, ReadEnd> {
        match self.number(tag) {
            Err(ReadEnd::Other(_)) => Ok(None),
            other => other,
        }
    }

    fn size(&mut self) -> Result<(u32, u32), ReadEnd> {
        if !self.tags.contains_key(&WIDTH) || !self.tags.contains_key(&HEIGHT) {
            return Err(ReadEnd::other("a TIFF file without a size"));
        }
        let (Some(width), Some(height)) = (self.number_or_absent(WIDTH)?, self.number_or_absent(HEIGHT)?) else {
            return Err(ReadEnd::broken("the size of the TIFF file is no whole number", 0));
        };
        let fits = |number: i64| u32::try_from(number.max(0));
        match (fits(width), fits(height)) {
            (Ok(width), Ok(height)) => Ok((width, height)),
            _ => Err(ReadEnd::broken("the size of the TIFF file is too large", 0)),
        }
    }

    /// Returns the bits of each sample, and the meanings of the samples after the colours.
    fn samples(&mut self, compression: i64, photo: i64) -> Result<(Vec<i64>, Vec<i64>), ReadEnd> {
        let mut bits = self.numbers(BITS, MAX_VALUES)?.unwrap_or_else(|| vec![1]);
        let mut extra = self.numbers(EXTRA_SAMPLES, MAX_VALUES)?.unwrap_or_default();
        let usual = if compression == OLD_JPEG && matches!(photo, 2 | 6) { 3 } else { 1 };
        let mut samples = self.number(SAMPLES)?.unwrap_or(usual);
        if self.number(PLANAR)?.unwrap_or(1) == 2 && extra.iter().max() == Some(&0) {
            // Unspecified extra samples in separate planes are ignored.
            bits.truncate(bits.len().saturating_sub(extra.len()));
            samples -= extra.len() as i64;
            extra.clear();
        }
        if samples > MAX_SAMPLES {
            return Err(ReadEnd::other(format!("a TIFF file of {samples} samples per pixel")));
        }
        let wanted = usize::try_from(samples).map_err(|_| ReadEnd::other("a TIFF file of no samples"))?;
        match bits.as_slice() {
            [one] if wanted > 1 => bits = vec![*one; wanted],
            _ => bits.truncate(wanted),
        }
        if bits.len() != wanted {
            return Err(ReadEnd::other("a TIFF file of an unknown organisation"));
        }
        Ok((bits, extra))
    }

    fn mode(&mut self, compression: i64, photo: i64) -> Result<&'static str, ReadEnd> {
        let (bits, extra) = self.samples(compression, photo)?;
        let mut sample_format = self.numbers(SAMPLE_FORMAT, MAX_VALUES)?.unwrap_or_else(|| vec![1]);
        if sample_format.iter().min() == sample_format.iter().max() {
            sample_format.truncate(1);
        }
        let &[sample_format] = sample_format.as_slice() else {
            return Err(ReadEnd::other("a TIFF file with samples of several kinds"));
        };
        let fill_order = self.number(FILL_ORDER)?.unwrap_or(1);
        let pixel = Pixel { big: self.big_endian, photo, sample_format, fill_order, bits: &bits, extra: &extra };
        let mode = tiff_modes::mode(&pixel).ok_or_else(|| ReadEnd::other("a TIFF file of an unknown mode"))?;
        // The decoder outputs compressed YCbCr data as RGB.
        Ok(if photo == 6 && compression != 1 { "RGB" } else { mode })
    }

    fn packed_parts(&mut self, compression: i64, photo: i64) -> Result<Option<Vec<CompressedStrip>>, ReadEnd> {
        let size = |side: u32| i64::from(side);
        let (width, height) = self.size().map(|(width, height)| (size(width), size(height)))?;
        let (bits, _) = self.samples(compression, photo)?;
        let samples = self.number(SAMPLES)?.unwrap_or(1);
        let apart = self.number(PLANAR)?.unwrap_or(1) == 2;
        let depth = bits.first().copied().unwrap_or(1) * if apart { 1 } else { samples };
        let planes = if apart { samples } else { 1 };
        let is_tiled = !self.tags.contains_key(&STRIP_OFFSETS);
        let (part_width, part_height, tags) = if is_tiled {
            let (Some(w), Some(h)) = (self.number_or_absent(TILE_WIDTH)?, self.number_or_absent(TILE_HEIGHT)?) else {
                return Ok(None);
            };
            (w, h, (TILE_OFFSETS, TILE_BYTES))
        } else {
            let rows = self.number(ROWS_PER_STRIP)?.unwrap_or(height);
            (width, if rows > 0 { rows.min(height) } else { height }, (STRIP_OFFSETS, STRIP_BYTES))
        };
        let sane = 1..=1_i64 << 31;
        if [part_width, part_height, depth, planes].iter().any(|side| !sane.contains(side))
            || depth > 1024
            || planes > 64
        {
            return Ok(None);
        }
        let (Some(offsets), Some(lengths)) = (self.numbers(tags.0, MAX_VALUES)?, self.numbers(tags.1, MAX_VALUES)?)
        else {
            return Ok(None);
        };
        let down = (height + part_height - 1) / part_height;
        let count = (width + part_width - 1) / part_width * down * planes;
        let row = (part_width * depth + 7) / 8;
        if (offsets.len().min(lengths.len()) as u64) < u64::try_from(count).unwrap_or(u64::MAX).min(MAX_VALUES) {
            return Err(ReadEnd::broken("the TIFF picture has fewer strips or tiles than its size needs", 4));
        }
        let mut parts = Vec::new();
        for ((at, len), index) in offsets.iter().zip(&lengths).zip(0..count) {
            let rows = if is_tiled { part_height } else { part_height.min(height - index % down * part_height) };
            let number = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
            parts.push(CompressedStrip {
                at: number(*at),
                len: number(*len),
                unpacked: number(rows.saturating_mul(row)),
            });
        }
        Ok(Some(parts))
    }

    /// Whether a strip or tile extends past the end of the file. Unknown extents count as within the file.
    fn exceeds_file(&mut self, tags: (u16, u16)) -> Result<bool, ReadEnd> {
        let (Ok(Some(offsets)), Ok(Some(bytes))) = (self.numbers(tags.0, MAX_VALUES), self.numbers(tags.1, MAX_VALUES))
        else {
            return Ok(false);
        };
        let len = self.reader.len();
        Ok(offsets
            .iter()
            .zip(&bytes)
            .any(|(at, count)| u64::try_from(at.saturating_add(*count)).map_or(true, |end| end > len)))
    }

    /// Whether the strips or tiles of an uncompressed image are within the file; only the first [`MAX_VALUES`] are checked.
    fn bare_pixels(&mut self) -> Result<bool, ReadEnd> {
        let (width, height) = self.size()?;
        let (width, height) = (i64::from(width), i64::from(height));
        let photo = self.photo(1)?;
        let (bits, _) = self.samples(1, photo)?;
        let apart = self.number(PLANAR)?.unwrap_or(1) == 2;
        let depth = if apart { bits.first().copied().unwrap_or(1) } else { bits.iter().sum() };
        let strips = self.tags.contains_key(&STRIP_OFFSETS);
        let (part_width, part_height, offsets) = if strips {
            (width, self.number(ROWS_PER_STRIP)?.unwrap_or(height), STRIP_OFFSETS)
        } else {
            let (Some(w), Some(h)) = (self.number_or_absent(TILE_WIDTH)?, self.number_or_absent(TILE_HEIGHT)?) else {
                return Ok(false);
            };
            (w, h, TILE_OFFSETS)
        };
        let offsets = self.numbers(offsets, MAX_VALUES)?.unwrap_or_default();
        let bytes = |width: i64| width.max(0).saturating_mul(depth.clamp(0, 1024)).saturating_add(7) / 8;
        let whole = part_width == width && part_height >= height && !apart;
        let (mut x, mut y) = (0, 0);
        // If one part can hold the whole image, only the last part is used.
        let from = if whole { offsets.len().saturating_sub(1) } else { 0 };
        for offset in &offsets[from..] {
            let columns = part_width.min(width - x);
            let rows = part_height.min(height - y).max(0);
            let stride = if columns < part_width { bytes(part_width) } else { bytes(columns) };
            let needed = stride.saturating_mul((rows - 1).max(0)).saturating_add(bytes(columns));
            if u64::try_from(offset.saturating_add(needed)).map_or(true, |end| end > self.reader.len()) {
                return Ok(false);
            }
            x += part_width.max(1);
            if x >= width {
                (x, y) = (0, y.saturating_add(part_height.max(1)));
                if y >= height {
                    y = 0;
                }
            }
        }
        Ok(true)
    }
}
