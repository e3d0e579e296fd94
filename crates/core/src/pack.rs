//! The plan of `pack`: all answers that determine the bytes of the token files. Forms, prompts, flags and `plan.yaml` set its values.

mod mds;
mod megatron;
mod olmo;

pub use mds::MdsTarget;
pub use megatron::{EmptyTexts, MegatronTarget};
pub use olmo::{DocumentId, OlmoTarget, DEFAULT_OLMO_FILE_TOKENS};

use super::plan::PLAN_VERSION;
use serde::{Deserialize, Serialize};

/// Default seed of shuffles.
pub const DEFAULT_SEED: u64 = 42;

/// Location of a document's text in its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextField {
    /// The value of this top-level key (`--text-key`).
    Key(String),
    /// The first output of this jq program (`--jq`).
    Jq(String),
}

impl Default for TextField {
    fn default() -> Self {
        Self::Key("text".into())
    }
}

/// A token of the vocabulary that is added before or after documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpecialToken {
    /// The spelling of the token in the vocabulary.
    Text(String),
    /// The id of the token.
    Id(u32),
}

/// The inputs, options and output of packing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PackPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// Files and folders, as given by the user.
    pub inputs: Vec<String>,
    /// Names of the inputs in output files that list their sources, in the same order (`--input-name`). Empty means the inputs as given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_names: Vec<String>,
    /// Restricts the files of folders to those whose relative path matches (`--glob`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// A file with one relative path per line, which replaces listing the folder (`--paths-file`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths_file: Option<String>,
    /// The splits to read, or parts of them, such as `train[:10%]+test` (`--split`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The subset of a hub data set, as named in its dataset card (`--subset`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<String>,
    /// Location of a document's text.
    #[serde(default)]
    pub text: TextField,
    /// Whether to remove white space at both ends of each text (`--strip`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strip: bool,
    /// A `tokenizer.json`, a folder with one, a SentencePiece `.model`, or a name in the local hub cache.
    pub tokenizer: String,
    /// The name of the tokenizer in metadata files; `None` means `tokenizer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_name: Option<String>,
    /// Vocabulary entries that become special tokens, in addition to those of the tokenizer file: texts are split at them
    /// (`--special-token`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub special_tokens: Vec<String>,
    /// The token that starts a document, for formats with begin tokens (`--bos-token`, `--bos-id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<SpecialToken>,
    /// The token that ends a document; `None` means the template of the tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SpecialToken>,
    /// Ends each format after the document with which it has at least this many tokens (`--limit-tokens`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// A file or a folder, depending on the format. With several formats, a folder with a subfolder for each.
    pub output: String,
    /// Seed of all shuffles.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Options for packed files of Modalities, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modalities: Option<ModalitiesTarget>,
    /// Options for a token folder of Nanosets, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanosets: Option<NanosetsTarget>,
    /// Options for tokenized samples of Forager, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forager: Option<ForagerTarget>,
    /// Options for MDS shards, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mds: Option<MdsTarget>,
    /// Options for pairs of Megatron, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megatron: Option<MegatronTarget>,
    /// Options for files of OLMo, if chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub olmo: Option<OlmoTarget>,
    /// Whether to replace an existing output. Otherwise it is refused, unless the same plan wrote it: such a run resumes or does nothing.
    #[serde(default)]
    pub overwrite: bool,
    /// Whether to reproduce the bytes of the reference programs even if they lose data.
    #[serde(default)]
    pub compat: bool,
}

fn default_seed() -> u64 {
    DEFAULT_SEED
}

impl PackPlan {
    /// Creates a plan with only the inputs, the tokenizer and the output set; no format is chosen.
    pub fn new(inputs: Vec<String>, tokenizer: impl Into<String>, output: impl Into<String>) -> Self {
        let (tokenizer, output) = (tokenizer.into(), output.into());
        Self { version: PLAN_VERSION, inputs, tokenizer, output, seed: DEFAULT_SEED, ..Self::default() }
    }

    /// Whether files are selected and invalid lines skipped as in the reference programs: with `--compat`, or like nanotron's own tool.
    pub fn follows_reference(&self) -> bool {
        self.compat || self.nanosets.as_ref().is_some_and(|target| target.names == NameProfile::Classic)
    }
}

/// Options of the Modalities output: one `.pbin` file per input file (docs/formats/modalities.md §3 and §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModalitiesTarget {
    /// The token that ends every document; `None` means the plan's end token, which is then required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod_token: Option<String>,
    /// The raw index; `None` means the one next to the input, which is built if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Truncates documents to this number of tokens, including those of the template, excluding the end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_to: Option<u32>,
    /// Pads documents to this number of tokens, excluding the end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_to: Option<u32>,
    /// The spelling of the padding token; `None` means that of the tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_token: Option<String>,
    /// Whether to omit invalid JSON lines from the raw index instead of refusing the file.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Number of lines per batch. Used only with `compat`, where a bad document loses its batch and all later ones.
    #[serde(default = "default_batch")]
    pub batch_lines: u64,
}

/// Default number of lines per batch.
pub const DEFAULT_BATCH_LINES: u64 = 1_000;

fn default_batch() -> u64 {
    DEFAULT_BATCH_LINES
}

impl Default for ModalitiesTarget {
    fn default() -> Self {
        Self {
            eod_token: None,
            index: None,
            truncate_to: None,
            pad_to: None,
            pad_token: None,
            skip_bad_lines: false,
            batch_lines: DEFAULT_BATCH_LINES,
        }
    }
}

/// How documents are shuffled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentShuffle {
    /// Documents keep their order.
    #[default]
    None,
    /// All documents of a task are permuted.
    Documents,
}

impl DocumentShuffle {
    /// Whether documents keep their order, which is the default.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How input is distributed among tasks (docs/formats/huggingface.md §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskShare {
    /// File I belongs to task I modulo the number of tasks.
    #[default]
    Files,
    /// Row I belongs to task I modulo the number of tasks.
    Rows,
    /// Each task has a contiguous block of rows, all of equal size.
    Blocks,
}

impl TaskShare {
    /// Whether files are distributed, which is the default.
    pub fn is_files(&self) -> bool {
        *self == Self::Files
    }
}

/// How shuffled token files are named (docs/formats/nanosets.md §1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameProfile {
    /// Names of datatrove 0.10.1.
    #[default]
    Modern,
    /// Names of datatrove 0.4.0.
    Classic,
}

/// Options of the Nanosets output: a folder of `.ds` files (docs/formats/nanosets.md §1 to §4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NanosetsTarget {
    /// Number of tasks among which the input is distributed; `None` means one per file, at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// The only task to run, counted from 0; `None` means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How input is distributed among tasks.
    #[serde(default, skip_serializing_if = "TaskShare::is_files")]
    pub deal: TaskShare,
    /// Whether documents are shuffled.
    #[serde(default)]
    pub shuffle: DocumentShuffle,
    /// Divides the tokens into chunks of this many tokens and shuffles the chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u64>,
    /// Closes a shuffled file once it has more tokens than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
    /// Whether to write `.ds.loss` files.
    #[serde(default)]
    pub loss_masks: bool,
    /// Prefix of every file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How shuffled files are named.
    #[serde(default)]
    pub names: NameProfile,
    /// Number of usable documents to skip at the start of each task.
    #[serde(default)]
    pub skip: u64,
    /// Maximum number of usable documents per task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Folder for `executor.json`, `logs/`, `stats/` and `completions/`; `None` means that none of them is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging_dir: Option<String>,
}

impl NanosetsTarget {
    /// Whether documents or chunks are shuffled.
    pub fn is_shuffled(&self) -> bool {
        self.shuffle == DocumentShuffle::Documents || self.chunk_size.is_some()
    }
}

/// The integer type of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenType {
    /// One byte, unsigned.
    U8,
    /// Two bytes, unsigned.
    #[default]
    U16,
    /// Four bytes, unsigned.
    U32,
    /// Four bytes, signed.
    I32,
    /// Eight bytes, signed.
    I64,
    /// Eight bytes, unsigned.
    U64,
}

impl TokenType {
    /// Returns the size of one token in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// Returns the greatest id that fits.
    pub fn greatest(self) -> u64 {
        match self {
            Self::U8 => u64::from(u8::MAX),
            Self::U16 => u64::from(u16::MAX),
            Self::U32 => u64::from(u32::MAX),
            Self::I32 => i32::MAX as u64,
            Self::I64 => i64::MAX as u64,
            Self::U64 => u64::MAX,
        }
    }

    /// Returns numpy's name of the type, which the sample schema uses.
    pub fn numpy_name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
        }
    }
}

/// How documents are divided into Forager samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSize {
    /// Concatenates all documents, each with its end token, and divides them into samples of this many tokens.
    Fixed(u64),
    /// One sample per document, without an end token.
    Variable,
}

/// Loss masks of Forager samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskedParts {
    /// Types of parts that are excluded from the loss.
    pub parts: Vec<String>,
    /// Whether the end token is excluded from the loss too.
    #[serde(default)]
    pub mask_end: bool,
}

/// Options of the Forager output: samples and their index (docs/formats/forager.md §3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ForagerTarget {
    /// Size of a sample.
    pub sample_size: SampleSize,
    /// The integer type of a token; `None` means the default of the reference program: two bytes, or four with loss masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Loss masks: lines contain `parts`, and masks are written with the tokens. `None` means no masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<MaskedParts>,
    /// Suffix of the name of each sample file.
    #[serde(default = "default_suffix")]
    pub file_suffix: String,
    /// Name of the index folder.
    #[serde(default = "default_index_folder")]
    pub index_folder: String,
    /// Whether the template of the tokenizer is added.
    #[serde(default = "yes")]
    pub special_tokens: bool,
}

fn default_suffix() -> String {
    "tokenized-samples".into()
}

fn default_index_folder() -> String {
    "index".into()
}

fn yes() -> bool {
    true
}

impl ForagerTarget {
    /// Creates a target with the defaults of the reference program for all other answers.
    pub fn new(sample_size: SampleSize) -> Self {
        Self {
            sample_size,
            token_type: None,
            masks: None,
            file_suffix: default_suffix(),
            index_folder: default_index_folder(),
            special_tokens: true,
        }
    }

    /// Returns the integer type of a token, or its default.
    pub fn token_type(&self) -> TokenType {
        let usual = if self.masks.is_some() { TokenType::U32 } else { TokenType::U16 };
        self.token_type.unwrap_or(usual)
    }
}
