//! The review of the guided prepare.

use super::super::options::change_option;
use super::super::prompter::Prompter;
use super::super::review::Review;
use super::Guide;
use gristmill_core::{Outcome, PreparePlan, Rerun, SampleMapping, SplitPlan};
use gristmill_data::source::decode::{part_class, PartClass};
use gristmill_ops::engine::plan::same_keys;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::prepare::PreparePreview;
use gristmill_ops::operations::{erase, AnyPlan, Prepare};

/// The answers that can be changed.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Splits,
    Loading,
    Excludes,
    Duplicates,
    Media,
    Settings,
}

impl Review for Guide {
    type Change = Change;

    fn prompt(&self) -> &Prompter {
        &self.prompt
    }

    fn plan(&self) -> Box<dyn AnyPlan> {
        erase::<Prepare>(self.plan.clone())
    }

    fn preview(&self) -> Outcome<Box<dyn Report>> {
        Ok(Box::new(PreparePreview::of(&self.plan, &self.facts())))
    }

    fn changes(&self) -> Vec<(Change, &'static str)> {
        let mut changes = vec![
            (Change::Splits, "change the splits"),
            (Change::Loading, "change the sample type and its fields"),
            (Change::Excludes, "leave out other shards and samples"),
        ];
        let facts = self.facts();
        if same_keys(&self.plan, &facts).is_some() {
            changes.push((Change::Duplicates, "decide about keys that name several samples"));
        }
        if facts.parts.keys().any(|name| matches!(part_class(name), PartClass::Image | PartClass::Media)) {
            changes.push((Change::Media, "change what is recorded about media"));
        }
        changes.push((Change::Settings, "change other settings"));
        changes
    }

    fn change(&mut self, what: Change) -> Outcome<()> {
        match what {
            Change::Splits if self.plan.rerun == Rerun::Update => {
                let facts = self.facts();
                facts.prepared.as_ref().map_or(Ok(()), |prepared| self.new_to(prepared))
            }
            Change::Splits => {
                self.plan.splits = SplitPlan::Unset;
                self.splits()
            }
            Change::Loading => {
                self.plan.loading = SampleMapping::Unset;
                self.loading()
            }
            Change::Excludes => {
                self.plan.exclude_shards.clear();
                self.plan.excludes.clear();
                self.excludes()
            }
            Change::Duplicates => self.prompt_duplicates(),
            Change::Media => {
                self.plan.media = None;
                self.media()
            }
            Change::Settings => {
                let mut plan = self.plan();
                // The folder cannot be changed, because it is being scanned.
                while change_option(&self.prompt, &mut *plan, |row| !row.info.is_positional)?.is_some() {}
                if let Some(plan) = plan.typed::<PreparePlan>() {
                    self.plan.clone_from(plan);
                }
                Ok(())
            }
        }
    }
}
