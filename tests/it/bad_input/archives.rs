//! Archives that are empty, damaged or cut short.

use super::sandbox::{excludes, indexed_parts, keys, shard_counts, splits, tar_idx, Sandbox};
use super::tars::{archive, checksum, content, entry, header, pax_entry, sample, samples};
use crate::support::{picture, put, text_shard};

/// Returns a sandbox with an intact shard next to the bad one, so that some samples are usable.
fn sandbox_with_shard(name: &str, bytes: &[u8]) -> Sandbox {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("a", 3)));
    put(&sandbox.at(name), bytes);
    sandbox
}

#[track_caller]
fn assert_kept(sandbox: &Sandbox, shard: &str, wanted: &[&str]) {
    let parts = indexed_parts(&sandbox.data());
    for key in wanted {
        for part in ["txt", "cls"] {
            let place = (shard.to_owned(), (*key).to_owned(), part.to_owned());
            assert_eq!(parts.get(&place), Some(&content(key, part)), "{place:?}");
        }
    }
    assert_eq!(keys(&sandbox.data(), shard), wanted);
}

#[test]
fn an_empty_file_is_a_shard_without_samples_and_a_problem() {
    let sandbox = sandbox_with_shard("b.tar", b"");
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    let problem = ran.problem("empty-shard");
    assert_eq!((problem["subject"]["shard"].as_str(), problem["severity"].as_str()), (Some("b.tar"), Some("problem")));
    assert!(problem["message"].as_str().unwrap().contains("empty"), "{problem}");
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 3), ("b.tar".to_owned(), 0)]);
    assert_eq!(tar_idx(&sandbox.data(), "b.tar"), [0]);
    assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
}

#[test]
fn archive_of_only_end_blocks_is_an_empty_shard() {
    let sandbox = sandbox_with_shard("b.tar", &archive(&[]));
    let ran = sandbox.prepare(&[]);
    assert_eq!((ran.code, ran.counted("empty-shard")), (1, 1), "{ran}");
    assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
    assert_eq!(sandbox.prepare(&["--force-overwrite", "--problems-ok"]).code, 0);
}

#[test]
fn data_set_of_one_empty_shard_is_prepared_with_a_problem() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), b"");
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(ran.counted("empty-shard"), 1);
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 0)]);
    assert!(sandbox.run(["info", ".", "--json"]).code <= 1);
}

#[test]
fn an_archive_with_only_unnamed_entries_has_no_sample_and_each_entry_is_a_note() {
    let pieces = [entry(b"README", b"x"), entry(b".hidden.txt", b"x"), entry(b"folder/noext", b"x")];
    let sandbox = sandbox_with_shard("b.tar", &archive(&pieces));
    let ran = sandbox.prepare(&[]);
    assert_eq!((ran.code, ran.counted("empty-shard")), (1, 1), "{ran}");
    let note = ran.problem("unnamed-entry");
    assert_eq!(note["severity"], "note");
    assert!(note["message"].as_str().unwrap().contains('3'), "the notes are counted: {note}");
    assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
}

#[test]
fn damaged_header_excludes_only_the_samples_that_it_touches() {
    let mut bytes = archive(&samples("b", 6));
    // The header of the second part of b2.
    bytes[2 * 2048 + 1024 + 10] ^= 0xff;
    let sandbox = sandbox_with_shard("b.tar", &bytes);
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    let damage = ran.problem("damaged-header");
    assert_eq!(
        (damage["subject"]["shard"].as_str(), damage["subject"]["byte_offset"].as_u64()),
        (Some("b.tar"), Some(5120))
    );
    let parts = indexed_parts(&sandbox.data());
    for key in ["b0", "b1", "b3", "b4", "b5"] {
        let place = |part: &str| ("b.tar".to_owned(), key.to_owned(), part.to_owned());
        assert_eq!(parts.get(&place("txt")), Some(&content(key, "txt")), "{key}");
        assert_eq!(parts.get(&place("cls")), Some(&content(key, "cls")), "{key}");
    }
    let out = excludes(&sandbox.data());
    assert!(out.contains(&"b.tar/b2".to_owned()), "{out:?}");
    for sound in ["b0", "b1", "b4", "b5"] {
        assert!(!out.contains(&format!("b.tar/{sound}")), "{out:?}");
    }
    assert_eq!(ran.counted("sample-excluded"), out.len() as u64, "each excluded sample is listed");
    // A user may have combined the items with braces since; each sample is reported again.
    let path = sandbox.at(".nv-meta/split.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let items: String = out.iter().map(|item| format!("- {item}\n")).collect();
    let names: Vec<&str> = out.iter().filter_map(|item| item.strip_prefix("b.tar/")).collect();
    assert!(text.contains(&items) && names.len() > 1, "{text}");
    put(&path, text.replace(&items, &format!("- b.tar/{{{}}}\n", names.join(","))).as_bytes());
    let again = sandbox.prepare(&[]);
    assert_eq!((again.code, again.counted("sample-excluded")), (1, out.len() as u64), "{again}");
    assert!(splits(&sandbox.data()).iter().any(|(_, shards)| shards.contains(&"b.tar".to_owned())));
}

#[test]
fn shard_with_invalid_first_header_is_not_a_tar_and_others_are_prepared() {
    let sandbox = sandbox_with_shard("b.tar", &[0x41; 4096]);
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.problem("damaged-header")["message"].as_str().unwrap().contains("not a tar"));
    assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
}

#[test]
fn cut_header_keeps_all_earlier_samples() {
    let whole = samples("b", 4).concat();
    for cut in [1, 99, 100, 257, 511] {
        // Inside the first header of b3.
        let sandbox = sandbox_with_shard("b.tar", &whole[..3 * 2048 + cut]);
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 1, "cut {cut}: {ran}");
        let problem = ran.problem("cut-short");
        assert_eq!(problem["subject"]["shard"], "b.tar");
        assert!(problem["message"].as_str().unwrap().contains("inside a header"), "{problem}");
        assert_kept(&sandbox, "b.tar", &["b0", "b1", "b2"]);
        assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
        assert_eq!(tar_idx(&sandbox.data(), "b.tar"), [0, 2048, 4096, 6144]);
        assert!(!excludes(&sandbox.data()).iter().any(|item| item.ends_with("/b0") || item.ends_with("/b1")));
    }
}

#[test]
fn cut_content_loses_only_the_last_sample() {
    let whole = samples("b", 3).concat();
    for cut in [2 * 2048 + 512, 2 * 2048 + 514, 2 * 2048 + 1024 + 512, 2 * 2048 + 1024 + 515] {
        let sandbox = sandbox_with_shard("b.tar", &whole[..cut]);
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 1, "cut {cut}: {ran}");
        assert!(ran.problem("cut-short")["message"].as_str().unwrap().contains("not counted"), "{ran}");
        assert_kept(&sandbox, "b.tar", &["b0", "b1"]);
        assert_eq!(tar_idx(&sandbox.data(), "b.tar"), [0, 2048, 4096], "cut {cut}");
    }
}

#[test]
fn shard_cut_at_any_position_keeps_complete_samples() {
    let whole = archive(&samples("b", 3));
    for cut in (0..whole.len()).step_by(256) {
        let sandbox = sandbox_with_shard("b.tar", &whole[..cut]);
        let ran = sandbox.prepare(&[]);
        let said = ran.counted("cut-short") + ran.counted("empty-shard");
        // A tar usually ends with two end blocks; one is sufficient, and so is a cut within the zeros.
        assert!(said > 0 || cut >= 3 * 2048, "cut {cut}: {ran}");
        let whole_samples = cut / 2048;
        let kept = keys(&sandbox.data(), "b.tar");
        for number in 0..whole_samples.min(3) {
            assert!(kept.contains(&format!("b{number}")), "cut {cut}: {kept:?}");
        }
        assert!(shard_counts(&sandbox.data())[1].1 as usize >= whole_samples.min(3));
    }
}

#[test]
fn invalid_pax_size_is_a_problem_and_other_samples_are_kept() {
    for size in ["99999999999999", "9223372036854775807", "18446744073709551616", "-5", "1e3", "0x10"] {
        let lying = pax_entry(&[("size", size.as_bytes())], b"b1.txt", b"small");
        let pieces = [sample("b0"), lying, sample("b2"), sample("b3")];
        let sandbox = sandbox_with_shard("b.tar", &archive(&pieces));
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 1, "{size}: {ran}");
        assert!(ran.counted("bad-extended-header") > 0, "{size}: {ran}");
        let kept = keys(&sandbox.data(), "b.tar");
        for key in ["b0", "b2", "b3"] {
            assert!(kept.contains(&key.to_owned()), "{size}: {kept:?}");
        }
        let out = excludes(&sandbox.data());
        assert!(!out.contains(&"b.tar/b3".to_owned()), "{size}: {out:?}");
        assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
    }
}

#[test]
fn impossible_entry_sizes_keep_earlier_samples() {
    let mut huge = header(b"b1.txt", 0, b'0');
    huge[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    checksum(&mut huge);
    let mut negative = header(b"b1.txt", 0, b'0');
    negative[124..136].fill(0xff);
    checksum(&mut negative);
    let mut long_name = header(b"././@LongLink", 0o77777777777, b'L');
    checksum(&mut long_name);
    let pax = header(b"PaxHeaders/x", 1 << 32, b'x');
    for bad in [huge, negative, long_name, pax] {
        let pieces = [sample("b0"), bad, sample("b2"), sample("b3")];
        let sandbox = sandbox_with_shard("b.tar", &archive(&pieces));
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(keys(&sandbox.data(), "b.tar").contains(&"b0".to_owned()), "{ran}");
        assert_kept(&sandbox, "a.tar", &["a0", "a1", "a2"]);
    }
}

#[test]
fn chain_of_extended_headers_without_an_entry_keeps_earlier_samples() {
    let mut pieces = vec![sample("b0")];
    pieces.extend((0..2000).map(|_| header(b"././@LongLink", 0, b'L')));
    let sandbox = sandbox_with_shard("b.tar", &archive(&pieces));
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(keys(&sandbox.data(), "b.tar").contains(&"b0".to_owned()));
}

#[test]
fn concatenated_archives_are_a_problem_and_junk_is_a_note() {
    let twice = [archive(&samples("b", 2)), archive(&samples("c", 2))].concat();
    let sandbox = sandbox_with_shard("b.tar", &twice);
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    let problem = ran.problem("junk-after-end");
    assert!(problem["hint"].as_str().unwrap().contains("concatenate"), "{problem}");
    let junk = [archive(&samples("b", 2)), b"junk".repeat(300)].concat();
    let sandbox = sandbox_with_shard("b.tar", &junk);
    assert_eq!(sandbox.prepare(&[]).code, 0, "junk after the end is a note");
}

#[test]
fn dry_run_reports_damage_and_writes_nothing() {
    let mut bytes = archive(&samples("b", 4));
    bytes[2048 + 3] ^= 1;
    let sandbox = sandbox_with_shard("b.tar", &bytes);
    let before = picture(&sandbox.data());
    let ran = sandbox.prepare(&["--dry-run"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(ran.problems("damaged-header").len(), 1, "{ran}");
    assert!(picture(&sandbox.data()) == before && !sandbox.at(".nv-meta").exists());
}

#[test]
fn with_strict_the_first_problem_ends_the_run_and_nothing_is_published() {
    let sandbox = sandbox_with_shard("b.tar", b"");
    let ran = sandbox.refused(&["--strict"], 1);
    assert!(ran.error().0.contains("b.tar"), "{ran}");
    super::sandbox::assert_unprepared(&sandbox.data());
    text_shard(&sandbox.at("b.tar"), 0, 2);
    assert_eq!(sandbox.prepare(&["--strict"]).code, 0);
}
