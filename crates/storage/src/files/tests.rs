use super::*;
use crate::memory_store::put;
use crate::read::{open_read, read_whole};
use crate::walk::{walk, Walk};
use gristmill_core::Failure;

/// Fills a bucket, and a local folder with the same files.
fn both(bucket: &str, files: &[(&str, &[u8])]) -> (PathBuf, tempfile::TempDir) {
    let (root, folder) = (PathBuf::from(format!("mem://{bucket}/set")), tempfile::tempdir().unwrap());
    for (name, bytes) in files {
        put(&root.join(name), bytes);
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    (root, folder)
}

const FILES: &[(&str, &[u8])] =
    &[("a.tar", b"0123456789"), ("a/x", b"x"), ("a/y/z", b""), ("a-b", b"ab"), (".hidden/h", b"h"), ("b.txt", b"text")];

#[test]
fn objects_are_found_and_read_like_files() {
    let (root, folder) = both("read", FILES);
    for name in ["a.tar", "a", "a/y", "a/y/z", "b.txt", "", "c", "a/", "a.tar/x"] {
        let (object, file) = (metadata(root.join(name)), metadata(folder.path().join(name)));
        let kind = |info: io::Result<FileInfo>| info.map(|info| (info.kind, info.is_file().then_some(info.len()))).ok();
        assert_eq!(kind(object), kind(file), "{name}");
    }
    let file = open_read(&root.join("a.tar")).unwrap();
    let mut buffer = [0; 4];
    file.read_exact_at(&mut buffer, 3).unwrap();
    assert_eq!((&buffer, file.len()), (b"3456", 10));
    assert_eq!(file.read_at(&mut buffer, 8).unwrap(), 2);
    assert_eq!(file.read_at(&mut buffer, 10).unwrap(), 0);
    assert_eq!(file.read_exact_at(&mut buffer, 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(file.stamp().unwrap(), metadata(root.join("a.tar")).unwrap().stamp);
    assert_eq!(read_whole(&root.join("b.txt"), 10).unwrap().unwrap(), b"text");
    assert_eq!(read_whole(&root.join("c"), 10).unwrap(), None);
    assert_eq!(read_to_string(root.join("b.txt")).unwrap(), "text");
    let failure = open_read(&root.join("a")).unwrap_err();
    assert_eq!(failure.to_string(), "opening failed on mem://read/set/a: it is a folder, not a file");
    let failure = open_read(&root.join("c")).unwrap_err();
    assert_eq!(failure.to_string(), "opening failed on mem://read/set/c: no such file or folder");
    assert!(failure.is_missing());
}

#[test]
fn an_object_that_was_replaced_has_another_stamp() {
    let path = Path::new("mem://replaced/a");
    put(path, b"1234");
    let before = metadata(path).unwrap().stamp;
    put(path, b"5678");
    assert_ne!(metadata(path).unwrap().stamp, before);
    assert_eq!(canonicalize(path).unwrap(), path);
    assert_eq!((absolute(path).unwrap(), is_absolute(path)), (path.to_owned(), true));
}

#[test]
fn folders_of_a_store_are_listed_and_walked_like_folders() {
    let (root, folder) = both("list", FILES);
    let names = |folder: &Path| {
        let mut names: Vec<_> = read_dir(folder)
            .unwrap()
            .map(|entry| entry.map(|e| (e.file_name().to_owned(), e.kind())).unwrap())
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    };
    for below in ["", "a", "a/y"] {
        assert_eq!(names(&root.join(below)), names(&folder.path().join(below)), "{below}");
    }
    assert_eq!(read_dir(root.join("c")).err().unwrap().kind(), io::ErrorKind::NotFound);
    assert_eq!(read_dir(root.join("a.tar")).err().unwrap().kind(), io::ErrorKind::NotADirectory);
    let walked = |root: &Path, depth: usize| -> Vec<_> {
        let entries = Walk::new(root).sorted().max_depth(depth).filter_entry(|entry| entry.file_name() != "y");
        let of = |entry: crate::walk::WalkEntry| {
            let size = entry.kind().is_file().then(|| entry.metadata().unwrap().len());
            (entry.path().strip_prefix(root).unwrap().to_owned(), entry.depth(), entry.kind(), size)
        };
        entries.map(|entry| of(entry.unwrap())).collect()
    };
    for depth in [0, 1, 2, usize::MAX] {
        assert_eq!(walked(&root, depth), walked(folder.path(), depth), "{depth}");
    }
    let skipping = |root: &Path| {
        let (mut walk, mut seen) = (Walk::new(root).sorted().into_iter(), Vec::new());
        while let Some(entry) = walk.next().transpose().unwrap() {
            if entry.file_name() == "y" {
                walk.skip_folder(&entry);
            }
            seen.push(entry.path().strip_prefix(root).unwrap().to_owned());
        }
        seen
    };
    assert_eq!(skipping(&root), skipping(folder.path()));
    assert!(skipping(&root).iter().all(|path| path.parent().is_none_or(|parent| !parent.ends_with("y"))));
    let shown = |root: &Path| {
        let mut shown: Vec<_> =
            walk(root, 3).map(|entry| entry.unwrap().path().strip_prefix(root).unwrap().to_owned()).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown(&root), shown(folder.path()));
    let missing = Walk::new(root.join("c")).into_iter().next().unwrap().unwrap_err();
    assert!(missing.failure("walking", Path::new("/")).is_missing());
}

#[test]
fn keys_that_are_no_paths_do_not_hide_other_keys() {
    let root = Path::new("mem://unusual/set");
    for key in ["a//b", "a/./c", "a/d", "a/e/"] {
        put(&root.with_file_name(format!("set/{key}")), b"1");
    }
    let found: Vec<_> = Walk::new(root).into_iter().map(|entry| entry.unwrap().into_path()).collect();
    assert!(found.contains(&root.join("a/d")), "{found:?}");
    assert!(found.iter().all(|path| !path.to_str().unwrap().contains("//b")), "{found:?}");
    let reported = crate::notices::kept().into_iter().filter_map(|problem| problem.subject.path);
    let of_this: Vec<_> = reported.filter(|path| path.to_string().starts_with("mem://unusual/")).collect();
    assert_eq!(of_this.len(), 2, "each is a problem: {of_this:?}");
}

#[test]
fn store_failure_is_preserved_in_the_io_error() {
    let inner = Failure::usage("asking the store", "it is closed").with_hint("open it");
    let failure = Failure::io("opening", "mem://b/x", &inner.clone().into_io());
    assert_eq!(failure.to_string(), "opening failed on mem://b/x: it is closed");
    assert_eq!((failure.class, failure.hint), (inner.class, inner.hint));
}

#[test]
fn location_in_a_failing_store_counts_as_taken() {
    let hidden = Path::new("mem://hides-all/a");
    assert!(is_taken(hidden), "nothing is replaced");
    let failure = try_is_taken(hidden).unwrap_err();
    let expected = "looking for files failed on mem://hides-all/a: these credentials may not list it";
    assert_eq!((failure.class.code(), failure.to_string().as_str()), (3, expected));
    assert!(!try_is_taken("mem://shows-all/a").unwrap() && !try_is_taken("/nonexistent/a").unwrap());
}

#[test]
fn absolute_paths_have_no_parent_folders_and_follow_links_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).unwrap();
    let of = |path: &str| absolute(root.join(path)).unwrap();
    assert_eq!(of("a/../new/x"), root.join("new/x"));
    assert_eq!(of("link/../x/"), root.join("a/x/"), "what is above a link is above what it leads to");
    assert!(of("link/../x/").as_os_str().as_encoded_bytes().ends_with(b"/"));
    assert_eq!(of("a/b/../.."), root);
    assert_eq!(of("link/x"), root.join("link/x"));
    assert_eq!(of("none/../x"), root.join("none/../x"), "there is no such folder");
    assert_eq!(absolute("/../x").unwrap(), Path::new("/x"));
}

#[test]
fn entries_of_walks_are_counted() {
    let (_, folder) = both("counted", FILES);
    let before = crate::walk::walked_entries();
    let entries = Walk::new(folder.path()).into_iter().count() as u64;
    assert!(crate::walk::walked_entries() >= before + entries);
}
