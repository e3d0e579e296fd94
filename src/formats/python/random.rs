//! CPython's `random.Random(42)`: the Mersenne Twister and the shuffle built on it (Energon format page §9.1).

const LENGTH: usize = 624;
const MIDDLE: usize = 397;

/// The 32-bit Mersenne Twister (MT19937).
#[derive(Clone, Debug)]
pub struct MersenneTwister {
    state: Vec<u32>,
    next: usize,
}

impl MersenneTwister {
    /// Seeded as CPython seeds from a small non-negative integer: by the array of its 32-bit digits.
    pub fn seeded(seed: u32) -> Self {
        let mut twister = Self::from_word(19_650_218);
        let state = &mut twister.state;
        let mix = |state: &[u32], i: usize| state[i - 1] ^ (state[i - 1] >> 30);
        let mut i = 1;
        for _ in 0..LENGTH {
            state[i] = (state[i] ^ mix(state, i).wrapping_mul(1_664_525)).wrapping_add(seed);
            i = Self::advance(state, i);
        }
        for _ in 0..LENGTH - 1 {
            state[i] = (state[i] ^ mix(state, i).wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i = Self::advance(state, i);
        }
        state[0] = 0x8000_0000;
        twister
    }

    /// Seeded by one word (`init_genrand`), as numpy's legacy `RandomState` is.
    pub fn from_word(word: u32) -> Self {
        let mut state = Vec::with_capacity(LENGTH);
        state.push(word);
        for i in 1..LENGTH {
            let previous = state[i - 1];
            state.push((previous ^ (previous >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32));
        }
        Self { state, next: LENGTH }
    }

    /// The next slot; past the end the last value is carried to the front.
    fn advance(state: &mut [u32], i: usize) -> usize {
        if i + 1 < LENGTH {
            return i + 1;
        }
        state[0] = state[LENGTH - 1];
        1
    }

    fn refill(&mut self) {
        // Three stretches, so that no place has to be taken modulo the length.
        let state = &mut self.state;
        for i in 0..LENGTH - MIDDLE {
            state[i] = state[i + MIDDLE] ^ Self::twisted(state[i], state[i + 1]);
        }
        for i in LENGTH - MIDDLE..LENGTH - 1 {
            state[i] = state[i + MIDDLE - LENGTH] ^ Self::twisted(state[i], state[i + 1]);
        }
        state[LENGTH - 1] = state[MIDDLE - 1] ^ Self::twisted(state[LENGTH - 1], state[0]);
        self.next = 0;
    }

    fn twisted(word: u32, following: u32) -> u32 {
        let joined = (word & 0x8000_0000) | (following & 0x7fff_ffff);
        (joined >> 1) ^ ((joined & 1) * 0x9908_b0df)
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next >= LENGTH {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number below `bound`, as `Random._randbelow` draws it. `bound` is at least 1 and fits 64 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        let bits = 64 - bound.leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < bound || bound == 0 {
                return drawn;
            }
        }
    }

    /// `getrandbits`: up to 64 bits, the low word drawn first.
    fn bits(&mut self, bits: u32) -> u64 {
        match bits {
            0 => 0,
            1..=32 => u64::from(self.next_u32() >> (32 - bits)),
            _ => u64::from(self.next_u32()) | (u64::from(self.next_u32() >> (64 - bits.min(64))) << 32),
        }
    }

    /// Shuffles in place, as `Random.shuffle` does.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

/// Shuffles in place, as `random.Random(42).shuffle(items)` does.
pub fn shuffle<T>(items: &mut [T]) {
    MersenneTwister::seeded(42).shuffle(items);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_raw_outputs_are_those_of_the_reference() {
        let mut twister = MersenneTwister::seeded(42);
        let drawn: Vec<u32> = (0..4).map(|_| twister.next_u32()).collect();
        assert_eq!(drawn, [2_746_317_213, 478_163_327, 107_420_369, 3_184_935_163]);
    }

    #[test]
    fn shuffles_are_those_of_the_reference() {
        let known: [&[usize]; 8] = [
            &[],
            &[0],
            &[1, 0],
            &[1, 0, 2],
            &[3, 1, 2, 4, 0],
            &[7, 3, 2, 8, 5, 6, 9, 4, 0, 1],
            &[7, 5, 2, 8, 9, 6, 11, 3, 4, 0, 1, 10],
            &[19, 5, 14, 4, 9, 13, 15, 18, 6, 12, 17, 10, 1, 11, 2, 16, 7, 8, 0, 3],
        ];
        for expected in known {
            let mut items: Vec<usize> = (0..expected.len()).collect();
            shuffle(&mut items);
            assert_eq!(items, expected, "{} items", expected.len());
        }
    }

    #[test]
    fn a_long_shuffle_crosses_the_refill_and_stays_a_permutation() {
        let mut items: Vec<usize> = (0..5000).collect();
        shuffle(&mut items);
        assert_eq!(items[..4], [1383, 1881, 4901, 1524]);
        assert_eq!(items[4996..], [2006, 2253, 204, 912]);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &v)| i == v));
    }
}
