//! Refuses paths with another kind of data than a command takes.

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::source::discover::is_shard_file;
use std::path::Path;

/// Refuses paths without shards: files, whatever their content.
pub fn only_folders(path: &str) -> Outcome<()> {
    if Path::new(path).is_dir() {
        return Ok(());
    }
    super::jsonl::refuse_packed(path)?;
    match () {
        () if is_shard_file(Path::new(path)) => Err(Failure::usage("opening the data set", "it is a single shard")
            .on(Subject::path(path))
            .with_hint("give the folder that holds it; browse, info and lint take a single shard")),
        () if Path::new(path).is_file() => Err(Failure::usage(
            "opening the data set",
            "it is neither a folder of tar shards nor a .jsonl or .yaml file",
        )
        .on(Subject::path(path))
        .with_hint("give a folder that holds tar shards, a .jsonl file, or a metadataset (.yaml)")),
        () => match std::fs::metadata(path) {
            Ok(_) => {
                Err(Failure::usage("opening the data set", "it is a fifo, socket or device, not a file or folder")
                    .on(Subject::path(path))
                    .with_hint("give a folder that holds tar shards, a .jsonl file, or a metadataset (.yaml)"))
            }
            Err(error) => Err(Failure::io("opening the data set", path, &error)),
        },
    }
}

/// Refuses anything but a metadataset.
pub fn only_metadatasets(path: &str) -> Outcome<()> {
    match std::fs::metadata(path) {
        Err(error) => Err(Failure::io("opening the metadataset", path, &error)),
        Ok(_) if super::mix::is_metadataset(path) => Ok(()),
        Ok(facts) if !facts.is_file() => {
            Err(Failure::usage("opening the metadataset", "it is not a file that ends in .yaml")
                .on(Subject::path(path))
                .with_hint("`gristmill info PATH` shows other data sets"))
        }
        Ok(_) => {
            Err(Failure::usage("opening the metadataset", "loaders know metadatasets by a name that ends in .yaml")
                .on(Subject::path(path))
                .with_hint("`gristmill info PATH` shows other data sets"))
        }
    }
}
