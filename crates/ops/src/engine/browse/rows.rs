//! Windows and visits from `index.sqlite`. Its rows may contain any value: a value of the wrong type is a defect of one sample and does not
//! end the list.

use super::{clipped, BrowsePart, BrowseSample, KeyQuery, SampleAt, VisitFields, VisitedSample, Visitor, MAX_PARTS};
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_data::formats::energon::tables::{failure, Tables};
use rusqlite::types::ValueRef;
use rusqlite::Row;
use std::path::Path;
use std::sync::Arc;

/// Rows between two checks for cancellation.
const PROGRESS_EVERY: u64 = 512;
/// Limit of rows that are read for one window; a damaged database may contain millions for one sample.
const MAX_ROWS: u64 = 400_000;

/// One query to the tables of one data set.
pub(super) struct TableQuery<'a> {
    /// The connection, for the duration of the query.
    pub(super) tables: &'a Tables,
    /// The path of the database, for messages.
    pub(super) path: &'a Path,
    /// Cancels the query.
    pub(super) cancel: &'a Cancel,
}

impl TableQuery<'_> {
    fn failed(&self, error: &rusqlite::Error) -> Failure {
        if self.cancel.is_cancelled() {
            return Failure::cancelled();
        }
        failure(self.path, error)
    }

    /// Passes every row of a result to `take` until it returns false.
    fn rows(
        &self,
        sql: &str,
        parameters: &[&dyn rusqlite::ToSql],
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> Outcome<()> {
        let connection = self.tables.connection();
        let mut statement = connection.prepare_cached(sql).map_err(|e| self.failed(&e))?;
        let mut rows = statement.query(parameters).map_err(|e| self.failed(&e))?;
        let mut count = 0u64;
        while let Some(row) = rows.next().map_err(|e| self.failed(&e))? {
            if count.is_multiple_of(PROGRESS_EVERY) {
                self.cancel.check()?;
            }
            count += 1;
            if !take(row).map_err(|e| self.failed(&e))? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the rows of the samples `first..first + count` of a shard, parts included. A position without a row is `None`.
    pub(super) fn window(&self, group: u32, first: u64, count: u64) -> Outcome<Vec<Option<BrowseSample>>> {
        let end = first.saturating_add(count);
        let mut window: Vec<Option<BrowseSample>> = Vec::new();
        window.resize_with(usize::try_from(count).unwrap_or(0), || None);
        let (from, to) = (signed(first), signed(end));
        let place = |index: i64| usize::try_from(index.saturating_sub(from)).ok();
        let sql = "SELECT sample_index, sample_key, byte_offset, byte_size FROM samples \
                   WHERE tar_file_id = ?1 AND sample_index >= ?2 AND sample_index < ?3 ORDER BY sample_index LIMIT ?4";
        let limit = signed(count.saturating_mul(2));
        self.rows(sql, &[&group, &from, &to, &limit], |row| {
            let ValueRef::Integer(index) = row.get_ref(0)? else { return Ok(true) };
            let Some(slot) = place(index).and_then(|at| window.get_mut(at)) else { return Ok(true) };
            match slot {
                Some(sample) => sample.set_defect("the index has several rows for this sample"),
                None => *slot = Some(sample_row(SampleAt { group, index: index.unsigned_abs() }, row)?),
            }
            Ok(true)
        })?;
        let sql = "SELECT sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts \
                   WHERE tar_file_id = ?1 AND sample_index >= ?2 AND sample_index < ?3 \
                   ORDER BY sample_index, content_byte_offset LIMIT ?4";
        let mut names = Names::default();
        self.rows(sql, &[&group, &from, &to, &signed(MAX_ROWS)], |row| {
            let ValueRef::Integer(index) = row.get_ref(0)? else { return Ok(true) };
            if let Some(sample) = place(index).and_then(|at| window.get_mut(at)).and_then(Option::as_mut) {
                add_part(sample, row, &mut names)?;
            }
            Ok(true)
        })?;
        Ok(window)
    }

    /// Visits all samples of a shard that have a row, in order.
    pub(super) fn visit(&self, group: u32, wanted: VisitFields, take: Visitor<'_>) -> Outcome<()> {
        let connection = self.tables.connection();
        let columns = match (wanted.keys, wanted.sizes) {
            (false, false) => "sample_index, NULL, NULL",
            (true, false) => "sample_index, sample_key, NULL",
            (false, true) => "sample_index, NULL, byte_size",
            (true, true) => "sample_index, sample_key, byte_size",
        };
        let sql = format!("SELECT {columns} FROM samples WHERE tar_file_id = ?1 ORDER BY sample_index");
        let part_sql = "SELECT sample_index, part_name FROM sample_parts WHERE tar_file_id = ?1 ORDER BY sample_index";
        let mut part_statement = connection.prepare_cached(part_sql).map_err(|e| self.failed(&e))?;
        let mut part_rows = match wanted.parts {
            true => Some(PartRows::new(part_statement.query([group]).map_err(|e| self.failed(&e))?)),
            false => None,
        };
        let mut held = PartNames::default();
        self.rows(&sql, &[&group], |row| {
            let ValueRef::Integer(index) = row.get_ref(0)? else { return Ok(true) };
            let Ok(index) = u64::try_from(index) else { return Ok(true) };
            held.clear();
            if let Some(ahead) = part_rows.as_mut() {
                ahead.collect(index, &mut held)?;
            }
            let key = text(row.get_ref(1)?).unwrap_or_default();
            let byte_size = number(row.get_ref(2)?).unwrap_or(0);
            Ok(held.with(|parts| take(VisitedSample { index, key: clipped(&key), byte_size, parts })))
        })
    }

    /// Finds samples with a matching key. Samples that match a prefix are in the order of their keys, others in the order of the table,
    /// which is that of the data set if this program wrote it.
    pub(super) fn find(&self, query: &KeyQuery, take: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        let columns = "SELECT tar_file_id, sample_index, sample_key FROM samples";
        let mut hand = |row: &Row<'_>, is_sure: bool| -> rusqlite::Result<bool> {
            let Some(at) = place_of(row)? else { return Ok(true) };
            let fits = is_sure || text(row.get_ref(2)?).is_some_and(|key| query.matches(&key));
            Ok(!fits || take(at))
        };
        if let KeyQuery::Prefix(prefix) = query {
            let ends = successor(prefix);
            return match &ends {
                Some(end) => {
                    let sql = format!("{columns} WHERE sample_key >= ?1 AND sample_key < ?2 ORDER BY sample_key");
                    self.rows(&sql, &[prefix, end], |row| hand(row, false))
                }
                None => {
                    let sql = format!("{columns} WHERE sample_key >= ?1 ORDER BY sample_key");
                    self.rows(&sql, &[prefix], |row| hand(row, false))
                }
            };
        }
        self.rows(columns, &[], |row| hand(row, false))
    }

    /// Passes keys from `from` on with their locations, in order. Rows with values of the wrong type are skipped.
    pub(super) fn keys_from(&self, from: &str, take: &mut dyn FnMut(&str, SampleAt) -> bool) -> Outcome<()> {
        let sql =
            "SELECT tar_file_id, sample_index, sample_key FROM samples WHERE sample_key >= ?1 ORDER BY sample_key";
        self.rows(sql, &[&from], |row| {
            let ValueRef::Text(key) = row.get_ref(2)? else { return Ok(true) };
            let known = place_of(row)?.zip(std::str::from_utf8(key).ok());
            Ok(known.is_none_or(|(at, key)| take(key, at)))
        })
    }

    /// Whether the table has a unique constraint on keys, which old databases lack.
    pub(super) fn has_unique_keys(&self) -> Outcome<bool> {
        let mut is_unique = false;
        let sql = "SELECT 1 FROM pragma_index_list('samples') AS list WHERE list.\"unique\" AND NOT list.partial \
                   AND (SELECT group_concat(name) FROM pragma_index_info(list.name)) = 'sample_key'";
        self.rows(sql, &[], |_| {
            is_unique = true;
            Ok(false)
        })?;
        Ok(is_unique)
    }

    /// Returns the location of a key, in one shard if it is given.
    pub(super) fn locate(&self, group: Option<u32>, key: &str) -> Outcome<Option<SampleAt>> {
        let mut found = None;
        let sql = "SELECT tar_file_id, sample_index FROM samples WHERE sample_key = ?1";
        self.rows(sql, &[&key], |row| {
            let at = place_of(row)?.filter(|at| group.is_none_or(|group| at.group == group));
            found = at;
            Ok(at.is_none())
        })?;
        Ok(found)
    }
}

/// Converts a number to SQLite's range; larger numbers become the maximum.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn number(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Integer(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

fn text(value: ValueRef<'_>) -> Option<std::borrow::Cow<'_, str>> {
    match value {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}

/// Reads `tar_file_id` and `sample_index` from the first two columns.
fn place_of(row: &Row<'_>) -> rusqlite::Result<Option<SampleAt>> {
    let group = number(row.get_ref(0)?).and_then(|group| u32::try_from(group).ok());
    Ok(group.zip(number(row.get_ref(1)?)).map(|(group, index)| SampleAt { group, index }))
}

/// Returns the smallest text that is greater than all texts with the prefix `prefix`, by bytes; `None` if there is none.
fn successor(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            char::MAX => None,
            c => char::from_u32(c as u32 + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

fn sample_row(at: SampleAt, row: &Row<'_>) -> rusqlite::Result<BrowseSample> {
    let mut sample =
        BrowseSample { at, key: Arc::from(""), byte_offset: 0, byte_size: 0, parts: Vec::new(), defect: None };
    match text(row.get_ref(1)?) {
        Some(key) => {
            sample.key = Arc::from(clipped(&key));
            if key.len() > sample.key.len() {
                sample.set_defect("its key is longer than 4 KiB; the beginning is shown");
            }
        }
        None => sample.set_defect("its key in the index is not text"),
    }
    match (number(row.get_ref(2)?), number(row.get_ref(3)?)) {
        (Some(offset), Some(size)) => (sample.byte_offset, sample.byte_size) = (offset, size),
        _ => sample.set_defect("its place in the index is not a pair of numbers"),
    }
    Ok(sample)
}

/// A pool of part names, which shares the text of repeated names within a window.
#[derive(Default)]
struct Names(Vec<Arc<str>>);

impl Names {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(name);
        if self.0.len() < 64 {
            self.0.push(Arc::clone(&name));
        }
        name
    }
}

fn add_part(sample: &mut BrowseSample, row: &Row<'_>, names: &mut Names) -> rusqlite::Result<()> {
    if sample.parts.len() >= MAX_PARTS {
        sample.set_defect("it has very many parts; the first are shown");
        return Ok(());
    }
    let Some(name) = text(row.get_ref(1)?) else {
        sample.set_defect("the name of a part in the index is not text");
        return Ok(());
    };
    let (Some(byte_offset), Some(byte_size)) = (number(row.get_ref(2)?), number(row.get_ref(3)?)) else {
        sample.set_defect("the place of a part in the index is not a pair of numbers");
        return Ok(());
    };
    sample.parts.push(BrowsePart { name: names.get(clipped(&name)), byte_offset, byte_size });
    Ok(())
}

/// Names of the parts of one sample, in one buffer.
#[derive(Default)]
pub(super) struct PartNames {
    text: String,
    ends: Vec<usize>,
}

impl PartNames {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
    pub(super) fn push(&mut self, name: &str) {
        if self.ends.len() < MAX_PARTS {
            self.text.push_str(clipped(name));
            self.ends.push(self.text.len());
        }
    }
    pub(super) fn with<T>(&self, use_them: impl FnOnce(&[&str]) -> T) -> T {
        const USUAL: usize = 16;
        let mut from = 0;
        let mut next = |end: &usize| self.text.get(std::mem::replace(&mut from, *end)..*end).unwrap_or_default();
        if self.ends.len() <= USUAL {
            let mut few = [""; USUAL];
            few.iter_mut().zip(&self.ends).for_each(|(slot, end)| *slot = next(end));
            return use_them(few.get(..self.ends.len()).unwrap_or_default());
        }
        use_them(&self.ends.iter().map(next).collect::<Vec<_>>())
    }
}

/// Iterator over the part rows of a shard, one row ahead of its sample rows.
struct PartRows<'a> {
    rows: rusqlite::Rows<'a>,
    /// Position of the sample and name of the part in the row that was read ahead.
    next: Option<(u64, String)>,
    is_over: bool,
}

impl<'a> PartRows<'a> {
    fn new(rows: rusqlite::Rows<'a>) -> Self {
        Self { rows, next: None, is_over: false }
    }

    /// Adds the parts of a sample. Rows of earlier positions belong to no sample and are skipped.
    fn collect(&mut self, index: u64, names: &mut PartNames) -> rusqlite::Result<()> {
        match self.next.take() {
            Some((at, name)) if at == index => names.push(&name),
            Some((at, name)) if at > index => {
                self.next = Some((at, name));
                return Ok(());
            }
            _ => {}
        }
        while !self.is_over {
            let Some(row) = self.rows.next()? else {
                self.is_over = true;
                break;
            };
            let (Some(at), Some(name)) = (number(row.get_ref(0)?), text(row.get_ref(1)?)) else { continue };
            if at > index {
                self.next = Some((at, name.into_owned()));
                break;
            }
            if at == index {
                names.push(&name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_successor_is_after_every_key_with_the_prefix() {
        assert_eq!(successor("ab").unwrap(), "ac");
        assert_eq!(successor("a\u{10ffff}").unwrap(), "b");
        assert_eq!(successor("\u{d7ff}").unwrap(), "\u{e000}");
        assert_eq!(successor("\u{10ffff}"), None);
        assert_eq!(successor(""), None);
    }
}
