//! `modalities merge`, `shuffle`, `chunk` and `filter`: write one packed file or text file from others.

use super::super::engine::chunk::Chunk;
use super::super::engine::filter::{ranges, KeepConditions};
use super::super::engine::merge::list;
use super::super::job::{run_rewrite, ExistingOutput, Rewrite, RewritePlan, RewriteReport};
use crate::job::operation::{Operation, Plan};
use crate::job::report::{problem_table, Report, ReportLine};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{bytes, count, display_safe, duration};
use gristmill_core::{DatasetKind, ExitClass, Failure, Outcome, Subject};
use gristmill_data::formats::modalities::kind::{is_named_packed, PACKED_FILE};
use gristmill_data::source::kind::kind_of;
use gristmill_pycompat::random::{digits, Seed};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Default seed of an order.
const DEFAULT_SEED: &str = "42";
/// Maximum size of a list of documents, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 30;

/// Defines an operation and its plan: the given fields, and the output fields that all these plans have.
macro_rules! rewrite {
    ($plan:ident, $operation:ident, $name:literal, $about:literal, $what:literal, { $($(#[$doc:meta])* $field:ident: $type:ty = $blank:expr,)* }, $options:ident) => {
        #[doc = concat!("Plan of `", $name, "`.")]
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $plan {
            /// Version of the plan, see [`PLAN_VERSION`].
            pub version: u32,
            $($(#[$doc])* pub $field: $type,)*
            /// The output file.
            pub output: PathBuf,
            /// Whether to replace an existing output.
            #[serde(default)]
            pub overwrite: bool,
            /// Whether to reproduce the bytes of the reference program even if it loses or misplaces data.
            #[serde(default)]
            pub compat: bool,
        }

        impl Plan for $plan {
            fn blank() -> Self {
                Self { version: PLAN_VERSION, $($field: $blank,)* output: PathBuf::new(), overwrite: false, compat: false }
            }
        }

        impl $plan {
            fn rewrite_plan(&self, what: Rewrite) -> RewritePlan {
                let existing = if self.overwrite { ExistingOutput::Replace } else { ExistingOutput::Refuse(ExitClass::Data) };
                RewritePlan { what, output: self.output.clone(), existing, compat: self.compat }
            }
        }

        #[doc = concat!("The `", $name, "` operation.")]
        pub struct $operation;

        impl Operation for $operation {
            type Plan = $plan;
            type Preview = RewritePreview;
            type Report = RewriteReport;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const ACTIVITY: &'static str = "writing";
            const PLAN_OF: &'static str = $what;
            const GROUPS: &'static [Group<Self::Plan>] = &[
                Group::new("", "settings", $options),
                Group::new("", "settings", &[
                    Spec::<$plan>::new("output", "FILE", "File to write", path!(output)).or_store().short('o').required(),
                    Spec::<$plan>::new("force-overwrite", "", "Replace a file that is there", switch!(overwrite))
                        .aliases(&["overwrite"])
                        .replaces(""),
                    Spec::<$plan>::new("compat", "", "", switch!(compat)).global(),
                ]),
            ];

            fn preview(plan: &Self::Plan, _: &TaskContext) -> Outcome<RewritePreview> {
                RewritePreview::of(&plan.rewrite_plan(plan.what()?))
            }

            fn run(plan: &Self::Plan, context: &TaskContext) -> Outcome<RewriteReport> {
                run_rewrite(&plan.rewrite_plan(plan.what()?), context)
            }
        }
    };
}

type Spec<P> = OptionSpec<P>;

/// Returns the accessors for a seed of any size.
macro_rules! seed {
    () => {
        Access::Text {
            get: |plan| Some(plan.seed.clone()).filter(|seed| seed != DEFAULT_SEED),
            set: |plan, seed| {
                plan.seed = seed.map_or_else(|| Ok(DEFAULT_SEED.to_owned()), |seed| digits(&seed))?;
                Ok(())
            },
        }
    };
}

rewrite!(
    PackedMergePlan, ModalitiesMerge, "modalities merge", "Merge packed files into one, in the given order", "merging packed files",
    {
        /// Packed files, or folders with packed files.
        sources: Vec<PathBuf> = Vec::new(),
    },
    MERGE
);

const MERGE: &[Spec<PackedMergePlan>] = &[Spec::<PackedMergePlan>::new(
    "source",
    "SOURCE",
    "Packed files, or folders with them at any depth",
    paths!(sources),
)
.or_store()
.positional()
.required()];

impl PackedMergePlan {
    fn what(&self) -> Outcome<Rewrite> {
        Ok(Rewrite::Merge(self.sources.clone()))
    }
}

rewrite!(
    DocumentShufflePlan, ModalitiesShuffle, "modalities shuffle",
    "Shuffle the documents of a packed file, or the lines of a .jsonl file", "shuffling documents",
    {
        /// A packed file, or text with one document per line.
        path: PathBuf = PathBuf::new(),
        /// Seed of any size, in decimal digits, for Python's random generator.
        seed: String = DEFAULT_SEED.to_owned(),
    },
    SHUFFLE
);

const SHUFFLE: &[Spec<DocumentShufflePlan>] = &[
    Spec::<DocumentShufflePlan>::new(
        "path",
        "PATH",
        "Packed file (.pbin), or text with one document per line",
        path!(path),
    )
    .or_store()
    .positional()
    .required(),
    Spec::<DocumentShufflePlan>::new("seed", "N", "Seed; Python's generator gives the order", seed!())
        .example("7")
        .default(DEFAULT_SEED),
];

impl DocumentShufflePlan {
    fn what(&self) -> Outcome<Rewrite> {
        refuse_mixture(std::slice::from_ref(&self.path), &self.output)?;
        let seed = Seed::parse(&self.seed);
        let seed =
            seed.ok_or_else(|| Failure::usage("shuffling", "expected a whole number").on(Subject::field("--seed")))?;
        Ok(match is_packed(&self.path) {
            true => Rewrite::ShufflePacked(self.path.clone(), seed),
            false => Rewrite::ShuffleLines(self.path.clone(), seed),
        })
    }
}

rewrite!(
    ChunkPlan, ModalitiesChunk, "modalities chunk", "Take one part of each file and shuffle all parts together",
    "taking a chunk of files",
    {
        /// Packed files, or text with one document per line.
        files: Vec<PathBuf> = Vec::new(),
        /// The chunk to write, counted from 0, and the number of chunks: `0/8`.
        part: String = String::new(),
        /// The seed for all chunks, of any size, in decimal digits, for numpy's random generator.
        seed: String = DEFAULT_SEED.to_owned(),
    },
    CHUNK
);

const CHUNK: &[Spec<ChunkPlan>] = &[
    Spec::<ChunkPlan>::new("file", "FILE", "Packed files (.pbin), or text with one document per line", paths!(files))
        .or_store()
        .positional()
        .required(),
    Spec::<ChunkPlan>::new(
        "part",
        "I/N",
        "Number of the chunk, from 0, and number of chunks",
        Access::Text {
            get: |plan| Some(plan.part.clone()).filter(|part| !part.is_empty()),
            set: |plan, part| {
                part.as_deref().map(part_of).transpose()?;
                plan.part = part.unwrap_or_default();
                Ok(())
            },
        },
    )
    .example("0/8")
    .required(),
    Spec::<ChunkPlan>::new("seed", "N", "One seed for all chunks; numpy's generator gives the order", seed!())
        .example("7")
        .default(DEFAULT_SEED),
];

impl ChunkPlan {
    fn what(&self) -> Outcome<Rewrite> {
        refuse_mixture(&self.files, &self.output)?;
        let (number, of) =
            part_of(&self.part).map_err(|why| Failure::usage("taking a chunk", why).on(Subject::field("--part")))?;
        let chunk = Chunk::new(number, of)?;
        let seed = chunk.seed(&self.seed);
        Ok(match self.files.iter().all(|path| is_packed(path)) {
            true => Rewrite::ChunkPacked(self.files.clone(), chunk, seed),
            false => Rewrite::ChunkLines(self.files.clone(), chunk, seed),
        })
    }
}

/// Parses the number of a chunk, counted from 0, and the number of chunks.
fn part_of(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((number, of)) if number < of => Ok((number, of)),
        Some(_) => Err("chunks are counted from 0, so the first number must be below the second".into()),
        None => Err("two numbers are needed".into()),
    }
}

rewrite!(
    DocumentFilterPlan, ModalitiesFilter, "modalities filter", "Keep only some documents of a packed file",
    "selecting documents",
    {
        /// A packed file.
        path: PathBuf = PathBuf::new(),
        /// Numbers of the documents to keep, counted from 0: `0-99,200,300-`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        documents: Option<String> = None,
        /// A file with such numbers, separated by commas or lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        documents_from: Option<String> = None,
        /// Minimum number of tokens of a document, including its end token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_tokens: Option<u64> = None,
        /// Maximum number of tokens of a document, including its end token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64> = None,
    },
    FILTER
);

const FILTER: &[Spec<DocumentFilterPlan>] = &[
    Spec::<DocumentFilterPlan>::new("path", "PATH", "Packed file (.pbin)", path!(path))
        .or_store()
        .positional()
        .required(),
    Spec::<DocumentFilterPlan>::new(
        "documents",
        "RANGES",
        "Numbers of documents to keep, from 0: 0-99,200,300-",
        text!(documents),
    )
    .unset("all")
    .conflicts(&["documents-from"]),
    Spec::<DocumentFilterPlan>::new(
        "documents-from",
        "FILE",
        "The same from a file, separated by commas or lines",
        optional_path!(documents_from),
    )
    .or_store()
    .unset("no file"),
    Spec::<DocumentFilterPlan>::new(
        "min-tokens",
        "N",
        "Keep documents of at least N tokens, end token included",
        number!(0..=u64::MAX, min_tokens),
    )
    .unset("of any length"),
    Spec::<DocumentFilterPlan>::new(
        "max-tokens",
        "N",
        "Keep documents of at most N tokens, end token included",
        number!(0..=u64::MAX, max_tokens),
    )
    .unset("of any length"),
];

impl DocumentFilterPlan {
    fn what(&self) -> Outcome<Rewrite> {
        let from_file = self.documents_from.as_deref().map(read_list).transpose()?;
        let documents = self.documents.clone().or(from_file).as_deref().map(ranges).transpose()?;
        let keep = KeepConditions { documents, least_tokens: self.min_tokens, most_tokens: self.max_tokens };
        if keep.is_everything() {
            return Err(Failure::usage("filtering", "no condition is given")
                .with_hint("--documents 0-99,200, --min-tokens N or --max-tokens N"));
        }
        Ok(Rewrite::Filter(self.path.clone(), keep))
    }
}

fn read_list(path: &str) -> Outcome<String> {
    let what = "reading the documents to keep";
    let bytes = read_whole(Path::new(path), MAX_LIST_BYTES)?;
    let bytes = bytes.ok_or_else(|| Failure::io(what, path, &std::io::ErrorKind::NotFound.into()))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(what, "it is not text in UTF-8").on(Subject::path(path)))
}

fn is_packed(path: &Path) -> bool {
    kind_of(path).map_or_else(|_| is_named_packed(path), |kind| kind == DatasetKind::Tokens(&PACKED_FILE))
}

/// Refuses a combination of packed files and text files, and an output with the suffix of the other kind.
fn refuse_mixture(files: &[PathBuf], output: &Path) -> Outcome<()> {
    let kind = files.first().is_some_and(|path| is_packed(path));
    let other = files.iter().map(PathBuf::as_path).find(|path| is_packed(path) != kind);
    let is_lines = output.as_os_str().as_encoded_bytes().ends_with(b".jsonl");
    let is_misnamed = if kind { is_lines } else { is_named_packed(output) };
    match other.or_else(|| is_misnamed.then_some(output)) {
        None => Ok(()),
        Some(path) => {
            Err(Failure::usage("reading the paths", "some of them are packed files (.pbin) and others are not")
                .on(Subject::path(path))
                .with_hint("give either packed files or text files"))
        }
    }
}

/// The files that a run would read and write.
#[derive(Clone, Debug, Serialize)]
pub struct RewritePreview {
    sources: Vec<PathBuf>,
    source_bytes: u64,
    output: String,
}

impl RewritePreview {
    /// Lists the files that a plan reads.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(plan: &RewritePlan) -> Outcome<Self> {
        let sources = match &plan.what {
            Rewrite::Merge(paths) => list(paths)?,
            Rewrite::ChunkPacked(paths, ..) | Rewrite::ChunkLines(paths, ..) => paths.clone(),
            Rewrite::ShufflePacked(path, _) | Rewrite::ShuffleLines(path, _) | Rewrite::Filter(path, _) => {
                vec![path.clone()]
            }
        };
        let mut source_bytes = 0;
        for path in &sources {
            source_bytes += files::metadata(path).map_err(|error| Failure::io("opening", path, &error))?.len();
        }
        Ok(Self { sources, source_bytes, output: plan.output.display().to_string() })
    }
}

impl Report for RewritePreview {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let (files, size) = (count(self.sources.len() as u64, "file"), bytes(self.source_bytes));
        let output = display_safe(&self.output);
        vec![format!("Would write {output} from {files} of {size}. Nothing was written.").into()]
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Report for RewriteReport {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let written = &self.written;
        let output = self.files.first().map(|file| display_safe(&file.name).into_owned()).unwrap_or_default();
        let (size, time) = (bytes(written.bytes), duration(self.findings.elapsed));
        let figures = match written.token_bytes {
            Some(token_bytes) => {
                let (documents, tokens) = (count(written.documents, "document"), count(written.tokens, "token"));
                format!(": {documents}, {tokens} of {}, {size} in {time}.", count(token_bytes.into(), "byte"))
            }
            None => format!(": {}, {size} in {time}.", count(written.documents, "line")),
        };
        let first = ReportLine::success(format!("Wrote {output}"), figures);
        std::iter::once(first).chain(problem_table(&self.findings.counts)).collect()
    }

    crate::run_report!(; findings);
}
