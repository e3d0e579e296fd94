//! Names of the files of samples, of their index, and of their spools.

use super::SAMPLES;
use gristmill_core::pack::{SampleSize, TokenType};
use std::path::PathBuf;

/// Name of the file that lists the locations of all samples.
pub(super) const LOCATIONS: &str = "sample_locations.bin";
/// Name of the file that lists the sample files.
pub(super) const FILES: &str = "file_location.txt";
/// Name of the file that describes samples with masks.
pub(super) const SCHEMA: &str = "sample_schema.json";
/// Size of a row of the locations, in bytes.
pub(super) const ROW_BYTES: u64 = 24;

/// The sample files of a run, and their index.
pub(super) struct SampleFiles {
    pub(super) place: PathBuf,
    /// Names of the sample files.
    pub(super) names: Vec<String>,
    pub(super) index_folder: String,
    pub(super) sample_size: SampleSize,
    pub(super) token: TokenType,
    pub(super) has_masks: bool,
    pub(super) compat: bool,
}

/// Returns the name of the spool for the tokens of a file.
pub(super) fn tokens_spool(number: usize) -> String {
    format!("{number}.tokens")
}

/// Returns the name of the spool for the masks of a file.
pub(super) fn mask_spool(number: usize) -> String {
    format!("{number}.mask")
}

/// Returns the name of the spool for the lengths of variable-length samples.
pub(super) fn lengths_spool(number: usize) -> String {
    format!("{number}.lengths")
}

impl SampleFiles {
    /// Returns the path of a sample file.
    pub(super) fn samples(&self, name: &str) -> PathBuf {
        self.place.join(SAMPLES).join(name)
    }

    /// Returns the path of a file of the index.
    pub(super) fn index(&self, name: &str) -> PathBuf {
        self.place.join(&self.index_folder).join(name)
    }
}
