//! The flags of `prepare` about media.

use clap::Args;
use gristmill_core::{Failure, MediaFilter, MediaPlan, Outcome};
use gristmill_ops::engine::plan::flags as f;

/// How media are picked and looked at.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Media metadata")]
pub struct MediaArgs {
    /// Describe pictures, sound and video, recognized by the ending of each name
    #[arg(long, alias = "media-by-extension")]
    pub media_metadata_by_extension: bool,
    /// The same, recognized by the first bytes of each entry, then by the ending
    #[arg(long, alias = "media-by-header")]
    pub media_metadata_by_header: bool,
    /// The same, of entries whose name a shell pattern matches; * crosses /, commas separate patterns
    #[arg(long, value_name = "PATTERNS", alias = "media-by-glob", allow_hyphen_values = true)]
    pub media_metadata_by_glob: Option<String>,
    // Of older documents: says that one of the three follows.
    #[arg(long, hide = true)]
    media_metadata: bool,
    /// Check every picture whole: finds damage after a good header
    #[arg(long)]
    pub decode: bool,
}

/// Combines the three ways: none, one, or a failure that names them.
pub fn filter(extension: bool, header: bool, glob: Option<&str>) -> Outcome<Option<MediaFilter>> {
    let none = || {
        Failure::usage("reading the flags", "no pattern is given")
            .with_hint(format!("for example {} '*.jpg,*.png'", f::MEDIA_BY_GLOB))
    };
    let glob = glob.map(|text| MediaFilter::of_patterns(text).ok_or_else(none)).transpose()?;
    let chosen = [extension.then_some(MediaFilter::Extension), header.then_some(MediaFilter::Header), glob];
    let mut chosen = chosen.into_iter().flatten();
    let first = chosen.next();
    if chosen.next().is_some() {
        let why = format!("only one of {} can be given", f::MEDIA_FILTERS);
        return Err(Failure::usage("reading the flags", why)
            .with_hint("run prepare-media a second time for another way: rows of both stay"));
    }
    Ok(first)
}

/// Returns the failure for a missing way.
pub fn no_way() -> Failure {
    Failure::usage("picking media", "nothing says how").with_hint(format!("one of {} PATTERNS", f::MEDIA_FILTERS))
}

impl MediaArgs {
    /// Returns the plan of the flags; `None` if there are none about media.
    pub fn plan(&self) -> Outcome<Option<MediaPlan>> {
        let glob = self.media_metadata_by_glob.as_deref();
        match filter(self.media_metadata_by_extension, self.media_metadata_by_header, glob)? {
            Some(filter) => Ok(Some(MediaPlan { filter, decode: self.decode })),
            None if self.media_metadata || self.decode => Err(no_way()),
            None => Ok(None),
        }
    }
}
