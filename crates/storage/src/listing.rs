//! What is below a folder, for many questions at once.

use super::files::{if_any, is_taken, remote_entries, FileInfo};
use super::location::{Location, RemoteUrl};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// What is below a folder. That of a store is listed once, in place of a request for each question; on this machine, each question asks the
/// file system.
#[derive(Debug)]
pub struct Listing {
    /// The prefix and the objects below it.
    objects: Option<(PathBuf, HashMap<PathBuf, FileInfo>)>,
}

impl Listing {
    /// Lists a folder, which may be missing.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let Location::Remote(url) = Location::of(folder) else { return Ok(Self { objects: None }) };
        let entries = match remote_entries(&url, true, &mut Vec::new()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            entries => entries?,
        };
        let mut objects = HashMap::with_capacity(entries.len());
        for entry in entries {
            let info = entry.metadata()?;
            objects.insert(entry.into_path(), info);
        }
        Ok(Self { objects: Some((url.to_path(), objects)) })
    }

    /// Returns what is at a path. A folder of a store is not known.
    ///
    /// # Errors
    /// The file system, or the store for a path that is not below the folder, cannot be asked.
    pub fn info(&self, path: &Path) -> io::Result<Option<FileInfo>> {
        match &self.objects {
            Some((folder, objects)) if path.starts_with(folder) => {
                let key = RemoteUrl::parse(path).map(RemoteUrl::to_path);
                Ok(key.and_then(|path| objects.get(&path).copied()))
            }
            _ => if_any(path),
        }
    }

    /// Whether there is anything at a path, a broken link included.
    pub fn is_taken(&self, path: &Path) -> io::Result<bool> {
        Ok(self.has(path)? || self.objects.is_none() && is_taken(path))
    }

    /// Whether a path leads to a file or folder.
    pub fn has(&self, path: &Path) -> io::Result<bool> {
        self.info(path).map(|info| info.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;

    #[test]
    fn a_listing_answers_for_both_kinds_of_places() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/b"), b"123").unwrap();
        put(Path::new("mem://listing/a/b"), b"123");
        put(Path::new("mem://listing/ab"), b"1");
        for root in [folder.path(), Path::new("mem://listing")] {
            let listing = Listing::of(&root.join("a")).unwrap();
            assert_eq!(listing.info(&root.join("a/b")).unwrap().unwrap().len(), 3);
            assert!(!listing.has(&root.join("a/c")).unwrap());
        }
        let listing = Listing::of(Path::new("mem://listing/a")).unwrap();
        assert!(listing.has(Path::new("mem://listing/ab")).unwrap(), "what is not below it is asked for");
        assert!(!Listing::of(Path::new("mem://listing/none")).unwrap().has(Path::new("mem://listing/none/a")).unwrap());
    }
}
