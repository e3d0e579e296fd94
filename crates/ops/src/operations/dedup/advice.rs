//! The advice of `dedup`: lists the files, and estimates the text that each minimum length removes.

use crate::job::dedup::{estimates, SampleBudget};
use crate::operations::{Advice, AnyPlan, QuestionNeed};
use gristmill_core::dedup::{Mode, PROPOSED_MIN_LENGTH, SHOWN_LENGTHS};
use gristmill_core::options::OptionRow;
use gristmill_core::text::{bytes, count, percent};
use gristmill_core::{Cancel, DedupPlan, Outcome, RunOptions};
use gristmill_data::source::dedup::list;
use gristmill_storage::location::output_next_to;
use std::path::Path;

/// Returns the proposed output of a plan; `None` if its source has no name.
pub fn proposed_output(plan: &DedupPlan) -> Option<String> {
    Some(output_next_to(Path::new(plan.source()), &plan.proposed_name()?).to_string_lossy().into_owned())
}

pub(super) struct DedupAdvice {
    pub(super) options: RunOptions,
}

impl Advice for DedupAdvice {
    fn order(&self) -> &'static [&'static str] {
        &["dir", "minlen", "output"]
    }

    fn need(&self, plan: &dyn AnyPlan, row: &OptionRow) -> QuestionNeed {
        let has_index = plan.typed::<DedupPlan>().is_some_and(|plan| plan.from_index.is_some());
        match row.info.name {
            "dir" if has_index => QuestionNeed::Optional,
            "dir" | "minlen" => QuestionNeed::Required,
            _ if row.info.is_required => QuestionNeed::Required,
            _ => QuestionNeed::Optional,
        }
    }

    fn propose(&self, plan: &dyn AnyPlan, option: &str) -> Option<String> {
        match option {
            "minlen" => Some(PROPOSED_MIN_LENGTH.to_string()),
            "output" => proposed_output(plan.typed::<DedupPlan>()?),
            _ => None,
        }
    }

    fn activity(&self, plan: &dyn AnyPlan, option: &str) -> Option<&'static str> {
        let is_estimated = plan.typed::<DedupPlan>().is_some_and(|plan| plan.min_length.is_none());
        (option == "dir" && is_estimated)
            .then_some("reading a sample of the text, to estimate what each length removes")
    }

    fn check(&mut self, plan: &dyn AnyPlan, option: &str) -> Outcome<Vec<String>> {
        let Some(plan) = plan.typed::<DedupPlan>().filter(|_| option == "dir") else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        if plan.from_index.is_none() {
            let found = list(Path::new(&plan.input), plan.compat, &Cancel::default())?;
            let size = found.files.iter().map(|file| file.bytes).sum();
            lines.push(format!("{}, {}", count(found.files.len() as u64, "file"), bytes(size)));
            lines.extend(found.problems.iter().map(|problem| format!("Warning: {problem}")));
        }
        if plan.min_length.is_none() {
            lines.extend(self.shares(plan)?);
        }
        Ok(lines)
    }
}

impl DedupAdvice {
    /// Returns lines with the share of the text that each minimum length removes, estimated from a sample; empty if no estimate is
    /// possible.
    fn shares(&self, plan: &DedupPlan) -> Outcome<Vec<String>> {
        let found = match estimates(plan, &SHOWN_LENGTHS, &self.options, SampleBudget::FIRST, &Cancel::default()) {
            Ok(found) => found,
            Err(failure) if failure.is_cancelled() => return Err(failure),
            // The preview of the plan reports the failure.
            Err(_) => return Ok(Vec::new()),
        };
        let verb = match plan.mode {
            Mode::Remove => "removed",
            Mode::Annotate => "listed",
        };
        let lengths = found.iter().flat_map(|estimate| &estimate.lengths);
        let shares = lengths.map(|length| {
            let (about, bounds) = match length.most_share.filter(|_| !length.is_exact) {
                Some(most) => ("about ", format!(" (likely {} to {})", percent(length.least_share), percent(most))),
                None => ("", String::new()),
            };
            let share = percent(length.share);
            format!("  at a minimum length of {}: {about}{share} {verb}{bounds}", count(length.min_length, "byte"))
        });
        Ok(shares.collect())
    }
}
