//! Data that a mount omits or cannot read: rows, samples and shards with damage are problems, and excluded samples are in no split.

use super::{prepared, sandbox, unmount, Mount};
use std::collections::BTreeSet;
use std::fs;

/// Returns the names of all files of a mount, below its folder.
fn names(mount: &Mount) -> BTreeSet<String> {
    let entries = walkdir::WalkDir::new(&mount.at).into_iter().map(Result::unwrap);
    let entries = entries.filter(|entry| entry.file_type().is_file());
    entries.map(|entry| entry.path().strip_prefix(&mount.at).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Returns the files whose content is an input/output error. They are not empty, so that programs that copy them read them.
fn unreadable(mount: &Mount, names: &BTreeSet<String>) -> Vec<String> {
    let is_unreadable = |name: &&String| match fs::read(mount.at.join(name)) {
        Ok(content) => {
            assert!(!content.is_empty(), "{name}");
            false
        }
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(5), "{name}: {error}");
            assert_eq!(fs::metadata(mount.at.join(name)).unwrap().len(), 1, "{name}");
            true
        }
    };
    names.iter().filter(is_unreadable).cloned().collect()
}

#[test]
fn unreadable_rows_of_a_mount_are_problems() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.write("rows/a.csv", "text,n\none,1\ntwo,2,3\nthree,3\n");
    sandbox.write("rows/b.csv", b"text,n\n\xff,1\nfive,5\n");
    let value = sandbox.say("mount rows mnt --dry-run --json").ends(1).json("problems");
    let problems: Vec<String> = value["problems"].as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("a.csv") && problems[0].contains("row 1: the row has more cells"), "{problems:?}");
    assert!(problems[1].contains("b.csv") && problems[1].contains("row 0"), "{problems:?}");
    let mut mount = Mount::say(&sandbox, "mount rows mnt", "mnt");
    let shown: BTreeSet<String> = (0..5).map(|number| format!("000000000/{number}.json")).collect();
    assert_eq!(names(&mount), shown);
    assert_eq!(unreadable(&mount, &shown), ["000000000/1.json", "000000000/3.json"]);
    unmount(&mount.at);
    assert_eq!(mount.child.wait().unwrap().code(), Some(1));
    // Lines are shown unchanged.
    sandbox.write("lines.jsonl", "{\"a\": 1}\nnothing\n");
    let mount = Mount::say(&sandbox, "mount lines.jsonl mnt --layout flat", "mnt");
    assert_eq!(fs::read_to_string(mount.at.join("1.json")).unwrap(), "nothing\n");
    mount.unmount();
}

#[test]
fn rows_of_a_damaged_row_group_are_files_with_read_errors() {
    let Some(sandbox) = sandbox() else { return };
    let mut table = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/parquet/p02_codecs_and_encodings/input/6-zstd.parquet"
    ))
    .unwrap();
    sandbox.write("whole.parquet", &table);
    let mount = Mount::say(&sandbox, "mount whole.parquet mnt --layout flat", "mnt");
    let whole = names(&mount);
    assert_eq!(unreadable(&mount, &whole), [""; 0]);
    mount.unmount();
    table[200] ^= 1;
    sandbox.write("a.parquet", &table);
    let mount = Mount::say(&sandbox, "mount a.parquet mnt --layout flat", "mnt");
    let shown = names(&mount);
    assert_eq!(shown, whole);
    let damaged = unreadable(&mount, &shown);
    assert!(damaged.contains(&"0.json".to_owned()) && !damaged.contains(&"15.json".to_owned()), "{damaged:?}");
    unmount(&mount.at);
    let (code, printed) = mount.end();
    assert_eq!((code, printed.matches("cannot be read").count()), (1, 1), "{printed}");
    assert!(printed.contains("warning: a.parquet"), "{printed}");
}

#[test]
fn line_in_which_a_compressed_file_ends_is_a_file_with_a_read_error() {
    let Some(sandbox) = sandbox() else { return };
    let text: String =
        (0..2_000_u64).map(|n| format!("{{\"n\": {}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    sandbox.write("a.jsonl.gz", &packed[..packed.len() / 2]);
    let mount = Mount::say(&sandbox, "mount a.jsonl.gz mnt --layout flat", "mnt");
    let shown = names(&mount);
    assert_eq!(unreadable(&mount, &shown), [format!("{}.json", shown.len() - 1)]);
    unmount(&mount.at);
    assert_eq!(mount.end().0, 1);
}

#[test]
fn damage_found_by_the_scan_of_a_mount_is_a_problem() {
    let Some(sandbox) = sandbox() else { return };
    sandbox.tar("raw/0.tar", ["a", "b", "c"]);
    sandbox.tar("raw/1.tar", ["d"]);
    let mut shard = sandbox.read("raw/0.tar");
    // The checksum of the second sample's first header.
    let place = shard.windows(5).position(|bytes| bytes == b"b.txt").unwrap();
    shard[place + 148] = b'x';
    sandbox.write("raw/0.tar", shard);
    let ran = sandbox.say("mount raw mnt --dry-run").ends(1);
    assert!(ran.err.contains("0.tar") && ran.err.contains("checksum"), "{}", ran.err);
    let mut mount = Mount::say(&sandbox, "mount raw mnt", "mnt");
    let shown = names(&mount);
    assert!(shown.contains("a.txt") && shown.contains("d.txt") && !shown.contains("b.txt"), "{shown:?}");
    unmount(&mount.at);
    assert_eq!(mount.child.wait().unwrap().code(), Some(1));
}

#[test]
fn excluded_samples_are_mounted_only_in_the_excluded_folder() {
    let Some(sandbox) = prepared() else { return };
    sandbox.say("splits exclude data 0.tar/a/1 1.tar").ends(0);
    for (layout, shown) in [("tree", "a/2.txt"), ("flat", "a%2F2.txt"), ("folders", "a%2F2/txt")] {
        let mount = Mount::say(&sandbox, &format!("mount data mnt --split train --layout {layout}"), "mnt");
        let names = names(&mount);
        assert_eq!(names, BTreeSet::from([shown.to_owned(), shown.replace("txt", "json")]), "{layout}");
        mount.unmount();
        // Without a split, every sample is shown.
        let mount = Mount::say(&sandbox, &format!("mount data mnt --layout {layout}"), "mnt");
        assert_eq!(self::names(&mount).len(), 6, "{layout}");
        mount.unmount();
    }
    let mount = Mount::say(&sandbox, "mount data mnt --layout all", "mnt");
    let below = |folder: &str| names(&mount).into_iter().filter(|name| name.starts_with(folder)).collect::<Vec<_>>();
    assert_eq!(below("splits/train/"), ["splits/train/0.tar/a%2F2.json", "splits/train/0.tar/a%2F2.txt"]);
    assert_eq!(below("excluded/0.tar/"), ["excluded/0.tar/a%2F1.json", "excluded/0.tar/a%2F1.txt"]);
    assert_eq!(below("excluded/1.tar/"), ["excluded/1.tar/b.json", "excluded/1.tar/b.txt"]);
    mount.unmount();
}
