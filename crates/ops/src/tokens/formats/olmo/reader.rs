//! Reads sets of token files for `info`, `lint`, `verify` and the rows of the browser.

use super::super::super::reader::{CheckRequest, TokenReader};
use super::no_documents;
use super::table_reader::TableReader;
use crate::engine::browse::tokens::{DocumentWalk, Listing, TokenFile};
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::check::each_unit;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, count, display_safe, grouped};
use gristmill_core::{Cancel, Failure, Handles, Outcome, Problem, ProblemKind, Subject, TokenKind};
use gristmill_data::formats::olmo::{table_of, PARTS, TABLE_SUFFIX, TOKENS_SUFFIX};
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "looking at the tokens";
/// Number of documents that are added to the listing at a time.
const DOCUMENTS_PER_BATCH: usize = 4_096;
/// Number of bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Reads a folder of token files and their tables.
pub(super) struct PartsReader;

#[derive(Serialize)]
struct SetFacts {
    documents: u64,
    tokens: u64,
    bytes: u64,
    /// Bytes per token; `None` if the set has no tokens.
    token_bytes: Option<u64>,
    files: Vec<PartFacts>,
}

/// A token file and its table.
#[derive(Clone, Debug, Serialize)]
struct PartFacts {
    name: String,
    documents: u64,
    tokens: u64,
    bytes: u64,
    /// Bytes per token; `None` if the file has no tokens.
    token_bytes: Option<u64>,
}

impl TokenReader for PartsReader {
    fn kind(&self) -> &'static TokenKind {
        &PARTS
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: Some("file"), item: "file", counted: "sample" }
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &PartsBrowser
    }

    fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let (parts, mut problems) = list(path)?;
        let mut files = Vec::new();
        for part in &parts {
            handles.cancel.check()?;
            match PartFacts::read(part, handles.cancel) {
                Ok(facts) => files.push(facts),
                Err(why) => {
                    handles.cancel.check()?;
                    problems.push(Problem::problem(ProblemKind::BadFile, Subject::path(table_of(part)), why));
                }
            }
        }
        let sum = |figure: fn(&PartFacts) -> u64| files.iter().map(figure).sum::<u64>();
        let (documents, tokens, bytes) = (sum(|part| part.documents), sum(|part| part.tokens), sum(|part| part.bytes));
        let token_bytes = files.iter().find_map(|part| part.token_bytes);
        if files.iter().any(|part| part.token_bytes.is_some() && part.token_bytes != token_bytes) {
            let why = "the tokens of its files have different sizes";
            problems.push(Problem::problem(ProblemKind::IndexMismatch, Subject::path(path), why));
        }
        if documents == 0 && problems.is_empty() {
            problems.push(no_documents(path));
        }
        let facts = SetFacts { documents, tokens, bytes, token_bytes, files };
        let mut info = DatasetInfo::of(&facts);
        info.add("documents", grouped(documents));
        info.add("tokens", grouped(tokens));
        if let Some(bytes) = token_bytes {
            info.add("bytes a token", bytes.to_string());
        }
        info.add("files", grouped(parts.len() as u64));
        info.add("size", size(bytes));
        let right = Align::Right;
        info.table = Table::new(&[("file", Align::Left), ("tokens", right), ("documents", right), ("size", right)]);
        for part in facts.files.iter().take(MAX_LISTED) {
            let name = display_safe(&part.name).into_owned();
            info.table.row([name, grouped(part.tokens), grouped(part.documents), size(part.bytes)]);
        }
        Ok(DatasetInfo { files: parts.len() as u64, items: documents, bytes, problems, ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        let (parts, problems) = list(path)?;
        for problem in problems {
            handles.problems.report(problem)?;
        }
        let sizes = parts.iter().filter_map(|part| files::metadata(part).ok()).map(|facts| facts.len());
        let bytes = if request.depth == Depth::Tokens { sizes.sum() } else { 0 };
        let checked = each_unit(&parts, (parts.len() as u64, bytes), request.threads, handles, |part| {
            let checked = check_part(part, request, handles).or_else(|why| {
                handles.cancel.check()?;
                let path = if files::exists(part) { part.clone() } else { table_of(part) };
                handles.problems.report(Problem::problem(ProblemKind::BadFile, Subject::path(path), why))?;
                Ok(CheckCounts { shards: 1, ..CheckCounts::default() })
            })?;
            handles.progress.add(1, 0);
            Ok(checked)
        })?;
        if checked.samples == 0 {
            handles.problems.report(no_documents(path))?;
        }
        Ok(checked)
    }
}

/// Returns the token files that have a table, sorted by name, and the problems of files without their counterpart.
fn list(folder: &Path) -> Outcome<(Vec<PathBuf>, Vec<Problem>)> {
    let entries = files::read_dir(folder).map_err(|error| Failure::io("reading the folder", folder, &error))?;
    let names: BTreeSet<String> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
    let stems = |suffix| names.iter().filter_map(move |name| name.strip_suffix(suffix)).map(str::to_owned);
    let (tokens, tables): (BTreeSet<String>, BTreeSet<String>) =
        (stems(TOKENS_SUFFIX).collect(), stems(TABLE_SUFFIX).collect());
    let missing = |stem: &String, has: &str, lacks: &str| {
        let path = folder.join(format!("{stem}{has}"));
        let why = format!("the {lacks} file that belongs to it is missing");
        Problem::problem(ProblemKind::MissingFile, Subject::path(path), why)
    };
    let mut problems: Vec<Problem> =
        tokens.difference(&tables).map(|stem| missing(stem, TOKENS_SUFFIX, TABLE_SUFFIX)).collect();
    problems.extend(tables.difference(&tokens).map(|stem| missing(stem, TABLE_SUFFIX, TOKENS_SUFFIX)));
    let parts = tokens.intersection(&tables).map(|stem| folder.join(format!("{stem}{TOKENS_SUFFIX}"))).collect();
    Ok((parts, problems))
}

impl PartFacts {
    /// Reads a table and the size of its token file. The bytes per token follow from both.
    fn read(part: &Path, cancel: &Cancel) -> Result<Self, String> {
        let bytes = open_read(part).map_err(|failure| failure.why)?.len();
        let (documents, tokens) = TableReader::open(&table_of(part))?.totals(cancel)?;
        let token_bytes = match tokens {
            0 if bytes == 0 => None,
            _ => match [1, 2, 4].into_iter().find(|size| tokens.checked_mul(*size) == Some(bytes)) {
                Some(size) => Some(size),
                None => {
                    return Err(format!(
                        "its rows end at token {tokens}, and the {TOKENS_SUFFIX} file has {bytes} bytes"
                    ));
                }
            },
        };
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, documents, tokens, bytes, token_bytes })
    }
}

fn check_part(part: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Result<CheckCounts, String> {
    let facts = PartFacts::read(part, handles.cancel)?;
    let checked = CheckCounts { shards: 1, samples: facts.documents, parts: facts.tokens, bytes: facts.bytes };
    let Some(token_bytes) = facts.token_bytes.filter(|_| request.depth == Depth::Tokens) else { return Ok(checked) };
    let mut source = BufReader::new(open_read(part).map_err(|failure| failure.why)?.into_reader()).take(facts.bytes);
    let width = usize::try_from(token_bytes).unwrap_or(1);
    let greatest = request.vocabulary.map(|vocabulary| vocabulary.greatest);
    let (mut buffer, mut first, mut number, mut wrong) = (vec![0; PIECE_BYTES], None, 0_u64, 0_u64);
    while number < facts.tokens {
        if handles.cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let bytes = usize::try_from((facts.tokens - number) * token_bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = buffer.get_mut(..bytes).unwrap_or_default();
        source.read_exact(piece).map_err(|error| error.to_string())?;
        for token in piece.chunks_exact(width) {
            let id = token.iter().rev().fold(0_u32, |id, byte| (id << 8) | u32::from(*byte));
            if greatest.is_some_and(|greatest| id > greatest) {
                first = first.or(Some((number, id)));
                wrong += 1;
            }
            number += 1;
        }
        handles.progress.add(0, bytes as u64);
    }
    match (first, request.vocabulary) {
        (Some((number, id)), Some(vocabulary)) => Err(format!(
            "{} are not ids of {}; the first, token {number}, is {id}",
            count(wrong, "token"),
            vocabulary.name
        )),
        _ => Ok(checked),
    }
}

/// Lists the documents of a set.
struct PartsBrowser;

impl TokenBrowser for PartsBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let (parts, problems) = list(listing.path)?;
        let mut files = Vec::new();
        for (group, part) in (0_u32..).zip(parts) {
            let bytes = open_read(&part).map_or(0, |file| file.len());
            // The bytes per token are known only at the end of a table, and are the same in all files of a set.
            let facts = match files.is_empty() {
                true => PartFacts::read(&part, &Cancel::default()).map(|facts| facts.token_bytes.unwrap_or(2)),
                false => Ok(files.first().map_or(2, |file: &TokenFile| file.code.size())),
            };
            let token_bytes = *facts.as_ref().unwrap_or(&2);
            let walk = walk(table_of(&part), token_bytes);
            let table = listing.list(group, walk, "documents do not follow each other");
            files.push(TokenFile {
                name: Arc::from(part.file_name().unwrap_or_default().to_string_lossy()),
                path: part,
                bytes,
                data_from: 0,
                data_bytes: bytes - bytes % token_bytes,
                code: TokenCode::little(u8::try_from(token_bytes).unwrap_or(2)),
                table,
                loss: None,
                has_text: false,
                defect: facts.err().map(Arc::from),
            });
        }
        match files.is_empty() {
            true => Err(problems.into_iter().next().map_or_else(
                || Failure::usage(ACTIVITY, "no file of ids with a table is in it").on(Subject::path(listing.path)),
                Problem::into_failure,
            )),
            false => Ok(files),
        }
    }
}

/// Reads the rows of a table.
fn walk(table: PathBuf, token_bytes: u64) -> DocumentWalk {
    Box::new(move |take| {
        let damaged = |why: String| Failure::data(ACTIVITY, why).on(Subject::path(&table));
        let mut rows = TableReader::open(&table).map_err(damaged)?;
        let mut batch: Vec<(u64, u64)> = Vec::with_capacity(DOCUMENTS_PER_BATCH);
        loop {
            batch.clear();
            while batch.len() < DOCUMENTS_PER_BATCH {
                let Some((start, end)) = rows.next_row().map_err(damaged)? else { break };
                batch.push((start.saturating_mul(token_bytes), (end - start).saturating_mul(token_bytes)));
            }
            if !take(&batch)? {
                return Ok(false);
            }
            if batch.len() < DOCUMENTS_PER_BATCH {
                return Ok(true);
            }
        }
    })
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
