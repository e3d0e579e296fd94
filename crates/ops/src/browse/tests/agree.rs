//! The catalogs of a prepared set, of the same set without its database, of a raw scan, and another tar reader return the same samples.

use super::*;
use crate::engine::browse::{
    filter, Marks, Matches, ProblemList, SampleFilter, SplitChoice, VisitFields, VisitedSample,
};
use proptest::prelude::*;
use std::io::Read as _;

/// An expected sample: key, start, size, and parts with their offsets and sizes.
type Row = (String, u64, u64, Vec<(String, u64, u64)>);

fn rows(catalog: &dyn Catalog) -> Vec<Row> {
    let row = |sample: &BrowseSample| {
        assert_eq!(sample.defect, None, "{sample:?}");
        let parts = sample.parts.iter().map(|part| (part.name.to_string(), part.byte_offset, part.byte_size)).collect();
        (sample.key.to_string(), sample.byte_offset, sample.byte_size, parts)
    };
    all(catalog).iter().map(row).collect()
}

/// Returns the expected samples, using the `tar` crate and an independent implementation of docs/formats/energon.md §3.
fn listing(path: &Path) -> Vec<Row> {
    let mut archive = tar::Archive::new(std::fs::File::open(path).unwrap());
    let mut rows: Vec<Row> = Vec::new();
    let mut end = 0;
    let mut place = 0;
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        // The crate returns the offset of the entry's own header; a long name occupies two or more blocks before it.
        let begin = place;
        let (content, size) = (entry.raw_file_position(), entry.size());
        std::io::copy(&mut entry.by_ref().take(0), &mut std::io::sink()).unwrap();
        place = content + size.next_multiple_of(512);
        end = place;
        let first = name.split('/').next().unwrap();
        let is_reserved = first.len() >= 4 && first.starts_with("__") && first.ends_with("__");
        let base = name.rsplit('/').next().unwrap();
        let dot = base.find('.').filter(|&dot| dot > 0);
        let (Some(dot), false, true) = (dot, is_reserved, entry.header().entry_type().is_file()) else { continue };
        let key = name[..name.len() - base.len() + dot].to_owned();
        let part = (base[dot + 1..].to_owned(), content, size);
        match rows.last_mut().filter(|row| row.0 == key) {
            Some(row) => row.3.push(part),
            None => rows.push((key, begin, 0, vec![part])),
        }
    }
    let ends: Vec<u64> = rows.iter().skip(1).map(|row| row.1).chain([end]).collect();
    rows.iter_mut().zip(ends).for_each(|(row, end)| row.2 = end - row.1);
    rows
}

fn a_part() -> impl Strategy<Value = (String, usize)> {
    (prop::sample::select(vec!["jpg", "txt", "json", "seg.png", "é", ""]).prop_map(str::to_owned), 0usize..1_500)
}

/// A sample to write: whether skipped entries precede it, and the names and sizes of its parts.
type SampleSpec = (bool, Vec<(String, usize)>);

/// Returns random shards of samples. A tenth of the samples follow skipped entries.
fn shards() -> impl Strategy<Value = Vec<Vec<SampleSpec>>> {
    let sample = (prop::bool::weighted(0.1), prop::collection::vec(a_part(), 1..4));
    prop::collection::vec(prop::collection::vec(sample, 1..9), 1..4)
}

fn build(root: &Path, shards: &[Vec<SampleSpec>], long: usize) {
    for (number, shard) in shards.iter().enumerate() {
        let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
        for (index, (odd, parts)) in shard.iter().enumerate() {
            if *odd {
                entries.push(("__meta__/x.txt".into(), vec![1; 30]));
                entries.push(("noext".into(), vec![2; 600]));
            }
            let folder = if index % 3 == 2 { format!("{}/", "d".repeat(long)) } else { String::new() };
            for (part, size) in parts {
                entries.push((format!("{folder}{number}_{index:04}.{part}"), vec![b'0' + (index % 10) as u8; *size]));
            }
        }
        let entries: Vec<(&str, &[u8])> =
            entries.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        put_tar(&root.join(format!("s_{number}.tar")), &entries);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn raw_prepared_and_tableless_catalogs_match_the_archive_listing(shards in shards(), long in prop::sample::select(vec![1usize, 120])) {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), &shards, long);
        let plain: Vec<Row> =
            (0..shards.len()).flat_map(|number| listing(&dir.path().join(format!("s_{number}.tar")))).collect();
        let raw = scanned(dir.path());
        prop_assert_eq!(rows(&*raw), plain.clone());
        prepare(dir.path());
        let prepared = scanned(dir.path());
        prop_assert_eq!(rows(&*prepared), plain.clone());
        std::fs::remove_file(dir.path().join(".nv-meta/index.sqlite")).unwrap();
        let tableless = scanned(dir.path());
        prop_assert_eq!(rows(&*tableless), plain.clone());
        for catalog in [&raw, &prepared, &tableless] {
            // A window at any position equals a slice of the whole list.
            let groups = catalog.groups();
            let whole = all(&**catalog);
            for number in 0..groups.total() {
                let at = groups.locate(number).unwrap();
                let window = catalog.samples(at, 3, &Cancel::default()).unwrap();
                let from = number as usize;
                prop_assert_eq!(&window, &whole[from..whole.len().min(from + 3)]);
            }
            for query in ["^1_", "00", "/_000[13]$/", "d/"] {
                let parsed = KeyQuery::parse(query).unwrap();
                let mut expected: Vec<(u32, u64)> = whole
                    .iter()
                    .filter(|sample| parsed.matches(&sample.key))
                    .map(|sample| (sample.at.group, sample.at.index))
                    .collect();
                let mut got = search_result(catalog, query);
                got.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(got, expected, "{}", query);
            }
            check_filters(&**catalog, &whole)?;
        }
    }
}

fn matches(catalog: &dyn Catalog, filter: &SampleFilter, marks: &Marks) -> Arc<Matches> {
    let mut last = Arc::default();
    let problems = ProblemList::default();
    filter::run(catalog, filter, marks, &problems, &Cancel::default(), &mut |state| last = state).unwrap();
    assert!(last.is_complete && last.failures.is_empty());
    last
}

fn check_filters(catalog: &dyn Catalog, whole: &[BrowseSample]) -> Result<(), TestCaseError> {
    let name = |group: u32| catalog.groups().group(group).unwrap().name.to_string();
    let excludes: Vec<String> =
        whole.iter().step_by(3).map(|sample| format!("{}/{}", name(sample.at.group), sample.key)).collect();
    let marks = Marks::new(&catalog.groups(), &[(Arc::from("train"), vec![name(0)])], &excludes);
    let has = |sample: &BrowseSample, part: &str| sample.parts.iter().any(|known| &*known.name == part);
    let all = SampleFilter::default;
    type Plain<'a> = Box<dyn Fn(&BrowseSample) -> bool + 'a>;
    let cases: Vec<(SampleFilter, Plain<'_>)> = vec![
        (all(), Box::new(|_| true)),
        (SampleFilter { has: vec!["txt".into()], ..all() }, Box::new(|s| has(s, "txt"))),
        (
            SampleFilter { has: vec!["jpg".into()], lacks: vec!["txt".into(), "json".into()], ..all() },
            Box::new(|s| has(s, "jpg") && !has(s, "txt") && !has(s, "json")),
        ),
        (
            SampleFilter { min_bytes: Some(2_048), max_bytes: Some(4_096), ..all() },
            Box::new(|s| (2_048..=4_096).contains(&s.byte_size)),
        ),
        (SampleFilter { excluded: Some(true), ..all() }, Box::new(|s| marks.is_excluded(s))),
        (SampleFilter { excluded: Some(false), ..all() }, Box::new(|s| !marks.is_excluded(s))),
        (SampleFilter { split: Some(SplitChoice::Named("train".into())), ..all() }, Box::new(|s| s.at.group == 0)),
        (
            SampleFilter { split: Some(SplitChoice::Loose), key: Some(KeyQuery::Substring("2".into())), ..all() },
            Box::new(|s| s.at.group != 0 && s.key.contains('2')),
        ),
    ];
    for (filter, plain) in cases {
        let found = matches(catalog, &filter, &marks);
        let got: Vec<SampleAt> = (0..found.total()).map(|k| found.select(k).unwrap()).collect();
        let expected: Vec<SampleAt> = whole.iter().filter(|sample| plain(sample)).map(|sample| sample.at).collect();
        prop_assert_eq!(got, expected, "{}", filter.title());
    }
    Ok(())
}

#[test]
fn visit_gives_the_requested_fields_and_stops_on_request() {
    let (dir, raw) = (small_set(), small_set());
    prepare(dir.path());
    for catalog in [scanned(dir.path()), scanned(raw.path())] {
        let mut seen = Vec::new();
        let wanted = VisitFields { keys: true, sizes: true, parts: true };
        let take = &mut |sample: VisitedSample<'_>| {
            seen.push((sample.index, sample.key.to_owned(), sample.byte_size, sample.parts.join(" ")));
            seen.len() < 2
        };
        catalog.visit(0, wanted, &Cancel::default(), take).unwrap();
        assert_eq!(seen, [(0, "000".into(), 2_048, "jpg txt".into()), (1, "001".into(), 1_024, "jpg".into())]);
    }
}
