//! The workers of a session, and their results.

use super::draft::{self, FoundDraft};
use super::notices::{done, replayed, stepped};
use super::text_edit::{self, RejectedText};
use crate::tui::screen::UiEnv;
use crate::tui::widgets::Toast;
use crate::tui::work::{LatestWorker, Wake};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemLog, RunOptions};
use gristmill_ops::engine::browse::{Groups, Marks};
use gristmill_ops::engine::splits::{check_items, Edit, SplitEditor};
use gristmill_ops::job::recover::recover_interrupted;
use gristmill_ops::job::splits::{conflict, is_conflict, write, SplitFile, ThreeWayMerge};
use gristmill_pycompat::braces;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of opening the splits.
pub struct OpenedSplits {
    /// The splits, or why they cannot be edited.
    pub editor: Outcome<SplitEditor>,
    /// Unwritten changes of an earlier session.
    pub found: Option<FoundDraft>,
    /// The path of the draft.
    pub place: PathBuf,
}

/// A slow change of the splits, applied by a worker.
pub enum TextChange {
    /// Applies the text of an external editor.
    Text(PathBuf),
    /// Applies the changes of a draft.
    Draft(Vec<Edit>),
    /// Applies a change of many parts.
    Edit(Edit),
    /// Undoes the last change.
    Undo,
    /// Redoes the last undone change.
    Redo,
}

/// The result of a [`TextChange`].
pub struct TextChangeResult {
    /// The editor with the changes that could be applied.
    pub editor: SplitEditor,
    /// A notice about the change, or the text that could not be applied.
    pub outcome: Result<Option<Toast>, RejectedText>,
}

/// The result of writing.
pub enum WriteResult {
    /// The changes are written; the editor has no pending changes.
    Written(Box<(SplitFile, SplitEditor)>),
    /// Another process changed the file; nothing was written.
    Changed(Box<ThreeWayMerge>),
    /// Nothing was written.
    Failed(Box<Failure>),
}

pub struct VersionProblems {
    /// The version that was checked.
    pub version: u64,
    /// The problems that were found.
    pub problems: Arc<Vec<Problem>>,
}

/// Computes the marks of splits and excludes on the shards and samples of a catalog.
pub type Marker = LatestWorker<(SplitEditor, Arc<Groups>), Arc<Marks>>;

/// Starts the marker.
pub fn marker(wake: &Wake) -> Marker {
    LatestWorker::start("marks", wake.clone(), |(editor, groups): (SplitEditor, Arc<Groups>)| marked(&editor, &groups))
}

/// All workers of a session. Dropping them ends their threads.
pub struct Workers {
    /// Opens the splits; takes the path of the data set and of the state folder.
    pub open: LatestWorker<(PathBuf, PathBuf), OpenedSplits>,
    /// Applies slow changes.
    pub rework: LatestWorker<(SplitEditor, TextChange), TextChangeResult>,
    /// Checks the splits for problems.
    pub check: LatestWorker<(u64, SplitEditor), VersionProblems>,
    /// Looks up excludes in the index; returns the editor with the results.
    pub items: LatestWorker<(SplitEditor, Cancel), Outcome<SplitEditor>>,
    /// Saves the draft; returns the failure if it could not be saved.
    pub keep: LatestWorker<(PathBuf, SplitEditor), Option<Failure>>,
    /// Writes the split file; the flag is whether to overwrite changes of another process.
    pub write: LatestWorker<(SplitEditor, bool), WriteResult>,
    /// Computes the marks for the browser.
    pub marks: Marker,
    /// Removes the copy of a discarded text.
    pub drop_text: LatestWorker<PathBuf, ()>,
    /// Writes the text for an editor; takes the text and the state folder.
    pub text: LatestWorker<(SplitEditor, PathBuf), Outcome<PathBuf>>,
}

/// Starts the workers.
pub fn start_workers(env: &UiEnv) -> Workers {
    let wake = || env.wake.clone();
    let options = env.options.clone();
    Workers {
        open: LatestWorker::start("splits", wake(), |(root, state_dir): (PathBuf, PathBuf)| open(&root, &state_dir)),
        rework: LatestWorker::start("splits-text", wake(), |(editor, work): (SplitEditor, TextChange)| {
            rework(editor, work)
        }),
        check: LatestWorker::start("splits-check", wake(), |(version, editor): (u64, SplitEditor)| VersionProblems {
            version,
            problems: Arc::new(editor.problems()),
        }),
        items: LatestWorker::start("excludes", wake(), |(mut editor, cancel): (SplitEditor, Cancel)| {
            let found = check_items(editor.root(), &editor.unchecked_items(), &cancel)?;
            editor.take_checked(found);
            Ok(editor)
        }),
        keep: LatestWorker::start("draft", wake(), |(place, editor): (PathBuf, SplitEditor)| {
            draft::keep(&place, editor.draft().as_ref())
        }),
        write: LatestWorker::start("splits-write", wake(), move |(editor, overwrite): (SplitEditor, bool)| {
            write_editor(editor, &options, overwrite)
        }),
        marks: marker(&env.wake),
        drop_text: LatestWorker::start("splits-drop", wake(), |file: PathBuf| text_edit::remove(&file)),
        text: LatestWorker::start("splits-copy", wake(), |(editor, state_dir): (SplitEditor, PathBuf)| {
            text_edit::write_draft(&editor, &state_dir)
        }),
    }
}

fn open(root: &Path, state_dir: &Path) -> OpenedSplits {
    let place = draft::place(state_dir, root);
    // The publication of an interrupted run is completed first, because it would change the files after they are opened.
    let recovered = recover_interrupted(root, &ProblemLog::default());
    let editor = recovered.and_then(|()| SplitEditor::open(root, None));
    OpenedSplits { editor, found: draft::load(&place), place }
}

fn rework(mut editor: SplitEditor, work: TextChange) -> TextChangeResult {
    let outcome = match work {
        TextChange::Text(file) => text_edit::apply_edited_text(&mut editor, &file),
        TextChange::Edit(edit) => Ok(Some(match editor.apply(edit) {
            Err(failure) => Toast::failure(&failure),
            Ok(applied) => done(applied),
        })),
        TextChange::Undo => Ok(Some(stepped(true, editor.undo()))),
        TextChange::Redo => Ok(Some(stepped(false, editor.redo()))),
        TextChange::Draft(edits) => {
            let not_applied = editor.replay(&edits);
            Ok(Some(replayed(edits.len(), editor.pending(), &not_applied)))
        }
    };
    TextChangeResult { editor, outcome }
}

fn write_editor(mut editor: SplitEditor, options: &RunOptions, overwrite: bool) -> WriteResult {
    let root = editor.root().to_owned();
    match write(&root, &editor, options, overwrite) {
        Ok(written) => {
            editor.written(written.bytes.clone());
            WriteResult::Written(Box::new((written, editor)))
        }
        Err(failure) if is_conflict(&failure) => match conflict(&root, &editor) {
            Ok(Some(three)) => WriteResult::Changed(Box::new(three)),
            // The file is unchanged since it was opened.
            Ok(None) => WriteResult::Failed(Box::new(failure)),
            Err(failure) => WriteResult::Failed(Box::new(failure)),
        },
        Err(failure) => WriteResult::Failed(Box::new(failure)),
    }
}

/// Computes the marks of shards and samples from the splits and excludes.
pub fn marked(editor: &SplitEditor, groups: &Groups) -> Arc<Marks> {
    let splits: Vec<(Arc<str>, Vec<Cow<'_, str>>)> = editor
        .splits()
        .iter()
        .map(|split| (Arc::clone(&split.name), split.shards.iter().map(|shard| Cow::Borrowed(&*shard.name)).collect()))
        .collect();
    let excludes: Vec<Cow<'_, str>> = editor.excludes().iter().flat_map(|exclude| names_of(&exclude.item)).collect();
    Arc::new(Marks::new(groups, &splits, &excludes))
}

/// Returns the names that an exclude expands to; empty if its braces cannot be expanded.
fn names_of(item: &str) -> Vec<Cow<'_, str>> {
    if !item.contains(['{', '}', '\\']) {
        return vec![Cow::Borrowed(item)];
    }
    let names = braces::expand(item, braces::MAX_RESULTS).unwrap_or_default();
    names.into_iter().map(Cow::Owned).collect()
}
