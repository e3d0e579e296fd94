//! `splits diff`: compares the file with an older one, or with the unwritten changes of the editor.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::printer::{paint, Tone};
use super::change::diff_lines;
use super::show::shown_path;
use crate::tui::screens::splits;
use gristmill_core::text::{count, display_safe, hint_for};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_ops::engine::splits::{diff_of, SplitEditor};
use gristmill_pycompat::yaml_read;
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_storage::xdg;
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "comparing the splits";
/// Maximum number of moved shards in the printed list.
const MAX_LISTED_SHARDS: usize = 20;

/// A shard whose splits changed.
struct MovedShard<'a> {
    shard: &'a str,
    from: Vec<&'a str>,
    to: Vec<&'a str>,
}

/// Compares the current splits with those in `file`, or in the newest backup.
pub(super) fn run(editor: &SplitEditor, file: Option<&Path>, context: &Context) -> CommandResult {
    let path = match file {
        Some(path) => path.to_path_buf(),
        None => newest_backup(editor)?,
    };
    let Some(bytes) = read_whole(&path, yaml_read::MAX_BYTES as u64)? else {
        return Err(Failure::io(ACTIVITY, &path, &std::io::ErrorKind::NotFound.into()).into());
    };
    let counts = editor.shards().iter().map(|(name, samples)| (name.to_string(), *samples)).collect();
    let old = SplitEditor::from_bytes(editor.root(), &path, bytes, counts)?;
    let printer = &context.printer;
    printer.line(format!("{} -> {}", display_safe(&path.to_string_lossy()), shown_path(editor)));
    let mut result = compared(&old, editor, context)?;
    result.insert("old".into(), json!(path));
    result.insert("new".into(), json!(editor.path()));
    Ok(CommandSuccess::ok(result))
}

/// Compares the file with the result of the unwritten changes in the draft of the editor.
pub(super) fn of_draft(file: SplitEditor, context: &Context) -> CommandResult {
    let place = splits::draft_place(&xdg::state_dir(), file.root());
    let Some(found) = splits::load_draft(&place) else {
        return Err(Failure::usage(ACTIVITY, "the editor has no unwritten changes")
            .on(Subject::path(file.root()))
            .with_hint("without --draft the file is compared with its newest backup")
            .into());
    };
    let mut edited = file.clone();
    let is_stale = found.draft.base != file.base_hash();
    let failed = edited.replay(&found.draft.edits);
    let printer = &context.printer;
    let age = count(found.age.as_secs() / 60, "minute");
    let edits = count(found.draft.edits.len() as u64, "change");
    printer.line(format!("{} -> {edits} not written yet, kept {age} ago", shown_path(&file)));
    if is_stale {
        printer.warning("the file was changed after these changes were made", None);
    }
    for one in &failed {
        printer.warning(&format!("{} cannot be applied again: {}", one.edit.title(), one.failure), None);
    }
    let mut result = compared(&file, &edited, context)?;
    result.insert("old".into(), json!(file.path()));
    result.insert("new".into(), json!(place));
    result.insert("is_stale".into(), json!(is_stale));
    result.insert("not_applied".into(), json!(failed.len()));
    Ok(CommandSuccess::ok(result))
}

/// Prints the differences, and returns them for the result object.
fn compared(old: &SplitEditor, editor: &SplitEditor, context: &Context) -> Outcome<Map<String, Value>> {
    let text = |editor: &SplitEditor| Ok::<_, Failure>(String::from_utf8_lossy(&editor.text()?).into_owned());
    let diff = diff_of(&text(old)?, &text(editor)?);
    let moved = moved(old, editor);
    let items = |editor: &SplitEditor| -> HashSet<String> {
        editor.excludes().iter().map(|view| view.item.to_string()).collect()
    };
    let (before, after) = (items(old), items(editor));
    let mut added: Vec<&String> = after.difference(&before).collect();
    let mut removed: Vec<&String> = before.difference(&after).collect();
    added.sort_unstable();
    removed.sort_unstable();
    let printer = &context.printer;
    if diff.is_empty() {
        printer.line(paint(Tone::Success, "No difference."));
    }
    diff_lines(&diff).iter().for_each(|line| printer.line(line));
    for one in moved.iter().take(MAX_LISTED_SHARDS) {
        let place = |splits: &[&str]| {
            if splits.is_empty() {
                "no split".to_owned()
            } else {
                display_safe(&splits.join(", ")).into_owned()
            }
        };
        printer.line(format!("{}: {} -> {}", display_safe(one.shard), place(&one.from), place(&one.to)));
    }
    if moved.len() > MAX_LISTED_SHARDS {
        printer.line(format!("and {}", count((moved.len() - MAX_LISTED_SHARDS) as u64, "more shard")));
    }
    if !added.is_empty() || !removed.is_empty() {
        let (more, less) = (count(added.len() as u64, "exclude"), count(removed.len() as u64, "exclude"));
        printer.line(format!("{more} added, {less} removed."));
    }
    let moves: Vec<_> = moved.iter().map(|one| json!({ "shard": one.shard, "from": one.from, "to": one.to })).collect();
    let mut result = Map::new();
    result.insert("path".into(), json!(editor.root()));
    result.insert("is_same".into(), json!(diff.is_empty()));
    result.insert("diff".into(), json!(diff));
    result.insert("moved".into(), json!(moves));
    result.insert("excludes_added".into(), json!(added));
    result.insert("excludes_removed".into(), json!(removed));
    Ok(result)
}

/// Returns the path of the `split.yaml.bak-TIME` with the latest time.
fn newest_backup(editor: &SplitEditor) -> Outcome<PathBuf> {
    let folder = editor.root().join(layout::NV_META);
    let entries = files::read_dir(&folder).map_err(|error| Failure::io(ACTIVITY, &folder, &error))?;
    let start = format!("{}.bak-", layout::SPLIT_YAML);
    let names = entries.flatten().map(|entry| entry.file_name().to_owned());
    let newest = names.filter(|name| name.to_string_lossy().starts_with(&start)).max();
    newest.map(|name| folder.join(name)).ok_or_else(|| {
        Failure::usage(ACTIVITY, "there is no backup to compare with")
            .on(Subject::path(folder))
            .with_hint(hint_for(editor.root(), "name the older file: gristmill splits diff PATH FILE"))
    })
}

/// Returns the splits of each shard.
fn homes(editor: &SplitEditor) -> BTreeMap<&str, Vec<&str>> {
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for split in editor.splits() {
        for shard in split.shards.iter() {
            homes.entry(&shard.name).or_default().push(&split.name);
        }
    }
    homes
}

fn moved<'a>(old: &'a SplitEditor, new: &'a SplitEditor) -> Vec<MovedShard<'a>> {
    let (before, after) = (homes(old), homes(new));
    let names: std::collections::BTreeSet<&&str> = before.keys().chain(after.keys()).collect();
    let splits = |homes: &BTreeMap<&'a str, Vec<&'a str>>, name: &str| homes.get(name).cloned().unwrap_or_default();
    let one = |shard: &'a str| MovedShard { shard, from: splits(&before, shard), to: splits(&after, shard) };
    names.into_iter().map(|name| one(name)).filter(|one| one.from != one.to).collect()
}
