//! Assembles blocks: the spools of each format, the counts, and the journal.

mod findings;
mod formats;
mod limit;

use super::feed::Fed;
use super::inputs::Pass;
use super::journal::{Journal, Record, ResumePosition, TaskCounts, Totals};
use super::spool::{Mark, Snapshot, Spool};
use crate::engine::pack::{EncodingSpec, Kind, PackedPiece};
use crate::formats::modalities::packed::HEADER_BYTES;
use crate::job::outputs::OutputState;
use crate::job::task::TaskContext;
use formats::Batch;
use gristmill_core::pack::{NanosetsTarget, PackPlan};
use gristmill_core::{Failure, Outcome, PackFormat, Problem, ProblemKind, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Limit of text between two records of the journal, in bytes.
pub(super) const COMMIT_BYTES: u64 = 64 << 20;
/// Limit of time between them.
const COMMIT_EVERY: Duration = Duration::from_secs(2);

/// Names of spools in the work folder.
pub(super) mod name {
    pub(in crate::tokens::pack) fn pbin(number: usize) -> String {
        format!("m{number}.pbin")
    }
    pub(in crate::tokens::pack) fn pbin_lengths(number: usize) -> String {
        format!("m{number}.lengths")
    }
    pub(in crate::tokens::pack) fn task(rank: u32, end: &str) -> String {
        format!("n{rank}.{end}")
    }
    pub(in crate::tokens::pack) fn samples(number: usize) -> String {
        format!("f{number}.tokens")
    }
    pub(in crate::tokens::pack) fn samples_mask(number: usize) -> String {
        format!("f{number}.mask")
    }
    pub(in crate::tokens::pack) fn samples_lengths(number: usize) -> String {
        format!("f{number}.lengths")
    }
}

/// Returns the bytes that are reserved at the start of a spool.
pub(super) fn head_of(name: &str) -> usize {
    if name.ends_with(".pbin") {
        HEADER_BYTES as usize
    } else {
        0
    }
}

/// Whether this run reads parts of a spool again; other spools become files unchanged.
fn is_read_again(name: &str, plan: &PackPlan, specs: &[EncodingSpec]) -> bool {
    match Path::new(name).extension().and_then(|end| end.to_str()) {
        Some("pbin") => false,
        Some("ds") => plan.nanosets.as_ref().is_some_and(NanosetsTarget::is_shuffled),
        // Masks are interleaved with the tokens.
        Some("tokens") => specs.iter().any(|spec| matches!(spec.kind, Kind::Parts(_))),
        _ => true,
    }
}

/// Everything that a run has made so far.
pub(super) struct Assembler<'a> {
    context: &'a TaskContext,
    plan: &'a PackPlan,
    specs: &'a [EncodingSpec],
    dir: PathBuf,
    journal: Journal,
    commit_bytes: u64,
    /// The current pass and its specs.
    pass: Option<&'a Pass>,
    place: ResumePosition,
    /// The file that is being assembled.
    begun: Option<usize>,
    spools: BTreeMap<String, Spool>,
    marks: BTreeMap<String, Mark>,
    /// Spools that grew since the last record.
    grown: BTreeSet<String>,
    totals: Totals,
    tasks: BTreeMap<u32, TaskCounts>,
    problems: Vec<Problem>,
    /// Problems recorded so far, by severity.
    kept: BTreeMap<Severity, usize>,
    more: Vec<(Severity, ProblemKind, u64)>,
    /// With `--compat`: the start of the current batch, and whether the rest of the file is lost.
    batch: Batch,
    /// Forager: the end of the last whole sample of a spool.
    whole: BTreeMap<String, Snapshot>,
    since: u64,
    committed: Instant,
    /// Findings of blocks before this position have already been reported.
    told: Option<ResumePosition>,
    is_quiet: bool,
    /// A block was begun and not finished; nothing may be recorded any more.
    is_torn: bool,
}

fn missing_file() -> Failure {
    Failure::internal("packing", "a block is of no file of this pass")
}

impl<'a> Assembler<'a> {
    /// Resumes from `record`. `None` if the spools do not match it.
    pub(super) fn new(
        context: &'a TaskContext,
        plan: &'a PackPlan,
        specs: &'a [EncodingSpec],
        dir: &Path,
        journal: Journal,
        record: Option<Record>,
        commit_bytes: u64,
    ) -> Outcome<Option<Self>> {
        let mut record = record.unwrap_or_default();
        let mut spools = BTreeMap::new();
        for (name, mark) in &record.marks {
            context.cancel.check()?;
            match Spool::resume(&dir.join(name), *mark, head_of(name))? {
                Some(spool) => spools.insert(name.clone(), spool.read_again(is_read_again(name, plan, specs))),
                None => return Ok(None),
            };
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
            dir: dir.to_owned(),
            journal,
            commit_bytes,
            pass: None,
            place: record.place,
            begun: (record.place.line > 0 || record.place.offset > 0).then_some(record.place.file),
            spools,
            marks: record.marks,
            grown: BTreeSet::new(),
            totals: record.totals,
            tasks: record.tasks,
            problems: Vec::new(),
            kept,
            more: Vec::new(),
            batch: Batch::default(),
            whole: BTreeMap::new(),
            since: 0,
            committed: Instant::now(),
            told: None,
            is_quiet: false,
            is_torn: false,
        }))
    }

    pub(super) fn place(&self) -> ResumePosition {
        self.place
    }
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }
    pub(super) fn tasks(&self) -> &BTreeMap<u32, TaskCounts> {
        &self.tasks
    }

    /// Returns the length of each spool.
    pub(super) fn marks(&self) -> &BTreeMap<String, Mark> {
        &self.marks
    }

    /// Suppresses findings before this position, which have already been reported.
    pub(super) fn suppress_problems_before(&mut self, told: Option<ResumePosition>) {
        self.told = told;
    }

    /// Begins a pass.
    pub(super) fn enter(&mut self, pass: &'a Pass) {
        self.pass = Some(pass);
    }

    /// Ends a pass; the next one begins at its first file.
    pub(super) fn leave(&mut self, pass: &Pass, ranks: &[u32]) -> Outcome<()> {
        let specs = self.specs;
        for spec in pass.specs.iter().filter_map(|number| specs.get(*number)) {
            match spec.format {
                PackFormat::Forager => {
                    let last = pass.files.len().saturating_sub(1);
                    for (name, sample_bytes) in self.sample_spools(spec) {
                        let begun = self.spools.get(&name(last)).map_or(0, |spool| spool.bytes() % sample_bytes);
                        if name(last) == name::samples(last) {
                            self.totals.dropped_samples = begun / spec.token.bytes() as u64;
                        }
                        self.end_samples(&name(last), sample_bytes)?;
                    }
                }
                PackFormat::Nanosets => {
                    // A task without input files also has output files.
                    let ends: &[&str] =
                        if spec.kind == Kind::LossMask { &["ds", "index", "loss"] } else { &["ds", "index"] };
                    for name in ranks.iter().flat_map(|rank| ends.iter().map(|end| name::task(*rank, end))) {
                        if !self.spools.contains_key(&name) {
                            self.fresh(&name)?;
                        }
                        self.settle(&name);
                    }
                }
                PackFormat::Modalities => {}
            }
        }
        self.place = ResumePosition { pass: self.place.pass + 1, ..ResumePosition::default() };
        self.begun = None;
        self.commit()
    }

    /// Adds the next block.
    pub(super) fn take(&mut self, fed: &Fed, packed: &PackedPiece) -> Outcome<()> {
        self.is_torn = true;
        let Some(pass) = self.pass else { return Err(missing_file()) };
        let file = fed.piece.file;
        if self.begun != Some(file) {
            self.begin(pass, file)?;
        }
        let Some((input, role)) = pass.files.get(file).zip(pass.roles.get(file)) else { return Err(missing_file()) };
        let specs = self.specs;
        let is_past_limit = self.is_full();
        // Without a limit, the texts of all documents; with one, what the format with most of them keeps.
        let mut most = (packed.documents, packed.tokens);
        if self.plan.limit_tokens.is_some() {
            most = (0, 0);
        }
        for (number, encoded) in pass.specs.iter().zip(&packed.encoded_blocks) {
            let Some(spec) = specs.get(*number) else { continue };
            let encoded = &*self.within_limit(*number, spec, encoded)?;
            let kept = match self.plan.limit_tokens {
                Some(_) => (encoded.lengths.len() as u64, encoded.lengths.iter().sum()),
                None => most,
            };
            most = most.max(kept);
            let all = 0..encoded.lengths.len();
            let wanted = match spec.format {
                PackFormat::Modalities if spec.wants_lines => self.add_by_batch(role.pbin, encoded).map(|()| all)?,
                PackFormat::Modalities => self.add_pbin(role.pbin, encoded).map(|()| all)?,
                PackFormat::Nanosets => self.add_task(role.rank, spec, encoded)?,
                PackFormat::Forager => self.add_samples(role.samples, spec, encoded, input).map(|()| all)?,
            };
            if let Some(totals) = self.totals.targets.get_mut(*number) {
                totals.documents += kept.0;
                totals.tokens += kept.1.saturating_sub(encoded.lost.iter().sum());
                totals.truncated.add(encoded.lost.get(wanted.clone()).unwrap_or_default());
                totals.padded.add(encoded.filled.get(wanted).unwrap_or_default());
                for skipped in &encoded.skipped {
                    totals.skip(skipped.reason, skipped.is_by_design, skipped.documents);
                }
            }
        }
        self.totals.documents += most.0;
        self.totals.tokens += most.1;
        self.totals.bytes += fed.piece.block.bytes.len() as u64;
        // Another pass reads the same texts for another format.
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
        self.is_quiet = self.told.as_ref().is_some_and(|told| place(&fed.next) <= place(told));
        if !is_past_limit {
            self.report_findings(pass, input, packed)?;
            if let Some(damage) = &fed.damage {
                self.report(damage.clone())?;
            }
        }
        if fed.is_last {
            let is_dealt = pass
                .specs
                .iter()
                .filter_map(|number| specs.get(*number))
                .any(|spec| spec.format == PackFormat::Nanosets);
            if let Some(counts) = self.tasks.get_mut(&role.rank).filter(|_| is_dealt) {
                counts.documents.add(std::mem::take(&mut counts.in_file));
            }
            self.end()?;
            self.begun = None;
        }
        self.place = fed.next;
        self.is_torn = false;
        self.context.progress.add(packed.documents, fed.consumed);
        self.context.progress.add_tokens(packed.tokens);
        self.since += fed.piece.block.bytes.len() as u64;
        let is_due = self.since >= self.commit_bytes || self.committed.elapsed() >= COMMIT_EVERY;
        // The documents lost with a batch are only known at its end.
        let may = fed.is_last || !specs.iter().any(|spec| spec.wants_lines);
        if is_due && may {
            self.commit()?;
        }
        Ok(())
    }

    /// Records the current length of the spools.
    pub(super) fn commit(&mut self) -> Outcome<()> {
        if self.is_torn {
            return Ok(());
        }
        for name in &self.grown {
            if let Some(spool) = self.spools.get(name) {
                self.marks.insert(name.clone(), spool.mark());
            }
        }
        self.grown.iter().for_each(|name| self.show_output(name));
        let grown = std::mem::take(&mut self.grown);
        let record = Record {
            place: self.place,
            marks: grown.into_iter().filter_map(|name| self.marks.get(&name).map(|mark| (name, *mark))).collect(),
            totals: self.totals.clone(),
            tasks: self.tasks.clone(),
            problems: std::mem::take(&mut self.problems),
            more: std::mem::take(&mut self.more),
        };
        self.journal.record(&record)?;
        self.since = 0;
        self.committed = Instant::now();
        Ok(())
    }

    /// Shows the state of the outputs whose spools already exist.
    pub(super) fn show_outputs(&self) {
        self.marks.keys().for_each(|name| self.show_output(name));
    }

    fn show_output(&self, name: &str) {
        let bytes = self.spools.get(name).map(Spool::bytes).or(self.marks.get(name).map(|mark| mark.bytes));
        let state = if self.is_open(name) { OutputState::Writing } else { OutputState::Written };
        self.context.outputs.update(name, state, bytes.unwrap_or(0));
    }

    /// Whether a spool can still grow. Spools that a stopped run finished are also opened again.
    fn is_open(&self, name: &str) -> bool {
        let Some(pass) = self.pass.filter(|_| self.spools.contains_key(name)) else { return false };
        let role = self.begun.and_then(|file| pass.roles.get(file));
        let mut formats = pass.specs.iter().filter_map(|number| self.specs.get(*number)).map(|spec| spec.format);
        formats.any(|format| match format {
            PackFormat::Modalities => role.is_some_and(|role| name == name::pbin(role.pbin)),
            PackFormat::Nanosets => name.starts_with('n'),
            PackFormat::Forager => role.is_some_and(|role| name == name::samples(role.samples)),
        })
    }

    /// Closes all files.
    pub(super) fn rest(&mut self) -> Outcome<()> {
        self.spools.values_mut().try_for_each(Spool::rest)
    }

    fn begin(&mut self, pass: &Pass, file: usize) -> Outcome<()> {
        self.begun = Some(file);
        self.batch = Batch::default();
        let Some(role) = pass.roles.get(file) else { return Err(missing_file()) };
        for spec in pass.specs.iter().filter_map(|number| self.specs.get(*number)) {
            match spec.format {
                PackFormat::Modalities => {
                    self.fresh(&name::pbin(role.pbin))?;
                    self.fresh(&name::pbin_lengths(role.pbin))?;
                }
                PackFormat::Nanosets => self.tasks.entry(role.rank).or_default().files += 1,
                PackFormat::Forager => self.begin_samples(spec, role.samples)?,
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Outcome<()> {
        let grown: Vec<String> = self.grown.iter().cloned().collect();
        for name in grown {
            if let Some(spool) = self.spools.get_mut(&name) {
                spool.rest()?;
            }
            if name.starts_with('m') {
                self.settle(&name);
            }
        }
        Ok(())
    }

    /// Keeps only the mark of a finished spool.
    fn settle(&mut self, name: &str) {
        if let Some(spool) = self.spools.remove(name) {
            self.marks.insert(name.to_owned(), spool.mark());
            self.grown.insert(name.to_owned());
        }
    }

    fn fresh(&mut self, name: &str) -> Outcome<()> {
        let spool = Spool::create(&*self.context.fs, &self.dir.join(name), head_of(name))?;
        let spool = spool.read_again(is_read_again(name, self.plan, self.specs));
        self.spools.insert(name.to_owned(), spool);
        self.grown.insert(name.to_owned());
        self.show_output(name);
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Outcome<()> {
        if !self.spools.contains_key(name) {
            self.fresh(name)?;
        }
        if let Some(spool) = self.spools.get_mut(name) {
            spool.append(&*self.context.fs, bytes)?;
        }
        if !self.grown.contains(name) {
            self.grown.insert(name.to_owned());
        }
        Ok(())
    }
}
