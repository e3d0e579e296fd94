//! What is known of one picture, sound or video, and how media are picked (docs/formats/energon.md §12).

use serde::{Deserialize, Serialize};

/// The two types of rows in `media_metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediaType {
    /// A picture.
    Image,
    /// Sound, video, or both.
    Av,
}

impl MediaType {
    /// As `metadata_type` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Av => "av",
        }
    }
}

/// A picture, as its header tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageFacts {
    /// In pixels, as stored: a rotation in EXIF data is not applied.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// As Pillow names it: `JPEG`, `PNG`, `JPEG2000`.
    pub format: &'static str,
    /// As Pillow names it: `RGB`, `P`, `I;16`.
    pub mode: &'static str,
}

/// Sound and video, of the first stream each. `None` where there is no such stream, or the container does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AvFacts {
    /// Seconds.
    pub video_duration: Option<f64>,
    /// Packets with a time stamp.
    pub video_num_frames: Option<u64>,
    /// Frames per second, on average.
    pub video_fps: Option<f64>,
    /// In pixels.
    pub video_width: Option<u32>,
    /// In pixels.
    pub video_height: Option<u32>,
    /// Seconds.
    pub audio_duration: Option<f64>,
    /// Number of channels.
    pub audio_channels: Option<u32>,
    /// Samples per second.
    pub audio_sample_rate: Option<u32>,
    /// Samples per channel.
    pub audio_num_samples: Option<u64>,
}

/// What is known of one entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MediaFacts {
    /// Of a picture.
    Image(ImageFacts),
    /// Of sound or video.
    Av(AvFacts),
}

impl MediaFacts {
    /// The type of its row.
    pub fn media_type(&self) -> MediaType {
        match self {
            Self::Image(_) => MediaType::Image,
            Self::Av(_) => MediaType::Av,
        }
    }
}

/// Which entries are media.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediaFilter {
    /// By the ending of the name.
    Extension,
    /// By the first bytes of each entry, then by the ending.
    Header,
    /// Entries whose name one of these shell patterns matches.
    Glob(Vec<String>),
}

impl MediaFilter {
    /// `strategy` of its row in `media_filters`.
    pub fn strategy(&self) -> &'static str {
        match self {
            Self::Extension => "EXTENSION",
            Self::Header => "HEADER",
            Self::Glob(_) => "GLOB",
        }
    }
    /// `patterns` of its row in `media_filters`: empty for all but globs.
    pub fn patterns(&self) -> String {
        match self {
            Self::Extension | Self::Header => String::new(),
            Self::Glob(patterns) => patterns.join(","),
        }
    }
}

/// How media are described.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MediaPlan {
    /// Which entries.
    pub filter: MediaFilter,
    /// Decode each picture whole, so that damage behind a good header is found.
    #[serde(default)]
    pub decode: bool,
}
