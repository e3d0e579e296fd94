//! The plan of `pack`: every answer that decides the bytes of the token files. Screens, prompts, flags and `plan.yaml` fill this value.

use super::plan::PLAN_VERSION;
use serde::{Deserialize, Serialize};

/// Seed where something is shuffled and nobody gave one.
pub const DEFAULT_SEED: u64 = 42;

/// Where the text of a document stands in its line.
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

/// The token that ends a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndToken {
    /// Its spelling, looked up in the vocabulary (`--eos-token`).
    Text(String),
    /// Its number (`--eos-id`).
    Id(u32),
}

/// Which lines of which files are read, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PackPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// Files and folders, as given by the person.
    pub inputs: Vec<String>,
    /// Only files of folders whose relative path fits (`--glob`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// A file with one relative path a line, in place of looking into the folder (`--paths-file`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths_file: Option<String>,
    /// Where the text of a document stands.
    #[serde(default)]
    pub text: TextField,
    /// A `tokenizer.json`, a folder with one, a SentencePiece `.model`, or a name in the local hub cache.
    pub tokenizer: String,
    /// What metadata files say in place of `tokenizer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_name: Option<String>,
    /// Entries of the vocabulary that are special tokens besides those of the tokenizer file: texts are cut at them (`--special-token`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub special_tokens: Vec<String>,
    /// The token that ends a document; `None` leaves it to the tokenizer's own template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<EndToken>,
    /// A file or a folder, as the formats ask; with several formats a folder with one folder for each.
    pub output: String,
    /// Seed of every shuffle.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Make packed files for Modalities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modalities: Option<ModalitiesTarget>,
    /// Make a token folder for Nanosets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanosets: Option<NanosetsTarget>,
    /// Make tokenized samples for Forager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forager: Option<ForagerTarget>,
    /// Replace what is there (the default refuses it; the same plan goes on or does nothing).
    #[serde(default)]
    pub overwrite: bool,
    /// Reproduce the reference programs' bytes even where they lose data.
    #[serde(default)]
    pub compat: bool,
}

fn default_seed() -> u64 {
    DEFAULT_SEED
}

impl PackPlan {
    /// A plan in which only the inputs, the tokenizer and the output are answered; no format is chosen.
    pub fn new(inputs: Vec<String>, tokenizer: impl Into<String>, output: impl Into<String>) -> Self {
        Self {
            version: PLAN_VERSION,
            inputs,
            glob: None,
            paths_file: None,
            text: TextField::default(),
            tokenizer: tokenizer.into(),
            tokenizer_name: None,
            special_tokens: Vec::new(),
            end: None,
            output: output.into(),
            seed: DEFAULT_SEED,
            modalities: None,
            nanosets: None,
            forager: None,
            overwrite: false,
            compat: false,
        }
    }

    /// Whether files are chosen and bad ones passed over as the reference program does it: with `--compat`, and as nanotron's own tool does.
    pub fn follows_reference(&self) -> bool {
        self.compat || self.nanosets.as_ref().is_some_and(|target| target.names == NameProfile::Classic)
    }

    /// The formats that are asked for, in the order in which they are made and named.
    pub fn formats(&self) -> Vec<PackFormat> {
        [
            self.modalities.is_some().then_some(PackFormat::Modalities),
            self.nanosets.is_some().then_some(PackFormat::Nanosets),
            self.forager.is_some().then_some(PackFormat::Forager),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A framework whose files `pack` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackFormat {
    /// `.pbin`.
    Modalities,
    /// `.ds` with `.ds.index` and `.ds.metadata`.
    Nanosets,
    /// `tokenized-samples/` and `index/`.
    Forager,
}

impl PackFormat {
    /// All of them, in the order of a plan.
    pub const ALL: [Self; 3] = [Self::Modalities, Self::Nanosets, Self::Forager];

    /// The word of `--format`, also the folder's name when there are several.
    pub fn word(self) -> &'static str {
        match self {
            Self::Modalities => "modalities",
            Self::Nanosets => "nanosets",
            Self::Forager => "forager",
        }
    }

    /// What its files hold one after another, in the singular.
    pub fn item(self) -> &'static str {
        match self {
            Self::Modalities | Self::Nanosets => "document",
            Self::Forager => "sample",
        }
    }
}

/// What Modalities gets: one `.pbin` a file (docs/formats/modalities.md §3 and §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModalitiesTarget {
    /// The token that ends every document; `None` takes the plan's end token, which then has to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod_token: Option<String>,
    /// The raw index; `None` means beside the input, built when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Cut documents to this many tokens, template included, end token not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_to: Option<u32>,
    /// Fill documents up to this many tokens, before the end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_to: Option<u32>,
    /// The spelling of the padding token, where it is not the tokenizer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_token: Option<String>,
    /// Leave lines that are no JSON out of the raw index instead of refusing the file.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Lines of one work item; counts only with `compat`, where a bad document takes the rest with it.
    #[serde(default = "default_batch")]
    pub batch_lines: u64,
}

/// Lines of one work item unless something else is said.
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

/// How documents of a token folder are shuffled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentShuffle {
    /// They keep their order.
    #[default]
    None,
    /// All documents of a task are permuted.
    Documents,
}

/// How shuffled token files are named (docs/formats/nanosets.md §1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameProfile {
    /// As datatrove 0.10.1 does.
    #[default]
    Modern,
    /// As datatrove 0.4.0 does.
    Classic,
}

/// What Nanosets gets: a folder of `.ds` files (docs/formats/nanosets.md §1 to §4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NanosetsTarget {
    /// Tasks that the files are dealt to; `None` means one a file, at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// Only this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Order of the documents.
    #[serde(default)]
    pub shuffle: DocumentShuffle,
    /// Cut the tokens into chunks of this many and shuffle those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<u64>,
    /// A shuffled file is closed once it has more tokens than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
    /// Write `.ds.loss`.
    #[serde(default)]
    pub loss_masks: bool,
    /// Start of every file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How shuffled files are named.
    #[serde(default)]
    pub names: NameProfile,
    /// Usable documents of each task that are left out at its start.
    #[serde(default)]
    pub skip: u64,
    /// Usable documents of each task at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where `executor.json`, `logs/`, `stats/` and `completions/` go; `None` writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging_dir: Option<String>,
}

impl NanosetsTarget {
    /// Whether documents or chunks are put into another order.
    pub fn is_shuffled(&self) -> bool {
        self.shuffle == DocumentShuffle::Documents || self.chunk_size.is_some()
    }
}

/// Type of a Forager token.
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
    /// Bytes of one token.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// The greatest id that fits.
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

    /// The name that numpy gives it, as the sample schema says it.
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

/// How documents become Forager samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSize {
    /// All documents one after the other, each with its end token, cut into samples of this many tokens.
    Fixed(u64),
    /// One sample a document, without an end token.
    Variable,
}

/// Loss masks of Forager samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskedParts {
    /// Types of parts that are not trained on.
    pub parts: Vec<String>,
    /// The end token is not trained on either.
    #[serde(default)]
    pub mask_end: bool,
}

/// What Forager gets: samples and their index (docs/formats/forager.md §3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ForagerTarget {
    /// Size of a sample.
    pub sample_size: SampleSize,
    /// Type of a token; `None` means the reference's default: two bytes, with loss masks four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Lines hold `parts`; a mask goes with the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<MaskedParts>,
    /// End of the name of each sample file.
    #[serde(default = "default_suffix")]
    pub file_suffix: String,
    /// Name of the index folder.
    #[serde(default = "default_index_folder")]
    pub index_folder: String,
    /// Let the tokenizer's template add its tokens.
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
    /// With every other answer as the reference has it.
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

    /// The type of a token.
    pub fn token_type(&self) -> TokenType {
        let usual = if self.masks.is_some() { TokenType::U32 } else { TokenType::U16 };
        self.token_type.unwrap_or(usual)
    }
}
