//! Merges the pairs of a folder: concatenates the tokens, and writes one index (docs/formats/megatron.md §6).

use super::index::{write_index, IndexTables, PairType, TakeNumbers, DOCUMENT_BYTES};
use super::no_tokens;
use super::pair::{PairIndex, NUMBERS_PER_READ};
use crate::job::exclusive_output::{still_the_same, ExclusiveOutput};
use crate::job::files_report::FilesReport;
use crate::job::publish::make_folder;
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use crate::tokens::spool::each_chunk;
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{bytes, display_safe};
use gristmill_core::{Cancel, Failure, FileStamp, Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_data::formats::megatron::{index_of, indexes, is_index, tokens_of, UNFINISHED};
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::publish::Publication;
use gristmill_storage::read::open_read;
use gristmill_storage::space::free_bytes;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "merging pairs";
/// Size of the write buffer, in bytes.
const WRITE_BYTES: usize = 1 << 20;
/// Permission bits of written files.
const FILE_MODE: u32 = 0o644;
/// Permission bits of folders that are created.
const FOLDER_MODE: u32 = 0o755;

/// The inputs and options of a merge of pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PairMergePlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// Folder with the pairs.
    pub input: PathBuf,
    /// Path of the merged pair, without a suffix.
    pub output: PathBuf,
    /// Whether to keep the modes of multimodal pairs.
    #[serde(default)]
    pub multimodal: bool,
    /// Whether to replace an existing pair of this name.
    #[serde(default)]
    pub overwrite: bool,
    /// Whether to drop the modes of multimodal pairs, as the reference program does.
    #[serde(default)]
    pub compat: bool,
}

impl PairMergePlan {
    /// Returns a plan for these paths.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            version: PLAN_VERSION,
            input: input.into(),
            output: output.into(),
            multimodal: false,
            overwrite: false,
            compat: false,
        }
    }
}

/// A pair that is merged. Its files are open only while they are read.
struct SourcePair {
    index: PathBuf,
    sequences: u64,
    documents: u64,
    bytes: u64,
    index_stamp: FileStamp,
    tokens_stamp: FileStamp,
}

/// The pairs of a folder, in the order in which they are merged.
struct Sources<'a> {
    pairs: Vec<SourcePair>,
    pair_type: PairType,
    has_modes: bool,
    cancel: &'a Cancel,
}

fn damaged(index: &Path) -> impl Fn(String) -> Failure + '_ {
    move |why| Failure::data(ACTIVITY, why).on(Subject::path(index)).with_hint("gristmill lint names what is wrong")
}

impl<'a> Sources<'a> {
    /// Finds and checks the pairs of a folder.
    fn find(plan: &PairMergePlan, context: &'a TaskContext) -> Outcome<Self> {
        files::read_dir(&plan.input).map(drop).map_err(|error| Failure::io(ACTIVITY, &plan.input, &error))?;
        let mut found: Vec<PathBuf> = indexes(&plan.input).filter(|path| is_index(path)).collect();
        // Sorts by the names without suffix, because one of these names may be a prefix of another.
        found.sort_by_cached_key(|path| path.with_extension("").into_os_string());
        report_others(&plan.input, &found, context)?;
        let mut pairs = Vec::with_capacity(found.len());
        let mut common: Option<(PairType, bool)> = None;
        context.progress.expect(found.len() as u64, 0);
        for index in found {
            let open = PairIndex::open(&index).and_then(|pair| pair.check(&context.cancel).map(|_| pair));
            // A cancelled check does not mean that the pair is damaged.
            context.cancel.check()?;
            let pair = open.map_err(damaged(&index))?;
            let (pair_type, has_modes) = *common.get_or_insert((pair.pair_type, pair.has_modes));
            if pair.pair_type != pair_type {
                let why =
                    format!("its tokens are {}, and those of the first pair {}", pair.pair_type.name, pair_type.name);
                return Err(Failure::data(ACTIVITY, why)
                    .on(Subject::path(&index))
                    .with_hint("merge pairs of one type; gristmill pack --dtype makes others"));
            }
            refuse_modes(plan, &index, pair.has_modes, has_modes)?;
            let stamp = |path: &Path| gristmill_storage::read::stamp_at(path);
            pairs.push(SourcePair {
                sequences: pair.sequences,
                documents: pair.documents,
                bytes: pair.bytes,
                index_stamp: stamp(&index)?,
                tokens_stamp: stamp(&pair.tokens)?,
                index,
            });
            context.progress.add(1, 0);
        }
        let Some((pair_type, _)) = common else {
            let failure = Failure::usage(ACTIVITY, "there is no pair of .bin and .idx in the folder");
            return Err(failure.on(Subject::path(&plan.input)));
        };
        Ok(Self { pairs, pair_type, has_modes: plan.multimodal, cancel: &context.cancel })
    }

    fn sum(&self, of: fn(&SourcePair) -> u64) -> u64 {
        self.pairs.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Calls `read` for each pair with the first index and the count of each batch of its numbers. `count` returns how many numbers a pair
    /// has.
    fn for_each_pair(
        &self,
        count: fn(&PairIndex) -> u64,
        read: &mut dyn FnMut(&PairIndex, u64, u64) -> Result<(), Failure>,
    ) -> Outcome<()> {
        for source in &self.pairs {
            let pair = PairIndex::open(&source.index).map_err(damaged(&source.index))?;
            let all = count(&pair);
            let mut first = 0;
            while first < all {
                self.cancel.check()?;
                let some = NUMBERS_PER_READ.min(all - first);
                read(&pair, first, some)?;
                first += some;
            }
        }
        Ok(())
    }
}

impl IndexTables for Sources<'_> {
    fn lengths(&self, take: TakeNumbers<'_, i32>) -> Outcome<()> {
        self.for_each_pair(|pair| pair.sequences, &mut |pair, first, count| {
            take(&pair.lengths(first, count).map_err(damaged(pair.path()))?)
        })
    }

    fn counts(&self, take: TakeNumbers<'_, u32>) -> Outcome<()> {
        self.for_each_pair(|pair| pair.documents, &mut |pair, first, count| {
            take(&pair.counts(first, count).map_err(damaged(pair.path()))?)
        })
    }

    fn modes(&self, take: TakeNumbers<'_, u8>) -> Outcome<()> {
        if !self.has_modes {
            return Ok(());
        }
        self.for_each_pair(|pair| pair.sequences, &mut |pair, first, count| {
            take(&pair.modes(first, count).map_err(damaged(pair.path()))?)
        })
    }
}

/// Refuses plans that would lose modes, and folders that mix pairs with and without modes.
fn refuse_modes(plan: &PairMergePlan, index: &Path, has_modes: bool, first_has_modes: bool) -> Outcome<()> {
    let (why, hint) = match (plan.multimodal, has_modes) {
        (true, false) => ("its sequences have no modes", "leave out --multimodal"),
        (false, true) if !plan.compat => {
            ("its sequences have modes, which would be lost", "--multimodal keeps them, --compat drops them")
        }
        _ if has_modes != first_has_modes && !plan.compat => {
            ("its sequences have modes, and those of the first pair have none", "merge pairs of one kind")
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(ACTIVITY, why).on(Subject::path(index)).with_hint(hint))
}

/// Reports files of the folder that are not merged.
fn report_others(folder: &Path, pairs: &[PathBuf], context: &TaskContext) -> Outcome<()> {
    let entries = files::read_dir(folder).into_iter().flatten().flatten().map(FolderEntry::into_path);
    let merged: HashSet<&PathBuf> = pairs.iter().collect();
    let is_merged = |path: &PathBuf| {
        let is_part = path.extension().is_some_and(|end| end == "bin" || end == "idx");
        is_part && merged.contains(&index_of(path))
    };
    let mut others: Vec<PathBuf> = entries.filter(|path| files::is_file(path) && !is_merged(path)).collect();
    others.sort();
    let is_alone = |path: &Path| path.extension().is_some_and(|end| end == "bin") && !files::is_file(index_of(path));
    for path in others.iter().filter(|path| is_alone(path)) {
        context.problems.report(Problem::problem(ProblemKind::MissingFile, Subject::path(path), UNFINISHED))?;
    }
    others.retain(|path| !is_alone(path));
    let Some(first) = others.first() else { return Ok(()) };
    let name = display_safe(&first.file_name().unwrap_or_default().to_string_lossy()).into_owned();
    let why = match others.len() {
        1 => format!("{name} is no part of a pair, and is left out"),
        more => format!("{more} files are no part of a pair, and are left out; the first is {name}"),
    };
    context.problems.report(Problem::note(ProblemKind::FileLeftOut, Subject::path(folder), why))
}

/// Merges the pairs of a folder, or determines the result of an earlier merge. Replaces an existing pair only if the plan permits it.
///
/// # Errors
/// A pair is damaged or has another type, the folder has no pair, or the output exists or cannot be written.
pub(crate) fn run_pair_merge(plan: &PairMergePlan, is_written: bool, context: &TaskContext) -> Outcome<FilesReport> {
    context.phase_of(Phase::Open, "pair", "looking at the pairs");
    let output = files::absolute(&plan.output).map_err(|error| Failure::io(ACTIVITY, &plan.output, &error))?;
    let suffixed = |suffix: &str| {
        let mut name = output.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    let (bin, idx) = (suffixed(".bin"), suffixed(".idx"));
    let sources = Sources::find(plan, context)?;
    refuse_own_input(&sources, &idx)?;
    let (documents, size) = (sources.sum(|pair| pair.documents), sources.sum(|pair| pair.bytes));
    let replaces = [files::try_is_taken(&bin)?, files::try_is_taken(&idx)?];
    let is_kept = !plan.overwrite && replaces.contains(&true);
    let has_size = |path: &Path| files::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == size);
    if is_kept && !has_size(&bin) {
        return Err(refuse_existing(&bin));
    }
    let mut report = FilesReport {
        output: output.clone(),
        inputs: sources.pairs.len() as u64,
        tokens: size / sources.pair_type.bytes.max(1),
        units: documents,
        unit: "document",
        verbs: ("Merged", "merge"),
        token_bytes: sources.pair_type.bytes,
        ..FilesReport::default()
    };
    if is_written {
        let sizes = write(&sources, (&output, &bin, &idx), is_kept, context)?;
        report.nothing_to_do = sizes.is_none();
        let names = [&bin, &idx].map(|path| path.to_string_lossy().into_owned());
        let files = names.into_iter().zip(sizes.unwrap_or_default()).zip(replaces);
        report.files = files.map(|((name, bytes), replaces)| OutputFile { name, bytes, replaces }).collect();
    }
    if documents == 0 {
        context.problems.report(no_tokens(Subject::path(&bin), documents))?;
    }
    report.findings = context.run_findings();
    Ok(report)
}

fn refuse_existing(path: &Path) -> Failure {
    let failure = Failure::data(ACTIVITY, "there is another pair of that name").on(Subject::path(path));
    failure.with_hint("--force-overwrite replaces it; or name another output")
}

/// Refuses an output that is one of the input pairs.
fn refuse_own_input(sources: &Sources<'_>, idx: &Path) -> Outcome<()> {
    let Ok(target) = files::canonicalize(idx) else { return Ok(()) };
    match sources.pairs.iter().find(|pair| files::canonicalize(&pair.index).is_ok_and(|index| index == target)) {
        None => Ok(()),
        Some(pair) => Err(Failure::usage(ACTIVITY, "it is one of the pairs that are merged")
            .on(Subject::path(&pair.index))
            .with_hint("name another output, outside of the folder")),
    }
}

/// Writes and publishes the merged pair. Returns the sizes of its files, or `None` if identical files exist.
fn write(
    sources: &Sources<'_>,
    (output, bin, idx): (&Path, &Path, &Path),
    is_kept: bool,
    context: &TaskContext,
) -> Outcome<Option<[u64; 2]>> {
    let fs = &*context.fs;
    let size = sources.sum(|pair| pair.bytes);
    let needed = size.saturating_add(sources.sum(|pair| pair.documents.max(pair.sequences)) * DOCUMENT_BYTES);
    make_folder(fs, output.parent().unwrap_or(Path::new("/")), FOLDER_MODE, &mut Vec::new())?;
    let free = free_bytes(output)?;
    if needed > free {
        let why = format!("{} are needed, and {} are free", bytes(needed), bytes(free));
        return Err(Failure::environment(ACTIVITY, why).on(Subject::path(output)));
    }
    let place = ExclusiveOutput::create(fs, output, &context.options)?;
    context.phase_of(Phase::Scan, "pair", "merging");
    context.progress.expect(sources.pairs.len() as u64, size);
    let (tokens, index) = (place.draft(0), place.draft(1));
    let mut file = BufferedFile::new(fs.create_file(&tokens)?, WRITE_BYTES);
    for pair in &sources.pairs {
        let path = tokens_of(&pair.index);
        each_chunk(&path, 0, pair.bytes, &mut |bytes| {
            sources.cancel.check()?;
            context.progress.add(0, bytes.len() as u64);
            file.write_all(bytes)
        })?;
        still_the_same(&open_read(&path)?, pair.tokens_stamp, &*context.problems)?;
        context.progress.add(1, 0);
    }
    let token_bytes = file.close()?;
    let mut file = BufferedFile::new(fs.create_file(&index)?, WRITE_BYTES);
    write_index(sources.pair_type, sources, &mut |bytes| file.write_all(bytes))?;
    let index_bytes = file.close()?;
    for pair in &sources.pairs {
        still_the_same(&open_read(&pair.index)?, pair.index_stamp, &*context.problems)?;
    }
    context.cancel.check()?;
    context.phase_of(Phase::Publish, "output file", "making the result visible");
    let root = output.parent().unwrap_or(Path::new("/"));
    let mut publication = Publication::begin(fs, root, &place.run_folder)?.counting(&context.progress, 0);
    publication.stage_file(bin, tokens, FILE_MODE)?;
    publication.stage_file(idx, index, FILE_MODE)?;
    if publication.changes_nothing()? {
        return Ok(None);
    }
    if is_kept {
        return Err(refuse_existing(bin));
    }
    publication.commit(idx)?;
    Ok(Some([token_bytes, index_bytes]))
}
