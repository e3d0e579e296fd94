//! The screen of what a run removed, and its workers.

use super::super::state::{Listed, Place};
use super::super::{open, Target};
use super::state::{Asked, At, RunState};
use super::view;
use crate::engine::dedup::removed::{Document, FirstCopy, Page, Removed, Search};
use crate::model::dedup::Mode;
use crate::model::text::bytes;
use crate::model::{Cancel, DedupPlan, Outcome};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::{Gesture, Level, Toast};
use crate::tui::work::Latest;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The ranges of the run, once they were opened well.
type Known = Arc<Outcome<Removed>>;
/// A document to be read, and what became of it.
type Wanted = (Known, At, Cancel);
type Read = (At, Arc<Outcome<Page>>);
/// A passage whose first place is looked for, the bytes that were read for it, and what stops it.
type Sought = (Known, Search, Arc<AtomicU64>, Cancel);

/// The search for the first place of a passage.
struct Searching {
    read: Arc<AtomicU64>,
    /// Bytes that are read, at most.
    all: u64,
    cancel: Cancel,
}

/// The screen.
pub struct RunRangesScreen {
    env: UiEnv,
    state: RunState,
    /// The file with the ranges, and the name of the file that is shown first.
    ranges: PathBuf,
    first: String,
    opener: Latest<PathBuf, Known>,
    rows: Latest<(Known, u64, usize), Outcome<Vec<Document>>>,
    pages: Latest<Wanted, Read>,
    finder: Latest<Sought, Outcome<Option<FirstCopy>>>,
    /// What is being read, and what stops it.
    reading: Option<(At, Cancel)>,
    searching: Option<Searching>,
    /// Rows that were asked for.
    asked: Option<(u64, usize)>,
}

impl RunRangesScreen {
    /// A screen of the ranges in a file; the first document of the file of the set with the name `first` is shown that has some.
    pub fn new(ranges: PathBuf, first: String, env: UiEnv) -> Self {
        let wake = || env.wake.clone();
        let mut screen = Self {
            state: RunState::default(),
            opener: Latest::start("ranges", wake(), |path: PathBuf| Arc::new(Removed::open(&path))),
            rows: Latest::start("range-rows", wake(), |(known, from, count): (Known, u64, usize)| {
                match known.as_ref() {
                    Ok(removed) => removed.documents(from, count),
                    Err(failure) => Err(failure.clone()),
                }
            }),
            pages: Latest::start("range-page", wake(), |(known, at, cancel): Wanted| {
                (at, Arc::new(known.as_ref().as_ref().map_err(Clone::clone).and_then(|known| page(known, at, &cancel))))
            }),
            finder: Latest::start("first-copy", wake(), |(known, search, read, cancel): Sought| {
                known.as_ref().as_ref().map_err(Clone::clone).and_then(|known| search.run(known, &read, &cancel))
            }),
            env,
            ranges,
            first,
            reading: None,
            searching: None,
            asked: None,
        };
        screen.open();
        screen
    }

    fn open(&mut self) {
        self.stop_search();
        (self.state.removed, self.asked) = (None, None);
        self.opener.ask(self.ranges.clone());
    }

    fn stop_search(&mut self) -> bool {
        self.searching.take().map(|searching| searching.cancel.cancel()).is_some()
    }

    /// Has the document read that is to be shown; one that was being read is left.
    fn ask_page(&mut self) {
        let (Some(at), Some(known)) = (self.state.wanted(), self.state.removed.clone()) else { return };
        if self.reading.as_ref().is_some_and(|(reading, _)| *reading == at) {
            return;
        }
        if let Some((_, cancel)) = self.reading.take() {
            cancel.cancel();
        }
        let cancel = Cancel::default();
        self.reading = Some((at, cancel.clone()));
        self.pages.ask((known, at, cancel));
    }

    fn search(&mut self, search: Search) {
        let Some(known) = self.state.removed.clone() else { return };
        self.stop_search();
        let (read, cancel) = (Arc::<AtomicU64>::default(), Cancel::default());
        let (source, start) = search.until;
        let all = known.as_ref().as_ref().map_or(0, |removed| removed.bytes_until(source, start));
        self.searching = Some(Searching { read: Arc::clone(&read), all, cancel: cancel.clone() });
        self.finder.ask((known, search, read, cancel));
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close if self.stop_search() => {}
            Action::Close => {
                if !self.state.close() {
                    return vec![Effect::Pop];
                }
            }
            Action::Reload => self.open(),
            Action::Toggle => return self.look_anew(),
            Action::CopyPath => return self.copy_place(),
            action => {
                // Whoever goes elsewhere does not want to be taken away from there.
                self.stop_search();
                match self.state.act(action) {
                    Ok(Asked::Nothing) => {}
                    Ok(Asked::FirstCopy(search)) => self.search(search),
                    Err(why) => return vec![Effect::Toast(Toast::new(Level::Info, why))],
                }
            }
        }
        self.ask_page();
        Vec::new()
    }

    /// The folder that the run made: `OUTPUT.gristmill/ranges` is of OUTPUT.
    fn output(&self) -> PathBuf {
        self.ranges.parent().map(|own| own.with_extension("")).unwrap_or_default()
    }

    /// Looks for what repeats in what the run made.
    fn look_anew(&self) -> Vec<Effect> {
        let Some(removed) = self.state.ranges_of_run() else { return Vec::new() };
        let (output, directory) = (self.output(), removed.directory());
        let mut plan = DedupPlan::new(output.to_string_lossy(), "");
        (plan.text_key, plan.min_length) = (directory.text_key.clone(), Some(directory.min_length));
        let target = match self.first.is_empty() {
            true => Target::Folder(output),
            false => Target::File(output.join(&self.first), 0),
        };
        vec![Effect::Push(open(target, &plan, self.env.clone()))]
    }

    /// The file and the line that are shown.
    fn copy_place(&self) -> Vec<Effect> {
        let (Some(page), Some(removed)) = (self.state.shown(), self.state.ranges_of_run()) else { return Vec::new() };
        let Some(source) = removed.source(page.source) else { return Vec::new() };
        let copied = Effect::Toast(Toast::new(Level::Ok, "copied the place"));
        vec![Effect::Copy(format!("{}:{}", source.path.display(), page.line.saturating_add(1))), copied]
    }
}

fn page(removed: &Removed, at: At, cancel: &Cancel) -> Outcome<Page> {
    match at {
        At::Number(number) => Ok(removed.page(number, cancel)?.unwrap_or_default()),
        At::Line(source, start, line) => removed.page_at(source, start, line, cancel),
    }
}

impl Drop for RunRangesScreen {
    fn drop(&mut self) {
        self.stop_search();
        if let Some((_, cancel)) = self.reading.take() {
            cancel.cancel();
        }
    }
}

impl Screen for RunRangesScreen {
    fn context(&self) -> Context {
        Context::Repeats
    }

    fn title(&self) -> Vec<String> {
        vec!["repeats".to_owned(), self.env.short_path(&self.output())]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => return self.act(action),
            Input::Mouse(mouse) => {
                match self.state.places.gesture(mouse) {
                    Some(Gesture::Wheel { rows, on }) => self.state.turn(on, rows),
                    Some(Gesture::Click { on: Place::Rows, line, .. }) => self.state.click(line),
                    Some(Gesture::Click { on: Place::Text, .. }) => self.state.in_text = true,
                    Some(Gesture::DoubleClick { on: Place::Rows, line, .. }) => {
                        self.state.click(line);
                        return self.act(Action::KeptCopy);
                    }
                    Some(Gesture::DoubleClick { .. }) | None => {}
                }
                self.ask_page();
            }
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut is_new = false;
        let mut tell = |why: String| effects.push(Effect::Toast(Toast::new(Level::Warn, why)));
        if let Some(removed) = self.opener.take() {
            self.state.take(removed, &self.first);
            is_new = true;
        }
        match self.rows.take() {
            Some(Ok(rows)) => {
                self.asked = None;
                self.state.take_rows(rows);
                is_new = true;
            }
            Some(Err(failure)) => tell(failure.to_string()),
            None => {}
        }
        if let Some((at, page)) = self.pages.take() {
            self.reading = None;
            if !matches!(page.as_ref(), Err(failure) if failure.is_cancelled()) {
                self.state.take_page(at, page);
            }
            is_new = true;
        }
        if let Some(found) = self.finder.take() {
            // One that was stopped is not waited for any more.
            if self.searching.take().is_some() {
                let told = match found {
                    Ok(found) => self.state.found(found).map_err(str::to_owned),
                    Err(failure) => Err(failure.to_string()),
                };
                if let Err(why) = told {
                    tell(why);
                }
            }
            is_new = true;
        }
        self.ask_page();
        is_new
    }

    fn is_busy(&self) -> bool {
        self.opener.is_waiting() || self.rows.is_waiting() || self.pages.is_waiting() || self.finder.is_waiting()
    }

    fn status_right(&self) -> Option<String> {
        if let Some(Searching { read, all, .. }) = &self.searching {
            let share = read.load(Ordering::Relaxed) as f64 * 100.0 / (*all).max(1) as f64;
            return Some(format!(
                "looking for the first copy: {:.0} % of {}, esc stops",
                share.min(100.0),
                bytes(*all)
            ));
        }
        let removed = self.state.ranges_of_run()?;
        let (text, gone) = removed.totals();
        let directory = removed.directory();
        let verb = if directory.mode == Mode::Remove { "removed" } else { "listed" };
        let share = gone as f64 * 100.0 / text.max(1) as f64;
        Some(format!("{share:.1} % of {} {verb}, by {} bytes and more", bytes(text), directory.min_length))
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.state.listed) {
            (Action::FindNext, _) => "next range",
            (Action::FindPrevious, _) => "previous range",
            (Action::KeptCopy, Listed::Documents) => "first copy",
            (Action::KeptCopy, Listed::Passages) => "its text",
            (Action::KeptCopy, Listed::Files) => "its documents",
            (Action::Passages, Listed::Passages) | (Action::ByFile, Listed::Files) => "documents",
            (Action::Undo, _) => "jump back",
            (Action::Toggle, _) => "look anew",
            (Action::CopyPath, _) => "copy place",
            (Action::NextPane, _) => "list, text",
            (Action::Close, _) if self.searching.is_some() => "stop looking",
            (action, _) => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Left | Action::Right => Some("the length is that of the run".into()),
            Action::Toggle if self.state.ranges_of_run().is_none() => Some("nothing is known yet".into()),
            Action::Undo if !self.state.has_jumped() => Some("there was no jump".into()),
            Action::FindNext | Action::FindPrevious | Action::KeptCopy if self.state.ranges_of_run().is_none() => {
                Some("no range is shown".into())
            }
            _ => None,
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let missing = view::draw(&mut self.state, frame, area, ui);
        if let (Some((from, count)), Some(known)) = (missing, self.state.removed.clone()) {
            // What could not be read is not asked for again and again.
            if self.asked != missing {
                self.asked = missing;
                self.rows.ask((known, from, count));
            }
        }
    }
}
