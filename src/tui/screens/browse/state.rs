//! The state of the browser: what is shown and selected. Pure: no I/O, and every change depends only on its arguments.

use super::listing::Listing;
use super::rows::{Rows, Span};
use super::sample_set::SampleSet;
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;
use gristmill_ops::engine::browse::{BrowseSample, Group, Groups, SampleAt};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The pane that receives the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// The list of shards, files or folders.
    Groups,
    /// The list of samples.
    #[default]
    Samples,
    /// The detail of the sample.
    Detail,
}

/// The content of the detail pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The parts of the sample.
    #[default]
    Parts,
    /// The fields that training receives.
    Loader,
    /// The headers and the index entries of the sample.
    Offsets,
}

/// Number of panes next to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaneCount {
    /// Groups, samples, detail.
    #[default]
    Three,
    /// Two of the three panes.
    Two,
    /// Only one pane.
    One,
}

impl PaneCount {
    /// Returns how many panes fit a width in columns.
    pub fn of(columns: u16) -> Self {
        match columns {
            96.. => Self::Three,
            60.. => Self::Two,
            _ => Self::One,
        }
    }
}

/// State of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// The search is running.
    Running,
    /// All samples were searched.
    Done,
    /// The user stopped the search.
    Stopped,
    /// The search failed; holds the reason, not escaped.
    Failed(String),
}

/// A search for keys.
pub struct KeySearch {
    /// The text as typed.
    pub text: String,
    /// The samples found so far.
    pub found: SampleSet,
    /// The state of the search, which determines whether there may be more matches.
    pub search: Search,
    /// The sample selected when the search started; the first match at or after it is selected.
    pub from: SampleAt,
    /// Whether a match has been selected, or the user has moved since the search started.
    pub is_settled: bool,
}

/// The state of the browser.
#[derive(Default)]
pub struct BrowseState {
    /// Shards, files or folders.
    pub groups: Arc<Groups>,
    /// Which samples are listed.
    pub listing: Listing,
    /// Cursor and scroll position of the list of samples.
    pub list: ListState,
    /// The selected sample; stays the same when rows before it are added or removed.
    pub at: Option<SampleAt>,
    /// Cursor and scroll position of the list of groups.
    pub group_list: ListState,
    /// The rows fetched so far.
    pub rows: Rows,
    /// The pane that receives the keys.
    pub pane: Pane,
    /// The content of the detail pane.
    pub mode: Mode,
    /// Whether the detail fills the whole screen.
    pub is_large: bool,
    /// Whether the reader fills the whole screen.
    pub is_reading: bool,
    /// Whether the data set certainly has only one group, which needs no pane.
    pub is_single_list: bool,
    /// Whether the offset of a sample is its location in its file.
    pub has_offsets: bool,
    /// Name of the shown part; unchanged when another sample is selected.
    pub part: Option<Arc<str>>,
    /// The search.
    pub find: Option<KeySearch>,
    /// A sample number to go to once that many samples are known.
    pub pending: Option<u64>,
    /// The sample to go to once its group is counted.
    pub pending_at: Option<SampleAt>,
    /// Number of panes that fit next to each other.
    pub breadth: PaneCount,
    /// The start of a marked range, and its list.
    pub mark: Option<(Pane, SampleAt)>,
    /// State of the random number generator for random samples.
    pub seed: u64,
}

impl BrowseState {
    /// Sets a new state of the groups. Returns whether it differs from the current one.
    pub fn adopt(&mut self, groups: &Arc<Groups>) -> bool {
        if self.groups.version == groups.version && self.groups.groups.len() == groups.groups.len() {
            return false;
        }
        self.groups = Arc::clone(groups);
        self.rows.forget_failed();
        self.group_list.set_len(groups.groups.len());
        self.relist();
        if let Some(number) = self.pending.filter(|number| *number < groups.total()) {
            self.pending = None;
            self.go_to_number(number);
        }
        if let Some(at) = self.pending_at.filter(|at| self.is_counted(at.group)) {
            self.pending_at = None;
            self.go_to(at);
        }
        true
    }

    fn is_counted(&self, group: u32) -> bool {
        self.groups.group(group).is_none_or(|group| group.is_counted)
    }

    /// Returns the group to scan next: the group of the requested sample, or the selected one if it is not counted yet.
    pub fn wanted_group(&self) -> Option<u32> {
        let selected = || u32::try_from(self.group_list.get()?).ok();
        let wanted = self.pending_at.map(|at| at.group).or_else(selected)?;
        (!self.is_counted(wanted)).then_some(wanted)
    }

    /// Sets the listing. The selected sample stays selected, or else the next listed one is selected.
    pub fn list_only(&mut self, listing: Listing) {
        self.listing = listing;
        self.relist();
    }

    fn relist(&mut self) {
        let len = self.listing.len(&self.groups);
        self.list.set_len(usize::try_from(len).unwrap_or(usize::MAX));
        match self.at {
            Some(at) => self.select_row(self.listing.row_of(at, &self.groups)),
            // Select the first sample, unless a group without samples is selected.
            None if self.pane == Pane::Groups && self.group_list.selected > 0 => self.enter_group(),
            None => self.select_row(0),
        }
    }

    fn select_row(&mut self, row: u64) {
        self.list.select(usize::try_from(row).unwrap_or(usize::MAX));
        self.follow_list();
    }

    /// Updates the selected sample and group from the selected row.
    fn follow_list(&mut self) {
        self.at = self.list.get().and_then(|row| self.listing.at(row as u64, &self.groups));
        if let Some(at) = self.at {
            self.group_list.select(at.group as usize);
        }
    }

    /// Updates the selected sample from the selected group: its first listed sample, if there is one.
    fn enter_group(&mut self) {
        let Some(group) = self.group_list.get().and_then(|row| u32::try_from(row).ok()) else { return };
        let row = self.listing.row_of(SampleAt { group, index: 0 }, &self.groups);
        self.list.select(usize::try_from(row).unwrap_or(usize::MAX));
        self.at = self.listing.at(row, &self.groups).filter(|at| at.group == group);
    }

    /// Returns the selected sample if it is fetched.
    pub fn sample(&self) -> Option<&Arc<BrowseSample>> {
        self.at.and_then(|at| self.rows.sample(at))
    }

    /// Returns the selected group.
    pub fn group(&self) -> Option<&Group> {
        self.group_list.get().and_then(|row| self.groups.groups.get(row))
    }

    /// Returns the index of the shown part: the one with the name in `part`, otherwise the first.
    pub fn part_index(&self, sample: &BrowseSample) -> usize {
        let named = self.part.as_ref().and_then(|name| sample.parts.iter().position(|part| part.name == *name));
        named.unwrap_or(0)
    }

    /// Shows the next or previous part. Returns `false` if there is no other part.
    pub fn step_part(&mut self, forward: bool) -> bool {
        let Some(sample) = self.sample().cloned().filter(|sample| sample.parts.len() > 1) else { return false };
        let count = sample.parts.len();
        let index = (self.part_index(&sample) + if forward { 1 } else { count - 1 }) % count;
        self.part = sample.parts.get(index).map(|part| Arc::clone(&part.name));
        self.mode = Mode::Parts;
        true
    }

    /// Selects the next or previous listed sample, regardless of the focused pane.
    pub fn step_sample(&mut self, forward: bool) -> bool {
        let before = (self.at, self.group_list.selected);
        if self.list.handle_action(if forward { Action::Down } else { Action::Up }) {
            self.follow_list();
        }
        self.follow_selection(before)
    }

    /// Applies a movement action to the focused pane; returns whether the selection changed.
    pub fn move_selection(&mut self, action: Action) -> bool {
        let before = (self.at, self.group_list.selected);
        match self.pane {
            Pane::Groups => {
                if self.group_list.handle_action(action) {
                    self.enter_group();
                }
            }
            Pane::Samples | Pane::Detail => {
                if self.list.handle_action(action) || self.at.is_none() {
                    self.follow_list();
                }
            }
        }
        self.follow_selection(before)
    }

    fn follow_selection(&mut self, before: (Option<SampleAt>, usize)) -> bool {
        let changed = before != (self.at, self.group_list.selected);
        if changed {
            if let Some(find) = &mut self.find {
                find.is_settled = true;
            }
        }
        changed
    }

    /// Scrolls a pane with the mouse wheel.
    pub fn scroll(&mut self, pane: Pane, rows: isize) {
        match pane {
            Pane::Groups => {
                let before = self.group_list.selected;
                self.group_list.scroll(rows);
                if self.group_list.selected != before {
                    self.enter_group();
                }
            }
            Pane::Samples => {
                self.list.scroll(rows);
                self.follow_list();
            }
            Pane::Detail => {}
        }
    }

    /// Selects the clicked row; returns `false` if it is already selected or if there is no such row.
    pub fn click(&mut self, pane: Pane, line: usize) -> bool {
        self.pane = pane;
        match pane {
            Pane::Groups => {
                let row = self.group_list.row_at(line).filter(|row| *row != self.group_list.selected);
                let Some(row) = row else { return false };
                self.group_list.select(row);
                self.enter_group();
            }
            Pane::Samples => {
                let row = self.list.row_at(line).filter(|row| *row != self.list.selected || self.at.is_none());
                let Some(row) = row else { return false };
                self.select_row(row as u64);
            }
            Pane::Detail => return false,
        }
        true
    }

    /// Selects a sample. Returns whether it is listed; if not, the next listed one is selected.
    pub fn go_to(&mut self, at: SampleAt) -> bool {
        let before = (self.at, self.group_list.selected);
        if !self.is_counted(at.group) {
            // The row of the sample is unknown until its group is counted.
            self.pending_at = Some(at);
        }
        self.select_row(self.listing.row_of(at, &self.groups));
        self.follow_selection(before);
        self.at == Some(at)
    }

    /// Selects a sample by its number in the data set; returns `false` if there is no such sample.
    pub fn go_to_number(&mut self, number: u64) -> bool {
        match self.groups.locate(number) {
            Some(at) => {
                self.go_to(at);
                true
            }
            None => false,
        }
    }

    /// Selects a random listed sample.
    pub fn select_random(&mut self) {
        let len = self.listing.len(&self.groups);
        if len == 0 {
            return;
        }
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let row = scrambled(self.seed) % len;
        if let Some(at) = self.listing.at(row, &self.groups) {
            self.go_to(at);
        }
    }

    /// Moves the focus to the next or previous pane.
    pub fn step_pane(&mut self, forward: bool) {
        self.pane = match (self.pane, forward) {
            (Pane::Detail, true) | (Pane::Samples, false) if !self.is_single_list => Pane::Groups,
            (Pane::Groups, true) | (Pane::Detail, _) => Pane::Samples,
            (Pane::Samples, _) | (Pane::Groups, false) => Pane::Detail,
        };
        if self.pane != Pane::Detail {
            self.is_large = false;
            self.is_reading = false;
        }
    }

    /// Moves the focus one pane to the left or right; stops at the outermost.
    pub fn step_sideways(&mut self, right: bool) {
        match (self.pane, right) {
            (Pane::Groups, false) | (Pane::Detail, true) => {}
            (Pane::Samples, false) if self.is_single_list => {}
            (_, forward) => self.step_pane(forward),
        }
    }

    /// Whether a pane is visible.
    pub fn is_drawn(&self, pane: Pane) -> bool {
        if self.is_large || self.is_reading {
            return pane == Pane::Detail;
        }
        match self.breadth {
            PaneCount::Three | PaneCount::Two if self.is_single_list => pane != Pane::Groups,
            PaneCount::Three => true,
            PaneCount::Two if self.pane == Pane::Groups => pane != Pane::Detail,
            PaneCount::Two => pane != Pane::Groups,
            PaneCount::One => pane == self.pane,
        }
    }

    /// Starts a search at the selected sample.
    pub fn begin_find(&mut self, text: &str) {
        let from = self.at.unwrap_or_default();
        self.find = Some(KeySearch {
            text: text.to_owned(),
            found: SampleSet::default(),
            search: Search::Running,
            from,
            is_settled: false,
        });
    }

    /// Adds search results; selects the first one at or after the start of the search. Returns whether a sample was selected.
    pub fn take_found(&mut self, found: impl IntoIterator<Item = SampleAt>, ended: Option<Search>) -> bool {
        let Some(find) = &mut self.find else { return false };
        find.found.extend(found);
        let is_over = ended.is_some();
        if let Some(ended) = ended {
            find.search = ended;
        }
        if find.is_settled {
            return false;
        }
        let ahead = find.found.from(find.from);
        // Wraps around to the first match only after the search has ended, when no later match can be found.
        let Some(at) = ahead.or_else(|| find.found.first().filter(|_| is_over)) else { return false };
        find.is_settled = true;
        self.go_to(at);
        true
    }

    /// Goes to the next or previous listed match. Returns a notice if it wrapped around; the error is the reason why it did not move.
    pub fn step_found(&mut self, forward: bool) -> Result<Option<&'static str>, &'static str> {
        let Some(find) = &self.find else { return Err("nothing was looked for yet; / does") };
        let here = self.at.unwrap_or_default();
        let listed = |at: &SampleAt| self.listing.contains(*at);
        let step = |at: SampleAt| if forward { find.found.after(at) } else { find.found.before(at) };
        let ahead = std::iter::successors(step(here), |at| step(*at)).take(MAX_STEPS).find(listed);
        let start = || if forward { find.found.first() } else { find.found.last() };
        let round = || std::iter::successors(start(), |at| step(*at)).take(MAX_STEPS).find(listed);
        let (at, notice) = match ahead {
            Some(at) => (at, None),
            None => match round() {
                Some(at) if at == here => return Err("this is the only one found"),
                Some(at) if forward => (at, Some("from the beginning again")),
                Some(at) => (at, Some("from the end again")),
                None if find.search == Search::Running => return Err("nothing found yet"),
                None if find.found.count() > 0 => return Err("none of those found is listed; F changes the filter"),
                None => return Err("nothing was found"),
            },
        };
        self.go_to(at);
        Ok(notice)
    }

    /// Returns the marked rows of the focused list.
    pub fn marked_rows(&self) -> Option<RangeInclusive<u64>> {
        let (pane, from) = self.mark?;
        let list = if pane == Pane::Groups { Pane::Groups } else { Pane::Samples };
        let here = if self.pane == Pane::Groups { Pane::Groups } else { Pane::Samples };
        if list != here {
            return None;
        }
        let (from, to) = match list {
            Pane::Groups => (u64::from(from.group), self.group_list.get()? as u64),
            _ => (self.listing.row_of(from, &self.groups), self.list.get()? as u64),
        };
        Some(from.min(to)..=from.max(to))
    }

    /// Starts marking at the selected row, or ends marking.
    pub fn toggle_mark(&mut self) {
        let group = u32::try_from(self.group_list.selected).unwrap_or(u32::MAX);
        let here = match self.pane {
            Pane::Groups => Some(SampleAt { group, index: 0 }),
            _ => self.at,
        };
        self.mark = if self.marked_rows().is_some() { None } else { here.map(|at| (self.pane, at)) };
    }

    /// Returns the marked samples as spans of the data set.
    pub fn marked_spans(&self, rows: RangeInclusive<u64>) -> Vec<Span> {
        let count = usize::try_from(rows.end() - rows.start() + 1).unwrap_or(usize::MAX);
        if let Listing::All = self.listing {
            return self.groups.locate(*rows.start()).map(|from| Span { from, count }).into_iter().collect();
        }
        let mut spans: Vec<Span> = Vec::new();
        for at in rows.filter_map(|row| self.listing.at(row, &self.groups)) {
            let number = self.groups.number(at);
            match spans.last_mut().filter(|span| self.groups.number(span.from) + span.count as u64 == number) {
                Some(span) => span.count += 1,
                None => spans.push(Span { from: at, count: 1 }),
            }
        }
        spans
    }
}

/// Maximum number of matches skipped in one step because they are not listed.
const MAX_STEPS: usize = 200_000;

/// Returns a pseudo-random number for a seed (SplitMix64).
pub fn scrambled(seed: u64) -> u64 {
    let mut x = seed;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
