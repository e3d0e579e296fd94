//! The workers of a session: what takes its time, and what came of it.

use super::draft::{self, FoundDraft};
use super::text_edit::{self, Refused};
use crate::tui::screen::UiEnv;
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::{Latest, Wake};
use gristmill_core::text::count;
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemLog, RunOptions};
use gristmill_ops::engine::browse::{Groups, Marks};
use gristmill_ops::engine::splits::{check_items, Applied, Edit, NotApplied, SplitEditor};
use gristmill_ops::job::recover::before_looking;
use gristmill_ops::job::splits::{conflict, is_conflict, write, SplitFile, ThreeWay};
use gristmill_pycompat::braces;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What opening brings.
pub struct Opened {
    /// The splits, or why they cannot be edited.
    pub editor: Outcome<SplitEditor>,
    /// Changes that were left unwritten.
    pub found: Option<FoundDraft>,
    /// Where such changes are kept.
    pub place: PathBuf,
}

/// Work on the whole text, which may take its time.
pub enum Rework {
    /// The text as it was edited elsewhere.
    Text(PathBuf),
    /// Changes of a draft, to be made again.
    Draft(Vec<Edit>),
    /// A change of many parts.
    Edit(Edit),
    /// Such a change is taken back.
    Undo,
    /// Such a change is made again.
    Redo,
}

/// What came of it.
pub struct Reworked {
    /// With the changes, as far as they could be made.
    pub editor: SplitEditor,
    /// The notice of what was done, or the text that was not taken.
    pub told: Result<Option<Toast>, Refused>,
}

/// What came of writing.
pub enum WriteEnd {
    /// It is written; the editor has nothing pending any more.
    Written(Box<(SplitFile, SplitEditor)>),
    /// Somebody else changed the file; nothing was written.
    Changed(Box<ThreeWay>),
    /// Nothing was written.
    Failed(Box<Failure>),
}

/// What is odd about a version.
pub struct Checked {
    /// Which.
    pub version: u64,
    /// What is odd.
    pub problems: Arc<Vec<Problem>>,
}

/// Works out what splits and excludes say about the shards and samples of a catalog.
pub type Marker = Latest<(SplitEditor, Arc<Groups>), Arc<Marks>>;

/// Starts the worker that does.
pub fn marker(wake: &Wake) -> Marker {
    Latest::start("marks", wake.clone(), |(editor, groups): (SplitEditor, Arc<Groups>)| marked(&editor, &groups))
}

/// All workers of a session. Dropping them ends their threads.
pub struct Workers {
    /// Opens: the data set, and the state folder.
    pub open: Latest<(PathBuf, PathBuf), Opened>,
    /// Changes the whole text.
    pub rework: Latest<(SplitEditor, Rework), Reworked>,
    /// Looks for what is odd.
    pub check: Latest<(u64, SplitEditor), Checked>,
    /// Looks excludes up in the index; brings the editor that has learned what is there.
    pub items: Latest<(SplitEditor, Cancel), Outcome<SplitEditor>>,
    /// Keeps the draft; brings why it could not.
    pub keep: Latest<(PathBuf, SplitEditor), Option<Failure>>,
    /// Writes.
    pub write: Latest<(SplitEditor, bool), WriteEnd>,
    /// Marks shards and samples for the browser.
    pub marks: Marker,
    /// Removes the copy of a text that is given up.
    pub drop_text: Latest<PathBuf, ()>,
    /// Writes the text for an editor: the text, and the state folder.
    pub text: Latest<(SplitEditor, PathBuf), Outcome<PathBuf>>,
}

/// Starts the workers; they sleep until they are asked.
pub fn start_workers(env: &UiEnv) -> Workers {
    let wake = || env.wake.clone();
    let options = env.options.clone();
    Workers {
        open: Latest::start("splits", wake(), |(root, state_dir): (PathBuf, PathBuf)| open(&root, &state_dir)),
        rework: Latest::start("splits-text", wake(), |(editor, work): (SplitEditor, Rework)| rework(editor, work)),
        check: Latest::start("splits-check", wake(), |(version, editor): (u64, SplitEditor)| Checked {
            version,
            problems: Arc::new(editor.problems()),
        }),
        items: Latest::start("excludes", wake(), |(mut editor, cancel): (SplitEditor, Cancel)| {
            let found = check_items(editor.root(), &editor.unchecked_items(), &cancel)?;
            editor.take_checked(found);
            Ok(editor)
        }),
        keep: Latest::start("draft", wake(), |(place, editor): (PathBuf, SplitEditor)| {
            draft::keep(&place, editor.draft().as_ref())
        }),
        write: Latest::start("splits-write", wake(), move |(editor, overwrite): (SplitEditor, bool)| {
            write_editor(editor, &options, overwrite)
        }),
        marks: marker(&env.wake),
        drop_text: Latest::start("splits-drop", wake(), |file: PathBuf| text_edit::remove(&file)),
        text: Latest::start("splits-copy", wake(), |(editor, state_dir): (SplitEditor, PathBuf)| {
            text_edit::put(&editor, &state_dir)
        }),
    }
}

fn open(root: &Path, state_dir: &Path) -> Opened {
    let place = draft::place(state_dir, root);
    // An interrupted run is finished first: what is opened must be what stays.
    let looked = before_looking(root, &ProblemLog::default());
    let editor = looked.and_then(|()| SplitEditor::open(root, None));
    Opened { editor, found: draft::load(&place), place }
}

fn rework(mut editor: SplitEditor, work: Rework) -> Reworked {
    let told = match work {
        Rework::Text(file) => text_edit::take(&mut editor, &file),
        Rework::Edit(edit) => Ok(Some(match editor.apply(edit) {
            Err(failure) => Toast::failure(&failure),
            Ok(applied) => done(applied),
        })),
        Rework::Undo => Ok(Some(stepped(true, editor.undo()))),
        Rework::Redo => Ok(Some(stepped(false, editor.redo()))),
        Rework::Draft(edits) => {
            let not_applied = editor.replay(&edits);
            Ok(Some(replayed(edits.len(), editor.pending(), &not_applied)))
        }
    };
    Reworked { editor, told }
}

/// The notice of a change that was made, and of what is odd about it.
pub fn done(applied: Applied) -> Toast {
    match applied.problems.first() {
        Some(problem) => Toast::new(Level::Warn, format!("{}; {}", applied.message, problem.message)),
        None => Toast::new(Level::Ok, applied.message),
    }
}

/// The notice of a step back, or of one forward again.
pub fn stepped(is_undo: bool, title: Option<String>) -> Toast {
    let (done, nothing) = match is_undo {
        true => ("undone", "there is nothing to undo"),
        false => ("done again", "there is nothing to do again"),
    };
    let words = title.map_or_else(|| nothing.to_owned(), |title| format!("{done}: {title}"));
    Toast::new(Level::Info, words)
}

/// The notice of changes that were made again.
fn replayed(all: usize, pending: usize, not_applied: &[NotApplied]) -> Toast {
    match not_applied.first() {
        None if pending == 0 => Toast::new(Level::Info, "the file has those changes already"),
        None => Toast::new(Level::Ok, format!("{} taken up again", count(all as u64, "change"))),
        Some(first) => {
            let lost = count(not_applied.len() as u64, "change");
            let why = format!("{}: {}", first.edit.title(), first.failure.why);
            Toast::new(Level::Warn, format!("{lost} of {all} cannot be made any more; {why}"))
        }
    }
}

fn write_editor(mut editor: SplitEditor, options: &RunOptions, overwrite: bool) -> WriteEnd {
    let root = editor.root().to_owned();
    match write(&root, &editor, options, overwrite) {
        Ok(written) => {
            editor.written(written.bytes.clone());
            WriteEnd::Written(Box::new((written, editor)))
        }
        Err(failure) if is_conflict(&failure) => match conflict(&root, &editor) {
            Ok(Some(three)) => WriteEnd::Changed(Box::new(three)),
            // It is again as it was opened.
            Ok(None) => WriteEnd::Failed(Box::new(failure)),
            Err(failure) => WriteEnd::Failed(Box::new(failure)),
        },
        Err(failure) => WriteEnd::Failed(Box::new(failure)),
    }
}

fn marked(editor: &SplitEditor, groups: &Groups) -> Arc<Marks> {
    let splits: Vec<(Arc<str>, Vec<Cow<'_, str>>)> = editor
        .splits()
        .iter()
        .map(|split| (Arc::clone(&split.name), split.shards.iter().map(|shard| Cow::Borrowed(&*shard.name)).collect()))
        .collect();
    let excludes: Vec<Cow<'_, str>> = editor.excludes().iter().flat_map(|exclude| names_of(&exclude.item)).collect();
    Arc::new(Marks::new(groups, &splits, &excludes))
}

/// What an exclude stands for; nothing where its braces cannot be expanded.
fn names_of(item: &str) -> Vec<Cow<'_, str>> {
    if !item.contains(['{', '}', '\\']) {
        return vec![Cow::Borrowed(item)];
    }
    let names = braces::expand(item, braces::MAX_RESULTS).unwrap_or_default();
    names.into_iter().map(Cow::Owned).collect()
}
