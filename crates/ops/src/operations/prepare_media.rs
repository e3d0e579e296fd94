//! `prepare-media`: facts about pictures, sound and video.

use super::{Operation, Plan};
use crate::job::media::{preview, run_media, MediaPreview, MediaReport, PLAN_OF};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{MediaFilter, MediaPlan, Outcome, PrepareMediaPlan};
use std::path::PathBuf;

type Spec = OptionSpec<PrepareMediaPlan>;

impl Plan for PrepareMediaPlan {
    fn blank() -> Self {
        Self {
            version: PLAN_VERSION,
            path: String::new(),
            media: MediaPlan { filter: MediaFilter::UNSET, decode: false },
            prune: false,
            compat: false,
        }
    }
}

/// Accessors of a filter without patterns.
macro_rules! filter {
    ($filter:ident) => {
        Access::Switch {
            get: |plan| plan.media.filter == MediaFilter::$filter,
            set: |plan, is_on| match (is_on, &plan.media.filter) {
                (true, _) => plan.media.filter = MediaFilter::$filter,
                (false, MediaFilter::$filter) => plan.media.filter = MediaFilter::UNSET,
                (false, _) => {}
            },
        }
    };
}

fn patterns(plan: &PrepareMediaPlan) -> Option<String> {
    match &plan.media.filter {
        MediaFilter::Glob(patterns) if !patterns.is_empty() => Some(patterns.join(",")),
        _ => None,
    }
}

fn set_patterns(plan: &mut PrepareMediaPlan, text: Option<String>) -> Result<(), String> {
    match text {
        Some(text) => plan.media.filter = MediaFilter::of_patterns(&text).ok_or("no pattern is given")?,
        None if patterns(plan).is_some() => plan.media.filter = MediaFilter::UNSET,
        None => {}
    }
    Ok(())
}

const PATH: &[Spec] =
    &[Spec::new("path", "PATH", "Prepared data set, or folder of media", path!(path)).positional().required()];

const FILTERS: &[Spec] = &[
    Spec::new(
        "media-metadata-by-extension",
        "",
        "Describe pictures, sound and video, recognized by the ending of each name",
        filter!(Extension),
    )
    .label("by extension")
    .aliases(&["media-by-extension"])
    .conflicts(&["media-metadata-by-header", "media-metadata-by-glob"]),
    Spec::new(
        "media-metadata-by-header",
        "",
        "The same, recognized by the first bytes of each entry, then by the ending",
        filter!(Header),
    )
    .label("by header")
    .aliases(&["media-by-header"])
    .conflicts(&["media-metadata-by-glob"]),
    Spec::new(
        "media-metadata-by-glob",
        "PATTERNS",
        "The same, of entries whose name a shell pattern matches; * crosses /, commas separate patterns",
        Access::Text { get: patterns, set: set_patterns },
    )
    .label("by glob")
    .aliases(&["media-by-glob"]),
];

const DECODE: &[Spec] = &[Spec::new(
    "decode",
    "",
    "Check every picture whole: finds damage after a good header",
    Access::Switch { get: |plan| plan.media.decode, set: |plan, is_on| plan.media.decode = is_on },
)];

const SECOND_RUN: &[Spec] = &[
    Spec::new("prune", "", "Remove rows of entries that are gone", switch!(prune)),
    Spec::new("compat", "", "Leave broken pictures out, as the reference program does", switch!(compat)).global(),
];

/// The `prepare-media` operation.
pub struct PrepareMedia;

impl Operation for PrepareMedia {
    type Plan = PrepareMediaPlan;
    type Preview = MediaPreview;
    type Report = MediaReport;
    const NAME: &'static str = "prepare-media";
    const ABOUT: &'static str = "Describe pictures, sound and video of a prepared data set or of a folder";
    const DOING: &'static str = "probing media";
    const PLAN_OF: &'static str = PLAN_OF;
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("", "settings", PATH),
        Group::new("Media metadata", "settings", FILTERS).one_of(),
        Group::new("Media metadata", "settings", DECODE),
        Group::new("Second run", "settings", SECOND_RUN),
    ];
    const OBSOLETE_FLAGS: &'static [&'static str] = &["media-metadata"];
    const SHOWS_PHASES: bool = true;

    fn recent(plan: &PrepareMediaPlan) -> Option<PathBuf> {
        Some(PathBuf::from(&plan.path))
    }

    fn preview(plan: &PrepareMediaPlan, context: &TaskContext) -> Outcome<MediaPreview> {
        preview(plan, &context.options, &context.cancel)
    }

    fn run(plan: &PrepareMediaPlan, context: &TaskContext) -> Outcome<MediaReport> {
        run_media(context, plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::{erase, operation};
    use gristmill_core::options::Answer;

    #[test]
    fn one_filter_is_needed_and_the_last_one_counts() {
        let mut plan = erase::<PrepareMedia>(PrepareMediaPlan { path: "m".into(), ..PrepareMediaPlan::blank() });
        let problems = plan.check(true);
        assert!(problems[0].hint.as_deref().unwrap().contains("--media-metadata-by-glob PATTERNS"), "{problems:?}");
        plan.set("media-metadata-by-header", &Answer::On).unwrap();
        plan.set("media-metadata-by-glob", &Answer::Text("*.a, b".into())).unwrap();
        // The other filters are off already.
        plan.set("media-metadata-by-header", &Answer::Unset).unwrap();
        assert_eq!(plan.command_line().text(), "gristmill prepare-media m --media-metadata-by-glob '*.a, b'");
        assert!(plan.check(false).is_empty());
        assert!(plan.set("media-metadata-by-glob", &Answer::Text(" ,".into())).is_err());
    }

    #[test]
    fn a_saved_plan_is_read() {
        let text = "version: 1\ncommand: prepare-media\npath: m\nmedia:\n  filter:\n    glob:\n    - '*.a'\n";
        let plan = operation("prepare-media").unwrap().read(text).unwrap();
        assert_eq!(plan.get("media-metadata-by-glob"), Answer::Text("*.a".into()));
    }
}
