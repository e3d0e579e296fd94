//! Distributions over the samples of a prepared WebDataset: their sizes, the sizes of their parts, and how many samples lack each part.
//!
//! Reads only the index, and opens no shard. Without sample tables, only the sizes of samples are known, from the `.tar.idx` files.

use super::jsonl::Lengths;
use gristmill_core::facts::MAX_PART_NAMES;
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::tables::{open_readonly, VisitError};
use gristmill_data::formats::energon::{layout, tar_idx::TarIdx};
use gristmill_storage::files;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows between two checks of the cancel flag.
const CANCEL_EVERY: u64 = 4096;
/// Maximum number of samples read: enough for any chart, and read within seconds.
const MAX_SAMPLES: u64 = 2_000_000;
/// Maximum number of part rows read.
const MAX_ROWS: u64 = 4 * MAX_SAMPLES;

/// Distribution of the sizes of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartSpread {
    /// Name of the part. Raw.
    pub name: String,
    /// Sizes of the part in bytes; one per sample that has it.
    pub bytes: Lengths,
}

/// Distributions over the samples of a data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DatasetSpread {
    /// Number of samples in total.
    pub samples: u64,
    /// Number of samples whose parts were read; 0 without sample tables.
    pub looked_at: u64,
    /// Sizes of samples in their archive, headers included, in bytes.
    pub sample_bytes: Lengths,
    /// Parts, the most frequent first.
    pub parts: Vec<PartSpread>,
}

/// Reads the index of the data set at `root`. Returns soon after a cancellation.
pub fn spread_of(root: &Path, cancel: &Cancel) -> Outcome<DatasetSpread> {
    let info = Info::read(root)?.unwrap_or_default();
    let mut spread =
        DatasetSpread { samples: info.shard_counts.iter().map(|(_, n)| n).sum(), ..DatasetSpread::default() };
    for (shard, _) in &info.shard_counts {
        if spread.sample_bytes.count >= MAX_SAMPLES {
            break;
        }
        cancel.check()?;
        // Missing or damaged indexes are reported by `lint` and omitted here.
        let Ok(index) = TarIdx::open(&root.join(format!("{shard}.idx"))) else { continue };
        sample_sizes(&index, &mut spread.sample_bytes, cancel)?;
    }
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    if files::is_file(&database) {
        let connection = open_readonly(&database)?;
        parts(&connection, cancel, &mut spread).map_err(|error| error.into_failure(&database))?;
    }
    Ok(spread)
}

fn sample_sizes(index: &TarIdx, sizes: &mut Lengths, cancel: &Cancel) -> Outcome<()> {
    let mut before = None;
    let mut seen = 0_u64;
    index.for_each_word(|offset| {
        if let Some(size) = before.and_then(|b| offset.checked_sub(b)) {
            sizes.add(size);
        }
        before = Some(offset);
        seen += 1;
        if seen.is_multiple_of(CANCEL_EVERY) {
            cancel.check()?;
        }
        Ok(())
    })
}

fn parts(connection: &Connection, cancel: &Cancel, spread: &mut DatasetSpread) -> Result<(), VisitError> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'sample_parts'";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(());
    }
    let mut statement = connection.prepare(
        "SELECT part_name, content_byte_size, tar_file_id, sample_index FROM sample_parts ORDER BY tar_file_id, sample_index",
    )?;
    let mut rows = statement.query([])?;
    let mut found: BTreeMap<String, Lengths> = BTreeMap::new();
    let mut last = None;
    let mut seen = 0_u64;
    while let Some(row) = rows.next()? {
        seen += 1;
        if seen.is_multiple_of(CANCEL_EVERY) && cancel.is_cancelled() {
            return Err(VisitError::Cancelled);
        }
        let sample = (row.get::<_, i64>(2).ok(), row.get::<_, i64>(3).ok());
        if last != Some(sample) {
            // The limit only applies between samples, so that all parts of the last sample are counted.
            if seen > MAX_ROWS {
                break;
            }
            spread.looked_at += 1;
            last = Some(sample);
        }
        let (Ok(name), Ok(size)) = (row.get_ref(0)?.as_str(), row.get_ref(1)?.as_i64()) else { continue };
        let Ok(size) = u64::try_from(size) else { continue };
        if let Some(lengths) = found.get_mut(name) {
            lengths.add(size);
        } else if found.len() < MAX_PART_NAMES {
            found.entry(name.to_owned()).or_default().add(size);
        }
    }
    spread.parts = found.into_iter().map(|(name, bytes)| PartSpread { name, bytes }).collect();
    spread.parts.sort_by(|a, b| b.bytes.count.cmp(&a.bytes.count).then_with(|| a.name.cmp(&b.name)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_data::formats::energon::tar_idx::encode;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(path: &Path, bytes: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    fn prepared() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join(".nv-meta/.info.json"), br#"{"energon_version": "7.4.1", "shard_counts": {"a.tar": 3}}"#);
        put(&dir.path().join("a.tar.idx"), &encode(&[0, 1024, 4096], 5120));
        dir
    }

    #[test]
    fn sample_sizes_are_known_without_sample_tables() {
        let dir = prepared();
        let spread = spread_of(dir.path(), &Cancel::default()).unwrap();
        assert_eq!((spread.samples, spread.looked_at), (3, 0));
        let sizes = &spread.sample_bytes;
        assert_eq!((sizes.count, sizes.min, sizes.max), (3, 1024, 3072));
    }

    #[test]
    fn part_sizes_are_read_from_the_sample_tables() {
        let dir = prepared();
        let database = Connection::open(dir.path().join(".nv-meta/index.sqlite")).unwrap();
        database
            .execute_batch(
                "CREATE TABLE sample_parts (tar_file_id INTEGER, sample_index INTEGER, part_name TEXT,
                     content_byte_offset INTEGER, content_byte_size INTEGER);
                 INSERT INTO sample_parts VALUES (0, 0, 'jpg', 512, 100), (0, 0, 'txt', 1536, 5), (0, 1, 'jpg', 9, 300),
                     (0, 2, 'jpg', 9, 7), (0, 2, x'ff', 9, 7);",
            )
            .unwrap();
        drop(database);
        let spread = spread_of(dir.path(), &Cancel::default()).unwrap();
        assert_eq!(spread.looked_at, 3);
        let parts: Vec<(&str, u64, u64)> =
            spread.parts.iter().map(|p| (p.name.as_str(), p.bytes.count, p.bytes.max)).collect();
        assert_eq!(parts, [("jpg", 3, 300), ("txt", 1, 5)]);
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(spread_of(dir.path(), &cancel).unwrap_err().is_cancelled());
    }
}
