//! Requests, before they are signed.

use super::super::super::store::Condition;
use bytes::Bytes;
use reqwest::Method;
use std::ops::Range;

/// Action of a request, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remote) enum Action {
    ListBuckets,
    List,
    Read,
    Write,
    Remove,
    ListUploads,
    EndUpload,
}

/// A request.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Call {
    pub(in crate::remote) method: Method,
    pub(in crate::remote) action: Action,
    /// Empty for the bucket.
    pub(in crate::remote) key: String,
    pub(in crate::remote) query: Vec<(&'static str, String)>,
    /// Requested bytes. Bytes after the end of the object are omitted.
    pub(in crate::remote) range: Option<Range<u64>>,
    /// Required version of the object.
    pub(in crate::remote) etag: Option<String>,
    /// Ending of a complete answer.
    pub(in crate::remote) ending: Option<&'static str>,
    /// Content to write; every try sends the same.
    pub(in crate::remote) body: Bytes,
    /// Condition of the write.
    pub(in crate::remote) condition: Condition,
    /// Further headers.
    pub(in crate::remote) headers: Vec<(&'static str, String)>,
}

impl Call {
    /// Whether the request changes nothing.
    pub(in crate::remote) fn is_read(&self) -> bool {
        [Method::GET, Method::HEAD].contains(&self.method)
    }

    /// Whether the request determines the properties of a new object.
    pub(super) fn makes_object(&self) -> bool {
        let has = |name: &str| self.query.iter().any(|(known, _)| *known == name);
        match self.method {
            Method::PUT => !has("partNumber"),
            Method::POST => has("uploads"),
            _ => false,
        }
    }
}

/// Returns the request for a range of an object.
pub(in crate::remote) fn get_range(key: &str, range: Range<u64>, etag: Option<String>) -> Call {
    Call {
        method: Method::GET,
        action: Action::Read,
        key: key.to_owned(),
        query: Vec::new(),
        range: Some(range),
        etag,
        ending: None,
        body: Bytes::new(),
        condition: Condition::Always,
        headers: Vec::new(),
    }
}

/// Returns the request for the headers of an object.
pub(in crate::remote) fn head(key: &str) -> Call {
    Call { method: Method::HEAD, range: None, ..get_range(key, 0..0, None) }
}

/// Returns a request that writes.
pub(in crate::remote) fn write(method: Method, key: &str, query: Vec<(&'static str, String)>, body: Bytes) -> Call {
    Call { method, action: Action::Write, query, body, range: None, ..get_range(key, 0..0, None) }
}
