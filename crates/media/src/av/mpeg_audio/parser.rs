//! Splits the bytes into packets and times them like FFmpeg's parser, including its delay in accepting a change of format.

use super::super::codec::{Layer, MpegHeader};
use super::super::rational::{rescale, Rounding};
use super::TICKS;
use crate::{ProbeError, Reader};

/// Bytes that are passed to the parser at a time.
const CHUNK_BYTES: u64 = 1024;
/// Number of packets that are read when a file is opened.
const OPENED_BY: u32 = 50;
/// Bytes that are searched at a time.
const MAX_SEARCH_BYTES: usize = 4096;

/// The values known after a file was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileStart {
    /// Samples per second.
    pub(super) rate: u32,
    /// Average bits per second.
    pub(super) bit_rate: i64,
    layer: Option<Layer>,
}

/// A frame and all bytes before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Offsets of the packet, of its header, and of its end, which is past the end of the entry if the frame is cut short.
    pub(super) start: u64,
    pub(super) header_at: u64,
    pub(super) end: u64,
    pub(super) header: MpegHeader,
    /// Duration in ticks.
    pub(super) ticks: i64,
}

/// The state of the parser.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parser {
    at: u64,
    header: Option<MpegHeader>,
    /// Number of consecutive compatible headers; the header is not trusted while this is negative.
    count: i64,
    samples: u32,
    averages: bool,
    known: FileStart,
}

impl Parser {
    /// Creates a parser that starts at `at`, with the values found by an earlier one.
    pub(super) fn new(at: u64, known: FileStart) -> Self {
        Self { at, header: None, count: 0, samples: 0, averages: false, known }
    }

    /// Returns the number of samples per second according to trusted headers.
    pub(super) fn rate(&self) -> u32 {
        self.known.rate
    }

    /// Returns the offset of the remaining data, which contain no frame.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the next packet; `None` if no more frames start.
    pub(super) fn next(&mut self, reader: &mut Reader) -> Result<Option<Packet>, ProbeError> {
        let start = self.at;
        let Some((header_at, header, bytes)) = find(reader, start)? else {
            return Ok(None);
        };
        if header_at > start {
            self.count = -2;
        }
        self.note_header(header);
        self.at = header_at + u64::from(bytes);
        let ticks = self.ticks();
        Ok(Some(Packet { start, header_at, end: self.at, header, ticks }))
    }

    fn note_header(&mut self, header: MpegHeader) {
        let threshold = i64::from(self.known.layer.unwrap_or(Layer::III) != header.layer);
        if self.header.is_some_and(|before| {
            (before.layer, before.rate, before.low_rate) != (header.layer, header.rate, header.low_rate)
        }) {
            self.count = -3;
        }
        self.header = Some(header);
        self.count += 1;
        if self.count > threshold {
            self.known.rate = header.rate;
            self.known.layer = Some(header.layer);
            self.samples = header.samples();
            if self.averages || self.known.bit_rate == 0 {
                self.averages = true;
                let bit_rate = i64::from(header.bit_rate.unwrap_or(0));
                self.known.bit_rate += (bit_rate - self.known.bit_rate) / (self.count - threshold);
            }
        }
    }

    /// Returns the duration of the last packet in ticks.
    fn ticks(&self) -> i64 {
        let rate = if self.known.rate > 0 { self.known.rate } else { self.header.map_or(0, |header| header.rate) };
        let samples = match (self.samples, self.known.layer) {
            (0, Some(Layer::I)) => 384,
            (0, Some(Layer::III) | None) if rate <= 24_000 => 576,
            (0, _) => 1152,
            (samples, _) => samples,
        };
        rescale(samples.into(), TICKS, rate.into(), Rounding::Down)
    }
}

/// Finds the first frame header at or after `from`: its offset, the header, and the frame's length in bytes.
fn find(reader: &mut Reader, from: u64) -> Result<Option<(u64, MpegHeader, u32)>, ProbeError> {
    let mut at = from;
    loop {
        // Consecutive frames require only four bytes each; a search requires more.
        let wanted = if at == from { 4 } else { MAX_SEARCH_BYTES };
        let bytes = reader.up_to(at, wanted)?;
        if bytes.len() < 4 {
            return Ok(None);
        }
        for (offset, head) in bytes.windows(4).enumerate() {
            let Some(header) = MpegHeader::parse([head[0], head[1], head[2], head[3]]) else {
                continue;
            };
            if let Some(length) = header.bytes().filter(|length| *length > 4) {
                return Ok(Some((at + offset as u64, header, length)));
            }
        }
        at += (bytes.len() - 3) as u64;
    }
}

/// Returns the values that FFmpeg determines when it opens the file, from fifty packets after `first` and the rest of their chunk.
pub(super) fn opened(reader: &mut Reader, first: u64) -> Result<FileStart, ProbeError> {
    let mut parser = Parser::new(first, FileStart::default());
    let mut seen = 0;
    let mut read_up_to = u64::MAX;
    loop {
        let before = parser;
        let Some(packet) = parser.next(reader)? else {
            return Ok(parser.known);
        };
        if packet.header_at + 4 > read_up_to {
            return Ok(before.known);
        }
        seen += 1;
        if seen == OPENED_BY {
            read_up_to = first + (packet.end - first).div_ceil(CHUNK_BYTES) * CHUNK_BYTES;
        }
    }
}
