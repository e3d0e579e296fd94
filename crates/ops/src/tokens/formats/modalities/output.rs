//! The output files of `--format modalities`, and their writer.

use super::names::pbin_names;
use super::target;
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::tokens::encode::EncodedBlock;
use crate::tokens::format::{
    AppendCounts, AssignedFiles, FileAssignmentRequest, FileEstimate, FinishContext, FinishedFormat, OutputTarget,
    ReadingOrder, SlotBlock, TokenOutput, TokenWriter,
};
use crate::tokens::spool::{each_chunk, Snapshot};
use crate::tokens::spools::{SpoolOptions, SpoolRules, SpoolSet};
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_data::formats::modalities::packed::{Header, HEADER_BYTES};
use gristmill_data::source::documents::{is_file_input, TextFile};
use gristmill_pycompat::pickle::IndexWriter;
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Size of an entry of the index in bytes: two numbers and their opcodes.
const INDEX_ITEM_BYTES: u64 = 10;

/// The `.pbin` files of a run.
struct PackedFiles {
    /// The path of each file.
    paths: Vec<PathBuf>,
    place: PathBuf,
    token_bytes: usize,
    /// Number of lines per batch. A bad document loses its whole batch. `None` without `--compat`.
    batch_lines: Option<u64>,
}

/// Assigns each input to its own file.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, spec, place, files } = request;
    let target = target(plan);
    let index = target.index.map(PathBuf::from);
    if index.is_some() {
        check_indexed(&files)?;
    }
    let names = pbin_names(&files);
    let paths = match is_single_file(plan, &place, names.len())? {
        true => vec![place.path.clone()],
        false => names.iter().map(|name| place.path.join(name)).collect(),
    };
    let batch_lines = spec.wants_lines.then(|| target.batch_lines.max(1));
    let output = PackedFiles { paths, place: place.path, token_bytes: spec.token.bytes(), batch_lines };
    let slots = (0..files.len()).collect();
    Ok(AssignedFiles { files, slots, order: ReadingOrder::Any, index, output: Box::new(output) })
}

/// Refuses inputs that cannot have a raw index.
fn check_indexed(files: &[TextFile]) -> Outcome<()> {
    let what = "packing by an index";
    match files {
        [file] if file.packing.is_plain() => Ok(()),
        [file] => Err(Failure::usage(what, "the text is compressed, and an index is for plain text")
            .on(Subject::path(&file.path))),
        _ => Err(Failure::usage(what, "one index is for one file, and there are several")
            .on(Subject::field("--index"))
            .with_hint("without --index the lines themselves are read")),
    }
}

/// Returns whether the output is a single file instead of a folder.
fn is_single_file(plan: &PackPlan, place: &OutputTarget, files: usize) -> Outcome<bool> {
    let is_file_name = !files::is_dir(&place.path) && !plan.output.ends_with('/');
    let is_one_file = plan.paths_file.is_none() && matches!(plan.inputs.as_slice(), [input] if is_file_input(input));
    if !place.is_only_target {
        return Ok(false);
    }
    if files == 1 && is_file_name && is_one_file {
        return Ok(true);
    }
    if is_file_name && plan.output.ends_with(".pbin") {
        let why = "it is the name of a packed file, and of a folder or of several inputs each file becomes one";
        return Err(Failure::usage("packing", why)
            .on(Subject::path(&place.path))
            .with_hint("name a folder, or give one file; gristmill modalities merge puts packed files together"));
    }
    if files > 1 && files::is_file(&place.path) {
        return Err(Failure::usage("packing", "there are several inputs, and the output is a file")
            .on(Subject::path(&place.path))
            .with_hint("name a folder"));
    }
    Ok(false)
}

fn tokens_spool(number: usize) -> String {
    format!("{number}.pbin")
}

fn lengths_spool(number: usize) -> String {
    format!("{number}.lengths")
}

impl SpoolRules for PackedFiles {
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        match spool.ends_with(".pbin") {
            true => SpoolOptions { head_bytes: HEADER_BYTES as usize, is_reread: false },
            false => SpoolOptions { head_bytes: 0, is_reread: true },
        }
    }

    fn is_growing(&self, spool: &str, slot: Option<usize>) -> bool {
        slot.is_some_and(|slot| spool == tokens_spool(slot))
    }
}

impl TokenOutput for PackedFiles {
    fn slots(&self) -> usize {
        self.paths.len()
    }

    fn path(&self) -> PathBuf {
        match self.paths.as_slice() {
            [one] => one.clone(),
            _ => self.place.clone(),
        }
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        self.paths.iter().enumerate().map(|(number, path)| (tokens_spool(number), path.clone())).collect()
    }

    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        self.paths.iter().find(|path| is_foreign(path)).cloned()
    }

    fn estimate(&self, documents: u64, _: u64) -> FileEstimate {
        let files = self.paths.iter().map(|path| vec![path.clone()]).collect();
        FileEstimate { items: documents, extra_bytes: documents * INDEX_ITEM_BYTES, files, ..FileEstimate::default() }
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer { output: self, batch: Batch::default() })
    }
}

/// The current batch of lines in the reference program (docs/formats/modalities.md §4).
#[derive(Default)]
struct Batch {
    number: Option<u64>,
    before: Option<(Snapshot, Snapshot)>,
    is_lost: bool,
}

struct Writer<'a> {
    output: &'a PackedFiles,
    batch: Batch,
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, slot: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.batch = Batch::default();
        spools.create(&tokens_spool(slot))?;
        spools.create(&lengths_spool(slot))
    }

    fn append(&mut self, added: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        let SlotBlock { slot, block, .. } = added;
        let all = AppendCounts::all(block);
        if let Some(batch_lines) = self.output.batch_lines {
            return Ok(AppendCounts { lost: self.append_by_batch(slot, batch_lines, block, spools)?, ..all });
        }
        spools.append(&tokens_spool(slot), &block.bytes)?;
        let lengths: Vec<u8> = block.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        spools.append(&lengths_spool(slot), &lengths)?;
        Ok(all)
    }

    fn end_file(&mut self, slot: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        for name in [tokens_spool(slot), lengths_spool(slot)] {
            spools.close(&name)?;
            spools.drop_finished(&name);
        }
        Ok(())
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let numbers: Vec<usize> = (0..self.output.paths.len()).collect();
        let context = finishing.context;
        let width = self.output.token_bytes as u64;
        let done = run_units(&numbers, context.options.threads, &context.cancel, |number| {
            let (tokens, lengths) = (tokens_spool(*number), lengths_spool(*number));
            let path = finishing.spool(&tokens);
            let data = finishing.bytes(&tokens).saturating_sub(HEADER_BYTES);
            let count = finishing.bytes(&lengths) / 8;
            let mut file = context.fs.reopen_file(&path, HEADER_BYTES + data)?;
            let mut index = IndexWriter::new(count);
            let mut offset = 0;
            let mut left = Vec::new();
            each_chunk(&finishing.spool(&lengths), 0, count * 8, &mut |bytes| {
                context.cancel.check()?;
                left.extend_from_slice(bytes);
                let (whole, rest) = left.as_chunks::<8>();
                for length in whole {
                    let bytes = u64::from_le_bytes(*length) * width;
                    index.push(offset, bytes, &mut |piece| file.write_all(piece))?;
                    offset += bytes;
                }
                left = rest.to_vec();
                Ok(())
            })?;
            index.finish(&mut |piece| file.write_all(piece))?;
            let token_bytes = u8::try_from(width).unwrap_or(4);
            file.overwrite(&Header { data_bytes: data, token_bytes }.to_bytes(), 0)?;
            file.close()?;
            context.progress.add(1, 0);
            Ok((path, count, data / width))
        })?;
        let mut finished = FinishedFormat::default();
        for ((written, documents, tokens), target) in done.into_iter().zip(&self.output.paths) {
            finished.items += documents;
            finished.tokens += tokens;
            finished.files.push(FinishedFile::of(written, target.clone())?.completing());
        }
        Ok(finished)
    }
}

impl Writer<'_> {
    /// Drops documents as the reference program does: a bad document drops its batch, and no later batch is written
    /// (docs/formats/modalities.md §4.4). Returns the number of dropped documents.
    fn append_by_batch(
        &mut self,
        slot: usize,
        batch_lines: u64,
        block: &EncodedBlock,
        spools: &mut SpoolSet<'_>,
    ) -> Outcome<u64> {
        let lost_from = block.first_refused.map(|(line, _)| line / batch_lines);
        let (tokens, lengths) = (tokens_spool(slot), lengths_spool(slot));
        let (mut at, mut dropped) = (0, 0);
        for (line, length) in block.lines.iter().zip(&block.lengths) {
            let bytes = usize::try_from(*length).unwrap_or(0).saturating_mul(self.output.token_bytes);
            let document = block.bytes.get(at..at + bytes).unwrap_or_default();
            at += bytes;
            let batch = line / batch_lines;
            if self.batch.is_lost || lost_from.is_some_and(|lost| batch >= lost) {
                dropped += 1;
                continue;
            }
            if self.batch.number != Some(batch) {
                self.batch.number = Some(batch);
                self.batch.before = spools.snapshot(&tokens).zip(spools.snapshot(&lengths));
            }
            spools.append(&tokens, document)?;
            spools.append(&lengths, &length.to_le_bytes())?;
        }
        if let Some(lost) = lost_from.filter(|_| !self.batch.is_lost) {
            self.batch.is_lost = true;
            if let Some((before, before_lengths)) = self.batch.before.take().filter(|_| self.batch.number == Some(lost))
            {
                let documents = spools.bytes(&lengths);
                spools.rewind_to(&tokens, before)?;
                spools.rewind_to(&lengths, before_lengths)?;
                dropped += (documents - spools.bytes(&lengths)) / 8;
            }
        }
        Ok(dropped)
    }
}
