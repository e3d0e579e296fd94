//! The splits and excludes of one data set while they are edited, shared by the browser and the split editor.
//!
//! A [`SplitSession`] is a handle; its clones share the same changes. It reads and writes on worker threads. Screens with a session call
//! [`SplitSession::tick`] from their own `tick`, and compare [`SplitSession::revision`] with the revision that they drew last.

mod answers;
mod inner;

use super::notices::{done, stepped};
use super::workers::{start_workers, TextChange, Workers};
use crate::tui::jobs::JobId;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::widgets::{text, Level, Toast};
use gristmill_core::text::{agree, count};
use gristmill_core::{Cancel, Failure, Problem};
use gristmill_ops::engine::browse::{Groups, Marks};
use gristmill_ops::engine::splits::{Edit, SplitEditor};
use gristmill_ops::job::splits::SplitFile;
use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of edits in a change that is applied without a worker.
const EDITS_AT_ONCE: usize = 100;

/// Maximum number of shards or excludes in a change that is applied without a worker.
const NAMES_AT_ONCE: usize = 1_000;

/// Whether a change is too large to be applied between a key press and the next frame.
fn is_large(edit: &Edit) -> bool {
    match edit {
        Edit::Many { edits, .. } => edits.len() > EDITS_AT_ONCE || edits.iter().any(is_large),
        Edit::Exclude { items } => items.len() > NAMES_AT_ONCE,
        Edit::MoveShards { shards, .. } => shards.len() > NAMES_AT_ONCE,
        Edit::ReplaceText { .. } => true,
        _ => false,
    }
}

struct SessionState {
    env: UiEnv,
    root: PathBuf,
    place: Option<PathBuf>,
    editor: Option<SplitEditor>,
    failure: Option<Failure>,
    problems: Arc<Vec<Problem>>,
    revision: u64,
    /// Incremented whenever the editor is replaced, because versions of two editors cannot be compared.
    epoch: u64,
    /// The version whose draft was submitted last.
    kept: Option<u64>,
    /// The reason why the draft could not be saved.
    keep_failure: Option<Failure>,
    /// The version that was submitted for checking last.
    checked: Option<u64>,
    is_writing: bool,
    is_reworking: bool,
    written: Option<Arc<SplitFile>>,
    /// The reason why the last write failed.
    write_failure: Option<Failure>,
    /// Whether the index cannot be used to look up excludes.
    has_failed_lookup: bool,
    /// The file with the text that is open in an external editor.
    text: Option<PathBuf>,
    /// The file with a text to be opened again, and the line.
    reopen_at: Option<(PathBuf, Option<u64>)>,
    marks: Arc<Marks>,
    /// The most recently started leak check.
    leak_job: Option<JobId>,
    /// Versions of the splits and of the groups whose marks were requested last.
    marked: Option<(u64, u64)>,
    workers: Workers,
    cancel: Cancel,
}

/// The splits of one data set while they are edited. Clones share the same state.
#[derive(Clone)]
pub struct SplitSession {
    inner: Rc<RefCell<SessionState>>,
}

impl SplitSession {
    /// Opens the splits of a data set in the background. [`tick`](Self::tick) offers a draft from an earlier session.
    pub fn open(root: &Path, env: &UiEnv) -> Self {
        let mut workers = start_workers(env);
        workers.open.submit((root.to_owned(), env.state_dir.clone()));
        let inner = SessionState {
            env: env.clone(),
            root: root.to_owned(),
            place: None,
            editor: None,
            failure: None,
            problems: Arc::default(),
            revision: 0,
            epoch: 0,
            kept: None,
            keep_failure: None,
            checked: None,
            is_writing: false,
            is_reworking: false,
            written: None,
            write_failure: None,
            has_failed_lookup: false,
            text: None,
            reopen_at: None,
            marks: Arc::default(),
            leak_job: None,
            marked: None,
            workers,
            cancel: Cancel::default(),
        };
        Self { inner: Rc::new(RefCell::new(inner)) }
    }

    /// Returns the path of the data set.
    pub fn root(&self) -> PathBuf {
        self.inner.borrow().root.clone()
    }

    /// Returns the name of the data set; not escaped.
    pub fn name(&self) -> String {
        text::last_name(&self.inner.borrow().root)
    }

    /// Returns the environment of the session.
    pub fn env(&self) -> UiEnv {
        self.inner.borrow().env.clone()
    }

    /// Returns the current splits and excludes; `None` while they are being read, and if they cannot be read.
    ///
    /// The caller must drop the reference before calling a method that changes them.
    pub fn editor(&self) -> Option<Ref<'_, SplitEditor>> {
        Ref::filter_map(self.inner.borrow(), |inner| inner.editor.as_ref()).ok()
    }

    /// Returns why the splits cannot be edited: not prepared, not readable, or not understood.
    pub fn failure(&self) -> Option<Failure> {
        self.inner.borrow().failure.clone()
    }

    /// Returns the number of unwritten changes.
    pub fn pending(&self) -> usize {
        self.inner.borrow().editor.as_ref().map_or(0, SplitEditor::pending)
    }

    /// Returns the version of splits and excludes, which differs after each change and undo; 0 while they are being read.
    pub fn version(&self) -> u64 {
        self.inner.borrow().version()
    }

    /// Returns a number that changes whenever the screen must be redrawn.
    pub fn revision(&self) -> u64 {
        self.inner.borrow().revision
    }

    /// Returns the problems found in splits and excludes so far.
    pub fn problems(&self) -> Arc<Vec<Problem>> {
        Arc::clone(&self.inner.borrow().problems)
    }

    /// Returns the split file as written last in this session.
    pub fn written(&self) -> Option<Arc<SplitFile>> {
        self.inner.borrow().written.clone()
    }

    /// Returns the marks of the groups of a catalog for the newest version that a worker has finished. Must be called with each
    /// [`tick`](Self::tick), or when the groups have changed; [`revision`](Self::revision) changes when newer marks are available.
    pub fn marks(&self, groups: &Arc<Groups>) -> Arc<Marks> {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        let wanted = (inner.version(), groups.version);
        if let Some(editor) = &inner.editor {
            // A running request is not replaced: while groups are added continuously, it would otherwise never finish.
            if inner.marked != Some(wanted) && !inner.workers.marks.is_waiting() {
                inner.marked = Some(wanted);
                inner.workers.marks.submit((editor.clone(), Arc::clone(groups)));
            }
        }
        Arc::clone(&inner.marks)
    }

    /// Returns why the last write failed; reset by the next write.
    pub fn write_failure(&self) -> Option<Failure> {
        self.inner.borrow().write_failure.clone()
    }

    /// Whether a worker reads, applies or writes changes, so that the screen must be redrawn.
    pub fn is_busy(&self) -> bool {
        let inner = self.inner.borrow();
        inner.workers.open.is_waiting() || inner.is_reworking || inner.is_writing
    }

    /// Returns the work in progress for which the user waits.
    pub fn doing(&self) -> Option<&'static str> {
        let inner = self.inner.borrow();
        match () {
            () if inner.workers.open.is_waiting() => Some("reading"),
            () if inner.is_writing => Some("writing"),
            () if inner.is_reworking => Some("restoring changes"),
            () if inner.workers.items.is_waiting() => Some("looking up excludes"),
            () => None,
        }
    }

    /// Returns why changes are not possible now.
    pub fn edit_refusal(&self) -> Option<String> {
        let inner = self.inner.borrow();
        match (&inner.editor, &inner.failure) {
            (_, Some(failure)) => Some(failure.why.clone()),
            (None, None) => Some("the splits are still being read".to_owned()),
            _ if inner.is_writing => Some("the changes are being written".to_owned()),
            _ if inner.is_reworking => Some("changes are being taken up".to_owned()),
            _ => None,
        }
    }

    /// Returns the message for [`Screen::unwritten`](crate::tui::screen::Screen::unwritten): the changes that would not be written if the UI
    /// ended now.
    pub fn unwritten(&self) -> Option<String> {
        self.unwritten_changes().map(|changes| {
            let later = match self.draft_failure() {
                None => "Opening it again offers them.".to_owned(),
                Some(why) => format!("They are lost then, since they cannot be kept in the state folder: {why}."),
            };
            format!("{changes}. {later}")
        })
    }

    /// Returns the number of changes that are not written, as a sentence without its end.
    pub fn unwritten_changes(&self) -> Option<String> {
        let (pending, name) = (self.pending(), self.name());
        let changes = count(pending as u64, "change");
        let are = agree(pending as u64, "is", "are");
        (pending > 0).then(|| format!("{changes} to the splits of {name} {are} not written"))
    }

    /// Returns why unwritten changes would be lost, that is, why they cannot be saved as a draft.
    pub fn draft_failure(&self) -> Option<String> {
        self.inner.borrow().keep_failure.as_ref().map(|failure| failure.why.clone())
    }

    /// Applies a change. Returns effects that report the result.
    pub fn apply(&self, edit: Edit) -> Vec<Effect> {
        if let Some(why) = self.edit_refusal() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        if is_large(&edit) {
            self.rework(TextChange::Edit(edit));
            return Vec::new();
        }
        let mut inner = self.inner.borrow_mut();
        let Some(editor) = inner.editor.as_mut() else { return Vec::new() };
        let toast = match editor.apply(edit) {
            Err(failure) => Toast::failure(&failure),
            Ok(applied) => done(applied),
        };
        inner.save_and_check();
        vec![Effect::Toast(toast)]
    }

    /// Undoes the last change.
    pub fn undo(&self) -> Vec<Effect> {
        self.step(SplitEditor::last_edit, TextChange::Undo, SplitEditor::undo)
    }

    /// Redoes the last undone change.
    pub fn redo(&self) -> Vec<Effect> {
        self.step(SplitEditor::next_edit, TextChange::Redo, SplitEditor::redo)
    }

    fn step(
        &self,
        next: fn(&SplitEditor) -> Option<&Edit>,
        work: TextChange,
        step: fn(&mut SplitEditor) -> Option<String>,
    ) -> Vec<Effect> {
        if let Some(why) = self.edit_refusal() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        if self.editor().as_deref().and_then(next).is_some_and(is_large) {
            self.rework(work);
            return Vec::new();
        }
        let is_undo = matches!(work, TextChange::Undo);
        let mut inner = self.inner.borrow_mut();
        let title = inner.editor.as_mut().and_then(step);
        inner.save_and_check();
        vec![Effect::Toast(stepped(is_undo, title))]
    }

    /// Returns the most recently started leak check.
    pub(super) fn leak_job(&self) -> Option<JobId> {
        self.inner.borrow().leak_job
    }

    /// Stores the most recently started leak check.
    pub(super) fn set_leak_job(&self, id: JobId) {
        self.inner.borrow_mut().leak_job = Some(id);
    }

    /// Writes the changes in the background. With `overwrite`, replaces the changes that another process has written since the file was
    /// opened.
    pub fn write_now(&self, overwrite: bool) {
        let mut inner = self.inner.borrow_mut();
        let Some(editor) = inner.editor.clone() else { return };
        inner.is_writing = true;
        inner.write_failure = None;
        inner.revision += 1;
        inner.workers.write.submit((editor, overwrite));
    }

    /// Opens the text, with unwritten changes, in the user's editor. The screen calls [`text_returned`](Self::text_returned) when the
    /// editor has exited.
    pub fn edit_text(&self) -> Vec<Effect> {
        if let Some(why) = self.edit_refusal() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        let mut inner = self.inner.borrow_mut();
        if let Some(editor) = inner.editor.clone() {
            let state_dir = inner.env.state_dir.clone();
            inner.is_reworking = true;
            inner.revision += 1;
            inner.workers.text.submit((editor, state_dir));
        }
        Vec::new()
    }

    /// Opens a rejected text again, at a line, with the next [`tick`](Self::tick). The popup that offered it must be closed before, because
    /// closing it looks the same as the exit of an editor.
    pub(super) fn reopen_editor(&self, file: &Path, line: Option<u64>) {
        let mut inner = self.inner.borrow_mut();
        inner.reopen_at = Some((file.to_owned(), line));
        inner.is_reworking = true;
        inner.env.wake.wake();
    }

    /// Applies the edited text, if there is one, after the editor has exited.
    pub fn text_returned(&self) {
        let file = self.inner.borrow_mut().text.take();
        if let Some(file) = file {
            self.rework(TextChange::Text(file));
        }
    }

    /// Discards a text that was edited but not applied.
    pub(super) fn drop_text(&self, file: &Path) {
        let mut inner = self.inner.borrow_mut();
        let question = file.to_owned();
        inner.workers.drop_text.submit(question);
    }

    fn rework(&self, work: TextChange) {
        let mut inner = self.inner.borrow_mut();
        let Some(editor) = inner.editor.clone() else { return };
        inner.is_reworking = true;
        inner.revision += 1;
        inner.workers.rework.submit((editor, work));
    }

    /// Discards all unwritten changes.
    pub fn discard(&self) {
        let mut inner = self.inner.borrow_mut();
        while inner.editor.as_mut().and_then(SplitEditor::undo).is_some() {}
        inner.save_and_check();
    }

    /// Reads the file again and applies the unwritten changes to it.
    pub fn reload(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.keep_now();
        inner.failure = None;
        let question = (inner.root.clone(), inner.env.state_dir.clone());
        inner.workers.open.submit(question);
        inner.revision += 1;
    }

    /// Saves the draft before it returns; used at the end of the UI, when a worker may not have enough time.
    pub fn keep_now(&self) {
        self.inner.borrow_mut().keep_now();
    }

    /// Replaces the editor, for example by one for the file as another process wrote it, with the changes applied.
    pub(super) fn adopt(&self, editor: SplitEditor) {
        let mut inner = self.inner.borrow_mut();
        inner.set_editor(editor);
        inner.save_and_check();
    }
}
