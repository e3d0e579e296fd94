//! The dialog that moves or excludes shards by a pattern; it shows the matches while the user types.

use super::lookup_dialog::{failure_lines, LookupDialog, LookupResult, Rows};
use super::move_dialog::choose_target;
use super::session::SplitSession;
use super::state::{column_name, columns};
use crate::tui::screen::{Effect, Ui};
use crate::tui::widgets::layout::{draw_lines, row};
use crate::tui::widgets::popup::{growing_popup, text_columns};
use crate::tui::widgets::{padded, text, TextField};
use gristmill_core::text::{count, grouped};
use gristmill_core::Outcome;
use gristmill_ops::engine::splits::{matching, SplitEditor};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

/// Width of the dialog in columns and its maximum height in rows, including its border.
const SIZE: (u16, u16) = (76, 18);

/// The matches of a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchedShards {
    /// The shards in the order of the data set, and the number of samples of each.
    pub shards: Vec<(Arc<str>, u64)>,
    /// Number of matched shards in each split.
    pub by_split: Vec<(String, usize)>,
}

impl MatchedShards {
    /// Returns the matches of a pattern; fails if the pattern is invalid or matches nothing.
    pub fn of(editor: &SplitEditor, pattern: &str) -> Outcome<Self> {
        let found = matching(editor, pattern)?;
        let all = editor.shards();
        let is_found: std::collections::HashSet<u32> = found.iter().filter_map(|id| u32::try_from(*id).ok()).collect();
        let in_split = |shards: &[gristmill_ops::engine::splits::ShardView]| {
            shards.iter().filter(|shard| shard.id.is_some_and(|id| is_found.contains(&id))).count()
        };
        let by_split = columns(editor).map(|view| (column_name(view).to_owned(), in_split(&view.shards)));
        let by_split = by_split.filter(|(_, shards)| *shards > 0).collect();
        Ok(Self { shards: found.iter().filter_map(|id| all.get(*id).cloned()).collect(), by_split })
    }
}

/// Opens the dialog with an empty pattern.
pub fn dialog(session: SplitSession) -> LookupDialog<MatchedShards> {
    LookupDialog::new(session, "pattern", "", MatchedShards::of)
}

impl LookupResult for MatchedShards {
    const ACCEPT: &'static str = "move or exclude them";

    fn rows(&self) -> usize {
        self.shards.len()
    }

    fn accept(typed: &mut LookupDialog<Self>) -> Result<Vec<Effect>, String> {
        match typed.now() {
            None if typed.field.is_empty() => Err("type a pattern first".to_owned()),
            None => Err("still looking".to_owned()),
            Some(Err(failure)) => Err(failure.why.clone()),
            Some(Ok(matched)) => {
                let shards = matched.shards.iter().map(|(name, _)| Arc::clone(name)).collect();
                Ok(choose_target(typed.session(), shards, None, true))
            }
        }
    }

    fn draw(typed: &mut LookupDialog<Self>, frame: &mut Frame, area: Rect, ui: &Ui) {
        let (field, found, rows) = typed.drawn();
        draw(field, found, rows, frame, area, ui);
    }
}

/// Draws the dialog.
pub fn draw(
    field: &TextField,
    found: Option<&Outcome<MatchedShards>>,
    rows: &mut Rows,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    let columns = text_columns(area, SIZE.0);
    let muted = |words: &str| vec![Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted))];
    let lines = match found {
        None if field.is_empty() => muted("what it matches is shown here, before anything is moved"),
        None => muted(&format!("{} looking", ui.spinner())),
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(matched)) => {
            vec![Line::from(Span::styled(text::fit_end(&matched_words(matched), columns, ui.glyphs), ui.theme.ok))]
        }
    };
    let used = lines.len() + 1;
    let height = rows.height(used, SIZE.1);
    let inner = growing_popup(frame, area, (SIZE.0, height, SIZE.1), "Shards by pattern", ui);
    let text_area = padded(inner);
    field.draw(frame, row(text_area, 0), true, "a regular expression from the start of the name: shard_00[01].*", ui);
    for (at, line) in lines.into_iter().enumerate() {
        draw_lines(frame.buffer_mut(), row(text_area, at + 1), [line]);
    }
    let used = u16::try_from(used).unwrap_or(u16::MAX).min(inner.height);
    let below = Rect { y: inner.y + used, height: inner.height - used, ..inner };
    let Some(Ok(matched)) = found else { return };
    rows.draw(frame, below, ui, |at, columns| {
        let Some((name, samples)) = matched.shards.get(at) else { return Line::default() };
        let samples = grouped(*samples);
        let room = columns.saturating_sub(samples.len() + 2);
        let name = text::pad_end(&text::fit_middle(name, room, ui.glyphs), room);
        Line::from(vec![Span::raw(format!("{name} ")), Span::styled(samples, ui.theme.muted)])
    });
}

fn matched_words(matched: &MatchedShards) -> String {
    let parts: Vec<String> =
        matched.by_split.iter().map(|(name, shards)| format!("{} in {name}", grouped(*shards as u64))).collect();
    format!("{}: {}", count(matched.shards.len() as u64, "shard"), parts.join(", "))
}
