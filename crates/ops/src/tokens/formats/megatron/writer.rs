//! Writes tokens and lengths of documents to spools, and indexes of them.

use super::files::{lengths_spool, tokens_spool, Pairs};
use super::index::{sequence_length, write_index, LENGTH_BYTES};
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::source::documents::TextFile;
use crate::tokens::encode::EncodedBlock;
use crate::tokens::format::{Appended, FinishedFormat, Finishing, TokenWriter};
use crate::tokens::spool::each_chunk;
use crate::tokens::spools::SpoolSet;
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use serde_json::Value;

/// The writer of pairs.
pub(super) struct Writer<'a> {
    output: &'a Pairs,
    /// The current pair, counted from 0.
    number: u64,
}

impl<'a> Writer<'a> {
    /// Returns a writer that begins with the first pair.
    pub(super) fn new(output: &'a Pairs) -> Self {
        Self { output, number: 0 }
    }

    fn token_bytes(&self) -> u64 {
        self.output.token.bytes() as u64
    }

    /// Appends documents to the current pair.
    fn append_documents(&self, bytes: &[u8], lengths: &[u64], spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let lengths: Vec<i32> = lengths.iter().map(|length| sequence_length(*length)).collect::<Outcome<_>>()?;
        let lengths: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        spools.append(&tokens_spool(self.number), bytes)?;
        spools.append(&lengths_spool(self.number), &lengths)
    }

    /// Appends documents, and begins a new pair after each that brings one above the limit.
    fn append_with_limit(&mut self, max_tokens: u64, block: &EncodedBlock, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let (mut bytes, mut lengths) = (block.bytes.as_slice(), block.lengths.as_slice());
        while !lengths.is_empty() {
            let mut tokens = spools.bytes(&tokens_spool(self.number)) / self.token_bytes();
            let before = tokens;
            let is_last = |length: &u64| {
                tokens = tokens.saturating_add(*length);
                tokens > max_tokens
            };
            let last = lengths.iter().position(is_last);
            let (here, later) = lengths.split_at(last.map_or(lengths.len(), |last| last + 1));
            let size = (tokens - before).saturating_mul(self.token_bytes());
            let (of_pair, rest) = bytes.split_at(usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len()));
            self.append_documents(of_pair, here, spools)?;
            if last.is_some() {
                self.close(spools)?;
                self.number += 1;
            }
            (bytes, lengths) = (rest, later);
        }
        Ok(())
    }

    /// Closes the spools of the current pair.
    fn close(&self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        for spool in [tokens_spool(self.number), lengths_spool(self.number)] {
            spools.close(&spool)?;
            spools.settle(&spool);
        }
        Ok(())
    }

    /// Makes the files of a pair, with the number of its documents and tokens.
    fn pair(&self, finishing: &Finishing<'_>, number: u64) -> Outcome<(FinishedFile, FinishedFile, u64, u64)> {
        let (tokens, lengths) = (tokens_spool(number), lengths_spool(number));
        let length_bytes = finishing.bytes(&lengths);
        let documents = length_bytes / LENGTH_BYTES;
        let path = finishing.folder.join(format!("{number}.idx"));
        let mut file = finishing.create(&path)?;
        let spool = finishing.spool(&lengths);
        let read = |take: &mut dyn FnMut(&[i32]) -> Outcome<()>| {
            let mut some = Vec::new();
            each_chunk(&spool, 0, length_bytes, &mut |bytes| {
                finishing.context.cancel.check()?;
                some.clear();
                // Chunks have whole lengths.
                some.extend(bytes.as_chunks::<4>().0.iter().map(|length| i32::from_le_bytes(*length)));
                take(&some)
            })
        };
        write_index(self.output.token, documents, &read, &mut |bytes| file.write_all(bytes))?;
        file.close()?;
        let bin = FinishedFile::of(finishing.spool(&tokens), self.output.bin(number))?;
        let idx = FinishedFile::of(path, self.output.idx(number))?.completing();
        Ok((bin, idx, documents, finishing.bytes(&tokens) / self.token_bytes()))
    }
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, _: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        if self.number > 0 || spools.contains(&tokens_spool(0)) {
            return Ok(());
        }
        spools.create(&tokens_spool(0))?;
        spools.create(&lengths_spool(0))
    }

    fn append(&mut self, _: usize, block: &EncodedBlock, _: &TextFile, spools: &mut SpoolSet<'_>) -> Outcome<Appended> {
        match self.output.max_tokens {
            Some(max_tokens) => self.append_with_limit(max_tokens, block, spools)?,
            None => self.append_documents(&block.bytes, &block.lengths, spools)?,
        }
        Ok(Appended::all(block))
    }

    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.close(spools)
    }

    fn state(&self) -> Value {
        self.number.into()
    }

    fn restore(&mut self, state: Value) -> bool {
        state.as_u64().map(|number| self.number = number).is_some()
    }

    fn finish(&self, finishing: &Finishing<'_>) -> Outcome<FinishedFormat> {
        let context = finishing.context;
        let numbers: Vec<u64> =
            (0..).take_while(|number| finishing.marks.contains_key(&tokens_spool(*number))).collect();
        let done =
            run_units(&numbers, context.options.threads, &context.cancel, |number| self.pair(finishing, *number))?;
        let mut finished = FinishedFormat::default();
        for (bin, idx, documents, tokens) in done {
            finished.files.extend([bin, idx]);
            finished.items += documents;
            finished.tokens += tokens;
        }
        context.progress.add(1, 0);
        if finished.tokens == 0 {
            let subject = Subject::path(self.output.bin(0));
            let what = if finished.items == 0 { "there are no documents" } else { "no document has a token" };
            let why = format!("{what}, and readers of Megatron cannot open a pair without tokens");
            finished.problems.push(Problem::problem(ProblemKind::EmptyFile, subject, why));
        }
        Ok(finished)
    }
}
