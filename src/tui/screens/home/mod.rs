//! The home screen: a list of the entries of a folder on the left, the actions on the selected entry on the right.
//!
//! Worker threads read folders and determine the kinds and facts of entries ([`entries`]); this module only stores the results. It opens no
//! screen itself, but returns effects for the frame.

mod actions;
mod draw;
mod entries;
mod entry;
mod info;
mod shard_counter;
mod summary;
mod unfinished_runs;

pub use entries::inspect;
pub use entry::{EntryFacts, HomeEntry, Mixture, PreparationState};
pub use info::InfoPage;
pub use unfinished_runs::resume as go_on;

use crate::tui::keymap::{Action, Context};
use crate::tui::mounter::Mounter;
use crate::tui::recent;
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::{Gesture, ListState, MouseAreas, TextField};
use crate::tui::work::{LatestWorker, Stream};
use gristmill_ops::job::unfinished;
use gristmill_ops::operations::paths::local_or_readable;
use gristmill_storage::files;
use gristmill_storage::location::{bucket_list, is_remote, RemoteUrl};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The part of the screen that receives the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    List,
    Filter,
    Actions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PaneContent {
    Folder(PathBuf),
    /// The most recently opened data sets; holds the folder to return to.
    Recent(PathBuf),
}

/// The result of reading a folder.
struct ReadResult {
    entries: Result<Vec<HomeEntry>, String>,
}

/// The home screen.
pub struct Home {
    env: UiEnv,
    place: PaneContent,
    /// The local folder that was listed last.
    local: PathBuf,
    focus: Focus,
    show_hidden: bool,
    /// `None` while the folder is being read.
    entries: Option<Result<Vec<HomeEntry>, String>>,
    /// The rows shown: indexes of entries, best match first.
    shown: Vec<usize>,
    list: ListState,
    filter: TextField,
    actions: ListState,
    /// The entry to select once the folder is read: the one that the user came from.
    previous_folder: Option<PathBuf>,
    entry_facts: HashMap<PathBuf, EntryFacts>,
    /// Paths whose facts may be out of date.
    stale: HashSet<PathBuf>,
    reader: LatestWorker<PaneContent, ReadResult>,
    /// Reads the facts of the entries at these paths.
    facts_stream: Stream<PathBuf, (PathBuf, EntryFacts)>,
    mounter: Mounter,
    matcher: Matcher,
    areas: Areas,
    /// The same areas as mouse areas.
    mouse_areas: MouseAreas<Focus>,
    /// The action on each drawn line of the right pane, for the mouse.
    action_rows: Vec<Action>,
    jobs_running: usize,
}

/// The areas as drawn last.
#[derive(Clone, Copy, Debug, Default)]
struct Areas {
    filter: Rect,
    list: Rect,
    actions: Rect,
}

impl Home {
    /// Creates the home screen on a folder; `None` is the current folder. Reads nothing on this thread.
    pub fn new(folder: Option<PathBuf>, env: UiEnv) -> Self {
        let mut home = Self::below(folder, env);
        home.read();
        home
    }

    /// Creates the home screen below the screen of an entry: it reads the folder of the entry when that screen is closed, and selects the
    /// entry.
    pub fn below_entry(path: &Path, env: UiEnv) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let previous_folder = Some(files::absolute_or_same(path));
        Self { previous_folder, ..Self::below(parent.map(Path::to_path_buf), env) }
    }

    /// Creates the home screen without reading the folder.
    fn below(folder: Option<PathBuf>, env: UiEnv) -> Self {
        let dir = folder.unwrap_or_else(|| PathBuf::from("."));
        let dir = files::absolute(&dir).unwrap_or(dir);
        let state_dir = env.state_dir.clone();
        let reader =
            LatestWorker::start("folder", env.wake.clone(), move |place: PaneContent| read_place(&place, &state_dir));
        let looker = Stream::start("look", env.wake.clone(), |path: PathBuf| {
            let seen = entries::inspect(&path);
            (path, seen)
        });
        let mounter = Mounter::start(&env);
        Self {
            env,
            local: dir.clone(),
            place: PaneContent::Folder(dir),
            focus: Focus::List,
            show_hidden: false,
            entries: None,
            shown: Vec::new(),
            list: ListState::new(0),
            filter: TextField::default(),
            actions: ListState::new(0),
            previous_folder: None,
            entry_facts: HashMap::new(),
            stale: HashSet::new(),
            reader,
            facts_stream: looker,
            mounter,
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            areas: Areas::default(),
            mouse_areas: MouseAreas::default(),
            action_rows: Vec::new(),
            jobs_running: 0,
        }
    }

    fn read(&mut self) {
        self.reader.submit(self.place.clone());
    }

    fn open_pane(&mut self, place: PaneContent, came_from: Option<PathBuf>) {
        if !is_remote(self.folder()) {
            self.local = self.folder().to_owned();
        }
        self.place = place;
        self.previous_folder = came_from;
        self.entries = None;
        self.filter.clear();
        self.shown.clear();
        self.list = ListState::new(0);
        self.focus = Focus::List;
        self.read();
    }

    /// Returns the listed folder, or, for the recent list, the folder to return to.
    fn folder(&self) -> &Path {
        match &self.place {
            PaneContent::Folder(dir) | PaneContent::Recent(dir) => dir,
        }
    }

    fn entry(&self, row: usize) -> Option<&HomeEntry> {
        let entries = self.entries.as_ref()?.as_ref().ok()?;
        entries.get(*self.shown.get(row)?)
    }

    fn selected(&self) -> Option<&HomeEntry> {
        self.list.get().and_then(|row| self.entry(row))
    }

    fn selected_facts(&self) -> Option<&EntryFacts> {
        self.selected().and_then(|e| self.entry_facts.get(&e.path))
    }

    fn refilter(&mut self) {
        let Some(Ok(entries)) = &self.entries else { return };
        let visible = |e: &HomeEntry| self.show_hidden || !e.name.starts_with('.') || e.name == ".";
        let typed = self.filter.value();
        if typed.is_empty() {
            self.shown = (0..entries.len()).filter(|&i| visible(&entries[i])).collect();
        } else {
            let pattern = Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart);
            let mut buffer = Vec::new();
            let mut scored: Vec<(u32, usize)> = Vec::new();
            for (index, entry) in entries.iter().enumerate().filter(|(_, e)| visible(e)) {
                let name = Utf32Str::new(&entry.name, &mut buffer);
                if let Some(score) = pattern.score(name, &mut self.matcher) {
                    scored.push((score, index));
                }
            }
            scored.sort_by_key(|&(score, index)| (std::cmp::Reverse(score), index));
            self.shown = scored.into_iter().map(|(_, index)| index).collect();
        }
        self.list.set_len(self.shown.len());
    }

    fn select_path(&mut self, path: &Path) {
        let row = (0..self.shown.len()).find(|&row| self.entry(row).is_some_and(|e| e.path == path));
        self.list.select(row.unwrap_or(0));
    }

    /// Requests the facts about the visible entries, the selected one first.
    fn request_facts(&mut self) {
        let height = usize::from(self.areas.list.height.max(24));
        let window = self.list.clone().window(height);
        let mut rows: Vec<usize> = window.collect();
        rows.sort_by_key(|row| row.abs_diff(self.list.selected));
        let wanted: Vec<PathBuf> = rows
            .into_iter()
            .filter_map(|row| self.entry(row))
            .filter(|e| !self.entry_facts.contains_key(&e.path) || self.stale.contains(&e.path))
            .map(|e| e.path.clone())
            .collect();
        self.facts_stream.set_questions(wanted);
    }

    fn selection_changed(&mut self) {
        self.actions.select(0);
        self.actions.set_len(self.available_actions().len());
        self.request_facts();
    }

    fn reload(&mut self) {
        self.mark_all_stale();
        self.read();
    }

    /// Marks all facts as out of date; they stay on the screen until they are read again.
    fn mark_all_stale(&mut self) {
        self.stale = self.entry_facts.keys().cloned().collect();
        self.request_facts();
    }

    fn parent(&mut self) {
        if let PaneContent::Recent(dir) = &self.place {
            let dir = dir.clone();
            return self.open_pane(PaneContent::Folder(dir), None);
        }
        let here = self.folder().to_owned();
        if files::is_store_root(&here) {
            match bucket_list(&here).filter(|buckets| *buckets != here) {
                Some(buckets) => self.open_pane(PaneContent::Folder(buckets), Some(here)),
                // The parent of a store is the local folder that was listed before.
                None => self.open_pane(PaneContent::Folder(self.local.clone()), None),
            }
        } else if let Some(parent) = here.parent() {
            self.open_pane(PaneContent::Folder(parent.to_owned()), Some(here.clone()));
        }
    }

    fn recent(&mut self) {
        match &self.place {
            PaneContent::Recent(dir) => {
                let dir = dir.clone();
                self.open_pane(PaneContent::Folder(dir), None);
            }
            PaneContent::Folder(dir) => {
                let dir = dir.clone();
                self.open_pane(PaneContent::Recent(dir), None);
            }
        }
    }

    /// Handles Esc: leaves the filter field, then clears the filter, then leaves the recent list.
    fn close(&mut self) {
        if self.focus != Focus::List {
            self.focus = Focus::List;
        } else if !self.filter.is_empty() {
            let selected = self.selected().map(|e| e.path.clone());
            self.filter.clear();
            self.refilter();
            if let Some(path) = selected {
                self.select_path(&path);
            }
        } else if matches!(self.place, PaneContent::Recent(_)) {
            self.recent();
        }
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        if self.focus == Focus::Actions && self.actions.handle_action(action) {
            return Vec::new();
        }
        if self.focus != Focus::Actions && self.list.handle_action(action) {
            self.selection_changed();
            return Vec::new();
        }
        match action {
            Action::Open if self.focus == Focus::Actions => {
                let chosen = self.actions.get().and_then(|row| self.available_actions().get(row).copied());
                return chosen.map(|a| self.act_on_entry(a)).unwrap_or_default();
            }
            Action::Open => return self.open(),
            Action::Parent if self.focus == Focus::Actions => self.focus = Focus::List,
            Action::Parent => self.parent(),
            Action::Find => self.focus = Focus::Filter,
            Action::NextPane | Action::PreviousPane => {
                self.focus = if self.focus == Focus::Actions { Focus::List } else { Focus::Actions };
                self.actions.set_len(self.available_actions().len());
            }
            Action::Accept => {
                self.focus = Focus::List;
                let address = self.filter.value().trim().to_owned();
                if let Some(url) = RemoteUrl::parse(Path::new(&address)) {
                    let checked = match url.bucket.is_empty() {
                        true => Ok(address.clone()),
                        false => local_or_readable(Path::new(&address)),
                    };
                    match checked {
                        Ok(path) => self.open_pane(PaneContent::Folder(files::without_slash(Path::new(&path))), None),
                        Err(failure) => return vec![Effect::failure(&failure)],
                    }
                }
            }
            Action::Close => self.close(),
            Action::Recent => self.recent(),
            Action::Hidden => {
                self.show_hidden = !self.show_hidden;
                self.refilter();
                self.selection_changed();
            }
            Action::Reload => self.reload(),
            action => return self.act_on_entry(action),
        }
        Vec::new()
    }

    fn typed(&mut self, changed: bool) {
        if changed {
            self.refilter();
            self.list.select(0);
            self.selection_changed();
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        let Some(gesture) = self.mouse_areas.gesture(mouse) else { return Vec::new() };
        match gesture {
            Gesture::Wheel { on: Focus::Actions, rows } => self.actions.scroll(rows),
            Gesture::Wheel { rows, .. } => {
                self.list.scroll(rows);
                self.selection_changed();
            }
            Gesture::Click { on, line, .. } => {
                self.focus = on;
                self.select_line(on, line);
            }
            Gesture::DoubleClick { on: Focus::List, line, .. } if self.list.row_at(line).is_some() => {
                return self.open()
            }
            Gesture::DoubleClick { on: Focus::Actions, line, .. } => {
                let chosen = self.action_rows.get(line).copied();
                return chosen.map(|a| self.act_on_entry(a)).unwrap_or_default();
            }
            Gesture::DoubleClick { .. } => {}
        }
        Vec::new()
    }

    /// Selects the clicked line.
    fn select_line(&mut self, pane: Focus, line: usize) {
        match pane {
            Focus::Filter => {}
            Focus::List => {
                if let Some(row) = self.list.row_at(line) {
                    self.list.select(row);
                    self.selection_changed();
                }
            }
            Focus::Actions => {
                let possible = self.available_actions();
                let chosen = self.action_rows.get(line).and_then(|a| possible.iter().position(|p| p == a));
                self.actions.set_len(possible.len());
                self.actions.select(chosen.unwrap_or(self.actions.selected));
            }
        }
    }

    fn take_entries(&mut self, read: ReadResult) {
        // When the folder is read again, the selection stays, including one made while it was being read.
        let selected = self.previous_folder.take().or_else(|| self.selected().map(|e| e.path.clone()));
        self.entries = Some(read.entries);
        self.refilter();
        match selected {
            Some(path) => self.select_path(&path),
            None => self.list.select(0),
        }
        self.selection_changed();
    }
}

/// Whether an entry indicates that its folder is a data set; the actions are then also offered for the folder.
fn is_data_set_marker(entry: &HomeEntry) -> bool {
    let is_shard = entry.name.ends_with(".tar") || entry.name.ends_with(".tgz");
    let is_media = || gristmill_media::kind::type_by_extension(&entry.name).is_some();
    entry.name == ".nv-meta" || !entry.is_folder && (is_shard || is_media())
}

/// Reads the entries of a folder or of the recent list; runs on the reader's thread.
fn read_place(place: &PaneContent, state_dir: &Path) -> ReadResult {
    match place {
        PaneContent::Folder(dir) => {
            let entries = entries::read_folder(dir).map(|mut entries| {
                if entries.iter().any(is_data_set_marker) {
                    let this = HomeEntry { path: dir.clone(), name: ".".to_owned(), is_folder: true, bytes: 0 };
                    entries.insert(0, this);
                }
                entries
            });
            let reason = |error: std::io::Error| {
                let failure = gristmill_core::Failure::io("reading the folder", dir, &error);
                match failure.hint.as_ref().filter(|_| is_remote(dir)) {
                    Some(hint) => format!("{failure}; {hint}"),
                    None => failure.to_string(),
                }
            };
            ReadResult { entries: entries.map_err(reason) }
        }
        PaneContent::Recent(_) => {
            let entry = |path: PathBuf| HomeEntry {
                name: path.to_string_lossy().into_owned(),
                is_folder: is_remote(&path) || files::is_dir(&path),
                bytes: 0,
                path,
            };
            // Deleted data sets are omitted. Data sets that cannot be checked now may be available later, and so may outputs of unfinished
            // runs. Stores are not queried: the list would wait for a store that does not answer.
            let is_begun = |path: &PathBuf| matches!(unfinished::of_output(path), Ok(Some(_)));
            let is_there =
                |path: &PathBuf| is_remote(path) || files::try_exists(path).unwrap_or(true) || is_begun(path);
            ReadResult { entries: Ok(recent::load(state_dir).into_iter().filter(is_there).map(entry).collect()) }
        }
    }
}

/// Returns kind and state in one line: `WebDataset, not prepared`.
fn headline(seen: &EntryFacts) -> String {
    match seen.word() {
        "" => seen.title().to_owned(),
        word => format!("{}, {word}", seen.title()),
    }
}

impl Screen for Home {
    fn context(&self) -> Context {
        match self.focus {
            Focus::Filter => Context::HomeFilter,
            Focus::List | Focus::Actions => Context::Home,
        }
    }

    fn wants_text(&self) -> bool {
        self.focus == Focus::Filter
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        self.disabled_reason(action)
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => return self.handle_action(action),
            Input::Key(key) if self.focus == Focus::Filter => {
                let changed = self.filter.key(key);
                self.typed(changed);
            }
            Input::Paste(pasted) if self.focus == Focus::Filter => {
                let changed = self.filter.paste(&pasted);
                self.typed(changed);
            }
            Input::Mouse(mouse) => return self.mouse(mouse),
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = self.mounter.gather(&self.env, effects);
        if let Some(read) = self.reader.take() {
            self.take_entries(read);
            changed = true;
        }
        for (path, seen) in self.facts_stream.take() {
            self.stale.remove(&path);
            self.entry_facts.insert(path, seen);
            changed = true;
        }
        let running = self.env.jobs.running();
        if running != self.jobs_running {
            // A job that started or ended may have changed the state of its data set.
            self.jobs_running = running;
            self.reload();
            changed = true;
        }
        if changed {
            self.actions.set_len(self.available_actions().len());
        }
        changed
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.draw_all(frame, area, ui);
    }

    fn resumed(&mut self) {
        self.reload();
    }
}
