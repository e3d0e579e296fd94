//! Requests for ranges of a file: redirects, further tries, and answers that do not match.

use super::super::http::{self, redirect_of, MAX_REDIRECTS};
use super::super::network::{Answer, Network, RangeCall, RangeResult};
use super::super::retry::RetryReason;
use super::super::secret::Secret;
use super::super::version::plain_etag;
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use reqwest::header::{HeaderMap, HeaderValue, ACCEPT_ENCODING, AUTHORIZATION, ETAG, LAST_MODIFIED, RANGE};
use reqwest::{Method, Request, Url};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of addresses whose redirects are cached.
const MAX_TARGETS: usize = 10_000;

/// A file on a web server: how it is requested, and how messages name it.
pub(in crate::remote) struct WebFile {
    /// Name in messages and in the log.
    pub(in crate::remote) name: String,
    /// URL of the first request.
    pub(in crate::remote) url: Url,
    /// Token for requests to the origin of that URL, and to no other.
    pub(in crate::remote) token: Option<Secret>,
    /// Checksum of the content. A redirect with a different one is not followed.
    pub(in crate::remote) checksum: Option<String>,
    /// Returns the identifier of the version in the headers of an answer.
    pub(in crate::remote) version_of: fn(&HeaderMap) -> String,
    pub(in crate::remote) failure_of: Box<dyn Fn(&Refusal) -> Failure + Send + Sync>,
}

impl WebFile {
    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.url.origin()
    }

    /// Whether a redirect leads to other content.
    fn is_other(&self, headers: &HeaderMap) -> bool {
        let linked = headers.get("x-linked-etag").and_then(|value| value.to_str().ok());
        linked.zip(self.checksum.as_deref()).is_some_and(|(linked, checksum)| plain_etag(linked) != checksum)
    }
}

/// Why the bytes of a file were not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::remote) enum Refusal {
    /// The server answers with a status other than success.
    Status(http::Refusal),
    /// The target of a redirect answers with a status other than success.
    Target(u16),
    /// The server answers with the whole file to every request.
    NoRanges,
    /// The server answers with another range.
    OtherRange,
    /// The file has another version than the one that was opened.
    OtherVersion,
    /// A redirect is not followed, with the reason.
    Redirect(&'static str),
}

impl Refusal {
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Status(http::Refusal { status, .. }) | Self::Target(status) => Some(*status),
            _ => None,
        }
    }

    /// Whether the file does not exist.
    pub(in crate::remote) fn is_missing(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }
}

/// Result of one try.
enum Attempt {
    Complete(Url),
    Retry(RetryReason),
    Refused(Refusal),
}

/// Sends the requests to web servers.
pub(in crate::remote) struct WebClient {
    pub(super) network: Arc<Network>,
    /// Final URLs of addresses that redirect, so that a new range does not request the redirect again.
    targets: Mutex<HashMap<String, Url>>,
}

impl WebClient {
    pub(in crate::remote) fn new(network: Arc<Network>) -> Self {
        Self { network, targets: Mutex::default() }
    }

    /// Requests a range of a file until it is complete or finally refused. `version` is the required version.
    pub(super) async fn get(
        &self,
        file: &WebFile,
        range: Range<u64>,
        version: Option<&str>,
    ) -> Outcome<Result<Answer, Refusal>> {
        let address = file.url.as_str();
        let call = RangeCall { range: &range, version, version_of: file.version_of };
        let mut patience = self.network.patience(&file.url);
        let mut answer = Answer::default();
        loop {
            let before = answer.body.len();
            let target = self.targets.lock().get(address).cloned();
            let url = target.clone().unwrap_or_else(|| file.url.clone());
            let attempt = self.attempt(file, url, &call, &mut answer).await?;
            if target.is_some() && !matches!(attempt, Attempt::Complete(_)) {
                // The target of a redirect may expire.
                self.targets.lock().remove(address);
            }
            let reason = match attempt {
                Attempt::Complete(url) => {
                    self.remember_target(&file.url, url);
                    return Ok(Ok(answer));
                }
                Attempt::Retry(reason) => reason,
                Attempt::Refused(refusal) => match refusal.status().filter(|status| is_temporary(*status)) {
                    Some(status) => RetryReason::new(format!("the server answers {status}")),
                    None if target.is_some() => continue,
                    None => return Ok(Err(refusal)),
                },
            };
            if answer.body.len() > before {
                patience.reset();
            }
            patience.wait(&reason).await.map_err(|failure| failure.on(Subject::path(&file.name)))?;
        }
    }

    fn remember_target(&self, origin: &Url, url: Url) {
        let mut targets = self.targets.lock();
        if url == *origin {
            return;
        }
        if targets.len() >= MAX_TARGETS {
            targets.clear();
        }
        targets.insert(origin.to_string(), url);
    }

    /// Sends a request once, follows its redirects, and reads the answer, appending to the bytes of earlier answers.
    async fn attempt(
        &self,
        file: &WebFile,
        mut url: Url,
        call: &RangeCall<'_>,
        answer: &mut Answer,
    ) -> Outcome<Attempt> {
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Method::GET, url.clone());
            let headers = request.headers_mut();
            headers.extend(HeaderValue::from_str(&answer.missing_range(call.range)).map(|range| (RANGE, range)));
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            let token = file.token.as_ref().filter(|_| file.is_own(&url));
            if let Some(mut token) =
                token.and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.reveal())).ok())
            {
                token.set_sensitive(true);
                headers.insert(AUTHORIZATION, token);
            }
            let mut reply = match self.network.send(self.network.client(false), request, &file.name).await? {
                Ok(reply) => reply,
                Err(reason) => return Ok(Attempt::Retry(reason)),
            };
            match redirect_of(&url, reply.status(), reply.headers()) {
                Ok(None) => {}
                Ok(Some(_)) if file.is_other(reply.headers()) => return Ok(Attempt::Refused(Refusal::OtherVersion)),
                Ok(Some(next)) => {
                    url = next;
                    continue;
                }
                Err(why) => return Ok(Attempt::Refused(Refusal::Redirect(why))),
            }
            let is_empty = reply.status() == 416 && reply.header("content-range") == Some("bytes */0");
            if is_empty && call.range.start == 0 && answer.body.is_empty() {
                (answer.headers, answer.version) = (reply.headers().clone(), (call.version_of)(reply.headers()));
                return Ok(Attempt::Complete(url));
            }
            if !(200..300).contains(&reply.status()) {
                return Ok(Attempt::Refused(match file.is_own(&url) {
                    true => Refusal::Status(http::Refusal::of(reply.status(), reply.headers())),
                    false => Refusal::Target(reply.status()),
                }));
            }
            return Ok(match answer.read_range(call, &mut reply).await {
                RangeResult::Complete => Attempt::Complete(url),
                RangeResult::Retry(reason) => Attempt::Retry(reason),
                RangeResult::NoRanges => Attempt::Refused(Refusal::NoRanges),
                RangeResult::OtherRange => Attempt::Refused(Refusal::OtherRange),
                RangeResult::OtherVersion => Attempt::Refused(Refusal::OtherVersion),
            });
        }
        Ok(Attempt::Refused(Refusal::Redirect("its redirects do not end")))
    }
}

/// Returns the identifier of the version: a strong tag, or else the time. The size is compared, too.
pub(super) fn version_of(headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    strong_etag(headers).unwrap_or_else(|| text(LAST_MODIFIED).unwrap_or_default().to_owned())
}

/// Returns the tag in an answer, if it identifies the exact bytes.
pub(in crate::remote) fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get(ETAG)?.to_str().ok()?.trim();
    (!tag.starts_with("W/")).then(|| plain_etag(tag).to_owned())
}

fn is_temporary(status: u16) -> bool {
    [408, 425, 429, 500, 502, 503, 504].contains(&status)
}
