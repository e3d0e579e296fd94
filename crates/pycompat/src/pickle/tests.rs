use super::*;
use gristmill_core::Outcome;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

fn pickled(items: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    write_index(items.len() as u64, items.iter().copied(), &mut out).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Outcome<Vec<(u64, u64)>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("i.idx");
    write_file(&RealFs, &path, bytes, 0o600).unwrap();
    let file = open_read(&path).unwrap();
    let mut reader = IndexReader::new(&file, 0..file.len());
    let mut items = Vec::new();
    while let Some(item) = reader.next_item()? {
        items.push(item);
    }
    assert_eq!(reader.next_item().unwrap(), None, "after the end there is nothing");
    Ok(items)
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Executes the operations that [`write_index`] uses as a pickle machine does, independently of the reader.
fn model(bytes: &[u8]) -> Vec<(u64, u64)> {
    let (mut at, mut list, mut numbers) = (2, Vec::new(), Vec::<u64>::new());
    let number = |at: usize, count: usize| (0..count).rev().fold(0u128, |n, i| (n << 8) | u128::from(bytes[at + i]));
    assert_eq!(bytes[..2], [0x80, 4]);
    let mut frame_end = None;
    loop {
        let operation = bytes[at];
        at += 1;
        if operation == 0x95 {
            assert!(frame_end.is_none_or(|end| end == at - 1), "frames follow each other");
            let length = number(at, 8) as usize;
            at += 8;
            frame_end = Some(at + length);
            continue;
        }
        let count = match operation {
            b'K' => 1,
            b'M' => 2,
            b'J' => 4,
            0x8a => {
                at += 1;
                usize::from(bytes[at - 1])
            }
            _ => 0,
        };
        match operation {
            b'K' | b'M' | b'J' | 0x8a => numbers.push(u64::try_from(number(at, count)).unwrap()),
            0x86 => list.push((numbers[numbers.len() - 2], numbers[numbers.len() - 1])),
            b'.' => break,
            b']' | 0x94 | b'(' | b'e' | b'a' => {}
            other => panic!("operation {other:02x}"),
        }
        at += count;
    }
    assert_eq!(at, bytes.len());
    assert!(frame_end.is_none_or(|end| end == at), "the last frame ends with the file");
    list
}

#[test]
fn short_pickled_lists_match_byte_for_byte() {
    assert_eq!(pickled(&[]), b"\x80\x04]\x94.");
    let one = [0x80, 4, 0x95, 11, 0, 0, 0, 0, 0, 0, 0, b']', 0x94, b'K', 0, b'M', 0, 1, 0x86, 0x94, b'a', b'.'];
    assert_eq!(pickled(&[(0, 256)]), one);
    let far = pickled(&[(1 << 31, (1 << 31) - 1), (u64::MAX, 0)]);
    assert!(far.windows(7).any(|bytes| bytes == [0x8a, 5, 0, 0, 0, 0x80, 0]));
    assert!(far.windows(5).any(|bytes| bytes == [b'J', 0xff, 0xff, 0xff, 0x7f]));
    assert!(far.windows(11).any(|bytes| bytes == [0x8a, 9, 255, 255, 255, 255, 255, 255, 255, 255, 0]));
}

/// Checks against checksums of the output of CPython 3.11 for `[(i * step, i % 70_000) for i in range(count)]` with protocol 4.
#[test]
fn long_pickled_lists_match_byte_for_byte() {
    for (count, step, expected) in KNOWN {
        let items: Vec<_> = (0..count).map(|i| (i * step, i % 70_000)).collect();
        let bytes = pickled(&items);
        assert_eq!(sum(&bytes), expected, "{count} items, {step} apart");
        assert_eq!(read(&bytes).unwrap(), items);
    }
}

const KNOWN: [(u64, u64, &str); 9] = [
    (2, 7, "6f2a3da870025832"),
    (999, 300, "2cce67b9082e1c4c"),
    (1000, 300, "9caf25e267809e02"),
    (1001, 300, "883852f8d1d691f8"),
    (2000, 65537, "d64dd61e4a3c8510"),
    (6543, 5, "e9e070e124fd3718"),
    (30001, 1000003, "52d69e8ff2df4890"),
    (300001, 4300007, "261686861c067a13"),
    (70000, 8589934592, "bd89b8c9b75b23dd"),
];

#[test]
fn other_pickle_encodings_of_a_list_are_read() {
    let list = vec![(5, 6), (7, 70_000)];
    let tail = b"K\x07Jp\x11\x01\x00";
    // Protocol 2 with numbered memo; one group without memo or frame; pairs by mark; pairs as lists; decimals; each variant separately.
    let spellings: [&[&[u8]]; 6] = [
        &[b"\x80\x02]q\x00(K\x05K\x06\x86q\x01", tail, b"\x86q\x02e."],
        &[b"\x80\x05](K\x05K\x06\x86", tail, b"\x86e."],
        &[b"\x80\x03]r\x00\x00\x00\x00((K\x05K\x06tq\x01(", tail, b"te."],
        &[b"\x80\x04]\x94(]\x94(K\x05K\x06e]\x94(", tail, b"ee."],
        &[b"\x80\x02](I5\nL6L\n\x86", tail, b"\x86e."],
        &[b"\x80\x04]K\x05\x8b\x01\x00\x00\x00\x06\x86a", tail, b"\x86a."],
    ];
    for pieces in spellings {
        let bytes = pieces.concat();
        assert_eq!(read(&bytes).unwrap(), list, "{}", bytes.escape_ascii());
    }
}

#[test]
fn memoized_pickle_pair_is_read_again() {
    assert_eq!(read(b"\x80\x04]\x94(K\x05K\x06\x86\x94h\x01j\x01\x00\x00\x00e.").unwrap(), [(5, 6); 3]);
    assert!(read(b"\x80\x04]\x94(h\x00e.").is_err(), "a list inside of itself");
    assert!(read(b"\x80\x04]\x94(h\x07e.").is_err());
}

#[test]
fn pickle_that_would_run_code_is_refused() {
    let harmful: [&[u8]; 7] = [
        b"\x80\x04cos\nsystem\n(X\x02\x00\x00\x00ls\x85R.",
        b"\x80\x04]\x94(K\x01K\x02\x86\x94cos\nsystem\n.",
        b"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00]\x93.",
        b"\x80\x02]R.",
        b"\x80\x02]\x81.",
        b"\x80\x02]b.",
        b"\x80\x02]\x92.",
    ];
    for bytes in harmful {
        let failure = read(bytes).unwrap_err();
        let is_reported = failure.why.contains("code") || failure.why.contains("something else");
        assert!(is_reported, "{}: {failure}", bytes.escape_ascii());
    }
    assert!(read(harmful[0]).unwrap_err().hint.is_some());
}

#[test]
fn pickle_other_than_a_list_of_pairs_is_refused() {
    let wrong: [&[u8]; 16] = [
        b"",
        b"\x80",
        b"\x80\x01].",
        b"\x80\x04",
        b"\x80\x04]",
        b"\x80\x04N.",
        b"\x80\x04]\x94(K\x01K\x02\x86.",
        b"\x80\x04]\x94(K\x01e.",
        b"\x80\x04]\x94(K\x01K\x02K\x03te.",
        b"\x80\x04]\x94(J\xff\xff\xff\xffK\x02\x86e.",
        b"\x80\x04]\x94(\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xffK\x02\x86e.",
        b"\x80\x04]\x94(\x8b\xff\xff\xff\xff\x00",
        b"\x80\x04]\x94(I01\nK\x02\x86e.",
        b"\x80\x04]\x94.more",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff]\x94.",
        b"\x80\x04]\x94(K\x01K\x02\x86K\x03K\x04te.",
    ];
    for bytes in wrong {
        assert!(read(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    // Endless marks and numbers do not accumulate.
    assert!(read(&[&b"\x80\x04]"[..], &[b'('; 100_000]].concat()).is_err());
    assert!(read(&[&b"\x80\x04]("[..], &[b'K'; 100_000]].concat()).is_err());
}

#[test]
fn truncated_pickle_is_refused() {
    let items: Vec<_> = (0..1_500).map(|i| (i * 1_000, 1_000)).collect();
    let bytes = pickled(&items);
    for end in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
}

proptest! {
    #[test]
    fn pickled_pairs_are_read_back(items in proptest::collection::vec((any::<u64>(), 0u64..100_000), 0..2_500), shift in 0u32..64) {
        let items: Vec<_> = items.into_iter().map(|(offset, length)| (offset >> shift, length)).collect();
        let bytes = pickled(&items);
        prop_assert_eq!(model(&bytes), items.clone());
        prop_assert_eq!(read(&bytes).unwrap(), items);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(
        prop_oneof![Just(b'('), Just(b']'), Just(b'K'), Just(0x86), Just(b'e'), Just(0x94), Just(b't'), Just(b'h'), any::<u8>()], 0..60,
    )) {
        let _ = read(&[&[0x80, 4][..], &bytes].concat());
        let _ = read(&bytes);
    }
}
