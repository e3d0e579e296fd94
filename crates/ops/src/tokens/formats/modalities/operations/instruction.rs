//! `modalities instruction`: converts conversations to packed files, using a configuration of Modalities.

use super::super::engine::instruction::Settings;
use super::super::instruction::{run_instruction, InstructionReport};
use crate::job::operation::{Operation, Plan};
use crate::job::report::{problem_table, Report, ReportLine};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{count, display_safe, duration};
use gristmill_core::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// Plan of `modalities instruction`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InstructionPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// The configuration.
    pub config: PathBuf,
    /// Whether to reproduce the bytes of the reference program even if it loses data.
    #[serde(default)]
    pub compat: bool,
    /// Whether the unknown token ends documents if the tokenizer does not have the end token, as in the reference program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown_end: bool,
}

impl Plan for InstructionPlan {
    fn blank() -> Self {
        Self { version: PLAN_VERSION, config: PathBuf::new(), compat: false, unknown_end: false }
    }
}

type Spec = OptionSpec<InstructionPlan>;

const OPTIONS: &[Spec] = &[
    Spec::new("config", "CONFIG", "Configuration (.yaml) of prepare_instruction_tuning_data", path!(config))
        .or_store()
        .positional()
        .required(),
    Spec::new("compat", "", "", switch!(compat)).global(),
];

/// The `modalities instruction` operation.
pub struct ModalitiesInstruction;

impl Operation for ModalitiesInstruction {
    type Plan = InstructionPlan;
    type Preview = InstructionPreview;
    type Report = InstructionReport;
    const NAME: &'static str = "modalities instruction";
    const ABOUT: &'static str =
        "Apply a chat template to conversations, divide them into train, val and test, and pack each";
    const ACTIVITY: &'static str = "preparing";
    const PLAN_OF: &'static str = "preparing instruction data";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn is_expressible(plan: &InstructionPlan) -> bool {
        !plan.unknown_end
    }

    fn preview(plan: &InstructionPlan, _: &TaskContext) -> Outcome<InstructionPreview> {
        let settings = Settings::read(&plan.config)?;
        let files = settings.partitions().into_iter();
        let files = files.map(|partition| settings.lines(partition).display().to_string()).collect();
        Ok(InstructionPreview { folder: settings.folder().display().to_string(), files })
    }

    fn run(plan: &InstructionPlan, context: &TaskContext) -> Outcome<InstructionReport> {
        run_instruction(&plan.config, plan.compat, plan.unknown_end, context)
    }
}

/// The files that a run would write.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionPreview {
    /// The folder that contains all output files.
    pub folder: String,
    /// The files with the lines of each partition.
    pub files: Vec<String>,
}

impl Report for InstructionPreview {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let head = "Would be written, each with its index, its packed file and its configuration. Nothing was written.";
        let files = self.files.iter().map(|file| ReportLine::plain(format!("- {}", display_safe(file))));
        std::iter::once(ReportLine::plain(head)).chain(files).collect()
    }

    fn to_json(&self) -> serde_json::Value {
        json!(self)
    }
}

impl Report for InstructionReport {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let done = format!("Prepared {}", display_safe(&self.folder));
        let mut lines = vec![ReportLine::success(done, format!(" in {}.", duration(self.findings.elapsed)))];
        for partition in &self.partitions {
            let (number, tokens) = (count(partition.lines, "line"), count(partition.tokens, "token"));
            let packed = display_safe(&partition.packed);
            lines.push(ReportLine::plain(format!("- {}: {number}, {tokens}: {packed}", partition.name)));
        }
        lines.extend(problem_table(&self.findings.counts));
        lines
    }

    crate::run_report!(; findings);
}
