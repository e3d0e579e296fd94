//! The hub: looks up the commit of a revision, lists its files, and downloads them into the cache.

use super::super::http::{Answer, HttpClient, HttpRequest, Refusal};
use super::super::retry::Check;
use super::super::web::{self, strong_etag, WebFile};
use super::cache::{is_commit, RepositoryCache};
use super::digest::Digest;
use super::download::Download;
use super::file::RepositoryFile;
use super::listing::{Tree, TreeEntry};
use super::settings::HubSettings;
use super::url::{RepositoryKind, RepositoryUrl};
use crate::fs::Fs;
use crate::space::free_bytes;
use gristmill_core::text::{bytes as text_bytes, count};
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem, ProblemKind, Progress, Subject};
use reqwest::header::LINK;
use reqwest::Url;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Names of the steps in errors.
const REQUEST_ACTIVITY: &str = "asking the hub";
const DOWNLOAD_ACTIVITY: &str = "downloading";
/// Maximum number of pages of a list: ten million files.
const MAX_PAGES: usize = 10_000;
/// Number of files that are downloaded at the same time.
const CONNECTIONS: usize = 4;
/// Number of files named in a message about missing ones.
const NAMED_FILES: usize = 3;
/// Revision with the tables that the hub creates from data in other formats.
const CONVERTED: &str = "refs/convert/parquet";

/// The state of a repository at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit.
    pub commit: String,
    /// Its files below the path of the address.
    pub files: Vec<RepositoryFile>,
    /// Whether these are all files; `false` if requests are off and only the cache is known.
    pub is_whole: bool,
}

impl Revision {
    /// Returns the problems of reading some of its files by an address: that files are missing, or may be.
    pub fn losses<'f>(&self, address: &str, mut files: impl Iterator<Item = &'f RepositoryFile>) -> Vec<Problem> {
        let problem = |message: &str, hint: &str| {
            Problem::problem(ProblemKind::MissingFile, Subject::path(address), message).with_hint(hint)
        };
        let unlisted = (!self.is_whole).then(|| {
            problem(
                "offline, only the files in the cache are read, and the data set may have more",
                "run once without HF_HUB_OFFLINE",
            )
        });
        let partial = files.any(|file| is_partial(&file.path)).then(|| {
            problem(
                "the converted data are a part of the data set: the hub converts the first gigabytes of a split",
                "name the original files of the data set, if gristmill reads them",
            )
        });
        unlisted.into_iter().chain(partial).collect()
    }
}

/// Progress and cancel flag of a download.
#[derive(Clone, Copy)]
pub struct Transfer<'a> {
    /// Receives files and bytes.
    pub progress: &'a Progress,
    /// Cancels the download.
    pub cancel: &'a Cancel,
}

/// The hub, with its cache. Reads one commit of each revision, even if a branch moves meanwhile.
pub struct Hub<'a> {
    settings: HubSettings,
    /// `None` if requests are off.
    http: Option<HttpClient>,
    fs: &'a dyn Fs,
    /// The commits of the revisions that were requested, by addresses of the API.
    commits: Mutex<HashMap<Url, String>>,
}

#[derive(Deserialize)]
struct RevisionAnswer {
    sha: String,
}

/// Why the state of a repository is unknown.
pub(super) enum NoRevision {
    /// The hub answers that it does not exist, or that it must not be read.
    Refused(Refusal),
    /// There is no valid answer.
    Failed(Failure),
}

impl From<Failure> for NoRevision {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<'a> Hub<'a> {
    /// Creates a hub that writes its cache through `fs`.
    pub fn open(settings: HubSettings, fs: &'a dyn Fs) -> Outcome<Self> {
        let http = if settings.is_offline { None } else { Some(HttpClient::new(&settings)?) };
        Ok(Self { settings, http, fs, commits: Mutex::default() })
    }

    /// Whether requests are on.
    pub fn makes_requests(&self) -> bool {
        self.http.is_some()
    }

    /// Returns a text that states whether requests have a token, and the address of the hub.
    pub(super) fn access(&self) -> (String, String) {
        let token = match self.settings.token {
            Some(_) => "a token, of HF_TOKEN or of the file `token` in HF_HOME",
            None => "no token",
        };
        (token.to_owned(), self.settings.endpoint.clone())
    }

    fn cache(&self, url: &RepositoryUrl) -> RepositoryCache {
        RepositoryCache::new(&self.settings.cache, url)
    }

    /// Returns the current state of the revision of an address, with the files below its path.
    ///
    /// # Errors
    /// There is no such repository, revision or path, or access is refused; the hub is unreachable; requests are off, and the cache does
    /// not have the revision.
    pub fn revision(&self, url: &RepositoryUrl, cancel: &Cancel) -> Outcome<Revision> {
        self.find_revision(url, cancel).map_err(|reason| match reason {
            NoRevision::Refused(refusal) => self.refused(url, &refusal),
            NoRevision::Failed(failure) => failure,
        })
    }

    pub(super) fn refused(&self, url: &RepositoryUrl, refusal: &Refusal) -> Failure {
        refused(url, refusal, &self.settings)
    }

    /// Like [`revision`](Self::revision), but returns refusals of the hub separately.
    pub(super) fn find_revision(&self, url: &RepositoryUrl, cancel: &Cancel) -> Result<Revision, NoRevision> {
        let check = || cancel.check();
        let cache = self.cache(url);
        let Some(http) = &self.http else { return Ok(self.cached_revision(url, &cache)?) };
        let commit = match is_commit(url.revision()) {
            true => url.revision().to_owned(),
            false => self.commit(http, url, &check)?,
        };
        let kept = cache.tree(&commit);
        let tree = match Tree::read(&kept) {
            Some(tree) => tree,
            None => {
                let tree = self.list(http, url, &commit, &check)?;
                tree.write(self.fs, &kept);
                tree
            }
        };
        let files = tree.files_below(&url.path).ok_or_else(|| invalid(url, "the list of files"))?;
        let revision = Revision { commit, files, is_whole: true };
        match revision.files.is_empty() && !url.path.is_empty() {
            true => Err(self.no_entry(url, &revision).into()),
            false => Ok(revision),
        }
    }

    /// Returns the commit that a branch or tag named when it was first requested.
    fn commit(&self, http: &HttpClient, url: &RepositoryUrl, check: Check<'_>) -> Result<String, NoRevision> {
        let address = http.url(api(url, &["revision", url.revision()]))?;
        let mut commits = self.commits.lock();
        if let Some(commit) = commits.get(&address) {
            return Ok(commit.clone());
        }
        let answer: RevisionAnswer = json(http.get(&HttpRequest::get(address.clone()), check)?, url)?.0;
        let commit = is_commit(&answer.sha).then_some(answer.sha).ok_or_else(|| invalid(url, "a commit"))?;
        Ok(commits.entry(address).or_insert(commit).clone())
    }

    /// Returns the failure for a path that does not exist in a revision.
    pub(super) fn no_entry(&self, url: &RepositoryUrl, revision: &Revision) -> Failure {
        match revision.is_whole {
            true => self.refused(url, &Refusal::entry_not_found()),
            false => self.not_cached(url, "file of it"),
        }
    }

    fn not_cached(&self, url: &RepositoryUrl, what: &str) -> Failure {
        let hint = format!("the cache is {}; without HF_HUB_OFFLINE it is downloaded", self.settings.cache.display());
        Failure::environment("reading the cache of the hub", format!("offline, and the cache has no {what}"))
            .on(subject(url))
            .with_hint(hint)
    }

    fn cached_revision(&self, url: &RepositoryUrl, cache: &RepositoryCache) -> Outcome<Revision> {
        let missing = |what: &str| self.not_cached(url, what);
        let commit = cache.commit(url.revision())?.ok_or_else(|| missing(&format!("revision {}", url.revision())))?;
        if let Some(files) = Tree::read(&cache.tree(&commit)).and_then(|tree| tree.files_below(&url.path)) {
            return Ok(Revision { commit, files, is_whole: true });
        }
        let snapshot = cache.snapshot(&commit);
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(snapshot.join(&url.path)).follow_links(true).sort_by_file_name() {
            // Links to removed content are not files.
            let Some(entry) = entry.ok().filter(|entry| entry.file_type().is_file()) else { continue };
            let path = entry.path().strip_prefix(&snapshot).ok().and_then(|path| path.to_str());
            let (Some(path), Ok(facts)) = (path, entry.metadata()) else { continue };
            // The checksum is unknown, and not needed: the file exists.
            let digest = Digest::GitBlob(String::new());
            files.push(RepositoryFile { path: path.to_owned(), size: facts.len(), digest });
        }
        match files.is_empty() {
            true => Err(missing("file of it")),
            false => Ok(Revision { commit, files, is_whole: false }),
        }
    }

    /// Lists all files of a commit.
    fn list(&self, http: &HttpClient, url: &RepositoryUrl, commit: &str, check: Check<'_>) -> Result<Tree, NoRevision> {
        let mut tree = Tree::new();
        let mut page = http.url(api(url, &["tree", commit]))?;
        page.set_query(Some("recursive=true&expand=false"));
        for _ in 0..MAX_PAGES {
            let answer = http.get(&HttpRequest::get(page.clone()), check)?;
            let (entries, answer) = json::<Vec<TreeEntry>>(answer, url)?;
            let before = tree.entries();
            if !tree.add(entries) {
                return Err(invalid(url, "the path or checksum of a file").into());
            }
            let has_grown = tree.entries() > before;
            match next_page(&answer, &page) {
                None => return Ok(tree),
                // The hub may be reached through another address, which its links do not have.
                Some(Some(next)) if next.query() != page.query() && has_grown => page.set_query(next.query()),
                Some(_) => return Err(invalid(url, "the list of files").into()),
            }
        }
        Err(Failure::environment(REQUEST_ACTIVITY, "the list of its files does not end").on(subject(url)).into())
    }

    /// Whether the cache has all of these files of a commit.
    pub fn has(&self, url: &RepositoryUrl, commit: &str, files: &[RepositoryFile]) -> bool {
        let cache = self.cache(url);
        files.iter().all(|file| cache.has(commit, file))
    }

    /// Downloads files of a commit that the cache does not have. Returns the folder with all of them.
    ///
    /// # Errors
    /// As for [`revision`](Self::revision); a file does not match its checksum; the disk is full; requests are off, and a file is missing.
    pub fn fetch(
        &self,
        url: &RepositoryUrl,
        commit: &str,
        files: &[RepositoryFile],
        transfer: Transfer<'_>,
    ) -> Outcome<PathBuf> {
        let cache = self.cache(url);
        let missing: Vec<&RepositoryFile> = files.iter().filter(|file| !cache.has(commit, file)).collect();
        let Some(http) = &self.http else {
            let absent: Vec<&RepositoryFile> = missing.into_iter().filter(|file| !cache.has_blob(file)).collect();
            if absent.is_empty() {
                files.iter().try_for_each(|file| cache.link(self.fs, commit, file))?;
                return Ok(cache.snapshot(commit));
            }
            return Err(self.offline_failure(url, &absent));
        };
        transfer.progress.expect(missing.len() as u64, missing.iter().map(|file| file.size).sum());
        self.check_space(&cache, &missing)?;
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let first_failure: Mutex<Option<Failure>> = Mutex::new(None);
        let check = || match has_failed.load(Ordering::Relaxed) {
            true => Err(Failure::cancelled()),
            false => transfer.cancel.check(),
        };
        let work = || {
            while let Some(file) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.fetch_one(http, &cache, (url, commit, file), (transfer.progress, &check));
                if let Err(failure) = result {
                    let mut first = first_failure.lock();
                    first.get_or_insert(failure);
                    has_failed.store(true, Ordering::Relaxed);
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..CONNECTIONS.min(missing.len()) {
                scope.spawn(work);
            }
        });
        if let Some(failure) = first_failure.into_inner() {
            return Err(failure);
        }
        cache.keep_commit(self.fs, url.revision(), commit)?;
        Ok(cache.snapshot(commit))
    }

    fn fetch_one(
        &self,
        http: &HttpClient,
        cache: &RepositoryCache,
        (url, commit, file): (&RepositoryUrl, &str, &RepositoryFile),
        (progress, check): (&Progress, Check<'_>),
    ) -> Outcome<()> {
        check()?;
        let address = address_at(http, url, commit, &file.path)?;
        let name = url.of_file(&file.path);
        let fs = self.fs;
        let download = Download { http, fs, cache, file, url: address, name, progress, check };
        download.run()?.map_err(|refusal| refused_file((url, commit), &refusal, &self.settings))?;
        cache.link(self.fs, commit, file)?;
        progress.add(1, 0);
        Ok(())
    }

    /// Returns the path of a file of a commit in the cache, if the cache has it.
    pub(super) fn cached(&self, url: &RepositoryUrl, commit: &str, file: &RepositoryFile) -> Option<PathBuf> {
        let cache = self.cache(url);
        let has_file = cache.has(commit, file).then(|| cache.snapshot(commit).join(&file.path));
        has_file.or_else(|| cache.has_blob(file).then(|| cache.blob(&file.digest)))
    }

    /// Returns the data for requests of ranges of a file of a commit.
    ///
    /// # Errors
    /// Requests are off.
    pub(super) fn web_file(&self, url: &RepositoryUrl, commit: &str, file: &RepositoryFile) -> Outcome<WebFile> {
        let Some(http) = &self.http else { return Err(self.offline_failure(url, &[file])) };
        let name = url.of_file(&file.path);
        let (at, commit_id, settings, shown) = (url.clone(), commit.to_owned(), self.settings.clone(), name.clone());
        Ok(WebFile {
            name,
            url: address_at(http, url, commit, &file.path)?,
            token: self.settings.token.clone(),
            checksum: Some(file.digest.hex().to_owned()),
            version_of: |headers| strong_etag(headers).unwrap_or_default(),
            failure_of: Box::new(move |refusal| match refusal {
                web::Refusal::Status(refusal) => {
                    let failure = refused_file((&at, &commit_id), refusal, &settings);
                    match refusal.is_of_repository() {
                        true => failure,
                        false => failure.of_kind(ProblemKind::Unreadable),
                    }
                }
                web::Refusal::Target(status) => {
                    let why = format!("the server to which the hub redirects answers {status}");
                    let failure = Failure::environment(REQUEST_ACTIVITY, why).on(Subject::path(&shown));
                    match status {
                        401 => failure,
                        _ => failure.of_kind(ProblemKind::Unreadable),
                    }
                }
                refusal => web::failure_of(refusal, &shown),
            }),
        })
    }

    fn check_space(&self, cache: &RepositoryCache, missing: &[&RepositoryFile]) -> Outcome<()> {
        let needed: u64 = missing
            .iter()
            .filter(|file| !cache.has_blob(file))
            .map(|file| file.size - cache.incomplete_bytes(file))
            .fold(0, u64::saturating_add);
        let free = free_bytes(&self.settings.cache)?;
        if needed <= free {
            return Ok(());
        }
        let why = format!("{} have to be downloaded, and {} are free", text_bytes(needed), text_bytes(free));
        Err(Failure::environment(DOWNLOAD_ACTIVITY, why)
            .on(Subject::path(&self.settings.cache))
            .with_hint("free some space, or name another folder for the cache by HF_HUB_CACHE"))
    }

    fn offline_failure(&self, url: &RepositoryUrl, absent: &[&RepositoryFile]) -> Failure {
        let names: Vec<&str> = absent.iter().take(NAMED_FILES).map(|file| file.path.as_str()).collect();
        let others = if absent.len() > names.len() { ", …" } else { "" };
        let files = count(absent.len() as u64, "file");
        let why = format!("offline, and the cache lacks {files} of it: {}{others}", names.join(", "));
        Failure::environment("reading the cache of the hub", why)
            .on(subject(url))
            .with_hint("without HF_HUB_OFFLINE they are read from the hub")
    }

    /// Returns whether the hub has tables created from a data set's files: `Some(true)` if they are only a part of it.
    pub fn converted(&self, url: &RepositoryUrl, cancel: &Cancel) -> Option<bool> {
        let converted = RepositoryUrl { revision: Some(CONVERTED.to_owned()), path: String::new(), ..url.clone() };
        let files = self.revision(&converted, cancel).ok()?.files;
        let mut tables = files.iter().filter(|file| file.path.ends_with(".parquet")).peekable();
        tables.peek()?;
        Some(tables.any(|file| is_partial(&file.path)))
    }
}

/// Whether a table of converted data belongs to a split that was only partly converted.
fn is_partial(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with("partial-"))
}

fn json<T: DeserializeOwned>(answer: Result<Answer, Refusal>, url: &RepositoryUrl) -> Result<(T, Answer), NoRevision> {
    let answer = answer.map_err(NoRevision::Refused)?;
    let value = serde_json::from_slice(&answer.body).map_err(|_| invalid(url, "an answer"))?;
    Ok((value, answer))
}

/// Returns the address of the content of a file.
fn address_at(http: &HttpClient, url: &RepositoryUrl, commit: &str, path: &str) -> Outcome<Url> {
    let section = match url.kind {
        RepositoryKind::Dataset => Some("datasets"),
        RepositoryKind::Model => None,
    };
    let segments = section.into_iter().chain(url.name.split('/')).chain(["resolve", commit]);
    http.url(segments.chain(path.split('/')))
}

/// Returns the segments of an address of the hub's API.
fn api<'s>(url: &'s RepositoryUrl, rest: &[&'s str]) -> Vec<&'s str> {
    ["api", url.kind.plural()].into_iter().chain(url.name.split('/')).chain(rest.iter().copied()).collect()
}

/// Returns the address in `Link: <ADDRESS>; rel="next"`, which may not be valid; `None` if there is no such link.
fn next_page(answer: &Answer, page: &Url) -> Option<Option<Url>> {
    let links = answer.headers.get(LINK)?;
    let Ok(links) = links.to_str() else { return Some(None) };
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let address = next.trim().strip_prefix('<').and_then(|rest| rest.split_once('>'));
    Some(address.and_then(|(address, _)| page.join(address).ok()))
}

fn subject(url: &RepositoryUrl) -> Subject {
    Subject::path(url.name.as_str())
}

fn invalid(url: &RepositoryUrl, what: &str) -> Failure {
    Failure::environment(REQUEST_ACTIVITY, format!("{what} of the hub is not valid"))
        .on(subject(url))
        .with_hint("HF_ENDPOINT has to name a hub; a proxy may also have changed the answer")
}

/// Returns the failure for a refused request for a file of a commit, which the hub had for the revision of the address.
fn refused_file((url, commit): (&RepositoryUrl, &str), refusal: &Refusal, settings: &HubSettings) -> Failure {
    if refusal.code != "RevisionNotFound" || commit == url.revision() {
        return refused(url, refusal, settings);
    }
    let (noun, revision) = (url.kind.noun(), url.revision());
    let why = format!("commit {commit} of revision {revision} no longer exists: the {noun} was replaced meanwhile");
    Failure::environment(REQUEST_ACTIVITY, why)
        .on(subject(url))
        .with_hint("run the same command again, which reads the new commit")
}

/// Returns the failure for a refused request.
pub(super) fn refused(url: &RepositoryUrl, refusal: &Refusal, settings: &HubSettings) -> Failure {
    let has_token = settings.token.is_some();
    let (noun, revision) = (url.kind.noun(), url.revision());
    let section = if url.kind == RepositoryKind::Dataset { "datasets/" } else { "" };
    let page = format!("{}/{section}{}", settings.endpoint, url.name);
    let environment =
        |why: String, hint: String| Failure::environment(REQUEST_ACTIVITY, why).on(subject(url)).with_hint(hint);
    let usage = |why: String, hint: String| Failure::usage(REQUEST_ACTIVITY, why).on(subject(url)).with_hint(hint);
    match (refusal.code.as_str(), refusal.status) {
        ("GatedRepo", 401) => environment(
            format!("access to the {noun} (revision {revision}) is restricted, and no valid token is set"),
            format!("ask for access at {page}, and set HF_TOKEN to a token of that account"),
        ),
        ("GatedRepo", _) => environment(
            format!("access to the {noun} (revision {revision}) is restricted, and the account of the token has none"),
            format!("ask for access at {page}; HF_TOKEN sets another token"),
        ),
        ("RevisionNotFound", _) => usage(
            format!("the {noun} has no revision {revision}"),
            format!("{page} lists its branches; without @REVISION it is main"),
        ),
        ("EntryNotFound", _) => usage(
            format!("the {noun} has no file or folder {} at revision {revision}", url.path),
            format!("{page}/tree/{revision} lists its files"),
        ),
        ("RepoNotFound", 401) | ("", 401) if !has_token => environment(
            format!("there is no such {noun}, or it is private (revision {revision})"),
            format!("check the name at {page}; for a private {noun} set HF_TOKEN"),
        ),
        (_, 401) => environment(
            format!("the hub does not accept the token for this {noun} (revision {revision})"),
            "HF_TOKEN, or the file `token` in HF_HOME, sets the token".to_owned(),
        ),
        ("RepoNotFound", _) | ("", 404) if has_token => usage(
            format!("there is no such {noun}, or the account of the token may not see it"),
            format!("check the name at {page}"),
        ),
        ("RepoNotFound", _) | ("", 404) => usage(
            format!("there is no such {noun}, or it is private or restricted"),
            format!("check the name at {page}; for a private {noun} set HF_TOKEN"),
        ),
        (_, 403) => environment(
            format!("access to the {noun} (revision {revision}) is denied"),
            format!("the token needs the right to read {page}; HF_TOKEN sets another one"),
        ),
        _ => environment(refusal.why(), format!("revision {revision} of {page}")),
    }
}
