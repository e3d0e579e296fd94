//! Folds runs of numbered names into brace ranges, in the style of `split.yaml` (docs/formats/energon.md §9.3).

/// Folds runs of names that count up by one into `prefix{first..last}suffix`, keeping the order.
///
/// Only the digits 0-9 count as numbers, because digits of other scripts would be expanded as ASCII digits. A run ends where two digit runs
/// have the same value but different widths, such as `01` and `1`; the reference merges such names, which is wrong.
pub fn collapse(names: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = names;
    while let Some(first) = rest.first() {
        let (length, slot) = run(rest);
        match slot {
            Some(slot) if length >= 2 => out.push(range(first, &rest[length - 1], slot)),
            _ => out.push(first.clone()),
        }
        rest = &rest[length..];
    }
    out
}

/// Returns the length of the run at the front, and the index of the digit run that counts up.
fn run(names: &[String]) -> (usize, Option<usize>) {
    let mut slot = None;
    let mut length = 1;
    while let [previous, next, ..] = &names[length - 1..] {
        match changed_slot(previous, next) {
            Some(changed) if slot.is_none_or(|slot| slot == changed) => slot = Some(changed),
            _ => break,
        }
        length += 1;
    }
    (length, slot)
}

/// Returns the index of the only digit run that differs, if it increased by one and everything else is equal.
fn changed_slot(previous: &str, next: &str) -> Option<usize> {
    if previous.len() != next.len() {
        return None;
    }
    let (mut a, mut b) = (TextRuns(previous), TextRuns(next));
    let (mut index, mut changed) = (0, None);
    loop {
        match (a.next(), b.next()) {
            (None, None) => return changed,
            (Some(NamePart::Text(x)), Some(NamePart::Text(y))) if x == y => {}
            (Some(NamePart::Digits(x)), Some(NamePart::Digits(y))) => {
                if x != y {
                    if changed.is_some() || !is_successor(x, y) {
                        return None;
                    }
                    changed = Some(index);
                }
                index += 1;
            }
            _ => return None,
        }
    }
}

/// Whether `next` is `previous` plus one, in the same number of digits.
fn is_successor(previous: &str, next: &str) -> bool {
    if previous.len() != next.len() {
        return false;
    }
    let stem = previous.trim_end_matches('9');
    let Some(last) = stem.bytes().last() else { return false };
    let (head, tail) = next.split_at(stem.len());
    let grown = head.bytes().last() == Some(last + 1);
    grown && head[..head.len() - 1] == stem[..stem.len() - 1] && tail.bytes().all(|b| b == b'0')
}

fn range(first: &str, last: &str, slot: usize) -> String {
    let mut out = String::with_capacity(first.len() + last.len());
    let end = digits_at(last, slot);
    let mut index = 0;
    for piece in TextRuns(first) {
        match piece {
            NamePart::Text(text) => out.push_str(text),
            NamePart::Digits(digits) => {
                if index == slot {
                    out.push('{');
                    out.push_str(digits);
                    out.push_str("..");
                    out.push_str(end);
                    out.push('}');
                } else {
                    out.push_str(digits);
                }
                index += 1;
            }
        }
    }
    out
}

fn digits_at(name: &str, slot: usize) -> &str {
    let mut digits = TextRuns(name).filter_map(|piece| match piece {
        NamePart::Digits(digits) => Some(digits),
        NamePart::Text(_) => None,
    });
    digits.nth(slot).unwrap_or_default()
}

enum NamePart<'a> {
    Text(&'a str),
    Digits(&'a str),
}

/// An iterator over a name, which yields text and digit runs alternately.
struct TextRuns<'a>(&'a str);

impl<'a> Iterator for TextRuns<'a> {
    type Item = NamePart<'a>;
    fn next(&mut self) -> Option<NamePart<'a>> {
        let digits = self.0.bytes().next()?.is_ascii_digit();
        let end = self.0.bytes().position(|b| b.is_ascii_digit() != digits).unwrap_or(self.0.len());
        let (piece, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(if digits { NamePart::Digits(piece) } else { NamePart::Text(piece) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_pycompat::braces;
    use proptest::prelude::*;

    fn folded(names: &[&str]) -> Vec<String> {
        collapse(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn consecutive_names_are_collapsed_and_other_names_are_unchanged() {
        assert_eq!(folded(&["x7", "x9", "x10"]), ["x7", "x9", "x10"]);
        assert_eq!(
            folded(&["s_00008", "s_00009", "s_00010", "s_00011", "s_00013", "s_00100", "s_00101"]),
            ["s_{00008..00011}", "s_00013", "s_{00100..00101}"]
        );
        assert_eq!(folded(&["part-6", "part-7"]), ["part-{6..7}"]);
        assert_eq!(folded(&["part-7", "part-6"]), ["part-7", "part-6"]);
        assert_eq!(folded(&["a", "a"]), ["a", "a"]);
        assert!(folded(&[]).is_empty());
    }

    #[test]
    fn collapse_varies_only_one_digit_run_of_a_name() {
        assert_eq!(folded(&["a1b1", "a2b2"]), ["a1b1", "a2b2"]);
        assert_eq!(folded(&["a1b1", "a1b2", "a2b2"]), ["a1b{1..2}", "a2b2"]);
        assert_eq!(folded(&["d2/s0.tar", "d2/s1.tar", "d3/s0.tar"]), ["d2/s{0..1}.tar", "d3/s0.tar"]);
        assert_eq!(folded(&["a1b01", "a01b02"]), ["a1b01", "a01b02"]);
        assert_eq!(folded(&["a1b01", "a1b1"]), ["a1b01", "a1b1"]);
    }

    #[test]
    fn digit_runs_longer_than_any_integer_are_collapsed() {
        let long = |last: &str| format!("{}{last}", "9".repeat(60));
        assert_eq!(collapse(&[long("8"), long("9")]), [format!("{{{}..{}}}", long("8"), long("9"))]);
        assert_eq!(folded(&["s099", "s100"]), ["s{099..100}"]);
        assert_eq!(folded(&["s99", "s100"]), ["s99", "s100"]);
    }

    #[test]
    fn lists_are_collapsed_as_by_the_reference() {
        let path = std::env::var("GRISTMILL_TABLE").unwrap_or("../../tests/golden/python/collapse.jsonl".to_owned());
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let row: (Vec<String>, Vec<String>) = serde_json::from_str(line).unwrap();
            assert_eq!(collapse(&row.0), row.1, "{line}");
        }
    }

    proptest! {
        #[test]
        fn collapsed_names_expand_to_the_same_names_in_order(
            names in prop::collection::vec("[ab]{0,2}[0-9]{0,3}[/.]?[0-9]{0,2}[a-z]{0,2}", 0..40), sorted: bool
        ) {
            let mut names = names;
            if sorted { names.sort(); }
            let expanded: Vec<String> =
                collapse(&names).iter().flat_map(|n| braces::expand(n, 1000).unwrap()).collect();
            prop_assert_eq!(expanded, names);
        }
    }
}
