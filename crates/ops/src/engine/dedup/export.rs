//! Writes the files of the reference program: the index, its suffix table, and the ranges (docs/formats/bsade.md §3 and §5).

use super::compose::RangesPlacement;
use super::compose::{Composer, OutputLine, Parts};
use gristmill_core::text::bytes as size;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_data::formats::bsade::{
    build_table, table_entry, table_memory, table_width, KeptLengths, Range, RangesWriter, ShardSize, ShardWriter,
    KEPT_LENGTHS, REMOVE_RANGES, TABLE, TOKENIZED,
};
use gristmill_data::source::dedup::{Kind, Record};
use gristmill_pycompat::json_text::push_ascii;
use gristmill_storage::fs::{BufferedFile, Fs};
use gristmill_storage::read::open_read;
use std::path::Path;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes the documents of one shard, in order.
pub struct ShardExport {
    writer: ShardWriter,
    composer: Composer,
    spare: String,
}

impl ShardExport {
    /// Creates the files in an existing folder. They must not exist.
    pub fn create(fs: &dyn Fs, folder: &Path) -> Outcome<Self> {
        let writer = ShardWriter::create(fs, folder)?;
        Ok(Self { writer, composer: Composer::default(), spare: String::new() })
    }

    /// Adds a line of the file with this relative path. Lines that are not documents are not part of an index.
    pub fn add(&mut self, name: &str, record: &Record<'_>) -> Outcome<()> {
        if record.kind != Kind::Document {
            return Ok(());
        }
        self.writer.begin()?;
        let writer = &mut self.writer;
        record.each_piece(&mut self.spare, &mut |piece| writer.text(piece))?;
        let mut take = |bytes: &[u8]| writer.metadata(bytes);
        let mut out = OutputLine::new(self.composer.take_buffer(), &mut take);
        out.push(b"{\"path\": \"")?;
        push_ascii(name, out.buffer());
        out.push(format!("\", \"linenum\": {}, \"metadata\": {{", record.line).as_bytes())?;
        self.composer.fields(Parts::of(record), &RangesPlacement::Removed, b"", true, &mut out)?;
        out.push(b"}}\n")?;
        let (_, buffer) = out.finish()?;
        self.composer.return_buffer(buffer);
        Ok(())
    }

    /// Returns the current size; the next document's separator is written at `bytes`.
    pub fn size(&self) -> ShardSize {
        self.writer.size()
    }

    /// Flushes all files to disk and closes them.
    pub fn finish(self) -> Outcome<ShardSize> {
        self.writer.finish()
    }
}

/// Writes the ranges of one shard, document after document.
pub struct RangesExport {
    ranges: RangesWriter,
    kept: KeptLengths,
}

impl RangesExport {
    /// Creates `remove_ranges` in an existing folder. The file must not exist.
    pub fn create(fs: &dyn Fs, folder: &Path) -> Outcome<Self> {
        let ranges = RangesWriter::create(fs, &folder.join(REMOVE_RANGES))?;
        Ok(Self { ranges, kept: KeptLengths::default() })
    }

    /// Adds the ranges of the document whose separator is at `separator` in the shard's `tokenized`: as they were found, relative to the
    /// text, and as returned by [`WriteBack::shortened`](super::write_back::WriteBack::shortened).
    pub fn add(&mut self, separator: u64, ranges: &[Range], shortened: &[Range]) -> Outcome<()> {
        for range in ranges {
            self.ranges.push(Range::new(separator + 1 + range.start, separator + 1 + range.end))?;
        }
        self.kept.add_document(shortened);
        Ok(())
    }

    /// Writes the lengths of the text between ranges, too, and closes both files.
    pub fn finish(self, fs: &dyn Fs, folder: &Path) -> Outcome<()> {
        self.ranges.close()?;
        let mut lengths = BufferedFile::new(fs.create_file(&folder.join(KEPT_LENGTHS))?, BUFFER_BYTES);
        self.kept.write(|bytes| lengths.write_all(bytes))?;
        lengths.close()?;
        for name in [REMOVE_RANGES, KEPT_LENGTHS] {
            fs.sync_file(&folder.join(name))?;
        }
        Ok(())
    }
}

/// Returns the smallest number of shards, from `shards` on, for which every table can be built in `memory` bytes. `files` contains the
/// bytes of each file in `tokenized`, in the global order. Returns `None` if a single file is too large.
pub fn shards_that_fit(files: &[u64], shards: u32, memory: u64) -> Option<u32> {
    let fits = |bytes: u64| table_memory(bytes) <= memory && u32::try_from(bytes).is_ok();
    if !files.iter().all(|bytes| fits(*bytes)) {
        return None;
    }
    // With as many shards as files, each shard contains at most one file.
    let most = u32::try_from(files.len()).unwrap_or(u32::MAX).max(shards);
    (shards.max(1)..=most).find(|shards| {
        (0..*shards).all(|shard| {
            let files =
                files.get(gristmill_data::formats::bsade::shard_files(files.len(), *shards, shard)).unwrap_or_default();
            fits(files.iter().sum())
        })
    })
}

/// Builds the suffix table of a shard whose `tokenized` is written, in at most `memory` bytes, and writes it next to that file. Refuses a
/// table that needs more memory.
pub fn write_table(fs: &dyn Fs, folder: &Path, memory: u64, cancel: &Cancel) -> Outcome<()> {
    let file = open_read(&folder.join(TOKENIZED))?;
    let needed = table_memory(file.len());
    let refused = |why: String| {
        Failure::usage("building the suffix table", why)
            .on(Subject::path(folder))
            .with_hint("use more --shards, or a larger --memory")
    };
    if needed > memory {
        return Err(refused(format!("it needs {}, and {} are allowed", size(needed), size(memory))));
    }
    let mut text = vec![0; usize::try_from(file.len()).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut text, 0).map_err(|error| Failure::io("reading the index", file.path(), &error))?;
    let Some(table) = build_table(&text, cancel)? else {
        return Err(refused("tables of shards of 4 GiB and more are not built".to_owned()));
    };
    drop(text);
    let width = table_width(file.len()) as usize;
    let mut out = BufferedFile::new(fs.create_file(&folder.join(TABLE))?, BUFFER_BYTES);
    for (number, place) in table.iter().enumerate() {
        if number % (1 << 20) == 0 {
            cancel.check()?;
        }
        out.write_all(table_entry(u64::from(*place)).get(..width).unwrap_or_default())?;
    }
    out.finish().map(drop)
}
