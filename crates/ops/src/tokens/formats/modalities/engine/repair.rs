//! Repairs offsets that the merge of the reference program wrote wrongly. In such files, lengths are correct and documents are consecutive,
//! so each offset is the sum of the previous lengths. The repair is confirmed if every document then ends with the same token.

use super::index_checker::{check_index, IndexVerdict};
use super::source::{check_unchanged, stamp_of};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Handles, Outcome};
use gristmill_data::formats::modalities::packed::{PackedReader, HEADER_BYTES};
use gristmill_pycompat::pickle::IndexWriter;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::read::open_read;
use std::path::Path;

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;
/// Documents between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: u64 = 1 << 14;

/// A packed file with the repair that it needs.
#[derive(Debug)]
pub struct IndexRepair {
    packed: PackedReader,
    stamp: FileStamp,
    /// Number of documents with a wrong offset.
    misplaced: u64,
    /// The first of these documents, counted from 0.
    first: u64,
}

impl IndexRepair {
    /// Determines whether a file can be repaired. A correct file needs no repair. Fails if the file has other damage.
    pub fn inspect(path: &Path, handles: &Handles<'_>) -> Outcome<Self> {
        let packed = PackedReader::open_watched(open_read(path)?, handles.cancel)?;
        let stamp = stamp_of(packed.file())?;
        handles.progress.restart(packed.documents(), 0);
        let (misplaced, first) = match check_index(&packed, handles.cancel)? {
            IndexVerdict::Right => (0, 0),
            IndexVerdict::WronglyMerged { documents, first } => (documents, first),
            IndexVerdict::Wrong { document, why } => {
                let why = format!("document {document}: {why}; merging does not explain that");
                return Err(Failure::data("repairing the index", why)
                    .on(Subject::path(path))
                    .with_hint("pack the text again"));
            }
        };
        let repair = Self { packed, stamp, misplaced, first };
        if misplaced > 0 {
            repair.check_ends(handles)?;
        }
        Ok(repair)
    }

    /// Returns the number of documents in the file.
    pub fn documents(&self) -> u64 {
        self.packed.documents()
    }
    /// Returns the number of documents with a wrong offset.
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }
    /// Returns the first document with a wrong offset, counted from 0.
    pub fn first(&self) -> u64 {
        self.first
    }
    /// Returns the permission bits of the file.
    pub fn mode(&self) -> u32 {
        self.packed.file().mode()
    }

    /// Fails unless every document ends with the same token at its correct offset.
    fn check_ends(&self, handles: &Handles<'_>) -> Outcome<()> {
        let layout = self.packed.layout();
        let size = u64::from(layout.token_bytes);
        let (mut items, mut end, mut document, mut known) = (self.packed.items(), 0_u64, 0_u64, None);
        while let Some((_, length)) = items.next_item()? {
            end += length;
            let mut token = [0; 4];
            let token = token.get_mut(..usize::from(layout.token_bytes)).unwrap_or_default();
            self.packed.read(end.saturating_sub(size), token)?;
            let token = layout.token(token);
            if *known.get_or_insert(token) != token {
                let why = format!(
                    "placed one after the other, its documents do not all end with the same token: document {document} ends \
                     with {token}, the first one with {}",
                    known.unwrap_or_default()
                );
                return Err(Failure::data("repairing the index", why)
                    .on(Subject::path(self.packed.file().path()))
                    .with_hint("merge the files that it was made of again"));
            }
            document += 1;
            if document % CANCEL_CHECK_EVERY == 0 {
                handles.cancel.check()?;
                handles.progress.add(CANCEL_CHECK_EVERY, 0);
            }
        }
        Ok(())
    }
}

/// Writes the repaired file to an empty file. The bytes before the index are not changed.
pub fn write_repaired(repair: &IndexRepair, file: &mut BufferedFile, handles: &Handles<'_>) -> Outcome<()> {
    let packed = &repair.packed;
    let (source, layout) = (packed.file(), packed.layout());
    let total = layout.header_bytes + packed.data_bytes();
    handles.progress.restart(1, total);
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = 0;
    while at < total {
        handles.cancel.check()?;
        let wanted = usize::try_from(total - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let Some(piece) = buffer.get_mut(..wanted) else { break };
        source.read_exact_at(piece, at).map_err(|error| Failure::io("reading tokens", source.path(), &error))?;
        file.write_all(piece)?;
        at += wanted as u64;
        handles.progress.add(0, wanted as u64);
    }
    let mut writer = IndexWriter::new(packed.documents());
    let (mut items, mut offset) = (packed.items(), layout.base);
    while let Some((_, length)) = items.next_item()? {
        writer.push(offset, length, &mut |bytes| file.write_all(bytes))?;
        offset += length;
    }
    writer.finish(&mut |bytes| file.write_all(bytes))?;
    debug_assert!(layout.base == 0 || layout.base <= HEADER_BYTES, "what an old index is counted from");
    check_unchanged(source, repair.stamp)
}
