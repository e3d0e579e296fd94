//! Copies a file to another path, on this machine or in a store, where it becomes visible as a whole.

use super::content_check::RunningCheck;
use super::files::{read_dir, symlink_metadata};
use super::files_ahead::forget;
use super::fs::Fs;
use super::identity::unique;
use super::identity::ProcessIdentity;
use super::location::{is_remote, RemoteUrl};
use super::publish::place_file;
use super::read::{open_any, open_in_order, ReadFile};
use super::store::{Condition, Content, RangeRead, WatchBytes};
use super::stores::store_of;
use gristmill_core::problem::ProblemKind;
use gristmill_core::{Failure, FileStamp, Mutex, Outcome, Subject};
use std::io;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

const ACTIVITY: &str = "copying";
/// Number of bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Permission bits that a copy gets from its source, without setuid and setgid, and the bits that it always has.
const MODE_BITS: u32 = 0o777;
const OWNER_MODE: u32 = 0o600;
/// Maximum numbers of bytes in memory for an object that is read, and for one that is put.
const MAX_READ_BYTES: u64 = 40 << 20;
const MAX_PUT_BYTES: u64 = 80 << 20;

/// Why a file was not copied.
#[derive(Debug)]
pub enum CopyFailure {
    /// The reason concerns this file: it cannot be read, or has changed during the copy.
    ThisFile(Failure),
    /// The reason concerns the other files, too.
    AllFiles(Failure),
}

/// Returns the maximum memory that [`copy_file`] needs, in bytes.
pub fn copy_memory(from: &Path, to: &Path, bytes: u64) -> u64 {
    let of_side = |path: &Path, most: u64| if is_remote(path) { most.min(bytes) } else { 0 };
    CHUNK_BYTES as u64 + of_side(from, MAX_READ_BYTES) + of_side(to, MAX_PUT_BYTES)
}

/// Copies an object within its store, replacing an existing one. Returns whether the store supports this; if not, nothing has changed.
/// `watch` is called with the number of bytes of each step, and may end the copy.
pub fn copy_in_store(from: &Path, to: &Path, watch: &WatchBytes) -> Result<bool, CopyFailure> {
    let (Some(source), Some(target)) = (RemoteUrl::parse(from), RemoteUrl::parse(to)) else { return Ok(false) };
    if source.scheme.usual != target.scheme.usual {
        return Ok(false);
    }
    forget(&target.to_path());
    store_of(&target).and_then(|store| store.copy(&source, &target, watch)).map_err(|error| {
        let failure = Failure::io(ACTIVITY, from, &error);
        match failure.kind {
            Some(ProblemKind::ChangedDuringScan) => CopyFailure::ThisFile(failure),
            _ => CopyFailure::AllFiles(failure),
        }
    })
}

/// Copies a file of about this size to another path, where it replaces an existing one. `drafts` is the folder of unfinished files, for
/// targets on this machine; the folder of the target exists. `watch` is called with the number of bytes of each read, and may end the copy.
/// An unfinished file of the same version, left by another process, is continued; after a failure that does not concern this file, it is
/// kept. An object is compared with the checksum of its store, if there is one, and fetched again once if it differs.
pub fn copy_file(
    fs: &dyn Fs,
    from: (&Path, u64),
    to: &Path,
    drafts: &Path,
    watch: &Arc<WatchBytes>,
) -> Result<(), CopyFailure> {
    let mut sum = None;
    match copy_once(fs, from, (to, drafts), watch, &mut sum) {
        Err(CopyFailure::ThisFile(failure)) if is_mismatch(&failure) => {
            let watch = Arc::clone(watch);
            // Its bytes are already counted.
            let uncounted: Arc<WatchBytes> = Arc::new(move |_| watch(0));
            copy_once(fs, from, (to, drafts), &uncounted, &mut sum)
        }
        copied => copied,
    }
}

/// Copies a file once. `sum` is the unconfirmed sum of the content when it was read before; it is replaced by that of this read.
fn copy_once(
    fs: &dyn Fs,
    (from, bytes): (&Path, u64),
    (to, drafts): (&Path, &Path),
    watch: &Arc<WatchBytes>,
    sum: &mut Option<Vec<u8>>,
) -> Result<(), CopyFailure> {
    let check = RemoteUrl::parse(from).and_then(|url| store_of(&url).ok()?.begin_check(&url));
    let file = open_in_order(from, bytes).map_err(|failure| of_source(from, failure))?;
    let failed = Arc::new(Mutex::new(None));
    let info = file.info();
    let draft = &drafts.join(draft_name(from, to, info.stamp));
    let check = Arc::new(Mutex::new(RunningCheck::of(check, info.stamp, sum.take())));
    let reader =
        SourceReader { file, watch: Arc::clone(watch), check: Arc::clone(&check), failed: Arc::clone(&failed) };
    let source = ReadFile::of_ranges(from, info, Box::new(reader));
    let written = match RemoteUrl::parse(to) {
        Some(url) => store_of(&url)
            .and_then(|store| {
                forget(&url.to_path());
                store.put(&url, Content::UnlockedFile(&source), Condition::Always)
            })
            .map_err(|error| Failure::io("writing", to, &error))
            .map(drop),
        None => write_draft(fs, (&source, &check), draft, watch)
            .and_then(|()| place_file(fs, draft, to, source.mode() & MODE_BITS | OWNER_MODE)),
    };
    *sum = check.lock().unconfirmed_sum();
    let failure = match written {
        Ok(()) => return Ok(()),
        Err(failure) if is_mismatch(&failure) => of_source(from, failure),
        Err(failure) => match failed.lock().take() {
            Some(failure) => of_source(from, failure),
            None => CopyFailure::AllFiles(failure),
        },
    };
    if !is_remote(to) && matches!(failure, CopyFailure::ThisFile(_)) {
        // The failure that is being returned is more useful than one of the cleanup.
        let _ = fs.remove_file(draft);
    }
    Err(failure)
}

/// Returns the name of the unfinished copy of a version of a file. The name changes with a reboot, because the content of the file may be
/// lost.
fn draft_name(from: &Path, to: &Path, stamp: FileStamp) -> String {
    // Only writable stores identify each version of an object uniquely; a modification time is not enough.
    let has_versions = RemoteUrl::parse(from).is_some_and(|url| url.scheme.is_writable);
    let boot = Some(ProcessIdentity::current().boot).filter(|boot| !boot.is_empty() && has_versions);
    let boot = boot.unwrap_or_else(unique);
    let version = (stamp.bytes, stamp.modified_ns, stamp.inode);
    format!("{}{:032x}", draft_prefix(from, to), xxh3_128(format!("{version:?} {boot}").as_bytes()))
}

/// Returns the prefix of the names of the unfinished copies of a file.
pub fn draft_prefix(from: &Path, to: &Path) -> String {
    format!("copy-{:032x}-", xxh3_128(format!("{from:?} {to:?}").as_bytes()))
}

/// Returns the failure of a source. A store that refuses one object may permit others; an unreachable store permits none.
fn of_source(from: &Path, failure: Failure) -> CopyFailure {
    let is_of_file = !is_remote(from) || failure.kind.is_some() || failure.is_missing();
    match is_of_file && !failure.is_cancelled() {
        true => CopyFailure::ThisFile(failure),
        false => CopyFailure::AllFiles(failure),
    }
}

fn write_draft(
    fs: &dyn Fs,
    (source, check): (&ReadFile, &Mutex<RunningCheck>),
    draft: &Path,
    watch: &Arc<WatchBytes>,
) -> Outcome<()> {
    let left = symlink_metadata(draft).map_or(0, |info| info.len());
    let is_resumed = left > 0 && left <= source.len();
    let mut file = match is_resumed {
        true => {
            watch(left).map_err(|error| Failure::io("reading", source.path(), &error))?;
            check_draft(source.path(), check, draft)?;
            fs.reopen_file(draft, left)?
        }
        false => {
            // Unfinished copies of other versions are useless.
            let name = draft.file_name().unwrap_or_default().to_string_lossy();
            let prefix = name.rsplit_once('-').map_or(&*name, |(prefix, _)| prefix);
            let drafts = read_dir(draft.parent().unwrap_or(draft)).into_iter().flatten().flatten();
            for old in drafts.filter(|old| old.file_name().to_string_lossy().starts_with(prefix)) {
                fs.remove_file(old.path())?;
            }
            fs.create_file(draft)?
        }
    };
    let (mut buffer, mut at) = (vec![0; CHUNK_BYTES], file.len());
    loop {
        let count = source.read_at(&mut buffer, at).map_err(|error| Failure::io("reading", source.path(), &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        file.write_all(bytes)?;
        at += count as u64;
    }
    file.close()?;
    Ok(())
}

/// Adds the bytes of an unfinished copy to the check of its source.
fn check_draft(from: &Path, check: &Mutex<RunningCheck>, draft: &Path) -> Outcome<()> {
    let mut check = check.lock();
    if !check.is_active() {
        return Ok(());
    }
    let (file, mut buffer, mut at) = (open_any(draft)?, vec![0; CHUNK_BYTES], 0);
    loop {
        let count = file.read_at(&mut buffer, at).map_err(|error| Failure::io("reading", draft, &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        if !check.add(bytes, at) {
            return Err(content_mismatch(from));
        }
        at += count as u64;
    }
}

/// Whether a failure is that of [`content_mismatch`].
fn is_mismatch(failure: &Failure) -> bool {
    failure.kind == Some(ProblemKind::ContentMismatch)
}

/// Returns the failure for an object whose content was read with another checksum than that of its store.
fn content_mismatch(path: &Path) -> Failure {
    Failure::environment("reading", "its content does not have the checksum of the store")
        .of_kind(ProblemKind::ContentMismatch)
        .on(Subject::path(path))
        .with_hint("the network, a proxy or the store changes the content; run the same command again")
}

/// A file that a copy reads, all of one version.
struct SourceReader {
    file: ReadFile,
    watch: Arc<WatchBytes>,
    check: Arc<Mutex<RunningCheck>>,
    /// The first failure of a read.
    failed: Arc<Mutex<Option<Failure>>>,
}

impl SourceReader {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Outcome<()> {
        let path = self.file.path();
        let failed = |error: io::Error| Failure::io("reading", path, &error);
        let read = self.file.read_exact_at(buffer, offset);
        let is_short = matches!(&read, Err(error) if error.kind() == io::ErrorKind::UnexpectedEof);
        let is_last = offset + buffer.len() as u64 == self.file.len();
        if is_short || is_last && self.file.stamp().map_err(failed)? != self.file.info().stamp {
            let failure = Failure::environment("reading", "it changed while it was read");
            let failure = failure.of_kind(ProblemKind::ChangedDuringScan).on(Subject::path(path));
            return Err(failure.with_hint("wait until nothing writes it, and run the same command again"));
        }
        read.and_then(|()| (self.watch)(buffer.len() as u64)).map_err(failed)?;
        match self.check.lock().add(buffer, offset) {
            true => Ok(()),
            false => Err(content_mismatch(path)),
        }
    }
}

impl RangeRead for SourceReader {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset).map_err(|failure| {
            let error = failure.clone().into_io();
            self.failed.lock().get_or_insert(failure);
            error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::RealFs;
    use crate::memory_store::put;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn copy(from: &Path, to: &Path, drafts: &Path) -> Result<u64, CopyFailure> {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let watch: Arc<WatchBytes> = Arc::new(move |bytes| {
            counted.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        });
        copy_file(&RealFs, (from, 0), to, drafts, &watch).map(|()| count.load(Ordering::Relaxed))
    }

    #[test]
    fn files_and_objects_are_copied_in_every_direction() {
        let dir = tempfile::tempdir().unwrap();
        let (local, back, drafts) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("drafts"));
        std::fs::create_dir(&drafts).unwrap();
        for bytes in [Vec::new(), vec![7; 3 * CHUNK_BYTES + 5]] {
            std::fs::write(&local, &bytes).unwrap();
            let size = bytes.len() as u64;
            let (one, two) = (Path::new("mem://transfer/one"), Path::new("mem://transfer/two"));
            for (from, to) in
                [(local.as_path(), one), (one, two), (two, back.as_path()), (&back, &dir.path().join("c"))]
            {
                assert_eq!(copy(from, to, &drafts).unwrap(), size, "{}", to.display());
                assert!(crate::files::read(to).unwrap() == bytes, "{}", to.display());
            }
            assert_eq!(std::fs::read_dir(&drafts).unwrap().count(), 0);
            assert!(!copy_in_store(one, two, &|_| Ok(())).unwrap(), "memory does not copy itself");
        }
    }

    #[test]
    fn permissions_are_copied_without_setuid_setgid_and_sticky_bits() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (local, to) = (dir.path().join("a"), dir.path().join("b"));
        for (mode, expected) in [(0o6755, 0o755), (0o440, 0o640), (0o1600, 0o600)] {
            std::fs::write(&local, b"x").unwrap();
            std::fs::set_permissions(&local, std::fs::Permissions::from_mode(mode)).unwrap();
            copy(&local, &to, dir.path()).unwrap();
            assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o7777, expected, "{mode:o}");
            std::fs::remove_file(&local).unwrap();
        }
    }

    #[test]
    fn unreadable_source_leaves_no_target() {
        let dir = tempfile::tempdir().unwrap();
        let local = dir.path().join("a");
        let missing = copy(Path::new("mem://transfer/missing"), &local, dir.path());
        assert!(matches!(missing, Err(CopyFailure::ThisFile(failure)) if failure.is_missing()));
        put(Path::new("mem://transfer/source"), &vec![1; 2 * CHUNK_BYTES]);
        let stop: Arc<WatchBytes> = Arc::new(|_| Err(Failure::cancelled().into_io()));
        let stopped = copy_file(&RealFs, (Path::new("mem://transfer/source"), 0), &local, dir.path(), &stop);
        assert!(matches!(stopped, Err(CopyFailure::AllFiles(failure)) if failure.is_cancelled()));
        assert!(!local.exists());
        let unwritable = copy(Path::new("mem://transfer/source"), &dir.path().join("no/folder"), dir.path());
        assert!(matches!(unwritable, Err(CopyFailure::AllFiles(_))));
    }

    #[test]
    fn copy_resumes_an_unfinished_file_of_the_same_version() {
        let dir = tempfile::tempdir().unwrap();
        let (source, to) = (Path::new("mem://transfer/resumed"), dir.path().join("a"));
        let mut content: Vec<u8> = (0..3 * CHUNK_BYTES + 5).map(|at| (at / 251) as u8).collect();
        put(source, &content);
        let counts = Arc::new(Mutex::new(Vec::new()));
        let copy_until = |most: u64| {
            counts.lock().clear();
            let seen = Arc::clone(&counts);
            let watch: Arc<WatchBytes> = Arc::new(move |bytes| {
                let mut seen = seen.lock();
                seen.push(bytes);
                if seen.iter().sum::<u64>() > most {
                    Err(Failure::cancelled().into_io())
                } else {
                    Ok(())
                }
            });
            copy_file(&RealFs, (source, 0), &to, dir.path(), &watch)
        };
        let chunk = CHUNK_BYTES as u64;
        assert!(copy_until(2 * chunk).is_err());
        assert!(!to.exists() && std::fs::read_dir(dir.path()).unwrap().count() == 1);
        copy_until(u64::MAX).unwrap();
        assert_eq!(*counts.lock(), [2 * chunk, chunk, 5]);
        assert!(std::fs::read(&to).unwrap() == content);
        // Another version is copied from its beginning.
        assert!(copy_until(2 * chunk).is_err());
        content[7] ^= 1;
        put(source, &content);
        copy_until(u64::MAX).unwrap();
        assert_eq!(*counts.lock(), [chunk, chunk, chunk, 5]);
        assert!(std::fs::read(&to).unwrap() == content);
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("a");
        for change in [3 * CHUNK_BYTES, 10] {
            std::fs::write(&source, vec![1; 2 * CHUNK_BYTES]).unwrap();
            let (written, to) = (source.clone(), dir.path().join("b"));
            let watch: Arc<WatchBytes> =
                Arc::new(move |_| std::fs::OpenOptions::new().write(true).open(&written)?.set_len(change as u64));
            let copied = copy_file(&RealFs, (&source, 0), &to, dir.path(), &watch);
            let Err(CopyFailure::ThisFile(failure)) = copied else { panic!("{copied:?}") };
            assert_eq!(failure.kind, Some(ProblemKind::ChangedDuringScan), "{failure}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
}
