//! The options of `prepare` and `prepare-media` that select media.

use gristmill_core::options::{Access, OptionSpec};
use gristmill_core::{MediaFilter, MediaPlan};

/// A plan with answers about media.
pub(super) trait MediaAnswers: 'static {
    /// Returns the answers about media; `None` if media are not described.
    fn media(&self) -> Option<&MediaPlan>;
    /// Sets the rule that selects media; `None` means no answer.
    fn set_filter(&mut self, filter: Option<MediaFilter>);
    /// Sets whether pictures are decoded.
    fn set_decode(&mut self, is_on: bool);
}

/// Returns the accessors for a media filter without patterns.
macro_rules! filter {
    ($filter:ident) => {
        Access::Switch {
            get: |plan: &P| plan.media().is_some_and(|media| media.filter == MediaFilter::$filter),
            set: |plan: &mut P, is_on| {
                let is_stored = plan.media().is_some_and(|media| media.filter == MediaFilter::$filter);
                match is_on {
                    true => plan.set_filter(Some(MediaFilter::$filter)),
                    false if is_stored => plan.set_filter(None),
                    false => {}
                }
            },
        }
    };
}

fn patterns<P: MediaAnswers>(plan: &P) -> Option<String> {
    match &plan.media()?.filter {
        MediaFilter::Glob(patterns) if !patterns.is_empty() => Some(patterns.join(",")),
        _ => None,
    }
}

fn set_patterns<P: MediaAnswers>(plan: &mut P, text: Option<String>) -> Result<(), String> {
    match text {
        Some(text) => plan.set_filter(Some(MediaFilter::of_patterns(&text).ok_or("no pattern is given")?)),
        None if patterns(plan).is_some() => plan.set_filter(None),
        None => {}
    }
    Ok(())
}

/// Returns the mutually exclusive options that select media.
pub(super) const fn filters<P: MediaAnswers>() -> [OptionSpec<P>; 3] {
    [
        OptionSpec::new(
            "media-metadata-by-extension",
            "",
            "Describe pictures, sound and video, recognized by the ending of each name",
            filter!(Extension),
        )
        .aliases(&["media-by-extension"])
        .conflicts(&["media-metadata-by-header", "media-metadata-by-glob"]),
        OptionSpec::new(
            "media-metadata-by-header",
            "",
            "Describe media recognized by the first bytes of each entry, then by the ending",
            filter!(Header),
        )
        .aliases(&["media-by-header"])
        .conflicts(&["media-metadata-by-glob"]),
        OptionSpec::new(
            "media-metadata-by-glob",
            "PATTERNS",
            "Describe media whose name matches a shell pattern; * also matches /, commas separate patterns",
            Access::Text { get: patterns, set: set_patterns },
        )
        .aliases(&["media-by-glob"]),
    ]
}

/// Returns the option for decoding pictures.
pub(super) const fn decode<P: MediaAnswers>() -> OptionSpec<P> {
    OptionSpec::new(
        "decode",
        "",
        "Decode every picture completely, to find damage after the header",
        Access::Switch {
            get: |plan: &P| plan.media().is_some_and(|media| media.decode),
            set: |plan: &mut P, is_on| plan.set_decode(is_on),
        },
    )
}
