//! Signature version 4 of requests.
//!
//! Written here instead of taken from a crate such as `object_store`: only these hundred lines of it would be useful, since listings,
//! retries and credentials need their own code, and it has a dozen dependencies. The hash functions come from the TLS library, which is
//! needed anyway.

use super::keys::Keys;
use gristmill_core::text::hex;
use gristmill_core::utc;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, AUTHORIZATION};
use reqwest::Url;
use ring::{digest, hmac};
use std::fmt::Write as _;
use std::time::SystemTime;

/// Signed headers, in addition to `host` and headers that begin with `x-amz-`.
const SIGNED: [&str; 2] = ["range", "content-type"];

/// Signed text in place of the hash of an unsigned payload.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// Keys and scope of signatures.
pub(super) struct Signer<'a> {
    pub(super) keys: &'a Keys,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) time: SystemTime,
}

impl Signer<'_> {
    /// Adds the headers of the signature. The query of the URL must be encoded by [`encode`]. Without `payload`, the payload is not signed.
    pub(super) fn sign(&self, method: &str, url: &Url, headers: &mut HeaderMap, payload: Option<&[u8]>) {
        let time = utc::stamp(self.time);
        let date = time.get(..8).unwrap_or_default();
        let hash = |payload| hex(digest::digest(&digest::SHA256, payload).as_ref());
        let payload = payload.map_or_else(|| UNSIGNED.to_owned(), hash);
        insert(headers, "x-amz-date", &time);
        if self.service == "s3" {
            insert(headers, "x-amz-content-sha256", &payload);
        }
        if let Some(token) = &self.keys.token {
            insert(headers, "x-amz-security-token", token.reveal());
        }
        let mut lines = vec![("host", authority(url))];
        for (name, value) in headers.iter() {
            let name = name.as_str();
            if name.starts_with("x-amz-") || SIGNED.contains(&name) {
                lines.push((name, String::from_utf8_lossy(value.as_bytes()).trim().to_owned()));
            }
        }
        lines.sort();
        let names = lines.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines: String = lines.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (path, query) = (url.path(), sorted_query(url));
        let request = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let hash = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hash}");
        let mut key = format!("AWS4{}", self.keys.secret.reveal()).into_bytes();
        for part in [date, self.region, self.service, "aws4_request", &text] {
            key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
        }
        let (id, signature) = (&self.keys.id, hex(&key));
        let value = format!("AWS4-HMAC-SHA256 Credential={id}/{scope},SignedHeaders={names},Signature={signature}");
        insert(headers, AUTHORIZATION.as_str(), &value);
    }
}

/// Inserts a header. An invalid value is omitted: the store then refuses the request.
pub(in crate::remote) fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Returns host and port in the form of the header `host`.
fn authority(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    format!("{}{}", url.host_str().unwrap_or_default(), port.unwrap_or_default())
}

fn sorted_query(url: &Url) -> String {
    let mut pairs: Vec<&str> = url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    pairs.join("&")
}

/// Encodes a text for a URL: all bytes except letters, digits, `-`, `.`, `_`, `~`, and those in `kept`.
pub(in crate::remote) fn encode(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_kept = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.as_bytes().contains(&byte);
        match is_kept {
            true => encoded.push(char::from(byte)),
            false => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::super::super::secret::Secret;
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// The examples of the reference of Amazon S3, "Signature calculations for the Authorization header".
    #[test]
    fn s3_signatures_match_the_published_examples() {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            token: None,
            expires: None,
            source: String::new(),
        };
        let time = UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        let signer = Signer { keys: &keys, region: "us-east-1", service: "s3", time };
        let sign = |address: &str, range: Option<&str>| {
            let mut headers = HeaderMap::new();
            range.into_iter().for_each(|range| insert(&mut headers, "range", range));
            signer.sign("GET", &Url::parse(address).unwrap(), &mut headers, Some(b""));
            headers[AUTHORIZATION].to_str().unwrap().to_owned()
        };
        let bucket = "https://examplebucket.s3.amazonaws.com";
        assert_eq!(
            sign(&format!("{bucket}/test.txt"), Some("bytes=0-9")),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let signature = |address: &str| sign(address, None).rsplit('=').next().unwrap().to_owned();
        assert_eq!(
            signature(&format!("{bucket}/?max-keys=2&prefix=J")),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
        assert_eq!(
            signature(&format!("{bucket}/?lifecycle=")),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        let mut headers = HeaderMap::new();
        signer.sign("PUT", &Url::parse(bucket).unwrap(), &mut headers, None);
        assert_eq!(headers["x-amz-content-sha256"], UNSIGNED);
    }

    #[test]
    fn keys_and_queries_are_encoded() {
        assert_eq!(encode("a b+%/\u{e4}~", "/"), "a%20b%2B%25/%C3%A4~");
        assert_eq!(encode("a/b=c", ""), "a%2Fb%3Dc");
    }
}
