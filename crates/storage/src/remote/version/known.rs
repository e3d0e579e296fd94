//! Caches recent answers of a store about objects, so that they are not requested again immediately.

use super::{writes, ObjectVersion};
use crate::file_info::{FileInfo, StoreEntry, TakeEntry};
use gristmill_core::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Time for which every open of an object uses its known version; after that, only one open does.
const OBJECT_LIFETIME: Duration = Duration::from_secs(5);
/// Time for which an answer about one object is used: its version, or its absence. A write of this process invalidates it.
const ANSWER_LIFETIME: Duration = Duration::from_secs(2);
/// Maximum number of objects whose versions are known.
const MAX_VERSIONS: usize = 100_000;
/// Time for which a listing is used. Writes of this process invalidate its entries.
const LISTING_LIFETIME: Duration = Duration::from_secs(3);
/// Time for which a listing counts as current: less than a lock takes to settle in a store without conditions.
const CURRENT_LISTING_LIFETIME: Duration = Duration::from_millis(500);
/// Maximum number of listings, and of entries of each.
const MAX_LISTINGS: usize = 8;
const MAX_ENTRIES: usize = 50_000;

/// An answer with the version of an object.
#[derive(Clone)]
struct KnownVersion {
    version: ObjectVersion,
    /// Number of writes before the request for this object alone; `None` if the version is from a listing.
    writes: Option<u64>,
    at: Instant,
}

/// An answer that there is no object.
struct KnownAbsence {
    /// Whether there are objects below the key.
    has_objects: bool,
    /// Number of writes before the request.
    writes: u64,
    at: Instant,
}

/// The entries of a listing below a prefix, or its first entries.
struct KnownListing {
    /// Sorted by key; keys of folders have a trailing slash.
    entries: Arc<Vec<StoreEntry>>,
    /// Whether all objects are listed, not only the next level.
    is_recursive: bool,
    /// Key up to which the entries are known; `None` if the listing is complete.
    end: Option<String>,
    /// Whether objects that only mark folders were omitted.
    has_markers: bool,
    /// Number of writes before the request.
    writes: u64,
    at: Instant,
}

/// The entries that a listing returns.
#[derive(Clone, Debug, Default)]
pub(in crate::remote) struct ListedFolder {
    /// The prefix of the keys.
    prefix: String,
    is_recursive: bool,
    entries: Vec<StoreEntry>,
    /// Key up to which the entries are known; `None` if the listing is complete.
    end: Option<String>,
    /// Whether objects that only mark folders were omitted.
    has_markers: bool,
    /// Whether entries were removed, so that the listing cannot be cached.
    is_cut: bool,
    /// Number of writes before the first request.
    writes: u64,
}

impl ListedFolder {
    /// Starts a listing below a prefix, before its first request.
    pub(in crate::remote) fn begin(prefix: String, is_recursive: bool) -> Self {
        Self { prefix, is_recursive, writes: KnownObjects::writes(), ..Self::default() }
    }

    /// Marks the listing as incomplete.
    pub(in crate::remote) fn without_end(mut self) -> Self {
        self.end = Some(String::new());
        self
    }

    /// Marks the listing as incomplete after the last entry.
    pub(in crate::remote) fn cut_off(mut self) -> Self {
        self.end = Some(self.entries.last().map_or_else(String::new, |last| sorted(last).into_owned()));
        self
    }

    /// Returns the entries so far.
    pub(in crate::remote) fn entries(&self) -> &[StoreEntry] {
        &self.entries
    }

    /// Adds entries of a page, in any order, and returns them. Folders have no version, and usually a trailing slash.
    pub(in crate::remote) fn add(&mut self, mut entries: Vec<(String, Option<ObjectVersion>)>) -> &[StoreEntry] {
        if self.is_cut || self.entries.len() > MAX_ENTRIES {
            self.entries.clear();
            self.is_cut = true;
        }
        let first = self.entries.len();
        // Folders are compared with their trailing slash, like the keys below them.
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        // A folder of an account with folders may also be a prefix.
        entries.dedup();
        let before = self.entries.last().map(sorted);
        if entries.first().zip(before).is_some_and(|((first, _), before)| first.as_str() < &*before) {
            // The pages are not in the order of keys.
            self.is_cut = true;
        }
        if let (Some(end), Some((last, _))) = (&mut self.end, entries.last()) {
            end.clone_from(last);
        }
        for (mut key, version) in entries {
            let info = match version {
                // An object that only marks a folder.
                Some(version) if version.bytes == 0 && key.ends_with('/') => {
                    self.has_markers = true;
                    continue;
                }
                Some(version) => version.info(),
                None => {
                    if key.ends_with('/') {
                        key.pop();
                    }
                    FileInfo::of_prefix()
                }
            };
            self.entries.push(StoreEntry { key, info });
        }
        self.entries.get(first..).unwrap_or_default()
    }
}

/// Passes entries to `take` until it returns `false`; returns whether it accepted all.
pub(in crate::remote) fn take_all(entries: &[StoreEntry], take: TakeEntry<'_>) -> io::Result<bool> {
    for entry in entries {
        if !take(entry.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Cached answers about the objects of a bucket.
#[derive(Default)]
pub(in crate::remote) struct KnownObjects {
    /// Versions from listings and other answers, so that opening needs no further request.
    versions: Mutex<HashMap<String, KnownVersion>>,
    /// Answers that no object has a key, and whether there are objects below it.
    absences: Mutex<HashMap<String, KnownAbsence>>,
    /// Listings, by their prefixes.
    listings: Mutex<HashMap<String, KnownListing>>,
}

impl KnownObjects {
    /// Returns the number of writes of the process, with which cached answers are compared.
    pub(in crate::remote) fn writes() -> u64 {
        writes::count()
    }

    /// Caches the version of an object, from a listing, or from a request for it alone that was sent after this number of
    /// [writes](Self::writes).
    pub(in crate::remote) fn remember(&self, key: &str, version: &ObjectVersion, writes: Option<u64>) {
        let mut versions = self.versions.lock();
        if versions.len() >= MAX_VERSIONS {
            versions.clear();
        }
        versions.insert(key.to_owned(), KnownVersion { version: version.clone(), writes, at: Instant::now() });
    }

    /// Discards the cached answers about an object that is written.
    pub(in crate::remote) fn forget(&self, key: &str) {
        writes::add(key);
        self.versions.lock().remove(key);
    }

    /// Discards all listings and absences, because an object has changed. Versions are kept for conditions of requests.
    pub(in crate::remote) fn forget_answers(&self) {
        self.listings.lock().clear();
        self.absences.lock().clear();
        let mut versions = self.versions.lock();
        versions.values_mut().for_each(|known| known.writes = None);
    }

    pub(in crate::remote) fn version(&self, key: &str) -> Option<ObjectVersion> {
        let mut versions = self.versions.lock();
        let known = versions.get(key)?.clone();
        if known.at.elapsed() > OBJECT_LIFETIME {
            versions.remove(key);
        }
        Some(known.version)
    }

    /// Returns the information of a key from a recent answer: the object, or else the folder, or `None` if there is neither; the outer
    /// `None` if it is unknown.
    pub(in crate::remote) fn info(&self, key: &str) -> Option<Option<FileInfo>> {
        if let Some(has_objects) = self.absence(key) {
            return Some(has_objects.then(FileInfo::of_prefix));
        }
        let versions = self.versions.lock();
        let is_unchanged = |writes: u64| !writes::has_changed_since(writes, key);
        let is_current =
            |known: &&KnownVersion| known.at.elapsed() < ANSWER_LIFETIME && known.writes.is_some_and(is_unchanged);
        match versions.get(key).filter(is_current) {
            Some(known) => Some(Some(known.version.info())),
            None => {
                drop(versions);
                self.listed(key)
            }
        }
    }

    fn listings(&self) -> MutexGuard<'_, HashMap<String, KnownListing>> {
        let mut listings = self.listings.lock();
        listings.retain(|_, listing| listing.at.elapsed() < LISTING_LIFETIME);
        listings
    }

    /// Caches a listing, or its first entries.
    pub(in crate::remote) fn remember_listing(&self, folder: ListedFolder) {
        let ListedFolder { prefix, is_recursive, entries, end, has_markers, is_cut, writes } = folder;
        let mut listings = self.listings();
        if is_cut || entries.len() > MAX_ENTRIES {
            return;
        }
        if listings.len() >= MAX_LISTINGS && !listings.contains_key(&prefix) {
            let oldest = listings.iter().min_by_key(|(_, listing)| listing.at).map(|(prefix, _)| prefix.clone());
            oldest.map(|prefix| listings.remove(&prefix));
        }
        let (entries, at) = (Arc::new(entries), Instant::now());
        listings.insert(prefix, KnownListing { entries, is_recursive, end, has_markers, writes, at });
    }

    /// Returns the entries of a recent listing below a prefix, if it is complete.
    pub(in crate::remote) fn listing(&self, prefix: &str, is_recursive: bool) -> Option<Arc<Vec<StoreEntry>>> {
        let listings = self.listings();
        let Some(listing) = listings.get(prefix).filter(|listing| listing.is_whole_below(prefix)) else {
            // A listing of all keys with a shorter prefix has them, too.
            let of_more = |(begin, listing): &(&String, &KnownListing)| {
                listing.is_recursive
                    && !listing.has_markers
                    && prefix.starts_with(*begin)
                    && listing.is_whole_below(prefix)
            };
            let (_, listing) = listings.iter().find(of_more)?;
            let entries = listing.entries.iter().filter(|entry| entry.key.starts_with(prefix)).cloned().collect();
            return Some(Arc::new(if is_recursive { entries } else { next_level(prefix, &entries) }));
        };
        match (listing.is_recursive, is_recursive) {
            (true, true) | (false, false) => Some(Arc::clone(&listing.entries)),
            // Without folders, both are the same.
            (false, true) => {
                (!listing.entries.iter().any(|entry| entry.info.is_dir())).then(|| Arc::clone(&listing.entries))
            }
            (true, false) => (!listing.has_markers).then(|| Arc::new(next_level(prefix, &listing.entries))),
        }
    }

    /// Returns the first entries of a recent listing below a prefix, and the key after which it continues.
    pub(in crate::remote) fn beginning(
        &self,
        prefix: &str,
        is_recursive: bool,
    ) -> Option<(ListedFolder, Option<String>)> {
        let listings = self.listings();
        let listing = listings.get(prefix)?;
        let end = listing.end.clone().filter(|end| !end.is_empty())?;
        let is_same = listing.is_recursive && is_recursive;
        // Without folders, a listing of all objects starts in the same way, and every store has the same order.
        let is_deep = |entry: &StoreEntry| {
            entry.info.is_dir() || entry.key.get(prefix.len()..).is_none_or(|below| below.contains('/'))
        };
        if listing.has_markers
            || !is_same && listing.entries.iter().any(is_deep)
            || writes::has_any_since(listing.writes, |written| written.starts_with(prefix))
        {
            return None;
        }
        let (prefix, entries, writes) = (prefix.to_owned(), listing.entries.to_vec(), listing.writes);
        Some((ListedFolder { prefix, is_recursive, entries, writes, ..ListedFolder::default() }, Some(end)))
    }

    /// Returns the information of a key from a recent listing: the object, or else the folder, or `None` if there is neither; the outer
    /// `None` if no listing includes the key.
    pub(in crate::remote) fn listed(&self, key: &str) -> Option<Option<FileInfo>> {
        self.listed_within(key, LISTING_LIFETIME)
    }

    /// Whether there is nothing at a key, according to a listing that has just arrived.
    pub(in crate::remote) fn is_absent_now(&self, key: &str) -> bool {
        self.listed_within(key, CURRENT_LISTING_LIFETIME).is_some_and(|info| info.is_none())
    }

    fn listed_within(&self, key: &str, age: Duration) -> Option<Option<FileInfo>> {
        let listings = self.listings();
        if key.is_empty() {
            return None;
        }
        let is_above = |(prefix, listing): &(&String, &KnownListing)| {
            listing.at.elapsed() < age && key.starts_with(*prefix) && !writes::has_changed_since(listing.writes, key)
        };
        let mut above: Vec<_> = listings.iter().filter(is_above).collect();
        above.sort_by_key(|(_, listing)| std::cmp::Reverse(listing.at));
        above.into_iter().find_map(|(prefix, listing)| {
            let below = key.get(prefix.len()..)?;
            match below.split_once('/').filter(|_| !listing.is_recursive) {
                // Only the folder above the key is listed; if it does not exist, the key does not either.
                Some((folder, _)) => (!listing.has_folder(key.get(..prefix.len() + folder.len())?)?).then_some(None),
                None => listing.get(key),
            }
        })
    }

    /// Caches that there is no object, from a request that was sent after this number of [writes](Self::writes).
    pub(in crate::remote) fn remember_absence(&self, key: &str, has_objects: bool, writes: u64) {
        self.absences.lock().insert(key.to_owned(), KnownAbsence { has_objects, writes, at: Instant::now() });
    }

    /// Returns whether there are objects below a key without an object, from a recent answer; `None` if it is unknown. The kind of a data
    /// set is determined several times, from the same names.
    fn absence(&self, key: &str) -> Option<bool> {
        let mut absences = self.absences.lock();
        absences.retain(|_, absence| absence.at.elapsed() < ANSWER_LIFETIME);
        let absence = absences.get(key).filter(|absence| !writes::has_changed_since(absence.writes, key));
        absence.map(|absence| absence.has_objects)
    }
}

impl KnownListing {
    /// Whether all keys with this prefix are known.
    fn is_whole_below(&self, prefix: &str) -> bool {
        self.end.is_none() && !writes::has_any_since(self.writes, |written| written.starts_with(prefix))
    }

    /// Returns the information of a key below the prefix, or on the next level; `None` if it is unknown.
    fn get(&self, key: &str) -> Option<Option<FileInfo>> {
        let is_folder = self.has_folder(key)?;
        match self.entries.binary_search_by(|entry| sorted(entry).as_ref().cmp(key)) {
            Ok(at) => Some(self.entries.get(at).map(|entry| entry.info)),
            Err(_) => Some(is_folder.then(FileInfo::of_prefix)),
        }
    }

    /// Whether there is anything below a key; `None` if it is unknown.
    fn has_folder(&self, key: &str) -> Option<bool> {
        let folder = format!("{key}/");
        // Some stores list folder by folder. Keys before the end must precede it in both orders.
        let by_folders = |key: &str| key.replace('/', "\0");
        if self.end.as_ref().is_some_and(|end| folder > *end || by_folders(&folder) > by_folders(end)) {
            return None;
        }
        let from = self.entries.partition_point(|entry| sorted(entry).as_ref() < folder.as_str());
        let is_folder = self.entries.get(from).is_some_and(|entry| sorted(entry).starts_with(&folder));
        // A folder may consist only of its marker object.
        (is_folder || !(self.has_markers && self.is_recursive)).then_some(is_folder)
    }
}

/// Returns the entries of the next level below a prefix, given all objects.
fn next_level(prefix: &str, objects: &[StoreEntry]) -> Vec<StoreEntry> {
    let mut level: Vec<StoreEntry> = Vec::new();
    for object in objects {
        let below = object.key.get(prefix.len()..).unwrap_or_default();
        let Some((name, _)) = below.split_once('/') else {
            level.push(object.clone());
            continue;
        };
        let key = format!("{prefix}{name}");
        if !level.last().is_some_and(|last| last.info.is_dir() && last.key == key) {
            level.push(StoreEntry { key, info: FileInfo::of_prefix() });
        }
    }
    level
}

/// Returns the sort key of an entry.
fn sorted(entry: &StoreEntry) -> Cow<'_, str> {
    match entry.info.is_dir() {
        true => Cow::Owned(format!("{}/", entry.key)),
        false => Cow::Borrowed(&entry.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str) -> StoreEntry {
        match key.strip_suffix('/') {
            Some(folder) => StoreEntry { key: folder.to_owned(), info: FileInfo::of_prefix() },
            None => StoreEntry { key: key.to_owned(), info: FileInfo::of_object(3, 0, key) },
        }
    }

    fn kind(found: Option<Option<FileInfo>>) -> &'static str {
        match found {
            None => "unknown",
            Some(None) => "nothing",
            Some(Some(info)) if info.is_dir() => "folder",
            Some(Some(_)) => "object",
        }
    }

    fn known(folder: ListedFolder) -> KnownObjects {
        let known = KnownObjects::default();
        // Tests that run at the same time write.
        known.remember_listing(ListedFolder { writes: KnownObjects::writes(), ..folder });
        known
    }

    #[track_caller]
    fn check(folder: &ListedFolder, expected: &[(&str, &str)]) {
        for (key, wanted) in expected {
            let found = loop {
                let known = known(folder.clone());
                let found = kind(known.listed(key));
                if !known.listings().is_empty() {
                    break found;
                }
            };
            assert_eq!(found, *wanted, "{key}");
        }
    }

    #[test]
    fn listing_page_does_not_cover_keys_that_some_stores_list_later() {
        let entries = ["o/web/1", "o/web/2"].map(entry).to_vec();
        let folder = ListedFolder { prefix: "o/web".into(), entries, is_recursive: true, ..ListedFolder::default() };
        let expected = [
            ("o/web/1", "object"),
            ("o/web/10", "nothing"),
            ("o/web", "folder"),
            ("o/web-b", "unknown"),
            ("o/web.g", "unknown"),
            ("o/web.g/plan", "unknown"),
        ];
        check(&ListedFolder { end: Some("o/web/2".into()), ..folder }, &expected);
    }

    #[test]
    fn listing_determines_what_exists_at_a_key() {
        let entries = ["s/a", "s/a-b", "s/a/", "s/b/", "s/c"].map(entry).to_vec();
        let folder = ListedFolder { prefix: "s/".into(), entries, ..ListedFolder::default() };
        let expected = [
            ("s/a", "object"),
            ("s/a/x", "unknown"),
            ("s/a-b", "object"),
            ("s/b", "folder"),
            ("s/b/x", "unknown"),
            ("s/c", "object"),
            ("s/c/x", "nothing"),
            ("s/d", "nothing"),
            ("s/.m/x/y", "nothing"),
            ("s", "unknown"),
            ("t", "unknown"),
        ];
        check(&folder, &expected);
        let part = ListedFolder { end: Some("s/b/".into()), ..folder.clone() };
        check(
            &part,
            &[("s/a-b", "object"), ("s/b", "folder"), ("s/0", "nothing"), ("s/c", "unknown"), ("s/d/x", "unknown")],
        );
        let entries = ["a", "b/c/d", "b/e"].map(entry).to_vec();
        let all = ListedFolder { is_recursive: true, entries, ..ListedFolder::default() };
        check(&all, &[("b", "folder"), ("b/c", "folder"), ("b/c/d", "object"), ("b/c/x", "nothing"), ("z", "nothing")]);
        check(&ListedFolder { has_markers: true, ..all }, &[("b/c", "folder"), ("z", "unknown")]);
    }

    #[test]
    fn recursive_listing_gives_the_entries_of_the_next_level() {
        let names = |entries: &[StoreEntry]| entries.iter().map(|entry| sorted(entry).into_owned()).collect::<Vec<_>>();
        let all = ["s/a", "s/a-b", "s/a/x", "s/a/y/z", "s/b"].map(entry);
        assert_eq!(names(&next_level("s/", &all)), ["s/a", "s/a-b", "s/a/", "s/b"]);
        let given = |is_recursive: bool, entries: &[&str], wanted: bool| loop {
            let entries = entries.iter().map(|key| entry(key)).collect();
            let known = known(ListedFolder { prefix: "s/".into(), is_recursive, entries, ..ListedFolder::default() });
            let listing = known.listing("s/", wanted);
            if !known.listings().is_empty() {
                break listing.map(|entries| names(&entries));
            }
        };
        assert_eq!(given(true, &["s/a/x", "s/b"], false), Some(vec!["s/a/".to_owned(), "s/b".to_owned()]));
        assert_eq!(given(false, &["s/a", "s/b"], true), Some(vec!["s/a".to_owned(), "s/b".to_owned()]));
        assert_eq!(given(false, &["s/a/", "s/b"], true), None);
    }

    #[test]
    fn write_invalidates_the_listing_of_its_key() {
        let known = known(ListedFolder { entries: vec![entry("a")], ..ListedFolder::default() });
        known.forget("b/c");
        assert_eq!(kind(known.listed("a")), "object");
        assert!(known.listed("b").is_none() && known.listed("b/c").is_none() && known.listing("", false).is_none());
    }

    #[test]
    fn fresh_listing_determines_absent_keys() {
        let known = KnownObjects::default();
        assert!(!known.is_absent_now("just/b"));
        let mut listed = ListedFolder::begin("just/".to_owned(), true);
        listed.entries = vec![entry("just/a"), entry("just/c/d")];
        known.remember_listing(listed);
        for (key, expected) in [("just/a", false), ("just/b", true), ("just/c", false), ("other", false)] {
            assert_eq!(known.is_absent_now(key), expected, "{key}");
        }
        known.forget("just/b");
        assert!(!known.is_absent_now("just/b"), "it may have been written");
        let mut old = ListedFolder::begin("just/".to_owned(), true);
        old.entries = vec![entry("just/a")];
        known.remember_listing(old);
        known.listings().values_mut().for_each(|listing| listing.at -= CURRENT_LISTING_LIFETIME);
        assert!(!known.is_absent_now("just/b") && known.listed("just/b") == Some(None));
    }
}
