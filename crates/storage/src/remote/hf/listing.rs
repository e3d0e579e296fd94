//! The files of a repository at a commit, as the hub lists them and as the Python tools store them in the cache: `trees/COMMIT.json`.
//! Without requests, the list shows whether the cache has all files.

use super::cache::{make_parents, FILE_MODE};
use super::digest::Digest;
use super::file::RepositoryFile;
use super::url::is_plain_path;
use crate::fs::Fs;
use crate::publish::write_file;
use crate::read::read_whole;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum size of a stored list, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 30;
/// Version of the format of a stored list.
const VERSION: u32 = 1;

/// All files of a repository at a commit, by their paths.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Tree {
    format_version: u32,
    files: BTreeMap<String, TreeFile>,
    /// Folders and other entries, which only show whether a page has added entries.
    #[serde(skip)]
    folders: BTreeSet<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct TreeFile {
    size: u64,
    blob_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lfs_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lfs_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    xet_hash: Option<String>,
}

/// An entry of a page of the hub's list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TreeEntry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    size: u64,
    oid: String,
    lfs: Option<LargeFile>,
    xet_hash: Option<String>,
}

#[derive(Deserialize)]
struct LargeFile {
    oid: String,
    size: u64,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { format_version: VERSION, files: BTreeMap::new(), folders: BTreeSet::new() }
    }

    /// Returns the number of files and folders that were added.
    pub(super) fn entries(&self) -> usize {
        self.files.len() + self.folders.len()
    }

    /// Adds the entries of a page. Returns `false` if the path or the checksum of one is not valid.
    pub(super) fn add(&mut self, page: Vec<TreeEntry>) -> bool {
        for TreeEntry { kind, path, size, oid, lfs, xet_hash } in page {
            if kind != "file" {
                self.folders.insert(path);
                continue;
            }
            let (lfs_size, lfs_oid) = lfs.map(|lfs| (lfs.size, lfs.oid)).unzip();
            let lfs_sha256 = lfs_oid.map(|oid| oid.trim_start_matches("sha256:").to_owned());
            let file = TreeFile { size, blob_id: oid, lfs_sha256, lfs_size, xet_hash };
            if file.repository_file(&path).is_none() {
                return false;
            }
            self.files.insert(path, file);
        }
        true
    }

    /// Returns the files below a path, or the file at it; all of them below an empty one. `None` if one of them is not valid.
    pub(super) fn files_below(&self, folder: &str) -> Option<Vec<RepositoryFile>> {
        let is_below = |path: &str| match path.strip_prefix(folder) {
            Some(rest) => folder.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        let files = self.files.iter().filter(|(path, _)| is_below(path));
        files.map(|(path, file)| file.repository_file(path)).collect()
    }

    /// Reads a stored list; `None` if there is no valid one.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = read_whole(path, MAX_LIST_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok().filter(|tree: &Self| tree.format_version == VERSION)
    }

    /// Stores the list. Errors are ignored, because the hub has the list.
    pub(super) fn write(&self, fs: &dyn Fs, path: &Path) {
        if let (Ok(bytes), Ok(())) = (serde_json::to_vec_pretty(self), make_parents(fs, path)) {
            let _ = write_file(fs, path, &bytes, FILE_MODE);
        }
    }
}

impl TreeFile {
    fn repository_file(&self, path: &str) -> Option<RepositoryFile> {
        let digest = match &self.lfs_sha256 {
            Some(oid) => Digest::sha256(oid)?,
            None => Digest::git_blob(&self.blob_id)?,
        };
        let size = self.lfs_size.unwrap_or(self.size);
        is_plain_path(path).then(|| RepositoryFile { path: path.to_owned(), size, digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::RealFs;

    fn page(path: &str, more: &str) -> Vec<TreeEntry> {
        let oid = "b".repeat(40);
        serde_json::from_str(&format!(r#"[{{"type":"file","path":"{path}","size":130,"oid":"{oid}"{more}}}]"#)).unwrap()
    }

    #[test]
    fn hub_tree_is_cached_with_large_and_small_files() {
        let mut tree = Tree::new();
        let large = format!(r#","lfs":{{"oid":"{}","size":9000,"pointerSize":130}},"xetHash":"x""#, "a".repeat(64));
        assert!(tree.add(page("data/a.parquet", &large)) && tree.add(page("data.txt", "")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees/c.json");
        tree.write(&RealFs, &path);
        let tree = Tree::read(&path).unwrap();
        let files = tree.files_below("").unwrap();
        let shown: Vec<(&str, u64, usize)> =
            files.iter().map(|file| (file.path.as_str(), file.size, file.digest.hex().len())).collect();
        assert_eq!(shown, [("data.txt", 130, 40), ("data/a.parquet", 9000, 64)]);
        assert_eq!(tree.files_below("data").unwrap().len(), 1);
        assert_eq!(tree.files_below("data/a.parquet").unwrap().len(), 1);
        assert!(tree.files_below("dat").unwrap().is_empty());
    }

    #[test]
    fn hub_paths_and_checksums_outside_the_repository_are_refused() {
        for path in ["../a", "/a", "a//b", "a/./b", "a/../b", ""] {
            assert!(!Tree::new().add(page(path, "")), "{path}");
        }
        assert!(!Tree::new().add(page("a", r#","lfs":{"oid":"../../x","size":1}"#)));
    }
}
