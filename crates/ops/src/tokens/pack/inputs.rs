//! Determines the files that a run reads, their order, and the formats that each file is for.
//!
//! Every format has its own rules for finding and ordering files. Formats with the same files share one pass over the text; others need
//! another pass.

use super::super::format::{AssignedFiles, FileAssignmentRequest, ReadingOrder, TokenFormat, TokenOutput};
use super::super::formats;
use super::layout::Layout;
use crate::job::damage::{leave_out_files, DamagedRows};
use crate::job::fetch::{fetch, FetchRequest};
use crate::job::job_progress::cost;
use crate::job::task::TaskContext;
use crate::tokens::encode::{EncodingSpec, RowAssignment, RowFilter};
use gristmill_core::{Cancel, Failure, Outcome, PackPlan, Problem, RunOptions, Subject};
use gristmill_data::source::documents::{list, FileRows, HubSnapshot, Listing, Selection, TextFile};
use gristmill_storage::files;
use gristmill_storage::listing::find_changed;
use gristmill_storage::read::stamp_at;
use gristmill_storage::remote::{address_of, is_hub_url};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// One pass over a list of files, for one or several formats.
#[derive(Debug)]
pub(super) struct Pass {
    /// The files, in reading order.
    pub(super) files: Vec<TextFile>,
    /// The output of each file for each format. Keys are spec indexes; lists are parallel to `files`.
    pub(super) slots: BTreeMap<usize, Vec<usize>>,
    /// The row assignment of each format that assigns rows instead of files; its `slots` are 0.
    pub(super) assignments: BTreeMap<usize, Arc<RowAssignment>>,
    /// If set, the spans of this raw index are read instead of lines.
    pub(super) index: Option<PathBuf>,
}

impl Pass {
    /// Returns the indexes of the specs.
    pub(super) fn specs(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.keys().copied()
    }

    /// Returns the output of a file for the format of a spec.
    pub(super) fn slot(&self, spec: usize, file: usize) -> Option<usize> {
        self.slots.get(&spec)?.get(file).copied()
    }

    /// Returns the outputs of a file for the format of a spec; `None` if the file does not exist.
    pub(super) fn slots(&self, spec: usize, file: usize) -> Option<Vec<usize>> {
        let slot = self.slot(spec, file)?;
        Some(self.assignments.get(&spec).map_or_else(|| vec![slot], |deal| deal.slots(file)))
    }

    /// Returns a filter for the rows of a file that at least one format needs.
    pub(super) fn row_filter(&self, file: usize) -> RowFilter {
        let deals = if self.assignments.len() == self.slots.len() {
            self.assignments.values().cloned().collect()
        } else {
            Vec::new()
        };
        RowFilter::new(file, self.files.get(file).and_then(|file| file.rows.as_ref()), deals)
    }
}

/// All files of a run.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) passes: Vec<Pass>,
    /// The output of each format, in the order of the specs.
    pub(super) outputs: Vec<Box<dyn TokenOutput>>,
    /// Problems of files that look like data but are not read.
    pub(super) problems: Vec<Problem>,
    /// Folders that only this program writes.
    own: Vec<PathBuf>,
    /// Snapshots of the data sets of the hub.
    pub(super) snapshots: Vec<HubSnapshot>,
}

/// Finds all files of a plan and assigns them to passes.
///
/// Files below one of the program's own folders are never input, wherever the output is.
pub(super) fn find(
    plan: &PackPlan,
    layout: &Layout,
    specs: &[EncodingSpec],
    snapshots: Vec<HubSnapshot>,
    options: &RunOptions,
    cancel: &Cancel,
) -> Outcome<Inputs> {
    let mut inputs = Inputs { own: layout.own_places(plan), snapshots, ..Inputs::default() };
    let mut dealt = Vec::new();
    for (number, (format, spec)) in formats::chosen(plan).into_iter().zip(specs).enumerate() {
        let mut files = inputs.listed(plan, format, options, cancel)?;
        if format.assigns_rows(plan) {
            count_rows(&mut files, &mut inputs.problems, cancel)?;
        }
        let request = FileAssignmentRequest { plan, spec, place: layout.place(plan, format), files };
        let AssignedFiles { files, slots, order, index, output } = format.assign_files(request)?;
        let (has_outputs, deal) = (output.slots() > 0, output.row_assignment());
        inputs.outputs.push(output);
        if has_outputs {
            dealt.push((order, number, files, (slots, deal), index));
        }
    }
    dealt.sort_by_key(|(order, ..)| *order);
    for (order, number, files, dealt, index) in dealt {
        inputs.add(number, files, dealt, index, order);
    }
    Ok(inputs)
}

/// Counts the rows of files of which all rows are read, and reports rows that are lost.
fn count_rows(files: &mut [TextFile], problems: &mut Vec<Problem>, cancel: &Cancel) -> Outcome<()> {
    let mut sum = 0_u64;
    for file in files {
        if file.rows.is_none() {
            let (all, loss) = file.source.count_rows(file, cancel)?;
            problems.extend(loss);
            file.rows = Some(FileRows { range: 0..all, all });
        }
        let rows = file.rows.as_ref().map_or(0, |rows| rows.range.end - rows.range.start);
        sum = sum.checked_add(rows).filter(|sum| i64::try_from(*sum).is_ok()).ok_or_else(|| {
            Failure::data("dealing the rows", "it states more rows than there can be")
                .on(Subject::path(&file.path))
                .with_hint("the file is damaged; get it again from its source")
        })?;
    }
    Ok(())
}

/// Downloads the data sets of the hub that a plan reads. For a preview, only lists them.
pub(super) fn fetch_remote(plan: &PackPlan, is_preview: bool, context: &TaskContext) -> Outcome<Vec<HubSnapshot>> {
    let inputs: Vec<PathBuf> = plan.inputs.iter().map(PathBuf::from).collect();
    let rules: Vec<_> = formats::chosen(plan).into_iter().map(|format| format.info().input_rules).collect();
    let selection = Selection::of(plan);
    let byte_cost = cost::BYTE_PACKED;
    fetch(&FetchRequest { inputs: &inputs, selection, rules: &rules, byte_cost, is_preview }, context)
}

/// Returns the range of rows of a file that are read; `None` if all are read.
fn part_of(file: &TextFile) -> Option<&Range<u64>> {
    file.rows.as_ref().filter(|rows| rows.range != (0..rows.all)).map(|rows| &rows.range)
}

/// Whether reading a pass in its order satisfies the reading order of a format. `found` has the position in the pass for each file of the
/// format.
fn is_order_available(order: ReadingOrder, found: &[usize], slots: &[usize]) -> bool {
    match order {
        ReadingOrder::Exact => found.is_sorted(),
        ReadingOrder::PerSlot => {
            let mut last: HashMap<usize, usize> = HashMap::new();
            found.iter().zip(slots).all(|(at, slot)| last.insert(*slot, *at).is_none_or(|before| before < *at))
        }
        ReadingOrder::Any => true,
    }
}

impl Inputs {
    fn listed(
        &mut self,
        plan: &PackPlan,
        format: &dyn TokenFormat,
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<Vec<TextFile>> {
        let inputs: Vec<PathBuf> = plan.inputs.iter().map(PathBuf::from).collect();
        let selection = Selection { snapshots: &self.snapshots, ..Selection::of(plan) };
        let Listing { mut files, problems, .. } = list(&inputs, selection, format.info().input_rules, cancel)?;
        let damaged = leave_out_files(&mut files, options, cancel)?;
        for problem in problems.into_iter().chain(damaged) {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        let is_own = |file: &TextFile| {
            let path = absolute(&file.path);
            self.own.iter().any(|own| path.starts_with(own))
        };
        let (own, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_own);
        let is_output = |file: &&TextFile| self.own.contains(&absolute(&file.path));
        let refuse = |why: &str, file: &TextFile| {
            let failure = Failure::usage("packing", why).on(Subject::path(&file.path));
            Err(failure.with_hint("name another output"))
        };
        match (own.iter().find(is_output), own.first().filter(|_| files.is_empty())) {
            (Some(file), _) => refuse("the output is a file that is read", file),
            (None, Some(file)) => refuse("the output is the same location as the input", file),
            (None, None) => Ok(files),
        }
    }

    /// Adds a format to a pass that reads the same files in a suitable order, or else to a new pass.
    fn add(
        &mut self,
        spec: usize,
        files: Vec<TextFile>,
        (slots, deal): (Vec<usize>, Option<Arc<RowAssignment>>),
        index: Option<PathBuf>,
        order: ReadingOrder,
    ) {
        let is_alike = |pass: &&mut Pass| pass.index.is_none() && index.is_none() && pass.files.len() == files.len();
        for pass in self.passes.iter_mut().filter(is_alike) {
            let places: HashMap<&Path, usize> =
                pass.files.iter().enumerate().map(|(at, file)| (file.path.as_path(), at)).collect();
            // A file that is listed twice has two positions, but the map has only one.
            let found: Vec<usize> = files.iter().filter_map(|file| places.get(file.path.as_path()).copied()).collect();
            let has_same_rows = found
                .iter()
                .zip(&files)
                .all(|(at, file)| pass.files.get(*at).is_some_and(|known| part_of(known) == part_of(file)));
            let is_complete = places.len() == files.len() && found.len() == files.len() && has_same_rows;
            if !is_complete || !is_order_available(order, &found, &slots) {
                continue;
            }
            let mut ordered = vec![0; slots.len()];
            for (at, slot) in found.iter().zip(&slots) {
                if let Some(known) = ordered.get_mut(*at) {
                    *known = *slot;
                }
            }
            pass.slots.insert(spec, ordered);
            pass.assignments.extend(deal.map(|deal| (spec, deal)));
            return;
        }
        let deals = deal.map(|deal| (spec, deal)).into_iter().collect();
        self.passes.push(Pass { files, slots: BTreeMap::from([(spec, slots)]), assignments: deals, index });
    }

    /// Returns all files without duplicates.
    pub(super) fn files(&self) -> Vec<&TextFile> {
        let mut seen = BTreeSet::new();
        self.passes.iter().flat_map(|pass| &pass.files).filter(|file| seen.insert(&file.path)).collect()
    }

    /// Returns all files that are read by lines, without duplicates.
    pub(super) fn line_files(&self) -> Vec<&TextFile> {
        let mut seen = BTreeSet::new();
        let passes = self.passes.iter().filter(|pass| pass.index.is_none());
        passes.flat_map(|pass| &pass.files).filter(|file| seen.insert(&file.path)).collect()
    }

    /// Returns the files whose first lines are checked before a run. If the plan follows a reference program, which skips invalid lines,
    /// these are only the tables.
    pub(super) fn checked_files(&self, plan: &PackPlan) -> Vec<&TextFile> {
        let mut files = self.line_files();
        files.retain(|file| file.source.is_table() || !plan.follows_reference());
        files
    }

    /// Returns the address of a file of the hub.
    pub(super) fn address(&self, file: &TextFile) -> Option<String> {
        self.snapshots
            .iter()
            .find(|snapshot| file.path.starts_with(&snapshot.folder))
            .and_then(|_| address_of(&file.path))
    }

    /// Returns the number of outputs of all formats, which are finished one by one.
    pub(super) fn output_count(&self) -> u64 {
        self.outputs.iter().map(|output| output.slots() as u64).sum()
    }

    /// Returns the number of bytes on disk that all passes read.
    pub(super) fn bytes(&self) -> u64 {
        self.passes.iter().flat_map(|pass| &pass.files).map(|file| file.bytes).sum()
    }

    /// Returns a hash of the state of all files and of their assignment. It does not depend on the current folder.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = String::new();
        for pass in &self.passes {
            text.push_str(&format!("{:?} {:?}\n", pass.slots, pass.index.as_deref().map(absolute)));
            for file in &pass.files {
                text.push_str(&format!(
                    "{:?} {:?} {:?} {:?}\n",
                    absolute(&file.path),
                    file.name,
                    file.stamp,
                    file.rows
                ));
            }
            if let Some(index) = &pass.index {
                text.push_str(&format!("{:?}\n", stamp_at(index).ok()));
            }
        }
        for output in &self.outputs {
            text.push_str(&format!("{:?}\n", output.files().into_iter().map(|(spool, _)| spool).collect::<Vec<_>>()));
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Like [`fingerprint`](Self::fingerprint), but also depends on the row groups that are omitted.
    pub(super) fn fingerprint_of_rows(&self) -> String {
        let damaged: Vec<_> = self.passes.iter().flat_map(|pass| &pass.files).map(|file| &file.damaged).collect();
        match damaged.iter().all(|groups| groups.is_empty()) {
            true => self.fingerprint(),
            false => format!("{} {damaged:?}", self.fingerprint()),
        }
    }

    /// Omits damaged row groups.
    pub(super) fn leave_out(&mut self, damaged: &DamagedRows) {
        for file in self.passes.iter_mut().flat_map(|pass| &mut pass.files) {
            file.damaged = damaged.of(&file.path);
        }
    }

    /// Fails if a file has changed since it was found.
    pub(super) fn check_unchanged(&self, cancel: &Cancel) -> Outcome<()> {
        fail_if_changed(self.files(), cancel)
    }
}

/// Returns an absolute path. Addresses of the hub are returned unchanged.
pub(super) fn absolute(path: &Path) -> PathBuf {
    if path.to_str().is_some_and(is_hub_url) {
        return path.to_owned();
    }
    files::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Fails if a file has changed since it was found.
pub(super) fn check_unchanged(file: &TextFile) -> Outcome<()> {
    fail_if_changed([file], &Cancel::default())
}

fn fail_if_changed<'a>(files: impl IntoIterator<Item = &'a TextFile>, cancel: &Cancel) -> Outcome<()> {
    let found = files.into_iter().map(|file| (&*file.path, file.stamp));
    let Some(changed) = find_changed(found, cancel)? else { return Ok(()) };
    let why =
        if changed.is_missing { "it was removed while it was read" } else { "it was written to while it was read" };
    Err(Failure::data("packing", why)
        .on(Subject::path(changed.path))
        .with_hint("wait until no program writes to it, then run the same command again"))
}
