//! The sequence of a run, from the lock to the last sync.

use super::pooled;
use super::JsonlReport;
use crate::engine::jsonl::{blank_lines, cr_only, open, refusal, report_bad, report_not_utf8, LineCounts};
use crate::job::exclusive_output::{folder_of, ExclusiveOutput};
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{text, Outcome, ProblemSink};
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::place_file;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// Name of the unfinished index in the work folder.
const DRAFT: &str = "index";

/// Indexes a file.
pub(super) fn index(path: &Path, context: &TaskContext) -> Outcome<JsonlReport> {
    let file = open(path)?;
    let target = index_path(path);
    let place = ExclusiveOutput::create(&*context.fs, &target, &context.options)?;
    let draft = place.work_folder().join(DRAFT);
    let mode = (file.mode() & 0o777) | 0o600;
    let counts = write_draft(&file, &draft, mode, context)?;
    report_findings(&file, &counts, context)?;
    context.phase_of(Phase::Publish, "output file", "writing the index");
    context.progress.expect(1, 0);
    let mut report = counted(&file, &counts, &target);
    report.nothing_to_do = is_same(&draft, &target, mode)?;
    if report.nothing_to_do {
        report.files.clear();
    } else {
        context.cancel.check()?;
        publish(&*context.fs, &draft, &target, mode)?;
    }
    context.progress.add(1, 0);
    drop(place);
    Ok(JsonlReport { findings: context.run_findings(), ..report })
}

/// Like [`index`], without writing files.
pub(super) fn preview(path: &Path, context: &TaskContext) -> Outcome<JsonlReport> {
    let file = open(path)?;
    begin_scan(&file, context);
    let counts = pooled::scan(&file, &context.options, &context.handles(), |_| Ok(()))?;
    report_findings(&file, &counts, context)?;
    Ok(JsonlReport { findings: context.run_findings(), ..counted(&file, &counts, &index_path(path)) })
}

pub(super) fn begin_scan(file: &ReadFile, context: &TaskContext) {
    context.phase_of(Phase::Scan, "input file", format!("reading {}", text::bytes(file.len())));
    context.progress.expect(1, file.len());
}

pub(super) fn write_draft(file: &ReadFile, draft: &Path, mode: u32, context: &TaskContext) -> Outcome<LineCounts> {
    begin_scan(file, context);
    let mut out = context.fs.create_file(draft)?;
    let counts = pooled::scan(file, &context.options, &context.handles(), |piece| out.write_all(piece))?;
    out.set_mode(mode)?;
    out.start_sync();
    out.close()?;
    Ok(counts)
}

/// Reports the findings. Fails if there are lines that are not objects, or no lines.
fn report_findings(file: &ReadFile, counts: &LineCounts, context: &TaskContext) -> Outcome<()> {
    for note in blank_lines(file.path(), counts).into_iter().chain(cr_only(file, counts)) {
        context.problems.report(note)?;
    }
    report_bad(file, counts, &*context.problems)?;
    report_not_utf8(file, counts, &context.handles())?;
    refusal(file, counts).map_or(Ok(()), Err)
}

fn counted(file: &ReadFile, counts: &LineCounts, target: &Path) -> JsonlReport {
    JsonlReport { blank_lines: counts.blank, ..report(file, target, counts.samples) }
}

pub(super) fn report(file: &ReadFile, target: &Path, samples: u64) -> JsonlReport {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let replaces = files::is_taken(target);
    JsonlReport {
        samples,
        bytes: file.len(),
        files: vec![OutputFile { name, bytes: (samples + 1) * 8, replaces }],
        ..JsonlReport::default()
    }
}

fn publish(fs: &dyn Fs, draft: &Path, target: &Path, mode: u32) -> Outcome<()> {
    place_file(fs, draft, target, mode)?;
    fs.sync_dir(folder_of(draft))
}

/// Whether an identical index with these permissions already exists.
fn is_same(draft: &Path, target: &Path, mode: u32) -> Outcome<bool> {
    let is_file = files::symlink_metadata(target).is_ok_and(|facts| facts.is_file());
    if !is_file {
        return Ok(false);
    }
    // An index that cannot be read is replaced.
    let Ok(old) = open_read(target) else { return Ok(false) };
    let new = open_read(draft)?;
    if old.mode() & 0o777 != mode && !is_remote(target) {
        return Ok(false);
    }
    new.is_same_as(&old)
}
