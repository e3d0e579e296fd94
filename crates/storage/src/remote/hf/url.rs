//! Addresses of repositories of the hub: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`.

use gristmill_core::{Failure, Outcome, Subject};
use std::fmt;
use std::path::Path;

/// Beginning of every address.
const SCHEME: &str = "hf://";
/// Maximum length of the name of an owner or a repository, in characters.
const MAX_NAME_CHARS: usize = 96;
/// Maximum length of a path in a repository, in bytes.
const MAX_PATH_BYTES: usize = 2048;
/// Maximum length of a name in a path, in bytes.
const MAX_SEGMENT_BYTES: usize = 255;
/// Revision of an address without one.
const DEFAULT_REVISION: &str = "main";

/// Whether a repository has data or a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryKind {
    /// A data set.
    Dataset,
    /// A model, with its tokenizer.
    Model,
}

impl RepositoryKind {
    /// Returns the noun for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Dataset => "data set",
            Self::Model => "model",
        }
    }

    /// Returns the name of its section in the hub's API and in the names of cache folders.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Dataset => "datasets",
            Self::Model => "models",
        }
    }
}

/// The address of a repository, of a folder in it, or of a file in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryUrl {
    /// Whether it is a data set or a model.
    pub kind: RepositoryKind,
    /// `OWNER/NAME`, or `NAME` alone for some old repositories.
    pub name: String,
    /// A branch, a tag, a commit or a `refs/…` name, if one is given.
    pub revision: Option<String>,
    /// Path of a file or folder in the repository; empty for all of it.
    pub path: String,
}

/// Whether a text has the form of an address of the hub.
pub fn is_hub_url(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl RepositoryUrl {
    /// Parses the address of a data set, which may also be `hf://OWNER/NAME`.
    ///
    /// # Errors
    /// A usage failure if the text is not such an address.
    pub fn parse(text: &str) -> Outcome<Self> {
        let refuse = |why: &str| {
            Err(Failure::usage("reading the address", why)
                .on(Subject::path(text))
                .with_hint("an address is hf://datasets/OWNER/NAME[@REVISION][/PATH]"))
        };
        let Some(rest) = text.strip_prefix(SCHEME) else { return refuse("it does not begin with hf://") };
        if ["models/", "spaces/", "buckets/"].iter().any(|section| rest.starts_with(section)) {
            return refuse("only data sets are read");
        }
        if rest == "datasets" {
            return refuse("it has no OWNER/NAME");
        }
        let rest = rest.strip_prefix("datasets/").unwrap_or(rest).trim_end_matches('/');
        let (name, after) = split_name(rest);
        if !is_repository_name(name) {
            return refuse("it has no valid OWNER/NAME");
        }
        let (revision, path) = match after.strip_prefix('@') {
            Some(after) => {
                let (revision, path) = split_revision(after);
                (Some(revision.replace("%2F", "/").replace("%2f", "/")), path)
            }
            None => (None, after),
        };
        if revision.as_deref().is_some_and(|revision| !is_plain_path(revision)) {
            return refuse("its revision is not valid");
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        if !path.is_empty() && !is_plain_path(path) {
            return refuse("its path is not valid");
        }
        Ok(Self { kind: RepositoryKind::Dataset, name: name.to_owned(), revision, path: path.to_owned() })
    }

    /// Returns the model with a name such as `OWNER/NAME` or `OWNER/NAME@REVISION`; `None` if the name is invalid.
    pub fn model(name: &str) -> Option<Self> {
        let (name, revision) = match name.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (name, None),
        };
        let is_valid = is_repository_name(name) && revision.is_none_or(is_plain_path);
        is_valid.then(|| Self {
            kind: RepositoryKind::Model,
            name: name.to_owned(),
            revision: revision.map(str::to_owned),
            path: String::new(),
        })
    }

    /// Returns the revision of the address, or the default revision.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(DEFAULT_REVISION)
    }

    /// Returns the address of the repository at this revision, without a path.
    #[cfg(feature = "remote")]
    pub(super) fn root(&self) -> Self {
        Self { path: String::new(), ..self.clone() }
    }

    /// Returns the address of a file of the repository at this revision.
    pub fn of_file(&self, path: &str) -> String {
        // Without a revision, the path could be read as the second part of the name.
        let usual = (!self.name.contains('/')).then_some(DEFAULT_REVISION);
        let revision = self.revision.as_deref().or(usual).map(|revision| format!("@{}", revision.replace('/', "%2F")));
        format!("{SCHEME}{}/{}{}/{path}", self.kind.plural(), self.name, revision.unwrap_or_default())
    }

    /// Returns the address of the repository at another revision.
    pub fn at_revision(&self, revision: &str) -> String {
        format!("{SCHEME}{}/{}@{revision}", self.kind.plural(), self.name)
    }
}

impl fmt::Display for RepositoryUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.of_file(&self.path).trim_end_matches('/'))
    }
}

/// Returns the address of a file in the cache of the hub, with its commit; `None` for other files.
pub fn address_of(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (before, after) = text.split_once("/snapshots/")?;
    let name = before.rsplit_once('/').map_or(before, |(_, name)| name).strip_prefix("datasets--")?.replace("--", "/");
    let (commit, path) = after.split_once('/')?;
    is_repository_name(&name).then(|| format!("{SCHEME}datasets/{name}@{commit}/{path}"))
}

/// Splits a text after the name of the repository: two segments, or one if `@` follows the first or nothing does.
fn split_name(text: &str) -> (&str, &str) {
    let first = text.find(['/', '@']).unwrap_or(text.len());
    if !text[first..].starts_with('/') {
        return text.split_at(first);
    }
    let second = text[first + 1..].find(['/', '@']).map_or(text.len(), |at| first + 1 + at);
    text.split_at(second)
}

/// Splits a text after the revision. `refs/convert/NAME` and `refs/pr/NUMBER` are revisions with slashes; other slashes are `%2F`.
fn split_revision(text: &str) -> (&str, &str) {
    let is_special = text.starts_with("refs/convert/") || text.starts_with("refs/pr/");
    let end = text.match_indices('/').map(|(at, _)| at).nth(if is_special { 2 } else { 0 });
    text.split_at(end.unwrap_or(text.len()))
}

/// Whether a text is `OWNER/NAME`, or `NAME`.
fn is_repository_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty()
            && part.chars().count() <= MAX_NAME_CHARS
            && part.chars().all(is_allowed)
            && !part.starts_with(['.', '-'])
            && !part.ends_with(['.', '-'])
            && !part.contains("..")
            && !part.contains("--")
    };
    text.split('/').count() <= 2 && text.split('/').all(is_part)
}

/// Whether a path of a repository may be used as a path below a folder: no segment is empty, `.` or `..`, and none is too long.
pub(super) fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && part.len() <= MAX_SEGMENT_BYTES;
    path.len() <= MAX_PATH_BYTES && !path.contains('\0') && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<String>, String) {
        let url = RepositoryUrl::parse(text).unwrap();
        (url.name, url.revision, url.path)
    }

    #[test]
    fn addresses_have_a_name_a_revision_and_a_path() {
        let of = |name: &str, revision: Option<&str>, path: &str| (name.into(), revision.map(Into::into), path.into());
        assert_eq!(parsed("hf://datasets/o/n"), of("o/n", None, ""));
        assert_eq!(parsed("hf://o/n/"), of("o/n", None, ""));
        assert_eq!(parsed("hf://datasets/squad"), of("squad", None, ""));
        assert_eq!(parsed("hf://datasets/squad@v1/plain/a.parquet"), of("squad", Some("v1"), "plain/a.parquet"));
        assert_eq!(parsed("hf://datasets/o/n@v1.0/data/a b.jsonl"), of("o/n", Some("v1.0"), "data/a b.jsonl"));
        assert_eq!(parsed("hf://datasets/o/n@a%2Fb/c"), of("o/n", Some("a/b"), "c"));
        let converted = Some("refs/convert/parquet");
        assert_eq!(parsed("hf://datasets/o/n@refs/convert/parquet"), of("o/n", converted, ""));
        assert_eq!(parsed("hf://datasets/o/n@refs%2Fconvert%2Fparquet/d/train"), of("o/n", converted, "d/train"));
        assert_eq!(parsed("hf://datasets/o/n@refs/pr/3/x"), of("o/n", Some("refs/pr/3"), "x"));
    }

    #[test]
    fn wrong_addresses_are_refused() {
        for text in [
            "hf://",
            "hf://datasets",
            "hf://datasets/",
            "hf://datasets/o/",
            "hf://o/n/../x",
            "hf://o/n@/x",
            "hf://o/n@..%2F..",
            "hf://o/n//x",
            "hf://../n",
            "hf://o/-n",
            "hf://models/o/n",
            "hf://o n/x",
            "hf://datasets/o/n/a\0b",
            "hf://o--x/n",
        ] {
            let failed = RepositoryUrl::parse(text).map_err(|failure| failure.class.code());
            let is_short = text == "hf://datasets/o/";
            assert!(failed == Err(2) || is_short, "{text}: {failed:?}");
        }
        assert_eq!(RepositoryUrl::model("o/n@v1").unwrap().revision(), "v1");
        assert!(["a/b/c", "../x", "/a", "a/b.json@../x"].iter().all(|name| RepositoryUrl::model(name).is_none()));
        let cached = address_of(Path::new("/c/hub/datasets--o--n/snapshots/c0ffee/data/a.jsonl"));
        assert_eq!(cached.as_deref(), Some("hf://datasets/o/n@c0ffee/data/a.jsonl"));
        assert_eq!(address_of(Path::new("/data/snapshots/a/b.jsonl")), None);
        let url = RepositoryUrl::parse("hf://o/n@refs/pr/3/x").unwrap();
        assert_eq!(url.of_file("a/b"), "hf://datasets/o/n@refs%2Fpr%2F3/a/b");
    }
}
