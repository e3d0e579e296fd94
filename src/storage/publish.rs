//! x
use super::fs::Fs;
use crate::model::{Failure, Outcome};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a single file so that at any moment either the old or the new one is there, whole.
pub fn write_file(fs: &dyn Fs, path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    let beside = beside(path, "new");
    let result = write_new(fs, &beside, bytes, mode).and_then(|()| fs.rename(&beside, path));
    if result.is_err() {
        // The failure that is already on its way says more than one about tidying up.
        let _ = fs.remove_file(&beside);
    }
    result?;
    fs.sync_dir(parent_of(path))
}

/// Writes a new file, durable, with its final mode.
fn write_new(fs: &dyn Fs, path: &Path, bytes: &[u8], mode: u32) -> Outcome<()> {
    let mut file = fs.create_file(path)?;
    file.write_all(bytes)?;
    file.set_mode(mode)?;
    file.finish()?;
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A hidden name in the same folder that nobody else uses.
fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{word}", unique()));
    path.with_file_name(name)
}

/// A word no other running process on any host is likely to make.
pub(super) fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{count}-{}", std::process::id(), random.get(..8).unwrap_or_default())
}

/// What was finished of an earlier, interrupted publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolledForward {
    /// The files that are in place now, relative to the root where they lie below it.
    pub files: Vec<String>,
}

/// A set of files that becomes visible as one.
pub struct Publication<'a> {
    _fs: &'a dyn Fs,
}

#[allow(missing_docs)]
impl<'a> Publication<'a> {
    pub fn begin(fs: &'a dyn Fs, _root: &Path, _own: &super::own::OwnFolder) -> Outcome<Self> {
        Ok(Self { _fs: fs })
    }
    pub fn stage_bytes(&mut self, _target: &Path, _bytes: &[u8], _mode: u32) -> Outcome<()> {
        Err(Failure::environment("publishing", "not yet"))
    }
    pub fn stage_file(&mut self, _target: &Path, _already_written: PathBuf, _mode: u32) -> Outcome<()> {
        Err(Failure::environment("publishing", "not yet"))
    }
    pub fn keep_backup(&mut self, _target: &Path, _backup: &Path) -> Outcome<()> {
        Err(Failure::environment("publishing", "not yet"))
    }
    pub fn remove(&mut self, _target: &Path) -> Outcome<()> {
        Err(Failure::environment("publishing", "not yet"))
    }
    pub fn commit(self, _commit_target: &Path) -> Outcome<()> {
        Err(Failure::environment("publishing", "not yet"))
    }
}

pub fn recover(_fs: &dyn Fs, _root: &Path, _own: &super::own::OwnFolder) -> Outcome<Option<RolledForward>> {
    Ok(None)
}
pub fn pending(_own: &super::own::OwnFolder) -> Outcome<Option<Vec<String>>> {
    Ok(None)
}
