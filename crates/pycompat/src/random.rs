//! CPython's `random.Random`: the Mersenne Twister, and its shuffle and choice functions (docs/formats/energon.md §9.1,
//! docs/formats/modalities.md §5.8).

const LENGTH: usize = 624;
const MIDDLE: usize = 397;

/// The 32-bit Mersenne Twister (MT19937).
#[derive(Clone, Debug)]
pub struct MersenneTwister {
    state: Vec<u32>,
    next: usize,
}

impl MersenneTwister {
    /// Seeds the generator as CPython does with a small non-negative integer, whose 32-bit digits form an array.
    pub fn seeded(seed: u32) -> Self {
        Self::from_words(&[seed])
    }

    /// Seeds the generator as CPython does with any integer.
    pub fn seeded_by(seed: &Seed) -> Self {
        Self::from_words(&seed.words)
    }

    /// Seeds the generator with an array of words (`init_by_array`), which must not be empty.
    fn from_words(words: &[u32]) -> Self {
        let mut twister = Self::from_word(19_650_218);
        let state = &mut twister.state;
        let mix = |state: &[u32], i: usize| state[i - 1] ^ (state[i - 1] >> 30);
        let mut i = 1;
        for (j, word) in words.iter().enumerate().cycle().take(LENGTH.max(words.len())) {
            let mixed = state[i] ^ mix(state, i).wrapping_mul(1_664_525);
            state[i] = mixed.wrapping_add(*word).wrapping_add(j as u32);
            i = Self::advance(state, i);
        }
        for _ in 0..LENGTH - 1 {
            state[i] = (state[i] ^ mix(state, i).wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i = Self::advance(state, i);
        }
        state[0] = 0x8000_0000;
        twister
    }

    /// Seeds the generator with one word (`init_genrand`), like numpy's legacy `RandomState`.
    pub fn from_word(word: u32) -> Self {
        let mut state = Vec::with_capacity(LENGTH);
        state.push(word);
        for i in 1..LENGTH {
            let previous = state[i - 1];
            state.push((previous ^ (previous >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32));
        }
        Self { state, next: LENGTH }
    }

    /// Returns the next index; at the end, copies the last value to the front.
    fn advance(state: &mut [u32], i: usize) -> usize {
        if i + 1 < LENGTH {
            return i + 1;
        }
        state[0] = state[LENGTH - 1];
        1
    }

    fn refill(&mut self) {
        // Three loops avoid taking indexes modulo the length.
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

    /// Returns the next 32 random bits.
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

    /// Returns a number below `bound`, drawn like `Random._randbelow`. `bound` must be at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        let bits = 64 - bound.leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < bound || bound == 0 {
                return drawn;
            }
        }
    }

    /// Returns up to 64 bits like `getrandbits`; the low word is drawn first.
    fn bits(&mut self, bits: u32) -> u64 {
        match bits {
            0 => 0,
            1..=32 => u64::from(self.next_u32() >> (32 - bits)),
            _ => u64::from(self.next_u32()) | (u64::from(self.next_u32() >> (64 - bits.min(64))) << 32),
        }
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive) in steps of 2⁻⁵³, like `Random.random()`.
    pub fn random(&mut self) -> f64 {
        let (high, low) = (self.next_u32() >> 5, self.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Returns the index that `Random.choices` selects for one item, given the cumulative weights.
    pub fn choose(&mut self, running: &[u64]) -> usize {
        let total = running.last().copied().unwrap_or_default();
        let drawn = self.random() * total as f64;
        let last = running.len().saturating_sub(1);
        running.iter().take(last).position(|sum| *sum as f64 > drawn).unwrap_or(last)
    }

    /// Shuffles in place, as `Random.shuffle` does.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

/// An integer of any size as a seed for Python's generator. Its sign is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The 32-bit digits of its absolute value, the lowest first; at least one.
    words: Vec<u32>,
}

/// Maximum length of a seed in decimal digits, the same as in Python.
const MAX_SEED_DIGITS: usize = 4_300;

impl Seed {
    /// Parses decimal digits with an optional sign; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || digits.len() > MAX_SEED_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut words = vec![0_u32];
        for digit in digits.bytes() {
            let mut carry = u64::from(digit - b'0');
            for word in &mut words {
                let sum = u64::from(*word) * 10 + carry;
                *word = sum as u32;
                carry = sum >> 32;
            }
            if carry > 0 {
                words.push(carry as u32);
            }
        }
        Some(Self { words })
    }
}

impl From<u64> for Seed {
    fn from(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        Self { words: if high == 0 { vec![low] } else { vec![low, high] } }
    }
}

/// Shuffles in place, as `random.Random(42).shuffle(items)` does.
pub fn shuffle<T>(items: &mut [T]) {
    MersenneTwister::seeded(42).shuffle(items);
}

/// Returns an integer of any size in decimal digits, as Python prints it.
///
/// # Errors
/// The text is not an integer.
pub fn digits(text: &str) -> Result<String, String> {
    Seed::parse(text).ok_or("expected a whole number")?;
    let digits = text.trim_start_matches(['-', '+']).trim_start_matches('0');
    Ok(match (digits, text.starts_with('-')) {
        ("", _) => "0".to_owned(),
        (digits, true) => format!("-{digits}"),
        (digits, false) => digits.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mersenne_twister_outputs_match_python() {
        let mut twister = MersenneTwister::seeded(42);
        let drawn: Vec<u32> = (0..4).map(|_| twister.next_u32()).collect();
        assert_eq!(drawn, [2_746_317_213, 478_163_327, 107_420_369, 3_184_935_163]);
    }

    #[test]
    fn shuffled_orders_match_python() {
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
    fn long_shuffle_is_a_permutation_across_a_state_refill() {
        let mut items: Vec<usize> = (0..5000).collect();
        shuffle(&mut items);
        assert_eq!(items[..4], [1383, 1881, 4901, 1524]);
        assert_eq!(items[4996..], [2006, 2253, 204, 912]);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &v)| i == v));
    }

    #[test]
    fn seeds_of_any_size_match_python() {
        let known: [(&str, [u32; 2]); 6] = [
            ("0", [3626764237, 1654615998]),
            ("-42", [2746317213, 478163327]),
            ("4294967296", [485306839, 1508871100]),
            ("18446744073709551615", [93740670, 1068495656]),
            ("340282366920938463463374607431768211456", [2677667265, 3954668840]),
            ("10000000000000000000000000000000000000007", [3123427376, 2207827247]),
        ];
        for (seed, expected) in known {
            let mut twister = MersenneTwister::seeded_by(&Seed::parse(seed).unwrap());
            assert_eq!([twister.next_u32(), twister.next_u32()], expected, "{seed}");
        }
        // More words than the state has.
        let long = "9".repeat(4_300);
        assert_eq!(MersenneTwister::seeded_by(&Seed::parse(&long).unwrap()).next_u32(), 1004254403);
        assert_eq!(Seed::from(1 << 32), Seed::parse("4294967296").unwrap());
        for wrong in ["", "-", "1.0", "0x1", "٣", &"9".repeat(4_301)] {
            assert_eq!(Seed::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn random_fractions_and_choices_match_python() {
        let mut twister = MersenneTwister::seeded(7);
        assert_eq!(
            [twister.random(), twister.random(), twister.random()],
            [0.32383276483316237, 0.15084917392450192, 0.6509344730398537]
        );
        let mut twister = MersenneTwister::seeded(1234);
        let chosen: String = (0..12).map(|_| ["a", "b", "c"][twister.choose(&[60, 80, 100])]).collect();
        assert_eq!(chosen, "caaccababaab");
        assert_eq!(twister.choose(&[]), 0);
    }

    #[test]
    fn integers_of_any_size_are_written_in_canonical_form() {
        for (typed, written) in
            [("42", "42"), ("+007", "7"), ("-0", "0"), ("-12", "-12"), ("18446744073709551616", "18446744073709551616")]
        {
            assert_eq!(digits(typed).as_deref(), Ok(written));
        }
        assert!(["", "-", "1.0", "0x10", "--1"].iter().all(|text| digits(text).is_err()));
    }
}
