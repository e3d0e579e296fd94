//! The last look before anything is written.

use super::ask::Ask;
use super::next_action::{report_each_problem, Choice, LastLook};
use super::Guide;
use gristmill_core::text::{bytes, display_safe};
use gristmill_core::{Loading, Outcome, Rerun, SplitPlan};
use gristmill_ops::engine::plan::{file, same_keys};
use gristmill_ops::job::prepare::preview;
use gristmill_ops::operations::prepare::command_line;
use gristmill_ops::source::decode::{part_class, PartClass};

/// Answers that can be changed.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Splits,
    Loading,
    Excludes,
    Duplicates,
    Media,
}

impl LastLook for Guide {
    type Change = Change;

    fn choices(&self) -> Vec<(Choice<Change>, &'static str)> {
        let mut choices = vec![
            (Choice::Save, "save the plan"),
            (Choice::Change(Change::Splits), "change the splits"),
            (Choice::Change(Change::Loading), "change the sample type and its fields"),
            (Choice::Change(Change::Excludes), "leave out other shards and samples"),
        ];
        let facts = self.facts();
        if same_keys(&self.plan, &facts).is_some() {
            choices.push((Choice::Change(Change::Duplicates), "decide about keys that name several samples"));
        }
        if facts.parts.keys().any(|name| matches!(part_class(name), PartClass::Image | PartClass::Media)) {
            choices.push((Choice::Change(Change::Media), "change what is recorded about media"));
        }
        choices
    }

    fn ask(&self) -> &Ask {
        &self.ask
    }

    fn to_yaml(&self) -> Outcome<String> {
        file::to_yaml(&self.plan)
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
                self.plan.loading = Loading::Unset;
                self.loading()
            }
            Change::Excludes => {
                self.plan.exclude_shards.clear();
                self.plan.excludes.clear();
                self.excludes()
            }
            Change::Duplicates => self.ask_duplicates(),
            Change::Media => {
                self.plan.media = None;
                self.media()
            }
        }
    }

    fn show(&self) -> Outcome<bool> {
        let preview = preview(&self.plan, &self.facts());
        self.ask.print("These files will be written:");
        for file in &preview.files {
            let replaced = if file.replaces { ", replaces the one there" } else { "" };
            self.ask.print(format!("  {} ({}{replaced})", display_safe(&file.name), bytes(file.bytes)));
        }
        for difference in &preview.differences {
            self.ask.print(format!("Change: {}", display_safe(difference)));
        }
        let refused = report_each_problem(&self.ask, &preview.problems);
        self.ask.print(format!("The same by flags: {}", command_line(&self.plan).text()));
        Ok(!refused)
    }
}
