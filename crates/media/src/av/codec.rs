//! Determines what the packets of a codec contain from their first bytes: samples, rate, channels and length.

mod ac3;
pub mod audio;
pub mod bits;
mod mpeg;
mod opus;
pub mod tally;
pub mod timing;
pub mod video;
pub mod vorbis;

pub use ac3::ac3_frame;
pub use audio::{AudioCodec, AudioSetup};
pub use mpeg::{mp3_frame, Layer, MpegHeader};
pub use opus::opus_packet_samples;
pub use tally::{Packet, SampleTally};
pub use timing::Timing;
pub use video::VideoCodec;

/// The fields of an audio frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Samples per channel.
    pub samples: u32,
    /// Samples per second.
    pub rate: u32,
    /// Number of channels.
    pub channels: u32,
    /// Length of the frame in bytes, including the header; `None` if only the next header determines it (free format).
    pub bytes: Option<u32>,
}
