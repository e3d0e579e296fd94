use super::*;
use gristmill_core::{Cancel, FileStamp, NullProblemSink, Progress};
use gristmill_storage::fs::RealFs;
use gristmill_storage::read::stamp_at;
use std::io::Read as _;
use std::path::PathBuf;
use tar::{Builder, EntryType};

const SHARD: &str = "x/s.tar";

/// Name, type, target of a link, and content of an entry.
type Listed = (String, EntryType, Option<String>, Vec<u8>);

fn listed(bytes: &[u8]) -> Vec<Listed> {
    let mut archive = tar::Archive::new(bytes);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let (name, kind) = (text(&entry.path_bytes()), entry.header().entry_type());
        let link = entry.link_name_bytes().map(|link| text(&link));
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (name, kind, link, content)
    });
    entries.collect()
}

fn prefixed(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("s.tar"), folder.path().join("new"));
    gristmill_storage::publish::write_file(&RealFs, &path, bytes, 0o640).unwrap();
    let stamp = stamp_at(&path).unwrap();
    let shard = Shard { name: SHARD.into(), path, stamp, mode: 0o640, is_tgz: false };
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &NullProblemSink };
    let written = write_prefixed(&RealFs, &shard, "x/s.tar/", &target, &handles);
    match written {
        Ok(()) => {
            assert_eq!(progress.read().bytes_done, bytes.len() as u64);
            Ok(std::fs::read(target).unwrap())
        }
        Err(failure) => {
            assert!(!target.exists(), "{failure}");
            Err(failure)
        }
    }
}

fn add(builder: &mut Builder<Vec<u8>>, mut header: tar::Header, name: &str, content: &[u8]) {
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    builder.append_data(&mut header, name, content).unwrap();
}

fn add_link(builder: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, target: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(0);
    builder.append_link(&mut header, name, target).unwrap();
}

#[test]
fn every_entry_name_gets_the_prefix_and_contents_are_unchanged() {
    let long = |length: usize| format!("d/{}.txt", "n".repeat(length));
    let deep = format!("{}/{}.txt", "d".repeat(80), "n".repeat(80));
    let mut builder = Builder::new(Vec::new());
    let mut folder = tar::Header::new_ustar();
    folder.set_entry_type(EntryType::Directory);
    add(&mut builder, folder, "d/", b"");
    add(&mut builder, tar::Header::new_ustar(), "d/a.txt", b"ustar");
    add(&mut builder, tar::Header::new_gnu(), "d/b.txt", &[7; 700]);
    add(&mut builder, tar::Header::new_old(), "d/c.txt", b"old");
    for length in [80, 90, 92, 120, 3_000] {
        add(&mut builder, tar::Header::new_gnu(), &long(length), b"long");
    }
    add(&mut builder, tar::Header::new_old(), &long(90), b"old and long");
    add(&mut builder, tar::Header::new_ustar(), &deep, b"two fields");
    builder.append_pax_extensions([("comment", b"kept".as_slice())]).unwrap();
    add(&mut builder, tar::Header::new_ustar(), &long(90), b"its name is added to its records");
    builder.append_pax_extensions([("path", "d/ü.txt".as_bytes()), ("comment", b"kept")]).unwrap();
    add(&mut builder, tar::Header::new_ustar(), "d/_.txt", b"named by a record");
    add(&mut builder, tar::Header::new_ustar(), "d/._a.txt", b"of macOS");
    add_link(&mut builder, EntryType::Link, "d/hard.txt", "d/a.txt");
    add_link(&mut builder, EntryType::Link, "d/far.txt", &long(95));
    add_link(&mut builder, EntryType::Symlink, "d/soft.txt", "a.txt");
    add(&mut builder, tar::Header::new_ustar(), "__meta__/k.txt", b"readers skip it");
    let old = builder.into_inner().unwrap();
    let new = prefixed(&old).unwrap();
    let expected: Vec<Listed> = listed(&old)
        .into_iter()
        .map(|(name, kind, link, content)| {
            let with = |name: String| if name.starts_with("__") { name } else { format!("x/s.tar/{name}") };
            (with(name), kind, if kind == EntryType::Link { link.map(with) } else { link }, content)
        })
        .collect();
    assert_eq!(expected.len(), 18);
    assert_eq!(listed(&new), expected);
    assert_eq!(memchr::memmem::find_iter(&new, b"comment=kept").count(), 2);

    // The walk of a scan must find the same names.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.tar");
    gristmill_storage::publish::write_file(&RealFs, &path, &new, 0o600).unwrap();
    let mut names = Vec::new();
    let take = &mut |item: crate::source::tar::SpanItem<'_>| match item {
        crate::source::tar::SpanItem::Entry(entry) => {
            names.push(String::from_utf8_lossy(entry.name).into_owned());
            true
        }
        crate::source::tar::SpanItem::Damage(at, why) => panic!("{at}: {why}"),
    };
    let file = Arc::new(open_read(&path).unwrap());
    crate::source::tar::each_entry(&file, 0, u64::MAX, &Cancel::default(), take).unwrap();
    assert_eq!(names, expected.iter().map(|entry| entry.0.clone()).collect::<Vec<_>>());
}

#[test]
fn prefix_that_fits_changes_only_header_blocks() {
    let mut builder = Builder::new(Vec::new());
    add(&mut builder, tar::Header::new_ustar(), "a.txt", b"one");
    add(&mut builder, tar::Header::new_ustar(), "b.txt", &[1; 600]);
    let mut old = builder.into_inner().unwrap();
    old.extend_from_slice(b"after the end");
    let new = prefixed(&old).unwrap();
    assert_eq!(new.len(), old.len());
    let different: Vec<usize> =
        (0..old.len() / 512).filter(|n| old[n * 512..][..512] != new[n * 512..][..512]).collect();
    assert_eq!(different, [0, 2]);
    assert!(new.ends_with(b"after the end"));
}

#[test]
fn prefixing_a_damaged_or_compressed_shard_is_refused_without_output() {
    let mut builder = Builder::new(Vec::new());
    for number in 0..4 {
        add(&mut builder, tar::Header::new_ustar(), &format!("{number}.txt"), &[1; 600]);
    }
    let whole = builder.into_inner().unwrap();
    let mut damaged = whole.clone();
    damaged[1_536] ^= 0x40;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &whole).unwrap();
    let long = {
        let mut builder = Builder::new(Vec::new());
        add(&mut builder, tar::Header::new_gnu(), &format!("{}.txt", "n".repeat(4_088)), b"");
        builder.into_inner().unwrap()
    };
    let cases: [(&[u8], &str); 6] = [
        (&damaged, "checksum"),
        (&whole[..1_700], "ends inside"),
        (&whole[..2_500], "ends inside"),
        (&[9; 600], "not a tar"),
        (&packed.finish().unwrap(), "gzip"),
        (&long, "too long"),
    ];
    for (bytes, why) in cases {
        let failure = prefixed(bytes).unwrap_err();
        assert!(failure.why.contains(why) && failure.hint.is_some(), "{why}: {failure:?}");
        assert_eq!(failure.subject.shard.as_deref(), Some(SHARD));
    }
}

#[test]
fn prefixing_a_shard_that_changed_since_listing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("s.tar");
    gristmill_storage::publish::write_file(&RealFs, &path, &[0; 1_024], 0o640).unwrap();
    let shard = Shard { name: SHARD.into(), path, stamp: FileStamp::default(), mode: 0o640, is_tgz: false };
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &NullProblemSink };
    let failure = write_prefixed(&RealFs, &shard, "p/", &folder.path().join("new"), &handles).unwrap_err();
    assert_eq!(failure.kind, Some(ProblemKind::ChangedDuringScan));
}
