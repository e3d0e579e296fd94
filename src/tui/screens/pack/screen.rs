//! The screen of the guided pack: carries out what the state asks for, and brings results back to it.

use super::draft::{self, Draft};
use super::state::{PackState, Place};
use super::step::{Field, Kind, Step};
use super::view;
use super::workers::{TokenizerQuestion, Workers};
use crate::engine::plan::file::pack_to_yaml;
use crate::model::pack::TextField;
use crate::model::{PackFormat, PackPlan};
use crate::storage::fs::RealFs;
use crate::storage::publish::write_file;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::run::{orders, RunScreen};
use crate::tui::widgets::{Gesture, Level, Toast};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was asked of the workers last, so that nothing is asked twice.
#[derive(Default)]
struct Asked {
    /// Files: glob, and formats in force.
    files: Option<(Option<String>, Vec<PackFormat>)>,
    extract: Option<(TextField, PackFormat, usize)>,
    tokenizer: Option<(String, Option<Arc<str>>, PackPlan)>,
    preview: Option<PackPlan>,
}

/// The screen.
pub struct PackScreen {
    env: UiEnv,
    state: PackState,
    workers: Workers,
    asked: Asked,
    draft: PathBuf,
    /// The answers as they were given, before a draft took their place.
    given: PackPlan,
    /// The answers were run as they are: there is nothing to keep.
    was_run: bool,
}

impl PackScreen {
    /// The guided pack with answers that are given already; a draft for the same inputs goes on where it was left.
    pub fn new(plan: PackPlan, env: UiEnv) -> Self {
        let place = draft::place(&env.state_dir, &plan.inputs);
        let has_answers = plan != PackPlan::new(plan.inputs.clone(), "", "") && !is_only_output(&plan);
        let found = if has_answers { None } else { draft::load(&place) };
        let mut workers = Workers::start(&env);
        let folders = |input: &String| std::path::absolute(input).unwrap_or_else(|_| PathBuf::from(input));
        workers.find_tokenizers(plan.inputs.iter().map(folders).collect());
        let given = plan.clone();
        let state = match found {
            Some(Draft { plan, step, age }) => {
                let mut state = PackState::new(plan);
                state.go(step);
                state.draft = Some(age);
                state
            }
            None => PackState::new(plan),
        };
        let mut screen = Self { env, state, workers, asked: Asked::default(), draft: place, given, was_run: false };
        screen.ask();
        screen
    }

    /// The format whose rules count for what is shown of documents.
    fn format(&self) -> PackFormat {
        self.state.plan.formats().first().copied().unwrap_or(PackFormat::Nanosets)
    }

    /// Asks the workers whatever is not answered for the present state.
    fn ask(&mut self) {
        let plan = &self.state.plan;
        let files = (plan.glob.clone(), plan.formats());
        if self.asked.files.as_ref() != Some(&files) {
            self.asked.files = Some(files);
            self.workers.files(plan.clone());
        }
        let format = self.format();
        if let Some(documents) = self.state.seen.documents.clone() {
            let extract = (self.state.plan.text.clone(), format, Arc::as_ptr(&documents) as usize);
            if self.asked.extract.as_ref() != Some(&extract) {
                self.asked.extract = Some(extract.clone());
                self.workers.extract(extract.0, documents, format);
            }
        }
        self.ask_tokenizer();
        let is_ready =
            self.state.step == Step::Review && Step::ALL.iter().all(|step| self.state.blocker(*step).is_none());
        if is_ready && self.asked.preview.as_ref() != Some(&self.state.plan) {
            self.asked.preview = Some(self.state.plan.clone());
            self.workers.preview(self.state.plan.clone());
        }
    }

    fn ask_tokenizer(&mut self) {
        let name = self.state.plan.tokenizer.clone();
        if name.is_empty() || self.state.step < Step::Tokenizer {
            return;
        }
        let texts = self.state.seen.extracted.as_ref().map(|extracted| extracted.texts.iter());
        let document =
            texts.and_then(|mut texts| texts.find_map(|text| text.clone().ok().filter(|text| !text.is_empty())));
        // Only what changes what is shown: the end token, and the program that made the text.
        let relevant = PackPlan { end: self.state.plan.end.clone(), ..PackPlan::new(Vec::new(), "", "") };
        let asked = (name.clone(), document.clone(), relevant);
        if self.asked.tokenizer.as_ref() != Some(&asked) {
            self.asked.tokenizer = Some(asked);
            let plan = self.state.plan.clone();
            self.workers.tokenizer(TokenizerQuestion { name, document, plan });
        }
    }

    /// Takes whatever the workers brought.
    fn take_answers(&mut self) -> bool {
        let mut changed = false;
        if let Some(files) = self.workers.take_files() {
            if let Ok(found) = files.as_ref() {
                self.workers.documents(found.shown.clone());
            }
            self.state.seen.files = Some(files);
            self.state.propose();
            changed = true;
        }
        if let Some(documents) = self.workers.take_documents() {
            self.state.seen.keys.clone_from(&documents.keys);
            self.state.seen.documents = Some(documents);
            self.propose_key();
            self.state.settle_lists();
            changed = true;
        }
        if let Some(extracted) = self.workers.take_extracted().filter(|found| found.field == self.state.plan.text) {
            self.state.seen.extracted = Some(extracted);
            changed = true;
        }
        if let Some(found) = self.workers.take_found() {
            self.state.seen.tokenizers = found;
            self.state.settle_lists();
            changed = true;
        }
        if let Some(tokenizer) = self.workers.take_tokenizer() {
            self.state.seen.tokenizer = Some(tokenizer);
            self.state.propose();
            changed = true;
        }
        if let Some((plan, found)) = self.workers.take_preview() {
            if !matches!(found.as_ref(), Err(failure) if failure.is_cancelled()) {
                self.state.seen.preview = Some((plan, found));
                changed = true;
            }
        }
        changed
    }

    /// Where no document has the usual key and one has text, that one is proposed.
    fn propose_key(&mut self) {
        let is_usual = self.state.plan.text == TextField::default() && self.given.text == TextField::default();
        let keys = &self.state.seen.keys;
        if is_usual && !keys.is_empty() && !keys.iter().any(|key| key.name == "text") {
            if let Some(best) = keys
                .iter()
                .find(|key| key.is_text && key.name == "content")
                .or_else(|| keys.iter().filter(|key| key.is_text).max_by_key(|key| (key.documents, key.example.len())))
            {
                self.state.plan.text = TextField::Key(best.name.clone());
            }
        }
    }

    fn go_on(&mut self) -> Vec<Effect> {
        if self.state.rail.is_none() && self.state.field() == Some(Field::Found) && self.state.take_found() {
            return Vec::new();
        }
        if let Some(step) = self.state.rail {
            self.state.go(step);
            return Vec::new();
        }
        match self.state.blocker(self.state.step) {
            Some(why) => vec![Effect::Toast(Toast::new(Level::Warn, why))],
            None => {
                self.state.go(self.state.step.next());
                Vec::new()
            }
        }
    }

    fn run(&mut self) -> Vec<Effect> {
        if self.state.rail.is_some() {
            return self.go_on();
        }
        if let Some((step, why)) = self.state.first_blocker() {
            if step != self.state.step {
                self.state.go(step);
            }
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        let refused = self.state.refused();
        if let Some(first) = refused.first() {
            return vec![Effect::Toast(Toast::new(Level::Warn, first.message.clone()))];
        }
        self.was_run = true;
        draft::forget(&self.draft);
        let order = orders::pack(self.state.plan.clone(), self.state.command());
        vec![Effect::Push(Box::new(RunScreen::new(order, self.env.clone())))]
    }

    /// Saves the plan into the current folder, under a name that is free.
    fn save_plan(&self) -> Vec<Effect> {
        let name = |number: u32| match number {
            1 => self.env.save_dir.join("pack-plan.yaml"),
            number => self.env.save_dir.join(format!("pack-plan-{number}.yaml")),
        };
        let path = (1..1_000).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1_000));
        let saved = pack_to_yaml(&self.state.plan).and_then(|text| write_file(&RealFs, &path, text.as_bytes(), 0o644));
        vec![match saved {
            Ok(()) => Effect::Toast(Toast::new(Level::Ok, format!("saved as {}", self.env.short_path(&path)))),
            Err(failure) => Effect::failure(&failure),
        }]
    }

    fn close(&mut self) -> Vec<Effect> {
        if self.state.rail.take().is_some() {
            return Vec::new();
        }
        match self.state.step.previous() {
            Some(step) => {
                self.state.go(step);
                Vec::new()
            }
            None => {
                self.keep_draft();
                vec![Effect::Pop]
            }
        }
    }

    /// Keeps the answers, unless nothing was answered or they were run.
    fn keep_draft(&mut self) {
        let is_untouched = self.state.plan == self.given || self.state.step == Step::Source && !self.state.answered[0];
        if self.was_run || is_untouched && self.state.draft.is_none() {
            return;
        }
        if let Err(failure) = draft::save(&self.draft, &self.state.plan, self.state.step) {
            tracing::warn!(%failure, "the draft could not be kept");
        }
    }

    fn start_afresh(&mut self) {
        draft::forget(&self.draft);
        let seen = std::mem::take(&mut self.state.seen);
        self.state = PackState::new(PackPlan::new(self.given.inputs.clone(), "", ""));
        self.state.seen = seen;
        self.propose_key();
        self.state.settle_lists();
        self.state.propose();
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        self.was_run = false;
        match action {
            Action::Next | Action::Accept => return self.go_on(),
            Action::Run => return self.run(),
            Action::Close => return self.close(),
            Action::SavePlan => return self.save_plan(),
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                return vec![Effect::Copy(self.state.command()), copied];
            }
            Action::StartAfresh => self.start_afresh(),
            Action::GoSource => self.state.go(Step::Source),
            Action::GoText => self.state.go(Step::Text),
            Action::GoTokenizer => self.state.go(Step::Tokenizer),
            Action::GoFormats => self.state.go(Step::Targets),
            Action::GoReview => self.state.go(Step::Review),
            action => self.state.act(action),
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        match self.state.places.gesture(mouse) {
            Some(Gesture::Wheel { rows, on: Place::Below | Place::Field(Field::Files) }) => {
                self.state.offset = self.state.offset.saturating_add_signed(rows);
            }
            Some(Gesture::Wheel { rows, on: Place::Field(Field::Found) }) => self.state.found.scroll(rows),
            Some(Gesture::Wheel { .. }) | None => {}
            Some(Gesture::Click { on, line, .. } | Gesture::DoubleClick { on, line, .. }) => self.click(on, line),
        }
    }

    fn click(&mut self, on: Place, line: usize) {
        match on {
            Place::Rail => {
                if let Some(step) = Step::ALL.get(line) {
                    self.state.go(*step);
                }
            }
            Place::Below => {}
            Place::Field(field) => {
                self.state.focus_on(field);
                match field {
                    Field::Keys => {
                        if let Some(row) = self.state.keys.row_at(line) {
                            self.state.keys.select(row);
                            self.state.act(Action::Toggle);
                        }
                    }
                    Field::Found => {
                        if let Some(row) = self.state.found.row_at(line) {
                            self.state.found.select(row);
                            self.state.take_found();
                        }
                    }
                    field if field.kind() == Kind::Switch => self.state.toggle(field),
                    _ => {}
                }
            }
        }
    }
}

/// Whether nothing but the place of the output is answered, which a command line may propose.
fn is_only_output(plan: &PackPlan) -> bool {
    *plan == PackPlan { output: plan.output.clone(), ..PackPlan::new(plan.inputs.clone(), "", "") }
}

impl Screen for PackScreen {
    fn context(&self) -> Context {
        match self.state.step {
            _ if self.state.rail.is_some() => Context::PackRail,
            _ if self.state.wants_text() => Context::PackText,
            Step::Review => Context::PackReview,
            _ => Context::Pack,
        }
    }

    fn title(&self) -> Vec<String> {
        let first = self.state.plan.inputs.first().map(Path::new);
        let name = first.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let more = match self.state.plan.inputs.len() {
            0 | 1 => String::new(),
            inputs => format!(" and {} more", inputs - 1),
        };
        vec!["pack".to_owned(), format!("{}{more}", name.unwrap_or_default())]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Action(action) => effects = self.act(action),
            Input::Key(key) => {
                if let Some(field) = self.state.field().filter(|_| self.state.wants_text()) {
                    if self.state.inputs.entry(field).or_default().key(key) {
                        self.was_run = false;
                        self.state.typed(field);
                    }
                }
            }
            Input::Paste(words) => {
                if let Some(field) = self.state.field().filter(|_| self.state.wants_text()) {
                    self.state.inputs.entry(field).or_default().paste(&words);
                    self.state.typed(field);
                }
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        }
        self.ask();
        effects
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let changed = self.take_answers();
        if changed {
            self.ask();
        }
        changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn wants_text(&self) -> bool {
        self.state.wants_text()
    }

    fn status_right(&self) -> Option<String> {
        match () {
            () if self.workers.is_listing() => Some("looking for files".to_owned()),
            () if self.workers.is_loading() => Some("loading the tokenizer".to_owned()),
            () if self.workers.is_busy() => Some("looking".to_owned()),
            () => None,
        }
    }

    fn bar_right(&self) -> Option<String> {
        let command = self.state.command();
        Some(command.strip_prefix("gristmill pack ").map(str::to_owned).unwrap_or(command))
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "run",
            Action::Advanced if self.state.advanced => "fewer settings",
            Action::Accept if self.state.rail.is_some() => "go to",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        let field = self.state.field().filter(|_| self.state.rail.is_none());
        match action {
            Action::Toggle if !field.is_some_and(|field| field.kind() != Kind::Text && field != Field::Files) => {
                Some("there is nothing to choose here".into())
            }
            Action::Left | Action::Right if field != Some(Field::TokenType) && self.state.rail.is_none() => {
                Some("there is nothing to step through here".into())
            }
            Action::Advanced if self.state.step != Step::Targets => Some("everything is shown here".into()),
            Action::Next if self.state.step == Step::Review => Some("this is the last step".into()),
            Action::StartAfresh if self.state.draft.is_none() => Some("there is no draft".into()),
            _ => None,
        }
    }

    fn unwritten(&self) -> Option<String> {
        None
    }

    fn closing(&mut self) {
        self.keep_draft();
    }

    fn resumed(&mut self) {
        // A run may have changed what is there.
        self.asked.preview = None;
        self.state.seen.preview = None;
        self.ask();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(&mut self.state, frame, area, ui);
    }
}
