//! Values of few bits in the hybrid of run-length encoding and bit packing (RLE): definition levels and dictionary indices.

use crate::bits::{bits_at, read_varint, write_varint};

/// Reads values of `width` bits each, at most 32.
#[derive(Clone, Debug)]
pub(crate) struct RunReader<'a> {
    bytes: &'a [u8],
    width: u32,
    run: Run<'a>,
}

/// The rest of the current run.
#[derive(Clone, Debug)]
enum Run<'a> {
    Same { value: u32, left: usize },
    Packed { bytes: &'a [u8], at: usize, end: usize },
}

/// Error for values that end early, or a malformed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidRuns;

impl<'a> RunReader<'a> {
    /// Creates a reader; `None` if `width` is over 32.
    pub(crate) fn new(bytes: &'a [u8], width: u32) -> Option<Self> {
        (width <= 32).then_some(Self { bytes, width, run: Run::Same { value: 0, left: 0 } })
    }

    /// Reads up to `most` equal values; returns the value and their number, which is not 0.
    pub(crate) fn read_equal(&mut self, most: usize) -> Result<(u32, usize), InvalidRuns> {
        self.fill()?;
        match &mut self.run {
            Run::Same { value, left } => {
                let count = most.min(*left);
                *left -= count;
                Ok((*value, count))
            }
            Run::Packed { bytes, at, end } => {
                let value = bits_at(bytes, *at, self.width);
                let last = (*end).min(at.saturating_add(most));
                let begin = *at;
                *at += 1;
                while *at < last && bits_at(bytes, *at, self.width) == value {
                    *at += 1;
                }
                Ok((value, *at - begin))
            }
        }
    }

    /// Passes `count` values to `each`.
    pub(crate) fn read_each<E: From<InvalidRuns>>(
        &mut self,
        mut count: usize,
        mut each: impl FnMut(u32) -> Result<(), E>,
    ) -> Result<(), E> {
        while count > 0 {
            self.fill()?;
            let width = self.width;
            count -= match &mut self.run {
                Run::Same { value, left } => {
                    let now = count.min(*left);
                    *left -= now;
                    for _ in 0..now {
                        each(*value)?;
                    }
                    now
                }
                Run::Packed { bytes, at, end } => {
                    let now = count.min(*end - *at);
                    for index in *at..*at + now {
                        each(bits_at(bytes, index, width))?;
                    }
                    *at += now;
                    now
                }
            };
        }
        Ok(())
    }

    /// Skips `count` values.
    pub(crate) fn skip(&mut self, mut count: usize) -> Result<(), InvalidRuns> {
        while count > 0 {
            self.fill()?;
            count -= match &mut self.run {
                Run::Same { left, .. } => {
                    let now = count.min(*left);
                    *left -= now;
                    now
                }
                Run::Packed { at, end, .. } => {
                    let now = count.min(*end - *at);
                    *at += now;
                    now
                }
            };
        }
        Ok(())
    }

    /// Reads headers of runs until the current run has a value.
    fn fill(&mut self) -> Result<(), InvalidRuns> {
        while match &self.run {
            Run::Same { left, .. } => *left == 0,
            Run::Packed { at, end, .. } => at == end,
        } {
            let (header, size) = read_varint(self.bytes).ok_or(InvalidRuns)?;
            let rest = self.bytes.get(size..).ok_or(InvalidRuns)?;
            let count = usize::try_from(header >> 1).map_err(|_| InvalidRuns)?;
            let value_bytes = self.width.div_ceil(8) as usize;
            let (run, used) = if header & 1 == 0 {
                let mut value = [0; 4];
                let stored = rest.get(..value_bytes).ok_or(InvalidRuns)?;
                value.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
                (Run::Same { value: u32::from_le_bytes(value), left: count }, value_bytes)
            } else {
                packed_run(rest, count, self.width)?
            };
            self.bytes = rest.get(used..).ok_or(InvalidRuns)?;
            self.run = run;
        }
        Ok(())
    }
}

/// Returns a run of `groups` times eight values, and its size. Some writers truncate the last run after its last value.
fn packed_run(rest: &[u8], groups: usize, width: u32) -> Result<(Run<'_>, usize), InvalidRuns> {
    let values = groups.checked_mul(8).ok_or(InvalidRuns)?;
    let size = groups.checked_mul(width as usize).ok_or(InvalidRuns)?;
    if let Some(bytes) = rest.get(..size) {
        return Ok((Run::Packed { bytes, at: 0, end: values }, size));
    }
    let end = rest.len().saturating_mul(8) / width.max(1) as usize;
    Ok((Run::Packed { bytes: rest, at: 0, end: end.min(values) }, rest.len()))
}

/// Writes values as runs of equal values.
#[derive(Debug)]
pub(crate) struct RunWriter {
    max: u32,
    bytes: Vec<u8>,
    /// The current value, and how often it was appended in succession.
    run: (u32, u64),
}

impl RunWriter {
    /// Creates a writer of values up to `max`. If `max` is 0, nothing is written.
    pub(crate) fn new(max: u32) -> Self {
        Self { max, bytes: Vec::new(), run: (0, 0) }
    }

    pub(crate) fn append(&mut self, value: u32) {
        if self.run.0 != value {
            self.flush();
            self.run = (value, 0);
        }
        self.run.1 += 1;
    }

    fn flush(&mut self) {
        if self.run.1 == 0 || self.max == 0 {
            return;
        }
        write_varint(self.run.1 << 1, &mut self.bytes);
        let size = bit_width(self.max).div_ceil(8) as usize;
        self.bytes.extend(self.run.0.to_le_bytes().iter().take(size));
    }

    /// Returns the bytes written.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.flush();
        self.bytes
    }
}

/// Appends values as one bit-packed run, with `width` bits per value.
pub(crate) fn pack_values(values: &[u32], width: u32, out: &mut Vec<u8>) {
    write_varint((values.len().div_ceil(8) as u64) << 1 | 1, out);
    for group in values.chunks(8) {
        // Eight values fill whole bytes; the last group is padded with zeros.
        let (mut word, mut bits) = (0_u64, 0);
        for value in group.iter().copied().chain(std::iter::repeat_n(0, 8 - group.len())) {
            word |= u64::from(value) << bits;
            bits += width;
            while bits >= 8 {
                out.push(word as u8);
                (word, bits) = (word >> 8, bits - 8);
            }
        }
    }
}

/// Returns the number of bits that values up to `max` need.
pub(crate) fn bit_width(max: u32) -> u32 {
    u32::BITS - max.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, String> {
        let mut values = Vec::new();
        RunReader::new(bytes, width).unwrap().read_each(count, |value| {
            values.push(value);
            Ok::<(), String>(())
        })?;
        Ok(values)
    }

    #[test]
    fn run_length_and_bit_packed_runs_are_read() {
        // Five times the value 3, then eight bit-packed values of three bits: 0 to 7.
        let bytes = [10, 3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let expected = [3, 3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(all(&bytes, 3, 13).unwrap(), expected);
        assert!(all(&bytes, 3, 14).is_err());
        let mut reader = RunReader::new(&bytes, 3).unwrap();
        assert_eq!(reader.read_equal(4), Ok((3, 4)));
        assert_eq!(reader.skip(3), Ok(()));
        assert_eq!(reader.read_equal(9), Ok((2, 1)));
        assert_eq!(reader.skip(6), Err(InvalidRuns));
    }

    #[test]
    fn values_of_zero_bits_need_no_bytes() {
        assert_eq!(all(&[6], 0, 3).unwrap(), [0; 3]);
        assert_eq!(all(&[3], 0, 8).unwrap(), [0; 8]);
        assert!(RunReader::new(&[], 33).is_none());
    }

    proptest! {
        #[test]
        fn any_runs_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100), width in 0..33_u32) {
            let mut reader = RunReader::new(&bytes, width).unwrap();
            for _ in 0..100 {
                if reader.read_equal(7).is_err() || reader.skip(3).is_err() {
                    break;
                }
            }
        }

        #[test]
        fn equal_runs_and_single_values_agree(bytes in proptest::collection::vec(any::<u8>(), 0..60), width in 1..9_u32) {
            let mut one = Vec::new();
            let mut reader = RunReader::new(&bytes, width).unwrap();
            while let Ok((value, count)) = reader.read_equal(1000 - one.len()) {
                one.extend(std::iter::repeat_n(value, count));
                if one.len() >= 1000 { break; }
            }
            prop_assert_eq!(all(&bytes, width, one.len()).unwrap(), one);
        }
    }
}
