//! Makes files visible: a single file atomically, a set of files as a unit.
//!
//! A set is staged durably in the own folder. Then its rename list is written, and only then are files moved: the commit file of an earlier
//! set is removed, the others are replaced in order, and the commit file is put in place last. A kill leaves the old set, the new one, or
//! one without commit file that [`recover`] finishes. After an error, moved files are moved back.
//!
//! A store has no renames: staged files are copied into it, and kept until the end. Copies cannot be undone: after an error the list
//! remains, and the next run finishes the publication.

mod apply;
mod list;
pub(crate) mod record;
mod single;

pub use single::{place_file, place_version, replace_file, replace_version, write_file};

use super::files::{fetch_listing_during, metadata, symlink_metadata};
use super::fs::{BufferedFile, Fs};
use super::identity::unique;
use super::listing::{infos_below, known_infos};
use super::location::{is_remote, RemoteUrl};
use super::lock::{check_before_release, DatasetLock};
use super::read::{open_read, read_whole};
use super::release::remove_or_release;
use super::run_folder::RunFolder;
use super::store::{Condition, Content};
use super::waiting::do_during;
use apply::{is_there, Renamer};
use gristmill_core::problem::Subject;
use gristmill_core::{Cancel, ExitClass, Failure, FileStamp, Outcome, Progress};
use list::{Action, Entry, RenameList, State};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Prefix of the names of temporary files in the own folder.
pub(super) const TEMPORARY: &str = "tmp-";
/// Buffer size in bytes for a file that is written piece by piece.
const BUFFER_BYTES: usize = 64 << 10;
/// Permission bits of the rename list: another user may run `lint`.
const LIST_MODE: u32 = 0o644;
/// Maximum size of the object that identifies a publish, in bytes.
const MAX_MARKER_BYTES: u64 = 1 << 10;

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Result of finishing an earlier, interrupted publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolledForward {
    /// The files that are in place now, relative to the root if they are below it; raw.
    pub files: Vec<String>,
}

/// Versions of targets, `None` for no file, by the positions of their entries.
type Versions = HashMap<usize, Option<FileStamp>>;

/// A set of files that becomes visible as a unit. Leaves no trace if dropped without [`commit`](Self::commit).
pub struct Publication<'a> {
    fs: &'a dyn Fs,
    root: PathBuf,
    run_folder: &'a RunFolder,
    staging: PathBuf,
    /// Targets as absolute paths, in the order in which they are put in place. The name of a staged file is its position.
    entries: Vec<(Action, PathBuf)>,
    /// By the position of an entry, the version that its target must have.
    versions: Versions,
    /// Targets that make a set visible by themselves.
    last: HashSet<PathBuf>,
    counter: Counter<'a>,
    /// The lock that must still be held when files begin to move, and the name of the step in the error.
    lock: Option<(&'a DatasetLock, &'a str)>,
    /// Work for the time in which files are sent to a store.
    alongside: Option<Box<dyn FnOnce() + Send + 'a>>,
    /// A folder whose entries are listed at the end.
    listed_folder: Option<PathBuf>,
    /// Whether the rename list, and no longer this value, determines what happens to the staging folder.
    is_settled: bool,
}

impl<'a> Publication<'a> {
    /// Starts a set, after finishing an earlier one that was interrupted. The caller holds the data set's lock.
    pub fn begin(fs: &'a dyn Fs, root: &Path, own: &'a RunFolder) -> Outcome<Self> {
        own.create(fs)?;
        recover(fs, root, own)?;
        let staging = staging_of(own);
        fs.create_dir(&staging, super::fs::PRIVATE_FOLDER)?;
        fs.sync_dir(parent_of(&staging))?;
        let counter = Counter::default();
        let (root, entries, versions) = (root.to_owned(), Vec::new(), Versions::new());
        Ok(Self {
            fs,
            root,
            run_folder: own,
            staging,
            entries,
            versions,
            last: HashSet::new(),
            counter,
            lock: None,
            alongside: None,
            listed_folder: None,
            is_settled: false,
        })
    }

    /// Checks before files begin to move that no other process has broken the lock. `what`: the name of the step in the error.
    pub fn with_lock(mut self, lock: &'a DatasetLock, what: &'a str) -> Self {
        self.lock = Some((lock, what));
        self
    }

    /// Does some work while files are put in place: requests that can wait for the store at the same time. The work is not done if the
    /// publication does not begin; if the process is killed during it, the next run finishes the publication.
    pub fn with_work(mut self, work: impl FnOnce() + Send + 'a) -> Self {
        self.alongside = Some(Box::new(work));
        self
    }

    /// Lists a folder while the last request of the publication is pending.
    pub fn with_listing(mut self, folder: &Path) -> Self {
        self.listed_folder = Some(folder.to_owned());
        self
    }

    /// Counts the files in a separate progress. `files` is the expected number of files, as far as it is known.
    pub fn counting(mut self, progress: &'a Progress, files: u64) -> Self {
        progress.expect(files, 0);
        self.counter = Counter { progress: Some(progress), ..Counter::default() };
        self
    }

    /// Adds a file with this content. `target` is absolute, and its folder exists; a symbolic link at `target` is replaced, not followed.
    pub fn stage_bytes(&mut self, target: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
        self.stage(Action::Put, target, |fs, path| {
            let mut file = fs.create_file(path)?;
            file.write_all(bytes)?;
            file.set_mode(mode)?;
            file.start_sync();
            file.close()?;
            Ok(())
        })
    }

    /// Like [`stage_bytes`](Self::stage_bytes), but `write` writes the content piece by piece.
    pub fn stage_written(
        &mut self,
        target: &Path,
        mode: u32,
        write: impl FnOnce(&mut BufferedFile) -> Outcome<()>,
    ) -> Outcome<()> {
        self.stage(Action::Put, target, |fs, path| {
            let mut file = fs.create_file(path)?;
            file.set_mode(mode)?;
            let mut file = BufferedFile::new(file, BUFFER_BYTES);
            write(&mut file)?;
            file.close()?;
            Ok(())
        })
    }

    /// Permits that the file that was staged last replaces this version only, `None` for no file: if another program has written to it since
    /// it was read, [`commit`](Self::commit) fails and changes nothing, and [`recover`] gives the publication up. On this machine, the versions are
    /// compared before the file is moved; a store compares them as it writes.
    pub fn replace_only(&mut self, version: Option<FileStamp>) {
        self.versions.insert(self.entries.len().saturating_sub(1), version);
    }

    /// Adds a file that is already written. It may remain at its old path as a second name of the same bytes, so it must no longer be
    /// written to; from another file system it is copied.
    pub fn stage_file(&mut self, target: &Path, already_written: PathBuf, mode: u32) -> Outcome<()> {
        self.stage(Action::Put, target, |fs, path| {
            fs.hard_link_or_copy(&already_written, path)?;
            fs.set_mode(path, mode)
        })
    }

    /// Adds an object that was uploaded before, by its record. The record stays where it is and must no longer be written to.
    pub fn stage_upload(&mut self, target: &Path, record: &Path) -> Outcome<()> {
        let path = apply::staged_record(&self.staging, self.entries.len());
        self.stage(Action::Put, target, |fs, _| fs.hard_link_or_copy(record, &path))
    }

    /// Adds the current file at `target` as `backup`, replacing an earlier backup. A missing `target` is not an error.
    pub fn keep_backup(&mut self, target: &Path, backup: &Path) -> Outcome<()> {
        if !is_there(target) {
            return Ok(());
        }
        self.stage(Action::Put, backup, |fs, path| fs.hard_link_or_copy(target, path))
    }

    /// Adds the removal of a file. A missing file is not an error.
    pub fn remove(&mut self, target: &Path) -> Outcome<()> {
        self.entries.push((Action::Remove, target.to_owned()));
        Ok(())
    }

    /// Marks another file of this set, staged before the commit file or to be removed, that makes a set visible by itself: like the commit
    /// file, it is absent while files move.
    pub fn mark_last(&mut self, target: &Path) {
        self.last.insert(target.to_owned());
    }

    /// Whether every file already exists exactly as it was staged, byte for byte, and none of the files to remove exists: then there is
    /// nothing to publish.
    pub fn changes_nothing(&self) -> Outcome<bool> {
        for (number, (action, target)) in self.entries.iter().enumerate() {
            if !action.has_staged() {
                match is_there(target) {
                    true => return Ok(false),
                    false => continue,
                }
            }
            if is_there(&apply::staged_record(&self.staging, number)) {
                return Ok(false);
            }
            let is_file = symlink_metadata(target).is_ok_and(|info| info.is_file());
            // A file that cannot be read counts as different.
            let Some(old) = is_file.then(|| open_read(target).ok()).flatten() else { return Ok(false) };
            if !open_read(&apply::staged(&self.staging, number))?.is_same_as(&old)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes everything visible. `commit_target` is the file without which the set counts as missing: it is removed first and put in place
    /// last. If it is not staged but exists on disk, it is restored unchanged.
    ///
    /// After an error everything is as before; if even that was impossible, [`recover`] finishes the publish.
    pub fn commit(mut self, commit_target: &Path) -> Outcome<()> {
        let is_staged = self.entries.iter().any(|(action, target)| target == commit_target && action.has_staged());
        if !is_staged {
            self.keep_backup(commit_target, commit_target)?;
        }
        self.mark_last(commit_target);
        let list = self.list(commit_target)?;
        self.counter.expect(self.entries.iter().filter(|(action, _)| action.has_staged()).count() as u64);
        self.sync_staged()?;
        // From here on the list determines what happens to the staging folder, and cancelling would leave an incomplete set.
        let _whole = Cancel::default().begin_wait_scope();
        self.is_settled = true;
        let mut mover = Renamer::new(self.fs, self.run_folder, &self.root, &list);
        let written = write_list(self.fs, self.run_folder, &list);
        let checked =
            if written.is_ok() { self.check_and_mark(&list) } else { PublishCheck { lock: Ok(()), mark: Ok(()) } };
        if let Err(failure) = checked.lock {
            self.give_up(&list);
            return Err(failure);
        }
        let (counter, alongside) = (&mut self.counter, self.alongside.take());
        let mut forward = || mover.forward(&mut || counter.add(Counter::INSTALLED_TENTHS));
        let moved = written
            .and(checked.mark)
            .and_then(|()| match alongside {
                Some(work) => do_during(work, forward),
                None => forward(),
            })
            .and_then(|()| self.finish(&mover));
        match moved {
            Ok(()) => {
                if self.fs.sync_dir(self.run_folder.path()).is_ok() {
                    // Leftovers in the own folder are removed by the next recovery.
                    let _ = self.fs.remove_dir_all(&self.staging);
                }
                Ok(())
            }
            Err(failure) => Err(self.undo(&mover, failure)),
        }
    }

    /// Checks the lock, and marks the publish as begun. In a store, both requests are sent at once: the mark of another process that has
    /// broken the lock is not replaced, and that of this process is removed again.
    fn check_and_mark(&self, list: &RenameList) -> PublishCheck {
        let check = || self.lock.map_or(Ok(()), |(lock, what)| lock.check(what));
        let path = marker(self.run_folder);
        let Some(url) = RemoteUrl::parse(&path).filter(|_| self.lock.is_some()) else {
            let lock = check();
            let mark = if lock.is_ok() { mark_begun(self.fs, self.run_folder, list) } else { Ok(()) };
            return PublishCheck { lock, mark };
        };
        let mut is_marked = None;
        let put =
            || is_marked = single::put_if(&path, &url, Content::Bytes(list.id.as_bytes()), Condition::IfAbsent).ok();
        let lock = do_during(put, check);
        let mark = match is_marked {
            Some(true) => Ok(()),
            // There is the mark of an earlier run, or the condition is not permitted.
            _ if lock.is_ok() => mark_begun(self.fs, self.run_folder, list),
            _ => Ok(()),
        };
        PublishCheck { lock, mark }
    }

    /// Removes everything of a publish that has not begun to move files.
    fn give_up(&self, list: &RenameList) {
        // The next recovery removes what cannot be removed now.
        if is_remote(self.run_folder.shown()) && begun(self.run_folder).is_ok_and(|id| id.as_deref() == Some(&*list.id))
        {
            let _ = remove_or_release(self.fs, &marker(self.run_folder), Condition::Always);
        }
        let _ = self.fs.remove_file(&self.run_folder.renames());
        let _ = self.fs.remove_dir_all(&self.staging);
    }

    /// Ends a publish whose files are all in place. In a store, a folder is listed at the same time, for later queries.
    fn finish(&self, mover: &Renamer<'_>) -> Outcome<()> {
        let finish = || match &self.listed_folder {
            Some(folder) => fetch_listing_during(folder, || mover.finish()),
            None => mover.finish(),
        };
        match is_remote(self.run_folder.shown()) {
            true => do_during(|| check_before_release(self.run_folder), finish),
            false => finish(),
        }
    }

    fn undo(&self, mover: &Renamer<'_>, failure: Failure) -> Failure {
        if is_remote(&self.root) && failure.class == ExitClass::Data {
            // The publish can never be finished. If the list remains, the next run reports that.
            let _ = self.fs.remove_file(&self.run_folder.renames());
            return failure;
        }
        if is_remote(&self.root) && !mover.has_changed && failure.kind.is_some() {
            // The store refused the first removal, so everything is as before. If the list remains, the next run tries it again.
            if remove_or_release(self.fs, &marker(self.run_folder), Condition::Always).is_ok() {
                let _ = self.fs.remove_file(&self.run_folder.renames());
                let _ = self.fs.remove_dir_all(&self.staging);
            }
            return failure;
        }
        if is_remote(&self.root) {
            return failure.with_further_hint("run the same command again: it finishes the publish");
        }
        let undone = mover
            .backward()
            .and_then(|()| self.fs.remove_file(&self.run_folder.renames()))
            .and_then(|()| self.fs.sync_dir(self.run_folder.path()));
        match undone {
            Err(_) if is_there(&self.run_folder.renames()) => failure
                .with_hint("the publication was interrupted; the next run of gristmill on this data set finishes it"),
            _ => {
                let _ = self.fs.remove_dir_all(&self.staging);
                failure
            }
        }
    }

    fn list(&self, commit_target: &Path) -> Outcome<RenameList> {
        let mut entries = Vec::with_capacity(self.entries.len());
        let remote: Vec<PathBuf> =
            self.entries.iter().map(|(_, target)| target.clone()).filter(|t| is_remote(t)).collect();
        let infos = known_infos(&remote).map_or_else(|| infos_below(&self.root, &remote), Ok);
        let infos = infos.map_err(|error| Failure::io("publishing", &self.root, &error))?;
        let mut infos = infos.into_iter();
        for (number, (action, target)) in self.entries.iter().enumerate() {
            let old = match is_remote(target) {
                true => infos.next().flatten(),
                false => symlink_metadata(target).ok(),
            };
            // In a store, a key may also be a prefix of other keys.
            if old.is_some_and(|info| info.is_dir()) && !is_remote(target) {
                let why = "there is a folder of that name";
                return Err(Failure::new(ExitClass::Environment, "publishing", why).on(Subject::path(target)));
            }
            // Reads follow links, so the version is that of the file that a link leads to.
            let now = || if is_remote(target) { old } else { metadata(target).ok() };
            if self.versions.get(&number).is_some_and(|version| *version != now().map(|info| info.stamp)) {
                return Err(apply::changed(target));
            }
            let target_text = list::listed_path(&self.root, target);
            let action = match self.last.contains(target) {
                true if action.has_staged() => Action::Last,
                true => Action::Hide,
                false => *action,
            };
            entries.push(Entry {
                action,
                had_old: old.is_some_and(|info| !info.is_dir()),
                target: target_text,
                version: self.versions.get(&number).copied(),
            });
        }
        if !entries.iter().any(|entry| entry.action == Action::Last) {
            let why = "the file that completes the set was not staged";
            return Err(Failure::environment("publishing", why).on(Subject::path(commit_target)));
        }
        Ok(RenameList { state: State::Moving, id: unique(), entries })
    }

    /// Makes all staged files durable, together and after the last one has been written: most of them then wait for the same write-out.
    fn sync_staged(&mut self) -> Outcome<()> {
        for (number, (action, _)) in self.entries.iter().enumerate() {
            let path = apply::staged_any(&self.staging, number);
            // A backup may be a symbolic link, which has no content of its own.
            if action.has_staged() && !path.is_symlink() {
                self.fs.sync_file(&path)?;
            }
            if action.has_staged() {
                self.counter.add(Counter::SYNCED_TENTHS);
            }
        }
        self.fs.sync_dir(&self.staging)
    }

    /// Creates the next staged file and adds its entry.
    fn stage(
        &mut self,
        action: Action,
        target: &Path,
        make: impl FnOnce(&dyn Fs, &Path) -> Outcome<()>,
    ) -> Outcome<()> {
        let path = apply::staged(&self.staging, self.entries.len());
        if let Err(failure) = make(self.fs, &path) {
            let _ = self.fs.remove_file(&path);
            return Err(failure);
        }
        self.entries.push((action, target.to_owned()));
        self.counter.add(Counter::STAGED_TENTHS);
        Ok(())
    }
}

/// Results of the requests before files begin to move.
struct PublishCheck {
    /// Whether the lock is held.
    lock: Outcome<()>,
    /// Whether the publish is marked as begun.
    mark: Outcome<()>,
}

/// Counts files in a progress by the work done for each, in tenths.
#[derive(Default)]
struct Counter<'a> {
    progress: Option<&'a Progress>,
    tenths: u64,
    counted: u64,
}

impl Counter<'_> {
    /// Tenths of a file for each step. Waiting for the disk takes nearly all the time.
    const STAGED_TENTHS: u64 = 1;
    const SYNCED_TENTHS: u64 = 8;
    const INSTALLED_TENTHS: u64 = 1;

    fn expect(&self, files: u64) {
        if let Some(progress) = self.progress {
            progress.expect(files, 0);
        }
    }

    fn add(&mut self, tenths: u64) {
        let Some(progress) = self.progress else { return };
        self.tenths += tenths;
        let files = self.tenths / 10;
        progress.add(files - self.counted, 0);
        self.counted = files;
    }
}

impl Drop for Publication<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            let _ = self.fs.remove_dir_all(&self.staging);
        }
    }
}

/// Finishes an interrupted publish, and removes the leftovers of one that had not started to move files. Does nothing if there are none;
/// may itself be interrupted. The caller holds the data set's lock.
pub fn recover(fs: &dyn Fs, root: &Path, own: &RunFolder) -> Outcome<Option<RolledForward>> {
    if !own.exists() {
        return Ok(None);
    }
    let _whole = Cancel::default().begin_wait_scope();
    let Some(list) = RenameList::read(own)? else {
        remove_leftovers(fs, own)?;
        return Ok(None);
    };
    if is_remote(root) && begun(own)?.as_deref() != Some(&*list.id) {
        // The publish has not started, or it is over, or a run on another machine has published since.
        fs.remove_file(&own.renames())?;
        remove_leftovers(fs, own)?;
        return Ok(None);
    }
    let mut mover = Renamer::new(fs, own, root, &list);
    if list.state == State::Moving {
        if let Err(failure) = mover.forward(&mut || {}) {
            if failure.class == ExitClass::Data || mover.is_outdated {
                // The publish can never be finished. The commit file is absent, so the set reads as unprepared. The list is removed, so the
                // failure is reported once.
                fs.remove_file(&own.renames())?;
            }
            return Err(failure);
        }
    }
    mover.finish()?;
    fs.sync_dir(own.path())?;
    if !is_there(&own.renames()) {
        remove_leftovers(fs, own)?;
    }
    Ok(Some(RolledForward { files: list.names() }))
}

/// Returns the names of the files that [`recover`] would finish; only reads. For `lint`.
pub fn pending(own: &RunFolder) -> Outcome<Option<Vec<String>>> {
    let list = RenameList::read(own)?;
    Ok(list.filter(|list| list.state == State::Moving).map(|list| list.names()))
}

/// Like [`recover`], for commands that do not lock the data set themselves: does nothing while another process holds the lock, because the
/// publish is then running, not interrupted. Fails if the data set is not writable; a command that only reads may continue with a warning,
/// because the set reads as unprepared or as complete.
pub fn recover_at_start(fs: &dyn Fs, root: &Path, own: &RunFolder) -> Outcome<Option<RolledForward>> {
    if !is_there(&own.renames()) || super::lock::DatasetLock::holder(own)?.is_some() {
        return Ok(None);
    }
    let _lock = super::lock::DatasetLock::acquire(fs, own, false)?;
    recover(fs, root, own)
}

fn staging_of(own: &RunFolder) -> PathBuf {
    own.work_folder().join("publish")
}

/// Returns the path of the object that identifies the publish that is changing a store: the list is on one machine only.
fn marker(own: &RunFolder) -> PathBuf {
    own.shown().join("publishing")
}

fn mark_begun(fs: &dyn Fs, own: &RunFolder, list: &RenameList) -> Outcome<()> {
    match is_remote(own.shown()) {
        true => write_file(fs, &marker(own), list.id.as_bytes(), LIST_MODE),
        false => Ok(()),
    }
}

/// Returns the id of the publish that is changing a store.
fn begun(own: &RunFolder) -> Outcome<Option<String>> {
    let bytes = read_whole(&marker(own), MAX_MARKER_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn write_list(fs: &dyn Fs, own: &RunFolder, list: &RenameList) -> Outcome<()> {
    replace_file(fs, own, &own.renames(), list.to_text().as_bytes(), LIST_MODE)
}

fn remove_leftovers(fs: &dyn Fs, own: &RunFolder) -> Outcome<()> {
    fs.remove_dir_all(&staging_of(own))?;
    let entries =
        std::fs::read_dir(own.path()).map_err(|error| Failure::io("reading the folder", own.path(), &error))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs.remove_file(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
