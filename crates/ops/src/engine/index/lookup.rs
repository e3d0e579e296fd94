//! Checks exclude items against the finished tables: whether their samples exist.

use gristmill_core::{Cancel, Duplicates, Outcome};
use gristmill_data::formats::energon::tables::{self, open_readonly};
use gristmill_pycompat::braces;
use gristmill_storage::sort::CANCEL_EVERY;
use rusqlite::{OptionalExtension as _, Statement};
use std::collections::HashMap;
use std::path::Path;

/// An exclude item with names of samples that do not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedExclude {
    /// The item as given.
    pub item: String,
    /// One missing name of the item, with braces expanded.
    pub example: String,
    /// Number of missing names.
    pub lost: usize,
    /// Number of names in total.
    pub all: usize,
}

/// Finds the items that name a sample that is not in `database`. `shards` contains the names in index order. If later samples with the same
/// key were omitted from the tables, a key counts as existing in every shard that contains it.
pub fn unmatched_excludes(
    database: &Path,
    shards: &[String],
    items: &[String],
    duplicates: Duplicates,
    cancel: &Cancel,
) -> Outcome<Vec<UnmatchedExclude>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let ids: HashMap<&str, usize> = shards.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let connection = open_readonly(database)?;
    let failed = |error: &rusqlite::Error| tables::failure(database, error);
    let mut query =
        connection.prepare("SELECT tar_file_id FROM samples WHERE sample_key = ?1").map_err(|error| failed(&error))?;
    let (mut found, mut looked_up) = (Vec::new(), 0usize);
    for item in items {
        // Items that cannot be expanded were refused before.
        let names = braces::expand(item, braces::MAX_RESULTS).unwrap_or_default();
        let (mut lost, mut example) = (0, None);
        for name in &names {
            looked_up += 1;
            if looked_up.is_multiple_of(CANCEL_EVERY as usize) {
                cancel.check()?;
            }
            if !is_there(&mut query, &ids, name, duplicates).map_err(|error| failed(&error))? {
                lost += 1;
                example.get_or_insert(name);
            }
        }
        if let Some(example) = example {
            found.push(UnmatchedExclude { item: item.clone(), example: example.clone(), lost, all: names.len() });
        }
    }
    Ok(found)
}

fn is_there(
    query: &mut Statement<'_>,
    ids: &HashMap<&str, usize>,
    name: &str,
    duplicates: Duplicates,
) -> rusqlite::Result<bool> {
    if ids.contains_key(name) {
        return Ok(true);
    }
    for (at, _) in name.match_indices('/') {
        let Some(&id) = ids.get(&name[..at]) else { continue };
        // AppleDouble entries have no rows, so the tables cannot show whether they exist.
        if name.ends_with('/') {
            return Ok(true);
        }
        let holder: Option<i64> = query.query_row([&name[at + 1..]], |row| row.get(0)).optional()?;
        if holder.is_some_and(|holder| duplicates == Duplicates::KeepFirst || i64::try_from(id) == Ok(holder)) {
            return Ok(true);
        }
    }
    Ok(false)
}
