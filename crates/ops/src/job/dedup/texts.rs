//! The text of all documents, read by position.

use super::spill_buffer::{FinishedSpill, OpenFiles};
use gristmill_core::Outcome;
use gristmill_dedup::{MatchCache, TextReader};

/// The concatenated text of all units.
pub(super) struct Texts<'a> {
    /// Start and text of each unit, in order.
    units: Vec<(u64, &'a FinishedSpill)>,
    open: &'a OpenFiles,
    known: Option<MatchCache>,
}

impl<'a> Texts<'a> {
    /// Creates the text of these units, in order.
    pub(super) fn new(units: impl IntoIterator<Item = &'a FinishedSpill>, open: &'a OpenFiles) -> Self {
        let mut base = 0;
        let place = |stored: &'a FinishedSpill| {
            let start = base;
            base += stored.len();
            (start, stored)
        };
        Self { units: units.into_iter().map(place).collect(), open, known: None }
    }

    /// Adds a cache of match results with this many bytes of memory, if some of the text is on scratch.
    pub(super) fn with_match_cache(mut self, bytes: u64) -> Self {
        let is_in_memory = self.units.iter().all(|(_, stored)| stored.mark().is_none());
        self.known = if is_in_memory { None } else { MatchCache::new(bytes) };
        self
    }

    /// Returns the index of the unit that contains a position.
    fn unit_of(&self, at: u64) -> usize {
        self.units.partition_point(|(base, _)| *base <= at).saturating_sub(1)
    }

    /// Returns the start of each unit.
    pub(super) fn bases(&self) -> Vec<u64> {
        self.units.iter().map(|(base, _)| *base).collect()
    }
}

impl TextReader for Texts<'_> {
    fn read<'a>(&'a self, at: u64, len: usize, spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]> {
        let number = self.unit_of(at);
        let Some((base, stored)) = self.units.get(number) else { return Ok(&[]) };
        let from = at - base;
        let here = stored.len().saturating_sub(from);
        if len as u64 <= here || number + 1 == self.units.len() {
            return stored.read(from, len, spare, self.open);
        }
        // The range continues in the next units.
        let mut whole = Vec::with_capacity(len);
        let mut from = from;
        for (_, stored) in self.units.iter().skip(number) {
            let bytes = stored.read(from, len - whole.len(), spare, self.open)?;
            whole.extend_from_slice(bytes);
            from = 0;
            if whole.len() == len {
                break;
            }
        }
        *spare = whole;
        Ok(spare)
    }

    #[inline]
    fn prefetch(&self, at: u64) {
        match &self.known {
            Some(known) => known.prefetch(at),
            None => {
                if let Some((base, stored)) = self.units.get(self.unit_of(at)) {
                    stored.prefetch(at - base);
                }
            }
        }
    }

    fn match_cache(&self) -> Option<&MatchCache> {
        self.known.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::super::spill_buffer::SpillBuffer;
    use super::*;
    use gristmill_storage::fs::RealFs;

    #[test]
    fn text_is_read_across_unit_boundaries() {
        let dir = tempfile::tempdir().unwrap();
        let parts = ["abc", "", "defgh", "i"];
        let stored: Vec<FinishedSpill> = parts
            .iter()
            .enumerate()
            .map(|(number, part)| {
                let budget = Budget::new(if number % 2 == 0 { 1 << 20 } else { 0 });
                let mut pile = SpillBuffer::new(&RealFs, dir.path().join(number.to_string()), &budget);
                pile.append(part.as_bytes()).unwrap();
                pile.finish().unwrap()
            })
            .collect();
        let open = OpenFiles::default();
        let texts = Texts::new(&stored, &open);
        assert_eq!(texts.bases(), [0, 3, 3, 8]);
        let (all, mut spare) = ("abcdefghi", Vec::new());
        for at in 0..all.len() {
            for len in 0..=all.len() + 1 {
                let wanted = &all[at..all.len().min(at + len)];
                assert_eq!(texts.read(at as u64, len, &mut spare).unwrap(), wanted.as_bytes(), "{at} {len}");
            }
        }
    }
}
