//! The guide of pack: lists files, shows text and tokens of real documents, and estimates the result.

use super::pack_facts::PackFacts;
use super::view;
use super::workers::{TokenizerQuestion, Workers};
use crate::tui::form::{Field, Form, Guide};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::{job_requests, JobRequest};
use crate::tui::widgets::ListState;
use gristmill_core::options::Answer;
use gristmill_core::pack::TextField;
use gristmill_core::{Failure, Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::DocumentRules;
use gristmill_ops::operations::pack::{lines_of_choices, PROPOSED_OPTIONS};
use gristmill_ops::tokens::formats;
use gristmill_ops::tokens::pack::PackPreview;
use gristmill_storage::files;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::sync::Arc;

/// The list of keys of real documents.
pub(super) const KEYS: Field = Field::List("keys");
/// The text field for a jq program, which replaces the key.
pub(super) const JQ: Field = Field::Option("jq");
/// The text field for the tokenizer.
pub(super) const TOKENIZER: Field = Field::Option("tokenizer");
/// The list of tokenizers that were found.
pub(super) const FOUND: Field = Field::List("found");
/// The text field for the input, if the plan has none.
const INPUT: Field = Field::Option("path");
/// The text field for the pattern of files.
const GLOB: Field = Field::Option("glob");
/// The text with the list of files.
pub(super) const FILES: Field = Field::Page("files");

/// The answers that determine the files: inputs; glob, list of paths, split and subset; formats.
type FilesRequest = (Vec<String>, [Option<String>; 4], Vec<&'static str>);

/// The last requests to the workers, so that no request is repeated.
#[derive(Default)]
struct LastRequests {
    files: Option<FilesRequest>,
    extract: Option<(TextField, DocumentRules, usize)>,
    /// The tokenizer, the document to encode, and a plan with only the answers that affect the result.
    tokenizer: Option<(String, Option<Arc<str>>, PackPlan)>,
    preview: Option<PackPlan>,
}

/// The guide of pack.
pub struct PackGuide {
    workers: Workers,
    last_requests: LastRequests,
    /// The list of keys; its last row is for a jq program.
    pub(super) keys: ListState,
    /// The tokenizers that were found.
    pub(super) found: ListState,
    /// Whether a jq program replaces the key.
    pub(super) is_program: bool,
    /// Facts about the data.
    pub(super) known: PackFacts,
}

pub(super) fn plan_of(form: &Form) -> PackPlan {
    form.plan_of().cloned().unwrap_or_else(|| PackPlan::new(Vec::new(), "", ""))
}

impl PackGuide {
    /// Starts the workers, which search for tokenizers immediately.
    pub fn start(plan: &PackPlan, env: &UiEnv) -> Self {
        let mut workers = Workers::start(env);
        workers.found.submit(plan.inputs.iter().map(files::absolute_or_same).collect());
        Self {
            workers,
            last_requests: LastRequests::default(),
            keys: ListState::new(0),
            found: ListState::new(0),
            is_program: false,
            known: PackFacts::default(),
        }
    }

    fn request_tokenizer(&mut self, form: &Form, plan: &PackPlan) {
        let is_reached = !matches!(form.step_id(), "source" | "text");
        if plan.tokenizer.is_empty() || !is_reached {
            return;
        }
        let texts = self.known.extracted.as_ref().map(|extracted| extracted.texts.iter());
        let document =
            texts.and_then(|mut texts| texts.find_map(|text| text.clone().ok().filter(|text| !text.is_empty())));
        // Of the plan, only the end token and the extracted document affect the result.
        let relevant = PackPlan { end: plan.end.clone(), ..PackPlan::new(Vec::new(), "", "") };
        let asked = (plan.tokenizer.clone(), document.clone(), relevant);
        if self.last_requests.tokenizer.as_ref() != Some(&asked) {
            self.last_requests.tokenizer = Some(asked);
            self.workers.tokenizer.submit(TokenizerQuestion {
                name: plan.tokenizer.clone(),
                document,
                plan: plan.clone(),
            });
        }
    }

    /// Suggests answers that follow from the data and from other answers.
    pub(super) fn propose(&mut self, form: &mut Form) {
        for row in form.plan().operation().options().iter().filter(|row| PROPOSED_OPTIONS.contains(&row.info.name)) {
            if !row.info.conflicts.iter().any(|other| form.is_given(other)) {
                let plan = plan_of(form);
                let answer = self.known.data(&plan).propose(&plan, row.info.name);
                form.propose(row.info.name, answer.map_or(Answer::Unset, Answer::Text));
            }
        }
    }

    /// Updates the rows of the lists, and moves the cursors to the selected rows.
    pub(super) fn update_lists(&mut self, form: &Form) {
        self.keys.set_len(self.known.keys().len() + 1);
        let row = match plan_of(form).text {
            TextField::Key(name) if !self.is_program => self.known.keys().iter().position(|key| key.name == name),
            _ => Some(self.known.keys().len()),
        };
        if let Some(row) = row {
            self.keys.select(row);
        }
        self.found.set_len(self.known.tokenizers.len());
    }

    /// Returns the preview of these answers.
    pub(super) fn pack_preview(&self, form: &Form) -> Option<&Outcome<PackPreview>> {
        let plan = form.plan_of::<PackPlan>()?;
        self.known.preview.as_ref().filter(|(of, _)| of == plan).map(|(_, preview)| preview.as_ref())
    }

    /// Returns a problem for the first format that finds no files to read.
    pub(super) fn format_without_files(&self, plan: &PackPlan) -> Option<Problem> {
        let formats = formats::names(plan);
        let (format, why) = formats.iter().find_map(|format| Some((format, self.known.files_blocker(format)?)))?;
        let message = format!("nothing to read for {format}: {why}");
        let problem = Problem::problem(ProblemKind::NothingToDo, Subject::default(), message);
        Some(problem.with_hint("'glob' in the step Source names others, as in **/*.jsonl.gz"))
    }

    /// Whether completing the step selects the tokenizer at the cursor: in the list, and in the text field while it is empty.
    pub(super) fn completing_selects_tokenizer(&self, form: &Form) -> bool {
        form.is_focused(FOUND) || form.is_focused(TOKENIZER) && form.plan().get("tokenizer") == Answer::Unset
    }

    /// Selects the tokenizer at the cursor. Returns `false` if it is selected already.
    fn select_found(&mut self, form: &mut Form) -> bool {
        let found = self.found.get().and_then(|row| self.known.tokenizers.get(row));
        let Some(name) = found.filter(|name| plan_of(form).tokenizer != **name) else { return false };
        form.type_into("tokenizer", name);
        true
    }

    fn select_key(&mut self, form: &mut Form) {
        match self.known.keys().get(self.keys.selected) {
            Some(key) => {
                self.is_program = false;
                form.answer("text-key", &Answer::Text(key.name.clone()));
            }
            None => {
                self.is_program = true;
                form.apply_typed(JQ);
            }
        }
    }
}

impl Guide for PackGuide {
    fn begin(&mut self, form: &mut Form) {
        self.is_program = matches!(plan_of(form).text, TextField::Jq(_));
        self.propose(form);
        self.update_lists(form);
    }

    fn request_data(&mut self, form: &mut Form) {
        self.propose(form);
        let plan = plan_of(form);
        let chosen = [&plan.glob, &plan.paths_file, &plan.split, &plan.subset].map(Clone::clone);
        let files = (plan.inputs.clone(), chosen, formats::names(&plan));
        if !plan.inputs.is_empty() && self.last_requests.files.as_ref() != Some(&files) {
            self.last_requests.files = Some(files);
            // A failure concerned the earlier inputs.
            self.known.files.take_if(|files| files.is_err());
            self.workers.files.submit(plan.clone());
        }
        if let Some(documents) = self.known.documents.clone() {
            // The rules of the selected formats decide which of the shown documents are used.
            let rules = formats::document_rules(&plan);
            let extract = (plan.text.clone(), rules, Arc::as_ptr(&documents) as usize);
            if self.last_requests.extract.as_ref() != Some(&extract) {
                self.last_requests.extract = Some(extract.clone());
                self.workers.extract.submit((extract.0, documents, rules));
            }
        }
        self.request_tokenizer(form, &plan);
        if form.is_review() && form.plan().check(false).is_empty() && self.last_requests.preview.as_ref() != Some(&plan)
        {
            self.last_requests.preview = Some(plan.clone());
            self.workers.preview.submit(plan);
        }
    }

    fn apply_results(&mut self, form: &mut Form) -> bool {
        let mut is_changed = self.workers.tokenizer.take_into(&mut self.known.tokenizer);
        is_changed |= self.workers.preview.take_into(&mut self.known.preview);
        if let Some((files, choices)) = self.workers.files.take() {
            self.known.choices = choices;
            if let Ok(found) = files.as_ref() {
                self.workers.documents.submit(found.shown.clone());
            }
            self.known.files = Some(files);
            is_changed = true;
        }
        is_changed |= self.workers.documents.take_into(&mut self.known.documents);
        if let Some(extracted) = self.workers.extract.take().filter(|found| found.field == plan_of(form).text) {
            self.known.extracted = Some(extracted);
            is_changed = true;
        }
        if let Some(found) = self.workers.found.take() {
            self.known.tokenizers = found;
            is_changed = true;
        }
        if is_changed {
            self.propose(form);
            self.update_lists(form);
        }
        is_changed
    }

    fn is_busy(&self) -> bool {
        self.workers.is_busy()
    }

    fn status(&self) -> Option<String> {
        match () {
            () if self.workers.files.is_waiting() => Some("looking for files".to_owned()),
            () if self.workers.tokenizer.is_waiting() => Some("loading the tokenizer".to_owned()),
            () if self.workers.is_busy() => Some("reading".to_owned()),
            () => None,
        }
    }

    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.pack_preview(form).map(|preview| preview.as_ref().map(|preview| preview.problems.as_slice()))
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        match self.pack_preview(form) {
            Some(Ok(preview)) => view::preview_lines(preview, &plan_of(form).output, columns, ui),
            _ => Vec::new(),
        }
    }

    fn resume(&mut self, _: &mut Form) {
        (self.last_requests.preview, self.known.preview) = (None, None);
    }

    fn request(&mut self, form: &Form) -> JobRequest {
        job_requests::pack(plan_of(form))
    }

    fn waits_for(&self) -> &'static str {
        "reading a sample of the documents"
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        let fields = form.option_fields();
        match form.step_id() {
            // The list of files has the focus first, so that letters are keys; but a missing input has the focus first.
            "source" if plan_of(form).inputs.is_empty() || fields.contains(&INPUT) => {
                fields.into_iter().chain([FILES]).collect()
            }
            "source" => {
                // These options are shown only if there is a choice.
                let options =
                    lines_of_choices(&self.known.choices).into_iter().map(|(option, _)| Field::Option(option));
                let choices: Vec<Field> = options.filter(|field| !fields.contains(field)).collect();
                [FILES].into_iter().chain(choices).chain(fields).collect()
            }
            "text" => {
                let own = [Field::Option("text-key"), JQ];
                let program = self.is_program.then_some(JQ);
                let others = fields.into_iter().filter(|field| !own.contains(field));
                [KEYS].into_iter().chain(program).chain(others).collect()
            }
            "tokenizer" => {
                let found = (!self.known.tokenizers.is_empty()).then_some(FOUND);
                let others = fields.into_iter().filter(|field| *field != TOKENIZER);
                [TOKENIZER].into_iter().chain(found).chain(others).collect()
            }
            _ => fields,
        }
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        let plan = plan_of(form);
        match form.steps().get(step)?.id {
            "source" if plan.inputs.is_empty() => Some("enter a path".into()),
            "source" => self.known.listing_failure(),
            "text" if self.is_program && matches!(plan.text, TextField::Key(_)) => Some("enter a jq program".into()),
            "text" => self.known.text_blocker(),
            "tokenizer" => self.known.tokenizer_blocker(&plan.tokenizer, plan.end.as_ref()),
            "formats" if formats::names(&plan).is_empty() => Some("choose at least one format".into()),
            "formats" => self.format_without_files(&plan).map(|problem| problem.message),
            _ => None,
        }
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        match form.step_id() {
            "source" => view::draw_source(self, form, frame, area, ui),
            "text" => view::draw_text_field(self, form, frame, area, ui),
            "tokenizer" => view::draw_tokenizer(self, form, frame, area, ui),
            _ => return false,
        }
        true
    }

    fn foot(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        view::formats_foot(self, form, columns, ui)
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        match name {
            "keys" => Some(&mut self.keys),
            "found" => Some(&mut self.found),
            _ => None,
        }
    }

    fn select(&mut self, form: &mut Form, list: &str) {
        match list {
            "keys" => self.select_key(form),
            _ => {
                self.select_found(form);
            }
        }
    }

    fn scrolls_by_wheel(&self, list: &str) -> bool {
        list == "found"
    }

    /// Completing the step while the cursor is on a found tokenizer selects it first. Up from the top of the files moves to the pattern.
    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        match action {
            Action::Next | Action::Accept if self.completing_selects_tokenizer(form) => {
                return self.select_found(form).then(Vec::new)
            }
            Action::Up if form.is_focused(FILES) && form.offset == 0 => form.focus_on(GLOB),
            Action::Down if form.is_focused(GLOB) => form.focus_on(FILES),
            Action::Up if form.is_focused(GLOB) => {}
            _ => return None,
        }
        Some(Vec::new())
    }
}
