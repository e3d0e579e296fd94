//! Packs the blocks of a pass in several threads, and assembles the results in the order of the text.

use super::assemble::Assembler;
use super::feed::{BlockAndPosition, PassReader};
use crate::job::pool::{run_both, run_units};
use crate::tokens::encode::{EncodingSpec, PackedPiece, Packer};
use gristmill_core::{Cancel, Failure, Mutex, Outcome, PackPlan};
use gristmill_tokenizer::{Mismatch, Tokenizer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, PoisonError};
use std::time::Duration;

/// Interval at which a thread that waits for memory checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Assumed ratio of a block's total memory to its text, until the actual memory is known.
const MEMORY_PER_TEXT_BYTE: usize = 3;
/// Buffers larger than this number of blocks are freed instead of reused.
const MAX_KEPT_BLOCKS: usize = 4;

/// Sizes and memory limits of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// Approximate bytes of text in a block.
    pub(super) block_bytes: usize,
    /// Memory limit for all blocks and their tokens, in bytes. A single block is always admitted.
    pub(super) memory: usize,
    /// Memory limit for the words that a thread caches, in bytes. The first few words are always cached.
    pub(super) words: usize,
}

/// The result of a pass.
pub(super) enum PassEnd {
    /// All blocks are in the spools.
    Done,
    /// The fast tokenizer and the reference differ.
    Mismatch(Box<Mismatch>),
}

/// Runs a pass from the position of `feed`.
pub(super) fn run(
    feed: PassReader<'_>,
    assembler: &mut Assembler<'_>,
    specs: &[EncodingSpec],
    plan: &PackPlan,
    tokenizer: &Tokenizer,
    limits: Limits,
    cancel: &Cancel,
) -> Outcome<PassEnd> {
    let early = BTreeMap::new();
    let pipeline = Pipeline {
        reader: Mutex::new((feed, 0)),
        flow: Mutex::new(Flow { in_flight: 0, spares: Vec::new() }),
        line: Mutex::new(ReorderBuffer { assembler, next: 0, waiting: early, mismatch: None, has_failed: false }),
        moved: Condvar::new(),
        limits,
        is_full: AtomicBool::new(false),
    };
    // A worker that detects a mismatch stops the others with a separate flag, because the run itself continues.
    let stop = Cancel::default();
    let workers: Vec<usize> = (0..limits.threads.max(1)).collect();
    let is_fast = tokenizer.is_fast();
    let mut result = Ok(Vec::new());
    let mut verify_against_reference = || {
        if let Some(mismatch) = is_fast.then(|| tokenizer.verify_against_reference()).flatten() {
            pipeline.differs(mismatch.clone());
            stop.cancel();
        }
    };
    let mut pack = || {
        result = run_units(&workers, limits.threads, &stop, |_| {
            let mut packer = Packer::new(specs, plan, tokenizer, cancel)?.with_cache_bytes(limits.words);
            pipeline.pack_blocks(&mut packer, cancel, &stop)
        })
    };
    // The tokenizers are compared while texts are packed. The pass ends when both have finished.
    run_both(&mut verify_against_reference, &mut pack);
    let waiting = pipeline.line.into_inner();
    match (waiting.mismatch, result) {
        (Some(mismatch), _) => Ok(PassEnd::Mismatch(mismatch)),
        (None, Err(failure)) => Err(failure),
        (None, Ok(_)) => Ok(PassEnd::Done),
    }
}

struct Pipeline<'a, 'b> {
    /// The reader of blocks, and the number of the next block.
    reader: Mutex<(PassReader<'a>, u64)>,
    flow: Mutex<Flow>,
    line: Mutex<ReorderBuffer<'a, 'b>>,
    moved: Condvar,
    limits: Limits,
    /// Whether every format has reached the token limit of the plan.
    is_full: AtomicBool,
}

struct Flow {
    /// Memory of blocks that are read but not assembled yet, in bytes.
    in_flight: usize,
    /// Buffers of assembled blocks, to be used again: their text, and their encoded documents.
    spares: Vec<(Vec<u8>, PackedPiece)>,
}

struct ReorderBuffer<'a, 'b> {
    assembler: &'a mut Assembler<'b>,
    /// Number of the block that is assembled next.
    next: u64,
    /// Encoded blocks by number, each with the memory that it takes in bytes.
    waiting: BTreeMap<u64, (BlockAndPosition, PackedPiece, usize)>,
    mismatch: Option<Box<Mismatch>>,
    /// Whether a block was only partly assembled. No further block may then be assembled.
    has_failed: bool,
}

impl Pipeline<'_, '_> {
    fn pack_blocks(&self, packer: &mut Packer<'_>, cancel: &Cancel, stop: &Cancel) -> Outcome<()> {
        loop {
            let reserved = self.limits.block_bytes.saturating_mul(MEMORY_PER_TEXT_BYTE);
            let (bytes, mut packed) = self.wait_for_slot(reserved, cancel, stop)?;
            let fed = {
                let mut feed = self.reader.lock();
                cancel.check()?;
                stop.check()?;
                if self.is_full.load(Ordering::Acquire) {
                    feed.0.skip_text();
                }
                let fed = feed.0.next(bytes)?;
                fed.map(|fed| {
                    let number = feed.1;
                    feed.1 += 1;
                    (fed, number)
                })
            };
            let Some((fed, number)) = fed else {
                self.release_space(reserved);
                return Ok(());
            };
            packer.run(&fed.piece, &mut packed)?;
            if let Some(mismatch) = packed.mismatch.take() {
                return Err(self.differs(mismatch));
            }
            let taken = fed.piece.documents.memory_bytes() + packed.memory_bytes();
            self.change(reserved, taken);
            self.submit_block(number, fed, packed, taken)?;
        }
    }

    /// Ends the pass, because packed tokens may be wrong.
    fn differs(&self, mismatch: Mismatch) -> Failure {
        self.line.lock().mismatch.get_or_insert(Box::new(mismatch));
        Failure::cancelled()
    }

    /// Waits until there is memory for another block. Cannot deadlock: every block that holds memory is being packed, or waits for one that
    /// is.
    fn wait_for_slot(&self, wanted: usize, cancel: &Cancel, stop: &Cancel) -> Outcome<(Vec<u8>, PackedPiece)> {
        let mut flow = self.flow.lock();
        while flow.in_flight > 0 && flow.in_flight.saturating_add(wanted) > self.limits.memory {
            cancel.check()?;
            stop.check()?;
            flow = self.moved.wait_timeout(flow, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        flow.in_flight = flow.in_flight.saturating_add(wanted);
        Ok(flow.spares.pop().unwrap_or_default())
    }

    fn change(&self, from: usize, to: usize) {
        let mut flow = self.flow.lock();
        flow.in_flight = flow.in_flight.saturating_sub(from).saturating_add(to);
    }

    fn release_space(&self, taken: usize) {
        self.change(taken, 0);
        self.moved.notify_all();
    }

    /// Stores a packed block, and assembles all blocks whose predecessors are assembled.
    fn submit_block(&self, number: u64, fed: BlockAndPosition, packed: PackedPiece, taken: usize) -> Outcome<()> {
        let mut line = self.line.lock();
        line.waiting.insert(number, (fed, packed, taken));
        loop {
            let next = line.next;
            let Some((fed, packed, taken)) = line.waiting.remove(&next) else { return Ok(()) };
            if line.has_failed || line.mismatch.is_some() {
                return Err(Failure::cancelled());
            }
            line.next += 1;
            line.has_failed = true;
            line.assembler.append_block(&fed, &packed)?;
            self.is_full.store(line.assembler.is_full(), Ordering::Release);
            line.has_failed = false;
            let bytes = fed.piece.documents.into_memory();
            let mut flow = self.flow.lock();
            flow.in_flight = flow.in_flight.saturating_sub(taken);
            if taken <= self.limits.block_bytes.saturating_mul(MAX_KEPT_BLOCKS) {
                flow.spares.push((bytes, packed));
            }
            drop(flow);
            self.moved.notify_all();
        }
    }
}
