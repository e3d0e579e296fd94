//! A piece of a file through tokenizer and recipes.

use super::masks;
use super::packed::{Finding, PackedPiece};
use super::recipe::{Kind, Recipe};
use crate::model::pack::TextField;
use crate::model::{Cancel, Outcome, PackFormat, ProblemKind};
use crate::source::text::{cr_lines, keys_of, Block, Document, Extractor, Peer, Text, Verdict};
use crate::tokenize::{Encoder, Guard, Tokenizer};
use memchr::memchr;

/// Documents between two looks at whether to stop.
const BREATH: usize = 256;
/// What is said of a line that is not held in memory.
const OVERLONG: &str = "the line is longer than 64 MiB";

/// A part of a file: whole lines, or the spans that an index names.
#[derive(Debug, Default)]
pub struct Piece {
    /// Which of the pass's files, counted from 0.
    pub file: usize,
    /// Its lines; with `spans`, the bytes of the spans one after the other.
    pub block: Block,
    /// Where each span begins in the file and how long it is; `block.first_line` is then the number of the first of them.
    pub spans: Option<Vec<(u64, usize)>>,
}

/// A line or span.
#[derive(Clone, Copy)]
struct Unit<'a> {
    number: u64,
    start: u64,
    bytes: &'a [u8],
}

/// Which recipes a text is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    All,
    /// Those that end lines at `\r` too.
    CrReaders,
    Others,
}

/// Turns pieces into tokens; one for each thread.
pub struct Packer<'a> {
    recipes: &'a [Recipe],
    /// Documents are looked up by the text field for at least one recipe.
    wants_text: bool,
    extractor: Extractor,
    encoder: Encoder,
    guard: Option<Guard>,
    ids: Vec<u32>,
    whole: Vec<u32>,
    cancel: Cancel,
}

impl<'a> Packer<'a> {
    /// For these recipes. A jq program that does not compile is a usage error.
    pub fn new(recipes: &'a [Recipe], field: &TextField, tokenizer: &Tokenizer, cancel: &Cancel) -> Outcome<Self> {
        Ok(Self {
            recipes,
            wants_text: recipes.iter().any(|recipe| !matches!(recipe.kind, Kind::Parts(_))),
            extractor: Extractor::new(field)?,
            encoder: tokenizer.encoder(),
            guard: tokenizer.is_fast().then(|| tokenizer.guard()),
            ids: Vec::new(),
            whole: Vec::new(),
            cancel: cancel.clone(),
        })
    }

    /// With caches that grow by at most so many bytes.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self { encoder: self.encoder.within(bytes), ..self }
    }

    /// Packs a piece. Where the fast tokenizer turns out to differ from the reference, `out.mismatch` says so and the rest is unfinished.
    pub fn run(&mut self, piece: &Piece, out: &mut PackedPiece) -> Outcome<()> {
        out.clear(self.recipes.len());
        let has_cr = self.recipes.iter().any(ends_lines_at_cr) && memchr(b'\r', &piece.block.bytes).is_some();
        match &piece.spans {
            None => {
                for (count, line) in piece.block.lines().enumerate() {
                    self.breathe(count)?;
                    if line.is_overlong() {
                        self.skip_all(line.number, line.start, OVERLONG, out);
                        continue;
                    }
                    let unit = Unit { number: line.number, start: line.start, bytes: line.bytes };
                    self.line(piece.file, unit, has_cr, out)?;
                    if out.mismatch.is_some() {
                        return Ok(());
                    }
                }
            }
            Some(spans) => {
                let mut at = 0;
                for (count, (start, length)) in spans.iter().enumerate() {
                    self.breathe(count)?;
                    let bytes = piece.block.bytes.get(at..at + length).unwrap_or_default();
                    at += length;
                    let unit = Unit { number: piece.block.first_line + count as u64, start: *start, bytes };
                    self.document(piece.file, unit, For::All, out)?;
                    if out.mismatch.is_some() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn breathe(&self, count: usize) -> Outcome<()> {
        if count.is_multiple_of(BREATH) {
            self.cancel.check()?;
        }
        Ok(())
    }

    fn skip_all(&self, line: u64, start: u64, reason: &'static str, out: &mut PackedPiece) {
        for number in 0..self.recipes.len() {
            skip(number, Unit { number: line, start, bytes: b"" }, reason, false, ProblemKind::BadDocument, out);
        }
    }

    /// A line that readers with universal newlines see as several is taken apart for these.
    fn line(&mut self, file: usize, line: Unit<'_>, has_cr: bool, out: &mut PackedPiece) -> Outcome<()> {
        let inner = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        if !has_cr || memchr(b'\r', inner).is_none() {
            return self.document(file, line, For::All, out);
        }
        for (at, bytes) in cr_lines(line.bytes) {
            let part = Unit { number: line.number, start: line.start + at as u64, bytes };
            self.document(file, part, For::CrReaders, out)?;
        }
        if self.recipes.iter().all(ends_lines_at_cr) || out.mismatch.is_some() {
            return Ok(());
        }
        self.document(file, line, For::Others, out)
    }

    fn document(&mut self, file: usize, unit: Unit<'_>, reading: For, out: &mut PackedPiece) -> Outcome<()> {
        let Self { recipes, wants_text, extractor, encoder, guard, ids, whole, .. } = self;
        let document = extractor.document(unit.bytes);
        let mut is_encoded = None;
        let mut is_taken = false;
        for (number, recipe) in recipes.iter().enumerate() {
            let is_wanted = match reading {
                For::All => true,
                For::CrReaders => ends_lines_at_cr(recipe),
                For::Others => !ends_lines_at_cr(recipe),
            };
            if !is_wanted {
                continue;
            }
            if let Kind::Parts(parts) = &recipe.kind {
                let packed = masks::parts(recipe, parts, unit.bytes, &document, encoder, out.lots.get_mut(number))?;
                match packed {
                    Ok(tokens) => {
                        is_taken = true;
                        if !*wants_text {
                            out.tokens += tokens;
                        }
                    }
                    Err(reason) => skip(number, unit, reason, false, kind_of(&document), out),
                }
                continue;
            }
            let verdict = match document.text {
                // Whether a token comes of it, a template's at least, is for the recipe to say.
                Text::Is("") if recipe.needs_tokens && !document.quirks.is_refused_by(recipe.peer) => Verdict::Take(""),
                _ => document.verdict(recipe.peer),
            };
            let text = match verdict {
                Verdict::Take(text) => text,
                Verdict::Skip(reason) => {
                    tell_keys(&document, unit, out);
                    skip(number, unit, reason, true, kind_of(&document), out);
                    continue;
                }
                Verdict::Refuse(reason) => {
                    tell_keys(&document, unit, out);
                    skip(number, unit, reason, false, kind_of(&document), out);
                    continue;
                }
            };
            if is_encoded.is_none() {
                ids.clear();
                let encoded = encoder.encode(text, ids);
                if let Err(failure) = &encoded {
                    if failure.class != crate::model::ExitClass::Data {
                        return encoded;
                    }
                }
                is_encoded = Some(encoded.is_ok());
                let is_wanted = |guard: &&mut Guard| guard.wants(document_number(file, unit.number));
                if let Some(guard) = guard.as_mut().filter(|guard| encoded.is_ok() && is_wanted(guard)) {
                    out.mismatch = guard.check(text, ids)?;
                    if out.mismatch.is_some() {
                        return Ok(());
                    }
                }
            }
            if is_encoded == Some(false) {
                skip(number, unit, "the tokenizer cannot encode its text", false, ProblemKind::BadDocument, out);
                continue;
            }
            let Some(lot) = out.lots.get_mut(number) else { continue };
            let added = match recipe.kind {
                Kind::LossMask => masks::loss(recipe, text, unit.bytes, ids, encoder, lot, whole)?,
                Kind::Plain | Kind::Parts(_) => lot.add(recipe, ids, whole)?,
            };
            match added {
                Ok(()) => {
                    is_taken = true;
                    if recipe.wants_lines {
                        lot.lines.push(unit.number);
                    }
                    if recipe.wants_chars {
                        lot.chars.push(bytecount(text));
                    }
                }
                Err(reason) => skip(number, unit, reason, false, ProblemKind::BadDocument, out),
            }
        }
        // A line that was taken apart counts once for each of its documents, and not again as a whole.
        if is_taken && reading != For::Others {
            out.documents += 1;
            if is_encoded.is_some() {
                out.tokens += ids.len() as u64;
            }
        }
        Ok(())
    }
}

/// Characters of a text.
fn bytecount(text: &str) -> u64 {
    text.bytes().filter(|byte| byte & 0xc0 != 0x80).count() as u64
}

/// A number for the choice of documents that are compared with the reference; the same for every block size and thread count.
fn document_number(file: usize, line: u64) -> u64 {
    (file as u64).wrapping_mul(1_000_003).wrapping_add(line)
}

fn ends_lines_at_cr(recipe: &Recipe) -> bool {
    recipe.peer == Peer::Nanosets && recipe.format == PackFormat::Nanosets
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

/// Keeps the keys of the first line that lacks a text.
fn tell_keys(document: &Document<'_>, unit: Unit<'_>, out: &mut PackedPiece) {
    if out.keys.is_empty() && document.text == Text::Missing {
        out.keys = keys_of(unit.bytes);
    }
}

fn skip(
    recipe: usize,
    unit: Unit<'_>,
    reason: &'static str,
    is_by_design: bool,
    kind: ProblemKind,
    out: &mut PackedPiece,
) {
    if let Some(lot) = out.lots.get_mut(recipe) {
        lot.skip(unit.number, reason, is_by_design);
    }
    let recipes = 1_u8.checked_shl(u32::try_from(recipe).unwrap_or(0)).unwrap_or(0);
    out.find(Finding { recipes, line: unit.number, start: unit.start, reason, is_by_design, kind });
}
