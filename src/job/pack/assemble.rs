//! Pieces put together: the spools of each format, what was counted, and the journal.

use super::feed::Fed;
use super::inputs::Pass;
use super::journal::{Journal, Place, Record, TaskCounts, Totals};
use super::spool::{each_chunk, Mark, Snapshot, Spool};
use crate::engine::pack::{Finding, Kind, Lot, PackedPiece, Recipe};
use crate::formats::modalities::packed::HEADER_BYTES;
use crate::job::task::TaskContext;
use crate::model::pack::{PackPlan, SampleSize};
use crate::model::{Failure, Outcome, PackFormat, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use crate::source::text::TextFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Text between two records of the journal, in bytes, at most.
pub(super) const COMMIT_BYTES: u64 = 64 << 20;
/// Time between them, at most.
const COMMIT_EVERY: Duration = Duration::from_secs(2);

/// Names of spools in the work folder.
pub(super) mod name {
    pub(in crate::job::pack) fn pbin(number: usize) -> String {
        format!("m{number}.pbin")
    }
    pub(in crate::job::pack) fn pbin_lengths(number: usize) -> String {
        format!("m{number}.lengths")
    }
    pub(in crate::job::pack) fn task(rank: u32, end: &str) -> String {
        format!("n{rank}.{end}")
    }
    pub(in crate::job::pack) fn samples(number: usize) -> String {
        format!("f{number}.tokens")
    }
    pub(in crate::job::pack) fn samples_mask(number: usize) -> String {
        format!("f{number}.mask")
    }
    pub(in crate::job::pack) fn samples_lengths(number: usize) -> String {
        format!("f{number}.lengths")
    }
}

/// Bytes at the start of a spool that are left free.
pub(super) fn head_of(name: &str) -> usize {
    if name.ends_with(".pbin") {
        HEADER_BYTES as usize
    } else {
        0
    }
}

/// Everything that a run has made so far.
pub(super) struct Assembler<'a> {
    context: &'a TaskContext,
    plan: &'a PackPlan,
    recipes: &'a [Recipe],
    dir: PathBuf,
    journal: Journal,
    commit_bytes: u64,
    /// The pass at work, and the recipes in it.
    pass: Option<&'a Pass>,
    place: Place,
    /// The file that is being put together.
    begun: Option<usize>,
    spools: BTreeMap<String, Spool>,
    marks: BTreeMap<String, Mark>,
    /// Spools that grew since the last record.
    grown: BTreeSet<String>,
    totals: Totals,
    tasks: BTreeMap<u32, TaskCounts>,
    problems: Vec<Problem>,
    more: Vec<(Severity, ProblemKind, u64)>,
    /// With `--compat`: where the batch at work began, and whether the file has lost its rest.
    batch: Batch,
    /// Forager: where the last whole sample of a spool ends.
    whole: BTreeMap<String, Snapshot>,
    since: u64,
    committed: Instant,
    /// Findings of pieces before this place are known.
    told: Option<Place>,
    is_quiet: bool,
    /// A piece was begun and not finished: nothing may be recorded any more.
    is_torn: bool,
}

/// What a spool of samples is called by the number of its file, and how many of its bytes a sample has.
type SampleSpool = (fn(usize) -> String, u64);

/// The work item of the reference program that is at work (Modalities §4).
#[derive(Default)]
struct Batch {
    number: Option<u64>,
    before: Option<(Snapshot, Snapshot)>,
    is_lost: bool,
}

impl<'a> Assembler<'a> {
    /// Goes on from `record`. `None` when the spools are not what it says.
    pub(super) fn new(
        context: &'a TaskContext,
        plan: &'a PackPlan,
        recipes: &'a [Recipe],
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
                Some(spool) => spools.insert(name.clone(), spool),
                None => return Ok(None),
            };
        }
        record.totals.targets.resize_with(recipes.len(), Default::default);
        Ok(Some(Self {
            context,
            plan,
            recipes,
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

    pub(super) fn place(&self) -> Place {
        self.place
    }
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }
    pub(super) fn tasks(&self) -> &BTreeMap<u32, TaskCounts> {
        &self.tasks
    }

    /// How long each spool is.
    pub(super) fn marks(&self) -> &BTreeMap<String, Mark> {
        &self.marks
    }

    /// What was found before this place was reported already.
    pub(super) fn be_quiet_until(&mut self, told: Option<Place>) {
        self.told = told;
    }

    /// Takes up a pass.
    pub(super) fn enter(&mut self, pass: &'a Pass) {
        self.pass = Some(pass);
    }

    /// A pass is done; the next begins at its first file.
    pub(super) fn leave(&mut self, pass: &Pass, ranks: &[u32]) -> Outcome<()> {
        let recipes = self.recipes;
        for recipe in pass.recipes.iter().filter_map(|number| recipes.get(*number)) {
            match recipe.format {
                PackFormat::Forager => {
                    let last = pass.files.len().saturating_sub(1);
                    for (name, sample_bytes) in self.sample_spools(recipe) {
                        let begun = self.spools.get(&name(last)).map_or(0, |spool| spool.bytes() % sample_bytes);
                        if name(last) == name::samples(last) {
                            self.totals.dropped_samples = begun / recipe.token.bytes() as u64;
                        }
                        self.end_samples(&name(last), sample_bytes)?;
                    }
                }
                PackFormat::Nanosets => {
                    // A task without a file has its files all the same.
                    let ends: &[&str] =
                        if recipe.kind == Kind::LossMask { &["ds", "index", "loss"] } else { &["ds", "index"] };
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
        self.place = Place { pass: self.place.pass + 1, ..Place::default() };
        self.begun = None;
        self.commit()
    }

    /// Adds the next piece.
    pub(super) fn take(&mut self, fed: &Fed, packed: &PackedPiece) -> Outcome<()> {
        self.is_torn = true;
        let Some(pass) = self.pass else { return Ok(()) };
        let file = fed.piece.file;
        if self.begun != Some(file) {
            self.begin(pass, file)?;
        }
        let Some((input, role)) = pass.files.get(file).zip(pass.roles.get(file)) else { return Ok(()) };
        let recipes = self.recipes;
        for (number, lot) in pass.recipes.iter().zip(&packed.lots) {
            let Some(recipe) = recipes.get(*number) else { continue };
            match recipe.format {
                PackFormat::Modalities if recipe.wants_lines => self.add_by_batch(role.pbin, lot)?,
                PackFormat::Modalities => self.add_pbin(role.pbin, lot)?,
                PackFormat::Nanosets => self.add_task(role.rank, recipe, lot)?,
                PackFormat::Forager => self.add_samples(role.samples, recipe, lot, input)?,
            }
            if let Some(totals) = self.totals.targets.get_mut(*number) {
                for skipped in &lot.skipped {
                    totals.skip(skipped.reason, skipped.is_by_design, skipped.documents);
                }
            }
        }
        self.totals.documents += packed.documents;
        self.totals.tokens += packed.tokens;
        self.totals.bytes += fed.piece.block.bytes.len() as u64;
        if self.totals.keys.is_empty() {
            self.totals.keys.clone_from(&packed.keys);
        }
        let place = |place: &Place| (place.pass, place.file, place.line);
        self.is_quiet = self.told.as_ref().is_some_and(|told| place(&fed.next) <= place(told));
        self.tell(pass, input, packed)?;
        if let Some(damage) = &fed.damage {
            self.report(damage.clone())?;
        }
        if fed.is_last {
            if let Some(counts) = self.tasks.get_mut(&role.rank).filter(|counts| counts.files > 0) {
                counts.documents.add(std::mem::take(&mut counts.in_file));
            }
            self.end()?;
        }
        self.place = fed.next;
        self.is_torn = false;
        self.context.progress.add(packed.documents, fed.consumed);
        self.since += fed.piece.block.bytes.len() as u64;
        let is_due = self.since >= self.commit_bytes || self.committed.elapsed() >= COMMIT_EVERY;
        // What is lost with a batch is only known at its end.
        let may = fed.is_last || !recipes.iter().any(|recipe| recipe.wants_lines);
        if is_due && may {
            self.commit()?;
        }
        Ok(())
    }

    /// Writes down how far the spools are.
    pub(super) fn commit(&mut self) -> Outcome<()> {
        if self.is_torn {
            return Ok(());
        }
        for name in &self.grown {
            if let Some(spool) = self.spools.get(name) {
                self.marks.insert(name.clone(), spool.mark());
            }
        }
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

    /// Closes all files.
    pub(super) fn rest(&mut self) -> Outcome<()> {
        self.spools.values_mut().try_for_each(Spool::rest)
    }

    fn begin(&mut self, pass: &Pass, file: usize) -> Outcome<()> {
        self.begun = Some(file);
        self.batch = Batch::default();
        let Some(role) = pass.roles.get(file) else { return Ok(()) };
        for recipe in pass.recipes.iter().filter_map(|number| self.recipes.get(*number)) {
            match recipe.format {
                PackFormat::Modalities => {
                    self.fresh(&name::pbin(role.pbin))?;
                    self.fresh(&name::pbin_lengths(role.pbin))?;
                }
                PackFormat::Nanosets => self.tasks.entry(role.rank).or_default().files += 1,
                PackFormat::Forager => self.begin_samples(recipe, role.samples)?,
            }
        }
        Ok(())
    }

    /// Spools of fixed-length samples, and how many bytes of each a sample has; nothing where samples have no fixed length.
    fn sample_spools(&self, recipe: &Recipe) -> Vec<SampleSpool> {
        let Some(SampleSize::Fixed(size)) = self.plan.forager.as_ref().map(|target| target.sample_size) else {
            return Vec::new();
        };
        let tokens: fn(usize) -> String = name::samples;
        let mask: fn(usize) -> String = name::samples_mask;
        let mut spools = vec![(tokens, size.saturating_mul(recipe.token.bytes() as u64).max(1))];
        if matches!(recipe.kind, Kind::Parts(_)) {
            spools.push((mask, size.max(1)));
        }
        spools
    }

    /// A sample that the file before has begun goes on in this one (Forager §3).
    fn begin_samples(&mut self, recipe: &Recipe, number: usize) -> Outcome<()> {
        let fixed = self.sample_spools(recipe);
        if fixed.is_empty() {
            self.fresh(&name::samples(number))?;
            return self.fresh(&name::samples_lengths(number));
        }
        for (name, sample_bytes) in fixed {
            let this = name(number);
            self.fresh(&this)?;
            let Some(before) = number.checked_sub(1).map(name) else { continue };
            let Some(spool) = self.spools.get_mut(&before) else { continue };
            spool.rest()?;
            let (path, end) = (self.dir.join(&before), spool.bytes());
            let begun = end % sample_bytes;
            each_chunk(&path, end - begun, end, &mut |bytes| self.append_samples(&this, bytes, sample_bytes))?;
            self.end_samples(&before, sample_bytes)?;
        }
        Ok(())
    }

    /// Appends tokens, and remembers where the last whole sample ends.
    fn append_samples(&mut self, name: &str, bytes: &[u8], sample_bytes: u64) -> Outcome<()> {
        let before = self.spools.get(name).map_or(0, Spool::bytes);
        let begun = (before + bytes.len() as u64) % sample_bytes;
        let whole = usize::try_from((bytes.len() as u64).saturating_sub(begun)).unwrap_or(0);
        let (ended, begun) = bytes.split_at(whole);
        if !ended.is_empty() {
            self.append(name, ended)?;
            if let Some(spool) = self.spools.get(name) {
                self.whole.insert(name.to_owned(), spool.snapshot());
            }
        }
        self.append(name, begun)
    }

    /// Leaves no more of a spool than whole samples. Its bytes stay on the disk until the journal says so too.
    fn end_samples(&mut self, name: &str, sample_bytes: u64) -> Outcome<()> {
        let Some(spool) = self.spools.get_mut(name) else { return Ok(()) };
        if spool.bytes() % sample_bytes != 0 {
            let whole = spool.bytes() - spool.bytes() % sample_bytes;
            let known = self.whole.remove(name).filter(|snapshot| snapshot.bytes() == whole);
            let snapshot = match known {
                Some(snapshot) => snapshot,
                None => {
                    spool.rest()?;
                    Snapshot::of(&self.dir.join(name), whole)?
                }
            };
            spool.go_back(snapshot)?;
        }
        self.settle(name);
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

    /// Keeps no more than the mark of a spool that is finished.
    fn settle(&mut self, name: &str) {
        if let Some(spool) = self.spools.remove(name) {
            self.marks.insert(name.to_owned(), spool.mark());
            self.grown.insert(name.to_owned());
        }
    }

    fn fresh(&mut self, name: &str) -> Outcome<()> {
        let spool = Spool::create(&*self.context.fs, &self.dir.join(name), head_of(name))?;
        self.spools.insert(name.to_owned(), spool);
        self.grown.insert(name.to_owned());
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

    fn add_pbin(&mut self, number: usize, lot: &Lot) -> Outcome<()> {
        self.append(&name::pbin(number), &lot.bytes)?;
        self.append(&name::pbin_lengths(number), &numbers(&lot.lengths))
    }

    /// As the reference program loses documents: a bad one takes its batch with it, and no later batch is written (Modalities §4).
    fn add_by_batch(&mut self, number: usize, lot: &Lot) -> Outcome<()> {
        let size = self.plan.modalities.as_ref().map_or(1, |target| target.batch_lines.max(1));
        let lost_from = lot.first_refused.map(|(line, _)| line / size);
        let (tokens, lengths) = (name::pbin(number), name::pbin_lengths(number));
        let width = self.recipes.iter().find(|recipe| recipe.wants_lines).map_or(1, |recipe| recipe.token.bytes());
        let mut at = 0;
        for (line, length) in lot.lines.iter().zip(&lot.lengths) {
            let bytes = usize::try_from(*length).unwrap_or(0).saturating_mul(width);
            let document = lot.bytes.get(at..at + bytes).unwrap_or_default();
            at += bytes;
            let batch = line / size;
            if self.batch.is_lost || lost_from.is_some_and(|lost| batch >= lost) {
                self.lose(1)?;
                continue;
            }
            if self.batch.number != Some(batch) {
                self.batch.number = Some(batch);
                let both = self.spools.get(&tokens).zip(self.spools.get(&lengths));
                self.batch.before = both.map(|(tokens, lengths)| (tokens.snapshot(), lengths.snapshot()));
            }
            self.append(&tokens, document)?;
            self.append(&lengths, &length.to_le_bytes())?;
        }
        if let Some(lost) = lost_from.filter(|_| !self.batch.is_lost) {
            self.batch.is_lost = true;
            if let Some((before, before_lengths)) = self.batch.before.take().filter(|_| self.batch.number == Some(lost))
            {
                let documents = self.spools.get(&lengths).map_or(0, Spool::bytes);
                if let Some(spool) = self.spools.get_mut(&tokens) {
                    spool.go_back(before)?;
                }
                if let Some(spool) = self.spools.get_mut(&lengths) {
                    spool.go_back(before_lengths)?;
                }
                let left = self.spools.get(&lengths).map_or(0, Spool::bytes);
                self.lose((documents - left) / 8)?;
            }
        }
        Ok(())
    }

    fn lose(&mut self, documents: u64) -> Outcome<()> {
        let number = self.recipes.iter().position(|recipe| recipe.format == PackFormat::Modalities);
        if let Some(totals) = number.and_then(|number| self.totals.targets.get_mut(number)) {
            totals.skip("a bad document of its batch or before takes it along (--compat)", false, documents);
        }
        self.count_more(Severity::Problem, ProblemKind::CompatLoss, documents);
        Ok(())
    }

    fn add_task(&mut self, rank: u32, recipe: &Recipe, lot: &Lot) -> Outcome<()> {
        let target = self.plan.nanosets.as_ref();
        let (skip, limit) = target.map_or((0, None), |target| (target.skip, target.limit));
        let counts = self.tasks.entry(rank).or_default();
        let here = lot.lengths.len() as u64;
        let end = limit.map_or(u64::MAX, |limit| skip.saturating_add(limit));
        // Of this lot's documents, those from `first` up to `last` are wanted.
        let first = skip.saturating_sub(counts.usable).min(here);
        let last = end.saturating_sub(counts.usable).min(here).max(first);
        counts.usable += here;
        let [first, last] = [first, last].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        for chars in lot.chars.get(first..last).unwrap_or_default() {
            counts.chars.add(*chars);
        }
        let lengths = lot.lengths.get(first..last).unwrap_or_default();
        counts.in_file += lengths.len() as u64;
        let before: u64 = lot.lengths.get(..first).unwrap_or_default().iter().sum();
        let tokens: u64 = lengths.iter().sum();
        let from = usize::try_from(before).unwrap_or(usize::MAX);
        let to = usize::try_from(before + tokens).unwrap_or(usize::MAX);
        let width = recipe.token.bytes();
        let (ds, index) = (name::task(rank, "ds"), name::task(rank, "index"));
        let mut ended = self.spools.get(&ds).map_or(0, Spool::bytes) / width as u64;
        let mut ends = Vec::with_capacity(lengths.len() * 8);
        for length in lengths {
            ended += length;
            ends.extend_from_slice(&ended.to_le_bytes());
        }
        let all = first == 0 && last == lot.lengths.len();
        let bytes = if all { Some(lot.bytes.as_slice()) } else { lot.bytes.get(from * width..to * width) };
        self.append(&ds, bytes.unwrap_or_default())?;
        self.append(&index, &ends)?;
        if recipe.kind == Kind::LossMask {
            self.append(&name::task(rank, "loss"), lot.mask.get(from..to).unwrap_or_default())?;
        }
        Ok(())
    }

    fn add_samples(&mut self, number: usize, recipe: &Recipe, lot: &Lot, input: &TextFile) -> Outcome<()> {
        if let Some((line, reason)) = lot.first_refused.filter(|_| self.plan.compat) {
            return Err(Failure::data("packing for forager", reason)
                .on(Subject::path(&input.path).line(line + 1))
                .with_hint("without --compat the line is left out and listed"));
        }
        let fixed = self.sample_spools(recipe);
        if fixed.is_empty() {
            self.append(&name::samples(number), &lot.bytes)?;
            return self.append(&name::samples_lengths(number), &numbers(&lot.lengths));
        }
        for ((name, sample_bytes), bytes) in fixed.into_iter().zip([&lot.bytes, &lot.mask]) {
            self.append_samples(&name(number), bytes, sample_bytes)?;
        }
        Ok(())
    }

    /// Reports what a piece left out.
    fn tell(&mut self, pass: &Pass, input: &TextFile, packed: &PackedPiece) -> Outcome<()> {
        for finding in &packed.findings {
            self.report(problem_of(finding, pass, self.recipes, input))?;
        }
        for (is_by_design, kind, count) in &packed.more {
            let severity = if *is_by_design { Severity::Note } else { Severity::Problem };
            self.count_more(severity, *kind, *count);
        }
        Ok(())
    }

    fn report(&mut self, problem: Problem) -> Outcome<()> {
        // The first thousand of each are what is kept of a run; a journal need not hold more.
        let same = self.problems.iter().filter(|known| known.severity == problem.severity).count();
        if same < crate::model::handles::KEPT_PROBLEMS {
            self.problems.push(problem.clone());
        } else {
            self.more.push((problem.severity, problem.kind, 1));
        }
        if self.is_quiet {
            return Ok(());
        }
        self.context.problems.report(problem)
    }

    fn count_more(&mut self, severity: Severity, kind: ProblemKind, count: u64) {
        match self.more.iter_mut().find(|known| (known.0, known.1) == (severity, kind)) {
            Some(known) => known.2 += count,
            None => self.more.push((severity, kind, count)),
        }
        if !self.is_quiet {
            self.context.problems.count_more(severity, kind, count);
        }
    }
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn problem_of(finding: &Finding, pass: &Pass, recipes: &[Recipe], input: &TextFile) -> Problem {
    let is_in = |at: usize| finding.recipes & (1 << at) != 0;
    let mut words = Vec::new();
    for (at, number) in pass.recipes.iter().enumerate() {
        if let Some(recipe) = recipes.get(*number).filter(|_| is_in(at)) {
            words.push(recipe.format.word());
        }
    }
    let whom = if words.len() < recipes.len() {
        format!("left out of {}: ", words.join(" and "))
    } else {
        "left out: ".into()
    };
    let subject = Subject::path(&input.path).line(finding.line + 1).at(finding.start);
    let message = format!("{whom}{}", finding.reason);
    if finding.is_by_design {
        Problem::note(finding.kind, subject, message)
    } else {
        Problem::problem(finding.kind, subject, message)
    }
}
