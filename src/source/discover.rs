//! Finding the shards of a data set. See the Energon format page, "Finding shards".

use crate::model::{Failure, Outcome, Problem, ProblemKind, Shard, Subject};
use crate::storage::own::is_beside_output;
use crate::storage::read::stamp_of;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What lies below a root.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Shards in index order: sorted by path components. No exclude is applied.
    pub shards: Vec<Shard>,
    /// What is named like a shard and cannot be one, and folders that could not be looked into.
    pub findings: Vec<Problem>,
}

/// Finds all shards below `root`: `*.tar` and `*.tgz` at any depth, case-sensitive, nothing whose name begins with a dot.
///
/// `x.tar` and `x.tgz` side by side, which would share one index, are both found: what to do is the plan's to say.
/// Symbolic links are followed and keep their own path; one that leads back to a folder above it is not. Opens no shard.
/// An error only if the root itself cannot be read or is no folder.
pub fn discover(root: &Path) -> Outcome<Discovery> {
    let facts = std::fs::metadata(root).map_err(|e| Failure::io("looking for shards", root, &e))?;
    if !facts.is_dir() {
        return Err(Failure::usage("looking for shards", "it is not a folder").on(Subject::path(root)));
    }
    let mut found = Discovery::default();
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

/// Whether a file name (no folders) is one of a shard.
pub(super) fn is_shard_name(name: &[u8]) -> bool {
    !name.starts_with(b".") && (name.ends_with(b".tar") || name.ends_with(b".tgz"))
}

/// Everything below a root that is not hidden and not kept beside an output by this program, links followed; errors are part of the walk.
pub(super) fn walk(root: &Path, depth: usize) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let shown = |entry: &walkdir::DirEntry| {
        let is_ours = || entry.file_type().is_dir() && is_beside_output(entry.path());
        entry.depth() == 0 || !is_hidden(entry.file_name()) && !is_ours()
    };
    walkdir::WalkDir::new(root).follow_links(true).max_depth(depth).into_iter().filter_entry(shown)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

impl Discovery {
    fn take(&mut self, root: &Path, entry: walkdir::DirEntry) -> Outcome<()> {
        if !is_shard_name(entry.file_name().as_encoded_bytes()) {
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
            let why = format!("it is {}, not a file; it is left out", kind_word(&facts));
            self.finding(
                ProblemKind::NotAFile,
                Subject::shard(name),
                why,
                "rename it, so that it does not end like a shard",
            );
            return Ok(());
        }
        let is_tgz = name.ends_with(".tgz");
        let (stamp, mode) = (stamp_of(&facts), facts.mode() & 0o7777);
        self.shards.push(Shard { name, path: path.to_owned(), stamp, mode, is_tgz });
        Ok(())
    }

    fn take_error(&mut self, root: &Path, error: &walkdir::Error) -> Outcome<()> {
        let Some(path) = error.path() else { return Ok(()) };
        let inside = path.strip_prefix(root).unwrap_or(path);
        if inside.components().any(|c| is_hidden(c.as_os_str())) {
            return Ok(());
        }
        if path == root {
            return Err(io_failure("looking for shards", path, error));
        }
        let subject = relative_name(root, path).map_or_else(|| Subject::path(path), Subject::shard);
        if error.loop_ancestor().is_some() {
            let why = "this link leads back to a folder above it; it is not followed";
            self.findings.push(Problem::note(ProblemKind::Other, Subject::path(path), why));
        } else if std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink()) {
            if path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes())) {
                let why = "it is a link that leads nowhere; it is left out";
                self.finding(ProblemKind::NotAFile, subject, why, "repair or remove the link");
            }
        } else {
            let reason = io_failure("opening", path, error).why;
            let why = format!("it cannot be looked into ({reason}); shards in it are not found");
            self.finding(ProblemKind::Unreadable, Subject::path(path), why, "ask for access to it");
        }
        Ok(())
    }

    fn finding(&mut self, kind: ProblemKind, subject: Subject, why: impl Into<String>, hint: &str) {
        self.findings.push(Problem::problem(kind, subject, why).with_hint(hint));
    }
}

fn io_failure(what: &str, path: &Path, error: &walkdir::Error) -> Failure {
    match error.io_error() {
        Some(io) => Failure::io(what, path, io),
        None => Failure::environment(what, error.to_string()).on(Subject::path(path)),
    }
}

fn relative_name(root: &Path, path: &Path) -> Option<String> {
    let inside: PathBuf = path.strip_prefix(root).ok()?.components().collect();
    inside.to_str().map(str::to_owned)
}

fn kind_word(facts: &std::fs::Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = facts.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a fifo",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(test)]
mod tests;
