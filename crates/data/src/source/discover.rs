//! Discovery of the shards of a data set. See docs/formats/energon.md §2.

use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Shard, Subject};
use gristmill_pycompat::braces;
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::waiting::for_each_at_once;
use gristmill_storage::walk::{walk, WalkEntry, WalkError};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum number of shards that a path names.
const MAX_RANGE: usize = 100_000;

/// Result of searching a root.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Shards in index order: sorted by path components. No exclude is applied.
    pub shards: Vec<Shard>,
    /// Entries that are named like a shard but are not one or are not read, and folders that could not be read.
    pub findings: Vec<Problem>,
    /// Whether all shards are found that can be unpacked.
    with_packed: bool,
}

/// Finds all shards below `root`: `*.tar` and `*.tgz` at any depth, case-sensitive, excluding names that begin with a dot.
///
/// `x.tar` and `x.tgz` in the same folder, which would share one index, are both found: the plan decides how to handle them. Symbolic links
/// are followed and keep their own path; one that leads back to a folder above it is not followed. Opens no shard. Returns an error only if
/// the root itself cannot be read or is not a folder.
pub fn discover(root: &Path) -> Outcome<Discovery> {
    find(root, false)
}

/// Like [`discover`], and also finds shards that are compressed in other ways, or whose names end in capital letters.
pub fn discover_with_packed(root: &Path) -> Outcome<Discovery> {
    find(root, true)
}

fn find(root: &Path, with_packed: bool) -> Outcome<Discovery> {
    let facts = files::metadata(root).map_err(|e| Failure::io("looking for shards", root, &e))?;
    if !facts.is_dir() {
        return Err(Failure::usage("looking for shards", "it is not a folder").on(Subject::path(root)));
    }
    let mut found = Discovery { with_packed, ..Discovery::default() };
    for entry in walk(root, usize::MAX) {
        match entry {
            Ok(entry) if entry.depth() == 0 => {}
            Ok(entry) => found.take(root, entry)?,
            Err(error) => found.take_error(root, &error)?,
        }
    }
    found.shards.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    found
        .findings
        .sort_by(|a, b| a.subject.shard.cmp(&b.subject.shard).then_with(|| a.subject.path.cmp(&b.subject.path)));
    Ok(found)
}

/// Returns the shards that a path names: a file named like one, or a range of them, such as `web-{000..099}.tar`, of which each has to exist.
/// Their names are relative to the folder above the first that differs. `None` for any other path.
pub fn named_shards(path: &Path) -> Outcome<Option<Vec<Shard>>> {
    let paths = match shard_range(path) {
        _ if is_shard_file(path) => vec![path.to_owned()],
        Some(paths) if !files::is_dir(path) => paths,
        _ => return Ok(None),
    };
    let found: Vec<(&PathBuf, OnceLock<FileInfo>)> = paths.iter().map(|path| (path, OnceLock::new())).collect();
    let look = |(path, info): &(&PathBuf, OnceLock<FileInfo>)| {
        let facts = files::metadata(path).map_err(|e| Failure::io("opening the shard", path, &e))?;
        _ = info.set(facts);
        Ok(())
    };
    for_each_at_once(&found, look, || {})?;
    let folder = folder_of(&paths);
    let shards = found.into_iter().filter_map(|(path, info)| {
        let name = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().into_owned();
        Some(shard_of(name, path, info.get()?))
    });
    Ok(Some(shards.collect()))
}

/// Returns the paths of a range of shards, in order; `None` for any other path.
pub fn shard_range(path: &Path) -> Option<Vec<PathBuf>> {
    let text = path.to_str().filter(|text| text.contains('{'))?;
    let paths: Vec<PathBuf> = braces::expand(text, MAX_RANGE).ok()?.into_iter().map(PathBuf::from).collect();
    let is_shard = |path: &PathBuf| path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes()));
    let distinct: HashSet<&PathBuf> = paths.iter().collect();
    (paths.len() > 1 && distinct.len() == paths.len() && paths.iter().all(is_shard)).then_some(paths)
}

/// Returns the folder that all paths are below.
fn folder_of(paths: &[PathBuf]) -> PathBuf {
    let mut folder = paths.first().cloned().unwrap_or_default();
    while folder.pop() && !paths.iter().all(|path| path.starts_with(&folder)) {}
    folder
}

/// Whether a path is a file that is named like a shard.
pub fn is_shard_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes())) && files::is_file(path)
}

fn shard_of(name: String, path: &Path, facts: &FileInfo) -> Shard {
    let is_tgz = name.ends_with(".tgz");
    Shard { name, path: path.to_owned(), stamp: facts.stamp, mode: facts.mode, is_tgz }
}

/// Whether a file name (without folders) is that of a shard.
pub(super) fn is_shard_name(name: &[u8]) -> bool {
    !name.starts_with(b".") && (name.ends_with(b".tar") || name.ends_with(b".tgz"))
}

/// Whether a file name (without folders) is that of a shard, compressed in any way.
pub fn is_like_shard(name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    !is_hidden && name.to_str().is_some_and(|name| is_shard_name(name.as_bytes()) || way_to_read(name).is_some())
}

/// Returns the shard at the path of a file, whatever its name.
pub fn shard_at(path: &Path) -> Outcome<Shard> {
    let facts = files::metadata(path).map_err(|e| Failure::io("opening the shard", path, &e))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(shard_of(name, path, &facts))
}

/// Suffixes of compressed shards that are not read, in lower case. Only plain `.tar` and `.tgz` are.
const PACKED_ENDINGS: [&str; 14] = [
    ".tar.gz",
    ".tar.gzip",
    ".tar.bz2",
    ".tar.xz",
    ".tar.zst",
    ".tar.zstd",
    ".tar.lz4",
    ".tar.lzma",
    ".tar.lz",
    ".tar.z",
    ".tbz",
    ".tbz2",
    ".txz",
    ".tzst",
];

/// Returns how to make a file readable that is named like a shard but is not read; `None` for other names.
fn way_to_read(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    for ending in [".tar", ".tgz"] {
        if lower.ends_with(ending) {
            let stem = &name[..name.len() - ending.len()];
            return Some(format!("rename it to {stem}{ending}"));
        }
    }
    if lower.ends_with(".tar.gz") {
        let stem = &name[..name.len() - ".tar.gz".len()];
        return Some(format!(
            "unpack it with gunzip, or rename it to {stem}.tgz and use --tgz rewrite, or write new shards with gristmill shard"
        ));
    }
    let is_packed = PACKED_ENDINGS.iter().any(|ending| lower.ends_with(ending));
    is_packed.then(|| "unpack it, so that its name ends in .tar, or write new shards with gristmill shard".to_owned())
}

impl Discovery {
    fn take(&mut self, root: &Path, entry: WalkEntry) -> Outcome<()> {
        let is_packed = self.with_packed && entry.kind().is_file() && is_like_shard(entry.file_name());
        if !is_packed && !is_shard_name(entry.file_name().as_encoded_bytes()) {
            self.take_unread(root, &entry);
            return Ok(());
        }
        let path = entry.path();
        let facts = match entry.metadata() {
            Ok(facts) => facts,
            Err(error) => return self.take_error(root, &error),
        };
        let Some(name) = relative_name(root, path) else {
            let why = "its name is not UTF-8, so no index can name it; it is left out";
            self.finding(ProblemKind::ShardNameNotUtf8, Subject::path(path), why, "rename it");
            return Ok(());
        };
        if !facts.is_file() {
            let why = format!("it is {}, not a file; it is left out", facts.kind.noun());
            self.finding(
                ProblemKind::NotAFile,
                Subject::shard(name),
                why,
                "rename it, so that it does not end like a shard",
            );
            return Ok(());
        }
        self.shards.push(shard_of(name, path, &facts));
        Ok(())
    }

    /// Reports a file that is named like a shard and is not read.
    fn take_unread(&mut self, root: &Path, entry: &WalkEntry) {
        let hint = entry.file_name().to_str().filter(|_| entry.kind().is_file()).and_then(way_to_read);
        let (Some(hint), Some(name)) = (hint, relative_name(root, entry.path())) else { return };
        let why = "it looks like a shard and is not read: only names that end in .tar or .tgz, in small letters, are";
        self.finding(ProblemKind::UnreadShard, Subject::shard(name), why, &hint);
    }

    fn take_error(&mut self, root: &Path, error: &WalkError) -> Outcome<()> {
        let Some(path) = error.path() else { return Ok(()) };
        let inside = path.strip_prefix(root).unwrap_or(path);
        if inside.components().any(|c| c.as_os_str().as_encoded_bytes().starts_with(b".")) {
            return Ok(());
        }
        if path == root {
            return Err(error.failure("looking for shards", root));
        }
        let subject = relative_name(root, path).map_or_else(|| Subject::path(path), Subject::shard);
        if error.loop_ancestor().is_some() {
            let why = "this link leads back to a folder above it; it is not followed";
            self.findings.push(Problem::note(ProblemKind::Other, Subject::path(path), why));
        } else if files::is_symlink(path) {
            if path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes())) {
                let why = "it is a link that leads nowhere; it is left out";
                self.finding(ProblemKind::NotAFile, subject, why, "repair or remove the link");
            }
        } else {
            let reason = error.failure("opening", root).why;
            let why = format!("it cannot be looked into ({reason}); shards in it are not found");
            self.finding(ProblemKind::Unreadable, Subject::path(path), why, "ask for access to it");
        }
        Ok(())
    }

    fn finding(&mut self, kind: ProblemKind, subject: Subject, why: impl Into<String>, hint: &str) {
        self.findings.push(Problem::problem(kind, subject, why).with_hint(hint));
    }
}

fn relative_name(root: &Path, path: &Path) -> Option<String> {
    let inside: PathBuf = path.strip_prefix(root).ok()?.components().collect();
    inside.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
