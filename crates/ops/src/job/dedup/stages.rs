//! The stages, in order.

use super::export::{check_table, export_all, PlacedFile, PlacedPart};
use super::find::find_all;
use super::forecast;
use super::inputs::LineRange;
use super::job::Job;
use super::merge::{merge_unit, UnitRanges};
use super::no_text::wrong_field;
use super::notes::Notes;
use super::publish::publish;
use super::read::{read_all, FileFacts, ReadUnit};
use super::record::Recorded;
use super::removed::{self, PlacedPassage};
use super::shown::text_of;
use super::spill_buffer::OpenFiles;
use super::texts::Texts;
use super::write::write_files;
use super::written::{WrittenFile, WrittenParts};
use super::{DedupReport, Figures, FileReport, RepeatedPassage};
use crate::job::job_progress::Forecast;
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::job::Phase;
use gristmill_core::{text, Failure, Outcome, Problem, ProblemKind, ProblemSink as _, RecordedProblems, Subject};
use gristmill_data::source::dedup::Position;
use gristmill_dedup::{Passages, TextReader as _};
use gristmill_storage::files;
use gristmill_storage::listing::find_absent;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::read_ahead::read_ahead;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Limit of passages in the report.
const MAX_PASSAGES: usize = 50;
/// Bytes of a passage that are shown.
const MAX_SHOWN_BYTES: u64 = 200;

/// State of a run after all ranges are known: the data needed to write the result, without text and records.
#[derive(Serialize, Deserialize)]
struct MergedRanges {
    /// For each unit, the facts of its files, or of the part of a file.
    files: Vec<Vec<FileFacts>>,
    findings: Vec<RecordedProblems>,
    /// Ranges of each unit; `None` for units of the earlier set.
    ranges: Vec<Option<UnitRanges>>,
    /// Notes of the lines of each unit, if there was memory for them; `None` in a resumed run.
    #[serde(skip)]
    notes: Vec<Option<Arc<Notes>>>,
    passages: Vec<PlacedPassage>,
    scratch_bytes: u64,
    resumed: u64,
}

pub(super) fn run_stages(
    job: &Job<'_>,
    lock: &DatasetLock,
    report: impl Fn(Figures) -> DedupReport,
    hash: &str,
) -> Outcome<DedupReport> {
    let _ahead = read_ahead(job.inputs.stamps());
    let units = job.inputs.units(&job.division, &job.context.cancel)?;
    let known =
        job.recorded_unit::<MergedRanges>("merged").map(|merged| still_there(job, merged)).transpose()?.flatten();
    let is_known = known.is_some();
    let merged = match known {
        Some(merged) => merged,
        None => {
            let merged = merge_all(job, &units)?;
            job.note("merged", &merged)?;
            merged
        }
    };
    // Text and records are no longer needed, and the result may need their space.
    job.context.fs.remove_dir_all(&job.layout.scratch)?;
    report_findings(job, &units, &merged)?;
    let files = placed_files(&units, &merged);
    check_table(job, &files)?;
    let written = write_all(job, &files, &merged)?;
    let exported = export_all(job, &files)?;
    let ranges = removed::assemble(job, &merged.passages, &written)?;
    let files = all_files(&written).count() as u64;
    job.context.stage(Phase::Publish, "output file", Forecast::publishing(files), "making the result visible");
    job.context.cancel.check()?;
    job.context.uploads.send_rest();
    // At the same time, determines which files at the output are replaced.
    files::fetch_listing_during(&job.layout.output, || job.inputs.check_unchanged(&job.context.cancel))?;
    job.context.uploads.stop();
    let mut totals = Figures::default();
    all_files(&written).for_each(|(_, _, file)| totals.add(&file.figures));
    let resumed = written.iter().filter(|written| written.is_resumed).count() as u64;
    let mut report = DedupReport {
        // With an index, an input is a shard of it, which has text of several files.
        files,
        per_file: per_file(job, &written),
        passages: passages(job, &merged, &written),
        scratch_bytes: merged.scratch_bytes,
        resumed_units: if is_known { units.len() as u64 } else { merged.resumed } + resumed,
        ..report(totals)
    };
    let recorded = Recorded {
        plan_hash: hash.to_owned(),
        plan: job.plan.clone(),
        inputs: Recorded::inputs_of(job.inputs),
        outputs: Vec::new(),
    };
    let first = job.inputs.written_files().first().map(|file| file.path.as_path());
    let mut all = finished_files(job, &written)?;
    report.exported = exported.iter().map(FinishedFile::output).collect();
    all.extend(exported);
    publish((job, lock), &all, ranges, recorded, &report, first)?;
    report.elapsed = job.context.elapsed();
    Ok(report)
}

/// Returns the merged ranges of a stopped run, if all of their files still exist.
fn still_there(job: &Job<'_>, merged: MergedRanges) -> Outcome<Option<MergedRanges>> {
    for (number, ranges) in merged.ranges.iter().enumerate() {
        if let Some(ranges) = ranges {
            if !ranges.mark.is_unchanged(&job.layout.ranges_of(number))? {
                return Ok(None);
            }
        }
    }
    Ok(Some(merged))
}

/// Reads all documents, finds the repeated ranges, and merges ranges that overlap.
fn merge_all(job: &Job<'_>, units: &[Vec<LineRange>]) -> Outcome<MergedRanges> {
    let context = job.context;
    let files = text::count(job.inputs.files.len() as u64, "file");
    context.stage(Phase::Scan, "document", forecast::reading(job), format!("reading {files}"));
    context.progress.expect(0, job.inputs.bytes());
    let read = read_all(job, units)?;
    check_text(job, units, &read)?;
    context.stage(Phase::Find, "part", forecast::finding(job), "finding what repeats");
    context.progress.expect(u64::from(job.division.parts), 0);
    let open = OpenFiles::default();
    let found = find_all(job, &read, &open)?;
    context.log("joining ranges");
    let texts = Texts::new(read.iter().map(|unit| &unit.text), &open);
    let bases = texts.bases();
    let passages = place(job, units, &read, &found.passages, &texts)?;
    let numbers: Vec<usize> = (0..units.len()).collect();
    let ranges = run_units(&numbers, job.memory.threads, &context.cancel, |number| {
        let first = units.get(*number).and_then(|stretches| stretches.first());
        let is_earlier = first.is_some_and(|stretch| stretch.file < job.inputs.earlier_count);
        match (is_earlier, read.get(*number), bases.get(*number)) {
            (false, Some(unit), Some(base)) => merge_unit(job, (*number, *base), unit, &found.parts, &open).map(Some),
            _ => Ok(None),
        }
    })?;
    let scratch_bytes = read.iter().map(ReadUnit::on_disk).sum::<u64>()
        + found.parts.iter().filter_map(|part| part.intervals.mark()).map(|mark| mark.bytes).sum::<u64>();
    let resumed =
        read.iter().filter(|unit| unit.is_resumed).count() + found.parts.iter().filter(|part| part.is_resumed).count();
    open.close();
    Ok(MergedRanges {
        files: read.iter().map(|unit| unit.files.clone()).collect(),
        findings: read.iter().map(|unit| unit.findings.clone()).collect(),
        ranges,
        notes: read.iter().map(|unit| unit.notes.clone()).collect(),
        passages,
        scratch_bytes,
        resumed: resumed as u64,
    })
}

/// Refuses the run if no document has the text field, as it would copy every line unchanged.
fn check_text(job: &Job<'_>, units: &[Vec<LineRange>], read: &[ReadUnit]) -> Outcome<()> {
    let (mut documents, mut lines) = (0, 0);
    for (stretch, facts) in units.iter().zip(read).flat_map(|(unit, read)| unit.iter().zip(&read.files)) {
        if stretch.file >= job.inputs.earlier_count {
            documents += facts.documents;
            lines += facts.lines - facts.blank;
        }
    }
    if documents > 0 || lines == 0 {
        return Ok(());
    }
    let Some(problem) = wrong_field(job.plan, job.inputs, &job.context.cancel)? else { return Ok(()) };
    Err(Failure { what: "deduplicating".into(), ..problem.into_failure() })
}

/// Returns the passages with the most repeated bytes, with their files and beginnings.
fn place(
    job: &Job<'_>,
    units: &[Vec<LineRange>],
    read: &[ReadUnit],
    passages: &Passages,
    texts: &Texts<'_>,
) -> Outcome<Vec<PlacedPassage>> {
    let mut starts: Vec<(u64, usize)> = Vec::new();
    let mut base = 0;
    for (stretches, unit) in units.iter().zip(read) {
        for (stretch, facts) in stretches.iter().zip(&unit.files) {
            if starts.last().is_none_or(|last| last.1 != stretch.file) {
                starts.push((base, stretch.file));
            }
            base += facts.bytes;
        }
    }
    let mut placed = Vec::new();
    let mut spare = Vec::new();
    for passage in passages.shown(MAX_PASSAGES, job.plan.min_length.unwrap_or_default()) {
        // Files without documents have an empty range of positions: of several files with the same start, the last one contains the
        // position.
        let known = starts.partition_point(|(start, _)| *start <= passage.at).saturating_sub(1);
        let Some(&(start, file)) = starts.get(known) else { continue };
        let wanted = usize::try_from(passage.len.min(MAX_SHOWN_BYTES)).unwrap_or_default();
        let shown = text_of(texts.read(passage.at, wanted, &mut spare)?);
        let name = job.inputs.files.get(file).map(|file| file.name.clone()).unwrap_or_default();
        let (length, count) = (passage.len, passage.count);
        let shown = RepeatedPassage { file: name, line: 0, offset: 0, length, count, text: shown };
        placed.push(PlacedPassage { file, at: passage.at - start, passage: shown });
    }
    Ok(placed)
}

/// Reports the problems and notes found in the files, with lines counted from the beginning of each.
fn report_findings(job: &Job<'_>, units: &[Vec<LineRange>], merged: &MergedRanges) -> Outcome<()> {
    let sink = &*job.context.problems;
    let (mut file, mut lines, mut blank) = (None, 0, 0);
    let note = |file: Option<usize>, blank: u64| match file.and_then(|file| job.inputs.files.get(file)) {
        Some(file) if blank > 0 && file.source.is_table() => {
            let message = format!("{} without text copied as they are", text::count(blank, "row"));
            sink.report(Problem::note(ProblemKind::NoText, Subject::path(&file.path), message))
        }
        Some(file) if blank > 0 => {
            let message = format!("{} left out", text::count(blank, "blank line"));
            sink.report(Problem::note(ProblemKind::BlankLine, Subject::path(&file.path), message))
        }
        _ => Ok(()),
    };
    for ((stretches, facts), findings) in units.iter().zip(&merged.files).zip(&merged.findings) {
        if stretches.first().map(|first| first.file) != file {
            lines = 0;
        }
        match lines {
            0 => findings.report_to(sink)?,
            lines => {
                let mut findings = findings.clone();
                findings.shift_lines(lines);
                findings.report_to(sink)?;
            }
        }
        for (stretch, facts) in stretches.iter().zip(facts) {
            if file != Some(stretch.file) {
                note(file, blank)?;
                (file, lines, blank) = (Some(stretch.file), 0, 0);
            }
            lines += facts.lines;
            blank += facts.blank;
        }
    }
    note(file, blank)
}

/// Returns the files of the set with their ranges.
fn placed_files(units: &[Vec<LineRange>], merged: &MergedRanges) -> Vec<PlacedFile> {
    let mut placed: Vec<PlacedFile> = Vec::new();
    let mut lines = 0;
    for (unit, (stretches, all)) in units.iter().zip(&merged.files).enumerate() {
        let Some(Some(ranges)) = merged.ranges.get(unit) else { continue };
        let (mut base, mut noted) = (0, 0);
        for (stretch, facts) in stretches.iter().zip(all) {
            if placed.last().is_none_or(|last| last.file != stretch.file) {
                placed.push(PlacedFile { file: stretch.file, parts: Vec::with_capacity(1), bytes: 0 });
                lines = 0;
            }
            let Some(file) = placed.last_mut() else { continue };
            let from = Position { line: lines, ..stretch.from };
            let (ranges, facts) = (ranges.clone(), facts.clone());
            let (bytes, count) = (facts.bytes, facts.lines);
            let notes = merged.notes.get(unit).cloned().flatten().map(|notes| (notes, noted));
            lines += count;
            noted += usize::try_from(count).unwrap_or_default();
            file.parts.push(PlacedPart {
                lines: LineRange { from, ..*stretch },
                unit,
                ranges,
                base,
                at: file.bytes,
                facts,
                notes,
            });
            file.bytes += bytes;
            base += bytes;
        }
    }
    placed
}

/// Writes all files of the result.
fn write_all(job: &Job<'_>, files: &[PlacedFile], merged: &MergedRanges) -> Outcome<Vec<WrittenParts>> {
    let context = job.context;
    let line = format!("writing {}", text::count(files.len() as u64, "file"));
    context.stage(Phase::Write, "document", forecast::writing(job), line);
    context.progress.expect(0, forecast::own_bytes(job));
    let places: Vec<(usize, u64)> = merged.passages.iter().map(|one| (one.file, one.at)).collect();
    write_files(job, files, &places)
}

/// Returns every file of the result, with the index of its input and its own index among the files of that input.
fn all_files(written: &[WrittenParts]) -> impl Iterator<Item = (usize, usize, &WrittenFile)> {
    written
        .iter()
        .enumerate()
        .flat_map(|(number, written)| written.files.iter().enumerate().map(move |(part, file)| (number, part, file)))
}

fn per_file(job: &Job<'_>, written: &[WrittenParts]) -> Vec<FileReport> {
    let target = |file: &WrittenFile| job.layout.target(&file.name);
    let absent = find_absent(all_files(written).map(|(_, _, file)| target(file)).collect());
    let report = |(_, _, file): (usize, usize, &WrittenFile)| FileReport {
        name: file.name.clone(),
        input_bytes: file.input_bytes,
        output_bytes: file.mark.map(|mark| mark.bytes),
        replaces: !absent.contains(&target(file)) && files::is_taken(target(file)),
        figures: file.figures,
    };
    all_files(written).map(report).collect()
}

/// Returns the passages with the line numbers found during writing.
fn passages(job: &Job<'_>, merged: &MergedRanges, written: &[WrittenParts]) -> Vec<RepeatedPassage> {
    let of = |placed: &PlacedPassage| {
        let mut passage = placed.passage.clone();
        let lines = placed
            .file
            .checked_sub(job.inputs.earlier_count)
            .and_then(|file| written.get(file))
            .map(|written| &written.lines);
        if let Some(line) = lines.and_then(|lines| lines.iter().find(|line| line.at == placed.at)) {
            passage.file.clone_from(&line.file);
            (passage.line, passage.offset) = (line.line, line.offset);
        }
        passage
    };
    merged.passages.iter().map(of).collect()
}

/// Returns the files to publish. The content of an index is not trusted: two of its shards may name the same file.
fn finished_files(job: &Job<'_>, written: &[WrittenParts]) -> Outcome<Vec<FinishedFile>> {
    let mut names = HashSet::new();
    let mut made = Vec::new();
    for (number, part, file) in all_files(written) {
        if !names.insert(file.name.as_str()) {
            return Err(Failure::data("deduplicating", "the index lists this file twice")
                .on(Subject::path(&file.name))
                .with_hint("`gristmill verify` reports what else is wrong with an index"));
        }
        if file.mark.is_some() {
            let written = job.layout.staged(job.inputs.earlier_count + number, part);
            made.push(FinishedFile::of(written, job.layout.target(&file.name))?);
        }
    }
    Ok(made)
}
