//! Files of a data set of the Hugging Face hub: the list of its files, and their location in the cache.

use super::packing::is_text;
use super::sources::is_table_name;
use gristmill_storage::files;
use std::path::PathBuf;

/// A data set of the hub, or a part of it, at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubSnapshot {
    /// The address as the plan states it.
    pub input: String,
    /// The cache folder that contains the files of the address.
    pub folder: PathBuf,
    /// The address that corresponds to `folder`.
    pub address: String,
    /// Paths of all files of the address, relative to `folder`, with their sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// The text of `README.md`.
    pub readme: Option<String>,
    /// The text of `.huggingface.yaml`.
    pub settings: Option<String>,
    /// Whether the address is that of a single file.
    pub is_file: bool,
}

impl HubSnapshot {
    /// Returns the path of the file at the address, or its folder.
    pub fn path(&self) -> PathBuf {
        match self.files.as_slice() {
            [(name, _)] if self.is_file => self.folder.join(name),
            _ => self.folder.clone(),
        }
    }
}

/// Whether an input, which is a path or the address of a data set, has the name of a file.
pub fn is_file_input(input: &str) -> bool {
    match gristmill_storage::remote::is_hub_url(input) {
        true => is_text(input) || is_table_name(input),
        false => !files::is_dir(input),
    }
}
