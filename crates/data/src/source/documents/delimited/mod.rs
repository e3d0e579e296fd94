//! CSV, TSV and plain text as sources of documents (docs/formats/csv.md, docs/formats/text.md). One thread finds the ends of rows, because
//! they depend on the quotes before them; all threads decode cells.

mod cells;
mod columns;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use super::columns::{layout_of_table, Columns as Wanted};
use super::jq::as_path;
use super::json_array::MARK;
use super::jsonl::LineReader;
use super::packing::ends_in;
use super::share::bytes_on_disk;
use super::source::{
    BlockReader, DocumentBlock, DocumentFields, DocumentSource, FirstLines, OtherFields, SampledBlock,
};
use super::{Blocks, Layout, Packing, Position, TableFormat, TextFile};
use crate::source::jsonl::Unit;
use cells::{Cells, RowForm};
use columns::{CellKinds, Columns};
use gristmill_core::pack::TextField;
use gristmill_core::{Cancel, Outcome};
use rows::{RowFields, RowReader};
use std::sync::Arc;
use table::DelimitedTables;

/// Maximum size of a header, in bytes.
const MAX_HEADER_BYTES: usize = 4 << 20;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 1 << 16;
/// Size in bytes of the blocks of rows that are examined for column types.
const EXAMINED_BLOCK_BYTES: usize = 256 << 10;
/// Maximum number of rows that are examined to infer the type of a column, as by `load_dataset`; then the maximum size of these rows in
/// bytes.
const EXAMINED_ROWS: u64 = 10_000;
const MAX_EXAMINED_BYTES: u64 = 64 << 20;
/// Cells that are null.
const NULLS: [&[u8]; 19] = [
    b"",
    b"#N/A",
    b"#N/A N/A",
    b"#NA",
    b"-1.#IND",
    b"-1.#QNAN",
    b"-NaN",
    b"-nan",
    b"1.#IND",
    b"1.#QNAN",
    b"<NA>",
    b"N/A",
    b"NA",
    b"NULL",
    b"NaN",
    b"None",
    b"n/a",
    b"nan",
    b"null",
];

/// Rows of cells, or lines of plain text.
#[derive(Debug)]
pub struct Delimited {
    id: &'static str,
    /// Name of the format in titles and sentences.
    name: &'static str,
    /// Suffix of the file names.
    suffix: &'static str,
    /// Separator of cells; `None` if a row is a line of text.
    delimiter: Option<u8>,
    /// Opens files as data sets; `None` if that is not supported.
    tables: Option<&'static DelimitedTables>,
}

/// Comma-separated values.
pub static CSV: Delimited =
    Delimited { id: "csv", name: "CSV", suffix: ".csv", delimiter: Some(b','), tables: Some(&table::CSV) };
/// Values separated by tabs.
pub static TSV: Delimited =
    Delimited { id: "tsv", name: "TSV", suffix: ".tsv", delimiter: Some(b'\t'), tables: Some(&table::TSV) };
/// Lines of plain text.
pub static TEXT: Delimited =
    Delimited { id: "text", name: "plain text", suffix: ".txt", delimiter: None, tables: None };

/// Result of reading the columns of a file.
enum Header {
    Columns(Columns),
    /// The file is empty.
    None,
    /// The columns cannot be read; the reason, and a hint.
    Unreadable {
        why: String,
        hint: &'static str,
    },
}

/// Facts about the first rows of a file.
struct FirstRows {
    /// Types of the cells of each column.
    kinds: Vec<CellKinds>,
    /// Whether there are rows, or damage where rows should be.
    has_rows: bool,
    /// Number of cells in the first row.
    first_cells: usize,
    /// Whether the first row that is not blank begins like a JSON object; `None` if all rows are blank.
    is_json: Option<bool>,
}

impl Delimited {
    /// Reads the columns of a file.
    fn header(&self, file: &TextFile, cancel: &Cancel) -> Outcome<Header> {
        let Some(delimiter) = self.delimiter else { return Ok(Header::Columns(Columns::of_text())) };
        let form = RowForm::new(self.delimiter, false);
        let mut blocks = Blocks::open_form(Box::new(form), file, 1, Position::default(), cancel)?;
        let Some(block) = blocks.next(Vec::new())? else {
            let damage = blocks.damage().map(|damage| damage.why.clone());
            let quotes = || blocks.form_damage(file).map(|_| "the quotes of a cell have no end".to_owned());
            return Ok(match damage.or_else(quotes) {
                Some(why) => Header::Unreadable {
                    why: format!("its header cannot be read: {why}"),
                    hint: "get the file again from its source",
                },
                None => Header::None,
            });
        };
        let header = block.lines().next().filter(|line| line.len <= MAX_HEADER_BYTES as u64);
        let mut cells = Cells::default();
        if let Some(header) = &header {
            // The byte-order mark is not part of the first name.
            let header = header.bytes.strip_prefix(MARK).unwrap_or(header.bytes);
            cells.read(header, self.delimiter, MAX_COLUMNS);
        }
        let (why, hint) = match () {
            () if header.is_none() => ("4 MiB", "write the names of the columns into the first row"),
            () if cells.len() > MAX_COLUMNS => ("65,536 cells", "split the table into several, or write it as Parquet"),
            () => return Ok(Header::Columns(Columns::of_header(&cells, delimiter))),
        };
        let why = format!("its first row, where the names of the columns are, has more than {why}");
        Ok(Header::Unreadable { why, hint })
    }

    /// Opens the rows below the header, from a position on.
    fn blocks(&self, file: &TextFile, from: Position, block_bytes: usize, cancel: &Cancel) -> Outcome<Blocks> {
        let form = RowForm::new(self.delimiter, self.delimiter.is_some());
        Blocks::open_form(Box::new(form), file, block_bytes, from, cancel)
    }

    /// Examines the first rows until the column is known to hold text.
    fn examine(
        &self,
        file: &TextFile,
        columns: &Columns,
        column: Option<usize>,
        cancel: &Cancel,
    ) -> Outcome<FirstRows> {
        let mut blocks = self.blocks(file, Position::default(), EXAMINED_BLOCK_BYTES, cancel)?;
        let kinds = vec![CellKinds::default(); columns.names.len()];
        let mut examined = FirstRows { kinds, has_rows: false, first_cells: 0, is_json: None };
        let (mut cells, mut spare) = (Cells::default(), Vec::new());
        while let Some(block) = blocks.next(std::mem::take(&mut spare))? {
            for line in block.lines() {
                if line.number >= EXAMINED_ROWS {
                    return Ok(examined);
                }
                cells.read(line.bytes, self.delimiter, columns.names.len());
                if !std::mem::replace(&mut examined.has_rows, true) {
                    examined.first_cells = cells.len();
                }
                let start = cells.get(0).trim_ascii_start();
                if examined.is_json.is_none() && !start.is_empty() {
                    examined.is_json = Some(start.starts_with(b"{"));
                }
                for (number, kind) in examined.kinds.iter_mut().enumerate().take(cells.len()) {
                    let cell = cells.get(number);
                    if !columns.is_null(cell) {
                        kind.add(cell);
                    }
                }
            }
            let is_known = column.and_then(|column| examined.kinds.get(column)).is_some_and(|kind| kind.is_text());
            if is_known || blocks.position().offset > MAX_EXAMINED_BYTES {
                return Ok(examined);
            }
            spare = block.bytes;
        }
        examined.has_rows |= blocks.damage().is_some() || blocks.form_damage(file).is_some();
        Ok(examined)
    }
}

impl DocumentSource for Delimited {
    fn id(&self) -> &'static str {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn item(&self) -> &'static str {
        "row"
    }

    fn is_table(&self) -> bool {
        true
    }

    fn is_compressible(&self) -> bool {
        true
    }

    fn is_secondary(&self) -> bool {
        true
    }

    fn row_group(&self) -> Option<&'static str> {
        None
    }

    fn table(&self) -> Option<&'static dyn TableFormat> {
        self.tables.map(|tables| tables as &dyn TableFormat)
    }

    fn is_chosen(&self) -> bool {
        self.tables.is_none()
    }

    fn title(&self, _: &TextFile) -> &'static str {
        self.name
    }

    fn is_named(&self, name: &str) -> bool {
        !self.is_chosen() && self.has_suffix(name)
    }

    fn accepts(&self, name: &str, head: &[u8]) -> bool {
        // JSON lines under the name of a text file are read as JSONL.
        let head = head.strip_prefix(MARK).unwrap_or(head);
        self.has_suffix(name) && !(self.is_chosen() && head.trim_ascii_start().starts_with(b"{"))
    }

    fn is_divisible(&self, _: &TextFile) -> bool {
        false
    }

    fn layout(&self, file: &TextFile, fields: &DocumentFields, cancel: &Cancel) -> Outcome<Layout> {
        let columns = match self.header(file, cancel)? {
            Header::Columns(columns) => columns,
            Header::None => return Ok(Layout::Empty),
            Header::Unreadable { why, hint } => return Ok(Layout::NoText { why, hint: hint.to_owned() }),
        };
        let key = match wanted_of(fields) {
            Wanted::Text(key) => Some(key),
            Wanted::Json { key, .. } => key,
        };
        let wanted = key.as_deref().and_then(|key| columns.find(key));
        let examined = self.examine(file, &columns, wanted, cancel)?;
        if let Some(layout) = examined.refusal(self, &columns) {
            return Ok(layout);
        }
        if key.is_none() {
            return Ok(if examined.has_rows { Layout::Rows } else { Layout::Empty });
        }
        let kind_of = |number: usize| examined.kinds.get(number).and_then(|kind| kind.not_text());
        let column = |key: &str| match columns.find(key).map(kind_of) {
            None => Err(None),
            Some(None) => Ok(()),
            Some(Some(described)) => Err(Some(described.to_owned())),
        };
        let names = columns.names.iter().enumerate();
        let texts = || names.filter(|(number, _)| kind_of(*number).is_none()).map(|(_, name)| name.clone()).collect();
        Ok(match layout_of_table(fields, !examined.has_rows, column, |_| true, texts) {
            Layout::NoText { why, hint } if wanted.is_some() => {
                let name = serde_json::Value::from(key.unwrap_or_default());
                Layout::NoText { why, hint: format!("{hint}; --jq '.[{name}] | tostring' packs its cells as they are") }
            }
            layout => layout,
        })
    }

    fn open(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>> {
        // A file that is left out was reported when its layout was determined.
        let is_read = !matches!(self.layout(file, fields, cancel)?, Layout::NoText { .. });
        let (columns, fields) = match self.header(file, cancel)? {
            Header::Columns(columns) if is_read => {
                let fields = match fields.others {
                    OtherFields::Verbatim => Some(RowFields::verbatim(&columns)),
                    _ => RowFields::of(wanted_of(fields), &columns),
                };
                (columns, fields)
            }
            _ => (Columns::of_text(), None),
        };
        let columns = Arc::new(columns);
        let lines = LineReader { blocks: self.blocks(file, from, block_bytes, cancel)?, file: file.clone() };
        Ok(Box::new(RowReader { lines, columns, fields: fields.map(Arc::new) }))
    }

    fn sample(&self, file: &TextFile, fields: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock> {
        let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let mut reader = self.open(file, fields, Position::default(), size, cancel)?;
        let block = reader.next(Vec::new())?.unwrap_or_default();
        Ok((block, bytes_on_disk(file, reader.position().offset)?))
    }

    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines> {
        let fields = DocumentFields { text: TextField::Jq(String::new()), others: OtherFields::All };
        let mut reader = self.open(file, &fields, Position::default(), EXAMINED_BLOCK_BYTES, cancel)?;
        let mut first = FirstLines::default();
        if let Some(DocumentBlock::Rows(block)) = reader.next(Vec::new())? {
            block.decode(&mut |rows| {
                let rows = rows.iter().filter(|row| row.text.is_none()).take(most - first.lines.len());
                first.lines.extend(rows.map(|row| (row.number, Arc::from(row.line))));
                Ok(())
            })?;
        }
        first.damage = reader.damage()?.map(|problem| problem.message);
        Ok(first)
    }
}

impl Delimited {
    fn has_suffix(&self, name: &str) -> bool {
        ends_in(Packing::strip_suffix(name), self.suffix)
    }
}

/// Returns the columns that contain the fields. Cells have no inner fields, so a program with a path below a column reads JSON objects.
fn wanted_of(fields: &DocumentFields) -> Wanted {
    match (&fields.text, Wanted::of(fields, |_| false)) {
        (TextField::Jq(program), Wanted::Text(_)) if as_path(program).is_some_and(|path| path.len() > 1) => {
            Wanted::Json { names: None, key: None }
        }
        (_, wanted) => wanted,
    }
}

impl FirstRows {
    /// Returns the reason why a file is not read although the column exists.
    fn refusal(&self, source: &Delimited, columns: &Columns) -> Option<Layout> {
        let names = columns.names.len();
        let (why, hint) = match () {
            () if source.delimiter.is_none() && self.is_json == Some(true) => (
                "its lines are JSON".to_owned(),
                "give it a name that ends in .jsonl, or .jsonl.gz if it is compressed",
            ),
            // pandas would use the first cells as row labels and shift the others.
            () if self.first_cells > names => (
                format!("its first row has more cells than the header has names, {names}"),
                "give each column a name in the first row, or remove the delimiters at the ends of rows",
            ),
            () => return None,
        };
        Some(Layout::NoText { why, hint: hint.to_owned() })
    }
}
