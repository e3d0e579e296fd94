//! Kinds of files that hold documents, and blocks of these.

use super::{Block, FileRewriter, Layout, Position, TableFormat, Text, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::pack::TextField;
use gristmill_core::{Cancel, Outcome, Problem};
use std::fmt::Debug;
use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

/// Text of the blocks in which rows are counted, in bytes.
const COUNTED_BYTES: usize = 1 << 20;

/// The fields of documents that are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFields {
    /// Field of the text.
    pub text: TextField,
    /// Other top-level fields that are read.
    pub others: OtherFields,
}

/// Fields other than that of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OtherFields {
    /// None.
    #[default]
    None,
    /// Those of these names.
    Named(Vec<String>),
    /// All.
    All,
    /// All; cells that have no type are texts as they are written, and a row that lacks cells is left out.
    Verbatim,
}

/// A kind of files with documents.
pub trait DocumentSource: Debug + Sync {
    /// Returns its name in options.
    fn id(&self) -> &'static str;

    /// Returns its name in sentences.
    fn name(&self) -> &'static str;

    /// Returns what holds one document, in singular.
    fn item(&self) -> &'static str;

    /// Whether its documents are rows of a table.
    fn is_table(&self) -> bool {
        false
    }

    /// Returns what opens its files as data sets of their own; `None` if nothing does.
    fn table(&self) -> Option<&'static dyn TableFormat> {
        None
    }

    /// Whether only files that the user has named are of this kind.
    fn is_chosen(&self) -> bool {
        false
    }

    /// Whether its files may be compressed as a whole.
    fn is_compressible(&self) -> bool {
        !self.is_table()
    }

    /// Whether its files are left out of folders that hold other documents, which they usually describe.
    fn is_secondary(&self) -> bool {
        false
    }

    /// Returns what holds rows that are stored together, in singular; `None` if nothing does.
    fn row_group(&self) -> Option<&'static str> {
        self.is_table().then_some("row group")
    }

    /// Describes the contents of a file for the user.
    fn title(&self, file: &TextFile) -> &'static str;

    /// Whether files of folders are recognized by this name, which is relative.
    fn is_named(&self, name: &str) -> bool;

    /// Whether a file of this name that begins with these bytes, at most 8, is of this kind.
    fn accepts(&self, name: &str, head: &[u8]) -> bool;

    /// Whether reading can begin at every part of the file.
    fn is_divisible(&self, file: &TextFile) -> bool;

    /// Returns the groups of rows that can be left out if they are damaged; none if the file is read as a whole.
    ///
    /// # Errors
    /// What describes the groups is damaged.
    fn row_groups(&self, file: &TextFile) -> Outcome<Vec<Range<u64>>> {
        let Some(format) = self.table().filter(|_| self.is_divisible(file)) else { return Ok(Vec::new()) };
        let table = format.open(&file.path)?;
        let group_from = |row| Some(table.group_of(row)).filter(|rows| !rows.is_empty());
        Ok(successors(group_from(0), |before| group_from(before.end)).collect())
    }

    /// Examines the layout of a file before it is read.
    ///
    /// # Errors
    /// The file is damaged, or is not what its name says.
    fn layout(&self, file: &TextFile, fields: &DocumentFields, cancel: &Cancel) -> Outcome<Layout>;

    /// Opens a file to read blocks of about `block_bytes` of text from a position that an earlier reader returned. Groups of rows that the
    /// file has as damaged are left out.
    fn open(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>>;

    /// Returns a block from a range of bytes of the file, and the bytes on disk that hold its text.
    fn sample(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        range: Unit,
        cancel: &Cancel,
    ) -> Outcome<(DocumentBlock, u64)>;

    /// Returns what writes such files again with other texts; `None` if they are only read.
    fn rewriter(&self) -> Option<&'static dyn FileRewriter> {
        None
    }

    /// Counts the lines or rows of a file, also those without text. Returns also what is lost of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn count_rows(&self, file: &TextFile, cancel: &Cancel) -> Outcome<(u64, Option<Problem>)> {
        // A program names no column that the file could lack.
        let fields = DocumentFields { text: TextField::Jq(String::new()), others: OtherFields::All };
        let mut reader = self.open(file, &fields, Position::default(), COUNTED_BYTES, cancel)?;
        let mut spare = Vec::new();
        while let Some(block) = reader.next(spare)? {
            spare = block.into_memory();
        }
        Ok((reader.position().line, reader.damage()?))
    }

    /// Returns the first documents as objects of JSON.
    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines>;
}

/// The first documents of a file.
#[derive(Clone, Debug, Default)]
pub struct FirstLines {
    /// Number, counted from 0, and document.
    pub lines: Vec<(u64, Arc<[u8]>)>,
    /// Why there are no more, if the file is damaged.
    pub damage: Option<String>,
}

/// Reads the blocks of one file in order.
pub trait BlockReader: Send {
    /// Returns the next block, in the memory of `spare`; `None` at the end of the readable part.
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>>;
    /// Returns the position after the last block.
    fn position(&self) -> Position;
    /// Returns the bytes of the file that were read.
    fn consumed(&self) -> u64;
    /// Returns what is lost of the file; valid after the last block.
    fn damage(&self) -> Outcome<Option<Problem>>;
}

/// Some documents of a file that follow each other.
#[derive(Debug)]
pub enum DocumentBlock {
    /// Lines of JSON.
    Lines(Block),
    /// Parts of a file of lines.
    Spans {
        /// Number of the first one.
        first: u64,
        /// Offset and length of each in the file, in bytes.
        spans: Vec<(u64, usize)>,
        /// Their contents, concatenated.
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
    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Lines(block) => block.bytes.capacity(),
            Self::Spans { bytes, .. } => bytes.capacity(),
            Self::Rows(rows) => rows.memory_bytes(),
        }
    }

    /// Returns the memory, for the next block.
    pub fn into_memory(self) -> Vec<u8> {
        match self {
            Self::Lines(Block { bytes, .. }) | Self::Spans { bytes, .. } => bytes,
            Self::Rows(rows) => rows.into_memory(),
        }
    }
}

/// Rows of a table, as the file holds them.
pub trait RowBlock: Debug + Send {
    /// Decodes the rows and passes them on in order, several at a time.
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()>;
    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;
    /// Returns the memory, for the next block.
    fn into_memory(self: Box<Self>) -> Vec<u8>;
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its number in the file, counted from 0.
    pub number: u64,
    /// Its group of rows, counted from 0.
    pub group: u64,
    /// Its text; `None` if it must be extracted from `line`.
    pub text: Option<Text<'a>>,
    /// The fields that are read, as an object of JSON; empty if the text is all that is read.
    pub line: &'a [u8],
}

impl PartialEq for dyn DocumentSource {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for dyn DocumentSource {}
