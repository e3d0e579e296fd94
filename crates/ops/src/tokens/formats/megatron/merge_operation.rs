//! `megatron merge`: merges the pairs of a folder into one pair.

use super::merge::{run_pair_merge, PairMergePlan};
use crate::job::files_report::FilesReport;
use crate::job::operation::{Operation, Plan};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::Outcome;

type Spec = OptionSpec<PairMergePlan>;

const OPTIONS: &[Spec] = &[
    Spec::new("dir", "DIR", "Folder with pairs of .bin and .idx", path!(input)).or_store().positional().required(),
    Spec::new("output", "PREFIX", "Path of the merged pair without suffix", path!(output))
        .or_store()
        .short('o')
        .required(),
    Spec::new("multimodal", "", "Keep the modes of the sequences, which all pairs must have", switch!(multimodal)),
    Spec::new("force-overwrite", "", "Replace a pair of this name that is there", switch!(overwrite)).replaces(""),
    Spec::new("compat", "", "", switch!(compat)).global(),
];

/// The `megatron merge` operation.
pub struct MegatronMerge;

impl Plan for PairMergePlan {
    fn blank() -> Self {
        Self::new("", "")
    }
}

impl Operation for MegatronMerge {
    type Plan = PairMergePlan;
    type Preview = FilesReport;
    type Report = FilesReport;
    const NAME: &'static str = "megatron merge";
    const ABOUT: &'static str = "Merge the pairs of a folder into one, in the order of their names";
    const ACTIVITY: &'static str = "merging";
    const PLAN_OF: &'static str = "merging pairs of Megatron";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn preview(plan: &PairMergePlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_pair_merge(plan, false, context)
    }

    fn run(plan: &PairMergePlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_pair_merge(plan, true, context)
    }
}
