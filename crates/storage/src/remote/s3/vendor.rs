//! Differences between the vendors of stores with the S3 API.

use super::super::super::store::Condition;
use super::super::store_settings::NewObjects;
use super::super::version::etag_of;
use super::crc32c::crc32c;
use super::keys::Keys;
use super::signature::insert;
use base64::prelude::{Engine as _, BASE64_STANDARD};
use reqwest::header::HeaderMap;
use reqwest::Method;

/// The vendor of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remote) enum Vendor {
    /// Amazon, and all vendors whose stores accept the same signatures.
    Amazon,
    /// Google, by the XML API of Cloud Storage, with access tokens.
    Google,
}

impl Vendor {
    /// Returns the scheme of addresses.
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Amazon => "s3",
            Self::Google => "gs",
        }
    }

    /// Returns the function that reads the version from the headers of an answer: the tag, or the generation in Google's store, where the
    /// tag is the same for the same content.
    pub(super) fn version_of(self) -> fn(&HeaderMap) -> String {
        match self {
            Self::Amazon => etag_of,
            Self::Google => |headers| {
                let generation = headers.get("x-goog-generation").and_then(|value| value.to_str().ok());
                generation.unwrap_or_default().to_owned()
            },
        }
    }

    /// Returns the name of the element with the version in a listing.
    pub(super) fn version_element(self) -> &'static str {
        match self {
            Self::Amazon => "ETag",
            Self::Google => "Generation",
        }
    }

    /// Adds the header that limits a request to one version of an object.
    pub(super) fn add_version(self, version: &str, headers: &mut HeaderMap) {
        match self {
            Self::Amazon => insert(headers, "if-match", &format!("\"{version}\"")),
            Self::Google => insert(headers, "x-goog-if-generation-match", version),
        }
    }

    pub(super) fn add_condition(self, condition: Condition, headers: &mut HeaderMap) {
        match (condition, self) {
            // The version is added with the header of reads.
            (Condition::Always | Condition::IfStamp(_), _) => {}
            (Condition::IfAbsent, Self::Amazon) => insert(headers, "if-none-match", "*"),
            (Condition::IfAbsent, Self::Google) => insert(headers, "x-goog-if-generation-match", "0"),
        }
    }

    /// Returns the headers of requests that create objects. Google's store encrypts all objects.
    pub(super) fn object_headers(self, new: &NewObjects) -> Vec<(&'static str, String)> {
        let headers = match self {
            Self::Amazon => [
                ("x-amz-storage-class", &new.storage_class),
                ("x-amz-server-side-encryption", &new.sse),
                ("x-amz-server-side-encryption-aws-kms-key-id", &new.sse_kms_key_id),
                ("x-amz-acl", &new.acl),
            ],
            Self::Google => [
                ("x-goog-storage-class", &new.storage_class),
                ("", &None),
                ("x-goog-encryption-kms-key-name", &new.sse_kms_key_id),
                ("x-goog-acl", &new.acl),
            ],
        };
        headers.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// Adds the access token, and the checksum that Google's store compares.
    pub(super) fn add_token(self, method: &Method, headers: &mut HeaderMap, keys: Option<&Keys>, body: &[u8]) {
        if let Some(keys) = keys {
            insert(headers, "authorization", &format!("Bearer {}", keys.secret.reveal()));
        }
        if *method == Method::PUT {
            let sum = BASE64_STANDARD.encode(crc32c(body).to_be_bytes());
            insert(headers, "x-goog-hash", &format!("crc32c={sum}"));
        } else {
            // Otherwise the store decompresses objects that were put compressed.
            insert(headers, "accept-encoding", "gzip");
        }
    }
}
