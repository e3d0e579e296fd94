//! `splits show`: prints the splits.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::printer::{paint, LongList, Tone};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{count, display_safe, grouped, percent};
use gristmill_data::formats::energon::split_edit::SharedList;
use gristmill_ops::engine::splits::{ExcludeView, Matches, Names, SplitEditor, SplitView};
use serde_json::{json, Map, Value};

/// Prints the splits; `shards` and `excludes` are whether to list them.
pub(super) fn run(editor: &SplitEditor, shards: bool, excludes: bool, context: &Context) -> CommandResult {
    for line in lines(editor, shards, excludes) {
        context.printer.line(line);
    }
    let mut result = Map::new();
    result.insert("path".into(), json!(editor.root()));
    result.insert("file".into(), json!(editor.path()));
    result.insert("splits".into(), splits_value(editor, true));
    result.insert("in_no_split".into(), split_value(editor.loose(), true));
    let list = Some(Box::new(Excludes(editor.excludes().clone())) as Box<dyn LongList>);
    Ok(CommandSuccess { list, ..CommandSuccess::ok(result) })
}

/// The excludes, whose values would take several times the memory of the file.
#[derive(Debug)]
struct Excludes(SharedList<ExcludeView>);

impl LongList for Excludes {
    fn name(&self) -> &'static str {
        "excludes"
    }

    fn each(&self, print: &mut dyn FnMut(&Value)) {
        self.0.iter().for_each(|view| print(&exclude_value(view)));
    }
}

/// Returns the printed lines.
pub(super) fn lines(editor: &SplitEditor, shards: bool, excludes: bool) -> Vec<String> {
    let columns =
        [("split", Align::Left), ("shards", Align::Right), ("samples", Align::Right), ("share", Align::Right)];
    let mut table = Table::new(&columns);
    for split in editor.splits() {
        table.row([
            display_safe(&split.name).into_owned(),
            grouped(split.shards.iter().filter(|shard| !shard.is_excluded).count() as u64),
            grouped(split.samples),
            percent(split.share),
        ]);
    }
    let mut lines = vec![format!("{}:", shown_path(editor))];
    lines.extend(table.lines());
    let loose = editor.loose();
    if !loose.shards.is_empty() {
        let shards = count(loose.shards.len() as u64, "shard");
        lines.push(format!("{shards} in no split ({}).", count(loose.samples, "sample")));
    }
    let number = editor.excludes().len() as u64;
    if number > 0 {
        let rest = "excluded shards are not counted above, single samples are";
        lines.push(format!("{}: {rest}.", count(number, "exclude")));
    }
    if shards {
        for split in editor.splits().iter().chain([loose]).filter(|split| !split.shards.is_empty()) {
            let name = if split.name.is_empty() { "in no split".into() } else { display_safe(&split.name) };
            lines.push(format!("{}:", paint(Tone::Strong, &name)));
            for shard in split.shards.iter() {
                let number = shard.id.map_or_else(|| "?".to_owned(), |id| id.to_string());
                let state = match (shard.id, shard.is_excluded) {
                    (None, _) => "not in the index".to_owned(),
                    (_, true) => format!("{}, excluded", count(shard.samples, "sample")),
                    _ => count(shard.samples, "sample"),
                };
                lines.push(format!("  {number:>6}  {}  {state}", display_safe(&shard.name)));
            }
        }
    }
    if excludes && number > 0 {
        lines.push(format!("{}:", paint(Tone::Strong, "excludes")));
        lines.extend(editor.excludes().iter().map(exclude_line));
    }
    lines
}

fn exclude_line(view: &ExcludeView) -> String {
    let what = match view.names {
        Names::Shard => "shard".to_owned(),
        Names::Sample => "sample".to_owned(),
        Names::Range(names) => count(names, "name"),
        Names::NoShard => "matches nothing: no such shard".to_owned(),
        Names::Broken => "its braces cannot be expanded".to_owned(),
    };
    let note = view.note.as_ref().map_or_else(String::new, |note| format!("  # {}", display_safe(note)));
    format!("  {}  ({what}){note}", display_safe(&view.item))
}

/// Returns the splits for the result object; `shards` is whether to include the names of shards.
pub(super) fn splits_value(editor: &SplitEditor, shards: bool) -> Value {
    editor.splits().iter().map(|split| split_value(split, shards)).collect()
}

fn split_value(split: &SplitView, shards: bool) -> Value {
    let excluded = split.shards.iter().filter(|shard| shard.is_excluded).count();
    let mut value = json!({
        "name": *split.name, "shards": split.shards.len(), "excluded_shards": excluded, "samples": split.samples,
        "share": split.share,
    });
    if let (true, Some(object)) = (shards, value.as_object_mut()) {
        object.insert("shard_names".into(), split.shards.iter().map(|shard| json!(*shard.name)).collect());
    }
    value
}

fn exclude_value(view: &ExcludeView) -> Value {
    let (kind, number) = match view.names {
        Names::Shard => ("shard", Some(1)),
        Names::Sample => ("sample", Some(1)),
        Names::Range(names) => ("range", Some(names)),
        Names::NoShard => ("nothing", None),
        Names::Broken => ("broken", None),
    };
    let matches = match view.matches {
        Matches::Unknown => None,
        Matches::Nothing => Some(0),
        Matches::Some(number) => Some(number),
    };
    json!({ "item": *view.item, "note": view.note.as_deref(), "is": kind, "names": number, "matches": matches })
}

/// Returns the path of `split.yaml` for messages.
pub(super) fn shown_path(editor: &SplitEditor) -> String {
    display_safe(&editor.path().to_string_lossy()).into_owned()
}
