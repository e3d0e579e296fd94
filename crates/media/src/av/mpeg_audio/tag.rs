//! The first frame if it contains counts instead of sound: the Xing, Info, LAME and VBRI tags.

use super::super::codec::{Layer, MpegHeader};
use super::super::rational::{rescale_base, Rational};
use super::BASE;
use crate::{ProbeError, Reader};

/// Delay of layer III decoders in samples, plus one.
const DECODER_DELAY: i64 = 528 + 1;

/// The fields of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InfoTag {
    /// Number of bytes to skip, which is the length of the frame; 0 if the frame is decoded like any other.
    pub(super) skipped: u64,
    /// Number of frames; 0 if not specified.
    frames: i64,
    /// Samples per frame, and per second.
    samples: i64,
    rate: i64,
    /// Samples that the encoder added at the beginning and at the end, if specified.
    added: Option<(i64, i64)>,
}

impl InfoTag {
    /// Returns the number of samples to discard at the beginning.
    pub(super) fn skip(&self) -> i64 {
        self.added.map_or(0, |(front, _)| front + DECODER_DELAY)
    }

    /// Returns the range of samples at the end that are discarded.
    pub(super) fn dropped(&self) -> Option<(i64, i64)> {
        let total = self.frames * self.samples;
        let (_, end) = self.added.filter(|_| self.frames > 0)?;
        Some((total - end + DECODER_DELAY, total))
    }

    /// Returns the time of the first sample that is not discarded, in ticks.
    pub(super) fn start_time(&self) -> i64 {
        if self.added.is_some() {
            rescale_base(self.skip(), Rational::new(1, self.rate), BASE)
        } else {
            0
        }
    }

    /// Returns the specified duration, in ticks.
    pub(super) fn duration(&self) -> Option<i64> {
        let (front, end) = self.added.unwrap_or_default();
        let samples = self.frames * self.samples - front - end;
        (self.frames > 0).then(|| rescale_base(samples, Rational::new(1, self.rate), BASE))
    }
}

/// Reads the frame at `at`, the first one after the tags; `None` if it is not a layer III frame.
pub(super) fn read(reader: &mut Reader, at: u64) -> Result<Option<InfoTag>, ProbeError> {
    let present = reader.len().saturating_sub(at + 4);
    let bytes = reader.up_to(at, 256)?;
    let Some(header) = bytes.first_chunk().and_then(|head| MpegHeader::parse(*head)) else {
        return Ok(None);
    };
    if header.layer != Layer::III {
        return Ok(None);
    }
    let mut tag = InfoTag { samples: header.samples().into(), rate: header.rate.into(), ..InfoTag::default() };
    let mut declared = 0;
    let from = match (header.low_rate, header.channels) {
        (false, 1) | (true, 2) => 17,
        (false, _) => 32,
        (true, _) => 9,
    };
    if let Some(fields) = Fields::of_xing(bytes.get(4 + from..).unwrap_or_default()) {
        declared = xing(&mut tag, fields, present);
    }
    if let Some(mut fields) = bytes.get(36..).and_then(|rest| rest.strip_prefix(b"VBRI")).map(Fields) {
        if fields.number(2) == 1 {
            fields.number(4);
            declared = fields.number(4);
            tag.frames = fields.number(4);
        }
    }
    if tag.frames > 0 || declared > 0 {
        tag.skipped = u64::from(header.bytes().unwrap_or(0));
    }
    Ok(Some(tag))
}

/// Reads the fields after `Xing` or `Info`; returns the specified number of bytes. `present` is the number of bytes present.
fn xing(tag: &mut InfoTag, mut fields: Fields, present: u64) -> i64 {
    let flags = fields.number(4);
    let mut declared = 0;
    if flags & 1 != 0 {
        tag.frames = fields.number(4);
    }
    if flags & 2 != 0 {
        declared = fields.number(4);
    }
    let declared_bytes = u64::try_from(declared).unwrap_or(0);
    if declared_bytes > 0 && present > declared_bytes && present - declared_bytes > declared_bytes >> 4 {
        // For concatenated files, the tag applies only to the first one.
        tag.frames = 0;
    }
    if flags & 4 != 0 {
        fields.skip(100);
    }
    if flags & 8 != 0 {
        fields.skip(4);
    }
    let encoder = fields.0;
    fields.skip(9 + 1 + 1 + 4 + 2 + 2 + 1 + 1);
    let added = fields.number(3);
    if [b"LAME", b"Lavf", b"Lavc"].iter().any(|name| encoder.starts_with(*name)) {
        tag.added = Some((added >> 12, added & 0xfff));
    }
    declared
}

/// Reads consecutive numbers; missing bytes count as 0.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn of_xing(bytes: &'a [u8]) -> Option<Self> {
        bytes.strip_prefix(b"Xing").or_else(|| bytes.strip_prefix(b"Info")).map(Self)
    }

    fn skip(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }

    /// Reads a big-endian number of `count` bytes.
    fn number(&mut self, count: usize) -> i64 {
        let number = (0..count).fold(0, |number, at| number << 8 | i64::from(self.0.get(at).copied().unwrap_or(0)));
        self.skip(count);
        number
    }
}
