//! Compares the engine with an exhaustive set of all windows, for many small corpora in which nearly everything repeats.

use super::super::all::SEPARATOR;
use super::super::walk::Bits;
use super::super::window_hash::mix;
use super::super::*;
use gristmill_core::Cancel;
use std::collections::{BTreeMap, HashMap};

/// A pseudo-random number generator with a seed.
pub(super) struct RandomNumbers(pub u64);

impl RandomNumbers {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 += 1;
        mix(self.0) % n.max(1)
    }
}

/// Computes the removable ranges by counting every window.
pub(super) fn slowly(text: &[u8], rule: &Rule) -> Vec<(u64, u64)> {
    let length = rule.min_length as usize;
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, window) in text.windows(length).enumerate() {
        if !window.contains(&SEPARATOR) {
            places.entry(window).or_default().push(at);
        }
    }
    let mut removable: Vec<usize> = places
        .values()
        .filter(|places| places.len() as u64 >= rule.min_count)
        .flat_map(|places| places.iter().skip(usize::from(rule.keep == Keep::First)).copied())
        .collect();
    removable.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for at in removable {
        let (start, end) = (at as u64, (at + length) as u64);
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => ranges.push((start, end)),
        }
    }
    ranges
}

/// How a corpus is passed to the engine.
struct EngineSettings {
    bits: Bits,
    partitions: u32,
    /// Maximum length of a piece, in bytes.
    piece: u64,
    narrow: bool,
    /// Number of records of a key above which they are processed one by one.
    many: usize,
    /// Whether repeats are cached for adjacent anchors.
    known: bool,
}

#[derive(Default)]
struct CollectedAnchors(BTreeMap<u32, Vec<Anchor>>, Vec<Interval>, u32);

impl Sink for CollectedAnchors {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        self.0.entry(partition_of(anchor.key, self.2)).or_default().push(anchor);
        Ok(())
    }
    fn interval(&mut self, found: Interval) -> Outcome<()> {
        self.1.push(found);
        Ok(())
    }
    fn passage(&mut self, _passage: Passage) {}
}

/// Text that is copied on each read, like text that is not in memory.
struct CopiedText<'t>(&'t [u8], Option<MatchCache>);

impl TextReader for CopiedText<'_> {
    fn read<'a>(&'a self, at: u64, len: usize, spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]> {
        let mut none = Vec::new();
        spare.clear();
        spare.extend_from_slice(self.0.read(at, len, &mut none)?);
        Ok(spare)
    }
    fn match_cache(&self) -> Option<&MatchCache> {
        self.1.as_ref()
    }
}

fn find(text: &[u8], rule: &Rule, way: &EngineSettings, dice: &mut RandomNumbers) -> Vec<Interval> {
    let mut kept = CollectedAnchors(BTreeMap::new(), Vec::new(), way.partitions);
    let mut scanner = Scanner::with_bits(rule, way.bits);
    let mut at = 1;
    for document in text[1..].split(|byte| *byte == SEPARATOR) {
        scanner.start_document(at);
        let mut rest = document;
        while !rest.is_empty() {
            let piece = (1 + dice.below(way.piece) as usize).min(rest.len());
            scanner.push(&rest[..piece], &mut kept).unwrap();
            rest = &rest[piece..];
        }
        scanner.end_document(&mut kept).unwrap();
        at += document.len() as u64 + 1;
    }
    let mut intervals = kept.1;
    let mut found = |interval| {
        intervals.push(interval);
        Ok(())
    };
    let mut resolver = Resolver::new(rule);
    let copied = CopiedText(text, way.known.then(|| MatchCache::new(1 << 14)).flatten());
    for (_, mut records) in kept.0 {
        records = process_frequent_keys(records, way.many, rule, text, &mut found, &mut resolver);
        for last in (1..records.len()).rev() {
            records.swap(last, dice.below(last as u64 + 1) as usize);
        }
        let cancel = Cancel::default();
        if way.narrow && rule.fits_narrow(text.len() as u64) {
            let mut narrow: Vec<CompactAnchor> = records.iter().map(CompactAnchor::pack).collect();
            resolver.resolve(&mut narrow, text, &mut found, &cancel).unwrap();
        } else {
            resolver.resolve(&mut records, &copied, &mut found, &cancel).unwrap();
        }
    }
    merge(&mut intervals);
    intervals
}

/// Processes keys with many records one record at a time, up to three times for the rest of the records. Returns the remaining records.
fn process_frequent_keys(
    mut records: Vec<Anchor>,
    many: usize,
    rule: &Rule,
    text: &[u8],
    found: &mut impl FnMut(Interval) -> Outcome<()>,
    resolver: &mut Resolver,
) -> Vec<Anchor> {
    for _ in 0..3 {
        let mut keys: BTreeMap<u64, Vec<Anchor>> = BTreeMap::new();
        records.iter().for_each(|record| keys.entry(record.key).or_default().push(*record));
        records.clear();
        for (_, mut alike) in keys {
            if alike.len() <= many {
                records.extend(alike);
                continue;
            }
            alike.sort_by_key(|record| record.at);
            let mut hot = OversizedGroup::new(rule);
            if !rule.is_plain() {
                alike.iter().for_each(|record| hot.count(record, &CopiedText(text, None)).unwrap());
            }
            for record in alike {
                let mut rest = |anchor| {
                    records.push(anchor);
                    Ok(())
                };
                hot.push_context(&record, &CopiedText(text, None), found, &mut rest).unwrap();
            }
            hot.end(resolver);
        }
    }
    records
}

/// Returns a few documents of a few letters: random, copied with changes, and periodic ones.
fn corpus(dice: &mut RandomNumbers) -> Vec<u8> {
    let letters = 1 + dice.below(3);
    let longest = [5, 20, 60, 200, 600][dice.below(5) as usize];
    let mut documents: Vec<Vec<u8>> = Vec::new();
    for _ in 0..dice.below(9) {
        let length = dice.below(longest);
        let letter = |dice: &mut RandomNumbers| b'a' + dice.below(letters) as u8;
        let mut document: Vec<u8> = match dice.below(5) {
            0 => {
                let period: Vec<u8> = (0..1 + dice.below(12)).map(|_| letter(dice)).collect();
                period.iter().cycle().take(length as usize).copied().collect()
            }
            1 | 2 if !documents.is_empty() => {
                let whole = &documents[dice.below(documents.len() as u64) as usize];
                let start = dice.below(whole.len() as u64) as usize;
                let end = start + dice.below((whole.len() - start) as u64 + 1) as usize;
                let before = dice.below(6);
                let mut some: Vec<u8> = (0..before).map(|_| letter(dice)).collect();
                some.extend_from_slice(&whole[start.min(whole.len())..end.min(whole.len())]);
                some.extend((0..dice.below(6)).map(|_| letter(dice)));
                some
            }
            _ => (0..length).map(|_| letter(dice)).collect(),
        };
        if dice.below(3) == 0 && !document.is_empty() {
            let at = dice.below(document.len() as u64) as usize;
            document[at] = letter(dice);
        }
        documents.push(document);
    }
    documents.iter().flat_map(|document| std::iter::once(SEPARATOR).chain(document.iter().copied())).collect()
}

fn compare(seed: u64) {
    let mut dice = RandomNumbers(seed << 32);
    let mut text = corpus(&mut dice);
    if text.is_empty() {
        text.push(SEPARATOR);
    }
    let min_length = 1 + dice.below(40);
    let keep = [Keep::First, Keep::First, Keep::None][dice.below(3) as usize];
    let min_count = [2, 2, 2, 3, 4, 7][dice.below(6) as usize];
    let rule = Rule { min_length, keep, min_count };
    let bits = match dice.below(3) {
        0 => Bits { order: 1 + dice.below(6) as u32, key: 1 + dice.below(6) as u32 },
        1 => Bits { key: 1, ..Bits::ALL },
        _ => Bits::ALL,
    };
    let way = EngineSettings {
        bits,
        partitions: 1 + dice.below(7) as u32,
        piece: [1, 7, 100, 10_000][dice.below(4) as usize],
        narrow: dice.below(2) == 0,
        many: [1, 3, usize::MAX][dice.below(3) as usize],
        known: dice.below(3) < 2,
    };
    let ranges: Vec<Interval> = find(&text, &rule, &way, &mut dice);
    let plain: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
    let expected = slowly(&text, &rule);
    assert_eq!(plain, expected, "seed {seed}: {rule:?} {:?} {}", way.bits, String::from_utf8_lossy(&text));
    for range in &ranges {
        let window = |at: u64| &text[at as usize..(at + rule.min_length) as usize];
        assert_eq!(window(range.start), window(range.first), "seed {seed}: {rule:?} {range:?}");
        assert!(keep == Keep::None || range.first < range.start, "seed {seed}: {rule:?} {range:?}");
    }
    if seed.is_multiple_of(4) {
        let all = find_all(&text, &rule).unwrap();
        let all: Vec<(u64, u64)> = all.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(all, expected, "seed {seed}");
    }
}

#[test]
fn ranges_match_a_set_of_all_windows() {
    for seed in 0..24_000 {
        compare(seed);
    }
}
