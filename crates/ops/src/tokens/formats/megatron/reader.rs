//! Reads pairs and folders of pairs for `info`, `lint`, `verify` and the rows of the browser.

use super::super::super::reader::{range_text, CheckRequest, TokenReader};
use super::no_tokens;
use super::pair::PairIndex;
use super::repair::start_repair;
use crate::engine::browse::tokens::{Listing, RowSpan, SpanTable, Table as Rows, TokenFile};
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::check::each_unit;
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, count, display_safe, grouped};
use gristmill_core::{Cancel, Failure, Handles, Outcome, Problem, ProblemKind, RunOptions, Subject, TokenKind};
use gristmill_data::formats::megatron::{index_of, indexes, is_unfinished, tokens_of, FOLDER, PAIR, UNFINISHED};
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "looking at the tokens";
/// Number of bytes that are read at a time; a multiple of the size of every token type.
const PIECE_BYTES: usize = 64 << 10;

/// Reads a pair.
pub(super) struct PairReader;
/// Reads a folder of pairs.
pub(super) struct FolderReader;

#[derive(Serialize)]
struct Facts {
    sequences: u64,
    documents: u64,
    tokens: u64,
    bytes: u64,
    token_types: Vec<&'static str>,
    files: Vec<PairFacts>,
}

#[derive(Clone, Debug, Serialize)]
struct PairFacts {
    name: String,
    sequences: u64,
    documents: u64,
    tokens: u64,
    bytes: u64,
    token_type: &'static str,
    /// Whether each sequence has a mode.
    is_multimodal: bool,
    /// Number of tokens of the shortest and of the longest sequence.
    sequence_tokens: Option<(u64, u64)>,
}

macro_rules! reads_pairs {
    ($reader:ident, $kind:ident, $shards:expr, $($repair:item)*) => {
        impl TokenReader for $reader {
            fn kind(&self) -> &'static TokenKind {
                &$kind
            }
            fn texts(&self) -> CheckTexts {
                CheckTexts { shards: $shards, item: "document", counted: "document" }
            }
            fn browser(&self) -> &'static dyn TokenBrowser {
                &PairsBrowser
            }
            fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
                info(path, handles)
            }
            fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
                check(path, request, handles)
            }
            $($repair)*
        }
    };
}

reads_pairs!(
    PairReader,
    PAIR,
    None,
    fn repair(&self, path: &Path, is_dry: bool, options: RunOptions) -> Option<Outcome<Task<RepairReport>>> {
        Some(start_repair(path, is_dry, options))
    }
);
reads_pairs!(
    FolderReader,
    FOLDER,
    Some("pair"),
    fn repair_hint(&self, quoted: &str) -> (&'static str, String) {
        (
            "pairs are repaired one by one",
            format!("gristmill lint {quoted} reports which of them is wrong; name that pair"),
        )
    }
);

/// Returns the indexes at a path, sorted by name, and the token files without an index.
fn list(path: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if !files::is_dir(path) {
        return (vec![index_of(path)], Vec::new());
    }
    let mut pairs: Vec<PathBuf> = indexes(path).collect();
    pairs.sort();
    let entries = files::read_dir(path).into_iter().flatten().flatten().map(FolderEntry::into_path);
    let mut alone: Vec<PathBuf> = entries.filter(|path| is_unfinished(path)).collect();
    alone.sort();
    (pairs, alone)
}

/// Returns the problems of token files without an index.
fn unfinished(alone: Vec<PathBuf>) -> impl Iterator<Item = Problem> {
    alone.into_iter().map(|file| Problem::problem(ProblemKind::MissingFile, Subject::path(file), UNFINISHED))
}

fn read(index: &Path, cancel: &Cancel) -> Result<PairFacts, String> {
    let pair = PairIndex::open(index)?;
    let totals = pair.check(cancel)?;
    Ok(PairFacts {
        name: index.with_extension("").file_name().unwrap_or_default().to_string_lossy().into_owned(),
        sequences: pair.sequences,
        documents: pair.documents,
        tokens: totals.tokens,
        bytes: pair.bytes,
        token_type: pair.pair_type.name,
        is_multimodal: pair.has_modes,
        sequence_tokens: totals.range,
    })
}

fn bad(index: &Path, why: String) -> Problem {
    Problem::problem(ProblemKind::BadFile, Subject::path(index), why)
}

fn info(path: &Path, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
    let (indexes, alone) = list(path);
    let mut problems: Vec<Problem> = unfinished(alone).collect();
    let mut files = Vec::new();
    for index in &indexes {
        match read(index, handles.cancel) {
            Ok(facts) => {
                problems.extend((facts.tokens == 0).then(|| no_tokens(Subject::path(index), facts.documents)));
                files.push(facts);
            }
            Err(why) => {
                handles.cancel.check()?;
                problems.push(bad(index, why));
            }
        }
    }
    let sum = |figure: fn(&PairFacts) -> u64| files.iter().map(figure).sum::<u64>();
    let (sequences, documents) = (sum(|pair| pair.sequences), sum(|pair| pair.documents));
    let (tokens, bytes) = (sum(|pair| pair.tokens), sum(|pair| pair.bytes));
    let mut token_types: Vec<&str> = files.iter().map(|pair| pair.token_type).collect();
    token_types.sort_unstable();
    token_types.dedup();
    let facts = Facts { sequences, documents, tokens, bytes, token_types, files };
    let mut info = DatasetInfo::of(&facts);
    info.add("documents", grouped(documents));
    info.add("sequences", grouped(sequences));
    info.add("tokens", grouped(tokens));
    if !facts.token_types.is_empty() {
        info.add("token type", facts.token_types.join(", "));
    }
    info.add("size", size(bytes));
    let ranges = || facts.files.iter().filter_map(|pair| pair.sequence_tokens);
    if let Some((least, most)) = ranges().map(|range| range.0).min().zip(ranges().map(|range| range.1).max()) {
        info.add("tokens a sequence", range_text(least, most));
    }
    if facts.files.iter().any(|pair| pair.is_multimodal) {
        info.add("modes", "each sequence has one: a multimodal pair");
    }
    if files::is_dir(path) {
        let right = Align::Right;
        info.table = Table::new(&[("pair", Align::Left), ("tokens", right), ("documents", right), ("size", right)]);
        for pair in facts.files.iter().take(MAX_LISTED) {
            let name = display_safe(&pair.name).into_owned();
            info.table.row([name, grouped(pair.tokens), grouped(pair.documents), size(pair.bytes)]);
        }
    }
    let files = if files::is_dir(path) { indexes.len() as u64 } else { 0 };
    Ok(DatasetInfo { files, items: documents, bytes, problems, ..info })
}

fn check(path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let (pairs, alone) = list(path);
    for problem in unfinished(alone) {
        handles.problems.report(problem)?;
    }
    let sizes = pairs.iter().filter_map(|index| files::metadata(tokens_of(index)).ok()).map(|facts| facts.len());
    let bytes = if request.depth == Depth::Tokens { sizes.sum() } else { 0 };
    each_unit(&pairs, (0, bytes), request.threads, handles, |index| {
        check_pair(index, request, handles).or_else(|why| {
            handles.cancel.check()?;
            handles.problems.report(bad(index, why))?;
            Ok(CheckCounts { shards: 1, ..CheckCounts::default() })
        })
    })
}

fn check_pair(index: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Result<CheckCounts, String> {
    let pair = PairIndex::open(index)?;
    let totals = pair.check(handles.cancel)?;
    if totals.tokens == 0 {
        let problem = no_tokens(Subject::path(index), pair.documents);
        handles.problems.report(problem).map_err(|failure| failure.why)?;
    }
    let checked = CheckCounts { shards: 1, samples: pair.documents, parts: totals.tokens, bytes: pair.bytes };
    handles.progress.add(pair.documents, 0);
    let Some(to_id) = id_reader(pair.pair_type.name).filter(|_| request.depth == Depth::Tokens) else {
        return Ok(checked);
    };
    let greatest = request.vocabulary.map(|vocabulary| i64::from(vocabulary.greatest));
    let mut source = open_read(&pair.tokens).map_err(|failure| failure.why)?.into_reader();
    let width = usize::try_from(pair.pair_type.bytes).unwrap_or(1);
    let (mut buffer, mut left, mut number) = (vec![0; PIECE_BYTES], pair.bytes, 0_u64);
    let (mut first, mut wrong) = (None, 0_u64);
    while left > 0 {
        if handles.cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let bytes = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = buffer.get_mut(..bytes).unwrap_or_default();
        source.read_exact(piece).map_err(|error| error.to_string())?;
        for token in piece.chunks_exact(width) {
            let id = to_id(token);
            if id < 0 || greatest.is_some_and(|greatest| id > greatest) {
                first = first.or(Some((number, id)));
                wrong += 1;
            }
            number += 1;
        }
        handles.progress.add(0, bytes as u64);
        left -= bytes as u64;
    }
    let vocabulary = request.vocabulary.map_or("any tokenizer", |vocabulary| vocabulary.name.as_str());
    match first {
        None => Ok(checked),
        Some((number, id)) => {
            let wrong = count(wrong, "token");
            Err(format!("ids that are none of {vocabulary}: {wrong}; the first, token {number}, is {id}"))
        }
    }
}

/// Returns the function that reads a token of a type as an id; `None` for floating-point types.
fn id_reader(type_name: &str) -> Option<fn(&[u8]) -> i64> {
    fn of<const N: usize>(token: &[u8]) -> [u8; N] {
        token.try_into().unwrap_or([0; N])
    }
    Some(match type_name {
        "u8" => |token| i64::from(u8::from_le_bytes(of(token))),
        "i8" => |token| i64::from(i8::from_le_bytes(of(token))),
        "u16" => |token| i64::from(u16::from_le_bytes(of(token))),
        "i16" => |token| i64::from(i16::from_le_bytes(of(token))),
        "i32" => |token| i64::from(i32::from_le_bytes(of(token))),
        "i64" => |token| i64::from_le_bytes(of(token)),
        _ => return None,
    })
}

/// Lists the documents of pairs.
struct PairsBrowser;

impl TokenBrowser for PairsBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let (mut pairs, alone) = list(listing.path);
        // The browser shows the problem of each in place of its rows.
        pairs.extend(alone);
        pairs.sort();
        match pairs.is_empty() {
            true => Err(Failure::usage(ACTIVITY, "no .idx file is in it").on(Subject::path(listing.path))),
            false => Ok(pairs.iter().map(|path| file(&index_of(path))).collect()),
        }
    }
}

fn file(index: &Path) -> TokenFile {
    let path = tokens_of(index);
    let bytes = files::metadata(&path).map_or(0, |facts| facts.len());
    let opened = PairIndex::open(index).and_then(|pair| match id_reader(pair.pair_type.name) {
        Some(_) => Ok(pair),
        None => Err(format!("its tokens are fractions ({})", pair.pair_type.name)),
    });
    let (token_bytes, is_signed) = opened.as_ref().map_or((2, false), |pair| {
        let is_signed = pair.pair_type.name.starts_with('i');
        (pair.pair_type.bytes, is_signed)
    });
    let (table, trouble) = match opened {
        Ok(pair) => (Rows::Spans(Arc::new(Documents(pair))), None),
        Err(why) => (Rows::Whole, Some(Arc::from(why))),
    };
    TokenFile {
        name: Arc::from(path.file_name().unwrap_or_default().to_string_lossy()),
        path,
        bytes,
        data_from: 0,
        data_bytes: if trouble.is_some() { 0 } else { bytes - bytes % token_bytes },
        code: TokenCode { is_signed, ..TokenCode::little(u8::try_from(token_bytes).unwrap_or(2)) },
        table,
        loss: None,
        has_text: false,
        defect: trouble,
    }
}

struct Documents(PairIndex);

impl SpanTable for Documents {
    fn rows(&self) -> u64 {
        self.0.documents
    }

    fn index_path(&self) -> Option<&Path> {
        Some(self.0.path())
    }

    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
        let damaged = |why: String| Failure::data(ACTIVITY, why).on(Subject::path(&self.0.tokens));
        let count = (count as u64).min(self.0.documents.saturating_sub(first));
        if count == 0 {
            return Ok(Vec::new());
        }
        let marks = self.0.marks(first, count + 1).map_err(damaged)?;
        let span = |(number, pair): (u64, &[i64])| {
            let mark = |at: usize| pair.get(at).copied().unwrap_or_default();
            let sequence = |at: usize| u64::try_from(mark(at)).unwrap_or(u64::MAX);
            let (from, to) = self.0.span(sequence(0), sequence(1)).map_err(damaged)?;
            let is_right = mark(0) <= mark(1) && sequence(1) <= self.0.sequences && (number > 0 || mark(0) == 0);
            let defect = || format!("its marks in the index are wrong: from sequence {} to {}", mark(0), mark(1));
            Ok(RowSpan { from, to, defect: (!is_right).then(|| Arc::from(defect())) })
        };
        (first..).zip(marks.windows(2)).map(span).collect()
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
