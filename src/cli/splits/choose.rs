//! Selects shards by the arguments of a command.

use super::ACTIVITY;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::text::hint_for;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::engine::splits::{matching, SplitEditor};
use gristmill_pycompat::braces;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Selects shards by names, ranges and patterns, without duplicates and in the order of the data set.
pub(super) fn shards(
    editor: &SplitEditor,
    names: &[String],
    ranges: &[String],
    patterns: &[String],
) -> Outcome<Vec<Arc<str>>> {
    let known: HashMap<&str, usize> =
        editor.shards().iter().enumerate().map(|(number, (name, _))| (&**name, number)).collect();
    let mut chosen = BTreeSet::new();
    for name in names {
        if let Some(&number) = known.get(name.as_str()) {
            chosen.insert(number);
            continue;
        }
        let expanded = braces::expand(name, braces::MAX_RESULTS).map_err(|error| {
            Failure::usage(ACTIVITY, error.to_string())
                .on(Subject::shard(name))
                .with_hint("shards are named as in `splits show --shards`")
        })?;
        for name in &expanded {
            chosen.insert(*known.get(name.as_str()).ok_or_else(|| unknown(editor, name))?);
        }
    }
    for range in ranges {
        let (first, last) = range_of(editor, &known, range)?;
        chosen.extend(first..=last);
    }
    for pattern in patterns {
        chosen.extend(matching(editor, pattern)?);
    }
    if chosen.is_empty() {
        return Err(Failure::usage(ACTIVITY, "no shard is named")
            .with_hint("name shards, or choose them by --range FIRST..LAST or --pattern REGEX"));
    }
    Ok(chosen.into_iter().filter_map(|number| editor.shards().get(number)).map(|(name, _)| Arc::clone(name)).collect())
}

fn unknown(editor: &SplitEditor, name: &str) -> Failure {
    let failure = Failure::usage(ACTIVITY, "the data set has no such shard").on(Subject::shard(name));
    match nearest(name, editor.shards().iter().take(10_000).map(|(name, _)| &**name)) {
        Some(near) => failure.with_hint(format!("did you mean '{near}'?")),
        None => failure.with_hint(hint_for(editor.root(), "`gristmill splits show PATH --shards` lists them")),
    }
}

/// Parses `FIRST..LAST` into the indexes of both shards, in order. Names may contain dots, so every `..` is tried.
fn range_of(editor: &SplitEditor, known: &HashMap<&str, usize>, text: &str) -> Outcome<(usize, usize)> {
    let refused = |why: String| Failure::usage(ACTIVITY, why).on(Subject::field(text));
    let count = editor.shards().len();
    let place = |end: &str| {
        let by_number = || end.parse::<usize>().ok().filter(|number| *number < count);
        known.get(end).copied().or_else(by_number)
    };
    let mut ends = None;
    for (at, _) in text.match_indices("..") {
        let (first, last) = (&text[..at], &text[at + 2..]);
        ends.get_or_insert((first, last));
        if let (Some(first), Some(last)) = (place(first), place(last)) {
            if first > last {
                return Err(refused("it ends before it begins".to_owned()).with_hint(format!(
                    "swap its ends: --range {}..{}",
                    &text[at + 2..],
                    &text[..at]
                )));
            }
            return Ok((first, last));
        }
    }
    let Some((first, last)) = ends else {
        return Err(refused("it is not a range".to_owned())
            .with_hint("--range FIRST..LAST: two shards, or their numbers from 0"));
    };
    let missing = if place(first).is_none() { first } else { last };
    if missing.bytes().all(|byte| byte.is_ascii_digit()) && !missing.is_empty() {
        return Err(refused(format!("there is no shard number {missing}")).with_hint(format!(
            "the data set has {}, numbered from 0",
            gristmill_core::text::count(count as u64, "shard")
        )));
    }
    Err(unknown(editor, missing))
}
