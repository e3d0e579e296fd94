//! Facts about one picture, sound or video, and the rules that select media (docs/formats/energon.md §12).

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
    /// Returns the value of `metadata_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Av => "av",
        }
    }
}

/// A picture, as described by its header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageFacts {
    /// Width in pixels, as stored: a rotation in EXIF data is not applied.
    pub width: u32,
    /// Height in pixels, as stored.
    pub height: u32,
    /// Format as named by Pillow: `JPEG`, `PNG`, `JPEG2000`.
    pub format: &'static str,
    /// Mode as named by Pillow: `RGB`, `P`, `I;16`.
    pub mode: &'static str,
}

/// Sound and video, of the first stream of each. `None` if there is no such stream or the container does not contain the value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AvFacts {
    /// Duration in seconds.
    pub video_duration: Option<f64>,
    /// Number of packets with a time stamp.
    pub video_num_frames: Option<u64>,
    /// Average frames per second.
    pub video_fps: Option<f64>,
    /// Width in pixels.
    pub video_width: Option<u32>,
    /// Height in pixels.
    pub video_height: Option<u32>,
    /// Duration in seconds.
    pub audio_duration: Option<f64>,
    /// Number of channels.
    pub audio_channels: Option<u32>,
    /// Samples per second.
    pub audio_sample_rate: Option<u32>,
    /// Number of samples per channel.
    pub audio_num_samples: Option<u64>,
}

/// Facts about one media entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MediaFacts {
    /// Facts about a picture.
    Image(ImageFacts),
    /// Facts about sound or video.
    Av(AvFacts),
}

impl MediaFacts {
    /// Returns the type of its row.
    pub fn media_type(&self) -> MediaType {
        match self {
            Self::Image(_) => MediaType::Image,
            Self::Av(_) => MediaType::Av,
        }
    }
}

/// The rule that selects which entries are media.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediaFilter {
    /// Selects by the extension of the name.
    Extension,
    /// Selects by the first bytes of the content, then by the extension.
    Header,
    /// Selects names that match one of these shell patterns. Without patterns, no rule has been chosen yet.
    Glob(Vec<String>),
}

impl MediaFilter {
    /// The filter of a plan in which no rule has been chosen.
    pub const UNSET: Self = Self::Glob(Vec::new());

    /// Parses comma-separated patterns; `None` if there is no pattern.
    pub fn of_patterns(text: &str) -> Option<Self> {
        let patterns: Vec<String> = text.split(',').map(str::to_owned).collect();
        patterns.iter().any(|pattern| !pattern.trim().is_empty()).then_some(Self::Glob(patterns))
    }

    /// Returns the `strategy` of its row in `media_filters`.
    pub fn strategy(&self) -> &'static str {
        match self {
            Self::Extension => "EXTENSION",
            Self::Header => "HEADER",
            Self::Glob(_) => "GLOB",
        }
    }
    /// Returns the `patterns` of its row in `media_filters`: empty except for globs.
    pub fn patterns(&self) -> String {
        match self {
            Self::Extension | Self::Header => String::new(),
            Self::Glob(patterns) => patterns.join(","),
        }
    }
}

/// The plan for collecting media metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MediaPlan {
    /// The rule that selects the entries.
    pub filter: MediaFilter,
    /// Whether to decode pictures completely, which finds damage after a valid header.
    #[serde(default)]
    pub decode: bool,
}
