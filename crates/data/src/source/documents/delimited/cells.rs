//! Rows and cells in the bytes of a file with delimiters, by the rules of pandas' `read_csv` (docs/formats/csv.md). Without a delimiter, a
//! row is a line of plain text.

use crate::source::documents::json_array::MARK;
use crate::source::documents::line_form::LineForm;

/// Replaces a line end inside a cell, so that a row is one line.
const NEWLINE: u8 = 0xFF;
/// Replaces the bytes with the values of the markers here, which never occur in UTF-8.
const INVALID: u8 = 0xFE;
/// Replaces bytes between rows, and the header; filler at the beginning of a line is not part of its row.
const FILLER: u8 = 0xFD;

/// State of the parser within a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// At the beginning of a row.
    #[default]
    Row,
    /// After `\r`, which ended a row or a blank line.
    AfterCr,
    /// In blanks at the beginning of a row.
    Blanks,
    /// At the beginning of a cell, after the delimiter.
    Cell,
    Bare,
    Quoted,
    /// After a quote in a quoted cell, which is the end of the quoting or the first of two quotes.
    Quote,
}

/// Meaning of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Content,
    Quote,
    Delimiter,
    RowEnd,
    /// Part of a blank line, or the second byte of a line end.
    Skipped,
}

impl State {
    /// Returns the state after a byte, and the meaning of the byte.
    fn after(self, byte: u8, delimiter: Option<u8>) -> (Self, Role) {
        let is_delimiter = Some(byte) == delimiter;
        let has_cells = delimiter.is_some();
        match (self, byte) {
            (Self::AfterCr, b'\n') => (Self::Row, Role::Skipped),
            (Self::Quoted, b'"') => (Self::Quote, Role::Quote),
            (Self::Quoted, _) => (Self::Quoted, Role::Content),
            (Self::Quote, b'"') => (Self::Quoted, Role::Content),
            (Self::Row | Self::Blanks, b'\n') if has_cells => (Self::Row, Role::Skipped),
            (Self::Row | Self::AfterCr | Self::Blanks, b'\r') if has_cells => (Self::AfterCr, Role::Skipped),
            (_, b'\n') => (Self::Row, Role::RowEnd),
            (_, b'\r') => (Self::AfterCr, Role::RowEnd),
            _ if is_delimiter => (Self::Cell, Role::Delimiter),
            (Self::Row | Self::AfterCr | Self::Cell, b'"') if has_cells => (Self::Quoted, Role::Quote),
            (Self::Row | Self::AfterCr | Self::Blanks, b' ' | b'\t') if has_cells => (Self::Blanks, Role::Content),
            _ => (Self::Bare, Role::Content),
        }
    }
}

/// Changes rows to lines.
#[derive(Clone, Debug)]
pub(super) struct RowForm {
    delimiter: Option<u8>,
    state: State,
    /// Whether the next row is the header, which is skipped.
    is_header: bool,
    /// Number of bytes of the byte-order mark at the beginning of the text that were read; its full length once no further byte can belong
    /// to it.
    mark: usize,
}

impl RowForm {
    /// Returns the form of the rows below the header, or of all rows.
    pub(super) fn new(delimiter: Option<u8>, has_header: bool) -> Self {
        Self { delimiter, state: State::default(), is_header: has_header, mark: 0 }
    }
}

impl RowForm {
    /// Whether a byte continues a byte-order mark at the beginning of the text.
    fn is_mark(&mut self, byte: u8) -> bool {
        match MARK.get(self.mark) {
            Some(next) if *next == byte => {
                self.mark += 1;
                true
            }
            Some(_) => {
                if self.mark > 0 {
                    self.state = State::Bare;
                }
                self.mark = MARK.len();
                false
            }
            None => false,
        }
    }
}

impl LineForm for RowForm {
    fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let (state, role) = match self.is_mark(*byte) {
                // The mark does not change the state, so that a quote after it begins a cell.
                true => (self.state, Role::Content),
                false => self.state.after(*byte, self.delimiter),
            };
            self.state = state;
            *byte = match (role, *byte) {
                _ if self.is_header => {
                    self.is_header = role != Role::RowEnd;
                    FILLER
                }
                (Role::RowEnd, _) => b'\n',
                (Role::Skipped, _) => FILLER,
                (_, b'\n') => NEWLINE,
                (_, FILLER..) => INVALID,
                (_, byte) => byte,
            };
        }
    }

    fn has_open_line(&self) -> bool {
        !self.is_header && matches!(self.state, State::Cell | State::Bare | State::Quote)
    }

    fn damage(&self, lines: u64) -> Option<(String, &'static str)> {
        let row = if self.is_header { "the header".to_owned() } else { format!("row {lines}") };
        (self.state == State::Quoted).then(|| {
            let why = format!("the quotes of a cell of {row} have no end: what follows them is not read");
            (why, "the file is cut short, or a quote inside of the cell is not doubled")
        })
    }

    fn resume(&mut self, before: u8) -> bool {
        (self.is_header, self.mark) = (false, MARK.len());
        self.state = if before == b'\r' { State::AfterCr } else { State::Row };
        true
    }
}

/// The cells of a row; the memory is reused.
#[derive(Debug, Default)]
pub(super) struct Cells {
    bytes: Vec<u8>,
    /// Offset of the end of each cell.
    ends: Vec<usize>,
}

impl Cells {
    /// Reads the cells of a line that [`RowForm`] produced, at most `most` and one more.
    pub(super) fn read(&mut self, line: &[u8], delimiter: Option<u8>, most: usize) {
        self.bytes.clear();
        self.ends.clear();
        let start = memchr::memrchr(FILLER, line).map_or(0, |at| at + 1);
        let mut state = State::default();
        for byte in line.get(start..).unwrap_or_default() {
            let (next, role) = state.after(*byte, delimiter);
            state = next;
            match (role, *byte) {
                (Role::Delimiter, _) if self.ends.len() == most => break,
                (Role::Delimiter, _) => self.ends.push(self.bytes.len()),
                (Role::Content, NEWLINE) => self.bytes.push(b'\n'),
                (Role::Content, byte) => self.bytes.push(byte),
                (Role::Quote | Role::RowEnd | Role::Skipped, _) => {}
            }
        }
        self.ends.push(self.bytes.len());
    }

    /// Returns the number of cells.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a cell; empty if the row has fewer.
    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        start.zip(self.ends.get(number)).and_then(|(start, end)| self.bytes.get(start..*end)).unwrap_or_default()
    }

    /// Releases the memory if a row needed more than `most_bytes`.
    pub(super) fn shrink(&mut self, most_bytes: usize) {
        self.bytes.clear();
        self.ends.clear();
        self.bytes.shrink_to(most_bytes);
        self.ends.shrink_to(most_bytes / size_of::<usize>());
    }
}
