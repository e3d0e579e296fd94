//! The actions of a list of problems of a run: looks up the targets of the problems, and owns the split session that `x` changes.

use super::find::{find, find_unlisted, ProblemTargets};
use super::rows::OpenTarget;
use super::table::{NotedTarget, ProblemTable};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::screens::browse;
use crate::tui::screens::splits::{marked, marker, Marker, SplitSession};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::{Outcome, Problem, ProblemKind, UnlistedProblems};
use gristmill_ops::engine::browse::Groups;
use gristmill_ops::engine::splits::Edit;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A kind of problem, and the targets of its unlisted problems.
type UnlistedTargets = (ProblemKind, Outcome<Vec<NotedTarget>>);

/// Runs the actions of the list of problems of an ended run.
pub struct ProblemEditor {
    env: UiEnv,
    root: PathBuf,
    finder: Stoppable<Vec<Problem>, ProblemTargets>,
    /// Finds the targets of the unlisted problems of a kind.
    unlisted_finder: Stoppable<(ProblemKind, UnlistedProblems), UnlistedTargets>,
    marker: Marker,
    session: Option<SplitSession>,
    groups: Option<Arc<Groups>>,
    /// The version of the splits for which the marks were last requested.
    marked: Option<u64>,
}

impl ProblemEditor {
    /// Starts looking up the listed problems. `root` is the data set that the shard names in them belong to.
    pub fn new(root: PathBuf, table: &mut ProblemTable, env: &UiEnv) -> Self {
        let place = root.clone();
        let mut finder = Stoppable::start("problems", env.wake.clone(), move |problems: Vec<Problem>, cancel| {
            find(&place, &problems, cancel)
        });
        let place = root.clone();
        let unlisted_finder = Stoppable::start("unlisted", env.wake.clone(), move |(kind, unlisted), cancel| {
            (kind, find_unlisted(&place, kind, &unlisted, cancel))
        });
        // Requested immediately: an idle screen is not ticked before a worker has an answer.
        finder.submit(table.rows().reported().to_vec());
        table.why_no_edit = Some(Arc::from("the splits are still being read"));
        let (env, marker) = (env.clone(), marker(&env.wake));
        Self { env, root, finder, unlisted_finder, marker, session: None, groups: None, marked: None }
    }

    /// Applies the results of the workers. Returns whether the screen must be redrawn.
    pub fn update(&mut self, table: &mut ProblemTable, effects: &mut Vec<Effect>) -> bool {
        let mut changed = false;
        if let Some(found) = self.finder.take() {
            changed = true;
            table.rows_mut().take_targets(found.targets);
            match found.edit {
                Ok(groups) => {
                    self.groups = Some(groups);
                    self.session = Some(SplitSession::open(&self.root, &self.env));
                }
                Err(why) => table.why_no_edit = Some(why),
            }
        }
        let (Some(session), Some(groups)) = (&self.session, &self.groups) else { return changed };
        changed |= session.tick(effects);
        if let Some((kind, found)) = self.unlisted_finder.take() {
            changed = true;
            update_marks(session, groups, table);
            let edit = found.map_err(|failure| failure.to_string()).and_then(|found| table.exclude_all(kind, found));
            effects.extend(apply(session, edit));
        }
        if let Some(editor) = session.editor() {
            let version = Some(session.version());
            if self.marked != version && !self.marker.is_waiting() {
                self.marked = version;
                self.marker.submit((editor.clone(), Arc::clone(groups)));
            }
        }
        if let Some(marks) = self.marker.take() {
            table.marks = marks;
            changed = true;
        }
        table.why_no_edit = session.edit_refusal().map(Arc::from);
        table.pending = session.pending();
        changed
    }

    /// Runs an action of the list.
    pub fn handle_action(&mut self, action: Action, table: &mut ProblemTable) -> Vec<Effect> {
        let effects = match action {
            Action::OpenProblem => match table.goal() {
                Ok(OpenTarget::Data { path, subject }) => {
                    let start = browse::BrowseStart::Subject(subject);
                    vec![Effect::Push(browse::open_shared(path.clone(), start, self.session_of(&path), &self.env))]
                }
                // Only lists over the browser have rows with this target.
                Ok(OpenTarget::Sample(_)) => Vec::new(),
                Err(why) => vec![Effect::Toast(Toast::new(Level::Warn, why))],
            },
            Action::ExcludeKind if self.session.is_some() && table.unlisted_of_kind().is_some() => {
                table.unlisted_of_kind().into_iter().for_each(|question| self.unlisted_finder.submit(question));
                let words = "the problems of this kind that are not listed are being looked up";
                vec![Effect::Toast(Toast::new(Level::Info, words))]
            }
            action => match (&self.session, &self.groups) {
                (Some(session), Some(groups)) => edit(session, groups, action, table),
                _ => Vec::new(),
            },
        };
        table.pending = self.session.as_ref().map_or(0, SplitSession::pending);
        effects
    }

    /// Returns the split session if it belongs to the data set at `path`.
    pub fn session_of(&self, path: &Path) -> Option<SplitSession> {
        self.session.clone().filter(|session| session.root() == path)
    }

    /// Whether a lookup for an action of the user is running.
    pub fn is_busy(&self) -> bool {
        let is_looking = self.finder.is_waiting() || self.unlisted_finder.is_waiting();
        is_looking || self.marker.is_waiting() || self.session.as_ref().is_some_and(SplitSession::is_busy)
    }

    /// Returns a description of the changes that would be lost if the UI ended now.
    pub fn unwritten(&self) -> Option<String> {
        self.session.as_ref().and_then(SplitSession::unwritten)
    }

    /// Saves the unwritten changes as a draft.
    pub fn closing(&self) {
        if let Some(session) = &self.session {
            session.keep_now();
        }
    }
}

fn apply(session: &SplitSession, edit: Result<Edit, String>) -> Vec<Effect> {
    match edit {
        Ok(edit) => session.apply(edit),
        Err(why) => vec![Effect::Toast(Toast::new(Level::Warn, why))],
    }
}

/// Changes the splits by an action of the list. The marks are computed first, because those on the screen may be older than the last
/// change.
pub(super) fn edit(session: &SplitSession, groups: &Groups, action: Action, table: &mut ProblemTable) -> Vec<Effect> {
    if matches!(action, Action::ExcludeProblem | Action::ExcludeKind) {
        update_marks(session, groups, table);
    }
    match action {
        Action::ExcludeProblem => apply(session, table.exclude()),
        Action::ExcludeKind => apply(session, table.exclude_kind(Vec::new())),
        Action::Undo => session.undo(),
        Action::Redo => session.redo(),
        Action::Write => session.write(),
        _ => Vec::new(),
    }
}

fn update_marks(session: &SplitSession, groups: &Groups, table: &mut ProblemTable) {
    if let Some(editor) = session.editor() {
        table.marks = marked(&editor, groups);
    }
}
