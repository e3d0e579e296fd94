//! Data sets of every kind, and their readers for `info`, `lint`, `verify`, `repair`, `facts` and the browser.
//!
//! A kind is a row of [`reader`], and a row of `gristmill_core::kinds` with the operations that it supports. A [`Dataset`] is detected once
//! and passed on.

mod figures;
mod files;
mod folder;
mod jsonl;
mod metadataset;
mod outputs;
mod tables;
mod tokens;

pub use figures::{FigureGroup, Figures};

use figures::keep_shards;

use crate::engine::browse::{OpenedCatalog, TokenView};
use crate::engine::check::tokens::Vocabulary;
use crate::engine::check::{CheckReport, CheckTexts, DatasetInfo, InfoOptions, LintOptions};
use crate::job::recover::recover_interrupted;
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use crate::job::unfinished::explain_by_run;
use crate::tokens::formats;
use gristmill_core::kinds::Support;
use gristmill_core::{Cancel, DatasetKind, Failure, Handles, Outcome, ProblemSink, RunOptions, Subject};
use gristmill_data::formats::missing_part;
use gristmill_data::source::kind::kind_of;
use gristmill_storage::files::{is_dir, is_file};
use gristmill_storage::location::has_folders;
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

/// Options of `info`.
#[derive(Clone, Debug, Default)]
pub struct InfoRequest {
    /// Files of a prepared WebDataset that replace the default ones.
    pub options: InfoOptions,
    /// Sequence length for counting the training windows of packed tokens.
    pub sequence_length: Option<u64>,
    /// Threads, memory and scratch folder.
    pub run: RunOptions,
}

/// Options of `lint` and `verify`.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// Whether to read all data again, as `verify` does.
    pub is_deep: bool,
    /// Options of `lint` for prepared WebDatasets and media.
    pub lint: LintOptions,
    /// The vocabulary that limits token ids.
    pub vocabulary: Option<Vocabulary>,
    /// The file of a raw index, if it is not the `.jsonl` file next to the index.
    pub source: Option<PathBuf>,
    /// Whether results must equal those of the reference programs, including their defects.
    pub compat: bool,
    /// Threads, memory and scratch folder.
    pub run: RunOptions,
}

/// Reads one kind of data set.
pub(crate) trait DatasetReader: Sync {
    /// Returns the words for the items that a check counts.
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts::default()
    }
    /// Whether `--sequence-length` counts training windows.
    fn has_windows(&self, _: &Dataset) -> bool {
        false
    }
    /// Describes the data set.
    fn info(&self, dataset: &Dataset, request: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo>;
    /// Checks the data set. Reports findings to the handles, in no fixed order.
    fn check(&self, dataset: &Dataset, _: &CheckRequest, _: &Handles<'_>) -> Outcome<CheckReport> {
        Err(dataset.refusal("checking the data set", dataset.kind.info().check))
    }
    /// Starts to repair known errors of other programs.
    fn repair(&self, dataset: &Dataset, _is_dry: bool, _: RunOptions) -> Outcome<Task<RepairReport>> {
        Err(dataset.refusal("repairing", dataset.kind.info().repair))
    }
    /// Opens the data set for browsing.
    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        Err(dataset.refusal("opening the data set", dataset.kind.info().browse))
    }
    /// Computes a group of statistics, if it applies to the kind.
    fn figures(&self, _: &Dataset, _: FigureGroup, _: &mut Figures, _: &RunOptions, _: &Cancel) -> Outcome<()> {
        Ok(())
    }
}

fn reader(kind: DatasetKind) -> &'static dyn DatasetReader {
    match kind {
        DatasetKind::PreparedWebDataset | DatasetKind::RawWebDataset => &folder::Folder,
        DatasetKind::Filesystem | DatasetKind::LooseMedia | DatasetKind::PlainFolder => &folder::Folder,
        DatasetKind::Jsonl => &jsonl::Jsonl,
        DatasetKind::Metadataset => &metadataset::Metadataset,
        DatasetKind::Tokens(_) => &tokens::Tokens,
        DatasetKind::PackedFormats => &outputs::PackedFormats,
        DatasetKind::MixtureIndex => &outputs::MixtureIndex,
        DatasetKind::Table(_) | DatasetKind::TableFolder(_) => &tables::Tables,
        DatasetKind::DedupIndex => &files::DedupIndex,
        DatasetKind::SingleShard => &files::SingleShard,
        DatasetKind::PackedJsonl => &files::PackedJsonl,
        DatasetKind::RawIndex => &files::RawIndex,
        DatasetKind::OtherFile => &files::OtherFile,
    }
}

/// A data set: its path and its kind.
#[derive(Clone, Debug)]
pub struct Dataset {
    path: PathBuf,
    kind: DatasetKind,
}

impl Dataset {
    /// Detects the kind of a path by file names; see [`kind_of`].
    ///
    /// # Errors
    /// The path does not exist or cannot be read.
    pub fn find(path: &Path) -> Outcome<Self> {
        match kind_of(path) {
            Err(failure) if failure.is_missing() => Err(explain_by_run(failure, path)),
            kind => Ok(Self::of(path, kind?)),
        }
    }

    /// Detects a data set like [`find`](Self::find), after completing an interrupted publication. Reports a note about a completed
    /// publication.
    ///
    /// # Errors
    /// The path does not exist or cannot be read, or the publication cannot be completed.
    pub fn find_recovered(path: &Path, problems: &dyn ProblemSink) -> Outcome<Self> {
        let dataset = Self::find(path)?;
        if !is_dir(path) {
            return Ok(dataset);
        }
        recover_interrupted(path, problems)?;
        match RunFolder::for_webdataset(path).exists() {
            true => Self::find(path),
            false => Ok(dataset),
        }
    }

    /// Returns the data set at a path whose kind is known.
    pub fn of(path: &Path, kind: DatasetKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind.
    pub fn kind(&self) -> DatasetKind {
        self.kind
    }

    /// Returns the words for the items that a check counts.
    pub fn texts(&self) -> CheckTexts {
        reader(self.kind).texts(self)
    }

    /// Describes the data set. Its problems are in the description, or are reported to the handles.
    ///
    /// # Errors
    /// The data set cannot be read, its kind has no description, or the request does not apply to its kind.
    pub fn info(&self, request: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        if request.sequence_length.is_some() && !reader(self.kind).has_windows(self) {
            return Err(Failure::usage("counting windows", "it is no folder of .ds files")
                .on(Subject::path(&self.path))
                .with_hint(format!(
                    "--sequence-length is for token folders of {}",
                    formats::framework_with_windows()
                )));
        }
        reader(self.kind).info(self, request, handles).map_err(|failure| self.explain(failure))
    }

    /// Compares the data set with its indexes and metadata. Reports findings to the handles, in no fixed order.
    ///
    /// # Errors
    /// The data set cannot be read, its kind cannot be checked, or the request does not apply to its kind.
    pub fn check(&self, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        if self.kind.info().check.is_err() {
            return Err(self.refusal("checking the data set", self.kind.info().check));
        }
        reader(self.kind).check(self, request, handles).map_err(|failure| self.explain(failure))
    }

    /// Checks that the data set is a folder of tar shards.
    ///
    /// # Errors
    /// The data set has another kind; the hint names a command that reads or converts it.
    pub fn check_shards(&self) -> Outcome<()> {
        const ACTIVITY: &str = "opening the data set";
        files::check_suffix(&self.path)?;
        match self.kind.info().shards {
            Err(_) if self.kind == DatasetKind::OtherFile && !is_file(&self.path) => {
                Err(Failure::usage(ACTIVITY, "it is a fifo, socket or device, not a file or folder")
                    .on(Subject::path(&self.path))
                    .with_hint("give a folder that holds tar shards, a .jsonl file, or a metadataset (.yaml)"))
            }
            support @ Err(_) => Err(self.refusal(ACTIVITY, support)),
            Ok(()) => Ok(()),
        }
    }

    /// Checks that a flag applies to the kind, because an ignored flag would be misleading.
    ///
    /// # Errors
    /// `flag` is not one of the flags of the kind.
    pub fn check_flag(&self, flag: &str) -> Outcome<()> {
        if self.kind.info().flags.contains(&flag) {
            return Ok(());
        }
        if matches!(self.kind, DatasetKind::PackedJsonl | DatasetKind::OtherFile) {
            self.check_shards()?;
        }
        let kinds = FLAGS.iter().find(|(name, _)| *name == flag).map_or("other data", |(_, kinds)| kinds);
        let failure = Failure::usage("reading the command line", format!("{flag} is for {kinds}, which this is not"));
        Err(failure.on(Subject::path(&self.path)).with_hint("remove it"))
    }

    /// Starts to repair known errors of other programs. If `is_dry` is set, writes nothing.
    ///
    /// # Errors
    /// No such errors are known for the kind.
    pub fn repair(&self, is_dry: bool, options: RunOptions) -> Outcome<Task<RepairReport>> {
        reader(self.kind).repair(self, is_dry, options)
    }

    /// Opens the data set for browsing, displaying packed tokens according to `view`. Reads only small files.
    ///
    /// # Errors
    /// The data set cannot be read, its kind cannot be browsed, or `view` has options for packed tokens and the data set has none.
    pub fn catalog(&self, view: &TokenView) -> Outcome<OpenedCatalog> {
        view.check_kind(self.kind)?;
        reader(self.kind).catalog(self, view)
    }

    /// Computes groups of statistics. Reads indexes and some texts, and all headers of shards that are not prepared.
    ///
    /// # Errors
    /// The data set cannot be read, its kind has no statistics, or the work is cancelled.
    pub fn figures(&self, groups: &[FigureGroup], options: &RunOptions, cancel: &Cancel) -> Outcome<Figures> {
        if self.kind.info().figures.is_err() {
            return Err(self.refusal("gathering figures", self.kind.info().figures));
        }
        let mut figures = Figures::new(self.kind);
        let kept = keep_shards(self, options)?;
        for group in groups {
            reader(self.kind).figures(self, *group, &mut figures, options, cancel)?;
            kept.iter().for_each(|(kept, _)| kept.close());
        }
        Ok(figures)
    }

    /// Names the run that has not made the files of the data set yet, if there is one.
    fn explain(&self, failure: Failure) -> Failure {
        match self.kind.has_splits() || failure.is_cancelled() {
            true => failure,
            false => explain_by_run(failure, &self.path),
        }
    }

    /// Returns the failure for an operation that the kind does not support.
    fn refusal(&self, what: &str, support: Support) -> Failure {
        let failure = match support {
            Err(refusal) => refusal.on(what, &self.path.to_string_lossy()),
            Ok(()) => Failure::internal(what, format!("this command does not support a {}", self.kind.title())),
        };
        let is_other = self.kind == DatasetKind::OtherFile;
        let of_web = || (!has_folders(&self.path)).then(|| WEB_FILES_HINT.to_owned());
        let hint = if is_other { missing_part(&self.path).or_else(of_web) } else { None };
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

/// Hint about addresses that can be opened in stores without folders.
const WEB_FILES_HINT: &str =
    "give the address of one file: a .tar, .jsonl, .parquet, .arrow, .csv or .tsv file; shards \
    also together, as https://HOST/web-{0000..0099}.tar";

/// Flags of `lint` and `verify` that only some kinds support, with the names of these kinds.
const FLAGS: &[(&str, &str)] = &[
    ("--decode", "data sets with media metadata"),
    ("--tokenizer", "packed tokens"),
    ("--source", "raw indexes (.idx)"),
];
