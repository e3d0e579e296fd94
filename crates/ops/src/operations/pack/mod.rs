//! `pack`: JSONL text as the token files of one or several frameworks.

mod advice;
mod config;
mod lines;
mod options;
mod source;
mod targets;
#[cfg(test)]
mod tests;

pub use source::{
    extract_texts, find_files, read_documents, usual_end, DataFacts, DocumentKey, DocumentTexts, FirstDocuments,
    InputFiles, PROPOSED_OPTIONS,
};

use super::{Advice, Operation, Plan};
use crate::engine::plan::pack::{missing_or_wrong, notes};
use crate::job::index::{start_raw, RawIndexPlan};
use crate::job::pool::together;
use crate::job::task::TaskContext;
use crate::tokens::pack::{preview, run_pack, PackPreview, PackReport};
use gristmill_core::options::{Group, Step};
use gristmill_core::{Outcome, PackFormat, PackPlan, Problem, RunOptions};
use gristmill_tokenizer::Tokenizer;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

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
    const ABOUT: &'static str = "Turn JSONL text into tokens for Modalities, Nanosets and Forager";
    const DOING: &'static str = "packing";
    const PLAN_OF: &'static str = "packing text into tokens";
    const STEPS: &'static [Step] = &[
        Step { id: "source", title: "Source" },
        Step { id: "text", title: "Text" },
        Step { id: "tokenizer", title: "Tokenizer" },
        Step { id: "formats", title: "Formats" },
    ];
    const GROUPS: &'static [Group<Self::Plan>] = options::GROUPS;

    /// Forager alone reads its samples next to the text.
    fn complete(plan: &mut PackPlan) {
        let ([input], [PackFormat::Forager], "") = (&plan.inputs[..], &plan.formats()[..], plan.output.as_str()) else {
            return;
        };
        let path = Path::new(input);
        plan.output = match path.parent().map(|parent| parent.to_string_lossy().into_owned()) {
            _ if path.is_dir() => input.clone(),
            Some(parent) if !parent.is_empty() => parent,
            _ => ".".into(),
        };
    }

    fn check(plan: &PackPlan, _: bool) -> Vec<Problem> {
        missing_or_wrong(plan)
    }

    fn notes(plan: &PackPlan) -> Outcome<Option<Vec<Problem>>> {
        // Never dropped, so that the job, which validates it, need not load it again: freeing hundreds of thousands of token strings one
        // by one would only delay the end of the process.
        let tokenizer =
            ManuallyDrop::new(Tokenizer::load_with_special(&plan.tokenizer, &plan.special_tokens, &together)?);
        Ok(Some(notes(plan, &tokenizer)))
    }

    fn recent(plan: &PackPlan) -> Option<PathBuf> {
        Some(PathBuf::from(&plan.output))
    }

    fn advice(_: &RunOptions) -> Box<dyn Advice> {
        Box::new(advice::PackAdvice::default())
    }

    fn preview(plan: &PackPlan, context: &TaskContext) -> Outcome<PackPreview> {
        preview(plan, &context.options, &context.cancel)
    }

    fn run(plan: &PackPlan, context: &TaskContext) -> Outcome<PackReport> {
        make_index(plan, context)?;
        run_pack(context, plan)
    }
}

/// Writes the raw index of `--index` if it does not exist. Without the flag the lines themselves are read.
fn make_index(plan: &PackPlan, context: &TaskContext) -> Outcome<()> {
    let Some(target) = &plan.modalities else { return Ok(()) };
    let (Some(index), [input]) = (&target.index, plan.inputs.as_slice()) else { return Ok(()) };
    if Path::new(index).exists() || Path::new(input).is_dir() {
        return Ok(());
    }
    let raw =
        RawIndexPlan { index: Some(index.into()), skip_bad_lines: target.skip_bad_lines, ..RawIndexPlan::new(input) };
    context.run_part(start_raw(raw, context.options.clone())?)?;
    context.log(format!("wrote the index {index}"));
    Ok(())
}
