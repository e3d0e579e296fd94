//! Parses paths, which lead to a file of this machine or to an object of a store.
//!
//! Plans, reports and messages name both in the same form, as text, so a [`Path`] holds both: `/data/a.tar` and `s3://bucket/data/a.tar`.
//! Names below a bucket never contain an empty segment, `.` or `..` ([`is_plain_key`]), so joining, splitting and comparing of paths mean the
//! same for objects as for files. Every access goes through this crate, which parses the location again; clippy rejects `std::fs` elsewhere.

use super::scheme::{Scheme, SCHEMES};
use super::waiting::WAITING_THREADS;
use gristmill_core::{text, Failure, Outcome, Subject};
use std::path::{Path, PathBuf};

/// Target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location<'a> {
    /// A file or folder of this machine.
    Local(&'a Path),
    /// An object, or the objects below a prefix.
    Remote(RemoteUrl<'a>),
}

/// The address of an object, of a prefix or of a bucket: `SCHEME://BUCKET/KEY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteUrl<'a> {
    /// Its store.
    pub scheme: &'static Scheme,
    /// Name of the bucket.
    pub bucket: &'a str,
    /// Key of the object, or a prefix of keys; without a trailing slash, and empty for the whole bucket.
    pub key: &'a str,
}

impl<'a> Location<'a> {
    /// Parses a path. A path without a known scheme, or that is not UTF-8, is local.
    pub fn of(path: &'a Path) -> Self {
        match RemoteUrl::parse(path) {
            Some(url) => Self::Remote(url),
            None => Self::Local(path),
        }
    }
}

impl<'a> RemoteUrl<'a> {
    /// Parses a path that begins with a known scheme.
    pub fn parse(path: &'a Path) -> Option<Self> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let scheme = SCHEMES.iter().find(|scheme| {
            let rest = bytes.strip_prefix(scheme.name.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"://"))
        })?;
        let rest = path.to_str()?.get(scheme.name.len() + "://".len()..)?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self { scheme, bucket, key: key.trim_end_matches('/') })
    }

    /// Returns the address of another key of the bucket, as a path.
    pub fn with_key(&self, key: &str) -> PathBuf {
        // Without spare capacity: listings may keep millions of them.
        PathBuf::from([self.scheme.name, "://", self.bucket, "/", key].concat())
    }

    /// Returns the prefix of the keys below this one: empty, or with a trailing slash.
    pub fn prefix(&self) -> String {
        match self.key {
            "" => String::new(),
            key => format!("{key}/"),
        }
    }

    /// Returns the address as a path.
    pub fn to_path(self) -> PathBuf {
        match self.key {
            "" => PathBuf::from(format!("{}://{}", self.scheme.name, self.bucket)),
            key => self.with_key(key),
        }
    }
}

/// Checks the address of an object, a prefix or a bucket, and replaces the scheme by the usual one. Paths are compared, so an object must
/// have one name.
///
/// # Errors
/// There is no bucket, or the key cannot be a path below it.
pub fn check_object_address(text: &str) -> Outcome<String> {
    let refuse = |why: &str, hint: String| {
        Err(Failure::usage("reading the address", why).on(Subject::path(text)).with_hint(hint))
    };
    match RemoteUrl::parse(Path::new(text)) {
        Some(RemoteUrl { bucket: "", scheme, .. }) => {
            let list = scheme.lists_buckets.then(|| format!("; gristmill info {}:// lists the buckets", scheme.name));
            refuse("it has no bucket", format!("{}://BUCKET/KEY{}", scheme.name, list.unwrap_or_default()))
        }
        Some(url) if !(url.key.is_empty() || is_plain_key(url.key)) => {
            refuse("a part of its key is empty, '.' or '..'", "name the folder above it".to_owned())
        }
        Some(url) => Ok(text.replacen(url.scheme.name, url.scheme.usual, 1)),
        None => Ok(text.to_owned()),
    }
}

/// Whether a path leads to a store.
pub fn is_remote(path: &Path) -> bool {
    RemoteUrl::parse(path).is_some()
}

/// Whether a path leads to a store that cannot be written.
pub fn is_read_only(path: &Path) -> bool {
    RemoteUrl::parse(path).is_some_and(|url| !url.scheme.is_writable)
}

/// Whether a path may be a folder that can be listed: web servers have files only.
pub fn has_folders(path: &Path) -> bool {
    RemoteUrl::parse(path).is_none_or(|url| !["http", "https"].contains(&url.scheme.name))
}

/// Returns the default path for an output of this name: next to an input, or in the current folder if the store of the input is read-only.
pub fn output_next_to(input: &Path, name: &str) -> PathBuf {
    match input.parent().filter(|parent| !parent.as_os_str().is_empty() && !is_read_only(input)) {
        Some(parent) => parent.join(name),
        None => PathBuf::from(name),
    }
}

/// Replaces the word PATH of a hint by a path. For a read-only store, the hint proposes to copy the data instead of preparing it.
pub fn hint_for(path: &Path, hint: &str) -> String {
    let hint = match is_read_only(path) && hint.contains("gristmill prepare") {
        true => "gristmill cp PATH FOLDER makes a copy, which can be prepared",
        false => hint,
    };
    text::hint_for(path, hint)
}

/// Returns the number of threads that read below a path: for a store more than processors, because most of them wait.
pub fn threads_for(path: &Path, threads: usize) -> usize {
    match is_remote(path) {
        true => threads.max(WAITING_THREADS),
        false => threads,
    }
}

/// Whether a path is the address of all buckets of a store, such as `s3://`.
pub fn is_bucket_list(path: &Path) -> bool {
    RemoteUrl::parse(path).is_some_and(|url| url.bucket.is_empty() && url.key.is_empty())
}

/// Returns the address of all buckets of the store that a path leads to; `None` if they cannot be listed.
pub fn bucket_list(path: &Path) -> Option<PathBuf> {
    let scheme = RemoteUrl::parse(path)?.scheme;
    scheme.lists_buckets.then(|| PathBuf::from(format!("{}://", scheme.name)))
}

/// Whether a path is the part of an address above its bucket, `SCHEME:`, which is not a folder.
pub fn is_above_buckets(path: &Path) -> bool {
    let scheme_name = path.as_os_str().as_encoded_bytes().strip_suffix(b":");
    SCHEMES.iter().any(|scheme| scheme_name == Some(scheme.name.as_bytes()))
}

/// Whether a key can be a path below its bucket: no segment is empty, `.` or `..`, and none contains a byte 0.
pub fn is_plain_key(key: &str) -> bool {
    !key.contains('\0') && key.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Whether a name that both an object and a folder have is treated as the folder: files have an extension.
#[cfg(feature = "remote")]
pub(crate) fn may_be_folder(key: &str) -> bool {
    Path::new(key).extension().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_address_is_parsed_into_bucket_and_key() {
        let parsed = |text: &str| {
            let url = RemoteUrl::parse(Path::new(text))?;
            Some((url.bucket.to_owned(), url.key.to_owned()))
        };
        assert_eq!(parsed("mem://b/a/b.tar"), Some(("b".into(), "a/b.tar".into())));
        assert_eq!(parsed("mem://b/a/"), Some(("b".into(), "a".into())));
        assert_eq!(parsed("mem://b"), Some(("b".into(), String::new())));
        assert_eq!(parsed("mem://b/a b+%41"), Some(("b".into(), "a b+%41".into())));
        for local in ["mem:/b/a", "memo://b/a", "a/mem://b", "/mem", "hg://datasets/o/n", ""] {
            assert_eq!(parsed(local), None, "{local}");
        }
    }

    #[cfg(feature = "remote")]
    #[test]
    fn hint_for_a_readonly_address_suggests_a_copy() {
        let hint = |path: &str| hint_for(Path::new(path), "gristmill prepare PATH --update");
        assert_eq!(hint("mem://b/a"), "gristmill prepare mem://b/a --update");
        assert!(hint("https://h/a.tar").starts_with("gristmill cp https://h/a.tar FOLDER"));
        assert!(!has_folders(Path::new("https://h/a.tar")) && has_folders(Path::new("mem://b/a")));
    }

    #[test]
    fn paths_of_objects_are_joined_and_split_like_paths_of_files() {
        let root = Path::new("mem://bucket/set");
        let shard = root.join("a/b.tar");
        assert_eq!(shard.to_str(), Some("mem://bucket/set/a/b.tar"));
        assert_eq!(shard.strip_prefix(root).unwrap(), Path::new("a/b.tar"));
        assert_eq!(RemoteUrl::parse(shard.parent().unwrap()).unwrap().key, "set/a");
        assert_eq!(RemoteUrl::parse(&shard.with_extension("tar.idx")).unwrap().key, "set/a/b.tar.idx");
        assert_eq!(RemoteUrl::parse(root).unwrap().with_key("x"), Path::new("mem://bucket/x"));
        assert!(is_above_buckets(Path::new("mem://bucket").parent().unwrap()));
        assert!(!is_above_buckets(root) && !is_above_buckets(Path::new("a:")) && !is_above_buckets(Path::new("mem")));
        assert_eq!(bucket_list(root).unwrap(), Path::new("mem://"));
        assert!(is_plain_key("a/b c/\u{e4}"));
        for odd in ["", "a//b", "/a", "a/", "./a", "a/../b", "a\0"] {
            assert!(!is_plain_key(odd), "{odd:?}");
        }
    }
}
