//! Repairs the index of a pair if only one result is possible (docs/formats/megatron.md §7).

use super::index::{write_index, IndexTables, TakeNumbers};
use super::pair::{PairIndex, NUMBERS_PER_READ};
use crate::job::repair::RepairReport;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use gristmill_core::{Cancel, Failure, Outcome, RunOptions, Subject};
use gristmill_storage::fs::RealFs;
use std::path::Path;
use std::sync::Arc;

const ACTIVITY: &str = "repairing";
const REPAIRED: &str = "the index says where the tokens are now; the file as it was is kept";

/// The defect of an index, which decides how it is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    Nothing,
    /// The lengths add up to the size of the token file, and the offsets contradict them.
    Offsets {
        wrong: u64,
        first: u64,
    },
    /// The offsets divide the token file into sequences, and the lengths contradict them.
    Lengths {
        wrong: u64,
        first: u64,
    },
}

struct IndexRepair<'a> {
    pair: PairIndex,
    defect: Defect,
    /// Number of wrong marks: the first, the last, or both of them.
    marks: u64,
    cancel: &'a Cancel,
}

/// Repairs the index of a pair in the background. If `is_dry` is set, only reports the changes.
pub(super) fn start_repair(path: &Path, is_dry: bool, options: RunOptions) -> Outcome<Task<RepairReport>> {
    let path = path.to_owned();
    Task::start("repair", options, Arc::new(RealFs), move |context| run(&path, is_dry, context))
}

fn run(path: &Path, is_dry: bool, context: &TaskContext) -> Outcome<RepairReport> {
    context.phase_of(Phase::Scan, "sequence", "looking at the index");
    let repair = IndexRepair::of(path, &context.cancel).map_err(|why| match context.cancel.check() {
        Err(cancelled) => cancelled,
        Ok(()) => Failure::data(ACTIVITY, format!("the correct values are not certain: {why}"))
            .on(Subject::path(path))
            .with_hint("gristmill pack makes the pair again"),
    })?;
    let (sequences, documents) = (repair.pair.sequences, repair.pair.documents);
    let mut report = match repair.defect {
        Defect::Offsets { wrong, first } => RepairReport::new(("positions", "sequence"), sequences, wrong, first),
        Defect::Lengths { wrong, first } => RepairReport::new(("lengths", "sequence"), sequences, wrong, first),
        Defect::Nothing => RepairReport::new(("marks", "document"), documents, repair.marks, 0),
    };
    if report.repaired > 0 && !is_dry {
        let index = repair.pair.path().to_owned();
        report.replace(&index, repair.pair.mode(), REPAIRED, context, |file| {
            write_index(repair.pair.pair_type, &repair, &mut |bytes| file.write_all(bytes))
        })?;
    }
    Ok(report.ended(context))
}

/// Calls `read` with the first index and the count of each batch of numbers.
fn each_range(all: u64, cancel: &Cancel, read: &mut dyn FnMut(u64, u64) -> Result<(), String>) -> Result<(), String> {
    let mut first = 0;
    while first < all {
        if cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let count = NUMBERS_PER_READ.min(all - first);
        read(first, count)?;
        first += count;
    }
    Ok(())
}

impl<'a> IndexRepair<'a> {
    /// Finds the defect of an index. The error is the reason why the index cannot be repaired.
    fn of(path: &Path, cancel: &'a Cancel) -> Result<Self, String> {
        let pair = PairIndex::open(path)?;
        let mut repair = Self { pair, defect: Defect::Nothing, marks: 0, cancel };
        repair.defect = repair.find_defect()?;
        repair.marks = repair.wrong_marks()?;
        Ok(repair)
    }

    /// Compares the lengths, the offsets and the size of the token file.
    fn find_defect(&self) -> Result<Defect, String> {
        let (pair, width) = (&self.pair, self.pair.pair_type.bytes);
        let (mut has_lengths, mut has_offsets, mut sum) = (true, true, 0_u64);
        let (mut by_lengths, mut by_offsets) = (WrongNumbers::default(), WrongNumbers::default());
        let mut before: Option<(u64, Option<u64>)> = None;
        let mut sequence = 0;
        each_range(pair.sequences, self.cancel, &mut |first, count| {
            for (length, offset) in pair.lengths(first, count)?.into_iter().zip(pair.offsets(first, count)?) {
                let size = u64::try_from(length).ok().and_then(|length| length.checked_mul(width));
                let start = u64::try_from(offset).ok();
                by_lengths.add(sequence, start != Some(sum));
                has_lengths &= size.is_some();
                sum = sum.saturating_add(size.unwrap_or(0));
                match (before, start) {
                    (_, None) => has_offsets = false,
                    (None, Some(start)) => has_offsets &= start == 0,
                    (Some((from, size)), Some(start)) => {
                        let real = start.checked_sub(from);
                        has_offsets &= real.is_some_and(|real| is_size(real, width));
                        by_offsets.add(sequence - 1, real != size);
                    }
                }
                before = start.map(|start| (start, size));
                sequence += 1;
            }
            Ok(())
        })?;
        has_lengths &= sum == pair.bytes;
        has_offsets &= match before {
            Some((start, Some(size))) => start.checked_add(size) == Some(pair.bytes),
            Some((_, None)) => false,
            None => pair.bytes == 0,
        };
        match (has_lengths, has_offsets) {
            (true, _) if by_lengths.count == 0 => Ok(Defect::Nothing),
            (true, false) => Ok(Defect::Offsets { wrong: by_lengths.count, first: by_lengths.first }),
            (false, true) => Ok(Defect::Lengths { wrong: by_offsets.count, first: by_offsets.first }),
            (true, true) => Err("lengths and offsets contradict each other, and either could be right".to_owned()),
            (false, false) => Err(format!("neither lengths nor offsets fit the {} bytes of the .bin file", pair.bytes)),
        }
    }

    /// Returns how many of the first and the last mark are wrong; they must be 0 and the number of sequences. All other marks must be
    /// correct.
    fn wrong_marks(&self) -> Result<u64, String> {
        let (pair, mut document, mut wrong, mut last) = (&self.pair, 0, 0, 0);
        each_range(pair.documents + 1, self.cancel, &mut |first, count| {
            for mark in pair.marks(first, count)? {
                let mark = u64::try_from(mark).ok();
                let real = self.mark(document, mark);
                wrong += u64::from(real != mark);
                last = real.filter(|real| (last..=pair.sequences).contains(real)).ok_or_else(|| {
                    format!("the mark of document {document} is wrong, and its value cannot be derived")
                })?;
                document += 1;
            }
            Ok(())
        })?;
        match pair.documents == 0 && pair.sequences > 0 {
            true => Err("it has sequences, and no document".to_owned()),
            false => Ok(wrong),
        }
    }

    /// Returns the correct mark of a document. `mark` is the mark in the index.
    fn mark(&self, document: u64, mark: Option<u64>) -> Option<u64> {
        match document {
            0 => Some(0),
            last if last == self.pair.documents => Some(self.pair.sequences),
            _ => mark,
        }
    }

    /// Returns the lengths implied by the offsets. The length of the last sequence comes from the index.
    fn lengths_between(&self, first: u64, count: u64) -> Result<Vec<i32>, String> {
        let mut lengths = self.pair.lengths(first, count)?;
        let width = i64::try_from(self.pair.pair_type.bytes).unwrap_or(1);
        let offsets = self.pair.offsets(first, (count + 1).min(self.pair.sequences - first))?;
        for (length, pair) in lengths.iter_mut().zip(offsets.windows(2)) {
            let [from, to] = pair else { continue };
            *length = i32::try_from(to.saturating_sub(*from) / width).map_err(|error| error.to_string())?;
        }
        Ok(lengths)
    }
}

impl IndexTables for IndexRepair<'_> {
    fn lengths(&self, take: TakeNumbers<'_, i32>) -> Outcome<()> {
        self.for_each_block(self.pair.sequences, &mut |first, count| {
            let lengths = match self.defect {
                Defect::Lengths { .. } => self.lengths_between(first, count),
                Defect::Nothing | Defect::Offsets { .. } => self.pair.lengths(first, count),
            };
            take(&lengths.map_err(|why| Failure::data(ACTIVITY, why))?)
        })
    }

    fn counts(&self, take: TakeNumbers<'_, u32>) -> Outcome<()> {
        self.for_each_block(self.pair.documents, &mut |first, count| {
            let marks = self.pair.marks(first, count + 1).map_err(|why| Failure::data(ACTIVITY, why))?;
            let marks = (first..).zip(marks).map(|(document, mark)| self.mark(document, u64::try_from(mark).ok()));
            let marks: Vec<u64> = marks.map(Option::unwrap_or_default).collect();
            let counts = marks.windows(2).map(|pair| match pair {
                [from, to] => u32::try_from(to.saturating_sub(*from)).unwrap_or(u32::MAX),
                _ => 0,
            });
            take(&counts.collect::<Vec<_>>())
        })
    }

    fn modes(&self, take: TakeNumbers<'_, u8>) -> Outcome<()> {
        if !self.pair.has_modes {
            return Ok(());
        }
        self.for_each_block(self.pair.sequences, &mut |first, count| {
            take(&self.pair.modes(first, count).map_err(|why| Failure::data(ACTIVITY, why))?)
        })
    }
}

impl IndexRepair<'_> {
    fn for_each_block(&self, all: u64, read: &mut dyn FnMut(u64, u64) -> Outcome<()>) -> Outcome<()> {
        let mut first = 0;
        while first < all {
            self.cancel.check()?;
            let count = NUMBERS_PER_READ.min(all - first);
            read(first, count)?;
            first += count;
        }
        Ok(())
    }
}

/// Whether a sequence can have this size in bytes.
fn is_size(bytes: u64, width: u64) -> bool {
    bytes.is_multiple_of(width) && i32::try_from(bytes / width.max(1)).is_ok()
}

/// The number of sequences with a wrong number, and the first of them.
#[derive(Default)]
struct WrongNumbers {
    count: u64,
    first: u64,
}

impl WrongNumbers {
    fn add(&mut self, sequence: u64, is_wrong: bool) {
        if is_wrong {
            self.first = if self.count == 0 { sequence } else { self.first };
            self.count += 1;
        }
    }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
