//! Finds the shards of a data set (docs/formats/energon.md §2).

use super::documents::Compression;
use gristmill_core::text::{self, display_safe};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Shard, Subject};
use gristmill_pycompat::braces::{self, BraceError};
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::waiting::for_each_at_once;
use gristmill_storage::walk::{walk, WalkEntry, WalkError};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Maximum number of shards in a range such as `web-{000..099}.tar`.
const MAX_RANGE: usize = 100_000;

/// Result of searching a root folder.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Shards in index order: sorted by path components. No exclude is applied.
    pub shards: Vec<Shard>,
    /// Problems: entries with the name of a shard that are not read, and folders that could not be read.
    pub findings: Vec<Problem>,
    /// Whether to find all shards that can be decompressed, under any name.
    with_packed: bool,
}

/// Finds all shards below `root`: `*.tar` and `*.tgz` at any depth, case-sensitive, excluding names that begin with a dot.
///
/// Both `x.tar` and `x.tgz` are found if they are in the same folder and would share one index: the plan decides how to handle them.
/// Symbolic links are followed, except to a folder above the link, and shards keep the path of the link. Opens no shard. Returns an error
/// only if the root itself cannot be read or is not a folder.
pub fn discover(root: &Path) -> Outcome<Discovery> {
    find(root, false)
}

/// Like [`discover`], and also finds shards with other compressions, or with suffixes in capital letters.
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
            Ok(entry) => found.add_entry(root, entry)?,
            Err(error) => found.take_error(root, &error)?,
        }
    }
    found.shards.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    found
        .findings
        .sort_by(|a, b| a.subject.shard.cmp(&b.subject.shard).then_with(|| a.subject.path.cmp(&b.subject.path)));
    Ok(found)
}

/// Returns the shards that a path names: a file with the name of a shard, or a range such as `web-{000..099}.tar`, all of whose files must
/// exist. The names of the shards are relative to their deepest common folder. Returns `None` for any other path.
pub fn named_shards(path: &Path) -> Outcome<Option<Vec<Shard>>> {
    let paths = match () {
        () if is_shard_file(path) => vec![path.to_owned()],
        () if files::is_dir(path) => return Ok(None),
        () => match shard_range(path)? {
            Some(paths) => paths,
            None => return Ok(None),
        },
    };
    let found: Vec<(&PathBuf, OnceLock<FileInfo>)> = paths.iter().map(|path| (path, OnceLock::new())).collect();
    let look = |(path, info): &(&PathBuf, OnceLock<FileInfo>)| {
        match files::metadata(path) {
            Ok(facts) => _ = info.set(facts),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::io("opening the shard", path, &error)),
        }
        Ok(())
    };
    for_each_at_once(&found, look, || {})?;
    let missing: Vec<&PathBuf> = found.iter().filter(|(_, info)| info.get().is_none()).map(|(path, _)| *path).collect();
    if let Some(first) = missing.first() {
        return Err(missing_shards(path, missing.len(), paths.len(), first));
    }
    let folder = folder_of(&paths);
    let shards = found.into_iter().filter_map(|(path, info)| {
        let name = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().into_owned();
        Some(shard_of(name, path, info.get()?))
    });
    Ok(Some(shards.collect()))
}

fn missing_shards(range: &Path, missing: usize, count: usize, first: &Path) -> Failure {
    let first = display_safe(&first.to_string_lossy()).into_owned();
    let (why, hint) = match missing == count {
        true => {
            (format!("none of its {} exists; the first is {first}", text::count(count as u64, "shard")), ABSENT_HINT)
        }
        false => (
            format!(
                "{missing} of its {count} shards {} missing; the first is {first}",
                text::agree(missing as u64, "is", "are")
            ),
            GAP_HINT,
        ),
    };
    Failure::environment("looking for the shards of the range", why).on(Subject::path(range)).with_hint(hint)
}

const ABSENT_HINT: &str =
    "compare the name and the number of digits with those of the files, or give the folder that holds them";
const GAP_HINT: &str =
    "name only those that exist, such as web-{{000..041},{043..099}}.tar, or give the folder, of which all shards are read";
const RANGE_HINT: &str = "a range of shards is such as web-{000..099}.tar or {a,b}.tar";

/// Returns the paths of a range of shards in order; `None` for a path without braces, or if the names are not those of shards. Invalid
/// braces are an error, so this must be called only if no file exists at the path.
pub fn shard_range(path: &Path) -> Outcome<Option<Vec<PathBuf>>> {
    let Some(text) = path.to_str().filter(|text| text.contains(['{', '}'])) else { return Ok(None) };
    let is_shard = |path: &Path| path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes()));
    let mistake = |why: String, hint: &str| {
        Err(Failure::usage("reading the range of shards", why).on(Subject::path(path)).with_hint(hint))
    };
    let paths: Vec<PathBuf> = match braces::expand(text, MAX_RANGE) {
        Ok(names) => names.into_iter().map(PathBuf::from).collect(),
        Err(_) if !is_shard(path) => return Ok(None),
        Err(error @ BraceError::TooMany { .. }) => {
            return mistake(error.to_string(), "give the folder that holds the shards, or several ranges");
        }
        Err(error) => return mistake(error.to_string(), RANGE_HINT),
    };
    if !paths.iter().any(|path| is_shard(path)) {
        return Ok(None);
    }
    let shown = |path: &Path| display_safe(&path.to_string_lossy()).into_owned();
    if let Some(other) = paths.iter().find(|path| !is_shard(path)) {
        return mistake(format!("it names {}, which does not end in .tar or .tgz", shown(other)), RANGE_HINT);
    }
    if paths.len() == 1 && paths.iter().all(|only| only == path) {
        return mistake("the braces have neither a range nor a list, and no file has this name".to_owned(), RANGE_HINT);
    }
    let mut seen = HashSet::new();
    match paths.iter().find(|path| !seen.insert(*path)) {
        Some(twice) => mistake(format!("it names {} more than once", shown(twice)), "name each shard once"),
        None => Ok(Some(paths)),
    }
}

/// Returns the deepest folder that contains all paths.
fn folder_of(paths: &[PathBuf]) -> PathBuf {
    let mut folder = paths.first().cloned().unwrap_or_default();
    while folder.pop() && !paths.iter().all(|path| path.starts_with(&folder)) {}
    folder
}

/// Whether a path is a file with the name of a shard.
pub fn is_shard_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes())) && files::is_file(path)
}

fn shard_of(name: String, path: &Path, facts: &FileInfo) -> Shard {
    let is_tgz = name.ends_with(".tgz");
    Shard { name, path: path.to_owned(), stamp: facts.stamp, mode: facts.mode, is_tgz }
}

/// Whether a file name (without folders) is the name of a shard.
pub(super) fn is_shard_name(name: &[u8]) -> bool {
    !name.starts_with(b".") && (name.ends_with(b".tar") || name.ends_with(b".tgz"))
}

/// Whether a file name (without folders) is the name of a shard of any compression.
pub fn is_like_shard(name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    !is_hidden && name.to_str().is_some_and(|name| is_shard_name(name.as_bytes()) || rename_hint(name).is_some())
}

/// Returns the shard at a path, regardless of its name.
pub fn shard_at(path: &Path) -> Outcome<Shard> {
    let facts = files::metadata(path).map_err(|e| Failure::io("opening the shard", path, &e))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(shard_of(name, path, &facts))
}

/// Suffixes of compressed shards that are not read, in lower case, other than `.tar` with the suffix of a compression.
const PACKED_ENDINGS: [&str; 6] = [".tar.lz", ".tar.z", ".tbz", ".tbz2", ".txz", ".tzst"];

/// Returns a hint for a file that has the name of a shard in an unread form; `None` for other names.
fn rename_hint(name: &str) -> Option<String> {
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
    let is_packed = PACKED_ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || Compression::of_name(&lower).is_some_and(|(rest, _)| rest.ends_with(".tar"));
    is_packed.then(|| "unpack it, so that its name ends in .tar, or write new shards with gristmill shard".to_owned())
}

impl Discovery {
    fn add_entry(&mut self, root: &Path, entry: WalkEntry) -> Outcome<()> {
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
            let why = format!("it is {}, not a file; it is left out", facts.kind.with_article());
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

    /// Reports a file that has the name of a shard but is not read.
    fn take_unread(&mut self, root: &Path, entry: &WalkEntry) {
        let hint = entry.file_name().to_str().filter(|_| entry.kind().is_file()).and_then(rename_hint);
        let (Some(hint), Some(name)) = (hint, relative_name(root, entry.path())) else { return };
        let why = "it looks like a shard but is not read: only lower-case suffixes .tar and .tgz are";
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
        if let Some(note) = error.loop_note() {
            self.findings.push(note);
        } else if files::is_symlink(path) {
            if path.file_name().is_some_and(|name| is_shard_name(name.as_encoded_bytes())) {
                let why = "it is a broken link; it is left out";
                self.finding(ProblemKind::NotAFile, subject, why, "repair or remove the link");
            }
        } else {
            let reason = error.failure("opening", root).why;
            let why = format!("it cannot be read ({reason}); shards in it are not found");
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
