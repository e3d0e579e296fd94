//! Finishes the tasks of a token folder: pads documents, shuffles them and writes their metadata.

use super::files::{spool, TokenFolder};
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::tokens::format::{FinishContext, FinishedFormat, LengthChange};
use crate::tokens::formats::nanosets::engine::{shuffle, ShuffleOptions, Source};
use crate::tokens::spool::each_chunk;
use gristmill_core::pack::DocumentShuffle;
use gristmill_core::Outcome;
use gristmill_data::formats::nanosets::{index_path, loss_path, metadata_path, names, Metadata, TokenSize};
use gristmill_tokenizer::{Padding, PaddingLength, Side};
use std::path::PathBuf;

/// Number of documents that are padded together (docs/formats/nanosets.md §2).
const DOCUMENTS_PER_BATCH: usize = 10_000;

/// Writes the final files of all tasks.
pub(super) fn finish(finishing: &FinishContext<'_>, output: &TokenFolder) -> Outcome<FinishedFormat> {
    let context = finishing.context;
    let done = run_units(&output.ranks, context.options.threads, &context.cancel, |rank| {
        let done = Task { finishing, output, rank: *rank }.run()?;
        context.progress.add(1, 0);
        Ok(done)
    })?;
    let mut sums = FinishedFormat::default();
    for task in done {
        sums.files.extend(task.files);
        sums.items += task.items;
        sums.tokens += task.tokens;
        sums.dropped_tokens += task.dropped_tokens;
        sums.padded.documents += task.padded.documents;
        sums.padded.tokens += task.padded.tokens;
    }
    Ok(sums)
}

struct Task<'a> {
    finishing: &'a FinishContext<'a>,
    output: &'a TokenFolder,
    rank: u32,
}

impl Task<'_> {
    fn run(&self) -> Outcome<FinishedFormat> {
        let mut data = self.spool("ds");
        let mut index = self.spool("index");
        let width = self.output.token_bytes as u64;
        let mut tokens = self.bytes("ds") / width;
        let documents = self.bytes("index") / 8;
        let mut padded = LengthChange::default();
        if let Some(padding) = self.finishing.padding {
            (data, index, tokens, padded) = self.pad_batches(padding)?;
        }
        let (has_loss, target) = (self.output.has_loss, &self.output.target);
        let loss = self.spool("loss");
        if tokens == 0 || !target.is_shuffled() {
            let name = names::unshuffled(target.prefix.as_deref(), self.rank);
            let metadata = self.metadata(tokens).to_text();
            let metadata = self.finishing.write(&format!("{name}.metadata"), metadata.as_bytes())?;
            let made = self.finished_files(&name, data, index, has_loss.then_some(loss), metadata)?;
            return Ok(FinishedFormat { files: made, items: documents, tokens, padded, ..FinishedFormat::default() });
        }
        let source = Source {
            data: &data,
            index: &index,
            loss: has_loss.then_some(loss.as_path()),
            token_size: self.token_size(),
        };
        let options = ShuffleOptions {
            documents: target.shuffle == DocumentShuffle::Documents,
            chunk: target.chunk_size,
            max_tokens: target.max_tokens_per_file,
            seed: self.output.plan.seed,
        };
        let name = |number: u64| self.output.shuffled_name(self.rank, number);
        let (fs, folder) = (&*self.finishing.context.fs, self.finishing.folder);
        // The shuffle counts documents and chunks, but the progress of this job counts tasks.
        let progress = gristmill_core::Progress::default();
        let handles = gristmill_core::Handles { progress: &progress, ..self.finishing.context.handles() };
        let shuffled = shuffle(&source, &options, self.tokenizer(), (fs, folder), &name, &handles)?;
        let mut tokens = 0;
        let mut made = Vec::new();
        for file in shuffled.files {
            tokens += file.tokens;
            let loss = file.companions.loss.then(|| loss_path(&file.path));
            let metadata = file.metadata.to_text();
            let metadata = self.finishing.write(&format!("{}.metadata", file.name), metadata.as_bytes())?;
            made.extend(self.finished_files(&file.name, file.path.clone(), index_path(&file.path), loss, metadata)?);
        }
        let dropped_tokens = shuffled.dropped_tokens;
        Ok(FinishedFormat {
            files: made,
            items: documents,
            tokens,
            padded,
            dropped_tokens,
            ..FinishedFormat::default()
        })
    }

    fn finished_files(
        &self,
        name: &str,
        data: PathBuf,
        index: PathBuf,
        loss: Option<PathBuf>,
        metadata: PathBuf,
    ) -> Outcome<Vec<FinishedFile>> {
        let target = self.output.place.join(name);
        let mut made = vec![FinishedFile::of(data, target.clone())?, FinishedFile::of(index, index_path(&target))?];
        made.extend(loss.map(|loss| FinishedFile::of(loss, loss_path(&target))).transpose()?);
        made.push(FinishedFile::of(metadata, metadata_path(&target))?.completing());
        Ok(made)
    }

    fn spool(&self, end: &str) -> PathBuf {
        self.finishing.spool(&spool(self.rank, end))
    }

    fn bytes(&self, end: &str) -> u64 {
        self.finishing.bytes(&spool(self.rank, end))
    }

    fn tokenizer(&self) -> &str {
        self.output.plan.tokenizer_name.as_deref().unwrap_or(&self.output.plan.tokenizer)
    }

    fn token_size(&self) -> TokenSize {
        if self.output.token_bytes == 4 {
            TokenSize::Four
        } else {
            TokenSize::Two
        }
    }

    fn metadata(&self, tokens: u64) -> Metadata {
        Metadata { tokenizer: self.tokenizer().to_owned(), token_size: self.token_size(), tokens }
    }

    /// Pads the documents of each batch to one length. Returns the new files, the number of tokens, and the documents that were padded.
    fn pad_batches(&self, padding: Padding) -> Outcome<(PathBuf, PathBuf, u64, LengthChange)> {
        let dir = self.finishing.folder;
        let [data, index] = ["ds", "index"].map(|end| dir.join(format!("filled-{}", spool(self.rank, end))));
        let (mut tokens_out, mut index_out) = (self.finishing.create(&data)?, self.finishing.create(&index)?);
        let width = self.output.token_bytes;
        let pad = padding.id.to_le_bytes();
        let pad = pad.get(..width).unwrap_or_default();
        let source = self.spool("ds");
        let (mut from, mut ended, mut padded) = (0_u64, 0_u64, LengthChange::default());
        let mut batch: Vec<u64> = Vec::with_capacity(DOCUMENTS_PER_BATCH);
        let mut write = |batch: &mut Vec<u64>| -> Outcome<()> {
            self.finishing.context.cancel.check()?;
            let longest =
                batch.iter().scan(from, |last, end| Some(end - std::mem::replace(last, *end))).max().unwrap_or(0);
            let length = length_of(padding, longest);
            for end in batch.drain(..) {
                let missing = length.saturating_sub(end - from);
                padded.add(&[missing]);
                if padding.side == Side::Left {
                    (0..missing).try_for_each(|_| tokens_out.write_all(pad))?;
                }
                let bytes = |at: u64| at * width as u64;
                each_chunk(&source, bytes(from), bytes(end), &mut |piece| tokens_out.write_all(piece))?;
                if padding.side == Side::Right {
                    (0..missing).try_for_each(|_| tokens_out.write_all(pad))?;
                }
                ended += end - from + missing;
                index_out.write_all(&ended.to_le_bytes())?;
                from = end;
            }
            Ok(())
        };
        let mut left = Vec::new();
        each_chunk(&self.spool("index"), 0, self.bytes("index"), &mut |bytes| {
            left.extend_from_slice(bytes);
            let (whole, rest) = left.as_chunks::<8>();
            for end in whole {
                batch.push(u64::from_le_bytes(*end));
                if batch.len() == DOCUMENTS_PER_BATCH {
                    write(&mut batch)?;
                }
            }
            left = rest.to_vec();
            Ok(())
        })?;
        write(&mut batch)?;
        tokens_out.close()?;
        index_out.close()?;
        Ok((data, index, ended, padded))
    }
}

/// Returns the length to which a batch is padded.
fn length_of(padding: Padding, longest: u64) -> u64 {
    let length = match padding.length {
        PaddingLength::Fixed(length) => length as u64,
        PaddingLength::Longest => longest,
    };
    match padding.multiple_of {
        Some(multiple) if multiple > 0 => length.div_ceil(multiple as u64).saturating_mul(multiple as u64),
        _ => length,
    }
}
