//! Making one packed file or text file out of others: merged, shuffled, cut into a chunk, filtered.

use crate::engine::modalities::assembly::{AssembledFile, Assembly};
use crate::engine::modalities::chunk::Chunk;
use crate::engine::modalities::filter::Keep;
use crate::engine::modalities::merge::{list, merge};
use crate::engine::modalities::source::Source;
use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::prepare::OutputFile;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, RunOptions, Severity, Subject};
use gristmill_pycompat::random::Seed;
use gristmill_storage::fs::{BufferedFile, Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::publish::place_file;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Permission bits of what is written.
const FILE_MODE: u32 = 0o644;
/// Permission bits of folders that are made on the way.
const FOLDER_MODE: u32 = PRIVATE_FOLDER | 0o055;
/// Bytes that are handed to the system at once.
const BUFFER: usize = 1 << 20;

/// What is made.
#[derive(Clone, Debug)]
pub enum Rewrite {
    /// All packed files one after the other; folders stand for every `.pbin` in them.
    Merge(Vec<PathBuf>),
    /// The documents of a packed file in another order.
    ShufflePacked(PathBuf, Seed),
    /// The lines of a text file in another order.
    ShuffleLines(PathBuf, Seed),
    /// A part of each packed file, shuffled together; the seed is the chunk's own.
    ChunkPacked(Vec<PathBuf>, Chunk, u64),
    /// A part of each text file, shuffled together; the seed is the chunk's own.
    ChunkLines(Vec<PathBuf>, Chunk, u64),
    /// Some documents of a packed file.
    Filter(PathBuf, Keep),
}

/// What happens to an output that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is kept, and the run fails with this class of failure.
    Refuse(ExitClass),
    /// It is replaced at the end.
    Replace,
}

/// What is made, and where.
#[derive(Clone, Debug)]
pub struct RewritePlan {
    /// What is made.
    pub what: Rewrite,
    /// The file that is written.
    pub output: PathBuf,
    /// What happens to one that is there.
    pub existing: Existing,
    /// Write the reference's bytes even where they lose or misplace data.
    pub compat: bool,
}

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct RewriteReport {
    /// What was written.
    #[serde(flatten)]
    pub written: AssembledFile,
    /// The file.
    pub files: Vec<OutputFile>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds")]
    pub elapsed: Duration,
}

/// Carries out a plan in the background. After a failure nothing was written.
pub fn start(plan: RewritePlan, options: RunOptions) -> Outcome<Task<RewriteReport>> {
    start_on(plan, options, Arc::new(RealFs))
}

/// As [`start`], writing through `fs`: tests let it fail.
pub fn start_on(plan: RewritePlan, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<RewriteReport>> {
    Task::start("modalities", options, fs, move |context| run(&plan, context))
}

fn run(plan: &RewritePlan, context: &TaskContext) -> Outcome<RewriteReport> {
    let output = std::path::absolute(&plan.output).map_err(|e| Failure::io("naming the output", &plan.output, &e))?;
    let replaces = refuse_existing(plan, &output)?;
    context.phase_of(Phase::Open, "file", "looking at the sources");
    refuse_source(plan, &output)?;
    let fs = &*context.fs;
    make_parent(fs, &output)?;
    let place = ExclusiveOutput::take(fs, &output, &context.options)?;
    let draft = place.draft(0);
    let written = {
        let mut file = BufferedFile::new(fs.create_file(&draft)?, BUFFER);
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
        problems: context.problems.kept(),
        counts: context.problems.counts(),
        elapsed: context.elapsed(),
    })
}

/// Refuses an output that must not be replaced; tells whether there is one.
fn refuse_existing(plan: &RewritePlan, output: &Path) -> Outcome<bool> {
    let is_there = std::fs::symlink_metadata(output).is_ok();
    match plan.existing {
        Existing::Refuse(class) if is_there => {
            Err(Failure::new(class, "writing the output", "there is a file of that name already")
                .on(Subject::path(&plan.output))
                .with_hint("give another name, or say that it may be replaced"))
        }
        _ => Ok(is_there),
    }
}

/// Refuses to write over what is read.
fn refuse_source(plan: &RewritePlan, output: &Path) -> Outcome<()> {
    let sources: Vec<&PathBuf> = match &plan.what {
        Rewrite::Merge(paths) | Rewrite::ChunkPacked(paths, ..) | Rewrite::ChunkLines(paths, ..) => {
            paths.iter().collect()
        }
        Rewrite::ShufflePacked(path, _) | Rewrite::ShuffleLines(path, _) | Rewrite::Filter(path, _) => vec![path],
    };
    let Ok(target) = std::fs::canonicalize(output) else { return Ok(()) };
    match sources.into_iter().find(|source| std::fs::canonicalize(source).is_ok_and(|source| source == target)) {
        None => Ok(()),
        Some(source) => Err(Failure::usage("writing the output", "it is one of the files that are read")
            .on(Subject::path(source))
            .with_hint("give another name")),
    }
}

/// Makes the folder of an output, and those above it.
pub(super) fn make_parent(fs: &dyn Fs, output: &Path) -> Outcome<()> {
    let mut missing = Vec::new();
    let mut folder = output.parent();
    while let Some(path) = folder.filter(|path| !path.as_os_str().is_empty() && !path.exists()) {
        missing.push(path);
        folder = path.parent();
    }
    missing.into_iter().rev().try_for_each(|path| fs.create_dir(path, FOLDER_MODE))
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
            note_glue(&source, plan.compat, handles)?;
            let mut assembly = Assembly::new(vec![source])?.gluing(plan.compat);
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
                note_glue(source, plan.compat, handles)?;
            }
            let mut assembly = Assembly::new(sources)?.gluing(plan.compat);
            refuse_empty(&assembly, "chunk")?;
            assembly.shuffle_as_numpy(*seed);
            working("line");
            assembly.write(file, handles)
        }
        Rewrite::Filter(path, keep) => {
            let mut assembly = Assembly::new(vec![packed(path)?])?;
            assembly.retain(|document, tokens| keep.keeps(document, tokens));
            if assembly.is_empty() {
                let why = "no document is left: the file that is written has 0 documents";
                let note = Problem::note(ProblemKind::EmptyResult, Subject::path(path), why);
                handles.problems.report(note.with_hint("check --documents, --min-tokens and --max-tokens"))?;
            }
            working("document");
            assembly.write(file, handles)
        }
    }
}

/// The part of each file that belongs to a chunk.
fn parts(paths: &[PathBuf], chunk: Chunk, open: impl Fn(&PathBuf) -> Outcome<Source>) -> Outcome<Vec<Source>> {
    let mut sources = Vec::with_capacity(paths.len());
    for path in paths {
        let mut source = open(path)?;
        source.keep(chunk.range(source.len()));
        sources.push(source);
    }
    Ok(sources)
}

/// Says that the last line has no line end, and what comes of it.
fn note_glue(source: &Source, compat: bool, handles: &Handles<'_>) -> Outcome<()> {
    if !source.lacks_line_end() {
        return Ok(());
    }
    let subject = Subject::path(source.file().path());
    let problem = match compat {
        true => Problem::note(
            ProblemKind::CompatLoss,
            subject,
            "its last line has no line end, and the line that comes after it is glued to it, as the reference does",
        ),
        false => Problem::note(ProblemKind::BadLine, subject, "its last line has no line end; it is given one"),
    };
    handles.problems.report(problem)
}

fn refuse_empty(assembly: &Assembly, what: &str) -> Outcome<()> {
    match assembly.is_empty() {
        true => Err(Failure::data("writing the output", format!("nothing is left for it: the {what} is empty"))),
        false => Ok(()),
    }
}
