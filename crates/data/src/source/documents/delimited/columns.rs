//! Columns of a file with delimiters: their names from the header, and the types of the cells in the first rows.

use super::cells::Cells;
use super::NULLS;
use std::collections::HashMap;

/// Name of the only column of plain text.
const TEXT_COLUMN: &str = "text";

/// The columns of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) delimiter: Option<u8>,
    /// Names of the columns, without repetitions.
    pub(super) names: Vec<String>,
}

impl Columns {
    /// Returns the column of plain text.
    pub(super) fn of_text() -> Self {
        Self { delimiter: None, names: vec![TEXT_COLUMN.to_owned()] }
    }

    /// Returns the columns of a header, named as pandas names them: a column without a name is named by its number, and a repeated name is
    /// followed by a number. Bytes that are not UTF-8 are replaced.
    pub(super) fn of_header(cells: &Cells, delimiter: u8) -> Self {
        let name = |number: usize| match cells.get(number) {
            b"" => format!("Unnamed: {number}"),
            name => String::from_utf8_lossy(name).into_owned(),
        };
        let header: Vec<String> = (0..cells.len()).map(name).collect();
        let known: std::collections::HashSet<&str> = header.iter().map(String::as_str).collect();
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut names = Vec::with_capacity(header.len());
        for first in &header {
            let mut name = first.clone();
            let mut count = counts.get(&name).copied().unwrap_or_default();
            while count > 0 {
                counts.insert(first.clone(), count + 1);
                name = format!("{first}.{count}");
                count = match known.contains(name.as_str()) {
                    true => count + 1,
                    false => counts.get(&name).copied().unwrap_or_default(),
                };
            }
            counts.insert(name.clone(), count + 1);
            names.push(name);
        }
        Self { delimiter: Some(delimiter), names }
    }

    /// Returns the number of a column.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    pub(super) fn is_null(&self, cell: &[u8]) -> bool {
        self.delimiter.is_some() && NULLS.contains(&cell)
    }
}

/// Types of the cells of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellKinds {
    has_numbers: bool,
    has_booleans: bool,
    has_texts: bool,
}

impl CellKinds {
    /// Adds a cell that is not null.
    pub(super) fn add(&mut self, cell: &[u8]) {
        let is_boolean = || [&b"True"[..], b"TRUE", b"true", b"False", b"FALSE", b"false"].contains(&cell);
        match () {
            () if self.has_texts => {}
            () if is_number(cell) => self.has_numbers = true,
            () if is_boolean() => self.has_booleans = true,
            () => self.has_texts = true,
        }
    }

    /// Returns the type that pandas infers for the cells, if it is not text. A column that has only nulls counts as text here.
    pub(super) fn not_text(self) -> Option<&'static str> {
        match (self.has_numbers, self.has_booleans, self.has_texts) {
            (true, false, false) => Some("numbers"),
            (false, true, false) => Some("booleans"),
            _ => None,
        }
    }

    /// Whether the column is text, regardless of further cells.
    pub(super) fn is_text(self) -> bool {
        self.has_texts || self.has_numbers && self.has_booleans
    }
}

/// Whether pandas reads a cell as a number.
fn is_number(cell: &[u8]) -> bool {
    /// Maximum length of a number.
    const MAX_NUMBER_BYTES: usize = 400;
    let cell = cell.trim_ascii();
    let text = std::str::from_utf8(cell).ok().filter(|_| cell.len() <= MAX_NUMBER_BYTES);
    // An integer that does not fit in 64 bits makes the column text.
    let is_integer = |text: &&str| text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
    let fits = |text: &&str| !is_integer(text) || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    let number = text.filter(fits).and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| !number.is_nan())
}
