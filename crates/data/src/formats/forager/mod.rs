//! The files of Forager: an index of samples that are stored in other files, and the tokenized samples it may refer to
//! (docs/formats/forager.md).

pub mod file_location;
pub mod kind;
pub mod sample_locations;
pub mod sample_schema;

/// Default folder of the index, below the base folder.
pub const INDEX_FOLDER: &str = "index";
/// Files that contain the samples, one path a line.
pub const FILE_LOCATION: &str = "file_location.txt";
/// Location of each sample.
pub const SAMPLE_LOCATIONS: &str = "sample_locations.bin";
/// Folder of tokenized samples, below the base folder.
pub const SAMPLES_FOLDER: &str = "tokenized-samples";
