//! Tests of unusual archives, each for one behaviour.

use super::*;
use std::io::Write as _;

/// Returns a header block with a valid checksum.
fn block(name: &[u8], type_flag: u8, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::new(type_flag));
    header.set_mode(0o644);
    header.set_size(size);
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn entry(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = block(name, b'0', content.len() as u64);
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

fn pax(records: &str) -> Vec<u8> {
    let mut out = block(b"PaxHeader", b'x', records.len() as u64);
    out.extend_from_slice(records.as_bytes());
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

fn archive(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), vec![0; 1024]].concat()
}

#[test]
fn an_empty_file_and_an_archive_without_samples_are_problems() {
    for (bytes, end) in [(vec![], 0), (vec![0; 1024], 0), (archive(&[entry(b"noext", b"x")]), 1024)] {
        let found = scan_bytes(&bytes);
        assert_eq!((found.scan.samples, found.scan.end_offset), (0, end));
        assert_eq!(found.damage(), [ProblemKind::EmptyShard]);
    }
}

#[test]
fn sample_with_non_utf8_key_keeps_its_index_and_has_no_row() {
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), entry(b"b\xff.txt", b"2"), entry(b"c.txt", b"3")]));
    assert_eq!(found.keys(), ["a", "(hidden)", "c"]);
    assert_eq!(found.samples[1], ScannedSample { key: None, offset: 1024, size: 1024, parts: vec![] });
    assert_eq!((found.scan.samples, found.scan.end_offset), (3, 3072));
    assert_eq!(found.damage(), [ProblemKind::EntryNameNotUtf8]);
}

#[test]
fn a_part_name_that_is_not_utf8_hides_only_that_part() {
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), entry(b"a.\xfe", b"2"), entry(b"a.jpg", b"3")]));
    assert_eq!(
        found.samples,
        [ScannedSample {
            key: Some("a".into()),
            offset: 0,
            size: 3072,
            parts: vec![("txt".into(), 512, 1), ("jpg".into(), 2560, 1)]
        }]
    );
    assert_eq!(found.damage(), [ProblemKind::EntryNameNotUtf8]);
}

#[test]
fn skipped_entries_and_repeated_parts_are_reported_once_per_kind() {
    let parts = [
        entry(b"__meta__/x.txt", b""),
        entry(b"noext", b""),
        entry(b"a.txt", b"1"),
        entry(b"also", b""),
        entry(b"a.txt", b"2"),
        block(b"dir/", b'5', 0),
        block(b"link.txt", b'2', 0),
    ];
    let found = scan_bytes(&archive(&parts));
    assert_eq!(found.keys(), ["a"]);
    assert_eq!(found.samples[0].parts.len(), 2);
    assert_eq!(found.scan.parts["txt"], PartFacts { samples: 1, bytes: 2 });
    let note = |kind| (Severity::Note, kind);
    let kinds = [
        ProblemKind::UnnamedEntry,
        ProblemKind::SkippedEntryType,
        ProblemKind::ReservedName,
        ProblemKind::RepeatedPart,
    ];
    let linked = (Severity::Problem, ProblemKind::LinkedPart);
    assert_eq!(found.kinds(), [kinds.map(note).as_slice(), &[linked]].concat());
    assert!(found.problems.iter().any(|p| p.message.starts_with("2 entries without a part name")));
}

#[test]
fn too_large_pax_size_loses_only_its_own_entry() {
    let parts = [
        entry(b"a.txt", b"1"),
        pax("18 size=999999999\n"),
        entry(b"b.txt", b"2"),
        entry(b"c.txt", b"3"),
        entry(b"c.jpg", b"3"),
        entry(b"d.txt", b"4"),
    ];
    let found = scan_bytes(&archive(&parts));
    assert_eq!(found.keys(), ["a", "c", "d"]);
    assert_eq!(found.damage(), [ProblemKind::BadExtendedHeader]);
    assert_eq!(found.scan.damaged_keys, ["a", "c"]);
}

#[test]
fn smaller_pax_size_that_leads_to_a_header_is_taken_over_the_size_of_the_header() {
    let pax_zero = [pax("9 size=0\n"), block(b"b.txt", b'0', 3)].concat();
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), pax_zero, entry(b"c.txt", b""), entry(b"d.txt", b"4")]));
    assert_eq!((found.keys(), found.damage()), (vec!["a", "b", "c", "d"], vec![]));
    // A pax size that leads into the content is wrong.
    let pax_one = [pax("9 size=1\n"), entry(b"b.txt", &[7; 600])].concat();
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), pax_one, entry(b"c.txt", b""), entry(b"d.txt", b"4")]));
    assert_eq!((found.keys(), found.damage()), (vec!["a", "c", "d"], vec![ProblemKind::BadExtendedHeader]));
    // A larger pax size may skip entries.
    let pax_large = [pax("13 size=1025\n"), entry(b"b.txt", &[7; 100])].concat();
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), pax_large, entry(b"c.txt", b"3"), entry(b"d.txt", b"4")]));
    assert_eq!((found.keys(), found.damage()), (vec!["a", "c", "d"], vec![ProblemKind::BadExtendedHeader]));
}

#[test]
fn invalid_header_sizes_are_problems_without_panic() {
    for field in [
        [0xffu8; 12],
        [0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        [0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ] {
        for type_flag in b"0LKxgS" {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes().copy_from_slice(&block(b"b.txt", *type_flag, 0));
            header.as_mut_bytes()[124..136].copy_from_slice(&field);
            header.set_cksum();
            let found =
                scan_bytes(&archive(&[entry(b"a.txt", b"1"), header.as_bytes().to_vec(), entry(b"c.txt", b"2")]));
            assert_eq!(found.keys()[0], "a", "{}", *type_flag as char);
            assert!(!found.damage().is_empty());
        }
    }
}

#[test]
fn names_and_extended_headers_beyond_their_caps_are_refused() {
    let long = |size: usize| {
        let mut out = block(b"././@LongLink", b'L', size as u64);
        out.extend(std::iter::repeat_n(b'n', size));
        out.resize(out.len().next_multiple_of(512), 0);
        [out, entry(b"cut.txt", b"2")].concat()
    };
    let found = scan_bytes(&archive(&[
        entry(b"a.txt", b"1"),
        long((1 << 20) + 1),
        entry(b"c.txt", b"3"),
        entry(b"d.txt", b"4"),
    ]));
    assert_eq!(found.keys(), ["a", "c", "d"]);
    assert_eq!(found.damage(), [ProblemKind::BadExtendedHeader]);
    assert!(!found.scan.damaged_keys.contains(&"d".to_owned()));
    let many = block(b"k", b'K', 0).repeat(100);
    let found = scan_bytes(&archive(&[entry(b"a.txt", b"1"), many, entry(b"b.txt", b"2"), entry(b"c.txt", b"3")]));
    assert_eq!(found.keys(), ["a", "c"]);
}

#[test]
fn overlong_names_cost_no_other_sample() {
    let long = |name: &[u8]| {
        let mut out = block(b"././@LongLink", b'L', name.len() as u64);
        out.extend_from_slice(name);
        out.resize(out.len().next_multiple_of(512), 0);
        [out, entry(b"cut.txt", b"2")].concat()
    };
    let with = |name: &[u8]| {
        scan_bytes(&archive(&[entry(b"a.txt", b"1"), long(name), entry(b"c.txt", b"3"), entry(b"d.txt", b"4")]))
    };
    let found = with(&[&b"n".repeat(5000)[..], b".txt"].concat());
    assert_eq!((found.keys(), found.damage()), (vec!["a", "(hidden)", "c", "d"], vec![ProblemKind::BadName]));
    assert!(found.scan.damaged_keys.is_empty());
    assert_eq!((found.samples[0].size, found.samples[2].size), (1024, 1024), "no other sample has its bytes");
    let found = with(&b"n".repeat(5000));
    assert_eq!((found.keys(), found.damage()), (vec!["a", "c", "d"], vec![]), "a name without a dot is no part");
    for (name, lacking) in [("a", vec!["a", "c", "d"]), ("x", vec!["a", "x", "c", "d"])] {
        let found = with(&[name.as_bytes(), b".", &b"n".repeat(5000)].concat());
        assert_eq!((found.keys(), found.damage().contains(&ProblemKind::BadName)), (lacking, true));
        assert_eq!(found.scan.damaged_keys, [name], "it lacks the part");
    }
}

#[test]
fn a_cut_last_sample_is_not_counted() {
    let whole = archive(&[entry(b"a.txt", b"1"), entry(b"b.txt", b"2"), entry(b"b.jpg", &[7; 1000])]);
    let found = scan_bytes(&whole[..2800]);
    assert_eq!((found.keys(), found.scan.end_offset), (vec!["a"], 1024));
    assert_eq!(found.damage(), [ProblemKind::CutShort]);
    assert!(found.scan.damaged_keys.is_empty());
    let found = scan_bytes(&whole[..2200]);
    assert_eq!((found.keys(), found.scan.end_offset), (vec!["a", "b"], 2048));
    assert_eq!(found.scan.damaged_keys, ["b"], "its next part was cut in its header");
    let found = scan_bytes(&whole[..1024 + 300]);
    assert_eq!((found.keys(), found.scan.damaged_keys.len()), (vec!["a"], 0), "the cut header begins another sample");
}

#[test]
fn cut_end_mark_loses_no_sample() {
    let whole = [entry(b"a.txt", b"1"), entry(b"b.txt", b"2")].concat();
    for zeros in [1, 100, 511] {
        let found = scan_bytes(&[whole.clone(), vec![0; zeros]].concat());
        assert_eq!((found.scan.samples, found.problems.len()), (2, 1), "{:?}", found.problems);
        assert_eq!(found.problems[0].severity, Severity::Note);
    }
    let found = scan_bytes(&[whole, vec![0, 1]].concat());
    assert!(found.problems.iter().any(|problem| problem.kind == ProblemKind::CutShort));
    assert_eq!(found.scan.damaged_keys, ["b"], "that may be the beginning of its next part");
}

#[test]
fn a_second_archive_after_the_end_is_a_problem_and_junk_is_a_note() {
    let first = archive(&[entry(b"a.txt", b"1")]);
    let joined = [first.clone(), first.clone()].concat();
    assert_eq!(scan_bytes(&joined).damage(), [ProblemKind::JunkAfterEnd]);
    let junk = [first, b"junk".to_vec()].concat();
    assert_eq!(scan_bytes(&junk).kinds(), [(Severity::Note, ProblemKind::JunkAfterEnd)]);
}

#[test]
fn first_samples_of_a_shard_become_sketches() {
    let parts: Vec<_> = (0..20).map(|n| entry(format!("k{n}.txt").as_bytes(), b"x")).collect();
    let found = scan_bytes(&archive(&parts));
    assert_eq!(found.scan.sketches.len(), super::super::MAX_SKETCHES);
    assert_eq!(
        (found.scan.sketches[1].key.as_str(), &found.scan.sketches[1].parts),
        ("k1", &vec![("txt".into(), 1536, 1)])
    );
}

#[test]
fn long_shard_has_sketches_of_later_samples() {
    let parts: Vec<_> = (0..300).map(|n| entry(format!("k{n}.txt").as_bytes(), b"x")).collect();
    let found = scan_bytes(&archive(&parts));
    let kept: Vec<&str> = found.scan.sketches.iter().map(|sketch| sketch.key.as_str()).collect();
    assert_eq!(kept, ["k0", "k1", "k2", "k3", "k32", "k64", "k128", "k256"]);
}

/// The loader reads a global header together with the next entry: if the header were at the end of a sample, the first part of the next
/// sample would be added to that sample.
#[test]
fn a_global_header_belongs_to_the_sample_after_it() {
    let global = || {
        let mut out = block(b"pax_global_header", b'g', 13);
        out.extend_from_slice(b"13 comment=x\n");
        out.resize(out.len().next_multiple_of(512), 0);
        out
    };
    let parts = [
        global(),
        entry(b"a.txt", b"1"),
        global(),
        entry(b"a.json", b"{}"),
        global(),
        global(),
        entry(b"b.txt", b"2"),
        global(),
        block(b"dir/", b'5', 0),
        entry(b"c.txt", b"3"),
    ];
    let found = scan_bytes(&archive(&parts));
    let places: Vec<_> = found.samples.iter().map(|s| (s.key.as_deref().unwrap(), s.offset, s.size)).collect();
    // The loader reads the first sample from the first byte in any case; the index has the offset of the reference.
    assert_eq!(places, [("a", 1024, 3072), ("b", 4096, 4608), ("c", 8704, 1024)]);
    assert_eq!(found.damage(), []);
}

/// A non-ASCII name is stored in an extended header; without it the entry has a placeholder name.
#[test]
fn entries_without_their_extended_name_do_not_split_a_sample() {
    let named = |key: &str, part: &str| {
        let length = |n: usize| n + n.to_string().len();
        let rest = " path=".len() + key.len() + part.len() + 2;
        let mut out = pax(&format!("{} path={key}.{part}\n", length(rest)));
        out.extend(entry(format!("?.{part}").as_bytes(), part.as_bytes()));
        out
    };
    let parts: Vec<_> = ["é", "ö", "ü"].iter().flat_map(|key| ["a", "b", "c"].map(|part| named(key, part))).collect();
    let whole = scan_bytes(&archive(&parts));
    assert_eq!((whole.keys(), whole.damage()), (vec!["é", "ö", "ü"], vec![]));
    // Overwrites the extended header of the middle part of the middle sample.
    let mut bytes = archive(&parts);
    let at = parts[..4].concat().len();
    for (n, byte) in bytes[at..at + 512].iter_mut().enumerate() {
        *byte = (n * 89 + 7) as u8;
    }
    let found = scan_bytes(&bytes);
    assert_eq!(found.keys(), ["é", "ö", "ü"], "{:?}", found.problems);
    assert_eq!(found.scan.damaged_keys, ["ö"]);
    assert!(!found.scan.damaged_start);
    // Overwrites that of the last part: another sample follows, so it is unknown to which sample the placeholder belongs.
    let mut bytes = archive(&parts);
    let at = parts[..5].concat().len();
    for (n, byte) in bytes[at..at + 512].iter_mut().enumerate() {
        *byte = (n * 89 + 7) as u8;
    }
    let found = scan_bytes(&bytes);
    assert_eq!(found.keys(), ["é", "ö", "?", "ü"]);
    assert!(found.scan.damaged_keys.starts_with(&["ö".into(), "?".into()]), "{:?}", found.scan.damaged_keys);
}

#[test]
fn damage_before_the_first_sample_is_reported_for_the_whole_shard() {
    let parts = [block(b"dir/", b'5', 0), block(b"other/", b'5', 0), entry(b"a.txt", b"1"), entry(b"b.txt", b"2")];
    let mut bytes = archive(&parts);
    bytes[512 + 3] ^= 1;
    let found = scan_bytes(&bytes);
    assert_eq!(found.keys(), ["a", "b"]);
    assert!(found.scan.damaged_start);
    let whole = |p: &&Problem| p.kind == ProblemKind::SampleExcluded && p.subject.key.is_none();
    assert_eq!(found.problems.iter().filter(whole).count(), 1, "{:?}", found.problems);
    let mut bytes = archive(&parts);
    bytes[1024 + 3] ^= 1;
    assert!(scan_bytes(&bytes).scan.damaged_start, "the header of the first sample");
    let mut bytes = archive(&parts);
    bytes[2048 + 3] ^= 1;
    assert!(!scan_bytes(&bytes).scan.damaged_start, "that of the second");
}

#[test]
fn large_sparse_members_are_skipped_without_reading() {
    let mut file = tempfile::Builder::new().suffix(".tar").tempfile().unwrap();
    let size = 3u64 << 30;
    file.write_all(&block(b"a.bin", b'0', size)).unwrap();
    let second = std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(512 + size)).unwrap();
    file.write_all(&entry(b"b.bin", b"x")).unwrap();
    let start = std::time::Instant::now();
    let found = scan_path(file.path());
    assert_eq!(found.keys(), ["a", "b"]);
    assert_eq!((found.samples[1].offset, found.bytes_done), (second, second + 1024));
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "content is not read");
}

#[test]
fn broken_compressed_stream_gives_the_samples_before_the_damage() {
    let parts: Vec<_> = (0..200u32)
        .map(|n| {
            entry(
                format!("k{n}.bin").as_bytes(),
                &(0..3000u32).map(|i| ((i * i * (n + 7)) >> 5) as u8).collect::<Vec<_>>(),
            )
        })
        .collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&archive(&parts)).unwrap();
    let packed = encoder.finish().unwrap();
    let found = scan_bytes(&packed[..packed.len() / 2]);
    assert!(found.scan.samples > 50 && found.scan.samples < 150);
    assert_eq!(found.damage(), [ProblemKind::CompressedShard, ProblemKind::CutShort]);
}

#[test]
fn a_compression_bomb_ends_at_the_cap() {
    let zeros = vec![0u8; 1 << 20];
    let mut inner = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    inner.write_all(&block(b"a.bin", b'0', 1 << 40)).unwrap();
    for _ in 0..100 {
        inner.write_all(&zeros).unwrap();
    }
    let found = scan_bytes(&inner.finish().unwrap());
    assert_eq!(found.scan.samples, 0);
    let told = found.problems.iter().any(|p| p.kind == ProblemKind::CutShort && p.message.contains("1000 times"));
    assert!(told, "{:?}", found.problems);
}

/// A sink that modifies the file when the first sample arrives.
struct ModifyingSink<F: FnMut()>(F);

impl<F: FnMut()> ScanSink for ModifyingSink<F> {
    fn part(&mut self, _: PartRow<'_>) -> Outcome<()> {
        Ok(())
    }
    fn sample(&mut self, _: SampleRow<'_>) -> Outcome<()> {
        (self.0)();
        Ok(())
    }
    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Ok(())
    }
}

fn scan_while(path: &Path, meddle: impl FnMut()) -> (Outcome<ShardScan>, Vec<Problem>) {
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let result = scan_shard(&shard_at(path), &mut ModifyingSink(meddle), &handles);
    (result, log.to_vec())
}

#[test]
fn a_shard_that_grows_shrinks_vanishes_or_is_replaced_is_a_problem() {
    let bytes = archive(&[entry(b"a.txt", b"1"), entry(b"b.txt", b"2")]);
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = dir.path().join(name);
        gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, &bytes, 0o644).unwrap();
        path
    };
    let (path, other) = (put("a.tar"), put("b.tar"));
    let changed = |problems: &[Problem]| problems.iter().any(|p| p.kind == ProblemKind::ChangedDuringScan);
    assert!(!changed(&scan_while(&path, || {}).1));
    let grow = |size: i64| {
        let fd = rustix::fs::open(&path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty()).unwrap();
        rustix::fs::ftruncate(&fd, (bytes.len() as i64 + size) as u64).unwrap();
    };
    assert!(changed(&scan_while(&path, || grow(512)).1));
    assert!(changed(&scan_while(&path, || grow(-512)).1));
    assert!(changed(&scan_while(&path, || drop(std::fs::rename(&other, &path))).1));
    let (result, problems) = scan_while(&path, || drop(std::fs::remove_file(&path)));
    assert!(result.is_ok() && changed(&problems));
    let (result, _) = scan_while_missing(&path);
    assert_eq!(result.unwrap_err().class, ExitClass::Environment);
}

fn scan_while_missing(path: &Path) -> (Outcome<ShardScan>, Vec<Problem>) {
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let shard =
        Shard { name: "gone.tar".into(), path: path.to_owned(), stamp: FileStamp::default(), mode: 0, is_tgz: false };
    (scan_shard(&shard, &mut Recorder::default(), &handles), log.to_vec())
}

#[test]
fn cancelled_scan_ends_within_a_few_entries() {
    let parts: Vec<_> = (0..3000).map(|n| entry(format!("k{n}.txt").as_bytes(), b"x")).collect();
    let mut file = tempfile::Builder::new().suffix(".tar").tempfile().unwrap();
    file.write_all(&archive(&parts)).unwrap();
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut seen = 0;
    let result = scan_shard(
        &shard_at(file.path()),
        &mut ModifyingSink(|| {
            seen += 1;
            cancel.cancel()
        }),
        &handles,
    );
    assert!(result.unwrap_err().is_cancelled());
    assert!(seen <= 1000, "{seen} samples after the stop");
}
