//! A JSONL file: each line is a sample whose key is its number, with one part `json`. Locations are read from `.jsonl.idx` if it matches
//! the file; otherwise the file is scanned for lines in the background. A compressed file is unpacked into scratch space at the same time,
//! up to the available space.

use super::bytes::{LineBytes, PlainBytes, SpilledText, ACTIVITY};
use super::packed::PackedOffsets;
use super::problems::{ProblemList, SampleProblem};
use super::state::GroupsState;
use super::{
    Background, BrowsePart, BrowseSample, Catalog, CatalogHead, Groups, OpenedCatalog, SampleAt, SamplesFile,
    StopOnDrop, VisitFields, Visitor,
};
use gristmill_core::{Cancel, DatasetKind, Failure, Mutex, Outcome, ProblemKind, Subject};
use gristmill_data::formats::energon::jsonl_idx::{index_path, state_of, IndexState, JsonlIdx};
use gristmill_data::source::documents::Packing;
use gristmill_data::source::file_start::{start_of, FileStart};
use gristmill_data::source::jsonl::{each_line, is_white, Checker, Issue, LineEnds, Unit};
use gristmill_data::source::kind::is_packed_jsonl;
use gristmill_storage::read::{open_read, ReadFile};
use gristmill_storage::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Bytes read at a time while searching for lines.
const READ_BYTES: usize = 256 << 10;
/// Offset in bytes after which lines are not parsed in the background, but only when they are viewed.
const MAX_CHECKED: u64 = 4 << 30;
/// Limit of the length of lines that are parsed in the background, in bytes.
const MAX_CHECKED_LINE_BYTES: usize = 8 << 20;
/// Lines between two checks for cancellation.
const LINES_PER_STEP: usize = 4_096;

/// Opens the file and its index.
pub(crate) fn open(path: &Path) -> Outcome<OpenedCatalog> {
    let file = Arc::new(open_read(path)?);
    let refused = |why: String, hint: &str| Failure::data(ACTIVITY, why).on(Subject::path(path)).with_hint(hint);
    match start_of(&file)? {
        FileStart::Compressed(packed) => match Packing::of(&file)? {
            Packing::Plain => {
                let hint = format!("unpack it first: {}", packed.unpack_command(path));
                return Err(refused(format!("it is compressed with {}", packed.name), &hint));
            }
            packing => return unpack(path, file, packing, packed.name),
        },
        FileStart::Wide(name) => {
            return Err(refused(format!("it is text in {name}, not in UTF-8"), "convert it with iconv"))
        }
        FileStart::Empty | FileStart::Text => {}
    }
    let stop = Cancel::default();
    let shared = Arc::new(LineIndex::new(path, path.to_owned()));
    let index = match state_of(path) {
        Ok(IndexState::Fits { .. }) => JsonlIdx::open(&index_path(path)).ok(),
        _ => None,
    };
    shared.begin(file.len(), None);
    let mut background: Vec<Background> = Vec::new();
    let (checked, checks) = (Arc::clone(&file), Arc::clone(&shared));
    match &index {
        Some(index) => shared.state.finish(0, index.samples(), None),
        None => {
            let shared = Arc::clone(&shared);
            background.push(Box::new(move |cancel| shared.find_lines(PlainBytes::new(file), cancel)));
        }
    }
    background.push(Box::new(move |cancel| checks.check_lines(&checked, cancel)));
    Ok(OpenedCatalog {
        catalog: Arc::new(Jsonl { shared, index, _stop: StopOnDrop(stop.clone()), _scratch: None }),
        stop,
        background,
    })
}

/// Opens a compressed file. An index next to it is not used, because its offsets refer to the unpacked text.
fn unpack(path: &Path, file: Arc<ReadFile>, packing: Packing, name: &str) -> Outcome<OpenedCatalog> {
    let scratch = Scratch::create(None)?;
    let text = scratch.path().join("text");
    let source = SpilledText::new(Arc::clone(&file), packing, &text, scratch.cap_bytes())?;
    let stop = Cancel::default();
    let shared = Arc::new(LineIndex::new(path, text));
    let is_reported = is_packed_jsonl(&path.file_name().unwrap_or_default().to_string_lossy());
    let hidden = (!is_reported)
        .then(|| format!("it is compressed with {name}, which its name does not say: loaders cannot read it"));
    shared.begin(file.len(), hidden.map(Arc::from));
    let finder = Arc::clone(&shared);
    let background: Vec<Background> = vec![Box::new(move |cancel| finder.find_lines(source, cancel))];
    let catalog = Jsonl { shared, index: None, _stop: StopOnDrop(stop.clone()), _scratch: Some(scratch) };
    Ok(OpenedCatalog { catalog: Arc::new(catalog), stop, background })
}

struct Jsonl {
    shared: Arc<LineIndex>,
    index: Option<JsonlIdx>,
    _stop: StopOnDrop,
    /// The folder into which a compressed file is unpacked; removed on drop.
    _scratch: Option<Scratch>,
}

struct LineIndex {
    path: PathBuf,
    /// Path of the file that contains the lines: the JSONL file, or the unpacked text.
    text: PathBuf,
    state: GroupsState,
    lines: Mutex<PackedOffsets>,
    /// The index of the line in which the readable text of a damaged file ends.
    cut: OnceLock<u64>,
    problems: Mutex<Arc<ProblemList>>,
}

/// The line that is being scanned.
#[derive(Default)]
struct Line {
    /// The first byte that is not white space.
    first: Option<u8>,
    /// The last byte that is not white space.
    last: u8,
}

impl LineIndex {
    fn new(path: &Path, text: PathBuf) -> Self {
        Self {
            path: path.to_owned(),
            text,
            state: GroupsState::default(),
            lines: Mutex::new(PackedOffsets::new(1)),
            cut: OnceLock::new(),
            problems: Mutex::default(),
        }
    }

    fn begin(&self, bytes: u64, note: Option<Arc<str>>) {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.state.begin(std::iter::once((Arc::from(name), bytes, note)), None);
    }

    fn find_lines(&self, mut source: impl LineBytes, cancel: &Cancel) {
        let failure = match self.scan(&mut source, cancel) {
            Err(failure) if failure.is_cancelled() => return,
            Err(failure) => Some(failure.why),
            Ok(has_open_line) => {
                let why = source.cut_short();
                if let (Some(_), true) = (&why, has_open_line) {
                    // Nothing else sets it.
                    _ = self.cut.set(self.lines.lock().len().saturating_sub(1));
                }
                why
            }
        };
        self.state.finish(0, self.lines.lock().len(), failure.map(Arc::from));
    }

    /// Parses the lines that begin and end like JSON objects. Lines that cannot be read are reported when they are viewed.
    fn check_lines(&self, file: &ReadFile, cancel: &Cancel) {
        let (mut checker, mut index) = (Checker::default(), 0);
        let unit = Unit { start: 0, end: file.len().min(MAX_CHECKED) };
        let checked = each_line(file, unit, MAX_CHECKED_LINE_BYTES, &Mutex::new(()), cancel, |line| {
            let Some(ends) = LineEnds::of(line.start, line.bytes) else { return Ok(true) };
            let mut found: Option<SampleProblem> = None;
            if line.is_whole() && ends.is_object() {
                checker.check(line.bytes, |at, issue| {
                    if found.is_none() && issue.is_problem() {
                        let kind = match issue {
                            Issue::DuplicateKey => ProblemKind::RepeatedField,
                            _ => ProblemKind::BadJson,
                        };
                        found = Some(SampleProblem::new(kind, format!("column {}: {}", at + 1, issue.title())));
                    }
                });
            }
            if let Some(known) = found {
                let mut problems = self.problems.lock();
                Arc::make_mut(&mut problems).add(SampleAt { group: 0, index }, with_key(known, index));
            }
            index += 1;
            Ok(true)
        });
        if let Err(failure) = checked {
            tracing::debug!("the lines were not checked to the end: {failure}");
        }
    }

    /// Finds all lines. Returns whether the text ends within a line.
    fn scan(&self, source: &mut impl LineBytes, cancel: &Cancel) -> Outcome<bool> {
        let mut buffer = vec![0; READ_BYTES];
        let (mut at, mut line) = (0u64, Line::default());
        let mut found = ListBatch { shared: self, begin: 0, batch: Vec::new() };
        loop {
            cancel.check()?;
            let read = source.next(&mut buffer)?;
            if read == 0 {
                break;
            }
            let mut rest = buffer.get(..read).unwrap_or_default();
            while !rest.is_empty() {
                let newline = memchr::memchr(b'\n', rest);
                let (text, remainder) = rest.split_at(newline.map_or(rest.len(), |at| at + 1));
                line.push_text(text);
                at += text.len() as u64;
                rest = remainder;
                if newline.is_some() {
                    found.line(std::mem::take(&mut line), at);
                }
            }
            found.hand_over();
        }
        let has_open_line = line.first.is_some();
        found.line(line, at);
        found.hand_over();
        let mut lines = self.lines.lock();
        lines.set_end(at);
        lines.shrink();
        Ok(has_open_line)
    }
}

impl Line {
    fn push_text(&mut self, text: &[u8]) {
        if let Some(first) = text.iter().find(|byte| !is_white(**byte)) {
            self.first.get_or_insert(*first);
            self.last = text.iter().rev().find(|byte| !is_white(**byte)).copied().unwrap_or(self.last);
        }
    }
}

/// A batch of lines that is not yet in the list.
struct ListBatch<'a> {
    shared: &'a LineIndex,
    begin: u64,
    /// Begin and end of each line, and whether it may be an object.
    batch: Vec<(u64, u64, bool)>,
}

impl ListBatch<'_> {
    /// Adds a line that ends at `end`. Blank lines belong to the preceding sample; at the beginning of the file, to the first sample.
    fn line(&mut self, line: Line, end: u64) {
        let Some(first) = line.first else {
            match self.batch.last_mut() {
                Some(before) => before.1 = end,
                None => {
                    let mut lines = self.shared.lines.lock();
                    if lines.len() == 0 {
                        return;
                    }
                    lines.set_end(end);
                }
            }
            self.begin = end;
            return;
        };
        self.batch.push((self.begin, end, first == b'{' && line.last == b'}'));
        self.begin = end;
    }

    fn hand_over(&mut self) {
        let mut lines = self.shared.lines.lock();
        let first = lines.len();
        let mut bad = Vec::new();
        for (index, (begin, end, is_object)) in (first..).zip(self.batch.drain(..)) {
            lines.push(begin, end);
            if !is_object {
                bad.push(index);
            }
        }
        let count = lines.len();
        drop(lines);
        if !bad.is_empty() {
            let mut problems = self.shared.problems.lock();
            let list = Arc::make_mut(&mut problems);
            let why: Arc<str> = Arc::from(NO_OBJECT);
            for index in bad {
                let known = SampleProblem::new(ProblemKind::BadLine, Arc::clone(&why));
                list.add(SampleAt { group: 0, index }, with_key(known, index));
            }
        }
        self.shared.state.grow(0, count);
    }
}

/// Sets the key of a problem to the number of its line.
fn with_key(known: SampleProblem, index: u64) -> SampleProblem {
    SampleProblem { key: Some(Arc::from(index.to_string())), ..known }
}

/// Message for a line that does not begin and end like a JSON object.
const NO_OBJECT: &str = "the line is not a JSON object";

impl Jsonl {
    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<(u64, u64)>> {
        match &self.index {
            Some(index) => index.spans(first, count),
            None => Ok(self.shared.lines.lock().spans(first, count)),
        }
    }

    fn row(&self, index: u64, (from, to): (u64, u64), problems: &ProblemList) -> BrowseSample {
        let at = SampleAt { group: 0, index };
        let key = Arc::from(index.to_string());
        let broken = match self.shared.cut.get() {
            _ if to < from => Some("in the index, its end is before its start"),
            // The beginning of a line could be taken for a whole line.
            Some(cut) if *cut == index => Some("the file cannot be read to the end of this line"),
            _ => None,
        };
        if let Some(why) = broken {
            return BrowseSample { key, byte_offset: from, ..BrowseSample::broken(at, why) };
        }
        let byte_size = to - from;
        let part = BrowsePart { name: Arc::from("json"), byte_offset: from, byte_size };
        let defect = problems.get(at).cloned();
        BrowseSample { at, key, byte_offset: from, byte_size, parts: vec![part], defect }
    }
}

impl Catalog for Jsonl {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: DatasetKind::Jsonl, root: &self.shared.path, group_word: "file" }
    }

    fn groups(&self) -> Arc<Groups> {
        self.shared.state.groups()
    }

    fn problems(&self) -> Arc<ProblemList> {
        Arc::clone(&self.shared.problems.lock())
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        cancel.check()?;
        let problems = self.problems();
        super::over_groups(&self.groups(), from, count.min(super::MAX_ROWS), |_, first, count| {
            let spans = self.spans(first, usize::try_from(count).unwrap_or(usize::MAX))?;
            Ok(spans.into_iter().zip(first..).map(|(span, index)| self.row(index, span, &problems)).collect())
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let Some(part) = sample.parts.get(part) else {
            return Err(
                Failure::usage("reading a part", "the sample has no such part").on(Subject::path(&self.shared.path))
            );
        };
        super::read_in_file(&self.shared.text, part.byte_offset, part.byte_size, from, limit)
    }

    fn file_of(&self, _group: u32) -> Outcome<Option<SamplesFile>> {
        let path = self.shared.path.clone();
        Ok(Some(SamplesFile { is_plain: path == self.shared.text, path, index: None }))
    }

    fn locate(&self, _group: Option<&str>, key: &str, _cancel: &Cancel) -> Outcome<Option<SampleAt>> {
        let index = super::row_number(key).filter(|index| *index < self.groups().total());
        Ok(index.map(|index| SampleAt { group: 0, index }))
    }

    fn line_start(&self, line: u64, cancel: &Cancel) -> Outcome<Option<u64>> {
        let file = open_read(&self.shared.text)?;
        let (mut piece, mut at, mut left) = (vec![0; READ_BYTES], 0u64, line.saturating_sub(1));
        while left > 0 {
            cancel.check()?;
            let read = match file.read_at(&mut piece, at) {
                Ok(0) => return Ok(None),
                Ok(read) => read,
                Err(error) => return Err(Failure::io(ACTIVITY, &self.shared.text, &error)),
            };
            let text = piece.get(..read).unwrap_or_default();
            let ends = memchr::memchr_iter(b'\n', text);
            match ends.enumerate().find(|(number, _)| *number as u64 + 1 == left) {
                Some((_, end)) => return Ok(Some(at + end as u64 + 1)),
                None => left -= memchr::memchr_iter(b'\n', text).count() as u64,
            }
            at += read as u64;
        }
        Ok(Some(0))
    }

    fn visit(&self, _group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        let sizes = |first, count| {
            let spans = self.spans(first, count)?;
            Ok(spans.into_iter().map(|(from, to)| to.saturating_sub(from)).collect())
        };
        super::visit_numbered((self.groups().total(), LINES_PER_STEP), &["json"], wanted, cancel, sizes, take)
    }
}
