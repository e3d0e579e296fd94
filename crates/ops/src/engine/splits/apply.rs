//! Applies edits to the text.

use super::edit::{Edit, ExcludeItem, Meaning};
use super::editor::SplitEditor;
use super::shards::{expanded, is_plain, may_name};
use super::view::{EditResult, Names};
use super::words::{check_split_name, ACTIVITY};
use crate::engine::outputs::exclude_item;
use crate::engine::plan::nearest;
use gristmill_core::text::{count, count_verb};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::collapse::collapse;
use gristmill_data::formats::energon::split_edit::{List, ListEdit, NewItem, SplitDoc};
use gristmill_pycompat::braces;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Limit of names that are reported individually; further names are counted.
const MAX_NAMED: usize = 5;

impl SplitEditor {
    /// Applies an edit. Returns whether it changed anything.
    pub(super) fn run(&mut self, edit: &Edit, applied: &mut EditResult) -> Outcome<bool> {
        let changed = match edit {
            Edit::MoveShards { shards, to } => self.move_shards(shards, to.as_deref(), applied)?,
            Edit::AddSplit { name } => {
                check_split_name(&self.doc, name)?;
                self.doc.add_split(name);
                applied.message = format!("split '{name}' added");
                true
            }
            Edit::RenameSplit { from, to } => self.rename(from, to, applied)?,
            Edit::RemoveSplit { name } => {
                let index = self.split_index(name)?;
                let shards = self.splits().get(index).map_or(0, |split| split.shards.len());
                self.doc.remove_split(index);
                applied.message = format!("split '{name}' removed");
                if shards > 0 {
                    applied.message.push_str(&format!("; {} in no split now", count(shards as u64, "shard")));
                }
                true
            }
            Edit::Exclude { items } => self.exclude(items, applied)?,
            Edit::Include { shard, key } => self.include(shard, key.as_deref(), applied)?,
            Edit::RemoveItem { index } => {
                let item = self.exclude_at(*index)?;
                self.doc.change(List::Exclude, vec![ListEdit { at: *index, removed: 1, inserted: Vec::new() }]);
                applied.message = format!("'{item}' is no longer excluded");
                true
            }
            Edit::RemoveExclude { item } => {
                let place = self.doc.excludes().iter().position(|other| **other.value() == **item);
                let at = place
                    .ok_or_else(|| Failure::usage(ACTIVITY, "no such exclude").on(Subject::field(item.as_str())))?;
                self.doc.change(List::Exclude, vec![ListEdit { at, removed: 1, inserted: Vec::new() }]);
                applied.message = format!("'{item}' is no longer excluded");
                true
            }
            Edit::SetNote { index, note } => self.set_note(*index, note.as_deref(), applied)?,
            Edit::ReplaceText { text } => self.replace_text(text, applied)?,
            Edit::Many { title, edits } => match removals(edits) {
                // Removes all items in one pass over the list; removing thousands one by one would take minutes.
                Some(changes) => {
                    for change in &changes {
                        self.exclude_at(change.at)?;
                    }
                    self.doc.change(List::Exclude, changes);
                    applied.message.clone_from(title);
                    true
                }
                None => return self.run_many(title, edits, applied),
            },
        };
        if changed {
            self.refresh();
            self.report_empty_splits(edit, applied);
        }
        Ok(changed)
    }

    fn run_many(&mut self, title: &str, edits: &[Edit], applied: &mut EditResult) -> Outcome<bool> {
        let mut changed = false;
        let mut last = String::new();
        for edit in edits {
            applied.message.clear();
            changed |= self.run(edit, applied)?;
            last = std::mem::take(&mut applied.message);
        }
        applied.message = if edits.len() == 1 { last } else { title.to_owned() };
        Ok(changed)
    }

    /// Reports a split that has lost its last shard.
    fn report_empty_splits(&self, edit: &Edit, applied: &mut EditResult) {
        if !matches!(edit, Edit::MoveShards { .. }) {
            return;
        }
        for split in self.splits().iter().filter(|split| split.shards.is_empty() && !split.is_new) {
            let message = format!("split '{}' has no shard now; a trainer that uses it fails", split.name);
            let subject = Subject::field(split.name.as_ref());
            applied.problems.push(Problem::note(ProblemKind::EmptySplit, subject, message));
        }
    }

    fn split_index(&self, name: &str) -> Outcome<usize> {
        let names = || self.doc.splits().iter().map(|split| split.name().as_ref());
        self.doc.splits().iter().position(|split| **split.name() == *name).ok_or_else(|| {
            let failure = Failure::usage(ACTIVITY, "no such split").on(Subject::field(name));
            match nearest(name, names()) {
                Some(near) => failure.with_hint(format!("did you mean '{near}'?")),
                None => failure.with_hint(format!("splits: {}", names().collect::<Vec<_>>().join(", "))),
            }
        })
    }

    fn exclude_at(&self, index: usize) -> Outcome<Arc<str>> {
        let item = self.doc.excludes().get(index).map(|item| Arc::clone(item.value()));
        item.ok_or_else(|| Failure::usage(ACTIVITY, format!("there is no exclude number {}", index.saturating_add(1))))
    }

    fn rename(&mut self, from: &str, to: &str, applied: &mut EditResult) -> Outcome<bool> {
        let index = self.split_index(from)?;
        if from == to {
            applied.message = format!("the split is called '{to}' already");
            return Ok(false);
        }
        check_split_name(&self.doc, to)?;
        self.doc.rename_split(index, to);
        applied.message = format!("split '{from}' is called '{to}' now");
        Ok(true)
    }

    fn set_note(&mut self, index: usize, note: Option<&str>, applied: &mut EditResult) -> Outcome<bool> {
        let item = self.exclude_at(index)?;
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        if note.is_some_and(|note| note.chars().any(char::is_control)) {
            return Err(Failure::usage(ACTIVITY, "a note is one line without control characters"));
        }
        let old = self.doc.excludes().get(index).and_then(|item| item.note().cloned());
        if old.as_deref() == note {
            applied.message = "the note is unchanged".to_owned();
            return Ok(false);
        }
        self.doc.set_note(index, note);
        applied.message = match note {
            Some(_) => format!("note on '{item}' set"),
            None => format!("note on '{item}' removed"),
        };
        Ok(true)
    }

    fn replace_text(&mut self, text: &str, applied: &mut EditResult) -> Outcome<bool> {
        let mut doc =
            SplitDoc::parse(text).map_err(|error| error.into_failure("reading the edited text", self.path()))?;
        if self.doc.text() == text {
            applied.message = "the text is unchanged".to_owned();
            return Ok(false);
        }
        doc.adopt_ids(&self.doc);
        self.doc = doc;
        applied.message = "the text was replaced".to_owned();
        Ok(true)
    }

    fn move_shards(&mut self, names: &[Arc<str>], to: Option<&str>, applied: &mut EditResult) -> Outcome<bool> {
        let target = to.map(|name| self.split_index(name)).transpose()?;
        let wanted: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
        if to.is_some() {
            if let Some(unknown) = names.iter().find(|name| self.shard_table().id(name).is_none()) {
                return Err(self.unknown_shard(unknown));
            }
        }
        let mut notes: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        let mut leaving = Vec::new();
        let mut found: HashSet<&str> = HashSet::new();
        for (index, split) in self.splits().iter().enumerate() {
            if Some(index) == target {
                continue;
            }
            let hit: HashSet<u32> = split
                .shards
                .iter()
                .filter(|shard| wanted.contains(shard.name.as_ref()))
                .map(|shard| shard.item)
                .collect();
            found.extend(split.shards.iter().map(|s| s.name.as_ref()).filter(|name| wanted.contains(name)));
            if !hit.is_empty() {
                leaving.push((index, self.remove_shards(index, &hit, &wanted, &mut notes)));
            }
        }
        let here: HashSet<&str> = target
            .and_then(|index| self.splits().get(index))
            .map(|split| split.shards.iter().map(|shard| shard.name.as_ref()).collect())
            .unwrap_or_default();
        let arriving: Vec<Arc<str>> = match target {
            Some(_) => names.iter().filter(|name| !here.contains(name.as_ref())).cloned().collect(),
            None => Vec::new(),
        };
        if leaving.is_empty() && arriving.is_empty() {
            let place = to.map_or_else(|| "in no split".to_owned(), |to| format!("in '{to}'"));
            applied.message = match names {
                [one] => format!("'{one}' is {place} already"),
                _ => format!("they are {place} already"),
            };
            return Ok(false);
        }
        let moved: HashSet<&str> = found.into_iter().chain(arriving.iter().map(AsRef::as_ref)).collect();
        let what = match (moved.len(), moved.iter().next()) {
            (1, Some(one)) => format!("'{one}'"),
            (many, _) => count(many as u64, "shard"),
        };
        applied.message = match to {
            Some(to) => format!("{what} moved to '{to}'"),
            None => format!("{what} taken out of the splits"),
        };
        let arrivals = target.map(|index| (index, self.arrivals(index, arriving, &notes)));
        for (index, changes) in leaving.into_iter().chain(arrivals) {
            self.doc.change(List::Split(index), changes);
        }
        Ok(true)
    }

    fn unknown_shard(&self, name: &str) -> Failure {
        let failure = Failure::usage(ACTIVITY, "the data set has no such shard").on(Subject::shard(name));
        let known = self.shards().iter().take(10_000).map(|(name, _)| name.as_ref());
        match nearest(name, known) {
            Some(near) => failure.with_hint(format!("did you mean '{near}'?")),
            None => failure.with_hint("shards are named as in .nv-meta/.info.json"),
        }
    }

    /// Returns the changes that remove shards from a split's list. Ranges keep their other names.
    fn remove_shards(
        &self,
        split: usize,
        hit: &HashSet<u32>,
        gone: &HashSet<&str>,
        notes: &mut HashMap<Arc<str>, Arc<str>>,
    ) -> Vec<ListEdit<NewItem>> {
        let mut changes = Vec::new();
        let Some(items) = self.doc.items(List::Split(split)) else { return changes };
        for (at, item) in items.iter().enumerate().filter(|(at, _)| hit.contains(&(*at as u32))) {
            let names = expanded(item.value()).unwrap_or_default();
            if let (Some(note), [name]) = (item.note(), names.as_ref()) {
                notes.insert(name.as_str().into(), Arc::clone(note));
            }
            let rest = names.iter().filter(|name| !gone.contains(name.as_str())).map(String::as_str);
            let note = item.note().cloned();
            let inserted = items_of(rest).into_iter().map(|value| NewItem { value, note: note.clone() }).collect();
            changes.push(ListEdit { at, removed: 1, inserted });
        }
        changes
    }

    /// Returns the changes that add shards to a split's list: at their sorted positions if the list is sorted, otherwise at its end.
    fn arrivals(
        &self,
        split: usize,
        mut names: Vec<Arc<str>>,
        notes: &HashMap<Arc<str>, Arc<str>>,
    ) -> Vec<ListEdit<NewItem>> {
        let shards = self.shard_table();
        names.sort_by_key(|name| shards.id(name));
        names.dedup();
        let here = self.splits().get(split).map(|split| split.shards.as_slice()).unwrap_or_default();
        let is_ordered = here.iter().all(|shard| shard.id.is_some()) && here.is_sorted_by_key(|shard| shard.id);
        let end = self.doc.items(List::Split(split)).map_or(0, |items| items.len());
        let mut places: BTreeMap<usize, Vec<Arc<str>>> = BTreeMap::new();
        for name in names {
            let at = match shards.id(&name) {
                Some(id) if is_ordered => {
                    let before = here.partition_point(|shard| shard.id < Some(id));
                    before.checked_sub(1).and_then(|last| here.get(last)).map_or(0, |shard| shard.item as usize + 1)
                }
                _ => end,
            };
            places.entry(at).or_default().push(name);
        }
        let made = |names: Vec<Arc<str>>| {
            let mut made = Vec::new();
            for group in names.chunk_by(|a, b| notes.get(a) == notes.get(b)) {
                let note = group.first().and_then(|name| notes.get(name)).cloned();
                let values = items_of(group.iter().map(AsRef::as_ref));
                made.extend(values.into_iter().map(|value| NewItem { value, note: note.clone() }));
            }
            made
        };
        places.into_iter().map(|(at, names)| ListEdit { at, removed: 0, inserted: made(names) }).collect()
    }

    fn exclude(&mut self, items: &[ExcludeItem], applied: &mut EditResult) -> Outcome<bool> {
        let wanted: Vec<(Arc<str>, Option<Arc<str>>)> =
            items.iter().map(|item| self.understood(item)).collect::<Outcome<_>>()?;
        let mut there: HashSet<Arc<str>> = if let [(one, _)] = wanted.as_slice() {
            self.doc.excludes().iter().map(|item| item.value()).filter(|value| *value == one).cloned().collect()
        } else {
            self.doc.excludes().iter().map(|item| Arc::clone(item.value())).collect()
        };
        let mut inserted = Vec::new();
        let mut lost = 0;
        for (value, note) in wanted {
            if !there.insert(Arc::clone(&value)) {
                continue;
            }
            let view = super::shards::exclude_view(&value, None, true, self.shard_table());
            if view.names == Names::NoShard {
                lost += 1;
                if lost <= MAX_NAMED {
                    applied.problems.push(self.excludes_nothing(&value));
                }
            }
            inserted.push(NewItem { value, note });
        }
        if lost > MAX_NAMED {
            let message = format!(
                "{} no shard of this data set",
                count_verb((lost - MAX_NAMED) as u64, "more exclude", "names", "name")
            );
            applied.problems.push(Problem::problem(ProblemKind::MatchesNothing, Subject::field("exclude"), message));
        }
        if inserted.is_empty() {
            applied.message = match items {
                [one] => format!("'{}' is excluded already", one.item),
                _ => "they are excluded already".to_owned(),
            };
            return Ok(false);
        }
        applied.message = match inserted.as_slice() {
            [one] => format!("'{}' excluded", one.value),
            many => format!("{} excluded", count(many.len() as u64, "item")),
        };
        let at = self.doc.excludes().len();
        self.doc.change(List::Exclude, vec![ListEdit { at, removed: 0, inserted }]);
        Ok(true)
    }

    /// Returns the item in the form in which it is written. A name that is not an expression, or that contains literal braces, is escaped.
    fn understood(&self, item: &ExcludeItem) -> Outcome<(Arc<str>, Option<Arc<str>>)> {
        let text = item.item.as_str();
        let is_one_line = !text.chars().any(|c| matches!(c, '\n' | '\r'));
        if text.is_empty() || !is_one_line && self.shard_table().shard_and_key(text).is_none() {
            return Err(
                Failure::usage(ACTIVITY, "an exclude is a shard or SHARD/KEY, on one line").on(Subject::field(text))
            );
        }
        let note = item.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        if note.is_some_and(|note| note.chars().any(char::is_control)) {
            return Err(Failure::usage(ACTIVITY, "a note is one line without control characters"));
        }
        let note = note.map(Arc::from);
        if is_plain(text) {
            return Ok((text.into(), note));
        }
        if item.meaning == Meaning::Escaped {
            return match braces::expand(text, 1) {
                Ok(_) => Ok((text.into(), note)),
                Err(error) => Err(Failure::usage(ACTIVITY, error.to_string()).on(Subject::field(text))),
            };
        }
        let is_name = self.shard_table().shard_and_key(text).is_some();
        match expanded(text) {
            Ok(names) if !is_name || names.iter().any(|name| self.shard_table().shard_and_key(name).is_some()) => {
                Ok((text.into(), note))
            }
            _ if is_name => Ok((braces::escape(text).into(), note)),
            Ok(_) => Ok((text.into(), note)),
            Err(error) => Err(Failure::usage(ACTIVITY, error.to_string()).on(Subject::field(text))),
        }
    }

    fn excludes_nothing(&self, item: &str) -> Problem {
        let message = format!("'{item}' names no shard of this data set; it excludes nothing");
        let problem = Problem::problem(ProblemKind::MatchesNothing, Subject::field(item), message);
        let beginning = item.split_inclusive(".tar").next().unwrap_or(item);
        match nearest(beginning, self.shards().iter().take(10_000).map(|(name, _)| name.as_ref())) {
            Some(near) => problem.with_hint(format!("an item is SHARD or SHARD/KEY; did you mean '{near}'?")),
            None => problem.with_hint("an item is SHARD or SHARD/KEY"),
        }
    }

    fn include(&mut self, shard: &str, key: Option<&str>, applied: &mut EditResult) -> Outcome<bool> {
        let name = match key {
            Some(key) => format!("{shard}/{key}"),
            None => shard.to_owned(),
        };
        let changes: Vec<ListEdit<NewItem>> = self
            .doc
            .excludes()
            .iter()
            .enumerate()
            .filter(|(_, item)| may_name(item.value(), &name))
            .filter_map(|(at, item)| {
                let names = expanded(item.value()).ok()?;
                if !names.contains(&name) {
                    return None;
                }
                let rest = items_of(names.iter().map(String::as_str).filter(|other| **other != name));
                let note = item.note().cloned();
                let inserted = rest.into_iter().map(|value| NewItem { value, note: note.clone() }).collect();
                Some(ListEdit { at, removed: 1, inserted })
            })
            .collect();
        let is_shard_excluded = self.shard_table().id(shard).is_some_and(|id| self.is_shard_excluded(id));
        if changes.is_empty() {
            let failure = Failure::usage(ACTIVITY, "no exclude names it").on(Subject::field(&name));
            return Err(match key {
                Some(_) if is_shard_excluded => {
                    failure.with_hint(format!("the whole shard is excluded: include {shard}"))
                }
                _ => failure,
            });
        }
        self.doc.change(List::Exclude, changes);
        applied.message = format!("'{name}' is no longer excluded");
        if key.is_some() && is_shard_excluded {
            let message = format!("the shard '{shard}' is still excluded as a whole");
            applied.problems.push(Problem::note(ProblemKind::Other, Subject::shard(shard), message));
        }
        Ok(true)
    }
}

/// Returns the changes of edits that all remove an exclude, from the end of the list to the start; `None` if there are other edits.
fn removals(edits: &[Edit]) -> Option<Vec<ListEdit<NewItem>>> {
    let mut positions = Vec::with_capacity(edits.len());
    for edit in edits {
        let Edit::RemoveItem { index } = edit else { return None };
        positions.push(*index);
    }
    let is_from_the_end = positions.len() > 1 && positions.windows(2).all(|pair| pair[0] > pair[1]);
    let change = |at| ListEdit { at, removed: 1, inserted: Vec::new() };
    is_from_the_end.then(|| positions.into_iter().rev().map(change).collect())
}

/// Returns the items for these names, in order; consecutive numbers become ranges.
fn items_of<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Arc<str>> {
    let escaped: Vec<String> = names.map(|name| exclude_item(name, None)).collect();
    collapse(&escaped).into_iter().map(Arc::from).collect()
}
