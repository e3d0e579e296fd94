//! Checksums of whole objects that answers of a store state, and their comparison with the content.

use super::super::network::Answer;
use super::crc32c;
use super::crc64nvme::{self, CHECKSUM};
use crate::content_check::ContentCheck;
use base64::prelude::{Engine as _, BASE64_STANDARD};
use md5::{Digest as _, Md5};
use reqwest::header::HeaderMap;

/// The checksum of an object, and that of its content so far.
#[derive(Debug)]
pub(in crate::remote) enum ObjectChecksum {
    Crc64Nvme { expected: u64, sum: u64 },
    Crc32c { expected: u32, sum: u32 },
    Md5 { expected: [u8; 16], sum: Md5 },
}

impl ObjectChecksum {
    /// Returns the CRC of the whole object in an answer of Amazon's or Google's store.
    pub(super) fn crc_in(answer: &Answer) -> Option<Self> {
        let amazon = |name: &str| answer.header(name).filter(|_| !is_of_parts(answer)).map(str::to_owned);
        let crc64 = amazon(CHECKSUM).and_then(|sum| decode(&sum)).map(u64::from_be_bytes);
        if let Some(expected) = crc64 {
            return Some(Self::Crc64Nvme { expected, sum: 0 });
        }
        let sum = amazon("x-amz-checksum-crc32c").or_else(|| google_crc32c(&answer.headers))?;
        Some(Self::Crc32c { expected: u32::from_be_bytes(decode(&sum)?), sum: 0 })
    }

    /// Returns the MD5 of an object, from hexadecimal digits.
    pub(in crate::remote) fn of_md5(hex: &str) -> Option<Self> {
        let expected = u128::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 32)?;
        Some(Self::Md5 { expected: expected.to_be_bytes(), sum: Md5::new() })
    }

    /// Returns the checksum of the content so far.
    pub(super) fn sum(&self) -> Vec<u8> {
        match self {
            Self::Crc64Nvme { sum, .. } => sum.to_be_bytes().to_vec(),
            Self::Crc32c { sum, .. } => sum.to_be_bytes().to_vec(),
            Self::Md5 { sum, .. } => sum.clone().finalize().to_vec(),
        }
    }
}

/// Whether the checksum is that of the checksums of parts.
fn is_of_parts(answer: &Answer) -> bool {
    answer.header("x-amz-checksum-type").is_some_and(|kind| kind != "FULL_OBJECT")
}

/// Returns the CRC-32C of an object in Google's store, which states several checksums in one or in several headers.
fn google_crc32c(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all("x-goog-hash").iter().filter_map(|value| value.to_str().ok());
    let mut sums = values.flat_map(|value| value.split(','));
    sums.find_map(|sum| sum.trim().strip_prefix("crc32c=")).map(str::to_owned)
}

fn decode<const N: usize>(sum: &str) -> Option<[u8; N]> {
    BASE64_STANDARD.decode(sum).ok()?.try_into().ok()
}

impl ContentCheck for ObjectChecksum {
    fn restart(&mut self) {
        match self {
            Self::Crc64Nvme { sum, .. } => *sum = 0,
            Self::Crc32c { sum, .. } => *sum = 0,
            Self::Md5 { sum, .. } => sum.reset(),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc64Nvme { sum, .. } => *sum = crc64nvme::update(*sum, bytes),
            Self::Crc32c { sum, .. } => *sum = crc32c::update(*sum, bytes),
            Self::Md5 { sum, .. } => sum.update(bytes),
        }
    }

    fn is_equal(&self) -> bool {
        match self {
            Self::Crc64Nvme { expected, sum } => expected == sum,
            Self::Crc32c { expected, sum } => expected == sum,
            Self::Md5 { expected, sum } => sum.clone().finalize()[..] == expected[..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&'static str, &str)]) -> Answer {
        let mut answer = Answer::default();
        for (name, value) in headers {
            answer.headers.append(*name, value.parse().unwrap());
        }
        answer
    }

    fn is_equal(mut check: ObjectChecksum, parts: [&[u8]; 2]) -> bool {
        check.add(b"before");
        check.restart();
        parts.into_iter().for_each(|part| check.add(part));
        check.is_equal()
    }

    #[test]
    fn checksums_of_whole_objects_are_compared() {
        let md5 = || ObjectChecksum::of_md5("25F9E794323B453885F5181F1B624D0B").unwrap();
        for headers in [
            &[(CHECKSUM, "rosUhgp5mIg="), ("x-amz-checksum-crc32c", "AAAAAA==")][..],
            &[("x-amz-checksum-crc32c", "4waSgw=="), ("x-amz-checksum-type", "FULL_OBJECT")],
            &[("x-goog-hash", "md5=JfnnlDI7RTiF9RgfG2JNCw==, crc32c=4waSgw==")],
            &[("x-goog-hash", "md5=JfnnlDI7RTiF9RgfG2JNCw=="), ("x-goog-hash", "crc32c=4waSgw==")],
        ] {
            let check = || ObjectChecksum::crc_in(&answer(headers)).unwrap();
            assert!(is_equal(check(), [b"1234", b"56789"]), "{headers:?}");
            assert!(!is_equal(check(), [b"1234", b"56788"]), "{headers:?}");
        }
        assert!(is_equal(md5(), [b"1234", b"56789"]) && !is_equal(md5(), [b"", b"1"]));
    }

    #[test]
    fn checksums_of_parts_are_ignored() {
        for headers in [
            &[(CHECKSUM, "rosUhgp5mIg="), ("x-amz-checksum-type", "COMPOSITE")][..],
            &[("x-amz-checksum-crc32c", "4waSgw==-3")],
            &[("x-goog-hash", "md5=JfnnlDI7RTiF9RgfG2JNCw==")],
            &[],
        ] {
            assert!(ObjectChecksum::crc_in(&answer(headers)).is_none(), "{headers:?}");
        }
        for other in ["", "25f9", "25f9e794323b453885f5181f1b624d0b-2", "zzf9e794323b453885f5181f1b624d0b"] {
            assert!(ObjectChecksum::of_md5(other).is_none(), "{other}");
        }
    }
}
