//! Pages of Ogg (RFC 3533): finds and verifies them, and splits them into packets.

use crate::{ProbeError, Reader};

/// Flags of the first page of a stream, of the last one, and of a page that continues a packet.
pub(super) const FIRST: u8 = 2;
pub(super) const LAST: u8 = 4;
const CONTINUED: u8 = 1;
/// The longest page in bytes, which is also the range of the search for the next one.
const MAX_PAGE_BYTES: usize = 65_307;
/// Bytes before the segment lengths.
const HEADER_BYTES: usize = 27;
/// Maximum size in bytes of the stored part of a header packet.
const MAX_KEPT_HEADER_BYTES: usize = 1 << 19;
/// Maximum size in bytes of the stored part of a packet with sound or frames.
const KEPT_PACKET_BYTES: usize = 32;

/// A page with a valid checksum.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) at: u64,
    pub(super) flags: u8,
    /// Granule position of the page; −1 if no packet ends on the page.
    pub(super) granule: i64,
    pub(super) serial: u32,
    segments: Vec<u8>,
    content: Vec<u8>,
}

impl Page {
    /// Whether the content starts with `magic`.
    pub(super) fn starts_with(&self, magic: &[u8]) -> bool {
        self.content.starts_with(magic)
    }
}

/// Reads consecutive pages.
pub(super) struct Pages {
    at: u64,
    /// Offset of the last valid page.
    last: Option<u64>,
}

impl Pages {
    pub(super) fn new(at: u64) -> Self {
        Self { at, last: None }
    }

    /// Returns the next page with a valid checksum; `None` at the end, even within a page.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if no page starts within the length of one.
    pub(super) fn next(&mut self, reader: &mut Reader) -> Result<Option<Page>, ProbeError> {
        loop {
            let Some(at) = self.sync(reader)? else { return Ok(None) };
            self.at = at + 4;
            let Some(page) = read(reader, at)? else { return Ok(None) };
            if let Some((page, end)) = page {
                self.at = end;
                self.last = Some(at);
                return Ok(Some(page));
            }
        }
    }

    /// Returns the offset of the next page marker. If there is none at the current offset, the previous page is searched too, because its
    /// length may be wrong.
    fn sync(&mut self, reader: &mut Reader) -> Result<Option<u64>, ProbeError> {
        let here = reader.up_to(self.at, 4)?;
        if here == b"OggS" {
            return Ok(Some(self.at));
        }
        if here.len() < 4 {
            return Ok(None);
        }
        let from = match self.last.take() {
            Some(last) => last + 4,
            None => self.at,
        };
        let bytes = reader.up_to(from, MAX_PAGE_BYTES)?;
        match memchr::memmem::find(bytes, b"OggS") {
            Some(offset) => Ok(Some(from + offset as u64)),
            None if bytes.len() < MAX_PAGE_BYTES => Ok(None),
            None => Err(ProbeError::broken("no page of Ogg follows", from)),
        }
    }
}

/// Reads a page: `None` if the file ends within it, an inner `None` if its checksum is wrong.
fn read(reader: &mut Reader, at: u64) -> Result<Option<Option<(Page, u64)>>, ProbeError> {
    // Reading the header first avoids reading the maximum page length for each page of a file of short pages.
    let segments = reader.up_to(at, HEADER_BYTES)?.get(HEADER_BYTES - 1).map_or(0, |count| usize::from(*count));
    let lengths = reader.up_to(at + HEADER_BYTES as u64, segments)?.iter().map(|length| usize::from(*length));
    let length = lengths.sum::<usize>();
    let bytes = reader.up_to(at, HEADER_BYTES + segments + length)?;
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let Some((segments, rest)) = rest.split_at_checked(segments) else { return Ok(None) };
    let Some(content) = rest.get(..length) else { return Ok(None) };
    let number = |from: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[from..from + 4]);
        u32::from_le_bytes(bytes)
    };
    let crc = checksum(checksum(checksum(0, &header[..22]), &[0; 4]), &header[26..]);
    if checksum(checksum(crc, segments), content) != number(22) || header[4] != 0 {
        return Ok(Some(None));
    }
    let page = Page {
        at,
        flags: header[5],
        granule: i64::from(number(6)) | i64::from(number(10)) << 32,
        serial: number(14),
        segments: segments.to_vec(),
        content: content.to_vec(),
    };
    let end = at + (HEADER_BYTES + segments.len() + length) as u64;
    Ok(Some(Some((page, end))))
}

/// Updates the checksum of a page with more bytes.
fn checksum(crc: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut value = (at as u32) << 24;
            let mut bit = 0;
            while bit < 8 {
                value = if value >> 31 == 1 { value << 1 ^ 0x04c1_1db7 } else { value << 1 };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    bytes.iter().fold(crc, |crc, byte| crc << 8 ^ TABLE[usize::from((crc >> 24) as u8 ^ byte)])
}

/// A packet, or its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Packet {
    pub(super) bytes: Vec<u8>,
    /// Full length of the packet in bytes.
    pub(super) length: usize,
}

/// Assembles packets of one stream that span pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembly {
    partial: Packet,
    unfinished: bool,
}

/// The packets that end on a page.
#[derive(Debug)]
pub(super) struct Packets {
    pub(super) complete: Vec<Packet>,
    /// Whether the last packet ends at the end of the page.
    pub(super) ends_with_whole: bool,
}

impl Assembly {
    /// Adds a page. Unless `headers` is set, only the beginning of packets is kept.
    pub(super) fn add(&mut self, page: &Page, headers: bool) -> Packets {
        let kept = if headers { MAX_KEPT_HEADER_BYTES } else { KEPT_PACKET_BYTES };
        let mut segments = page.segments.iter();
        let mut content = page.content.as_slice();
        let goes_on = page.flags & CONTINUED != 0 || self.unfinished;
        if !goes_on {
            self.partial = Packet::default();
        } else if self.partial.length == 0 {
            // The page continues a packet whose beginning is missing: the rest of the packet is skipped.
            for &length in segments.by_ref() {
                content = content.get(length.into()..).unwrap_or_default();
                if length < 255 {
                    break;
                }
            }
        }
        let mut packets = Packets { complete: Vec::new(), ends_with_whole: false };
        for &length in segments {
            let (piece, rest) = content.split_at_checked(length.into()).unwrap_or((content, &[]));
            content = rest;
            let room = kept.saturating_sub(self.partial.bytes.len()).min(piece.len());
            self.partial.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
            self.partial.length += piece.len();
            packets.ends_with_whole = length < 255;
            if length < 255 {
                packets.complete.push(std::mem::take(&mut self.partial));
            }
        }
        self.unfinished = self.partial.length > 0;
        packets
    }
}
