//! The browser screen: the interface to the frame, and the workers that it drives.

use super::detail::{Detail, DetailQuestion, DetailRequest};
use super::filter::FilterForm;
use super::leads::SampleSummaries;
use super::listing::Listing;
use super::prompt::Prompt;
use super::state::{BrowseState, KeySearch, Mode, Pane, Search};
use super::workers::{opener, OpenRequest, Opener, Workers};
use super::BrowseStart;
use crate::tui::graphics::graphics_of;
use crate::tui::keymap::{Action, Context};
use crate::tui::mounter::Mounter;
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::problems::{count_known, ProblemFeed};
use crate::tui::screens::splits::SplitSession;
use crate::tui::theme::ColourMode;
use crate::tui::widgets::preview::{EncodedPicture, PictureRequest, Pixels};
use crate::tui::widgets::{MouseAreas, PreviewState, Scroll};
use crate::tui::work::LatestWorker;
use gristmill_core::text::{count, grouped};
use gristmill_core::{Cancel, Failure};
use gristmill_data::preview::cells::Depth;
use gristmill_data::preview::ReadFrom;
use gristmill_ops::engine::browse::{Catalog, Marks, ProblemList, SampleAt, SampleFilter, TokenView};
use gristmill_storage::location::is_remote;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

mod export;
mod marked;
mod reader;
mod results;
mod write_set;

use export::Exporter;
use marked::Marker;
use reader::CoveredView;
use write_set::KeyLister;

/// Number of rows assumed to be visible before the first draw.
const FIRST_HEIGHT: u64 = 24;

/// The initial value of the sequence length.
const DEFAULT_SEQUENCE_LENGTH: u64 = 2_048;

/// The stage of opening the data set.
pub(super) enum OpenStage {
    /// The data set is being opened.
    Opening,
    /// The data set is open.
    Open(Arc<dyn Catalog>, Box<Workers>),
    /// The data set cannot be browsed.
    Failed(Failure),
}

/// The element at a position on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScreenArea {
    /// A pane, including its border.
    Pane(Pane),
    /// The rows of a list.
    Rows(Pane),
    /// The body of the shown part.
    Preview,
}

pub(super) struct ActiveFilter {
    pub(super) filter: SampleFilter,
    /// Whether all samples have been filtered.
    pub(super) is_over: bool,
    /// The reason why the filter stopped early. Not escaped.
    pub(super) failure: Option<String>,
}

/// The browser screen.
pub struct BrowseScreen {
    pub(super) env: UiEnv,
    pub(super) path: PathBuf,
    /// The view of packed tokens.
    pub(super) view_of_tokens: TokenView,
    /// The sequence length that was chosen last.
    pub(super) last_length: u64,
    /// The search to repeat after the token view has changed.
    pub(super) last_search: Option<String>,
    pub(super) stage: OpenStage,
    pub(super) state: BrowseState,
    pub(super) detail: Option<Detail>,
    pub(super) last_request: Option<DetailRequest>,
    /// The page that the reader shows; `None` for the first one.
    pub(super) read_from: Option<ReadFrom>,
    /// The state of the browser before the reader was opened; restored when it is closed.
    covered_view: Option<CoveredView>,
    /// Whether the reader is searching other pages for words.
    pub(super) is_finding_words: bool,
    pub(super) leads: SampleSummaries,
    /// The open prompt.
    pub(super) prompt: Option<Prompt>,
    /// The open filter dialog.
    pub(super) form: Option<FilterForm>,
    /// The last contents of the filter dialog.
    pub(super) last_form: FilterForm,
    pub(super) active_filter: Option<ActiveFilter>,
    exporter: Exporter,
    marker: Marker,
    lister: KeyLister,
    pub(super) mounter: Mounter,
    /// The sample chosen on a contact sheet.
    pub(super) chosen: Rc<Cell<Option<SampleAt>>>,
    /// The problems in the open list of problems.
    pub(super) problem_feed: Rc<RefCell<ProblemFeed>>,
    pub(super) session: Option<SplitSession>,
    /// Whether splits may be changed; `false` for the catalogs of tests.
    pub(super) edits: bool,
    /// Scroll position in lines of text.
    pub(super) page: Scroll,
    pub(super) marks: Arc<Marks>,
    pub(super) problems: Arc<ProblemList>,
    /// The scan's problems as last merged.
    pub(super) merged: Option<Arc<ProblemList>>,
    /// The display form of the key that writes changes.
    pub(super) write_key: String,
    pub(super) start: BrowseStart,
    pub(super) opener: Opener,
    /// Mouse areas of the elements drawn last.
    pub(super) mouse_areas: MouseAreas<ScreenArea>,
    /// The shown part, and the position in it.
    pub(super) preview: PreviewState,
    pub(super) pixels: Pixels,
    pub(super) depth: Depth,
    encoder: LatestWorker<Vec<PictureRequest>, Vec<EncodedPicture>>,
    /// The visible rows, from which the requests for rows are derived.
    pub(super) view: std::ops::Range<u64>,
}

impl BrowseScreen {
    /// Creates the browser, and opens the data set in the background; packed tokens are opened with `view`.
    pub fn new(path: PathBuf, start: BrowseStart, view: TokenView, env: UiEnv) -> Self {
        let mut opener = opener(env.wake.clone());
        opener.submit(OpenRequest { path: path.clone(), view: view.clone(), at: None });
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
        let state = BrowseState { seed: u64::from(seed), ..BrowseState::default() };
        let (graphics, cell) = graphics_of(&env);
        let variable = |name: &str| env.variable(name);
        let colours = env.colour != ColourMode::None;
        let depth = Depth::detect(colours, env.ascii, variable("TERM").as_deref(), variable("COLORTERM").as_deref());
        let (exporter, marker) = (Exporter::start(&env), Marker::start(&env));
        let (lister, mounter) = (KeyLister::start(&env), Mounter::start(&env));
        let encode = move |requests| Pixels::encode(requests, graphics, cell);
        let encoder = LatestWorker::start("browse-pixels", env.wake.clone(), encode);
        Self {
            env,
            path,
            last_length: view.sequence_length.unwrap_or(DEFAULT_SEQUENCE_LENGTH),
            last_search: None,
            view_of_tokens: view,
            stage: OpenStage::Opening,
            state,
            detail: None,
            last_request: None,
            read_from: None,
            covered_view: None,
            is_finding_words: false,
            leads: SampleSummaries::default(),
            prompt: None,
            form: None,
            last_form: FilterForm::default(),
            active_filter: None,
            exporter,
            marker,
            lister,
            mounter,
            chosen: Rc::default(),
            problem_feed: Rc::default(),
            session: None,
            edits: true,
            page: Scroll::default(),
            marks: Arc::default(),
            problems: Arc::default(),
            merged: None,
            write_key: "w".to_owned(),
            start,
            opener,
            mouse_areas: MouseAreas::default(),
            preview: PreviewState::default(),
            pixels: Pixels::new(graphics, cell),
            depth,
            encoder,
            view: 0..FIRST_HEIGHT,
        }
    }

    /// Uses a splits session that another screen shares.
    pub(super) fn with_session(self, session: Option<SplitSession>) -> Self {
        Self { session, ..self }
    }

    /// Creates the browser on a catalog that is already open.
    #[cfg(test)]
    pub(super) fn with_catalog(catalog: Arc<dyn Catalog>, start: BrowseStart, env: UiEnv) -> Self {
        let mut screen = Self::new(catalog.root().to_owned(), start, TokenView::default(), env);
        screen.opener = opener(screen.env.wake.clone());
        screen.edits = false;
        screen.opened(catalog);
        screen
    }

    fn opened(&mut self, catalog: Arc<dyn Catalog>) {
        let mut workers = Workers::start(&catalog, &self.env.wake);
        workers.problems.submit(());
        self.state.rows.forget_all();
        self.detail = None;
        self.last_request = None;
        self.covered_view = None;
        self.leads = SampleSummaries::start(&catalog, &self.env.wake);
        self.state.is_single_list = catalog.kind().is_document_file();
        self.state.has_offsets = catalog.kind().table().is_none();
        match std::mem::take(&mut self.start) {
            BrowseStart::First => {}
            BrowseStart::Number(number) => self.state.pending = Some(number),
            start @ (BrowseStart::Key(_) | BrowseStart::Subject(_)) => {
                self.start = start;
                self.start.search_start(&mut workers);
            }
        }
        self.state.groups = Arc::default();
        self.state.mark = None;
        self.state.adopt(&catalog.groups());
        self.stage = OpenStage::Open(catalog, Box::new(workers));
        self.open_session();
        self.apply_filter();
        if let Some(text) = self.last_search.take() {
            // The same text was parsed before, so parsing does not fail.
            let _ = self.find(&text);
        }
        self.request_data();
    }

    /// Starts or restarts the filter.
    pub(super) fn apply_filter(&mut self) {
        let Some(active_filter) = &mut self.active_filter else { return };
        let OpenStage::Open(_, workers) = &mut self.stage else { return };
        active_filter.is_over = false;
        active_filter.failure = None;
        workers.apply_filter(active_filter.filter.clone(), Arc::clone(&self.marks), Arc::clone(&self.problems));
    }

    /// Removes the filter.
    pub(super) fn end_filter(&mut self) {
        self.active_filter = None;
        if let Some(workers) = self.workers() {
            workers.stop_filter();
        }
        self.state.list_only(Listing::All);
    }

    /// Whether the data set is packed tokens.
    pub(super) fn is_tokens(&self) -> bool {
        self.catalog().is_some_and(|catalog| catalog.tokens().is_some())
    }

    /// Returns the catalog once it is open.
    pub(super) fn catalog(&self) -> Option<&Arc<dyn Catalog>> {
        match &self.stage {
            OpenStage::Open(catalog, _) => Some(catalog),
            _ => None,
        }
    }

    pub(super) fn workers(&mut self) -> Option<&mut Workers> {
        match &mut self.stage {
            OpenStage::Open(_, workers) => Some(workers),
            _ => None,
        }
    }

    /// Returns the word for a group in this data set.
    pub(super) fn group_word(&self) -> &'static str {
        self.catalog().map_or("shard", |catalog| catalog.group_word())
    }

    /// Requests the data that the screen lacks from the workers.
    pub(super) fn request_data(&mut self) {
        let OpenStage::Open(catalog, workers) = &mut self.stage else { return };
        let state = &mut self.state;
        let height = self.view.end.saturating_sub(self.view.start).max(1);
        let row = state.list.selected as u64;
        // The visible rows are updated only when drawn; requests must not wait for that.
        let view = match self.view.contains(&row) {
            true => self.view.clone(),
            false => row.saturating_sub(height / 2)..row.saturating_add(height),
        };
        if let Some(group) = state.wanted_group() {
            catalog.prefer(group);
        }
        if let Some(pieces) = state.rows.missing_rows(view, &state.listing, &state.groups) {
            workers.request_rows(pieces);
        }
        let Some(sample) = state.sample().cloned() else { return };
        let part = if state.mode == Mode::Parts { state.part_index(&sample) } else { 0 };
        let is_reading = state.is_reading && state.mode == Mode::Parts;
        let request = DetailRequest { at: sample.at, mode: state.mode, part, is_reading };
        let is_further = self.last_request.as_ref() == Some(&request);
        let wanted = self.preview.take_page_request().filter(|_| is_further);
        let from = match wanted {
            Some(from) => from,
            None if is_further => return,
            None => self.read_from.take().filter(|_| is_reading).unwrap_or(ReadFrom::Page(0)),
        };
        self.last_request = Some(request);
        workers.detail.submit(DetailQuestion {
            sample,
            mode: state.mode,
            part,
            is_reading,
            from,
            is_further,
            cancel: Cancel::default(),
        });
    }

    /// Whether a search is running.
    pub(super) fn is_searching(&self) -> bool {
        matches!(&self.state.find, Some(KeySearch { search: Search::Running, .. }))
    }

    /// Whether the filter is still running.
    pub(super) fn is_filtering(&self) -> bool {
        self.active_filter.as_ref().is_some_and(|active_filter| !active_filter.is_over)
    }

    /// Returns the word for a row in this data set.
    pub(super) fn row_word(&self) -> &'static str {
        match self.catalog().and_then(|catalog| catalog.kind().tokens()).map(|tokens| tokens.item) {
            Some("document") if self.view_of_tokens.sequence_length.is_some() => "window",
            item => item.unwrap_or("sample"),
        }
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

impl Screen for BrowseScreen {
    fn context(&self) -> Context {
        match self.state.pane {
            _ if self.prompt.is_some() => Context::BrowseText,
            _ if self.form.as_ref().is_some_and(FilterForm::wants_text) => Context::FormText,
            _ if self.form.is_some() => Context::Form,
            Pane::Detail if self.state.is_reading => Context::BrowseReader,
            Pane::Detail => Context::BrowseDetail,
            _ => Context::Browse,
        }
    }

    fn title(&self) -> Vec<String> {
        vec!["browse".to_owned(), self.name()]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.handle_input(input);
        self.request_data();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        self.gather(effects)
    }

    fn is_busy(&self) -> bool {
        match &self.stage {
            OpenStage::Opening => true,
            OpenStage::Open(catalog, workers) => {
                !self.state.groups.is_complete && !catalog.is_idle()
                    || self.is_searching()
                    || self.is_filtering()
                    || workers.detail.is_waiting()
                    || self.leads.is_busy()
                    || self.exporter.is_busy()
                    || self.marker.is_busy()
                    || self.lister.is_busy()
                    || self.mounter.is_busy()
            }
            OpenStage::Failed(_) => false,
        }
    }

    fn failure(&self) -> Option<&Failure> {
        match &self.stage {
            OpenStage::Failed(failure) => Some(failure),
            OpenStage::Opening | OpenStage::Open(..) => None,
        }
    }

    fn unwritten(&self) -> Option<String> {
        self.session.as_ref().and_then(SplitSession::unwritten)
    }

    fn closing(&mut self) {
        if let Some(session) = &self.session {
            session.keep_now();
        }
    }

    fn wants_text(&self) -> bool {
        self.prompt.is_some() || self.form.as_ref().is_some_and(FilterForm::wants_text)
    }

    fn status_right(&self) -> Option<String> {
        let OpenStage::Open(..) = &self.stage else { return None };
        let groups = &self.state.groups;
        let mut words = match self.catalog().and_then(|catalog| catalog.tokens()).and_then(|set| set.all_windows()) {
            Some((windows, 0)) => vec![count(windows, self.row_word())],
            Some((windows, rest)) => {
                vec![count(windows, self.row_word()), format!("{} left over", count(rest, "token"))]
            }
            None => vec![count(groups.total(), self.row_word())],
        };
        if !groups.is_complete {
            let done = groups.groups.iter().filter(|group| group.is_counted).count();
            let share = format!("{}/{}", grouped(done as u64), grouped(groups.groups.len() as u64));
            words.insert(
                0,
                match !groups.groups.is_empty() && self.catalog().is_some_and(|catalog| is_remote(catalog.root())) {
                    // In a store, only the shards that the user opens are scanned.
                    true => format!("{share} {}s scanned", self.group_word()),
                    false => format!("scanning {share}"),
                },
            );
        }
        let problems = count_known(&self.problems, groups);
        words.extend((problems > 0).then(|| count(problems, "problem")));
        words.extend(self.edit_words(&self.write_key));
        Some(words.join("  "))
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "apply",
            Action::MoveTo => "split",
            Action::LoaderView if self.is_tokens() => {
                if self.view_of_tokens.sequence_length.is_some() {
                    "documents"
                } else {
                    "windows"
                }
            }
            Action::FindKey if self.is_tokens() => "find text or ids",
            Action::Toggle if self.form.is_none() => "fold",
            Action::Read => self.read_label(),
            action => action.label(),
        }
    }

    fn number_label(&self) -> Option<&'static str> {
        let has_samples = self.state.groups.total() > 0 && self.prompt.is_none() && self.form.is_none();
        has_samples.then_some("go to sample")
    }

    fn take_number(&mut self, number: u64) -> Vec<Effect> {
        let effects = self.go_to_number(number);
        self.request_data();
        effects
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        self.disabled_reason(action)
    }

    fn interrupt(&mut self) -> bool {
        let was_searching = self.is_searching() || self.is_filtering();
        if let Some(workers) = self.workers() {
            workers.stop_finding();
            workers.stop_filter();
        }
        was_searching
    }

    fn resumed(&mut self) {
        self.exporter.release_copy();
        if let Some(at) = self.chosen.take() {
            self.state.go_to(at);
            self.state.pane = Pane::Samples;
        }
        self.request_data();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.write_key = ui.key(Context::Browse, Action::Write);
        self.draw_all(frame, area, ui);
        let wanted = self.pixels.take_requests();
        if !wanted.is_empty() {
            self.encoder.submit(wanted);
        }
        self.request_data();
    }
}
