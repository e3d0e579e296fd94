//! `nanosets shuffle`: shuffles the windows of equal length of each `.ds` file.

use super::super::engine::WindowsPlan;
use super::super::job::run_windows;
use crate::job::files_report::FilesReport;
use crate::job::operation::{Operation, Plan};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::pack::DEFAULT_SEED;
use gristmill_core::Outcome;

type Spec = OptionSpec<WindowsPlan>;

const OPTIONS: &[Spec] = &[
    Spec::new("dir", "DIR", "Folder with .ds files", path!(input)).or_store().positional().required(),
    Spec::new("output", "DIR", "Folder of the result; files keep their names", path!(output))
        .or_store()
        .short('o')
        .required(),
    Spec::new("window", "W", "Tokens of one window", number_or!(0, 1..=u64::MAX, window)).required(),
    Spec::new("seed", "S", "Seed of the order", number_or!(DEFAULT_SEED, 0..=u64::MAX, seed)).default("42"),
    Spec::new("force-overwrite", "", "Replace files that are there", switch!(overwrite)).replaces(""),
];

/// The `nanosets shuffle` operation.
pub struct NanosetsShuffle;

impl Plan for WindowsPlan {
    fn blank() -> Self {
        Self::new("", "", 0, DEFAULT_SEED)
    }
}

impl Operation for NanosetsShuffle {
    type Plan = WindowsPlan;
    type Preview = FilesReport;
    type Report = FilesReport;
    const NAME: &'static str = "nanosets shuffle";
    const ABOUT: &'static str = "Shuffle windows of equal length of each .ds file of a folder";
    const ACTIVITY: &'static str = "shuffling";
    const PLAN_OF: &'static str = "shuffling windows of token files";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn preview(plan: &WindowsPlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_windows(plan, false, context)
    }

    fn run(plan: &WindowsPlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_windows(plan, true, context)
    }
}
