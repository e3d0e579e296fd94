//! `splits exclude` and `splits include`: add and remove excludes.

use super::super::context::Context;
use super::super::exit::{CommandFailure, CommandResult};
use super::super::paths;
use super::args::ExcludeArgs;
use super::change::PendingChange;
use super::{open, ACTIVITY};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, count, grouped};
use gristmill_core::{ExitClass, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_ops::engine::outputs::exclude_item;
use gristmill_ops::engine::splits::{check_items, Edit, ExcludeItem, Matches, Names, SplitEditor};
use gristmill_ops::operations::prepare::exclude_lines;
use gristmill_pycompat::braces;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum size of a file with items, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of listed items that were refused; further ones are only counted.
const MAX_LISTED_ITEMS: usize = 20;

/// Runs `splits exclude`: every item must match something, unless `--allow-unmatched` is given.
pub(super) fn exclude(args: &ExcludeArgs, context: &Context) -> CommandResult {
    let mut texts = args.items.clone();
    if let Some(path) = &args.from {
        texts.extend(exclude_lines(&paths::read_text(path, "reading --from", MAX_BYTES)?));
    }
    if texts.is_empty() {
        return Err(Failure::usage(ACTIVITY, "there is nothing to exclude")
            .with_hint("SHARD, SHARD/KEY, or --from FILE")
            .into());
    }
    excluding(open(&args.path)?, texts, args, context)?.finish(context)
}

/// Applies excludes and looks them up, without writing. `texts` are used instead of the items in `args`.
pub(super) fn excluding(
    editor: SplitEditor,
    texts: Vec<String>,
    args: &ExcludeArgs,
    context: &Context,
) -> Result<PendingChange, CommandFailure> {
    let texts = meant(&editor, texts, context)?;
    let items = texts.into_iter().map(|text| ExcludeItem::written(text).with_note(args.note.clone())).collect();
    let mut change = PendingChange::new(editor);
    change.apply(Edit::Exclude { items })?;
    resolve_items(&mut change, context)?;
    change.allows_unmatched = args.allow_unmatched;
    if !args.allow_unmatched {
        refuse_unmatched(&change.editor)?;
    }
    report_partial(&mut change);
    Ok(change)
}

/// Resolves braces and backslashes: an item that matches nothing as an expression, but is the name of a sample, is treated as a name.
fn meant(editor: &SplitEditor, mut texts: Vec<String>, context: &Context) -> Outcome<Vec<String>> {
    let ids: HashSet<&str> = editor.shards().iter().map(|(name, _)| &**name).collect();
    let escaped = |text: &str| {
        let (shard, key) = shard_and_key(text, &ids).filter(|_| text.contains(['{', '}', '\\']))?;
        key.map(|key| exclude_item(shard, Some(key)))
    };
    let names: HashMap<String, String> = texts.iter().filter_map(|text| Some((text.clone(), escaped(text)?))).collect();
    if names.is_empty() || !has_sample_tables(editor.root())? {
        return Ok(texts);
    }
    let asked: Vec<Arc<str>> =
        names.iter().flat_map(|(text, name)| [text, name]).map(|item| Arc::from(item.as_str())).collect();
    let found = check_items(editor.root(), &asked, &context.signals.cancel_on_signal())?.found;
    let count = |item: &str| found.get(item).copied().unwrap_or(0);
    for text in &mut texts {
        if let Some(name) = names.get(text.as_str()).filter(|name| count(text) == 0 && count(name) > 0) {
            text.clone_from(name);
        }
    }
    Ok(texts)
}

/// Looks up the new items in the index; without sample tables, adds a note that they were not looked up.
fn resolve_items(change: &mut PendingChange, context: &Context) -> Outcome<()> {
    let is_open = |view: &&gristmill_ops::engine::splits::ExcludeView| view.is_new && view.matches == Matches::Unknown;
    let items: Vec<Arc<str>> =
        change.editor.excludes().iter().filter(is_open).map(|view| Arc::clone(&view.item)).collect();
    if items.is_empty() {
        return Ok(());
    }
    let root = change.editor.root().to_path_buf();
    if !has_sample_tables(&root)? {
        let message = "the data set has no sample tables, so these samples were not looked up";
        change.problems.push(Problem::note(ProblemKind::MatchesNothing, Subject::default(), message));
        return Ok(());
    }
    let checked = check_items(&root, &items, &context.signals.cancel_on_signal())?;
    change.editor.take_checked(checked);
    Ok(())
}

/// Whether samples can be looked up by key.
pub(super) fn has_sample_tables(root: &Path) -> Outcome<bool> {
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    match gristmill_data::formats::energon::tables::Tables::open(&database) {
        Ok(_) => Ok(true),
        Err(failure) if failure.is_missing() || failure.class == ExitClass::Data => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn refuse_unmatched(editor: &SplitEditor) -> Result<(), CommandFailure> {
    let lost: Vec<_> =
        editor.excludes().iter().filter(|view| view.is_new && view.matches == Matches::Nothing).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let known: Vec<&str> = editor.shards().iter().take(10_000).map(|(name, _)| &**name).collect();
    let mut failures: Vec<Failure> =
        lost.iter().take(MAX_LISTED_ITEMS).map(|view| unmatched(&view.item, view.names, &known)).collect();
    if lost.len() > MAX_LISTED_ITEMS {
        let more = count((lost.len() - MAX_LISTED_ITEMS) as u64, "more item");
        failures.push(Failure::usage(ACTIVITY, format!("{more} match nothing")));
    }
    Err(failures.into())
}

fn unmatched(item: &str, names: Names, known: &[&str]) -> Failure {
    let allow = "--allow-unmatched writes it anyway";
    let (why, hint) = match names {
        Names::NoShard | Names::Broken => {
            let shard = item.split_inclusive(".tar").next().unwrap_or(item);
            let near = gristmill_core::did_you_mean::nearest(shard, known.iter().copied());
            let near =
                near.map(|near| format!("did you mean '{near}{}'? ", item.get(shard.len()..).unwrap_or_default()));
            (
                "it names no shard of the data set",
                format!("{}an item is SHARD or SHARD/KEY; {allow}", near.unwrap_or_default()),
            )
        }
        Names::Range(_) => ("none of its names exists", allow.to_owned()),
        Names::Shard | Names::Sample => ("the shard has no such sample", allow.to_owned()),
    };
    Failure::usage(ACTIVITY, why).on(Subject::field(item)).with_hint(hint)
}

/// Adds notes about ranges of which the data set contains only a part.
fn report_partial(change: &mut PendingChange) {
    let mut notes = Vec::new();
    for view in change.editor.excludes().iter().filter(|view| view.is_new) {
        if let (Names::Range(all), Matches::Some(found)) = (view.names, view.matches) {
            if found < all {
                let message = format!(
                    "{} of its {} {} in the data set",
                    grouped(found),
                    count(all, "name"),
                    agree(found, "is", "are")
                );
                notes.push(Problem::note(ProblemKind::MatchesNothing, Subject::field(view.item.as_ref()), message));
            }
        }
    }
    change.problems.extend(notes);
}

/// Runs `splits include`: an item equal to an exclude removes that exclude; other items remove only the names that they match from the
/// excludes.
pub(super) fn include(path: &Path, items: &[String], context: &Context) -> CommandResult {
    including(open(path)?, items)?.finish(context)
}

/// Removes excludes without writing the file.
pub(super) fn including(editor: SplitEditor, items: &[String]) -> Outcome<PendingChange> {
    let ids: HashSet<&str> = editor.shards().iter().map(|(name, _)| &**name).collect();
    let written: HashMap<&str, usize> =
        editor.excludes().iter().enumerate().map(|(index, view)| (view.item.as_ref(), index)).collect();
    let (mut whole, mut edits) = (Vec::new(), Vec::new());
    for item in items {
        let literal = shard_and_key(item, &ids).map(|(shard, key)| include_edit(shard, key));
        if let Some(&index) = written.get(item.as_str()) {
            // If the item is a single name, other excludes may match it, too: it is removed from all of them.
            let names_one = braces::expand(item, 2).is_ok_and(|names| names == [item.as_str()]);
            match literal.filter(|_| names_one) {
                Some(edit) => edits.push(edit),
                None => whole.push(index),
            }
            continue;
        }
        // Braces may be part of a name, if an exclude of exactly that name exists.
        if let Some(edit) =
            literal.filter(|edit| !item.contains(['{', '\\']) || editor.clone().apply(edit.clone()).is_ok())
        {
            edits.push(edit);
            continue;
        }
        let names = braces::expand(item, braces::MAX_RESULTS)
            .map_err(|error| Failure::usage(ACTIVITY, error.to_string()).on(Subject::field(item)))?;
        edits.extend(names.iter().map(|name| {
            let (shard, key) = shard_and_key(name, &ids).unwrap_or((name, None));
            include_edit(shard, key)
        }));
    }
    // From last to first, so that the indexes of the others stay valid.
    whole.sort_unstable();
    whole.dedup();
    edits.extend(whole.into_iter().rev().map(|index| Edit::RemoveItem { index }));
    let removals = edits.iter().position(|edit| matches!(edit, Edit::RemoveItem { .. })).unwrap_or(edits.len());
    edits.rotate_left(removals);
    let edit = match edits.len() {
        1 => edits.remove(0),
        n => Edit::Many { title: format!("include {}", count(n as u64, "item")), edits },
    };
    let lists =
        format!("gristmill splits show {} --excludes lists them", shell_quote(&editor.root().to_string_lossy()));
    let mut change = PendingChange::new(editor);
    change.apply(edit).map_err(|failure| Failure { hint: failure.hint.clone().or(Some(lists)), ..failure })?;
    Ok(change)
}

fn include_edit(shard: &str, key: Option<&str>) -> Edit {
    Edit::Include { shard: shard.into(), key: key.map(Arc::from) }
}

/// Splits a name into its longest prefix that is the name of a shard, and the key.
fn shard_and_key<'n>(name: &'n str, shards: &HashSet<&str>) -> Option<(&'n str, Option<&'n str>)> {
    if shards.contains(name) {
        return Some((name, None));
    }
    let mut ends = name.rmatch_indices('/').map(|(at, _)| at);
    let at = ends.find(|at| shards.contains(&name[..*at]))?;
    Some((&name[..at], Some(&name[at + 1..])))
}
