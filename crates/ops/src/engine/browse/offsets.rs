//! Compares the headers of an archive for a sample with the offsets in each index, and lists the differences.

use super::{BrowsePart, BrowseSample, Catalog};
use gristmill_core::{Cancel, Failure, Outcome, Shard};
use gristmill_data::formats::energon::tar_idx::TarIdx;
use gristmill_data::source::compressed_start;
use gristmill_data::source::tar::{each_entry, header_fields, header_offset, HeaderField, SpanEntry, SpanItem};
use gristmill_storage::files;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of shown entries of one sample.
const MAX_ENTRIES: usize = 256;
/// Size of a header block in bytes.
const TAR_BLOCK_BYTES: usize = 512;

/// The location of a sample according to one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanClaim {
    /// The source: `index.sqlite`, the name of the `.tar.idx`, `tar headers`, `.jsonl.idx`, `the file`.
    pub source: Arc<str>,
    /// First byte and end; `None` if the source does not contain the sample.
    pub span: Option<(u64, u64)>,
    /// Reason why there is no location, or a remark about it.
    pub note: Option<String>,
}

/// One header block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderView {
    /// Offset in the archive in bytes.
    pub offset: u64,
    /// The bytes of the block: 512, fewer at the end of a truncated file.
    pub bytes: Vec<u8>,
    /// The bytes decoded field by field.
    pub fields: Vec<HeaderField>,
}

/// One entry of the archive, with the row that refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryView {
    /// The full name, raw, with invalid UTF-8 replaced.
    pub name: String,
    /// Offset of the first header block that belongs to the entry.
    pub offset: u64,
    /// Offset of the content.
    pub content_offset: u64,
    /// Length of the content in bytes.
    pub size: u64,
    /// The part name derived from the entry's name; `None` for entries that are skipped.
    pub part: Option<String>,
    /// The header blocks: the first one, and the header of the entry itself if a long name or pax records precede it.
    pub headers: Vec<HeaderView>,
    /// The row of `sample_parts` that refers to this entry.
    pub row: Option<BrowsePart>,
}

/// All known facts about the location of one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetView {
    /// Relative name of the shard or file.
    pub name: Arc<str>,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Whether offsets count unpacked bytes; headers are then not shown.
    pub is_compressed: bool,
    /// The location of the whole sample according to each source.
    pub claims: Vec<SpanClaim>,
    /// The entries at that location, in the order of the archive; at most 256.
    pub entries: Vec<EntryView>,
    /// Rows of parts at whose offset no entry begins.
    pub lost_rows: Vec<BrowsePart>,
    /// The differences, one sentence each; empty if all sources agree. Names are raw.
    pub disagreements: Vec<String>,
}

/// Returns the view of a sample's location. Missing, truncated and wrong files are reported in the view. An error means that the shard
/// itself cannot be opened, or a cancellation.
pub fn view(catalog: &dyn Catalog, sample: &BrowseSample, cancel: &Cancel) -> Outcome<OffsetView> {
    cancel.check()?;
    let Some(shard) = catalog.shard(sample.at.group)? else { return Ok(loose(catalog, sample)) };
    let file = Arc::new(open_read(&shard.path)?);
    let mut view = OffsetView {
        name: Arc::from(shard.name.as_str()),
        file_bytes: file.len(),
        is_compressed: compressed_start(&file),
        ..OffsetView::default()
    };
    let row = catalog.indexed(sample.at, cancel)?;
    view.claims.push(sqlite_claim(catalog.root(), row.as_ref()));
    view.claims.push(idx_claim(catalog.root(), &shard, sample.at.index));
    let span = (sample.byte_offset, sample.byte_offset.saturating_add(sample.byte_size));
    view.find_entries(&file, span, cancel)?;
    view.match_rows(row.as_ref());
    view.compare(sample);
    Ok(view)
}

/// Returns the view of a line or a file, which only has a location.
fn loose(catalog: &dyn Catalog, sample: &BrowseSample) -> OffsetView {
    let groups = catalog.groups();
    let group = groups.group(sample.at.group);
    let span = (sample.byte_offset, sample.byte_offset.saturating_add(sample.byte_size));
    let claim = SpanClaim { source: Arc::from("the file"), span: Some(span), note: None };
    let name = group.map(|group| Arc::clone(&group.name)).unwrap_or_default();
    let file_bytes = group.map_or(0, |group| group.bytes).max(span.1);
    OffsetView { name, file_bytes, claims: vec![claim], ..OffsetView::default() }
}

fn sqlite_claim(root: &Path, row: Option<&BrowseSample>) -> SpanClaim {
    let source = Arc::from(gristmill_data::formats::energon::layout::INDEX_SQLITE);
    match row {
        Some(row) => {
            let span = (row.byte_offset, row.byte_offset.saturating_add(row.byte_size));
            SpanClaim { source, span: Some(span), note: row.defect.as_deref().map(str::to_owned) }
        }
        None => {
            let path = gristmill_data::formats::energon::layout::in_nv_meta(root, &source);
            let note = if files::exists(path) { "it has no row for this sample" } else { "there is none" };
            SpanClaim { source, span: None, note: Some(note.to_owned()) }
        }
    }
}

fn idx_claim(root: &Path, shard: &Shard, index: u64) -> SpanClaim {
    let name = shard.index_name();
    let path = root.join(&name);
    let read = TarIdx::open(&path).and_then(|idx| {
        let span = idx.spans(index, 1)?.pop();
        Ok((span, idx.samples()))
    });
    let source = Arc::from(name);
    match read {
        Ok((Some(span), _)) => {
            let note = (index == 0 && span.0 > 0).then(|| "the loader begins at byte 0 all the same".to_owned());
            SpanClaim { source, span: Some(span), note }
        }
        Ok((None, samples)) => SpanClaim {
            source,
            span: None,
            note: Some(format!("it lists {}, not this one", gristmill_core::text::count(samples, "sample"))),
        },
        Err(failure) if failure.is_missing() => SpanClaim { source, span: None, note: Some("there is none".into()) },
        Err(failure) => SpanClaim { source, span: None, note: Some(failure.why) },
    }
}

impl OffsetView {
    fn find_entries(&mut self, file: &Arc<ReadFile>, span: (u64, u64), cancel: &Cancel) -> Outcome<()> {
        let is_compressed = self.is_compressed;
        let (entries, disagreements) = (&mut self.entries, &mut self.disagreements);
        let mut failure: Option<Failure> = None;
        each_entry(file, span.0, span.1, cancel, &mut |item| {
            match item {
                SpanItem::Damage(at, why) => disagreements.push(format!("at byte {at} of the shard: {why}")),
                SpanItem::Entry(entry) => match entry_view(file, &entry, is_compressed) {
                    Ok(view) => entries.push(view),
                    Err(error) => failure = Some(error),
                },
            }
            entries.len() < MAX_ENTRIES && disagreements.len() < MAX_ENTRIES && failure.is_none()
        })?;
        match failure {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Assigns each part row to the entry at whose content its offset points.
    fn match_rows(&mut self, row: Option<&BrowseSample>) {
        let Some(row) = row else { return };
        for part in &row.parts {
            let free = |entry: &&mut EntryView| entry.row.is_none() && entry.content_offset == part.byte_offset;
            match self.entries.iter_mut().find(free) {
                Some(entry) => entry.row = Some(part.clone()),
                None => self.lost_rows.push(part.clone()),
            }
        }
        let lost = self.lost_rows.iter().map(|part| {
            let place = part.byte_offset;
            format!("index.sqlite has a part '{}' at byte {place}, where no entry has its content", part.name)
        });
        let mut found: Vec<String> = lost.collect();
        for entry in &self.entries {
            match (&entry.part, &entry.row) {
                (Some(part), None) => found.push(format!("index.sqlite has no row for the part '{part}'")),
                (part, Some(row)) => {
                    if part.as_deref() != Some(&*row.name) {
                        found.push(format!(
                            "index.sqlite calls the part '{}', its header says '{}'",
                            row.name, entry.name
                        ));
                    }
                    if row.byte_size != entry.size {
                        let (rows, header) = (row.byte_size, entry.size);
                        found.push(format!(
                            "index.sqlite says {} for '{}', its header {header}",
                            gristmill_core::text::count(rows, "byte"),
                            row.name
                        ));
                    }
                }
                (None, None) => {}
            }
        }
        self.disagreements.append(&mut found);
    }

    /// Compares the location of the whole sample in each source with the entries found.
    fn compare(&mut self, sample: &BrowseSample) {
        let parts = || self.entries.iter().filter(|entry| entry.part.is_some());
        let end = parts().next_back().map(|entry| {
            let padded = entry.size.checked_next_multiple_of(TAR_BLOCK_BYTES as u64).unwrap_or(u64::MAX);
            entry.content_offset.saturating_add(padded)
        });
        let found = parts().next().map(|entry| entry.offset).zip(end);
        let note = found.is_none().then(|| "no entry of a sample begins there".to_owned());
        self.claims.push(SpanClaim { source: Arc::from("tar headers"), span: found, note });
        let mut spoken = Vec::new();
        for claim in &self.claims {
            let Some((from, to)) = claim.span else { continue };
            if to < from {
                spoken.push(format!("{} says that it ends before it begins", claim.source));
            }
            if !self.is_compressed && to > self.file_bytes {
                spoken.push(format!("{} says byte {to} of a file of {}", claim.source, self.file_bytes));
            }
        }
        let claim = |at: usize| self.claims.get(at).and_then(|claim| claim.span);
        if let (Some(rows), Some(idx)) = (claim(0), claim(1)) {
            // The first offset in the `.tar.idx` may have any value, because the loader uses 0.
            if rows.0 != idx.0 && sample.at.index > 0 {
                spoken.push(format!("index.sqlite says it begins at {}, the offset file {}", rows.0, idx.0));
            }
            if rows.1 != idx.1 {
                spoken.push(format!("index.sqlite says it ends at {}, the offset file {}", rows.1, idx.1));
            }
        }
        if let (Some(rows), Some(found)) = (claim(0), found) {
            if rows.0 != found.0 {
                spoken.push(format!("index.sqlite says it begins at {}, its first header is at {}", rows.0, found.0));
            }
            if found.1 > rows.1 {
                spoken.push(format!("index.sqlite says it ends at {}, its content continues to {}", rows.1, found.1));
            }
        }
        if let Some(entry) = parts().find(|entry| {
            gristmill_data::source::tar::split_name(&entry.name).is_some_and(|(key, _)| *key != *sample.key)
        }) {
            spoken.push(format!("the key is '{}' in the list, a header says '{}'", sample.key, entry.name));
        }
        self.disagreements.append(&mut spoken);
    }
}

fn entry_view(file: &ReadFile, entry: &SpanEntry<'_>, is_compressed: bool) -> Outcome<EntryView> {
    let own = header_offset(entry.content_offset);
    let mut headers = Vec::new();
    if !is_compressed {
        headers.push(header_view(file, entry.offset)?);
        if let Some(own) = own.filter(|&own| own != entry.offset) {
            headers.push(header_view(file, own)?);
        }
    }
    let part = entry.dot.and_then(|dot| entry.name.get(dot + 1..));
    Ok(EntryView {
        name: String::from_utf8_lossy(entry.name).into_owned(),
        offset: entry.offset,
        content_offset: entry.content_offset,
        size: entry.size,
        part: part.map(|part| String::from_utf8_lossy(part).into_owned()),
        headers,
        row: None,
    })
}

fn header_view(file: &ReadFile, offset: u64) -> Outcome<HeaderView> {
    let mut block = [0; TAR_BLOCK_BYTES];
    let mut filled = 0;
    while let Some(space) = block.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(Failure::io("reading the shard", file.path(), &error)),
        }
    }
    let bytes = block.get(..filled).unwrap_or_default().to_vec();
    Ok(HeaderView { offset, bytes, fields: header_fields(&block) })
}
