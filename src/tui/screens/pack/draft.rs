//! Drafts of the guided pack: the answers that were left, kept in the state folder until they are run.

use super::step::Step;
use crate::engine::plan::file::{pack_to_yaml, read, PlanFile};
use crate::model::{Outcome, PackPlan};
use crate::storage::fs::{Fs, RealFs, PRIVATE_FOLDER};
use crate::storage::publish::write_file;
use crate::storage::read::read_whole;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A larger draft was not written by us.
const MAX_BYTES: u64 = 1 << 20;
const STEP_LINE: &str = "# step: ";

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its answers.
    pub plan: PackPlan,
    /// The step that was on the screen.
    pub step: Step,
    /// How long ago it was saved.
    pub age: Duration,
}

/// Where the draft for some inputs is kept: named by a hash of their absolute paths.
pub fn place(state_dir: &Path, inputs: &[String]) -> PathBuf {
    let mut names = Vec::new();
    for input in inputs {
        let path = Path::new(input).canonicalize().unwrap_or_else(|_| PathBuf::from(input));
        names.extend_from_slice(path.as_os_str().as_encoded_bytes());
        names.push(0);
    }
    state_dir.join("drafts").join(format!("pack-{:032x}.yaml", xxhash_rust::xxh3::xxh3_128(&names)))
}

/// The draft at a place. One that cannot be read is none: it is a convenience, not data.
pub fn load(place: &Path) -> Option<Draft> {
    let bytes = read_whole(place, MAX_BYTES).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let id = first.strip_prefix(STEP_LINE)?;
    let step = Step::ALL.into_iter().find(|step| step.id() == id)?;
    let PlanFile::Pack(plan) = read(rest).ok()? else { return None };
    let modified = std::fs::metadata(place).and_then(|facts| facts.modified()).unwrap_or_else(|_| SystemTime::now());
    Some(Draft { plan: *plan, step, age: SystemTime::now().duration_since(modified).unwrap_or_default() })
}

/// Keeps a draft.
pub fn save(place: &Path, plan: &PackPlan, step: Step) -> Outcome<()> {
    let text = format!("{STEP_LINE}{}\n{}", step.id(), pack_to_yaml(plan)?);
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

fn create_folders(folder: &Path) -> Outcome<()> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.exists()) {
        create_folders(parent)?;
    }
    RealFs.create_dir(folder, PRIVATE_FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pack::{NanosetsTarget, TextField};

    #[test]
    fn a_draft_comes_back_as_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), &["/data/corpus.jsonl".into()]);
        let mut plan = PackPlan::new(vec!["/data/corpus.jsonl".into()], "", "");
        plan.text = TextField::Jq(".a | [".into());
        plan.nanosets = Some(NanosetsTarget::default());
        save(&place, &plan, Step::Targets).unwrap();
        let draft = load(&place).unwrap();
        assert_eq!((draft.plan, draft.step), (plan, Step::Targets));
        forget(&place);
        assert_eq!(load(&place), None);
    }
}
