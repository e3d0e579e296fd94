//! The files of Forager: an index of samples that are stored in other files, and the tokenized samples to which it may refer
//! (docs/formats/forager.md).

pub mod file_location;
pub mod kind;
pub mod sample_locations;
pub mod sample_schema;

use std::path::Path;

/// Default folder of the index, below the base folder.
pub const INDEX_FOLDER: &str = "index";
/// File with the paths of the files that contain the samples, one path per line.
pub const FILE_LOCATION: &str = "file_location.txt";
/// File with the location of each sample.
pub const SAMPLE_LOCATIONS: &str = "sample_locations.bin";
/// Folder of tokenized samples, below the base folder.
pub const SAMPLES_FOLDER: &str = "tokenized-samples";

/// Whether the samples of a file are lines of text instead of tokens.
pub fn has_text(path: &Path) -> bool {
    matches!(path.extension().and_then(|end| end.to_str()), Some("jsonl" | "JSONL" | "json" | "txt"))
}
