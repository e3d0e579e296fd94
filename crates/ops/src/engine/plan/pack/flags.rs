//! The flags of `pack` that problems and hints name, each once.

/// `--format NAME`.
pub const FORMAT: &str = "--format";
/// `--tokenizer FILE`.
pub const TOKENIZER: &str = "--tokenizer";
/// `--output PATH`.
pub const OUTPUT: &str = "--output";
/// `--text-key KEY`.
pub const TEXT_KEY: &str = "--text-key";
/// `--jq EXPR`.
pub const JQ: &str = "--jq";
/// `--glob GLOB`.
pub const GLOB: &str = "--glob";
/// `--eos-token TEXT`.
pub const EOS_TOKEN: &str = "--eos-token";
/// `--eos-id N`.
pub const EOS_ID: &str = "--eos-id";
/// `--limit-tokens N`.
pub const LIMIT_TOKENS: &str = "--limit-tokens";
/// `--force-overwrite`.
pub const FORCE_OVERWRITE: &str = "--force-overwrite";

/// `--index FILE`, of Modalities.
pub const INDEX: &str = "--index";
/// `--skip-bad-lines`, of Modalities.
pub const SKIP_BAD_LINES: &str = "--skip-bad-lines";
/// `--truncate-to N`, of Modalities.
pub const TRUNCATE_TO: &str = "--truncate-to";
/// `--pad-to N`, of Modalities.
pub const PAD_TO: &str = "--pad-to";
/// `--pad-token TEXT`, of Modalities.
pub const PAD_TOKEN: &str = "--pad-token";
/// `--batch-lines N`, of Modalities with `--compat`.
pub const BATCH_LINES: &str = "--batch-lines";

/// `--tasks N`, of Nanosets.
pub const TASKS: &str = "--tasks";
/// `--rank R`, of Nanosets.
pub const RANK: &str = "--rank";
/// `--shuffle none|documents`, of Nanosets.
pub const SHUFFLE: &str = "--shuffle";
/// `--chunk-size C`, of Nanosets.
pub const CHUNK_SIZE: &str = "--chunk-size";
/// `--max-tokens-per-file M`, of Nanosets.
pub const MAX_TOKENS_PER_FILE: &str = "--max-tokens-per-file";
/// `--prefix P`, of Nanosets.
pub const PREFIX: &str = "--prefix";
/// `--skip N`, of Nanosets.
pub const SKIP: &str = "--skip";
/// `--limit N`, of Nanosets.
pub const LIMIT: &str = "--limit";

/// `--sample-size N`, of Forager.
pub const SAMPLE_SIZE: &str = "--sample-size";
/// `--variable`, of Forager.
pub const VARIABLE: &str = "--variable";
/// `--file-suffix TEXT`, of Forager.
pub const FILE_SUFFIX: &str = "--file-suffix";
/// `--index-folder NAME`, of Forager.
pub const INDEX_FOLDER: &str = "--index-folder";
/// `--no-special-tokens`, of Forager.
pub const NO_SPECIAL_TOKENS: &str = "--no-special-tokens";
