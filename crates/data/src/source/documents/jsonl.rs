//! JSON lines, compressed or not, as a source of documents.

use super::packing::is_text;
use super::share::bytes_on_disk;
use super::source::{BlockReader, DocumentBlock, DocumentFields, DocumentSource, FirstLines, SampledBlock};
use super::{layout_of, read_unit, Block, Blocks, Layout, Position, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::{Cancel, Outcome, Problem};
use std::sync::Arc;

/// Size in bytes of the block from which the first documents are read.
pub(super) const FIRST_BLOCK_BYTES: usize = 256 << 10;

/// One object per line.
#[derive(Debug)]
pub struct Jsonl;

impl DocumentSource for Jsonl {
    fn id(&self) -> &'static str {
        "jsonl"
    }

    fn name(&self) -> &'static str {
        "JSON lines"
    }

    fn item(&self) -> &'static str {
        "line"
    }

    fn title(&self, file: &TextFile) -> &'static str {
        file.packing.title()
    }

    fn is_named(&self, name: &str) -> bool {
        is_text(name)
    }

    fn accepts(&self, _: &str, _: &[u8]) -> bool {
        true
    }

    fn is_divisible(&self, file: &TextFile) -> bool {
        file.packing.is_plain()
    }

    fn layout(&self, file: &TextFile, _: &DocumentFields, cancel: &Cancel) -> Outcome<Layout> {
        layout_of(file, cancel)
    }

    fn open(
        &self,
        file: &TextFile,
        _: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>> {
        Ok(Box::new(LineReader { blocks: Blocks::open(file, block_bytes, from, cancel)?, file: file.clone() }))
    }

    fn sample(&self, file: &TextFile, _: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock> {
        if file.packing.is_plain() {
            let block = read_unit(&file.open()?, range, Vec::new(), cancel)?;
            let bytes = block.bytes.len() as u64;
            return Ok((DocumentBlock::Lines(block), bytes));
        }
        let size = usize::try_from(range.end - range.start).unwrap_or(1);
        let mut blocks = Blocks::open(file, size, Position::default(), cancel)?;
        let block = blocks.next(Vec::new())?.unwrap_or_default();
        let on_disk = bytes_on_disk(file, block.bytes.len() as u64)?;
        Ok((DocumentBlock::Lines(block), on_disk))
    }

    fn first_documents(&self, file: &TextFile, most: usize, cancel: &Cancel) -> Outcome<FirstLines> {
        let mut blocks = Blocks::open(file, FIRST_BLOCK_BYTES, Position::default(), cancel)?;
        let mut first = FirstLines::default();
        if let Some(block) = blocks.next(Vec::new())? {
            first.lines = first_lines(&block, most);
        }
        first.damage = blocks.damage().map(|damage| damage.problem(file).message);
        Ok(first)
    }
}

/// Returns the first lines of a block that are not blank, with their numbers; at most `most`.
pub(super) fn first_lines(block: &Block, most: usize) -> Vec<(u64, Arc<[u8]>)> {
    let lines = block.lines().filter(|line| !line.is_overlong() && !line.bytes.trim_ascii().is_empty());
    lines.take(most).map(|line| (line.number, Arc::from(line.bytes))).collect()
}

/// Reads blocks of lines.
pub(super) struct LineReader {
    pub(super) blocks: Blocks,
    pub(super) file: TextFile,
}

impl BlockReader for LineReader {
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>> {
        Ok(self.blocks.next(spare)?.map(DocumentBlock::Lines))
    }

    fn position(&self) -> Position {
        self.blocks.position()
    }

    fn consumed(&self) -> u64 {
        self.blocks.consumed()
    }

    fn damage(&self) -> Outcome<Option<Problem>> {
        let damage = self.blocks.damage().map(|damage| damage.problem(&self.file));
        Ok(damage.or_else(|| self.blocks.form_damage(&self.file)))
    }
}
