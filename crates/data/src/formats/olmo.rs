//! How sets of OLMo's token files are recognized (docs/formats/olmo.md).

use super::{files_in, head_of};
use gristmill_core::TokenKind;
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Suffix of the files of ids.
pub const TOKENS_SUFFIX: &str = ".npy";
/// Suffix of the tables of documents.
pub const TABLE_SUFFIX: &str = ".csv.gz";

/// First bytes of a NumPy array file, which files of ids do not have.
const NUMPY_MAGIC: &[u8] = b"\x93NUMPY";

/// A folder with pairs of files of ids and tables of documents directly in it.
pub static PARTS: TokenKind = TokenKind {
    id: "olmo-parts",
    title: "OLMo",
    format: "olmo",
    item: "document",
    is_file: false,
    is_mixable: false,
    window: |length| (length, length),
    detect: |path| files(path).any(|file| files::is_file(table_of(&file))),
    detect_damaged: |path| {
        files(path).any(|file| is_part_name(&file) && head_of(&file, NUMPY_MAGIC.len()) != NUMPY_MAGIC)
    },
    files: |path| files(path).collect(),
    defect: |_| None,
};

/// Returns the path of the table that belongs to a file of ids.
pub fn table_of(tokens: &Path) -> PathBuf {
    let name = tokens.file_name().unwrap_or_default().to_string_lossy();
    tokens.with_file_name(format!("{}{TABLE_SUFFIX}", name.strip_suffix(TOKENS_SUFFIX).unwrap_or(&name)))
}

/// Whether the reference writes files of ids under names like this one, such as `part-0-00000.npy`; their table may be missing.
fn is_part_name(tokens: &Path) -> bool {
    let name = tokens.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.strip_prefix("part-").and_then(|name| name.strip_suffix(TOKENS_SUFFIX));
    numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(job, part)| {
        [job, part].iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn files(path: &Path) -> impl Iterator<Item = PathBuf> {
    files_in(path, |name| name.ends_with(TOKENS_SUFFIX.as_bytes()))
}
