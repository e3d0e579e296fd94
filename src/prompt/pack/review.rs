//! The last look before anything is written.

use super::super::ask::Ask;
use super::super::next_action::{report_each_problem, Choice, LastLook};
use super::super::options::change_options;
use super::Guide;
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{Cancel, Outcome, Problem};
use gristmill_ops::engine::plan::pack::missing_or_wrong;
use gristmill_ops::job::pack::{preview, PackPreview};
use gristmill_ops::operations::{erase, Pack};

/// Answers that can be changed.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Output,
    Settings,
}

impl LastLook for Guide {
    type Change = Change;

    fn choices(&self) -> Vec<(Choice<Change>, &'static str)> {
        vec![
            (Choice::Save, "save the plan"),
            (Choice::Change(Change::Output), "another folder or file for the tokens"),
            (Choice::Change(Change::Settings), "change other settings"),
        ]
    }

    fn ask(&self) -> &Ask {
        &self.ask
    }

    fn to_yaml(&self) -> Outcome<String> {
        erase::<Pack>(self.plan.clone()).to_yaml()
    }

    fn change(&mut self, what: Change) -> Outcome<()> {
        match what {
            Change::Output => {
                self.plan.output.clear();
                self.output()
            }
            Change::Settings => self.change_settings(),
        }
    }

    fn wrong(&self) -> Vec<Problem> {
        missing_or_wrong(&self.plan)
    }

    fn show(&self) -> Outcome<bool> {
        let preview = preview(&self.plan, &self.options, &Cancel::default());
        let Some(preview) = self.ask.or_refuse(preview)? else { return Ok(false) };
        self.show_figures(&preview);
        let refused = report_each_problem(&self.ask, &preview.problems);
        self.ask.print(format!("The same by flags: {}", erase::<Pack>(self.plan.clone()).command_line().text()));
        Ok(!refused)
    }
}

impl Guide {
    fn change_settings(&mut self) -> Outcome<()> {
        let mut plan = erase::<Pack>(self.plan.clone());
        change_options(&self.ask, &mut *plan)?;
        self.plan = plan.typed().cloned().unwrap_or_else(|| self.plan.clone());
        Ok(())
    }

    fn show_figures(&self, preview: &PackPreview) {
        self.ask.print(preview.outlook());
        for target in &preview.targets {
            let path = display_safe(&target.path);
            self.ask.print(format!(
                "  {}: {}, about {}, in {path}",
                target.format.word(),
                count(target.tokens, "token"),
                bytes(target.bytes)
            ));
        }
    }
}
