//! Assembles blocks into spools, counts them, and records them in the journal.

mod findings;
mod limit;

use super::super::format::{FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use super::super::spools::SpoolSet;
use super::feed::BlockAndPosition;
use super::inputs::{Inputs, Pass};
use super::journal::{Journal, Record, ResumePosition, Totals};
use super::layout::Layout;
use crate::job::task::TaskContext;
use crate::tokens::encode::{EncodedBlock, EncodingSpec, PackedPiece};
use gristmill_core::pack::PackPlan;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity};
use gristmill_tokenizer::Padding;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Maximum amount of text between two journal records, in bytes.
pub(super) const COMMIT_BYTES: u64 = 64 << 20;
/// Maximum time between two journal records.
const COMMIT_EVERY: Duration = Duration::from_secs(2);
/// Reason for documents that are lost because of a bad document.
const LOST_WITH_BATCH: &str = "it is lost with a bad document of its batch or an earlier one (--compat)";

/// The writer and the spools of one format.
struct FormatOutput<'a> {
    writer: Box<dyn TokenWriter + 'a>,
    spools: SpoolSet<'a>,
}

/// The output of a run so far: spools, counts and findings.
pub(super) struct Assembler<'a> {
    context: &'a TaskContext,
    plan: &'a PackPlan,
    specs: &'a [EncodingSpec],
    journal: Journal,
    commit_bytes: u64,
    /// The current pass.
    pass: Option<&'a Pass>,
    place: ResumePosition,
    /// Index of the file that is being assembled.
    begun: Option<usize>,
    /// The output of each format, in the order of the specs.
    formats: Vec<FormatOutput<'a>>,
    totals: Totals,
    problems: Vec<Problem>,
    /// Number of recorded problems, by severity.
    kept: BTreeMap<Severity, usize>,
    unlisted: Vec<(Severity, ProblemKind, u64)>,
    unrecorded: u64,
    committed: Instant,
    /// Findings of blocks before this position have already been reported.
    reported_before: Option<ResumePosition>,
    is_quiet: bool,
    /// Whether a block was only partly appended. The journal must then not record the spools.
    is_incomplete: bool,
}

fn missing_file() -> Failure {
    Failure::internal("packing", "a block is of no file of this pass")
}

impl<'a> Assembler<'a> {
    /// Resumes from `record`. Returns `None` if the spools do not match the record.
    pub(super) fn new(
        context: &'a TaskContext,
        plan: &'a PackPlan,
        specs: &'a [EncodingSpec],
        (layout, inputs): (&Layout, &'a Inputs),
        journal: Journal,
        record: Option<Record>,
        commit_bytes: u64,
    ) -> Outcome<Option<Self>> {
        let mut record = record.unwrap_or_default();
        let mut formats = Vec::new();
        for (spec, output) in specs.iter().zip(&inputs.outputs) {
            let of_format = |key: &String| Some(key.strip_prefix(spec.format)?.strip_prefix('/')?.to_owned());
            let marks = record.marks.iter().filter_map(|(key, mark)| Some((of_format(key)?, *mark))).collect();
            let folder = layout.spools().join(spec.format);
            let Some(spools) = SpoolSet::resume(context, &**output, spec.format, &folder, marks)? else {
                return Ok(None);
            };
            let mut writer = output.writer();
            if record.states.remove(spec.format).is_some_and(|state| !writer.restore(state)) {
                return Ok(None);
            }
            formats.push(FormatOutput { writer, spools });
        }
        if formats.iter().map(|format| format.spools.marks().len()).sum::<usize>() != record.marks.len() {
            return Ok(None);
        }
        let mut kept: BTreeMap<Severity, usize> = BTreeMap::new();
        for problem in &record.problems {
            *kept.entry(problem.severity).or_default() += 1;
        }
        record.totals.targets.resize_with(specs.len(), Default::default);
        Ok(Some(Self {
            context,
            plan,
            specs,
            journal,
            commit_bytes,
            pass: None,
            place: record.place,
            begun: (record.place.line > 0 || record.place.offset > 0).then_some(record.place.file),
            formats,
            totals: record.totals,
            problems: Vec::new(),
            kept,
            unlisted: Vec::new(),
            unrecorded: 0,
            committed: Instant::now(),
            reported_before: None,
            is_quiet: false,
            is_incomplete: false,
        }))
    }

    pub(super) fn place(&self) -> ResumePosition {
        self.place
    }
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Suppresses findings before this position, which have already been reported.
    pub(super) fn suppress_problems_before(&mut self, told: Option<ResumePosition>) {
        self.reported_before = told;
    }

    pub(super) fn begin_pass(&mut self, pass: &'a Pass) {
        self.pass = Some(pass);
        self.set_slots();
        self.formats.iter().for_each(|format| format.spools.show_all());
    }

    /// Ends a pass. The next pass starts at its first file.
    pub(super) fn end_pass(&mut self, pass: &Pass) -> Outcome<()> {
        for number in pass.specs() {
            let Some(FormatOutput { writer, spools }) = self.formats.get_mut(number) else { continue };
            writer.end(spools)?;
        }
        self.place = ResumePosition { pass: self.place.pass + 1, ..ResumePosition::default() };
        self.begun = None;
        self.set_slots();
        self.commit()
    }

    /// Sets the outputs whose files can grow.
    fn set_slots(&mut self) {
        for (number, format) in self.formats.iter_mut().enumerate() {
            let pass = self.pass.filter(|pass| pass.slots.contains_key(&number));
            let slot = pass.zip(self.begun).and_then(|(pass, file)| pass.slot(number, file));
            format.spools.set_slot(pass.is_some(), slot);
        }
    }

    /// Adds the next block.
    pub(super) fn append_block(&mut self, fed: &BlockAndPosition, packed: &PackedPiece) -> Outcome<()> {
        self.is_incomplete = true;
        let Some(pass) = self.pass else { return Err(missing_file()) };
        let file = fed.piece.file;
        if self.begun != Some(file) {
            self.begin(pass, file)?;
        }
        let Some(input) = pass.files.get(file) else { return Err(missing_file()) };
        let specs = self.specs;
        let is_past_limit = self.is_full();
        // Without a token limit, counts all documents; with a limit, counts those of the format that packed the most.
        let mut most = (packed.documents, packed.tokens);
        if self.plan.limit_tokens.is_some() {
            most = (0, 0);
        }
        for (number, block) in pass.specs().zip(&packed.encoded_blocks) {
            let Some(spec) = specs.get(number) else { continue };
            let block = &*self.within_limit(number, spec, block)?;
            let kept = match self.plan.limit_tokens {
                Some(_) => (block.lengths.len() as u64, block.lengths.iter().sum()),
                None => most,
            };
            most = most.max(kept);
            self.append(number, spec, pass, fed.piece.file, block)?;
            if let Some(totals) = self.totals.targets.get_mut(number) {
                totals.documents += kept.0;
                totals.tokens += kept.1.saturating_sub(block.lost.iter().sum());
                for skipped in &block.skipped {
                    totals.skip(skipped.reason, skipped.is_by_design, skipped.documents);
                }
            }
        }
        self.totals.documents += most.0;
        self.totals.tokens += most.1;
        self.totals.bytes += packed.text_bytes;
        // Later passes read the same texts for other formats, so only the first pass counts special tokens.
        if self.place.pass == 0 && packed.special.documents > 0 {
            if self.totals.special.documents == 0 {
                self.totals.special_file = input.path.to_string_lossy().into_owned();
            }
            self.totals.special.append(&packed.special);
        }
        if self.totals.keys.is_empty() {
            self.totals.keys.clone_from(&packed.keys);
        }
        let place = |place: &ResumePosition| (place.pass, place.file, place.line);
        self.is_quiet = self.reported_before.as_ref().is_some_and(|told| place(&fed.next) <= place(told));
        if !is_past_limit {
            self.report_findings(pass, input, packed)?;
            if let Some(damage) = &fed.damage {
                self.report(damage.clone())?;
            }
        }
        if fed.is_last {
            self.end_file(pass, file)?;
        }
        self.place = fed.next;
        self.is_incomplete = false;
        self.context.progress.add(packed.documents, fed.consumed);
        self.context.progress.add_tokens(packed.tokens);
        self.unrecorded += packed.text_bytes;
        let is_due = self.unrecorded >= self.commit_bytes || self.committed.elapsed() >= COMMIT_EVERY;
        // The documents that are lost with a batch are known only at the end of the batch.
        let may = fed.is_last || !specs.iter().any(|spec| spec.wants_lines);
        if is_due && may {
            self.commit()?;
        }
        Ok(())
    }

    /// Appends a block to the output of its file, or its documents to the outputs of their rows.
    fn append(
        &mut self,
        number: usize,
        spec: &EncodingSpec,
        pass: &Pass,
        file: usize,
        block: &EncodedBlock,
    ) -> Outcome<()> {
        let parts = match (pass.assignments.get(&number), pass.slot(number, file)) {
            (Some(deal), _) => {
                let parts = block.divide(spec.token.bytes(), |row| deal.slot(file, row));
                parts.into_iter().map(|(slot, part)| (slot, Cow::Owned(part))).collect()
            }
            (None, Some(slot)) => vec![(slot, Cow::Borrowed(block))],
            (None, None) => return Err(missing_file()),
        };
        let mut lost = 0;
        for (slot, part) in parts {
            let (Some(input), Some(format)) = (pass.files.get(file), self.formats.get_mut(number)) else { continue };
            let added = SlotBlock { slot, block: &part, input };
            let appended = format.writer.append(added, &mut format.spools)?;
            lost += appended.lost;
            if let Some(totals) = self.totals.targets.get_mut(number) {
                totals.truncated.add(part.lost.get(appended.kept.clone()).unwrap_or_default());
                totals.padded.add(part.filled.get(appended.kept).unwrap_or_default());
            }
        }
        if lost > 0 {
            if let Some(totals) = self.totals.targets.get_mut(number) {
                totals.skip(LOST_WITH_BATCH, false, lost);
            }
            self.count_more(Severity::Problem, ProblemKind::CompatLoss, lost);
        }
        Ok(())
    }

    /// Records the current lengths of the spools in the journal.
    pub(super) fn commit(&mut self) -> Outcome<()> {
        if self.is_incomplete {
            return Ok(());
        }
        let marks = self.formats.iter_mut().flat_map(|format| format.spools.mark()).collect();
        let states = self.specs.iter().zip(&self.formats).map(|(spec, format)| (spec.format, format.writer.state()));
        let record = Record {
            place: self.place,
            marks,
            totals: self.totals.clone(),
            states: states.filter(|(_, state)| *state != Value::Null).map(|(name, s)| (name.to_owned(), s)).collect(),
            problems: std::mem::take(&mut self.problems),
            more: std::mem::take(&mut self.unlisted),
        };
        self.journal.record(&record)?;
        self.unrecorded = 0;
        self.committed = Instant::now();
        Ok(())
    }

    /// Closes the open files of all spools.
    pub(super) fn rest(&mut self) -> Outcome<()> {
        self.formats.iter_mut().try_for_each(|format| format.spools.rest())
    }

    fn begin(&mut self, pass: &Pass, file: usize) -> Outcome<()> {
        self.begun = Some(file);
        self.set_slots();
        for number in pass.specs() {
            let Some(slots) = pass.slots(number, file) else { return Err(missing_file()) };
            let Some(FormatOutput { writer, spools }) = self.formats.get_mut(number) else { continue };
            slots.into_iter().try_for_each(|slot| writer.begin_file(slot, spools))?;
        }
        Ok(())
    }

    fn end_file(&mut self, pass: &Pass, file: usize) -> Outcome<()> {
        for number in pass.specs() {
            let Some(slots) = pass.slots(number, file) else { return Err(missing_file()) };
            let Some(FormatOutput { writer, spools }) = self.formats.get_mut(number) else { continue };
            spools.close_grown()?;
            slots.into_iter().try_for_each(|slot| writer.end_file(slot, spools))?;
        }
        self.begun = None;
        self.set_slots();
        Ok(())
    }

    /// Converts the spools of a format to files.
    pub(super) fn finish(&self, number: usize, layout: &Layout, padding: Option<Padding>) -> Outcome<FinishedFormat> {
        let format = self.specs.get(number).zip(self.formats.get(number));
        let Some((spec, FormatOutput { writer, spools })) = format else { return Ok(FinishedFormat::default()) };
        let folder = layout.finished().join(spec.format);
        self.context.fs.create_dir(&folder, 0o700)?;
        let marks = spools.marks();
        writer.finish(&FinishContext {
            context: self.context,
            spools: spools.folder(),
            folder: &folder,
            marks,
            padding,
        })
    }
}
