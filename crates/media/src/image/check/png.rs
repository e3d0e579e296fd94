//! PNG: checks that the image data decompress to rows of known filters, no chunk is cut, and no text is too long.

use super::{png_text::Texts, truncated};
use crate::{ProbeError, Reader};
use flate2::{Decompress, FlushDecompress, Status};

/// Bytes that are read, and bytes that are decompressed, at a time.
const CHUNK_BYTES: usize = 64 << 10;
const DECOMPRESS_BYTES: usize = 64 << 10;

/// Checks the chunks of the PNG file at the offset `start`, and that its image data decompress to all rows. Checksums are not compared.
pub(super) fn check(reader: &mut Reader, start: u64) -> Result<(), ProbeError> {
    let mut chunks = Chunks { at: start.saturating_add(8), left: 0, texts: Texts::default(), reader };
    let rows = chunks.seek_data()?;
    pixels(&mut chunks, rows)?;
    chunks.finish()
}

/// Iterates over chunks.
struct Chunks<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
    /// Bytes of image data that are left in the current chunk.
    left: u64,
    texts: Texts,
}

impl Chunks<'_, '_> {
    /// Returns the name and length of the chunk at the current offset; `None` if there is none.
    fn header(&mut self) -> Result<Option<([u8; 4], u64)>, ProbeError> {
        let bytes = self.reader.up_to(self.at, 8)?;
        let Ok([l3, l2, l1, l0, kind @ ..]) = <[u8; 8]>::try_from(bytes) else { return Ok(None) };
        if !kind.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_') {
            return Ok(None);
        }
        Ok(Some((kind, u32::from_be_bytes([l3, l2, l1, l0]).into())))
    }

    /// Advances to the image data, and returns the layout of the rows.
    fn seek_data(&mut self) -> Result<Rows, ProbeError> {
        let mut rows = Rows::default();
        while let Some((kind, len)) = self.header()? {
            self.at += 8;
            match &kind {
                b"IHDR" => rows = Rows::of(self.reader.array(self.at)?),
                b"IDAT" | b"fdAT" => {
                    self.begin(&kind, len)?;
                    return Ok(rows);
                }
                _ => self.texts.add_chunk(self.reader, &kind, self.at, len)?,
            }
            self.at += len + 4;
        }
        Err(ProbeError::broken("the PNG picture has no data", self.at))
    }

    fn begin(&mut self, kind: &[u8; 4], len: u64) -> Result<(), ProbeError> {
        // The data of an animation frame are preceded by a sequence number.
        let number = if kind == b"fdAT" { 4 } else { 0 };
        if len < number {
            return Err(ProbeError::broken("the PNG picture has a chunk that is too short", self.at));
        }
        self.at += number;
        self.left = len - number;
        Ok(())
    }

    /// Returns the next image data, at most one piece; empty at their end.
    fn data(&mut self) -> Result<&[u8], ProbeError> {
        while self.left == 0 {
            self.at += 4;
            match self.header()? {
                Some((kind, len)) if matches!(&kind, b"IDAT" | b"DDAT" | b"fdAT") => {
                    self.at += 8;
                    self.begin(&kind, len)?;
                }
                Some(_) => {
                    self.at -= 4;
                    return Ok(&[]);
                }
                None => return Err(truncated(self.reader)),
            }
        }
        let count = usize::try_from(self.left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let end = truncated(self.reader);
        let bytes = self.reader.up_to(self.at, count)?;
        if bytes.is_empty() {
            return Err(end);
        }
        self.at += bytes.len() as u64;
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }

    /// Checks the chunks after the image data. A missing last chunk is allowed, a cut one is not.
    fn finish(&mut self) -> Result<(), ProbeError> {
        self.at += self.left + 4;
        while let Some((kind, len)) = self.header()? {
            if &kind == b"IEND" || &kind == b"fcTL" {
                break;
            }
            let content = self.at + 8;
            self.at = content + len;
            if self.at > self.reader.len() {
                return Err(truncated(self.reader));
            }
            self.texts.add_chunk(self.reader, &kind, content, len)?;
            self.at += 4;
        }
        Ok(())
    }
}

/// The length of the rows in bytes, and the number of rows of each length.
#[derive(Default)]
struct Rows {
    passes: Vec<(u64, u64)>,
}

impl Rows {
    fn bytes(&self) -> u64 {
        self.passes.iter().fold(0, |sum, (len, rows)| len.saturating_mul(*rows).saturating_add(sum))
    }
    fn of(header: [u8; 13]) -> Self {
        let [w3, w2, w1, w0, h3, h2, h1, h0, depth, colour, _, _, interlaced] = header;
        let width = u64::from(u32::from_be_bytes([w3, w2, w1, w0]));
        let height = u64::from(u32::from_be_bytes([h3, h2, h1, h0]));
        let samples = match colour {
            2 => 3,
            4 => 2,
            6 => 4,
            _ => 1,
        };
        let bits = samples * u64::from(depth);
        let pass = |width: u64, height: u64| ((width * bits).div_ceil(8) + 1, height);
        if interlaced == 0 {
            return Self { passes: vec![pass(width, height)] };
        }
        // First column and row, and steps to the next ones.
        let grid = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)];
        let part = |size: u64, first: u64, step: u64| size.saturating_sub(first).div_ceil(step);
        let passes = grid.iter().map(|(x, y, across, down)| (part(width, *x, *across), part(height, *y, *down)));
        Self { passes: passes.filter(|(w, h)| *w > 0 && *h > 0).map(|(w, h)| pass(w, h)).collect() }
    }
}

/// Tracks the rows in the decompressed bytes.
struct RowTracker {
    rows: std::vec::IntoIter<(u64, u64)>,
    len: u64,
    rows_left: u64,
    /// Bytes of the current row that are still missing.
    left: u64,
    done: bool,
}

impl RowTracker {
    fn new(rows: Rows) -> Self {
        let mut follow = Self { rows: rows.passes.into_iter(), len: 0, rows_left: 0, left: 0, done: false };
        follow.next_row();
        follow
    }

    fn next_row(&mut self) {
        if self.rows_left == 0 {
            match self.rows.next() {
                Some((len, rows)) => (self.len, self.rows_left) = (len, rows),
                None => {
                    self.done = true;
                    return;
                }
            }
        }
        self.rows_left -= 1;
        self.left = self.len;
    }

    /// Whether the first byte of each row is the number of a filter.
    fn check_filters(&mut self, mut bytes: &[u8]) -> bool {
        while !self.done && !bytes.is_empty() {
            if self.left == self.len && bytes[0] > 4 {
                return false;
            }
            let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            bytes = &bytes[count..];
            self.left -= count as u64;
            if self.left == 0 {
                self.next_row();
            }
        }
        true
    }
}

/// Checks the rows. Data after the last row, including the checksum of the data, are ignored.
fn pixels(chunks: &mut Chunks, rows: Rows) -> Result<(), ProbeError> {
    let mut left = rows.bytes();
    let mut follow = RowTracker::new(rows);
    let mut inflate = Decompress::new(true);
    let mut out = vec![0; DECOMPRESS_BYTES];
    let wrong = |at: u64| ProbeError::broken("the data of the PNG picture do not decompress", at);
    while left > 0 {
        let at = chunks.at;
        let mut bytes = chunks.data()?;
        if bytes.is_empty() {
            return Err(truncated(chunks.reader));
        }
        loop {
            let room = usize::try_from(left).unwrap_or(DECOMPRESS_BYTES).min(DECOMPRESS_BYTES);
            let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(bytes, &mut out[..room], FlushDecompress::None).map_err(|_| wrong(at))?;
            let used = usize::try_from(inflate.total_in() - in_before).unwrap_or(usize::MAX);
            let made = inflate.total_out() - out_before;
            bytes = bytes.get(used..).unwrap_or_default();
            let made_bytes = usize::try_from(made).ok().and_then(|made| out.get(..made)).unwrap_or_default();
            if !follow.check_filters(made_bytes) {
                return Err(ProbeError::broken("the PNG picture has a row of an unknown filter", at));
            }
            left = left.saturating_sub(made);
            match status {
                _ if left == 0 => return Ok(()),
                // An image that ends after any complete row is accepted.
                Status::StreamEnd if follow.left == follow.len => return Ok(()),
                Status::StreamEnd => return Err(truncated(chunks.reader)),
                _ if bytes.is_empty() && made < room as u64 || used == 0 && made == 0 => break,
                _ => {}
            }
        }
    }
    Ok(())
}
