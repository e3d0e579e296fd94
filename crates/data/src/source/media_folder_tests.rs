use super::*;
use gristmill_core::{Cancel, ProblemLog, Progress, Severity};
use gristmill_storage::{fs::RealFs, publish::write_file};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;

fn put(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, path, b"", 0o644).unwrap();
}

struct WalkResult {
    folder: MediaFolder,
    problems: Vec<Problem>,
    counted: u64,
}

fn walk_all(root: &Path) -> WalkResult {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let folder = walk(root, |name| name.ends_with(".jpg"), &handles).unwrap();
    WalkResult { folder, problems: problems.to_vec(), counted: progress.read().items_done }
}

fn names(found: &WalkResult) -> Vec<&str> {
    found.folder.files.names().collect()
}

#[test]
fn media_files_are_sorted_by_path_components_and_exclude_nv_meta() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["b/z.jpg", "b-c/a.jpg", "b.jpg", "a/.hidden.jpg", ".h/x.jpg", "ä.jpg", "a/c.txt", "z\n.jpg"] {
        put(&dir.path().join(name));
    }
    put(&dir.path().join(".nv-meta/no.jpg"));
    put(&dir.path().join("b/.nv-meta/deep/no.jpg"));
    put(&dir.path().join("c/.nv-meta.jpg"));
    let found = walk_all(dir.path());
    let wanted = [".h/x.jpg", "a/.hidden.jpg", "b/z.jpg", "b-c/a.jpg", "b.jpg", "c/.nv-meta.jpg", "z\n.jpg", "ä.jpg"];
    assert_eq!(names(&found), wanted);
    assert_eq!((found.folder.file_count, found.counted), (9, 9));
    assert!(found.problems.is_empty());
    assert!(wanted.iter().all(|name| found.folder.files.contains(name)));
    assert!(!found.folder.files.contains("b/a.jpg"));
}

#[test]
fn media_folder_follows_links_without_loops() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("far.jpg"));
    put(&dir.path().join("d/a.jpg"));
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(dir.path().join("d/a.jpg"), dir.path().join("b.jpg")).unwrap();
    symlink(dir.path(), dir.path().join("d/again")).unwrap();
    symlink(dir.path().join("d/self"), dir.path().join("d/self")).unwrap();
    symlink("nowhere", dir.path().join("gone.jpg")).unwrap();
    symlink("nowhere", dir.path().join("gone.txt")).unwrap();
    let found = walk_all(dir.path());
    assert_eq!(names(&found), ["b.jpg", "d/a.jpg", "out/far.jpg"]);
    let loops = found.problems.iter().filter(|p| p.severity == Severity::Note).count();
    assert_eq!(loops, 1, "{:?}", found.problems);
    let reported: Vec<&str> = found.problems.iter().filter_map(|p| p.subject.path.as_deref()).collect();
    assert!(reported.iter().any(|path| path.ends_with("gone.jpg")), "{reported:?}");
    assert!(!reported.iter().any(|path| path.ends_with("gone.txt")), "{reported:?}");
}

#[test]
fn media_with_names_that_are_not_utf8_and_special_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let bad = |text: &[u8]| OsString::from_vec(text.to_vec());
    put(&dir.path().join(bad(b"\xff.jpg")));
    put(&dir.path().join(bad(b"\xff.txt")));
    put(&dir.path().join(bad(b"f\xfe")).join("in.jpg"));
    put(&dir.path().join("ok.jpg"));
    let fifo = dir.path().join("pipe.jpg");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let found = walk_all(dir.path());
    assert_eq!(names(&found), ["ok.jpg"]);
    let kinds = |kind| found.problems.iter().filter(|p| p.kind == kind).count();
    assert_eq!((kinds(ProblemKind::EntryNameNotUtf8), kinds(ProblemKind::NotAFile)), (2, 1), "{:?}", found.problems);
}

#[test]
fn media_walk_is_cancellable_and_names_a_missing_root() {
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("a.jpg"));
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let missing = walk(&dir.path().join("no"), |_| true, &handles).unwrap_err();
    assert!(missing.subject.path.is_some());
    cancel.cancel();
    assert!(walk(dir.path(), |_| true, &handles).unwrap_err().is_cancelled());
}
