//! Folders of outputs: tokens packed in several formats, and indexes of mixtures.

use super::forager::forager_facts;
use crate::engine::modalities::folder::packed_folder;
use crate::engine::nanosets::folder_facts;
use crate::source::kind::{kind_of, packed_formats, DATASET_INDEX, SAMPLE_INDEX};
use gristmill_core::{
    DatasetKind, ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, ProblemLog, Severity, Subject,
};
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of an index that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// The most data sets of a mixture that are counted individually.
const MAX_DATASETS: usize = 100_000;
/// Size of each number in bytes.
const NUMBER_BYTES: u64 = 8;
/// Bytes up to the end of the length field of a header.
const NPY_PREFIX_BYTES: usize = 10;

/// One format of a folder with several.
#[derive(Clone, Debug, Serialize)]
pub struct FormatFacts {
    /// The value of `--format`, and the name of the folder.
    pub format: &'static str,
    /// The folder's path.
    #[serde(skip)]
    pub path: PathBuf,
    /// The number of files with tokens.
    pub files: u64,
    /// The number of documents or samples in them.
    pub items: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// `packed`, `has problems` or `unreadable`.
    pub state: &'static str,
}

/// Describes each format of a folder; what is wrong with them is among the problems.
pub fn format_facts(folder: &Path, handles: &Handles<'_>) -> Outcome<(Vec<FormatFacts>, Vec<Problem>)> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (format, _, path) in packed_formats(folder) {
        let log = ProblemLog::default();
        let own = Handles { problems: &log, ..*handles };
        let mut state = "packed";
        let (files, items, bytes) = match sizes(&path, &own, &mut problems) {
            Ok(sizes) => sizes,
            Err(failure) if failure.class == ExitClass::Data => {
                state = "unreadable";
                problems.push(Problem::problem(ProblemKind::BadFile, Subject::path(&path), failure.why));
                (0, 0, 0)
            }
            Err(failure) => return Err(failure),
        };
        problems.extend(log.to_vec());
        let is_damaged =
            |problem: &Problem| problem.severity > Severity::Note && is_below(problem.subject.path.as_deref(), &path);
        if state == "packed" && problems.iter().any(is_damaged) {
            state = "has problems";
        }
        all.push(FormatFacts { format, path, files, items, bytes, state });
    }
    Ok((all, problems))
}

fn is_below(path: Option<&str>, folder: &Path) -> bool {
    path.is_some_and(|path| Path::new(path).starts_with(folder))
}

/// Returns the number of files, of documents or samples, and of bytes.
fn sizes(path: &Path, handles: &Handles<'_>, problems: &mut Vec<Problem>) -> Outcome<(u64, u64, u64)> {
    match kind_of(path)? {
        DatasetKind::PackedFolder => {
            let facts = packed_folder(path, handles)?;
            problems.extend(facts.problems);
            Ok((facts.files.len() as u64, facts.documents, facts.bytes))
        }
        DatasetKind::TokenFolder => {
            let facts = folder_facts(path, None, None, handles)?;
            Ok((facts.files.len() as u64, facts.documents, facts.bytes))
        }
        DatasetKind::ForagerSamples => {
            let facts = forager_facts(path, handles)?;
            Ok((facts.files.len() as u64, facts.samples, facts.bytes))
        }
        _ => Err(Failure::data("looking at the format", "there are no files of this format in it")),
    }
}

/// The content of an index of a mixture.
#[derive(Clone, Debug, Serialize)]
pub struct MixtureFacts {
    /// Samples in one epoch.
    pub samples: u64,
    /// Size of both files in bytes.
    pub bytes: u64,
    /// The number of samples of each data set, by its number.
    pub datasets: BTreeMap<u64, u64>,
    /// Whether only a part of the index was read.
    pub more: bool,
}

/// Counts the samples of each data set in the first `limit` samples of an index of a mixture.
pub fn mixture_facts(folder: &Path, limit: u64, handles: &Handles<'_>) -> Outcome<MixtureFacts> {
    let damaged = |name: &str, why: &str| {
        Failure::data("reading the index of the mixture", why).on(Subject::path(folder.join(name)))
    };
    let file = open_read(&folder.join(DATASET_INDEX))?;
    let len = std::fs::metadata(folder.join(SAMPLE_INDEX)).map_or(0, |facts| facts.len());
    let mut head = [0; 4096];
    let read = file.read_at(&mut head, 0).map_err(|error| Failure::io("reading the index", folder, &error))?;
    let header = u64::from(u16::from_le_bytes([head[8], head[9]])) + NPY_PREFIX_BYTES as u64;
    let text = usize::try_from(header).ok().and_then(|end| head.get(..end.min(read))).unwrap_or_default();
    let is_array = text.starts_with(b"\x93NUMPY\x01") && memchr::memmem::find(text, b"'<u8'").is_some();
    let numbers = file.len().checked_sub(header).filter(|bytes| is_array && bytes % NUMBER_BYTES == 0);
    let Some(bytes) = numbers else {
        return Err(damaged(DATASET_INDEX, "it is not an array of 64-bit numbers"));
    };
    if len != file.len() {
        return Err(damaged(SAMPLE_INDEX, "it has another length than the index of the data sets"));
    }
    let samples = bytes / NUMBER_BYTES;
    let end = header + samples.min(limit) * NUMBER_BYTES;
    let (mut at, mut buffer) = (header, vec![0; READ_BYTES]);
    let mut datasets = BTreeMap::new();
    while at < end {
        handles.cancel.check()?;
        let count = usize::try_from(end - at).unwrap_or(READ_BYTES).min(READ_BYTES);
        let piece = buffer.get_mut(..count).unwrap_or_default();
        let read = file.read_at(piece, at).map_err(|error| Failure::io("reading the index", folder, &error))?;
        let read = read - read % NUMBER_BYTES as usize;
        if read == 0 {
            return Err(damaged(DATASET_INDEX, "it ends early"));
        }
        for number in piece.get(..read).unwrap_or_default().chunks_exact(NUMBER_BYTES as usize) {
            let number = number.try_into().map_or(0, u64::from_le_bytes);
            *datasets.entry(number).or_insert(0) += 1;
        }
        if datasets.len() > MAX_DATASETS {
            return Err(damaged(DATASET_INDEX, "it names more than 100,000 data sets"));
        }
        at += read as u64;
    }
    Ok(MixtureFacts { samples, bytes: 2 * file.len(), datasets, more: samples > limit })
}
