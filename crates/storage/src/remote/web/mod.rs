//! `https://HOST/PATH` and `http://`: files on web servers. They are only read, by ranges, and there are no folders.
//!
//! Owns the form of the requests and the meaning of refusals. Must not decide how often and when requests are sent (`remote/network`), or
//! which ranges are read (`remote/blocks`).

mod address;
mod client;
#[cfg(test)]
mod tests;

use super::super::file_info::FileInfo;
use super::super::location::RemoteUrl;
use super::super::store::{read_only, Condition, Content, RangeRead, Store, TakeEntry};
use super::blocks::{BlockReader, CancelFetch, FetchDone, FetchRange, BLOCK_UNIT};
use super::http;
use super::network::{Answer, Network, ACTIVITY};
use super::version::ObjectVersion;
pub(crate) use address::check;
use address::{has_query, is_given, url_of};
pub(super) use client::{strong_etag, Refusal, WebClient, WebFile};
use gristmill_core::{Failure, Outcome, ProblemKind, Subject};
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Returns the store of all web servers.
pub(crate) fn open(_: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    static CLIENT: OnceLock<Outcome<Arc<WebClient>>> = OnceLock::new();
    let client = CLIENT.get_or_init(|| Ok(Arc::new(WebClient::new(Network::of_process()?)))).clone()?;
    Ok(Arc::new(WebStore { client }))
}

/// Any web server.
struct WebStore {
    client: Arc<WebClient>,
}

impl WebStore {
    /// Requests a range at the beginning of a file; `None` if the file does not exist.
    fn begin(&self, address: &str, range: Range<u64>) -> io::Result<Option<(Arc<WebFile>, Answer)>> {
        let (name, url) = (address.to_owned(), url_of(address).map_err(Failure::into_io)?);
        let explain = Box::new(move |refusal: &Refusal| failure_of(refusal, &name));
        let (name, version_of) = (address.to_owned(), client::version_of);
        let file = Arc::new(WebFile { name, url, token: None, checksum: None, version_of, failure_of: explain });
        match begin(&self.client, &file, range)? {
            Ok(answer) => Ok(Some((file, answer))),
            // Servers refuse paths that the user did not give in many ways, such as an index that may be next to a file.
            Err(refusal) if refusal.is_missing() || !is_given(address) => Ok(None),
            Err(refusal) => Err((file.failure_of)(&refusal).into_io()),
        }
    }
}

/// Requests a range at the beginning of a file.
pub(super) fn begin(
    client: &Arc<WebClient>,
    file: &Arc<WebFile>,
    range: Range<u64>,
) -> io::Result<Result<Answer, Refusal>> {
    let (client, file) = (Arc::clone(client), Arc::clone(file));
    let pending = Arc::clone(&client.network).begin(async move { client.get(&file, range, None).await });
    pending.finish_read().and_then(|answer| answer).map_err(Failure::into_io)
}

/// Returns a reader for the version of a file whose first bytes have arrived.
pub(super) fn reader(client: &Arc<WebClient>, file: Arc<WebFile>, answer: Answer) -> BlockReader {
    let Answer { total, version, body, .. } = answer;
    BlockReader::new(Box::new(WebRanges { client: Arc::clone(client), file, total, version }), total, body)
}

fn version_of(answer: &Answer) -> ObjectVersion {
    ObjectVersion::of(&answer.headers, answer.total, answer.version.clone())
}

fn text(url: &RemoteUrl<'_>) -> String {
    format!("{}://{}/{}", url.scheme.name, url.bucket, url.key)
}

/// Returns the failure that states why a file was not read.
pub(super) fn failure_of(refusal: &Refusal, address: &str) -> Failure {
    let (why, hint) = match refusal {
        Refusal::Status(http::Refusal { status, .. }) | Refusal::Target(status) => match status {
            401 | 403 if has_query(address) => {
                ("it may not be read".to_owned(), "the signature in its query may have expired: give a new address")
            }
            401 | 403 => (
                "it may not be read".to_owned(),
                "if its address has a query, give it with the query, which is never saved",
            ),
            status => (format!("the server answers {status}"), ""),
        },
        Refusal::NoRanges => {
            ("this server does not answer ranges".to_owned(), "download the file, and give its local path")
        }
        Refusal::OtherRange => ("the server answers with other bytes than requested".to_owned(), ""),
        Refusal::OtherVersion => {
            ("it changed while it was read".to_owned(), "wait until nothing writes it, and run the same command again")
        }
        Refusal::Redirect(why) => ((*why).to_owned(), ""),
    };
    let mut failure = Failure::environment(ACTIVITY, why).on(Subject::path(address));
    failure.kind = match refusal {
        // Expired credentials apply to other files, too.
        _ if refusal.status() == Some(401) => None,
        Refusal::OtherVersion => Some(ProblemKind::ChangedDuringScan),
        _ => Some(ProblemKind::Unreadable),
    };
    match hint {
        "" => failure,
        hint => failure.with_hint(hint),
    }
}

impl Store for WebStore {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if url.key.is_empty() {
            return Ok(None);
        }
        Ok(self.begin(&text(url), 0..1)?.map(|(_, answer)| version_of(&answer).info()))
    }

    /// Web servers have no listings.
    fn list(&self, _: &RemoteUrl<'_>, _: bool, _: TakeEntry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let (file, answer) = self.begin(&text(url), 0..BLOCK_UNIT)?.ok_or(io::ErrorKind::NotFound)?;
        Ok((version_of(&answer).info(), Box::new(reader(&self.client, file, answer))))
    }

    fn put(&self, url: &RemoteUrl<'_>, _: Content<'_>, _: Condition) -> io::Result<bool> {
        Err(read_only(url).into_io())
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        Err(read_only(url).into_io())
    }
}

/// Fetches ranges of one version of a file.
struct WebRanges {
    client: Arc<WebClient>,
    file: Arc<WebFile>,
    total: u64,
    version: String,
}

impl FetchRange for WebRanges {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        let (client, file) = (Arc::clone(&self.client), Arc::clone(&self.file));
        let (total, version) = (self.total, self.version.clone());
        let task = self.client.network.spawn(async move {
            done.finish(match client.get(&file, range, Some(&version)).await {
                Ok(Ok(answer)) if answer.total == total => Ok(answer.body),
                Ok(Ok(_)) => Err((file.failure_of)(&Refusal::OtherVersion)),
                // If the file no longer exists, it was replaced or removed since it was opened.
                Ok(Err(refusal)) if refusal.is_missing() => Err((file.failure_of)(&Refusal::OtherVersion)),
                Ok(Err(refusal)) => Err((file.failure_of)(&refusal)),
                Err(failure) => Err(failure),
            });
        });
        Box::new(move || task.abort())
    }
}
