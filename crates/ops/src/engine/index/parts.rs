//! The parts of one sample, ordered by name. Most samples have few parts; a sample with millions of parts is sorted on disk.

use gristmill_core::Outcome;
use gristmill_storage::sort::bytes::SpoolWriter;
use gristmill_storage::sort::{reduce, remove_temporary, Merge, Run, RunSource, SortContext, Sorter};

/// Name of the file for sorting a very large sample.
const FILE: &str = "parts";

/// Part names with row number, content offset and content size.
pub(super) struct PartsByName {
    sorter: Sorter<3>,
    overflow: Option<(SpoolWriter, Vec<Run>)>,
}

impl PartsByName {
    /// Creates an empty sorter. `memory` limits the parts that are sorted at a time, in bytes.
    pub(super) fn new(memory: usize) -> Self {
        Self { sorter: Sorter::new(memory), overflow: None }
    }

    pub(super) fn push(&mut self, name: &[u8], numbers: [u64; 3], around: &SortContext<'_>) -> Outcome<()> {
        if self.sorter.is_full_for(name.len()) {
            self.spill(around)?;
        }
        self.sorter.push(name, numbers);
        Ok(())
    }

    fn spill(&mut self, around: &SortContext<'_>) -> Outcome<()> {
        let (file, runs) = match &mut self.overflow {
            Some(overflow) => overflow,
            empty => empty.insert((SpoolWriter::create(around.fs, around.scratch, FILE.to_owned())?, Vec::new())),
        };
        runs.push(self.sorter.spill(file)?);
        Ok(())
    }

    /// Passes all parts in order to a callback and empties the sorter.
    pub(super) fn drain(
        &mut self,
        around: &SortContext<'_>,
        mut take: impl FnMut(&[u8], [u64; 3]) -> Outcome<()>,
    ) -> Outcome<()> {
        if self.overflow.is_none() {
            for (name, numbers) in self.sorter.sorted() {
                take(name, numbers)?;
            }
            self.sorter.clear();
            return Ok(());
        }
        self.spill(around)?;
        let Some((file, runs)) = self.overflow.take() else { return Ok(()) };
        let path = around.scratch.join(file.finish()?.name);
        let sources = runs.into_iter().map(|run| RunSource { path: path.clone(), run, base: 0, temporary: false });
        let sources = reduce::<3>(around, sources.collect(), FILE)?;
        let mut merge = Merge::<3>::open(&sources)?;
        while let Some((name, numbers)) = merge.next_entry()? {
            take(name, numbers)?;
        }
        drop(merge);
        remove_temporary(around.fs, &sources)?;
        around.fs.remove_file(&path)
    }
}
