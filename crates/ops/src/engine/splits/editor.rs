//! The state of the editor: the text, its meaning, and the undo history.

use super::derive::{FileBase, Views};
use super::edit::Edit;
use super::shards::Shards;
use super::view::{EditResult, ExcludeTotals, ExcludeView, SplitView};
use super::words;
use crate::engine::dataset::{has_only_splits, UPDATE_HINT};
use gristmill_core::text::hint_for;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_edit::{SharedList, SplitDoc};
use gristmill_data::formats::energon::split_yaml::{check_size, SplitFile};
use gristmill_pycompat::yaml_read;
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_storage::read_ahead::read_names_ahead;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const OPENING: &str = "opening the splits";

/// An edit that can be undone.
#[derive(Clone, Debug)]
struct Step {
    edit: Edit,
    before: SplitDoc,
    after: SplitDoc,
}

/// Unwritten edits, to be saved in the state folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The hash of the file to which the edits apply, see [`SplitEditor::base_hash`].
    pub base: String,
    /// The edits in order.
    pub edits: Vec<Edit>,
}

/// An edit that could not be reapplied, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedEdit {
    /// The edit that was rejected.
    pub edit: Edit,
    /// Reason why the edit could not be reapplied.
    pub failure: Failure,
}

/// The splits and excludes of one data set, in memory. Files are written by `job::splits`.
#[derive(Clone, Debug)]
pub struct SplitEditor {
    root: PathBuf,
    path: PathBuf,
    is_json: bool,
    shards: Arc<Shards>,
    pub(super) base: Arc<FileBase>,
    pub(super) doc: SplitDoc,
    pub(super) views: Views,
    undo: Vec<Step>,
    redo: Vec<Step>,
    version: u64,
}

impl SplitEditor {
    /// Opens the splits of a prepared data set: the file `config` in `.nv-meta` if it is given, otherwise `.nv-meta/split.yaml` or
    /// `split.json`.
    ///
    /// A `split.json` can only be viewed; every edit is refused with a hint.
    pub fn open(root: &Path, config: Option<&str>) -> Outcome<Self> {
        let split_file = config.unwrap_or(layout::SPLIT_YAML);
        let _fetched = read_names_ahead(&layout::nv_meta(root), &[layout::INFO_JSON, split_file]);
        let info = Info::read(root)?.ok_or_else(|| {
            let hint = if has_only_splits(root) { UPDATE_HINT } else { "gristmill prepare PATH prepares it" };
            Failure::data(OPENING, "the data set is not prepared")
                .on(Subject::path(root))
                .with_hint(hint_for(root, hint))
        })?;
        let yaml = layout::in_nv_meta(root, split_file);
        let json = layout::in_nv_meta(root, layout::SPLIT_JSON);
        let path = if config.is_none() && !files::exists(&yaml) && files::exists(&json) { json } else { yaml };
        let Some(bytes) = read_whole(&path, yaml_read::MAX_BYTES as u64)? else {
            return Err(Failure::data(OPENING, "there is no such file")
                .on(Subject::path(&path))
                .with_hint(hint_for(root, "gristmill prepare PATH --update makes it")));
        };
        Self::from_bytes(root, &path, bytes, info.shard_counts)
    }

    /// Creates the editor from the bytes of a file, for a data set with these shards and counts. `path` names the file in messages and for
    /// writing; if it ends in `.json`, the editor is read-only.
    pub fn from_bytes(root: &Path, path: &Path, bytes: Vec<u8>, shard_counts: Vec<(String, u64)>) -> Outcome<Self> {
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let at = error.valid_up_to() as u64;
            Failure::data(OPENING, "it is not UTF-8 text").on(Subject::path(path).at(at))
        })?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let parsed = if is_json {
            SplitFile::parse_json(text).and_then(|file| SplitDoc::parse(&file.render()))
        } else {
            SplitDoc::parse(text)
        };
        let doc = parsed.map_err(|error| error.into_failure(OPENING, path))?;
        let shards = Arc::new(Shards::new(shard_counts));
        let views = Views::new(&doc, &shards, None);
        let base = Arc::new(FileBase::new(bytes, &doc, &views));
        Ok(Self {
            root: root.to_owned(),
            path: path.to_owned(),
            is_json,
            shards,
            base,
            doc,
            views,
            undo: Vec::new(),
            redo: Vec::new(),
            version: 0,
        })
    }

    /// Returns the path of the data set.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Whether the file is a `split.json`, which cannot be edited.
    pub fn is_json(&self) -> bool {
        self.is_json
    }
    /// Returns all shards of the data set with their numbers of samples, in the order of `.info.json`.
    pub fn shards(&self) -> &[(Arc<str>, u64)] {
        self.shards.list()
    }
    pub(super) fn shard_table(&self) -> &Shards {
        &self.shards
    }
    /// Returns the splits in the order of the file.
    pub fn splits(&self) -> &[SplitView] {
        self.views.splits()
    }
    /// Returns the shards in no split.
    pub fn loose(&self) -> &SplitView {
        self.views.loose()
    }
    /// Returns the excludes in the order of the file.
    pub fn excludes(&self) -> &SharedList<ExcludeView> {
        self.views.excludes()
    }
    /// Returns the totals of the excludes, which are updated with each change.
    pub fn totals(&self) -> ExcludeTotals {
        self.views.totals()
    }
    /// Whether a shard, given by its position in `.info.json`, is excluded as a whole.
    pub fn is_shard_excluded(&self, id: u32) -> bool {
        self.views.is_excluded(id)
    }
    /// Returns the number of unwritten edits.
    pub fn pending(&self) -> usize {
        self.undo.len()
    }
    /// Returns a number that changes with every edit, undo and redo, and when [`take_checked`](Self::take_checked) adds results.
    pub fn version(&self) -> u64 {
        self.version
    }
    /// Returns the bytes of the file as it was opened or last written.
    pub fn base_bytes(&self) -> &[u8] {
        &self.base.bytes
    }
    /// Returns the hash of the base bytes.
    pub fn base_hash(&self) -> String {
        self.base.hash.clone()
    }

    /// Applies one edit. After an error, the editor is unchanged. An edit without effect cannot be undone.
    pub fn apply(&mut self, edit: Edit) -> Outcome<EditResult> {
        if self.is_json {
            return Err(Failure::usage("editing the splits", "they are in a split.json, which is only shown")
                .on(Subject::path(&self.path))
                .with_hint("rename it to split.yaml: JSON is YAML too, and the loader reads that file first"));
        }
        let before = self.doc.clone();
        let mut applied = EditResult { message: String::new(), problems: Vec::new() };
        let is_joined = !matches!(edit, Edit::ReplaceText { .. }) && self.doc.join_excludes();
        if is_joined {
            self.refresh();
        }
        match self.run(&edit, &mut applied) {
            Err(failure) => {
                self.set_doc(before);
                Err(failure)
            }
            Ok(false) if !is_joined => Ok(applied),
            Ok(_) => {
                if is_joined {
                    applied.message.push_str("; the lists of excludes are joined");
                }
                self.undo.push(Step { edit, before, after: self.doc.clone() });
                self.redo.clear();
                self.version += 1;
                Ok(applied)
            }
        }
    }

    /// Undoes the last edit and returns its description.
    pub fn undo(&mut self) -> Option<String> {
        let step = self.undo.pop()?;
        self.set_doc(step.before.clone());
        let title = step.edit.title();
        self.redo.push(step);
        self.version += 1;
        Some(title)
    }

    /// Applies the last undone edit again, and returns its description.
    pub fn redo(&mut self) -> Option<String> {
        let step = self.redo.pop()?;
        self.set_doc(step.after.clone());
        let title = step.edit.title();
        self.undo.push(step);
        self.version += 1;
        Some(title)
    }

    /// Returns the unwritten edits, oldest first.
    pub fn log(&self) -> Vec<Edit> {
        self.undo.iter().map(|step| step.edit.clone()).collect()
    }

    /// Returns the edit that would be undone next.
    pub fn last_edit(&self) -> Option<&Edit> {
        self.undo.last().map(|step| &step.edit)
    }

    /// Returns the edit that would be redone next.
    pub fn next_edit(&self) -> Option<&Edit> {
        self.redo.last().map(|step| &step.edit)
    }

    /// Returns the unwritten edits for saving; `None` if there are none.
    pub fn draft(&self) -> Option<Draft> {
        (self.pending() > 0).then(|| Draft { base: self.base_hash(), edits: self.log() })
    }

    /// Reapplies edits. Returns those that could not be applied.
    pub fn replay(&mut self, edits: &[Edit]) -> Vec<RejectedEdit> {
        let tried = edits.iter().map(|edit| (edit, self.apply(edit.clone())));
        tried.filter_map(|(edit, result)| Some(RejectedEdit { edit: edit.clone(), failure: result.err()? })).collect()
    }

    /// Reapplies the edits of this editor to `theirs`, another version of the same file. An edit that identifies an exclude by its position
    /// is applied to the same item there. An edit of the whole text cannot be reapplied.
    pub fn reapply_on(&self, theirs: &mut Self) -> Vec<RejectedEdit> {
        let mut not_applied = Vec::new();
        let mut mine = self.clone();
        for step in &self.undo {
            mine.set_doc(step.before.clone());
            let result = mine.translated(&step.edit, theirs).and_then(|edit| theirs.apply(edit));
            if let Err(failure) = result {
                not_applied.push(RejectedEdit { edit: step.edit.clone(), failure });
            }
        }
        not_applied
    }

    /// Returns the edit for another version of the file. The parts of an [`Edit::Many`] are applied one by one.
    fn translated(&mut self, edit: &Edit, theirs: &Self) -> Outcome<Edit> {
        let same_item = |index: usize| {
            let gone = |what: String| Failure::data(words::ACTIVITY, what);
            let item = self.doc.excludes().get(index).map(|item| Arc::clone(item.value()));
            let item = item.ok_or_else(|| gone(format!("there is no exclude number {}", index + 1)))?;
            let place = theirs.doc.excludes().iter().position(|other| *other.value() == item);
            place.ok_or_else(|| gone(format!("the exclude '{item}' no longer exists")))
        };
        Ok(match edit {
            Edit::RemoveItem { index } => {
                same_item(*index)?;
                let item = self.doc.excludes().get(*index).map(|item| item.value().to_string());
                Edit::RemoveExclude { item: item.unwrap_or_default() }
            }
            Edit::SetNote { index, note } => Edit::SetNote { index: same_item(*index)?, note: note.clone() },
            Edit::ReplaceText { .. } => {
                return Err(Failure::data(words::ACTIVITY, "the text was edited as a whole")
                    .with_hint("make that change again on the new file"));
            }
            Edit::Many { title, edits } => {
                let mut made = Vec::with_capacity(edits.len());
                for edit in edits {
                    made.push(self.translated(edit, theirs)?);
                    let mut applied = EditResult { message: String::new(), problems: Vec::new() };
                    self.run(edit, &mut applied)?;
                }
                Edit::Many { title: title.clone(), edits: made }
            }
            other => other.clone(),
        })
    }

    /// Returns the bytes to write. They are parsed again, and must have the intended meaning.
    pub fn text(&self) -> Outcome<Vec<u8>> {
        if self.pending() == 0 {
            return Ok(self.base.bytes.clone());
        }
        let text = self.doc.text();
        check_size("writing the splits", &self.path, text.len() as u64)?;
        words::check_meaning(&self.doc, &text).map_err(|failure| failure.on(Subject::path(&self.path)))?;
        Ok(text.into_bytes())
    }

    /// Sets the written bytes as the new base: after this, no edit is pending, and nothing is marked as new or moved.
    pub fn written(&mut self, bytes: Vec<u8>) {
        self.base = Arc::new(FileBase::new(bytes, &self.doc, &self.views));
        self.undo.clear();
        self.redo.clear();
        self.version += 1;
        self.views = Views::new(&self.doc, &self.shards, Some((&self.base, &self.views)));
    }

    pub(super) fn set_doc(&mut self, doc: SplitDoc) {
        self.doc = doc;
        self.refresh();
    }

    pub(super) fn refresh(&mut self) {
        self.views.update_views(&self.doc, &self.shards, &self.base);
    }

    pub(super) fn touched(&mut self) {
        self.version += 1;
    }
}
