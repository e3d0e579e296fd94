//! The dialogs that move shards to a split, which may be a new one.

use super::choice::{Choice, ChoiceOption};
use super::prompt::Prompt;
use super::session::SplitSession;
use crate::tui::screen::{Effect, Screen};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::{count, percent};
use gristmill_ops::engine::splits::{Edit, ExcludeItem};
use std::sync::Arc;

/// Opens a popup that asks for a target split, and moves the shards there. `from` is their current split.
pub fn choose_split(session: &SplitSession, shards: Vec<Arc<str>>, from: Option<&str>) -> Vec<Effect> {
    choose_target(session, shards, from, false)
}

/// Like [`choose_split`], but can also offer to exclude the shards.
pub fn choose_target(
    session: &SplitSession,
    shards: Vec<Arc<str>>,
    from: Option<&str>,
    offers_exclude: bool,
) -> Vec<Effect> {
    let Some(editor) = session.editor() else { return Vec::new() };
    let what = match shards.as_slice() {
        [] => return vec![Effect::Toast(Toast::new(Level::Info, "no shard is selected"))],
        [one] => one.to_string(),
        many => count(many.len() as u64, "shard"),
    };
    let names: Vec<Arc<str>> = editor.splits().iter().map(|split| Arc::clone(&split.name)).collect();
    let is_here = |name: Option<&str>| (from == name).then(|| "it is there".to_owned());
    let mut offers: Vec<ChoiceOption> = editor
        .splits()
        .iter()
        .map(|split| {
            let known = format!("{}, {}", count(split.shards.len() as u64, "shard"), percent(split.share));
            ChoiceOption::new(&*split.name, known).disabled_if(is_here(Some(&split.name)))
        })
        .collect();
    let is_loose = from == Some("");
    let out =
        ChoiceOption::new("no split", "not used for training").disabled_if(is_loose.then(|| "it is there".to_owned()));
    offers.push(out);
    offers.push(ChoiceOption::new("a new split", "type its name"));
    if offers_exclude {
        offers.push(ChoiceOption::new("exclude them", "they stay in their splits, and are not read"));
    }
    // The split after the current one is the most frequent target.
    let next = names.iter().position(|name| from == Some(name)).map_or(0, |at| (at + 1) % offers.len());
    drop(editor);
    let session = session.clone();
    let chosen = move |row: usize| {
        let shards = shards.clone();
        match names.get(row) {
            Some(name) => session.apply(Edit::MoveShards { shards, to: Some(Arc::clone(name)) }),
            None if row == names.len() => session.apply(Edit::MoveShards { shards, to: None }),
            None if row == names.len() + 2 => {
                let items = shards.iter().map(|shard| ExcludeItem::shard(shard)).collect();
                session.apply(Edit::Exclude { items })
            }
            None => vec![Effect::Push(new_split_dialog(session.clone(), shards))],
        }
    };
    vec![Effect::Push(Box::new(Choice::new(&format!("Move {what} to"), Vec::new(), offers, chosen).selecting(next)))]
}

/// Asks for the name of a new split, and moves the shards there.
pub fn new_split_dialog(session: SplitSession, shards: Vec<Arc<str>>) -> Box<dyn Screen> {
    let line = match shards.len() {
        0 => "The name of the new split:".to_owned(),
        many => format!("The name of the new split for {}:", count(many as u64, "shard")),
    };
    Box::new(Prompt::new("New split", line, "", "holdout", move |name| {
        let name = usable_name(&session, name)?;
        let add = Edit::AddSplit { name: name.clone() };
        let moved = Edit::MoveShards { shards: shards.clone(), to: Some(name.as_str().into()) };
        Ok(match shards.is_empty() {
            true => session.apply(add),
            false => session.apply(Edit::Many { title: moved.title(), edits: vec![add, moved] }),
        })
    }))
}

/// Returns the trimmed name; the error is the reason why it is not valid for a new split.
pub fn usable_name(session: &SplitSession, name: &str) -> Result<String, String> {
    let name = name.trim();
    let Some(editor) = session.editor() else { return Err("the splits are still being read".to_owned()) };
    match () {
        () if name.is_empty() => Err("a split needs a name".to_owned()),
        () if editor.splits().iter().any(|split| &*split.name == name) => {
            Err(format!("there is a split '{name}' already"))
        }
        () => Ok(name.to_owned()),
    }
}
