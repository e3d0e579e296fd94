//! The files that a run writes: the progress of each, and the files that an unsuccessful run leaves.

use crate::tui::screen::Ui;
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::text;
use gristmill_core::text::{bytes, count};
use gristmill_ops::job::outputs::{OutputState, OutputStatus};
use gristmill_ops::job::{JobState, JobStatus};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns of the state and the size of a file.
const FIGURE_COLUMNS: usize = 22;

/// Returns one line per file, in order; empty if the run does not list its files.
pub fn lines(status: &JobStatus, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let outputs = &status.outputs;
    let has_ended = status.state != JobState::Running;
    let mut lines = Vec::new();
    if !outputs.files.is_empty() && matches!(status.state, JobState::Failed | JobState::Cancelled) {
        let words = match &outputs.left {
            Some(left) => {
                format!("Left on disk: {} in {}", bytes(left.bytes), text::safe(&left.folder.to_string_lossy()))
            }
            None => "Nothing is left on disk.".to_owned(),
        };
        lines.extend(wrapped(&words, columns, ui.theme.text));
    }
    lines.extend(outputs.files.iter().map(|file| file_line(file, has_ended, columns, ui)));
    if outputs.more > 0 {
        lines.push(Line::from(Span::styled(format!("  and {} more", count(outputs.more, "file")), ui.theme.muted)));
    }
    lines
}

fn file_line(file: &OutputStatus, has_ended: bool, columns: usize, ui: &Ui) -> Line<'static> {
    let (word, style) = state_word(file.state, has_ended, ui);
    let room = columns.saturating_sub(FIGURE_COLUMNS + 2).max(8);
    let name = text::pad_end(&text::fit_middle(&file.name, room, ui.glyphs), room);
    let is_on_disk = !matches!(file.state, OutputState::Waiting | OutputState::Removed);
    let size = if is_on_disk { bytes(file.bytes) } else { String::new() };
    Line::from(vec![
        Span::raw(format!("  {name}")),
        Span::styled(text::pad_start(word, 11), style),
        Span::raw(text::pad_start(&size, 11)),
    ])
}

fn state_word(state: OutputState, has_ended: bool, ui: &Ui) -> (&'static str, Style) {
    match state {
        OutputState::Waiting if has_ended => ("not begun", ui.theme.muted),
        OutputState::Waiting => ("waiting", ui.theme.muted),
        OutputState::Writing => ("writing", ui.theme.accent),
        OutputState::Written => ("written", ui.theme.text),
        OutputState::Published => ("published", ui.theme.ok),
        OutputState::Kept => ("kept", ui.theme.warn),
        OutputState::Removed => ("removed", ui.theme.muted),
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{draw_frame, draw_page, RunTexts};
    use super::super::RunState;
    use super::*;
    use crate::tui::jobs::JobResult;
    use crate::tui::testing;
    use gristmill_core::{Failure, Outcome};
    use gristmill_ops::job::outputs::{LeftoverWork, OutputsStatus};
    use gristmill_ops::job::report::Report;

    fn file(name: &str, state: OutputState, bytes: u64) -> OutputStatus {
        OutputStatus { name: name.into(), state, bytes }
    }

    fn status(state: JobState, files: Vec<OutputStatus>, left: Option<LeftoverWork>) -> JobStatus {
        JobStatus { outputs: OutputsStatus { files, more: 3, left }, ..JobStatus::ended(state) }
    }

    fn compare(name: &str, status: JobStatus, failure: Option<Failure>) {
        let words = RunTexts {
            ready: "web is ready to train on".into(),
            done: "web is packed".into(),
            idle: "web was packed like this already".into(),
            overview: "Files",
            back: "the answers",
            keeps_work: true,
        };
        let result = failure.map(|failure| {
            let end: Outcome<Box<dyn Report>> = Err(failure);
            JobResult::from(end)
        });
        let mut run = RunState { started: true, ..RunState::default() };
        run.update(status.clone(), result);
        testing::compare(&format!("run_files_{name}"), &testing::SCREENS, |size| {
            testing::shown(size, |frame, area, ui| {
                if let Some(place) = draw_frame(&mut run, frame, area, &words, true, ui) {
                    let lines = lines(&status, usize::from(place.width), ui);
                    draw_page(&mut run, frame, place, lines, ui);
                }
            })
        });
    }

    #[test]
    fn run_shows_output_files_with_state_and_size() {
        let files = vec![
            file("web-tokens/modalities/a\u{1b}[31m.pbin", OutputState::Written, 5 << 20),
            file("web-tokens/nanosets/00000_unshuffled.ds", OutputState::Writing, 3 << 20),
            file("web-tokens/nanosets/00000_unshuffled.ds.metadata", OutputState::Waiting, 0),
        ];
        compare("running", status(JobState::Running, files, None), None);
    }

    #[test]
    fn failed_run_shows_kept_and_removed_files() {
        let files = |state, bytes| {
            vec![file("web-tokens/a.pbin", state, bytes), file("web-tokens/b.pbin", OutputState::Waiting, 0)]
        };
        let left = LeftoverWork { folder: "/data/.web-tokens.gristmill".into(), bytes: 6 << 20 };
        let full = Failure::environment("packing", "no space left on device");
        compare("kept", status(JobState::Failed, files(OutputState::Kept, 5 << 20), Some(left)), Some(full));
        let wrong = Failure::data("packing", "no line gave a document");
        compare("removed", status(JobState::Failed, files(OutputState::Removed, 0), None), Some(wrong));
    }
}
