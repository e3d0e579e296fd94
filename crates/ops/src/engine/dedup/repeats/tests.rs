#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::*;
use gristmill_core::dedup::{Keep, ANNOTATE_KEY, TEXT_KEY};
use gristmill_data::source::dedup::list;

fn rule(min_length: u64) -> Rule {
    Rule { min_length, keep: Keep::First, min_count: 2 }
}

/// Writes files of documents and finds their repeats.
fn found_repeats(files: &[(&str, &[&str])], min_length: u64, most_text: usize) -> Repeats {
    let folder = tempfile::tempdir().unwrap();
    for (name, texts) in files {
        let line = |text: &&str| format!("{}\n", serde_json::json!({ "text": text }));
        std::fs::write(folder.path().join(name), texts.iter().map(line).collect::<String>()).unwrap();
    }
    let cancel = Cancel::default();
    let listing = list(folder.path(), false, &cancel).unwrap();
    let scope = Scope {
        files: &listing.files,
        text_key: TEXT_KEY,
        rule: rule(min_length),
        listed_under: &[ANNOTATE_KEY],
        most_text,
    };
    find_repeats(&scope, &AtomicU64::new(0), &cancel).unwrap()
}

#[test]
fn repeat_ranges_lead_to_the_kept_copy() {
    let seen = found_repeats(
        &[("a.jsonl", &["one, two, three", "nothing here"]), ("b.jsonl", &["xyz", "so: two, three!", "two, three"])],
        8,
        1 << 20,
    );
    assert_eq!((seen.len(), seen.changed.as_slice()), (5, &[3, 4][..]));
    let range = seen.ranges_of(3)[0];
    assert_eq!(seen.text_of(3).get(range.from..range.to), Some(" two, three"));
    assert_eq!(seen.place_of(3), ("b.jsonl", 2));
    let (document, from) = seen.kept_copy(&range).unwrap();
    assert_eq!((seen.place_of(document), &seen.text_of(document)[from..]), (("a.jsonl", 1), " two, three"));
    assert_eq!(seen.find("b.jsonl", 15), Some(3));
    assert_eq!((seen.find("b.jsonl", 99), seen.find("c.jsonl", 0)), (None, None));
    assert_eq!(seen.totals(), (15 + 12 + 3 + 15 + 10, 11 + 10));
    assert_eq!((seen.files[1].ranges, seen.files[1].removed_bytes, seen.removed_of(4)), (2, 21, 10));
    assert_eq!(seen.passages[0].count, 3);
}

#[test]
fn a_range_never_cuts_a_character() {
    let seen = found_repeats(&[("a.jsonl", &["äöüäöü 東京東京", "xöüäöü 東京東y"])], 5, 1 << 20);
    for index in 0..seen.len() {
        for range in seen.ranges_of(index) {
            assert!(seen.text_of(index).get(range.from..range.to).is_some_and(|text| !text.is_empty()));
        }
    }
    assert_eq!(seen.changed, [0, 1]);
}

#[test]
fn text_beyond_the_repeat_limit_is_not_examined_and_cut_is_reported() {
    let seen = found_repeats(&[("a.jsonl", &["0123456789", "0123456789", "0123456789"])], 5, 25);
    assert_eq!((seen.len(), seen.is_cut, seen.changed.as_slice()), (2, true, &[1][..]));
}

#[test]
fn listed_ranges_of_records_are_shown_and_invalid_ones_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let record = |text: &str, ranges: &str| {
        format!("{{\"text\": \"{text}\", \"metadata\": {{\"sa_remove_ranges\": {ranges}}}}}\n")
    };
    let lines = [
        record("0123456789abcdef", "[]"),
        record("xx0123456789abcdef", "[[3, 9], [11, 14]]"),
        record("zz0123456789abcdef", "[[9, 3]]"),
        record("more of nothing", "[[0, 4]]"),
    ];
    std::fs::write(folder.path().join("a.jsonl"), lines.concat()).unwrap();
    let cancel = Cancel::default();
    let listing = list(folder.path(), false, &cancel).unwrap();
    let listed_under = &[ANNOTATE_KEY][..];
    let scope = Scope { files: &listing.files, text_key: TEXT_KEY, rule: rule(8), listed_under, most_text: 1 << 20 };
    let seen = find_repeats(&scope, &AtomicU64::new(0), &cancel).unwrap();
    assert!(seen.is_listed);
    assert_eq!(seen.changed, [1, 2, 3]);
    let shown = |index: usize| -> Vec<&str> {
        seen.ranges_of(index).iter().map(|range| &seen.text_of(index)[range.from..range.to]).collect()
    };
    assert_eq!(shown(1), ["123456", "9ab"]);
    assert_eq!(shown(2), ["0123456789abcdef"], "what is no list of ranges is passed over");
    let copies = [1, 3].map(|index| seen.kept_copy(&seen.ranges_of(index)[0]));
    assert_eq!(copies, [Some((0, 1)), None]);
}

#[test]
fn lines_without_text_do_not_stop_the_repeat_search() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"text\": \"again and again\"}\nno json\n\n{\"text\": 5}\n{\"text\": \"again and again\"}\n";
    std::fs::write(folder.path().join("a.jsonl"), lines).unwrap();
    let cancel = Cancel::default();
    let listing = list(folder.path(), false, &cancel).unwrap();
    let scope =
        Scope { files: &listing.files, text_key: TEXT_KEY, rule: rule(6), listed_under: &[], most_text: 1 << 20 };
    let seen = find_repeats(&scope, &AtomicU64::new(0), &cancel).unwrap();
    assert_eq!((seen.len(), seen.failures.len(), seen.place_of(1)), (2, 2, ("a.jsonl", 5)));
    cancel.cancel();
    assert!(find_repeats(&scope, &AtomicU64::new(0), &cancel).unwrap_err().is_cancelled());
}
