//! Requests for ranges of a file: redirects, further tries, and what does not fit.

use super::super::http::{redirect_of, MAX_REDIRECTS};
use super::super::network::{Answer, Network, RangeCall, RangeResult};
use super::super::retry::Setback;
use super::super::version::plain_etag;
use super::address::url_of;
use gristmill_core::{Outcome, Subject};
use reqwest::header::{HeaderMap, HeaderValue, ACCEPT_ENCODING, ETAG, LAST_MODIFIED, RANGE};
use reqwest::{Method, Request, Url};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of addresses whose redirects are known.
const MAX_TARGETS: usize = 10_000;

/// Why the bytes of a file are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The server answers with another status than success.
    Status(u16),
    /// It answers with the whole file, whatever is asked for.
    NoRanges,
    /// It answers with another range.
    OtherRange,
    /// The file is not the one that was opened.
    OtherVersion,
    /// It redirects to what is not followed; the reason.
    Redirect(&'static str),
}

impl Refusal {
    /// Whether there is no such file.
    pub(super) fn is_missing(self) -> bool {
        matches!(self, Self::Status(404 | 410))
    }
}

/// Result of one try.
enum Attempt {
    Complete(Url),
    Setback(Setback),
    Refused(Refusal),
}

/// Sends the requests to web servers.
pub(super) struct WebClient {
    pub(super) network: Arc<Network>,
    /// Where an address redirects to. A new range does not ask for it again.
    targets: Mutex<HashMap<String, Url>>,
}

impl WebClient {
    pub(super) fn new(network: Arc<Network>) -> Self {
        Self { network, targets: Mutex::default() }
    }

    fn targets(&self) -> MutexGuard<'_, HashMap<String, Url>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gets a range of a file until it is complete, or refused for good. `version`: the one that the file has to have.
    pub(super) async fn get(
        &self,
        address: &str,
        range: Range<u64>,
        version: Option<&str>,
    ) -> Outcome<Result<Answer, Refusal>> {
        let origin = url_of(address)?;
        let call = RangeCall { range: &range, version, version_of };
        let mut patience = self.network.patience(&origin);
        let mut answer = Answer::default();
        loop {
            let before = answer.body.len();
            let target = self.targets().get(address).cloned();
            let url = target.clone().unwrap_or_else(|| origin.clone());
            let attempt = self.attempt(address, url, &call, &mut answer).await?;
            if target.is_some() && !matches!(attempt, Attempt::Complete(_)) {
                // What an address redirects to may be valid for some time only.
                self.targets().remove(address);
            }
            let setback = match attempt {
                Attempt::Complete(url) => {
                    self.remember_target(address, &origin, url);
                    return Ok(Ok(answer));
                }
                Attempt::Setback(setback) => setback,
                Attempt::Refused(Refusal::Status(status)) if is_temporary(status) => {
                    Setback::new(format!("the server answers {status}"))
                }
                Attempt::Refused(_) if target.is_some() => continue,
                Attempt::Refused(refusal) => return Ok(Err(refusal)),
            };
            if answer.body.len() > before {
                patience.reset();
            }
            patience.wait(&setback).await.map_err(|failure| failure.on(Subject::path(address)))?;
        }
    }

    fn remember_target(&self, address: &str, origin: &Url, url: Url) {
        let mut targets = self.targets();
        if url == *origin {
            return;
        }
        if targets.len() >= MAX_TARGETS {
            targets.clear();
        }
        targets.insert(address.to_owned(), url);
    }

    /// Sends a request once, follows its redirects, and reads the answer after what earlier answers brought of it.
    async fn attempt(
        &self,
        address: &str,
        mut url: Url,
        call: &RangeCall<'_>,
        answer: &mut Answer,
    ) -> Outcome<Attempt> {
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Method::GET, url.clone());
            let headers = request.headers_mut();
            headers.extend(HeaderValue::from_str(&answer.missing_range(call.range)).map(|range| (RANGE, range)));
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            let mut reply = match self.network.send(self.network.client(false), request, address).await? {
                Ok(reply) => reply,
                Err(setback) => return Ok(Attempt::Setback(setback)),
            };
            match redirect_of(&url, reply.status(), reply.headers()) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    url = next;
                    continue;
                }
                Err(why) => return Ok(Attempt::Refused(Refusal::Redirect(why))),
            }
            let is_empty = reply.status() == 416 && reply.header("content-range") == Some("bytes */0");
            if is_empty && call.range.start == 0 && answer.body.is_empty() {
                (answer.headers, answer.version) = (reply.headers().clone(), version_of(reply.headers()));
                return Ok(Attempt::Complete(url));
            }
            if !(200..300).contains(&reply.status()) {
                return Ok(Attempt::Refused(Refusal::Status(reply.status())));
            }
            return Ok(match answer.read_range(call, &mut reply).await {
                RangeResult::Complete => Attempt::Complete(url),
                RangeResult::Setback(setback) => Attempt::Setback(setback),
                RangeResult::NoRanges => Attempt::Refused(Refusal::NoRanges),
                RangeResult::OtherRange => Attempt::Refused(Refusal::OtherRange),
                RangeResult::OtherVersion => Attempt::Refused(Refusal::OtherVersion),
            });
        }
        Ok(Attempt::Refused(Refusal::Redirect("its redirects do not end")))
    }
}

/// Returns what the versions of a file are distinguished by: a strong tag, else the time; the size is compared with it.
pub(super) fn version_of(headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match text(ETAG).filter(|tag| !tag.trim().starts_with("W/")) {
        Some(tag) => plain_etag(tag).to_owned(),
        None => text(LAST_MODIFIED).unwrap_or_default().to_owned(),
    }
}

fn is_temporary(status: u16) -> bool {
    [408, 425, 429, 500, 502, 503, 504].contains(&status)
}
