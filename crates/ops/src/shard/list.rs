//! Collects the samples that sources list: a spool of the samples in order, their keys for finding repeated ones, and their files.

use super::record::{subject_of, ListedSample, RecordSorter, RecordWriter, Records, SpoolContext};
use super::sample::{Sample, SampleSink, SourceFile, SourceRow};
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::{FileStamp, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use std::path::{Path, PathBuf};

/// Maximum length of an entry name, in bytes.
const MAX_NAME: usize = 4096;
/// Maximum length of a path component that file systems support, in bytes.
const MAX_COMPONENT: usize = 255;
/// Size above which a part is reported in a note, in bytes.
const LARGE_PART: u64 = 2 << 30;
/// Maximum number of ranges for which rows are recorded. If every second row is omitted, each remaining row is a range.
const MAX_ROW_RANGES: usize = 100_000;
/// The noun for rows that problem subjects identify by line number.
pub(super) const LINE: &str = "line";
/// Names of folders that are recognized as splits.
pub(super) const SPLIT_FOLDERS: [&[u8]; 6] = [b"train", b"val", b"valid", b"validation", b"test", b"dev"];

/// A file that contains parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
    /// The compressed file from which this file was decompressed.
    pub(super) original: Option<(PathBuf, FileStamp)>,
}

impl InputFile {
    /// Returns the input file itself, and its stamp when it was listed.
    pub(super) fn of_input(&self) -> (&Path, FileStamp) {
        self.original.as_ref().map_or((&self.path, self.stamp), |(path, stamp)| (path, *stamp))
    }
}

/// A range of consecutive samples of one input and shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceRange {
    /// Number of the first sample of the range.
    pub(super) first: u64,
    pub(super) input: u32,
    pub(super) shard: String,
    /// Row of the first sample. Later samples come from the following rows.
    row: Option<SourceRow>,
}

impl SourceRange {
    /// Returns the row of a sample of the range.
    fn row_of(&self, number: u64) -> Option<SourceRow> {
        self.row.clone().map(|row| SourceRow { number: row.number + (number - self.first), ..row })
    }
}

/// The listed samples of all inputs.
pub(super) struct Listing<'a> {
    pub(super) records: Records,
    pub(super) files: Vec<InputFile>,
    pub(super) ranges: Vec<SourceRange>,
    /// Keys, with the numbers of their samples.
    pub(super) keys: RecordSorter<'a, 1>,
    pub(super) samples: u64,
    pub(super) parts: u64,
    /// Whether an input itself divides its samples into splits.
    pub(super) has_splits: bool,
    /// Whether all samples are in folders with the names of splits.
    pub(super) has_split_folders: bool,
    /// Number of samples that inputs exclude.
    pub(super) excluded: u64,
}

/// Receives the samples of all inputs.
pub(super) struct Lister<'a> {
    problems: &'a dyn ProblemSink,
    writer: RecordWriter,
    record: Vec<u8>,
    input: u32,
    /// Row of the next sample.
    row: Option<SourceRow>,
    listing: PartialListing<'a>,
}

struct PartialListing<'a> {
    files: Vec<InputFile>,
    ranges: Vec<SourceRange>,
    keys: RecordSorter<'a, 1>,
    samples: u64,
    parts: u64,
    has_splits: bool,
    is_outside_of_split_folders: bool,
    excluded: u64,
}

impl<'a> Lister<'a> {
    pub(super) fn create(context: SpoolContext<'a>, problems: &'a dyn ProblemSink) -> Outcome<Self> {
        let listing = PartialListing {
            files: Vec::new(),
            ranges: Vec::new(),
            keys: RecordSorter::new(context, "keys"),
            samples: 0,
            parts: 0,
            has_splits: false,
            is_outside_of_split_folders: false,
            excluded: 0,
        };
        let writer = RecordWriter::create(&context, "samples")?;
        Ok(Self { problems, writer, record: Vec::new(), input: 0, row: None, listing })
    }

    /// Starts the samples of an input.
    pub(super) fn begin_input(&mut self, number: u32) {
        self.input = number;
    }

    /// Returns the number of samples so far.
    pub(super) fn samples(&self) -> u64 {
        self.listing.samples
    }

    pub(super) fn finish(self) -> Outcome<Listing<'a>> {
        let listing = self.listing;
        Ok(Listing {
            records: self.writer.finish()?,
            files: listing.files,
            ranges: listing.ranges,
            keys: listing.keys,
            samples: listing.samples,
            parts: listing.parts,
            has_splits: listing.has_splits,
            has_split_folders: listing.samples > 0 && !listing.is_outside_of_split_folders,
            excluded: listing.excluded,
        })
    }

    /// Whether the names of a sample can be written. Loose files and rows may only have names that every reader accepts.
    fn check_names(&self, sample: &Sample) -> Outcome<bool> {
        let from_shard = !sample.shard.is_empty();
        let longest = sample.key.len() + 1 + sample.parts.iter().map(|part| part.name.len()).max().unwrap_or_default();
        if longest > MAX_NAME {
            let why = format!("a name of {} is too long; the sample is left out", bytes(longest as u64));
            self.problems.report(Problem::problem(ProblemKind::BadName, subject_of(sample), why))?;
            return Ok(false);
        }
        let names = || std::iter::once(&sample.key).chain(sample.parts.iter().map(|part| &part.name));
        let defect = if names().any(|name| std::str::from_utf8(name).is_err()) {
            // Names of shard entries were already reported by the scan.
            (!from_shard).then_some("a name is not UTF-8")
        } else if sample.key.is_empty() || sample.key.ends_with(b"/") {
            Some("the key is empty")
        } else if sample.key.split(|byte| *byte == b'/').any(|component| component == b"..") {
            Some("the key leads to the folder above")
        } else if names().any(|name| name.iter().any(u8::is_ascii_control)) {
            Some("a name has a control character")
        } else {
            None
        };
        let Some(defect) = defect else { return Ok(true) };
        self.problems.report(match from_shard {
            true => Problem::note(ProblemKind::BadName, subject_of(sample), format!("{defect}; kept as it is")),
            false => {
                Problem::problem(ProblemKind::BadName, subject_of(sample), format!("{defect}; the sample is left out"))
            }
        })?;
        Ok(from_shard)
    }

    fn note_sizes(&self, sample: &Sample) -> Outcome<()> {
        let is_long = |name: &[u8]| name.len() > MAX_COMPONENT;
        let last = sample.key.rsplit(|byte| *byte == b'/').next().unwrap_or_default().len() + 1;
        let is_last_long = sample.parts.iter().any(|part| last + part.name.len() > MAX_COMPONENT);
        if is_last_long || sample.key.split(|byte| *byte == b'/').any(is_long) {
            let why = format!("a component of a name has more than {MAX_COMPONENT} bytes: tar cannot unpack it");
            self.problems.report(Problem::note(ProblemKind::BadName, subject_of(sample), why))?;
        }
        if let Some(part) = sample.parts.iter().find(|part| part.bytes > LARGE_PART) {
            let why = format!("a part of {}: loaders read a part at once", bytes(part.bytes));
            self.problems.report(Problem::note(ProblemKind::Other, subject_of(sample), why))?;
        }
        Ok(())
    }

    fn note_place(&mut self, sample: &Sample, row: Option<SourceRow>) {
        let list = &mut self.listing;
        let row = row.filter(|_| list.ranges.len() < MAX_ROW_RANGES);
        let number = list.samples;
        let is_same =
            |last: &SourceRange| last.input == self.input && last.shard == sample.shard && last.row_of(number) == row;
        if !list.ranges.last().is_some_and(is_same) {
            let (input, shard) = (self.input, sample.shard.clone());
            list.ranges.push(SourceRange { first: number, input, shard, row });
        }
        list.has_splits |= sample.split.is_some();
        let is_split = |folder: &[u8]| SPLIT_FOLDERS.contains(&folder);
        list.is_outside_of_split_folders |= !folder_of(sample).is_some_and(is_split);
    }
}

/// Returns the first folder in the name of a sample's shard, or of its key.
pub(super) fn folder_of(sample: &Sample) -> Option<&[u8]> {
    let name = if sample.shard.is_empty() { sample.key.as_slice() } else { sample.shard.as_bytes() };
    name.iter().position(|byte| *byte == b'/').and_then(|slash| name.get(..slash))
}

impl SampleSink for Lister<'_> {
    fn add_file(&mut self, path: &Path, stamp: FileStamp) -> Outcome<SourceFile> {
        let number = SourceFile(self.listing.files.len() as u32);
        self.listing.files.push(InputFile { path: path.to_owned(), stamp, original: None });
        Ok(number)
    }

    fn add_unpacked(&mut self, path: &Path, stamp: FileStamp, original: (&Path, FileStamp)) -> Outcome<SourceFile> {
        let number = SourceFile(self.listing.files.len() as u32);
        let original = Some((original.0.to_owned(), original.1));
        self.listing.files.push(InputFile { path: path.to_owned(), stamp, original });
        Ok(number)
    }

    fn set_row(&mut self, row: SourceRow) {
        self.row = Some(row);
    }

    fn add_sample(&mut self, sample: Sample) -> Outcome<()> {
        let row = self.row.take();
        if !self.check_names(&sample)? {
            return Ok(());
        }
        self.note_sizes(&sample)?;
        self.note_place(&sample, row);
        self.listing.keys.push(&sample.key, [self.listing.samples])?;
        self.listing.samples += 1;
        self.listing.parts += sample.parts.len() as u64;
        self.record.clear();
        ListedSample { input: self.input, sample }.encode(&mut self.record);
        self.writer.push(&self.record)
    }

    fn count_excluded(&mut self, samples: u64) {
        self.listing.excluded += samples;
    }
}

impl Listing<'_> {
    /// Returns the place of a sample, for messages.
    pub(super) fn place_of(&self, number: u64, inputs: &[PathBuf]) -> String {
        let Some(range) = self.range_of(number) else { return String::new() };
        if let Some(SourceRow { file, item, number }) = range.row_of(number) {
            return format!("{item} {} of {file}", grouped(number));
        }
        let input = inputs.get(range.input as usize).map(|path| path.to_string_lossy()).unwrap_or_default();
        match (range.shard.is_empty(), inputs.len()) {
            (true, _) => input.into_owned(),
            (false, 1) => range.shard.clone(),
            (false, _) => format!("{} of {input}", range.shard),
        }
    }

    /// Returns a sample as the subject of a problem.
    pub(super) fn subject_of(&self, number: u64, inputs: &[PathBuf]) -> Subject {
        match self.row_of(number) {
            Some(SourceRow { file, item: LINE, number }) => Subject::path(&*file).line(number),
            Some(row) => Subject::path(&*row.file),
            None => Subject::shard(self.place_of(number, inputs)),
        }
    }

    /// Returns the row of a sample.
    pub(super) fn row_of(&self, number: u64) -> Option<SourceRow> {
        self.range_of(number).and_then(|range| range.row_of(number))
    }

    /// Returns the range that contains a sample.
    pub(super) fn range_of(&self, number: u64) -> Option<&SourceRange> {
        let after = self.ranges.partition_point(|range| range.first <= number);
        self.ranges.get(after.checked_sub(1)?)
    }

    /// Returns the number of samples and parts in words.
    pub(super) fn amount(&self) -> String {
        format!("{}, {}", count(self.samples, "sample"), count(self.parts, "part"))
    }
}
