//! The state of the split editor: columns, focus and selections. Pure: it reads the editor, and draws nothing.

use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_core::text::count;
use gristmill_ops::engine::splits::{Edit, ExcludeItem, ExcludeTotals, Names, ShardView, SplitEditor, SplitView};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The name of the column of shards without a split.
pub const NONE: &str = "no split";

/// Columns, panes and selections.
#[derive(Clone, Debug, Default)]
pub struct SplitsState {
    /// One list per column, in the order of [`columns`].
    pub lists: Vec<ListState>,
    /// The names of the columns, so that each column keeps its list when others are added or removed.
    names: Vec<Arc<str>>,
    /// Index of the focused column.
    pub at: usize,
    /// Index of the first visible column.
    pub first: usize,
    /// Whether the excludes have the focus, rather than the columns.
    pub is_on_excludes: bool,
    /// The list of excludes.
    pub excludes: ListState,
    /// The start of a marked range in the focused list.
    pub mark: Option<usize>,
    /// Totals of all excludes.
    pub totals: ExcludeTotals,
}

/// Returns the columns: the splits in their order, then the shards without a split, if there are any or if there are no splits.
pub fn columns(editor: &SplitEditor) -> impl Iterator<Item = &SplitView> {
    let loose = Some(editor.loose()).filter(|loose| !loose.shards.is_empty() || editor.splits().is_empty());
    editor.splits().iter().chain(loose)
}

/// Returns a column by its index.
pub fn column(editor: &SplitEditor, at: usize) -> Option<&SplitView> {
    columns(editor).nth(at)
}

/// Returns the name of a column on the screen; not escaped.
pub fn column_name(view: &SplitView) -> &str {
    if view.name.is_empty() {
        NONE
    } else {
        &view.name
    }
}

impl SplitsState {
    /// Updates the state after a change of the editor.
    pub fn update(&mut self, editor: &SplitEditor) {
        let mut lists = Vec::new();
        let mut names = Vec::new();
        let mut added = None;
        for view in columns(editor) {
            let old = self.names.iter().position(|name| *name == view.name);
            let mut list = old.and_then(|at| self.lists.get(at).cloned()).unwrap_or_default();
            list.set_len(view.shards.len());
            if old.is_none() && view.is_new && view.shards.is_empty() {
                added = Some(lists.len());
            }
            lists.push(list);
            names.push(Arc::clone(&view.name));
        }
        self.lists = lists;
        self.names = names;
        // A new split gets the focus.
        self.at = added.unwrap_or(self.at).min(self.lists.len().saturating_sub(1));
        self.excludes.set_len(editor.excludes().len());
        self.totals = editor.totals();
        self.mark = None;
    }

    /// Returns the focused list.
    pub fn list(&mut self) -> Option<&mut ListState> {
        if self.is_on_excludes {
            Some(&mut self.excludes)
        } else {
            self.lists.get_mut(self.at)
        }
    }

    /// Applies a movement action. Returns whether the action is one.
    pub fn handle_action(&mut self, action: Action) -> bool {
        match action {
            Action::Left if !self.is_on_excludes => self.select_list(self.at.saturating_sub(1)),
            Action::Right if !self.is_on_excludes => self.select_list(self.at + 1),
            Action::Left | Action::Right => self.is_on_excludes = false,
            Action::NextPane | Action::PreviousPane => {
                self.is_on_excludes = !self.is_on_excludes;
                self.mark = None;
            }
            Action::Mark => {
                let row = self.list().and_then(|list| list.get());
                self.mark = if self.mark.is_some() { None } else { row };
            }
            moving => return self.list().is_some_and(|list| list.handle_action(moving)),
        }
        true
    }

    fn select_list(&mut self, to: usize) {
        let to = to.min(self.lists.len().saturating_sub(1));
        if to != self.at {
            self.at = to;
            self.mark = None;
        }
    }

    /// Returns the rows that an action applies to: the marked range, or the selected row.
    pub fn rows(&self) -> Option<RangeInclusive<usize>> {
        let list = if self.is_on_excludes { &self.excludes } else { self.lists.get(self.at)? };
        let row = list.get()?;
        let from = self.mark.unwrap_or(row).min(list.len.saturating_sub(1));
        Some(from.min(row)..=from.max(row))
    }

    /// Returns the shards that an action applies to; empty while the excludes have the focus.
    pub fn shards<'e>(&self, editor: &'e SplitEditor) -> &'e [ShardView] {
        if self.is_on_excludes {
            return &[];
        }
        let found = self.rows().zip(column(editor, self.at));
        found.and_then(|(rows, view)| view.shards.get(rows)).unwrap_or_default()
    }

    /// Returns the range of columns that fit next to each other, including the focused one.
    pub fn window(&mut self, width: u16) -> std::ops::Range<usize> {
        let fit = usize::from(width / COLUMN_MIN).clamp(1, self.lists.len().max(1));
        self.first = self.first.min(self.at).max((self.at + 1).saturating_sub(fit));
        self.first = self.first.min(self.lists.len().saturating_sub(fit));
        self.first..(self.first + fit).min(self.lists.len())
    }

    /// Returns the edit that excludes the selected shards, or includes them again if all of them are excluded.
    pub fn exclude_shards(&self, editor: &SplitEditor, note: Option<String>) -> Option<Edit> {
        let shards = self.shards(editor);
        let out: Vec<&ShardView> = shards.iter().filter(|s| !s.is_excluded).collect();
        if shards.is_empty() {
            return None;
        }
        if out.is_empty() {
            return Some(combine_edits(
                format!("include {}", count(shards.len() as u64, "shard")),
                included(shards, editor),
            ));
        }
        let items = out.iter().map(|s| ExcludeItem::shard(&s.name).with_note(note.clone())).collect();
        Some(Edit::Exclude { items })
    }

    /// Returns the edit that removes the selected excludes.
    pub fn remove_excludes(&self) -> Option<Edit> {
        let rows = self.rows().filter(|_| self.is_on_excludes)?;
        // From last to first, so that removals do not change the indexes of later ones.
        let edits = rows.clone().rev().map(|index| Edit::RemoveItem { index }).collect();
        Some(combine_edits(format!("remove {}", count(rows.count() as u64, "exclude")), edits))
    }
}

/// Returns the edits that include excluded shards again: an exclude of a single shard is removed, a range is split.
fn included(shards: &[ShardView], editor: &SplitEditor) -> Vec<Edit> {
    let mut wanted: HashMap<u32, &ShardView> = shards.iter().filter_map(|s| Some((s.id?, s))).collect();
    let mut alone = Vec::new();
    for (index, exclude) in editor.excludes().iter().enumerate() {
        if let (Names::Shard, [id]) = (exclude.names, exclude.whole_shards()) {
            if wanted.contains_key(id) {
                alone.push((index, *id));
            }
        }
    }
    for (_, id) in &alone {
        wanted.remove(id);
    }
    // From last to first, so that removals do not change the indexes of later ones.
    let mut edits: Vec<Edit> = alone.iter().rev().map(|(index, _)| Edit::RemoveItem { index: *index }).collect();
    let left = shards.iter().filter(|s| s.id.is_some_and(|id| wanted.contains_key(&id)));
    edits.extend(left.map(|s| Edit::Include { shard: Arc::clone(&s.name), key: None }));
    edits
}

/// Minimum width of a column in columns of the terminal, if there is more than one.
pub const COLUMN_MIN: u16 = 27;

/// Combines edits into one step; a single edit is returned unchanged.
pub fn combine_edits(title: String, mut edits: Vec<Edit>) -> Edit {
    match (edits.len(), edits.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            edits.extend(last);
            Edit::Many { title, edits }
        }
    }
}
