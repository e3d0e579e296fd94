//! Listings of folders, for queries about many paths.

use super::files::{fetch_listing, if_any, is_taken, remote_entries, FileInfo};
use super::location::{is_plain_key, is_remote, Location, RemoteUrl};
use super::read::stamp_at;
use super::store::StoreEntry;
use super::stores::store_of;
use super::waiting::map_at_once;
use gristmill_core::{Cancel, Failure, FileStamp, Outcome};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Minimum number of paths for which a folder is listed, and maximum number of other objects per path for which a listing is faster than
/// requests.
const MIN_LISTED: usize = 32;
const MAX_OTHERS: usize = 10;

/// Number of folders that are listed at once. Stores cache few listings.
const FOLDERS_AT_ONCE: usize = 4;

/// The entries below a folder. A folder of a store is listed once, instead of one request per query; on this machine, each query accesses
/// the file system.
#[derive(Debug)]
pub struct Listing {
    /// The prefix and the objects below it.
    objects: Option<(PathBuf, HashMap<PathBuf, FileInfo>)>,
}

impl Listing {
    /// Lists a folder, which may be missing.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let Location::Remote(url) = Location::of(folder) else { return Ok(Self { objects: None }) };
        let entries = match remote_entries(&url, (true, usize::MAX), &mut Vec::new()) {
            // An object may have the name of the folder.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
            entries => entries?,
        };
        let mut objects = HashMap::with_capacity(entries.len());
        for entry in entries {
            let info = entry.metadata()?;
            objects.insert(entry.into_path(), info);
        }
        Ok(Self { objects: Some((url.to_path(), objects)) })
    }

    /// Returns the information of the file at a path, if there is one. Folders of a store are not included.
    ///
    /// # Errors
    /// The file system, or the store for a path that is not below the folder, cannot be queried.
    pub fn info(&self, path: &Path) -> io::Result<Option<FileInfo>> {
        match &self.objects {
            Some((folder, objects)) if path.starts_with(folder) => {
                let key = RemoteUrl::parse(path).map(RemoteUrl::to_path);
                Ok(key.and_then(|path| objects.get(&path).copied()))
            }
            _ => if_any(path),
        }
    }

    /// Whether anything exists at a path, including a broken link.
    pub fn is_taken(&self, path: &Path) -> io::Result<bool> {
        Ok(self.has(path)? || self.objects.is_none() && is_taken(path))
    }

    /// Whether a path leads to a file or folder.
    pub fn has(&self, path: &Path) -> io::Result<bool> {
        self.info(path).map(|info| info.is_some())
    }
}

/// Returns the information of each path, all of them below a folder of a store: from a listing of the folder if there are many paths and
/// not many more objects, else by a request for each.
///
/// # Errors
/// A store cannot be queried.
pub fn infos_below(folder: &Path, paths: &[PathBuf]) -> io::Result<Vec<Option<FileInfo>>> {
    if let Some(listed) = listed_below(folder, paths) {
        return Ok(listed);
    }
    let ask = |path: &PathBuf| if_any(path).map_err(|error| Failure::io("looking for files", path, &error));
    map_at_once(paths, ask).map_err(Failure::into_io)
}

/// Returns the information of each path from answers of a moment ago, without requests; `None` if some are unknown.
pub(super) fn known_infos(paths: &[PathBuf]) -> Option<Vec<Option<FileInfo>>> {
    paths.iter().map(|path| RemoteUrl::parse(path).and_then(|url| store_of(&url).ok()?.known_info(&url))).collect()
}

/// Returns the stamp of each file below a folder. Files of a store are queried several at once, or listed.
pub fn stamps_below(folder: &Path, paths: &[PathBuf]) -> Vec<Outcome<FileStamp>> {
    if !is_remote(folder) {
        return paths.iter().map(|path| stamp_at(path)).collect();
    }
    let failure = |path: &PathBuf, error: &io::Error| Failure::io("opening", path, error);
    match infos_below(folder, paths) {
        Ok(infos) => {
            let stamp = |info: Option<FileInfo>| info.map(|info| info.stamp).ok_or(io::ErrorKind::NotFound.into());
            infos
                .into_iter()
                .zip(paths)
                .map(|(info, path)| stamp(info).map_err(|error| failure(path, &error)))
                .collect()
        }
        Err(error) => paths.iter().map(|path| Err(failure(path, &error))).collect(),
    }
}

/// Returns the paths in stores that a listing of their folder shows to be absent. Paths for which this cannot be determined are omitted.
pub fn find_absent(paths: Vec<PathBuf>) -> HashSet<PathBuf> {
    let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for path in paths.into_iter().filter(|path| is_remote(path)) {
        if let Some(folder) = path.parent().map(Path::to_owned) {
            folders.entry(folder).or_default().push(path);
        }
    }
    let mut absent = HashSet::new();
    for (folder, paths) in folders {
        let taken = if paths.len() < MIN_LISTED { None } else { next_level(&folder, paths.len()) };
        if let Some(taken) = taken {
            absent.extend(paths.into_iter().filter(|path| !taken.contains(path)));
        }
    }
    absent
}

/// Returns the entries of a folder of a store; `None` if it cannot be listed, or has many more entries than `paths`.
fn next_level(folder: &Path, paths: usize) -> Option<HashSet<PathBuf>> {
    let url = RemoteUrl::parse(folder)?;
    let (mut taken, most) = (HashSet::new(), MIN_LISTED + paths * MAX_OTHERS);
    let mut take = |entry: StoreEntry| {
        taken.insert(url.with_key(&entry.key));
        Ok(taken.len() <= most)
    };
    store_of(&url).and_then(|store| store.list(&url, false, &mut take)).ok()?;
    (taken.len() <= most).then_some(taken)
}

/// A file that has changed since it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedFile<'a> {
    /// Its path.
    pub path: &'a Path,
    /// Whether the file no longer exists.
    pub is_missing: bool,
}

/// Returns the first of the files, given with the stamps that they had when they were found, that has changed since. Files of a store are
/// looked up folder by folder.
///
/// # Errors
/// The state of a file cannot be determined.
pub fn find_changed<'a>(
    files: impl IntoIterator<Item = (&'a Path, FileStamp)>,
    cancel: &Cancel,
) -> Outcome<Option<ChangedFile<'a>>> {
    let mut folders: BTreeMap<&Path, Vec<(usize, &Path, FileStamp)>> = BTreeMap::new();
    for (number, (path, stamp)) in files.into_iter().enumerate() {
        let folder = if is_remote(path) { path.parent().unwrap_or(path) } else { Path::new("") };
        folders.entry(folder).or_default().push((number, path, stamp));
    }
    let folders: Vec<_> = folders.into_iter().collect();
    let first_in = |(folder, files): &(&Path, Vec<(usize, &'a Path, FileStamp)>)| {
        cancel.check()?;
        fetch_listing(folder);
        let paths: Vec<PathBuf> = files.iter().map(|(_, path, _)| path.to_path_buf()).collect();
        for ((number, path, stamp), now) in files.iter().zip(stamps_below(folder, &paths)) {
            let is_missing = match now {
                Ok(now) if now == *stamp => continue,
                Ok(_) => false,
                Err(failure) if failure.is_missing() => true,
                Err(failure) => return Err(failure),
            };
            return Ok(Some((*number, ChangedFile { path, is_missing })));
        }
        Ok(None)
    };
    let mut firsts = Vec::new();
    for folders in folders.chunks(FOLDERS_AT_ONCE) {
        firsts.extend(map_at_once(folders, first_in)?);
    }
    Ok(firsts.into_iter().flatten().min_by_key(|(number, _)| *number).map(|(_, file)| file))
}

/// Returns the information of each path from a listing; `None` if a listing is not worthwhile or not permitted.
fn listed_below(folder: &Path, paths: &[PathBuf]) -> Option<Vec<Option<FileInfo>>> {
    if paths.len() < MIN_LISTED {
        return None;
    }
    let url = RemoteUrl::parse(folder)?;
    let mut objects = HashMap::new();
    let mut seen = 0;
    let mut take = |entry: StoreEntry| {
        seen += 1;
        // Paths are compared by components: a key with an empty component would equal its neighbour.
        if is_plain_key(&entry.key) {
            objects.insert(url.with_key(&entry.key), entry.info);
        }
        Ok(seen <= MIN_LISTED + paths.len() * MAX_OTHERS)
    };
    store_of(&url).and_then(|store| store.list(&url, true, &mut take)).ok()?;
    let is_whole = seen <= MIN_LISTED + paths.len() * MAX_OTHERS;
    is_whole.then(|| paths.iter().map(|path| objects.get(path).copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;

    #[test]
    fn listing_answers_for_folders_and_stores() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/b"), b"123").unwrap();
        put(Path::new("mem://listing/a/b"), b"123");
        put(Path::new("mem://listing/ab"), b"1");
        for root in [folder.path(), Path::new("mem://listing")] {
            let listing = Listing::of(&root.join("a")).unwrap();
            assert_eq!(listing.info(&root.join("a/b")).unwrap().unwrap().len(), 3);
            assert!(!listing.has(&root.join("a/c")).unwrap());
        }
        let listing = Listing::of(Path::new("mem://listing/a")).unwrap();
        assert!(listing.has(Path::new("mem://listing/ab")).unwrap(), "what is not below it is asked for");
        assert!(!Listing::of(Path::new("mem://listing/ab")).unwrap().has(Path::new("mem://listing/ab/c")).unwrap());
        assert!(!Listing::of(Path::new("mem://listing/none")).unwrap().has(Path::new("mem://listing/none/a")).unwrap());
    }

    #[test]
    fn every_path_has_a_stamp_or_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"123").unwrap();
        put(Path::new("mem://stamps/set/a"), b"123");
        for root in [folder.path(), Path::new("mem://stamps/set")] {
            let stamps = stamps_below(root, &[root.join("none"), root.join("a")]);
            assert_eq!(stamps[1].as_ref().unwrap().bytes, 3);
            assert!(stamps[0].as_ref().unwrap_err().is_missing());
        }
    }

    #[test]
    fn absent_paths_are_found_by_a_listing() {
        let root = Path::new("mem://absent/a");
        let paths: Vec<PathBuf> = (0..MIN_LISTED).map(|number| root.join(number.to_string())).collect();
        put(&paths[1], b"1");
        put(&paths[2].join("b"), b"1");
        let absent = find_absent(paths.clone());
        assert_eq!(absent.len(), MIN_LISTED - 2);
        assert!(!absent.contains(&paths[1]) && !absent.contains(&paths[2]), "a file, and a folder");
        assert!(find_absent(paths[3..].to_vec()).is_empty(), "few are asked for one by one");
        assert!(find_absent((0..MIN_LISTED).map(|number| number.to_string().into()).collect()).is_empty());
    }

    #[test]
    fn first_changed_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("a"), "mem://changed/b/1".into(), "mem://changed/a/2".into()];
        std::fs::write(&paths[0], b"123").unwrap();
        paths[1..].iter().for_each(|path| put(path, b"123"));
        let found = paths.each_ref().map(|path| (path.as_path(), stamp_at(path).unwrap()));
        let changed = || find_changed(found, &Cancel::default()).unwrap();
        assert_eq!(changed(), None);
        put(&paths[2], b"123");
        assert_eq!(changed(), Some(ChangedFile { path: &paths[2], is_missing: false }));
        put(&paths[1], b"4567");
        assert_eq!(changed().unwrap().path, paths[1]);
        std::fs::remove_file(&paths[0]).unwrap();
        assert_eq!(changed(), Some(ChangedFile { path: &paths[0], is_missing: true }));
    }

    #[test]
    fn many_paths_are_looked_up_by_one_listing_unless_there_are_many_more_objects() {
        let root = Path::new("mem://listed/a");
        let paths: Vec<PathBuf> = (0..MIN_LISTED).map(|number| root.join(format!("{number}"))).collect();
        paths.iter().step_by(2).for_each(|path| put(path, b"12"));
        let check = |folder: &Path| {
            let infos = infos_below(folder, &paths).unwrap();
            infos.iter().enumerate().for_each(|(at, info)| assert_eq!(info.is_some(), at % 2 == 0));
        };
        check(root);
        assert!(listed_below(root, &paths).is_some() && listed_below(root, &paths[1..]).is_none());
        (0..MIN_LISTED * 12).for_each(|number| put(&Path::new("mem://listed/b").join(number.to_string()), b""));
        assert!(listed_below(Path::new("mem://listed"), &paths).is_none(), "the bucket has too many others");
        check(Path::new("mem://listed"));
    }
}
