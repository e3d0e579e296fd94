//! Step Splits: division by ratio, by patterns, or manually, with the resulting splits.

pub mod manual;
mod recorded;
pub(super) mod view;

use super::click_targets::{ClickTarget, ListGesture};
use super::step::{Answers, StepState};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::{Level, TextField, Toast};
use gristmill_core::plan::{SplitList, SplitPattern};
use gristmill_core::{PreparePlan, ProblemKind, Severity, SplitPlan};
use manual::ManualSplits;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use recorded::{has_new_shards, has_rule, recorded_splits};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How the shards are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A ratio of three numbers.
    #[default]
    Ratio,
    /// Regular expressions for shard names.
    Patterns,
    /// Manual splits.
    Hand,
}

impl Mode {
    /// All modes, in the order of the screen.
    pub const ALL: [Self; 3] = [Self::Ratio, Self::Patterns, Self::Hand];
}

/// A field of this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusStop {
    /// The mode, with the text field for the ratio.
    Mode,
    /// The name in a pattern row.
    Name(usize),
    /// The pattern in a pattern row.
    Pattern(usize),
    Columns,
    /// Whether shards are shuffled before they are divided.
    Shuffle,
    /// Whether splits without shards are accepted.
    AllowEmpty,
    /// The split of new shards in an update.
    NewTo,
}

/// The typed answers of all modes: a draft includes those of the modes that are not selected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alternatives {
    pub ratio: String,
    /// The pattern rows.
    pub patterns: Vec<SplitPattern>,
    /// The splits of the manual mode.
    pub lists: Vec<SplitList>,
}

/// A row with the text fields for `NAME:PATTERN`.
#[derive(Clone, Debug, Default)]
pub struct PatternRow {
    /// Split name.
    pub name: TextField,
    pub pattern: TextField,
}

impl PatternRow {
    fn new(name: &str, pattern: &str) -> Self {
        Self { name: TextField::new(name), pattern: TextField::new(pattern) }
    }
    fn is_empty(&self) -> bool {
        self.name.is_empty() && self.pattern.is_empty()
    }
}

/// Answers of the step.
#[derive(Clone, Debug, Default)]
pub struct SplitsStep {
    /// How the shards are divided.
    pub mode: Mode,
    pub ratio: TextField,
    /// The pattern rows; the last one is always empty, for another pattern.
    pub rows: Vec<PatternRow>,
    /// The columns of the manual mode.
    pub hand: ManualSplits,
    /// Whether shards are shuffled before they are divided.
    pub shuffle: bool,
    /// Whether splits without shards are accepted.
    pub allow_empty: bool,
    /// The split of new shards in an update; `None` for the recorded rule.
    pub new_to: Option<String>,
    /// The text field for the name of a new split, while it is open.
    pub naming: Option<TextField>,
    /// The reason for the suggested answer.
    pub why: String,
    /// The newest splits that had shards, from which the columns are filled.
    last_nonempty_splits: Vec<(String, Vec<String>)>,
    /// The field that gets the focus once the columns can be filled; `None` if the manual mode was not requested.
    requested_manual_focus: Option<FocusStop>,
    touched: bool,
    /// Whether the suggestion was accepted: later suggestions do not change the answer.
    accepted: bool,
    /// Whether the last key was a character that a ratio cannot contain.
    is_character_refused: bool,
    focus: usize,
}

impl SplitsStep {
    /// Returns the fields that apply to the answers, in order.
    pub fn stop_list(&self, answers: &Answers) -> Vec<FocusStop> {
        if answers.is_update() {
            return vec![FocusStop::NewTo];
        }
        let mut stops = vec![FocusStop::Mode];
        match self.mode {
            Mode::Ratio => stops.push(FocusStop::Shuffle),
            Mode::Patterns => {
                stops.extend((0..self.rows.len()).flat_map(|row| [FocusStop::Name(row), FocusStop::Pattern(row)]));
                stops.push(FocusStop::Shuffle);
                if self.allow_empty || has_empty_pattern(answers) {
                    stops.push(FocusStop::AllowEmpty);
                }
            }
            Mode::Hand => stops.push(FocusStop::Columns),
        }
        stops
    }

    /// Returns the focused field.
    pub fn stop(&self, answers: &Answers) -> FocusStop {
        let stops = self.stop_list(answers);
        stops.get(self.focus).or(stops.last()).copied().unwrap_or(FocusStop::Mode)
    }

    /// Returns the number of a field in the order of the focus.
    pub fn number_of(&self, stop: FocusStop, answers: &Answers) -> usize {
        self.stop_list(answers).iter().position(|s| *s == stop).unwrap_or(0)
    }

    fn text(&mut self, stop: FocusStop) -> Option<&mut TextField> {
        if let Some(naming) = &mut self.naming {
            return Some(naming);
        }
        match stop {
            FocusStop::Mode if self.mode == Mode::Ratio => Some(&mut self.ratio),
            FocusStop::Name(row) => self.rows.get_mut(row).map(|r| &mut r.name),
            FocusStop::Pattern(row) => self.rows.get_mut(row).map(|r| &mut r.pattern),
            _ => None,
        }
    }

    fn set_mode(&mut self, mode: Mode, answers: &Answers) {
        if mode == Mode::Hand && self.hand.is_empty() {
            if self.awaits_splits(answers) {
                self.requested_manual_focus = Some(FocusStop::Mode);
                return;
            }
            self.fill_hand(answers);
        }
        if mode == Mode::Patterns {
            self.tidy_rows();
        }
        self.mode = mode;
        self.touched = true;
    }

    /// Switches to the manual mode and focuses the columns.
    ///
    /// The columns are filled with the current splits. While these are being computed, the focus moves later.
    pub fn by_hand(&mut self, answers: &Answers) {
        self.take_columns(FocusStop::Columns, answers);
    }

    fn take_columns(&mut self, focus: FocusStop, answers: &Answers) {
        self.requested_manual_focus = None;
        self.set_mode(Mode::Hand, answers);
        match self.requested_manual_focus {
            Some(_) => self.requested_manual_focus = Some(focus),
            None => self.focus = self.number_of(focus, answers),
        }
    }

    /// Whether the splits from which the columns are filled are still being computed.
    fn awaits_splits(&self, answers: &Answers) -> bool {
        self.last_nonempty_splits.is_empty() && !answers.derived.knows_all_shards(&answers.facts)
    }

    /// Fills the columns with the current splits, so that the user has to make only the differences.
    fn fill_hand(&mut self, answers: &Answers) {
        let proposed = &answers.derived.suggested_splits.columns;
        // While the user has not answered, the suggested splits apply, although they may not be in the plan yet.
        let is_answered = self.touched || self.accepted;
        let takes_proposed = self.last_nonempty_splits.is_empty() || !is_answered && !proposed.is_empty();
        let mut splits = if takes_proposed { proposed.clone() } else { self.last_nonempty_splits.clone() };
        // Without any split, add the usual three; with a single one, add another column.
        let least = if splits.is_empty() { 3 } else { 2 };
        for name in ["train", "val", "test"] {
            if splits.len() < least && !splits.iter().any(|(n, _)| n == name) {
                splits.push((name.to_owned(), Vec::new()));
            }
        }
        self.hand.set_columns(&splits, &usable_shards(answers));
    }

    /// Removes empty rows, and appends one at the end.
    fn tidy_rows(&mut self) {
        self.rows.retain(|r| !r.is_empty());
        self.rows.push(PatternRow::default());
    }

    fn move_vertically(&mut self, down: bool, answers: &Answers) {
        match self.stop(answers) {
            FocusStop::Mode => {
                let at = Mode::ALL.iter().position(|m| *m == self.mode).unwrap_or(0);
                let next = if down { at.checked_add(1) } else { at.checked_sub(1) };
                match next.and_then(|n| Mode::ALL.get(n)) {
                    Some(&mode) => self.set_mode(mode, answers),
                    None if down => self.focus_next(answers),
                    None => {}
                }
            }
            // Up and down stay in the column of names or patterns; above the first row is the mode.
            FocusStop::Name(row) | FocusStop::Pattern(row) => {
                self.focus = match (down, row) {
                    (true, _) if row + 1 == self.rows.len() => 1 + 2 * self.rows.len(),
                    (true, _) => self.focus + 2,
                    (false, 0) => 0,
                    (false, _) => self.focus.saturating_sub(2),
                };
                self.focus = self.focus.min(self.focus_count(answers).saturating_sub(1));
            }
            FocusStop::NewTo => self.choose_new_to(down, answers),
            _ if down => self.focus_next(answers),
            _ => self.focus_previous(),
        }
    }

    fn choose_new_to(&mut self, down: bool, answers: &Answers) {
        if !has_new_shards(answers) {
            return;
        }
        let names = recorded_splits(answers);
        let at = self.new_to.as_ref().and_then(|n| names.iter().position(|x| x == n)).map_or(0, |p| p + 1);
        let next = if down { (at + 1).min(names.len()) } else { at.saturating_sub(1) };
        let next = if next == 0 && !has_rule(answers) { at.min(1) } else { next };
        self.new_to = next.checked_sub(1).and_then(|i| names.get(i).cloned());
    }

    fn act_in_columns(&mut self, action: Action) -> Option<Toast> {
        self.touched = true;
        match action {
            Action::MoveToNextSplit => {
                self.hand.shift(1);
            }
            Action::MoveToPreviousSplit => {
                self.hand.shift(-1);
            }
            Action::Mark | Action::Toggle => self.hand.toggle_mark(),
            Action::AddSplit => self.naming = Some(TextField::default()),
            Action::DropSplit => {
                if self.hand.drop_split().is_none() {
                    return Some(Toast::new(Level::Info, "this column holds the shards of no split; it stays"));
                }
            }
            Action::Undo => {
                if !self.hand.undo() {
                    return Some(Toast::new(Level::Info, "nothing to undo"));
                }
            }
            Action::Redo => {
                self.hand.redo();
            }
            moving => {
                if !self.hand.handle_action(moving) && moving == Action::Up {
                    self.focus_previous();
                }
            }
        }
        None
    }

    fn act_naming(&mut self, action: Action) -> Option<Toast> {
        match action {
            Action::Next | Action::Accept => {
                let name = self.naming.as_ref().map(|f| f.value().to_owned()).unwrap_or_default();
                if let Err(why) = self.hand.add(&name) {
                    return Some(Toast::new(Level::Warn, why));
                }
                self.naming = None;
            }
            Action::Close => self.naming = None,
            _ => {}
        }
        None
    }
}

impl StepState for SplitsStep {
    fn focus_count(&self, answers: &Answers) -> usize {
        self.stop_list(answers).len()
    }

    fn focus(&self) -> usize {
        self.focus
    }

    fn set_focus(&mut self, stop: usize) {
        self.focus = stop;
    }

    fn context(&self, answers: &Answers) -> Context {
        if self.naming.is_some() {
            return Context::PrepareText;
        }
        match self.stop(answers) {
            FocusStop::Mode if self.mode == Mode::Ratio => Context::PrepareText,
            FocusStop::Name(_) | FocusStop::Pattern(_) => Context::PrepareText,
            FocusStop::Columns => Context::PrepareHand,
            _ => Context::Prepare,
        }
    }

    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast> {
        self.is_character_refused = false;
        self.requested_manual_focus = None;
        if self.naming.is_some() {
            return self.act_naming(action);
        }
        let stop = self.stop(answers);
        match (stop, action) {
            (FocusStop::Columns, action) => return self.act_in_columns(action),
            (FocusStop::Shuffle, Action::Toggle) => {
                self.shuffle = !self.shuffle;
                self.touched = true;
            }
            (FocusStop::AllowEmpty, Action::Toggle) => self.allow_empty = !self.allow_empty,
            (FocusStop::Name(row) | FocusStop::Pattern(row), Action::DropRow) => {
                if let Some(row) = self.rows.get_mut(row) {
                    *row = PatternRow::default();
                }
                self.tidy_rows();
                self.touched = true;
                self.focus = self.focus.min(self.focus_count(answers).saturating_sub(1));
            }
            (FocusStop::Mode, Action::DropRow) => self.ratio.clear(),
            (_, Action::Up) => self.move_vertically(false, answers),
            (_, Action::Down) => self.move_vertically(true, answers),
            // The option at the cursor is already selected.
            (FocusStop::Mode, Action::Toggle) => self.touched = true,
            _ => {}
        }
        None
    }

    fn point(&mut self, spot: ClickTarget, list_gesture: ListGesture, answers: &Answers) {
        match spot {
            ClickTarget::Choice(_, option) if answers.is_update() => {
                let names = recorded_splits(answers);
                let name = option.checked_sub(1).and_then(|at| names.get(at).cloned());
                if name.is_some() || has_rule(answers) {
                    self.new_to = name;
                }
            }
            ClickTarget::Choice(_, option) => {
                if let Some(mode) = Mode::ALL.get(option).filter(|mode| **mode != self.mode) {
                    self.set_mode(*mode, answers);
                }
            }
            ClickTarget::Rows(_, column) => self.hand.point(column, list_gesture),
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent, answers: &Answers) {
        let stop = self.stop(answers);
        self.is_character_refused = false;
        if stop == FocusStop::Mode && self.naming.is_none() {
            if matches!(key.code, KeyCode::Char(c) if key.modifiers.is_empty() && !is_ratio_char(c)) {
                self.is_character_refused = self.mode == Mode::Ratio;
                return;
            }
            // A number that is typed first replaces the proposal; a comma extends it.
            if !self.touched
                && !self.accepted
                && self.mode == Mode::Ratio
                && matches!(key.code, KeyCode::Char('0'..='9' | '.'))
            {
                self.ratio.clear();
            }
        }
        if self.text(stop).is_some_and(|field| field.key(key)) && self.naming.is_none() {
            self.touched = true;
        }
        self.grow_rows();
    }

    fn paste(&mut self, text: &str, answers: &Answers) {
        let stop = self.stop(answers);
        if self.text(stop).is_some_and(|field| field.paste(text)) && self.naming.is_none() {
            self.touched = true;
        }
        self.grow_rows();
    }

    fn refresh(&mut self, answers: &Answers) {
        if !self.touched && !self.accepted {
            self.take_suggestion(answers);
        } else if self.ratio.is_empty() && self.mode != Mode::Ratio {
            // The first ratio that is shown is suitable for this data.
            self.ratio.set(&answers.derived.suggested_splits.ratio);
        }
        let is_full = answers.derived.resolved.splits.iter().any(|(_, shards)| !shards.is_empty());
        let is_full = is_full && answers.derived.knows_all_shards(&answers.facts);
        if self.hand.is_empty() && self.mode != Mode::Hand && is_full {
            self.last_nonempty_splits = answers.derived.split_names(&answers.facts);
        }
        if let Some(focus) = self.requested_manual_focus {
            self.take_columns(focus, answers);
        }
        self.hand.sync(&usable_shards(answers));
        self.focus = self.focus.min(self.focus_count(answers).saturating_sub(1));
    }

    fn accept(&mut self) {
        self.accepted = true;
    }

    fn write(&self, answers: &Answers, plan: &mut PreparePlan) {
        plan.new_to = self.new_to.clone().filter(|_| answers.is_update() && has_new_shards(answers));
        if answers.is_update() {
            plan.splits = SplitPlan::Unset;
            return;
        }
        plan.shuffle_tars = self.shuffle && self.mode != Mode::Hand;
        plan.allow_empty_splits = self.allow_empty && self.mode == Mode::Patterns;
        plan.splits = match self.mode {
            Mode::Ratio => SplitPlan::Ratio(self.ratio.value().trim().to_owned()),
            Mode::Patterns => SplitPlan::Patterns(self.patterns()),
            Mode::Hand => SplitPlan::Listed(self.hand.lists()),
        };
    }

    fn adopt(&mut self, plan: &PreparePlan, answers: &Answers) {
        self.new_to.clone_from(&plan.new_to);
        self.shuffle = plan.shuffle_tars;
        self.allow_empty = plan.allow_empty_splits;
        match &plan.splits {
            SplitPlan::Unset => return,
            SplitPlan::Ratio(text) => {
                self.mode = Mode::Ratio;
                self.ratio.set(text);
            }
            SplitPlan::Patterns(patterns) => {
                self.mode = Mode::Patterns;
                self.rows = patterns.iter().map(|p| PatternRow::new(&p.name, &p.pattern)).collect();
                self.tidy_rows();
            }
            SplitPlan::Listed(lists) => {
                self.mode = Mode::Hand;
                self.fill_lists(lists, answers);
            }
        }
        self.touched = true;
    }

    fn blocking_reason(&self, answers: &Answers) -> Option<String> {
        if answers.is_update() && self.new_to.is_none() && has_new_shards(answers) && !has_rule(answers) {
            return Some("no rule is recorded by which new shards join: choose the split that takes them".into());
        }
        // A proposal is not blocked by the problems of the answer before it.
        let is_about = |division: &SplitPlan| self.touched || *division == answers.plan.splits;
        let mut problems = answers.derived.split_problems().filter(|_| is_about(&answers.derived.division));
        problems.find(|p| p.severity == Severity::Refusal).map(|p| p.message.clone())
    }

    fn has_inner(&self) -> bool {
        self.naming.is_some()
    }
}

impl SplitsStep {
    /// Whether the text field for the ratio has the focus.
    pub fn is_typing_ratio(&self, answers: &Answers) -> bool {
        self.naming.is_none() && self.mode == Mode::Ratio && self.stop(answers) == FocusStop::Mode
    }

    /// Returns the line below the modes, and whether it is an error: what a ratio can contain after a character that it cannot, or the
    /// reason for the answer if it is still the suggested one.
    pub fn note(&self) -> Option<(&str, bool)> {
        match self.is_character_refused {
            true => Some(("a ratio has only numbers and commas, such as 8,1,1", true)),
            false => (!self.touched && !self.why.is_empty()).then_some((&*self.why, false)),
        }
    }

    /// Returns the patterns for the plan; empty rows are omitted.
    fn patterns(&self) -> Vec<SplitPattern> {
        let full = self.rows.iter().filter(|r| !r.is_empty());
        full.map(|r| SplitPattern { name: r.name.value().trim().to_owned(), pattern: r.pattern.value().to_owned() })
            .collect()
    }

    /// Returns the typed answers of all three modes.
    pub fn alternatives(&self) -> Alternatives {
        Alternatives { ratio: self.ratio.value().to_owned(), patterns: self.patterns(), lists: self.hand.lists() }
    }

    /// Restores the typed answers of the modes that are not selected; those of the selected mode are in the plan.
    pub fn restore_alternatives(&mut self, kept: &Alternatives, answers: &Answers) {
        if self.mode != Mode::Ratio {
            self.ratio.set(&kept.ratio);
        }
        if self.mode != Mode::Patterns && !kept.patterns.is_empty() {
            self.rows = kept.patterns.iter().map(|p| PatternRow::new(&p.name, &p.pattern)).collect();
            self.tidy_rows();
        }
        if self.mode != Mode::Hand && !kept.lists.is_empty() {
            self.fill_lists(&kept.lists, answers);
        }
    }

    fn fill_lists(&mut self, lists: &[SplitList], answers: &Answers) {
        let splits: Vec<_> = lists.iter().map(|l| (l.name.clone(), super::derive::expand_all(&l.shards))).collect();
        self.hand.set_columns(&splits, &usable_shards(answers));
    }

    fn grow_rows(&mut self) {
        if self.mode == Mode::Patterns && self.rows.last().is_none_or(|r| !r.is_empty()) {
            self.rows.push(PatternRow::default());
        }
    }

    fn take_suggestion(&mut self, answers: &Answers) {
        let suggestion = &answers.derived.suggested_splits;
        match &suggestion.plan {
            SplitPlan::Ratio(text) => {
                self.mode = Mode::Ratio;
                self.ratio.set(text);
            }
            SplitPlan::Patterns(patterns) => {
                self.mode = Mode::Patterns;
                self.rows = patterns.iter().map(|p| PatternRow::new(&p.name, &p.pattern)).collect();
                self.tidy_rows();
                self.ratio.set(&suggestion.ratio);
            }
            _ => {}
        }
        self.why.clone_from(&suggestion.why);
    }
}

/// Whether a ratio can contain a character.
pub(super) fn is_ratio_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '.' | ' ' | '-' | 'e' | '+')
}

fn has_empty_pattern(answers: &Answers) -> bool {
    answers.derived.split_problems().any(|p| matches!(p.kind, ProblemKind::EmptySplit | ProblemKind::MatchesNothing))
}

/// Returns the names of the shards that can be in a split, in index order.
pub(super) fn usable_shards(answers: &Answers) -> Vec<Cow<'_, str>> {
    let shards = answers.facts.shards.iter().enumerate();
    shards.filter(|(at, _)| answers.derived.is_usable(*at)).map(|(_, s)| super::derive::written_name(s)).collect()
}

#[cfg(test)]
mod tests;
