//! The first member of a zip archive as a stream that starts at its local header. Its checksum is verified at its end.

use flate2::bufread::DeflateDecoder;
use flate2::Crc;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use memchr::memmem::rfind;
use std::io::{self, BufRead, Read, Take};

/// Size of a local header without the name, in bytes.
const LOCAL_HEADER_BYTES: usize = 30;
/// Flag: the member is encrypted.
const ENCRYPTED: u16 = 1;
/// Flag: checksum and sizes are stored only after the member.
const TRAILING_SIZES: u16 = 8;
/// Value of a size that is stored in the extra field instead.
const LARGE: u32 = u32::MAX;
/// Optional signature before the checksum that follows a member.
const DESCRIPTOR_MAGIC: [u8; 4] = *b"PK\x07\x08";

/// Maximum distance in bytes from the beginning of the end record to the end of the archive: 22, and the longest comment.
const MAX_END_BYTES: u64 = 22 + 0xffff;

/// Returns the number of members as the end record states it; `None` if there is no end record.
pub(in crate::source) fn member_count(file: &ReadFile) -> Outcome<Option<u16>> {
    let start = file.len().saturating_sub(MAX_END_BYTES);
    let mut end = vec![0; usize::try_from(file.len() - start).unwrap_or_default()];
    let mut filled = 0;
    while let Some(space) = end.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, start + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(Failure::io("reading the text", file.path(), &error)),
        }
    }
    let count = rfind(&end, b"PK\x05\x06").and_then(|at| Some([*end.get(at + 10)?, *end.get(at + 11)?]));
    Ok(count.map(u16::from_le_bytes))
}

/// Skips the header of the first member and returns its content.
pub(super) fn first_member(mut input: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut header = [0u8; LOCAL_HEADER_BYTES];
    input.read_exact(&mut header)?;
    let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u32::from(short(at)) | (u32::from(short(at + 2)) << 16);
    if !header.starts_with(b"PK\x03\x04") {
        return Err(bad("the archive does not begin with a member"));
    }
    let (flags, method, checksum, packed) = (short(6), short(8), long(14), long(18));
    let skipped = u64::from(short(26)) + u64::from(short(28));
    if io::copy(&mut input.by_ref().take(skipped), &mut io::sink())? < skipped {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let has_trailing_sizes = flags & TRAILING_SIZES != 0;
    let content = match method {
        _ if flags & ENCRYPTED != 0 => return Err(bad("its first member is encrypted")),
        0 if has_trailing_sizes || packed == LARGE => return Err(bad("its first member is stored without its size")),
        0 => Content::Stored(input.take(u64::from(packed))),
        8 => Content::Deflated(DeflateDecoder::new(input)),
        _ => return Err(bad("its first member has an unknown compression method")),
    };
    Ok(Box::new(Member { content, crc: Crc::new(), checksum: (!has_trailing_sizes).then_some(checksum) }))
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

enum Content<R> {
    Stored(Take<R>),
    Deflated(DeflateDecoder<R>),
}

struct Member<R> {
    content: Content<R>,
    crc: Crc,
    /// The checksum in the local header; `None` if it is stored after the member.
    checksum: Option<u32>,
}

impl<R: BufRead> Member<R> {
    /// Reads the checksum after the member.
    fn trailing_checksum(&mut self) -> io::Result<u32> {
        let Content::Deflated(decoder) = &mut self.content else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let mut word = [0u8; 4];
        decoder.get_mut().read_exact(&mut word)?;
        if word == DESCRIPTOR_MAGIC {
            decoder.get_mut().read_exact(&mut word)?;
        }
        Ok(u32::from_le_bytes(word))
    }
}

impl<R: BufRead> Read for Member<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let count = match &mut self.content {
            Content::Stored(input) => input.read(buf)?,
            Content::Deflated(decoder) => decoder.read(buf)?,
        };
        self.crc.update(buf.get(..count).unwrap_or_default());
        if count == 0 {
            // A truncated stream ends without an error.
            let wanted = match self.checksum {
                Some(checksum) => checksum,
                None => self.trailing_checksum()?,
            };
            if wanted != self.crc.sum() {
                return Err(bad("its first member is cut short or damaged"));
            }
            self.checksum = Some(wanted);
        }
        Ok(count)
    }
}
