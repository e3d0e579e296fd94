//! `file_location.txt`: the data files in the order of their first sample, relative to the base folder (docs/formats/forager.md §1.1).

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

/// Maximum size of a list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 30;

/// Returns the text of the file: one relative path per line. A name that contains a newline or is not UTF-8 is a data failure.
pub fn render<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Outcome<Vec<u8>> {
    let mut out = Vec::new();
    for path in paths {
        let bytes = path.as_os_str().as_bytes();
        let refuse = |why: &str| {
            Err(Failure::data("listing the data files", why).on(Subject::path(path)).with_hint("rename it"))
        };
        if bytes.contains(&b'\n') {
            return refuse("its name contains a newline, but the index has one file name per line");
        }
        if std::str::from_utf8(bytes).is_err() {
            return refuse("its name is not UTF-8, as the index requires");
        }
        out.extend_from_slice(bytes);
        out.push(b'\n');
    }
    Ok(out)
}

/// Returns the path of a file relative to a base folder, like Python's `os.path.relpath`: by names alone, links are not resolved.
pub fn relative(base: &Path, path: &Path) -> Outcome<PathBuf> {
    let (base, path) = (absolute(base)?, absolute(path)?);
    let shared = base.iter().zip(path.iter()).take_while(|(a, b)| a == b).count();
    let up = base.iter().skip(shared).map(|_| std::ffi::OsStr::new(".."));
    let relative: PathBuf = up.chain(path.iter().skip(shared).map(std::ffi::OsString::as_os_str)).collect();
    Ok(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative })
}

/// Makes a path absolute, resolves `.` and `..` by name, and returns its components.
fn absolute(path: &Path) -> Outcome<Vec<std::ffi::OsString>> {
    let whole = files::absolute(path).map_err(|error| Failure::io("naming the file", path, &error))?;
    let mut names = Vec::new();
    for component in whole.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => {
                names.pop();
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Reads the list of an index whose base folder is `base`; a relative path is joined to it, an absolute one is unchanged. Returns `None`
/// when the file is missing.
pub fn read(path: &Path, base: &Path) -> Outcome<Option<Vec<PathBuf>>> {
    let Some(bytes) = read_whole(path, MAX_LIST_BYTES)? else { return Ok(None) };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    Ok(Some(lines.map(|line| base.join(std::ffi::OsString::from_vec(line.to_vec()))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    #[test]
    fn relative_path_is_computed_without_the_file_system() {
        for (base, path, wanted) in [
            ("/a/b", "/a/b/c.jsonl", "c.jsonl"),
            ("/a/b", "/a/x/c.jsonl", "../x/c.jsonl"),
            ("/a/b/", "/a/b/./d/../c.jsonl", "c.jsonl"),
            ("/a", "/a", "."),
            ("/", "/a", "a"),
            ("/a/b", "/x", "../../x"),
        ] {
            assert_eq!(relative(Path::new(base), Path::new(path)).unwrap(), Path::new(wanted), "{path}");
        }
        assert_eq!(relative(Path::new("."), Path::new("x")).unwrap(), Path::new("x"));
    }

    #[test]
    fn file_locations_are_read_back_and_unwritable_names_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let text = render([Path::new("a b.jsonl"), Path::new("../é.jsonl"), Path::new("/x/y")]).unwrap();
        assert_eq!(text, "a b.jsonl\n../é.jsonl\n/x/y\n".as_bytes());
        let path = dir.path().join("file_location.txt");
        assert_eq!(read(&path, Path::new("/base")).unwrap(), None);
        write_file(&RealFs, &path, &text, 0o644).unwrap();
        let wanted = ["/base/a b.jsonl", "/base/../é.jsonl", "/x/y"].map(PathBuf::from);
        assert_eq!(read(&path, Path::new("/base")).unwrap().unwrap(), wanted);
        assert!(render([Path::new("a\nb")]).unwrap_err().why.contains("newline"));
        assert!(render([Path::new(std::ffi::OsStr::from_bytes(b"\xff"))]).unwrap_err().why.contains("UTF-8"));
        assert_eq!(render([]).unwrap(), b"");
    }
}
