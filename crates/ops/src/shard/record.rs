//! Encodes samples as records of spools, and sorts spools on disk.

use super::sample::{Origin, Part, Sample, SourceContext, SourceFile};
use gristmill_core::{Cancel, Failure, FileStamp, Outcome, Subject};
use gristmill_storage::fs::Fs;
use gristmill_storage::read::open_read;
use gristmill_storage::sort::bytes::{push_int, push_text, SpoolReader, SpoolWriter};
use gristmill_storage::sort::{reduce, remove_temporary, Merge, Run, RunSource, SortContext, Sorter, CANCEL_EVERY};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of bytes of a spool that are read at a time.
const READ_BYTES: usize = 256 << 10;
/// Maximum number of sorted runs that are open at the same time.
const MERGE_WIDTH: usize = 256;

/// A sample and the number of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedSample {
    pub(super) input: u32,
    pub(super) sample: Sample,
}

impl ListedSample {
    /// Appends the encoded sample. The fields that adjacent samples share come first, because records store their common prefix only once.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let sample = &self.sample;
        push_int(out, u64::from(self.input));
        push_bytes(out, sample.shard.as_bytes());
        push_bytes(out, &sample.key);
        push_int(out, u64::from(sample.split.is_some()) | u64::from(sample.is_excluded) << 1);
        if let Some(split) = &sample.split {
            push_bytes(out, split.as_bytes());
        }
        push_int(out, sample.parts.len() as u64);
        for part in &sample.parts {
            push_bytes(out, &part.name);
            push_int(out, part.bytes);
            match &part.origin {
                Origin::File { path, stamp } => {
                    push_int(out, 0);
                    push_bytes(out, path.as_os_str().as_bytes());
                    push_int(out, stamp.bytes);
                    push_int(out, stamp.modified_ns as u64);
                    push_int(out, stamp.inode);
                }
                Origin::Range { file, offset } => {
                    push_int(out, 1);
                    push_int(out, u64::from(file.0));
                    push_int(out, *offset);
                }
                Origin::Bytes(bytes) => {
                    push_int(out, 2);
                    push_bytes(out, bytes);
                }
                Origin::Sparse { file, offset } => {
                    push_int(out, 3);
                    push_int(out, u64::from(file.0));
                    push_int(out, *offset);
                }
            }
        }
    }

    /// Decodes a sample.
    pub(super) fn decode(bytes: &[u8]) -> Outcome<Self> {
        Decoder { bytes }.sample().ok_or_else(|| {
            Failure::environment("reading the list of samples", "its content is not what was written")
                .with_hint("run again with --restart; if it comes back, the disk or the memory is failing")
        })
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn int(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.int()?).ok()?;
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn sample(&mut self) -> Option<ListedSample> {
        let input = u32::try_from(self.int()?).ok()?;
        let shard = self.text()?;
        let key = self.bytes()?.to_vec();
        let flags = self.int()?;
        let split = if flags & 1 == 1 { Some(self.text()?) } else { None };
        let is_excluded = flags & 2 == 2;
        let count = self.int()?;
        let parts = (0..count).map(|_| self.part()).collect::<Option<Vec<Part>>>()?;
        Some(ListedSample { input, sample: Sample { key, split, shard, parts, is_excluded } })
    }

    fn part(&mut self) -> Option<Part> {
        let name = self.bytes()?.to_vec();
        let bytes = self.int()?;
        let origin = match self.int()? {
            0 => {
                let path = PathBuf::from(OsStr::from_bytes(self.bytes()?));
                let (bytes, modified_ns, inode) = (self.int()?, self.int()? as i64, self.int()?);
                Origin::File { path, stamp: FileStamp { bytes, modified_ns, inode } }
            }
            1 => Origin::Range { file: SourceFile(u32::try_from(self.int()?).ok()?), offset: self.int()? },
            2 => Origin::Bytes(self.bytes()?.to_vec()),
            3 => Origin::Sparse { file: SourceFile(u32::try_from(self.int()?).ok()?), offset: self.int()? },
            _ => return None,
        };
        Some(Part { name, bytes, origin })
    }
}

/// The folder and the limits for spools.
#[derive(Clone, Copy)]
pub(super) struct SpoolContext<'a> {
    pub(super) fs: &'a dyn Fs,
    /// Folder of the spools.
    pub(super) folder: &'a Path,
    pub(super) cancel: &'a Cancel,
    /// Memory for one sort, in bytes.
    pub(super) memory: usize,
}

impl<'a> SpoolContext<'a> {
    /// Returns the folder and limits for the sorts of a source.
    pub(super) fn of_source(source: &SourceContext<'a>) -> Self {
        let (fs, folder, cancel) = (source.fs, source.scratch, source.handles.cancel);
        Self { fs, folder, cancel, memory: source.memory / 2 }
    }
}

/// Writes records in order, each without the prefix that it shares with the previous one.
pub(super) struct RecordWriter {
    out: SpoolWriter,
    path: PathBuf,
    before: Vec<u8>,
}

impl RecordWriter {
    pub(super) fn create(context: &SpoolContext<'_>, name: &str) -> Outcome<Self> {
        let out = SpoolWriter::create(context.fs, context.folder, name.to_owned())?;
        Ok(Self { out, path: context.folder.join(name), before: Vec::new() })
    }

    /// Appends a record.
    pub(super) fn push(&mut self, record: &[u8]) -> Outcome<()> {
        push_text(self.out.buffer(), &self.before, record);
        self.before.clear();
        self.before.extend_from_slice(record);
        self.out.check()
    }

    /// Starts a range of records that can be read independently. Returns its offset.
    pub(super) fn begin_range(&mut self) -> u64 {
        self.before.clear();
        self.out.position()
    }

    pub(super) fn finish(self) -> Outcome<Records> {
        let file = self.out.finish()?;
        Ok(Records { path: self.path, bytes: file.bytes })
    }
}

/// A finished file of records.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pub(super) path: PathBuf,
    bytes: u64,
}

impl Records {
    pub(super) fn open(&self) -> Outcome<RecordReader> {
        self.open_range(0, self.bytes)
    }

    pub(super) fn open_range(&self, offset: u64, bytes: u64) -> Outcome<RecordReader> {
        let file = Arc::new(open_read(&self.path)?);
        let chunk = READ_BYTES.min(usize::try_from(bytes).unwrap_or(READ_BYTES));
        Ok(RecordReader { from: SpoolReader::new(file, offset, bytes, chunk), record: Vec::new() })
    }
}

/// Reads records in order.
pub(super) struct RecordReader {
    from: SpoolReader,
    record: Vec<u8>,
}

impl RecordReader {
    pub(super) fn next_record(&mut self) -> Outcome<Option<&[u8]>> {
        if self.from.at_end() {
            return Ok(None);
        }
        self.from.text(&mut self.record)?;
        Ok(Some(&self.record))
    }

    pub(super) fn next_sample(&mut self) -> Outcome<Option<ListedSample>> {
        self.next_record()?.map(ListedSample::decode).transpose()
    }
}

/// Receives sorted texts and their numbers.
type TakeEntry<'t, const N: usize> = &'t mut dyn FnMut(&[u8], [u64; N]) -> Outcome<()>;

/// Sorts texts with numbers in limited memory. Spills to disk beyond the limit.
pub(super) struct RecordSorter<'a, const N: usize> {
    context: SpoolContext<'a>,
    name: &'static str,
    sorter: Sorter<N>,
    spilled: Option<SpoolWriter>,
    runs: Vec<Run>,
}

impl<'a, const N: usize> RecordSorter<'a, N> {
    /// Creates a sorter. The names of its files start with `name`.
    pub(super) fn new(context: SpoolContext<'a>, name: &'static str) -> Self {
        Self { context, name, sorter: Sorter::new(context.memory), spilled: None, runs: Vec::new() }
    }

    pub(super) fn push(&mut self, text: &[u8], numbers: [u64; N]) -> Outcome<()> {
        if self.sorter.is_full_for(text.len()) {
            self.spill()?;
        }
        self.sorter.push(text, numbers);
        Ok(())
    }

    fn spill(&mut self) -> Outcome<()> {
        let name = self.name.to_owned();
        let out = match &mut self.spilled {
            Some(out) => out,
            empty => empty.insert(SpoolWriter::create(self.context.fs, self.context.folder, name)?),
        };
        self.runs.push(self.sorter.spill(out)?);
        self.context.cancel.check()
    }

    /// Returns the folder and limits of the sorter.
    pub(super) fn context(&self) -> SpoolContext<'a> {
        self.context
    }

    /// Removes the files of the sorter.
    pub(super) fn discard(self) -> Outcome<()> {
        match self.spilled {
            Some(_) => self.context.fs.remove_file(&self.context.folder.join(self.name)),
            None => Ok(()),
        }
    }

    /// Passes all texts with their numbers to `take`, in sorted order.
    pub(super) fn for_each(mut self, take: TakeEntry<'_, N>) -> Outcome<()> {
        if self.spilled.is_none() {
            return self.sorter.sorted().try_for_each(|(text, numbers)| take(text, numbers));
        }
        self.spill()?;
        let SpoolContext { fs, folder, cancel, memory } = self.context;
        if let Some(out) = self.spilled.take() {
            out.finish()?;
        }
        self.sorter = Sorter::new(0);
        let path = folder.join(self.name);
        let source = |run: &Run| RunSource { path: path.clone(), run: *run, base: 0, temporary: false };
        let sources: Vec<RunSource> = self.runs.iter().map(source).collect();
        let around = SortContext { fs, scratch: folder, cancel, merge_width: MERGE_WIDTH, sort_memory: memory };
        let sources = reduce::<N>(&around, sources, &format!("{}-merged", self.name))?;
        let mut merge = Merge::<N>::open(&sources)?;
        let mut count = 0;
        while let Some((text, numbers)) = merge.next_entry()? {
            take(text, numbers)?;
            count += 1;
            if count % CANCEL_EVERY == 0 {
                cancel.check()?;
            }
        }
        drop(merge);
        remove_temporary(fs, &sources)?;
        fs.remove_file(&path)
    }
}

/// Returns the problem subject for a sample: its place in the input, and its key.
pub(super) fn subject_of(sample: &Sample) -> Subject {
    let key = String::from_utf8_lossy(&sample.key);
    match sample.shard.is_empty() {
        true => Subject::default().key(key),
        false => Subject::shard(&sample.shard).key(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;

    fn sample(number: u64) -> ListedSample {
        let stamp = FileStamp { bytes: 9, modified_ns: -3, inode: u64::MAX };
        let part = |name: &[u8], origin| Part { name: name.to_vec(), bytes: number * 1000, origin };
        let parts = vec![
            part(b"jpg", Origin::File { path: PathBuf::from("/data/\u{fc}.jpg"), stamp }),
            part(b"", Origin::Range { file: SourceFile(7), offset: number << 33 }),
            part(b"t\xff", Origin::Bytes(vec![0, 255, number as u8])),
            part(b"npy", Origin::Sparse { file: SourceFile(8), offset: number << 9 }),
        ];
        let split = (number % 2 == 1).then(|| "val".to_owned());
        let (key, is_excluded) = (number.to_string().into_bytes(), number % 4 > 1);
        let sample = Sample { key, split, shard: "a/0.tar".into(), parts, is_excluded };
        ListedSample { input: 3, sample }
    }

    #[test]
    fn listed_samples_are_read_back_from_the_start_and_from_a_range() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::default();
        let context = SpoolContext { fs: &RealFs, folder: folder.path(), cancel: &cancel, memory: 1 << 20 };
        let mut writer = RecordWriter::create(&context, "spool").unwrap();
        let mut middle = 0;
        for number in 0..300 {
            if number == 200 {
                middle = writer.begin_range();
            }
            let mut record = Vec::new();
            sample(number).encode(&mut record);
            writer.push(&record).unwrap();
        }
        let records = writer.finish().unwrap();
        let mut all = records.open().unwrap();
        for number in 0..300 {
            assert_eq!(all.next_sample().unwrap(), Some(sample(number)));
        }
        assert_eq!(all.next_sample().unwrap(), None);
        let mut rest = records.open_range(middle, records.bytes - middle).unwrap();
        assert_eq!(rest.next_sample().unwrap(), Some(sample(200)));
    }

    #[test]
    fn truncated_sample_record_is_refused() {
        let mut record = Vec::new();
        sample(1).encode(&mut record);
        for cut in 0..record.len() {
            assert!(ListedSample::decode(&record[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn records_are_sorted_with_any_memory_limit() {
        for memory in [1 << 20, 300] {
            let folder = tempfile::tempdir().unwrap();
            let cancel = Cancel::default();
            let context = SpoolContext { fs: &RealFs, folder: folder.path(), cancel: &cancel, memory };
            let mut sorter = RecordSorter::<1>::new(context, "keys");
            for number in 0..1000u64 {
                sorter.push(format!("{:03}", number * 7919 % 500).as_bytes(), [number]).unwrap();
            }
            let mut found = Vec::new();
            sorter
                .for_each(&mut |text, [number]| {
                    found.push((text.to_vec(), number));
                    Ok(())
                })
                .unwrap();
            assert!(found.len() == 1000 && found.is_sorted());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
