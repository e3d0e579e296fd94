//! Progress bars and shares as text.

use crate::tui::theme::Glyphs;

/// Returns a bar of `columns` columns, filled to `ratio` (0 to 1), with a visible empty part.
pub fn progress_bar(ratio: f64, columns: usize, glyphs: &Glyphs) -> String {
    let filled = filled_part(ratio, columns, glyphs);
    let used = super::text::width(&filled);
    format!("{filled}{}", glyphs.bar_empty.repeat(columns.saturating_sub(used)))
}

/// Returns a bar for a share (0 to 1): nothing for 0, at least a partial cell for more, and blanks after the filled part.
pub fn split_bar(share: f64, columns: usize, glyphs: &Glyphs) -> String {
    let mut filled = filled_part(share, columns, glyphs);
    if filled.is_empty() && share > 0.0 && columns > 0 {
        filled = glyphs.bar_parts.first().copied().unwrap_or(glyphs.bar_full).to_owned();
    }
    super::text::pad_end(&filled, columns)
}

/// Returns a bar for an uncertain share: drawn as empty up to `most`, blank after that.
pub fn range_bar(share: f64, most: Option<f64>, columns: usize, glyphs: &Glyphs) -> String {
    let share_bar = split_bar(share, columns, glyphs);
    let filled = share_bar.trim_end();
    let to = (most.unwrap_or_default().clamp(0.0, 1.0) * columns as f64).ceil() as usize;
    let open = to.min(columns).saturating_sub(super::text::width(filled));
    super::text::pad_end(&format!("{filled}{}", glyphs.bar_empty.repeat(open)), columns)
}

fn filled_part(ratio: f64, columns: usize, glyphs: &Glyphs) -> String {
    let ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
    let steps_per_column = glyphs.bar_parts.len() + 1;
    // Rounded down, so that a bar is full only when everything is done.
    let steps = (ratio * (columns * steps_per_column) as f64).floor() as usize;
    let mut bar = glyphs.bar_full.repeat(steps / steps_per_column);
    let rest = steps % steps_per_column;
    if rest > 0 {
        bar.push_str(glyphs.bar_parts[rest - 1]);
    }
    bar
}
