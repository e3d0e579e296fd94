//! The cache of the hub, shared with the Python tools: content by checksum, links by commit and path, commits by revision.
//!
//! ```text
//! datasets--OWNER--NAME/refs/main                 the commit
//! datasets--OWNER--NAME/snapshots/COMMIT/PATH     link to ../../blobs/CHECKSUM
//! datasets--OWNER--NAME/trees/COMMIT.json         the list of the files
//! datasets--OWNER--NAME/blobs/CHECKSUM            the content; CHECKSUM.incomplete while it is written
//! .locks/datasets--OWNER--NAME/CHECKSUM.lock      locked while the content is written
//! ```
//!
//! No file in it is ever removed, except unfinished downloads that turn out to be damaged.

use super::super::retry::Check;
use super::digest::{is_hex, Digest};
use super::file::RepositoryFile;
use super::url::{is_plain_path, RepositoryUrl};
use crate::fs::Fs;
use crate::publish::write_file;
use crate::read::read_whole;
use gristmill_core::{Failure, Outcome};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Permission bits of new folders and files.
const FOLDER_MODE: u32 = 0o755;
pub(super) const FILE_MODE: u32 = 0o644;
/// Maximum size of a file with a commit, in bytes.
const MAX_REF_BYTES: u64 = 256;
const COMMIT_DIGITS: usize = 40;
/// Interval between attempts to take a lock that another process holds.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) fn is_commit(revision: &str) -> bool {
    is_hex(revision, COMMIT_DIGITS)
}

/// The part of the cache that belongs to a repository.
#[derive(Clone, Debug)]
pub(super) struct RepositoryCache {
    /// The cache, with all repositories.
    root: PathBuf,
    name: String,
}

impl RepositoryCache {
    pub(super) fn new(root: &Path, url: &RepositoryUrl) -> Self {
        let name = format!("{}--{}", url.kind.plural(), url.name.replace('/', "--"));
        Self { root: root.to_owned(), name }
    }

    /// Returns the folder of the whole cache.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn folder(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    /// Returns the folder with the files of a commit.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder().join("snapshots").join(commit)
    }

    /// Returns the path of the list of the files of a commit.
    pub(super) fn tree(&self, commit: &str) -> PathBuf {
        self.folder().join("trees").join(format!("{commit}.json"))
    }

    pub(super) fn blob(&self, digest: &Digest) -> PathBuf {
        self.folder().join("blobs").join(digest.hex())
    }

    /// Returns the path of unfinished content.
    pub(super) fn incomplete(&self, digest: &Digest) -> PathBuf {
        self.folder().join("blobs").join(format!("{}.incomplete", digest.hex()))
    }

    /// Whether the cache has a file of a commit.
    pub(super) fn has(&self, commit: &str, file: &RepositoryFile) -> bool {
        has_size(&self.snapshot(commit).join(&file.path), file.size)
    }

    /// Whether the cache has the content of a file.
    pub(super) fn has_blob(&self, file: &RepositoryFile) -> bool {
        has_size(&self.blob(&file.digest), file.size)
    }

    /// Returns the number of bytes of a file that an unfinished download left.
    pub(super) fn incomplete_bytes(&self, file: &RepositoryFile) -> u64 {
        std::fs::metadata(self.incomplete(&file.digest)).map_or(0, |facts| facts.len().min(file.size))
    }

    /// Returns the commit of a revision, as of the last query of the repository.
    pub(super) fn commit(&self, revision: &str) -> Outcome<Option<String>> {
        if is_commit(revision) {
            return Ok(Some(revision.to_owned()));
        }
        let bytes = read_whole(&self.folder().join("refs").join(revision), MAX_REF_BYTES)?;
        let commit = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(commit.filter(|commit| is_commit(commit)))
    }

    /// Records the commit of a revision.
    pub(super) fn keep_commit(&self, fs: &dyn Fs, revision: &str, commit: &str) -> Outcome<()> {
        if is_commit(revision) || !is_plain_path(revision) || self.commit(revision)?.as_deref() == Some(commit) {
            return Ok(());
        }
        let path = self.folder().join("refs").join(revision);
        make_parents(fs, &path)?;
        write_file(fs, &path, commit.as_bytes(), FILE_MODE)
    }

    /// Links a file of a commit to its content, which must exist. On a file system without links the content itself is moved.
    pub(super) fn link(&self, fs: &dyn Fs, commit: &str, file: &RepositoryFile) -> Outcome<()> {
        let at = self.snapshot(commit).join(&file.path);
        if self.has(commit, file) {
            return Ok(());
        }
        make_parents(fs, &at)?;
        let up = "../".repeat(2 + file.path.matches('/').count());
        let target = PathBuf::from(format!("{up}blobs/{}", file.digest.hex()));
        let mut name = at.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.link", std::process::id()));
        let temporary = at.with_file_name(name);
        fs.remove_file(&temporary)?;
        match fs.raw_symlink(&target, &temporary) {
            Ok(()) => fs.rename(&temporary, &at)?,
            Err(error) if is_link_refused(&error) => fs.rename(&self.blob(&file.digest), &at)?,
            Err(error) => return Err(Failure::io("linking", &at, &error)),
        }
        Ok(())
    }

    /// Waits for the lock on some content. Returns `None` at once if the file system has no locks.
    pub(super) fn lock(&self, fs: &dyn Fs, digest: &Digest, check: Check<'_>) -> Outcome<Option<OwnedFd>> {
        let path = self.root.join(".locks").join(&self.name).join(format!("{}.lock", digest.hex()));
        make_parents(fs, &path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::open(&path, flags, Mode::from_raw_mode(FILE_MODE))
            .map_err(|error| Failure::io("locking", &path, &error.into()))?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK) => return Ok(None),
                Err(error) => return Err(Failure::io("locking", &path, &error.into())),
            }
            check()?;
            std::thread::sleep(LOCK_POLL_INTERVAL);
        }
    }
}

/// Creates the missing folders above a path.
pub(super) fn make_parents(fs: &dyn Fs, path: &Path) -> Outcome<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let missing: Vec<&Path> = parent.ancestors().take_while(|folder| !folder.is_dir()).collect();
    missing.into_iter().rev().try_for_each(|folder| fs.create_dir(folder, FOLDER_MODE))
}

fn has_size(path: &Path, size: u64) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == size)
}

fn is_link_refused(error: &std::io::Error) -> bool {
    let refused = [Errno::PERM, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| refused.iter().any(|errno| errno.raw_os_error() == code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::RealFs;

    #[test]
    fn hub_cache_links_files_to_blobs_and_revisions_to_commits() {
        let root = tempfile::tempdir().unwrap();
        let url = RepositoryUrl::parse("hf://datasets/o/n").unwrap();
        let cache = RepositoryCache::new(root.path(), &url);
        let digest = Digest::git_blob(&"b".repeat(40)).unwrap();
        let file = RepositoryFile { path: "data/x/a.jsonl".into(), size: 2, digest };
        let commit = "a".repeat(COMMIT_DIGITS);
        make_parents(&RealFs, &cache.blob(&file.digest)).unwrap();
        write_file(&RealFs, &cache.blob(&file.digest), b"{}", FILE_MODE).unwrap();
        assert!(cache.has_blob(&file) && !cache.has(&commit, &file));
        let at = root.path().join("datasets--o--n/snapshots").join(&commit).join(&file.path);
        // A link that an earlier version of the file left is replaced.
        make_parents(&RealFs, &at).unwrap();
        std::os::unix::fs::symlink("../nothing", &at).unwrap();
        cache.link(&RealFs, &commit, &file).unwrap();
        assert_eq!(std::fs::read_link(&at).unwrap(), Path::new("../../../../blobs").join("b".repeat(40)));
        assert!(cache.has(&commit, &file));
        cache.keep_commit(&RealFs, "refs/pr/1", &commit).unwrap();
        let kept = std::fs::read(root.path().join("datasets--o--n/refs/refs/pr/1")).unwrap();
        assert_eq!(kept, commit.as_bytes());
        assert_eq!(cache.commit("refs/pr/1").unwrap(), Some(commit.clone()));
        assert_eq!(cache.commit("main").unwrap(), None);
        let held = cache.lock(&RealFs, &file.digest, &|| Ok(())).unwrap();
        assert!(held.is_some());
        let stop = || Err(Failure::cancelled());
        assert!(cache.lock(&RealFs, &file.digest, &stop).unwrap_err().is_cancelled(), "one process writes at a time");
    }
}
