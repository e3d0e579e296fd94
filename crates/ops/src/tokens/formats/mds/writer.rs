//! Divides tokens into samples, and writes shards of them.

use super::compression::Compression;
use super::files::ShardFolder;
use super::hashes::{hasher, Hasher};
use super::index::{index_json, FileInfo, Shard, INDEX};
use super::shard::{basename, sample_header, ShardPlan};
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::tokens::encode::EncodedBlock;
use crate::tokens::format::{AppendCounts, FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use crate::tokens::spool::each_chunk;
use crate::tokens::spools::SpoolSet;
use gristmill_core::text::{bytes, count, count_verb};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::read::open_read;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

pub(super) const TOKENS_SPOOL: &str = "tokens";
/// Size of a token, in bytes.
const TOKEN_BYTES: u64 = 4;
/// Name of this activity in errors.
const ACTIVITY: &str = "packing for mds";

/// Writes the shards and the index of an MDS set.
pub(super) struct Writer<'a> {
    output: &'a ShardFolder,
    /// Number of tokens that `--no-wrap` drops: those of a document after the end of its sample.
    skipped_tokens: u64,
}

impl<'a> Writer<'a> {
    /// Returns a writer that starts with the first file.
    pub(super) fn new(output: &'a ShardFolder) -> Self {
        Self { output, skipped_tokens: 0 }
    }

    /// Appends documents, each up to the end of the current sample.
    fn append_without_wrap(&mut self, block: &EncodedBlock, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let sample_bytes = self.output.sample_size * TOKEN_BYTES;
        let mut begun = spools.bytes(TOKENS_SPOOL) % sample_bytes;
        let mut rest = block.bytes.as_slice();
        for length in &block.lengths {
            let size = usize::try_from(length * TOKEN_BYTES).unwrap_or(usize::MAX).min(rest.len());
            let (document, later) = rest.split_at(size);
            let room = usize::try_from(sample_bytes - begun).unwrap_or(usize::MAX);
            let kept = document.get(..room).unwrap_or(document);
            spools.append(TOKENS_SPOOL, kept)?;
            self.skipped_tokens += (document.len() - kept.len()) as u64 / TOKEN_BYTES;
            begun = (begun + kept.len() as u64) % sample_bytes;
            rest = later;
        }
        Ok(())
    }

    /// Writes a shard. Returns its file and its entry in the index.
    fn shard(&self, finishing: &FinishContext<'_>, number: u64, plan: &ShardPlan) -> Outcome<(FinishedFile, Shard)> {
        let (config, sample_size, planned) = (&self.output.config, self.output.sample_size, plan.shard(number));
        let path = finishing.folder.join(basename(number));
        let mut raw = HashedFile::new(finishing.create(&path)?, config.hashes());
        plan.write_head(planned.samples, &config.to_json(), &mut |piece| raw.write_all(piece))?;
        let header = sample_header(sample_size)?;
        let sample_bytes = sample_size * TOKEN_BYTES;
        // Number of bytes up to the next sample.
        let mut left = 0;
        let (start, end) = (planned.first * sample_bytes, (planned.first + planned.samples) * sample_bytes);
        each_chunk(&finishing.spool(TOKENS_SPOOL), start, end, &mut |mut piece| {
            finishing.context.cancel.check()?;
            while !piece.is_empty() {
                if left == 0 {
                    raw.write_all(&header)?;
                    left = sample_bytes;
                }
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
                let (of_sample, later) = piece.split_at(here);
                raw.write_all(of_sample)?;
                left -= here as u64;
                piece = later;
            }
            Ok(())
        })?;
        let raw = raw.finish(basename(number))?;
        let Some(compression) = config.compression() else {
            let file = FinishedFile::of(path, self.output.shard(number))?;
            return Ok((file, Shard { samples: planned.samples, raw, zip: None }));
        };
        let name = self.output.file_name(number);
        let zip_path = finishing.folder.join(&name);
        let zip = self.compress(finishing, compression, &path, &zip_path)?.finish(name)?;
        finishing.context.fs.remove_file(&path)?;
        let file = FinishedFile::of(zip_path, self.output.shard(number))?;
        Ok((file, Shard { samples: planned.samples, raw, zip: Some(zip) }))
    }

    fn compress(
        &self,
        finishing: &FinishContext<'_>,
        compression: Compression,
        from: &Path,
        to: &Path,
    ) -> Outcome<HashedFile> {
        let file = open_read(from)?;
        let (length, mut reader) = (file.len(), file.into_reader());
        let mut writer = HashedFile::new(finishing.create(to)?, self.output.config.hashes());
        let compressed = compression.compress(&mut reader, length, &mut writer);
        match (writer.failure.take(), compressed) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => Err(Failure::io("compressing a shard", from, &error)),
            (None, Ok(())) => Ok(writer),
        }
    }

    /// Returns notes on tokens and samples that the options drop.
    fn notes(&self, plan: &ShardPlan) -> Vec<Problem> {
        let note = |flag: &str, why: String| Problem::note(ProblemKind::Other, Subject::field(flag), why);
        let mut notes = Vec::new();
        if self.skipped_tokens > 0 {
            let tokens = count_verb(self.skipped_tokens, "token", "is", "are");
            let why = format!("{tokens} left out after the end of a sample in their document");
            notes.push(note("--no-wrap", why).with_hint("without --no-wrap the next sample begins with them"));
        }
        if plan.is_over_limit() {
            let why = format!("a sample has {}: each is a shard of its own", bytes(plan.sample_bytes()));
            notes.push(note("--size-limit", why));
        }
        notes
    }
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, _: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        if spools.contains(TOKENS_SPOOL) {
            return Ok(());
        }
        spools.create(TOKENS_SPOOL)
    }

    fn append(&mut self, SlotBlock { block, .. }: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        match self.output.no_wrap {
            true => self.append_without_wrap(block, spools)?,
            false => spools.append(TOKENS_SPOOL, &block.bytes)?,
        }
        Ok(AppendCounts::all(block))
    }

    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        spools.close(TOKENS_SPOOL)?;
        spools.drop_finished(TOKENS_SPOOL);
        Ok(())
    }

    fn state(&self) -> Value {
        self.skipped_tokens.into()
    }

    fn restore(&mut self, state: Value) -> bool {
        state.as_u64().map(|tokens| self.skipped_tokens = tokens).is_some()
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let (context, config, sample_size) = (finishing.context, &self.output.config, self.output.sample_size);
        let tokens = finishing.bytes(TOKENS_SPOOL) / TOKEN_BYTES;
        let samples = tokens / sample_size;
        if samples == 0 {
            let why = format!("there is no sample: all text has {}", count(tokens, "token"));
            return Err(Failure::data(ACTIVITY, why)
                .on(Subject::field("--sample-size"))
                .with_hint(format!("a sample has {}; give a smaller size or more text", count(sample_size, "token"))));
        }
        let plan = ShardPlan::new(config, samples, sample_size)?;
        let numbers: Vec<u64> = (0..plan.shards()).collect();
        let done = run_units(&numbers, context.options.threads, &context.cancel, |number| {
            self.shard(finishing, *number, &plan)
        })?;
        let (mut files, shards): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let index: PathBuf = finishing.write(INDEX, index_json(config, &shards).as_bytes())?;
        files.push(FinishedFile::of(index, self.output.place.join(INDEX))?.completing());
        context.progress.add(1, 0);
        Ok(FinishedFormat {
            files,
            items: samples,
            tokens: samples * sample_size,
            dropped_tokens: tokens % sample_size,
            problems: self.notes(&plan),
            ..FinishedFormat::default()
        })
    }
}

/// A file that computes hashes of its bytes while they are written.
struct HashedFile {
    file: BufferedFile,
    /// Each with the name of its algorithm.
    hashers: Vec<(String, Box<dyn Hasher>)>,
    /// The reason why a write through [`io::Write`] failed.
    failure: Option<Failure>,
}

impl HashedFile {
    fn new(file: BufferedFile, names: &[String]) -> Self {
        let hashers = names.iter().filter_map(|name| Some((name.clone(), hasher(name)?))).collect();
        Self { file, hashers, failure: None }
    }

    fn write_all(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.hashers.iter_mut().for_each(|(_, hasher)| hasher.update(bytes));
        self.file.write_all(bytes)
    }

    /// Closes the file and returns its description.
    fn finish(self, basename: String) -> Outcome<FileInfo> {
        let bytes = self.file.close()?;
        let hashes = self.hashers.into_iter().map(|(name, hasher)| (name, hasher.hex())).collect();
        Ok(FileInfo { basename, bytes, hashes })
    }
}

impl io::Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.write_all(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::Error::other("the shard cannot be written"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
