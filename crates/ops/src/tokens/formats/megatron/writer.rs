//! Writes tokens, sequence lengths and sequence counts to spools, and converts these to indexes.

use super::files::{PairSpools, Pairs};
use super::index::{sequence_length, write_index, IndexTables, PairType, TakeNumbers, LENGTH_BYTES};
use super::no_tokens;
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::tokens::encode::EncodedBlock;
use crate::tokens::format::{AppendCounts, FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use crate::tokens::spool::each_chunk;
use crate::tokens::spools::SpoolSet;
use gristmill_core::{Failure, Outcome, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Writes the token files and indexes of pairs.
pub(super) struct Writer<'a> {
    output: &'a Pairs,
    state: WriterState,
}

/// The state that a resumed run needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct WriterState {
    /// The index of the current pair of each key.
    numbers: Vec<u64>,
    /// Number of lines of all blocks so far, including lines of omitted documents.
    lines: u64,
    /// Number of lines of the files before the current one.
    lines_before_file: u64,
}

/// The documents of a block that belong to one partition, in the bytes of the spools.
#[derive(Default)]
struct PartitionBlock {
    tokens: Vec<u8>,
    lengths: Vec<u8>,
    counts: Vec<u8>,
}

/// The text of a document for one key.
struct DocumentText<'b> {
    /// Index of the document in its block.
    at: usize,
    bytes: &'b [u8],
    /// Number of tokens of each sequence.
    lengths: &'b [u64],
}

/// Returns the texts of all documents of a block for one key; `keys` is the number of keys.
fn texts_of(block: &EncodedBlock, key: usize, keys: usize, width: u64) -> impl Iterator<Item = DocumentText<'_>> {
    let (mut bytes, mut lengths) = (block.bytes.as_slice(), block.sequences.lengths.as_slice());
    let texts = block.sequences.counts.iter().enumerate();
    texts.filter_map(move |(number, count)| {
        let (here, later) = lengths.split_at(usize::try_from(*count).unwrap_or(usize::MAX).min(lengths.len()));
        let size = here.iter().sum::<u64>().saturating_mul(width);
        let (tokens, rest) = bytes.split_at(usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len()));
        (bytes, lengths) = (rest, later);
        (number % keys == key).then_some(DocumentText { at: number / keys, bytes: tokens, lengths: here })
    })
}

impl PartitionBlock {
    fn add(&mut self, text: &DocumentText<'_>) -> Outcome<()> {
        self.tokens.extend_from_slice(text.bytes);
        for length in text.lengths {
            self.lengths.extend_from_slice(&sequence_length(*length)?.to_le_bytes());
        }
        let count = u32::try_from(text.lengths.len())
            .map_err(|_| Failure::data("packing for megatron", "a document has 2³² sequences or more"))?;
        self.counts.extend_from_slice(&count.to_le_bytes());
        Ok(())
    }
}

impl<'a> Writer<'a> {
    /// Returns a writer that starts with the first pairs.
    pub(super) fn new(output: &'a Pairs) -> Self {
        let numbers = vec![0; output.prefixes.len()];
        Self { output, state: WriterState { numbers, ..WriterState::default() } }
    }

    fn token_bytes(&self) -> u64 {
        self.output.token.bytes() as u64
    }

    /// Returns the spools of the current pair of a key.
    fn spools_of(&self, key: usize, partition: u64) -> PairSpools {
        PairSpools { key, number: self.state.numbers.get(key).copied().unwrap_or_default(), partition }
    }

    /// Returns the partition of a document, which depends on its line number across all files.
    fn partition(&self, block: &EncodedBlock, at: usize) -> u64 {
        let line = block.lines.get(at).map_or(0, |line| line + self.state.lines_before_file);
        line % self.output.partitions
    }

    /// Appends the texts of a key. Starts a new pair after a document that exceeds the token limit.
    fn append_key(&mut self, key: usize, block: &EncodedBlock, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let mut tokens = spools.bytes(&self.spools_of(key, 0).tokens()) / self.token_bytes();
        let mut portions: BTreeMap<u64, PartitionBlock> = BTreeMap::new();
        for text in texts_of(block, key, self.output.prefixes.len(), self.token_bytes()) {
            portions.entry(self.partition(block, text.at)).or_default().add(&text)?;
            tokens += text.lengths.iter().sum::<u64>();
            if self.output.max_tokens.is_some_and(|most| tokens > most) {
                self.append_portions(key, std::mem::take(&mut portions), spools)?;
                self.close(key, spools)?;
                if let Some(number) = self.state.numbers.get_mut(key) {
                    *number += 1;
                }
                tokens = 0;
            }
        }
        self.append_portions(key, portions, spools)
    }

    fn append_portions(
        &self,
        key: usize,
        portions: BTreeMap<u64, PartitionBlock>,
        spools: &mut SpoolSet<'_>,
    ) -> Outcome<()> {
        for (partition, PartitionBlock { tokens, lengths, counts }) in portions {
            let of_partition = self.spools_of(key, partition);
            for (spool, bytes) in of_partition.all().iter().zip([tokens, lengths, counts]) {
                spools.append(spool, &bytes)?;
                // The number of partitions may exceed the limit of open files.
                if self.output.partitions > 1 {
                    spools.close(spool)?;
                }
            }
        }
        Ok(())
    }

    /// Closes the spools of the current pair of a key.
    fn close(&self, key: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        for partition in 0..self.output.partitions {
            for spool in self.spools_of(key, partition).all() {
                spools.close(&spool)?;
                spools.drop_finished(&spool);
            }
        }
        Ok(())
    }

    /// Writes the files of a pair.
    fn pair(&self, finishing: &FinishContext<'_>, key: usize, number: u64) -> Outcome<FinishedPair> {
        let partitions = (0..self.output.partitions).map(|partition| PairSpools { key, number, partition });
        let partitions: Vec<PairSpools> =
            partitions.filter(|spools| finishing.marks.contains_key(&spools.tokens())).collect();
        let path = finishing.folder.join(format!("{key}-{number}.idx"));
        let mut file = finishing.create(&path)?;
        let tables = SpooledTables { finishing, partitions: &partitions };
        write_index(PairType::of(self.output.token)?, &tables, &mut |bytes| file.write_all(bytes))?;
        file.close()?;
        let sum = |spool: fn(PairSpools) -> String| partitions.iter().map(|s| finishing.bytes(&spool(*s))).sum::<u64>();
        let tokens = match partitions.as_slice() {
            [only] => finishing.spool(&only.tokens()),
            several => {
                let path = finishing.folder.join(format!("{key}-{number}.bin"));
                let mut file = finishing.create(&path)?;
                each_part(finishing, several, PairSpools::tokens, &mut |bytes| file.write_all(bytes))?;
                file.close()?;
                path
            }
        };
        Ok(FinishedPair {
            bin: FinishedFile::of(tokens, self.output.bin(key, number))?,
            idx: FinishedFile::of(path, self.output.idx(key, number))?.completing(),
            documents: sum(PairSpools::counts) / LENGTH_BYTES,
            tokens: sum(PairSpools::tokens) / self.token_bytes(),
        })
    }
}

/// A pair that is ready for publication.
struct FinishedPair {
    bin: FinishedFile,
    idx: FinishedFile,
    documents: u64,
    tokens: u64,
}

/// Reads the tables of a pair from its spools.
struct SpooledTables<'a> {
    finishing: &'a FinishContext<'a>,
    partitions: &'a [PairSpools],
}

impl IndexTables for SpooledTables<'_> {
    fn lengths(&self, take: TakeNumbers<'_, i32>) -> Outcome<()> {
        each_number(self, PairSpools::lengths, i32::from_le_bytes, take)
    }

    fn counts(&self, take: TakeNumbers<'_, u32>) -> Outcome<()> {
        each_number(self, PairSpools::counts, u32::from_le_bytes, take)
    }
}

/// Passes the numbers in the spool of each partition to `take`, in the order of the partitions.
fn each_number<N>(
    tables: &SpooledTables<'_>,
    spool: fn(PairSpools) -> String,
    of: fn([u8; 4]) -> N,
    take: TakeNumbers<'_, N>,
) -> Outcome<()> {
    let mut some = Vec::new();
    each_part(tables.finishing, tables.partitions, spool, &mut |bytes| {
        some.clear();
        // The size of a chunk is a multiple of the size of a number.
        some.extend(bytes.as_chunks::<4>().0.iter().map(|number| of(*number)));
        take(&some)
    })
}

/// Passes the bytes in the spool of each partition to a callback, in the order of the partitions.
fn each_part(
    finishing: &FinishContext<'_>,
    partitions: &[PairSpools],
    spool: fn(PairSpools) -> String,
    take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    partitions.iter().map(|spools| spool(*spools)).try_for_each(|spool| {
        each_chunk(&finishing.spool(&spool), 0, finishing.bytes(&spool), &mut |bytes| {
            finishing.context.cancel.check()?;
            take(bytes)
        })
    })
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, _: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.state.lines_before_file = self.state.lines;
        for key in self.output.keys() {
            let first = self.spools_of(key, 0);
            if first.number == 0 && !spools.contains(&first.tokens()) {
                first.all().iter().try_for_each(|spool| spools.create(spool))?;
            }
        }
        Ok(())
    }

    fn append(&mut self, SlotBlock { block, .. }: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        self.output.keys().try_for_each(|key| self.append_key(key, block, spools))?;
        self.state.lines += block.lengths.len() as u64 + block.skipped.iter().map(|skip| skip.documents).sum::<u64>();
        Ok(AppendCounts::all(block))
    }

    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.output.keys().try_for_each(|key| self.close(key, spools))
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }

    fn restore(&mut self, state: Value) -> bool {
        let state = serde_json::from_value::<WriterState>(state).ok();
        let state = state.filter(|state| state.numbers.len() == self.output.prefixes.len());
        state.map(|state| self.state = state).is_some()
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let context = finishing.context;
        let is_there = |key, number| {
            let spools = PairSpools { key, number, partition: 0 };
            finishing.marks.contains_key(&spools.tokens())
        };
        let of_key = |key| (0..).take_while(move |number| is_there(key, *number)).map(move |number| (key, number));
        let pairs: Vec<(usize, u64)> = self.output.keys().flat_map(of_key).collect();
        let done = run_units(&pairs, context.options.threads, &context.cancel, |(key, number)| {
            Ok((*key, self.pair(finishing, *key, *number)?))
        })?;
        let mut finished = FinishedFormat::default();
        for (key, FinishedPair { bin, idx, documents, tokens }) in done {
            finished.files.extend([bin, idx]);
            // The documents are the same for each key, so they are counted once.
            finished.items += if key == 0 { documents } else { 0 };
            finished.tokens += tokens;
        }
        context.progress.add(1, 0);
        if finished.tokens == 0 {
            let subject = Subject::path(self.output.bin(0, 0));
            finished.problems.push(no_tokens(subject, finished.items));
        }
        Ok(finished)
    }
}
