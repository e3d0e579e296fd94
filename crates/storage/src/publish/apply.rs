//! Executes a rename list, forwards or backwards.
//!
//! The progress can be determined from the disk: a staged file that is missing was moved to its target, and an old file that was moved
//! aside exists. Going forward may therefore start at any step, and may be repeated any number of times.

use super::super::files::{is_taken, metadata};
use super::super::fs::{rename_here, Fs};
use super::super::location::{is_remote, RemoteUrl};
use super::super::read::{open_any, read_whole};
use super::super::release::remove_or_release;
use super::super::run_folder::RunFolder;
use super::super::store::{Condition, Content};
use super::super::waiting::for_each_at_once;
use super::list::{Action, Entry, RenameList, State};
use super::parent_of;
use super::record::complete;
use super::single::{put, put_if, write_file};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome, ProblemKind};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Executes a rename list.
pub(super) struct Renamer<'a> {
    fs: &'a dyn Fs,
    run_folder: &'a RunFolder,
    root: &'a Path,
    list: &'a RenameList,
    staging: PathBuf,
    /// Numbers of the entries whose target is on another file system and was written by this process.
    copied: HashSet<usize>,
    /// Whether any target may have changed.
    pub(super) has_changed: bool,
    /// Whether a target does not have the version that it must have.
    pub(super) is_outdated: bool,
}

/// Maximum size of an object that is put together with others, and maximum total size of larger ones that are, in bytes.
const MAX_SMALL_BYTES: u64 = 1 << 20;
const MAX_JOINED_UPLOAD_BYTES: u64 = 8 << 20;
/// Maximum size in bytes of an object that makes a set visible: one that lists some millions of shards.
const MAX_COMMIT_BYTES: u64 = 1 << 28;

type Numbered<'a> = Vec<(usize, &'a Entry)>;

/// Whether a path exists, including a dangling link.
pub(super) fn is_there(path: &Path) -> bool {
    is_taken(path)
}

/// Whether two files are in one folder, and have the same extension.
fn is_same_kind(one: &Path, other: &Path) -> bool {
    (one.parent(), one.extension()) == (other.parent(), other.extension())
}

/// Returns the path of the staged file of an entry.
pub(super) fn staged(staging: &Path, number: usize) -> PathBuf {
    staging.join(format!("new-{number}"))
}

/// Returns the path of the record of an entry whose object is already uploaded.
pub(super) fn staged_record(staging: &Path, number: usize) -> PathBuf {
    staging.join(format!("upload-{number}"))
}

/// Returns the path of the staged file of an entry, or of its record.
pub(super) fn staged_any(staging: &Path, number: usize) -> PathBuf {
    let record = staged_record(staging, number);
    if is_there(&record) {
        record
    } else {
        staged(staging, number)
    }
}

impl<'a> Renamer<'a> {
    pub(super) fn new(fs: &'a dyn Fs, own: &'a RunFolder, root: &'a Path, list: &'a RenameList) -> Self {
        Self {
            fs,
            run_folder: own,
            root,
            list,
            staging: super::staging_of(own),
            copied: HashSet::new(),
            has_changed: false,
            is_outdated: false,
        }
    }

    /// Moves all files to their targets, durably; the rename list is not removed. `placed` is called for each file that is in place.
    pub(super) fn forward(&mut self, placed: &mut dyn FnMut()) -> Outcome<()> {
        let (last, others) = self.split();
        let (versioned, others): (Numbered<'_>, Numbered<'_>) =
            others.into_iter().partition(|(_, entry)| entry.version.is_some());
        let removed = if versioned.is_empty() { Vec::new() } else { self.read_all(&last)? };
        for (number, entry) in &last {
            self.move_aside(*number, entry)?;
            self.has_changed = true;
        }
        if !last.is_empty() {
            self.sync_folders(&last)?;
        }
        for (number, entry) in &versioned {
            if !self.place_version(*number, entry, placed)? {
                removed.iter().try_for_each(|(path, bytes)| write_file(self.fs, path, bytes, super::LIST_MODE))?;
                (self.has_changed, self.is_outdated) = (false, true);
                return Err(changed(&self.target(entry)));
            }
        }
        self.sync_folders(&versioned)?;
        // Small objects are put at once, because each put waits for the store, and so are objects that were uploaded before. Large ones
        // follow one by one, each in several parts at once; the first one is put together with the small ones.
        let mut room = MAX_JOINED_UPLOAD_BYTES;
        let mut is_small = |(number, entry): &(usize, &Entry)| {
            if !is_remote(&self.target(entry)) || !entry.action.has_staged() {
                return false;
            }
            let bytes = metadata(staged_any(&self.staging, *number)).map_or(u64::MAX, |info| info.len());
            let is_small = bytes <= MAX_SMALL_BYTES || bytes <= room;
            room -= if is_small { bytes.min(room) } else { 0 };
            is_small
        };
        let (mut small, mut large): (Numbered<'_>, Numbered<'_>) = others.iter().copied().partition(&mut is_small);
        // Files of one kind that make other outputs visible are put at once, too, except the last one.
        let first = last.split_last().map_or(&[][..], |(_, first)| first);
        let kinds = first.chunk_by(|(_, one), (_, other)| is_same_kind(&one.target, &other.target));
        let kinds: Vec<(Numbered<'_>, Numbered<'_>)> =
            kinds.map(|kind| kind.iter().copied().partition(&mut is_small)).collect();
        let is_sent = |(_, entry): &(usize, &Entry)| is_remote(&self.target(entry)) && entry.action.has_staged();
        if !small.is_empty() && large.first().is_some_and(is_sent) {
            small.push(large.remove(0));
        }
        for_each_at_once(&small, |(number, entry)| self.place(*number, entry).map(drop), &mut *placed)?;
        for (number, entry) in &large {
            self.move_aside(*number, entry)?;
            self.install(*number, entry, placed)?;
        }
        self.sync_folders(&others)?;
        for (small, large) in &kinds {
            for_each_at_once(small, |(number, entry)| self.place(*number, entry).map(drop), &mut *placed)?;
            large.iter().try_for_each(|(number, entry)| self.install(*number, entry, placed))?;
        }
        if let Some((number, entry)) = last.last() {
            self.install(*number, entry, placed)?;
        }
        self.sync_folders(&last)
    }

    /// Undoes everything that [`forward`](Self::forward) has done, in reverse order, durably; the rename list is not removed.
    pub(super) fn backward(&self) -> Outcome<()> {
        let (last, others) = self.split();
        for (number, entry) in last.iter().rev() {
            self.take_out(*number, entry)?;
        }
        self.sync_folders(&last)?;
        for (number, entry) in others.iter().rev() {
            self.take_out(*number, entry)?;
            self.restore(*number, entry)?;
        }
        self.sync_folders(&others)?;
        for (number, entry) in last.iter().rev() {
            self.restore(*number, entry)?;
        }
        self.sync_folders(&last)
    }

    /// Ends a completed publish: removes leftovers next to targets on other file systems, then the list.
    pub(super) fn finish(&self) -> Outcome<()> {
        if is_remote(self.run_folder.shown()) {
            remove_or_release(self.fs, &super::marker(self.run_folder), Condition::Always)?;
        }
        let mut is_over = self.list.state == State::Done;
        if !is_over && self.leftover_paths().next().is_some() {
            // From here on the publish cannot be undone, and files may be edited: executing the list again must not move anything.
            let done = RenameList { state: State::Done, ..self.list.clone() };
            if let Err(failure) = super::write_list(self.fs, self.run_folder, &done) {
                if !matches!(RenameList::read(self.run_folder), Ok(Some(list)) if list.state == State::Done) {
                    return Err(failure);
                }
            }
            is_over = true;
        }
        // Leftovers that cannot be removed now are still in the list, so the next recovery removes them.
        let removed = self.leftover_paths().try_for_each(|path| {
            self.fs.remove_file(&path)?;
            self.fs.sync_dir(parent_of(&path))
        });
        let result = removed.and_then(|()| self.fs.remove_file(&self.run_folder.renames()));
        if is_over {
            return Ok(());
        }
        result
    }

    /// Splits the entries into those that make the set visible and all others, each with its number.
    fn split(&self) -> (Numbered<'a>, Numbered<'a>) {
        self.list.entries.iter().enumerate().partition(|(_, entry)| entry.action.is_visible_part())
    }
    fn target(&self, entry: &Entry) -> PathBuf {
        self.root.join(&entry.target)
    }
    fn set_aside_path(&self, number: usize) -> PathBuf {
        self.staging.join(format!("old-{number}"))
    }
    /// Returns a hidden name next to a target, for targets on other file systems.
    fn hidden_sibling(&self, entry: &Entry, number: usize, word: &str) -> PathBuf {
        let target = self.target(entry);
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}-{number}.{word}", self.list.id));
        target.with_file_name(name)
    }
    fn leftover_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let words = ["new", "old"];
        let numbered = self.list.entries.iter().enumerate();
        numbered
            .filter(|(_, entry)| !is_remote(&self.target(entry)))
            .flat_map(move |(number, entry)| words.map(|word| self.hidden_sibling(entry, number, word)))
            .filter(|path| is_there(path))
    }

    fn move_aside(&self, number: usize, entry: &Entry) -> Outcome<()> {
        let target = self.target(entry);
        if is_remote(&target) {
            // An object is replaced as a whole; only objects that make the set visible or are no longer needed are removed.
            let goes = entry.had_old && entry.action != Action::Put;
            return if goes { self.fs.remove_file(&target) } else { Ok(()) };
        }
        let beside = self.hidden_sibling(entry, number, "old");
        let is_placed = entry.action.has_staged() && !is_there(&staged(&self.staging, number));
        let is_aside = is_there(&self.set_aside_path(number)) || is_there(&beside);
        if !entry.had_old || is_placed || is_aside || !is_there(&target) {
            return Ok(());
        }
        // A replaced file stays in place until then, for processes that read it. Not all file systems have hard links.
        if entry.action == Action::Put && self.fs.raw_link(&target, &self.set_aside_path(number)).is_ok() {
            return Ok(());
        }
        if !rename_here(self.fs, &target, &self.set_aside_path(number))? {
            self.fs.rename(&target, &beside)?;
        }
        Ok(())
    }

    fn install(&mut self, number: usize, entry: &Entry, placed: &mut dyn FnMut()) -> Outcome<()> {
        if entry.action.has_staged() {
            if self.place(number, entry)? {
                self.copied.insert(number);
            }
            placed();
        }
        Ok(())
    }

    /// Moves a staged file to its target, and returns whether it was copied to another file system.
    fn place(&self, number: usize, entry: &Entry) -> Outcome<bool> {
        let from = staged(&self.staging, number);
        let target = self.target(entry);
        let record = staged_record(&self.staging, number);
        if is_there(&record) {
            return complete(&target, &record).map(|()| false);
        }
        if !is_there(&from) {
            return if is_there(&target) { Ok(false) } else { Err(missing_file(&target)) };
        }
        if let Some(url) = RemoteUrl::parse(&target) {
            return put(&target, &url, Content::File(&open_any(&from)?)).map(|()| false);
        }
        if rename_here(self.fs, &from, &target)? {
            return Ok(false);
        }
        // The target is on another file system: the staged file is kept until the end, so that this step can be repeated.
        let beside = self.hidden_sibling(entry, number, "new");
        self.fs.remove_file(&beside)?;
        self.fs.copy_file(&from, &beside)?;
        self.fs.rename(&beside, &target)?;
        Ok(true)
    }

    /// Replaces a file that has the version of its entry, and returns whether it has, or was replaced before.
    fn place_version(&mut self, number: usize, entry: &Entry, placed: &mut dyn FnMut()) -> Outcome<bool> {
        let (target, from) = (self.target(entry), staged(&self.staging, number));
        let version = entry.version.flatten();
        let is_placed = || Ok::<_, Failure>(is_there(&target) && open_any(&from)?.is_same_as(&open_any(&target)?)?);
        if let (Some(url), true) = (RemoteUrl::parse(&target), is_there(&from)) {
            let condition = version.map_or(Condition::IfAbsent, Condition::IfStamp);
            let is_put = put_if(&target, &url, Content::File(&open_any(&from)?), condition)? || is_placed()?;
            if is_put {
                placed();
            }
            return Ok(is_put);
        }
        let is_aside = || {
            [self.set_aside_path(number), self.hidden_sibling(entry, number, "old")].iter().any(|path| is_there(path))
        };
        let is_version = match metadata(&target) {
            Ok(info) => version == Some(info.stamp),
            Err(_) => version.is_none() || is_aside(),
        };
        let may_place = is_version || !is_there(&from) || is_placed()?;
        if may_place {
            self.move_aside(number, entry)?;
            self.install(number, entry, placed)?;
        }
        Ok(may_place)
    }

    /// Reads the objects that [`forward`](Self::forward) removes first, so that they can be restored.
    fn read_all(&self, entries: &[(usize, &Entry)]) -> Outcome<Vec<(PathBuf, Vec<u8>)>> {
        let targets = entries.iter().filter(|(_, entry)| entry.had_old).map(|(_, entry)| self.target(entry));
        let read = |path: PathBuf| Ok(read_whole(&path, MAX_COMMIT_BYTES)?.map(|bytes| (path, bytes)));
        targets.filter(|target| is_remote(target)).filter_map(|path| read(path).transpose()).collect()
    }

    fn take_out(&self, number: usize, entry: &Entry) -> Outcome<()> {
        if !entry.action.has_staged() {
            return Ok(());
        }
        let from = staged(&self.staging, number);
        let target = self.target(entry);
        if self.copied.contains(&number) {
            return self.fs.remove_file(&target);
        }
        let beside = self.hidden_sibling(entry, number, "new");
        if is_there(&beside) {
            self.fs.remove_file(&beside)?;
        }
        if is_there(&from) || !is_there(&target) {
            return Ok(());
        }
        self.fs.rename(&target, &from)
    }

    fn restore(&self, number: usize, entry: &Entry) -> Outcome<()> {
        for aside in [self.set_aside_path(number), self.hidden_sibling(entry, number, "old")] {
            if is_there(&aside) {
                return self.fs.rename(&aside, &self.target(entry));
            }
        }
        Ok(())
    }

    /// Makes the names in the targets' folders durable, and those in the staging folder that the files came from.
    fn sync_folders(&self, entries: &[(usize, &Entry)]) -> Outcome<()> {
        let targets: Vec<PathBuf> = entries.iter().map(|(_, entry)| self.target(entry)).collect();
        let folders: BTreeSet<&Path> = targets.iter().map(|target| parent_of(target)).collect();
        for folder in folders {
            self.fs.sync_dir(folder)?;
        }
        if self.staging.is_dir() {
            self.fs.sync_dir(&self.staging)?;
        }
        Ok(())
    }
}

/// Creates the failure for a file that another program has written to since it was read.
pub(super) fn changed(target: &Path) -> Failure {
    Failure::environment("publishing", "it was changed by another program after this run had read it")
        .of_kind(ProblemKind::ChangedDuringScan)
        .on(Subject::path(target))
        .with_hint("run the same command again: it starts from the new version")
}

/// Creates the failure for a file that is neither staged nor in place, because another process removed it.
fn missing_file(target: &Path) -> Failure {
    Failure::data("finishing an interrupted publication", "the new file is missing in the work folder")
        .on(Subject::path(target))
        .with_hint("the data set reads as unprepared; prepare it again")
}
