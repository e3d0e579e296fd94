//! The plain index of Forager: acquires the lock, finds the lines, and publishes the folder (docs/formats/forager.md §2).

use crate::job::exclusive_output::{folder_of, ExclusiveOutput};
use crate::job::ordered_results::OrderedResults;
use crate::job::pool::run_units;
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use crate::tokens::formats::forager::index::{line_ends, listed, units, FileUnit, IndexMerge, ACTIVITY};
use crate::tokens::index::IndexReport;
use gristmill_core::text::{bytes as size, count};
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use gristmill_data::formats::forager::{file_location, FILE_LOCATION, INDEX_FOLDER, SAMPLE_LOCATIONS};
use gristmill_data::source::documents::{list, InputRules, Selection, TextFile};
use gristmill_storage::files;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::listing::find_changed;
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::place_file;
use gristmill_storage::read::{open_read, ReadFile};
use gristmill_storage::read_ahead::read_ahead;
use std::path::{Path, PathBuf};

/// Bytes of rows that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// The folder to index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForagerIndexPlan {
    /// The base folder, to which file names are relative.
    pub base: PathBuf,
    /// Name of the index folder in it; `index` by default.
    pub index_folder: String,
    /// Whether nothing is written.
    pub is_dry: bool,
}

impl ForagerIndexPlan {
    /// Creates a plan with the defaults of the reference program.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), index_folder: INDEX_FOLDER.into(), is_dry: false }
    }
}

/// Builds the index. Refuses a folder that already has one, and file names that the index cannot contain.
///
/// # Errors
/// The plan is invalid, an input cannot be read, or the output cannot be written.
pub fn run(plan: &ForagerIndexPlan, context: &TaskContext) -> Outcome<IndexReport> {
    context.phase_of(Phase::Open, "input file", "looking for files");
    let name = &plan.index_folder;
    if name.is_empty() || name == "." || name == ".." || name.contains('/') {
        return Err(Failure::usage(ACTIVITY, "the index folder has to be a plain name").on(Subject::field(name)));
    }
    let base = files::metadata(&plan.base).map_err(|error| Failure::io(ACTIVITY, &plan.base, &error))?;
    if !base.is_dir() {
        return Err(Failure::usage(ACTIVITY, "it is not a folder")
            .on(Subject::path(&plan.base))
            .with_hint("name the folder that contains the files"));
    }
    let target = plan.base.join(name);
    if is_there(&target)? {
        return Err(Failure::data(ACTIVITY, "an index exists already")
            .on(Subject::path(&target))
            .with_hint("remove it to write a new one, or name another with --index-folder"));
    }
    let handles = context.handles();
    let selection = Selection { follows_reference: true, ..Selection::default() };
    let listing = list(std::slice::from_ref(&plan.base), selection, &InputRules::INDEXED_JSON_LINES, handles.cancel)?;
    for problem in listing.problems {
        handles.problems.report(problem)?;
    }
    let files = listed(listing.files, &handles)?;
    let names =
        files.iter().map(|file| file_location::relative(&plan.base, &file.path)).collect::<Outcome<Vec<_>>>()?;
    let location = file_location::render(names.iter().map(PathBuf::as_path))?;
    let mut report = IndexReport {
        format: "forager",
        index: target.clone(),
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        ..IndexReport::default()
    };
    let rows;
    (report.samples, rows) = match plan.is_dry {
        true => {
            let mut rows = 0;
            let samples = scan(&files, context, |piece| {
                rows += piece.len() as u64;
                Ok(())
            })?;
            (samples, rows)
        }
        false => make(&files, &location, &target, base.mode & 0o777, context)?,
    };
    let file = |name: &str, bytes| OutputFile { name: name.into(), bytes, replaces: false };
    report.written = vec![file(FILE_LOCATION, location.len() as u64), file(SAMPLE_LOCATIONS, rows)];
    report.findings = context.run_findings();
    Ok(report)
}

/// Whether an index, or another file with its name, exists. In a store, the files of an index are uploaded one after another, and the last
/// one completes it.
fn is_there(target: &Path) -> Outcome<bool> {
    match is_remote(target) {
        true => files::try_is_taken(target.join(SAMPLE_LOCATIONS)),
        false => files::try_is_taken(target),
    }
}

/// Writes the index in the work folder and publishes it.
fn make(files: &[TextFile], location: &[u8], target: &Path, mode: u32, context: &TaskContext) -> Outcome<(u64, u64)> {
    let fs = &*context.fs;
    let place = ExclusiveOutput::create(fs, target, &context.options)?;
    let draft = place.work_folder().join("index");
    fs.create_dir(&draft, mode | 0o700)?;
    let file_mode = (mode & 0o666) | 0o600;
    let mut list = fs.create_file(&draft.join(FILE_LOCATION))?;
    list.write_all(location)?;
    list.set_mode(file_mode)?;
    list.finish()?;
    let rows = draft.join(SAMPLE_LOCATIONS);
    let out = Mutex::new(BufferedFile::new(fs.create_file(&rows)?, WRITE_BYTES));
    let lock = || out.lock();
    let samples = scan(files, context, |piece| lock().write_all(piece))?;
    context.phase_of(Phase::Publish, "output file", "writing the index");
    context.progress.expect(1, 0);
    context.cancel.check()?;
    let bytes = out.into_inner().finish()?;
    fs.set_mode(&rows, file_mode)?;
    fs.sync_dir(&draft)?;
    if is_there(target)? {
        return Err(
            Failure::data(ACTIVITY, "another index was written while this one was made").on(Subject::path(target))
        );
    }
    if is_remote(target) {
        for name in [FILE_LOCATION, SAMPLE_LOCATIONS] {
            place_file(fs, &draft.join(name), &target.join(name), file_mode)?;
        }
    } else {
        fs.rename(&draft, target)?;
        fs.sync_dir(folder_of(target))?;
    }
    context.progress.add(1, 0);
    Ok((samples, bytes))
}

/// Finds every line and passes the rows to `sink`, in order.
fn scan(files: &[TextFile], context: &TaskContext, sink: impl FnMut(&[u8]) -> Outcome<()> + Send) -> Outcome<u64> {
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let line = format!("reading {}, {}", count(files.len() as u64, "file"), size(bytes));
    context.phase_of(Phase::Scan, "input file", line);
    context.progress.expect(files.len() as u64, bytes);
    let handles = context.handles();
    let threads = context.options.threads;
    let mut merge = IndexMerge::new(sink);
    let line = OrderedResults::new(threads, |(unit, ends): (FileUnit, Vec<u32>)| merge.append_unit(unit, &ends));
    let memory: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let spare = || memory.lock();
    let _ahead = read_ahead(files.iter().map(|file| (&*file.path, file.stamp)));
    let numbered: Vec<_> = units(files).into_iter().enumerate().collect();
    run_units(&numbered, threads, handles.cancel, |(number, unit)| {
        line.wait_for_slot(*number, handles.cancel)?;
        let Some(file) = files.get(unit.file) else {
            return Err(Failure::internal("indexing", "a unit is of no file"));
        };
        let mut buffer = spare().pop().unwrap_or_default();
        let open = open_as_found(file)?;
        let ends = line_ends(&open, *unit, &mut buffer, &handles)?;
        spare().push(buffer);
        line.hand_in(*number, (*unit, ends))
    })?;
    drop(line);
    // Each range was checked when it was read; this check detects bytes appended to a file.
    if let Some(file) = find_changed(files.iter().map(|file| (&*file.path, file.stamp)), handles.cancel)? {
        return Err(changed(file.path));
    }
    merge.finish()
}

fn open_as_found(file: &TextFile) -> Outcome<ReadFile> {
    let open = open_read(&file.path)?;
    let stamp = open.stamp().map_err(|error| Failure::io(ACTIVITY, &file.path, &error))?;
    if stamp == file.stamp {
        Ok(open)
    } else {
        Err(changed(&file.path))
    }
}

fn changed(path: &Path) -> Failure {
    Failure::data(ACTIVITY, "the file changed while the folder was read")
        .on(Subject::path(path))
        .with_hint("run it again when no program writes to the files")
}
