//! Handles keys and the mouse in the browser.

use super::contact_sheet::{ContactSheet, SheetSource};
use super::prompt::{folder_of, number, Prompt, PromptKind};
use super::screen::{ActiveFilter, BrowseScreen, OpenStage, ScreenArea};
use super::state::{Mode, Pane, Search};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen};
use crate::tui::screens::splits::SplitSession;
use crate::tui::screens::{facts, repeats};
use crate::tui::widgets::{Gesture, Level, PreviewState, Toast};
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{DatasetKind, DedupPlan};
use gristmill_data::preview::{Drawable, PartPreview};
use gristmill_ops::engine::browse::{KeyQuery, SampleAt, TokenView, TOP_FOLDER};
use gristmill_storage::files;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use std::rc::Rc;
use std::sync::Arc;

/// Seed of a contact sheet until the user chooses another one. Fixed, so that every user starts with the same sheet.
const FIRST_SHEET_SEED: u64 = 1;

/// Maximum number of part names that are searched for a similar name.
const MAX_PARTS: usize = 2_000;

fn toast(level: Level, words: impl Into<String>) -> Vec<Effect> {
    vec![Effect::Toast(Toast::new(level, words))]
}

impl BrowseScreen {
    pub(super) fn handle_input(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) if self.prompt.is_some() => self.act_in_prompt(action),
            Input::Action(action) if self.form.is_some() => self.act_in_form(action),
            Input::Action(action) => self.handle_action(action),
            Input::Key(key) => {
                self.key(key);
                Vec::new()
            }
            Input::Paste(pasted) => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.mistake = None;
                    prompt.field.paste(&pasted);
                } else if let Some(form) = &mut self.form {
                    form.paste(&pasted);
                }
                Vec::new()
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        }
    }

    fn key(&mut self, key: KeyEvent) {
        if let Some(prompt) = &mut self.prompt {
            prompt.mistake = None;
            prompt.field.key(key);
            return;
        }
        if let Some(form) = &mut self.form {
            form.key(key);
            return;
        }
        if let KeyCode::Char(digit @ '0'..='9') = key.code {
            if matches!(self.stage, OpenStage::Open(..)) {
                self.prompt = Some(Prompt::new(PromptKind::Number, &digit.to_string()));
            }
        }
    }

    fn act_in_prompt(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => self.prompt = None,
            Action::Accept => return self.accept_prompt(),
            _ => {}
        }
        Vec::new()
    }

    fn act_in_form(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => self.last_form = self.form.take().unwrap_or_default(),
            Action::Run | Action::Accept => return self.apply_form(),
            action => {
                if let Some(form) = &mut self.form {
                    form.handle_action(action);
                }
            }
        }
        Vec::new()
    }

    fn apply_form(&mut self) -> Vec<Effect> {
        let mut parts: Vec<Arc<str>> = Vec::new();
        for part in self.state.rows.samples().flat_map(|sample| &sample.parts).take(MAX_PARTS) {
            if !parts.contains(&part.name) {
                parts.push(Arc::clone(&part.name));
            }
        }
        let Some(filter) = self.form.as_mut().and_then(|form| form.filter(&parts)) else { return Vec::new() };
        self.last_form = self.form.take().unwrap_or_default();
        if filter.is_empty() {
            self.end_filter();
            return Vec::new();
        }
        let is_unseen = |name: &&String| !parts.is_empty() && parts.iter().all(|part| **part != ***name);
        let unseen = filter.has.iter().chain(&filter.lacks).find(is_unseen);
        let warning = unseen.map(|name| toast(Level::Warn, format!("no sample in view has a part {name}")));
        self.active_filter = Some(ActiveFilter { filter, is_over: false, failure: None });
        self.apply_filter();
        warning.unwrap_or_default()
    }

    fn open_form(&mut self) {
        let mut form = self.last_form.clone();
        form.set_splits(self.marks.splits().iter().map(|split| Arc::clone(&split.name)).collect());
        form.mistake = None;
        self.form = Some(form);
    }

    fn step_problem(&mut self, forward: bool) -> Vec<Effect> {
        self.merge_known_problems();
        let here = self.state.at.unwrap_or_default();
        let step = |at| if forward { self.problems.after(at) } else { self.problems.before(at) };
        let listed = |at: &SampleAt| self.state.listing.contains(*at);
        let Some(at) = std::iter::successors(step(here), |at| step(*at)).find(listed) else {
            let more = if self.problems.is_empty() { "no problem is known" } else { "no further problem that way" };
            let words = match self.state.groups.is_complete {
                true => more.to_owned(),
                false => format!("{more} so far"),
            };
            return toast(Level::Info, words);
        };
        self.state.go_to(at);
        self.problems.get(at).map(|why| toast(Level::Warn, why.to_string())).unwrap_or_default()
    }

    fn accept_prompt(&mut self) -> Vec<Effect> {
        let Some(mut prompt) = self.prompt.take() else { return Vec::new() };
        let typed = prompt.field.value().to_owned();
        let trouble = match prompt.kind {
            PromptKind::Length => match number(&typed) {
                _ if typed.trim().is_empty() => {
                    self.set_view(TokenView { sequence_length: None, ..self.view_of_tokens.clone() });
                    None
                }
                Some(length) if length > 0 => {
                    self.last_length = length;
                    self.set_view(TokenView { sequence_length: Some(length), ..self.view_of_tokens.clone() });
                    None
                }
                _ => Some("a number of tokens, 1 or more".to_owned()),
            },
            PromptKind::Tokenizer => {
                let named = folder_of(&typed, self.env.home.as_deref()).filter(|path| files::exists(path));
                let named = named.map_or(typed.trim().to_owned(), |path| path.to_string_lossy().into_owned());
                let tokenizer = Some(named).filter(|named| !named.is_empty());
                self.set_view(TokenView { tokenizer, ..self.view_of_tokens.clone() });
                None
            }
            PromptKind::Key | PromptKind::Tokens if typed.is_empty() => {
                self.end_find();
                None
            }
            PromptKind::Key | PromptKind::Tokens => self.find(&typed).err(),
            PromptKind::Words => {
                return self.find_in_part(&typed);
            }
            PromptKind::Number => match number(&typed) {
                Some(number) => return self.go_to_number(number),
                None if typed.is_empty() => None,
                None => Some("that is not a number".to_owned()),
            },
        };
        if trouble.is_some() {
            prompt.mistake = trouble;
            self.prompt = Some(prompt);
        }
        Vec::new()
    }

    pub(super) fn find(&mut self, typed: &str) -> Result<(), String> {
        let query = KeyQuery::parse(typed).map_err(|failure| failure.why)?;
        self.state.begin_find(typed);
        if let Some(workers) = self.workers() {
            workers.find(query);
        }
        Ok(())
    }

    fn end_find(&mut self) {
        self.state.find = None;
        if let Some(workers) = self.workers() {
            workers.stop_finding();
        }
    }

    pub(super) fn go_to_number(&mut self, number: u64) -> Vec<Effect> {
        if self.state.go_to_number(number) {
            return match self.state.at.map(|at| self.state.groups.number(at)) {
                Some(here) if here != number => toast(Level::Info, "the filter leaves that one out; this is the next"),
                _ => Vec::new(),
            };
        }
        if !self.state.groups.is_complete {
            self.state.pending = Some(number);
            if let Some(catalog) = self.catalog() {
                catalog.scan_all();
            }
            return toast(Level::Info, format!("going to {} as soon as the scan reaches it", grouped(number)));
        }
        let last = self.state.groups.total().saturating_sub(1);
        toast(Level::Warn, format!("there is no sample {}; the last one is {}", grouped(number), grouped(last)))
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::FindKey if self.is_tokens() => self.prompt = Some(Prompt::new(PromptKind::Tokens, "")),
            Action::FindKey => self.prompt = Some(Prompt::new(PromptKind::Key, "")),
            Action::LoaderView if self.is_tokens() => self.switch_windows(),
            Action::Tokenizer => {
                let named = self.view_of_tokens.tokenizer.clone().unwrap_or_default();
                self.prompt = Some(Prompt::new(PromptKind::Tokenizer, &named));
            }
            Action::FindText => self.prompt = Some(Prompt::new(PromptKind::Words, "")),
            Action::FindNext | Action::FindPrevious if self.is_in_found_text() => {
                return self.go_to_match(action == Action::FindNext);
            }
            Action::CopyValue => return self.copy_of_preview(PreviewState::selected_value, "the value"),
            Action::CopyField => return self.copy_of_preview(PreviewState::selected_path, "the path"),
            Action::GoToNumber => self.prompt = Some(Prompt::new(PromptKind::Number, "")),
            Action::FindNext | Action::FindPrevious => {
                return match self.state.step_found(action == Action::FindNext) {
                    Ok(None) => Vec::new(),
                    Ok(Some(words)) => toast(Level::Info, words),
                    Err(why) => toast(Level::Warn, why),
                };
            }
            Action::Random => self.state.select_random(),
            Action::NextProblem | Action::PreviousProblem => return self.step_problem(action == Action::NextProblem),
            Action::Problems => return self.list_problems(),
            Action::FilterSamples => self.open_form(),
            Action::LoaderView => self.switch(Mode::Loader),
            Action::OffsetView => self.switch(Mode::Offsets),
            Action::NextPart | Action::PreviousPart => {
                self.state.step_part(action == Action::NextPart);
            }
            Action::NextPane | Action::PreviousPane => self.state.step_pane(action == Action::NextPane),
            Action::Left | Action::Right if self.is_in_tree() => {
                self.preview.handle_action(action);
            }
            Action::Left | Action::Right => self.state.step_sideways(action == Action::Right),
            Action::Zoom => self.zoom(),
            Action::Read => self.read(),
            Action::NextSample | Action::PreviousSample => {
                self.state.step_sample(action == Action::NextSample);
            }
            Action::ExcludeSample => return self.exclude(),
            Action::Mark => self.state.toggle_mark(),
            Action::OpenPart => return self.open_part(),
            Action::Export => return self.open_export_dialog(),
            Action::WriteSet => return self.write_set(),
            Action::Mount => return self.mounter.toggle_mount(&self.path),
            Action::ContactSheet => return self.contact_sheet(),
            Action::MoveTo => return self.move_shard(),
            Action::Splits => return self.open_editor(),
            Action::Write => return self.session.as_ref().map(SplitSession::write).unwrap_or_default(),
            Action::Undo => return self.session.as_ref().map(SplitSession::undo).unwrap_or_default(),
            Action::Redo => return self.session.as_ref().map(SplitSession::redo).unwrap_or_default(),
            Action::Facts => return vec![Effect::Push(facts::open(self.path.clone(), self.env.clone()))],
            Action::Repeats => return self.repeats(),
            Action::Reload => self.reload(),
            Action::CopyKey => return self.copy_key(),
            Action::CopyPath => return self.copy_path(),
            Action::Close => return self.close(),
            moving if self.state.pane == Pane::Detail && self.state.mode == Mode::Parts => {
                self.preview.handle_action(moving);
            }
            moving if self.state.pane == Pane::Detail => self.page.handle_action(moving),
            moving => {
                self.state.move_selection(moving);
            }
        }
        Vec::new()
    }

    /// Whether the keys act on a foldable tree.
    pub(super) fn is_in_tree(&self) -> bool {
        let is_tree = |preview: &Arc<PartPreview>| matches!(preview.body, Drawable::Tree(_));
        self.state.pane == Pane::Detail && self.state.mode == Mode::Parts && self.preview.preview().is_some_and(is_tree)
    }

    fn contact_sheet(&mut self) -> Vec<Effect> {
        let Some(catalog) = self.catalog().cloned() else { return Vec::new() };
        let mut crumbs = self.title();
        crumbs.push("contact sheet".to_owned());
        let source = SheetSource {
            catalog,
            listing: self.state.listing.clone(),
            part: self.state.part.clone(),
            seed: FIRST_SHEET_SEED,
            crumbs,
            depth: self.depth,
            chosen: Rc::clone(&self.chosen),
        };
        vec![Effect::Push(Box::new(ContactSheet::new(source, &self.env)))]
    }

    /// Whether the data set is a JSONL file.
    fn is_jsonl(&self) -> bool {
        self.catalog().is_some_and(|catalog| catalog.kind() == DatasetKind::Jsonl)
    }

    /// Whether the data set is a folder of loose files, which may be the output of a dedup run.
    fn is_folder(&self) -> bool {
        self.catalog().is_some_and(|catalog| catalog.kind().has_loose_files())
    }

    /// Shows what the dedup run that wrote the file removed; without such a run, shows the repeats in the file from the selected line on.
    fn repeats(&self) -> Vec<Effect> {
        if let Some(screen) = repeats::open_run(&self.path, &self.env) {
            return vec![Effect::Push(screen)];
        }
        if self.is_folder() {
            let why = "no run of dedup made this folder; D on one of its JSONL files looks at that file";
            return vec![Effect::Toast(Toast::new(Level::Info, why))];
        }
        let start = self.state.sample().map_or(0, |sample| sample.byte_offset);
        let plan = DedupPlan::new(self.path.to_string_lossy(), "");
        let target = repeats::RepeatsTarget::File(self.path.clone(), start);
        vec![Effect::Push(repeats::open(target, &plan, self.env.clone()))]
    }

    /// Switches between windows and documents.
    fn switch_windows(&mut self) {
        match self.view_of_tokens.sequence_length {
            Some(_) => self.set_view(TokenView { sequence_length: None, ..self.view_of_tokens.clone() }),
            None => self.prompt = Some(Prompt::new(PromptKind::Length, &self.last_length.to_string())),
        }
    }

    fn switch(&mut self, mode: Mode) {
        self.state.mode = if self.state.mode == mode { Mode::Parts } else { mode };
    }

    /// Goes back one step: ends the search, closes the large view, or closes the browser.
    fn close(&mut self) -> Vec<Effect> {
        if self.state.mark.take().is_some() {
            return Vec::new();
        }
        if self.state.is_reading {
            self.close_reader();
            return Vec::new();
        }
        if self.state.find.is_some() {
            self.end_find();
        } else if self.state.is_large {
            self.state.is_large = false;
            self.state.pane = Pane::Samples;
        } else if self.state.mode != Mode::Parts {
            self.state.mode = Mode::Parts;
        } else if self.active_filter.is_some() {
            self.end_filter();
        } else {
            let kept = self.session.as_ref().and_then(SplitSession::unwritten);
            let toast = kept.map(|words| Effect::Toast(Toast::new(Level::Info, words)));
            return std::iter::once(Effect::Pop).chain(toast).collect();
        }
        Vec::new()
    }

    fn is_in_found_text(&self) -> bool {
        let has_words = self.preview.matches() > 0 || self.preview.is_reading_pages() && self.preview.is_searching();
        self.state.pane == Pane::Detail && self.state.mode == Mode::Parts && has_words
    }

    fn copy_of_preview(&self, of: fn(&PreviewState) -> Option<String>, what: &str) -> Vec<Effect> {
        match of(&self.preview) {
            Some(text) => copied(&text, what),
            None => toast(Level::Info, "there is nothing to copy here"),
        }
    }

    fn copy_key(&self) -> Vec<Effect> {
        let Some(sample) = self.state.sample() else { return Vec::new() };
        copied(&sample.key, "the key")
    }

    fn copy_path(&self) -> Vec<Effect> {
        let (Some(catalog), Some(group)) = (self.catalog(), self.state.group()) else { return Vec::new() };
        let path = match !catalog.kind().is_document_file() {
            true if &*group.name == TOP_FOLDER => catalog.root().to_owned(),
            true => catalog.root().join(&*group.name),
            false => catalog.root().to_owned(),
        };
        copied(&path.to_string_lossy(), "the path")
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        if let Some(form) = &mut self.form {
            form.mouse(mouse);
            return Vec::new();
        }
        if self.prompt.is_some() {
            return Vec::new();
        }
        match self.mouse_areas.gesture(mouse) {
            Some(Gesture::Wheel { on: ScreenArea::Preview | ScreenArea::Pane(Pane::Detail), rows }) => {
                match self.state.mode {
                    Mode::Parts => self.preview.scroll(rows),
                    Mode::Loader | Mode::Offsets => self.page.scroll(rows),
                }
            }
            Some(Gesture::Wheel { on: ScreenArea::Rows(pane) | ScreenArea::Pane(pane), rows }) => {
                self.state.scroll(pane, rows)
            }
            Some(Gesture::Click { on: ScreenArea::Rows(pane), line, .. }) => {
                self.state.click(pane, line);
            }
            Some(Gesture::Click { on: ScreenArea::Pane(pane), .. }) => self.state.pane = pane,
            Some(Gesture::Click { on: ScreenArea::Preview, line, .. }) => {
                self.state.pane = Pane::Detail;
                if self.preview.click(line) {
                    self.preview.handle_action(Action::Toggle);
                }
            }
            Some(Gesture::DoubleClick { on: ScreenArea::Rows(_) | ScreenArea::Pane(_), .. }) => {
                return self.handle_action(Action::Read)
            }
            Some(Gesture::DoubleClick { on: ScreenArea::Preview, .. }) | None => {}
        }
        Vec::new()
    }

    /// Returns why an action is not available now.
    pub(super) fn disabled_reason(&self, action: Action) -> Option<String> {
        use Action as A;
        let of_sample = matches!(
            action,
            A::CopyKey
                | A::OpenPart
                | A::Export
                | A::LoaderView
                | A::OffsetView
                | A::NextPart
                | A::PreviousPart
                | A::Zoom
                | A::Read
                | A::NextSample
                | A::PreviousSample
        );
        let of_list = of_sample
            || matches!(
                action,
                A::FindKey
                    | A::GoToNumber
                    | A::Random
                    | A::ContactSheet
                    | A::FilterSamples
                    | A::CopyPath
                    | A::ExcludeSample
                    | A::Mark
            );
        match &self.stage {
            OpenStage::Opening if of_list => return Some("it is still being opened".into()),
            OpenStage::Failed(_) if of_list => return Some("it could not be opened".into()),
            _ => {}
        }
        if of_list && self.state.groups.total() == 0 {
            return Some("there is no sample".into());
        }
        if self.lists_no_sample() && (of_sample || self.acts_on_list(action)) {
            return Some("the filter lists no sample; Esc lists all".into());
        }
        match action {
            A::ContactSheet | A::Facts if self.is_tokens() => Some("there are only ids in it".into()),
            A::LoaderView if self.is_tokens() && self.row_word() == "sample" => {
                Some("the samples are windows already".into())
            }
            A::Repeats if !self.is_jsonl() && !self.is_folder() => {
                Some("only the text of JSONL files is compared".into())
            }
            A::Tokenizer if !self.is_tokens() => Some("only packed tokens have one".into()),
            A::Mark if self.can_write_marked() => None,
            A::ExcludeSample | A::Mark | A::MoveTo | A::Write | A::Splits | A::Undo | A::Redo => self.why_no_edit(),
            A::Toggle if self.form.as_ref().is_some_and(|form| form.wants_text()) => {
                Some("the field takes letters".into())
            }
            A::Toggle if self.form.as_ref().is_some_and(|form| form.is_choice()) => {
                Some("left and right choose here".into())
            }
            A::FindText | A::CopyValue | A::CopyField if self.state.mode != Mode::Parts => {
                Some("only what a part holds can be searched and copied".into())
            }
            A::FindNext | A::FindPrevious if self.state.find.is_none() && !self.is_in_found_text() => {
                Some("nothing was looked for yet".into())
            }
            _ if of_sample && self.state.at.is_none() => Some("no sample is selected".into()),
            _ if of_sample && self.state.at.is_some_and(|at| self.state.rows.has_failed(at)) => {
                Some("this sample cannot be read".into())
            }
            _ => None,
        }
    }

    /// Returns the description of the filter and of the number of samples that pass it.
    pub(super) fn filter_words(&self) -> Option<String> {
        let active_filter = self.active_filter.as_ref()?;
        let left = grouped(self.state.listing.len(&self.state.groups));
        let state = match &active_filter.failure {
            Some(why) => format!("{left} listed, then: {why}"),
            None if !self.state.listing.is_filtered() => "looking".to_owned(),
            None if active_filter.is_over => format!("{left} listed"),
            None => format!("{left} listed so far"),
        };
        Some(format!("{}  {state}", display_safe(&active_filter.filter.title())))
    }

    /// Returns the description of the search: its text, and whether it has ended.
    pub(super) fn find_words(&self) -> Option<String> {
        let find = self.state.find.as_ref()?;
        let found = grouped(find.found.count());
        let state = match &find.search {
            Search::Running => format!("{found} found so far"),
            Search::Done => format!("{found} found"),
            Search::Stopped => format!("{found} found, then stopped"),
            Search::Failed(why) => format!("{found} found, then: {why}"),
        };
        Some(format!("{}  {state}", display_safe(&find.text)))
    }
}

/// Copies a text from the data to the clipboard after escaping it, because a pasted line break would run the text before it in a shell. The
/// notice reports whether the text was changed.
fn copied(raw: &str, what: &str) -> Vec<Effect> {
    let safe = display_safe(raw).into_owned();
    let changed = safe != raw;
    let mut effects = vec![Effect::Copy(safe)];
    if changed {
        let words = format!("{what} has unsafe characters; it was copied in its escaped form");
        effects.push(Effect::Toast(Toast::new(Level::Warn, words)));
    }
    effects
}
