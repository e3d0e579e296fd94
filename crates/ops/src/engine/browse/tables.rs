//! Tables, one file or all in a folder: each file is a group, each row a sample with one part `json`. Files are opened in the background to
//! count their rows. Rows are decoded in chunks when they are viewed.

use super::state::GroupsState;
use super::{
    or_defects, over_groups, Background, BrowsePart, BrowseSample, Catalog, CatalogHead, Groups, OpenedCatalog,
    ProblemList, SampleAt, SamplesFile, StopOnDrop, VisitFields, Visitor,
};
use gristmill_core::{Cancel, DatasetKind, Failure, Mutex, Outcome, Problem, Subject};
use gristmill_data::source::documents::{tables_in_order, Table, TableFormat};
use gristmill_storage::waiting::for_each_at_once;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "reading the rows";
/// Approximate size of a chunk of decoded rows in bytes, and maximum number of its rows.
const CHUNK_BYTES: u64 = 2 << 20;
const MAX_CHUNK_ROWS: u64 = 64;
/// Maximum size of a chunk in bytes, unless it is a single row.
const MAX_CHUNK_BYTES: usize = 16 << 20;
/// Maximum size of the cached chunks, in bytes; the last used one is cached whatever its size.
const MAX_KEPT_BYTES: usize = 64 << 20;
/// Maximum number of files held open.
const MAX_OPEN_FILES: usize = 8;

/// Opens a file, or the files of a folder.
pub(crate) fn open(path: &Path, kind: DatasetKind) -> Outcome<OpenedCatalog> {
    let (files, found) = tables_in_order(path)?;
    let mut problems = ProblemList::default();
    found.into_iter().for_each(|problem| problems.add_other(problem));
    let state = GroupsState::default();
    state.begin(files.iter().map(|file| (Arc::from(file.name.as_str()), file.bytes, None)), None);
    let files = files.into_iter().map(|file| TableFile { path: file.path, format: file.format }).collect();
    let problems = Arc::new(problems);
    let shared = Arc::new(TableIndex { state, files, problems, opened: Mutex::default(), chunks: Mutex::default() });
    let stop = Cancel::default();
    let counter = Arc::clone(&shared);
    let background: Vec<Background> = vec![Box::new(move |cancel| counter.count(cancel))];
    Ok(OpenedCatalog {
        catalog: Arc::new(Tables { shared, root: path.to_owned(), kind, _stop: StopOnDrop(stop.clone()) }),
        stop,
        background,
    })
}

struct TableFile {
    path: PathBuf,
    format: &'static dyn TableFormat,
}

struct TableIndex {
    state: GroupsState,
    files: Vec<TableFile>,
    /// Files of the folder that are missing or not listed.
    problems: Arc<ProblemList>,
    /// Open files, the most recently used one at the end.
    opened: Mutex<VecDeque<(u32, Arc<dyn Table>)>>,
    /// Decoded rows, the most recently used chunk at the end.
    chunks: Mutex<VecDeque<Arc<Chunk>>>,
}

/// Consecutive decoded rows of a file.
struct Chunk {
    group: u32,
    first: u64,
    /// End of each row in `bytes`, without its newline.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Chunk {
    fn row(&self, row: u64) -> Option<&[u8]> {
        let number = usize::try_from(row.checked_sub(self.first)?).ok()?;
        let begin = match number.checked_sub(1) {
            Some(before) => self.ends.get(before)? + 1,
            None => 0,
        };
        self.bytes.get(begin..*self.ends.get(number)?)
    }
}

impl TableIndex {
    fn count(&self, cancel: &Cancel) {
        let groups: Vec<u32> = (0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)).collect();
        let count = |group: &u32| {
            cancel.check()?;
            match self.table(*group) {
                Ok(table) => self.state.finish(*group, table.rows(), table.loss().map(|loss| Arc::from(loss.message))),
                Err(failure) => self.state.finish(*group, 0, Some(Arc::from(failure.why))),
            }
            Ok(())
        };
        // The operation only fails when it is cancelled.
        _ = for_each_at_once(&groups, count, || ());
    }

    fn table(&self, group: u32) -> Outcome<Arc<dyn Table>> {
        let opened = || self.opened.lock();
        if let Some(table) = take_cached(&mut opened(), |(number, _)| *number == group) {
            return Ok(table.1);
        }
        let Some(file) = self.files.get(group as usize) else {
            return Err(Failure::usage(ACTIVITY, "there is no such file"));
        };
        let table: Arc<dyn Table> = Arc::from(file.format.open(&file.path)?);
        let mut opened = opened();
        if opened.len() >= MAX_OPEN_FILES {
            opened.pop_front();
        }
        opened.push_back((group, Arc::clone(&table)));
        Ok(table)
    }

    /// Returns the chunk that contains a row.
    fn chunk(&self, group: u32, row: u64) -> Outcome<Arc<Chunk>> {
        let chunks = || self.chunks.lock();
        if let Some(chunk) = take_cached(&mut chunks(), |chunk| chunk.group == group && chunk.row(row).is_some()) {
            return Ok(chunk);
        }
        let table = self.table(group)?;
        let step = (CHUNK_BYTES / table.row_bytes().max(1)).clamp(1, MAX_CHUNK_ROWS);
        // A chunk does not cross the boundary of a row group, so that damage in one group does not hide rows of other groups.
        let rows = table.group_of(row);
        let mut first = row - (row.saturating_sub(rows.start) % step);
        let mut bytes = Vec::new();
        let appended = match table.json_rows(first..(first + step).min(rows.end), MAX_CHUNK_BYTES, &mut bytes) {
            // The row that cannot be decoded is not the requested one.
            Err(failure) if first < row && !failure.is_cancelled() => 0,
            result => result?,
        };
        if first + appended <= row {
            // The preceding rows are larger than stated and fill the chunk.
            first = row;
            bytes.clear();
            table.json_rows(row..row + 1, MAX_CHUNK_BYTES, &mut bytes)?;
        }
        let ends = memchr::memchr_iter(b'\n', &bytes).collect();
        let chunk = Arc::new(Chunk { group, first, ends, bytes });
        let mut chunks = chunks();
        chunks.push_back(Arc::clone(&chunk));
        while chunks.len() > 1 && chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() > MAX_KEPT_BYTES {
            chunks.pop_front();
        }
        Ok(chunk)
    }

    fn row(&self, group: u32, row: u64) -> Outcome<BrowseSample> {
        let chunk = self.chunk(group, row)?;
        let Some(bytes) = chunk.row(row) else {
            return Err(Failure::data(ACTIVITY, "the file has fewer rows than it states"));
        };
        let size = bytes.len() as u64;
        let part = BrowsePart { name: Arc::from("json"), byte_offset: 0, byte_size: size };
        Ok(BrowseSample {
            at: SampleAt { group, index: row },
            key: Arc::from(row.to_string()),
            byte_offset: 0,
            byte_size: size,
            parts: vec![part],
            defect: None,
        })
    }
}

/// Returns the cached entry for a key, and marks it as the most recently used.
fn take_cached<T: Clone>(kept: &mut VecDeque<T>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let at = kept.iter().position(fits)?;
    let entry = kept.remove(at)?;
    kept.push_back(entry.clone());
    Some(entry)
}

struct Tables {
    shared: Arc<TableIndex>,
    root: PathBuf,
    kind: DatasetKind,
    _stop: StopOnDrop,
}

impl Catalog for Tables {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: self.kind, root: &self.root, group_word: "file" }
    }

    fn problems(&self) -> Arc<ProblemList> {
        Arc::clone(&self.shared.problems)
    }

    fn row_problems(&self, cancel: &Cancel) -> Outcome<Vec<Problem>> {
        let mut problems = Vec::new();
        for (group, _) in (0u32..).zip(&self.shared.files) {
            // A file that cannot be opened is reported as the failure of its group.
            if let Ok(table) = self.shared.table(group) {
                problems.append(&mut table.row_problems(cancel)?);
            }
        }
        Ok(problems)
    }

    fn groups(&self) -> Arc<Groups> {
        self.shared.state.groups()
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        over_groups(&self.groups(), from, count.min(super::MAX_ROWS), |group, first, count| {
            let mut window = Vec::new();
            // A row that cannot be decoded must not hide the rows before it.
            for row in first..first.saturating_add(count) {
                cancel.check()?;
                let sample = self.shared.row(group, row).map(|sample| vec![sample]);
                window.append(&mut or_defects(sample, group, row, 1)?);
            }
            Ok(window)
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        if part > 0 || sample.parts.is_empty() {
            return Err(Failure::usage(ACTIVITY, "the row has no such part").on(Subject::path(&self.root)));
        }
        let chunk = self.shared.chunk(sample.at.group, sample.at.index)?;
        let bytes = chunk.row(sample.at.index).unwrap_or_default();
        let rest = bytes.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
        Ok(rest.get(..limit).unwrap_or(rest).to_vec())
    }

    fn file_of(&self, group: u32) -> Outcome<Option<SamplesFile>> {
        let file = self.shared.files.get(group as usize);
        Ok(file.map(|file| SamplesFile { path: file.path.clone(), is_plain: false, index: None }))
    }

    fn locate(&self, group: Option<&str>, key: &str, _cancel: &Cancel) -> Outcome<Option<SampleAt>> {
        let Some(index) = super::row_number(key) else { return Ok(None) };
        let groups = self.groups();
        let has_row = |group: u32| groups.group(group).is_some_and(|group| index < group.samples);
        let group = match group {
            Some(name) => groups.named(name).filter(|group| has_row(*group)),
            None => (0..u32::try_from(groups.groups.len()).unwrap_or(u32::MAX)).find(|group| has_row(*group)),
        };
        Ok(group.map(|group| SampleAt { group, index }))
    }

    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        let rows = self.groups().group(group).map_or(0, |group| group.samples);
        let size = |row, _| Ok(vec![self.shared.row(group, row)?.byte_size]);
        super::visit_numbered((rows, 1), &["json"], wanted, cancel, size, take)
    }
}
