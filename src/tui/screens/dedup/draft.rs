//! Drafts of the guided dedup: the answers that were left, kept in the state folder until they are run.

use super::step::Step;
use crate::engine::plan::file::{dedup_to_yaml, read, PlanFile};
use crate::model::{DedupPlan, Outcome};
use crate::storage::fs::{Fs, RealFs};
use crate::storage::publish::write_file;
use crate::storage::read::read_whole;
use crate::tui::recent::create_folders;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A larger draft was not written by us.
const MAX_BYTES: u64 = 1 << 20;
const STEP_LINE: &str = "# step: ";

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its answers.
    pub plan: DedupPlan,
    /// The step that was on the screen.
    pub step: Step,
    /// How long ago it was saved.
    pub age: Duration,
}

/// Where the draft for an input is kept: named by a hash of its absolute path.
pub fn place(state_dir: &Path, input: &str) -> PathBuf {
    let path = Path::new(input).canonicalize().unwrap_or_else(|_| PathBuf::from(input));
    let hash = xxhash_rust::xxh3::xxh3_128(path.as_os_str().as_encoded_bytes());
    state_dir.join("drafts").join(format!("dedup-{hash:032x}.yaml"))
}

/// The draft at a place. One that cannot be read is none: it is a convenience, not data.
pub fn load(place: &Path) -> Option<Draft> {
    let bytes = read_whole(place, MAX_BYTES).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let id = first.strip_prefix(STEP_LINE)?;
    let step = Step::ALL.into_iter().find(|step| step.id() == id)?;
    let PlanFile::Dedup(plan) = read(rest).ok()? else { return None };
    let modified = std::fs::metadata(place).and_then(|facts| facts.modified()).unwrap_or_else(|_| SystemTime::now());
    Some(Draft { plan: *plan, step, age: SystemTime::now().duration_since(modified).unwrap_or_default() })
}

/// Keeps a draft.
pub fn save(place: &Path, plan: &DedupPlan, step: Step) -> Outcome<()> {
    let text = format!("{STEP_LINE}{}\n{}", step.id(), dedup_to_yaml(plan)?);
    if let Some(folder) = place.parent() {
        create_folders(folder)?;
    }
    write_file(&RealFs, place, text.as_bytes(), 0o600)
}

/// Forgets a draft.
pub fn forget(place: &Path) {
    if place.exists() {
        if let Err(failure) = RealFs.remove_file(place) {
            tracing::warn!(%failure, "a draft could not be removed");
        }
    }
}
