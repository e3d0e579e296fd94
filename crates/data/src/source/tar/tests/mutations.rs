//! Tests with archives damaged at every position: no panic, no endless loop, and no whole sample is lost without a report.

use super::*;
use proptest::prelude::*;

/// A valid archive with the offsets that the tests need.
struct Whole {
    archive: Vec<u8>,
    samples: Vec<ScannedSample>,
    /// Ranges of the payloads of extended headers, which no checksum protects, so that a flipped bit can change a name unnoticed.
    payloads: Vec<std::ops::Range<u64>>,
    /// Offsets of entries; a truncation there cannot be distinguished from an archive without an end mark.
    seams: Vec<u64>,
}

/// Returns twelve samples with short and long names, pax names and sizes, folders between them, and an archive inside an archive.
fn whole() -> Whole {
    let mut builder = tar::Builder::new(Vec::new());
    let (mut payloads, mut seams) = (Vec::new(), Vec::new());
    let nested = {
        let mut inner = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        inner.append_data(&mut header, "inner.txt", b"abcd".as_slice()).unwrap();
        inner.into_inner().unwrap()
    };
    for n in 0..12usize {
        for part in ["jpg", "txt", "json"] {
            let at = builder.get_ref().len() as u64;
            seams.push(at);
            let noise: Vec<u8> = (0..(n * 397 + part.len() * 101) % 1900).map(|i| (i * i + n) as u8).collect();
            let data = if n == 5 && part == "txt" { nested.as_slice() } else { noise.as_slice() };
            let mut header = if n % 3 == 1 { tar::Header::new_ustar() } else { tar::Header::new_gnu() };
            header.set_size(data.len() as u64);
            header.set_mode(0o644);
            let mut name = format!("s{n:02}.{part}");
            if n % 4 == 2 {
                name = format!("{}/{name}", "long".repeat(60));
                payloads.push(at + 512..at + 1024);
            } else if n % 4 == 3 {
                let size = data.len().to_string();
                builder.append_pax_extensions([("path", name.as_bytes()), ("size", size.as_bytes())]).unwrap();
                payloads.push(at + 512..at + 1024);
                name = "x.y".into();
            }
            builder.append_data(&mut header, &name, data).unwrap();
        }
        if n % 5 == 0 {
            seams.push(builder.get_ref().len() as u64);
            let mut folder = tar::Header::new_gnu();
            folder.set_entry_type(tar::EntryType::Directory);
            folder.set_size(0);
            builder.append_data(&mut folder, "folder/", std::io::empty()).unwrap();
        }
    }
    let archive = builder.into_inner().unwrap();
    seams.push(archive.len() as u64 - 1024);
    let found = scan_bytes(&archive);
    assert_eq!((found.samples.len(), found.damage()), (12, vec![]));
    Whole { archive, samples: found.samples, payloads, seams }
}

fn is_there(found: &Scanned, sample: &ScannedSample) -> bool {
    found.samples.iter().any(|s| s.key == sample.key && s.offset == sample.offset && s.parts == sample.parts)
}

/// Checks that every sample in the result is unchanged or excluded.
fn check_no_false_samples(found: &Scanned, whole: &[ScannedSample]) {
    for sample in &found.samples {
        let same = whole.iter().any(|w| w.key == sample.key && w.offset == sample.offset && w.parts == sample.parts);
        let excluded = sample.key.as_ref().is_none_or(|key| found.scan.damaged_keys.contains(key));
        assert!(same || excluded, "{sample:?} is neither whole nor excluded; {:?}", found.problems);
    }
}

/// Checks that all samples are in the result and not excluded, except that `hit` may be missing or excluded and its neighbours may be
/// excluded.
fn check_other_samples(found: &Scanned, whole: &[ScannedSample], hit: usize) {
    for (n, sample) in whole.iter().enumerate().filter(|&(n, _)| n != hit) {
        assert!(is_there(found, sample), "sample {n} is lost after damage to {hit}: {:?}", found.problems);
        let excluded = found.scan.damaged_keys.iter().any(|k| Some(k) == sample.key.as_ref());
        assert!(!excluded || n.abs_diff(hit) <= 1, "sample {n} is excluded because of {hit}");
    }
}

#[test]
fn flipped_bit_at_any_offset_loses_no_other_sample() {
    let whole = whole();
    let last = whole.archive.len() - 1024;
    let mut bit = 0;
    for at in (0..last).step_by(23).chain((512..last).step_by(512)).filter(|&at| at >= 512) {
        bit = (bit + 3) % 8;
        let mut archive = whole.archive.clone();
        archive[at] ^= 1 << bit;
        let found = scan_bytes(&archive);
        let hit = whole.samples.iter().rposition(|s| s.offset <= at as u64).unwrap();
        let hidden = whole.payloads.iter().any(|p| p.contains(&(at as u64)));
        check_other_samples(&found, &whole.samples, hit);
        if !hidden {
            check_no_false_samples(&found, &whole.samples);
            if !is_there(&found, &whole.samples[hit]) {
                assert!(!found.damage().is_empty(), "sample {hit} is lost in silence (byte {at})");
            }
        }
    }
}

#[test]
fn cut_at_any_offset_keeps_every_sample_before_it() {
    let whole = whole();
    for at in (0..whole.archive.len()).step_by(512).flat_map(|at| [at, at + 1, at + 300, at + 511]) {
        let found = scan_bytes(&whole.archive[..at]);
        let at = at as u64;
        let cut = whole.samples.iter().filter(|s| s.offset + s.size <= at).count();
        for sample in &whole.samples[..cut] {
            assert!(is_there(&found, sample), "a sample before the cut at {at} is lost: {:?}", found.problems);
        }
        let at_seam = whole.seams.contains(&at) || at > whole.archive.len() as u64 - 1024;
        // A truncated block of zeros looks like the beginning of an end mark.
        let rest = whole.archive.get(at as usize / 512 * 512..at as usize).unwrap_or_default();
        let is_blank = !rest.is_empty() && rest.iter().all(|byte| *byte == 0);
        if !at_seam && !is_blank {
            check_no_false_samples(&found, &whole.samples);
            assert!(!found.damage().is_empty(), "a cut at {at} is not told");
        }
        assert!(found.samples.len() <= cut + 1);
        assert!(found.scan.end_offset <= at.max(1));
    }
}

#[test]
fn damaged_block_at_any_offset_loses_no_other_sample() {
    let whole = whole();
    for at in (512..whole.archive.len() - 1024).step_by(512) {
        for filler in [0xaau8, b'0'] {
            let mut archive = whole.archive.clone();
            archive[at..at + 512].fill(filler);
            let found = scan_bytes(&archive);
            let hit = whole.samples.iter().rposition(|s| s.offset <= at as u64).unwrap();
            // Damage of a block in the nested archive, or in a header, may lose its own sample, but no other one.
            for (n, sample) in whole.samples.iter().enumerate().filter(|&(n, _)| n != hit) {
                assert!(is_there(&found, sample), "sample {n} is lost with block {at}: {:?}", found.problems);
            }
            if !whole.payloads.iter().any(|p| p.contains(&(at as u64))) {
                check_no_false_samples(&found, &whole.samples);
            }
        }
    }
}

#[test]
fn a_damaged_first_block_makes_the_shard_unreadable() {
    let mut archive = whole().archive;
    archive[3] ^= 1;
    let found = scan_bytes(&archive);
    assert_eq!((found.scan.samples, found.scan.end_offset), (0, 0));
    assert_eq!(found.damage(), [ProblemKind::DamagedHeader]);
    assert_eq!(
        scan_bytes(b"just some text, longer than nothing").damage(),
        [ProblemKind::EmptyShard, ProblemKind::CutShort]
    );
    assert_eq!(scan_bytes(&b"text ".repeat(500)).damage(), [ProblemKind::DamagedHeader]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn scan_of_random_damage_ends_without_panic(blocks in proptest::collection::vec((any::<u8>(), any::<u16>(), any::<u8>()), 0..12), cut in any::<u16>()) {
        let mut archive = whole().archive;
        for (value, place, length) in blocks {
            let from = place as usize % archive.len();
            let to = (from + length as usize).min(archive.len());
            archive[from..to].fill(value);
        }
        archive.truncate(archive.len() - cut as usize % 3000);
        let found = scan_bytes(&archive);
        prop_assert!(found.scan.end_offset <= archive.len() as u64);
        let ends: Vec<u64> = found.samples.iter().map(|s| s.offset + s.size).collect();
        for (sample, end) in found.samples.iter().skip(1).zip(&ends) {
            prop_assert_eq!(sample.offset, *end);
        }
        prop_assert!(ends.last().is_none_or(|&end| end == found.scan.end_offset));
    }

    #[test]
    fn scan_of_random_headers_with_valid_checksums_ends_without_panic(fields in proptest::collection::vec(
        (proptest::sample::select(b"0LKxgS5\0X7".to_vec()), any::<[u8; 12]>(), any::<bool>(), proptest::collection::vec(any::<u8>(), 0..700)), 1..6)) {
        let mut archive = Vec::new();
        for (type_flag, size, base256, content) in fields {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0);
            header.set_mtime(0);
            header.set_entry_type(tar::EntryType::new(type_flag));
            header.as_mut_bytes()[..5].copy_from_slice(b"a.txt");
            if base256 {
                header.as_mut_bytes()[124..136].copy_from_slice(&size);
                header.as_mut_bytes()[124] |= 0x80;
            }
            header.set_cksum();
            archive.extend_from_slice(header.as_bytes());
            archive.extend_from_slice(&content);
            archive.resize(archive.len().next_multiple_of(512), 0);
        }
        let found = scan_bytes(&archive);
        prop_assert!(found.scan.end_offset <= archive.len() as u64);
    }
}
