//! Checks one shard: its file, its `.tar.idx`, its rows, and every header at the offset in its row.

use super::LintContext;
use crate::engine::check::compare::{compare_shard, REMAKE_HINT};
use crate::engine::check::headers::{check_rows, HeaderVerdict};
use crate::engine::check::sample_checks::SampleChecker;
use crate::engine::check::tar_idx_reader::TarIdxReader;
use crate::engine::check::unindexed_pieces::KeySpools;
use crate::engine::check::{CheckCounts, PreparedDataset};
use crate::engine::recorded::describe_resized;
use gristmill_core::text::{count, count_verb, grouped, shell_quote};
use gristmill_core::{
    Cancel, ExitClass, Handles, Outcome, Problem, ProblemKind, ProblemLog, ProblemSink, Progress, Severity, Shard,
    ShardId, Subject,
};
use gristmill_storage::location::hint_for;
use gristmill_storage::read::stamp_at;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn check(context: &LintContext, id: ShardId, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let prepared = &context.prepared;
    let Some((name, count)) = prepared.entry(id) else { return Ok(CheckCounts::default()) };
    let shard = match prepared.shard(id) {
        Ok(shard) => shard,
        Err(failure) if failure.class != ExitClass::Environment => return Err(failure),
        Err(failure) => {
            let message = format!("the index lists this shard, but it does not exist: {}", failure.why);
            let hint = "restore it, or remove it from the index: gristmill prepare PATH --update";
            let problem = Problem::problem(ProblemKind::MissingFile, Subject::shard(name), message);
            handles.problems.report(problem.with_hint(hint_for(&prepared.root, hint)))?;
            handles.progress.add(1, 0);
            return Ok(CheckCounts::default());
        }
    };
    empty(name, count, handles.problems)?;
    let change = change_of(prepared, &shard);
    if let IndexedChange::Size(message) = &change {
        let problem = Problem::problem(ProblemKind::ShardChanged, Subject::shard(name), message.as_str());
        handles.problems.report(problem.with_hint(hint_for(&prepared.root, UPDATE_HINT)))?;
    }
    let mismatches = Mismatches::new(handles.problems);
    let handles = &Handles { problems: &mismatches, ..*handles };
    let end = index_length(prepared, id, &shard, handles.problems)?;
    if let Some(end) = end.filter(|end| !shard.is_tgz && *end > shard.stamp.bytes) {
        let message = format!(
            "the index says that the archive ends at byte {}, the file has {}",
            grouped(end),
            grouped(shard.stamp.bytes)
        );
        handles.problems.report(
            Problem::problem(ProblemKind::ShardChanged, Subject::shard(name), message)
                .with_hint(fetch_hint(&prepared.root, name)),
        )?;
    }
    // If only the time differs, the headers show whether the shard was replaced.
    let is_retimed = matches!(change, IndexedChange::Time | IndexedChange::NewerThanIndex);
    if !context.headers && !is_retimed {
        handles.progress.add(1, 0);
        return Ok(CheckCounts { shards: 1, ..CheckCounts::default() });
    }
    let checked = rows(context, id, &shard, handles)?;
    if is_retimed && mismatches.has_any() {
        let message =
            "it was written to since it was indexed (its size is the same): its headers do not agree with the index";
        handles.problems.report(
            Problem::problem(ProblemKind::ShardChanged, Subject::shard(name), message)
                .with_hint(hint_for(&prepared.root, UPDATE_HINT)),
        )?;
    } else if matches!(change, IndexedChange::Time) {
        context.retimed.fetch_add(1, Ordering::Relaxed);
    }
    Ok(checked)
}

/// Whether every header of a shard is at the offset in the index. Content is not compared.
pub fn has_same_headers(prepared: &PreparedDataset, id: ShardId, cancel: &Cancel) -> Outcome<bool> {
    let Some((name, _)) = prepared.entry(id) else { return Ok(false) };
    let shard = prepared.shard(id)?;
    let (progress, log) = (Progress::default(), ProblemLog::new(false));
    let mismatches = Mismatches::new(&log);
    let handles = Handles { progress: &progress, cancel, problems: &mismatches };
    index_length(prepared, id, &shard, &mismatches)?;
    walk(
        (prepared, super::database::is_indexed(prepared)),
        id,
        &shard,
        &mut SampleChecker::nothing(&prepared.root, name),
        None,
        &handles,
    )?;
    Ok(!mismatches.has_any())
}

/// Records whether a shard and its index disagree.
struct Mismatches<'a> {
    inner: &'a dyn ProblemSink,
    any: AtomicBool,
}

impl<'a> Mismatches<'a> {
    fn new(inner: &'a dyn ProblemSink) -> Self {
        Self { inner, any: AtomicBool::new(false) }
    }
    fn has_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }
}

impl ProblemSink for Mismatches<'_> {
    fn report(&self, problem: Problem) -> Outcome<()> {
        if matches!(problem.kind, ProblemKind::IndexMismatch | ProblemKind::BadFile | ProblemKind::MissingFile) {
            self.any.store(true, Ordering::Relaxed);
        }
        self.inner.report(problem)
    }
    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        self.inner.count_more(severity, kind, number);
    }
}

/// Reports a shard that is recorded without samples.
pub(in crate::engine::check) fn empty(name: &str, count: u64, problems: &dyn ProblemSink) -> Outcome<()> {
    if count > 0 {
        return Ok(());
    }
    problems.report(Problem::problem(ProblemKind::EmptyShard, Subject::shard(name), "this shard has no samples"))
}

/// Hint for a shard that has changed.
pub(in crate::engine::check) const UPDATE_HINT: &str = "gristmill prepare PATH --update indexes it again";

fn fetch_hint(root: &Path, shard: &str) -> String {
    let hint = hint_for(root, "fetch the shard again, or leave it out: gristmill prepare PATH --update --exclude");
    format!("{hint} {}", shell_quote(shard))
}

fn rows(context: &LintContext, id: ShardId, shard: &Shard, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let prepared = &context.prepared;
    let empty = HashSet::new();
    let excluded = context.excluded_keys.get(&shard.name).unwrap_or(&empty);
    let fields = context.trained.contains(&shard.name).then_some(&context.fields);
    let mut watch =
        SampleChecker::new(&prepared.root, &shard.name, fields, excluded.iter().map(String::as_str).collect());
    let keys = context.keys.as_ref().filter(|_| fields.is_some());
    let checked = walk((prepared, context.rows_are_indexed), id, shard, &mut watch, keys, handles)?;
    watch.finish(handles.problems)?;
    Ok(checked)
}

/// Compares every header with its row: from row to row if possible, otherwise by a scan.
fn walk(
    (prepared, rows_are_indexed): (&PreparedDataset, bool),
    id: ShardId,
    shard: &Shard,
    watch: &mut SampleChecker<'_>,
    keys: Option<&KeySpools>,
    handles: &Handles<'_>,
) -> Outcome<CheckCounts> {
    let tables = if rows_are_indexed && !shard.is_tgz { prepared.tables()? } else { None };
    if let Some(tables) = tables {
        let own = Progress::default();
        let verdict = check_rows(prepared, &tables, id, shard, watch, &Handles { progress: &own, ..*handles })?;
        if let HeaderVerdict::Sound(checked) = verdict {
            handles.progress.add(1, shard.stamp.bytes);
            return Ok(checked);
        }
        watch.restart();
    }
    compare_shard(prepared, id, shard, watch, keys, handles)
}

/// The difference between a shard and its state when it was indexed.
enum IndexedChange {
    None,
    /// Its size differs; the text describes how.
    Size(String),
    /// Only its time differs, as in a copy that does not preserve times.
    Time,
    /// Its state is not recorded, and it is newer than its index.
    NewerThanIndex,
}

fn change_of(prepared: &PreparedDataset, shard: &Shard) -> IndexedChange {
    let Some(then) = prepared.stamps.get(&shard.name) else {
        let index = stamp_at(&prepared.root.join(shard.index_name()));
        let is_newer = index.is_ok_and(|index| shard.stamp.modified_ns > index.modified_ns);
        return if is_newer { IndexedChange::NewerThanIndex } else { IndexedChange::None };
    };
    if let Some(message) = describe_resized((&prepared.root, &shard.name), *then, shard.stamp.bytes) {
        return IndexedChange::Size(message);
    }
    if then.modified_ns == shard.stamp.modified_ns {
        IndexedChange::None
    } else {
        IndexedChange::Time
    }
}

/// Checks that `.tar.idx` exists, has one word more than there are samples, and never descends. Returns its last word.
pub(in crate::engine::check) fn index_length(
    prepared: &PreparedDataset,
    id: ShardId,
    shard: &Shard,
    problems: &dyn ProblemSink,
) -> Outcome<Option<u64>> {
    let path = prepared.root.join(shard.index_name());
    let report = |kind, message: String| {
        problems.report(
            Problem::problem(kind, Subject::path(&path), message).with_hint(hint_for(&prepared.root, REMAKE_HINT)),
        )
    };
    let mut words = match TarIdxReader::open(&path) {
        Ok(words) => words,
        Err(failure) => {
            let message = format!(
                "the trainer reads shard '{}' through this file, and it cannot be read: {}",
                shard.name, failure.why
            );
            report(ProblemKind::MissingFile, message)?;
            return Ok(None);
        }
    };
    let samples = prepared.entry(id).map_or(0, |(_, count)| count);
    if words.trailing_bytes() != 0 {
        report(
            ProblemKind::BadFile,
            format!("its length is no multiple of 8 bytes ({} too many)", words.trailing_bytes()),
        )?;
    }
    if words.count() != samples + 1 {
        let message = format!(
            "it has {}; {} {}",
            count(words.count(), "word"),
            count_verb(samples, "sample", "needs", "need"),
            grouped(samples + 1)
        );
        report(ProblemKind::BadFile, message)?;
    }
    let (mut last, mut position) = (0, 0u64);
    while let Some(word) = words.next()? {
        if word < last {
            report(ProblemKind::BadFile, format!("word {position} is {word}, less than the {last} before it"))?;
            return Ok(None);
        }
        last = word;
        position += 1;
    }
    Ok((position > 0).then_some(last))
}
