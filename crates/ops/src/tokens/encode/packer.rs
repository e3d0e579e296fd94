//! Packs a piece of a file for all specs.

use super::document_ids::IdSource;
use super::encoding_spec::{EncodingSpec, Kind};
use super::masks;
use super::packed::{EncodedBlock, Finding, PackedPiece};
use super::row_assignment::RowFilter;
use super::sequence_rules::SequenceRules;
use super::sequences::{LineEncoder, LineResult, NOT_ENCODED};
use gristmill_core::{Cancel, Outcome, PackPlan, ProblemKind};
use gristmill_data::source::documents::{
    cr_lines, keys_of, text_at, Block, Document, DocumentBlock, DocumentVerdict, Extractor, ParsedLine, Row, RowBlock,
    Text,
};
use gristmill_tokenizer::{Batch, Encoder, ParityCheck, SpecialTokenFinder, Tokenizer};
use memchr::memchr;

/// Number of documents between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: usize = 256;
/// Maximum number of documents of a batch. A batch also ends when it reaches `BATCH_BYTES`.
const DOCUMENTS_PER_BATCH: usize = 64;
const BATCH_BYTES: usize = 32 << 10;
/// The reason for skipping a line that is not held in memory.
const LINE_TOO_LONG: &str = "the line is longer than 64 MiB";

/// The reason why a format that lists ids omits a document.
const NO_ID: &str = "its id is missing, or is not text (--id-key)";

/// A block of a file, and the rows of it that are packed.
#[derive(Debug, Default)]
pub struct FileBlock {
    /// Index of the file among the files of the pass.
    pub file: usize,
    /// The documents of the block.
    pub documents: DocumentBlock,
    /// The rows of the block that are packed.
    pub rows: RowFilter,
}

/// A line, span or row of a block.
#[derive(Clone, Copy)]
struct Unit<'a> {
    number: u64,
    /// Offset of a line or span in bytes; for a row, its row group.
    start: u64,
    bytes: &'a [u8],
    is_row: bool,
    /// The column of a row whose text cannot be read.
    bad_column: Option<&'a str>,
}

/// The specs that receive a text, by the line ends that they accept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewlineMode {
    All,
    /// Specs that also end lines at `\r`.
    CrReaders,
    Others,
}

/// A document that has not been encoded yet.
struct PendingDocument<'p> {
    unit: Unit<'p>,
    reading: NewlineMode,
    line: ParsedLine<'p>,
    /// Index among the texts of the batch; `None` if no spec packs the document.
    text: Option<usize>,
}

/// The documents of the next batch.
#[derive(Default)]
struct PendingBatch<'p> {
    documents: Vec<PendingDocument<'p>>,
    /// Number of texts of the batch, and their bytes.
    texts: usize,
    bytes: usize,
}

/// Packs pieces into tokens; one for each thread.
pub struct Packer<'a> {
    specs: &'a [EncodingSpec],
    /// Whether at least one spec reads the text field.
    wants_text: bool,
    extractor: Extractor,
    encoder: Encoder,
    finder: SpecialTokenFinder,
    guard: Option<ParityCheck>,
    batch: Batch,
    /// The encoded texts of one line.
    line_batch: Batch,
    whole: Vec<u32>,
    cancel: Cancel,
}

impl<'a> Packer<'a> {
    /// Returns a packer for the texts of a plan. A jq program that does not compile is a usage error.
    pub fn new(specs: &'a [EncodingSpec], plan: &PackPlan, tokenizer: &Tokenizer, cancel: &Cancel) -> Outcome<Self> {
        Ok(Self {
            specs,
            wants_text: specs.iter().any(|spec| spec.kind.reads_text()),
            extractor: Extractor::new(&plan.text)?.stripping(plan.strip),
            encoder: tokenizer.encoder(),
            finder: tokenizer.special_token_finder(),
            guard: tokenizer.is_fast().then(|| tokenizer.guard()),
            batch: Batch::default(),
            line_batch: Batch::default(),
            whole: Vec::new(),
            cancel: cancel.clone(),
        })
    }

    /// Limits the growth of the caches to `bytes` bytes.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: usize) -> Self {
        Self { encoder: self.encoder.with_cache_bytes(bytes), ..self }
    }

    /// Packs a piece. If the fast tokenizer differs from the reference, sets `out.mismatch` and stops before the end of the piece.
    pub fn run(&mut self, piece: &FileBlock, out: &mut PackedPiece) -> Outcome<()> {
        out.clear(self.specs.len());
        match &piece.documents {
            DocumentBlock::Lines(block) => self.lines(piece, block, out),
            DocumentBlock::Spans { first, spans, bytes } => self.spans(piece.file, (*first, spans, bytes), out),
            DocumentBlock::Rows(rows) => self.rows(piece, &**rows, out),
        }
    }

    fn lines(&mut self, piece: &FileBlock, block: &Block, out: &mut PackedPiece) -> Outcome<()> {
        let (file, has_all) = (piece.file, piece.rows.has_all());
        let has_cr = self.specs.iter().any(ends_lines_at_cr) && memchr(b'\r', &block.bytes).is_some();
        let mut queue = PendingBatch::default();
        out.text_bytes = if has_all { block.bytes.len() as u64 } else { 0 };
        for (count, line) in block.lines().enumerate() {
            self.check_cancel(count)?;
            if !has_all {
                if !piece.rows.has(line.number) {
                    continue;
                }
                out.text_bytes += line.bytes.len() as u64 + 1;
            }
            out.items += 1;
            if line.is_overlong() {
                self.flush(file, &mut queue, out)?;
                self.skip_all(line.number, line.start, LINE_TOO_LONG, out);
                continue;
            }
            let unit =
                Unit { number: line.number, start: line.start, bytes: line.bytes, is_row: false, bad_column: None };
            self.line(file, unit, has_cr, &mut queue, out)?;
            if out.mismatch.is_some() {
                return Ok(());
            }
        }
        self.flush(file, &mut queue, out)
    }

    fn spans(
        &mut self,
        file: usize,
        (first, spans, bytes): (u64, &[(u64, usize)], &[u8]),
        out: &mut PackedPiece,
    ) -> Outcome<()> {
        let mut queue = PendingBatch::default();
        (out.text_bytes, out.items) = (bytes.len() as u64, spans.len() as u64);
        let mut at = 0;
        for (count, (start, length)) in spans.iter().enumerate() {
            self.check_cancel(count)?;
            let bytes = bytes.get(at..at + length).unwrap_or_default();
            at += length;
            let unit = Unit { number: first + count as u64, start: *start, bytes, is_row: false, bad_column: None };
            let held = self.extractor.document_in_batch(bytes);
            self.add_document(file, (unit, held), NewlineMode::All, &mut queue, out)?;
            if out.mismatch.is_some() {
                return Ok(());
            }
        }
        self.flush(file, &mut queue, out)
    }

    fn rows(&mut self, piece: &FileBlock, rows: &dyn RowBlock, out: &mut PackedPiece) -> Outcome<()> {
        let file = piece.file;
        rows.decode(&mut |rows: &[Row<'_>]| {
            let mut queue = PendingBatch::default();
            for row in rows.iter().filter(|row| piece.rows.has(row.number)) {
                self.check_cancel(usize::try_from(out.items).unwrap_or(usize::MAX))?;
                out.items += 1;
                let unit = Unit {
                    number: row.number,
                    start: row.group,
                    bytes: row.line,
                    is_row: true,
                    bad_column: row.bad_column,
                };
                let held = match row.text {
                    Some(text) => self.extractor.text_in_batch(text),
                    None => self.extractor.document_in_batch(row.line),
                };
                out.text_bytes += held.document(&self.extractor).text.as_str().len() as u64;
                self.add_document(file, (unit, held), NewlineMode::All, &mut queue, out)?;
                if out.mismatch.is_some() {
                    return Ok(());
                }
            }
            self.flush(file, &mut queue, out)
        })
    }

    fn check_cancel(&self, count: usize) -> Outcome<()> {
        if count.is_multiple_of(CANCEL_CHECK_EVERY) {
            self.cancel.check()?;
        }
        Ok(())
    }

    fn skip_all(&self, line: u64, start: u64, reason: &'static str, out: &mut PackedPiece) {
        for number in 0..self.specs.len() {
            skip(
                number,
                Unit { number: line, start, bytes: b"", is_row: false, bad_column: None },
                reason,
                false,
                ProblemKind::BadDocument,
                out,
            );
        }
    }

    /// Packs a line. Splits it for specs that end lines at `\r`.
    fn line<'p>(
        &mut self,
        file: usize,
        line: Unit<'p>,
        has_cr: bool,
        queue: &mut PendingBatch<'p>,
        out: &mut PackedPiece,
    ) -> Outcome<()> {
        let inner = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        if !has_cr || memchr(b'\r', inner).is_none() {
            let held = self.extractor.document_in_batch(line.bytes);
            return self.add_document(file, (line, held), NewlineMode::All, queue, out);
        }
        for (at, bytes) in cr_lines(line.bytes) {
            let part =
                Unit { number: line.number, start: line.start + at as u64, bytes, is_row: false, bad_column: None };
            let held = self.extractor.document_in_batch(bytes);
            self.add_document(file, (part, held), NewlineMode::CrReaders, queue, out)?;
        }
        if self.specs.iter().all(ends_lines_at_cr) {
            return Ok(());
        }
        let held = self.extractor.document_in_batch(line.bytes);
        self.add_document(file, (line, held), NewlineMode::Others, queue, out)
    }

    /// Adds a document to the batch; encodes the batch if it is large enough.
    fn add_document<'p>(
        &mut self,
        file: usize,
        (unit, held): (Unit<'p>, ParsedLine<'p>),
        reading: NewlineMode,
        queue: &mut PendingBatch<'p>,
        out: &mut PackedPiece,
    ) -> Outcome<()> {
        if out.mismatch.is_some() {
            return Ok(());
        }
        let document = held.document(&self.extractor);
        let is_for_text = |spec: &&EncodingSpec| reading.wants(spec) && spec.kind.reads_text();
        let mut verdicts = self.specs.iter().filter(is_for_text).map(|spec| verdict(spec, &document, unit.is_row));
        let text = match verdicts.find(|verdict| matches!(verdict, DocumentVerdict::Take(_))) {
            Some(DocumentVerdict::Take(text)) => {
                queue.texts += 1;
                queue.bytes += text.len();
                Some(queue.texts - 1)
            }
            _ => None,
        };
        queue.documents.push(PendingDocument { unit, reading, line: held, text });
        if queue.is_full() {
            self.flush(file, queue, out)?;
        }
        Ok(())
    }

    /// Encodes the texts of the batch, and adds the documents for each spec.
    fn flush(&mut self, file: usize, queue: &mut PendingBatch<'_>, out: &mut PackedPiece) -> Outcome<()> {
        let Self { extractor, encoder, batch, .. } = self;
        let with_text = queue.documents.iter().filter(|waiting| waiting.text.is_some());
        let texts: Vec<&str> = with_text.map(|waiting| waiting.line.document(extractor).text.as_str()).collect();
        encoder.encode_all(&texts, batch)?;
        (queue.texts, queue.bytes) = (0, 0);
        for waiting in queue.documents.drain(..) {
            self.document(file, &waiting, out)?;
            if out.mismatch.is_some() {
                break;
            }
        }
        self.extractor.clear();
        Ok(())
    }

    fn document(&mut self, file: usize, waiting: &PendingDocument<'_>, out: &mut PackedPiece) -> Outcome<()> {
        let Self { specs, wants_text, extractor, encoder, finder, guard, batch, line_batch, whole, .. } = self;
        let PendingDocument { unit, reading, line: held, text: text_number } = *waiting;
        let document = held.document(extractor);
        let ids = text_number.and_then(|number| batch.ids(number));
        let mut guard = guard.as_mut().filter(|guard| guard.wants(document_number(file, unit.number)));
        let (mut is_compared, mut is_taken, mut special) = (false, false, Vec::<u32>::new());
        for (number, spec) in specs.iter().enumerate() {
            if !reading.wants(spec) {
                continue;
            }
            if let Kind::Parts(parts) = &spec.kind {
                let encoded = out.encoded_blocks.get_mut(number);
                match masks::parts(spec, parts, unit.bytes, &document, (encoder, finder), encoded)? {
                    Ok(found) => {
                        is_taken = true;
                        special.extend(found.special);
                        if !*wants_text {
                            out.tokens += found.tokens;
                        }
                    }
                    Err(reason) => skip(number, unit, reason, false, kind_of(&document), out),
                }
                continue;
            }
            if let Some(rules) = spec.kind.sequences().filter(|rules| rules.reads_line(&document)) {
                let of_line = LineEncoder { encoder, finder, guard: guard.as_deref_mut(), batch: line_batch, whole };
                let has_text = ids.is_some();
                if let Some(found) = pack_line(of_line, (number, spec, rules), unit, &document, has_text, out)? {
                    is_taken = true;
                    special.extend(found);
                }
                if out.mismatch.is_some() {
                    return Ok(());
                }
                continue;
            }
            let text = match verdict(spec, &document, unit.is_row) {
                DocumentVerdict::Take(text) => text,
                DocumentVerdict::Skip(reason) => {
                    report_keys(&document, unit, out);
                    skip(number, unit, reason, true, kind_of(&document), out);
                    continue;
                }
                DocumentVerdict::Refuse(reason) => {
                    report_keys(&document, unit, out);
                    skip(number, unit, reason, false, kind_of(&document), out);
                    continue;
                }
            };
            let Some(ids) = ids else {
                skip(number, unit, NOT_ENCODED, false, ProblemKind::BadDocument, out);
                continue;
            };
            if let Some(guard) = guard.as_deref_mut().filter(|_| !std::mem::replace(&mut is_compared, true)) {
                out.mismatch = guard.check(text, ids)?;
                if out.mismatch.is_some() {
                    return Ok(());
                }
            }
            let Some(encoded) = out.encoded_blocks.get_mut(number) else { continue };
            match add_ids(spec, (unit, text, ids), encoder, encoded, whole)? {
                Ok(()) => {
                    if special.is_empty() {
                        special.extend(finder.find(text, ids));
                    }
                    is_taken = true;
                }
                Err(reason) => skip(number, unit, reason, false, ProblemKind::BadDocument, out),
            }
        }
        // Each document of a split line is counted, the whole line is not.
        if is_taken && reading != NewlineMode::Others {
            out.documents += 1;
            out.tokens += ids.map_or(0, |ids| ids.len() as u64);
            out.special.add(unit.number, &special);
        }
        Ok(())
    }
}

impl PendingBatch<'_> {
    fn is_full(&self) -> bool {
        self.documents.len() >= DOCUMENTS_PER_BATCH || self.bytes >= BATCH_BYTES
    }
}

impl NewlineMode {
    fn wants(self, spec: &EncodingSpec) -> bool {
        match self {
            Self::All => true,
            Self::CrReaders => ends_lines_at_cr(spec),
            Self::Others => !ends_lines_at_cr(spec),
        }
    }
}

/// Adds the tokens of a document, and its line, id and number of characters if the spec wants them. Returns the reason if it is omitted.
#[inline]
fn add_ids(
    spec: &EncodingSpec,
    (unit, text, ids): (Unit<'_>, &str, &[u32]),
    encoder: &mut Encoder,
    encoded: &mut EncodedBlock,
    whole: &mut Vec<u32>,
) -> Outcome<Result<(), &'static str>> {
    let id = match id_of(spec, unit.bytes) {
        Ok(id) => id,
        Err(reason) => return Ok(Err(reason)),
    };
    let added = match &spec.kind {
        Kind::LossMask => masks::loss(spec, text, unit.bytes, ids, encoder, encoded, whole)?,
        Kind::Sequences(rules) => encoded.add_sequences(spec, rules, &[&[ids]], whole)?,
        Kind::Plain | Kind::Parts(_) => encoded.add(spec, ids, whole)?,
    };
    if added.is_ok() {
        if spec.wants_lines || spec.ids != IdSource::Unused {
            encoded.lines.push(unit.number);
        }
        id.iter().for_each(|id| encoded.ids.push(id));
        if spec.wants_chars {
            encoded.chars.push(bytecount(text));
        }
    }
    Ok(added)
}

/// Adds the sequences of a line, and counts its tokens unless the tokens of the extracted text are counted. Returns the special tokens in
/// its texts, or `None` if the document is omitted.
fn pack_line(
    of_line: LineEncoder<'_>,
    (number, spec, rules): (usize, &EncodingSpec, &SequenceRules),
    unit: Unit<'_>,
    document: &Document<'_>,
    has_text: bool,
    out: &mut PackedPiece,
) -> Outcome<Option<Vec<u32>>> {
    let Some(encoded) = out.encoded_blocks.get_mut(number) else { return Ok(None) };
    match of_line.add(spec, rules, unit.bytes, document, encoded)? {
        LineResult::Packed { tokens, special } => {
            if spec.ids != IdSource::Unused {
                encoded.lines.push(unit.number);
            }
            out.tokens += if has_text { 0 } else { tokens };
            return Ok(Some(special));
        }
        LineResult::LeftOut { reason, is_by_design } => {
            report_keys(document, unit, out);
            skip(number, unit, reason, is_by_design, kind_of_line(document), out);
        }
        LineResult::Differs(mismatch) => out.mismatch = Some(*mismatch),
    }
    Ok(None)
}

/// Returns whether a spec packs, skips or refuses a document.
fn verdict<'t>(spec: &EncodingSpec, document: &Document<'t>, is_row: bool) -> DocumentVerdict<'t> {
    let rules = if is_row { spec.rules.of_rows() } else { spec.rules };
    match document.text {
        // The spec decides whether an empty text has tokens, such as those of a template.
        Text::Is("") if spec.needs_tokens && !document.quirks.has(rules.refused) => DocumentVerdict::Take(""),
        _ => document.verdict(rules),
    }
}

/// Returns the id of a document, if the spec reads ids from a key. The error is the reason why the document is omitted.
fn id_of(spec: &EncodingSpec, line: &[u8]) -> Result<Option<String>, &'static str> {
    match &spec.ids {
        IdSource::Key(path) => text_at(line, path).map(Some).ok_or(NO_ID),
        IdSource::Unused | IdSource::Line => Ok(None),
    }
}

/// Returns the number of characters of a text.
fn bytecount(text: &str) -> u64 {
    text.bytes().filter(|byte| byte & 0xc0 != 0x80).count() as u64
}

/// Returns a number by which documents are chosen for comparison with the reference. It does not depend on the block size and the number of
/// threads.
fn document_number(file: usize, line: u64) -> u64 {
    (file as u64).wrapping_mul(1_000_003).wrapping_add(line)
}

fn ends_lines_at_cr(spec: &EncodingSpec) -> bool {
    spec.rules.cr_ends_lines
}

fn kind_of(document: &Document<'_>) -> ProblemKind {
    match document.text {
        Text::Blank => ProblemKind::BlankLine,
        Text::Invalid { .. } => ProblemKind::BadJson,
        Text::NotObject(_) => ProblemKind::BadLine,
        Text::Is(text) if !text.is_empty() => ProblemKind::OddJson,
        _ => ProblemKind::NoText,
    }
}

/// Like [`kind_of`], for a document whose texts are read from the line.
fn kind_of_line(document: &Document<'_>) -> ProblemKind {
    match kind_of(document) {
        ProblemKind::OddJson => ProblemKind::NoText,
        kind => kind,
    }
}

/// Records the keys of the first line without a text.
fn report_keys(document: &Document<'_>, unit: Unit<'_>, out: &mut PackedPiece) {
    if out.keys.is_empty() && document.text == Text::Missing {
        out.keys = keys_of(unit.bytes);
    }
}

fn skip(
    spec: usize,
    unit: Unit<'_>,
    reason: &'static str,
    is_by_design: bool,
    kind: ProblemKind,
    out: &mut PackedPiece,
) {
    if let Some(encoded) = out.encoded_blocks.get_mut(spec) {
        encoded.skip(unit.number, reason, is_by_design);
    }
    let specs = 1_u8.checked_shl(u32::try_from(spec).unwrap_or(0)).unwrap_or(0);
    let column = unit.bad_column.map(Box::from);
    out.find(Finding { specs, line: unit.number, start: unit.start, reason, column, is_by_design, kind });
}
