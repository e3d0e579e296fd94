//! The index of a mixture: an epoch, shuffled, and repeated until there are enough samples.

use super::epoch::{bounds, build_epoch, Epoch, Id};
use super::Request;
use gristmill_core::{Handles, Outcome};
use gristmill_pycompat::numpy_random::RandomState;

/// Number of samples passed to a callback at a time.
const SAMPLES_PER_CALL: usize = 1 << 14;

/// An index in memory. Stores one epoch, with four bytes per sample (eight for more than 2³² samples).
pub struct MixtureIndex {
    ids: Ids,
    /// First id of each data set, and the id after its last one.
    bounds: Vec<(u64, u64)>,
    /// Number of samples of each data set in one epoch.
    used: Vec<u64>,
    /// Number of samples that the index yields.
    samples: u64,
}

enum Ids {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// Builds the index of a request that has been [checked](Request::check). The progress counts each sample of an epoch twice: when it is
/// taken from a data set, and when it is shuffled.
pub fn build(request: &Request, handles: &Handles<'_>) -> Outcome<MixtureIndex> {
    let epoch = request.epoch();
    handles.progress.restart(2 * epoch, 0);
    let (ids, used) = if epoch <= 1 << 32 {
        let Epoch { ids, used } = shuffled::<u32>(request, handles)?;
        (Ids::Narrow(ids), used)
    } else {
        let Epoch { ids, used } = shuffled::<u64>(request, handles)?;
        (Ids::Wide(ids), used)
    };
    Ok(MixtureIndex { ids, bounds: bounds(request), used, samples: request.samples })
}

/// Returns the shuffled epoch. The reference program shuffles two arrays with the same seed, and so identically. Here one id replaces both,
/// so one shuffle is enough.
fn shuffled<T: Id>(request: &Request, handles: &Handles<'_>) -> Outcome<Epoch<T>> {
    let mut epoch = build_epoch::<T>(request, handles)?;
    let count = epoch.ids.len() as u64;
    let watch = |done: usize| {
        handles.progress.add(done as u64, 0);
        handles.cancel.check()
    };
    RandomState::seeded(request.seed).shuffle_watched(&mut epoch.ids, watch)?;
    // The shuffle does not swap the last item.
    handles.progress.add(count.min(1), 0);
    Ok(epoch)
}

impl MixtureIndex {
    /// Returns the number of samples in the index.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the number of samples of one epoch.
    pub fn epoch(&self) -> u64 {
        match &self.ids {
            Ids::Narrow(ids) => ids.len() as u64,
            Ids::Wide(ids) => ids.len() as u64,
        }
    }

    /// Returns the number of samples of each data set in one epoch.
    pub fn used(&self) -> &[u64] {
        &self.used
    }

    /// Passes the index to `take` in pieces, in order: for each sample, the number of the data set and the number of the window in it.
    pub fn for_each_chunk(&self, mut take: impl FnMut(&[(u32, u64)]) -> Outcome<()>) -> Outcome<()> {
        let mut piece = Vec::with_capacity(SAMPLES_PER_CALL);
        let mut left = self.samples;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX);
            left -= match &self.ids {
                Ids::Narrow(ids) => self.epoch_of(ids, count, &mut piece, &mut take)?,
                Ids::Wide(ids) => self.epoch_of(ids, count, &mut piece, &mut take)?,
            };
        }
        Ok(())
    }

    fn epoch_of<T: Id>(
        &self,
        ids: &[T],
        count: usize,
        piece: &mut Vec<(u32, u64)>,
        take: &mut impl FnMut(&[(u32, u64)]) -> Outcome<()>,
    ) -> Outcome<u64> {
        let ids = ids.get(..count).unwrap_or(ids);
        for some in ids.chunks(SAMPLES_PER_CALL) {
            piece.clear();
            piece.extend(some.iter().map(|id| self.place(id.number())));
            take(piece)?;
        }
        Ok(ids.len() as u64)
    }

    /// Returns the data set of a window of the mixture, and its number in it.
    fn place(&self, id: u64) -> (u32, u64) {
        // For few data sets, a linear search is faster than a binary search.
        let member = match self.bounds.len() {
            0..=16 => self.bounds.iter().map(|bound| usize::from(bound.1 <= id)).sum(),
            _ => self.bounds.partition_point(|bound| bound.1 <= id),
        };
        let start = self.bounds.get(member).map_or(0, |bound| bound.0);
        (member as u32, id - start)
    }

    /// Returns the number of samples of each data set in the whole index, and the number of its windows that are in no sample. Uses one bit
    /// per window if there are fewer samples than in one epoch.
    pub fn tally(&self) -> (Vec<u64>, Vec<u64>) {
        let epoch = self.epoch().max(1);
        let (whole, rest) = (self.samples / epoch, (self.samples % epoch) as usize);
        let mut drawn: Vec<u64> = self.used.iter().map(|used| used * whole).collect();
        let lengths = || self.bounds.iter().map(|(start, end)| end - start);
        let mut unread: Vec<u64> =
            lengths().zip(&self.used).map(|(length, used)| length.saturating_sub(*used)).collect();
        let mut seen = vec![0_u64; if whole == 0 { epoch.div_ceil(64) as usize } else { 0 }];
        if whole == 0 {
            unread = lengths().collect();
        }
        let mut look = |id: u64| {
            let member = self.place(id).0 as usize;
            drawn[member] += 1;
            if let Some(word) = seen.get_mut((id / 64) as usize) {
                let bit = 1 << (id % 64);
                unread[member] -= u64::from(*word & bit == 0);
                *word |= bit;
            }
        };
        match &self.ids {
            Ids::Narrow(ids) => ids.iter().take(rest).for_each(|&id| look(u64::from(id))),
            Ids::Wide(ids) => ids.iter().take(rest).for_each(|&id| look(id)),
        }
        (drawn, unread)
    }
}
