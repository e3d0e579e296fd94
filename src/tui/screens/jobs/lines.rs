//! The lines of the jobs panel: of one job in the list, and of the lower pane.

use super::other_runs::OtherRun;
use crate::tui::jobs::JobView;
use crate::tui::screen::Ui;
use crate::tui::widgets::page::join_fitting;
use crate::tui::widgets::{progress_bar, text};
use gristmill_core::text::{bytes, count, duration, grouped};
use gristmill_core::Severity;
use gristmill_ops::job::{JobState, Phase};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

fn state_word(view: &JobView, ui: &Ui) -> (String, Style) {
    match view.status.state {
        JobState::Pending => ("waiting".to_owned(), ui.theme.muted),
        JobState::Running => (format!("{} {}", ui.spinner(), phase_word(view.status.phase)), ui.theme.accent),
        JobState::Done => (format!("{} done", ui.glyphs.check), ui.theme.ok),
        JobState::Failed => (format!("{} failed", ui.glyphs.cross), ui.theme.error),
        JobState::Cancelled => (format!("{} cancelled", ui.glyphs.warn), ui.theme.warn),
    }
}

/// Returns a short word for the activity of a job in a phase.
pub fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "opening",
        Phase::Download => "downloading",
        Phase::Scan => "reading",
        Phase::Media => "reading media",
        Phase::Tables => "building tables",
        Phase::Find => "finding repeats",
        Phase::Write => "writing",
        Phase::Publish => "publishing",
    }
}

/// Returns the line with title, state and time of a job.
pub(super) fn title_line(view: &JobView, columns: usize, ui: &Ui) -> Line<'static> {
    let time = format!("  {}", duration(view.status.elapsed));
    title_and_state(&view.title, state_word(view, ui), &time, columns, ui)
}

/// Returns the title line of a run of another process, whose elapsed time is unknown.
pub(super) fn other_run_line(run: &OtherRun, columns: usize, ui: &Ui) -> Line<'static> {
    let word = if run.is_running() {
        (format!("{} runs elsewhere", ui.spinner()), ui.theme.accent)
    } else {
        (format!("{} interrupted", ui.glyphs.warn), ui.theme.warn)
    };
    title_and_state(&run.title, word, "", columns, ui)
}

fn title_and_state(title: &str, (word, style): (String, Style), time: &str, columns: usize, ui: &Ui) -> Line<'static> {
    let right = text::width(&word) + text::width(time);
    let title = text::fit_middle(title, columns.saturating_sub(right + 3), ui.glyphs);
    let gap = columns.saturating_sub(text::width(&title) + right + 1);
    Line::from(vec![
        Span::styled(title, ui.theme.title),
        Span::raw(" ".repeat(gap)),
        Span::styled(word, style),
        Span::styled(time.to_owned(), ui.theme.muted),
    ])
}

pub(super) fn progress_line(view: &JobView, columns: usize, ui: &Ui) -> Line<'static> {
    let p = view.status.progress;
    // Ordered by importance: the last facts are omitted if there is no space.
    let mut facts: Vec<String> = Vec::new();
    let is_running = view.status.state == JobState::Running;
    if let Some(left) = view.status.remaining.filter(|_| is_running) {
        facts.push(format!("{} left", duration(left)));
    }
    let noun = view.status.item;
    match (p.items_done, p.items_total) {
        (0, 0) => {}
        // The counts of the last phase are not those of the whole job, so they are omitted once the job is done.
        (done, total) if view.status.state == JobState::Done && done < total => {}
        _ if view.status.state == JobState::Done && view.status.phase == Phase::Publish => {}
        (done, 0) => facts.push(count(done, noun)),
        (done, total) => facts.push(format!("{}/{}", grouped(done), count(total, noun))),
    }
    if is_running {
        if view.status.bytes_per_second >= 1.0 {
            facts.push(format!("{}/s", bytes(view.status.bytes_per_second as u64)));
        }
        if view.status.tokens_per_second >= 1.0 {
            facts.push(format!("{}/s", count(view.status.tokens_per_second as u64, "token")));
        }
    }
    if p.bytes_done > 0 {
        facts.push(bytes(p.bytes_done));
    }
    let problems: u64 = view.status.counts.iter().filter(|(s, ..)| *s >= Severity::Problem).map(|(.., n)| n).sum();
    let bar_columns = (columns / 4).min(24);
    let bar = match view.status.share {
        Some(share) => format!("{} {:>3.0} %", progress_bar(share, bar_columns, ui.glyphs), (share * 100.0).floor()),
        None => " ".repeat(bar_columns + 6),
    };
    let mut spans = vec![Span::styled(bar, ui.theme.bar(0)), Span::raw("  ")];
    let mut room = columns.saturating_sub(bar_columns + 8);
    if problems > 0 {
        let noted = format!("{} {}  ", ui.glyphs.warn, count(problems, "problem"));
        room = room.saturating_sub(text::width(&noted));
        spans.push(Span::styled(noted, ui.theme.warn));
    }
    spans.push(Span::styled(join_fitting(&facts, room, ui), ui.theme.muted));
    Line::from(spans)
}

/// Returns the lines about a run of another process for the lower pane.
pub(super) fn other_run_lines(run: &OtherRun, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let status = run.status.iter().flat_map(|line| text::wrap(line, columns)).map(Line::from);
    let next_step = run.next_step.iter().flat_map(|line| text::wrap(line, columns));
    status.chain(next_step.map(|line| Line::from(Span::styled(line, ui.theme.muted)))).collect()
}

pub(super) fn log_lines(view: &JobView, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let wrap = |line: &String| text::wrap(line, columns);
    let lines: Vec<Line> = view.status.log.iter().flat_map(wrap).map(Line::from).collect();
    if lines.is_empty() {
        return vec![Line::from(Span::styled("nothing yet", ui.theme.muted))];
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::jobs::JobId;
    use crate::tui::keymap::Keymap;
    use crate::tui::theme::{ColourMode, Glyphs, Theme};
    use gristmill_core::handles::ProgressReading;
    use gristmill_ops::job::JobStatus;

    #[test]
    fn jobs_name_their_items_by_phase_with_grouped_numbers() {
        let (theme, glyphs, keymap) = (Theme::new(ColourMode::None), Glyphs::new(true), Keymap::default());
        let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
        let line = |phase| {
            let progress = ProgressReading { items_done: 1_234, items_total: 20_000, ..ProgressReading::default() };
            let status = JobStatus { phase, progress, item: phase.item(), ..JobStatus::ended(JobState::Running) };
            let view = JobView { id: JobId(1), title: "prepare x".into(), path: "x".into(), root: "x".into(), status };
            progress_line(&view, 100, &ui).to_string()
        };
        assert!(line(Phase::Scan).contains("1,234/20,000 shards"), "{}", line(Phase::Scan));
        assert!(line(Phase::Tables).contains("1,234/20,000 samples"));
        assert!(line(Phase::Publish).contains("1,234/20,000 output files"));
    }
}
