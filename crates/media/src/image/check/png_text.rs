//! Checks texts and profiles in PNG chunks against the limits of Pillow: it refuses an image with a compressed text or profile longer than
//! 1 MiB, or with more than 64 MiB of text in total. A text that does not decompress counts as empty in Pillow.

use crate::bytes::MAX_READ_BYTES;
use crate::{ProbeError, Reader};
use flate2::{Decompress, FlushDecompress, Status};

/// Longest content of one compressed chunk, in bytes.
const MAX_CHUNK_BYTES: u64 = 1 << 20;
/// Longest content of all texts, in bytes, or in characters for an iTXt chunk.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Bytes that are decompressed at a time.
const DECOMPRESS_BYTES: usize = 64 << 10;

/// Counts the texts of an image.
#[derive(Default)]
pub(super) struct Texts {
    total: u64,
}

impl Texts {
    /// Adds a chunk whose content is `len` bytes from `at`; chunks that contain no text are accepted.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if a limit is exceeded.
    pub(super) fn add_chunk(
        &mut self,
        reader: &mut Reader,
        kind: &[u8; 4],
        at: u64,
        len: u64,
    ) -> Result<(), ProbeError> {
        let end = at.saturating_add(len).min(reader.len());
        if !matches!(kind, b"tEXt" | b"zTXt" | b"iTXt" | b"iCCP") {
            return Ok(());
        }
        let name = String::from_utf8_lossy(kind);
        let zero = find_zero(reader, at, end)?;
        let has_key = zero != Some(at) && at < end;
        let counted = match (kind, zero) {
            (b"tEXt", Some(zero)) => end - zero - 1,
            (b"zTXt", Some(zero)) => decompress(reader, &name, zero + 2, end, &mut |_| ())?,
            (b"iCCP", zero) => {
                decompress(reader, &name, zero.map_or(at + 1, |zero| zero + 2), end, &mut |_| ())?;
                0
            }
            (b"iTXt", Some(zero)) => international(reader, zero + 1, end)?,
            _ => 0,
        };
        if has_key {
            self.total = self.total.saturating_add(counted);
        }
        if self.total > MAX_TEXT_BYTES {
            return Err(ProbeError::broken(
                "the texts of the PNG picture are longer than 64 MiB, which Pillow refuses",
                at,
            ));
        }
        Ok(())
    }
}

/// Returns the number of characters of an iTXt chunk after its key: two flags, two names, and the text; 0 for a chunk that Pillow ignores.
fn international(reader: &mut Reader, at: u64, end: u64) -> Result<u64, ProbeError> {
    let [is_compressed, method] = *reader.up_to(at, 2)? else { return Ok(0) };
    if at + 2 > end || is_compressed != 0 && method != 0 {
        return Ok(0);
    }
    let language = at + 2;
    let Some(first) = find_zero(reader, language, end)? else { return Ok(0) };
    let Some(second) = find_zero(reader, first + 1, end)? else { return Ok(0) };
    let mut text = Characters::default();
    if is_compressed != 0 {
        decompress(reader, "iTXt", second + 1, end, &mut |bytes| text.add_chunk(bytes))?;
    } else {
        each_piece(reader, second + 1, end, &mut |bytes| {
            text.add_chunk(bytes);
            true
        })?;
    }
    let mut names = Characters::default();
    for (from, to) in [(language, first), (first + 1, second)] {
        each_piece(reader, from, to, &mut |bytes| {
            names.add_chunk(bytes);
            true
        })?;
        names.end();
    }
    text.end();
    Ok(if text.is_wrong || names.is_wrong { 0 } else { text.count })
}

/// Counts characters of UTF-8 that is passed in pieces.
#[derive(Default)]
struct Characters {
    count: u64,
    is_wrong: bool,
    /// An incomplete character at the end of the last piece.
    rest: Vec<u8>,
}

impl Characters {
    fn add_chunk(&mut self, bytes: &[u8]) {
        if self.is_wrong {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let valid = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => {
                self.is_wrong = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        self.count += self.rest.drain(..valid).filter(|byte| byte & 0xc0 != 0x80).count() as u64;
    }

    fn end(&mut self) {
        self.is_wrong |= !self.rest.is_empty();
    }
}

/// Returns the offset of the first zero byte between two offsets.
fn find_zero(reader: &mut Reader, from: u64, end: u64) -> Result<Option<u64>, ProbeError> {
    let (mut at, mut found) = (from, None);
    each_piece(reader, from, end, &mut |bytes| {
        found = memchr::memchr(0, bytes).map(|zero| at + zero as u64);
        at += bytes.len() as u64;
        found.is_none()
    })?;
    Ok(found)
}

/// Passes the bytes between two offsets to `add_chunk` until it returns `false`.
fn each_piece(
    reader: &mut Reader,
    mut from: u64,
    end: u64,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), ProbeError> {
    while from < end {
        let count = usize::try_from(end - from).unwrap_or(DECOMPRESS_BYTES).min(DECOMPRESS_BYTES).min(MAX_READ_BYTES);
        let bytes = reader.up_to(from, count)?;
        if bytes.is_empty() || !take(bytes) {
            break;
        }
        from += bytes.len() as u64;
    }
    Ok(())
}

/// Decompresses the bytes between two offsets, and returns the decompressed length: 0 if the data are damaged, the length so far if they
/// end early.
fn decompress(
    reader: &mut Reader,
    name: &str,
    from: u64,
    end: u64,
    take: &mut dyn FnMut(&[u8]),
) -> Result<u64, ProbeError> {
    let (mut inflate, mut out) = (Decompress::new(true), vec![0; DECOMPRESS_BYTES]);
    let (mut is_damaged, mut is_too_long) = (false, false);
    each_piece(reader, from, end, &mut |mut bytes| loop {
        let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
        let Ok(status) = inflate.decompress(bytes, &mut out, FlushDecompress::None) else {
            is_damaged = true;
            return false;
        };
        let used = usize::try_from(inflate.total_in() - in_before).unwrap_or(usize::MAX);
        let made = usize::try_from(inflate.total_out() - out_before).unwrap_or(usize::MAX);
        bytes = bytes.get(used..).unwrap_or_default();
        take(out.get(..made).unwrap_or_default());
        is_too_long = inflate.total_out() > MAX_CHUNK_BYTES;
        if is_too_long || status == Status::StreamEnd {
            return false;
        }
        if used == 0 && made == 0 || bytes.is_empty() && made < DECOMPRESS_BYTES {
            return true;
        }
    })?;
    if is_too_long {
        let message = format!("its {name} chunk unpacks to more than 1 MiB, which Pillow refuses");
        return Err(ProbeError::broken(message, from));
    }
    Ok(if is_damaged { 0 } else { inflate.total_out() })
}
