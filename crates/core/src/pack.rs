//! The plan of `pack`: all answers that determine the bytes of the token files. Forms, prompts, flags and `plan.yaml` set its values.

mod forager;
mod mds;
mod megatron;
mod modalities;
mod nanosets;
mod olmo;

pub use forager::{ForagerTarget, MaskedParts, SampleSize};
pub use mds::MdsTarget;
pub use megatron::{EmptyTexts, MegatronTarget};
pub(crate) use modalities::RAW_INDEX_TITLE;
pub use modalities::{ModalitiesTarget, DEFAULT_BATCH_LINES};
pub use nanosets::{NameProfile, NanosetsTarget, TaskShare};
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
