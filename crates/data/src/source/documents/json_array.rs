//! Files of one JSON array, whose elements are the documents (docs/formats/json.md).

use super::elements::Elements;
use super::jsonl::{first_lines, LineReader, FIRST_BLOCK_BYTES};
use super::layout::has_array_lines;
use super::source::{BlockReader, DocumentBlock, DocumentFields, DocumentSource, FirstLines, SampledBlock};
use super::{layout_of, Blocks, Jsonl, Layout, Position, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::{Cancel, Outcome};

/// Suffix of such files.
const SUFFIX: &str = ".json";
/// The UTF-8 byte-order mark.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// One array of objects.
#[derive(Debug)]
pub struct JsonArray;

impl DocumentSource for JsonArray {
    fn id(&self) -> &'static str {
        "json-array"
    }

    fn name(&self) -> &'static str {
        "JSON arrays"
    }

    fn item(&self) -> &'static str {
        "element"
    }

    fn is_chosen(&self) -> bool {
        true
    }

    fn title(&self, _: &TextFile) -> &'static str {
        "JSON array"
    }

    fn is_named(&self, _: &str) -> bool {
        false
    }

    fn accepts(&self, name: &str, head: &[u8]) -> bool {
        let head = head.strip_prefix(MARK).unwrap_or(head);
        name.ends_with(SUFFIX) && head.trim_ascii_start().starts_with(b"[")
    }

    fn is_divisible(&self, _: &TextFile) -> bool {
        false
    }

    fn layout(&self, file: &TextFile, _: &DocumentFields, cancel: &Cancel) -> Outcome<Layout> {
        Ok(match layout_of(file, cancel)? {
            Layout::Array => Layout::Lines,
            other => other,
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
        match has_array_lines(file, cancel)? {
            false => {
                let blocks = Blocks::open_form(Box::new(Elements::default()), file, block_bytes, from, cancel)?;
                Ok(Box::new(LineReader { blocks, file: file.clone() }))
            }
            true => Jsonl.open(file, fields, from, block_bytes, cancel),
        }
    }

    fn sample(&self, file: &TextFile, fields: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock> {
        let size = usize::try_from(range.end - range.start).unwrap_or(1);
        let mut reader = self.open(file, fields, Position::default(), size, cancel)?;
        let block = reader.next(Vec::new())?.unwrap_or_default();
        Ok((block, reader.position().offset.clamp(1, file.bytes.max(1))))
    }

    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines> {
        let fields = DocumentFields::default();
        let mut reader = self.open(file, &fields, Position::default(), FIRST_BLOCK_BYTES, cancel)?;
        let lines = match reader.next(Vec::new())? {
            Some(DocumentBlock::Lines(block)) => first_lines(&block, most),
            _ => Vec::new(),
        };
        Ok(FirstLines { lines, damage: reader.damage()?.map(|problem| problem.message) })
    }
}
