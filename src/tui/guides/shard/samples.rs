//! Three samples as they will be written: keys, parts and their sources, and a picture or text of each.

use crate::tui::screen::{Ui, UiEnv};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::layout::{below, draw_lines, heading};
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::preview::{draw_short, is_picture, Pixels};
use crate::tui::widgets::text;
use crate::tui::work::Stoppable;
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{Outcome, ShardPlan};
use gristmill_data::preview::cells::Depth;
use gristmill_data::preview::{self, Drawable, PartBytes, PartPreview};
use gristmill_ops::shard::examples::{FuturePart, FutureSample, PartContent};
use gristmill_ops::shard::ShardReport;
use gristmill_storage::files::absolute;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of shown parts of a sample.
const SHOWN_PARTS: usize = 4;
/// Minimum width of the names of parts, in columns; longer names get up to a third of the line.
const NAME_COLUMNS: usize = 9;
/// Minimum height of a picture or text in rows.
const MIN_PREVIEW_ROWS: usize = 2;
const MAX_PREVIEW_ROWS: usize = 8;
/// Maximum number of cached pictures and texts.
const MAX_PREVIEWS: usize = 32;

type PartSample = (FuturePart, Arc<PartPreview>);

/// Pictures and texts of samples, read by a worker and cached.
pub(super) struct SamplePreviews {
    reader: Stoppable<Vec<FuturePart>, Vec<PartSample>>,
    requested: Vec<FuturePart>,
    pub(super) known: Vec<PartSample>,
    pixels: Pixels,
    depth: Depth,
}

/// The content of a part, as a byte source for the preview.
struct FutureBytes<'a>(&'a FuturePart);

impl PartBytes for FutureBytes<'_> {
    fn len(&self) -> u64 {
        match &self.0.content {
            PartContent::Bytes(bytes) => bytes.len() as u64,
            _ => self.0.bytes,
        }
    }

    fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        self.0.read(from, limit)
    }
}

impl SamplePreviews {
    /// Starts the worker.
    pub(super) fn start(env: &UiEnv) -> Self {
        let reader = Stoppable::start("samples", env.wake.clone(), |parts: Vec<FuturePart>, cancel| {
            let _waits = cancel.begin_wait_scope();
            let look = |part: FuturePart| {
                let preview = Arc::new(preview::part(&part.name, &FutureBytes(&part), cancel));
                (part, preview)
            };
            parts.into_iter().map(look).collect()
        });
        let variable = |name: &str| env.variable(name);
        let colours = env.colour != ColourMode::None;
        let depth = Depth::detect(colours, env.ascii, variable("TERM").as_deref(), variable("COLORTERM").as_deref());
        Self { reader, requested: Vec::new(), known: Vec::new(), pixels: Pixels::default(), depth }
    }

    /// Requests the content of these parts, except of those that are cached.
    pub(super) fn request_parts(&mut self, mut parts: Vec<FuturePart>) {
        parts.retain(|part| !self.known.iter().any(|(known, _)| known == part));
        if !parts.is_empty() && parts != self.requested {
            self.requested.clone_from(&parts);
            self.reader.submit(parts);
        }
    }

    /// Adds the results of the worker; returns whether there were any.
    pub(super) fn apply_results(&mut self) -> bool {
        let Some(read) = self.reader.take() else { return false };
        self.known.extend(read);
        self.known.drain(..self.known.len().saturating_sub(MAX_PREVIEWS));
        true
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, part: &FuturePart, ui: &Ui) {
        let found = self.known.iter().find(|(known, _)| known == part);
        match found.map(|(_, preview)| &preview.body) {
            Some(Drawable::Picture(picture)) => _ = self.pixels.draw(buffer, area, picture, self.depth),
            Some(other) => draw_short(buffer, area, other, ui),
            None => {}
        }
    }
}

/// Returns the part whose content is shown: a picture, or else a text.
pub(super) fn preview_part(sample: &FutureSample) -> Option<&FuturePart> {
    let is_text = |part: &&FuturePart| {
        let extension = part.name.rsplit('.').next().unwrap_or_default();
        ["txt", "text", "caption", "json", "cls"].contains(&extension)
    };
    let mut parts = sample.parts.iter().filter(|part| part.content != PartContent::Unknown);
    let picture = parts.clone().find(|part| is_picture(&part.name));
    picture.or_else(|| parts.find(is_text))
}

/// Returns the shown samples with their titles.
pub(super) fn shown_samples(report: &ShardReport, random: usize) -> Vec<(&'static str, &FutureSample)> {
    let examples = &report.examples;
    let random = match examples.random.len() {
        0 => None,
        length => examples.random.get(random % length),
    };
    let shown =
        [("First sample", examples.first.as_ref()), (RANDOM, random), ("Largest sample", examples.largest.as_ref())];
    shown.into_iter().filter_map(|(title, sample)| Some((title, sample?))).collect()
}

const RANDOM: &str = "Random sample";

/// Values for drawing samples.
pub(super) struct SampleTexts<'a> {
    /// The plan; paths are shown relative to its inputs.
    pub(super) plan: ShardPlan,
    /// The key that shows another random sample.
    pub(super) key: String,
    /// Styles, characters and keys.
    pub(super) ui: &'a Ui<'a>,
}

impl SampleTexts<'_> {
    pub(super) fn lines(&self, shown: &[(&str, &FutureSample)], columns: usize) -> Vec<Line<'static>> {
        let lines = shown.iter().flat_map(|(title, sample)| {
            let end = std::iter::once(Line::default());
            self.one_sample(title, sample, columns).into_iter().chain(end)
        });
        lines.collect()
    }

    /// Draws samples below each other with their pictures or texts, as many as fit.
    pub(super) fn draw(
        &self,
        shown: &[(&str, &FutureSample)],
        looks: &mut SamplePreviews,
        buffer: &mut Buffer,
        area: Rect,
    ) {
        let columns = usize::from(area.width);
        let texts: Vec<_> = shown.iter().map(|(title, sample)| self.one_sample(title, sample, columns)).collect();
        let rows: usize = texts.iter().map(|lines| lines.len() + 1).sum();
        let free = usize::from(area.height).saturating_sub(rows) / shown.len().max(1);
        let look_rows = if free < MIN_PREVIEW_ROWS { 0 } else { free.min(MAX_PREVIEW_ROWS) };
        let mut rest = area;
        for (lines, (_, sample)) in texts.into_iter().zip(shown) {
            let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
            draw_lines(buffer, rest, lines);
            rest = below(rest, height);
            if let Some(part) = preview_part(sample).filter(|_| look_rows > 0) {
                let place = Rect { height: u16::try_from(look_rows).unwrap_or_default().min(rest.height), ..rest };
                looks.draw(buffer, place, part, self.ui);
                rest = below(rest, place.height);
            }
            rest = below(rest, 1);
        }
    }

    fn one_sample(&self, title: &str, sample: &FutureSample, columns: usize) -> Vec<Line<'static>> {
        let ui = self.ui;
        let title = match title {
            RANDOM => format!("{title}, {} takes another", self.key),
            title => title.to_owned(),
        };
        let mut lines = vec![heading(&title, ui)];
        let key = text::fit_middle(&display_safe(&sample.key), columns, ui.glyphs);
        lines.extend(wrapped(&key, columns, ui.theme.accent));
        let shown = || sample.parts.iter().take(SHOWN_PARTS);
        let longest = shown().map(|part| text::width(&display_safe(&part.name))).max().unwrap_or_default();
        let name_columns = longest.clamp(NAME_COLUMNS, NAME_COLUMNS.max(columns / 3));
        for part in shown() {
            let name = text::fit_end(&display_safe(&part.name), name_columns, ui.glyphs);
            let name = text::pad_end(&name, name_columns);
            let size = text::pad_start(&bytes(part.bytes), 9);
            let from = match part.from.as_str() {
                "" => "from the row".to_owned(),
                path => {
                    let path = display_safe(below_input(&self.plan, path));
                    text::fit_middle(&path, columns.saturating_sub(name_columns + 12), ui.glyphs)
                }
            };
            lines.push(Line::from(vec![Span::raw(format!(" {name}{size} ")), Span::styled(from, ui.theme.muted)]));
        }
        if let Some(more) = sample.part_count.checked_sub(SHOWN_PARTS as u64).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!(" and {}", count(more, "more part")), ui.theme.muted)));
        }
        lines
    }
}

/// Returns a path relative to the input that contains it, or to the folder of that input; the whole path if there is none.
fn below_input<'a>(plan: &ShardPlan, path: &'a str) -> &'a str {
    let below = |input: &PathBuf| {
        let input = absolute(input).ok()?;
        let folders = [Some(input.as_path()), input.parent()];
        let mut inside = folders.into_iter().flatten().filter_map(|folder| Path::new(path).strip_prefix(folder).ok());
        inside.find(|inside| !inside.as_os_str().is_empty())?.to_str()
    };
    plan.inputs.iter().find_map(below).unwrap_or(path)
}
