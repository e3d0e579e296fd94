//! The last look before anything is written.

use super::ask::Ask;
use super::what_now::{tell_problems, Choice, LastLook};
use super::Guide;
use crate::engine::plan::{command_line, file};
use crate::job::prepare::preview;
use crate::model::text::{bytes, display_safe};
use crate::model::{Loading, Outcome, SplitPlan};

/// What can be answered again.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Splits,
    Loading,
}

impl LastLook for Guide {
    type Change = Change;
    const CHOICES: &'static [(Choice<Change>, &'static str)] = &[
        (Choice::Save, "save the plan"),
        (Choice::Change(Change::Splits), "change the splits"),
        (Choice::Change(Change::Loading), "change the sample type and its fields"),
    ];

    fn ask(&self) -> &Ask {
        &self.ask
    }

    fn to_yaml(&self) -> Outcome<String> {
        file::to_yaml(&self.plan)
    }

    fn change(&mut self, what: Change) -> Outcome<()> {
        match what {
            Change::Splits => {
                self.plan.splits = SplitPlan::Unset;
                self.splits()
            }
            Change::Loading => {
                self.plan.loading = Loading::Unset;
                self.loading()
            }
        }
    }

    fn show(&self) -> Outcome<bool> {
        let preview = preview(&self.plan, &self.facts());
        self.ask.tell("These files will be written:");
        for file in &preview.files {
            let replaced = if file.replaces { ", replaces the one there" } else { "" };
            self.ask.tell(format!("  {} ({}{replaced})", display_safe(&file.name), bytes(file.bytes)));
        }
        for difference in &preview.differences {
            self.ask.tell(format!("Change: {}", display_safe(difference)));
        }
        let refused = tell_problems(&self.ask, &preview.problems);
        self.ask.tell(format!("The same by flags: {}", command_line(&self.plan)));
        Ok(!refused)
    }
}
