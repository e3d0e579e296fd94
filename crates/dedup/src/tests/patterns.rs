//! Texts that would need much time or memory without special treatment.

use super::super::all::SEPARATOR;
use super::super::*;
use super::oracle::{slowly, RandomNumbers};
use gristmill_core::Cancel;

const PLAIN: Rule = Rule { min_length: 500, keep: Keep::First, min_count: 2 };

fn ranges(text: &[u8], rule: &Rule) -> Vec<(u64, u64)> {
    find_all(text, rule).unwrap().iter().map(|range| (range.start, range.end)).collect()
}

fn letters(dice: &mut RandomNumbers, count: usize) -> Vec<u8> {
    (0..count).map(|_| b'a' + dice.below(26) as u8).collect()
}

fn documents(documents: &[Vec<u8>]) -> Vec<u8> {
    documents.iter().flat_map(|document| std::iter::once(SEPARATOR).chain(document.iter().copied())).collect()
}

/// Counts the results of a scan.
#[derive(Default)]
struct Count {
    anchors: u64,
    copies: u64,
    intervals: u64,
}

impl Sink for Count {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        self.anchors += 1;
        self.copies += u64::from(anchor.copies);
        Ok(())
    }
    fn interval(&mut self, _found: Interval) -> Outcome<()> {
        self.intervals += 1;
        Ok(())
    }
    fn passage(&mut self, _passage: Passage) {}
}

#[test]
fn one_period_of_periodic_text_is_kept() {
    const LENGTH: usize = 400_000;
    for period in [1, 2, 3, 63, 64, 65, 436, 437, 438, 499, 500, 501, 1000] {
        let mut dice = RandomNumbers(period as u64);
        let once = letters(&mut dice, period);
        let text: Vec<u8> = std::iter::once(SEPARATOR).chain(once.iter().cycle().take(LENGTH).copied()).collect();
        assert_eq!(ranges(&text, &PLAIN), [(1 + period as u64, 1 + LENGTH as u64)], "{period}");
        for rule in [PLAIN, Rule { min_count: 3, ..PLAIN }] {
            let mut count = Count::default();
            let mut scanner = Scanner::new(&rule);
            scanner.start_document(1);
            scanner.push(&text[1..], &mut count).unwrap();
            scanner.end_document(&mut count).unwrap();
            assert!(count.anchors + count.intervals < LENGTH as u64 / 100, "{period}: {}", count.anchors);
            assert!(!rule.is_plain() || count.copies == count.anchors);
        }
    }
}

#[test]
fn each_copy_in_a_run_counts_toward_the_minimum_count() {
    let run = |length: usize| vec![b' '; length];
    let text = documents(&[run(700), run(100), run(502)]);
    for (keep, min_count) in [(Keep::First, 204), (Keep::First, 205), (Keep::None, 204), (Keep::None, 205)] {
        let rule = Rule { min_length: 500, keep, min_count };
        assert_eq!(ranges(&text, &rule), slowly(&text, &rule), "{rule:?}");
        assert_eq!(ranges(&text, &rule).is_empty(), min_count == 205);
    }
}

#[test]
fn repeats_are_found_for_any_minimum_length() {
    let mut dice = RandomNumbers(7);
    let passage = letters(&mut dice, 150_000);
    let mut parts = vec![letters(&mut dice, 1000), passage.clone(), letters(&mut dice, 500)];
    parts.push([letters(&mut dice, 20), passage[1..].to_vec(), letters(&mut dice, 10)].concat());
    parts.push(passage[..149_998].to_vec());
    let text = documents(&parts);
    let base = |number: usize| parts[..number].iter().map(|part| part.len() as u64 + 1).sum::<u64>() + 1;
    for length in [4000, 4095, 4096, 4097, 70_000, 149_998] {
        let rule = Rule { min_length: length, ..PLAIN };
        let expected = [(base(3) + 20, base(3) + 20 + 149_999), (base(4), base(4) + 149_998)];
        assert_eq!(ranges(&text, &rule), expected, "{length}");
    }
    let rule = Rule { min_length: 149_999, ..PLAIN };
    assert_eq!(ranges(&text, &rule), [(base(3) + 20, base(3) + 20 + 149_999)]);
    for length in [150_001, 1 << 31, u64::from(u32::MAX) + 1, 1 << 50, u64::MAX] {
        assert_eq!(ranges(&text, &Rule { min_length: length, ..PLAIN }), []);
    }
}

#[test]
fn passage_in_many_contexts_is_removed_in_all_but_one() {
    let mut dice = RandomNumbers(3);
    let passage = letters(&mut dice, 600);
    let parts: Vec<Vec<u8>> =
        (0..3000).map(|_| [letters(&mut dice, 100), passage.clone(), letters(&mut dice, 100)].concat()).collect();
    let text = documents(&parts);
    let found = ranges(&text, &PLAIN);
    assert_eq!(found.len(), 2999);
    for (number, range) in (1..).zip(found) {
        let start = number * 801 + 1 + 100;
        assert!(range.0 <= start && start - range.0 < 5 && range.1 >= start + 600, "{number} {range:?}");
    }
}

/// There are enough contexts that the rest of them is distributed into buckets. Their text has two letters, so that many bytes around the
/// passage are equal.
#[test]
fn ranges_of_a_passage_in_thousands_of_contexts_match_a_naive_search() {
    let mut dice = RandomNumbers(31);
    let passage = letters(&mut dice, 60);
    let around = |dice: &mut RandomNumbers| -> Vec<u8> { (0..30).map(|_| b'a' + dice.below(2) as u8).collect() };
    let all: Vec<Vec<u8>> =
        (0..4_000).map(|_| [around(&mut dice), passage.clone(), around(&mut dice)].concat()).collect();
    let text = documents(&all);
    for rule in [
        Rule { min_length: 50, ..PLAIN },
        Rule { min_length: 64, ..PLAIN },
        Rule { min_length: 50, keep: Keep::None, min_count: 3 },
    ] {
        assert_eq!(ranges(&text, &rule), slowly(&text, &rule), "{rule:?}");
    }
}

#[test]
fn ranges_of_a_passage_in_gradually_different_contexts_match_a_naive_search() {
    // Each document has more spaces before the passage than the previous one, so no two documents agree as far as the next two.
    let mut dice = RandomNumbers(5);
    let passage = letters(&mut dice, 300);
    for turn in [false, true] {
        let mut parts: Vec<Vec<u8>> = (0..400)
            .map(|blanks| {
                [letters(&mut dice, 90), vec![b' '; blanks], passage.clone(), letters(&mut dice, 250)].concat()
            })
            .collect();
        if turn {
            parts.iter_mut().for_each(|part| part.reverse());
        }
        let text = documents(&parts);
        for (keep, min_count) in [(Keep::First, 2), (Keep::First, 5), (Keep::None, 3)] {
            let rule = Rule { min_length: 400, keep, min_count };
            assert_eq!(ranges(&text, &rule), slowly(&text, &rule), "{rule:?}");
        }
    }
}

#[test]
fn equal_documents_are_removed_and_the_most_repeated_passages_are_reported() {
    let mut dice = RandomNumbers(11);
    let page = letters(&mut dice, 2000);
    let other = letters(&mut dice, 2000);
    let mut parts = vec![page.clone(); 1000];
    parts.extend([other.clone(), [b"x".as_slice(), &other].concat()]);
    let text = documents(&parts);
    let found = ranges(&text, &PLAIN);
    let expected: Vec<(u64, u64)> = (1..1000).map(|number| (number * 2001 + 1, number * 2001 + 2001)).collect();
    assert_eq!(found[..999], expected);
    assert_eq!(found[999..], [(1001 * 2001 + 2, 1001 * 2001 + 2002)]);

    let mut records = Vec::new();
    struct Records<'a>(&'a mut Vec<Anchor>);
    impl Sink for Records<'_> {
        fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
            self.0.push(anchor);
            Ok(())
        }
        fn interval(&mut self, _found: Interval) -> Outcome<()> {
            Ok(())
        }
        fn passage(&mut self, _passage: Passage) {}
    }
    let mut scanner = Scanner::new(&PLAIN);
    for (number, part) in parts.iter().enumerate() {
        scanner.start_document(number as u64 * 2001 + 1);
        scanner.push(part, &mut Records(&mut records)).unwrap();
        scanner.end_document(&mut Records(&mut records)).unwrap();
    }
    let mut resolver = Resolver::new(&PLAIN);
    let cancelled = Cancel::default();
    cancelled.cancel();
    let mut none = |_| Ok(());
    assert!(resolver.resolve(&mut records.clone(), text.as_slice(), &mut none, &cancelled).unwrap_err().is_cancelled());
    let short = &text[..text.len() / 2];
    assert!(resolver.resolve(&mut records.clone(), short, &mut none, &Cancel::default()).is_err());
    let mut resolver = Resolver::new(&PLAIN);
    resolver.resolve(&mut records, text.as_slice(), &mut none, &Cancel::default()).unwrap();
    assert_eq!(resolver.passages().heaviest(1), [Passage { at: 1, len: 2000, count: 1000 }]);
}

#[test]
fn dedup_estimate_is_near_the_removed_bytes() {
    let mut dice = RandomNumbers(13);
    let mut parts = Vec::new();
    for _ in 0..1500 {
        let mut part = letters(&mut dice, 1500);
        if dice.below(4) == 0 && !parts.is_empty() {
            let source: &Vec<u8> = &parts[dice.below(parts.len() as u64) as usize];
            part.extend_from_slice(&source[100..1000 + dice.below(500) as usize]);
            part.extend(letters(&mut dice, 300));
        }
        parts.push(part);
    }
    parts.push(vec![b'-'; 100_000]);
    let text = documents(&parts);
    for (min_length, min_count) in [(50, 2), (100, 2), (500, 2), (500, 3), (1000, 2)] {
        let rule = Rule { min_length, min_count, ..PLAIN };
        let mut samplers = [Sampler::new(&rule, 1), Sampler::new(&rule, 1)];
        let mut base = 1;
        for (number, part) in parts.iter().enumerate() {
            let sampler = &mut samplers[number % 2];
            sampler.start_document(base);
            base += part.len() as u64 + 1;
            part.chunks(777).for_each(|piece| sampler.push(piece).unwrap());
            sampler.end_document().unwrap();
        }
        let [mut one, mut other] = samplers;
        let mut samples = one.take_samples();
        samples.join(other.take_samples());
        let estimate = samples.estimate(&rule, 0, ReadShare::WHOLE, 3);
        let removed: u64 = ranges(&text, &rule).iter().map(|range| range.1 - range.0).sum();
        let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(estimate.bytes, total);
        let off = estimate.removable.abs_diff(removed);
        assert!(off < total / 20 && off < 3 * estimate.margin, "{rule:?}: {removed} of {total}, estimate {estimate:?}");
    }
}
