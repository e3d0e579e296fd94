//! One shard: its file, its `.tar.idx`, its rows, and every header where its row says it is.

use super::LintContext;
use crate::engine::check::compare::{compare_shard, REDO};
use crate::engine::check::headers::{check_rows, Verdict};
use crate::engine::check::watch::Watch;
use crate::engine::check::words::Words;
use crate::engine::check::{Checked, Prepared};
use crate::model::text::{bytes, grouped};
use crate::model::{ExitClass, Handles, Outcome, Problem, ProblemKind, ProblemSink, Progress, Shard, ShardId, Subject};
use crate::storage::read::stamp_at;
use std::collections::HashSet;

pub(super) fn check(context: &LintContext, id: ShardId, handles: &Handles<'_>) -> Outcome<Checked> {
    let prepared = &context.prepared;
    let Some((name, count)) = prepared.entry(id) else { return Ok(Checked::default()) };
    let shard = match prepared.shard(id) {
        Ok(shard) => shard,
        Err(failure) if failure.class != ExitClass::Environment => return Err(failure),
        Err(failure) => {
            let message = format!("the index lists this shard, but it is not there: {}", failure.why);
            let hint = "bring it back, or gristmill prepare PATH --update takes it out";
            let problem = Problem::problem(ProblemKind::MissingFile, Subject::shard(name), message);
            handles.problems.report(problem.with_hint(hint))?;
            handles.progress.add(1, 0);
            return Ok(Checked::default());
        }
    };
    empty(name, count, handles.problems)?;
    changed(prepared, &shard, handles.problems)?;
    let end = index_length(prepared, id, &shard, handles.problems)?;
    if let Some(end) = end.filter(|end| !shard.is_tgz && *end > shard.stamp.bytes) {
        let message = format!(
            "the index says that the archive ends at byte {}, the file has {}",
            grouped(end),
            grouped(shard.stamp.bytes)
        );
        handles
            .problems
            .report(Problem::problem(ProblemKind::ShardChanged, Subject::shard(name), message).with_hint(FETCH))?;
    }
    if !context.headers {
        handles.progress.add(1, 0);
        return Ok(Checked { shards: 1, ..Checked::default() });
    }
    rows(context, id, &shard, handles)
}

/// A shard that is recorded with no sample.
pub(in crate::engine::check) fn empty(name: &str, count: u64, problems: &dyn ProblemSink) -> Outcome<()> {
    if count > 0 {
        return Ok(());
    }
    problems.report(Problem::note(ProblemKind::EmptyShard, Subject::shard(name), "this shard has no samples"))
}

const FETCH: &str = "fetch the shard again, or leave it out: gristmill prepare PATH --update --exclude NAME";
const UPDATE: &str = "gristmill prepare PATH --update indexes it again";

fn rows(context: &LintContext, id: ShardId, shard: &Shard, handles: &Handles<'_>) -> Outcome<Checked> {
    let prepared = &context.prepared;
    let empty = HashSet::new();
    let excluded = context.excluded_keys.get(&shard.name).unwrap_or(&empty);
    let fields = context.trained.contains(&shard.name).then_some(&context.fields);
    let mut watch = Watch::new(&shard.name, fields, excluded.iter().map(String::as_str).collect());
    let tables = if context.rows_are_indexed && !shard.is_tgz { prepared.tables()? } else { None };
    if let Some(tables) = tables {
        let own = Progress::default();
        let verdict = check_rows(prepared, &tables, id, shard, &mut watch, &Handles { progress: &own, ..*handles })?;
        if let Verdict::Sound(checked) = verdict {
            handles.progress.add(1, shard.stamp.bytes);
            watch.finish(handles.problems)?;
            return Ok(checked);
        }
        watch.restart();
    }
    let keys = context.keys.as_ref().filter(|_| fields.is_some());
    let checked = compare_shard(prepared, id, shard, &mut watch, keys, handles)?;
    watch.finish(handles.problems)?;
    Ok(checked)
}

/// The shard's file against its state when it was indexed; without a record, against the age of its index.
fn changed(prepared: &Prepared, shard: &Shard, problems: &dyn ProblemSink) -> Outcome<()> {
    let subject = || Subject::shard(&shard.name);
    let Some(then) = prepared.stamps.get(&shard.name) else {
        let index = stamp_at(&prepared.root.join(shard.index_name()));
        if index.is_ok_and(|i| shard.stamp.modified_ns > i.modified_ns) {
            let message = "this shard is newer than its index; it may have changed since";
            return problems.report(Problem::note(ProblemKind::ShardChanged, subject(), message).with_hint(UPDATE));
        }
        return Ok(());
    };
    let message = if then.bytes != shard.stamp.bytes {
        format!("its size was {} when it was indexed and is {} now", bytes(then.bytes), bytes(shard.stamp.bytes))
    } else if then.modified_ns != shard.stamp.modified_ns {
        "it was written to since it was indexed (its size is the same)".to_owned()
    } else {
        return Ok(());
    };
    problems.report(Problem::problem(ProblemKind::ShardChanged, subject(), message).with_hint(UPDATE))
}

/// Whether `.tar.idx` is there, has one word more than there are samples, and never goes down; hands back its last word.
pub(in crate::engine::check) fn index_length(
    prepared: &Prepared,
    id: ShardId,
    shard: &Shard,
    problems: &dyn ProblemSink,
) -> Outcome<Option<u64>> {
    let path = prepared.root.join(shard.index_name());
    let report =
        |kind, message: String| problems.report(Problem::problem(kind, Subject::path(&path), message).with_hint(REDO));
    let mut words = match Words::open(&path) {
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
    let count = prepared.entry(id).map_or(0, |(_, count)| count);
    if words.odd_bytes() != 0 {
        report(ProblemKind::BadFile, format!("its length is no multiple of 8 bytes ({} too many)", words.odd_bytes()))?;
    }
    if words.count() != count + 1 {
        let message =
            format!("it has {} words; {} samples need {}", grouped(words.count()), grouped(count), grouped(count + 1));
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
