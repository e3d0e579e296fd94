//! Step Source: the shards, their unusual properties, and which of them are left out.

pub(super) mod view;

use super::click_targets::{ClickTarget, ListGesture};
use super::derive::{exact_name, exact_pattern};
use super::step::{Answers, StepState};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::{ListState, TextField, Toast};
use gristmill_core::text::count;
use gristmill_core::{Duplicates, PreparePlan, Rerun, Tgz};
use gristmill_ops::engine::plan::splits;
use ratatui::crossterm::event::KeyEvent;
use std::collections::BTreeSet;

/// A field of this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusStop {
    /// How to handle an earlier preparation.
    Rerun,
    /// Whether to discard the excludes of an earlier preparation.
    ResetExcludes,
    /// The list of shards.
    Shards,
    /// The pattern of shards that are left out.
    Pattern,
    /// How to handle compressed shards.
    Tgz,
    /// How to handle duplicate keys.
    Duplicates,
    /// The list of unusual properties.
    Findings,
}

/// Answers of the step.
#[derive(Clone, Debug, Default)]
pub struct SourceStep {
    /// How to handle an earlier preparation; shown only if there is one.
    pub rerun: Rerun,
    rerun_touched: bool,
    /// Whether to discard recorded excludes.
    pub reset_excludes: bool,
    /// Names of single shards that are left out.
    pub left_out: BTreeSet<String>,
    /// A pattern of further shards that are left out.
    pub pattern: TextField,
    /// Further patterns of the plan, which do not fit into the text field; they stay unchanged.
    pub more_patterns: Vec<String>,
    /// How to handle compressed shards.
    pub tgz: Tgz,
    /// How to handle duplicate keys.
    pub duplicates: Duplicates,
    /// Whether a run found duplicate keys: the scan remembers too few keys to find all of them.
    pub has_duplicates: bool,
    /// Cursor and scroll position of the list of shards.
    pub shards: ListState,
    /// Cursor and scroll position of the list of findings.
    pub findings: ListState,
    /// Whether the selected finding is shown in full.
    pub shows_detail: bool,
    /// The mistake in the typed pattern.
    fault: Option<String>,
    /// The last pattern that was checked, and the number of shards at that time.
    checked: Option<(String, usize)>,
    focus: usize,
}

impl SourceStep {
    /// Returns the fields that apply to this data set, in order.
    pub fn stop_list(&self, answers: &Answers) -> Vec<FocusStop> {
        let facts = &answers.facts;
        let mut stops = Vec::with_capacity(7);
        if let Some(prepared) = &facts.prepared {
            stops.push(FocusStop::Rerun);
            if self.rerun == Rerun::Overwrite && !prepared.excludes.is_empty() {
                stops.push(FocusStop::ResetExcludes);
            }
        }
        stops.push(FocusStop::Shards);
        stops.push(FocusStop::Pattern);
        if facts.shards.iter().any(|s| s.is_tgz) {
            stops.push(FocusStop::Tgz);
        }
        let asks =
            self.has_duplicates || answers.derived.same_keys.is_some() || self.duplicates == Duplicates::KeepFirst;
        // If samples are split into several pieces, keeping the first one would lose the rest.
        if asks && answers.derived.unusable_samples.is_none() {
            stops.push(FocusStop::Duplicates);
        }
        if !facts.findings.is_empty() {
            stops.push(FocusStop::Findings);
        }
        stops
    }

    /// Returns the focused field.
    pub fn stop(&self, answers: &Answers) -> FocusStop {
        let stops = self.stop_list(answers);
        stops.get(self.focus).or(stops.last()).copied().unwrap_or(FocusStop::Shards)
    }

    /// Returns the number of a field in the order of the focus.
    pub fn number_of(&self, stop: FocusStop, answers: &Answers) -> usize {
        self.stop_list(answers).iter().position(|s| *s == stop).unwrap_or(0)
    }

    /// Moves the focus to a field, if it applies to the data set.
    pub fn focus_on(&mut self, stop: FocusStop, answers: &Answers) {
        if let Some(at) = self.stop_list(answers).iter().position(|s| *s == stop) {
            self.focus = at;
        }
    }

    /// Checks the typed pattern immediately, because it may be accepted right after typing.
    fn check_pattern(&mut self, answers: &Answers) {
        let shards = &answers.facts.shards;
        let now = (self.pattern.value().to_owned(), shards.len());
        if self.checked.as_ref() == Some(&now) {
            return;
        }
        self.fault = match splits::exclude_matches(&now.0, shards) {
            _ if now.0.is_empty() || shards.is_empty() => None,
            Err(problem) => Some(format!("the exclude pattern cannot be used: {}", problem.message)),
            Ok(m) if m.shards.is_empty() => {
                Some(format!("the exclude pattern matches none of {}", count(shards.len() as u64, "shard")))
            }
            Ok(_) => None,
        };
        self.checked = Some(now);
    }

    /// Whether the typed pattern is invalid or matches nothing.
    pub fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    fn toggle_shard(&mut self, answers: &Answers) {
        let Some(shard) = self.shards.get().and_then(|row| answers.facts.shards.get(row)) else { return };
        if !self.left_out.remove(&shard.name) {
            self.left_out.insert(shard.name.clone());
        }
    }

    fn move_choice(&mut self, stop: FocusStop, down: bool) {
        match stop {
            FocusStop::Rerun => {
                self.rerun = if down { Rerun::Overwrite } else { Rerun::Update };
                self.rerun_touched = true;
            }
            FocusStop::Tgz => self.tgz = if down { Tgz::Rewrite } else { Tgz::Skip },
            FocusStop::Duplicates => self.duplicates = if down { Duplicates::KeepFirst } else { Duplicates::Fail },
            _ => {}
        }
    }

    /// Whether the second of two options is selected.
    fn is_second(&self, stop: FocusStop) -> bool {
        match stop {
            FocusStop::Rerun => self.rerun == Rerun::Overwrite,
            FocusStop::Tgz => self.tgz == Tgz::Rewrite,
            _ => self.duplicates == Duplicates::KeepFirst,
        }
    }

    /// Moves the cursor between two options, and from their ends to the previous or next field.
    fn choose_or_leave(&mut self, stop: FocusStop, down: bool, answers: &Answers) {
        if self.is_second(stop) == down {
            if down {
                self.focus_next(answers);
            } else {
                self.focus_previous();
            }
        } else {
            self.move_choice(stop, down);
        }
    }

    fn move_in(&mut self, action: Action, answers: &Answers) {
        let stop = self.stop(answers);
        match stop {
            // At the end of a list, the focus moves to the next field.
            FocusStop::Shards | FocusStop::Findings => {
                let list = if stop == FocusStop::Shards { &mut self.shards } else { &mut self.findings };
                if !list.handle_action(action) {
                    self.leave_by(action, answers);
                }
            }
            FocusStop::Pattern | FocusStop::ResetExcludes => self.leave_by(action, answers),
            FocusStop::Rerun | FocusStop::Tgz | FocusStop::Duplicates => match action {
                Action::Up => self.choose_or_leave(stop, false, answers),
                Action::Down => self.choose_or_leave(stop, true, answers),
                _ => {}
            },
        }
    }

    fn leave_by(&mut self, action: Action, answers: &Answers) {
        match action {
            Action::Up => self.focus_previous(),
            Action::Down => self.focus_next(answers),
            _ => {}
        }
    }
}

impl StepState for SourceStep {
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
        if self.shows_detail {
            return Context::Page;
        }
        match self.stop(answers) {
            FocusStop::Shards => Context::PrepareShards,
            FocusStop::Pattern => Context::PrepareText,
            _ => Context::Prepare,
        }
    }

    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast> {
        let stop = self.stop(answers);
        if self.shows_detail {
            match action {
                Action::Up | Action::Down => {
                    self.findings.handle_action(action);
                }
                _ => self.shows_detail = false,
            }
            return None;
        }
        match action {
            Action::Exclude if stop == FocusStop::Shards => self.toggle_shard(answers),
            Action::Toggle if stop == FocusStop::Shards => self.toggle_shard(answers),
            Action::Toggle if stop == FocusStop::ResetExcludes => self.reset_excludes = !self.reset_excludes,
            // The option at the cursor is already selected.
            Action::Toggle => self.move_choice(stop, self.is_second(stop)),
            Action::Details if !answers.facts.findings.is_empty() => {
                self.focus_on(FocusStop::Findings, answers);
                self.shows_detail = true;
            }
            Action::DropRow => self.pattern.clear(),
            Action::Left | Action::Right => {}
            moving => self.move_in(moving, answers),
        }
        None
    }

    fn point(&mut self, spot: ClickTarget, list_gesture: ListGesture, answers: &Answers) {
        match spot {
            ClickTarget::Choice(stop, option) => {
                if let Some(stop) = self.stop_list(answers).get(stop).copied() {
                    self.move_choice(stop, option == 1);
                }
            }
            ClickTarget::Rows(stop, _) => {
                let is_shards = self.stop_list(answers).get(stop) == Some(&FocusStop::Shards);
                list_gesture.apply(if is_shards { &mut self.shards } else { &mut self.findings });
            }
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent, answers: &Answers) {
        if std::mem::take(&mut self.shows_detail) {
            return;
        }
        if self.stop(answers) == FocusStop::Pattern {
            self.pattern.key(key);
        }
    }

    fn paste(&mut self, text: &str, answers: &Answers) {
        if self.stop(answers) == FocusStop::Pattern {
            self.pattern.paste(text);
        }
    }

    fn refresh(&mut self, answers: &Answers) {
        self.shards.set_len(answers.facts.shards.len());
        self.findings.set_len(answers.facts.findings.len());
        self.check_pattern(answers);
        match &answers.facts.prepared {
            None => self.rerun = Rerun::Refuse,
            Some(_) if !self.rerun_touched && self.rerun == Rerun::Refuse => self.rerun = Rerun::Update,
            Some(_) => {}
        }
        self.focus = self.focus.min(self.focus_count(answers).saturating_sub(1));
    }

    fn write(&self, answers: &Answers, plan: &mut PreparePlan) {
        plan.rerun = if answers.facts.prepared.is_some() { self.rerun.clone() } else { Rerun::Refuse };
        plan.reset_excludes = self.reset_excludes && plan.rerun == Rerun::Overwrite;
        plan.exclude_shards = self.more_patterns.clone();
        if !self.pattern.is_empty() {
            plan.exclude_shards.push(self.pattern.value().to_owned());
        }
        plan.exclude_shards.extend(self.left_out.iter().map(|name| exact_pattern(name)));
        plan.tgz = self.tgz;
        plan.duplicates = self.duplicates;
    }

    fn adopt(&mut self, plan: &PreparePlan, _: &Answers) {
        if plan.rerun != Rerun::Refuse {
            self.rerun = plan.rerun.clone();
            self.rerun_touched = true;
        }
        self.reset_excludes = plan.reset_excludes;
        self.tgz = plan.tgz;
        self.duplicates = plan.duplicates;
        self.left_out.clear();
        self.more_patterns.clear();
        self.pattern.clear();
        for pattern in &plan.exclude_shards {
            match exact_name(pattern) {
                Some(name) => {
                    self.left_out.insert(name);
                }
                None if self.pattern.is_empty() => self.pattern.set(pattern),
                None => self.more_patterns.push(pattern.clone()),
            }
        }
    }

    fn blocking_reason(&self, answers: &Answers) -> Option<String> {
        if let Some(fault) = self.fault.as_ref().filter(|_| !answers.plan.compat) {
            return Some(fault.clone());
        }
        let shards = &answers.facts.shards;
        if shards.is_empty() {
            return Some("this folder has no shards to prepare".to_owned());
        }
        if shards.iter().enumerate().all(|(at, s)| self.is_left_out(at, &s.name, answers)) {
            return Some("every shard is excluded; no shard would remain".to_owned());
        }
        None
    }

    fn has_inner(&self) -> bool {
        self.shows_detail
    }
}

impl SourceStep {
    /// Whether a shard is left out, by its name or by the pattern.
    pub fn is_left_out(&self, at: usize, name: &str, answers: &Answers) -> bool {
        self.left_out.contains(name)
            || matches!(&answers.derived.excluded, Some(Ok(hits)) if hits.binary_search(&at).is_ok())
    }
}

#[cfg(test)]
mod tests;
