//! Scratch space: a private folder for spools and sorting, removed on drop.

use super::fs::{Fs, RealFs, PRIVATE_FOLDER};
use super::identity::{unique, ProcessIdentity, ProcessState};
use super::{space, xdg};
use gristmill_core::{Failure, Outcome};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The folder that the user has set for this process.
static NAMED_FOLDER: OnceLock<PathBuf> = OnceLock::new();

const PREFIX: &str = "gristmill-";
/// The file in a scratch folder that identifies its owner.
const OWNER: &str = "owner.json";
/// Age from which a folder without an owner file counts as abandoned.
const MAX_OWNERLESS_AGE: Duration = Duration::from_secs(600);
/// Temporary folders of the system, the default first.
const SYSTEM_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];
/// Maximum size of data stored before a run starts, in bytes.
const MAX_KEPT_BYTES: u64 = 8 << 30;
/// Divisor of the free space that may be used.
const FREE_SPACE_DIVISOR: u64 = 10;

/// Sets the folder for scratch space of this process, used where no other is given. Only the first call has an effect.
pub fn name_folder(folder: PathBuf) {
    NAMED_FOLDER.get_or_init(|| folder);
}

/// A private folder that is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    cap_bytes: u64,
}

impl Scratch {
    /// Creates a folder in `wanted` or the [named folder](name_folder), or else in the first of these that is writable: `$TMPDIR`, the cache
    /// folder, `/tmp`, `/var/tmp`. Also removes folders left by processes of this host that have died.
    pub fn create(wanted: Option<&Path>) -> Outcome<Self> {
        match wanted.or(NAMED_FOLDER.get().map(PathBuf::as_path)) {
            Some(folder) => Self::create_in(folder),
            None => Self::create_by_default(std::env::var_os("TMPDIR").map(PathBuf::from), &xdg::cache_dir()),
        }
    }

    fn create_by_default(temporary: Option<PathBuf>, cache: &Path) -> Outcome<Self> {
        if let Some(folder) = temporary.filter(|folder| folder.is_dir()) {
            if let Ok(scratch) = Self::create_in(&folder) {
                return Ok(scratch);
            }
        }
        let in_cache = std::fs::create_dir_all(cache)
            .map_err(|error| hinted(Failure::io("creating the folder", cache, &error)))
            .and_then(|()| Self::create_in(cache));
        // In a container the home folder may be missing or belong to another user.
        let in_system = || SYSTEM_FOLDERS.iter().find_map(|folder| Self::create_in(Path::new(folder)).ok());
        in_cache.or_else(|failure| in_system().ok_or(failure))
    }

    fn create_in(folder: &Path) -> Outcome<Self> {
        let me = ProcessIdentity::current();
        remove_stale(folder, &me);
        let path = folder.join(format!("{PREFIX}{}", unique()));
        RealFs.create_dir(&path, PRIVATE_FOLDER).map_err(hinted)?;
        let scratch = Self { cap_bytes: cap(space::free_bytes(&path)?), path };
        let owner = serde_json::to_vec(&me).unwrap_or_default();
        let mut file = RealFs.create_file(&scratch.path.join(OWNER)).map_err(hinted)?;
        file.write_all(&owner).map_err(hinted)?;
        file.close().map_err(hinted)?;
        Ok(scratch)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Returns the maximum size of data stored in the folder before a run starts, in bytes: 8 GiB, or a tenth of the free space if that is
    /// less.
    pub fn cap_bytes(&self) -> u64 {
        self.cap_bytes
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the next process removes the folder once this one has ended.
        let _ = RealFs.remove_dir_all(&self.path);
    }
}

fn hinted(failure: Failure) -> Failure {
    failure.with_hint("name a folder with space and write access with --scratch DIR")
}

fn cap(free: u64) -> u64 {
    MAX_KEPT_BYTES.min(free / FREE_SPACE_DIVISOR)
}

/// Removes folders left by dead processes of this host and user. Errors are ignored, because this is best effort.
fn remove_stale(folder: &Path, me: &ProcessIdentity) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_stale(&path, me) {
            let _ = RealFs.remove_dir_all(&path);
        }
    }
}

fn is_stale(path: &Path, me: &ProcessIdentity) -> bool {
    let own = std::fs::symlink_metadata(path)
        .is_ok_and(|facts| facts.is_dir() && facts.uid() == rustix::process::getuid().as_raw());
    let owner = || super::read::read_whole(&path.join(OWNER), 1 << 16).ok().flatten();
    own && match owner().and_then(|bytes| serde_json::from_slice::<ProcessIdentity>(&bytes).ok()) {
        Some(owner) => owner.life(me) == ProcessState::Dead,
        // The owner file is written immediately after the folder is created; if it is missing, the process was killed in between.
        None => is_older(path, MAX_OWNERLESS_AGE),
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = std::fs::symlink_metadata(path).and_then(|facts| facts.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|elapsed| elapsed > age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::write_file;
    use gristmill_core::ExitClass;

    #[test]
    fn a_scratch_folder_is_private_and_gone_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(Some(dir.path())).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(scratch.cap_bytes() > 0 && scratch.cap_bytes() <= 8 << 30);
        RealFs.create_dir(&path.join("deep"), 0o700).unwrap();
        write_file(&RealFs, &path.join("deep/file"), b"x", 0o600).unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn two_scratch_folders_have_different_paths() {
        let dir = tempfile::tempdir().unwrap();
        let a = Scratch::create(Some(dir.path())).unwrap();
        let b = Scratch::create(Some(dir.path())).unwrap();
        assert_ne!(a.path(), b.path());
        assert!(a.path().is_dir());
    }

    #[test]
    fn only_scratch_folders_of_dead_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let me = ProcessIdentity::current();
        let leave = |name: &str, owner: Option<&ProcessIdentity>| {
            let path = dir.path().join(name);
            RealFs.create_dir(&path, 0o700).unwrap();
            if let Some(owner) = owner {
                let bytes = serde_json::to_vec(owner).unwrap();
                write_file(&RealFs, &path.join(OWNER), &bytes, 0o600).unwrap();
            }
            path
        };
        let dead = ProcessIdentity { started: me.started + 1, ..me.clone() };
        let stale = leave("gristmill-dead", Some(&dead));
        let kept = [
            leave("gristmill-alive", Some(&me)),
            leave("gristmill-nobody", None),
            leave("other-dead", Some(&dead)),
            leave("gristmill-elsewhere", Some(&ProcessIdentity { host: "x".into(), ..dead.clone() })),
        ];
        let _scratch = Scratch::create(Some(dir.path())).unwrap();
        assert!(!stale.exists());
        for path in kept {
            assert!(path.is_dir(), "{path:?}");
        }
    }

    #[test]
    fn missing_scratch_folder_is_a_failure_with_a_hint_for_the_flag() {
        let failure = Scratch::create(Some(Path::new("/nonexistent/scratch"))).unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment);
        assert!(failure.hint.unwrap().contains("--scratch"));
    }

    #[test]
    fn missing_temporary_folder_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_by_default(Some(dir.path().to_owned()), dir.path()).unwrap();
        assert_eq!(scratch.path().parent(), Some(dir.path()));
        let missing = dir.path().join("missing");
        let scratch = Scratch::create_by_default(Some(missing), dir.path()).unwrap();
        assert_eq!(scratch.path().parent(), Some(dir.path()));
    }

    #[test]
    fn unwritable_cache_folder_falls_back_to_the_system_folder() {
        let scratch = Scratch::create_by_default(None, Path::new("/proc/none/.cache/gristmill")).unwrap();
        assert!(SYSTEM_FOLDERS.iter().any(|folder| scratch.path().starts_with(folder)), "{scratch:?}");
    }

    #[test]
    fn the_cap_is_a_tenth_of_the_free_space_and_at_most_eight_gibibytes() {
        assert_eq!(cap(1000), 100);
        assert_eq!(cap(u64::MAX), 8 << 30);
    }

    #[test]
    fn scratch_folder_of_the_process_is_the_default() {
        let (named, given) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        name_folder(named.path().to_owned());
        assert!(Scratch::create(None).unwrap().path().starts_with(named.path()));
        assert!(Scratch::create(Some(given.path())).unwrap().path().starts_with(given.path()));
    }
}
