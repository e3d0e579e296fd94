//! Estimates the output of a plan from a sample of documents.

use super::super::formats;
use super::inputs::{fetch_remote, find, Inputs, Pass};
use super::journal::Journal;
use super::layout::Layout;
use super::no_text::{has_document_selection, no_text, NO_TEXT_HINT};
use super::preview_outputs::{expected, outputs, share, shown, MAX_LISTED};
use super::preview_places::places;
use super::record::{decide, with_absolute_paths, Decision};
use super::report::{InputFile, PackPreview, PackSample, Skipped, TargetPreview};
use crate::job::layouts;
use crate::job::pool::run_both;
use crate::job::record::stopped_run;
use crate::job::task::TaskContext;
use crate::tokens::check::{notes, tokenizer_warnings};
use crate::tokens::encode::{
    fields_of, plan_hash, EncodedBlock, EncodingSpec, FileBlock, Kind, PackedPiece, Packer, RowFilter,
};
use crate::tokens::load_tokenizer;
use gristmill_core::pack::PackPlan;
use gristmill_core::{text, Cancel, ExitClass, Outcome, Problem, ProblemKind, RunOptions, Severity, Subject};
use gristmill_data::source::documents::{HubSnapshot, TextFile};
use gristmill_storage::space;
use gristmill_tokenizer::Tokenizer;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum time for encoding the sample.
const MAX_PREVIEW_TIME: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 1_200 });

/// Estimates the result of `plan` by reading and encoding some documents of the inputs. Writes nothing.
///
/// If the plan must not run, the preview has a refusal among its problems. Fails if no preview is possible.
pub fn preview(plan: &PackPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<PackPreview> {
    preview_of(plan, Vec::new(), options, cancel)
}

/// Like [`preview`], but as a job that reads data sets of the hub at a fixed commit.
pub(crate) fn run_preview(context: &TaskContext, plan: &PackPlan) -> Outcome<PackPreview> {
    let snapshots = fetch_remote(plan, true, context)?;
    let mut preview = preview_of(plan, snapshots, &context.options, &context.cancel)?;
    preview.problems.splice(0..0, context.problems.to_vec());
    preview.problems.iter_mut().for_each(|problem| context.problems.rename(&mut problem.subject));
    Ok(preview)
}

/// Like [`preview`], with the snapshots of the hub data sets that the plan reads.
pub(super) fn preview_of(
    plan: &PackPlan,
    snapshots: Vec<HubSnapshot>,
    options: &RunOptions,
    cancel: &Cancel,
) -> Outcome<PackPreview> {
    let layout = Layout::of(plan)?;
    let tokenizer = load_tokenizer(plan, &run_both)?;
    tokenizer.verify_against_reference();
    let specs = formats::encodings(plan, &tokenizer)?;
    let inputs = find(plan, &layout, &specs, snapshots, options, cancel)?;
    let hash = plan_hash(&with_absolute_paths(plan), &tokenizer.facts().hash);
    let mut problems = inputs.problems.clone();
    let nothing_to_do = match decide(plan, &hash, &layout, &inputs) {
        Ok(Decision::Nothing) => true,
        Ok(Decision::Run) => false,
        Err(failure) if failure.class == ExitClass::Data => {
            let problem = Problem::of_failure(ProblemKind::AlreadyPrepared, failure);
            problems.push(Problem { severity: Severity::Refusal, ..problem });
            false
        }
        Err(failure) => return Err(failure),
    };
    if !nothing_to_do {
        problems.extend(layouts::preview(
            &inputs.checked_files(plan),
            &fields_of(plan, &specs),
            ("packing", options.threads),
            cancel,
        )?);
    }
    problems.extend(stopped_run(plan, &layout.run_folder)?.filter(|_| !options.restart && !nothing_to_do));
    let mut sampling = Sampling::new(specs.len());
    for pass in &inputs.passes {
        sampling.pass(plan, pass, &specs, &tokenizer, cancel)?;
    }
    if !problems.iter().any(|problem| problem.severity == Severity::Refusal) {
        match sampling.refusal(plan, &inputs) {
            Some(refusal) => problems.push(refusal),
            None => problems.extend(sampling.left_out()),
        }
    }
    let targets: Vec<TargetPreview> =
        specs.iter().enumerate().map(|(at, spec)| sampling.target(at, spec, plan, &inputs)).collect();
    let (needed_bytes, free_bytes) = (needed(&inputs, &targets), space::free_bytes(&layout.output)?);
    if free_bytes < needed_bytes && !nothing_to_do {
        let why = format!("about {} are needed, and {} are free", text::bytes(needed_bytes), text::bytes(free_bytes));
        problems.push(Problem::problem(ProblemKind::Other, Subject::path(&layout.output), why));
    }
    let files = inputs.files();
    let main = sampling.rows.iter().max_by_key(|row| row.text).cloned().unwrap_or_default();
    let threads = options.threads.max(1) as f64;
    let text: f64 = sampling.text_bytes;
    let (documents, tokens) = match targets.as_slice() {
        [target] if has_document_selection(plan) => (target.documents, target.tokens),
        _ => {
            let scaled = |number| sampling.scaled(number, main.text);
            (scaled(sampling.sample.documents), scaled(sampling.sample.tokens))
        }
    };
    Ok(PackPreview {
        file_count: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files: files.into_iter().take(MAX_LISTED).map(input_file).collect(),
        sample: sampling.sample(),
        documents,
        tokens,
        targets,
        estimated: Duration::from_secs_f64((text / (sampling.rate() * threads).max(1.0)).min(1e9)),
        needed_bytes,
        free_bytes,
        warnings: tokenizer_warnings(plan, &tokenizer, &specs),
        notes: notes(plan, &tokenizer),
        resumable_bytes: Journal::bytes_done(&layout.run_folder.journal(), &hash)?,
        nothing_to_do,
        problems,
    })
}

fn input_file(file: &TextFile) -> InputFile {
    InputFile { name: file.name.clone(), bytes: file.bytes, packing: file.source.title(file) }
}

/// Returns the disk space for the output and for the temporary files of the last stage.
fn needed(inputs: &Inputs, targets: &[TargetPreview]) -> u64 {
    let targets = targets.iter().zip(&inputs.outputs);
    targets.map(|(target, output)| target.bytes + output.scratch_bytes(target.bytes, target.documents)).sum()
}

/// Counts of the sample for one spec.
#[derive(Clone, Debug, Default)]
struct Row {
    documents: u64,
    tokens: u64,
    mask: u64,
    skipped: Vec<Skipped>,
    /// Number of bytes of text in the sample, and in all inputs.
    sampled_bytes: u64,
    text: u64,
}

impl Row {
    /// Scales a number from the sample to the whole text.
    fn scaled(&self, figure: u64) -> u64 {
        if self.sampled_bytes == 0 {
            return 0;
        }
        (figure as f64 * self.text as f64 / self.sampled_bytes as f64).round() as u64
    }

    fn add(&mut self, encoded: &EncodedBlock) {
        self.documents += encoded.lengths.len() as u64;
        self.tokens += encoded.tokens();
        self.mask += encoded.mask.len() as u64;
        for skip in &encoded.skipped {
            match self.skipped.iter_mut().find(|known| known.reason == skip.reason) {
                Some(known) => known.documents += skip.documents,
                None => self.skipped.push(Skipped {
                    reason: skip.reason.to_owned(),
                    is_by_design: skip.is_by_design,
                    documents: skip.documents,
                }),
            }
        }
    }
}

/// Totals of sampled data: bytes on disk, and their tokens.
#[derive(Clone, Copy, Debug, Default)]
struct ReadTotals {
    on_disk: u64,
    tokens: u64,
}

impl ReadTotals {
    fn add(&mut self, on_disk: u64, tokens: u64) {
        self.on_disk += on_disk;
        self.tokens += tokens;
    }
}

/// Detects files of long lines. The first line of a file is always sampled. If only that line contained a document, sampled places in which
/// no line starts are assumed to be inside lines without documents.
#[derive(Debug, Default)]
struct LongLineDetector {
    has_documents: bool,
    /// Number of bytes of places in which no line starts.
    without_line: u64,
}

struct Sampling {
    sample: PackSample,
    /// Totals of each sampled file, and of all of them.
    file_totals: HashMap<PathBuf, ReadTotals>,
    examined: ReadTotals,
    took: Duration,
    rows: Vec<Row>,
    /// Approximate size of the text of all passes, in bytes.
    text_bytes: f64,
    keys: Vec<String>,
    /// Unusable lines, by reason: place of the first line, kind of problem, reason, number of lines.
    left_out: Vec<(Subject, ProblemKind, &'static str, u64)>,
}

impl Sampling {
    fn new(specs: usize) -> Self {
        Self {
            sample: PackSample::default(),
            file_totals: HashMap::new(),
            examined: ReadTotals::default(),
            took: Duration::ZERO,
            rows: vec![Row::default(); specs],
            text_bytes: 0.0,
            keys: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Counts documents that every format omits although the reference programs would not.
    fn leave_out(&mut self, input: &TextFile, packed: &PackedPiece) {
        for finding in packed.findings.iter().filter(|finding| !finding.is_by_design) {
            match self.left_out.iter_mut().find(|known| (known.1, known.2) == (finding.kind, finding.reason)) {
                Some(known) => known.3 += 1,
                None => {
                    let subject = Subject::path(&input.path);
                    let subject = if input.source.is_table() { subject } else { subject.at(finding.start) };
                    self.left_out.push((subject, finding.kind, finding.reason, 1));
                }
            }
        }
    }

    /// Returns one problem for each reason why a run would omit documents.
    fn left_out(&self) -> impl Iterator<Item = Problem> + '_ {
        self.left_out.iter().map(|(subject, kind, reason, lines)| {
            let unit = self.sample.unit();
            let of = text::count(self.sample.lines, unit);
            let message = format!("{lines} of the {of} that were examined cannot be used: {reason}");
            Problem::problem(*kind, subject.clone(), message)
                .with_hint(format!("the run leaves such {unit}s out and lists them"))
        })
    }

    fn pass(
        &mut self,
        plan: &PackPlan,
        pass: &Pass,
        all: &[EncodingSpec],
        tokenizer: &Tokenizer,
        cancel: &Cancel,
    ) -> Outcome<()> {
        let specs: Vec<EncodingSpec> = pass.specs().filter_map(|number| all.get(number)).cloned().collect();
        let mut packer = Packer::new(&specs, plan, tokenizer, cancel)?;
        let fields = fields_of(plan, &specs);
        let mut packed = PackedPiece::default();
        let total: u64 = pass.files.iter().map(|file| file.bytes).sum();
        let (mut seen_on_disk, mut seen) = (0_u64, 0_u64);
        let mut long: BTreeMap<usize, LongLineDetector> = BTreeMap::new();
        let began = Instant::now();
        for (file, unit) in places(pass, total) {
            cancel.check()?;
            if began.elapsed() > MAX_PREVIEW_TIME {
                break;
            }
            let Some(input) = pass.files.get(file) else { continue };
            let (documents, on_disk) = input.source.sample(input, &fields, unit, cancel)?;
            let piece = FileBlock { file, documents, rows: RowFilter::default() };
            let clock = Instant::now();
            packer.run(&piece, &mut packed)?;
            self.took += clock.elapsed();
            // A run would switch to the reference tokenizer here. An estimate does not need exact ids.
            packed.mismatch = None;
            let long = long.entry(file).or_default();
            long.has_documents |= packed.documents > 0;
            let mut bytes = packed.text_bytes;
            let mut on_disk = on_disk;
            if packed.documents == 0 {
                // A line that exceeds the sampled place and has no document counts only for this place, because it extends over other
                // places.
                (on_disk, bytes) = (on_disk.min(unit.end - unit.start), bytes.min(unit.end - unit.start));
            }
            if bytes == 0 && input.source.is_divisible(input) {
                long.without_line += unit.end - unit.start;
            }
            seen_on_disk += on_disk;
            seen += bytes;
            self.sample.lines += packed.items;
            self.sample.rows += if input.source.is_table() { packed.items } else { 0 };
            self.sample.documents += packed.documents;
            self.sample.bytes += bytes;
            self.sample.tokens += packed.tokens;
            self.file_totals.entry(input.path.clone()).or_default().add(on_disk, packed.tokens);
            self.examined.add(on_disk, packed.tokens);
            self.leave_out(input, &packed);
            if self.keys.is_empty() {
                self.keys.clone_from(&packed.keys);
            }
            for (number, encoded) in pass.specs().zip(&packed.encoded_blocks) {
                if let Some(row) = self.rows.get_mut(number) {
                    row.add(encoded);
                }
            }
        }
        for (file, LongLineDetector { without_line, .. }) in long.into_iter().filter(|(_, long)| !long.has_documents) {
            seen_on_disk += without_line;
            seen += without_line;
            self.sample.bytes += without_line;
            // Files that were not sampled are not affected.
            if let Some(file) = pass.files.get(file) {
                self.file_totals.entry(file.path.clone()).or_default().add(without_line, 0);
            }
        }
        let needed: u64 = pass.files.iter().map(TextFile::bytes_read).sum();
        let text = if seen_on_disk == 0 { 0.0 } else { needed as f64 * seen as f64 / seen_on_disk as f64 };
        self.text_bytes += text;
        for number in pass.specs() {
            if let Some(row) = self.rows.get_mut(number) {
                (row.sampled_bytes, row.text) = (seen, text.round() as u64);
            }
        }
        Ok(())
    }

    /// Returns the approximate number of tokens of a file, from its own sample or else from all samples.
    fn expected(&self, file: &TextFile) -> u64 {
        let ReadTotals { on_disk, tokens } = self.file_totals.get(&file.path).copied().unwrap_or(self.examined);
        share(tokens, file.bytes_read(), on_disk)
    }

    /// Scales a number from the sample to a text of this size.
    fn scaled(&self, figure: u64, text: u64) -> u64 {
        (figure as f64 * text as f64 / self.sample.bytes.max(1) as f64).round() as u64
    }

    /// Returns the number of bytes of text that one thread packs per second.
    fn rate(&self) -> f64 {
        self.sample.bytes as f64 / self.took.as_secs_f64().max(1e-6)
    }

    fn sample(&self) -> PackSample {
        PackSample { bytes_per_second: if self.sample.bytes == 0 { 0.0 } else { self.rate() }, ..self.sample }
    }

    /// Returns the refusal for inputs without lines or without documents.
    fn refusal(&self, plan: &PackPlan, inputs: &Inputs) -> Option<Problem> {
        if self.sample.documents > 0 {
            return None;
        }
        if self.sample.lines == 0 {
            let has_losses = inputs.problems.iter().any(|problem| problem.severity > Severity::Note);
            let (subject, why) = no_text(plan, inputs, has_losses)?;
            return Some(Problem::refusal(ProblemKind::NoText, subject, why).with_hint(NO_TEXT_HINT));
        }
        let reason = self.rows.iter().flat_map(|row| &row.skipped).max_by_key(|skipped| skipped.documents)?;
        let unit = self.sample.unit();
        let message = format!("no {unit} that was examined gave a document ({})", reason.reason);
        let problem = Problem::note(ProblemKind::NoText, Subject::default(), message);
        let problem = Problem { severity: Severity::Problem, ..problem };
        Some(match self.keys.is_empty() {
            true => problem,
            false => problem.with_hint(format!("wrong field? The {unit}s have the keys: {}", self.keys.join(", "))),
        })
    }

    fn target(&self, number: usize, spec: &EncodingSpec, plan: &PackPlan, inputs: &Inputs) -> TargetPreview {
        let row = self.rows.get(number).cloned().unwrap_or_default();
        let output = inputs.outputs.get(number);
        let (all, tokens) = (row.scaled(row.documents), row.scaled(row.tokens));
        let documents = output.map_or(all, |output| output.packed_documents(all));
        let (documents, tokens) = match plan.limit_tokens {
            Some(limit) if limit < tokens => (share(documents, limit, tokens), limit),
            _ => (documents, share(tokens, documents, all)),
        };
        let width = spec.token.bytes() as u64;
        let data = tokens * width + share(row.scaled(row.mask), documents, all);
        let estimate = output.map(|output| output.estimate(documents, tokens)).unwrap_or_default();
        let (items, bytes) = (estimate.items, data + estimate.extra_bytes);
        debug_assert!(spec.kind == Kind::Plain || row.mask <= row.tokens);
        TargetPreview {
            format: spec.format.to_owned(),
            path: shown(&output.map(|output| output.path()).unwrap_or_default()),
            outputs: outputs(estimate, &expected(number, inputs, &|file| self.expected(file)), bytes),
            documents: items,
            tokens,
            bytes,
            token_bytes: u8::try_from(width).unwrap_or(u8::MAX),
            skipped: row.skipped,
        }
    }
}
