//! `pack`: converts the text of documents to the token files of one or several frameworks.

mod advice;
mod lines;
mod options;
mod source;
#[cfg(test)]
mod tests;

pub use source::{
    extract_texts, find_choices, find_files, lines_of_choices, read_documents, usual_end, DataFacts, DocumentKey,
    DocumentTexts, FirstDocuments, InputFiles, PROPOSED_OPTIONS,
};

use super::{absolute, Advice, Operation, Plan};
use crate::job::pool::run_both;
use crate::job::task::TaskContext;
use crate::tokens::check::{notes, plan_problems};
use crate::tokens::pack::{keep_input_names, run_pack, run_preview, PackPreview, PackReport};
use crate::tokens::{formats, load_tokenizer};
use gristmill_core::options::{Group, Step};
use gristmill_core::{Outcome, PackPlan, Problem, RunOptions};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

/// The `pack` operation.
pub struct Pack;

impl Plan for PackPlan {
    fn blank() -> Self {
        Self::new(Vec::new(), "", "")
    }
}

impl Operation for Pack {
    type Plan = PackPlan;
    type Preview = PackPreview;
    type Report = PackReport;
    const NAME: &'static str = "pack";
    const ABOUT: &'static str =
        "Turn text of JSONL, Parquet, Arrow, CSV and other files into the token files of training frameworks";
    const ACTIVITY: &'static str = "packing";
    const PLAN_OF: &'static str = "packing text into tokens";
    const STEPS: &'static [Step] = &[
        Step { id: "source", title: "Source" },
        Step { id: "text", title: "Text" },
        Step { id: "tokenizer", title: "Tokenizer" },
        Step { id: "formats", title: "Formats" },
    ];
    const GROUPS: &'static [Group<Self::Plan>] = options::GROUPS;

    fn complete(plan: &mut PackPlan) {
        if plan.output.is_empty() {
            let default = formats::only_format(plan).and_then(|format| format.default_output(plan));
            plan.output = default.unwrap_or_default();
        }
    }

    fn check(plan: &PackPlan, _: bool) -> Vec<Problem> {
        plan_problems(plan)
    }

    fn absolute(plan: &PackPlan) -> Outcome<PackPlan> {
        let mut whole = absolute::<Self>(plan)?;
        keep_input_names(&plan.inputs, &mut whole);
        Ok(whole)
    }

    fn notes(plan: &PackPlan) -> Outcome<Option<Vec<Problem>>> {
        // Never dropped, so that the job can reuse it instead of loading it again, and because freeing hundreds of thousands of strings
        // would only delay the end of the process.
        let tokenizer = ManuallyDrop::new(load_tokenizer(plan, &run_both)?);
        Ok(Some(notes(plan, &tokenizer)))
    }

    fn recent(plan: &PackPlan) -> Option<PathBuf> {
        Some(PathBuf::from(&plan.output))
    }

    fn advice(_: &RunOptions) -> Box<dyn Advice> {
        Box::new(advice::PackAdvice::default())
    }

    fn preview(plan: &PackPlan, context: &TaskContext) -> Outcome<PackPreview> {
        run_preview(context, plan)
    }

    fn run(plan: &PackPlan, context: &TaskContext) -> Outcome<PackReport> {
        formats::chosen(plan).into_iter().try_for_each(|format| format.before_run(plan, context))?;
        run_pack(context, plan)
    }
}
