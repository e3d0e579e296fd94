//! Checks an index of Forager samples against the files next to it (docs/formats/forager.md §1).

use crate::engine::check::tokens::no_document;
use crate::engine::check::CheckCounts;
use gristmill_core::{text, Failure, Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_storage::files::{self, FileInfo, FolderEntry};
use gristmill_storage::read::{open_read, read_whole};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "reading the index";
/// Size of one row in bytes.
const ROW_BYTES: u64 = 24;
/// Rows read at a time.
const ROWS_PER_READ: u64 = 1 << 16;
/// Limit of the size of the list of files, in bytes.
const MAX_LIST: u64 = 64 << 20;
/// Limit of the size of a schema, in bytes.
const MAX_SCHEMA: u64 = 1 << 20;
/// Limit of findings of one kind in one file that are reported individually; the others are counted.
const MAX_REPORTED: u64 = 5;
/// Default folder of token files.
const SAMPLES_FOLDER: &str = "tokenized-samples";

/// A data file of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForagerFile {
    /// The name in the index; raw.
    pub name: String,
    /// Path of the file.
    #[serde(skip)]
    pub path: PathBuf,
    /// The file's size in bytes; `None` when it is missing.
    pub bytes: Option<u64>,
    /// The number of samples in the file.
    pub samples: u64,
    /// Size of all its samples in bytes.
    pub sample_bytes: u64,
    #[serde(skip)]
    reported: u64,
}

/// The content of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForagerFacts {
    /// The folder that the index describes.
    pub path: String,
    /// The number of samples in all files.
    pub samples: u64,
    /// Bytes of all samples.
    pub bytes: u64,
    /// Bytes in the shortest sample.
    pub shortest: u64,
    /// Bytes in the longest sample.
    pub longest: u64,
    /// Tokens in each sample; `None` when the index has no schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_size: Option<u64>,
    /// Arrays of a sample with their types; empty without a schema.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<(String, String)>,
    /// The files in the order of their numbers.
    pub files: Vec<ForagerFile>,
    #[serde(skip)]
    pub(super) schema: Option<Schema>,
}

/// The content of `sample_schema.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Schema {
    pub(super) sample_size: u64,
    pub(super) arrays: Vec<SchemaArray>,
    pub(super) total_bytes_per_sample: u64,
}

/// An array that every sample has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct SchemaArray {
    pub(super) name: String,
    pub(super) dtype: String,
    #[serde(default)]
    pub(super) offset: u64,
}

/// Reads the index of `root`, reports inconsistencies, and returns its content. The data files are not read.
pub fn forager_facts(root: &Path, handles: &Handles<'_>) -> Outcome<ForagerFacts> {
    let folder = root.join("index");
    let table = open_read(&folder.join("sample_locations.bin"))?;
    let mut files = listed(root, &folder.join("file_location.txt"), handles)?;
    let schema = schema(&folder.join("sample_schema.json"), handles)?;
    let on = |row: u64| Subject::path(table.path()).at(row * ROW_BYTES);
    let report = |kind, subject, message: String| handles.problems.report(Problem::problem(kind, subject, message));
    if table.len() % ROW_BYTES != 0 {
        let message = format!("its size of {} is not a multiple of {ROW_BYTES}", text::count(table.len(), "byte"));
        report(ProblemKind::BadFile, Subject::path(table.path()), message)?;
    }
    let rows = table.len() / ROW_BYTES;
    handles.progress.restart(rows, table.len());
    let (mut shortest, mut longest, mut stray) = (u64::MAX, 0, 0);
    let (mut first, mut bytes) = (0, Vec::new());
    while first < rows {
        handles.cancel.check()?;
        let count = ROWS_PER_READ.min(rows - first);
        bytes.resize((count * ROW_BYTES) as usize, 0);
        table
            .read_exact_at(&mut bytes, first * ROW_BYTES)
            .map_err(|error| Failure::io(ACTIVITY, table.path(), &error))?;
        let words = bytes.as_chunks::<8>().0.as_chunks::<3>().0;
        for (row, words) in (first..).zip(words) {
            let [number, offset, length] = words.map(u64::from_le_bytes);
            let files_there = files.len();
            let Some(file) = usize::try_from(number).ok().and_then(|number| files.get_mut(number)) else {
                stray += 1;
                report_finding(handles, stray, on(row), || {
                    format!(
                        "sample {row} is in file {number}, and the list has {}",
                        text::count(files_there as u64, "file")
                    )
                })?;
                continue;
            };
            (shortest, longest) = (shortest.min(length), longest.max(length));
            let size = schema.as_ref().map(|schema| schema.total_bytes_per_sample);
            check_row(file, (row, offset, length), size, table.path(), handles)?;
        }
        handles.progress.add(count, count * ROW_BYTES);
        first += count;
    }
    after_rows(root, &files, handles)?;
    if table.is_empty() {
        handles.problems.report(no_document(root))?;
    }
    Ok(ForagerFacts {
        path: root.to_string_lossy().into_owned(),
        samples: files.iter().map(|file| file.samples).sum(),
        bytes: files.iter().fold(0, |all: u64, file| all.saturating_add(file.sample_bytes)),
        shortest: if rows == 0 { 0 } else { shortest.min(longest) },
        longest,
        sample_size: schema.as_ref().map(|schema| schema.sample_size),
        arrays: schema.iter().flat_map(|schema| &schema.arrays).map(|a| (a.name.clone(), a.dtype.clone())).collect(),
        files,
        schema,
    })
}

/// Compares a row, given as sample, offset and length, with its file and with the sample size in the schema.
fn check_row(
    file: &mut ForagerFile,
    (row, offset, length): (u64, u64, u64),
    size: Option<u64>,
    table: &Path,
    handles: &Handles<'_>,
) -> Outcome<()> {
    let ForagerFile { name, bytes, samples, sample_bytes, reported, .. } = file;
    let mut report = |message: &dyn Fn() -> String| {
        *reported += 1;
        report_finding(handles, *reported, Subject::path(table).at(row * ROW_BYTES), message)
    };
    let end = offset.checked_add(length);
    if bytes.is_some_and(|size| end.is_none_or(|end| end > size)) {
        report(&|| {
            format!("sample {row} is beyond the end of {name}: {} from {offset} on", text::count(length, "byte"))
        })?;
    } else if offset != *sample_bytes {
        let expected = *sample_bytes;
        report(&|| format!("sample {row} begins at {offset} of {name}, and the one before it ends at {expected}"))?;
    }
    if let Some(size) = size.filter(|size| *size != length) {
        report(&|| format!("sample {row} has {}, and the schema says {size}", text::count(length, "byte")))?;
    }
    *samples += 1;
    // Set to the end of this row, so that a gap is reported only once.
    *sample_bytes = end.unwrap_or(u64::MAX);
    Ok(())
}

/// Checks the index and returns the counts of `lint`.
pub fn check_forager(root: &Path, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    Ok(counted(&forager_facts(root, handles)?))
}

/// Returns the counts of the checked items.
pub fn counted(facts: &ForagerFacts) -> CheckCounts {
    CheckCounts { shards: facts.files.len() as u64, samples: facts.samples, parts: facts.samples, bytes: facts.bytes }
}

/// Reports the first findings, and counts the others.
fn report_finding(
    handles: &Handles<'_>,
    number: u64,
    subject: Subject,
    message: impl FnOnce() -> String,
) -> Outcome<()> {
    if number > MAX_REPORTED {
        handles.problems.count_more(Severity::Problem, ProblemKind::IndexMismatch, 1);
        return Ok(());
    }
    handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, subject, message()))
}

/// Returns the files listed in the index.
fn listed(root: &Path, list: &Path, handles: &Handles<'_>) -> Outcome<Vec<ForagerFile>> {
    let Some(bytes) = read_whole(list, MAX_LIST)? else {
        return Err(Failure::io(ACTIVITY, list, &std::io::ErrorKind::NotFound.into()));
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::data(ACTIVITY, "the list of files is not UTF-8").on(Subject::path(list)))?;
    let mut files = Vec::new();
    for (number, name) in text.split_terminator('\n').enumerate() {
        // Joining with an absolute name gives that name.
        let path = root.join(name);
        let facts = files::metadata(&path).ok().filter(FileInfo::is_file);
        if facts.is_none() {
            let subject = Subject::path(list).line(number as u64 + 1);
            let message = format!("{name} does not exist, or is not a file");
            handles.problems.report(Problem::problem(ProblemKind::MissingFile, subject, message))?;
        }
        let bytes = facts.map(|facts| facts.len());
        files.push(ForagerFile { name: name.to_owned(), path, bytes, samples: 0, sample_bytes: 0, reported: 0 });
    }
    Ok(files)
}

fn schema(path: &Path, handles: &Handles<'_>) -> Outcome<Option<Schema>> {
    let Some(bytes) = read_whole(path, MAX_SCHEMA)? else { return Ok(None) };
    match serde_json::from_slice(&bytes) {
        Ok(schema) => Ok(Some(schema)),
        Err(error) => {
            let message = format!("it cannot be understood: {error}");
            handles.problems.report(Problem::problem(ProblemKind::BadFile, Subject::path(path), message))?;
            Ok(None)
        }
    }
}

/// Reports bytes and files that belong to no sample.
fn after_rows(root: &Path, files: &[ForagerFile], handles: &Handles<'_>) -> Outcome<()> {
    for file in files {
        if file.reported == 0 && file.bytes.is_some_and(|bytes| bytes > file.sample_bytes) {
            let rest = file.bytes.unwrap_or(0) - file.sample_bytes;
            let message = format!(
                "{} after its last sample {} part of none",
                text::count(rest, "byte"),
                gristmill_core::text::agree(rest, "is", "are")
            );
            handles.problems.report(Problem::problem(
                ProblemKind::IndexMismatch,
                Subject::path(&file.path),
                message,
            ))?;
        }
    }
    let folder = root.join(SAMPLES_FOLDER);
    let listed: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let mut unlisted: Vec<PathBuf> = files::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        // A text without a whole sample produces an empty file, which the index does not list.
        .filter(|entry| entry.metadata().is_ok_and(|facts| facts.is_file() && !facts.is_empty()))
        .map(FolderEntry::into_path)
        .filter(|path| path.extension().is_some_and(|end| end == "bin") && !listed.contains(path.as_path()))
        .collect();
    unlisted.sort();
    for path in unlisted {
        let message = "it holds samples that the index does not list";
        handles.problems.report(Problem::problem(ProblemKind::ShardNotIndexed, Subject::path(&path), message))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{Cancel, ProblemLog, Progress};
    use gristmill_storage::{fs::RealFs, publish::write_file};
    use proptest::prelude::*;

    fn put(path: &Path, bytes: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    fn rows(rows: &[[u64; 3]]) -> Vec<u8> {
        rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Creates an index of two files with two samples and one, checks it after `spoil` damaged it, and returns the reports.
    fn check_damaged(spoil: impl FnOnce(&Path)) -> (Outcome<ForagerFacts>, String) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(&root.join("tokenized-samples/a.bin"), &[0; 16]);
        put(&root.join("tokenized-samples/b.bin"), &[0; 8]);
        put(&root.join("tokenized-samples/empty.bin"), &[]);
        put(&root.join("index/file_location.txt"), b"tokenized-samples/a.bin\ntokenized-samples/b.bin\n");
        put(&root.join("index/sample_locations.bin"), &rows(&[[0, 0, 8], [0, 8, 8], [1, 0, 8]]));
        spoil(root);
        let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
        let facts = forager_facts(root, &handles);
        (facts, problems.to_vec().iter().map(|problem| format!("{problem}\n")).collect())
    }

    #[test]
    fn undamaged_forager_index_has_no_findings() {
        let (facts, said) = check_damaged(|_| ());
        let facts = facts.unwrap();
        assert_eq!((facts.samples, facts.bytes, facts.shortest, facts.longest, said.as_str()), (3, 24, 8, 8, ""));
        assert_eq!(facts.files[0].samples, 2);
    }

    #[test]
    fn inconsistent_forager_index_is_reported() {
        let table = |new: &[[u64; 3]]| {
            let bytes = rows(new);
            check_damaged(move |root| put(&root.join("index/sample_locations.bin"), &bytes)).1
        };
        assert!(table(&[[0, 0, 8], [0, 8, 9], [1, 0, 8]]).contains("beyond the end"));
        assert!(table(&[[0, 0, 8], [0, u64::MAX, 9], [1, 0, 8]]).contains("beyond the end"));
        assert!(table(&[[0, 0, 8], [0, 9, 7], [1, 0, 8]]).contains("begins at 9"));
        assert!(table(&[[0, 0, 8], [0, 8, 8], [2, 0, 8]]).contains("the list has 2 files"));
        assert!(table(&[[0, 0, 8], [0, 8, 8]]).contains("8 bytes after its last sample"));
        let with = |name: &'static str, bytes: &'static [u8]| check_damaged(move |root| put(&root.join(name), bytes)).1;
        assert!(with("index/sample_locations.bin", &[1; 25]).contains("not a multiple of 24"));
        assert!(with("tokenized-samples/c.bin", b"1").contains("does not list"));
        assert!(with("index/sample_schema.json", b"{").contains("cannot be understood"));
        let schema = br#"{"sample_size": 2, "arrays": [{"name": "tokens", "dtype": "uint32", "offset": 0}],
            "total_bytes_per_sample": 9}"#;
        assert!(with("index/sample_schema.json", schema).contains("the schema says 9"));
        assert!(with("index/file_location.txt", b"nowhere.bin\ntokenized-samples/b.bin\n").contains("does not exist"));
        assert!(check_damaged(|root| put(&root.join("index/file_location.txt"), b"\xff")).0.is_err());
        assert!(check_damaged(|root| std::fs::remove_file(root.join("index/file_location.txt")).unwrap()).0.is_err());
    }

    proptest! {
        #[test]
        fn any_forager_table_is_checked_without_failure(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (facts, _) = check_damaged(|root| put(&root.join("index/sample_locations.bin"), &bytes));
            prop_assert!(facts.is_ok());
        }
    }
}
