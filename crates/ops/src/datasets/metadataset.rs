//! Metadatasets: mixtures of data sets for Megatron-Energon.

use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::check::{CheckCounts, CheckReport, CheckTexts, DatasetInfo};
use crate::engine::mix::{self, MixFacts};
use crate::job::metadataset::{start, IndexAction};
use crate::job::mix::tree;
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Handles, Outcome, Severity};
use gristmill_storage::fs::RealFs;
use std::sync::Arc;

/// Reads a metadataset.
pub(super) struct Metadataset;

impl DatasetReader for Metadataset {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: None, item: "join", counted: "joined sample" }
    }

    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let facts = mix::check(&dataset.path, *handles)?;
        let mut info = DatasetInfo::of(&facts);
        info.add("version", facts.version.to_string());
        for join in &facts.joins {
            let state = if join.is_prepared { "its index is there" } else { "no index: prepare writes it" };
            info.add("join", format!("in {}: {state}", join.split));
        }
        for aux in &facts.aux {
            let all = count(aux.found + aux.missing, "name");
            info.add("media of", format!("{}: {} of {all} found", aux.member, grouped(aux.found)));
        }
        info.tree = tree::splits(&facts);
        info.problems = facts.problems;
        Ok(info)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        if request.is_deep {
            let (compat, options) = (request.compat, request.run.clone());
            let task = start(&dataset.path, compat, IndexAction::Compare, options, Arc::new(RealFs))?;
            let report = task.wait_with_progress_of(handles)?;
            let samples = report.joins.iter().map(|join| join.rows).sum();
            let joins = count(report.joins.len() as u64, "join");
            let covered = format!("{joins}, {}", count(samples, "joined sample"));
            let checked = CheckReport::from(CheckCounts { samples, ..CheckCounts::default() });
            return Ok(CheckReport { covered: Some(covered), ..checked }.with_result(&report));
        }
        let facts = mix::check(&dataset.path, *handles)?;
        let (lines, covered) = (tree::lines(&facts), subject_text(dataset, &facts));
        let report = CheckReport { lines, covered: Some(covered), ..CheckReport::default() }.with_result(&facts);
        facts.problems.into_iter().try_for_each(|problem| handles.problems.report(problem))?;
        Ok(report)
    }
}

/// Returns the name of the file for the sentence that counts its problems.
fn subject_text(dataset: &Dataset, facts: &MixFacts) -> String {
    let name = dataset.path.to_string_lossy();
    let name = display_safe(&name);
    match facts.problems.iter().map(|problem| problem.severity).max() {
        Some(Severity::Refusal) => name.into_owned(),
        Some(Severity::Problem) => format!("{name}; the loader opens it"),
        Some(Severity::Note) | None => format!("{name}, version {}", facts.version),
    }
}
