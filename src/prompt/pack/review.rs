//! The last look before anything is written.

use super::Guide;
use crate::engine::plan::pack::{open_questions, refusals};
use crate::engine::plan::{file, CommandLine};
use crate::job::pack::{preview, PackPreview};
use crate::model::text::{bytes, count, display_safe, duration};
use crate::model::{Cancel, Outcome, Problem, Severity};
use crate::storage::fs::RealFs;
use crate::storage::publish::write_file;
use std::path::Path;

impl Guide {
    /// Shows what a run comes to and asks what to do; `false` when nothing shall be written.
    pub(super) fn review(&mut self) -> Outcome<bool> {
        loop {
            let allowed = self.show_preview()?;
            let mut choices = vec!["save the plan", "another folder or file for the tokens", "leave, write nothing"];
            if allowed {
                choices.insert(0, "write it");
            }
            let choices: Vec<String> = choices.into_iter().map(str::to_owned).collect();
            match self.ask.choose("What now?", &choices, 0)? + usize::from(!allowed) {
                0 => return Ok(true),
                1 => self.save()?,
                2 => {
                    self.plan.output.clear();
                    self.output()?;
                }
                _ => return Ok(false),
            }
        }
    }

    /// `false` when something stands in the way.
    fn show_preview(&self) -> Outcome<bool> {
        let wrong: Vec<Problem> = open_questions(&self.plan).into_iter().chain(refusals(&self.plan)).collect();
        if !wrong.is_empty() {
            wrong.iter().for_each(|problem| self.tell(problem));
            return Ok(false);
        }
        let preview = match preview(&self.plan, &self.options, &Cancel::default()) {
            Ok(preview) => preview,
            Err(failure) if failure.is_cancelled() => return Err(failure),
            Err(failure) => {
                self.refuse(&failure);
                return Ok(false);
            }
        };
        self.show_figures(&preview);
        preview.problems.iter().for_each(|problem| self.tell(problem));
        self.ask.tell(format!("The same by flags: {}", CommandLine::of_pack(&self.plan).text()));
        Ok(preview.problems.iter().all(|problem| problem.severity < Severity::Refusal))
    }

    fn show_figures(&self, preview: &PackPreview) {
        self.ask.tell(format!(
            "{}, {}: about {} and {}, in about {}",
            count(preview.file_count, "file"),
            bytes(preview.bytes),
            count(preview.documents, "document"),
            count(preview.tokens, "token"),
            duration(preview.estimated)
        ));
        for target in &preview.targets {
            let path = display_safe(&target.path);
            self.ask.tell(format!(
                "  {}: {}, about {}, in {path}",
                target.format.word(),
                count(target.tokens, "token"),
                bytes(target.bytes)
            ));
        }
    }

    fn tell(&self, problem: &Problem) {
        let word = match problem.severity {
            Severity::Note => "Note",
            Severity::Problem => "Warning",
            Severity::Refusal => "Not possible",
        };
        self.ask.tell(format!("{word}: {problem}"));
        if let Some(hint) = &problem.hint {
            self.ask.tell(format!("  {hint}"));
        }
    }

    fn save(&self) -> Outcome<()> {
        let name = self.ask.text("File", Some("plan.yaml"), false)?;
        let written = file::pack_to_yaml(&self.plan)
            .and_then(|text| write_file(&RealFs, Path::new(&name), text.as_bytes(), 0o644));
        match written {
            Ok(()) => self.ask.tell(format!("Saved to {}.", display_safe(&name))),
            Err(failure) => self.ask.tell(format!("Not saved: {failure}")),
        }
        Ok(())
    }
}
