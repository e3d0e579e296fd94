//! Bit-exact readers and writers of the files of training frameworks. Must not depend on threads or a terminal.
//!
//! [`energon`] has the files of a prepared Energon data set; [`modalities`] packed tokens and raw indexes; [`nanosets`] token folders;
//! [`forager`] indexes of samples; [`bsade`] the index of exact substring dedup; [`mds`], [`megatron`] and [`olmo`] recognize files of
//! tokens, which `gristmill_ops` reads and writes. [`sqlite`] writes databases from sorted rows and reads single rows; [`tar_writer`] writes
//! entries of shards. Code that reproduces Python is in `gristmill_pycompat`.

pub mod bsade;
pub mod energon;
pub mod forager;
pub mod mds;
pub mod megatron;
pub mod modalities;
pub mod nanosets;
pub mod olmo;
pub mod sqlite;
pub mod tar_writer;

pub use forager::{FILE_LOCATION, INDEX_FOLDER, SAMPLE_LOCATIONS};
pub use megatron::missing_part;
pub use modalities::raw_index;

use gristmill_core::TokenKind;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::read::open_any;
pub use megatron::only_pair;
use std::path::{Path, PathBuf};

/// The formats of token ids, in the order of detection: a path has the first format that detects it.
pub static TOKEN_KINDS: &[&TokenKind] = &[
    &modalities::kind::PACKED_FILE,
    &modalities::kind::PACKED_FOLDER,
    &nanosets::kind::FOLDER,
    &forager::kind::SAMPLES,
    &mds::SHARDS,
    &megatron::PAIR,
    &megatron::FOLDER,
    &olmo::PARTS,
];

/// Whether a file is the last written file of a data set, by which readers recognize a complete data set. `is_there` returns whether
/// another file exists.
pub fn completes_set(path: &Path, is_there: impl Fn(&Path) -> bool) -> bool {
    use energon::layout::{INFO_JSON, INFO_YAML, NV_META};
    let name = path.file_name().unwrap_or_default();
    let is_in_meta = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == NV_META);
    is_in_meta && (name == INFO_JSON || name == INFO_YAML)
        || name == mds::INDEX
        || nanosets::is_metadata(path)
        || megatron::index_of(path) == path && is_there(&megatron::tokens_of(path))
}

/// Returns the root folder of the data set that a file is part of, given a file for which [`completes_set`] is true.
pub fn folder_of_set(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(path);
    match folder.parent() {
        Some(root) if folder.file_name().is_some_and(|name| name == energon::layout::NV_META) => root,
        _ => folder,
    }
}

/// Maximum number of entries of a folder that are examined to recognize it.
const MAX_ENTRIES: usize = 20_000;

/// Returns the files directly in a folder for whose names `is_chosen` is true, among its first [`MAX_ENTRIES`] entries, without hidden
/// ones. The file type is determined only for chosen entries, because each costs a round trip on a network.
fn files_in(folder: &Path, is_chosen: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
    let chosen = entries.filter(move |entry| {
        let name = entry.file_name().as_encoded_bytes();
        !name.starts_with(b".") && is_chosen(name)
    });
    chosen.filter(FolderEntry::is_file).map(FolderEntry::into_path)
}

/// Returns up to `bytes` bytes from the beginning of a file; empty for anything but a regular file, because opening a named pipe would
/// block.
fn head_of(path: &Path, bytes: usize) -> Vec<u8> {
    let mut head = vec![0; bytes];
    let count = open_any(path).ok().and_then(|file| file.read_at(&mut head, 0).ok());
    head.truncate(count.unwrap_or_default());
    head
}
