//! Drafts: the answers of a preparation that was left, kept in the state folder until it is run.

use super::splits::Alternatives;
use super::step::Step;
use crate::tui::drafts;
use gristmill_core::{Outcome, PreparePlan};
use gristmill_ops::engine::plan::file;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use drafts::forget;

/// A draft larger than this was not written by us.
const MAX_BYTES: u64 = 64 << 20;
const SPLITS_LINE: &str = "# splits: ";

/// A draft that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its answers.
    pub plan: PreparePlan,
    /// The step that was on the screen.
    pub step: Step,
    /// Every way to divide that was typed, the chosen one and the others.
    pub splits: Alternatives,
    /// Its age.
    pub age: Duration,
}

/// Returns the path of the draft of a data set.
pub fn place(state_dir: &Path, dataset: &Path) -> PathBuf {
    drafts::place(state_dir, "", [dataset])
}

/// The draft at a place, if there is one that can be read.
pub fn load(place: &Path) -> Option<Draft> {
    let kept = drafts::load(place, MAX_BYTES)?;
    let step = Step::ALL.into_iter().find(|s| s.id() == kept.step)?;
    let (splits, rest) = match kept.answers.strip_prefix(SPLITS_LINE).and_then(|r| r.split_once('\n')) {
        Some((kept, rest)) => (serde_json::from_str(kept).unwrap_or_default(), rest),
        None => (Alternatives::default(), kept.answers.as_str()),
    };
    let plan = file::from_yaml(rest).map_err(|failure| tracing::warn!(%failure, "a draft cannot be read")).ok()?;
    Some(Draft { plan, step, splits, age: kept.age })
}

/// Keeps a draft.
pub fn save(place: &Path, plan: &PreparePlan, step: Step, splits: &Alternatives) -> Outcome<()> {
    let mut text = String::new();
    if let Ok(kept) = serde_json::to_string(splits) {
        text.push_str(&format!("{SPLITS_LINE}{kept}\n"));
    }
    text.push_str(&file::to_yaml(plan)?);
    drafts::save(place, step.id(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::SplitPlan;

    #[test]
    fn a_draft_comes_back_as_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), Path::new("/data/coco"));
        let mut plan = PreparePlan::new("/data/coco");
        plan.splits = SplitPlan::Ratio("8,".into());
        plan.exclude_shards = vec!["[unfinished".into()];
        let splits = Alternatives { ratio: "8,".into(), ..Alternatives::default() };
        save(&place, &plan, Step::Splits, &splits).unwrap();
        let draft = load(&place).unwrap();
        assert_eq!((draft.plan, draft.step, draft.splits), (plan, Step::Splits, splits));
        forget(&place);
        assert_eq!(load(&place), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "test data need not be published")]
    fn what_is_no_draft_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("x.yaml");
        assert_eq!(load(&place), None);
        for text in ["", "version: 1\n", "# step: nowhere\nversion: 1\npath: x\n", "# step: splits\n{"] {
            std::fs::write(&place, text).unwrap();
            assert_eq!(load(&place), None, "{text}");
        }
    }

    #[test]
    fn every_data_set_has_a_place_of_its_own() {
        let state = Path::new("/state");
        assert_ne!(place(state, Path::new("/a")), place(state, Path::new("/b")));
    }
}
