//! The list of the parts of samples, in which the user chooses the parts to write: number of samples and bytes of each.

use super::inputs::plan_of;
use crate::tui::form::{Field, Form, MouseTarget};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, heading};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::{split_bar, text, ListState};
use gristmill_core::options::Answer;
use gristmill_core::text::{bytes, count, display_safe, percent};
use gristmill_core::ShardPlan;
use gristmill_ops::shard::examples::{PartShare, PartTally};
use gristmill_ops::shard::sample_types::is_part_written;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::PathBuf;

pub(super) const PARTS: Field = Field::List("parts");
/// Columns of the bar of a part.
const BAR_COLUMNS: usize = 10;
/// Maximum height of the list in rows.
const MAX_ROWS: usize = 8;
const MIN_ROWS: usize = 2;
/// Maximum width of the name of a part, in columns.
const MAX_NAME_COLUMNS: usize = 16;

/// The parts of the last preview, the most frequent first. They stay while the next preview is computed.
#[derive(Default)]
pub(super) struct PartList {
    inputs: Vec<PathBuf>,
    samples: u64,
    pub(super) shares: Vec<PartShare>,
    unlisted: u64,
    pub(super) list: ListState,
}

impl PartList {
    /// Sets the parts to those of a preview; removes them if the inputs have changed.
    pub(super) fn update(&mut self, plan: &ShardPlan, tally: Option<&PartTally>) {
        if let Some(tally) = tally {
            (self.samples, self.shares, self.unlisted) = (tally.samples(), tally.shares(), tally.unlisted());
        } else if plan.inputs != self.inputs {
            self.shares.clear();
        }
        self.inputs.clone_from(&plan.inputs);
        self.list.set_len(self.shares.len());
    }

    /// Returns the number of rows of the list if `free` rows are available, including its heading and a blank row.
    pub(super) fn rows(&self, free: usize) -> usize {
        match self.shares.len().min(MAX_ROWS).min(free.saturating_sub(2)) {
            rows if rows < MIN_ROWS.min(self.shares.len()) => 0,
            rows => rows + 2,
        }
    }

    /// Toggles whether the selected part is written.
    pub(super) fn toggle(&self, form: &mut Form) {
        let Some(part) = self.list.get().and_then(|at| self.shares.get(at)) else { return };
        let choice = plan_of(form).choice;
        let (name, mut kept, mut dropped) = (part.name.clone(), choice.keep_parts, choice.drop_parts);
        let without = |names: &mut Vec<String>| names.retain(|known| *known != name);
        if is_part_written(&plan_of(form), &name) {
            // An empty list of parts to keep would mean all parts.
            match kept.as_slice() {
                [] | [_] => dropped.push(name.clone()),
                _ => without(&mut kept),
            }
        } else {
            without(&mut dropped);
            if !kept.is_empty() && !kept.contains(&name) {
                kept.push(name.clone());
            }
        }
        for (option, names) in [("keep-parts", kept), ("drop-parts", dropped)] {
            form.answer(option, &if names.is_empty() { Answer::Unset } else { Answer::List(names) });
        }
    }

    /// Draws the parts, with a heading.
    pub(super) fn draw(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        let more = if self.unlisted > 0 {
            format!(", and {}", count(self.unlisted, "part of other names"))
        } else {
            String::new()
        };
        let title = format!("Parts of {}{more}", count(self.samples, "sample"));
        draw_lines(frame.buffer_mut(), area, [heading(&title, ui)]);
        let area = Rect { height: area.height.saturating_sub(2), ..below(area, 1) };
        form.mouse_areas.add(area, MouseTarget::Field(PARTS));
        let (plan, samples, shares) = (plan_of(form), self.samples, &self.shares);
        let widest = shares.iter().map(|share| text::width(&display_safe(&share.name))).max().unwrap_or_default();
        let columns = widest.clamp(4, MAX_NAME_COLUMNS);
        draw_list(frame.buffer_mut(), area, &mut self.list, form.is_focused(PARTS), ui, |at, _| {
            shares.get(at).map_or_else(Line::default, |share| {
                part_line(share, samples, is_part_written(&plan, &share.name), columns, ui)
            })
        });
    }
}

fn part_line(part: &PartShare, samples: u64, is_on: bool, room: usize, ui: &Ui) -> Line<'static> {
    let share = part.samples as f64 / samples.max(1) as f64;
    let name = text::pad_end(&text::fit_end(&display_safe(&part.name), room, ui.glyphs), room);
    let figures = format!(" {:>7} {:>11} ", percent(share), bytes(part.bytes));
    let (sign, style) = if is_on { (ui.glyphs.box_on, ui.theme.text) } else { (ui.glyphs.box_off, ui.theme.muted) };
    Line::from(vec![
        Span::styled(format!("{sign} {name}{figures}"), style),
        Span::styled(split_bar(share, BAR_COLUMNS, ui.glyphs), ui.theme.bar(0)),
    ])
}
