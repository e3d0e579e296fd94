//! Changes of `split.yaml`: applies edits, prints messages and the difference, asks for confirmation, and writes.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::printer::{paint, Tone};
use super::show::{shown_path, splits_value};
use crate::tui::recent;
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Outcome, Problem, ProblemKind, Severity};
use gristmill_ops::engine::splits::{DiffKind, DiffLine, Edit, SplitEditor};
use gristmill_ops::job::splits::{rewrite, SplitFile};
use gristmill_storage::xdg;
use serde_json::{json, Map, Value};

/// Edits that have been applied but not written.
pub(super) struct PendingChange {
    pub(super) editor: SplitEditor,
    /// The problems before the first edit.
    problems_before: Vec<Problem>,
    pub(super) problems: Vec<Problem>,
    pub(super) messages: Vec<String>,
    /// Whether excludes may match nothing.
    pub(super) allows_unmatched: bool,
    /// Additional fields of the result object.
    pub(super) result: Map<String, Value>,
}

impl PendingChange {
    pub(super) fn new(editor: SplitEditor) -> Self {
        let before = editor.problems();
        Self {
            editor,
            problems_before: before,
            problems: Vec::new(),
            messages: Vec::new(),
            allows_unmatched: false,
            result: Map::new(),
        }
    }

    /// Applies one edit.
    pub(super) fn apply(&mut self, edit: Edit) -> Outcome<()> {
        let applied = self.editor.apply(edit)?;
        self.messages.push(applied.message);
        self.problems.extend(applied.problems);
        Ok(())
    }

    /// Prints the messages and new problems, and returns the editor.
    pub(super) fn report(self, context: &Context) -> SplitEditor {
        for problem in self.new_problems() {
            context.printer.problem(&problem);
        }
        for message in self.messages.iter().filter(|message| !message.is_empty()) {
            context.printer.print_status(sentence(message));
        }
        self.editor
    }

    /// Returns the problems caused by the edits.
    fn new_problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.clone();
        for problem in self.editor.problems() {
            let is_old = self.problems_before.contains(&problem)
                || problems.iter().any(|known| known.subject == problem.subject && known.kind == problem.kind);
            // An empty split is only a note, but is printed, too.
            let is_shown = problem.severity > Severity::Note || problem.kind == ProblemKind::EmptySplit;
            if !is_old && is_shown {
                problems.push(problem);
            }
        }
        for problem in problems.iter_mut().filter(|problem| problem.kind == ProblemKind::MatchesNothing) {
            if self.allows_unmatched {
                problem.severity = Severity::Note;
            }
        }
        problems
    }

    /// Shows the change, asks for confirmation if questions are allowed, and writes the file.
    pub(super) fn finish(mut self, context: &Context) -> CommandResult {
        let printer = &context.printer;
        let problems = self.new_problems();
        let is_dry = context.globals.dry_run;
        let shown = shown_path(&self.editor);
        for problem in &problems {
            match problem.severity {
                Severity::Note => printer.note(problem),
                _ => printer.problem(problem),
            }
        }
        let is_idle = self.editor.pending() == 0;
        let mut written = false;
        let print_messages = || {
            for message in self.messages.iter().filter(|message| !message.is_empty()) {
                printer.print_status(sentence(message));
            }
        };
        // Without a question, the messages are printed after the file was written.
        let is_printed_first = is_idle || is_dry || context.may_prompt();
        if is_printed_first {
            print_messages();
        }
        if is_idle {
            printer.print_status(format!("{} {shown} stays as it is.", paint(Tone::Success, "Nothing to do.")));
        } else if is_dry {
            diff_lines(&self.editor.diff()).iter().for_each(|line| printer.line(line));
            printer.print_status("Nothing was written.");
        } else if let Some(report) = write_confirmed(&mut self.editor, context)? {
            recent::remember_now(&xdg::state_dir(), self.editor.root());
            written = !report.nothing_to_do;
            if !is_printed_first {
                print_messages();
            }
            printer.print_status(format!("{}.", paint(Tone::Success, &format!("Written {shown}"))));
        } else {
            printer.print_status("Nothing was written.");
        }
        let mut result = Map::new();
        result.insert("path".into(), json!(self.editor.root()));
        result.insert("file".into(), json!(self.editor.path()));
        result.insert("written".into(), json!(written));
        result.insert("nothing_to_do".into(), json!(is_idle));
        if is_dry {
            result.insert("dry_run".into(), json!(true));
        }
        result.insert("messages".into(), json!(self.messages));
        result.insert("diff".into(), json!(self.editor.diff()));
        result.insert("splits".into(), splits_value(&self.editor, false));
        result.insert("problems".into(), json!(problems));
        result.append(&mut self.result);
        Ok(CommandSuccess::with_findings(result, problems.iter().map(|problem| (problem.severity, problem.kind))))
    }
}

/// Writes the edits. If questions are allowed, shows the difference and asks for confirmation, again whenever another process changes the
/// file in the meantime.
fn write_confirmed(editor: &mut SplitEditor, context: &Context) -> Outcome<Option<SplitFile>> {
    let (shown, mut is_first) = (shown_path(editor), true);
    rewrite(editor, &context.run_options(), &mut |editor| {
        if !std::mem::take(&mut is_first) {
            context.printer.print_status(format!("{shown} was changed meanwhile; the edits are made again on it."));
        }
        if !context.may_prompt() {
            return Ok(true);
        }
        diff_lines(&editor.diff()).iter().for_each(|line| context.printer.line(line));
        crate::prompt::confirm(&format!("Write {shown}?"), true)
    })
}

/// Returns a message of the editor as a sentence.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let text: String = chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    format!("{}.", display_safe(&text))
}

/// Returns the lines of a difference with `-` and `+` before them.
pub(super) fn diff_lines(diff: &[DiffLine]) -> Vec<String> {
    let line = |line: &DiffLine| {
        let text = display_safe(&line.text);
        match line.kind {
            DiffKind::Context => format!("  {text}"),
            DiffKind::Removed => paint(Tone::Error, &format!("- {text}")),
            DiffKind::Added => paint(Tone::Success, &format!("+ {text}")),
            DiffKind::Gap => paint(Tone::Faint, "  ..."),
            DiffKind::More(more) => paint(Tone::Faint, &format!("  ... {}", count(more, "more line"))),
        }
    };
    diff.iter().map(line).collect()
}
