//! Very many numbers in as little memory as they take.

use gristmill_core::{Failure, Outcome};

/// Numbers of four bytes where all fit, of eight where not.
pub(super) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Numbers {
    /// Room for `count` numbers up to `greatest`. An error when the memory is not there.
    pub fn with_room(count: u64, greatest: u64) -> Outcome<Self> {
        let room = usize::try_from(count).unwrap_or(usize::MAX);
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        let is_narrow = greatest <= u64::from(u32::MAX);
        let reserved = if is_narrow { narrow.try_reserve_exact(room) } else { wide.try_reserve_exact(room) };
        if reserved.is_err() {
            return Err(Failure::environment(
                "keeping the ends of documents",
                format!("no memory for {count} of them"),
            ));
        }
        Ok(if is_narrow { Self::Narrow(narrow) } else { Self::Wide(wide) })
    }

    /// Adds a number that is no greater than what was promised.
    pub fn push(&mut self, number: u64) {
        match self {
            Self::Narrow(numbers) => numbers.push(number as u32),
            Self::Wide(numbers) => numbers.push(number),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    /// A number by its place; 0 for a place before the first, as the end of what comes before all.
    pub fn before(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(0, |place| self.at(place))
    }

    /// A number by its place; 0 where there is none.
    pub fn at(&self, place: usize) -> u64 {
        match self {
            Self::Narrow(numbers) => numbers.get(place).map_or(0, |&number| u64::from(number)),
            Self::Wide(numbers) => numbers.get(place).copied().unwrap_or(0),
        }
    }

    /// Place of the first number above `bound`; the numbers never go down.
    pub fn first_above(&self, bound: u64) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.partition_point(|&number| u64::from(number) <= bound),
            Self::Wide(numbers) => numbers.partition_point(|&number| number <= bound),
        }
    }
}
