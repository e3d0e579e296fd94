//! The flags about media: the same ones for `prepare` and `prepare-media`.

use clap::Args;
use gristmill_core::{Failure, MediaFilter, MediaPlan, Outcome};
use gristmill_ops::engine::plan::flags as f;
use std::path::PathBuf;

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

/// The flags of `prepare-media`, besides those that hold everywhere.
#[derive(Args, Clone, Debug, Default)]
pub struct PrepareMediaArgs {
    /// Prepared data set, or folder of media
    pub path: PathBuf,
    #[command(flatten)]
    pub media: MediaArgs,
    /// Remove rows of entries that are gone
    #[arg(long, help_heading = "Second run")]
    pub prune: bool,
}

/// Combines the three ways: none, one, or a failure that names them.
pub fn filter(extension: bool, header: bool, glob: Option<&str>) -> Outcome<Option<MediaFilter>> {
    let glob = glob.map(|text| MediaFilter::Glob(text.split(',').map(str::to_owned).collect()));
    if matches!(&glob, Some(MediaFilter::Glob(patterns)) if patterns.iter().all(|pattern| pattern.trim().is_empty())) {
        return Err(Failure::usage("reading the flags", "no pattern is given")
            .with_hint(format!("for example {} '*.jpg,*.png'", f::MEDIA_BY_GLOB)));
    }
    let chosen = [extension.then_some(MediaFilter::Extension), header.then_some(MediaFilter::Header), glob];
    let mut chosen = chosen.into_iter().flatten();
    let first = chosen.next();
    if chosen.next().is_some() {
        let why = format!("only one of {} can be given", ways());
        return Err(Failure::usage("reading the flags", why)
            .with_hint("run prepare-media a second time for another way: rows of both stay"));
    }
    Ok(first)
}

/// Lists the three ways, for messages.
fn ways() -> String {
    format!("{}, {}, {}", f::MEDIA_BY_EXTENSION, f::MEDIA_BY_HEADER, f::MEDIA_BY_GLOB)
}

/// Returns the failure for a missing way.
pub fn no_way() -> Failure {
    Failure::usage("picking media", "nothing says how").with_hint(format!("one of {} PATTERNS", ways()))
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

    /// As [`plan`](Self::plan), but accepts a missing way, which is asked for later; a lone `--decode` is kept.
    pub fn open_plan(&self) -> Outcome<(Option<MediaFilter>, bool)> {
        let glob = self.media_metadata_by_glob.as_deref();
        let filter = filter(self.media_metadata_by_extension, self.media_metadata_by_header, glob)?;
        Ok((filter, self.decode))
    }
}
