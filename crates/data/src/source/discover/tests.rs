use super::*;
use gristmill_core::{ExitClass, Severity};
use gristmill_storage::{fs::RealFs, publish::write_file};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

fn put(root: &Path, name: impl AsRef<Path>) -> PathBuf {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, &path, b"x", 0o640).unwrap();
    path
}

fn names(found: &Discovery) -> Vec<&str> {
    found.shards.iter().map(|s| s.name.as_str()).collect()
}

fn kinds(found: &Discovery) -> Vec<ProblemKind> {
    found.findings.iter().map(|p| p.kind).collect()
}

#[test]
fn path_names_one_shard_or_a_brace_range_of_shards() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "s/0/a.tar",
        "s/1/a.tar",
        "s/1/b.tgz",
        "w{0..1}.tar",
        "w0.tar",
        "w1.tar",
        "x.txt",
        "b\\c/0.tar",
        "b\\c/1.tar",
        "f{0..1}.tar/0.tar",
    ] {
        put(dir.path(), name);
    }
    let named = |name: &str| {
        named_shards(&dir.path().join(name))
            .map(|shards| shards.map(|shards| shards.into_iter().map(|shard| shard.name).collect::<Vec<_>>()))
    };
    assert_eq!(named("s/{0..1}/a.tar").unwrap().unwrap(), ["0/a.tar", "1/a.tar"]);
    assert_eq!(named("s/1/{b.tgz,a.tar}").unwrap().unwrap(), ["b.tgz", "a.tar"]);
    assert_eq!(named("b\\\\c/{0..1}.tar").unwrap().unwrap(), ["0.tar", "1.tar"]);
    assert_eq!(named("f{0..1}.tar").unwrap(), None, "a folder has this name");
    assert_eq!(named("w0.tar").unwrap().unwrap(), ["w0.tar"]);
    assert_eq!(named("w{0..1}.tar").unwrap().unwrap(), ["w{0..1}.tar"], "a file has this name");
    assert_eq!(named("w{0..0}.tar").unwrap().unwrap(), ["w0.tar"], "a range of one");
    for other in ["x.txt", "s", "s/{0..1}", "{a,b}.txt", "{a.txt"] {
        assert_eq!(named(other).unwrap(), None, "{other}");
    }
}

#[test]
fn mistakes_in_ranges_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["w0.tar", "w1.tar", "w3.tar"] {
        put(dir.path(), name);
    }
    for (range, class, why) in [
        ("w{0,0}.tar", ExitClass::Usage, "w0.tar more than once"),
        ("w{0..1.tar", ExitClass::Usage, "a brace has no partner"),
        ("w0..1}.tar", ExitClass::Usage, "a brace has no partner"),
        ("w{0..9999999}.tar", ExitClass::Usage, "expand to more than 100000 names"),
        ("w{0}.tar", ExitClass::Usage, "neither a range nor a list"),
        ("{w0.tar,b.txt}", ExitClass::Usage, "b.txt, which does not end in .tar or .tgz"),
        ("w{0..3}.tar", ExitClass::Environment, "1 of its 4 shards is missing; the first is "),
        ("w{00..03}.tar", ExitClass::Environment, "none of its 4 shards exists"),
    ] {
        let failure = named_shards(&dir.path().join(range)).unwrap_err();
        assert_eq!(failure.class, class, "{failure}");
        assert!(failure.why.contains(why) && failure.hint.is_some(), "{failure}");
    }
}

#[test]
fn shards_are_sorted_by_path_components() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["sub-x/b.tar", "a.tar", "sub/b.tar", "Z9.tar", "Z10.tar", "é.tar", "z.tgz"] {
        put(dir.path(), name);
    }
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["Z10.tar", "Z9.tar", "a.tar", "sub/b.tar", "sub-x/b.tar", "z.tgz", "é.tar"]);
    assert_eq!(
        found.shards.iter().map(|s| s.is_tgz).collect::<Vec<_>>(),
        [false, false, false, false, false, true, false]
    );
    let first = &found.shards[0];
    assert_eq!((first.stamp.bytes, first.mode, first.path.clone()), (1, 0o640, dir.path().join("Z10.tar")));
    assert!(first.stamp.modified_ns > 0 && first.stamp.inode > 0);
    assert_eq!(kinds(&found), []);
}

#[test]
fn hidden_names_and_other_suffixes_are_never_shards() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        ".a.tar",
        ".d/b.tar",
        "s/.e/c.tar",
        ".nv-meta/x.tar",
        "b.TAR",
        "c.tar.gz",
        "d.tar.zst",
        "tar",
        "e.tar.idx",
        ".tar",
        "k.tar",
    ] {
        put(dir.path(), name);
    }
    symlink("nowhere", dir.path().join(".h.tar")).unwrap();
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["k.tar"]);
    assert_eq!(kinds(&found), [ProblemKind::UnreadShard; 3]);
}

#[test]
fn folders_links_and_devices_named_like_shards_are_problems() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "folder.tar/inner.tar");
    symlink("nowhere", dir.path().join("dangling.tar")).unwrap();
    symlink("self.tgz", dir.path().join("self.tgz")).unwrap();
    symlink("/dev/null", dir.path().join("device.tar")).unwrap();
    symlink("nowhere", dir.path().join("other.txt")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe.tar"), mode).unwrap();
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["folder.tar/inner.tar"]);
    let reported: Vec<_> =
        found.findings.iter().map(|p| (p.subject.shard.as_deref().unwrap(), p.kind, p.severity)).collect();
    let bad = |name| (name, ProblemKind::NotAFile, Severity::Problem);
    assert_eq!(reported, ["dangling.tar", "device.tar", "folder.tar", "pipe.tar", "self.tgz"].map(bad));
    assert!(found.findings[2].message.contains("a folder") && found.findings[3].message.contains("a fifo"));
}

#[test]
fn links_to_shards_keep_their_own_names_and_link_loops_end() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let real = put(elsewhere.path(), "deep/r.tar");
    symlink(elsewhere.path(), dir.path().join("linked")).unwrap();
    symlink(&real, dir.path().join("one.tar")).unwrap();
    put(dir.path(), "sub/s.tar");
    symlink(dir.path(), dir.path().join("sub/up")).unwrap();
    symlink("../..", elsewhere.path().join("deep/up")).unwrap();
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["linked/deep/r.tar", "one.tar", "sub/s.tar"]);
    assert_eq!(kinds(&found), [ProblemKind::Other; 2]);
    assert!(found.findings.iter().all(|finding| finding.severity == Severity::Note));
    let found = discover(&dir.path().join("sub")).unwrap();
    assert_eq!(names(&found), ["s.tar"], "the folder above the root has other shards");
}

#[test]
fn unusual_names_are_kept_and_names_that_are_not_utf8_left_out() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["-rf.tar", "a b.tar", "n\nl.tar", "\x1b[31m.tar", "{a,b}.tar"] {
        put(dir.path(), name);
    }
    put(dir.path(), OsStr::from_bytes(b"bad\xff.tar"));
    put(dir.path(), Path::new(OsStr::from_bytes(b"\xfe")).join("in.tar"));
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["\x1b[31m.tar", "-rf.tar", "a b.tar", "n\nl.tar", "{a,b}.tar"]);
    assert_eq!(kinds(&found), [ProblemKind::ShardNameNotUtf8; 2]);
}

#[test]
fn compressed_shard_and_plain_shard_of_one_name_are_both_found() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["x.tar", "x.tgz", "sub/x.tgz", "y.v2.tgz", "y.tar"] {
        put(dir.path(), name);
    }
    let found = discover(dir.path()).unwrap();
    assert_eq!(names(&found), ["sub/x.tgz", "x.tar", "x.tgz", "y.tar", "y.v2.tgz"]);
    assert_eq!(found.shards[1].index_name(), found.shards[2].index_name());
}

#[test]
fn a_root_that_is_missing_or_a_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(discover(&dir.path().join("no")).unwrap_err().class, gristmill_core::ExitClass::Environment);
    let file = put(dir.path(), "a.tar");
    assert_eq!(discover(&file).unwrap_err().class, gristmill_core::ExitClass::Usage);
}
