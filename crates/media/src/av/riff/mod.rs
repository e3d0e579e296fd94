//! RIFF and related formats: WAV (including RF64 and Wave64) and AVI.

pub mod avi;
mod format;
mod frames;
mod packets;
pub mod wav;
