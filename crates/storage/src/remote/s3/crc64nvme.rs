//! The checksum of Amazon's store: CRC-64/NVME.

use base64::prelude::{Engine as _, BASE64_STANDARD};

/// Header with the checksum of a body.
pub(super) const CHECKSUM: &str = "x-amz-checksum-crc64nvme";
/// The polynomial, its lowest bit first.
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;
/// Number of bytes processed at once.
const STEP: usize = 16;
/// Checksums of single bytes, followed by as many zero bytes as the number of the table.
static TABLES: [[u64; 256]; STEP] = tables();

const fn tables() -> [[u64; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u64, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < STEP {
        byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

fn crc64nvme(bytes: &[u8]) -> u64 {
    update(0, bytes)
}

/// Returns the checksum of some bytes and those that follow, given the checksum of the first ones.
pub(super) fn update(before: u64, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<STEP>();
    let mut sum = !before;
    for chunk in chunks {
        let both = u128::from_le_bytes(*chunk);
        let (mut first, mut last) = (sum ^ both as u64, (both >> 64) as u64);
        sum = 0;
        // Not an iterator, which is slow without optimization: tests send many megabytes.
        let mut at = 0;
        while at < STEP / 2 {
            sum ^= TABLES[STEP - 1 - at][(first & 0xff) as usize] ^ TABLES[STEP / 2 - 1 - at][(last & 0xff) as usize];
            (first, last, at) = (first >> 8, last >> 8, at + 1);
        }
    }
    !rest.iter().fold(sum, |sum, byte| (sum >> 8) ^ TABLES[0][usize::from((sum as u8) ^ byte)])
}

/// Returns the checksum of some bytes in the form of request and answer headers.
pub(super) fn checksum_of(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(crc64nvme(bytes).to_be_bytes())
}

/// The checksum of an object, combined from the checksums of its parts.
pub(super) struct WholeChecksum(Option<u64>);

impl WholeChecksum {
    pub(super) fn new() -> Self {
        Self(Some(crc64nvme(b"")))
    }

    /// Adds the next part of a size. If the checksum of a part is missing, the object has none.
    pub(super) fn add(&mut self, part: Option<&str>, bytes: u64) {
        let part = part.and_then(|part| BASE64_STANDARD.decode(part).ok()?.try_into().ok()).map(u64::from_be_bytes);
        self.0 = self.0.zip(part).map(|(before, part)| multiply(power(bytes), before) ^ part);
    }

    pub(super) fn text(&self) -> Option<String> {
        self.0.map(|sum| BASE64_STANDARD.encode(sum.to_be_bytes()))
    }
}

/// The polynomial 1; coefficients of higher powers are in lower bits.
const ONE: u64 = 1 << 63;

/// Returns the product of two polynomials modulo [`POLYNOMIAL`].
fn multiply(first: u64, second: u64) -> u64 {
    let (mut product, mut shifted) = (0, second);
    for bit in (0..64).rev() {
        product ^= if first >> bit & 1 == 1 { shifted } else { 0 };
        shifted = if shifted & 1 == 1 { (shifted >> 1) ^ POLYNOMIAL } else { shifted >> 1 };
    }
    product
}

/// Returns the factor by which a checksum changes when this many zero bytes follow.
fn power(mut bytes: u64) -> u64 {
    let (mut power, mut square) = (ONE, ONE >> 8);
    while bytes > 0 {
        power = if bytes & 1 == 1 { multiply(square, power) } else { power };
        square = multiply(square, square);
        bytes >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc64nvme_equals_published_examples() {
        assert_eq!(crc64nvme(b"123456789"), 0xae8b_1486_0a79_9888);
        // NVM Express, Command Set Specification, "64b CRC".
        assert_eq!(crc64nvme(&[0; 4096]), 0x6482_d367_eb22_b64e);
        assert_eq!(crc64nvme(&[0xff; 4096]), 0xc0dd_ba73_02ec_a3ac);
        assert_eq!(checksum_of(b""), "AAAAAAAAAAA=");
    }

    #[test]
    fn object_checksum_is_combined_from_part_checksums() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at * 31 + at / 77) as u8).collect();
        for size in [1, 7, 4096, 9_999, 20_000] {
            let mut whole = WholeChecksum::new();
            bytes.chunks(size).for_each(|part| whole.add(Some(&checksum_of(part)), part.len() as u64));
            assert_eq!(whole.text(), Some(checksum_of(&bytes)), "{size}");
        }
        for unknown in [None, Some("x"), Some("AAAA")] {
            let mut whole = WholeChecksum::new();
            whole.add(Some(&checksum_of(b"a")), 1);
            whole.add(unknown, 1);
            whole.add(Some(&checksum_of(b"b")), 1);
            assert_eq!(whole.text(), None);
        }
    }

    #[test]
    fn crc64nvme_matches_a_bitwise_computation_for_every_length() {
        let bytes: Vec<u8> = (0..100_u8).map(|at| at.wrapping_mul(37)).collect();
        for size in 0..bytes.len() {
            let one_by_one = !bytes[..size].iter().fold(!0_u64, |sum, byte| {
                (0..8).fold(
                    sum ^ u64::from(*byte),
                    |sum, _| {
                        if sum & 1 == 1 {
                            (sum >> 1) ^ POLYNOMIAL
                        } else {
                            sum >> 1
                        }
                    },
                )
            });
            assert_eq!(crc64nvme(&bytes[..size]), one_by_one, "{size}");
            assert_eq!(update(crc64nvme(&bytes[..size / 3]), &bytes[size / 3..size]), one_by_one, "{size}");
        }
    }
}
