//! `hf://datasets/OWNER/NAME[@REVISION]/PATH`: data sets of the hub, read by ranges.
//!
//! A process reads one commit of each revision. Cached files are read from the cache. Only lists of files, and files of a server that does
//! not support ranges, are added to it.

use super::digest::{Digest, Hasher};
use super::download::WRONG_CHECKSUM_HINT;
use super::hub::{Hub, NoRevision, Revision, Transfer};
use super::settings::HubSettings;
use super::url::RepositoryUrl;
use super::RepositoryFile;
use crate::file_info::FileInfo;
use crate::fs::RealFs;
use crate::location::RemoteUrl;
use crate::notices;
use crate::read_file::{open_local, ReadFile};
use crate::remote::blocks::{BlockReader, FirstRequest};
use crate::remote::http;
use crate::remote::network::Network;
use crate::remote::web::{begin, reader, Refusal, WebClient};
use crate::store::{read_only, Condition, Content, RangeRead, Store, StoreEntry, StoreSettings, TakeEntry};
use gristmill_core::text::bytes;
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem, ProblemKind, Progress, Subject};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, LazyLock};

/// The addresses that the user gave, with and without their paths.
static GIVEN_ADDRESSES: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Returns the store of all repositories.
pub(crate) fn open(_: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    Ok(Arc::new(HfStore::new(HubSettings::from_env()?, Network::of_process()?)?))
}

/// Checks an address that the user typed; returns its usual form.
pub(crate) fn check(text: &str) -> Outcome<String> {
    let url = RepositoryUrl::parse(text)?;
    let mut given = GIVEN_ADDRESSES.lock();
    given.insert(url.root().to_string());
    // A path that may be a pattern need not exist.
    if !url.path.contains(['*', '?', '[', '{']) {
        given.insert(url.to_string());
    }
    Ok(url.to_string())
}

/// Whether the user gave an address.
fn is_given(url: &RepositoryUrl) -> bool {
    GIVEN_ADDRESSES.lock().contains(&url.to_string())
}

/// Whether the name of a repository extends the name of one that the user gave: such an address results from looking for a file next to a
/// folder.
fn is_next_to_given(root: &RepositoryUrl) -> bool {
    let (given, name) = (GIVEN_ADDRESSES.lock(), root.to_string());
    !given.contains(&name) && given.iter().any(|given| name.starts_with(given))
}

/// Returns the address as an address of the hub; `None` if it is above a repository.
fn parse(url: &RemoteUrl<'_>) -> Option<RepositoryUrl> {
    let url = RepositoryUrl::parse(url.to_path().to_str()?).ok()?;
    // The name of an owner could also be the name of a data set without an owner, whose usual form has a revision.
    let is_whole = url.name.contains('/') || url.revision.is_some() || is_given(&url.root());
    is_whole.then_some(url)
}

/// The hub.
pub(super) struct HfStore {
    hub: Hub<'static>,
    client: Arc<WebClient>,
    first: FirstRequest,
    /// Known state of each repository and revision. A request for one of them does not block the others.
    revisions: Mutex<HashMap<(String, String), RevisionCell>>,
}

/// The commit that is read, or why there is none; `None` until it was requested.
type RevisionCell = Arc<Mutex<Option<FoundRevision>>>;
type FoundRevision = Outcome<Result<Arc<Revision>, http::Refusal>>;

/// A file or folder of a repository.
struct Entry {
    url: RepositoryUrl,
    revision: Arc<Revision>,
}

impl Entry {
    /// Returns the file at the path, if there is one.
    fn file(&self) -> Option<&RepositoryFile> {
        let files = &self.revision.files;
        let at = files.binary_search_by(|file| file.path.as_str().cmp(&self.url.path)).ok()?;
        files.get(at)
    }

    /// Returns the files below the path.
    fn below(&self) -> impl Iterator<Item = &RepositoryFile> {
        let prefix = match self.url.path.as_str() {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let files = &self.revision.files;
        let start = files.partition_point(|file| file.path < prefix);
        files.iter().skip(start).take_while(move |file| file.path.starts_with(&prefix))
    }

    fn info(&self, file: &RepositoryFile) -> FileInfo {
        let version = match file.digest.hex() {
            // Without a list of the hub, the checksum of cached content is unknown.
            "" => &self.revision.commit,
            checksum => checksum,
        };
        FileInfo::of_object(file.size, 0, version)
    }
}

impl HfStore {
    pub(super) fn new(settings: HubSettings, network: Arc<Network>) -> Outcome<Self> {
        Ok(Self {
            hub: Hub::open(settings, &RealFs)?,
            client: Arc::new(WebClient::new(network)),
            first: FirstRequest::new(),
            revisions: Mutex::default(),
        })
    }

    /// Returns the entry of an address; `None` if it is not in a data set.
    fn entry(&self, url: &RemoteUrl<'_>) -> io::Result<Option<Entry>> {
        let Some(url) = parse(url) else { return Ok(None) };
        let root = url.root();
        match self.revision(&root) {
            Ok(Ok(revision)) => Ok(Some(Entry { url, revision })),
            Ok(Err(refusal)) if refusal.is_missing_revision() && is_next_to_given(&root) => Ok(None),
            Ok(Err(refusal)) => Err(self.hub.refused(&root, &refusal).into_io()),
            // The cache does not have the repository.
            Err(_) if !self.hub.makes_requests() && is_next_to_given(&root) => Ok(None),
            Err(failure) => Err(failure.into_io()),
        }
    }

    /// Returns the commit of a revision. Commits and refusals are cached. A failure of the network is returned to all threads that wait for
    /// the same request; the next call sends it again.
    fn revision(&self, root: &RepositoryUrl) -> FoundRevision {
        let revisions = || self.revisions.lock();
        let name = (root.name.clone(), root.revision().to_owned());
        let cell = Arc::clone(revisions().entry(name.clone()).or_default());
        let mut found = cell.lock();
        if let Some(found) = &*found {
            return found.clone();
        }
        let answer = match self.hub.find_revision(root, &Cancel::of_thread()) {
            Ok(mut revision) => {
                revision.files.sort_by(|one, other| one.path.cmp(&other.path));
                Ok(Ok(Arc::new(revision)))
            }
            Err(NoRevision::Refused(refusal)) => Ok(Err(refusal)),
            Err(NoRevision::Failed(failure)) if failure.is_cancelled() => return Err(failure),
            Err(NoRevision::Failed(failure)) => {
                revisions().remove(&name);
                Err(failure)
            }
        };
        found.insert(answer).clone()
    }
}

impl HfStore {
    /// Opens a file of a server that does not support ranges: the whole file is downloaded into the cache first.
    fn open_whole(&self, entry: &Entry, file: &RepositoryFile) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let (commit, cancel) = (&entry.revision.commit, Cancel::of_thread());
        let transfer = Transfer { progress: &Progress::default(), cancel: &cancel };
        let fetched = self.hub.fetch(&entry.url, commit, std::slice::from_ref(file), transfer);
        let path = fetched.map_err(Failure::into_io)?.join(&file.path);
        let message = format!("the server does not answer ranges: all {} were downloaded", bytes(file.size));
        let subject = Subject::path(entry.url.of_file(&file.path));
        notices::add(Problem::note(ProblemKind::Other, subject, message));
        Ok((entry.info(file), Box::new(open_local(&path).map_err(Failure::into_io)?)))
    }
}

impl Store for HfStore {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        let Some(entry) = self.entry(url)? else { return Ok(None) };
        if let Some(file) = entry.file() {
            return Ok(Some(entry.info(file)));
        }
        let is_folder = entry.url.path.is_empty() || entry.below().next().is_some();
        match is_folder {
            true => Ok(Some(FileInfo::of_prefix())),
            false if is_given(&entry.url) => Err(self.hub.no_entry(&entry.url, &entry.revision).into_io()),
            false => Ok(None),
        }
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let Some(entry) = self.entry(folder)? else { return Ok(()) };
        let prefix = folder.prefix();
        let mut last = String::new();
        for file in entry.below() {
            let below = file.path.get(entry.url.path.len()..).unwrap_or_default().trim_start_matches('/');
            let (name, info) = match below.split_once('/') {
                Some((name, _)) if !recursive => (name, FileInfo::of_prefix()),
                _ => (below, entry.info(file)),
            };
            if info.is_dir() && last == name {
                continue;
            }
            name.clone_into(&mut last);
            if !take(StoreEntry { key: format!("{prefix}{name}"), info })? {
                break;
            }
        }
        Ok(())
    }

    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let entry = self.entry(url)?.ok_or(io::ErrorKind::NotFound)?;
        let file = entry.file().ok_or(io::ErrorKind::NotFound)?;
        let (info, commit) = (entry.info(file), &entry.revision.commit);
        if let Some(path) = self.hub.cached(&entry.url, commit, file) {
            return Ok((info, Box::new(open_local(&path).map_err(Failure::into_io)?)));
        }
        let web_file = Arc::new(self.hub.web_file(&entry.url, commit, file).map_err(Failure::into_io)?);
        let answer = match begin(&self.client, &web_file, 0..self.first.bytes())? {
            Err(Refusal::NoRanges) => return self.open_whole(&entry, file),
            answer => answer.map_err(|refusal| (web_file.failure_of)(&refusal).into_io())?,
        };
        if answer.total != info.len() {
            return Err((web_file.failure_of)(&Refusal::OtherVersion).into_io());
        }
        let source = reader(&self.client, Arc::clone(&web_file), answer).with_first(&self.first);
        Ok((info, Box::new(CheckedFile::new(source, file, web_file.name.clone()))))
    }

    fn put(&self, url: &RemoteUrl<'_>, _: Content<'_>, _: Condition) -> io::Result<bool> {
        Err(read_only(url).into_io())
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        Err(read_only(url).into_io())
    }

    fn settings(&self, _: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        let (credentials, endpoint) = self.hub.access();
        Ok(StoreSettings { credentials, region: String::new(), endpoint })
    }

    fn is_root(&self, url: &RemoteUrl<'_>) -> bool {
        parse(url).is_some_and(|url| url.path.is_empty())
    }

    fn losses(&self, url: &RemoteUrl<'_>) -> io::Result<Vec<Problem>> {
        let Some(entry) = self.entry(url)? else { return Ok(Vec::new()) };
        let files = entry.file().into_iter().chain(entry.below());
        Ok(entry.revision.losses(&entry.url.to_string(), files))
    }
}

/// A file that is read by ranges. If it is read sequentially from its beginning to its end, its checksum is compared.
struct CheckedFile {
    source: BlockReader,
    size: u64,
    digest: Digest,
    name: String,
    /// Number of bytes that were read sequentially from the beginning, and their hash; `None` after a jump.
    read: Mutex<Option<(u64, Hasher)>>,
}

impl CheckedFile {
    fn new(source: BlockReader, file: &RepositoryFile, name: String) -> Self {
        Self { source, size: file.size, digest: file.digest.clone(), name, read: Mutex::default() }
    }

    fn check(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut read = self.read.lock();
        if offset == 0 {
            *read = Some((0, self.digest.hasher(self.size)));
        }
        let Some((end, hasher)) = read.as_mut().filter(|(end, _)| *end == offset) else {
            *read = None;
            return Ok(());
        };
        hasher.update(bytes);
        *end += bytes.len() as u64;
        if *end < self.size || hasher.matches(&self.digest) {
            return Ok(());
        }
        let failure = Failure::environment("reading", "its content does not have the checksum that the hub lists");
        let failure = failure.of_kind(ProblemKind::Unreadable).on(Subject::path(&self.name));
        Err(failure.with_hint(WRONG_CHECKSUM_HINT).into_io())
    }
}

impl RangeRead for CheckedFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.source.read_exact_at(buffer, offset)?;
        self.check(buffer, offset)
    }

    fn read_at_directly(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.source.read_at_directly(buffer, offset)?;
        self.check(buffer, offset)
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        self.source.bytes_worth_a_jump()
    }
}

/// Reads a file of the cache.
impl RangeRead for ReadFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}
