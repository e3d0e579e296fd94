//! The download of a data set of the hub, over the screen that asked for it. Opens the browser on it at the end.

use super::browse;
use crate::tui::keymap::{Action, Context};
use crate::tui::recent;
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::{popup, Level, Toast};
use gristmill_core::text::{bytes, count, count_verb, grouped};
use gristmill_core::{Failure, Outcome};
use gristmill_ops::job::fetch::{self, LocalCopy};
use gristmill_ops::job::task::Task;
use gristmill_ops::job::{JobStatus, Phase};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;

/// Maximum width of the popup, in columns.
const MAX_COLUMNS: u16 = 76;

enum State {
    Running(Task<LocalCopy>),
    Failed(Failure),
}

/// The popup with the progress of the download.
struct FetchScreen {
    address: String,
    state: State,
    /// Whether the user stopped the download.
    is_stopped: bool,
    env: UiEnv,
}

/// Starts the download of the files with documents of an address, and returns the popup that shows it.
pub fn open(address: String, env: &UiEnv) -> Box<dyn Screen> {
    let state = match fetch::start(address.clone(), env.options.clone()) {
        Ok(task) => State::Running(task),
        Err(failure) => State::Failed(failure),
    };
    Box::new(FetchScreen { address, state, is_stopped: false, env: env.clone() })
}

impl FetchScreen {
    /// Returns the effects of the end of the download.
    fn finish(&mut self, result: Outcome<LocalCopy>) -> Vec<Effect> {
        match result {
            _ if self.is_stopped => vec![Effect::Pop],
            Ok(copy) => {
                recent::remember(&self.env.state_dir, &copy.path);
                let more = copy.problems.len().saturating_sub(1) as u64;
                let more = if more > 0 {
                    format!(", {}", count_verb(more, "more problem", "is", "are"))
                } else {
                    String::new()
                };
                let problem = copy.problems.first().map(|problem| Toast::new(Level::Warn, format!("{problem}{more}")));
                let browser = Effect::Replace(browse::open(copy.path, self.env.clone()));
                std::iter::once(browser).chain(problem.map(Effect::Toast)).collect()
            }
            Err(failure) => {
                self.state = State::Failed(failure);
                Vec::new()
            }
        }
    }

    /// Stops the download, or closes the popup if it failed.
    fn stop(&mut self) -> Vec<Effect> {
        match &self.state {
            State::Running(task) => {
                self.is_stopped = true;
                task.cancel();
                Vec::new()
            }
            State::Failed(_) => vec![Effect::Pop],
        }
    }
}

impl Screen for FetchScreen {
    fn context(&self) -> Context {
        Context::Question
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn is_busy(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.is_busy()) {
            (Action::Close, true) => "stop",
            _ => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        (action == Action::Accept && self.is_busy()).then(|| "the download is running".to_owned())
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => self.stop(),
            Input::Action(Action::Accept) if !self.is_busy() => self.stop(),
            _ => Vec::new(),
        }
    }

    fn interrupt(&mut self) -> bool {
        self.stop();
        self.is_busy()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        self.is_busy()
    }

    fn tick_on_top(&mut self, effects: &mut Vec<Effect>) -> bool {
        let is_finished = matches!(&self.state, State::Running(task) if task.is_finished());
        if is_finished {
            if let State::Running(task) = std::mem::replace(&mut self.state, State::Failed(Failure::cancelled())) {
                effects.extend(self.finish(task.wait()));
            }
        }
        is_finished
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let columns = usize::from(area.width.saturating_sub(8).min(MAX_COLUMNS - 4));
        let mut lines: Vec<Line> = wrapped(&self.address, columns, ui.theme.text);
        match &self.state {
            State::Running(task) => lines.push(waiting(&progress(&task.status()), ui)),
            State::Failed(failure) => lines.extend(failure_lines(failure, columns, ui)),
        }
        let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let inner = popup(frame, area, MAX_COLUMNS, height, "Data set of the hub", ui);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        for (y, line) in (inner.y..inner.bottom()).zip(lines) {
            frame.render_widget(line, Rect { y, height: 1, ..inner });
        }
    }
}

fn progress(status: &JobStatus) -> String {
    let done = status.progress;
    match status.phase {
        Phase::Download => format!(
            "downloading: {} of {}, {} of {}",
            grouped(done.items_done),
            count(done.items_total, "file"),
            bytes(done.bytes_done),
            bytes(done.bytes_total)
        ),
        _ => "listing the files".to_owned(),
    }
}
