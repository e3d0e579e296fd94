use super::super::super::super::reader::testing::{check, numbers, report, with_handles};
use super::*;
use crate::browse::open_tokens;
use crate::engine::browse::{SampleAt, TokenView};
use flate2::write::GzEncoder;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use std::io::Write as _;

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/olmo").join(case).join("expected")
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/olmo");
    let cases = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("expected"));
    cases.filter(|path| path.is_dir()).collect()
}

fn info(folder: &Path) -> DatasetInfo {
    with_handles(|handles| PartsReader.info(folder, None, handles)).0.unwrap()
}

/// Creates a set of one token file and its table.
fn set(tokens: &[u8], rows: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut table = GzEncoder::new(Vec::new(), flate2::Compression::default());
    table.write_all(rows.as_bytes()).unwrap();
    write_file(&RealFs, &folder.path().join("part-0-00000.npy"), tokens, 0o644).unwrap();
    write_file(&RealFs, &folder.path().join("part-0-00000.csv.gz"), &table.finish().unwrap(), 0o644).unwrap();
    folder
}

#[test]
fn olmo_sets_of_the_reference_have_no_problems_and_all_documents_as_rows() {
    assert!(cases().len() >= 7);
    for case in cases() {
        let info = info(&case);
        assert!(info.problems.is_empty() && info.items > 0, "{case:?}: {:?}", info.problems);
        for depth in [Depth::Index, Depth::Tokens] {
            let (checked, problems) = check(&PartsReader, &case, depth, Some(u32::MAX));
            assert_eq!((checked.unwrap().samples, problems), (info.items, Vec::new()), "{case:?}");
        }
        let tokenizer = case.join("../../tokenizers/bpe1k.json").display().to_string();
        let view = TokenView { tokenizer: Some(tokenizer), ..TokenView::default() };
        let catalog = open_tokens(&case, &view).unwrap();
        let cancel = Cancel::default();
        // Documents are listed in the background.
        while catalog.groups().groups.iter().any(|group| !group.is_counted) {
            std::thread::yield_now();
        }
        let rows = catalog.samples(SampleAt::default(), 10_000, &cancel).unwrap();
        assert_eq!(rows.len() as u64, info.items, "{case:?}");
        assert_eq!(rows.iter().map(|row| row.byte_size).sum::<u64>(), info.bytes, "{case:?}");
    }
}

#[test]
fn inconsistent_olmo_files_are_reported() {
    let report = |tokens: &[u8], rows: &str| report(&PartsReader, set(tokens, rows).path(), Some(9));
    assert_eq!(report(&[1, 0, 9, 0], "0,1,a,b,1\r\n1,2,a,b,2\r\n"), "");
    assert_eq!(report(&[], ""), "there is no document: the pair of files is empty");
    assert!(report(&[1, 0, 9], "0,2,a,b,1\r\n").contains("end at token 2, and the .npy file has 3 bytes"));
    assert!(report(&[1, 0, 9, 0], "0,1,a,b,1\r\n2,2,a,b,2\r\n").contains("row 1 is from token 2"));
    assert!(report(&[1, 0, 10, 0], "0,2,a,b,1\r\n").contains("not ids of the test; the first, token 1, is 10"));
    assert!(report(&[1, 10], "0,2,a,b,1\r\n").contains("the first, token 1, is 10"), "one byte a token");
    let folder = set(&[1, 0], "0,1,a,b,1\r\n");
    std::fs::rename(folder.path().join("part-0-00000.csv.gz"), folder.path().join("other.csv.gz")).unwrap();
    let problems = check(&PartsReader, folder.path(), Depth::Index, None).1;
    assert_eq!(problems.iter().filter(|problem| problem.message.contains("is missing")).count(), 2, "{problems:?}");
}

#[test]
fn damaged_tables_are_refused_and_never_panic() {
    let mut next = numbers(0x5EED_0002);
    let from = golden("o05_csv_quoting");
    let folder = tempfile::tempdir().unwrap();
    let tokens = std::fs::read(from.join("part-0-00000.npy")).unwrap();
    write_file(&RealFs, &folder.path().join("part-0-00000.npy"), &tokens, 0o644).unwrap();
    let table = std::fs::read(from.join("part-0-00000.csv.gz")).unwrap();
    let mut noticed = 0;
    for _ in 0..500 {
        let mut damaged = table.clone();
        let at = next(damaged.len());
        match next(3) {
            0 => damaged.truncate(at),
            1 => damaged[at] ^= 1 << next(8),
            _ => damaged.insert(at, next(256) as u8),
        }
        write_file(&RealFs, &folder.path().join("part-0-00000.csv.gz"), &damaged, 0o644).unwrap();
        noticed += u32::from(!report(&PartsReader, folder.path(), None).is_empty());
    }
    assert!(noticed > 400, "{noticed} noticed");
}
