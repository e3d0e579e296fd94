use super::*;

#[test]
fn number_fields_are_read_as_the_reference_reads_them() {
    let cases: &[(&[u8], Option<i128>)] = &[
        (b"0000644\0", Some(0o644)),
        (b"000644 \0", Some(0o644)),
        (b"    644\0", Some(0o644)),
        (b"644     ", Some(0o644)),
        (b"\0\0\0\0\0\0\0\0", Some(0)),
        (b"        ", Some(0)),
        (b"12\0xyz\0\0", Some(0o12)),
        (b"0o17\0\0\0\0", Some(0o17)),
        (b"-5\0\0\0\0\0\0", Some(-5)),
        (b"1_0\0\0\0\0\0", Some(8)),
        (b"1__0\0\0\0\0", None),
        (b"_1\0\0\0\0\0\0", None),
        (b"1_\0\0\0\0\0\0", None),
        (b"8\0\0\0\0\0\0\0", None),
        (b"1 2\0\0\0\0\0", None),
        (b"\xc3\xa4\0\0\0\0\0\0", None),
        (b"\x80\0\0\0\0\0\x01\x02", Some(258)),
        (b"\xff\xff\xff\xff\xff\xff\xff\xfe", Some(-2)),
        (b"\x81\0\0\0\0\0\0\x01", None),
    ];
    for (field, expected) in cases {
        assert_eq!(number(field), *expected, "{field:?}");
        assert_eq!(is_number(field), expected.is_some(), "{field:?}");
    }
}

#[test]
fn a_signed_checksum_is_accepted_and_a_wrong_one_is_not() {
    let mut block = [0u8; BLOCK];
    block[..6].copy_from_slice("ä.txt".as_bytes());
    block[156] = b'0';
    let signed = signed_sum(&block);
    assert_ne!(i64::from(signed), i64::from(unsigned_sum(&block)));
    block[148..156].copy_from_slice(format!("{signed:06o}\0 ").as_bytes());
    assert!(matches!(classify(&block), Block::Header(_)));
    block[0] ^= 1;
    assert!(matches!(classify(&block), Block::Bad(_)));
}

#[test]
fn old_style_folder_entries_are_recognized_by_trailing_slash() {
    let mut block = [0u8; BLOCK];
    block[..4].copy_from_slice(b"a.b/");
    let sum = unsigned_sum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let Block::Header(h) = classify(&block) else { panic!("a good header") };
    assert_eq!(h.type_flag, b'5');
    assert!(!h.has_content() && !h.is_regular());
}
