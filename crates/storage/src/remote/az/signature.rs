//! Signatures with the key of an account: of requests (Shared Key), and of the URL of one blob (SAS).

use super::super::s3::{encode, insert, Keys};
use base64::prelude::{Engine as _, BASE64_STANDARD};
use gristmill_core::utc;
use reqwest::header::HeaderMap;
use reqwest::Url;
use ring::hmac;
use std::time::{Duration, SystemTime};

/// Version of the API of the store.
pub(super) const VERSION: &str = "2021-12-02";
/// Time for which the signature of a URL is valid.
const URL_SIGNATURE_LIFETIME: Duration = Duration::from_secs(3600);
/// Headers that are signed with their values only, in this order; the third one is the length of the body.
const SIGNED: [&str; 11] = [
    "content-encoding",
    "content-language",
    "",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

/// Adds the signature of a request to its headers. `query` is the query of the URL, not encoded.
pub(super) fn sign(
    keys: &Keys,
    method: &str,
    url: &Url,
    query: &[(&'static str, String)],
    headers: &mut HeaderMap,
    body_bytes: usize,
) {
    let text = text_to_sign(&keys.id, method, url, query, headers, body_bytes);
    let value = format!("SharedKey {}:{}", keys.id, hmac_of(keys, &text));
    insert(headers, "authorization", &value);
}

fn text_to_sign(
    account: &str,
    method: &str,
    url: &Url,
    query: &[(&'static str, String)],
    headers: &HeaderMap,
    body_bytes: usize,
) -> String {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut text = format!("{method}\n");
    for name in SIGNED {
        match name {
            "" if body_bytes > 0 => text += &body_bytes.to_string(),
            "" => {}
            name => text += value(name),
        }
        text.push('\n');
    }
    let mut own: Vec<&str> =
        headers.keys().map(reqwest::header::HeaderName::as_str).filter(|name| name.starts_with("x-ms-")).collect();
    own.sort_unstable();
    own.iter().for_each(|name| text += &format!("{name}:{}\n", value(name)));
    text += &format!("/{account}{}", url.path());
    let mut query: Vec<_> = query.iter().collect();
    query.sort();
    query.iter().for_each(|(name, value)| text += &format!("\n{name}:{value}"));
    text
}

/// Returns the query with which one blob can be read without other credentials, for [`URL_SIGNATURE_LIFETIME`].
pub(super) fn sign_address(keys: &Keys, container: &str, key: &str, now: SystemTime) -> String {
    let stamp = utc::stamp(now + URL_SIGNATURE_LIFETIME);
    let part = |range: std::ops::Range<usize>| stamp.get(range).unwrap_or_default();
    let (date, time) =
        ([part(0..4), part(4..6), part(6..8)].join("-"), [part(9..11), part(11..13), part(13..15)].join(":"));
    let expiry = format!("{date}T{time}Z");
    let resource = format!("/blob/{}/{container}/{key}", keys.id);
    // Permission, start, end, resource, policy, addresses, protocols, version, kind, snapshot, encryption scope, five headers of answers.
    let fields = ["r", "", &expiry, &resource, "", "", "", VERSION, "b", "", "", "", "", "", "", ""];
    let signature = hmac_of(keys, &fields.join("\n"));
    format!("sv={VERSION}&sr=b&sp=r&se={}&sig={}", encode(&expiry, ""), encode(&signature, ""))
}

fn hmac_of(keys: &Keys, text: &str) -> String {
    // An invalid key is refused when the settings are read.
    let key = BASE64_STANDARD.decode(keys.secret.reveal()).unwrap_or_default();
    BASE64_STANDARD.encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::super::secret::Secret;
    use super::*;

    /// The examples of the reference of Azure Storage, "Authorize with Shared Key". The reference has no key for them, so the texts are
    /// compared.
    #[test]
    fn azure_signature_texts_match_the_reference_examples() {
        let mut headers = HeaderMap::new();
        insert(&mut headers, "x-ms-version", "2015-02-21");
        insert(&mut headers, "x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT");
        let url = Url::parse("https://myaccount.blob.core.windows.net/mycontainer").unwrap();
        let query = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
            pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
        };
        let metadata = query(&[("restype", "container"), ("comp", "metadata"), ("timeout", "20")]);
        assert_eq!(
            text_to_sign("myaccount", "GET", &url, &metadata, &headers, 0),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n\
             /myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"
        );
        insert(&mut headers, "range", "bytes=0-9");
        let blob = Url::parse("http://127.0.0.1:1/acc/c/a%20b").unwrap();
        let text = text_to_sign("acc", "PUT", &blob, &[], &headers, 11);
        assert!(text.starts_with("PUT\n\n\n11\n\n\n\n\n\n\n\nbytes=0-9\nx-ms-date:"), "{text}");
        assert!(text.ends_with("\n/acc/acc/c/a%20b"), "{text}");
    }

    #[test]
    fn blob_address_is_signed_for_one_hour() {
        let secret = Secret::new("a2V5");
        let keys = Keys { id: "acc".to_owned(), secret, token: None, expires: None, source: String::new() };
        let query = sign_address(&keys, "c", "a b", SystemTime::UNIX_EPOCH);
        assert!(query.starts_with("sv=2021-12-02&sr=b&sp=r&se=1970-01-01T01%3A00%3A00Z&sig="), "{query}");
        assert_ne!(query, sign_address(&keys, "c", "other", SystemTime::UNIX_EPOCH));
    }
}
