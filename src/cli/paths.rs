//! Parses and checks arguments: paths, sizes with a unit, and small text files.

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use std::path::Path;

pub use gristmill_ops::operations::paths::{
    answer_of_paths, checked_answer, local, local_or_readable, local_or_writable,
};

/// Creates a folder and its missing parents.
pub fn make_folder(dir: &Path, mode: u32) -> Outcome<()> {
    files::missing_folders(dir).into_iter().try_for_each(|folder| RealFs.create_dir(folder, mode))
}

/// Reads a whole text file of at most `limit` bytes.
pub fn read_text(path: &Path, what: &str, limit: u64) -> Outcome<String> {
    let Some(bytes) = gristmill_storage::read::read_whole(path, limit)? else {
        return Err(Failure::io(what, path, &std::io::ErrorKind::NotFound.into()));
    };
    String::from_utf8(bytes).map_err(|_| Failure::usage(what, "it is not a text file in UTF-8").on(Subject::path(path)))
}

/// Like `parse_size`, but also accepts `0`.
#[cfg(any(test, feature = "remote"))]
pub fn size_or_zero(text: &str) -> Result<u64, String> {
    match text.trim() {
        "0" => Ok(0),
        text => gristmill_core::text::parse_size(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_none_as_size() {
        assert_eq!(size_or_zero(" 0 "), Ok(0));
        assert_eq!(size_or_zero("64M"), Ok(64 << 20));
    }
}
