//! Paths in a metadataset, resolved lexically as in the loader: `..` is never resolved on disk.

use gristmill_storage::files;
use gristmill_storage::location::RemoteUrl;
use gristmill_storage::stores::check_address;
use std::path::{Component, Path, PathBuf};

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathTarget {
    /// On this machine, or in the store of the metadataset.
    Local(PathBuf),
    /// Remote, and not opened by this program.
    Remote,
}

/// Resolves a path as written against the absolute folder of its file. The error is the reason why the loader cannot use the path.
pub(super) fn resolve(folder: &Path, text: &str) -> Result<PathTarget, String> {
    if let Some((protocol, _)) = text.split_once("://").filter(|_| !text.starts_with('/')) {
        return match protocol {
            // A profile that is unknown here may be defined where the training runs.
            "msc" => {
                let address = RemoteUrl::parse(Path::new(text)).and_then(|url| check_address(url.scheme, text).ok());
                Ok(address.map_or(PathTarget::Remote, |address| PathTarget::Local(PathBuf::from(address))))
            }
            "rclone" | "dss" => Ok(PathTarget::Remote),
            "filesystem" => Err("'filesystem://' is for aux sources only".into()),
            "file" => Err("'file://' is not read as one expects; write the path itself".into()),
            other => Err(format!("the loader does not know '{other}://'")),
        };
    }
    lexically(&folder.join(text)).map(PathTarget::Local).ok_or_else(|| "it leads above the root folder".into())
}

/// Returns the absolute path without `.` and `..`, lexically. `None` if it leads above the root, or above the bucket.
pub(super) fn lexically(path: &Path) -> Option<PathBuf> {
    let (root, below) = match RemoteUrl::parse(path) {
        Some(url) => (RemoteUrl { key: "", ..url }.to_path(), PathBuf::from(url.key)),
        None => (PathBuf::from("/"), files::absolute(".").ok()?.join(path)),
    };
    let mut plain = root.clone();
    for component in below.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir if plain == root => return None,
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(plain)
}

/// Whether a path can be relative to another: both are on this machine, or in the same bucket.
pub(super) fn are_in_one_store(one: &Path, other: &Path) -> bool {
    match (RemoteUrl::parse(one), RemoteUrl::parse(other)) {
        (Some(one), Some(other)) => (one.scheme, one.bucket) == (other.scheme, other.bucket),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Returns `to` relative to the folder `from`, both absolute and without `..`: `../a/b`. The folder itself is `.`.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut path: PathBuf = from.components().skip(common).map(|_| Component::ParentDir).collect();
    path.extend(to.components().skip(common));
    if path.as_os_str().is_empty() {
        path.push(".");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_paths_are_resolved_without_the_file_system() {
        let at = |text: &str| resolve(Path::new("/d/mix"), text);
        let local = |text: &str| Ok(PathTarget::Local(PathBuf::from(text)));
        assert_eq!(at("../a"), local("/d/a"));
        assert_eq!(at("./x//y/../z/"), local("/d/mix/x/z"));
        assert_eq!(at("/abs/b"), local("/abs/b"));
        assert_eq!(at("/abs/a://b"), local("/abs/a:/b"));
        assert_eq!(at("msc://p/a"), Ok(PathTarget::Remote));
        assert!(at("../../../x").unwrap_err().contains("above"));
        assert!(at("s3://b/x").unwrap_err().contains("s3://"));
        assert!(at("file:///x").unwrap_err().contains("file://"));
    }

    #[test]
    fn relative_member_path_resolves_to_the_original_path() {
        for (from, to, expected) in [
            ("/d/mix", "/d/a", "../a"),
            ("/d/mix", "/d/mix/a/b", "a/b"),
            ("/d/mix", "/d/mix", "."),
            ("/", "/a", "a"),
            ("/d/mix/x", "/e", "../../../e"),
        ] {
            let path = relative(Path::new(from), Path::new(to));
            assert_eq!(path, Path::new(expected));
            let text = path.to_str().unwrap();
            assert_eq!(resolve(Path::new(from), text), Ok(PathTarget::Local(PathBuf::from(to))));
        }
    }
}
