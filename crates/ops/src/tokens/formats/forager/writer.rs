//! Divides tokens into samples, and writes their index.

use super::files::{lengths_spool, mask_spool, tokens_spool, SampleFiles, FILES, LOCATIONS, ROW_BYTES, SCHEMA};
use super::SAMPLES;
use crate::job::publish::FinishedFile;
use crate::tokens::format::{AppendCounts, FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use crate::tokens::spool::{each_chunk, Snapshot};
use crate::tokens::spools::SpoolSet;
use gristmill_core::pack::{SampleSize, TokenType};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::fs::BufferedFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The function that returns a spool name for a file number, and the bytes per sample in the spool.
type SampleSpool = (fn(usize) -> String, u64);

/// Writes sample files and their index.
pub(super) struct Writer<'a> {
    output: &'a SampleFiles,
    /// The position after the last whole sample, for each spool.
    whole: BTreeMap<String, Snapshot>,
    /// Number of tokens after the last whole sample.
    dropped_tokens: u64,
}

impl<'a> Writer<'a> {
    /// Returns a writer that starts with the first file.
    pub(super) fn new(output: &'a SampleFiles) -> Self {
        Self { output, whole: BTreeMap::new(), dropped_tokens: 0 }
    }

    /// Returns the spools of fixed-length samples with the bytes per sample; empty if samples have no fixed length.
    fn sample_spools(&self) -> Vec<SampleSpool> {
        let SampleSize::Fixed(size) = self.output.sample_size else { return Vec::new() };
        let tokens: fn(usize) -> String = tokens_spool;
        let mask: fn(usize) -> String = mask_spool;
        let mut spools = vec![(tokens, size.saturating_mul(self.output.token.bytes() as u64).max(1))];
        if self.output.has_masks {
            spools.push((mask, size.max(1)));
        }
        spools
    }

    /// Appends tokens and records the position after the last whole sample.
    fn append_samples(
        &mut self,
        name: &str,
        bytes: &[u8],
        sample_bytes: u64,
        spools: &mut SpoolSet<'_>,
    ) -> Outcome<()> {
        let begun = (spools.bytes(name) + bytes.len() as u64) % sample_bytes;
        let whole = usize::try_from((bytes.len() as u64).saturating_sub(begun)).unwrap_or(0);
        let (ended, begun) = bytes.split_at(whole);
        if !ended.is_empty() {
            spools.append(name, ended)?;
            if let Some(snapshot) = spools.snapshot(name) {
                self.whole.insert(name.to_owned(), snapshot);
            }
        }
        spools.append(name, begun)
    }

    /// Truncates a spool to whole samples.
    fn end_samples(&mut self, name: &str, sample_bytes: u64, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let bytes = spools.bytes(name);
        if !bytes.is_multiple_of(sample_bytes) {
            let whole = bytes - bytes % sample_bytes;
            let known = self.whole.remove(name).filter(|snapshot| snapshot.bytes() == whole);
            let snapshot = match known {
                Some(snapshot) => snapshot,
                None => Snapshot::of(&spools.close(name)?, whole)?,
            };
            spools.rewind_to(name, snapshot)?;
        }
        spools.drop_finished(name);
        Ok(())
    }
}

impl TokenWriter for Writer<'_> {
    /// A sample that starts in one file continues in the next (docs/formats/forager.md §3.1).
    fn begin_file(&mut self, slot: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let fixed = self.sample_spools();
        if fixed.is_empty() {
            spools.create(&tokens_spool(slot))?;
            return spools.create(&lengths_spool(slot));
        }
        for (name, sample_bytes) in fixed {
            let this = name(slot);
            spools.create(&this)?;
            let Some(before) = slot.checked_sub(1).map(name).filter(|before| spools.contains(before)) else { continue };
            let (path, end) = (spools.close(&before)?, spools.bytes(&before));
            let begun = end % sample_bytes;
            let mut append = |bytes: &[u8]| self.append_samples(&this, bytes, sample_bytes, spools);
            each_chunk(&path, end - begun, end, &mut append)?;
            self.end_samples(&before, sample_bytes, spools)?;
        }
        Ok(())
    }

    fn append(&mut self, added: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        let SlotBlock { slot, block, input } = added;
        if let Some((line, reason)) = block.first_refused.filter(|_| self.output.compat) {
            return Err(Failure::data("packing for forager", reason)
                .on(Subject::path(&input.path).line(line + 1))
                .with_hint("without --compat the line is left out and listed"));
        }
        let fixed = self.sample_spools();
        if fixed.is_empty() {
            spools.append(&tokens_spool(slot), &block.bytes)?;
            let lengths: Vec<u8> = block.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            spools.append(&lengths_spool(slot), &lengths)?;
        }
        for ((name, sample_bytes), bytes) in fixed.into_iter().zip([&block.bytes, &block.mask]) {
            self.append_samples(&name(slot), bytes, sample_bytes, spools)?;
        }
        Ok(AppendCounts::all(block))
    }

    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let last = self.output.names.len().saturating_sub(1);
        for (name, sample_bytes) in self.sample_spools() {
            let begun = spools.bytes(&name(last)) % sample_bytes;
            if name(last) == tokens_spool(last) {
                self.dropped_tokens = begun / self.output.token.bytes() as u64;
            }
            self.end_samples(&name(last), sample_bytes, spools)?;
        }
        Ok(())
    }

    fn state(&self) -> Value {
        self.dropped_tokens.into()
    }

    fn restore(&mut self, state: Value) -> bool {
        state.as_u64().map(|tokens| self.dropped_tokens = tokens).is_some()
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let output = self.output;
        let width = output.token.bytes() as u64;
        let mut finished = FinishedFormat { dropped_tokens: self.dropped_tokens, ..FinishedFormat::default() };
        let mut names = String::new();
        let locations = finishing.folder.join(LOCATIONS);
        let mut rows = finishing.create(&locations)?;
        let mut listed = 0_u64;
        for (number, sample_file) in output.names.iter().enumerate() {
            finishing.context.cancel.check()?;
            let tokens = finishing.bytes(&tokens_spool(number));
            finished.tokens += tokens / width;
            let mut written = finishing.spool(&tokens_spool(number));
            finishing.context.fs.reopen_file(&written, tokens)?.close()?;
            let mut row = Row { file: listed, offset: 0, rows: &mut rows };
            let before = row.rows.len();
            match output.sample_size {
                SampleSize::Fixed(size) if output.has_masks => {
                    written = interleave(finishing, number, size, width)?;
                    row.repeat(size * (width + 1), finishing.bytes(&mask_spool(number)) / size)?;
                }
                SampleSize::Fixed(size) => row.repeat(size * width, tokens / (size * width))?,
                SampleSize::Variable => {
                    let lengths = lengths_spool(number);
                    let mut left = Vec::new();
                    each_chunk(&finishing.spool(&lengths), 0, finishing.bytes(&lengths), &mut |bytes| {
                        left.extend_from_slice(bytes);
                        let (whole, rest) = left.as_chunks::<8>();
                        whole.iter().try_for_each(|length| row.add(u64::from_le_bytes(*length) * width))?;
                        left = rest.to_vec();
                        Ok(())
                    })?;
                }
            }
            let samples = (rows.len() - before) / ROW_BYTES;
            finished.items += samples;
            if samples > 0 {
                names.push_str(&listed_name(sample_file)?);
                listed += 1;
            }
            finished.files.push(FinishedFile::of(written, output.samples(sample_file))?);
            finishing.context.progress.add(1, 0);
        }
        rows.close()?;
        finished.files.push(FinishedFile::of(locations, output.index(LOCATIONS))?.completing());
        if let (SampleSize::Fixed(size), true) = (output.sample_size, output.has_masks) {
            let written = finishing.write(SCHEMA, schema(size, output.token).as_bytes())?;
            finished.files.push(FinishedFile::of(written, output.index(SCHEMA))?.completing());
        }
        let written = finishing.write(FILES, names.as_bytes())?;
        finished.files.push(FinishedFile::of(written, output.index(FILES))?.completing());
        Ok(finished)
    }
}

/// Writes the tokens of each sample, followed by its mask.
fn interleave(finishing: &FinishContext<'_>, number: usize, size: u64, width: u64) -> Outcome<PathBuf> {
    let path = finishing.folder.join(format!("{number}.bin"));
    let mut out = finishing.create(&path)?;
    let (tokens, mask) = (finishing.spool(&tokens_spool(number)), finishing.spool(&mask_spool(number)));
    for sample in 0..finishing.bytes(&mask_spool(number)) / size {
        finishing.context.cancel.check()?;
        let mut take = |bytes: &[u8]| out.write_all(bytes);
        each_chunk(&tokens, sample * size * width, (sample + 1) * size * width, &mut take)?;
        each_chunk(&mask, sample * size, (sample + 1) * size, &mut take)?;
    }
    out.close()?;
    Ok(path)
}

/// A row of the locations, for the samples of one file.
struct Row<'a> {
    file: u64,
    offset: u64,
    rows: &'a mut BufferedFile,
}

impl Row<'_> {
    fn add(&mut self, bytes: u64) -> Outcome<()> {
        let mut row = [0; 24];
        let numbers = [self.file, self.offset, bytes];
        row.as_chunks_mut::<8>().0.iter_mut().zip(numbers).for_each(|(space, number)| *space = number.to_le_bytes());
        self.offset += bytes;
        self.rows.write_all(&row)
    }

    fn repeat(&mut self, bytes: u64, count: u64) -> Outcome<()> {
        (0..count).try_for_each(|_| self.add(bytes))
    }
}

/// Returns a line of `file_location.txt`.
fn listed_name(sample_file: &str) -> Outcome<String> {
    if sample_file.contains('\n') {
        return Err(Failure::data("packing for forager", "its index cannot hold a name with a line break in it")
            .on(Subject::path(sample_file))
            .with_hint("rename the input"));
    }
    Ok(format!("{SAMPLES}/{sample_file}\n"))
}

/// Returns the content of `sample_schema.json` (docs/formats/forager.md §1.3).
fn schema(size: u64, token: TokenType) -> String {
    let tokens = token.numpy_name();
    let mask_at = size * token.bytes() as u64;
    let total = mask_at + size;
    format!(
        "{{\n  \"sample_size\": {size},\n  \"arrays\": [\n    {{\n      \"name\": \"tokens\",\n      \"dtype\": \"{tokens}\",\n      \"offset\": 0\n    }},\n    {{\n      \"name\": \"loss_mask\",\n      \"dtype\": \"uint8\",\n      \"offset\": {mask_at}\n    }}\n  ],\n  \"total_bytes_per_sample\": {total}\n}}"
    )
}
