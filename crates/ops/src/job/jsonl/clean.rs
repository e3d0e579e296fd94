//! `prepare --skip-bad-lines`: writes a copy without the lines that `lint` reports, and indexes it.

use super::run::{begin_scan, index, preview, report, write_draft};
use super::JsonlReport;
use crate::engine::jsonl::{clean_lines, has_bad_line, open, CleanLines};
use crate::job::exclusive_output::{folder_of, still_the_same, ExclusiveOutput};
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_storage::files;
use gristmill_storage::publish::Publication;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};

/// Names of the unfinished copy and its index in the work folder.
const DRAFTS: [&str; 2] = ["lines", "index"];
const ACTIVITY: &str = "leaving out the bad lines";

/// Size of the write buffer for the lines, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// Returns the name of the copy: `NAME.clean.jsonl` for `NAME.jsonl`.
pub fn clean_path(path: &Path) -> PathBuf {
    path.with_extension("clean.jsonl")
}

/// Indexes the file. If it has bad lines, writes and indexes a copy without them. `overwrite` allows replacing a different copy.
pub(super) fn index_clean(path: &Path, overwrite: bool, context: &TaskContext) -> Outcome<JsonlReport> {
    let file = open(path)?;
    begin_scan(&file, context);
    if !has_bad_line(&file, &context.handles())? {
        return index(path, context);
    }
    let (target, fs) = (clean_path(path), &*context.fs);
    let index_target = index_path(&target);
    let place = ExclusiveOutput::create(fs, &index_target, &context.options)?;
    let [lines, draft] = DRAFTS.map(|name| place.work_folder().join(name));
    let mode = file.mode() & 0o777;
    let clean = write_lines(&file, &lines, mode, context)?;
    let copy = open_read(&lines)?;
    let counts = write_draft(&copy, &draft, mode | 0o600, context)?;
    context.phase_of(Phase::Publish, "output file", "writing the copy and its index");
    let mut publication = Publication::begin(fs, folder_of(&target), &place.run_folder)?.counting(&context.progress, 2);
    publication.stage_file(&target, lines, mode)?;
    let is_same_copy = publication.changes_nothing()?;
    if !is_same_copy && !overwrite && files::try_is_taken(&target)? {
        return Err(other_copy(&target));
    }
    publication.stage_file(&index_target, draft, mode | 0o600)?;
    let mut report = clean_report(&file, &clean, &target);
    report.blank_lines = counts.blank;
    report.nothing_to_do = publication.changes_nothing()?;
    if report.nothing_to_do {
        report.files.clear();
        drop(publication);
    } else {
        context.cancel.check()?;
        publication.commit(&index_target)?;
    }
    drop(place);
    Ok(JsonlReport { findings: context.run_findings(), ..report })
}

/// Like [`index_clean`], without writing files.
pub(super) fn preview_clean(path: &Path, overwrite: bool, context: &TaskContext) -> Outcome<JsonlReport> {
    let file = open(path)?;
    begin_scan(&file, context);
    if !has_bad_line(&file, &context.handles())? {
        return preview(path, context);
    }
    begin_scan(&file, context);
    let clean = some_left(&file, clean_lines(&file, &context.handles(), &mut |_| Ok(()))?)?;
    let target = clean_path(path);
    if !overwrite && files::try_is_taken(&target)? {
        let why = "there is a file of this name; another one would be replaced with --force-overwrite only";
        context.problems.report(Problem::note(ProblemKind::AlreadyPrepared, Subject::path(&target), why))?;
    }
    Ok(JsonlReport { findings: context.run_findings(), ..clean_report(&file, &clean, &target) })
}

fn write_lines(file: &ReadFile, draft: &Path, mode: u32, context: &TaskContext) -> Outcome<CleanLines> {
    begin_scan(file, context);
    let before = file.stamp().map_err(|error| Failure::io("opening", file.path(), &error))?;
    let mut out = context.fs.create_file(draft)?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let clean = clean_lines(file, &context.handles(), &mut |bytes| {
        buffer.extend_from_slice(bytes);
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer)?;
    out.set_mode(mode)?;
    out.start_sync();
    out.close()?;
    still_the_same(file, before, &*context.problems)?;
    some_left(file, clean)
}

fn some_left(file: &ReadFile, clean: CleanLines) -> Outcome<CleanLines> {
    if clean.samples > 0 {
        return Ok(clean);
    }
    let why = "no line is left: all of them are bad or blank; nothing was written";
    Err(Failure::data(ACTIVITY, why).on(Subject::path(file.path())))
}

fn other_copy(target: &Path) -> Failure {
    let why = "another file of this name is there, and it is not this copy; nothing was written";
    let hint = "move it away, or replace it with --force-overwrite";
    Failure::data(ACTIVITY, why).on(Subject::path(target)).with_hint(hint)
}

fn clean_report(file: &ReadFile, clean: &CleanLines, target: &Path) -> JsonlReport {
    let mut report = report(file, &index_path(target), clean.samples);
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let replaces = files::is_taken(target);
    report.files.insert(0, OutputFile { name, bytes: clean.bytes, replaces });
    report.bytes = clean.bytes;
    report.lines_left_out = clean.left_out;
    report
}
