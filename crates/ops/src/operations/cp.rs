//! `cp`: copies files between disks and stores.

use super::{Operation, Plan};
use crate::job::copy::{run_copy, CopyPlan, CopyReport};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::Outcome;
use std::path::PathBuf;

type Spec = OptionSpec<CopyPlan>;

impl Plan for CopyPlan {
    fn blank() -> Self {
        Self {
            version: PLAN_VERSION,
            sources: Vec::new(),
            target: PathBuf::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            if_changed: false,
            overwrite: false,
        }
    }
}

const OPTIONS: &[Spec] = &[
    Spec::new(
        "source",
        "SRC",
        "Files; folders and prefixes, whose contents are copied; quoted patterns such as 's3://BUCKET/KEY/**/*.tar'",
        paths!(sources),
    )
    .or_read_store()
    .positional()
    .required(),
    Spec::new(
        "target",
        "DST",
        "File, or folder to copy into; a single file is copied into DST if that is a folder or ends in a slash",
        path!(target),
    )
    .or_store()
    .positional()
    .required(),
    Spec::new(
        "include",
        "GLOB",
        "Only files whose name fits, or whose path below SRC if it has a slash (repeat)",
        list!(None, include),
    ),
    Spec::new("exclude", "GLOB", "Leave out files whose name or path fits (repeat)", list!(None, exclude)),
    Spec::new("if-changed", "", "Skip files that are equal to their targets, replace the others", switch!(if_changed))
        .conflicts(&["force-overwrite"]),
    Spec::new("force-overwrite", "", "Replace files that are there", switch!(overwrite)).replaces(""),
];

/// The `cp` operation.
pub struct CopyFiles;

impl Operation for CopyFiles {
    type Plan = CopyPlan;
    type Preview = CopyReport;
    type Report = CopyReport;
    const NAME: &'static str = "cp";
    const ABOUT: &'static str = "Copy files and folders between disks and stores";
    const ACTIVITY: &'static str = "copying";
    const PLAN_OF: &'static str = "copying files";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn absolute(plan: &CopyPlan) -> Outcome<CopyPlan> {
        let mut absolute = super::absolute::<Self>(plan)?;
        // The slash at the end of the target is significant.
        let has_slash = |target: &PathBuf| target.as_os_str().as_encoded_bytes().ends_with(b"/");
        if has_slash(&plan.target) && !has_slash(&absolute.target) {
            absolute.target.push("");
        }
        Ok(absolute)
    }

    fn preview(plan: &CopyPlan, context: &TaskContext) -> Outcome<CopyReport> {
        run_copy(plan, false, context)
    }

    fn run(plan: &CopyPlan, context: &TaskContext) -> Outcome<CopyReport> {
        run_copy(plan, true, context)
    }
}
