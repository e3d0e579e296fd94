//! Drafts: unfinished answers in small files of the state folder, until they are run. Each screen defines the content of its drafts.

use super::recent::create_folders;
use gristmill_core::Outcome;
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Permission bits of a draft.
const DRAFT_PERMISSIONS: u32 = 0o600;
const STEP_LINE: &str = "# step: ";

/// The content of a draft file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftInfo {
    /// The name of the step that was on the screen.
    pub step: String,
    /// The answers, in the format of the screen.
    pub answers: String,
    /// Time since the draft was saved.
    pub age: Duration,
}

/// Returns the path of a draft, named by a hash of the paths that the draft belongs to, which should be absolute.
pub fn place<'a>(state_dir: &Path, kind: &str, paths: impl IntoIterator<Item = &'a Path>) -> PathBuf {
    let mut names = Vec::new();
    for (number, path) in paths.into_iter().enumerate() {
        if number > 0 {
            names.push(0);
        }
        // Paths of a store are not resolved: a request would block the form.
        let real = if is_remote(path) { None } else { files::canonicalize(path).ok() };
        let path = real.unwrap_or_else(|| path.to_path_buf());
        names.extend_from_slice(path.as_os_str().as_encoded_bytes());
    }
    state_dir.join("drafts").join(format!("{kind}{:032x}.yaml", xxhash_rust::xxh3::xxh3_128(&names)))
}

/// Loads the draft at a path. A draft that cannot be read or is larger than `limit` bytes is ignored.
pub fn load(place: &Path, limit: u64) -> Option<DraftInfo> {
    let bytes = read_whole(place, limit).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let step = first.strip_prefix(STEP_LINE)?;
    let modified = files::metadata(place).map_or_else(|_| SystemTime::now(), |info| info.modified());
    let age = SystemTime::now().duration_since(modified).unwrap_or_default();
    Some(DraftInfo { step: step.to_owned(), answers: rest.to_owned(), age })
}

/// Saves a draft.
pub fn save(place: &Path, step: &str, answers: &str) -> Outcome<()> {
    if let Some(folder) = place.parent() {
        create_folders(folder)?;
    }
    write_file(&RealFs, place, format!("{STEP_LINE}{step}\n{answers}").as_bytes(), DRAFT_PERMISSIONS)
}

/// Deletes a draft.
pub fn delete(place: &Path) {
    if files::exists(place) {
        if let Err(failure) = RealFs.remove_file(place) {
            tracing::warn!(%failure, "a draft could not be removed");
        }
    }
}
