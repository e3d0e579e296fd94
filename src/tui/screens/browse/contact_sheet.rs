//! The contact sheet: a grid of randomly drawn samples. The same seed draws the same samples.

use super::listing::Listing;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::splits::Prompt;
use crate::tui::widgets::layout::below;
use crate::tui::widgets::preview::{draw_short, is_picture, Pixels};
use crate::tui::widgets::{text, Gesture, MouseAreas};
use crate::tui::work::Stream;
use gristmill_core::text::grouped;
use gristmill_core::Cancel;
use gristmill_data::preview::cells::Depth;
use gristmill_data::preview::{self, Drawable, PartPreview};
use gristmill_ops::engine::browse::{random, BrowseSample, Catalog, Groups, Matches, SampleAt};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Size of a grid cell in columns and rows, including its margin.
const CELL: (u16, u16) = (26, 9);
/// Maximum number of samples on a sheet.
const MAX_SAMPLES: usize = 60;

/// A sample on the sheet.
struct Thumbnail {
    sample: BrowseSample,
    preview: Option<Arc<PartPreview>>,
}

/// The contact sheet screen.
pub struct ContactSheet {
    crumbs: Vec<String>,
    groups: Arc<Groups>,
    matches: Option<Arc<Matches>>,
    seed: u64,
    drawn: Vec<SampleAt>,
    thumbs: HashMap<SampleAt, Result<Thumbnail, String>>,
    selected: usize,
    columns: usize,
    worker: Stream<SampleAt, (SampleAt, Result<Thumbnail, String>)>,
    pixels: Pixels,
    depth: Depth,
    mouse_areas: MouseAreas<usize>,
    /// The sample to go to when the sheet is closed.
    chosen: Rc<Cell<Option<SampleAt>>>,
    /// The seed typed into the popup over the sheet.
    typed: Rc<RefCell<Option<u64>>>,
    cancel: Cancel,
}

/// Input of a contact sheet.
pub struct SheetSource {
    /// Source of the samples.
    pub catalog: Arc<dyn Catalog>,
    /// Which samples are listed.
    pub listing: Listing,
    /// Name of the part that is shown.
    pub part: Option<Arc<str>>,
    /// Seed of the random draw.
    pub seed: u64,
    /// Title line of the browser.
    pub crumbs: Vec<String>,
    /// Colour depth for drawing pictures as cells.
    pub depth: Depth,
    /// Receives the chosen sample.
    pub chosen: Rc<Cell<Option<SampleAt>>>,
}

impl ContactSheet {
    /// Creates a sheet of the listed samples.
    pub fn new(source: SheetSource, env: &UiEnv) -> Self {
        let cancel = Cancel::default();
        let (catalog, part, stop) = (Arc::clone(&source.catalog), source.part, cancel.clone());
        let worker = Stream::start("browse-sheet", env.wake.clone(), move |at| {
            (at, read_thumbnail(catalog.as_ref(), at, part.as_deref(), &stop))
        });
        let matches = match source.listing {
            Listing::All => None,
            Listing::Picked(matches) => Some(matches),
        };
        let mut sheet = Self {
            crumbs: source.crumbs,
            groups: source.catalog.groups(),
            matches,
            seed: source.seed,
            drawn: Vec::new(),
            thumbs: HashMap::new(),
            selected: 0,
            columns: 1,
            worker,
            pixels: Pixels::default(),
            depth: source.depth,
            mouse_areas: MouseAreas::default(),
            chosen: source.chosen,
            typed: Rc::default(),
            cancel,
        };
        sheet.draw_samples();
        sheet
    }

    /// Draws the samples that the seed selects.
    fn draw_samples(&mut self) {
        self.drawn = random::distinct(&self.groups, self.matches.as_deref(), self.seed, MAX_SAMPLES);
        self.thumbs.clear();
        self.selected = 0;
        self.worker.set_questions(self.drawn.clone());
    }

    fn accept(&self) -> Vec<Effect> {
        self.chosen.set(self.drawn.get(self.selected).copied());
        vec![Effect::Pop]
    }

    fn step(&mut self, by: isize) {
        let last = self.drawn.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    fn prompt_for_seed(&self) -> Vec<Effect> {
        let typed = Rc::clone(&self.typed);
        let accept = move |words: &str| {
            let seed = super::prompt::number(words).ok_or("a whole number is needed")?;
            *typed.borrow_mut() = Some(seed);
            Ok(Vec::new())
        };
        let line = "The same seed draws the same samples of the same data set.";
        vec![Effect::Push(Box::new(Prompt::new("Seed", line, &self.seed.to_string(), "a whole number", accept)))]
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        let row = isize::try_from(self.columns).unwrap_or(1);
        match action {
            Action::Close => return vec![Effect::Pop],
            Action::Accept => return self.accept(),
            Action::SetSeed => return self.prompt_for_seed(),
            Action::NewSeed => {
                self.seed = super::state::scrambled(self.seed.wrapping_add(1)) % 1_000_000;
                self.draw_samples();
            }
            Action::Left => self.step(-1),
            Action::Right => self.step(1),
            Action::Up => self.step(-row),
            Action::Down => self.step(row),
            Action::PageUp | Action::HalfUp => self.step(-row * 2),
            Action::PageDown | Action::HalfDown => self.step(row * 2),
            Action::First => self.selected = 0,
            Action::Last => self.selected = self.drawn.len().saturating_sub(1),
            _ => {}
        }
        Vec::new()
    }

    fn draw_cell(&mut self, frame: &mut Frame, area: Rect, index: usize, ui: &Ui) {
        let Some(at) = self.drawn.get(index).copied() else { return };
        let columns = usize::from(area.width);
        let number = format!("#{}", grouped(self.groups.number(at)));
        let (title, style) = match self.thumbs.get(&at) {
            Some(Ok(thumb)) => (thumb.sample.key.to_string(), ui.theme.text),
            Some(Err(_)) => (number, ui.theme.warn),
            None => (number, ui.theme.muted),
        };
        let is_selected = index == self.selected;
        let marker = if is_selected { ui.glyphs.marker } else { " " };
        let title = text::fit_middle(&title, columns.saturating_sub(2), ui.glyphs);
        let style = if is_selected { ui.theme.selected } else { style };
        let head = text::pad_end(&format!("{marker} {title}"), columns);
        frame.render_widget(Line::from(Span::styled(head, style)), Rect { height: 1, ..area });
        let body = below(area, 1);
        match self.thumbs.get(&at) {
            Some(Ok(Thumbnail { preview: Some(preview), .. })) => match &preview.body {
                Drawable::Picture(picture) => {
                    self.pixels.draw(frame.buffer_mut(), body, picture, self.depth);
                }
                other => draw_short(frame.buffer_mut(), body, other, ui),
            },
            Some(Ok(_)) => {}
            Some(Err(why)) => {
                let lines = text::wrap(&format!("{} {why}", ui.glyphs.warn), columns).into_iter();
                let lines = lines.map(|line| Line::from(Span::styled(line, ui.theme.warn)));
                crate::tui::widgets::layout::draw_lines(frame.buffer_mut(), body, lines);
            }
            None => {
                let line = Line::from(Span::styled(ui.glyphs.ellipsis, ui.theme.muted));
                frame.render_widget(line, Rect { height: 1.min(body.height), ..body });
            }
        }
    }
}

/// Reads the thumbnail of a sample: its picture if it has one, otherwise the shown part.
fn read_thumbnail(
    catalog: &dyn Catalog,
    at: SampleAt,
    part: Option<&str>,
    cancel: &Cancel,
) -> Result<Thumbnail, String> {
    let sample = catalog.samples(at, 1, cancel).map_err(|failure| failure.why)?.pop().ok_or("it no longer exists")?;
    let named = part.and_then(|name| sample.parts.iter().position(|part| &*part.name == name));
    let picture = || sample.parts.iter().position(|part| is_picture(&part.name));
    let index = named.or_else(picture).unwrap_or(0);
    let preview = sample.parts.get(index).map(|part| {
        let bytes = super::detail::PartBeginning { catalog, sample: &sample, part: index };
        Arc::new(preview::part(&part.name, &bytes, cancel))
    });
    Ok(Thumbnail { sample, preview })
}

impl Drop for ContactSheet {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Screen for ContactSheet {
    fn context(&self) -> Context {
        Context::BrowseSheet
    }

    fn title(&self) -> Vec<String> {
        self.crumbs.clone()
    }

    fn status_right(&self) -> Option<String> {
        let of = self.matches.as_ref().map_or_else(|| self.groups.total(), |matches| matches.total());
        Some(format!("seed {}  {} of {}", self.seed, self.drawn.len(), grouped(of)))
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Accept => "go there",
            action => action.label(),
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => self.handle_action(action),
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(Gesture::Click { on, .. }) => {
                    self.selected = on;
                    Vec::new()
                }
                Some(Gesture::DoubleClick { .. }) => self.accept(),
                Some(Gesture::Wheel { rows, .. }) => {
                    let row = isize::try_from(self.columns).unwrap_or(1);
                    self.step(row * rows.signum());
                    Vec::new()
                }
                None => Vec::new(),
            },
            Input::Key(_) | Input::Paste(_) => Vec::new(),
        }
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let typed = self.typed.borrow_mut().take();
        if let Some(seed) = typed {
            self.seed = seed;
            self.draw_samples();
        }
        let came = self.worker.take();
        let changed = !came.is_empty() || typed.is_some();
        self.thumbs.extend(came);
        changed
    }

    fn is_busy(&self) -> bool {
        self.thumbs.len() < self.drawn.len() || self.typed.borrow().is_some()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.mouse_areas.clear();
        let (columns, rows) = ((area.width / CELL.0).max(1), (area.height / CELL.1).max(1));
        self.columns = usize::from(columns);
        let (width, height) = (area.width / columns, area.height / rows);
        let in_view = usize::from(columns) * usize::from(rows);
        if self.drawn.is_empty() {
            let line = Line::from(Span::styled("   there is no sample to draw", ui.theme.muted));
            return frame.render_widget(line, Rect { height: 1.min(area.height), ..area });
        }
        let first = self.selected / self.columns;
        let first = first.saturating_sub(usize::from(rows) - 1) * self.columns;
        for (place, index) in (first..self.drawn.len()).take(in_view).enumerate() {
            let (x, y) = (place % self.columns, place / self.columns);
            let to_u16 = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
            let cell = Rect {
                x: area.x.saturating_add(to_u16(x).saturating_mul(width)),
                y: area.y.saturating_add(to_u16(y).saturating_mul(height)),
                width: width.saturating_sub(1),
                height: height.saturating_sub(1).max(1),
            };
            let cell = cell.intersection(area);
            self.mouse_areas.add(cell, index);
            self.draw_cell(frame, cell, index, ui);
        }
    }
}
