//! The list of recently opened data sets, in the state folder.

use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Maximum number of paths in the list.
const MAX_RECENT: usize = 50;
/// Maximum size of the list in bytes: this program writes no larger ones.
const MAX_BYTES: u64 = 1 << 20;
const FILE: &str = "recent.json";

#[derive(Default, Serialize, Deserialize)]
struct RecentPaths {
    version: u32,
    /// Paths, newest first. Paths that are not UTF-8 are omitted.
    paths: Vec<String>,
}

/// Returns the recent paths, newest first. A list that cannot be read counts as empty.
pub fn load(state_dir: &Path) -> Vec<PathBuf> {
    let bytes = read_whole(&state_dir.join(FILE), MAX_BYTES).ok().flatten().unwrap_or_default();
    let file: RecentPaths = serde_json::from_slice(&bytes).unwrap_or_default();
    file.paths.into_iter().take(MAX_RECENT).map(PathBuf::from).collect()
}

/// Puts a path at the top of the list, on a separate thread: the state folder may be on a slow disk.
pub fn add(state_dir: &Path, path: &Path) {
    let (state_dir, path) = (state_dir.to_owned(), files::absolute_or_same(path));
    let work = move || {
        if let Err(failure) = store(&state_dir, &path) {
            tracing::warn!(%failure, "the list of recent data sets could not be saved");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("recent".into()).spawn(work) {
        tracing::warn!(%error, "the list of recent data sets could not be saved");
    }
}

/// Puts a path at the top of the list before it returns; errors are ignored.
pub fn remember_now(state_dir: &Path, path: &Path) {
    if let Err(failure) = store(state_dir, &files::absolute_or_same(path)) {
        tracing::warn!(%failure, "the list of recent data sets could not be kept");
    }
}

fn store(state_dir: &Path, path: &Path) -> gristmill_core::Outcome<()> {
    let Some(path) = path.to_str() else { return Ok(()) };
    let mut paths: Vec<String> = vec![path.to_owned()];
    let known = load(state_dir);
    paths.extend(known.iter().filter_map(|p| p.to_str()).filter(|p| *p != path).map(str::to_owned));
    paths.truncate(MAX_RECENT);
    let text = serde_json::to_vec_pretty(&RecentPaths { version: 1, paths }).unwrap_or_default();
    create_folders(state_dir)?;
    write_file(&RealFs, &state_dir.join(FILE), &text, 0o600)
}

/// Creates a private folder, and its missing parents.
pub fn create_folders(dir: &Path) -> gristmill_core::Outcome<()> {
    if let Some(parent) = dir.parent().filter(|p| !files::exists(p)) {
        create_folders(parent)?;
    }
    RealFs.create_dir(dir, PRIVATE_FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_paths_are_unique_and_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("deep/state");
        for path in ["/a", "/b", "/a"] {
            store(&state, Path::new(path)).unwrap();
        }
        assert_eq!(load(&state), [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn invalid_recent_list_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load(dir.path()).is_empty());
        write_file(&RealFs, &dir.path().join(FILE), b"not json", 0o600).unwrap();
        assert!(load(dir.path()).is_empty());
    }
}
