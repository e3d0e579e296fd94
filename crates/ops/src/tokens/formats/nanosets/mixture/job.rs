//! The index of a mixture as two `.npy` files.

use super::{build, resolve, warnings, FolderTokenizer, MixtureForecast, MixtureIndex, MixtureIndexPlan};
use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::file_set::{absolute, check_space, names_there, publish, PreviousOutput, FOLDER_MODE};
use crate::job::report::{OutputFile, RunFindings};
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::Outcome;
use gristmill_core::ProblemSink as _;
pub use gristmill_data::source::kind::{DATASET_INDEX, SAMPLE_INDEX};
use gristmill_pycompat::npy::{Dtype, NpyWriter};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The result of a run, or of a preview.
#[derive(Clone, Debug, Serialize)]
pub struct MixtureIndexReport {
    /// Folder of the index.
    pub output: PathBuf,
    /// Files of the index.
    pub files: Vec<OutputFile>,
    /// Names of the data sets, in the order of their numbers.
    pub names: Vec<String>,
    /// Figures of the resulting index.
    #[serde(flatten)]
    pub outlook: MixtureForecast,
    /// Tokens of a sample, if the data sets are folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<u64>,
    /// Seed of the shuffle.
    pub seed: u32,
    /// Whether an identical index already existed and nothing was written.
    pub nothing_to_do: bool,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// Builds the index of a plan. Refuses to replace a different index unless the plan allows it. Without `is_written`, nothing is written,
/// and the figures are only exact for a small epoch.
///
/// # Errors
/// The plan is invalid, a folder cannot be read, or the output exists or cannot be written.
pub fn run_index(plan: &MixtureIndexPlan, is_written: bool, context: &TaskContext) -> Outcome<MixtureIndexReport> {
    context.phase_of(Phase::Open, "data set", "looking at the data sets");
    let output = absolute(&plan.output)?;
    let names = names_there(&output, |name| name == DATASET_INDEX || name == SAMPLE_INDEX)?;
    let before = PreviousOutput { what: "writing the index", output: output.clone(), names, overwrite: plan.overwrite };
    let bytes = gristmill_pycompat::npy::header(Dtype::U64, plan.samples).len() as u64;
    let bytes = bytes.saturating_add(plan.samples.saturating_mul(8));
    before.refuse_others(&[DATASET_INDEX, SAMPLE_INDEX].map(|name| (name.to_owned(), bytes)))?;
    let resolved = resolve(plan, &context.handles())?;
    let (request, names) = (&resolved.request, &resolved.names);
    for problem in plan.training.compare(resolved.tokenizer().as_ref(), FolderTokenizer::vocabulary_size) {
        context.problems.report(problem)?;
    }
    let mut nothing_to_do = false;
    let outlook = match is_written {
        false => {
            before.report_kept(context)?;
            MixtureForecast::exact_or_estimated(request)
        }
        true => {
            check_space(before.what, &output, bytes.saturating_mul(2))?;
            context.phase_of(Phase::Scan, "sample", "laying out an epoch");
            let index = build(request, &context.handles())?;
            nothing_to_do = !write(&index, &before, context)?;
            MixtureForecast::of(request, &index)
        }
    };
    for note in warnings(request, &outlook, names) {
        context.problems.report(note)?;
    }
    let replaces = |name: &str| before.names.iter().any(|old| old == name);
    let file = |name: &str| OutputFile { name: name.into(), bytes, replaces: replaces(name) };
    Ok(MixtureIndexReport {
        files: vec![file(DATASET_INDEX), file(SAMPLE_INDEX)],
        output,
        names: resolved.names,
        outlook,
        sequence_length: plan.sequence_length.filter(|_| !resolved.folders.is_empty()),
        seed: plan.seed,
        nothing_to_do,
        findings: context.run_findings(),
    })
}

/// Writes both files and publishes them together, unless identical files exist. Returns whether they were published.
fn write(index: &MixtureIndex, before: &PreviousOutput, context: &TaskContext) -> Outcome<bool> {
    let (fs, output) = (&*context.fs, before.output.as_path());
    fs.create_folders(output.parent().unwrap_or(Path::new("/")), FOLDER_MODE)?;
    let place = ExclusiveOutput::create(fs, output, &context.options)?;
    let samples = index.samples();
    context.phase_of(Phase::Tables, "sample", "writing the index");
    context.progress.expect(samples, 16 * samples);
    let draft = |name: &str| place.run_folder.work_folder().join(name);
    let mut members = NpyWriter::create(fs, &draft(DATASET_INDEX), Dtype::U64, samples)?;
    let mut windows = NpyWriter::create(fs, &draft(SAMPLE_INDEX), Dtype::I64, samples)?;
    let mut bytes = Vec::new();
    index.for_each_chunk(|piece| {
        context.cancel.check()?;
        members.push(piece.iter().map(|(member, _)| u64::from(*member)), &mut bytes)?;
        windows.push(piece.iter().map(|(_, window)| *window), &mut bytes)?;
        context.progress.add(piece.len() as u64, 16 * piece.len() as u64);
        Ok(())
    })?;
    members.finish()?;
    windows.finish()?;
    context.phase_of(Phase::Publish, "output file", "making the index visible");
    publish(context, &place, before, |publication, mode| {
        publication.stage_file(&output.join(DATASET_INDEX), draft(DATASET_INDEX), mode)?;
        let last = output.join(SAMPLE_INDEX);
        publication.stage_file(&last, draft(SAMPLE_INDEX), mode)?;
        Ok(last)
    })
}
