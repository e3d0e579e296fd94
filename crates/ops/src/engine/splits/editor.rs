//! The state of the editor: the text, what it means, and the way back.

use super::derive::Views;
use super::edit::Edit;
use super::shards::Shards;
use super::view::{Applied, ExcludeTotals, ExcludeView, SplitView};
use super::{problems, words};
use crate::formats::energon::info::Info;
use crate::formats::energon::layout;
use crate::formats::energon::split_edit::{Shared, SplitDoc};
use crate::formats::energon::split_yaml::SplitFile;
use gristmill_core::{Failure, Outcome, Problem, Subject};
use gristmill_pycompat::yaml_read;
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const OPENING: &str = "opening the splits";

/// What was there when the file was opened or last written.
#[derive(Debug)]
pub(super) struct Base {
    /// The bytes of the file.
    pub(super) bytes: Vec<u8>,
    /// What tells them from others.
    hash: String,
    /// Splits that were there.
    pub(super) splits: HashSet<u32>,
    /// Shard → the splits it was in.
    pub(super) homes: HashMap<Arc<str>, Vec<u32>>,
    /// The excludes.
    pub(super) excludes: HashSet<Arc<str>>,
}

impl Base {
    fn new(bytes: Vec<u8>, doc: &SplitDoc, views: &Views) -> Self {
        let mut homes: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        for (entry, view) in doc.splits().iter().zip(views.splits()) {
            for shard in view.shards.iter() {
                homes.entry(Arc::clone(&shard.name)).or_default().push(entry.id());
            }
        }
        let hash = blake3::hash(&bytes).to_hex().to_string();
        Self {
            bytes,
            hash,
            splits: doc.splits().iter().map(|split| split.id()).collect(),
            homes,
            excludes: doc.excludes().iter().map(|item| Arc::clone(item.value())).collect(),
        }
    }
}

/// One step of undo.
#[derive(Clone, Debug)]
struct Step {
    edit: Edit,
    before: SplitDoc,
    after: SplitDoc,
}

/// Edits that were not written yet, for the state folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The hash of the file that the edits were made on, see [`SplitEditor::base_hash`].
    pub base: String,
    /// The edits in order.
    pub edits: Vec<Edit>,
}

/// An edit that could not be made again, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct NotApplied {
    /// The edit.
    pub edit: Edit,
    /// Why.
    pub failure: Failure,
}

/// The splits and excludes of one data set, in memory. Nothing is written by it; see `job::splits`.
#[derive(Clone, Debug)]
pub struct SplitEditor {
    root: PathBuf,
    path: PathBuf,
    is_json: bool,
    shards: Arc<Shards>,
    pub(super) base: Arc<Base>,
    pub(super) doc: SplitDoc,
    pub(super) views: Views,
    undo: Vec<Step>,
    redo: Vec<Step>,
    version: u64,
}

impl SplitEditor {
    /// Opens the splits of a prepared data set: `.nv-meta/split.yaml`, else `split.json`, or the file `config` in `.nv-meta`.
    ///
    /// A `split.json` can be looked at; every edit of it is refused with the way out.
    pub fn open(root: &Path, config: Option<&str>) -> Outcome<Self> {
        let info = Info::read(root)?.ok_or_else(|| {
            Failure::data(OPENING, "the data set is not prepared")
                .on(Subject::path(root))
                .with_hint("gristmill prepare PATH prepares it")
        })?;
        let yaml = layout::in_nv_meta(root, config.unwrap_or(layout::SPLIT_YAML));
        let json = layout::in_nv_meta(root, layout::SPLIT_JSON);
        let path = if config.is_none() && !yaml.exists() && json.exists() { json } else { yaml };
        let Some(bytes) = read_whole(&path, yaml_read::MAX_BYTES as u64)? else {
            return Err(Failure::data(OPENING, "there is no such file")
                .on(Subject::path(&path))
                .with_hint("gristmill prepare PATH --update makes it"));
        };
        Self::from_bytes(root, &path, bytes, info.shard_counts)
    }

    /// The editor on the bytes of a file, for a data set with these shards and counts. `path` names it in messages and is where
    /// it is written to; a name that ends in `.json` makes it one that cannot be edited.
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
        let base = Arc::new(Base::new(bytes, &doc, &views));
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

    /// The data set.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Whether it is a `split.json`, which cannot be edited.
    pub fn is_json(&self) -> bool {
        self.is_json
    }
    /// All shards of the data set with their samples, in the order of `.info.json`.
    pub fn shards(&self) -> &[(Arc<str>, u64)] {
        self.shards.list()
    }
    pub(super) fn known(&self) -> &Shards {
        &self.shards
    }
    /// The splits in the order of the file.
    pub fn splits(&self) -> &[SplitView] {
        self.views.splits()
    }
    /// The shards in no split.
    pub fn loose(&self) -> &SplitView {
        self.views.loose()
    }
    /// The excludes in the order of the file.
    pub fn excludes(&self) -> &Shared<ExcludeView> {
        self.views.excludes()
    }
    /// What the excludes come to in all; kept up to date, not counted anew.
    pub fn totals(&self) -> ExcludeTotals {
        self.views.totals()
    }
    /// Whether a shard is excluded as a whole, by its position in `.info.json`.
    pub fn is_shard_excluded(&self, id: u32) -> bool {
        self.views.is_excluded(id)
    }
    /// How many edits are not written yet.
    pub fn pending(&self) -> usize {
        self.undo.len()
    }
    /// Changes with every edit, undo and redo, and when [`take_checked`](Self::take_checked) learned something.
    pub fn version(&self) -> u64 {
        self.version
    }
    /// The bytes of the file as it was opened or last written.
    pub fn base_bytes(&self) -> &[u8] {
        &self.base.bytes
    }
    /// Tells the state of the file that was opened from any other.
    pub fn base_hash(&self) -> String {
        self.base.hash.clone()
    }
    /// Everything that is odd now. See [`problems`](super::problems).
    pub fn problems(&self) -> Vec<Problem> {
        problems::all(self)
    }

    /// Makes one change. After an error nothing is changed. A change that changes nothing is no step.
    pub fn apply(&mut self, edit: Edit) -> Outcome<Applied> {
        if self.is_json {
            return Err(Failure::usage("editing the splits", "they are in a split.json, which is only shown")
                .on(Subject::path(&self.path))
                .with_hint("rename it to split.yaml: JSON is YAML too, and the loader reads that file first"));
        }
        let before = self.doc.clone();
        let mut applied = Applied { message: String::new(), problems: Vec::new() };
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

    /// Takes the last change back and says which it was.
    pub fn undo(&mut self) -> Option<String> {
        let step = self.undo.pop()?;
        self.set_doc(step.before.clone());
        let title = step.edit.title();
        self.redo.push(step);
        self.version += 1;
        Some(title)
    }

    /// Makes the change again that was taken back last, and says which it is.
    pub fn redo(&mut self) -> Option<String> {
        let step = self.redo.pop()?;
        self.set_doc(step.after.clone());
        let title = step.edit.title();
        self.undo.push(step);
        self.version += 1;
        Some(title)
    }

    /// The edits that are not written yet, oldest first.
    pub fn log(&self) -> Vec<Edit> {
        self.undo.iter().map(|step| step.edit.clone()).collect()
    }

    /// The edit that undo would take back.
    pub fn last_edit(&self) -> Option<&Edit> {
        self.undo.last().map(|step| &step.edit)
    }

    /// The edit that redo would make again.
    pub fn next_edit(&self) -> Option<&Edit> {
        self.redo.last().map(|step| &step.edit)
    }

    /// The unwritten edits to be saved; `None` when there are none.
    pub fn draft(&self) -> Option<Draft> {
        (self.pending() > 0).then(|| Draft { base: self.base_hash(), edits: self.log() })
    }

    /// Makes edits again, as far as they can be made.
    pub fn replay(&mut self, edits: &[Edit]) -> Vec<NotApplied> {
        let tried = edits.iter().map(|edit| (edit, self.apply(edit.clone())));
        tried.filter_map(|(edit, result)| Some(NotApplied { edit: edit.clone(), failure: result.err()? })).collect()
    }

    /// Makes the edits of this editor again on `theirs`, another version of the same file. What speaks of an exclude by its position
    /// is made on the same item there. An edit as text cannot be made again.
    pub fn reapply_on(&self, theirs: &mut Self) -> Vec<NotApplied> {
        let mut not_applied = Vec::new();
        let mut mine = self.clone();
        for step in &self.undo {
            mine.set_doc(step.before.clone());
            let result = mine.translated(&step.edit, theirs).and_then(|edit| theirs.apply(edit));
            if let Err(failure) = result {
                not_applied.push(NotApplied { edit: step.edit.clone(), failure });
            }
        }
        not_applied
    }

    /// The same edit for another version of the file; steps through the parts of one of many.
    fn translated(&mut self, edit: &Edit, theirs: &Self) -> Outcome<Edit> {
        let same_item = |index: usize| {
            let gone = |what: String| Failure::data(words::EDITING, what);
            let item = self.doc.excludes().get(index).map(|item| Arc::clone(item.value()));
            let item = item.ok_or_else(|| gone(format!("there is no exclude number {}", index + 1)))?;
            let place = theirs.doc.excludes().iter().position(|other| *other.value() == item);
            place.ok_or_else(|| gone(format!("the exclude '{item}' is not there any more")))
        };
        Ok(match edit {
            Edit::RemoveItem { index } => {
                same_item(*index)?;
                let item = self.doc.excludes().get(*index).map(|item| item.value().to_string());
                Edit::RemoveExclude { item: item.unwrap_or_default() }
            }
            Edit::SetNote { index, note } => Edit::SetNote { index: same_item(*index)?, note: note.clone() },
            Edit::ReplaceText { .. } => {
                return Err(Failure::data(words::EDITING, "the text was edited as a whole")
                    .with_hint("make that change again on the new file"));
            }
            Edit::Many { title, edits } => {
                let mut made = Vec::with_capacity(edits.len());
                for edit in edits {
                    made.push(self.translated(edit, theirs)?);
                    let mut applied = Applied { message: String::new(), problems: Vec::new() };
                    self.run(edit, &mut applied)?;
                }
                Edit::Many { title: title.clone(), edits: made }
            }
            other => other.clone(),
        })
    }

    /// The bytes to be written. They are read again, and must mean what the edits intend.
    pub fn text(&self) -> Outcome<Vec<u8>> {
        if self.pending() == 0 {
            return Ok(self.base.bytes.clone());
        }
        let text = self.doc.text();
        words::check_meaning(&self.doc, &text).map_err(|failure| failure.on(Subject::path(&self.path)))?;
        Ok(text.into_bytes())
    }

    /// To be told when the text was written: there is nothing pending then, and nothing is new or moved.
    pub fn written(&mut self, bytes: Vec<u8>) {
        self.base = Arc::new(Base::new(bytes, &self.doc, &self.views));
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
        self.views.follow(&self.doc, &self.shards, &self.base);
    }

    pub(super) fn touched(&mut self) {
        self.version += 1;
    }
}
