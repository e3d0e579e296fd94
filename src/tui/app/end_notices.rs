//! Notices about the ends of jobs on every screen, and the title of the window.

use super::{App, Request};
use crate::tui::jobs::EndedJob;
use crate::tui::keymap::{Action, Chord};
use crate::tui::screen::{Screen, Ui};
use crate::tui::widgets::toast::Level;
use crate::tui::widgets::{text, Toast};
use gristmill_core::text::count;
use gristmill_ops::job::JobState;
use std::time::{Duration, Instant};

/// How long a notice about the end of a job is shown if no key is pressed.
const NOTICE_TIME: Duration = Duration::from_secs(20);
/// How long a notice is shown before typing into a text field may dismiss it.
const NOTICE_READING_TIME: Duration = Duration::from_secs(2);
/// Maximum columns of a job's name in the title.
const TITLE_COLUMNS: usize = 60;
/// The title if no job runs, and its suffix otherwise.
const PROGRAM: &str = "gristmill";

/// Ended jobs that a notice announces.
#[derive(Debug, Default)]
pub(super) struct EndNotices {
    list: Vec<EndedJob>,
    since: Option<Instant>,
}

impl EndNotices {
    /// Returns the time at which the notice expires.
    fn expires_at(&self) -> Option<Instant> {
        self.since.map(|since| since + NOTICE_TIME)
    }

    /// Returns the text of the notice: the outcome of the job, or of each of several jobs.
    fn text(&self) -> String {
        let state = |state: JobState| match state {
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
            JobState::Done | JobState::Pending | JobState::Running => "done",
        };
        let problems: u64 = self.list.iter().map(|ended| ended.problems).sum();
        let mut words: Vec<String> = match self.list.as_slice() {
            [one] => vec![state(one.state).to_owned()],
            several => [JobState::Done, JobState::Failed, JobState::Cancelled]
                .into_iter()
                .map(|wanted| (state(wanted), several.iter().filter(|ended| ended.state == wanted).count()))
                .filter(|(_, count)| *count > 0)
                .map(|(word, count)| format!("{count} {word}"))
                .collect(),
        };
        if problems > 0 {
            words.push(count(problems, "problem"));
        }
        words.join(", ")
    }

    fn name(&self) -> Option<String> {
        match self.list.as_slice() {
            [] => None,
            [one] => Some(one.title.clone()),
            several => Some(count(several.len() as u64, "job")),
        }
    }

    fn level(&self) -> Level {
        let has = |state: JobState| self.list.iter().any(|ended| ended.state == state);
        if has(JobState::Failed) {
            Level::Error
        } else if has(JobState::Cancelled) || self.list.iter().any(|ended| ended.problems > 0) {
            Level::Warn
        } else {
            Level::Ok
        }
    }
}

impl App {
    /// Announces ended jobs, except those whose state is visible on a screen.
    pub(super) fn announce_ends(&mut self) {
        let base = self.stack.iter().rposition(|screen| !screen.is_popup()).unwrap_or(0);
        let ended = self.env.jobs.take_ended();
        if self.env.bell && ended.iter().any(|ended| ended.state != JobState::Cancelled) {
            self.requests.push(Request::Ring);
        }
        let is_seen = |ended: &EndedJob| self.stack.iter().skip(base).any(|screen| screen.shows_job(ended.id));
        let unseen: Vec<EndedJob> = ended.into_iter().filter(|ended| !is_seen(ended)).collect();
        if unseen.is_empty() {
            return;
        }
        // A warning stays until it is dismissed; this notice is shown after it.
        if self.toast.as_ref().is_some_and(|toast| matches!(toast.level, Level::Ok | Level::Info)) {
            self.toast = None;
        }
        self.ends.list.extend(unseen);
        self.ends.since = Some(Instant::now());
        self.changed = true;
    }

    /// Dismisses the visible notice.
    pub(super) fn dismiss(&mut self) {
        if self.toast.take().is_some() {
            self.ends.since = self.ends.since.map(|_| Instant::now());
        } else {
            self.ends = EndNotices::default();
        }
    }

    /// Dismisses the notice when a text field receives a key, unless it appeared too recently to be read.
    pub(super) fn dismiss_by_typing(&mut self) {
        let is_new = self.ends.since.is_some_and(|since| since.elapsed() < NOTICE_READING_TIME);
        if self.toast.is_some() || !is_new {
            self.dismiss();
        }
    }

    /// Returns the time at which the visible notice expires.
    pub fn notice_ends(&self) -> Option<Instant> {
        self.ends.expires_at().filter(|_| self.toast.is_none())
    }

    /// Dismisses the notice once it has expired.
    pub fn expire(&mut self) {
        if self.notice_ends().is_some_and(|until| Instant::now() >= until) {
            self.ends = EndNotices::default();
            self.changed = true;
        }
    }

    /// Returns the visible notice.
    pub(super) fn notice(&self, screen: Option<&dyn Screen>, columns: usize, ui: &Ui) -> Option<Toast> {
        if self.toast.is_some() {
            return self.toast.clone();
        }
        let words = self.ends.text();
        let key = screen.and_then(|screen| {
            let entry = ui.keymap.entries(screen.context()).find(|entry| entry.action == Action::Jobs)?;
            let works = |key: &&Chord| !screen.wants_text() || !key.types_text();
            entry.keys.iter().find(works).map(|key| key.label_in(ui.glyphs.ascii))
        });
        let rest = match key {
            Some(key) => format!(": {words}; {key} shows it"),
            None => format!(": {words}"),
        };
        // Five columns for the sign and the spaces around it.
        let room = columns.saturating_sub(text::width(&rest) + 5).max(8);
        let name = text::fit_middle(&self.ends.name()?, room, ui.glyphs);
        Some(Toast::new(self.ends.level(), format!("{name}{rest}")))
    }

    /// Returns the title of the terminal's window: the running job and its progress, or how the last job ended. Without control characters.
    pub fn window_title(&self) -> String {
        let name = |title: &str| text::fit_middle(title, TITLE_COLUMNS, &self.glyphs);
        let views = self.env.jobs.views();
        let running: Vec<_> = views.iter().filter(|view| view.status.state == JobState::Running).collect();
        let Some(newest) = running.last() else {
            return match self.ends.name() {
                Some(title) => format!("{}: {} {} {PROGRAM}", name(&title), self.ends.text(), self.glyphs.dot),
                None => PROGRAM.to_owned(),
            };
        };
        let share = newest.status.share.map_or(String::new(), |share| format!("{} % ", (share * 100.0) as u64));
        let others = match running.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        format!("{share}{}{others} {} {PROGRAM}", name(&newest.title), self.glyphs.dot)
    }
}
