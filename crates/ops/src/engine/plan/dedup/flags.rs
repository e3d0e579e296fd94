//! The flags of `dedup` that problems and hints name, each once.

/// `--output DIR`.
pub const OUTPUT: &str = "--output";
/// `--minlen N`.
pub const MINLEN: &str = "--minlen";
/// `--mode remove|annotate`.
pub const MODE: &str = "--mode";
/// `--variant a|b`.
pub const VARIANT: &str = "--variant";
/// `--annotate-key a.b`.
pub const ANNOTATE_KEY: &str = "--annotate-key";
/// `--text-key KEY`.
pub const TEXT_KEY: &str = "--text-key";
/// `--min-count N`.
pub const MIN_COUNT: &str = "--min-count";
/// `--against DIR`.
pub const AGAINST: &str = "--against";
/// `--export-index DIR`.
pub const EXPORT_INDEX: &str = "--export-index";
/// `--export-ranges DIR`.
pub const EXPORT_RANGES: &str = "--export-ranges";
/// `--shards S`.
pub const SHARDS: &str = "--shards";
/// `--table`.
pub const TABLE: &str = "--table";
/// `--from-index DIR`.
pub const FROM_INDEX: &str = "--from-index";
/// `--force-overwrite`.
pub const FORCE_OVERWRITE: &str = "--force-overwrite";
