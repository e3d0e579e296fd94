//! State of an upload in progress.

use super::super::network::Answer;
use super::super::version::plain_etag;
use super::crc64nvme::{checksum_of, WholeChecksum, CHECKSUM};
use super::{answers, PendingAnswer, PendingPart};
use gristmill_core::text::hex;
use gristmill_core::Mutex;
use md5::{Digest as _, Md5};
use std::collections::VecDeque;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Element with the checksum of an object or a part.
const CHECKSUM_ELEMENT: &str = "ChecksumCRC64NVME";

/// An upload with the first parts of an object.
pub(super) struct UploadAhead {
    /// Its name.
    pub(super) upload: String,
    pub(super) part_bytes: u64,
    /// The parts whose answers have arrived, in order.
    pub(super) sent: Vec<SentPart>,
    /// The parts after them, which are in transfer.
    pub(super) pending: PendingParts,
    /// The pending answers with the version at the address, and with other uploads; they are read when the object is put.
    pub(super) before: Option<(PendingAnswer, PendingAnswer)>,
}

/// Parts in transfer, in order, without their tags.
pub(super) type PendingParts = VecDeque<(SentPart, PendingPart)>;

/// The upload of an object whose file grows, until it is taken. It is locked while a thread waits for its parts.
pub(super) type GrowingUpload = Arc<Mutex<Option<UploadAhead>>>;

/// A part of an upload.
pub(super) struct SentPart {
    /// Hash of its content; `None` if another process sent the part, whose tag may be the MD5 of the content.
    hash: Option<u128>,
    pub(super) tag: String,
    /// Its checksum, if the store has returned one.
    checksum: Option<String>,
}

/// All parts of an upload.
pub(super) struct SentParts {
    /// Tags of the parts, in order.
    pub(super) tags: Vec<String>,
    pub(super) checksum: WholeChecksum,
}

/// Returns the checksum in the answer to a part. For a copied part, it is in the body.
pub(super) fn checksum_in(answer: &Answer) -> Option<String> {
    let header = answer.header(CHECKSUM).map(str::to_owned);
    header.or_else(|| answers::text_of(&answer.body, CHECKSUM_ELEMENT))
}

/// Returns the checksum of the whole object in the answer to a completion.
pub(super) fn whole_checksum_in(answer: &Answer) -> Option<String> {
    // A checksum with a number is a combination of the checksums of the parts.
    answers::text_of(&answer.body, CHECKSUM_ELEMENT).filter(|sum| !sum.is_empty() && !sum.contains('-'))
}

impl SentPart {
    /// Returns a part without its tag.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { hash: Some(xxh3_128(bytes)), tag: String::new(), checksum: None }
    }

    /// Returns a part that another process has sent.
    pub(super) fn of_tag(tag: String) -> Self {
        Self { hash: None, tag, checksum: None }
    }

    pub(super) fn with_answer(self, answer: &Answer) -> Self {
        let tag = answer.header("etag").unwrap_or_default().to_owned();
        Self { tag, checksum: checksum_in(answer), ..self }
    }

    /// Returns the checksum of its content.
    pub(super) fn checksum(&self, bytes: &[u8]) -> Option<String> {
        match self.hash {
            Some(_) => self.checksum.clone(),
            None => Some(checksum_of(bytes)),
        }
    }

    /// Whether the part has this content.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        match self.hash {
            Some(hash) => xxh3_128(bytes) == hash,
            None => plain_etag(&self.tag).eq_ignore_ascii_case(&md5_of(bytes)),
        }
    }
}

fn md5_of(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// Returns the tag that stores assign to an object with parts of these tags: an MD5 of their MD5s. `None` if a tag is not an MD5.
pub(super) fn etag_of_parts(tags: &[String]) -> Option<String> {
    let mut digests = Vec::with_capacity(16 * tags.len());
    for tag in tags.iter().map(|tag| plain_etag(tag)) {
        let number = u128::from_str_radix(tag, 16).ok().filter(|_| tag.len() == 32)?;
        digests.extend(number.to_be_bytes());
    }
    Some(format!("{}-{}", md5_of(&digests), tags.len()))
}

/// Whether the tag of an object is an MD5, or an MD5 of the MD5s of its parts, followed by their number.
pub(super) fn is_md5(etag: &str) -> bool {
    let (md5, number) = plain_etag(etag).split_once('-').unwrap_or((plain_etag(etag), "1"));
    md5.len() == 32 && md5.bytes().all(|byte| byte.is_ascii_hexdigit()) && number.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etag_of_a_multipart_object_is_computed_from_its_parts() {
        let tags = ["\"d41d8cd98f00b204e9800998ecf8427e\"".to_owned(), "0cc175b9c0f1b6a831c399e269772661".to_owned()];
        let etag = etag_of_parts(&tags).unwrap();
        assert_eq!(etag, "68083ea43d0307eecfa2b4749f19df15-2");
        assert!(is_md5(&etag) && is_md5(&tags[0]) && !is_md5("0x8DD") && !is_md5("1732900000000-5"));
        assert_eq!(etag_of_parts(&["+0cc175b9c0f1b6a831c399e26977266".to_owned(), "x".to_owned()]), None);
    }
}
