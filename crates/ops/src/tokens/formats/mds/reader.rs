//! Reads sets of MDS shards for `info`, `lint` and `verify`.

use super::super::super::reader::{range_text, CheckRequest, TokenReader};
use super::browser::ShardsBrowser;
use super::hashes::{hasher, Hasher};
use super::index::FileInfo;
use super::set::{self, ListedShard};
use super::shard::WORD_BYTES;
use super::shard_reader::{Defect, HashingReader, ShardReader};
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::check::each_unit;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, count, display_safe, grouped};
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject, TokenKind};
use gristmill_data::formats::mds::SHARDS;
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

/// Reads a folder of shards and their `index.json`.
pub(super) struct ShardsReader;

#[derive(Serialize)]
struct SetFacts {
    samples: u64,
    /// Total size of the files, in bytes.
    bytes: u64,
    /// Total size of the decompressed content, in bytes.
    raw_bytes: u64,
    /// Encodings of the columns, by name.
    columns: BTreeMap<String, String>,
    compression: Option<String>,
    hashes: Vec<String>,
    size_limit: Option<u64>,
    /// Tokens per sample; `None` if the samples are not tokens.
    sample_size: Option<u64>,
    files: Vec<ShardFacts>,
}

#[derive(Serialize)]
struct ShardFacts {
    name: String,
    samples: u64,
    bytes: u64,
}

impl TokenReader for ShardsReader {
    fn kind(&self) -> &'static TokenKind {
        &SHARDS
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &ShardsBrowser
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: Some("shard"), item: "shard", counted: "sample" }
    }

    fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let shards = set::read(path)?;
        let mut problems = file_problems(path, &shards);
        let sample_size = sample_size(path, &shards, handles).unwrap_or_else(|problem| {
            problems.extend(problem);
            None
        });
        let facts = facts(&shards, sample_size);
        let mut info = DatasetInfo::of(&facts);
        info.add("samples", grouped(facts.samples));
        if let Some(tokens) = facts.sample_size {
            info.add("tokens a sample", grouped(tokens));
            info.add("tokens", grouped(facts.samples.saturating_mul(tokens)));
        }
        let columns: Vec<String> = facts.columns.iter().map(|(name, code)| format!("{name} ({code})")).collect();
        info.add("columns", columns.join(", "));
        info.add("shards", grouped(shards.len() as u64));
        info.add("size", size(facts.bytes));
        if let Some(compression) = &facts.compression {
            info.add("compression", format!("{compression}, of {}", size(facts.raw_bytes)));
        }
        if let Some((least, most)) = range(shards.iter().map(|shard| shard.samples)) {
            info.add("samples a shard", range_text(least, most));
        }
        if !facts.hashes.is_empty() {
            info.add("hashes", facts.hashes.join(", "));
        }
        info.table = Table::new(&[("file", Align::Left), ("samples", Align::Right), ("size", Align::Right)]);
        for shard in facts.files.iter().take(MAX_LISTED) {
            info.table.row([display_safe(&shard.name).into_owned(), grouped(shard.samples), size(shard.bytes)]);
        }
        Ok(DatasetInfo { files: shards.len() as u64, items: facts.samples, bytes: facts.bytes, problems, ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        let shards = set::read(path)?;
        if shards.iter().all(|shard| shard.samples == 0) {
            handles.problems.report(no_sample(path))?;
        }
        // Problems of the first shard are reported when that shard is checked.
        let sample_size = sample_size(path, &shards, handles).unwrap_or_default();
        let bytes = shards.iter().map(|shard| shard.file().bytes).sum();
        let bytes = if request.depth == Depth::Tokens { bytes } else { 0 };
        each_unit(&shards, (shards.len() as u64, bytes), request.threads, handles, |listed| {
            let check = ShardCheck { folder: path, listed, sample_size, request, handles };
            check.run()
        })
    }
}

fn facts(shards: &[ListedShard], sample_size: Option<u64>) -> SetFacts {
    let first = shards.first();
    let columns = first.into_iter().flat_map(|shard| &shard.config.columns);
    SetFacts {
        samples: shards.iter().map(|shard| shard.samples).sum(),
        bytes: shards.iter().map(|shard| shard.file().bytes).sum(),
        raw_bytes: shards.iter().map(|shard| shard.raw.bytes).sum(),
        columns: columns.map(|column| (column.name.clone(), column.encoding.clone())).collect(),
        compression: first.and_then(|shard| shard.config.compression.clone()),
        hashes: first.map(|shard| shard.raw.hashes.keys().cloned().collect()).unwrap_or_default(),
        size_limit: first.and_then(|shard| shard.config.size_limit),
        sample_size,
        files: shards
            .iter()
            .map(|shard| ShardFacts {
                name: shard.file().basename.clone(),
                samples: shard.samples,
                bytes: shard.file().bytes,
            })
            .collect(),
    }
}

fn range(numbers: impl Iterator<Item = u64> + Clone) -> Option<(u64, u64)> {
    numbers.clone().min().zip(numbers.max())
}

fn no_sample(folder: &Path) -> Problem {
    Problem::note(ProblemKind::EmptyShard, Subject::path(folder), "it has no sample, and its reader refuses it")
}

/// Returns the differences between the index and the files, and a problem if the set has no samples.
fn file_problems(folder: &Path, shards: &[ListedShard]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = shards.iter().filter_map(|shard| file_problem(folder, shard.file())).collect();
    if shards.iter().all(|shard| shard.samples == 0) {
        problems.push(no_sample(folder));
    }
    problems
}

fn file_problem(folder: &Path, file: &FileInfo) -> Option<Problem> {
    let path = folder.join(&file.basename);
    let (kind, why) = match files::metadata(&path) {
        Err(error) => (ProblemKind::MissingFile, Failure::io("opening the shard", &path, &error).why),
        Ok(found) if found.len() != file.bytes => {
            let (found, listed) = (count(found.len(), "byte"), grouped(file.bytes));
            (ProblemKind::IndexMismatch, format!("it has {found}, and index.json has {listed}"))
        }
        Ok(_) => return None,
    };
    Some(Problem::problem(kind, Subject::path(path), why))
}

/// Returns the number of tokens of the first sample; `None` if no shard has token samples. The error is the problem of the shard, unless
/// the check of its file already reports one.
fn sample_size(folder: &Path, shards: &[ListedShard], handles: &Handles<'_>) -> Result<Option<u64>, Option<Problem>> {
    let Some(listed) = shards.iter().find(|shard| shard.samples > 0 && shard.config.is_tokens()) else {
        return Ok(None);
    };
    if file_problem(folder, listed.file()).is_some() {
        return Err(None);
    }
    let path = folder.join(&listed.file().basename);
    let read = || -> Result<Option<u64>, Defect> {
        let file = open_read(&path).map_err(|failure| failure.why)?;
        let mut file = HashingReader::new(file.into_reader(), Vec::new(), handles);
        let compression = listed.compression()?;
        let mut source: Box<dyn Read + '_> = match compression {
            Some(compression) => compression.decoder(&mut file, listed.raw.bytes).map_err(|error| error.to_string())?,
            None => Box::new(&mut file),
        };
        let mut reader = ShardReader { source: &mut source, listed };
        let head = reader.head()?;
        reader.first_size(&head)
    };
    read().map_err(|why| Some(Problem::problem(ProblemKind::BadFile, Subject::path(&path), why)))
}

struct ShardCheck<'a> {
    folder: &'a Path,
    listed: &'a ListedShard,
    sample_size: Option<u64>,
    request: &'a CheckRequest<'a>,
    handles: &'a Handles<'a>,
}

impl ShardCheck<'_> {
    fn run(&self) -> Outcome<CheckCounts> {
        let file = self.listed.file();
        if let Some(problem) = file_problem(self.folder, file) {
            self.handles.problems.report(problem)?;
        } else if let Err(why) = self.read() {
            self.handles.cancel.check()?;
            self.report(why)?;
        }
        self.handles.progress.add(1, 0);
        let tokens = self.sample_size.map_or(0, |size| size.saturating_mul(self.listed.samples));
        Ok(CheckCounts { shards: 1, samples: self.listed.samples, parts: tokens, bytes: file.bytes })
    }

    fn report(&self, why: String) -> Outcome<()> {
        let path = self.folder.join(&self.listed.file().basename);
        self.handles.problems.report(Problem::problem(ProblemKind::BadFile, Subject::path(path), why))
    }

    fn read(&self) -> Result<(), Defect> {
        let path = self.folder.join(&self.listed.file().basename);
        let opened = open_read(&path).map_err(|failure| failure.why)?;
        let (zip, raw) = (self.listed.zip.as_ref(), &self.listed.raw);
        let mut file = HashingReader::new(opened.into_reader(), hashers(zip), self.handles);
        file.counts_progress = self.request.depth == Depth::Tokens;
        let raw_hashes = match self.listed.compression()? {
            Some(compression) => {
                let decoder = compression.decoder(&mut file, raw.bytes).map_err(|error| error.to_string())?;
                self.read_raw(decoder)?
            }
            None => self.read_raw(Box::new(&mut file))?,
        };
        if self.request.depth == Depth::Index {
            return Ok(());
        }
        io::copy(&mut file, &mut io::sink()).map_err(|error| error.to_string())?;
        compare(raw, raw_hashes)?;
        zip.map_or(Ok(()), |zip| compare(zip, file.hexes()))
    }

    /// Reads the raw shard and returns its hashes.
    fn read_raw(&self, source: Box<dyn Read + '_>) -> Result<BTreeMap<String, String>, Defect> {
        let mut source = HashingReader::new(source, hashers(Some(&self.listed.raw)), self.handles);
        let mut reader = ShardReader { source: &mut source, listed: self.listed };
        let head = reader.head()?;
        if self.request.depth == Depth::Index {
            if self.listed.config.is_tokens() {
                reader.first_size(&head)?;
            }
            return Ok(BTreeMap::new());
        }
        let greatest = self.request.vocabulary.map(|vocabulary| i64::from(vocabulary.greatest));
        let mut ids: Option<(u64, i64, u64)> = None;
        let other_sizes = reader.samples(&head, self.sample_size, &mut |sample, piece| {
            for id in piece.as_chunks::<{ WORD_BYTES as usize }>().0 {
                let id = i64::from(i32::from_le_bytes(*id));
                if id < 0 || greatest.is_some_and(|greatest| id > greatest) {
                    let (sample, id, count) = ids.unwrap_or((sample, id, 0));
                    ids = Some((sample, id, count + 1));
                }
            }
        })?;
        if let Some((first, samples)) = other_sizes {
            let size = count(self.sample_size.unwrap_or_default(), "token");
            let samples = grouped(samples);
            return Err(format!(
                "samples without the {size} of the first one of the set: {samples}, beginning with sample {first}"
            ));
        }
        if let Some((sample, id, ids)) = ids {
            let vocabulary = self.request.vocabulary.map_or("any tokenizer", |vocabulary| vocabulary.name.as_str());
            return Err(format!(
                "{} are not ids of {vocabulary}, the first is {id} in sample {sample}",
                count(ids, "token")
            ));
        }
        // Decoders check data after the last byte, such as a checksum, only when they are read to the end.
        match io::copy(&mut source, &mut io::sink()).map_err(|error| error.to_string())? {
            0 => Ok(source.hexes()),
            bytes => Err(format!("{} follow its last sample", count(bytes, "byte"))),
        }
    }
}

fn hashers(file: Option<&FileInfo>) -> Vec<(String, Box<dyn Hasher>)> {
    let names = file.into_iter().flat_map(|file| file.hashes.keys());
    names.filter_map(|name| Some((name.clone(), hasher(name)?))).collect()
}

/// Compares hashes with the index. Hashes that the index does not have are ignored.
fn compare(file: &FileInfo, found: BTreeMap<String, String>) -> Result<(), Defect> {
    for (name, hex) in found {
        if file.hashes.get(&name).is_some_and(|listed| !listed.eq_ignore_ascii_case(&hex)) {
            return Err(format!("its {name} is {hex}, and not the one in index.json"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
