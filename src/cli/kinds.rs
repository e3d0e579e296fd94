//! Recognizes metadatasets, and refuses paths whose kind of data a command does not support.

use gristmill_core::text::hint_for;
use gristmill_core::{DatasetKind, Failure, Outcome, Subject};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::datasets::Dataset;
use gristmill_storage::files;
use std::path::Path;

/// Whether a path is an existing JSONL file.
pub fn is_jsonl(path: &Path) -> bool {
    kind_of(path).is_ok_and(|kind| kind == DatasetKind::Jsonl)
}

/// Refuses files, which have no shards.
pub fn only_folders(path: &str) -> Outcome<()> {
    Dataset::find(Path::new(path))?.check_shards()
}

/// Refuses data other than metadatasets.
pub fn only_metadatasets(path: &str) -> Outcome<()> {
    match files::metadata(path) {
        Err(error) => Err(Failure::io("opening the metadataset", path, &error)),
        Ok(_) if kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::Metadataset) => Ok(()),
        Ok(facts) if !facts.is_file() => {
            Err(Failure::usage("opening the metadataset", "it is not a file that ends in .yaml")
                .on(Subject::path(path))
                .with_hint(hint_for(Path::new(path), "`gristmill info PATH` shows other data sets")))
        }
        Ok(_) => Err(Failure::usage("opening the metadataset", "loaders recognize a metadataset by the suffix .yaml")
            .on(Subject::path(path))
            .with_hint(hint_for(Path::new(path), "`gristmill info PATH` shows other data sets"))),
    }
}
