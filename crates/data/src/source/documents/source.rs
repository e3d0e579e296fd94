//! Formats of files that contain documents, and blocks of documents.

use super::{with_column, Block, FileRewriter, Layout, Position, TableFormat, Text, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::pack::TextField;
use gristmill_core::{Cancel, Outcome, Problem};
use std::fmt::Debug;
use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

/// Size of the text in the blocks in which rows are counted, in bytes.
const COUNTED_BYTES: usize = 1 << 20;

/// The fields of documents that are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFields {
    /// Field that contains the text.
    pub text: TextField,
    /// Other top-level fields that are read.
    pub others: OtherFields,
}

/// Selects fields other than the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OtherFields {
    /// No other fields.
    #[default]
    None,
    /// The fields with these names.
    Named(Vec<String>),
    /// All fields.
    All,
    /// All fields; cells of formats without types are texts as written, and a row with missing cells is left out.
    Verbatim,
}

/// A format of files with documents.
pub trait DocumentSource: Debug + Sync {
    /// Returns the name of the format in options.
    fn id(&self) -> &'static str;

    /// Returns the name of the format in sentences.
    fn name(&self) -> &'static str;

    /// Returns the noun for the element that holds one document, in singular, such as `line`.
    fn item(&self) -> &'static str;

    /// Whether the documents are rows of a table.
    fn is_table(&self) -> bool {
        false
    }

    /// Returns the interface that opens the files as data sets; `None` if there is none.
    fn table(&self) -> Option<&'static dyn TableFormat> {
        None
    }

    /// Whether a file must be named by the user to be read in this format.
    fn is_chosen(&self) -> bool {
        false
    }

    /// Whether the files may be compressed as a whole.
    fn is_compressible(&self) -> bool {
        !self.is_table()
    }

    /// Whether the files are left out of folders with other documents, because they usually describe these.
    fn is_secondary(&self) -> bool {
        false
    }

    /// Returns the noun for a group of rows that are stored together, in singular; `None` if the format has no such groups.
    fn row_group(&self) -> Option<&'static str> {
        self.is_table().then_some("row group")
    }

    /// Describes the content of a file for the user.
    fn title(&self, file: &TextFile) -> &'static str;

    /// Whether a file in a folder is recognized as this format by its relative name.
    fn is_named(&self, name: &str) -> bool;

    /// Whether a file with this name and these first bytes, at most 8, has this format.
    fn accepts(&self, name: &str, head: &[u8]) -> bool;

    /// Whether reading can begin at every part of the file.
    fn is_divisible(&self, file: &TextFile) -> bool;

    /// Returns the ranges of rows that can be left out individually if they are damaged, which are the row groups; empty if the file can
    /// only be read as a whole.
    ///
    /// # Errors
    /// The description of the row groups in the file is damaged.
    fn row_groups(&self, file: &TextFile) -> Outcome<Vec<Range<u64>>> {
        let Some(format) = self.table().filter(|_| self.is_divisible(file)) else { return Ok(Vec::new()) };
        let table = format.open(&file.path)?;
        let group_from = |row| Some(table.group_of(row)).filter(|rows| !rows.is_empty());
        Ok(successors(group_from(0), |before| group_from(before.end)).collect())
    }

    /// Determines the layout of a file before it is read.
    ///
    /// # Errors
    /// The file is damaged, or its content does not match its name.
    fn layout(&self, file: &TextFile, fields: &DocumentFields, cancel: &Cancel) -> Outcome<Layout>;

    /// Opens a file to read blocks of about `block_bytes` of text, from a position that an earlier reader returned. Row groups in
    /// [`TextFile::damaged`] are left out.
    fn open(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>>;

    /// Returns a block from a byte range of the file.
    fn sample(&self, file: &TextFile, fields: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock>;

    /// Returns the interface that rewrites files of this format; `None` if they can only be read.
    fn rewriter(&self) -> Option<&'static dyn FileRewriter> {
        None
    }

    /// Counts the lines or rows of a file, including those without text. Also returns the problem of a loss in the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn count_rows(&self, file: &TextFile, cancel: &Cancel) -> Outcome<(u64, Option<Problem>)> {
        // With a program, the file needs no particular column.
        let fields = DocumentFields { text: TextField::Jq(String::new()), others: OtherFields::All };
        let mut reader = self.open(file, &fields, Position::default(), COUNTED_BYTES, cancel)?;
        let mut spare = Vec::new();
        while let Some(block) = reader.next(spare)? {
            spare = block.into_memory();
        }
        Ok((reader.position().line, reader.damage()?))
    }

    /// Returns the first documents as JSON objects.
    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines>;
}

/// The first documents of a file.
#[derive(Clone, Debug, Default)]
pub struct FirstLines {
    /// Number of each document, counted from 0, and its content.
    pub lines: Vec<(u64, Arc<[u8]>)>,
    /// Reason why there are no more documents, if the file is damaged.
    pub damage: Option<String>,
}

/// Reads the blocks of one file in order.
pub trait BlockReader: Send {
    /// Reads the next block into the memory of `spare`; returns `None` at the end of the readable part.
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>>;
    /// Returns the position after the last block.
    fn position(&self) -> Position;
    /// Returns the number of bytes of the file that were read.
    fn consumed(&self) -> u64;
    /// Returns the problem of a loss in the file; valid after the last block.
    fn damage(&self) -> Outcome<Option<Problem>>;
}

/// A block, and the number of bytes in the file that hold its text.
pub type SampledBlock = (DocumentBlock, u64);

/// Consecutive documents of a file.
#[derive(Debug)]
pub enum DocumentBlock {
    /// Lines of JSON.
    Lines(Block),
    /// Ranges of a file of lines.
    Spans {
        /// Number of the first document.
        first: u64,
        /// Offset and length of each document in the file, in bytes.
        spans: Vec<(u64, usize)>,
        /// The documents, concatenated.
        bytes: Vec<u8>,
    },
    /// Rows of a table.
    Rows(Box<dyn RowBlock>),
}

impl Default for DocumentBlock {
    fn default() -> Self {
        Self::Lines(Block::default())
    }
}

impl DocumentBlock {
    /// Returns the size of the memory in use, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Lines(block) => block.bytes.capacity(),
            Self::Spans { bytes, .. } => bytes.capacity(),
            Self::Rows(rows) => rows.memory_bytes(),
        }
    }

    /// Returns the memory, which the next block reuses.
    pub fn into_memory(self) -> Vec<u8> {
        match self {
            Self::Lines(Block { bytes, .. }) | Self::Spans { bytes, .. } => bytes,
            Self::Rows(rows) => rows.into_memory(),
        }
    }
}

/// Rows of a table as stored in the file, not decoded yet.
pub trait RowBlock: Debug + Send {
    /// Decodes the rows and passes them to `each` in order, several at a time.
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()>;
    /// Returns the size of the memory in use, in bytes.
    fn memory_bytes(&self) -> usize;
    /// Returns the memory, which the next block reuses.
    fn into_memory(self: Box<Self>) -> Vec<u8>;
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Number of the row in the file, counted from 0.
    pub number: u64,
    /// Number of its row group, counted from 0.
    pub group: u64,
    /// Text of the row; `None` if it must be extracted from `line`.
    pub text: Option<Text<'a>>,
    /// The fields that are read, as a JSON object; empty if only the text is read.
    pub line: &'a [u8],
    /// The column whose text cannot be read, if there is one and it is known.
    pub bad_column: Option<&'a str>,
}

impl Row<'_> {
    /// Returns the reason why the row is left out, with its column.
    pub fn with_column(&self, why: &str) -> String {
        with_column(why, self.bad_column)
    }
}

impl PartialEq for dyn DocumentSource {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for dyn DocumentSource {}
