//! How pairs of Megatron's token files are recognized (docs/formats/megatron.md).

use super::{files_in, head_of};
use gristmill_core::text::display_safe;
use gristmill_core::TokenKind;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::run_folder::is_next_to_output;
use std::path::{Path, PathBuf};

/// First bytes of an index.
pub const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";
/// Name of the folder in which the training framework caches data derived from pairs.
const INDEX_CACHE: &[u8] = b"cache";
/// Message about a file of tokens without its index.
pub const UNFINISHED: &str = "it is not finished: the .idx file that belongs to it is missing";
/// Maximum number of indexes of a folder that are opened to recognize it.
const MAX_OPENED: usize = 8;

/// A pair: its `.bin`, its `.idx`, or the path of both without suffix.
pub static PAIR: TokenKind = TokenKind {
    id: "megatron-pair",
    title: "Megatron",
    format: "megatron",
    item: "document",
    is_file: true,
    is_mixable: false,
    window: |length| (length + 1, length),
    detect: |path| is_index(&index_of(path)) || is_damaged(&tokens_of(path)),
    detect_damaged: |_| false,
    files: |path| vec![tokens_of(path)],
    defect: |path| is_unfinished(&tokens_of(path)).then_some(UNFINISHED),
};

/// A folder with pairs directly in it.
pub static FOLDER: TokenKind = TokenKind {
    id: "megatron-folder",
    is_file: false,
    detect: |path| indexes(path).take(MAX_OPENED).any(|index| is_index(&index)) && has_mostly_pairs(path),
    detect_damaged: |path| files_in(path, is_tokens_name).take(MAX_OPENED).any(|file| is_damaged(&file)),
    files: |path| indexes(path).map(|index| tokens_of(&index)).filter(|path| files::is_file(path)).collect(),
    defect: |_| None,
    ..PAIR
};

/// Whether a file has the name of a file of tokens but no index exists, because the program that wrote it was stopped.
pub fn is_unfinished(path: &Path) -> bool {
    is_damaged(path) && !files::is_file(index_of(path))
}

/// Whether a file has the name of a file of tokens but no valid beginning of an index is next to it.
fn is_damaged(path: &Path) -> bool {
    is_tokens_name(path.as_os_str().as_encoded_bytes()) && files::is_file(path) && !is_index(&index_of(path))
}

/// Whether packing writes tokens under names like this one.
fn is_tokens_name(name: &[u8]) -> bool {
    name.ends_with(b"_document.bin") || name.ends_with(b"_sentence.bin")
}

/// Returns why a path is not a pair, if a file exists there that may belong to a pair.
pub fn missing_part(path: &Path) -> Option<String> {
    let (tokens, index) = (tokens_of(path), index_of(path));
    let is_whole_path = files::is_file(path);
    if !files::is_file(&tokens) || is_whole_path && path != tokens && path != index {
        return None;
    }
    let name = |path: &Path| display_safe(&path.file_name().unwrap_or_default().to_string_lossy()).into_owned();
    match (files::is_file(&index), is_index(&index)) {
        (false, _) => {
            Some(format!("if {} holds tokens of Megatron, its index {} is missing", name(&tokens), name(&index)))
        }
        (true, false) => Some(format!("{} does not begin like an index of Megatron", name(&index))),
        (true, true) => None,
    }
}

/// Returns the path of the index of a pair. `path` is one of its files, or the path of both without suffix.
pub fn index_of(path: &Path) -> PathBuf {
    with_suffix(path, ".idx")
}

/// Returns the path of the tokens of a pair. `path` is one of its files, or the path of both without suffix.
pub fn tokens_of(path: &Path) -> PathBuf {
    with_suffix(path, ".bin")
}

/// Returns the pair whose name begins with `beginning` and `_`, if there is exactly one: `web_text_document` for `web`.
pub fn only_pair(beginning: &Path) -> Option<PathBuf> {
    let name = [beginning.file_name()?.as_encoded_bytes(), b"_"].concat();
    let is_named = |index: &PathBuf| {
        index.file_name().is_some_and(|found| found.as_encoded_bytes().starts_with(&name)) && is_index(index)
    };
    let folder = beginning.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = indexes(folder).filter(is_named);
    let only = found.next()?.with_extension("");
    found.next().is_none().then_some(beginning.with_file_name(only.file_name()?))
}

/// Whether a folder holds mainly pairs, and not other data with a few pairs: it has at most as many subfolders as pairs. Hidden folders,
/// the index cache and the own folders of outputs are not counted.
fn has_mostly_pairs(folder: &Path) -> bool {
    let is_other = |entry: &FolderEntry| {
        let name = entry.file_name().as_encoded_bytes();
        let is_own = name.starts_with(b".") || name == INDEX_CACHE || is_next_to_output(entry.path());
        entry.kind().is_dir() && !is_own
    };
    let others = files::read_dir(folder).into_iter().flatten().flatten().filter(is_other).count();
    others == 0 || indexes(folder).take(others).count() == others
}

/// Returns the `.idx` files directly in a folder, except indexes of tar files.
pub fn indexes(folder: &Path) -> impl Iterator<Item = PathBuf> {
    files_in(folder, |name| name.ends_with(b".idx") && !name.ends_with(b".tar.idx"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let is_suffix = path.extension().is_some_and(|end| end == "bin" || end == "idx");
    let mut name = if is_suffix { path.with_extension("") } else { path.to_owned() }.into_os_string();
    name.push(suffix);
    name.into()
}

/// Whether a file begins with the magic bytes of a Megatron index.
pub fn is_index(path: &Path) -> bool {
    head_of(path, MAGIC.len()) == MAGIC
}
