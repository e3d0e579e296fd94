//! Splits and excludes in the browser: signs next to the rows, and changes that are not written yet.

use super::screen::{BrowseScreen, OpenStage};
use super::state::Pane;
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Screen as _};
use crate::tui::screens::problems::{ProblemFeed, ProblemScreen};
use crate::tui::screens::splits::{self, SplitSession};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::{count, grouped};
use gristmill_ops::engine::browse::BrowseSample;
use gristmill_ops::engine::splits::{Edit, ExcludeItem};
use std::rc::Rc;
use std::sync::Arc;

fn toast(level: Level, words: impl Into<String>) -> Vec<Effect> {
    vec![Effect::Toast(Toast::new(level, words))]
}

impl BrowseScreen {
    /// Opens the splits of a prepared data set, unless they are open already.
    pub(super) fn open_session(&mut self) {
        let is_prepared = self.catalog().is_some_and(|catalog| catalog.kind().has_splits());
        if is_prepared && self.session.is_none() && self.edits {
            self.session = Some(SplitSession::open(&self.path, &self.env));
        }
    }

    /// Applies the results of the session's workers.
    pub(super) fn gather_edits(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(session) = self.session.clone() else { return false };
        let changed = session.tick(effects);
        let marks = session.marks(&self.state.groups);
        if Arc::ptr_eq(&marks, &self.marks) {
            return changed;
        }
        self.marks = marks;
        // A filter by split or exclude now matches other samples.
        if self.active_filter.as_ref().is_some_and(|s| s.filter.split.is_some() || s.filter.excluded.is_some()) {
            self.apply_filter();
        }
        true
    }

    /// Returns why splits and excludes cannot be changed here.
    pub(super) fn why_no_edit(&self) -> Option<String> {
        match (&self.stage, &self.session) {
            (OpenStage::Open(catalog, _), None) => {
                Some(catalog.kind().info().why_no_splits.unwrap_or("its splits are not open").to_owned())
            }
            (OpenStage::Open(..), Some(session)) => session.edit_refusal(),
            _ => Some("it is not open".to_owned()),
        }
    }

    /// Opens the list of known problems.
    pub(super) fn list_problems(&mut self) -> Vec<Effect> {
        self.merge_known_problems();
        let mut crumbs = self.title();
        crumbs.push("problems".to_owned());
        let (feed, chosen) = (Rc::clone(&self.problem_feed), Rc::clone(&self.chosen));
        *self.problem_feed.borrow_mut() = self.to_feed();
        vec![Effect::Push(Box::new(ProblemScreen::new(feed, chosen, crumbs, self.state.at.unwrap_or_default())))]
    }

    /// Merges the problems that the scan has found. Returns whether there were new ones.
    pub(super) fn merge_known_problems(&mut self) -> bool {
        let Some(known) = self.catalog().map(|catalog| catalog.problems()) else { return false };
        if known.is_empty() && known.others().is_empty() {
            return false;
        }
        let is_new = !self.merged.as_ref().is_some_and(|merged| Arc::ptr_eq(merged, &known));
        if is_new {
            Arc::make_mut(&mut self.problems).merge(&known);
            self.merged = Some(known);
        }
        is_new
    }

    fn to_feed(&self) -> ProblemFeed {
        ProblemFeed {
            problems: Arc::clone(&self.problems),
            groups: Arc::clone(&self.state.groups),
            marks: Arc::clone(&self.marks),
            why_no_edit: self.why_no_edit(),
            session: self.session.clone(),
        }
    }

    /// Updates the open list of problems; clears the list if it is closed.
    pub(super) fn update_problem_list(&mut self) {
        if Rc::strong_count(&self.problem_feed) > 1 {
            self.merge_known_problems();
            let feed = self.to_feed();
            *self.problem_feed.borrow_mut() = feed;
        } else if self.problem_feed.borrow().session.is_some() || !self.problem_feed.borrow().problems.is_empty() {
            self.problem_feed.replace(ProblemFeed::default());
        }
    }

    /// Excludes the selected sample or shard, or includes it again.
    pub(super) fn exclude(&mut self) -> Vec<Effect> {
        let Some(session) = self.session.clone() else { return Vec::new() };
        let Some(group) = self.state.group().map(|group| Arc::clone(&group.name)) else { return Vec::new() };
        let at = u32::try_from(self.state.group_list.selected).unwrap_or(u32::MAX);
        let whole = self.marks.is_shard_excluded(at);
        if let Some(rows) = self.state.marked_rows() {
            return self.exclude_marked(rows);
        }
        if self.state.pane == Pane::Groups {
            return session.apply(match whole {
                true => Edit::Include { shard: group, key: None },
                false => exclude(ExcludeItem::shard(&group)),
            });
        }
        if whole {
            return toast(
                Level::Warn,
                format!("{group} is excluded as a whole; x in the list of shards includes it again"),
            );
        }
        let Some(sample) = self.state.sample().cloned() else {
            return toast(
                Level::Warn,
                match self.state.at.is_some_and(|at| self.state.rows.has_failed(at)) {
                    true => "its key cannot be read; the whole shard can be excluded, in the list of shards",
                    false => "the sample is still being read",
                },
            );
        };
        session.apply(match self.marks.is_excluded(&sample) {
            true => Edit::Include { shard: group, key: Some(Arc::clone(&sample.key)) },
            false => exclude(ExcludeItem::sample(&group, &sample.key)),
        })
    }

    /// Asks for the split to move the selected shard or the marked shards to.
    pub(super) fn move_shard(&mut self) -> Vec<Effect> {
        let shards = self.list_marked_shards();
        let Some(session) = self.session.as_ref().filter(|_| !shards.is_empty()) else { return Vec::new() };
        let at = u32::try_from(self.state.group_list.selected).unwrap_or(u32::MAX);
        let from = self.marks.split_of(at).map(|name| name.to_string());
        let from = from.filter(|_| shards.len() == 1);
        let effects = splits::choose_split(session, shards, from.as_deref());
        self.state.mark = None;
        effects
    }

    /// Whether the filter leaves no sample.
    pub(super) fn lists_no_sample(&self) -> bool {
        self.active_filter.is_some() && self.state.listing.len(&self.state.groups) == 0
    }

    /// Whether an action, in the pane with the focus, acts on the listed samples.
    pub(super) fn acts_on_list(&self, action: Action) -> bool {
        match action {
            Action::GoToNumber | Action::Random | Action::ContactSheet => true,
            Action::ExcludeSample | Action::MoveTo | Action::Mark => self.state.pane != Pane::Groups,
            _ => false,
        }
    }

    /// Opens the split editor on the same session.
    pub(super) fn open_editor(&self) -> Vec<Effect> {
        self.session.iter().map(|session| Effect::Push(splits::open_shared(session.clone()))).collect()
    }

    /// Returns the number of excludes and of changes that are not written, for the title line.
    pub(super) fn edit_words(&self, write_key: &str) -> Vec<String> {
        let mut words = Vec::new();
        let excluded = self.marks.excluded_samples();
        match (excluded, self.marks.excluded_shards()) {
            (0, 0) => {}
            (samples, 0) => words.push(format!("{} excluded", grouped(samples))),
            (0, shards) => words.push(format!("{} excluded", count(shards, "shard"))),
            (samples, shards) => {
                words.push(format!("{} and {} excluded", count(samples, "sample"), count(shards, "shard")));
            }
        }
        let pending = self.session.as_ref().map_or(0, SplitSession::pending);
        if pending > 0 {
            words.push(format!("{} not written ({write_key})", count(pending as u64, "change")));
        }
        words
    }

    pub(super) fn is_excluded(&self, sample: &BrowseSample) -> bool {
        self.marks.is_excluded(sample)
    }
}

fn exclude(item: ExcludeItem) -> Edit {
    Edit::Exclude { items: vec![item] }
}
