//! Answers that refuse requests.

use super::super::dates::parse_http_date;
use super::super::network::{Reply, MAX_ANSWER_BYTES};
use super::answers::text_of;
use super::keys::Keys;
use super::vendor::Vendor;
use std::sync::Arc;
use std::time::SystemTime;

/// The reason if a store receives too many requests.
pub(in crate::remote) const BUSY: &str = "the store asks to slow down";
/// Codes of invalid requests that are not caused by an unknown kind of checksum.
const OTHER_REASONS: [&str; 10] = [
    "AuthorizationHeaderMalformed",
    "BadDigest",
    "EntityTooSmall",
    "ExpiredToken",
    "InvalidDigest",
    "InvalidPart",
    "RequestTimeout",
    "TokenRefreshRequired",
    "XAmzContentChecksumMismatch",
    "XAmzContentSHA256Mismatch",
];
/// Codes of refusals that do not depend on the object.
const CODES_OF_ALL: [&str; 7] = [
    "NoSuchBucket",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "TokenRefreshRequired",
    "InvalidToken",
    "RequestTimeTooSkewed",
];
/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// An answer that refuses a request, or does not match it.
#[derive(Clone, Debug, Default)]
pub(in crate::remote) struct Refusal {
    pub(in crate::remote) status: u16,
    /// The store's code for the reason; may be empty.
    pub(in crate::remote) code: String,
    /// Region of the bucket, if the answer names it.
    pub(in crate::remote) region: Option<String>,
    /// Seconds by which the clock of the store is ahead of this one.
    pub(in crate::remote) clock_offset: i64,
    pub(in crate::remote) storage_class: Option<String>,
    /// The keys with which the request was signed.
    pub(in crate::remote) keys: Option<Arc<Keys>>,
}

impl Refusal {
    /// Reads a refusal. A body that ends early is ignored.
    pub(in crate::remote) async fn read(mut reply: Reply) -> Self {
        let mut refusal = Self::of_success(reply.status(), "");
        let region = reply.header("x-amz-bucket-region").map(str::to_owned);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let date = reply.header("date").and_then(parse_http_date).map(|date| date / SECOND_NS);
        refusal.clock_offset = date.map_or(0, |date| date - i64::try_from(now).unwrap_or_default());
        refusal.storage_class = reply.header("x-amz-storage-class").map(plain_word).filter(|word| !word.is_empty());
        // Answers to HEAD have no body; Microsoft's store also has the code in a header.
        refusal.code = reply.header("x-ms-error-code").map(plain_word).unwrap_or_default();
        let mut body = Vec::new();
        if reply.read(&mut body, MAX_ANSWER_BYTES).await.is_ok() {
            refusal.code = text_of(&body, "Code").as_deref().map(plain_word).unwrap_or(refusal.code);
            let class = || text_of(&body, "StorageClass").as_deref().map(plain_word).filter(|word| !word.is_empty());
            refusal.storage_class = refusal.storage_class.or_else(class);
        }
        let is_region = |region: &String| {
            !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        refusal.region = region.or_else(|| text_of(&body, "Region")).filter(is_region);
        refusal
    }

    /// Returns the refusal for an answer whose body is not read.
    pub(in crate::remote) fn of_success(status: u16, code: &str) -> Self {
        Self { status, code: code.to_owned(), ..Self::default() }
    }

    /// Whether the same request may succeed later.
    pub(in crate::remote) fn is_temporary(&self) -> bool {
        let codes = ["RequestTimeout", "ConditionalRequestConflict", "OperationAborted"];
        [408, 425, 429, 500, 502, 503, 504].contains(&self.status) || codes.contains(&self.code.as_str())
    }

    /// Whether every request to the bucket would be refused in this way.
    pub(super) fn concerns_all(&self, vendor: Vendor) -> bool {
        let has_ended = self.status == 401 && self.keys.is_some() && vendor == Vendor::Google;
        has_ended || CODES_OF_ALL.contains(&self.code.as_str())
    }

    /// Whether the store does not support conditions.
    pub(in crate::remote) fn has_no_conditions(&self) -> bool {
        self.status == 501 || self.code == "NotImplemented"
    }

    /// Whether the reason may be that the store does not support the checksum of a request.
    pub(in crate::remote) fn may_concern_checksum(&self) -> bool {
        self.status == 501 || self.status == 400 && !OTHER_REASONS.contains(&self.code.as_str())
    }

    /// Whether the object does not exist, although the bucket does.
    pub(in crate::remote) fn is_missing_object(&self) -> bool {
        self.status == 404 && self.code != "NoSuchBucket"
    }

    /// Returns status and code as the reason in a message.
    pub(in crate::remote) fn text(&self) -> String {
        if [429, 503].contains(&self.status) {
            return BUSY.to_owned();
        }
        format!("the store answers {} {}", self.status, self.code).trim_end().to_owned()
    }
}

/// Returns the letters, digits and underscores of a text, at most 64.
fn plain_word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(64).collect()
}
