//! The dialog that balances the splits: the user types ratios, and the resulting splits are shown before any shard is moved.

use super::lookup_dialog::{failure_lines, LookupDialog, LookupResult, Rows};
use super::session::SplitSession;
use crate::tui::screen::{Effect, Ui};
use crate::tui::widgets::layout::{draw_lines, row};
use crate::tui::widgets::popup::{growing_popup, text_columns};
use crate::tui::widgets::{padded, split_bar, text, TextField};
use gristmill_core::text::{count, grouped, percent};
use gristmill_core::Outcome;
use gristmill_ops::engine::splits::{balance, parse_ratios, Balance, BalanceShare, SplitEditor};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Width of the dialog in columns and its maximum height in rows, including its border.
const SIZE: (u16, u16) = (80, 20);

/// Opens the dialog with the current ratios of the splits, rounded.
pub fn dialog(session: SplitSession) -> LookupDialog<Balance> {
    let ratios = session.editor().map(|editor| approximate_ratios(&editor)).unwrap_or_default();
    LookupDialog::new(session, "balance", &ratios, |editor, typed| {
        parse_ratios(editor, typed).map(|ratios| balance(editor, &ratios))
    })
}

impl LookupResult for Balance {
    const ACCEPT: &'static str = "move them";

    fn rows(&self) -> usize {
        self.moves.len()
    }

    fn accept(typed: &mut LookupDialog<Self>) -> Result<Vec<Effect>, String> {
        let edit = match typed.now() {
            None if typed.field.is_empty() => return Err("type the ratios first".to_owned()),
            None => return Err("still counting".to_owned()),
            Some(Err(failure)) => return Err(failure.why.clone()),
            Some(Ok(balance)) => balance.edit(),
        };
        let edit = edit.ok_or("there is nothing to move: no move of a whole shard comes nearer to it")?;
        Ok(typed.session().apply(edit))
    }

    fn draw(typed: &mut LookupDialog<Self>, frame: &mut Frame, area: Rect, ui: &Ui) {
        let (field, found, rows) = typed.drawn();
        draw(field, found, rows, frame, area, ui);
    }
}

/// Returns the ratios of the splits as whole numbers that approximate them: tenths if possible, otherwise the smallest suitable numbers,
/// otherwise percentages.
fn approximate_ratios(editor: &SplitEditor) -> String {
    /// Maximum difference between a share and its approximation.
    const RATIO_TOLERANCE: f64 = 0.015;
    let shares: Vec<f64> = editor.splits().iter().map(|split| split.share).collect();
    let by = |parts: f64| shares.iter().map(|share| (share * parts).round()).collect::<Vec<f64>>();
    let is_near = |ratios: &[f64]| {
        let sum: f64 = ratios.iter().sum();
        let is_lost = ratios.iter().zip(&shares).any(|(ratio, share)| *ratio == 0.0 && *share > 0.0);
        !is_lost && ratios.iter().zip(&shares).all(|(ratio, share)| (ratio / sum - share).abs() <= RATIO_TOLERANCE)
    };
    let small = std::iter::once(10).chain(1..=20).map(|parts| by(f64::from(parts))).find(|ratios| is_near(ratios));
    small.unwrap_or_else(|| by(100.0)).iter().map(|ratio| format!("{ratio:.0}")).collect::<Vec<_>>().join(",")
}

/// Draws the dialog.
pub fn draw(
    field: &TextField,
    found: Option<&Outcome<Balance>>,
    rows: &mut Rows,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    let columns = text_columns(area, SIZE.0);
    let lines = match found {
        None if field.is_empty() => {
            let words = "the result is shown here, before anything is moved";
            vec![Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted))]
        }
        None => vec![Line::from(Span::styled(format!("{} counting", ui.spinner()), ui.theme.muted))],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(balance)) => balance_lines(balance, columns, ui),
    };
    let used = lines.len() + 2;
    let height = rows.height(used, SIZE.1);
    let inner = growing_popup(frame, area, (SIZE.0, height, SIZE.1), "Balance by samples", ui);
    let text_area = padded(inner);
    let label = "ratio  ";
    draw_lines(frame.buffer_mut(), row(text_area, 0), [Line::from(Span::styled(label, ui.theme.muted))]);
    let indent = u16::try_from(label.len()).unwrap_or(0).min(text_area.width);
    let field_area = Rect { x: text_area.x + indent, width: text_area.width - indent, ..row(text_area, 0) };
    field.draw(frame, field_area, true, "8,1,1 in the order of the splits, or train=8,val=2", ui);
    let below_field =
        Rect { y: text_area.y + 2.min(text_area.height), height: text_area.height.saturating_sub(2), ..text_area };
    draw_lines(frame.buffer_mut(), below_field, lines);
    let used = u16::try_from(used).unwrap_or(u16::MAX).min(inner.height);
    let below = Rect { y: inner.y + used, height: inner.height - used, ..inner };
    let Some(Ok(balance)) = found else { return };
    rows.draw(frame, below, ui, |at, columns| {
        let Some(one) = balance.moves.get(at) else { return Line::default() };
        let route = format!("{} {} {}", one.from, ui.glyphs.arrow, one.to);
        let route = text::fit_end(&route, columns / 2, ui.glyphs);
        let samples = text::pad_start(&grouped(one.samples), 10);
        let room = columns.saturating_sub(text::width(&route) + samples.len() + 4);
        let name = text::pad_end(&text::fit_middle(&one.shard, room, ui.glyphs), room);
        Line::from(vec![
            Span::raw(format!("{name} ")),
            Span::styled(samples, ui.theme.muted),
            Span::styled(format!("  {route}"), ui.theme.accent),
        ])
    });
}

/// Returns a bar for each split after the moves, with its share before them.
fn balance_lines(balance: &Balance, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let names =
        balance.shares.iter().map(|share| text::width(&text::safe(&share.name))).max().unwrap_or(0).clamp(4, 14);
    let mut lines: Vec<Line> =
        balance.shares.iter().enumerate().map(|(at, share)| share_line(share, at, names, columns, ui)).collect();
    lines.push(Line::default());
    let words = match balance.moves.len() {
        0 => "no move of a whole shard comes nearer to it".to_owned(),
        moves => format!("{} to move", count(moves as u64, "shard")),
    };
    lines.push(Line::from(Span::styled(words, ui.theme.title)));
    lines
}

fn share_line(share: &BalanceShare, at: usize, names: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let sign = if share.is_new { "+" } else { " " };
    let name = text::pad_end(&text::fit_end(&share.name, names, ui.glyphs), names);
    let change = format!(
        "{} {} {}",
        text::pad_start(&percent(share.before), 7),
        ui.glyphs.arrow,
        text::pad_start(&percent(share.after), 7)
    );
    let wanted = format!("  wanted {}", text::pad_start(&percent(share.target_part), 7));
    let samples = text::pad_start(&grouped(share.samples_after), 12);
    let facts = match columns {
        0..50 => change,
        50..64 => format!("{change}{wanted}"),
        _ => format!("{samples}  {change}{wanted}"),
    };
    let room = columns.saturating_sub(names + 3 + text::width(&facts) + 1);
    Line::from(vec![
        Span::raw(format!("{sign} {name} ")),
        Span::styled(split_bar(share.after, room, ui.glyphs), ui.theme.bar(at)),
        Span::raw(format!(" {facts}")),
    ])
}
