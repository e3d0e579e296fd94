//! Checks of arguments: paths that are not local, sizes with a unit.

use gristmill_core::options::PathReach;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::location::{is_plain_key, is_remote, RemoteUrl};
use gristmill_storage::remote::{is_hub_url, RepositoryUrl};
use gristmill_storage::store::SCHEMES;
use std::path::Path;

/// What to do where addresses are not supported.
const COPY_HINT: &str = "copy or mount the data, and give the local folder";

/// Returns a path as stored in a plan: on this machine, and UTF-8.
pub fn local(path: &Path) -> Outcome<String> {
    let text = utf8(path)?;
    match text.split_once("://") {
        Some((scheme, _)) if is_scheme(scheme) && !files::exists(path) || is_remote(path) => {
            let refuse = |why: String, hint: &str| {
                Err(Failure::usage("opening the data set", why)
                    .on(Subject::path(without_query(text)))
                    .with_hint(hint.to_owned()))
            };
            match is_remote(path) || is_hub_url(text) {
                true => refuse(format!("{scheme}:// is not supported yet by this command"), COPY_HINT),
                false => refuse(format!("there are no addresses of {scheme}://"), &known_schemes()),
            }
        }
        _ => Ok(text.to_owned()),
    }
}

/// Returns a path like [`local`], or the address of an object or a prefix of a store, as stored in a plan.
pub fn local_or_store(path: &Path) -> Outcome<String> {
    match RemoteUrl::parse(path) {
        Some(url) if url.bucket.is_empty() => Err(Failure::usage("reading the address", "it has no bucket")
            .on(Subject::path(path))
            .with_hint(format!("{}://BUCKET/KEY", url.scheme.name))),
        Some(url) if !(url.key.is_empty() || is_plain_key(url.key)) => {
            Err(Failure::usage("reading the address", "a part of its key is empty, '.' or '..'")
                .on(Subject::path(path))
                .with_hint("name the folder above it"))
        }
        // One object has one name: paths are compared.
        Some(url) => utf8(path).map(|text| text.replacen(url.scheme.name, url.scheme.usual, 1)),
        None => local(path),
    }
}

/// Returns a path like [`local_or_store`], or the address of a data set of the hub, as stored in a plan.
pub fn local_or_address(path: &Path) -> Outcome<String> {
    match path.to_str().filter(|text| is_hub_url(text)) {
        Some(text) => RepositoryUrl::parse(text).map(|_| text.to_owned()),
        None => local_or_store(path),
    }
}

/// Returns the function that checks a path of an option.
pub fn of_reach(reach: PathReach) -> fn(&Path) -> Outcome<String> {
    match reach {
        PathReach::Local => local,
        PathReach::Store => local_or_store,
        PathReach::StoreOrHub => local_or_address,
    }
}

fn utf8(path: &Path) -> Outcome<&str> {
    let Some(text) = path.to_str() else {
        let hint = match files::is_file(path) {
            true => "rename it",
            false => "change into the folder and give `.` as the path",
        };
        return Err(Failure::usage("reading the path", "it is not valid UTF-8, and a plan could not name it")
            .on(Subject::path(path))
            .with_hint(hint));
    };
    match text.is_empty() {
        true => Err(Failure::usage("reading the path", "it is empty").with_hint("`.` is the current folder")),
        false => Ok(text),
    }
}

/// Returns the schemes that are known, for a hint.
fn known_schemes() -> String {
    let stores = SCHEMES.iter().filter(|scheme| !scheme.is_hidden).map(|scheme| format!("{}://", scheme.name));
    format!("the addresses that are read begin with {}", stores.chain(["hf://".into()]).collect::<Vec<_>>().join(", "))
}

/// Creates a folder and its missing parents.
pub fn make_folder(dir: &Path, mode: u32) -> Outcome<()> {
    files::missing_folders(dir).into_iter().try_for_each(|folder| RealFs.create_dir(folder, mode))
}

/// Reads a whole text file of at most `limit` bytes.
pub fn read_text(path: &Path, what: &str, limit: u64) -> Outcome<String> {
    let Some(bytes) = gristmill_storage::read::read_whole(path, limit)? else {
        return Err(Failure::io(what, path, &std::io::ErrorKind::NotFound.into()));
    };
    String::from_utf8(bytes).map_err(|_| Failure::usage(what, "it is not a text file in UTF-8").on(Subject::path(path)))
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Removes the query string of a remote address: it may contain signatures and is never shown.
fn without_query(text: &str) -> &str {
    text.split('?').next().unwrap_or(text)
}

/// Parses `64M`, `1.5GiB`, `1048576` → bytes. Units are binary.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| "a size like 256MiB or 1G is needed".to_owned())?;
    let shift = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        unit => return Err(format!("unknown unit '{unit}'; use KiB, MiB, GiB or TiB")),
    };
    let bytes = number * (1u64 << shift) as f64;
    if !(1.0..=1e18).contains(&bytes) {
        return Err("the size must be at least 1 byte".into());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_binary_units() {
        assert_eq!(size("1024"), Ok(1024));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("1.5 GiB"), Ok(3 << 29));
        assert!(size("lots").is_err());
        assert!(size("0").is_err());
        assert!(size("3 parsecs").is_err());
    }

    #[test]
    fn remote_paths_are_refused_without_their_query() {
        let failure = local(Path::new("nfs://bucket/x?signature=abc")).unwrap_err();
        assert_eq!(failure.class.code(), 2);
        assert!(!failure.to_string().contains("abc"));
        assert!(failure.why.contains("there are no addresses of nfs://"), "{failure}");
        assert!(failure.hint.unwrap().ends_with("hf://"));
        assert_eq!(local(Path::new("a/b")).unwrap(), "a/b");
        assert!(local(Path::new("")).is_err());
        let address = "hf://datasets/o/n@v1/data";
        assert_eq!(local_or_address(Path::new(address)).unwrap(), address);
        assert_eq!(local_or_address(Path::new("hf://datasets/o/n/../x")).unwrap_err().class.code(), 2);
        assert!(local_or_address(Path::new("nfs://b/x")).unwrap_err().why.contains("no addresses"));
        assert!(local(Path::new(address)).is_err());
    }
}
