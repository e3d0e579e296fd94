//! Reads JSONL files for `info`, `lint`, `verify`, `facts` and the browser.

use super::figures::{FigureGroup, Figures, MAX_JSONL_RECORDS};
use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::browse::{self, OpenedCatalog, TokenView};
use crate::engine::check::{CheckReport, CheckTexts, DatasetInfo, InfoList};
use crate::engine::jsonl::{facts_of, JsonlFacts, KeyFacts, Lengths};
use crate::job::jsonl::{run_lint, run_verify};
use gristmill_core::text::{bytes, count, grouped, shell_quote};
use gristmill_core::{Cancel, Handles, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_data::formats::energon::jsonl_idx::{index_path, IndexState};

/// Maximum number of records that are examined.
const EXAMINED_RECORDS: u64 = 1_000;
/// Maximum number of keys in the description.
const MAX_LISTED_KEYS: usize = 20;
/// Number of records at the start of the file that are shown.
const SHOWN_RECORDS: usize = 5;

/// Reads a JSONL file.
pub(super) struct Jsonl;

impl DatasetReader for Jsonl {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: None, item: "file", counted: "sample" }
    }

    fn info(&self, dataset: &Dataset, _: &InfoRequest, _: &Handles<'_>) -> Outcome<DatasetInfo> {
        let mut facts = facts_of(&dataset.path, EXAMINED_RECORDS)?;
        // Records are long data, so the result contains only their keys and lengths.
        let records = std::mem::take(&mut facts.records);
        let mut info = DatasetInfo::of(&facts);
        info.result.remove("records");
        describe(&facts, &mut info);
        let rows = records.into_iter().take(SHOWN_RECORDS).map(|record| (record.line.to_string(), record.text));
        info.lists.push(InfoList { is_long: true, ..InfoList::new("first records", rows.collect()) });
        info.problems = facts.problems;
        if let IndexState::OutOfDate { why } = &facts.index {
            let problem = Problem::problem(ProblemKind::IndexMismatch, Subject::path(index_path(&dataset.path)), why);
            let quoted = shell_quote(&dataset.path.to_string_lossy());
            info.problems.push(problem.with_hint(format!("gristmill prepare {quoted} makes it again")));
        }
        Ok(info)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        let checked = match request.is_deep {
            false => run_lint(&dataset.path, &request.run, handles),
            true => run_verify(&dataset.path, &request.run, handles),
        };
        checked.map(CheckReport::from)
    }

    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        browse::jsonl::open(&dataset.path)
    }

    fn figures(
        &self,
        dataset: &Dataset,
        group: FigureGroup,
        to: &mut Figures,
        _: &RunOptions,
        _: &Cancel,
    ) -> Outcome<()> {
        if group == FigureGroup::Samples {
            let facts = facts_of(&dataset.path, MAX_JSONL_RECORDS)?;
            to.jsonl = Some(JsonlFacts { records: Vec::new(), ..facts });
        }
        Ok(())
    }
}

fn describe(facts: &JsonlFacts, info: &mut DatasetInfo) {
    info.add(
        "samples",
        match facts.samples {
            Some(number) => grouped(number),
            None if facts.bytes == 0 => grouped(0),
            None => "not known before it is indexed".to_owned(),
        },
    );
    info.add("size", bytes(facts.bytes));
    info.add(
        "index",
        match &facts.index {
            IndexState::Fits { samples } => format!("fits ({})", bytes((samples + 1) * 8)),
            IndexState::Missing => "none: prepare writes it".to_owned(),
            IndexState::OutOfDate { why } => format!("out of date: {why}"),
        },
    );
    if facts.line_bytes.count > 0 {
        info.add("bytes a sample", spread(&facts.line_bytes));
    }
    if facts.unparsed > 0 {
        info.add("not parsed", format!("{}; gristmill lint reports why", count(facts.unparsed, "record")));
    }
    let keys = facts.keys.iter().take(MAX_LISTED_KEYS).map(|key| (key.name.clone(), key_text(key, facts.looked_at)));
    let title = format!("keys (of {})", count(facts.looked_at, "record"));
    let unlisted = facts.keys.len().saturating_sub(MAX_LISTED_KEYS) as u64;
    info.lists.push(InfoList { unlisted, ..InfoList::new(title, keys.collect()) });
}

fn spread(lengths: &Lengths) -> String {
    if lengths.min == lengths.max {
        return grouped(lengths.min);
    }
    let mean = grouped(lengths.mean().round() as u64);
    let ends = format!("{} to {}, {mean} on average", grouped(lengths.min), grouped(lengths.max));
    match lengths.count {
        0..10 => ends,
        _ => format!("{ends}, half of them up to about {}", grouped(lengths.quantile(0.5))),
    }
}

fn key_text(key: &KeyFacts, records: u64) -> String {
    let kinds: Vec<&str> = key.kinds.iter().map(|(kind, _)| *kind).collect();
    let mut text = kinds.join(" or ");
    if key.seen < records {
        text.push_str(&format!(", in {} of {}", grouped(key.seen), grouped(records)));
    }
    if key.text.count > 0 {
        let (mean, longest) = (count(key.text.mean().round() as u64, "character"), grouped(key.text.max));
        text.push_str(&format!(", {mean} on average, {longest} at most"));
    }
    text
}
