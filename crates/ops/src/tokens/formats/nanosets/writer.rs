//! Appends documents to the spools of tasks.

use super::counts::TaskCounts;
use super::files::{spool, TokenFolder};
use super::{finish, stats};
use crate::tokens::format::{AppendCounts, FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use crate::tokens::spools::SpoolSet;
use gristmill_core::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;

/// Writes the `.ds` files and indexes of a token folder.
pub(super) struct Writer<'a> {
    output: &'a TokenFolder,
    tasks: BTreeMap<u32, TaskCounts>,
}

impl<'a> Writer<'a> {
    /// Returns a writer that starts with the first file.
    pub(super) fn new(output: &'a TokenFolder) -> Self {
        Self { output, tasks: BTreeMap::new() }
    }
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, slot: usize, _: &mut SpoolSet<'_>) -> Outcome<()> {
        self.tasks.entry(self.output.rank(slot)).or_default().files += 1;
        Ok(())
    }

    /// Appends the documents that `skip` and `limit` select.
    fn append(&mut self, added: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        let SlotBlock { slot, block, .. } = added;
        let (rank, target, width) = (self.output.rank(slot), &self.output.target, self.output.token_bytes);
        let counts = self.tasks.entry(rank).or_default();
        let here = block.lengths.len() as u64;
        let end = target.limit.map_or(u64::MAX, |limit| target.skip.saturating_add(limit));
        // The documents from `first` to `last` of this block are used.
        let first = target.skip.saturating_sub(counts.usable).min(here);
        let last = end.saturating_sub(counts.usable).min(here).max(first);
        counts.usable += here;
        let [first, last] = [first, last].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        for chars in block.chars.get(first..last).unwrap_or_default() {
            counts.chars.add(*chars);
        }
        let lengths = block.lengths.get(first..last).unwrap_or_default();
        counts.in_file += lengths.len() as u64;
        let before: u64 = block.lengths.get(..first).unwrap_or_default().iter().sum();
        let tokens: u64 = lengths.iter().sum();
        let from = usize::try_from(before).unwrap_or(usize::MAX);
        let to = usize::try_from(before + tokens).unwrap_or(usize::MAX);
        let (data, index) = (spool(rank, "ds"), spool(rank, "index"));
        let mut ended = spools.bytes(&data) / width as u64;
        let mut ends = Vec::with_capacity(lengths.len() * 8);
        for length in lengths {
            ended += length;
            ends.extend_from_slice(&ended.to_le_bytes());
        }
        let is_whole = first == 0 && last == block.lengths.len();
        let bytes = if is_whole { Some(block.bytes.as_slice()) } else { block.bytes.get(from * width..to * width) };
        spools.append(&data, bytes.unwrap_or_default())?;
        spools.append(&index, &ends)?;
        if self.output.has_loss {
            spools.append(&spool(rank, "loss"), block.mask.get(from..to).unwrap_or_default())?;
        }
        Ok(AppendCounts { kept: first..last, lost: 0 })
    }

    fn end_file(&mut self, slot: usize, _: &mut SpoolSet<'_>) -> Outcome<()> {
        if let Some(counts) = self.tasks.get_mut(&self.output.rank(slot)) {
            counts.documents.add(std::mem::take(&mut counts.in_file));
        }
        Ok(())
    }

    /// A task without input files has output files, too.
    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        let ends = self.output.ends();
        for name in self.output.ranks.iter().flat_map(|rank| ends.iter().map(|end| spool(*rank, end))) {
            if !spools.contains(&name) {
                spools.create(&name)?;
            }
            spools.drop_finished(&name);
        }
        Ok(())
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.tasks).unwrap_or_default()
    }

    fn restore(&mut self, state: Value) -> bool {
        serde_json::from_value(state).map(|tasks| self.tasks = tasks).is_ok()
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let finished = finish::finish(finishing, self.output)?;
        let side_files = stats::side_files(self.output, &self.tasks, finishing)?;
        Ok(FinishedFormat { side_files, ..finished })
    }
}
