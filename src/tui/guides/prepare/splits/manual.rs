//! Manual splits: columns of shards, moves between them, a marked range, undo.

use super::super::click_targets::ListGesture;
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_core::plan::SplitList;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Maximum number of steps that can be undone.
const UNDO_STEPS: usize = 100;

/// The name of the column of shards without a split.
pub const NONE: &str = "none";

/// A split and its shards.
#[derive(Clone, Debug)]
pub struct SplitColumn {
    /// Name of the split; [`NONE`] for the last column.
    pub name: String,
    /// Names of its shards, in the order in which they are written.
    pub shards: Vec<Arc<str>>,
    /// Cursor and scroll position of the column.
    pub list: ListState,
}

/// The state that undo restores.
type SplitLists = Vec<(String, Vec<Arc<str>>)>;

/// All columns; the last one has the shards without a split.
#[derive(Clone, Debug, Default)]
pub struct ManualSplits {
    /// Empty until the columns are filled.
    pub columns: Vec<SplitColumn>,
    /// The focused column.
    pub at: usize,
    /// The start of the marked range in the focused column.
    pub mark: Option<usize>,
    order: HashMap<Arc<str>, usize>,
    undo: Vec<SplitLists>,
    redo: Vec<SplitLists>,
}

impl ManualSplits {
    /// Whether the columns are not filled yet.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Fills the columns with the given splits. Shards of `all` that are in none of them are put into the last column; a shard in several
    /// splits only into the first of them.
    pub fn set_columns<S: AsRef<str>>(&mut self, splits: &[(String, Vec<String>)], all: &[S]) {
        self.order = all.iter().enumerate().map(|(at, name)| (Arc::from(name.as_ref()), at)).collect();
        let mut taken: HashSet<Arc<str>> = HashSet::new();
        self.columns.clear();
        for (name, shards) in splits {
            let known = shards.iter().filter_map(|s| self.order.get_key_value(s.as_str()).map(|(k, _)| Arc::clone(k)));
            let shards: Vec<_> = known.filter(|s| taken.insert(Arc::clone(s))).collect();
            self.columns.push(column(name, shards));
        }
        let rest = self.in_order(|name| !taken.contains(name));
        self.columns.push(column(NONE, rest));
        self.at = self.at.min(self.columns.len() - 1);
        self.mark = None;
        self.undo.clear();
        self.redo.clear();
    }

    /// Updates the columns for added and removed shards; added shards are in no split.
    pub fn sync<S: AsRef<str>>(&mut self, all: &[S]) {
        if self.is_empty() || (all.len() == self.order.len() && all.iter().all(|s| self.order.contains_key(s.as_ref())))
        {
            return;
        }
        self.order = all.iter().enumerate().map(|(at, name)| (Arc::from(name.as_ref()), at)).collect();
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        for column in &mut self.columns {
            column.shards.retain(|s| self.order.contains_key(s));
            column.list.set_len(column.shards.len());
            seen.extend(column.shards.iter().cloned());
        }
        let new = self.in_order(|name| !seen.contains(name));
        if let Some(none) = self.columns.last_mut() {
            none.shards.extend(new);
            none.list.set_len(none.shards.len());
        }
    }

    fn in_order(&self, keep: impl Fn(&Arc<str>) -> bool) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self.order.iter().filter(|(name, _)| keep(name)).collect();
        names.sort_by_key(|(_, at)| **at);
        names.into_iter().map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Returns the splits for the plan.
    pub fn lists(&self) -> Vec<SplitList> {
        let splits = self.columns.len().saturating_sub(1);
        self.columns
            .iter()
            .take(splits)
            .map(|c| SplitList { name: c.name.clone(), shards: c.shards.iter().map(|s| s.to_string()).collect() })
            .collect()
    }

    /// Returns the rows of the focused column that a move applies to: the marked range, or the selected row.
    pub fn chosen(&self) -> Option<RangeInclusive<usize>> {
        let row = self.columns.get(self.at)?.list.get()?;
        let from = self.mark.unwrap_or(row);
        Some(from.min(row)..=from.max(row))
    }

    /// Moves the chosen shards by `by` columns, wrapping around. Returns the number of moved shards.
    pub fn shift(&mut self, by: isize) -> usize {
        let count = self.columns.len();
        let Some(rows) = self.chosen().filter(|_| count > 1) else { return 0 };
        let target = (self.at as isize + by).rem_euclid(count as isize) as usize;
        if target == self.at {
            return 0;
        }
        self.push_undo();
        let source = &mut self.columns[self.at];
        let end = (*rows.end() + 1).min(source.shards.len());
        let moved: Vec<_> = source.shards.drain(*rows.start()..end).collect();
        source.list.set_len(source.shards.len());
        source.list.select(*rows.start());
        let count = moved.len();
        self.insert(target, moved);
        self.mark = None;
        count
    }

    /// Inserts shards at their positions if the column is in index order, or at its end if it is shuffled.
    fn insert(&mut self, target: usize, moved: Vec<Arc<str>>) {
        let place = |name: &Arc<str>| self.order.get(name).copied().unwrap_or(usize::MAX);
        let Some(column) = self.columns.get_mut(target) else { return };
        let sorted = column.shards.windows(2).all(|pair| place(&pair[0]) <= place(&pair[1]));
        column.shards.extend(moved);
        if sorted {
            column.shards.sort_by_key(place);
        }
        column.list.set_len(column.shards.len());
    }

    /// Adds a split before the column of shards without a split. The error is the reason why the name is invalid.
    pub fn add(&mut self, name: &str) -> Result<(), String> {
        let name = name.trim();
        if name.is_empty() {
            return Err("a split needs a name".into());
        }
        if name == NONE || self.columns.iter().any(|c| c.name == name) {
            return Err(format!("the split '{name}' exists already"));
        }
        self.push_undo();
        let at = self.columns.len().saturating_sub(1);
        self.columns.insert(at, column(name, Vec::new()));
        self.at = at;
        self.mark = None;
        Ok(())
    }

    /// Removes the focused split and returns its name; its shards move to the last column.
    pub fn drop_split(&mut self) -> Option<String> {
        if self.at + 1 >= self.columns.len() {
            return None;
        }
        self.push_undo();
        let gone = self.columns.remove(self.at);
        self.insert(self.columns.len() - 1, gone.shards);
        self.mark = None;
        Some(gone.name)
    }

    /// Undoes the last change. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some(shape) = self.undo.pop() else { return false };
        self.redo.push(self.shape());
        self.restore(shape);
        true
    }

    /// Redoes the last undone change. Returns whether there was one.
    pub fn redo(&mut self) -> bool {
        let Some(shape) = self.redo.pop() else { return false };
        self.undo.push(self.shape());
        self.restore(shape);
        true
    }

    /// Moves the cursor by an action. Returns whether it moved.
    pub fn handle_action(&mut self, action: Action) -> bool {
        let last = self.columns.len().saturating_sub(1);
        match action {
            Action::Left if self.at > 0 => self.at -= 1,
            Action::Right if self.at < last => self.at += 1,
            Action::Left | Action::Right => return false,
            moving => return self.columns.get_mut(self.at).is_some_and(|c| c.list.handle_action(moving)),
        }
        self.mark = None;
        true
    }

    /// Handles a mouse event in a column. A click focuses the column; the wheel does not.
    pub fn point(&mut self, at: usize, list_gesture: ListGesture) {
        let Some(column) = self.columns.get_mut(at) else { return };
        list_gesture.apply(&mut column.list);
        if matches!(list_gesture, ListGesture::Line(_)) && self.at != at {
            self.at = at;
            self.mark = None;
        }
    }

    /// Starts a marked range at the selected row, or removes the marked range.
    pub fn toggle_mark(&mut self) {
        let row = self.columns.get(self.at).and_then(|c| c.list.get());
        self.mark = if self.mark.is_some() { None } else { row };
    }

    fn shape(&self) -> SplitLists {
        self.columns.iter().map(|c| (c.name.clone(), c.shards.clone())).collect()
    }

    fn push_undo(&mut self) {
        if self.undo.len() == UNDO_STEPS {
            self.undo.remove(0);
        }
        self.undo.push(self.shape());
        self.redo.clear();
    }

    fn restore(&mut self, shape: SplitLists) {
        self.columns = shape.into_iter().map(|(name, shards)| column(&name, shards)).collect();
        self.at = self.at.min(self.columns.len().saturating_sub(1));
        self.mark = None;
    }
}

fn column(name: &str, shards: Vec<Arc<str>>) -> SplitColumn {
    SplitColumn { name: name.to_owned(), list: ListState::new(shards.len()), shards }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand() -> ManualSplits {
        let mut hand = ManualSplits::default();
        let splits =
            [("train".to_owned(), vec!["a".into(), "b".into(), "c".into()]), ("val".to_owned(), vec!["d".into()])];
        hand.set_columns(&splits, &["a", "b", "c", "d", "e"]);
        hand
    }

    fn names(hand: &ManualSplits, at: usize) -> Vec<&str> {
        hand.columns[at].shards.iter().map(|s| &**s).collect()
    }

    #[test]
    fn unassigned_shards_are_in_last_column() {
        let hand = hand();
        assert_eq!(hand.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["train", "val", NONE]);
        assert_eq!(names(&hand, 2), ["e"]);
        assert_eq!(hand.lists().len(), 2);
    }

    #[test]
    fn a_moved_shard_takes_its_place_in_index_order() {
        let mut hand = hand();
        hand.handle_action(Action::Down);
        assert_eq!(hand.shift(1), 1);
        assert_eq!((names(&hand, 0), names(&hand, 1)), (vec!["a", "c"], vec!["b", "d"]));
    }

    #[test]
    fn marked_range_moves_in_one_undoable_step() {
        let mut hand = hand();
        hand.toggle_mark();
        hand.handle_action(Action::Last);
        assert_eq!(hand.shift(-1), 3);
        assert_eq!(names(&hand, 2), ["a", "b", "c", "e"]);
        assert!(hand.undo());
        assert_eq!(names(&hand, 0), ["a", "b", "c"]);
        assert!(hand.redo());
        assert_eq!(names(&hand, 0), Vec::<&str>::new());
        assert!(!hand.redo());
    }

    #[test]
    fn a_shuffled_column_keeps_its_order() {
        let mut hand = ManualSplits::default();
        hand.set_columns(&[("train".to_owned(), vec!["c".into(), "a".into()])], &["a", "b", "c"]);
        hand.at = 1;
        hand.shift(-1);
        assert_eq!(names(&hand, 0), ["c", "a", "b"]);
    }

    #[test]
    fn added_splits_need_unique_names_and_dropped_splits_keep_shards() {
        let mut hand = hand();
        assert!(hand.add("train").is_err() && hand.add(" ").is_err() && hand.add(NONE).is_err());
        hand.add("holdout").unwrap();
        assert_eq!((hand.at, hand.columns.len()), (2, 4));
        hand.at = 0;
        assert_eq!(hand.drop_split().as_deref(), Some("train"));
        assert_eq!(names(&hand, 2), ["a", "b", "c", "e"]);
        hand.at = 2;
        assert_eq!(hand.drop_split(), None, "the column of shards without a split stays");
    }

    #[test]
    fn new_shards_are_unassigned_and_lost_shards_are_removed() {
        let mut hand = hand();
        hand.sync(&["a", "c", "d", "e", "f"]);
        assert_eq!((names(&hand, 0), names(&hand, 2)), (vec!["a", "c"], vec!["e", "f"]));
    }
}
