//! Writes the documents of a set in shuffled order (docs/formats/olmo.md §5).

use super::files::{ends_spool, rows_spool, tokens_name, tokens_spool, PartFiles, ENDS_BYTES};
use super::table::{append_tokens, TableFile};
use crate::job::publish::FinishedFile;
use crate::tokens::format::FinishContext;
use crate::tokens::spool::each_chunk_of;
use gristmill_core::{Failure, Outcome};
use gristmill_pycompat::numpy_random::Generator;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::PathBuf;

/// Writes the files of a set whose documents are in the spools of one file. Needs four bytes of memory per document, or eight if there are
/// more than 2³².
pub(super) fn shuffle(output: &PartFiles, finishing: &FinishContext<'_>) -> Outcome<Vec<FinishedFile>> {
    let [tokens, rows, ends] =
        [tokens_spool(0), rows_spool(0), ends_spool()].map(|name| open_read(&finishing.spool(&name)));
    let (tokens, rows, ends) = (tokens?, rows?, ends?);
    let documents = finishing.bytes(&ends_spool()) / ENDS_BYTES;
    let order = Generator::seeded(output.plan.seed).permutation(documents);
    let mut part = Part::create(finishing, 0)?;
    let mut made = Vec::new();
    for document in order.iter() {
        finishing.context.cancel.check()?;
        let (first, end) = (end_before(&ends, document)?, end_before(&ends, document + 1)?);
        let length = end.tokens - first.tokens;
        if output.is_full(part.length, length) {
            let number = part.number + 1;
            made.extend(part.finish(output)?);
            part = Part::create(finishing, number)?;
        }
        let mut row = String::new();
        append_tokens(part.length, part.length + length, &mut row);
        part.table.append(row.as_bytes())?;
        each_chunk_of(&rows, first.rows, end.rows, &mut |bytes| part.table.append(bytes))?;
        let width = output.token_bytes as u64;
        each_chunk_of(&tokens, first.tokens * width, end.tokens * width, &mut |bytes| part.tokens.write_all(bytes))?;
        part.length += length;
    }
    made.extend(part.finish(output)?);
    Ok(made)
}

/// The end of a document in the spools.
#[derive(Default)]
struct DocumentEnd {
    tokens: u64,
    /// Offset in the spool of rows, in bytes.
    rows: u64,
}

/// Returns the end of the previous document.
fn end_before(ends: &ReadFile, document: u64) -> Outcome<DocumentEnd> {
    let Some(before) = document.checked_sub(1) else { return Ok(DocumentEnd::default()) };
    let mut numbers = [0; 2];
    for (at, number) in (before * ENDS_BYTES..).step_by(8).zip(&mut numbers) {
        let mut bytes = [0; 8];
        ends.read_exact_at(&mut bytes, at).map_err(|error| Failure::io("reading the spool", ends.path(), &error))?;
        *number = u64::from_le_bytes(bytes);
    }
    Ok(DocumentEnd { tokens: numbers[0], rows: numbers[1] })
}

/// A token file that is being written, and its table.
struct Part {
    number: u64,
    /// Number of tokens written so far.
    length: u64,
    path: PathBuf,
    tokens: BufferedFile,
    table: TableFile,
}

impl Part {
    fn create(finishing: &FinishContext<'_>, number: u64) -> Outcome<Self> {
        let path = finishing.folder.join(tokens_name(number));
        let (tokens, table) = (finishing.create(&path)?, TableFile::create(finishing, number)?);
        Ok(Self { number, length: 0, path, tokens, table })
    }

    fn finish(self, output: &PartFiles) -> Outcome<[FinishedFile; 2]> {
        let Self { number, path, tokens, table, .. } = self;
        tokens.close()?;
        Ok([FinishedFile::of(table.finish()?, output.table(number))?, FinishedFile::of(path, output.tokens(number))?])
    }
}
