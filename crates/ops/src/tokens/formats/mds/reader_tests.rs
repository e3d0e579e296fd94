use super::super::super::super::reader::testing::{check, numbers, report, with_handles};
use super::*;
use std::path::PathBuf;

const GOLDEN: [&str; 5] = ["d01_fixed", "d02_shards_hashes", "d03_no_wrap", "d04_bos_and_template", "d05_zstd"];

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mds").join(case).join("expected")
}

/// Creates a set of one shard with these samples.
fn set(columns: &str, samples: &[&[u8]]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config =
        format!(r#"{{{columns}, "compression": null, "format": "mds", "hashes": [], "size_limit": 9, "version": 2}}"#);
    let first = (8 + 4 * samples.len() + config.len()) as u32;
    let mut bytes = (samples.len() as u32).to_le_bytes().to_vec();
    let ends = samples.iter().scan(first, |end, sample| {
        *end += sample.len() as u32;
        Some(*end)
    });
    std::iter::once(first).chain(ends).for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend(config.as_bytes());
    samples.iter().for_each(|sample| bytes.extend(*sample));
    let raw = format!(r#""raw_data": {{"basename": "shard.00000.mds", "bytes": {}, "hashes": {{}}}}"#, bytes.len());
    let shard = config.replace("{\"column_e", &format!("{{{raw}, \"samples\": {}, \"column_e", samples.len()));
    write(folder.path(), "shard.00000.mds", &bytes);
    write(folder.path(), INDEX, format!(r#"{{"shards": [{shard}], "version": 2}}"#).as_bytes());
    folder
}

const INDEX: &str = super::super::index::INDEX;
const TOKENS: &str = r#""column_encodings": ["ndarray:int32"], "column_names": ["tokens"], "column_sizes": [null]"#;

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &folder.join(name), bytes, 0o644).unwrap();
}

#[test]
fn mds_sets_of_the_reference_have_no_problems() {
    for case in GOLDEN {
        let (info, _) = with_handles(|handles| ShardsReader.info(&golden(case), None, handles));
        let info = info.unwrap();
        assert!(info.problems.is_empty() && info.items > 0 && info.result["sample_size"].as_u64() > Some(0), "{case}");
        for depth in [Depth::Index, Depth::Tokens] {
            let (done, problems) = check(&ShardsReader, &golden(case), depth, None);
            assert_eq!((done.unwrap().samples, problems), (info.items, Vec::new()), "{case}");
        }
    }
}

#[test]
fn invalid_mds_samples_are_reported_with_the_reason() {
    let good: &[u8] = &[6, 0, 0, 0, 4, 1, 9, 0, 0, 0];
    assert_eq!(report(&ShardsReader, set(TOKENS, &[good, good]).path(), Some(9)), "");
    let of = |sample: &[u8]| report(&ShardsReader, set(TOKENS, &[good, sample]).path(), Some(9));
    assert!(of(&[7, 0, 0, 0, 4, 1, 9, 0, 0, 0]).contains("sample 1 has 10 bytes, and its column 7"));
    assert!(of(&[7, 0, 0, 0, 8, 1, 1, 9, 0, 0, 0]).contains("2 dimensions"));
    assert!(of(&[6, 0, 0, 0, 4, 2, 9, 0, 0, 0]).contains("a shape of 2 tokens"));
    let huge = [13, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 0];
    assert!(of(&huge).contains("a shape of 4611686018427387904 tokens"));
    assert!(of(&[10, 0, 0, 0, 4, 2, 9, 0, 0, 0, 9, 0, 0, 0])
        .contains("without the 1 token of the first one of the set: 1, beginning with sample 1"));
    assert!(of(&[6, 0, 0, 0, 4, 1, 10, 0, 0, 0]).contains("not ids of the test, the first is 10 in sample 1"));
    assert!(of(&[6, 0, 0, 0, 4, 1, 255, 255, 255, 255]).contains("the first is -1"));
}

#[test]
fn wrong_first_mds_sample_is_reported_by_every_command() {
    let folder = set(TOKENS, &[&[7, 0, 0, 0, 8, 1, 1, 9, 0, 0, 0]]);
    let (info, _) = with_handles(|handles| ShardsReader.info(folder.path(), None, handles));
    let of_info = info.unwrap().problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>();
    assert_eq!(of_info, ["sample 0 has 2 dimensions, and tokens have one"]);
    for depth in [Depth::Index, Depth::Tokens] {
        let (_, problems) = check(&ShardsReader, folder.path(), depth, None);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(problems.len() == 1 && problems[0].contains("sample 0 has 2 dimensions"), "{problems:?}");
    }
}

#[test]
fn mds_samples_of_other_columns_are_checked_by_length() {
    let columns = r#""column_encodings": ["int16", "str", "pkl"], "column_names": ["a", "b", "c"], "column_sizes": [2, null, null]"#;
    let good: &[u8] = &[1, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7];
    let folder = set(columns, &[good]);
    assert_eq!(report(&ShardsReader, folder.path(), None), "");
    let (info, _) = with_handles(|handles| ShardsReader.info(folder.path(), None, handles));
    assert_eq!(info.unwrap().facts[1], ("columns", "a (int16), b (str), c (pkl)".to_owned()));
    assert!(report(&ShardsReader, set(columns, &[&[1, 0, 0, 0, 1, 0, 0, 0, 5, 6, 7]]).path(), None)
        .contains("its columns 12"));
    assert!(report(&ShardsReader, set(columns, &[&[1, 0, 0]]).path(), None).contains("sample 0"));
}

#[test]
fn mds_indexes_that_contradict_the_files_are_refused() {
    let good: &[u8] = &[6, 0, 0, 0, 4, 1, 9, 0, 0, 0];
    let changed = |from: &str, to: &str| {
        let folder = set(TOKENS, &[good]);
        let text = std::fs::read_to_string(folder.path().join(INDEX)).unwrap();
        assert!(text.contains(from), "{text}");
        write(folder.path(), INDEX, text.replace(from, to).as_bytes());
        report(&ShardsReader, folder.path(), None)
    };
    assert!(changed("\"basename\": \"shard", "\"basename\": \"../shard").contains("not the name of a file"));
    assert!(changed("shard.00000", "shard.00001").contains("no such file"));
    assert!(changed("\"samples\": 1", "\"samples\": 2").contains("index.json has 2"));
    assert!(changed("\"samples\": 1", "\"samples\": 99").contains("too few for 99 samples"));
    assert!(changed("\"size_limit\": 9", "\"size_limit\": 8").contains("not the one in index.json"));
    assert!(changed("\"version\": 2}], \"version\": 2", "\"version\": 2}], \"version\": 3").contains("version is 3"));
    assert!(changed("\"hashes\": {}", "\"hashes\": {\"md5\": \"00\"}").contains("its md5 is"));
    assert!(changed("\"hashes\": {}", "\"hashes\": {\"later\": \"00\"}").is_empty(), "an unknown hash");
    assert!(changed("{\"shards\"", "\"shards\"").contains("reading the index"));
}

/// Changes a few bytes of a file, its length, or a number in it.
fn damage(bytes: &mut Vec<u8>, next: &mut impl FnMut(usize) -> usize) {
    for _ in 0..=next(3) {
        let area = if next(3) > 0 { bytes.len().min(400) } else { bytes.len() };
        let at = next(area.max(1));
        match next(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), next(256) as u8),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] ^= 1 << next(8),
            _ => {
                let word = [0, 1, 0x7fff_ffff, u32::MAX, bytes.len() as u32][next(5)].to_le_bytes();
                bytes.iter_mut().skip(at / 4 * 4).zip(word).for_each(|(byte, new)| *byte = new);
            }
        }
    }
}

#[test]
fn damaged_sets_are_refused_and_never_panic() {
    let mut next = numbers(0x5EED_0001);
    let mut noticed = 0;
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_000 {
        let from = golden(GOLDEN[number % GOLDEN.len()]);
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(from)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        let damaged = next(files.len());
        damage(&mut files[damaged].1, &mut next);
        files.iter().for_each(|(name, bytes)| write(folder.path(), name, bytes));
        let _ = with_handles(|handles| ShardsReader.info(folder.path(), None, handles).map(drop));
        noticed += u32::from(!report(&ShardsReader, folder.path(), Some(1_100)).is_empty());
    }
    assert!(noticed > 700, "{noticed} noticed");
}
