//! The view of programs: refusals, attributes, names, changes, several readers.

use super::{prepared, sandbox, unmount, Mount};
use crate::cli_support::{copy_tree, Sandbox};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

#[test]
fn mount_refuses_all_writes() {
    let Some(sandbox) = prepared() else { return };
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    let (file, folder) = (mount.at.join("b.txt"), mount.at.join("a"));
    for refused in [
        fs::File::create(mount.at.join("new")).map(drop),
        fs::File::options().append(true).open(&file).map(drop),
        fs::remove_file(&file),
        fs::create_dir(mount.at.join("new")),
        fs::rename(&file, mount.at.join("c.txt")),
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o777)),
        fs::remove_dir(&folder),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    assert_eq!(fs::read(mount.at.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read(folder.join("1.none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read(file.join("x")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(fs::read_dir(&file).unwrap_err().kind(), ErrorKind::NotADirectory);
    mount.unmount();
}

#[test]
fn mounted_files_have_attributes_of_their_shard() {
    let Some(sandbox) = prepared() else { return };
    let shard = sandbox.path("data/0.tar").metadata().unwrap();
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    assert_eq!(mount.line, "mounted data at mnt (tree, 3 samples); Ctrl-C or \"umount mnt\" ends it\n");
    let file = mount.at.join("a/2.json");
    let facts = file.metadata().unwrap();
    assert_eq!((facts.mtime(), facts.mtime_nsec()), (shard.mtime(), shard.mtime_nsec()));
    let attribute = |name: &str| {
        let mut value = [0; 100];
        let length = rustix::fs::getxattr(&file, name, &mut value[..]).unwrap();
        String::from_utf8(value[..length].to_vec()).unwrap()
    };
    assert_eq!([attribute("user.gristmill.key"), attribute("user.gristmill.shard")], ["a/2", "0.tar"]);
    let offset: usize = attribute("user.gristmill.offset").parse().unwrap();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(&sandbox.read("data/0.tar")[offset..offset + bytes.len()], bytes);
    let system = rustix::fs::statvfs(&mount.at).unwrap();
    let size: u64 = ["data/0.tar", "data/1.tar"].map(|name| sandbox.read(name).len() as u64).iter().sum();
    assert_eq!(system.f_blocks * system.f_frsize, size);
    assert_eq!((system.f_files, system.f_bfree, system.f_namemax), (3, 0, 255));
    mount.unmount();
}

#[test]
fn changed_shard_gives_read_errors_and_never_wrong_bytes() {
    let Some(sandbox) = prepared() else { return };
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    // This also records the state of both shards, if that has not happened yet.
    rustix::fs::statvfs(&mount.at).unwrap();
    let mut shard = sandbox.read("data/0.tar");
    shard.extend([0; 512]);
    sandbox.write("data/0.tar", shard);
    assert_eq!(fs::read(mount.at.join("a/1.txt")).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(fs::read(mount.at.join("b.txt")).unwrap(), b"short b");
    mount.unmount();
    let log = log(&sandbox);
    assert!(log.contains("was changed since it was mounted"), "{log}");
}

/// Returns the log of a sandbox.
fn log(sandbox: &Sandbox) -> String {
    let logs = fs::read_dir(sandbox.path("../home/state/gristmill/log")).unwrap();
    logs.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn changed_files_of_every_kind_give_read_errors_and_never_wrong_bytes() {
    let Some(sandbox) = sandbox() else { return };
    let tokens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/nanosets/02_modern_noshuffle/expected");
    copy_tree(&tokens, &sandbox.path("tokens"));
    sandbox.write("media/a.jpg", "old");
    sandbox.write("media/b.jpg", "other");
    sandbox.write("rows.csv", "text\none\n");
    sandbox.write("lines.jsonl", "{\"a\": 1}\n");
    for (data, changed, file) in [
        ("tokens", "tokens/00000_unshuffled.ds", "000000000/0.npy"),
        ("media", "media/a.jpg", "a.jpg"),
        ("rows.csv", "rows.csv", "000000000/0.json"),
        ("lines.jsonl", "lines.jsonl", "000000000/0.json"),
    ] {
        let mount = Mount::say(&sandbox, &format!("mount {data} mnt"), "mnt");
        let path = mount.at.join(file);
        let size = path.metadata().unwrap().len();
        rustix::fs::statvfs(&mount.at).unwrap();
        let mut bytes = sandbox.read(changed);
        bytes.reverse();
        bytes.push(b' ');
        sandbox.write(changed, bytes);
        assert_eq!(fs::read(&path).unwrap_err().raw_os_error(), Some(5), "{data}");
        assert_eq!(path.metadata().unwrap().len(), size);
        mount.unmount();
        let (log, name) = (log(&sandbox), changed.rsplit('/').next().unwrap());
        let is_noted = |line: &str| line.contains(name) && line.contains("was changed since it was mounted");
        assert!(log.lines().any(is_noted), "{data}: {log}");
    }
}

#[test]
fn replaced_or_removed_shards_give_read_errors() {
    let Some(sandbox) = prepared() else { return };
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    rustix::fs::statvfs(&mount.at).unwrap();
    sandbox.tar("new.tar", ["a/1", "a/2", "a/3"]);
    fs::rename(sandbox.path("new.tar"), sandbox.path("data/0.tar")).unwrap();
    fs::remove_file(sandbox.path("data/1.tar")).unwrap();
    for name in ["a/1.txt", "b.txt"] {
        assert_eq!(fs::read(mount.at.join(name)).unwrap_err().raw_os_error(), Some(5), "{name}");
        assert!(mount.at.join(name).is_file());
    }
    mount.unmount();
}

#[test]
fn first_sample_of_a_repeated_key_is_mounted_with_a_warning_file() {
    let Some(sandbox) = sandbox() else { return };
    let entry = |name: &str, content: &str| (name.to_owned(), content.as_bytes().to_vec());
    sandbox.tar_of("raw/1.tar", &[entry("d/b.txt", "second"), entry("d/b.json", "second"), entry("d/c.txt", "c")]);
    sandbox.tar_of("raw/0.tar", &[entry("a.txt", "a"), entry("d/b.txt", "first")]);
    const MARK: &str = "WARNING_SAME_KEY_IN_MULTIPLE_TAR_FILES";
    for (layout, name) in [("flat", "d%2Fb."), ("tree", "d/b."), ("folders", "d%2Fb/")] {
        let mut mount = Mount::say(&sandbox, &format!("mount raw mnt --layout {layout}"), "mnt");
        let mut lines = [String::new(), String::new()];
        mount.err.read_line(&mut lines[0]).unwrap();
        if layout == "tree" {
            mount.err.read_line(&mut lines[1]).unwrap();
            assert!(lines.concat().contains("1 key is repeated"), "{lines:?}");
        }
        let text = format!("{name}txt");
        let mark = mount.at.join(format!("{name}{MARK}"));
        assert_eq!(fs::read_to_string(mount.at.join(&text)).unwrap(), "first");
        assert!(!mount.at.join(format!("{name}json")).exists());
        if layout == "tree" {
            assert!(!mark.exists(), "a copy of the tree would have it, too");
        } else {
            let facts = mark.metadata().unwrap();
            assert!(facts.file_type().is_block_device() && facts.mode() & 0o7777 == 0);
        }
        let entries = walkdir::WalkDir::new(&mount.at).min_depth(1).into_iter().map(Result::unwrap);
        let paths: Vec<_> =
            entries.filter(|entry| !entry.file_type().is_dir()).map(|entry| entry.into_path()).collect();
        let names: std::collections::BTreeSet<_> = paths.iter().collect();
        let wanted = if layout == "tree" { 3 } else { 4 };
        assert_eq!((paths.len(), names.len()), (wanted, wanted), "{layout}: {paths:?}");
        assert!(names.contains(&mark) == (layout != "tree") && names.contains(&mount.at.join(text)));
        mount.unmount();
    }
}

#[test]
fn invalid_file_names_are_escaped_in_every_layout() {
    let Some(sandbox) = sandbox() else { return };
    let long = "é".repeat(200);
    let names = [
        "a.txt".to_owned(),
        "a.txt/b.json".to_owned(),
        "a.txt/b.c/d.json".to_owned(),
        "100%.txt".to_owned(),
        "line\nend%41.txt".to_owned(),
        format!("{long}.json"),
        format!("{long}x.json"),
        format!("{long}/y.json"),
    ];
    let entries: Vec<(String, Vec<u8>)> = names.iter().map(|name| (name.clone(), name.as_bytes().to_vec())).collect();
    sandbox.tar_of("data/0.tar", &entries);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    for layout in ["tree", "flat", "folders", "all"] {
        let mount = Mount::say(&sandbox, &format!("mount data mnt --layout {layout}"), "mnt");
        let shown = if layout == "all" { mount.at.join("samples") } else { mount.at.clone() };
        let (mut found, mut paths) = (Vec::new(), Vec::new());
        for entry in walkdir::WalkDir::new(&shown).min_depth(1) {
            let entry = entry.unwrap();
            assert!(entry.file_name().len() <= 255);
            if entry.file_type().is_file() {
                found.push(String::from_utf8(fs::read(entry.path()).unwrap()).unwrap());
                paths.push(entry.path().strip_prefix(&shown).unwrap().to_str().unwrap().to_owned());
            }
        }
        found.sort();
        let mut wanted = names.clone();
        wanted.sort();
        assert_eq!(found, wanted, "{layout}: {paths:?}");
        if layout == "tree" {
            assert!(paths.contains(&"a.txt%/b.json".to_owned()) && paths.contains(&"a.txt".to_owned()), "{paths:?}");
            for other in ["a.txt%", "a.txt%/b.c", "line%0Aend%2541.txt"] {
                assert!(shown.join(other).exists(), "{other}");
            }
            for other in ["a.txt%/b.c%", "100%25.txt", "a.tx%74", "line%0aend%2541.txt", "a.txt%%"] {
                assert!(!shown.join(other).exists(), "{other}");
            }
        }
        // A lookup without a previous listing.
        mount.unmount();
        let mount = Mount::say(&sandbox, &format!("mount data mnt --layout {layout}"), "mnt");
        let shown = if layout == "all" { mount.at.join("samples") } else { mount.at.clone() };
        for path in paths {
            assert!(shown.join(&path).is_file(), "{layout}: {path}");
        }
        mount.unmount();
    }
}

#[test]
fn similar_names_are_separate_files() {
    let Some(sandbox) = sandbox() else { return };
    let names = ["a.txt", "A.txt", "caf\u{e9}.txt", "cafe\u{301}.txt", "replaced\u{fffd}.txt"];
    let mut archive = tar::Builder::new(Vec::new());
    // Keys that are not UTF-8 are not in an index.
    let others: [&[u8]; 2] = [b"replaced\xff.txt", b"replaced\xfe.txt"];
    for name in names.iter().map(|name| name.as_bytes()).chain(others) {
        let mut header = tar::Header::new_gnu();
        header.set_size(name.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, std::ffi::OsStr::from_bytes(name), name).unwrap();
    }
    sandbox.write("data/0.tar", archive.into_inner().unwrap());
    sandbox.write("raw/0.tar", fs::read(sandbox.path("data/0.tar")).unwrap());
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(1);
    for data in ["data", "raw"] {
        for layout in ["tree", "flat"] {
            let mount = Mount::say(&sandbox, &format!("mount {data} mnt --layout {layout}"), "mnt");
            let mut listed: Vec<_> = fs::read_dir(&mount.at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            listed.sort_unstable();
            let mut wanted = names.map(std::ffi::OsString::from);
            wanted.sort_unstable();
            assert_eq!(listed, wanted, "{data}, {layout}");
            for name in names {
                assert_eq!(fs::read(mount.at.join(name)).unwrap(), name.as_bytes(), "{data}, {layout}");
            }
            unmount(&mount.at);
            // In a shard that is not indexed, names that are not UTF-8 are problems.
            assert_eq!(mount.end().0, i32::from(data == "raw"));
        }
    }
}

#[test]
fn large_folders_of_a_mount_are_listed_completely() {
    let Some(sandbox) = sandbox() else { return };
    let keys: Vec<String> = (0..3000).map(|n| format!("{}/{n:05}-{}", n % 2, "k".repeat(40))).collect();
    sandbox.tar("data/0.tar", &keys[..1000]);
    sandbox.tar("data/1.tar", &keys[1000..]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    for (layout, depth, wanted) in [("tree", 2, 6000), ("flat", 1, 6000), ("folders", 1, 3000), ("all", 2, 7)] {
        let mount = Mount::say(&sandbox, &format!("mount data mnt --layout {layout} --threads 3"), "mnt");
        let entries = walkdir::WalkDir::new(&mount.at).min_depth(depth).max_depth(depth);
        let names: std::collections::BTreeSet<_> =
            entries.into_iter().map(|entry| entry.unwrap().into_path()).collect();
        assert_eq!(names.len(), wanted, "{layout}");
        mount.unmount();
    }
}

#[test]
fn concurrent_readers_get_the_same_bytes() {
    let Some(sandbox) = sandbox() else { return };
    let content = |n: usize| (0..n * 1000).map(|i| (i * n) as u8).collect::<Vec<u8>>();
    let entries: Vec<(String, Vec<u8>)> = (0..200).map(|n| (format!("{n:03}.bin"), content(n))).collect();
    sandbox.tar_of("data/0.tar", &entries);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    let mount = Mount::say(&sandbox, "mount data mnt --threads 4", "mnt");
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let (at, entries) = (&mount.at, &entries);
            scope.spawn(move || {
                for place in 0..entries.len() {
                    let (name, content) = &entries[(place * 7 + reader * 25) % entries.len()];
                    assert!(fs::read(at.join(name)).unwrap() == *content, "{name}");
                }
            });
        }
    });
    mount.unmount();
}

#[test]
fn sigusr1_reloads_the_splits_of_a_mount() {
    let Some(sandbox) = prepared() else { return };
    let mut mount = Mount::say(&sandbox, "mount data mnt --split train", "mnt");
    let (file, folder) = (mount.at.join("b.txt"), mount.at.join("a"));
    assert!(file.exists() && folder.join("1.txt").exists());
    sandbox.write(
        "data/.nv-meta/split.yaml",
        "split_parts:\n  train:\n  - 0.tar\n  - 1.tar\nexclude:\n- 1.tar\n- 0.tar/a/1\n",
    );
    mount.kill(Signal::USR1);
    let mut line = String::new();
    mount.err.read_line(&mut line).unwrap();
    assert_eq!(line, "the splits were read again\n");
    assert!(!file.exists() && !folder.join("1.txt").exists() && folder.join("2.txt").exists());
    let names = |path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!((names(&mount.at), names(&folder).len()), (vec!["a".into()], 2));
    sandbox.write("data/.nv-meta/split.yaml", "split_parts: 1\n");
    mount.kill(Signal::USR1);
    mount.err.read_line(&mut line).unwrap();
    assert!(line.contains("split_parts") && folder.join("2.txt").exists(), "{line}");
    mount.kill(Signal::TERM);
    assert_eq!(mount.end().0, 143);
}

#[test]
fn shards_that_are_not_prepared_are_scanned_first() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.tar("raw/1.tar", ["b", "a/2"]);
    sandbox.tar("raw/0.tar", ["a/1", "c.d"]);
    for (layout, folder, file) in
        [("tree", "a", "a/2.txt"), ("flat", "", "a%2F2.txt"), ("folders", "a%2F2", "a%2F2/txt")]
    {
        let mut mount = Mount::say(&sandbox, &format!("mount raw mnt --layout {layout}"), "mnt");
        let mut line = String::new();
        mount.err.read_line(&mut line).unwrap();
        assert!(line.contains("gristmill prepare raw"), "{line}");
        assert_eq!(fs::read_to_string(mount.at.join(file)).unwrap(), "short a/2");
        let names = fs::read_dir(mount.at.join(folder)).unwrap().count();
        assert_eq!(
            names,
            if layout == "tree" {
                4
            } else if layout == "flat" {
                8
            } else {
                2
            }
        );
        mount.unmount();
    }
    assert!(!sandbox.has("raw/.nv-meta"));
}

/// Returns the paths of all files, sorted, with their content.
fn files(mount: &Mount) -> Vec<(String, String)> {
    let entries = walkdir::WalkDir::new(&mount.at).sort_by_file_name().into_iter().map(Result::unwrap);
    let entries = entries.filter(|entry| entry.file_type().is_file());
    entries
        .map(|entry| {
            let path = entry.path().strip_prefix(&mount.at).unwrap().to_str().unwrap().to_owned();
            (path, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn rows_of_tables_and_packed_lines_are_numbered_files() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.write("tables/a.csv", "text,n\none,1\ntwo,2\n");
    sandbox.write("tables/b.csv", "text,n\nthree,3\n");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, b"{\"text\": 1}\n{}\n").unwrap();
    sandbox.write("lines.jsonl.gz", packer.finish().unwrap());
    let mount = Mount::say(&sandbox, "mount tables mnt", "mnt");
    let found = files(&mount);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["000000000/0.json", "000000000/1.json", "000000000/2.json"]);
    assert!(found[0].1.contains("one") && found[1].1.contains("two") && found[2].1.contains("three"), "{found:?}");
    mount.unmount();
    let mount = Mount::say(&sandbox, "mount lines.jsonl.gz mnt --layout flat", "mnt");
    let wanted = [("0.json", "{\"text\": 1}\n"), ("1.json", "{}\n")];
    assert_eq!(files(&mount), wanted.map(|(name, text)| (name.to_owned(), text.to_owned())));
    mount.unmount();
}

#[test]
fn media_folders_are_mounted_without_hidden_names() {
    let Some(sandbox) = sandbox() else { return };
    let names = ["a.jpg", "a.txt", "b/README", "b/c.tar.gz", "b/d/e.wav", "x."];
    for name in names.into_iter().chain([".hidden/f.txt", "b/.g.txt"]) {
        sandbox.write(&format!("media/{name}"), name);
    }
    let mount = Mount::say(&sandbox, "mount media mnt", "mnt");
    let mut found = files(&mount);
    found.sort();
    assert_eq!(found, names.map(|name| (name.to_owned(), name.to_owned())));
    mount.unmount();
    let mount = Mount::say(&sandbox, "mount media mnt --layout flat", "mnt");
    assert_eq!((files(&mount).len(), fs::read(mount.at.join("b%2FREADME")).unwrap()), (6, b"b/README".to_vec()));
    mount.unmount();
}

#[test]
fn a_single_shard_is_mounted_and_listed_as_a_job() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.tar("one.tar", ["a/1", "b"]);
    let mount = Mount::say(&sandbox, "mount one.tar mnt", "mnt");
    assert_eq!(files(&mount).len(), 4);
    let (path, at) = (sandbox.path("one.tar").canonicalize().unwrap(), mount.at.to_str().unwrap().to_owned());
    let value = sandbox.say("jobs --json").ends(0).json("ok");
    let mounts = value["mounts"].as_array().unwrap();
    let found = mounts.iter().find(|mount| mount["path"] == path.to_str().unwrap()).unwrap();
    assert_eq!(found["mounted_at"], at);
    sandbox.say("jobs").ends(0).says(&format!("umount {at}"));
    mount.unmount();
}
