//! Completes a plan with `--update` by the answers in the plan of the previous run.

use gristmill_core::{Duplicates, PreparePlan, PreparedFacts, Rerun, SampleMapping, Scope, SplitPlan, Tgz};
use std::collections::HashSet;

/// Returns the plan to execute. For an update, missing answers that decide about new shards are taken from the recorded plan. This does not
/// apply to `dataset.yaml`, which an update leaves unchanged unless the plan contains an answer.
pub fn inherited(plan: &PreparePlan, prepared: Option<&PreparedFacts>) -> PreparePlan {
    let mut plan = plan.clone();
    let Some(old) = prepared.and_then(|p| p.plan.as_ref()).filter(|_| plan.rerun == Rerun::Update) else { return plan };
    if plan.splits == SplitPlan::Unset {
        plan.splits = old.splits.clone();
        plan.shuffle_tars = old.shuffle_tars;
        plan.allow_empty_splits |= old.allow_empty_splits;
    }
    if plan.exclude_shards.is_empty() {
        plan.exclude_shards = old.exclude_shards.clone();
    }
    if plan.scope == Scope::default() {
        plan.scope = old.scope;
    }
    if plan.tgz == Tgz::default() {
        plan.tgz = old.tgz;
    }
    if plan.duplicates == Duplicates::default() {
        plan.duplicates = old.duplicates;
    }
    if plan.media.is_none() && plan.scope == Scope::Full {
        plan.media = old.media.clone();
    }
    plan.compat |= old.compat;
    plan
}

/// Returns the plan to record after a run: the answers that a later run without new shards needs for the same result.
pub fn recorded(plan: &PreparePlan, prepared: Option<&PreparedFacts>) -> PreparePlan {
    let mut record = inherited(plan, prepared);
    if let Some(old) = prepared.and_then(|p| p.plan.as_ref()).filter(|_| plan.rerun == Rerun::Update) {
        if record.loading == SampleMapping::Unset {
            record.loading = old.loading.clone();
            record.dataset_yaml_name = old.dataset_yaml_name.clone();
        }
        let added = std::mem::replace(&mut record.excludes, old.excludes.clone());
        let mut known: HashSet<&str> = old.excludes.iter().map(String::as_str).collect();
        record.excludes.extend(added.iter().filter(|item| known.insert(item.as_str())).cloned());
    }
    // After the rename, no key is repeated.
    if record.duplicates == Duplicates::Prefix {
        record.duplicates = Duplicates::Fail;
    }
    record.rerun = Rerun::Refuse;
    record.reset_excludes = false;
    record.new_to = None;
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{MediaFilter, MediaPlan};

    fn prepared_by(plan: PreparePlan) -> PreparedFacts {
        PreparedFacts { plan: Some(Box::new(plan)), ..PreparedFacts::default() }
    }

    #[test]
    fn update_inherits_missing_answers_and_keeps_dataset_yaml() {
        let mut old = PreparePlan::new("d");
        old.splits = SplitPlan::Ratio("8,1,1".into());
        old.loading = SampleMapping::Crude { cooker: false };
        old.exclude_shards = vec!["bad".into()];
        old.excludes = vec!["a.tar/1".into()];
        old.scope = Scope::WithoutSampleTables;
        old.media = Some(MediaPlan { filter: MediaFilter::Extension, decode: false });
        let mut update = PreparePlan::new("d");
        update.rerun = Rerun::Update;
        update.excludes = ["a.tar/2", "a.tar/1", "a.tar/2"].map(String::from).to_vec();
        let facts = prepared_by(old.clone());
        let plan = inherited(&update, Some(&facts));
        assert_eq!(plan.splits, old.splits);
        assert_eq!(plan.exclude_shards, old.exclude_shards);
        assert_eq!(plan.loading, SampleMapping::Unset);
        assert_eq!(plan.scope, old.scope, "an update makes no tables that were not wanted");
        assert_eq!(plan.media, None, "media metadata needs the database");
        assert_eq!(plan.excludes, update.excludes);
        let record = recorded(&update, Some(&facts));
        assert_eq!(record.loading, old.loading);
        assert_eq!(record.excludes, ["a.tar/1", "a.tar/2"]);
        assert_eq!(record.rerun, Rerun::Refuse);
    }

    #[test]
    fn update_inherits_the_media_metadata_plan() {
        let media = Some(MediaPlan { filter: MediaFilter::Header, decode: true });
        let old = PreparePlan { media: media.clone(), ..PreparePlan::new("d") };
        let update = PreparePlan { rerun: Rerun::Update, ..PreparePlan::new("d") };
        assert_eq!(inherited(&update, Some(&prepared_by(old.clone()))).media, media);
        let other = Some(MediaPlan { filter: MediaFilter::Extension, decode: false });
        let update = PreparePlan { media: other.clone(), ..update };
        assert_eq!(inherited(&update, Some(&prepared_by(old))).media, other);
    }

    #[test]
    fn overwrite_inherits_no_answers() {
        let mut old = PreparePlan::new("d");
        old.splits = SplitPlan::Ratio("8,1,1".into());
        let mut plan = PreparePlan::new("d");
        plan.rerun = Rerun::Overwrite;
        assert_eq!(inherited(&plan, Some(&prepared_by(old))), plan);
    }
}
