//! The state of the list of problems: the selected problem, and the effect of each key. Pure: no I/O.

use super::rows::{ExcludeTarget, OpenTarget, ProblemRows, ReportedProblems};
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Problem, ProblemKind, Severity, UnlistedProblems};
use gristmill_ops::engine::browse::Marks;
use gristmill_ops::engine::splits::{Edit, ExcludeItem};
use ratatui::layout::Rect;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum length of the note of an exclude, in characters.
const MAX_NOTE_CHARS: usize = 160;
/// Number of excludes per edit; a worker applies several edits.
const EXCLUDES_PER_EDIT: usize = 50;

/// An exclude with its note.
pub struct NotedTarget {
    /// The sample or shard that `x` excludes.
    pub target: ExcludeTarget,
    /// The problem in one line.
    pub note: String,
}

/// A list of problems with a cursor.
#[derive(Clone, Debug, Default)]
pub struct ProblemTable {
    /// Cursor and scroll position.
    pub list: ListState,
    rows: ProblemRows,
    /// Number of rows of each kind.
    kinds: BTreeMap<ProblemKind, u64>,
    /// Number of problems of each kind that the run counted, which may exceed the number of rows.
    counted: BTreeMap<ProblemKind, u64>,
    /// Problems of the run without a row.
    unlisted: UnlistedProblems,
    /// The exclude marks.
    pub marks: Arc<Marks>,
    /// The reason why nothing can be excluded now.
    pub why_no_edit: Option<Arc<str>>,
    /// Number of unwritten changes.
    pub pending: usize,
    /// The key that writes the changes, as of the last frame.
    pub(super) write_key: String,
    /// The area of the rows as drawn last.
    pub area: Rect,
}

impl ProblemTable {
    /// Lists the problems of a run; the rows are created again only if their number has changed or the run has ended.
    pub fn report(
        &mut self,
        problems: &[Problem],
        counts: &[(Severity, ProblemKind, u64)],
        unlisted: &UnlistedProblems,
        is_over: bool,
    ) {
        self.unlisted = unlisted.clone();
        if problems.len() != self.rows.reported().len() || is_over {
            self.set_rows(ProblemRows::Reported(ReportedProblems::new(problems.to_vec())));
        }
        self.counted.clear();
        for (_, kind, number) in counts {
            *self.counted.entry(*kind).or_insert(0) += number;
        }
    }

    /// Replaces the rows; the selection stays at its index if possible.
    pub fn set_rows(&mut self, rows: ProblemRows) {
        self.kinds = rows.kinds();
        self.list.set_len(rows.len());
        self.rows = rows;
    }

    /// Returns the rows.
    pub fn rows(&self) -> &ProblemRows {
        &self.rows
    }

    /// Returns the rows for modification.
    pub(super) fn rows_mut(&mut self) -> &mut ProblemRows {
        &mut self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the selected problem.
    pub fn selected(&self) -> Option<Problem> {
        self.rows.problem(self.list.get()?)
    }

    /// Returns the number of problems of a kind with a known place, listed or not, and the number of all problems of that kind.
    pub(super) fn of_kind(&self, kind: ProblemKind) -> (u64, u64) {
        let known = self.kinds.get(&kind).copied().unwrap_or(0) + self.unlisted.count(kind);
        let counted = self.counted.get(&kind).copied().unwrap_or(0);
        (known, counted.max(known))
    }

    /// Returns the kind of the selected problem and the unlisted problems, if there are unlisted ones of that kind.
    pub(super) fn unlisted_of_kind(&self) -> Option<(ProblemKind, UnlistedProblems)> {
        let kind = self.rows.kind(self.list.get()?)?;
        (self.unlisted.count(kind) > 0).then(|| (kind, self.unlisted.clone()))
    }

    /// Returns the number of unwritten changes and the key that writes them, for the title line.
    pub fn status(&self) -> Option<String> {
        (self.pending > 0).then(|| format!("{} not written ({})", count(self.pending as u64, "change"), self.write_key))
    }

    /// Whether an action is one of the list.
    pub fn takes(action: Action) -> bool {
        use Action as A;
        matches!(action, A::OpenProblem | A::ExcludeProblem | A::ExcludeKind | A::Undo | A::Redo | A::Write)
    }

    /// Returns why an action of the list is not available now.
    pub fn disabled_reason(&self, action: Action) -> Option<String> {
        let no_edit = || self.why_no_edit.as_deref().map(str::to_owned);
        match action {
            Action::OpenProblem => self.goal().err(),
            Action::ExcludeProblem => no_edit().or_else(|| self.target().err()),
            Action::ExcludeKind if self.list.get().is_none() => Some(NONE.to_owned()),
            Action::ExcludeKind => no_edit().or_else(|| {
                let is_looking = self.list.get().is_some_and(|row| self.rows.target(row).is_none());
                is_looking.then(|| STILL_SEARCHED.to_owned())
            }),
            Action::Redo => no_edit(),
            Action::Undo => no_edit().or_else(|| (self.pending == 0).then(|| "there is nothing to undo".to_owned())),
            Action::Write => no_edit().or_else(|| (self.pending == 0).then(|| "there is nothing to write".to_owned())),
            _ => None,
        }
    }

    /// Returns the target of Enter.
    pub fn goal(&self) -> Result<OpenTarget, String> {
        let row = self.list.get().ok_or(NONE)?;
        let problem_target = self.rows.target(row).ok_or(STILL_SEARCHED)?;
        problem_target.open.map_err(|why| why.to_string())
    }

    /// Returns the target of `x`.
    fn target(&self) -> Result<ExcludeTarget, String> {
        let row = self.list.get().ok_or(NONE)?;
        let problem_target = self.rows.target(row).ok_or(STILL_SEARCHED)?;
        problem_target.exclude.map_err(|why| why.to_string())
    }

    /// Whether the target of a row is excluded.
    pub(super) fn is_row_excluded(&self, row: usize) -> bool {
        self.rows
            .target(row)
            .and_then(|problem_target| problem_target.exclude.ok())
            .is_some_and(|target| self.is_excluded(&target))
    }

    fn is_excluded(&self, target: &ExcludeTarget) -> bool {
        let named = |key: &Arc<str>| self.marks.is_sample_named(target.group, key);
        self.marks.is_shard_excluded(target.group) || target.key.as_ref().is_some_and(named)
    }

    /// Returns the edit of `x`: excludes the target of the selected problem, or removes its exclude.
    pub fn exclude(&self) -> Result<Edit, String> {
        let target = self.target()?;
        let is_whole = self.marks.is_shard_excluded(target.group);
        if is_whole && target.key.is_some() {
            return Err(format!("{} is excluded as a whole", target.shard));
        }
        if self.is_excluded(&target) {
            return Ok(Edit::Include { shard: target.shard, key: target.key });
        }
        let note = self.selected().map(|problem| note(&problem));
        Ok(Edit::Exclude { items: vec![item(&target).with_note(note)] })
    }

    /// Returns the edit of `X`: excludes the targets of all problems of the selected kind in one step. `unlisted` has the targets of the
    /// unlisted problems.
    pub fn exclude_kind(&self, unlisted: Vec<NotedTarget>) -> Result<Edit, String> {
        let row = self.list.get().ok_or(NONE)?;
        self.exclude_all(self.rows.kind(row).ok_or(NONE)?, unlisted)
    }

    /// Returns the edit of [`exclude_kind`](Self::exclude_kind) for a given kind.
    pub(super) fn exclude_all(&self, kind: ProblemKind, unlisted: Vec<NotedTarget>) -> Result<Edit, String> {
        let (mut seen, mut items, mut is_looking, mut why) = (HashSet::new(), Vec::new(), false, None);
        let (mut shards, mut samples) = (0u64, 0u64);
        let mut add = |NotedTarget { target, note }: NotedTarget| {
            if !self.is_excluded(&target) && !seen.contains(&target) {
                *(if target.key.is_some() { &mut samples } else { &mut shards }) += 1;
                items.push(item(&target).with_note(Some(note)));
                seen.insert(target);
            }
        };
        for row in (0..self.rows.len()).filter(|row| self.rows.kind(*row) == Some(kind)) {
            match (self.rows.target(row).map(|problem_target| problem_target.exclude), self.rows.problem(row)) {
                (Some(Ok(target)), Some(problem)) => add(NotedTarget { target, note: note(&problem) }),
                (Some(Err(reason)), _) => _ = why.get_or_insert(reason),
                _ => is_looking = true,
            }
        }
        unlisted.into_iter().for_each(&mut add);
        if is_looking {
            return Err(STILL_SEARCHED.to_owned());
        }
        if items.is_empty() {
            let all = "all samples and shards with problems of this kind are already excluded";
            return Err(why.map_or(all.to_owned(), |why| why.to_string()));
        }
        let what: Vec<String> = [(samples, "sample"), (shards, "shard")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| count(number, word))
            .collect();
        let (known, all) = self.of_kind(kind);
        let rest = match all - known {
            0 => String::new(),
            more => {
                format!("; {} more problems of this kind are only counted: their places are not known", grouped(more))
            }
        };
        let title = format!("exclude {}: {}{rest}", what.join(" and "), kind.title());
        // The notice of an edit with one part contains that part instead of the title.
        let size = if items.len() <= EXCLUDES_PER_EDIT { 1 } else { EXCLUDES_PER_EDIT };
        let edits = items.chunks(size).map(|items| Edit::Exclude { items: items.to_vec() }).collect();
        Ok(Edit::Many { title, edits })
    }
}

const NONE: &str = "no problem is selected";
const STILL_SEARCHED: &str = "its place is still being looked up";

fn item(target: &ExcludeTarget) -> ExcludeItem {
    match &target.key {
        Some(key) => ExcludeItem::sample(&target.shard, key),
        None => ExcludeItem::shard(&target.shard),
    }
}

/// Returns a problem as the note of an exclude: one line, escaped.
pub(super) fn note(problem: &Problem) -> String {
    let safe = display_safe(&problem.message);
    match safe.char_indices().nth(MAX_NOTE_CHARS) {
        None => safe.into_owned(),
        Some((end, _)) => format!("{}…", safe.get(..end).unwrap_or_default().trim_end()),
    }
}
