//! The state of a session after each change: workers save its draft and check it for problems.

use super::super::draft;
use super::SessionState;
use gristmill_ops::engine::splits::SplitEditor;

impl SessionState {
    pub(super) fn version(&self) -> u64 {
        self.editor.as_ref().map_or(0, |editor| (self.epoch << 32) + editor.version())
    }

    pub(super) fn set_editor(&mut self, editor: SplitEditor) {
        self.epoch += 1;
        self.editor = Some(editor);
    }

    /// Saves the draft and checks for problems after a change.
    pub(super) fn save_and_check(&mut self) {
        self.revision += 1;
        self.written = None;
        self.keep();
        self.check();
    }

    pub(super) fn take_small_answers(&mut self) {
        // The draft is saved in the background; the result only shows whether that succeeded.
        if let Some(failure) = self.workers.keep.take() {
            self.keep_failure = failure;
        }
        if let Some(checked) = self.workers.check.take() {
            if self.checked == Some(checked.version) {
                self.problems = checked.problems;
                self.revision += 1;
            }
        }
        match self.workers.items.take() {
            Some(Ok(learned)) => {
                if self.editor.as_mut().is_some_and(|editor| editor.take_learned(learned)) {
                    self.check();
                    self.revision += 1;
                } else {
                    // The editor was replaced in the meantime: the excludes of the new one are looked up instead.
                    self.request_excludes();
                }
            }
            Some(Err(failure)) => {
                tracing::warn!(%failure, "excludes could not be looked up");
                self.has_failed_lookup = true;
                self.revision += 1;
            }
            None => {}
        }
        if let Some(marked) = self.workers.marks.take() {
            self.marks = marked;
            self.revision += 1;
        }
    }

    pub(super) fn keep(&mut self) {
        let version = Some(self.version());
        let (Some(editor), Some(place)) = (&self.editor, &self.place) else { return };
        if self.kept != version {
            self.kept = version;
            let question = (place.clone(), editor.clone());
            self.workers.keep.submit(question);
        }
    }

    pub(super) fn keep_now(&mut self) {
        let (Some(editor), Some(place)) = (&self.editor, &self.place) else { return };
        if !self.workers.keep.is_waiting() {
            return;
        }
        self.keep_failure = draft::keep(place, editor.draft().as_ref());
    }

    pub(super) fn forget_draft(&mut self) {
        let (Some(editor), Some(place)) = (&self.editor, &self.place) else { return };
        let question = (place.clone(), editor.clone());
        self.workers.keep.submit(question);
    }

    pub(super) fn check(&mut self) {
        let version = self.version();
        let Some(editor) = &self.editor else { return };
        if self.checked != Some(version) {
            self.checked = Some(version);
            self.workers.check.submit((version, editor.clone()));
            self.request_excludes();
        }
    }

    /// Requests a lookup of the excludes that have not been looked up. A running lookup is not replaced: its results stay valid after a
    /// change.
    pub(super) fn request_excludes(&mut self) {
        let Some(editor) = &self.editor else { return };
        if !self.has_failed_lookup && !self.workers.items.is_waiting() && editor.totals().unknown > 0 {
            self.workers.items.submit((editor.clone(), self.cancel.clone()));
        }
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.keep_now();
    }
}
