//! Lines of text for pages, and drawing of their visible part.

use super::layout::{draw_lines, heading};
use super::text;
use crate::tui::ui::Ui;
use gristmill_core::text::shell_quote;
use gristmill_core::Failure;
use gristmill_ops::engine::plan::CommandLine;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Escapes a text, and returns it as lines of at most `columns` columns in a style.
pub fn wrapped(words: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    text::wrap(words, columns).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
}

/// Escapes a text, and returns it as one line, cut with an ellipsis if it does not fit.
pub fn fitted(words: &str, columns: usize, style: Style, ui: &Ui) -> Line<'static> {
    Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), style))
}

/// Returns a line about work in progress.
pub fn waiting(words: &str, ui: &Ui) -> Line<'static> {
    Line::from(Span::styled(format!("{} {words}", ui.spinner()), ui.theme.accent))
}

/// Returns a reason as wrapped lines with a sign on the first line.
pub fn reason_lines(why: &str, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    wrapped(&format!("{} {why}", ui.glyphs.cross), columns, ui.theme.error)
}

/// Returns a failure as wrapped lines, with its hint below.
pub fn failure_lines(failure: &Failure, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = reason_lines(&failure.to_string(), columns, ui);
    lines.extend(failure.hint.iter().flat_map(|hint| wrapped(hint, columns, ui.theme.muted)));
    lines
}

/// Returns the equivalent command below a heading, on several lines that can be pasted into a shell, and its files. `key` copies it.
pub fn command_lines(command: &CommandLine, key: &str, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut head = heading("The same as a command", ui);
    head.spans.push(Span::styled(format!("   {key} copies it"), ui.theme.muted));
    let mut lines = vec![head];
    // Minus the indentation and the sign for a continued line.
    let columns = columns.saturating_sub(6);
    let parts = command_parts(command, columns);
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.into_iter().enumerate() {
        let indent = if at == 0 { "  " } else { "    " };
        let end = if at == last { "" } else { " \\" };
        let shown = format!("{indent}{part}{end}");
        lines.extend(shown.lines().map(|line| Line::from(Span::styled(line.to_owned(), ui.theme.accent))));
    }
    for (name, _) in &command.files {
        let words = format!("{name} has the lists of this plan and is not written; a saved plan contains them");
        lines.extend(wrapped(&words, columns, ui.theme.muted));
    }
    lines
}

/// Joins as many facts as fit in `room` columns; no fact is shortened.
pub fn join_fitting(facts: &[String], room: usize, ui: &Ui) -> String {
    let mut line = String::new();
    for fact in facts {
        let dot = if line.is_empty() { String::new() } else { format!(" {} ", ui.glyphs.dot) };
        if text::width(&line) + text::width(&dot) + text::width(fact) > room {
            break;
        }
        line.push_str(&dot);
        line.push_str(fact);
    }
    line
}

/// Quotes an argument for a shell. One that is wider than `columns` continues on further lines, which have no indentation, because a shell
/// joins them.
fn quoted(argument: &str, columns: usize) -> String {
    let whole = text::safe(&shell_quote(argument));
    if text::width(&whole) <= columns {
        return whole;
    }
    let mut pieces = Vec::new();
    let mut rest = argument;
    while let Some(first) = rest.chars().next() {
        // Each line has quotes of its own.
        let head = text::prefix(rest, columns.saturating_sub(2)).len().max(first.len_utf8());
        let (piece, after) = rest.split_at(head);
        pieces.push(text::safe(&shell_quote(piece)));
        rest = after;
    }
    pieces.join("\\\n")
}

/// Divides a command into parts of at most this many columns: before flags, or between arguments if a flag with its arguments is too long.
/// A part has several lines if it has a longer argument.
fn command_parts(command: &CommandLine, columns: usize) -> Vec<String> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for argument in &command.arguments {
        let quoted = quoted(argument, columns);
        match groups.last_mut() {
            Some(last) if !argument.starts_with("--") => last.push(quoted),
            _ => groups.push(vec![quoted]),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    for group in groups {
        let whole = group.join(" ");
        let pieces = if text::width(&whole) <= columns && !whole.contains('\n') { vec![whole] } else { group };
        for piece in pieces {
            match parts.last_mut() {
                Some(last)
                    if ![&*last, &piece].iter().any(|part| part.contains('\n'))
                        && text::width(last) + text::width(&piece) < columns =>
                {
                    last.push_str(&format!(" {piece}"));
                }
                _ => parts.push(piece),
            }
        }
    }
    parts
}

/// Draws lines from the one at `offset` on, with signs on the right edge if there are lines above or below. Limits `offset` to the page.
pub fn draw_scrolled(frame: &mut Frame, area: Rect, offset: &mut usize, lines: Vec<Line<'static>>, ui: &Ui) {
    let last = lines.len().saturating_sub(usize::from(area.height));
    *offset = (*offset).min(last);
    draw_lines(frame.buffer_mut(), area, lines.into_iter().skip(*offset));
    draw_more(frame, area, (*offset > 0, *offset < last), ui);
}

/// Draws the signs for lines above and below on the right edge of a page.
pub fn draw_more(frame: &mut Frame, area: Rect, (above, below): (bool, bool), ui: &Ui) {
    if area.is_empty() {
        return;
    }
    if below {
        let y = area.bottom().saturating_sub(1);
        frame.buffer_mut().set_string(area.right(), y, ui.glyphs.more_down, ui.theme.accent);
    }
    if above {
        frame.buffer_mut().set_string(area.right(), area.y, ui.glyphs.more_up, ui.theme.accent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_arguments_continue_on_lines_that_a_shell_joins() {
        let long = format!("/state/it's/{}.txt", "0123456789".repeat(12));
        let arguments: Vec<String> =
            ["gristmill", "shard", "set", "--keep-keys", &long, "--output", "new"].map(str::to_owned).into();
        let command = CommandLine { arguments, files: Vec::new() };
        let parts = command_parts(&command, 40);
        assert!(parts.iter().flat_map(|part| part.lines()).all(|line| text::width(line) <= 44), "{parts:#?}");
        let script = format!("printf '%s\\n' {}", parts.join(" \\\n    "));
        let printed = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap().lines().collect::<Vec<_>>(), command.arguments);
    }
}
