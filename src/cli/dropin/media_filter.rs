//! The flags of `energon` that select media. Mistakes in them are data errors, because `energon` exits with 1 for them.

use clap::Args;
use gristmill_core::{Failure, MediaFilter, Outcome};

/// The mutually exclusive flags.
const FILTERS: &str = "--media-metadata-by-extension, --media-metadata-by-header, --media-metadata-by-glob";

/// The flags that select media.
#[derive(Args, Debug)]
pub(super) struct FilterArgs {
    /// Describe media whose name a shell pattern matches; commas separate patterns
    #[arg(long, value_name = "PATTERNS", alias = "media-by-glob", allow_hyphen_values = true)]
    pub(super) media_metadata_by_glob: Option<String>,
    /// Describe media, recognised by their first bytes
    #[arg(long, alias = "media-by-header")]
    pub(super) media_metadata_by_header: bool,
    /// Describe media, recognised by the suffix of their names
    #[arg(long, alias = "media-by-extension")]
    pub(super) media_metadata_by_extension: bool,
    /// Accepted, as in older documentation: one of the three follows
    #[arg(long, hide = true)]
    media_metadata: bool,
}

impl FilterArgs {
    /// Returns the filter. More than one of the flags is a data error, as in `energon`.
    pub(super) fn filter(&self) -> Outcome<Option<MediaFilter>> {
        let glob = match self.media_metadata_by_glob.as_deref() {
            Some(text) => Some(MediaFilter::of_patterns(text).ok_or_else(|| {
                Failure::data("reading the flags", "no pattern is given")
                    .with_hint("for example --media-metadata-by-glob '*.jpg,*.png'")
            })?),
            None => None,
        };
        let by_extension = self.media_metadata_by_extension.then_some(MediaFilter::Extension);
        let by_header = self.media_metadata_by_header.then_some(MediaFilter::Header);
        let mut given = [by_extension, by_header, glob].into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                Err(Failure::data("reading the flags", format!("only one of {FILTERS} can be given"))
                    .with_hint("run prepare-media once for each of them: the rows of all runs are kept"))
            }
            (None, _) if self.media_metadata => Err(no_filter()),
            (filter, _) => Ok(filter),
        }
    }
}

/// Returns the failure for a missing filter.
pub(super) fn no_filter() -> Failure {
    Failure::data("picking media", "no filter is given").with_hint(format!("one of {FILTERS} PATTERNS"))
}
