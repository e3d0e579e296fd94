//! The end of the UI: the confirmation, jobs that continue without it, and the exit code.

use super::App;
use crate::tui::question::{DialogChoice, Question};
use crate::tui::screen::{Effect, Screen};
use crate::tui::widgets::Toast;
use gristmill_core::text::count;

impl App {
    /// Pushes the screen that the command opened. If the screen fails and is still open at the end, its failure is that of the command.
    pub fn push_command_screen(&mut self, screen: Box<dyn Screen>) {
        self.push(screen);
        self.command_screens = self.stack.len();
    }

    /// Ends the UI with the exit code of the command.
    pub(super) fn exit(&mut self) {
        let failed = self.stack.iter().take(self.command_screens).find_map(|screen| screen.failure());
        self.exit = Some(failed.map_or(0, |failure| failure.class.code()));
    }

    pub(super) fn confirm_quit(&mut self) {
        let running = self.env.jobs.running();
        // Two screens on the same data return the same sentence.
        let mut lines: Vec<String> = Vec::new();
        for sentence in self.stack.iter().filter_map(|screen| screen.unwritten()) {
            if !lines.contains(&sentence) {
                lines.push(sentence);
            }
        }
        if running == 0 && lines.is_empty() {
            self.exit();
            return;
        }
        if running > 0 {
            lines.push(format!("{} still running.", count(running as u64, "job")));
            lines.push("A stopped job resumes when it is started again; no partial output remains.".to_owned());
        }
        let mut answers = vec![DialogChoice::new("Stay", Vec::new())];
        if running > 0 && self.env.jobs.can_leave_all() {
            answers.push(DialogChoice::new("Leave to finish", vec![Effect::LeaveJobsAndQuit]));
        }
        let quit = if running > 0 { "Quit and stop" } else { "Quit" };
        answers.push(DialogChoice::new(quit, vec![Effect::Quit]));
        let jobs = self.env.jobs.clone();
        // The question contains the number of running jobs, so it is obsolete once that changes.
        let question = Question::new("Quit", lines, answers).until(move || jobs.running() != running);
        self.push(Box::new(question));
    }

    pub(super) fn leave_jobs_and_quit(&mut self) {
        match self.env.jobs.leave_all(&self.env.state_dir) {
            Ok(left) => {
                self.left_jobs = left;
                self.exit();
            }
            Err(failure) => self.notify(Toast::failure(&failure)),
        }
    }
}
