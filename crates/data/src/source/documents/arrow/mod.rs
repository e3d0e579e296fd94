//! Arrow files, in the stream format or the file format, as a source of documents (docs/formats/arrow.md).

mod batch;
mod file;
mod messages;
mod rows;
mod schema;
mod table;
#[cfg(test)]
mod tests;

use super::columns::{layout_of_table, may_have_text, sample_of_table, Columns};
use super::packing::ends_in;
use super::source::{BlockReader, DocumentFields, DocumentSource, FirstLines, SampledBlock};
use super::{Layout, Position, TableFormat, TextFile};
use crate::source::jsonl::Unit;
use batch::BatchReader;
use file::{ArrowFile, MAGIC};
use gristmill_core::{Cancel, Outcome, Problem};
use messages::CONTINUATION;
use rows::{decode_json, RowForm, RowReader};
use schema::{ArrowSchema, ColumnProblem};
use std::sync::Arc;

/// Suffix of files that are found in folders.
const SUFFIX: &str = ".arrow";
/// Suffix of files that are read only if the user names them.
const FEATHER_SUFFIX: &str = ".feather";

/// Apache Arrow.
#[derive(Debug)]
pub struct Arrow;

impl DocumentSource for Arrow {
    fn id(&self) -> &'static str {
        "arrow"
    }

    fn name(&self) -> &'static str {
        "Arrow"
    }

    fn item(&self) -> &'static str {
        "row"
    }

    fn is_table(&self) -> bool {
        true
    }

    fn row_group(&self) -> Option<&'static str> {
        Some("record batch")
    }

    fn table(&self) -> Option<&'static dyn TableFormat> {
        Some(table::FORMAT)
    }

    fn count_rows(&self, file: &TextFile, cancel: &Cancel) -> Outcome<(u64, Option<Problem>)> {
        let opened = open(file, cancel)?;
        Ok((opened.rows(), opened.loss()))
    }

    fn title(&self, _: &TextFile) -> &'static str {
        "Arrow"
    }

    fn is_named(&self, name: &str) -> bool {
        ends_in(name, SUFFIX)
    }

    fn accepts(&self, name: &str, head: &[u8]) -> bool {
        self.is_named(name)
            || ends_in(name, FEATHER_SUFFIX)
            || head.starts_with(&MAGIC)
            || head.starts_with(&CONTINUATION)
    }

    fn is_divisible(&self, _: &TextFile) -> bool {
        true
    }

    fn layout(&self, file: &TextFile, fields: &DocumentFields, cancel: &Cancel) -> Outcome<Layout> {
        let opened = open(file, cancel)?;
        let schema = opened.schema();
        let is_empty = opened.rows() == 0 && opened.loss().is_none();
        let is_at_top = |key: &str| !schema.columns(Some(&[key.to_owned()])).is_empty();
        Ok(layout_of_table(fields, is_empty, |key| column_type(schema, key), is_at_top, || schema.text_columns()))
    }

    fn open(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>> {
        let opened = open(file, cancel)?;
        let schema = opened.schema();
        // A file without a column of text was reported when its layout was determined.
        let selected = match Columns::of(fields, |key| schema.column(key).is_ok()) {
            Columns::Text(key) => {
                let path = schema.column(&key).ok();
                path.map(|path| (path.first().copied().into_iter().collect(), RowForm::Text(Arc::from(path))))
            }
            Columns::Json { key: Some(key), .. } if !may_have_text(&column_type(schema, &key)) => None,
            Columns::Json { names, .. } => {
                let columns = schema.columns(names.as_deref());
                let contents = Arc::from(schema.contents(&columns));
                Some((columns, RowForm::Json(contents)))
            }
        };
        let (batches, form) = match selected {
            Some((columns, form)) => (Some(BatchReader::new(&opened, columns)), form),
            None => (None, RowForm::Text(Arc::default())),
        };
        let (block_bytes, cancel, left_out) = (block_bytes.max(1) as u64, cancel.clone(), file.damaged.clone());
        Ok(Box::new(RowReader { file: opened, batches, form, block_bytes, current: None, at: from, left_out, cancel }))
    }

    fn sample(&self, file: &TextFile, fields: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock> {
        sample_of_table(self, (file, open(file, cancel)?.rows()), fields, range, cancel)
    }

    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines> {
        let opened = open(file, cancel)?;
        let columns = opened.schema().columns(None);
        let contents = opened.schema().contents(&columns);
        let mut batches = BatchReader::new(&opened, columns);
        let mut first = FirstLines { lines: Vec::new(), damage: opened.loss().map(|problem| problem.message) };
        let mut number = 0;
        while first.lines.len() < most {
            let Some(batch) = batches.read(number)? else { break };
            let rows = 0..batch.rows.min(most - first.lines.len());
            decode_json(&batch, batch.decode()?, &contents, rows, &mut |rows| {
                first.lines.extend(rows.iter().map(|row| (row.number, Arc::from(row.line))));
                Ok(())
            })?;
            number += 1;
        }
        Ok(first)
    }
}

/// Returns the type of a column, as in [`layout_of_table`].
fn column_type(schema: &ArrowSchema, key: &str) -> Result<(), Option<String>> {
    match schema.column(key) {
        Ok(_) => Ok(()),
        Err(ColumnProblem::Missing) => Err(None),
        Err(ColumnProblem::NotText(described)) => Err(Some(described.to_owned())),
    }
}

fn open(file: &TextFile, cancel: &Cancel) -> Outcome<ArrowFile> {
    ArrowFile::open(file.open_any()?, cancel)
}
