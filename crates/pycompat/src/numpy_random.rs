//! numpy's two random generators, as far as they determine an order: `default_rng(seed)` (PCG64) and the legacy `RandomState(seed)`
//! (MT19937). See docs/formats/nanosets.md §8.

use super::random::MersenneTwister;

/// Number of draws that are made before their swaps. With known positions, the processor loads several items in parallel.
const AHEAD: usize = 1024;

/// Source of random words for a shuffle.
trait RandomWords {
    fn next32(&mut self) -> u32;
    fn next64(&mut self) -> u64;

    /// Returns a number from 0 to `most`, by masking and rejection (numpy's `random_interval`).
    fn interval(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let mask = u64::MAX >> most.leading_zeros();
        if let Ok(mask) = u32::try_from(mask) {
            loop {
                let drawn = u64::from(self.next32() & mask);
                if drawn <= most {
                    return drawn;
                }
            }
        }
        loop {
            let drawn = self.next64() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }

    /// Shuffles as both generators do: from the last item down, each is swapped with an earlier one or itself.
    fn shuffle_items<T>(&mut self, items: &mut [T]) {
        let _ = self.shuffle_items_watched(items, |_| Ok::<_, std::convert::Infallible>(()));
    }

    /// Like [`shuffle_items`](Self::shuffle_items), but periodically calls `watch` with the number of additional items in their final
    /// position. `watch` can end the shuffle.
    fn shuffle_items_watched<T, E>(
        &mut self,
        items: &mut [T],
        mut watch: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut places = [0_usize; AHEAD];
        let mut end = items.len();
        while end > 1 {
            let count = (end - 1).min(AHEAD);
            let drawn = &mut places[..count];
            for (k, place) in drawn.iter_mut().enumerate() {
                *place = self.interval((end - 1 - k) as u64) as usize;
            }
            for (k, &place) in drawn.iter().enumerate() {
                items.swap(end - 1 - k, place);
            }
            end -= count;
            watch(count)?;
        }
        Ok(())
    }
}

/// Expands a seed to the words that a generator needs (numpy's `SeedSequence`, without spawning).
#[derive(Clone, Debug)]
pub struct SeedSequence {
    pool: [u32; 4],
}

/// Multiplies and mixes one word; the multiplier changes with every call.
struct Hash {
    multiplier: u32,
    step: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let word = word ^ self.multiplier;
        self.multiplier = self.multiplier.wrapping_mul(self.step);
        let word = word.wrapping_mul(self.multiplier);
        word ^ (word >> 16)
    }
}

fn mix(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    mixed ^ (mixed >> 16)
}

impl SeedSequence {
    /// Creates a sequence from a seed of at most 64 bits.
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let mut hash = Hash { multiplier: 0x43b0_d7e5, step: 0x931e_8875 };
        let mut pool = [low, high, 0, 0].map(|word| hash.of(word));
        for source in 0..pool.len() {
            for target in 0..pool.len() {
                if source != target {
                    pool[target] = mix(pool[target], hash.of(pool[source]));
                }
            }
        }
        Self { pool }
    }

    /// Returns the first `N` 64-bit words (`generate_state(N, uint64)`).
    pub fn words<const N: usize>(&self) -> [u64; N] {
        let mut hash = Hash { multiplier: 0x8b51_f9dd, step: 0x58f3_8ded };
        let mut pool = self.pool.iter().copied().cycle();
        let mut next = || u64::from(hash.of(pool.next().unwrap_or_default()));
        std::array::from_fn(|_| next() | (next() << 32))
    }
}

/// numpy's `default_rng(seed)`: PCG64 with 64-bit output. Draws of 32 bits use one half of an output at a time.
#[derive(Clone, Debug)]
pub struct Generator {
    state: u128,
    increment: u128,
    /// The high half of the last word, if only its low half has been used.
    unused_half: Option<u32>,
}

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

impl Generator {
    /// Seeds the generator like `default_rng(seed)`.
    pub fn seeded(seed: u64) -> Self {
        let [a, b, c, d] = SeedSequence::new(seed).words();
        let wide = |high: u64, low: u64| (u128::from(high) << 64) | u128::from(low);
        let mut generator = Self { state: 0, increment: (wide(c, d) << 1) | 1, unused_half: None };
        generator.step();
        generator.state = generator.state.wrapping_add(wide(a, b));
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// Returns the next 32 random bits: the low half of a new word, and in the next call its high half.
    pub fn next_u32(&mut self) -> u32 {
        match self.unused_half.take() {
            Some(half) => half,
            None => {
                let word = self.next_u64();
                self.unused_half = Some((word >> 32) as u32);
                word as u32
            }
        }
    }

    /// Shuffles like `shuffle(items)` for one dimension, and like `permutation(items)` does its copy.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.shuffle_items(items);
    }

    /// Returns `permutation(count)`. Needs four bytes of memory per number for up to 2³² numbers, and eight for more.
    pub fn permutation(&mut self, count: u64) -> Permutation {
        let mut order = Permutation::ascending(count);
        match &mut order {
            Permutation::Narrow(places) => self.shuffle(places),
            Permutation::Wide(places) => self.shuffle(places),
        }
        order
    }
}

impl RandomWords for Generator {
    fn next32(&mut self) -> u32 {
        self.next_u32()
    }
    fn next64(&mut self) -> u64 {
        self.next_u64()
    }
}

/// A permutation of the numbers from 0 on, in the smallest sufficient integer type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permutation {
    /// Up to 2³² numbers.
    Narrow(Vec<u32>),
    /// More than 2³² numbers.
    Wide(Vec<u64>),
}

impl Permutation {
    /// Returns 0, 1, … `count` − 1.
    pub fn ascending(count: u64) -> Self {
        if count <= 1 << 32 {
            Self::Narrow((0..count).map(|n| n as u32).collect())
        } else {
            Self::Wide((0..count).collect())
        }
    }

    /// Returns the number of numbers.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(places) => places.len(),
            Self::Wide(places) => places.len(),
        }
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number at an index; 0 if the index is out of bounds.
    pub fn at(&self, place: usize) -> u64 {
        match self {
            Self::Narrow(places) => places.get(place).map_or(0, |&number| u64::from(number)),
            Self::Wide(places) => places.get(place).copied().unwrap_or(0),
        }
    }

    /// Returns the numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (narrow, wide): (&[u32], &[u64]) = match self {
            Self::Narrow(places) => (places, &[]),
            Self::Wide(places) => (&[], places),
        };
        narrow.iter().map(|&n| u64::from(n)).chain(wide.iter().copied())
    }
}

/// numpy's legacy `RandomState(seed)`.
#[derive(Clone, Debug)]
pub struct RandomState(MersenneTwister);

impl RandomState {
    /// Seeds the generator like `RandomState(seed)`; numpy accepts only seeds of 32 bits.
    pub fn seeded(seed: u32) -> Self {
        Self(MersenneTwister::from_word(seed))
    }

    /// Returns the next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Shuffles like `shuffle(items)` for one dimension.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.shuffle_items(items);
    }

    /// Like [`shuffle`](Self::shuffle), for very many items: periodically calls `watch` with the number of additional items in their final
    /// position. `watch` can end the shuffle.
    pub fn shuffle_watched<T, E>(
        &mut self,
        items: &mut [T],
        watch: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.shuffle_items_watched(items, watch)
    }
}

impl RandomWords for RandomState {
    fn next32(&mut self) -> u32 {
        self.0.next_u32()
    }
    fn next64(&mut self) -> u64 {
        let high = u64::from(self.0.next_u32());
        (high << 32) | u64::from(self.0.next_u32())
    }
}

#[cfg(test)]
#[path = "numpy_random_tests.rs"]
mod tests;
