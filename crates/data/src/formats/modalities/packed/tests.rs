use super::*;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use proptest::prelude::*;

fn open(bytes: &[u8]) -> Outcome<PackedReader> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pbin");
    write_file(&RealFs, &path, bytes, 0o600).unwrap();
    PackedReader::open(open_read(&path).unwrap())
}

#[test]
fn a_file_without_documents_is_opened() {
    let packed = open(b"\0\0\0\0\0\0\0\0\x02\0\0\0\x80\x04]\x94.").unwrap();
    assert_eq!((packed.documents(), packed.tokens(), packed.index_at()), (0, 0, 12));
    assert!(packed.layout().is_current());
    assert_eq!(packed.items().next_item().unwrap(), None);
}

#[test]
fn out_of_bounds_spans_of_packed_file_are_not_read() {
    let packed =
        open(b"\x04\0\0\0\0\0\0\0\x02\0\0\0\x01\x00\x02\x00\x80\x04]\x94(K\x02K\x02\x86K\x03K\x09\x86e.").unwrap();
    let index = packed.load_index(&Cancel::default()).unwrap();
    assert_eq!((index.get(0), index.get(1), index.get(2)), (Some((2, 2)), Some((3, 9)), None));
    assert!(
        packed.contains_span(2, 2)
            && !packed.contains_span(3, 1)
            && !packed.contains_span(2, 4)
            && !packed.contains_span(u64::MAX, 2)
    );
    let mut bytes = [0; 2];
    packed.read(2, &mut bytes).unwrap();
    assert_eq!(packed.layout().token(&bytes), 2);
    assert!(packed.read(3, &mut bytes).is_err());
    assert!(packed.read(u64::MAX, &mut bytes).is_err());
}

#[test]
fn unfinished_packed_file_is_refused_with_the_reason() {
    assert!(open(&[0; 12]).unwrap_err().why.contains("did not end"));
    assert!(open(b"\x00").unwrap_err().why.contains("too short"));
    assert!(open(b"\xff\0\0\0\0\0\0\0\x02\0\0\0ab").unwrap_err().why.contains("255 bytes"));
}

proptest! {
    #[test]
    fn any_bytes_are_opened_without_panic(
        data in 0u64..40,
        size in 0u32..6,
        rest in proptest::collection::vec(prop_oneof![Just(0x80), Just(4u8), Just(b']'), Just(b'('), Just(b'K'), Just(0x86), Just(b'e'), Just(b'.'), any::<u8>()], 0..60),
    ) {
        let bytes = [&data.to_le_bytes()[..], &size.to_le_bytes(), &rest].concat();
        if let Ok(packed) = open(&bytes) {
            prop_assert!(packed.index_at() < packed.file().len());
        }
        let _ = open(&rest);
    }
}
