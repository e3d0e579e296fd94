//! Paths of the files of a prepared data set, relative to its root.

use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Folder that marks a prepared data set.
pub const NV_META: &str = ".nv-meta";
/// Shard names and counts; the data set counts as prepared if this file exists.
pub const INFO_JSON: &str = ".info.json";
/// The older form of [`INFO_JSON`].
pub const INFO_YAML: &str = ".info.yaml";
/// Splits and excludes.
pub const SPLIT_YAML: &str = "split.yaml";
/// The older form of [`SPLIT_YAML`].
pub const SPLIT_JSON: &str = "split.json";
/// How samples are loaded; default name.
pub const DATASET_YAML: &str = gristmill_core::plan::DATASET_YAML;
/// Samples and parts by name.
pub const INDEX_SQLITE: &str = "index.sqlite";
/// A random UUID that changes with the index.
pub const INDEX_UUID: &str = "index.uuid";
/// The generated loader of a typed data set without field map.
pub const SAMPLE_LOADER_PY: &str = "sample_loader.py";
/// The generated cooker of a crude data set.
pub const COOKER_PY: &str = "cooker.py";

/// The small files that are read of a prepared data set, and its database.
pub const SMALL_FILES: [&str; 7] = [
    INFO_JSON,
    SPLIT_YAML,
    DATASET_YAML,
    INDEX_SQLITE,
    "gristmill/report.json",
    "gristmill/plan.yaml",
    "gristmill/media-report.json",
];

/// Returns `.nv-meta` below a root.
pub fn nv_meta(root: &Path) -> PathBuf {
    root.join(NV_META)
}

/// Whether the folder is a prepared data set.
pub fn is_prepared(root: &Path) -> bool {
    let meta = nv_meta(root);
    files::is_file(meta.join(INFO_JSON)) || files::is_file(meta.join(INFO_YAML))
}

/// Returns the path of a file in `.nv-meta` below a root.
pub fn in_nv_meta(root: &Path, name: &str) -> PathBuf {
    root.join(NV_META).join(name)
}
