//! Reads folders of samples.

use super::super::super::reader::{range_text, CheckRequest, TokenReader};
use super::browser::SamplesBrowser;
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::pool::run_units;
use crate::tokens::formats::forager::facts::{check_forager, counted, forager_facts};
use crate::tokens::formats::forager::samples::Samples;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, display_safe, grouped};
use gristmill_core::{Handles, Outcome, ProblemLog, TokenKind};
use gristmill_data::formats::forager::kind::SAMPLES;
use std::path::Path;

/// Reads samples by their index.
pub(super) struct SamplesReader;

impl TokenReader for SamplesReader {
    fn kind(&self) -> &'static TokenKind {
        &SAMPLES
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &SamplesBrowser
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: Some("file"), item: "sample", counted: "sample" }
    }

    fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let log = ProblemLog::default();
        let facts = forager_facts(path, &Handles { problems: &log, ..*handles })?;
        let mut info = DatasetInfo::of(&facts);
        info.add("samples", grouped(facts.samples));
        info.add("size of all samples", size(facts.bytes));
        info.add("bytes a sample", range_text(facts.shortest, facts.longest));
        if let Some(tokens) = facts.sample_size {
            info.add("tokens a sample", grouped(tokens));
            let arrays: Vec<String> = facts.arrays.iter().map(|(name, dtype)| format!("{name} ({dtype})")).collect();
            info.add("arrays", arrays.join(", "));
        }
        info.table = Table::new(&[("file", Align::Left), ("samples", Align::Right), ("size", Align::Right)]);
        for file in facts.files.iter().take(MAX_LISTED) {
            let bytes = file.bytes.map_or_else(|| "missing".to_owned(), size);
            info.table.row([display_safe(&file.name).into_owned(), grouped(file.samples), bytes]);
        }
        let files = facts.files.len() as u64;
        Ok(DatasetInfo { files, items: facts.samples, bytes: facts.bytes, problems: log.to_vec(), ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        match request.depth {
            Depth::Index => check_forager(path, handles),
            Depth::Tokens => check_samples(path, request, handles),
        }
    }
}

/// Checks all samples: first the index, then each file as a unit.
fn check_samples(root: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let facts = forager_facts(root, handles)?;
    let samples = Samples::of(&facts, request.vocabulary, handles)?;
    handles.progress.restart(facts.files.len() as u64, facts.bytes);
    run_units(&facts.files, request.threads, handles.cancel, |file| {
        samples.check(file, handles)?;
        handles.progress.add(1, 0);
        Ok(())
    })?;
    Ok(counted(&facts))
}
