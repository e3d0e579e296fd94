//! The checksum of Google's store: CRC-32C (Castagnoli).

/// The polynomial, its lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Checksums of single bytes.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// Returns the checksum of some bytes.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| (sum >> 8) ^ TABLE[usize::from((sum as u8) ^ byte)])
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
    }
}
