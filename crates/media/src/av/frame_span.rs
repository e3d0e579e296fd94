//! The location of a frame in a container.

/// The maximum number of frames that are searched for a key frame: a malicious file may have any number.
pub(super) const MAX_SEARCHED_FRAMES: u64 = 100_000;

/// The location of a frame, and the configuration of its decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSpan {
    /// The configuration of its codec, as the container stores it.
    pub config: Vec<u8>,
    /// Bytes that the container removed from the beginning of the frame.
    pub stripped: Vec<u8>,
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
}
