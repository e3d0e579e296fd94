//! Downloads one file into the cache: resumes where it stopped, and compares the checksum before the file becomes visible.

use super::super::http::{host, read_error, HttpClient, HttpRequest, Refusal};
use super::super::retry::{Check, RetryReason};
use super::cache::{make_parents, RepositoryCache, FILE_MODE};
use super::digest::Hasher;
use super::file::RepositoryFile;
use crate::fs::{Fs, WriteFile};
use crate::read_file::open_local;
use gristmill_core::{Failure, Outcome, Progress, Subject};
use reqwest::blocking::Response;
use reqwest::header::{HeaderMap, CONTENT_RANGE, ETAG};
use reqwest::Url;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Name of this step in errors.
const ACTIVITY: &str = "downloading";
/// Number of bytes read at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum number of complete downloads of a file with a wrong checksum.
const MAX_WRONG_DOWNLOADS: u32 = 3;

/// Hint for content with a wrong checksum.
pub(super) const WRONG_CHECKSUM_HINT: &str =
    "something between here and the hub changes it, or the hub's copy is damaged";

/// A file that is downloaded.
pub(super) struct Download<'a> {
    pub(super) http: &'a HttpClient,
    pub(super) fs: &'a dyn Fs,
    pub(super) cache: &'a RepositoryCache,
    pub(super) file: &'a RepositoryFile,
    /// Address of the file at the hub.
    pub(super) url: Url,
    /// Name of the file in messages.
    pub(super) name: String,
    pub(super) progress: &'a Progress,
    pub(super) check: Check<'a>,
}

/// Result of one try.
enum Attempt {
    /// All bytes arrived.
    Complete,
    /// Another try may succeed; the bytes that arrived are kept.
    Retry(RetryReason),
    /// The signed address, which had worked before, has expired.
    AddressEnded,
    Refused(Refusal),
}

impl Download<'_> {
    /// Downloads the file. If another process downloads it, waits for that process.
    ///
    /// # Errors
    /// The hub refuses: the refusal is returned as the inner error. All other errors are failures.
    pub(super) fn run(&self) -> Outcome<Result<(), Refusal>> {
        let lock = self.cache.lock(self.fs, &self.file.digest, self.check)?;
        if self.cache.has_blob(self.file) {
            self.progress.resume_from(0, self.file.size);
            return Ok(Ok(()));
        }
        let mut path = self.cache.incomplete(&self.file.digest);
        if lock.is_none() {
            // Another process may write the same file.
            path.as_mut_os_string().push(format!(".{}", uuid::Uuid::new_v4().simple()));
        }
        make_parents(self.fs, &path)?;
        let mut partial = Partial::open(self, &path)?;
        self.progress.resume_from(0, partial.bytes);
        match self.fill(&mut partial)? {
            Ok(()) => partial.finish(self.fs, &self.cache.blob(&self.file.digest)).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Downloads all bytes with the right checksum.
    fn fill(&self, partial: &mut Partial) -> Outcome<Result<(), Refusal>> {
        let mut policy = self.http.retry_policy();
        let mut source = Source { address: None, version: None };
        let (mut most, mut wrong) = (partial.bytes, 0);
        loop {
            (self.check)()?;
            if partial.bytes == self.file.size {
                if partial.hasher.matches(&self.file.digest) {
                    return Ok(Ok(()));
                }
                wrong += 1;
                partial.restart(self)?;
                (source, most) = (Source { address: None, version: None }, 0);
                if wrong == MAX_WRONG_DOWNLOADS {
                    let why =
                        format!("its content does not have the checksum that the hub lists, after {wrong} downloads");
                    return Err(self.failure(&why).with_hint(WRONG_CHECKSUM_HINT));
                }
            }
            let reason = match self.attempt(partial, &mut source)? {
                Attempt::Complete => continue,
                Attempt::Refused(refusal) => return Ok(Err(refusal)),
                Attempt::AddressEnded => {
                    source.address = None;
                    continue;
                }
                Attempt::Retry(reason) => reason,
            };
            if partial.bytes > most {
                most = partial.bytes;
                policy.reset();
            }
            policy.wait(ACTIVITY, &reason, self.check).map_err(|failure| failure.on(Subject::path(&self.name)))?;
        }
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::environment(ACTIVITY, why).on(Subject::path(&self.name))
    }

    fn attempt(&self, partial: &mut Partial, source: &mut Source) -> Outcome<Attempt> {
        let is_known = source.address.is_some();
        let url = source.address.as_ref().unwrap_or(&self.url).clone();
        let version = source.version.clone();
        let request = HttpRequest { url, start: partial.bytes, version };
        let response = match self.http.send(&request)? {
            Ok(response) => response,
            Err(reason) => return Ok(Attempt::Retry(reason)),
        };
        let is_own = self.http.is_own(response.url());
        let reason = |why: String| Ok(Attempt::Retry(RetryReason::new(why)));
        match response.status().as_u16() {
            200 => {
                if partial.bytes > 0 {
                    partial.restart(self)?;
                }
            }
            206 if source.is_continued_by(response.headers(), partial.bytes, self.file.size) => {}
            206 | 416 => {
                partial.restart(self)?;
                source.version = None;
                return reason("the file changed".to_owned());
            }
            403 if !is_own && is_known => return Ok(Attempt::AddressEnded),
            403 if !is_own => {
                return reason(format!("{} refuses the address that the hub gives", host(response.url())))
            }
            400..=499 if is_own => return Ok(Attempt::Refused(Refusal::of_response(&response))),
            _ => return Err(self.failure(&Refusal::of_response(&response).why())),
        }
        source.address = (!is_own).then(|| response.url().clone());
        source.version = version_of(response.headers());
        self.receive(response, partial)
    }

    /// Appends the body of an answer.
    fn receive(&self, mut response: Response, partial: &mut Partial) -> Outcome<Attempt> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            (self.check)()?;
            let count = match response.read(&mut buffer) {
                Ok(0) if partial.bytes == self.file.size => return Ok(Attempt::Complete),
                Ok(0) => return Ok(Attempt::Retry(RetryReason::new("the server sends less than the whole file"))),
                Ok(count) => count,
                // The end of the message is missing, but the file is complete.
                Err(_) if partial.bytes == self.file.size => return Ok(Attempt::Complete),
                Err(error) => return Ok(Attempt::Retry(RetryReason::new(read_error(&error)))),
            };
            if partial.bytes + count as u64 > self.file.size {
                partial.restart(self)?;
                return Ok(Attempt::Retry(RetryReason::new("the server sends more than the whole file")));
            }
            partial.append(buffer.get(..count).unwrap_or_default(), self)?;
        }
    }
}

/// Source of the bytes.
struct Source {
    /// Signed address of the content, while it is valid.
    address: Option<Url>,
    /// Version of the content, for requests that continue it.
    version: Option<String>,
}

impl Source {
    /// Whether an answer with a range has exactly the bytes after the first `start` bytes of the same file.
    fn is_continued_by(&self, headers: &HeaderMap, start: u64, size: u64) -> bool {
        let range = headers.get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let expected = format!("bytes {start}-{}/", size.saturating_sub(1));
        let total = range.strip_prefix(&expected);
        let version = version_of(headers);
        let is_same = self.version.is_none() || version.is_none() || self.version == version;
        is_same && total.is_some_and(|total| total == "*" || total == size.to_string())
    }
}

/// Returns the version in an answer, if it identifies the exact bytes.
fn version_of(headers: &HeaderMap) -> Option<String> {
    let version = headers.get(ETAG)?.to_str().ok()?;
    (!version.starts_with("W/")).then(|| version.to_owned())
}

/// An incomplete file in the cache.
struct Partial {
    path: PathBuf,
    writer: Box<dyn WriteFile>,
    bytes: u64,
    hasher: Hasher,
    /// Number of bytes already counted in the progress: bytes of a second download are not added again.
    counted: u64,
}

impl Partial {
    /// Opens the file with the bytes that an earlier download left.
    fn open(download: &Download<'_>, path: &Path) -> Outcome<Self> {
        let (fs, file) = (download.fs, download.file);
        let mut hasher = file.digest.hasher(file.size);
        let mut writer = fs.append_file(path).map_err(|failure| write_failure(failure, download.cache))?;
        let mut bytes = writer.len();
        if bytes > file.size {
            (writer, bytes) = (fs.reopen_file(path, 0)?, 0);
        } else if bytes > 0 {
            let mut reader = open_local(path)?.into_reader();
            let mut buffer = vec![0; CHUNK_BYTES];
            loop {
                (download.check)()?;
                let count = reader.read(&mut buffer).map_err(|error| Failure::io("reading", path, &error))?;
                if count == 0 {
                    break;
                }
                hasher.update(buffer.get(..count).unwrap_or_default());
            }
        }
        Ok(Self { path: path.to_owned(), writer, bytes, hasher, counted: bytes })
    }

    fn append(&mut self, bytes: &[u8], download: &Download<'_>) -> Outcome<()> {
        self.writer.write_all(bytes).map_err(|failure| write_failure(failure, download.cache))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        if self.bytes > self.counted {
            download.progress.add(0, self.bytes - self.counted);
            self.counted = self.bytes;
        }
        Ok(())
    }

    /// Discards all bytes.
    fn restart(&mut self, download: &Download<'_>) -> Outcome<()> {
        self.writer = download.fs.reopen_file(&self.path, 0)?;
        self.hasher = download.file.digest.hasher(download.file.size);
        self.bytes = 0;
        Ok(())
    }

    /// Makes the file durable and moves it to its place.
    fn finish(mut self, fs: &dyn Fs, blob: &Path) -> Outcome<()> {
        self.writer.set_mode(FILE_MODE)?;
        self.writer.finish()?;
        fs.rename(&self.path, blob)?;
        blob.parent().map_or(Ok(()), |folder| fs.sync_dir(folder))
    }
}

/// Adds the variable that moves the cache to a failure of writing to it.
fn write_failure(failure: Failure, cache: &RepositoryCache) -> Failure {
    let hint = format!(
        "HF_HUB_CACHE names another folder than {} for the cache; the same command resumes the download",
        cache.root().display()
    );
    failure.with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_download_must_start_at_the_existing_bytes() {
        let of = |range: &str, version: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_RANGE, range.parse().unwrap());
            headers.insert(ETAG, version.parse().unwrap());
            headers
        };
        let source = Source { address: None, version: Some("\"a\"".into()) };
        assert!(source.is_continued_by(&of("bytes 5-9/10", "\"a\""), 5, 10));
        assert!(source.is_continued_by(&of("bytes 5-9/*", "W/\"x\""), 5, 10), "a weak version says nothing");
        for (range, version) in [
            ("bytes 5-9/10", "\"b\""),
            ("bytes 4-9/10", "\"a\""),
            ("bytes 5-8/10", "\"a\""),
            ("bytes 5-9/11", "\"a\""),
            ("", "\"a\""),
        ] {
            assert!(!source.is_continued_by(&of(range, version), 5, 10), "{range} {version}");
        }
    }
}
