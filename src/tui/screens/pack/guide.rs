//! The guided pack as a form: asks the workers, brings what they find to the answers, and hands the plan on to its run.

use super::state::PackState;
use super::step::Step;
use super::view;
use super::workers::{TokenizerQuestion, Workers};
use crate::tui::form::{Answers as _, Contexts, Guide, Look};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Screen, Ui, UiEnv};
use crate::tui::screens::run::{orders, JobRequest, RunScreen};
use gristmill_core::pack::TextField;
use gristmill_core::{PackFormat, PackPlan};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was asked of the workers last, so that nothing is asked twice.
#[derive(Default)]
struct Asked {
    /// Files: glob, list of paths, and formats in force.
    files: Option<(Option<String>, Option<String>, Vec<PackFormat>)>,
    extract: Option<(TextField, PackFormat, usize)>,
    tokenizer: Option<(String, Option<Arc<str>>, PackPlan)>,
    preview: Option<PackPlan>,
}

/// See the module.
pub struct PackGuide {
    workers: Workers,
    asked: Asked,
    /// Where the text is by the answers that were given.
    given_text: TextField,
}

impl PackGuide {
    fn ask_tokenizer(&mut self, state: &PackState) {
        let name = state.plan.tokenizer.clone();
        if name.is_empty() || state.form.step < Step::Tokenizer {
            return;
        }
        let texts = state.seen.extracted.as_ref().map(|extracted| extracted.texts.iter());
        let document =
            texts.and_then(|mut texts| texts.find_map(|text| text.clone().ok().filter(|text| !text.is_empty())));
        // Only what changes what is shown: the end token, and the program that made the text.
        let relevant = PackPlan { end: state.plan.end.clone(), ..PackPlan::new(Vec::new(), "", "") };
        let asked = (name.clone(), document.clone(), relevant);
        if self.asked.tokenizer.as_ref() != Some(&asked) {
            self.asked.tokenizer = Some(asked);
            let plan = state.plan.clone();
            self.workers.tokenizer(TokenizerQuestion { name, document, plan });
        }
    }

    /// Where no document has the usual key and one has text, that one is proposed.
    fn propose_key(&self, state: &mut PackState) {
        let is_usual = state.plan.text == TextField::default() && self.given_text == TextField::default();
        let keys = &state.seen.keys;
        if is_usual && !keys.is_empty() && !keys.iter().any(|key| key.name == "text") {
            if let Some(best) = keys
                .iter()
                .find(|key| key.is_text && key.name == "content")
                .or_else(|| keys.iter().filter(|key| key.is_text).max_by_key(|key| (key.documents, key.example.len())))
            {
                state.plan.text = TextField::Key(best.name.clone());
            }
        }
    }
}

impl Guide for PackGuide {
    type Answers = PackState;
    const CONTEXTS: Contexts =
        Contexts { step: Context::Pack, text: Context::PackText, rail: Context::PackRail, review: Context::PackReview };
    const LOOK: Look = Look { rail: 16, label: 20 };

    fn start(plan: &PackPlan, env: &UiEnv) -> Self {
        let mut workers = Workers::start(env);
        let folders = |input: &String| std::path::absolute(input).unwrap_or_else(|_| PathBuf::from(input));
        workers.find_tokenizers(plan.inputs.iter().map(folders).collect());
        Self { workers, asked: Asked::default(), given_text: plan.text.clone() }
    }

    fn answers(plan: PackPlan) -> PackState {
        PackState::new(plan)
    }

    fn take_over(&mut self, state: &mut PackState, before: PackState) {
        state.seen = before.seen;
        self.propose_key(state);
        state.settle_lists();
        state.propose();
    }

    fn ask(&mut self, state: &mut PackState) {
        let plan = &state.plan;
        let files = (plan.glob.clone(), plan.paths_file.clone(), plan.formats());
        if self.asked.files.as_ref() != Some(&files) {
            self.asked.files = Some(files);
            self.workers.files(plan.clone());
        }
        if let Some(documents) = state.seen.documents.clone() {
            // The format whose rules count for what is shown of documents.
            let format = plan.formats().first().copied().unwrap_or(PackFormat::Nanosets);
            let extract = (plan.text.clone(), format, Arc::as_ptr(&documents) as usize);
            if self.asked.extract.as_ref() != Some(&extract) {
                self.asked.extract = Some(extract.clone());
                self.workers.extract(extract.0, documents, format);
            }
        }
        self.ask_tokenizer(state);
        let is_ready = state.form.step == Step::Review && state.is_complete();
        if is_ready && self.asked.preview.as_ref() != Some(&state.plan) {
            self.asked.preview = Some(state.plan.clone());
            self.workers.preview(state.plan.clone());
        }
    }

    fn take(&mut self, state: &mut PackState) -> bool {
        let mut changed = false;
        if let Some(files) = self.workers.take_files() {
            if let Ok(found) = files.as_ref() {
                self.workers.documents(found.shown.clone());
            }
            state.seen.files = Some(files);
            state.propose();
            changed = true;
        }
        if let Some(documents) = self.workers.take_documents() {
            state.seen.keys.clone_from(&documents.keys);
            state.seen.documents = Some(documents);
            self.propose_key(state);
            state.settle_lists();
            changed = true;
        }
        if let Some(extracted) = self.workers.take_extracted().filter(|found| found.field == state.plan.text) {
            state.seen.extracted = Some(extracted);
            changed = true;
        }
        if let Some(found) = self.workers.take_found() {
            state.seen.tokenizers = found;
            state.settle_lists();
            changed = true;
        }
        if let Some(tokenizer) = self.workers.take_tokenizer() {
            state.seen.tokenizer = Some(tokenizer);
            state.propose();
            changed = true;
        }
        if let Some((plan, found)) = self.workers.take_preview() {
            if !matches!(found.as_ref(), Err(failure) if failure.is_cancelled()) {
                state.seen.preview = Some((plan, found));
                changed = true;
            }
        }
        changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn status(&self) -> Option<&'static str> {
        match () {
            () if self.workers.is_listing() => Some("looking for files"),
            () if self.workers.is_loading() => Some("loading the tokenizer"),
            () if self.workers.is_busy() => Some("looking"),
            () => None,
        }
    }

    fn forget_outlook(&mut self, state: &mut PackState) {
        self.asked.preview = None;
        state.seen.preview = None;
    }

    fn title(state: &PackState, _: &UiEnv) -> String {
        let first = state.plan.inputs.first().map(Path::new);
        // Of `.` and `/` there is no name.
        let name = first.map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        match state.plan.inputs.len() {
            0 | 1 => name,
            inputs => format!("{name} and {} more", inputs - 1),
        }
    }

    fn draw_step(state: &mut PackState, frame: &mut Frame, area: Rect, ui: &Ui) {
        match state.form.step {
            Step::Source => view::source(state, frame, area, ui),
            Step::Text => view::text_field(state, frame, area, ui),
            Step::Tokenizer => view::tokenizer(state, frame, area, ui),
            Step::Targets | Step::Review => view::targets(state, frame, area, ui),
        }
    }

    fn outlook_lines(state: &PackState, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        view::outlook_lines(state, columns, ui)
    }

    fn hand_on(&mut self, state: &mut PackState, env: &UiEnv, draft: &Path) -> Box<dyn Screen> {
        let order = orders::pack(state.plan.clone(), state.command());
        Box::new(RunScreen::new(JobRequest { draft: Some(draft.to_owned()), ..order }, env.clone()))
    }

    /// On a tokenizer that was found, the key that goes on takes it first.
    fn act(&mut self, action: Action, state: &mut PackState, _: &UiEnv) -> Option<Vec<Effect>> {
        let goes_on = matches!(action, Action::Next | Action::Accept);
        (goes_on && state.offers_found() && state.take_found()).then(Vec::new)
    }
}
