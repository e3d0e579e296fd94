//! Turns spools into finished files: heads, indexes, shuffles, sample locations. Each step can be repeated.

use super::assemble::name;
use super::inputs::Inputs;
use super::journal::{LengthChange, Totals};
use super::layout::Layout;
use super::spool::{each_chunk, Mark};
use super::tasks;
use crate::engine::pack::{EncodingSpec, Kind};
use crate::formats::modalities::packed::{Header, HEADER_BYTES};
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::job::task::TaskContext;
use gristmill_core::pack::{PackPlan, SampleSize};
use gristmill_core::{Failure, Outcome, PackFormat, Subject};
use gristmill_pycompat::pickle::IndexWriter;
use gristmill_storage::fs::BufferedFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes buffered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Totals of the files of a format.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) documents: u64,
    pub(super) tokens: u64,
    pub(super) dropped: u64,
    /// Documents of Nanosets that are padded.
    pub(super) padded: LengthChange,
}

/// Input of the finishing steps.
pub(super) struct Finishing<'a> {
    pub(super) context: &'a TaskContext,
    pub(super) plan: &'a PackPlan,
    pub(super) layout: &'a Layout,
    pub(super) inputs: &'a Inputs,
    /// Length of each spool.
    pub(super) marks: &'a BTreeMap<String, Mark>,
    pub(super) totals: &'a Totals,
    /// Padding of the tokenizer file, for Nanosets.
    pub(super) padding: Option<gristmill_tokenizer::Padding>,
}

impl Finishing<'_> {
    /// Finishes the files of a format.
    pub(super) fn run(&self, spec: &EncodingSpec) -> Outcome<(Vec<FinishedFile>, Sums)> {
        match spec.format {
            PackFormat::Modalities => self.pbins(spec),
            PackFormat::Nanosets => tasks::finish(self, spec),
            PackFormat::Forager => self.samples(spec),
        }
    }

    pub(super) fn spool(&self, name: &str) -> PathBuf {
        self.layout.spools().join(name)
    }

    pub(super) fn bytes(&self, name: &str) -> u64 {
        self.marks.get(name).map_or(0, |mark| mark.bytes)
    }

    fn pbins(&self, spec: &EncodingSpec) -> Outcome<(Vec<FinishedFile>, Sums)> {
        let numbers: Vec<usize> = (0..self.inputs.pbins.len()).collect();
        let context = self.context;
        let width = spec.token.bytes() as u64;
        let done = run_units(&numbers, context.options.threads, &context.cancel, |number| {
            let (tokens, lengths) = (name::pbin(*number), name::pbin_lengths(*number));
            let path = self.spool(&tokens);
            let data = self.bytes(&tokens).saturating_sub(HEADER_BYTES);
            let count = self.bytes(&lengths) / 8;
            let mut file = context.fs.reopen_file(&path, HEADER_BYTES + data)?;
            let mut index = IndexWriter::new(count);
            let mut offset = 0;
            let mut left = Vec::new();
            each_chunk(&self.spool(&lengths), 0, count * 8, &mut |bytes| {
                context.cancel.check()?;
                left.extend_from_slice(bytes);
                let (whole, rest) = left.as_chunks::<8>();
                for length in whole {
                    let bytes = u64::from_le_bytes(*length) * width;
                    index.push(offset, bytes, &mut |piece| file.write_all(piece))?;
                    offset += bytes;
                }
                let rest = rest.to_vec();
                left = rest;
                Ok(())
            })?;
            index.finish(&mut |piece| file.write_all(piece))?;
            let token_bytes = u8::try_from(spec.token.bytes()).unwrap_or(4);
            file.overwrite(&Header { data_bytes: data, token_bytes }.to_bytes(), 0)?;
            file.close()?;
            context.progress.add(1, 0);
            Ok((path, count, data / width))
        })?;
        let mut sums = Sums::default();
        let mut made = Vec::with_capacity(done.len());
        for ((written, documents, tokens), name) in done.into_iter().zip(&self.inputs.pbins) {
            sums.documents += documents;
            sums.tokens += tokens;
            made.push(FinishedFile::of(written, self.layout.pbin(name))?.completing());
        }
        Ok((made, sums))
    }

    fn samples(&self, spec: &EncodingSpec) -> Outcome<(Vec<FinishedFile>, Sums)> {
        let size = self.plan.forager.as_ref().map(|target| target.sample_size);
        let dir = self.layout.finished();
        let mut made = Vec::new();
        let mut sums = Sums { dropped: self.totals.dropped_samples, ..Sums::default() };
        let mut names = String::new();
        let locations = dir.join("sample_locations.bin");
        let mut rows = self.create(&locations)?;
        let mut listed = 0_u64;
        for (number, sample_file) in self.inputs.samples.iter().enumerate() {
            self.context.cancel.check()?;
            let tokens = self.bytes(&name::samples(number));
            sums.tokens += tokens / spec.token.bytes() as u64;
            let mut written = self.spool(&name::samples(number));
            self.context.fs.reopen_file(&written, tokens)?.close()?;
            let mut row = Row { file: listed, offset: 0, rows: &mut rows };
            let before = row.rows.len();
            match (size, &spec.kind) {
                (Some(SampleSize::Fixed(size)), Kind::Parts(_)) => {
                    written = self.interleave(number, size, spec.token.bytes() as u64)?;
                    let bytes = size * (spec.token.bytes() as u64 + 1);
                    row.repeat(bytes, self.bytes(&name::samples_mask(number)) / size)?;
                }
                (Some(SampleSize::Fixed(size)), _) => {
                    let bytes = size * spec.token.bytes() as u64;
                    row.repeat(bytes, tokens / bytes)?;
                }
                _ => {
                    let lengths = name::samples_lengths(number);
                    let width = spec.token.bytes() as u64;
                    let mut left = Vec::new();
                    each_chunk(&self.spool(&lengths), 0, self.bytes(&lengths), &mut |bytes| {
                        left.extend_from_slice(bytes);
                        let (whole, rest) = left.as_chunks::<8>();
                        whole.iter().try_for_each(|length| row.add(u64::from_le_bytes(*length) * width))?;
                        left = rest.to_vec();
                        Ok(())
                    })?;
                }
            }
            let samples = (rows.len() - before) / 24;
            sums.documents += samples;
            if samples > 0 {
                names.push_str(&listed_name(sample_file)?);
                listed += 1;
            }
            made.push(FinishedFile::of(written, self.layout.samples(sample_file))?);
            self.context.progress.add(1, 0);
        }
        rows.close()?;
        let target = |name: &str| self.layout.index(self.plan, name);
        made.push(FinishedFile::of(locations, target("sample_locations.bin"))?.completing());
        if let (Some(SampleSize::Fixed(size)), Kind::Parts(_)) = (size, &spec.kind) {
            let written = self.write("sample_schema.json", schema(size, spec).as_bytes())?;
            made.push(FinishedFile::of(written, target("sample_schema.json"))?.completing());
        }
        let written = self.write("file_location.txt", names.as_bytes())?;
        made.push(FinishedFile::of(written, target("file_location.txt"))?.completing());
        Ok((made, sums))
    }

    /// Writes the tokens of each sample followed by its mask.
    fn interleave(&self, number: usize, size: u64, width: u64) -> Outcome<PathBuf> {
        let path = self.layout.finished().join(format!("f{number}.bin"));
        let mut out = self.create(&path)?;
        let (tokens, mask) = (self.spool(&name::samples(number)), self.spool(&name::samples_mask(number)));
        for sample in 0..self.bytes(&name::samples_mask(number)) / size {
            self.context.cancel.check()?;
            let mut take = |bytes: &[u8]| out.write_all(bytes);
            each_chunk(&tokens, sample * size * width, (sample + 1) * size * width, &mut take)?;
            each_chunk(&mask, sample * size, (sample + 1) * size, &mut take)?;
        }
        out.close()?;
        Ok(path)
    }

    /// Creates a file in the folder of finished files; one left there by a stopped run is replaced.
    pub(super) fn create(&self, path: &Path) -> Outcome<BufferedFile> {
        let fs = &*self.context.fs;
        fs.remove_file(path)?;
        Ok(BufferedFile::new(fs.create_file(path)?, BUFFER_BYTES))
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Outcome<PathBuf> {
        let path = self.layout.finished().join(name);
        let mut file = self.create(&path)?;
        file.write_all(bytes)?;
        file.close()?;
        Ok(path)
    }
}

/// Rows of the samples of one file.
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
    Ok(format!("{}\n", Layout::samples_in_index(sample_file)))
}

/// `sample_schema.json` (docs/formats/forager.md §1.3).
fn schema(size: u64, spec: &EncodingSpec) -> String {
    let tokens = spec.token.numpy_name();
    let mask_at = size * spec.token.bytes() as u64;
    let total = mask_at + size;
    format!(
        "{{\n  \"sample_size\": {size},\n  \"arrays\": [\n    {{\n      \"name\": \"tokens\",\n      \"dtype\": \"{tokens}\",\n      \"offset\": 0\n    }},\n    {{\n      \"name\": \"loss_mask\",\n      \"dtype\": \"uint8\",\n      \"offset\": {mask_at}\n    }}\n  ],\n  \"total_bytes_per_sample\": {total}\n}}"
    )
}
