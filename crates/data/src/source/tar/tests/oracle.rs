//! Compares the scan with a plain implementation of the rules, on archives that another library wrote in every dialect.

use super::*;
use proptest::prelude::*;

/// How the name (and size) of an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Gnu,
    Ustar,
    OldStyle,
    PaxPath,
    PaxSize,
    Base256,
    LongLink,
}

#[derive(Clone, Debug)]
struct EntrySpec {
    name: String,
    dialect: Dialect,
    type_flag: u8,
    size: usize,
}

/// An entry with its location in the archive.
#[derive(Clone, Debug)]
struct Laid {
    name: String,
    offset: u64,
    content: u64,
    size: u64,
    accepted: bool,
}

fn header_for(wanted: &EntrySpec) -> tar::Header {
    let mut header = match wanted.dialect {
        Dialect::Ustar | Dialect::PaxPath | Dialect::PaxSize => tar::Header::new_ustar(),
        Dialect::OldStyle => tar::Header::new_old(),
        _ => tar::Header::new_gnu(),
    };
    header.set_entry_type(tar::EntryType::new(wanted.type_flag));
    header.set_mode(0o644);
    header.set_mtime(1_600_000_000);
    header.set_size(wanted.size as u64);
    if wanted.dialect == Dialect::Base256 {
        let field = &mut header.as_mut_bytes()[124..136];
        field.fill(0);
        field[0] = 0x80;
        field[4..12].copy_from_slice(&(wanted.size as u64).to_be_bytes());
    }
    header
}

fn raw_name(header: &mut tar::Header, name: &str) {
    let field = &mut header.as_mut_bytes()[..100];
    field.fill(0);
    let length = name.len().min(100);
    field[..length].copy_from_slice(&name.as_bytes()[..length]);
}

/// Writes the entries in order; returns the archive and the location of each entry.
fn build(wanted: &[EntrySpec]) -> (Vec<u8>, Vec<Laid>) {
    let mut builder = tar::Builder::new(Vec::new());
    let mut laid = Vec::new();
    for entry in wanted {
        let offset = builder.get_ref().len() as u64;
        let data: Vec<u8> = (0..entry.size).map(|n| (n * 31 + entry.name.len()) as u8).collect();
        let mut header = header_for(entry);
        match entry.dialect {
            Dialect::PaxPath | Dialect::PaxSize => {
                let size = entry.size.to_string();
                let mut records = vec![("comment", b"any".as_slice()), ("path", entry.name.as_bytes())];
                if entry.dialect == Dialect::PaxSize {
                    records.push(("size", size.as_bytes()));
                    header.set_size(0);
                }
                builder.append_pax_extensions(records).unwrap();
                raw_name(&mut header, "not/the.name");
            }
            Dialect::LongLink => {
                for (kind, text) in [(b'K', "l".repeat(700)), (b'L', entry.name.clone())] {
                    let mut long = tar::Header::new_gnu();
                    raw_name(&mut long, "././@LongLink");
                    long.set_entry_type(tar::EntryType::new(kind));
                    long.set_size(text.len() as u64 + 1);
                    long.set_cksum();
                    builder.append(&long, [text.as_bytes(), b"\0"].concat().as_slice()).unwrap();
                }
                raw_name(&mut header, &entry.name);
            }
            _ => raw_name(&mut header, &entry.name),
        }
        header.set_cksum();
        builder.append(&header, data.as_slice()).unwrap();
        let end = builder.get_ref().len() as u64;
        let padded = (entry.size as u64).div_ceil(512) * 512;
        let folder = entry.type_flag == 0 && entry.name.ends_with('/');
        let accepted = matches!(entry.type_flag, b'0' | 0 | b'7') && !folder;
        laid.push(Laid { name: entry.name.clone(), offset, content: end - padded, size: entry.size as u64, accepted });
    }
    (builder.into_inner().unwrap(), laid)
}

/// Groups entries with a plain implementation of the rules.
fn expected(laid: &[Laid], end: u64) -> Vec<ScannedSample> {
    let skip = fancy_regex::Regex::new(r"\A__[^/]*__(?:\n?\z|/)").unwrap();
    let split = fancy_regex::Regex::new(r"\A((?:[^\n]*/|)[^.]+)[.]([^/]*)\z").unwrap();
    let mut samples: Vec<ScannedSample> = Vec::new();
    for entry in laid.iter().filter(|e| e.accepted && !skip.is_match(&e.name).unwrap()) {
        let Some(found) = split.captures(entry.name.as_str()).unwrap() else { continue };
        let key = Some(found[1].to_owned());
        if samples.last().is_none_or(|s| s.key != key) {
            samples.push(ScannedSample { key, offset: entry.offset, size: 0, parts: Vec::new() });
        }
        samples.last_mut().unwrap().parts.push((found[2].to_owned(), entry.content, entry.size));
    }
    let ends: Vec<u64> = samples.iter().skip(1).map(|s| s.offset).chain([end]).collect();
    for (sample, end) in samples.iter_mut().zip(ends) {
        sample.size = end - sample.offset;
    }
    samples
}

fn entries() -> impl Strategy<Value = Vec<EntrySpec>> {
    let dialect = prop_oneof![
        4 => Just(Dialect::Gnu),
        1 => Just(Dialect::Ustar),
        1 => Just(Dialect::OldStyle),
        1 => Just(Dialect::PaxPath),
        1 => Just(Dialect::PaxSize),
        1 => Just(Dialect::Base256),
        1 => Just(Dialect::LongLink)
    ];
    let name = prop_oneof![
        6 => "[ab]/?[ab.]{1,3}\\.(jpg|txt|a\\.json)",
        2 => "[ab./_é]{1,12}",
        1 => "(__|)[ab]{1,2}__/[ab.]{1,4}",
        1 => "[a-c]{1,40}/[a-c]{80,150}\\.txt"
    ];
    let type_flag = prop_oneof![8 => Just(b'0'), 1 => Just(0u8), 1 => Just(b'7'), 1 => Just(b'5'), 1 => Just(b'2'), 1 => Just(b'1'), 1 => Just(b'6')];
    let size = prop_oneof![4 => 0usize..1200, 1 => Just(300_000usize), 1 => Just(512usize)];
    let one = (name, dialect, type_flag, size).prop_map(|(mut name, dialect, type_flag, mut size)| {
        let short = matches!(dialect, Dialect::Gnu | Dialect::Ustar | Dialect::OldStyle | Dialect::Base256);
        while short && name.len() > 100 {
            name.remove(0);
        }
        // A pax path loses its final slashes, and the old-style folder rule uses the header's own name.
        if !short {
            name = format!("{}x", name.trim_end_matches('/'));
        }
        if !matches!(type_flag, b'0' | 0 | b'7') || (type_flag == 0 && name.ends_with('/')) {
            size = 0;
        }
        EntrySpec { name, dialect, type_flag, size }
    });
    proptest::collection::vec(one, 0..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn scan_of_archives_by_the_tar_crate_matches_the_model(wanted in entries()) {
        let (archive, laid) = build(&wanted);
        let end = archive.len() as u64 - 1024;
        let found = scan_bytes(&archive);
        let expected = expected(&laid, end);
        prop_assert_eq!(&found.samples, &expected);
        prop_assert_eq!(found.scan.end_offset, end);
        prop_assert_eq!(found.bytes_done, archive.len() as u64);
        let damage = found.damage();
        prop_assert_eq!(damage, if expected.is_empty() { vec![ProblemKind::EmptyShard] } else { vec![] });
        let mut statistics = std::collections::BTreeMap::<String, PartFacts>::new();
        for sample in &expected {
            let mut seen = std::collections::HashSet::new();
            for (part, _, size) in &sample.parts {
                let facts = statistics.entry(part.clone()).or_default();
                facts.samples += u64::from(seen.insert(part));
                facts.bytes += size;
            }
        }
        prop_assert_eq!(found.scan.parts, statistics);
        // The other library must find the same names and offsets.
        let mut reader = tar::Archive::new(archive.as_slice());
        let listed: Vec<_> = reader.entries().unwrap().map(|e| { let e = e.unwrap();
            (String::from_utf8_lossy(&e.path_bytes()).into_owned(), e.raw_file_position()) }).collect();
        let ours: Vec<_> = laid.iter().map(|e| (e.name.clone(), e.content)).collect();
        prop_assert_eq!(listed, ours);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn compressed_archives_give_the_same_samples(wanted in entries(), which in 0u8..3) {
        use std::io::Write as _;
        let (archive, _) = build(&wanted);
        let plain = scan_bytes(&archive);
        let packed = match which {
            0 => { let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()); e.write_all(&archive).unwrap(); e.finish().unwrap() }
            1 => { let mut e = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast()); e.write_all(&archive).unwrap(); e.finish().unwrap() }
            _ => { let mut e = liblzma::write::XzEncoder::new(Vec::new(), 0); e.write_all(&archive).unwrap(); e.finish().unwrap() }
        };
        let found = scan_bytes(&packed);
        prop_assert_eq!(&found.samples, &plain.samples);
        prop_assert_eq!(found.scan.end_offset, plain.scan.end_offset);
        prop_assert!(found.scan.compressed && !plain.scan.compressed);
        prop_assert_eq!(found.bytes_done, packed.len() as u64);
        prop_assert!(found.damage().contains(&ProblemKind::CompressedShard));
    }
}
