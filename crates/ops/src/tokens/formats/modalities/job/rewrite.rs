//! Writes one packed file or text file from others: merged, shuffled, a chunk of them, or filtered.

use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::report::{OutputFile, RunFindings};
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use crate::tokens::formats::modalities::engine::assembly::{AssembledFile, Assembly};
use crate::tokens::formats::modalities::engine::chunk::Chunk;
use crate::tokens::formats::modalities::engine::filter::KeepConditions;
use crate::tokens::formats::modalities::engine::merge::{list, merge};
use crate::tokens::formats::modalities::engine::source::Source;
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_pycompat::random::Seed;
use gristmill_storage::files::{self, missing_folders};
use gristmill_storage::fs::{BufferedFile, Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::publish::place_file;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Permission bits of written files.
const FILE_MODE: u32 = 0o644;
/// Permission bits of new folders.
const FOLDER_MODE: u32 = PRIVATE_FOLDER | 0o055;
/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// An operation that writes a file from others.
#[derive(Clone, Debug)]
pub enum Rewrite {
    /// Concatenates all packed files; a folder includes every `.pbin` in it.
    Merge(Vec<PathBuf>),
    /// Reorders the documents of a packed file.
    ShufflePacked(PathBuf, Seed),
    /// Reorders the lines of a text file.
    ShuffleLines(PathBuf, Seed),
    /// Selects a part of each packed file and shuffles the parts together, with the seed of the chunk.
    ChunkPacked(Vec<PathBuf>, Chunk, u64),
    /// Selects a part of each text file and shuffles the parts together, with the seed of the chunk.
    ChunkLines(Vec<PathBuf>, Chunk, u64),
    /// Selects some documents of a packed file.
    Filter(PathBuf, KeepConditions),
}

/// The treatment of an existing output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingOutput {
    /// Keep it and fail with this exit class.
    Refuse(ExitClass),
    /// Replace it when the new output is complete.
    Replace,
}

/// The operation and its output.
#[derive(Clone, Debug)]
pub struct RewritePlan {
    /// The operation to perform.
    pub what: Rewrite,
    /// The file that is written.
    pub output: PathBuf,
    /// The treatment of an existing output.
    pub existing: ExistingOutput,
    /// Write the bytes of the reference program even if they lose or misplace data.
    pub compat: bool,
}

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RewriteReport {
    /// Figures of the written file.
    #[serde(flatten)]
    pub written: AssembledFile,
    /// The written file, as a list with one entry.
    pub files: Vec<OutputFile>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// Executes a plan in the background. After a failure, the output is unchanged.
pub fn start(plan: RewritePlan, options: RunOptions) -> Outcome<Task<RewriteReport>> {
    Task::start("modalities", options, Arc::new(RealFs), move |context| run(&plan, context))
}

/// Executes a plan on the calling thread.
pub(crate) fn run(plan: &RewritePlan, context: &TaskContext) -> Outcome<RewriteReport> {
    let output = files::absolute(&plan.output).map_err(|e| Failure::io("naming the output", &plan.output, &e))?;
    let replaces = refuse_existing(plan, &output)?;
    context.phase_of(Phase::Open, "input file", "looking at the sources");
    refuse_source(plan, &output)?;
    let fs = &*context.fs;
    make_parent(fs, &output)?;
    let place = ExclusiveOutput::create(fs, &output, &context.options)?;
    let draft = place.draft(0);
    let written = {
        let mut file = BufferedFile::new(fs.create_file(&draft)?, WRITE_BYTES);
        let written = write(plan, &mut file, &context.handles(), context)?;
        file.finish()?;
        written
    };
    context.cancel.check()?;
    context.phase(Phase::Publish, "making the result visible");
    refuse_existing(plan, &output)?;
    place_file(fs, &draft, &output, FILE_MODE)?;
    drop(place);
    let name = plan.output.display().to_string();
    Ok(RewriteReport {
        written,
        files: vec![OutputFile { name, bytes: written.bytes, replaces }],
        findings: context.run_findings(),
    })
}

/// Refuses an existing output that must not be replaced. Returns whether the output exists.
fn refuse_existing(plan: &RewritePlan, output: &Path) -> Outcome<bool> {
    let is_there = files::try_is_taken(output)?;
    match plan.existing {
        ExistingOutput::Refuse(class) if is_there => {
            // The drop-in `merge`, whose class this is, has no flag that replaces a file.
            let hint = match class {
                ExitClass::Usage => "give another name",
                _ => "give another --output, or --force-overwrite replaces it",
            };
            Err(Failure::new(class, "writing the output", "the file exists already")
                .on(Subject::path(&plan.output))
                .with_hint(hint))
        }
        _ => Ok(is_there),
    }
}

/// Refuses to overwrite an input.
fn refuse_source(plan: &RewritePlan, output: &Path) -> Outcome<()> {
    let sources: Vec<&PathBuf> = match &plan.what {
        Rewrite::Merge(paths) | Rewrite::ChunkPacked(paths, ..) | Rewrite::ChunkLines(paths, ..) => {
            paths.iter().collect()
        }
        Rewrite::ShufflePacked(path, _) | Rewrite::ShuffleLines(path, _) | Rewrite::Filter(path, _) => vec![path],
    };
    let Ok(target) = files::canonicalize(output) else { return Ok(()) };
    match sources.into_iter().find(|source| files::canonicalize(source).is_ok_and(|source| source == target)) {
        None => Ok(()),
        Some(source) => Err(Failure::usage("writing the output", "it is one of the files that are read")
            .on(Subject::path(source))
            .with_hint("give another name")),
    }
}

/// Creates the folder of an output and its missing parents.
pub(crate) fn make_parent(fs: &dyn Fs, output: &Path) -> Outcome<()> {
    let missing = output.parent().map(missing_folders).unwrap_or_default();
    missing.into_iter().try_for_each(|folder| fs.create_dir(folder, FOLDER_MODE))
}

fn write(
    plan: &RewritePlan,
    file: &mut BufferedFile,
    handles: &Handles<'_>,
    context: &TaskContext,
) -> Outcome<AssembledFile> {
    let working = |item: &'static str| context.phase_of(Phase::Scan, item, "copying");
    let packed = |path: &PathBuf| Source::packed(path, plan.compat, handles);
    let lines = |path: &PathBuf| Source::lines(path, handles);
    match &plan.what {
        Rewrite::Merge(paths) => {
            let paths = list(paths)?;
            working("file");
            merge(&paths, plan.compat, file, handles)
        }
        Rewrite::ShufflePacked(path, seed) => {
            let mut assembly = Assembly::new(vec![packed(path)?])?;
            assembly.shuffle_as_python(seed);
            working("document");
            assembly.write(file, handles)
        }
        Rewrite::ShuffleLines(path, seed) => {
            let source = lines(path)?;
            report_missing_line_end(&source, plan.compat, handles)?;
            let mut assembly = Assembly::new(vec![source])?.joining_last_line(plan.compat);
            assembly.shuffle_as_python(seed);
            working("line");
            assembly.write(file, handles)
        }
        Rewrite::ChunkPacked(paths, chunk, seed) => {
            let mut assembly = Assembly::new(parts(paths, *chunk, packed)?)?;
            refuse_empty(&assembly, "chunk")?;
            assembly.shuffle_as_numpy(*seed);
            working("document");
            assembly.write(file, handles)
        }
        Rewrite::ChunkLines(paths, chunk, seed) => {
            let sources = parts(paths, *chunk, lines)?;
            for source in &sources {
                report_missing_line_end(source, plan.compat, handles)?;
            }
            let mut assembly = Assembly::new(sources)?.joining_last_line(plan.compat);
            refuse_empty(&assembly, "chunk")?;
            assembly.shuffle_as_numpy(*seed);
            working("line");
            assembly.write(file, handles)
        }
        Rewrite::Filter(path, keep) => {
            let mut assembly = Assembly::new(vec![packed(path)?])?;
            assembly.retain(|document, tokens| keep.keeps(document, tokens));
            if assembly.is_empty() {
                let why = "no document is left: the output has 0 documents";
                let note = Problem::note(ProblemKind::EmptyResult, Subject::path(path), why);
                handles.problems.report(note.with_hint("check --documents, --min-tokens and --max-tokens"))?;
            }
            working("document");
            assembly.write(file, handles)
        }
    }
}

/// Returns the part of each file that belongs to a chunk.
fn parts(paths: &[PathBuf], chunk: Chunk, open: impl Fn(&PathBuf) -> Outcome<Source>) -> Outcome<Vec<Source>> {
    let mut sources = Vec::with_capacity(paths.len());
    for path in paths {
        let mut source = open(path)?;
        source.keep(chunk.range(source.len()));
        sources.push(source);
    }
    Ok(sources)
}

/// Reports a last line without line end, and its consequence.
fn report_missing_line_end(source: &Source, compat: bool, handles: &Handles<'_>) -> Outcome<()> {
    if !source.lacks_line_end() {
        return Ok(());
    }
    let subject = Subject::path(source.file().path());
    let problem = match compat {
        true => Problem::note(
            ProblemKind::CompatLoss,
            subject,
            "its last line has no line end, and the next line is appended to it, as the reference program does",
        ),
        false => Problem::note(ProblemKind::BadLine, subject, "its last line has no line end; one is added"),
    };
    handles.problems.report(problem)
}

fn refuse_empty(assembly: &Assembly, what: &str) -> Outcome<()> {
    match assembly.is_empty() {
        true => Err(Failure::data("writing the output", format!("the {what} is empty"))),
        false => Ok(()),
    }
}
