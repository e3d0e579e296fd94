//! Drafts of unwritten changes in the state folder, so that a crash loses no changes.

use crate::tui::recent::create_folders;
use gristmill_core::{Failure, Outcome};
use gristmill_ops::engine::splits::Draft;
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Maximum size of a draft in bytes: this program writes no larger ones.
const MAX_BYTES: u64 = 256 << 20;

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDraft {
    /// The changes, and the version of the file that they apply to.
    pub draft: Draft,
    /// Time since it was saved.
    pub age: Duration,
}

/// Returns the path of a data set's draft, named by a hash of the data set's absolute path.
pub fn place(state_dir: &Path, dataset: &Path) -> PathBuf {
    let absolute = files::canonicalize(dataset).unwrap_or_else(|_| dataset.to_path_buf());
    let hash = xxhash_rust::xxh3::xxh3_128(absolute.as_os_str().as_encoded_bytes());
    state_dir.join("drafts").join(format!("{hash:032x}.splits.json"))
}

/// Reads the draft at a path. An unreadable draft is ignored.
pub fn load(place: &Path) -> Option<FoundDraft> {
    let bytes = read_whole(place, MAX_BYTES).ok().flatten()?;
    let draft: Draft = serde_json::from_slice(&bytes)
        .map_err(|error| tracing::warn!(%error, "a draft of splits cannot be read"))
        .ok()?;
    if draft.edits.is_empty() {
        return None;
    }
    let modified = files::metadata(place).map_or_else(|_| SystemTime::now(), |info| info.modified());
    Some(FoundDraft { draft, age: SystemTime::now().duration_since(modified).unwrap_or_default() })
}

/// Saves a draft; `None` removes it.
pub fn save(place: &Path, draft: Option<&Draft>) -> Outcome<()> {
    let Some(draft) = draft else {
        delete(place);
        return Ok(());
    };
    let text = serde_json::to_vec(draft).map_err(|e| Failure::environment("keeping the draft", e.to_string()))?;
    if let Some(folder) = place.parent() {
        create_folders(folder)?;
    }
    write_file(&RealFs, place, &text, 0o600)
}

/// Calls [`save`]. A failure is logged, and returned for the message about unwritten changes.
pub fn keep(place: &Path, draft: Option<&Draft>) -> Option<Failure> {
    let failure = save(place, draft).err()?;
    tracing::warn!(%failure, "the draft of splits could not be kept");
    Some(failure)
}

/// Removes a draft.
pub fn delete(place: &Path) {
    if files::exists(place) {
        if let Err(failure) = RealFs.remove_file(place) {
            tracing::warn!(%failure, "a draft of splits could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_ops::engine::splits::Edit;

    #[test]
    fn split_draft_is_saved_loaded_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), Path::new("/data/coco"));
        assert_eq!(load(&place), None);
        let edits = vec![
            Edit::AddSplit { name: "holdout".into() },
            Edit::MoveShards { shards: vec!["a \"b\".tar".into()], to: Some("holdout".into()) },
        ];
        let draft = Draft { base: "x".into(), edits };
        save(&place, Some(&draft)).unwrap();
        assert_eq!(load(&place).map(|found| found.draft), Some(draft));
        save(&place, None).unwrap();
        assert!(!place.exists(), "no change is no draft");
    }

    #[test]
    fn invalid_split_draft_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("x.json");
        for text in ["", "{", "[]", "{\"base\":\"x\",\"edits\":[]}", "{\"base\":\"x\",\"edits\":[{\"fly\":1}]}"] {
            write_file(&RealFs, &place, text.as_bytes(), 0o600).unwrap();
            assert_eq!(load(&place), None, "{text}");
        }
    }
}
