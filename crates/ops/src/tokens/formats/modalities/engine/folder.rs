//! A folder of packed files: the facts of each file, and totals.

use super::check::{facts_of, report_findings, verify_tokens, PackedFacts};
use crate::engine::check::tokens::{Depth, Vocabulary};
use crate::engine::check::CheckCounts;
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::modalities::kind::packed_files;
use gristmill_data::formats::modalities::packed::PackedReader;
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One file of a folder.
#[derive(Clone, Debug, Serialize)]
pub struct PackedFile {
    /// Path of the file relative to the folder.
    pub name: String,
    /// Path of the file.
    #[serde(skip)]
    pub path: PathBuf,
    /// Facts of the file; `None` if it cannot be read as a packed file.
    #[serde(flatten)]
    pub facts: Option<PackedFacts>,
}

/// The facts of a folder.
#[derive(Clone, Debug, Serialize)]
pub struct PackedFolder {
    /// Number of documents of all files.
    pub documents: u64,
    /// Number of tokens of all files.
    pub tokens: u64,
    /// Size of all files in bytes.
    pub bytes: u64,
    /// The files, sorted by name.
    pub files: Vec<PackedFile>,
    /// Summaries of the problems of the files.
    pub problems: Vec<Problem>,
}

/// Reads the facts of each packed file of a folder with [`facts_of`]. A damaged file is a problem of the folder.
pub fn packed_folder(folder: &Path, handles: &Handles<'_>) -> Outcome<PackedFolder> {
    let mut found = PackedFolder { documents: 0, tokens: 0, bytes: 0, files: Vec::new(), problems: Vec::new() };
    for path in files_of(folder)? {
        handles.cancel.check()?;
        let facts = match facts_of(&path, handles) {
            Ok(facts) => {
                found.documents += facts.documents;
                found.tokens += facts.tokens;
                found.bytes += facts.bytes;
                found.problems.extend(facts.problems.iter().cloned());
                Some(facts)
            }
            Err(failure) if failure.class == ExitClass::Data => {
                found.problems.push(unreadable(&path, failure));
                None
            }
            Err(failure) => return Err(failure),
        };
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        found.files.push(PackedFile { name, path, facts });
    }
    Ok(found)
}

/// Returns the packed files of a folder. Fails if there are none, or if there are other files.
pub fn files_of(folder: &Path) -> Outcome<Vec<PathBuf>> {
    packed_files(folder).ok_or_else(|| {
        Failure::usage("looking for packed files", "it is no folder of .pbin files").on(Subject::path(folder))
    })
}

fn unreadable(path: &Path, failure: Failure) -> Problem {
    Problem::of_failure(ProblemKind::BadFile, failure).on(Subject::path(path))
}

/// Checks one file of a folder. `vocabulary` is only used if tokens are read.
pub fn check_file(
    path: &Path,
    depth: Depth,
    vocabulary: Option<&Vocabulary>,
    handles: &Handles<'_>,
) -> Outcome<CheckCounts> {
    let facts = match facts_of(path, handles) {
        Ok(facts) => facts,
        Err(failure) if failure.class == ExitClass::Data => {
            handles.problems.report(unreadable(path, failure))?;
            return Ok(CheckCounts { shards: 1, ..CheckCounts::default() });
        }
        Err(failure) => return Err(failure),
    };
    let checked = report_findings(path, facts, handles)?;
    match depth {
        Depth::Index => handles.progress.add(checked.samples, 0),
        Depth::Tokens => {
            let packed = PackedReader::open_watched(open_read(path)?, handles.cancel)?;
            verify_tokens(&packed, path, vocabulary, handles)?;
        }
    }
    Ok(checked)
}
