//! Files of a data set of the hub: which of them are read, and where the cache has them.

use super::packing::is_text;
use super::sources::is_table_name;
use gristmill_storage::files;
use std::path::PathBuf;

/// A data set of the hub at one commit, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubSnapshot {
    /// The address, as the plan has it.
    pub input: String,
    /// The folder of the cache with the files of the address.
    pub folder: PathBuf,
    /// The address of that folder.
    pub address: String,
    /// Paths of all files of the address from that folder, and their sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// The text of `README.md`.
    pub readme: Option<String>,
    /// The text of `.huggingface.yaml`.
    pub settings: Option<String>,
    /// Whether the address is that of a file.
    pub is_file: bool,
}

impl HubSnapshot {
    /// Returns the file of the address, or its folder.
    pub fn path(&self) -> PathBuf {
        match self.files.as_slice() {
            [(name, _)] if self.is_file => self.folder.join(name),
            _ => self.folder.clone(),
        }
    }
}

/// Whether an input, a path or the address of a data set, is a file by its name.
pub fn is_file_input(input: &str) -> bool {
    match gristmill_storage::remote::is_hub_url(input) {
        true => is_text(input) || is_table_name(input),
        false => !files::is_dir(input),
    }
}
