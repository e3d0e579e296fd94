//! Small files of this machine, such as settings of other tools. Must not know stores.

use gristmill_core::{text, Failure, Outcome, Subject};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// Reads a whole file of at most `limit` bytes; `None` if it does not exist. The path is always local, even if it has the form of an
/// address.
pub(crate) fn read_local(path: &Path, limit: u64) -> Outcome<Option<Vec<u8>>> {
    let failed = |error| Failure::io("reading", path, &error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    let count = file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match count as u64 > limit {
        true => {
            let why = format!("it is larger than the limit of {}", text::bytes(limit));
            Err(Failure::environment("reading", why).on(Subject::path(path)))
        }
        false => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        assert_eq!(read_local(&path, 3).unwrap(), None);
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read_local(&path, 3).unwrap().unwrap(), b"abc");
        assert_eq!(read_local(&path.join("below"), 3).unwrap(), None);
        assert!(read_local(&path, 2).unwrap_err().why.contains("limit of 2"));
        assert!(read_local(dir.path(), 2).is_err());
    }
}
