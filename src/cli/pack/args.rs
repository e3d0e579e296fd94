//! The flags of `pack`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// For which framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// .pbin: a file for each input file
    Modalities,
    /// A folder of .ds with .ds.index and .ds.metadata
    Nanosets,
    /// tokenized-samples/ and index/
    Forager,
}

/// Order of the documents of a token folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShuffleArg {
    /// As they come
    None,
    /// All documents of a task permuted
    Documents,
}

/// How shuffled token files are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamesArg {
    /// As datatrove 0.10 does
    Modern,
    /// As datatrove 0.4 does
    Classic,
}

/// Type of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DtypeArg {
    /// One byte, unsigned
    U8,
    /// Two bytes, unsigned
    U16,
    /// Four bytes, unsigned
    U32,
    /// Four bytes, signed
    I32,
    /// Eight bytes, signed
    I64,
    /// Eight bytes, unsigned
    U64,
}

/// Which formats get loss masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MasksArg {
    /// Each that is asked for and has them
    All,
    /// .ds.loss
    Nanosets,
    /// In the samples
    Forager,
}

/// Flags of `pack`, besides those that hold everywhere.
#[derive(Args, Clone, Debug, Default)]
pub struct PackArgs {
    /// JSONL files (plain, .gz, .zst, .bz2, .xz) and folders of them
    #[arg(value_name = "PATH")]
    pub inputs: Vec<PathBuf>,
    /// For which framework (repeat): one pass makes all of them
    #[arg(long, value_enum, value_name = "NAME")]
    pub format: Vec<FormatArg>,
    /// tokenizer.json, a folder with one, a SentencePiece .model, or a name in the local hub cache
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<String>,
    /// What metadata files say in place of --tokenizer
    #[arg(long, value_name = "TEXT")]
    pub tokenizer_name: Option<String>,
    /// Modalities: a file for one input, else a folder; Nanosets, Forager: a folder; several formats: a folder with one for each
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    pub force_overwrite: bool,

    /// Key of the text [default: text]
    #[arg(long, value_name = "KEY", help_heading = "Documents", conflicts_with = "jq", allow_hyphen_values = true)]
    pub text_key: Option<String>,
    /// jq program whose first output is the text
    #[arg(long, value_name = "EXPR", help_heading = "Documents", allow_hyphen_values = true)]
    pub jq: Option<String>,
    /// Only files of folders whose relative path fits
    #[arg(long, value_name = "GLOB", help_heading = "Documents", allow_hyphen_values = true)]
    pub glob: Option<String>,
    /// Token that ends each document
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Documents",
        conflicts_with = "eos_id",
        allow_hyphen_values = true
    )]
    pub eos_token: Option<String>,
    /// The same by its number
    #[arg(long, value_name = "N", help_heading = "Documents")]
    pub eos_id: Option<u32>,
    /// Entry of the vocabulary that is a special token, too: texts are cut at it (repeat)
    #[arg(long = "special-token", value_name = "TEXT", help_heading = "Documents", allow_hyphen_values = true)]
    pub special_tokens: Vec<String>,
    /// Seed of every shuffle [default: 42]
    #[arg(long, value_name = "N", help_heading = "Documents")]
    pub seed: Option<u64>,
    /// Write loss masks; of several formats for one only: --loss-masks=NAME. Forager reads them from lines of the form
    /// {"parts":[{"type":"prompt","text":"…"},{"type":"response","text":"…"}]}
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Documents", num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    pub loss_masks: Option<MasksArg>,

    #[command(flatten)]
    pub modalities: ModalitiesArgs,
    #[command(flatten)]
    pub nanosets: NanosetsArgs,
    #[command(flatten)]
    pub forager: ForagerArgs,
}

/// Flags of `--format modalities`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Modalities")]
pub struct ModalitiesArgs {
    /// Token that ends each document [default: that of --eos-token]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub eod_token: Option<String>,
    /// Raw index of the input [default: next to it, built when missing]
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Settings as `modalities data pack_encoded_data` reads them, the text among them; flags take precedence
    #[arg(long, value_name = "FILE.yaml")]
    pub config: Option<PathBuf>,
    /// Leave lines that are no JSON out of the index instead of refusing the file
    #[arg(long)]
    pub skip_bad_lines: bool,
    /// Cut documents to N tokens, before the end token
    #[arg(long, value_name = "N")]
    pub truncate_to: Option<u32>,
    /// Fill documents up to N tokens, before the end token
    #[arg(long, value_name = "N")]
    pub pad_to: Option<u32>,
    /// What they are filled with [default: the tokenizer's own]
    #[arg(long, value_name = "TEXT", requires = "pad_to", allow_hyphen_values = true)]
    pub pad_token: Option<String>,
    /// With --compat: lines that one bad document takes with it [default: 1000]
    #[arg(long, value_name = "N")]
    pub batch_lines: Option<u64>,
}

/// Flags of `--format nanosets`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Nanosets")]
pub struct NanosetsArgs {
    /// Tasks that the files are dealt to [default: one for each file, at most 64]
    #[arg(long, value_name = "N")]
    pub tasks: Option<u32>,
    /// Only this task, from 0
    #[arg(long, value_name = "R")]
    pub rank: Option<u32>,
    /// Order of the documents [default: none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub shuffle: Option<ShuffleArg>,
    /// Cut the tokens into chunks of C and shuffle those
    #[arg(long, value_name = "C")]
    pub chunk_size: Option<u64>,
    /// Close a shuffled file once it has more tokens than M
    #[arg(long, value_name = "M")]
    pub max_tokens_per_file: Option<u64>,
    /// Start of every file name
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub prefix: Option<String>,
    /// How shuffled files are named [default: modern]
    #[arg(long, value_enum, value_name = "HOW")]
    pub names: Option<NamesArg>,
    /// One relative path a line, in place of looking into the folder
    #[arg(long, value_name = "F")]
    pub paths_file: Option<PathBuf>,
    /// Leave out the first N usable documents of each task
    #[arg(long, value_name = "N")]
    pub skip: Option<u64>,
    /// Take at most N usable documents of each task
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Write executor.json, logs/, stats/ and completions/ here, and leave out tasks that are done there
    #[arg(long, value_name = "DIR")]
    pub logging_dir: Option<PathBuf>,
}

/// Flags of `--format forager`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Forager")]
pub struct ForagerArgs {
    /// Cut all documents, one after the other, into samples of N tokens
    #[arg(long, value_name = "N", conflicts_with = "variable")]
    pub sample_size: Option<u64>,
    /// One sample a document, without an end token
    #[arg(long)]
    pub variable: bool,
    /// Type of a token [default: u16, with loss masks u32]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub dtype: Option<DtypeArg>,
    /// With loss masks: types of parts that are not trained on [default: system,prompt]
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "loss_masks", allow_hyphen_values = true)]
    pub mask_parts: Option<Vec<String>>,
    /// With loss masks: do not train on end tokens
    #[arg(long, requires = "loss_masks")]
    pub mask_eos: bool,
    /// End of the name of each sample file [default: tokenized-samples]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub file_suffix: Option<String>,
    /// Name of the index folder [default: index]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub index_folder: Option<String>,
    /// Leave out the tokens of the tokenizer's template
    #[arg(long)]
    pub no_special_tokens: bool,
}
