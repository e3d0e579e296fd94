//! Applies the results of a session's workers.

use super::super::choice::{Choice, ChoiceOption};
use super::super::text_edit::{self, RejectedText};
use super::super::workers::{OpenedSplits, TextChange, TextChangeResult, WriteResult};
use super::super::{conflict, draft};
use super::SplitSession;
use crate::tui::form::frame::age;
use crate::tui::screen::{Effect, Screen};
use gristmill_core::text::{agree, count};
use gristmill_ops::engine::splits::Draft;
use std::sync::Arc;

/// Maximum number of changes that the question about a draft lists.
const MAX_NAMED_CHANGES: usize = 5;

impl SplitSession {
    /// Applies the results of the workers. Returns whether the screen must be redrawn.
    pub fn tick(&self, effects: &mut Vec<Effect>) -> bool {
        let before = self.revision();
        let opened = self.inner.borrow_mut().workers.open.take();
        if let Some(opened) = opened {
            self.take_opened(opened, effects);
        }
        let reworked = self.inner.borrow_mut().workers.rework.take();
        if let Some(reworked) = reworked {
            self.take_reworked(reworked, effects);
        }
        let written = self.inner.borrow_mut().workers.write.take();
        if let Some(end) = written {
            self.take_written(end, effects);
        }
        let again = self.inner.borrow_mut().reopen_at.take();
        if let Some((file, line)) = again {
            let mut inner = self.inner.borrow_mut();
            inner.is_reworking = false;
            effects.push(Effect::RunInTerminal(text_edit::program(&file, line)));
            inner.text = Some(file);
        }
        let put = self.inner.borrow_mut().workers.text.take();
        if let Some(put) = put {
            let mut inner = self.inner.borrow_mut();
            inner.is_reworking = false;
            match put {
                Ok(file) => {
                    effects.push(Effect::RunInTerminal(text_edit::program(&file, None)));
                    inner.text = Some(file);
                }
                Err(failure) => effects.push(Effect::failure(&failure)),
            }
        }
        let mut inner = self.inner.borrow_mut();
        inner.take_small_answers();
        inner.revision != before
    }

    fn take_opened(&self, opened: OpenedSplits, effects: &mut Vec<Effect>) {
        let mut inner = self.inner.borrow_mut();
        inner.revision += 1;
        inner.place = Some(opened.place);
        match opened.editor {
            Err(failure) => {
                inner.editor = None;
                inner.failure = Some(failure);
            }
            Ok(editor) => {
                let had_changes = inner.editor.as_ref().is_some_and(|old| old.pending() > 0);
                let base = editor.base_hash();
                inner.set_editor(editor);
                inner.kept = Some(inner.version());
                inner.failure = None;
                inner.check();
                drop(inner);
                match opened.found {
                    // The changes were in the session before it was reloaded, so no question is needed.
                    Some(found) if had_changes => self.rework(TextChange::Draft(found.draft.edits)),
                    Some(found) => effects.push(Effect::Push(self.draft_question(found, &base))),
                    None => {}
                }
            }
        }
    }

    /// Returns the popup that offers a draft from an earlier session.
    fn draft_question(&self, found: draft::FoundDraft, base: &str) -> Box<dyn Screen> {
        let Draft { base: made_on, edits } = found.draft;
        let changes = count(edits.len() as u64, "change");
        let were = agree(edits.len() as u64, "was", "were");
        let mut lines = vec![format!("{changes} {were} left unwritten {}:", age(found.age))];
        lines.extend(edits.iter().take(MAX_NAMED_CHANGES).map(|edit| format!("  {}", edit.title())));
        if edits.len() > MAX_NAMED_CHANGES {
            lines.push(format!("  and {} more", edits.len() - MAX_NAMED_CHANGES));
        }
        if made_on != base {
            lines.push("The file was changed since; they are applied to its current content.".to_owned());
        }
        let offers = vec![
            ChoiceOption::new("restore them", "they stay unwritten until you write them"),
            ChoiceOption::new("discard them", "the file stays as it is"),
        ];
        let session = self.clone();
        let mut edits = Some(edits);
        let chosen = move |row| {
            match (row, edits.take()) {
                (0, Some(edits)) => session.rework(TextChange::Draft(edits)),
                _ => session.inner.borrow_mut().forget_draft(),
            }
            Vec::new()
        };
        Box::new(Choice::new("Unwritten changes", lines, offers, chosen))
    }

    fn take_reworked(&self, reworked: TextChangeResult, effects: &mut Vec<Effect>) {
        let mut inner = self.inner.borrow_mut();
        inner.is_reworking = false;
        match reworked.outcome {
            Ok(toast) => {
                inner.set_editor(reworked.editor);
                effects.extend(toast.map(Effect::Toast));
            }
            Err(rejected) => effects.push(Effect::Push(self.rejected_question(rejected))),
        }
        inner.save_and_check();
    }

    /// Returns the popup about an edited text that could not be applied.
    pub(in super::super) fn rejected_question(&self, rejected: RejectedText) -> Box<dyn Screen> {
        let RejectedText { failure, file } = rejected;
        let line = failure.subject.line;
        let place = match (line, failure.subject.column) {
            (Some(line), Some(column)) => format!("Line {line}, column {column}: {}", failure.why),
            (Some(line), None) => format!("Line {line}: {}", failure.why),
            _ => failure.why.clone(),
        };
        let mut lines = vec![place];
        lines.extend(failure.hint.clone());
        let offers = vec![
            ChoiceOption::new("edit it again", line.map_or(String::new(), |line| format!("at line {line}"))),
            ChoiceOption::new("drop the text", "splits and excludes stay as they were"),
        ];
        let session = self.clone();
        let chosen = move |row| {
            match row {
                0 => session.reopen_editor(&file, line),
                _ => session.drop_text(&file),
            }
            Vec::new()
        };
        Box::new(Choice::new("The text was not taken", lines, offers, chosen))
    }

    fn take_written(&self, end: WriteResult, effects: &mut Vec<Effect>) {
        let mut inner = self.inner.borrow_mut();
        inner.is_writing = false;
        inner.revision += 1;
        match end {
            WriteResult::Written(end) => {
                let (written, editor) = *end;
                inner.set_editor(editor);
                inner.save_and_check();
                inner.written = Some(Arc::new(written));
            }
            WriteResult::Failed(failure) => inner.write_failure = Some(*failure),
            WriteResult::Changed(three) => {
                drop(inner);
                effects.push(Effect::Push(conflict::open(self.clone(), *three)));
            }
        }
    }
}
