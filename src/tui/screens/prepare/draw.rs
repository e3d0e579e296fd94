//! Draws the guided prepare: what is around the step, and the step.

use super::spots::{ClickTarget, ClickTargets};
use super::state::Wizard;
use super::step::Step;
use super::{field_map, media, review, sample_type, source, splits};
use crate::tui::guided::frame::{self, RailRow, StepMark};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::below;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::Frame;

/// Columns of the list of steps.
const RAIL_WIDTH: u16 = 18;

/// Values that drawing needs in addition to the state.
#[derive(Clone, Copy)]
pub struct DrawContext<'a> {
    /// Styles, glyphs, keys.
    pub ui: &'a Ui<'a>,
    /// The step has the focus, not the list of steps.
    pub focused: bool,
    /// Shards are being read at this moment.
    pub is_scanning: bool,
    /// The colours of pictures in cells.
    pub depth: gristmill_ops::preview::cells::Depth,
    /// Areas of the fields, for the mouse.
    pub spots: &'a ClickTargets,
}

/// Draws the whole guided prepare. Returns where the rows of the list of steps are, for the mouse.
pub fn draw(wizard: &mut Wizard, frame: &mut Frame, area: Rect, look: &DrawContext) -> Rect {
    let ui = look.ui;
    let (mut rail, pane) = frame::divide(area, RAIL_WIDTH);
    let look = DrawContext { focused: wizard.rail.is_none(), is_scanning: wizard.is_scanning, ..*look };
    let title = match rail.is_empty() {
        false => wizard.step.title().to_owned(),
        true => {
            let shown = wizard.rail.unwrap_or(wizard.step);
            let key = wizard.rail.map(|_| ui.key(Context::PrepareRail, Action::Accept));
            frame::narrow_title(shown.title(), shown.index(), Step::ALL.len(), key.as_deref())
        }
    };
    if !rail.is_empty() {
        let rows = Step::ALL.map(|step| rail_row(wizard, step));
        rail = frame::draw_rail(frame.buffer_mut(), rail, &rows, wizard.rail.map(Step::index), ui);
    }
    let mut inner = frame::draw_pane(frame, pane, &title, look.focused, ui);
    if let Some(line) = draft_line(wizard, ui) {
        line.render(Rect { height: 1, ..inner }.intersection(inner), frame.buffer_mut());
        inner = below(inner, 1);
    }
    look.spots.clear();
    if wizard.step == Step::Review {
        look.spots.put(inner, ClickTarget::Page);
    }
    match wizard.step {
        Step::Source => source::view::draw(&mut wizard.source, frame, inner, &wizard.answers, &look),
        Step::Splits => splits::view::draw(&mut wizard.splits, frame, inner, &wizard.answers, &look),
        Step::SampleType => sample_type::view::draw(&mut wizard.sample_type, frame, inner, &wizard.answers, &look),
        Step::FieldMap => field_map::view::draw(&mut wizard.field_map, frame, inner, &wizard.answers, &look),
        Step::Media => media::view::draw(&mut wizard.media, frame, inner, &wizard.answers, &look),
        Step::Review => review::view::draw(&mut wizard.review, frame, inner, &wizard.answers, &look),
    }
    rail
}

fn draft_line(wizard: &Wizard, ui: &Ui) -> Option<Line<'static>> {
    if let Some(words) = wizard.continues() {
        return Some(Line::from(vec![
            Span::styled(format!("{} ", ui.glyphs.arrow), ui.theme.accent),
            Span::raw(words),
        ]));
    }
    let draft = wizard.draft.as_ref().filter(|_| !wizard.is_dirty)?;
    let words = format!("your answers of {} are back.", frame::age(draft.age));
    // In a text field a letter is a letter.
    let context = if wizard.context() == Context::PrepareText { Context::PrepareText } else { Context::Prepare };
    Some(frame::draft_line(&words, ui.key(context, Action::StartAfresh), ui))
}

fn rail_row(wizard: &Wizard, step: Step) -> RailRow {
    let standing = match (step == wizard.step, wizard.is_broken(step)) {
        (true, true) => StepMark::HereBroken,
        (true, false) => StepMark::Here,
        (false, _) if wizard.is_skipped(step) => StepMark::Skipped,
        (false, true) => StepMark::Broken,
        (false, false) if wizard.answered[step.index()] => StepMark::Answered,
        (false, false) => StepMark::Open,
    };
    RailRow { title: step.title(), standing, is_disabled: wizard.why_not(step).is_some() }
}
