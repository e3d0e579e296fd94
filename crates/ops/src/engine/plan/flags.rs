//! Flags that hints and refusals name.

/// `--split-ratio A,B,C`.
pub const SPLIT_RATIO: &str = "--split-ratio";
/// `--split-parts NAME:REGEX`.
pub const SPLIT_PARTS: &str = "--split-parts";
/// `--splits-from FILE`.
pub const SPLITS_FROM: &str = "--splits-from";
/// `--exclude REGEX`.
pub const EXCLUDE: &str = "--exclude";
/// `--exclude-sample SHARD/KEY`.
pub const EXCLUDE_SAMPLE: &str = "--exclude-sample";
/// `--exclude-from FILE`.
pub const EXCLUDE_FROM: &str = "--exclude-from";
/// `--allow-empty-splits`.
pub const ALLOW_EMPTY_SPLITS: &str = "--allow-empty-splits";
/// `--sample-type NAME`.
pub const SAMPLE_TYPE: &str = "--sample-type";
/// `--field-map FIELD=EXPR`.
pub const FIELD_MAP: &str = "--field-map";
/// `--sample-loader`.
pub const SAMPLE_LOADER: &str = "--sample-loader";
/// `--skip-dataset-yaml`.
pub const SKIP_DATASET_YAML: &str = "--skip-dataset-yaml";
/// `--dataset-yaml-name NAME`.
pub const DATASET_YAML_NAME: &str = "--dataset-yaml-name";
/// `--tar-index-only`.
pub const TAR_INDEX_ONLY: &str = "--tar-index-only";
/// `--skip-sample-tables`.
pub const SKIP_SAMPLE_TABLES: &str = "--skip-sample-tables";
/// `--duplicates keep-first`.
pub const DUPLICATES: &str = "--duplicates";
/// `--tgz rewrite`.
pub const TGZ: &str = "--tgz";
/// `--update`.
pub const UPDATE: &str = "--update";
/// `--new-to SPLIT`.
pub const NEW_TO: &str = "--new-to";
/// `--force-overwrite`.
pub const FORCE_OVERWRITE: &str = "--force-overwrite";
/// `--reset-excludes`.
pub const RESET_EXCLUDES: &str = "--reset-excludes";
/// `--skip-bad-lines`.
pub const SKIP_BAD_LINES: &str = "--skip-bad-lines";
/// `--compat`.
pub const COMPAT: &str = "--compat";
/// `--media-metadata-by-glob PATTERNS`.
pub const MEDIA_BY_GLOB: &str = "--media-metadata-by-glob";
/// The flags that say how media are picked, of which one can be given.
pub const MEDIA_FILTERS: &str = "--media-metadata-by-extension, --media-metadata-by-header, --media-metadata-by-glob";
/// `--decode`.
pub const DECODE: &str = "--decode";
