//! The last look before anything is written.

use super::Guide;
use crate::engine::plan::dedup::{open_questions, refusals};
use crate::engine::plan::{file, CommandLine};
use crate::job::dedup::{estimate, DedupEstimate};
use crate::model::dedup::{Mode, USUAL_MIN_LENGTH};
use crate::model::text::{bytes, count, display_safe, duration, grouped};
use crate::model::{Cancel, Outcome, Problem, Severity};
use crate::preview::text::cut_end;
use crate::storage::fs::RealFs;
use crate::storage::publish::write_file;
use std::path::Path;

/// Minimum lengths that are compared, in bytes.
const LENGTHS: [u64; 5] = [50, 100, 200, 500, 1_000];
/// Passages that are shown.
const PASSAGES: usize = 5;
/// Columns of a passage that are shown.
const COLUMNS: usize = 70;

impl Guide {
    /// Shows what a run comes to and asks what to do; `false` when nothing shall be written.
    pub(super) fn review(&mut self) -> Outcome<bool> {
        loop {
            let allowed = self.show_estimate()?;
            let mut choices = vec![
                "another minimum length",
                "cut out, or list only",
                "another folder for the result",
                "save the plan",
                "leave, write nothing",
            ];
            if allowed {
                choices.insert(0, "write it");
            }
            let choices: Vec<String> = choices.into_iter().map(str::to_owned).collect();
            match self.ask.choose("What now?", &choices, 0)? + usize::from(!allowed) {
                0 => return Ok(true),
                1 => {
                    self.plan.min_length = None;
                    self.length()?;
                }
                2 => self.mode()?,
                3 => {
                    self.plan.output.clear();
                    self.output()?;
                }
                4 => self.save()?,
                _ => return Ok(false),
            }
        }
    }

    /// `false` when something stands in the way.
    fn show_estimate(&self) -> Outcome<bool> {
        let wrong: Vec<Problem> = open_questions(&self.plan).into_iter().chain(refusals(&self.plan)).collect();
        if !wrong.is_empty() {
            wrong.iter().for_each(|problem| self.tell(problem));
            return Ok(false);
        }
        let mut lengths = LENGTHS.to_vec();
        let chosen = self.plan.min_length.unwrap_or(USUAL_MIN_LENGTH);
        if !lengths.contains(&chosen) {
            lengths.push(chosen);
            lengths.sort_unstable();
        }
        let found = match estimate(&self.plan, &lengths, &self.options, &Cancel::default()) {
            Ok(found) => found,
            Err(failure) if failure.is_cancelled() => return Err(failure),
            Err(failure) => {
                self.refuse(&failure);
                return Ok(false);
            }
        };
        self.show_figures(&found, chosen);
        found.problems.iter().for_each(|problem| self.tell(problem));
        self.ask.tell(format!("The same by flags: {}", CommandLine::of_dedup(&self.plan).text()));
        Ok(found.problems.iter().all(|problem| problem.severity < Severity::Refusal))
    }

    fn show_figures(&self, found: &DedupEstimate, chosen: u64) {
        self.ask.tell(format!(
            "{}, {}: about {} and {} of text, in about {}",
            count(found.files, "file"),
            bytes(found.input_bytes),
            count(found.documents, "document"),
            bytes(found.text_bytes),
            duration(found.estimated)
        ));
        let verb = if self.plan.mode == Mode::Remove { "removed" } else { "listed" };
        for length in &found.lengths {
            let mark = if length.min_length == chosen { "  <- chosen" } else { "" };
            self.ask.tell(format!(
                "  from {} on: about {:.1} % {verb}{mark}",
                count(length.min_length, "byte"),
                length.share * 100.0
            ));
        }
        for passage in found.passages.iter().take(PASSAGES) {
            let text = cut_end(&display_safe(&passage.text), COLUMNS);
            self.ask.tell(format!("  {} times, {}: {text}", grouped(passage.count), count(passage.length, "byte")));
        }
        if found.scratch_bytes > 0 {
            let place = display_safe(&found.scratch.to_string_lossy()).into_owned();
            self.ask.tell(format!(
                "Scratch: about {} in {place}, where {} are free",
                bytes(found.scratch_bytes),
                bytes(found.scratch_free_bytes)
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
        let written = file::dedup_to_yaml(&self.plan)
            .and_then(|text| write_file(&RealFs, Path::new(&name), text.as_bytes(), 0o644));
        match written {
            Ok(()) => self.ask.tell(format!("Saved to {}.", display_safe(&name))),
            Err(failure) => self.ask.tell(format!("Not saved: {failure}")),
        }
        Ok(())
    }
}
