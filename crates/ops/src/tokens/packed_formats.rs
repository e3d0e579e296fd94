//! Folders that contain tokens in several formats.

use super::formats::reader;
use crate::engine::check::DatasetInfo;
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::source::kind::{kind_of, packed_formats};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Facts of one format of such a folder.
#[derive(Clone, Debug, Serialize)]
pub struct FormatFacts {
    /// The value of `--format`, which is also the name of the subfolder.
    pub format: &'static str,
    /// Path of the subfolder.
    #[serde(skip)]
    pub path: PathBuf,
    /// Number of files with tokens.
    pub files: u64,
    /// Number of documents or samples in the files.
    pub items: u64,
    /// Size of the files, in bytes.
    pub bytes: u64,
    /// `packed`, `has problems` or `unreadable`.
    pub state: &'static str,
}

/// Describes each format of a folder. Also returns the problems of their files.
pub fn format_facts(folder: &Path, handles: &Handles<'_>) -> Outcome<(Vec<FormatFacts>, Vec<Problem>)> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (kind, path) in packed_formats(folder) {
        let mut state = "packed";
        let info = match info(&path, handles) {
            Ok(info) => info,
            Err(failure) if failure.class == ExitClass::Data => {
                state = "unreadable";
                problems.push(Problem::of_failure(ProblemKind::BadFile, failure).on(Subject::path(&path)));
                DatasetInfo::default()
            }
            Err(failure) => return Err(failure),
        };
        problems.extend(info.problems);
        let is_damaged =
            |problem: &Problem| problem.severity > Severity::Note && is_below(problem.subject.path.as_deref(), &path);
        if state == "packed" && problems.iter().any(is_damaged) {
            state = "has problems";
        }
        let DatasetInfo { files, items, bytes, .. } = info;
        all.push(FormatFacts { format: kind.format, path, files, items, bytes, state });
    }
    Ok((all, problems))
}

fn is_below(path: Option<&str>, folder: &Path) -> bool {
    path.is_some_and(|path| Path::new(path).starts_with(folder))
}

fn info(path: &Path, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
    match kind_of(path)?.tokens().and_then(reader) {
        Some(reader) => reader.info(path, None, handles),
        None => Err(Failure::data("looking at the format", "it has no files of this format")),
    }
}
