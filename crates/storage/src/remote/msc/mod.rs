//! `msc://PROFILE/PATH`: stores of the profiles of multi-storage-client and of rclone.
//!
//! Owns the meaning of the profiles. An address is not changed; each access queries the store of its profile. A profile of the type `file`
//! is a folder of this machine, and its addresses are replaced by local paths when they are checked.

mod config;
mod profile;
mod rclone;
#[cfg(test)]
mod tests;

use super::super::file_info::FileInfo;
use super::super::location::{check_object_address, RemoteUrl};
use super::super::notices;
use super::super::read_file::ReadFile;
use super::super::scheme::S3;
use super::super::store::{
    Condition, Content, ObjectUpload, PendingCheck, RangeRead, StagedObject, Store, StoreEntry, StoreGuards,
    StoreSettings, TakeEntry, UnfinishedUpload, WatchBytes,
};
use super::environment::Environment;
use super::network::Network;
use super::store_settings::remote_settings;
use config::MscConfig;
use gristmill_core::{Failure, FileStamp, Mutex, Outcome, Problem, ProblemKind, Severity, Subject};
use profile::{OpenBucket, Target};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

/// Name of this step in errors.
const ACTIVITY: &str = "reading the profiles of multi-storage-client";
/// The profile with the root folder of this machine, which needs no file, and its former name.
const FILESYSTEM_PROFILES: [&str; 2] = ["__filesystem__", "default"];

fn config_of_process() -> Outcome<&'static MscConfig> {
    static CONFIG: OnceLock<Outcome<MscConfig>> = OnceLock::new();
    CONFIG.get_or_init(|| MscConfig::read(&Environment::of_process())).as_ref().map_err(Failure::clone)
}

/// Returns the names of the profiles, except those of folders of this machine.
fn profiles_of_process() -> Outcome<Vec<String>> {
    let config = config_of_process()?;
    // An invalid profile is reported when it is opened.
    let is_listed = |name: &&str| !matches!(target_of_process(name), Ok(Target::Local(_)));
    let names: Vec<String> = config.names().filter(is_listed).map(str::to_owned).collect();
    if names.is_empty() {
        return Err(config.without_profiles());
    }
    Ok(names)
}

fn target_of_process(name: &str) -> Outcome<Target> {
    target(config_of_process()?, name, &Environment::of_process())
}

/// Returns the target of the addresses of a profile.
fn target(config: &MscConfig, name: &str, environment: &Environment) -> Outcome<Target> {
    match config.profile(name, environment) {
        Err(_) if FILESYSTEM_PROFILES.contains(&name) && !config.has(name) => Ok(Target::Local(PathBuf::from("/"))),
        raw => profile::parse(name, &raw?, remote_settings()),
    }
}

/// Returns the content of the file of multi-storage-client, without the remotes of rclone.
fn mappings_of_process() -> Outcome<&'static MscConfig> {
    static MAPPINGS: OnceLock<Outcome<MscConfig>> = OnceLock::new();
    MAPPINGS.get_or_init(|| MscConfig::read_own(&Environment::of_process())).as_ref().map_err(Failure::clone)
}

/// Checks an address of another store; an address that is mapped to a profile (`path_mapping`) is replaced by its address there.
pub(crate) fn check_mapped(text: &str) -> Outcome<String> {
    let address = check_object_address(text)?;
    // A file that cannot be read could map the address.
    match mappings_of_process()?.mapped(&address) {
        Some(address) => check(&address),
        None => Ok(address),
    }
}

/// Returns the address in a profile to which an absolute path of this machine is mapped. If the file of profiles cannot be read, no path is
/// mapped, and a [notice](notices) reports it.
pub fn mapped_path(path: &str) -> Outcome<Option<String>> {
    static IS_NOTICED: Once = Once::new();
    if !path.starts_with('/') {
        return Ok(None);
    }
    let config = match mappings_of_process() {
        Ok(config) => config,
        Err(failure) => {
            IS_NOTICED.call_once(|| notices::add(unmapped(&failure)));
            return Ok(None);
        }
    };
    config.mapped(path).map(|address| check(&address)).transpose()
}

/// Returns the note about a file of profiles that cannot be read.
fn unmapped(failure: &Failure) -> Problem {
    let effect = "the profiles of multi-storage-client cannot be read, so no path is mapped to a store";
    let problem = Problem::of_failure(ProblemKind::Other, failure.clone()).with_effect(effect);
    Problem { severity: Severity::Note, ..problem }
}

/// Returns the names of all profiles; none if they cannot be read.
pub(crate) fn profile_names() -> impl Iterator<Item = &'static str> {
    config_of_process().into_iter().flat_map(MscConfig::names)
}

/// Returns the store of the profile of an address.
pub(crate) fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    match target_of_process(url.bucket)? {
        Target::Bucket(settings, base) => {
            let open = settings.opener(Network::of_process()?, Environment::of_process())?;
            Ok(Arc::new(MscStore::new(open, &base)))
        }
        Target::Local(_) => Err(local(url)),
    }
}

/// Lists the names of the profiles.
pub(crate) fn buckets() -> io::Result<Vec<String>> {
    profiles_of_process().map_err(Failure::into_io)
}

/// Checks an address; an address in a folder of this machine is replaced by its path.
pub(crate) fn check(text: &str) -> Outcome<String> {
    check_with(text, &target_of_process)
}

fn check_with(text: &str, target: &dyn Fn(&str) -> Outcome<Target>) -> Outcome<String> {
    let refuse = |why: &str, hint: String| {
        Err(Failure::usage("reading the address", why).on(Subject::path(text)).with_hint(hint))
    };
    let Some(url) = RemoteUrl::parse(Path::new(text)) else { return Ok(text.to_owned()) };
    if url.bucket.is_empty() {
        return refuse("it has no profile", "msc://PROFILE/PATH".to_owned());
    }
    let address = check_object_address(text)?;
    match target(url.bucket)? {
        Target::Local(folder) => Ok(folder.join(url.key).to_string_lossy().into_owned()),
        Target::Bucket(_, base) if base.is_empty() && url.key.is_empty() => Err(without_bucket(&url)),
        Target::Bucket(..) => Ok(address),
    }
}

/// Returns the failure of an address that is a profile without a bucket.
fn without_bucket(url: &RemoteUrl<'_>) -> Failure {
    let failure = Failure::usage("reading the address", "it has no bucket").on(Subject::path(url.to_path()));
    failure.with_hint(format!("msc://{}/BUCKET/KEY: this profile has no base_path", url.bucket))
}

/// Whether an address is a whole bucket; for a profile without a bucket, also if its path is a single name.
pub(crate) fn is_bucket(url: &RemoteUrl<'_>) -> bool {
    is_bucket_with(url, &target_of_process)
}

fn is_bucket_with(url: &RemoteUrl<'_>, target: &dyn Fn(&str) -> Outcome<Target>) -> bool {
    let begins_with_bucket = || matches!(target(url.bucket), Ok(Target::Bucket(_, base)) if base.is_empty());
    url.key.is_empty() || !url.key.contains('/') && begins_with_bucket()
}

fn local(url: &RemoteUrl<'_>) -> Failure {
    Failure::usage(ACTIVITY, "this profile is a folder of this machine")
        .on(Subject::path(url.to_path()))
        .with_hint("give its address as an argument, or the local path")
}

/// A profile of a store with buckets.
struct MscStore {
    open: OpenBucket,
    /// The bucket and the prefix of its keys, with a trailing slash unless it is empty. `None` if addresses begin with the bucket.
    base: Option<(String, String)>,
    buckets: Mutex<HashMap<String, Arc<dyn Store>>>,
}

/// The address of an object or a prefix in its own store.
struct Inner {
    store: Arc<dyn Store>,
    bucket: String,
    key: String,
    /// Number of bytes at the beginning of keys that the address of the profile lacks, and the text that replaces them.
    cut: usize,
    added: String,
}

impl Inner {
    fn url(&self) -> RemoteUrl<'_> {
        RemoteUrl { scheme: &S3, bucket: &self.bucket, key: &self.key }
    }
}

impl MscStore {
    fn new(open: OpenBucket, base: &str) -> Self {
        let (bucket, prefix) = base.split_once('/').unwrap_or((base, ""));
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let base = (!bucket.is_empty()).then(|| (bucket.to_owned(), prefix));
        Self { open, base, buckets: Mutex::default() }
    }

    /// Whether an address is a profile whose folders are buckets.
    fn is_bucket_list(&self, url: &RemoteUrl<'_>) -> bool {
        self.base.is_none() && url.key.is_empty()
    }

    fn inner(&self, url: &RemoteUrl<'_>) -> Inner {
        let (bucket, key, cut, added) = match &self.base {
            Some((bucket, prefix)) if url.key.is_empty() => {
                (bucket.clone(), prefix.trim_end_matches('/').to_owned(), prefix.len(), String::new())
            }
            Some((bucket, prefix)) => (bucket.clone(), format!("{prefix}{}", url.key), prefix.len(), String::new()),
            None => {
                let (bucket, key) = url.key.split_once('/').unwrap_or((url.key, ""));
                (bucket.to_owned(), key.to_owned(), 0, format!("{bucket}/"))
            }
        };
        let mut buckets = self.buckets.lock();
        let store = buckets.entry(bucket.clone()).or_insert_with(|| (self.open)(&bucket));
        Inner { store: Arc::clone(store), bucket, key, cut, added }
    }
}

/// Defines methods of [`Store`] that call the store of the profile with its own address.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        fn $name(&self, url: &RemoteUrl<'_> $(, $argument: $kind)*) $(-> $result)? {
            let inner = self.inner(url);
            inner.store.$name(&inner.url() $(, $argument)*)
        }
    )*};
}

impl Store for MscStore {
    forward! {
        known_info() -> Option<Option<FileInfo>>;
        fetch_listing() -> io::Result<()>;
        open() -> io::Result<(FileInfo, Box<dyn RangeRead>)>;
        open_part(part: Range<u64>) -> io::Result<(FileInfo, Box<dyn RangeRead>)>;
        put(content: Content<'_>, condition: Condition) -> io::Result<bool>;
        upload_ahead(file: &ReadFile, bytes: (u64, bool)) -> io::Result<u64>;
        discard_ahead();
        can_stage(bytes: u64, memory: u64) -> bool;
        begin_staged(bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>>;
        has_staged(object: &StagedObject) -> io::Result<bool>;
        complete_staged(object: &StagedObject) -> io::Result<bool>;
        remove() -> io::Result<()>;
        remove_version(stamp: FileStamp) -> io::Result<bool>;
        age() -> io::Result<Option<Duration>>;
        begin_check() -> Option<PendingCheck>;
        md5() -> io::Result<Option<String>>;
        service() -> Option<String>;
        usual_address() -> String;
        settings() -> io::Result<StoreSettings>;
        guards(content: &[u8]) -> io::Result<Option<StoreGuards>>;
        end_upload(id: &str) -> io::Result<()>;
        discard_staged(id: &str) -> io::Result<()>;
        supports_condition(content: &[u8], condition: Condition) -> io::Result<bool>;
        losses() -> io::Result<Vec<Problem>>;
    }

    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if self.is_bucket_list(url) {
            return Ok(Some(FileInfo::of_prefix()));
        }
        let inner = self.inner(url);
        inner.store.info(&inner.url())
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let inner = self.inner(folder);
        if self.is_bucket_list(folder) {
            if recursive {
                return Err(without_bucket(folder).into_io());
            }
            for key in inner.store.buckets()? {
                if !take(StoreEntry { key, info: FileInfo::of_prefix() })? {
                    break;
                }
            }
            return Ok(());
        }
        inner.store.list(&inner.url(), recursive, &mut |entry| {
            let below = entry.key.get(inner.cut..).unwrap_or_default();
            take(StoreEntry { key: format!("{}{below}", inner.added), info: entry.info })
        })
    }

    fn copy(&self, from: &RemoteUrl<'_>, to: &RemoteUrl<'_>, watch: &WatchBytes) -> io::Result<bool> {
        // Another profile may have other credentials.
        if from.bucket != to.bucket {
            return Ok(false);
        }
        let (from, to) = (self.inner(from), self.inner(to));
        to.store.copy(&from.url(), &to.url(), watch)
    }

    fn uploads(&self, folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        let inner = self.inner(folder);
        let mut uploads = inner.store.uploads(&inner.url())?;
        for upload in uploads.iter_mut().flatten() {
            let below = upload.key.get(inner.cut..).unwrap_or_default();
            upload.key = format!("{}{below}", inner.added);
        }
        Ok(uploads)
    }
}
