use super::super::index::testing::index;
use super::*;
use gristmill_core::pack::TokenType;
use gristmill_storage::publish::write_file;

const LENGTHS: [i32; 4] = [3, 2, 1, 4];
const COUNTS: [u32; 3] = [1, 0, 3];

/// Repairs an index after a change. Returns the number of repairs and whether the index equals the original, or why it cannot be repaired.
fn repaired(change: impl Fn(&mut Vec<u8>)) -> Result<(u64, bool), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.idx");
    let right = index(TokenType::U16, &LENGTHS, &COUNTS, &[]);
    let mut bytes = right.clone();
    change(&mut bytes);
    write_file(&RealFs, &path, &bytes, 0o644).unwrap();
    write_file(&RealFs, &folder.path().join("a.bin"), &[0; 20], 0o644).unwrap();
    let task = start_repair(&path, false, RunOptions::default()).unwrap();
    let report = task.wait().map_err(|failure| failure.why)?;
    let now = std::fs::read(&path).unwrap();
    assert_eq!(report.backup.is_some(), report.repaired > 0);
    if let Some(backup) = &report.backup {
        assert_eq!(std::fs::read(backup).unwrap(), bytes, "the old index is kept");
    }
    Ok((report.repaired, now == right))
}

fn set<const N: usize>(at: usize, number: [u8; N]) -> impl Fn(&mut Vec<u8>) {
    move |bytes| bytes[at..at + N].copy_from_slice(&number)
}

#[test]
fn derivable_megatron_index_values_are_repaired() {
    let (lengths, offsets) = (34, 34 + 16);
    let marks = offsets + 32;
    assert_eq!(repaired(|_| ()), Ok((0, true)));
    assert_eq!(repaired(set(offsets + 8, 7_u64.to_le_bytes())), Ok((1, true)));
    assert_eq!(repaired(set(offsets, [0xff; 32])), Ok((4, true)));
    assert_eq!(repaired(set(lengths + 4, 9_i32.to_le_bytes())), Ok((1, true)));
    assert_eq!(repaired(set(lengths, (-1_i32).to_le_bytes())), Ok((1, true)));
    assert_eq!(repaired(set(marks, 1_u64.to_le_bytes())), Ok((1, true)));
    assert_eq!(repaired(set(marks + 24, 9_u64.to_le_bytes())), Ok((1, true)));
    let both = |bytes: &mut Vec<u8>| {
        set(offsets + 8, [0xff; 8])(bytes);
        set(marks + 24, [0xff; 8])(bytes);
    };
    assert_eq!(repaired(both), Ok((1, true)));
}

#[test]
fn ambiguous_megatron_index_damage_is_refused() {
    let (lengths, offsets) = (34, 34 + 16);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| repaired(change).unwrap_err();
    assert!(refused(&set(lengths + 12, 5_i32.to_le_bytes())).contains("neither"), "the last length");
    let swapped = |bytes: &mut Vec<u8>| {
        set(lengths, 2_i32.to_le_bytes())(bytes);
        set(lengths + 4, 3_i32.to_le_bytes())(bytes);
    };
    assert!(refused(&swapped).contains("either could be right"));
    let both = |bytes: &mut Vec<u8>| {
        set(lengths, 9_i32.to_le_bytes())(bytes);
        set(offsets + 8, 1_u64.to_le_bytes())(bytes);
    };
    assert!(refused(&both).contains("neither"));
    assert!(refused(&set(offsets + 32 + 8, 7_u64.to_le_bytes())).contains("the mark of document 1"));
    assert!(refused(&set(18, 9_u64.to_le_bytes())).contains("do not fit"));
}
