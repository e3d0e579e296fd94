//! Compact lists of numbers.

use gristmill_core::{Failure, Outcome};

/// A list with four bytes per number if all numbers fit, otherwise eight.
pub(super) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Numbers {
    /// Allocates space for `count` numbers up to `greatest`. Fails if there is not enough memory.
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

    /// Appends a number, which must not be greater than `greatest`.
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

    /// Returns the number before index `place`; 0 for index 0.
    pub fn before(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(0, |place| self.at(place))
    }

    /// Returns the number at index `place`; 0 if there is none.
    pub fn at(&self, place: usize) -> u64 {
        match self {
            Self::Narrow(numbers) => numbers.get(place).map_or(0, |&number| u64::from(number)),
            Self::Wide(numbers) => numbers.get(place).copied().unwrap_or(0),
        }
    }

    /// Returns the index of the first number greater than `bound`. The numbers must not descend.
    pub fn first_above(&self, bound: u64) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.partition_point(|&number| u64::from(number) <= bound),
            Self::Wide(numbers) => numbers.partition_point(|&number| number <= bound),
        }
    }
}
