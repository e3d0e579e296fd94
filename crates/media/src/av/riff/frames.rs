//! Sound in frames that contain their length: MPEG audio and AC-3 in WAV and AVI files.

use super::format::{Coding, SoundFormat};
use crate::av::codec::{ac3_frame, mp3_frame, FrameHeader};
use crate::av::rational::{rescale, Rational, Rounding};
use crate::{ProbeError, Reader};

/// The longest frame header that is parsed, in bytes.
const MAX_FRAME_HEADER_BYTES: usize = 8;

/// The maximum number of bytes outside of frames that are skipped.
const MAX_JUNK: u64 = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct FrameFacts {
    /// Samples per channel.
    pub samples: u64,
    /// End of the last frame, in the stream's time base.
    pub end: Option<i64>,
    /// Number of channels of the last frame.
    pub channels: Option<u32>,
    /// Number of samples per second of the first frame.
    pub rate: Option<u32>,
    /// Unusual findings that are not errors.
    pub remarks: Vec<String>,
}

/// Follows frames that are stored in pieces of a file, across the boundaries of pieces.
pub(super) struct Frames {
    read: fn(&[u8]) -> Option<FrameHeader>,
    base: Rational,
    /// The beginning of a frame whose header is still incomplete.
    head: Vec<u8>,
    /// Offset of that beginning in its piece.
    head_at: u64,
    /// Time stamp of the piece in which the incomplete frame of `head` begins. `None` after that frame was counted.
    head_stamp: Option<i64>,
    /// Remaining bytes of the current frame.
    left: u64,
    /// Number of bytes outside of frames.
    junk: u64,
    /// Whether decoders refuse bytes between frames, as for MPEG audio.
    strict: bool,
    /// Whether there are bytes between frames.
    interrupted: bool,
    found: FrameFacts,
}

impl Frames {
    /// Creates a counter for sound in such frames, with time stamps in `base`; `None` for other sound.
    pub fn of(format: &SoundFormat, base: Rational) -> Option<Self> {
        let read = match format.coding {
            Coding::Mpeg => |bytes: &[u8]| mp3_frame(bytes.first_chunk()?),
            Coding::Ac3 => ac3_frame,
            _ => return None,
        };
        Some(Self {
            read,
            base,
            head: Vec::with_capacity(MAX_FRAME_HEADER_BYTES),
            head_at: 0,
            head_stamp: None,
            left: 0,
            junk: 0,
            strict: format.coding == Coding::Mpeg,
            interrupted: false,
            found: FrameFacts::default(),
        })
    }

    /// Reads `len` bytes at `at`; `stamp` is the time of the first frame that begins in them.
    pub fn read_frames(
        &mut self,
        reader: &mut Reader,
        at: u64,
        len: u64,
        stamp: Option<i64>,
    ) -> Result<(), ProbeError> {
        let (mut stamp, mut begun_here) = (stamp, false);
        let mut done = self.left.min(len);
        self.left -= done;
        while done < len {
            if self.head.is_empty() {
                self.head_at = done;
                self.head_stamp = stamp;
                begun_here = true;
            }
            let wanted = (MAX_FRAME_HEADER_BYTES - self.head.len())
                .min(usize::try_from(len - done).unwrap_or(MAX_FRAME_HEADER_BYTES));
            let bytes = reader.up_to(at + done, wanted)?;
            if bytes.is_empty() {
                break;
            }
            let taken = bytes.len() as u64;
            self.head.extend_from_slice(bytes);
            done += taken;
            if self.head.len() < MAX_FRAME_HEADER_BYTES {
                break;
            }
            let Some((header, length)) = (self.read)(&self.head).and_then(|header| Some((header, header.bytes?)))
            else {
                self.junk += 1;
                if self.junk > MAX_JUNK {
                    return Err(ProbeError::broken("its sound is not coded as its header says", at + done));
                }
                self.head.remove(0);
                self.head_at += 1;
                // Bytes read ahead stay in `head`; only its first byte is discarded.
                continue;
            };
            if begun_here {
                stamp = None;
            }
            self.frame(header, length);
            let beyond = u64::from(length).saturating_sub(MAX_FRAME_HEADER_BYTES as u64);
            self.head.clear();
            let skipped = beyond.min(len - done);
            done += skipped;
            self.left = beyond - skipped;
        }
        Ok(())
    }

    fn frame(&mut self, header: FrameHeader, length: u32) {
        self.interrupted |= self.junk > 0 && self.found.samples > 0;
        let duration = in_base(i64::from(header.samples), header.rate, self.base);
        let start = match self.head_stamp.take() {
            Some(stamp) => {
                let offset = i64::try_from(self.head_at).unwrap_or(i64::MAX);
                stamp.saturating_add(rescale(offset, duration, i64::from(length), Rounding::Near))
            }
            None => self.found.end.unwrap_or(0),
        };
        self.found.end = Some(start.saturating_add(duration));
        self.found.samples = self.found.samples.saturating_add(u64::from(header.samples));
        self.found.channels = Some(header.channels);
        self.found.rate = self.found.rate.or(Some(header.rate));
    }

    /// Returns the facts after all pieces were read. A last frame that is cut off counts as complete if its header is complete, as in
    /// decoders.
    pub fn finish(mut self, file_len: u64) -> Result<FrameFacts, ProbeError> {
        if let Some((header, length)) = (self.read)(&self.head).and_then(|header| Some((header, header.bytes?))) {
            self.frame(header, length);
            self.left = 1;
        } else if self.head.first().is_some_and(|first| *first == 0xff) {
            return Err(ProbeError::broken("its last frame of sound is cut off", file_len));
        }
        if self.strict && self.interrupted {
            return Err(ProbeError::broken("there is something between its frames of sound", file_len));
        }
        if self.left > 0 {
            self.found.remarks.push("its last frame of sound is cut off".to_owned());
        }
        if self.junk > 0 {
            self.found.remarks.push(format!(
                "{} of its sound {} to no frame",
                gristmill_core::text::count(self.junk, "byte"),
                gristmill_core::text::agree(self.junk, "belongs", "belong")
            ));
        }
        Ok(self.found)
    }
}

/// Converts a number of samples to a time base, rounded down.
pub(super) fn in_base(samples: i64, rate: u32, base: Rational) -> i64 {
    rescale(samples, base.den, i64::from(rate).saturating_mul(base.num), Rounding::Down)
}
