//! Reads the rows of a window from the headers of a shard, for samples without rows in an index.

use super::{clipped, BrowsePart, BrowseSample, SampleAt, MAX_PARTS};
use gristmill_core::{Cancel, Outcome, Shard};
use gristmill_data::source::tar::{each_entry, SpanItem};
use gristmill_storage::cache::open_cached;
use std::sync::Arc;

/// Maximum number of entries that are read for one window.
const MAX_WINDOW_ENTRIES: usize = 400_000;

/// Returns the samples of a shard from `first` on, located at `spans` (first byte and end of each, in ascending order).
///
/// The spans are unverified. A sample whose span contains no entry, or entries of several keys, is returned with a defect.
pub(super) fn window(
    shard: &Shard,
    group: u32,
    first: u64,
    spans: &[(u64, u64)],
    cancel: &Cancel,
) -> Outcome<Vec<BrowseSample>> {
    let row = |((from, to), index): (&(u64, u64), u64)| {
        let at = SampleAt { group, index };
        let size = to.saturating_sub(*from);
        BrowseSample { at, key: Arc::from(""), byte_offset: *from, byte_size: size, parts: Vec::new(), defect: None }
    };
    let mut rows: Vec<BrowseSample> = spans.iter().zip(first..).map(row).collect();
    let (Some(from), Some(to)) = (spans.iter().map(|span| span.0).min(), spans.iter().map(|span| span.1).max()) else {
        return Ok(rows);
    };
    let file = Arc::new(open_cached(&shard.path)?);
    let mut left = MAX_WINDOW_ENTRIES;
    let mut collector = Collector { rows: &mut rows, spans, at: 0, key: Vec::new(), is_open: false };
    each_entry(&file, from, to, cancel, &mut |item| {
        collector.push_item(item);
        left -= 1;
        left > 0
    })?;
    for row in rows.iter_mut().filter(|row| row.parts.is_empty()) {
        row.set_defect("no sample begins at the offset in the index");
    }
    Ok(rows)
}

struct Collector<'a> {
    rows: &'a mut [BrowseSample],
    spans: &'a [(u64, u64)],
    /// Position in `spans` of the span that contained the last entry.
    at: usize,
    /// The key of that sample in bytes.
    key: Vec<u8>,
    is_open: bool,
}

impl Collector<'_> {
    fn push_item(&mut self, item: SpanItem<'_>) {
        let offset = match item {
            SpanItem::Entry(entry) => entry.offset,
            SpanItem::Damage(at, _) => at,
        };
        while self.spans.get(self.at).is_some_and(|span| offset >= span.1) {
            self.at += 1;
            self.is_open = false;
        }
        let (Some(span), Some(row)) = (self.spans.get(self.at), self.rows.get_mut(self.at)) else { return };
        if offset < span.0 {
            return;
        }
        let entry = match item {
            SpanItem::Damage(_, why) => return row.set_defect(why),
            SpanItem::Entry(entry) => entry,
        };
        let Some(dot) = entry.dot else { return };
        let key = entry.name.get(..dot).unwrap_or_default();
        let part = entry.name.get(dot + 1..).unwrap_or_default();
        if !self.is_open {
            self.is_open = true;
            key.clone_into(&mut self.key);
            row.key = Arc::from(clipped(&String::from_utf8_lossy(key)));
            // Bytes before the first entry of the first sample belong to no sample.
            if row.at.index == 0 {
                row.byte_size = row.byte_size.saturating_sub(entry.offset.saturating_sub(row.byte_offset));
                row.byte_offset = entry.offset;
            }
            if std::str::from_utf8(key).is_err() {
                row.set_defect("its name is not UTF-8, so no index can name it");
            }
        } else if key != self.key {
            row.set_defect("entries of several samples are where the index has one");
            return;
        }
        if row.parts.len() >= MAX_PARTS {
            return row.set_defect("it has very many parts; the first are shown");
        }
        if std::str::from_utf8(part).is_err() {
            row.set_defect("the name of a part is not UTF-8, so no index can name it");
        }
        let name = Arc::from(clipped(&String::from_utf8_lossy(part)));
        row.parts.push(BrowsePart { name, byte_offset: entry.content_offset, byte_size: entry.size });
    }
}
