//! Prepares instruction data: applies a chat template to conversations and distributes them to partitions, each indexed and packed.

use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::job_progress::{cost, Forecast};
use crate::job::report::RunFindings;
use crate::job::task::TaskContext;
use crate::job::Phase;
use crate::tokens::formats::modalities::engine::config::{use_unknown_as_end_token, PackConfig};
use crate::tokens::formats::modalities::engine::instruction::{write_partitions, Partition, PartitionFile, Settings};
use crate::tokens::formats::modalities::job::make_parent;
use crate::tokens::pack::{self, PackReport, JQ_HINT};
use gristmill_core::ProblemSink as _;
use gristmill_core::{Failure, Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_data::formats::modalities::{with_suffix, INDEX_SUFFIX};
use gristmill_pycompat::pickle::write_index;
use gristmill_storage::files;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::publish::{place_file, write_file};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Permission bits of written files.
const FILE_MODE: u32 = 0o644;
/// Size of the write buffer, in bytes.
const WRITE_BYTES: usize = 1 << 20;

/// The report of a run of `modalities instruction`.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionReport {
    /// The folder that contains all output files.
    pub folder: String,
    /// Partitions that have lines.
    pub partitions: Vec<PartitionReport>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// The result for one partition.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionReport {
    /// `train`, `val` or `test`.
    pub name: &'static str,
    /// Number of lines.
    pub lines: u64,
    /// Number of documents in the packed file.
    pub documents: u64,
    /// Number of tokens in the packed file.
    pub tokens: u64,
    /// Path of the packed file.
    pub packed: String,
}

/// Runs a configuration. Replaces files of an earlier run of the same configuration.
///
/// With `unknown_end` or `compat`, the unknown token ends documents if the tokenizer does not have the end token.
///
/// # Errors
/// The configuration is invalid, the input cannot be read or has no usable line, or the output cannot be written.
pub fn run_instruction(
    config: &Path,
    compat: bool,
    unknown_end: bool,
    context: &TaskContext,
) -> Outcome<InstructionReport> {
    let fs = &*context.fs;
    context.phase_of(Phase::Open, "input file", "reading the configuration");
    let settings = Settings::read(config)?;
    // All errors in the settings for packing are reported before any work.
    let mut plans = Vec::new();
    for partition in settings.partitions() {
        plans.push(packing_plan(&settings, partition, compat)?);
    }
    if compat || unknown_end {
        let mut note = None;
        for (plan, _) in &mut plans {
            note = use_unknown_as_end_token(plan)?;
        }
        note.into_iter().try_for_each(|note| context.problems.report(note))?;
    }
    let folder = files::absolute(settings.folder()).map_err(|e| Failure::io("naming the output", config, &e))?;
    make_parent(fs, &folder.join("any"))?;
    let place = ExclusiveOutput::create(fs, &folder, &context.options)?;
    // In seconds, assuming that the lines are as large as the conversations.
    let packing = files::metadata(&settings.source).map_or(0, |facts| facts.len()) as f64 * cost::BYTE_PACKED;
    let forecast = Forecast::new(packing, packing + cost::publishing(4 * settings.partitions().len() as u64));
    context.stage(Phase::Scan, "line", forecast, "putting conversations through the template");
    let lengths = write_lines(&settings, compat, &place, context)?;
    let files = cost::publishing(4 * lengths.len() as u64);
    context.stage(Phase::Publish, "output file", Forecast::new(files, packing), "making lines and indexes visible");
    write_file(fs, &settings.copy(), &settings.bytes, FILE_MODE)?;
    let mut kept = Vec::new();
    for (at, ((partition, (plan, text)), lengths)) in
        settings.partitions().into_iter().zip(plans).zip(&lengths).enumerate()
    {
        if lengths.is_empty() {
            let message = format!("no line fell to {}, so nothing is made for it", partition.word());
            context.problems.report(Problem::note(ProblemKind::EmptySplit, Subject::path(config), message))?;
            continue;
        }
        let lines = settings.lines(partition);
        place_file(fs, &place.draft(at), &lines, FILE_MODE)?;
        place_index(&lines, lengths, &place.draft(at), context)?;
        write_file(fs, &settings.packing_copy(partition), text.as_bytes(), FILE_MODE)?;
        kept.push((partition, lengths.len() as u64, plan));
    }
    if kept.is_empty() {
        return Err(Failure::data("preparing instruction data", "no line of it could be used")
            .on(Subject::path(&settings.source)));
    }
    drop(place);
    let mut partitions = Vec::new();
    let mut left: u64 = kept.iter().map(|(_, lines, _)| lines).sum();
    let line_packed = packing / left.max(1) as f64;
    for (partition, lines, plan) in kept {
        left -= lines;
        let forecast = Forecast::new(lines as f64 * line_packed, left as f64 * line_packed);
        context.stage(Phase::Scan, "document", forecast, format!("packing {}", partition.word()));
        let packed = plan.output.clone();
        let report = packed_by(plan, &settings.packing_file, context)?;
        let target = report.targets.first();
        partitions.push(PartitionReport {
            name: partition.word(),
            lines,
            documents: target.map_or(0, |target| target.documents),
            tokens: target.map_or(0, |target| target.tokens),
            packed,
        });
    }
    Ok(InstructionReport {
        folder: settings.folder().display().to_string(),
        partitions,
        findings: context.run_findings(),
    })
}

/// Returns the plan for packing a partition, and the equivalent Modalities configuration.
fn packing_plan(settings: &Settings, partition: Partition, compat: bool) -> Outcome<(PackPlan, String)> {
    let (tree, text) = settings.packing_of(partition)?;
    let named = |failure: Failure| {
        let subject = Subject { path: Subject::path(&settings.packing_file).path, ..failure.subject.clone() };
        failure.on(subject)
    };
    let mut plan = PackConfig::of(&tree).and_then(|config| config.plan(compat)).map_err(named)?;
    plan.overwrite = true;
    Ok((plan, text))
}

/// Writes the lines of all partitions to draft files. Returns the lengths of the lines of each partition.
fn write_lines(
    settings: &Settings,
    compat: bool,
    place: &ExclusiveOutput<'_>,
    context: &TaskContext,
) -> Outcome<Vec<Vec<u64>>> {
    let mut written = Vec::new();
    for at in 0..settings.partitions().len() {
        // The page cache keeps the file, because it is packed next.
        let file = BufferedFile::new(context.fs.create_file(&place.draft(at))?, WRITE_BYTES).with_cached_pages();
        written.push(PartitionFile { file, lengths: Vec::new() });
    }
    write_partitions(settings, compat, &mut written, &context.handles())?;
    let mut lengths = Vec::new();
    for target in written {
        target.file.finish()?;
        lengths.push(target.lengths);
    }
    Ok(lengths)
}

/// Writes the raw index of lines with known lengths.
fn place_index(lines: &Path, lengths: &[u64], draft: &Path, context: &TaskContext) -> Outcome<()> {
    let mut file = BufferedFile::new(context.fs.create_file(draft)?, WRITE_BYTES);
    let mut offset = 0;
    let items = lengths.iter().map(|length| {
        let item = (offset, *length);
        offset += length + 1;
        item
    });
    write_index(lengths.len() as u64, items, &mut |bytes| file.write_all(bytes))?;
    file.finish()?;
    let index: PathBuf = with_suffix(lines, INDEX_SUFFIX);
    place_file(&*context.fs, draft, &index, FILE_MODE)
}

/// Runs a packing job to its end. Its problems and notes become those of this run. `config` is the packing configuration.
fn packed_by(plan: PackPlan, config: &Path, context: &TaskContext) -> Outcome<PackReport> {
    let packed = pack::start(plan, context.options.clone()).and_then(|started| context.run_part(started));
    packed.map_err(|failure| match failure.hint.as_deref() {
        Some(JQ_HINT) => {
            let config = config.display();
            failure.with_hint(format!("the template gives empty texts, or jq_pattern in {config} selects none"))
        }
        _ => failure,
    })
}
