//! The files of Forager: an index of samples that lie in other files, and the samples of tokens it may point at (docs/formats/forager.md).

pub mod file_location;
pub mod sample_locations;
pub mod sample_schema;

/// The folder of the index, below the base folder, unless somebody says otherwise.
pub const INDEX_FOLDER: &str = "index";
/// The files that samples lie in, one path a line.
pub const FILE_LOCATION: &str = "file_location.txt";
/// Where each sample is.
pub const SAMPLE_LOCATIONS: &str = "sample_locations.bin";
/// What a sample with auxiliary arrays is made of.
pub const SAMPLE_SCHEMA: &str = "sample_schema.json";
/// The folder of tokenized samples, below the base folder.
pub const SAMPLES_FOLDER: &str = "tokenized-samples";
