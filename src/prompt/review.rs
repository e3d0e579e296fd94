//! The last look before anything is written.

use super::Guide;
use crate::engine::plan::{command_line, file};
use crate::job::prepare::preview;
use crate::model::text::{bytes, display_safe};
use crate::model::{Loading, Outcome, Severity, SplitPlan};
use crate::storage::fs::RealFs;
use crate::storage::publish::write_file;
use std::path::Path;

impl Guide {
    /// Shows what will be written and asks what to do; `false` when nothing shall be.
    pub(super) fn review(&mut self) -> Outcome<bool> {
        loop {
            let allowed = self.show_preview();
            let mut choices = vec![
                "save the plan",
                "change the splits",
                "change the sample type and its fields",
                "leave, write nothing",
            ];
            if allowed {
                choices.insert(0, "write it");
            }
            let choices: Vec<String> = choices.into_iter().map(str::to_owned).collect();
            let chosen = self.ask.choose("What now?", &choices, 0)? + usize::from(!allowed);
            match chosen {
                0 => return Ok(true),
                1 => self.save()?,
                2 => {
                    self.plan.splits = SplitPlan::Unset;
                    self.splits()?;
                }
                3 => {
                    self.plan.loading = Loading::Unset;
                    self.loading()?;
                }
                _ => return Ok(false),
            }
        }
    }

    /// `false` when something stands in the way.
    fn show_preview(&self) -> bool {
        let preview = preview(&self.plan, &self.facts());
        self.ask.tell("These files will be written:");
        for file in &preview.files {
            let replaced = if file.replaces { ", replaces the one there" } else { "" };
            self.ask.tell(format!("  {} ({}{replaced})", display_safe(&file.name), bytes(file.bytes)));
        }
        for difference in &preview.differences {
            self.ask.tell(format!("Change: {}", display_safe(difference)));
        }
        let mut allowed = true;
        for problem in &preview.problems {
            let word = match problem.severity {
                Severity::Note => "Note",
                Severity::Problem => "Warning",
                Severity::Refusal => "Not possible",
            };
            allowed &= problem.severity < Severity::Refusal;
            self.ask.tell(format!("{word}: {problem}"));
            if let Some(hint) = &problem.hint {
                self.ask.tell(format!("  {}", display_safe(hint)));
            }
        }
        self.ask.tell(format!("The same by flags: {}", command_line(&self.plan)));
        allowed
    }

    fn save(&self) -> Outcome<()> {
        let name = self.ask.text("File", Some("plan.yaml"), false)?;
        let written =
            file::to_yaml(&self.plan).and_then(|text| write_file(&RealFs, Path::new(&name), text.as_bytes(), 0o644));
        match written {
            Ok(()) => self.ask.tell(format!("Saved to {}.", display_safe(&name))),
            Err(failure) => self.ask.tell(format!("Not saved: {failure}")),
        }
        Ok(())
    }
}
