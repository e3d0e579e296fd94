use super::super::super::super::reader::testing::{numbers, report};
use super::super::index::testing::index;
use super::*;
use crate::browse::open_tokens;
use crate::engine::browse::{SampleAt, TokenView};
use gristmill_core::pack::TokenType;
use gristmill_core::DatasetKind;
use gristmill_data::source::kind::kind_of;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;

/// Creates a pair with documents of these lengths.
fn pair(lengths: &[i32]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let some: Vec<i32> = lengths.iter().copied().filter(|length| *length > 0).collect();
    let counts: Vec<u32> = lengths.iter().map(|length| u32::from(*length > 0)).collect();
    let index = index(TokenType::U16, &some, &counts, &[]);
    let tokens: i32 = lengths.iter().sum();
    let tokens: Vec<u8> = (0..tokens as u16).flat_map(u16::to_le_bytes).collect();
    put(folder.path(), "a_text_document.idx", &index);
    put(folder.path(), "a_text_document.bin", &tokens);
    folder
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    write_file(&RealFs, &folder.join(name), bytes, 0o644).unwrap();
}

#[test]
fn megatron_pair_is_recognized_by_each_path_and_by_its_folder() {
    let folder = pair(&[3, 0, 2]);
    let at = |name: &str| kind_of(&folder.path().join(name)).unwrap();
    for name in ["a_text_document.idx", "a_text_document.bin", "a_text_document"] {
        assert_eq!(at(name), DatasetKind::Tokens(&PAIR), "{name}");
    }
    assert_eq!(at(""), DatasetKind::Tokens(&FOLDER));
    assert!(kind_of(&folder.path().join("a_text")).is_err());
    assert!(kind_of(&folder.path().join("c_text_document.bin")).is_err());
    put(folder.path(), "b.idx", b"MMIDIDX");
    assert_eq!(at("b.idx"), DatasetKind::OtherFile);
}

#[test]
fn megatron_documents_without_tokens_are_rows() {
    let folder = pair(&[3, 0, 2]);
    let catalog = open_tokens(folder.path(), &TokenView::default()).unwrap();
    let rows = catalog.samples(SampleAt::default(), 10, &Cancel::default()).unwrap();
    let spans: Vec<(u64, u64)> = rows.iter().map(|row| (row.byte_offset, row.byte_size)).collect();
    assert_eq!(spans, [(0, 6), (0, 0), (6, 4)]);
    assert!(rows.iter().all(|row| row.defect.is_none()));
}

#[test]
fn signed_megatron_token_ids_are_read_as_signed() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a_text_document.idx", &index(TokenType::I32, &[3], &[1], &[]));
    let tokens = [5, -100, i32::MAX].map(i32::to_le_bytes).concat();
    put(folder.path(), "a_text_document.bin", &tokens);
    let catalog = open_tokens(folder.path(), &TokenView::default()).unwrap();
    let rows = catalog.samples(SampleAt::default(), 1, &Cancel::default()).unwrap();
    let (code, bytes) = catalog.tokens().unwrap().ids_of(&rows[0]).unwrap();
    assert_eq!((code.numpy().as_str(), bytes), ("<i4", 12));
    assert_eq!(code.ids(&tokens), [5, -100, i128::from(i32::MAX)]);
    let preview = crate::engine::browse::tokens::page(catalog.tokens().unwrap(), &rows[0], 0, 0, &Cancel::default());
    assert!(format!("{:?}", preview.body).contains("-100"));
}

#[test]
fn megatron_problems_are_reported_with_the_first_number() {
    assert_eq!(report(&FolderReader, pair(&[3, 0, 2]).path(), Some(9)), "");
    assert!(report(&FolderReader, pair(&[]).path(), None).contains("there are no documents, and readers"));
    assert!(report(&FolderReader, pair(&[0, 0]).path(), None).contains("no document has a token"));
    assert!(report(&FolderReader, pair(&[3, 2]).path(), Some(3)).contains("1 token; the first, token 4, is 4"));
    let changed = |at: usize, byte: u8| {
        let folder = pair(&[3, 0, 2]);
        let path = folder.path().join("a_text_document.idx");
        let mut bytes = std::fs::read(path).unwrap();
        bytes[at] = byte;
        put(folder.path(), "a_text_document.idx", &bytes);
        report(&FolderReader, folder.path(), None)
    };
    assert!(changed(9, 2).contains("version 1, but of 2"));
    assert!(changed(17, 9).contains("type 9 is unknown"));
    assert!(changed(18, 3).contains("3 sequences and 4 document marks do not fit"));
    assert!(changed(26, 9).contains("9 document marks do not fit"));
    assert!(changed(37, 0x80).contains("sequence 0 has a length of -"));
    assert!(changed(50, 7).contains("sequence 1 is at byte 7, and should be at 6"));
    assert!(changed(38, 1).contains("end at byte 8, and the .bin file has 10"));
    assert!(changed(58, 1).contains("the mark of document 0 is 1"));
    assert!(changed(74, 0).contains("the mark of document 2 is 0, after 1"));
    assert!(changed(82, 1).contains("ends with sequence 1, and it has 2"));
    let folder = pair(&[3]);
    put(folder.path(), "b_text_document.bin", b"");
    assert!(report(&FolderReader, folder.path(), None).contains("is not finished"));
    let unfinished = folder.path().join("b_text_document.bin");
    assert_eq!(kind_of(&unfinished).unwrap(), DatasetKind::Tokens(&PAIR));
    assert!(report(&FolderReader, &unfinished, None).contains("is not finished"));
}

#[test]
fn damaged_indexes_are_refused_and_never_panic() {
    let mut next = numbers(0x5EED_0003);
    let folder = pair(&[3, 0, 2, 9, 1]);
    let index = std::fs::read(folder.path().join("a_text_document.idx")).unwrap();
    let mut noticed = 0;
    for _ in 0..1_000 {
        let mut damaged = index.clone();
        let at = next(damaged.len());
        match next(4) {
            0 => damaged.truncate(at),
            1 => damaged[at] ^= 1 << next(8),
            2 => damaged.insert(at, next(256) as u8),
            _ => damaged.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0xff),
        }
        put(folder.path(), "a_text_document.idx", &damaged);
        noticed += u32::from(!report(&FolderReader, folder.path(), None).is_empty());
        if let Ok(catalog) = open_tokens(folder.path(), &TokenView::default()) {
            let _ = catalog.samples(SampleAt::default(), 10, &Cancel::default());
        }
    }
    assert!(noticed > 900, "{noticed} noticed");
}

#[test]
fn wrong_first_document_boundary_is_a_defect_of_the_first_document() {
    let folder = pair(&[3, 2]);
    let path = folder.path().join("a_text_document.idx");
    let mut bytes = std::fs::read(path).unwrap();
    let first = bytes.len() - 3 * 8;
    bytes[first] = 2;
    put(folder.path(), "a_text_document.idx", &bytes);
    let catalog = open_tokens(folder.path(), &TokenView::default()).unwrap();
    let rows = catalog.samples(SampleAt::default(), 10, &Cancel::default()).unwrap();
    assert_eq!(rows.iter().map(|row| row.defect.is_some()).collect::<Vec<_>>(), [true, false]);
}
