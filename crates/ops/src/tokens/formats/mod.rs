//! The formats of token files. Each format is a folder with a row in the table below.

/// Defines the methods of [`TokenFormat`] that are the same for all formats, from the field of the plan with the format's answers and the
/// answers of a newly chosen format.
macro_rules! common_methods {
    ($field:ident, $usual:expr) => {
        fn name(&self) -> &'static str {
            CHOICE.name
        }

        fn is_chosen(&self, plan: &PackPlan) -> bool {
            plan.$field.is_some()
        }

        fn choose(&self, plan: &mut PackPlan, is_chosen: bool) {
            plan.$field = is_chosen.then(|| plan.$field.take().unwrap_or_else($usual));
        }

        fn assign_files(&self, request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
            output::assign_files(request)
        }
    };
}

pub(crate) mod forager;
mod mds;
mod megatron;
pub mod modalities;
pub mod nanosets;
mod olmo;

pub use megatron::{MegatronMerge, PairMergePlan};
pub use modalities::engine::config::configured_threads;
pub(crate) use modalities::raw_index;
pub use nanosets::mixture;

use super::format::{folder_name, EndTokenNeed, FormatInfo, OutputTarget, TokenFormat};
use super::reader::TokenReader;
use crate::tokens::encode::EncodingSpec;
use crate::tokens::index::IndexFormatInfo;
use crate::tokens::options::SharedAnswer;
use gristmill_core::options::{Choice, Group};
use gristmill_core::{Failure, Outcome, PackPlan, TokenKind};
use gristmill_data::source::documents::DocumentRules;
use gristmill_storage::files;
use gristmill_tokenizer::Tokenizer;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

macro_rules! token_formats {
    ($($module:ident::$format:ident),*) => {
        /// All formats, in the order in which a plan lists them.
        pub(crate) static TOKEN_FORMATS: &[&dyn TokenFormat] = &[$(&$module::$format),*];
        /// The values of `--format`.
        pub(crate) const CHOICES: &[Choice] = &[$($module::CHOICE),*];
        /// The options of each format.
        pub(crate) const GROUPS: &[Group<PackPlan>] = &[$($module::GROUP),*];
    };
}

token_formats!(modalities::Modalities, nanosets::Nanosets, forager::Forager, mds::Mds, megatron::Megatron, olmo::Olmo);

/// The values of `--loss-masks`: the formats that have masks, and `all`.
pub(crate) const LOSS_MASKS: &[Choice] = &[
    Choice { name: "none", help: "No loss masks" },
    Choice { name: "all", help: "Each chosen format that has them" },
    nanosets::LOSS_MASKS,
    forager::LOSS_MASKS,
];

/// The program that reads an index of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexFormat {
    /// A raw index next to each file.
    Modalities,
    /// One index for a folder.
    Forager,
}

/// The index next to a file.
pub(crate) const FILE_INDEX: IndexFormatInfo = modalities::INDEX;
/// The index of a folder.
pub(crate) const FOLDER_INDEX: IndexFormatInfo = forager::INDEX;
/// Description of `index` in one line.
pub(crate) const INDEX_ABOUT: &str = "Write an index next to text: where each line begins, for Modalities or Forager";
/// Help of the paths of `index`.
pub(crate) const INDEX_PATHS: &str =
    "Modalities: .jsonl files, or folders of them; Forager: the folder that contains the files";

impl IndexFormat {
    /// Returns the format with this value of `--format`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Modalities, Self::Forager].into_iter().find(|format| format.info().choice.name == name)
    }

    /// Returns its properties.
    pub(crate) fn info(self) -> &'static IndexFormatInfo {
        match self {
            Self::Modalities => &FILE_INDEX,
            Self::Forager => &FOLDER_INDEX,
        }
    }
}

/// Returns the formats that a plan chooses, in the order in which they are written and listed.
pub(crate) fn chosen(plan: &PackPlan) -> Vec<&'static dyn TokenFormat> {
    TOKEN_FORMATS.iter().copied().filter(|format| format.is_chosen(plan)).collect()
}

/// Returns the format of a plan; `None` unless the plan has exactly one.
pub(crate) fn only_format(plan: &PackPlan) -> Option<&'static dyn TokenFormat> {
    match chosen(plan).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

pub(crate) fn named(name: &str) -> Option<&'static dyn TokenFormat> {
    TOKEN_FORMATS.iter().copied().find(|format| format.name() == name)
}

/// Returns the reader of a layout of token files.
pub fn reader(kind: &TokenKind) -> Option<&'static dyn TokenReader> {
    TOKEN_FORMATS.iter().flat_map(|format| format.info().readers).copied().find(|reader| reader.kind() == kind)
}

/// Returns the names of the formats that a plan chooses.
pub fn names(plan: &PackPlan) -> Vec<&'static str> {
    chosen(plan).into_iter().map(TokenFormat::name).collect()
}

/// Returns the proposed output name for an input of this name. The name has no suffix if the output is one file.
pub(crate) fn output_name(plan: &PackPlan, stem: &str, is_one_file: bool) -> String {
    match only_format(plan) {
        Some(format) => format.output_name(stem, is_one_file),
        None => folder_name(stem),
    }
}

/// Returns the paths of a plan's output that readers open. If a plan has several formats, each has its own folder in the output.
pub fn opened(plan: &PackPlan) -> Vec<PathBuf> {
    let output = files::without_slash(Path::new(&plan.output));
    let formats = chosen(plan);
    let is_alone = formats.len() == 1;
    let path = |format: &&dyn TokenFormat| if is_alone { output.clone() } else { output.join(format.name()) };
    formats
        .iter()
        .map(|format| format.opened(plan, OutputTarget { path: path(format), is_only_target: is_alone }))
        .collect()
}

/// Returns the noun, in the singular, for an item of a format's files.
pub fn item(name: &str) -> &'static str {
    named(name).map_or("document", TokenFormat::item)
}

/// Whether a plan has one format, and training reads each of its files on its own.
pub fn has_single_files(plan: &PackPlan) -> bool {
    only_format(plan).is_some_and(|format| format.info().has_single_files)
}

/// Whether a folder has files of the format of a plan and no others.
pub fn has_only_files_of(plan: &PackPlan, folder: &Path) -> bool {
    let readers = only_format(plan).map_or(&[][..], |format| format.info().readers);
    readers.iter().map(|reader| reader.kind()).any(|kind| !kind.is_file && (kind.detect)(folder))
}

/// Returns the framework whose training windows `--sequence-length` counts.
pub(crate) fn framework_with_windows() -> &'static str {
    let mut readers = TOKEN_FORMATS.iter().flat_map(|format| format.info().readers);
    readers.find(|reader| reader.has_windows()).map_or("", |reader| reader.kind().title)
}

/// Returns the document rules of the first format of a plan; if no format is chosen, those of the most permissive format.
pub fn document_rules(plan: &PackPlan) -> DocumentRules {
    chosen(plan).first().map_or(DocumentRules::ORJSON, |format| format.document_rules())
}

/// Whether a format of a plan supports a begin token.
pub(crate) fn takes_begin_token(plan: &PackPlan) -> bool {
    chosen(plan).into_iter().any(|format| format.info().takes_begin_token)
}

/// Describes the formats that have a fixed sample size, for messages.
pub(crate) const WITH_SAMPLE_SIZE: &str = "the formats forager, without --variable, and mds";

/// Returns the number of tokens per sample, 0 if the plan does not give it; `None` if no format of the plan has a fixed sample size.
pub(crate) fn sample_size(plan: &PackPlan) -> Option<u64> {
    chosen(plan).into_iter().find_map(|format| format.sample_size(plan))
}

/// Whether the names of output files of a plan contain the names of its inputs.
pub(crate) fn names_inputs(plan: &PackPlan) -> bool {
    chosen(plan).into_iter().any(|format| format.info().names_inputs)
}

/// Selects the answer of a format to a shared option.
type AnswerOf<T> = fn(FormatInfo) -> Option<SharedAnswer<T>>;

/// Returns the answers of a plan's formats to an option that they share.
pub(crate) fn shared_answers<T>(plan: &PackPlan, of: AnswerOf<T>) -> impl Iterator<Item = SharedAnswer<T>> {
    chosen(plan).into_iter().map(|format| format.info()).filter_map(of)
}

/// Whether a format of a plan supports a shared option.
pub(crate) fn takes<T>(plan: &PackPlan, of: AnswerOf<T>) -> bool {
    shared_answers(plan, of).next().is_some()
}

/// Returns the answer of a plan to a shared option, from the first format that has one.
pub(crate) fn shared_answer<T>(plan: &PackPlan, of: AnswerOf<T>) -> Option<T> {
    shared_answers(plan, of).find_map(|answer| (answer.get)(plan))
}

/// Sets the answer to a shared option for all formats of a plan that support it.
pub(crate) fn set_shared_answer<T: Clone>(plan: &mut PackPlan, of: AnswerOf<T>, value: Option<T>) {
    for answer in shared_answers(plan, of).collect::<Vec<_>>() {
        (answer.set)(plan, value.clone());
    }
}

/// Returns whether the formats of a plan need an end token.
pub(crate) fn end_token(plan: &PackPlan) -> EndTokenNeed {
    chosen(plan).into_iter().map(|format| format.end_token(plan)).max().unwrap_or(EndTokenNeed::Unused)
}

/// Returns the encodings of a plan, in the order of its formats.
///
/// # Errors
/// An end token is missing from the plan or from the vocabulary, or does not fit into the token type; or no format is chosen.
pub(crate) fn encodings(plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<Vec<EncodingSpec>> {
    let specs: Vec<EncodingSpec> =
        chosen(plan).into_iter().map(|format| format.encoding(plan, tokenizer)).collect::<Outcome<_>>()?;
    if specs.is_empty() {
        return Err(Failure::usage("packing", "no format is chosen").with_hint(format!("--format {}", listed())));
    }
    Ok(specs)
}

/// Returns the names of all formats as an enumeration for a sentence.
pub(crate) fn listed() -> String {
    let names: Vec<&str> = TOKEN_FORMATS.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
