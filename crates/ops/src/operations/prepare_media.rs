//! `prepare-media`: collects facts about pictures, sound and video.

use super::media_filters::{self, MediaAnswers};
use super::{ObsoleteFlag, Operation, Plan};
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

impl MediaAnswers for PrepareMediaPlan {
    fn media(&self) -> Option<&MediaPlan> {
        Some(&self.media)
    }

    fn set_filter(&mut self, filter: Option<MediaFilter>) {
        self.media.filter = filter.unwrap_or(MediaFilter::UNSET);
    }

    fn set_decode(&mut self, is_on: bool) {
        self.media.decode = is_on;
    }
}

const PATH: &[Spec] = &[Spec::new("path", "PATH", "Prepared data set, or folder of media", path!(path))
    .or_store()
    .positional()
    .required()];

const FILTERS: &[Spec] = &media_filters::filters();

const DECODE: &[Spec] = &[media_filters::decode()];

const SECOND_RUN: &[Spec] = &[
    Spec::new("prune", "", "Remove rows of entries that no longer exist", switch!(prune)),
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
    const ACTIVITY: &'static str = "probing media";
    const PLAN_OF: &'static str = PLAN_OF;
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("", "settings", PATH),
        Group::new("Media metadata", "settings", FILTERS).one_of(),
        Group::new("Media metadata", "settings", DECODE),
        Group::new("Second run", "settings", SECOND_RUN),
    ];
    const OBSOLETE_FLAGS: &'static [ObsoleteFlag] = &[ObsoleteFlag { name: "media-metadata", needs_one_of: &[] }];
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
    fn media_filter_is_required_and_the_last_one_applies() {
        let mut plan = erase::<PrepareMedia>(PrepareMediaPlan { path: "m".into(), ..PrepareMediaPlan::blank() });
        let problems = plan.check(true);
        assert!(problems[0].hint.as_deref().unwrap().contains("--media-metadata-by-glob PATTERNS"), "{problems:?}");
        plan.set("media-metadata-by-header", &Answer::On).unwrap();
        plan.set("media-metadata-by-glob", &Answer::Text("*.a, b".into())).unwrap();
        // The other filters are already unset.
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
