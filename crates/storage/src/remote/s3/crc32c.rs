//! The checksum of Google's store: CRC-32C (Castagnoli).

/// The polynomial, its lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Number of bytes processed at once.
const STEP: usize = 8;
/// Checksums of single bytes, followed by as many zero bytes as the number of the table.
static TABLES: [[u32; 256]; STEP] = tables();

const fn tables() -> [[u32; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
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

/// Returns the checksum of some bytes.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    update(0, bytes)
}

/// Returns the checksum of some bytes and those that follow, given the checksum of the first ones.
pub(super) fn update(before: u32, bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<STEP>();
    let mut sum = !before;
    for chunk in chunks {
        let mut both = u64::from_le_bytes(*chunk) ^ u64::from(sum);
        sum = 0;
        // Not an iterator, which is slow without optimization: tests send many megabytes.
        let mut at = 0;
        while at < STEP {
            sum ^= TABLES[STEP - 1 - at][(both & 0xff) as usize];
            (both, at) = (both >> 8, at + 1);
        }
    }
    !rest.iter().fold(sum, |sum, byte| (sum >> 8) ^ TABLES[0][usize::from((sum as u8) ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_equals_published_examples() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b""), 0);
        assert_eq!(update(crc32c(b"1234"), b"56789"), 0xe306_9283);
        assert_eq!(update(crc32c(&[0; 11]), &[0; 21]), 0x8a91_36aa);
    }
}
