//! Repeats in one file or in all files of a folder: a worker finds them, and they stay in memory.

use super::ranges::{
    DisplayedCopy, DisplayedRange, DocumentText, FileLine, ListKind, ListPlaceholder, Ranges, RangesUpdate, Row,
};
use super::RepeatsTarget;
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::dedup::{ANNOTATE_KEY, FIELD_OF_VARIANT_B, PROPOSED_MIN_LENGTH};
use gristmill_core::text::{bytes, count, percent};
use gristmill_core::{Cancel, DedupPlan, Failure, Outcome};
use gristmill_data::source::dedup::list;
use gristmill_data::source::documents::{self as texts, Selection};
use gristmill_dedup::Rule;
use gristmill_ops::engine::dedup::repeats::{find_repeats, Repeats, Scope};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Minimum lengths among which the keys select, in bytes.
const LENGTHS: [u64; 9] = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// Upper and lower bound of the limit for the text in memory, in bytes.
const MAX_TEXT: u64 = 512 << 20;
const MIN_TEXT_BYTES: u64 = 16 << 20;
/// Divisor of the memory limit for the text: the repeats found in it need memory, too.
const MEMORY_DIVISOR: u64 = 4;

/// A request to search for repeats.
#[derive(Clone)]
pub(super) struct SearchRequest {
    target: RepeatsTarget,
    /// Whether the other files of the folder are searched, too.
    is_whole_folder: bool,
    plan: DedupPlan,
    pub(super) length: u64,
    most_text: usize,
}

/// Repeats found by a worker and held in memory.
pub struct FoundRepeats {
    env: UiEnv,
    pub(super) request: SearchRequest,
    /// The result; `None` while the search runs.
    pub(super) result: Option<Outcome<Repeats>>,
    worker: Stoppable<(SearchRequest, Arc<AtomicU64>), Outcome<Repeats>>,
    /// Number of bytes of text read so far.
    pub(super) read: Arc<AtomicU64>,
}

impl FoundRepeats {
    /// Starts the search in a target with the settings of a plan.
    pub fn new(target: RepeatsTarget, plan: &DedupPlan, env: UiEnv) -> Self {
        let most = (env.dedup_memory / MEMORY_DIVISOR).clamp(MIN_TEXT_BYTES, MAX_TEXT);
        let asked = SearchRequest {
            is_whole_folder: matches!(target, RepeatsTarget::Folder(_)),
            target,
            plan: plan.clone(),
            length: plan.min_length.unwrap_or(PROPOSED_MIN_LENGTH),
            most_text: usize::try_from(most).unwrap_or(usize::MAX),
        };
        let worker =
            Stoppable::start("repeats", env.wake.clone(), |(asked, read): (SearchRequest, Arc<AtomicU64>), cancel| {
                asked.answer(&read, cancel)
            });
        let mut found = Self { env, request: asked, result: None, worker, read: Arc::default() };
        found.start_search();
        found
    }

    fn start_search(&mut self) {
        (self.result, self.read) = (None, Arc::default());
        self.worker.submit((self.request.clone(), Arc::clone(&self.read)));
    }

    /// Returns the result if the search has succeeded.
    fn repeats(&self) -> Option<&Repeats> {
        self.result.as_ref()?.as_ref().ok()
    }
}

impl SearchRequest {
    /// Returns the next longer or shorter minimum length of [`LENGTHS`].
    fn next_length(&self, longer: bool) -> Option<u64> {
        match longer {
            true => LENGTHS.into_iter().find(|length| *length > self.length),
            false => LENGTHS.into_iter().rev().find(|length| *length < self.length),
        }
    }

    fn folder(&self) -> &Path {
        match &self.target {
            RepeatsTarget::Folder(folder) => folder,
            RepeatsTarget::File(file, _) => file.parent().unwrap_or(file),
        }
    }

    /// Returns the file, if only one file is examined.
    fn single_file(&self) -> Option<&Path> {
        match &self.target {
            RepeatsTarget::File(file, _) if !self.is_whole_folder => Some(file),
            _ => None,
        }
    }

    /// Lists the files, reads them and searches for repeats.
    fn answer(&self, read: &AtomicU64, cancel: &Cancel) -> Outcome<Repeats> {
        let files = match self.single_file() {
            Some(file) => texts::list_jsonl(&[file.to_owned()], Selection::default(), cancel)?.files,
            None => list(self.folder(), false, cancel)?.files,
        };
        let listed_under = [self.plan.annotate_key.as_str(), ANNOTATE_KEY, FIELD_OF_VARIANT_B];
        let scope = Scope {
            listed_under: &listed_under,
            files: &files,
            text_key: &self.plan.text_key,
            rule: Rule::of(&self.plan, self.length),
            most_text: self.most_text,
        };
        find_repeats(&scope, read, cancel)
    }
}

impl Ranges for FoundRepeats {
    /// The index of a document among all documents.
    type At = usize;
    const COPY: &'static str = "the copy that stays";

    fn placeholder(&self) -> Option<ListPlaceholder<'_>> {
        match &self.result {
            None => {
                let read = bytes(self.read.load(Ordering::Relaxed));
                Some(ListPlaceholder::Waits(format!("looking for repeats: {read} of text")))
            }
            Some(Err(failure)) => Some(ListPlaceholder::Fails(failure)),
            Some(Ok(repeats)) if repeats.is_empty() => {
                let words = format!("no document has text under {:?}", self.request.plan.text_key);
                Some(ListPlaceholder::Nothing(words, &repeats.failures))
            }
            Some(Ok(repeats)) if repeats.changed.is_empty() => {
                let (length, all) = (count(self.request.length, "byte"), count(repeats.len() as u64, "document"));
                Some(ListPlaceholder::Nothing(
                    format!("nothing of {length} and more repeats in {all}"),
                    &repeats.failures,
                ))
            }
            Some(Ok(_)) => None,
        }
    }

    fn range_word(&self) -> &'static str {
        "range"
    }

    fn len(&self, listed: ListKind) -> usize {
        self.repeats().map_or(0, |repeats| match listed {
            ListKind::Documents => repeats.changed.len(),
            ListKind::Passages => repeats.passages.len(),
            ListKind::Files => repeats.files.len(),
        })
    }

    fn row(&self, listed: ListKind, row: usize) -> Option<Row<'_>> {
        let repeats = self.repeats()?;
        match listed {
            ListKind::Documents => {
                let index = *repeats.changed.get(row)?;
                let (name, line) = repeats.place_of(index);
                Some(Row::Document(name, line, repeats.removed_of(index) as u64))
            }
            ListKind::Passages => {
                let passage = repeats.passages.get(row)?;
                let begin = repeats.text_of(passage.document).get(passage.from..passage.from + passage.bytes);
                Some(Row::Passage(passage.count, passage.bytes as u64, begin.unwrap_or_default()))
            }
            ListKind::Files => {
                let file = repeats.files.get(row)?;
                Some(Row::File(&file.name, file.text_bytes, file.removed_bytes))
            }
        }
    }

    fn displayed_range(&self, listed: ListKind, row: usize) -> Option<DisplayedRange<usize>> {
        let repeats = self.repeats()?;
        match listed {
            ListKind::Documents => repeats.changed.get(row).copied().map(DisplayedRange::of),
            ListKind::Passages => repeats.passages.get(row).map(|passage| {
                let (of, what) = (Arc::from(""), "one of its places");
                let copy = Some(DisplayedCopy { from: passage.from, of, length: passage.bytes, what });
                DisplayedRange { copy, ..DisplayedRange::of(passage.document) }
            }),
            ListKind::Files => {
                let file_of = |index: &usize| repeats.document(*index).map_or(0, |document| document.file as usize);
                let first = repeats.changed.partition_point(|index| file_of(index) < row);
                repeats.changed.get(first).filter(|index| file_of(index) == row).copied().map(DisplayedRange::of)
            }
        }
    }

    fn first(&self) -> Option<(usize, usize)> {
        let (RepeatsTarget::File(file, start), repeats) = (&self.request.target, self.repeats()?) else { return None };
        let index = repeats.find(&file.file_name()?.to_string_lossy(), *start)?;
        Some((index, repeats.document(index)?.file as usize))
    }

    fn row_of(&self, at: usize) -> Option<usize> {
        let repeats = self.repeats().filter(|repeats| at < repeats.len())?;
        Some(repeats.changed.partition_point(|known| *known < at))
    }

    fn place(&self, at: usize) -> Option<FileLine<'_>> {
        let (name, line) = self.repeats()?.place_of(at);
        let path = self.request.single_file().map_or_else(|| self.request.folder().join(name), Path::to_path_buf);
        Some(FileLine { name, path, line })
    }

    fn text(&self, at: usize) -> Option<Result<DocumentText<'_>, &Failure>> {
        let repeats = self.repeats()?;
        let ranges = repeats.ranges_of(at).iter().map(|range| range.from..range.to).collect();
        Some(Ok(DocumentText { text: repeats.text_of(at), ranges }))
    }

    fn copy_of(&mut self, at: usize, range: usize) -> Result<Option<(usize, usize)>, &'static str> {
        let kept = self.repeats().and_then(|repeats| repeats.kept_copy(repeats.ranges_of(at).get(range)?));
        kept.map(Some).ok_or("its other copy is not known")
    }

    fn handle_action(&mut self, action: Action, spot: &mut Option<DisplayedRange<usize>>) -> Vec<Effect> {
        match action {
            Action::Left | Action::Right => match self.request.next_length(action == Action::Right) {
                Some(length) => self.request.length = length,
                None => return Vec::new(),
            },
            action => {
                self.request.is_whole_folder ^= action == Action::Toggle;
                // The new target numbers its documents differently.
                *spot = None;
            }
        }
        self.start_search();
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> Vec<RangesUpdate<usize>> {
        let Some(seen) = self.worker.take() else { return Vec::new() };
        if let Some(repeats) = seen.as_ref().ok().filter(|seen| seen.is_cut) {
            let why = format!(
                "only the first {} of text are looked at here; of all of it, run dedup and press D in its output",
                bytes(repeats.totals().0)
            );
            effects.push(Effect::Toast(Toast::new(Level::Info, why)));
        }
        self.result = Some(seen);
        vec![RangesUpdate::Lists]
    }

    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn title(&self) -> String {
        self.env.short_path(self.request.single_file().unwrap_or_else(|| self.request.folder()))
    }

    fn status(&self) -> Option<String> {
        let length = self.request.length;
        let Some(repeats) = self.repeats() else {
            return Some(format!("repeats of {} and more", count(length, "byte")));
        };
        let (text, removed) = repeats.totals();
        let share = percent(removed as f64 / text.max(1) as f64);
        let of = if repeats.is_cut { "the first " } else { "" };
        let by = match repeats.is_listed {
            true => "as the records list it".to_owned(),
            false => format!("by {length} bytes and more"),
        };
        Some(format!("{share} of {of}{} repeat, {by}", bytes(text)))
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Left => Some("shorter repeats"),
            Action::Right => Some("longer repeats"),
            Action::Toggle if self.request.is_whole_folder => Some("this file alone"),
            Action::Toggle => Some("whole folder"),
            _ => None,
        }
    }

    fn why_disabled(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Left | Action::Right if self.request.next_length(action == Action::Right).is_none() => {
                Some("there is no further length that way")
            }
            Action::Toggle if matches!(self.request.target, RepeatsTarget::Folder(_)) => {
                Some("the whole folder is searched already")
            }
            _ => None,
        }
    }
}
