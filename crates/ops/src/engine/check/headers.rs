//! Reads every header again at the offset in its row: for a sample row its first header, for a part row the header one block before the
//! content. Seeks from row to row; a shard that cannot be decided this way needs a full scan.

use super::compare::{Cursor, PARTS_SQL, SAMPLES_SQL};
use super::sample_checks::SampleChecker;
use super::tar_idx_reader::TarIdxReader;
use super::{CheckCounts, PreparedDataset};
use gristmill_core::{Failure, Handles, Outcome, Shard, ShardId};
use gristmill_data::formats::energon::tables::{self, Tables};
use gristmill_data::source::tar::{each_entry, header_at, SpanItem, BLOCK_BYTES};
use gristmill_storage::read::{open_read, ReadFile};
use std::sync::Arc;

/// Bytes read at a time while headers are close together.
const READ_BYTES: usize = 32 << 10;
/// Bytes read when the next header is far from the previous one.
const JUMP_READ_BYTES: usize = 4 << 10;
/// Bytes of archive between two checks for cancellation.
const CHECK_EVERY: u64 = 1 << 20;

/// The result of checking the rows.
pub(super) enum HeaderVerdict {
    /// Every row points to the entry that it names.
    Sound(CheckCounts),
    /// A row is wrong, or cannot be decided from single headers, so a full scan is needed.
    Doubt,
}

/// Blocks of an archive at any offset, read through one buffer.
struct Blocks {
    file: ReadFile,
    buffer: Vec<u8>,
    start: u64,
    filled: usize,
}

impl Blocks {
    fn open(shard: &Shard) -> Outcome<Self> {
        Ok(Self { file: open_read(&shard.path)?, buffer: vec![0; READ_BYTES], start: 0, filled: 0 })
    }
    /// Returns the block at `offset`; `None` after the end of the file.
    fn block(&mut self, offset: u64) -> Outcome<Option<&[u8; 512]>> {
        let size = BLOCK_BYTES as usize;
        let inside = offset >= self.start && offset - self.start + BLOCK_BYTES <= self.filled as u64;
        if !inside {
            let near = offset.saturating_sub(self.start) < 2 * READ_BYTES as u64;
            let wanted = if near { READ_BYTES } else { JUMP_READ_BYTES };
            let left = self.file.len().saturating_sub(offset).min(wanted as u64) as usize;
            if left < size {
                return Ok(None);
            }
            self.file
                .read_exact_at(&mut self.buffer[..left], offset)
                .map_err(|e| Failure::io("reading a tar header", self.file.path(), &e))?;
            (self.start, self.filled) = (offset, left);
        }
        let from = (offset - self.start) as usize;
        Ok(self.buffer.get(from..from + size).and_then(|b| b.try_into().ok()))
    }
}

/// Checks the rows of one uncompressed shard. Only for shards with tables and their indexes.
pub(super) fn check_rows(
    prepared: &PreparedDataset,
    tables: &Tables,
    id: ShardId,
    shard: &Shard,
    watch: &mut SampleChecker<'_>,
    handles: &Handles<'_>,
) -> Outcome<HeaderVerdict> {
    let database = prepared.database();
    let bad = |e: rusqlite::Error| tables::failure(&database, &e);
    let mut samples = tables.connection().prepare(SAMPLES_SQL).map_err(bad)?;
    let mut parts = tables.connection().prepare(PARTS_SQL).map_err(bad)?;
    let mut pass = HeaderPass {
        blocks: Blocks::open(shard)?,
        words: match TarIdxReader::open(&prepared.root.join(shard.index_name())) {
            Ok(words) => words,
            Err(_) => return Ok(HeaderVerdict::Doubt),
        },
        samples: Cursor::new(Some(samples.query([id.0]).map_err(bad)?), &database),
        parts: Cursor::new(Some(parts.query([id.0]).map_err(bad)?), &database),
        checked: CheckCounts { shards: 1, bytes: shard.stamp.bytes, ..CheckCounts::default() },
    };
    let count = prepared.entry(id).map_or(0, |(_, count)| count);
    let sound = pass.run(count, watch, handles)?;
    if !sound {
        return Ok(HeaderVerdict::Doubt);
    }
    handles.progress.add(1, 0);
    Ok(HeaderVerdict::Sound(pass.checked))
}

struct HeaderPass<'s, 'p> {
    blocks: Blocks,
    words: TarIdxReader,
    samples: Cursor<'s, 'p>,
    parts: Cursor<'s, 'p>,
    checked: CheckCounts,
}

impl HeaderPass<'_, '_> {
    /// Whether every row of the shard points to the entry that it names.
    fn run(&mut self, count: u64, watch: &mut SampleChecker<'_>, handles: &Handles<'_>) -> Outcome<bool> {
        if self.words.trailing_bytes() != 0 || self.words.count() != count + 1 {
            return Ok(false);
        }
        let Some(mut start) = self.words.next()? else { return Ok(false) };
        // The loader reads the first sample from byte 0, whatever offset its row contains.
        if start > 0 && !self.is_start_readable(start, handles)? {
            return Ok(false);
        }
        let mut counted = 0;
        for index in 0..count {
            let Some(end) = self.words.next()? else { return Ok(false) };
            if end < start {
                return Ok(false);
            }
            if end - counted >= CHECK_EVERY {
                handles.cancel.check()?;
                handles.progress.add(0, end - counted);
                counted = end;
            }
            if !self.sample(index, start, end, watch)? {
                return Ok(false);
            }
            start = end;
        }
        if self.samples.peek()?.is_some() || self.parts.peek()?.is_some() {
            return Ok(false);
        }
        handles.progress.add(0, self.checked.bytes.saturating_sub(counted));
        // The archive must end where the index ends: with a zero block, or with the end of the file.
        Ok(self.blocks.block(start)?.is_none_or(|block| block.iter().all(|b| *b == 0)))
    }

    /// Whether all entries before the first sample can be read, and none of them is a part that would be lost.
    fn is_start_readable(&self, first: u64, handles: &Handles<'_>) -> Outcome<bool> {
        let file = Arc::new(open_read(self.blocks.file.path())?);
        let mut is_sound = true;
        each_entry(&file, 0, first, handles.cancel, &mut |item| {
            is_sound &= matches!(item, SpanItem::Entry(entry) if !entry.is_linked_part);
            is_sound
        })?;
        Ok(is_sound)
    }

    fn sample(&mut self, index: u64, start: u64, end: u64, watch: &mut SampleChecker<'_>) -> Outcome<bool> {
        let Some(row) = self.samples.take_of(index)? else { return Ok(false) };
        if row.first != start || row.second != end - start {
            return Ok(false);
        }
        let mut expected_start = start;
        while let Some(part) = self.parts.take_of(index)? {
            let header = part.first.wrapping_sub(BLOCK_BYTES);
            // Bytes between two parts of a sample may belong to extended headers or to skipped entries; only a scan can distinguish them.
            if header != expected_start || !self.points_at(header, &row.text, &part.text, part.second)? {
                return Ok(false);
            }
            let Some(padded) = part.second.checked_next_multiple_of(BLOCK_BYTES) else { return Ok(false) };
            expected_start = part.first.saturating_add(padded);
            // The entry may be an AppleDouble file, which only a scan detects by its content.
            if row.text.ends_with('/') && part.text.starts_with('_') {
                return Ok(false);
            }
            watch.part(&part.text);
            self.checked.parts += 1;
        }
        watch.sample(&row.text);
        self.checked.samples += 1;
        Ok(expected_start == end)
    }

    /// Whether the header at `offset` is a regular entry with that name and size.
    fn points_at(&mut self, offset: u64, key: &str, part: &str, size: u64) -> Outcome<bool> {
        let Some(block) = self.blocks.block(offset)? else { return Ok(false) };
        let Some(header) = header_at(block) else { return Ok(false) };
        let name_holds =
            header.name.strip_prefix(key.as_bytes()).and_then(|rest| rest.strip_prefix(b".")) == Some(part.as_bytes());
        Ok(name_holds && header.is_regular && header.size == size)
    }
}
