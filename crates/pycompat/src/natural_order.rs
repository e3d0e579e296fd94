//! The order of natsort 8.4.0 with case ignored, by which Forager sorts its files (docs/formats/forager.md §2).

use std::cmp::Ordering;
use unicode_normalization::UnicodeNormalization as _;

/// Sort key of a text: alternating runs of text and numbers, starting with text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(String),
    Number(Number),
}

/// A number of any size: its decimal digits without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number(Vec<u8>);

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

/// Returns the key of a text.
pub fn key(text: &str) -> Key {
    let mut parts: Vec<Part> = Vec::new();
    let mut run = String::new();
    let mut digits: Vec<u8> = Vec::new();
    let end_number = |parts: &mut Vec<Part>, run: &mut String, digits: &mut Vec<u8>| {
        if !digits.is_empty() {
            parts.push(Part::Text(std::mem::take(run)));
            parts.push(Part::Number(Number(digits.drain(..).skip_while(|digit| *digit == 0).collect())));
        }
    };
    for c in text.nfd() {
        if let Some(digit) = decimal(c) {
            digits.push(digit);
            continue;
        }
        end_number(&mut parts, &mut run, &mut digits);
        match single_digit(c) {
            Some(digit) => {
                digits.push(digit);
                end_number(&mut parts, &mut run, &mut digits);
            }
            None => fold(c, &mut run),
        }
    }
    end_number(&mut parts, &mut run, &mut digits);
    if !run.is_empty() {
        parts.push(Part::Text(run));
    }
    Key(parts)
}

/// Appends a character after case folding as in Python's `casefold`.
fn fold(c: char, out: &mut String) {
    let moved = |by: u32| char::from_u32(u32::from(c) - by).unwrap_or(c);
    match c {
        'ẞ' => out.push_str("ss"),
        // Python does not change these: lower-casing the upper case of `ı` would give `i`, and Cherokee letters fold to upper case.
        'ı' | '\u{13a0}'..='\u{13f5}' => out.push(c),
        '\u{13f8}'..='\u{13fd}' => out.push(moved(8)),
        '\u{ab70}'..='\u{abbf}' => out.push(moved(0xab70 - 0x13a0)),
        _ => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
    }
}

/// Returns the value of a decimal digit of any script.
fn decimal(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).map(|digit| digit as u8);
    }
    let code = u32::from(c);
    let below = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let digit = code - ZEROS.get(below)?;
    u8::try_from(digit).ok().filter(|digit| *digit < 10)
}

/// Returns the value of a digit that forms a number on its own.
fn single_digit(c: char) -> Option<u8> {
    let code = u32::from(c);
    let (first, value, _) = SINGLE.iter().find(|(first, _, count)| (*first..first + count).contains(&code))?;
    u8::try_from(code - first).ok().map(|more| value + more)
}

/// The zeros of all scripts with decimal digits (Unicode 14, as in Python 3.11). Each is followed by the other nine digits.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Digits that are not decimal digits, such as `²`: the first character of a run, its value, and the length of the run.
const SINGLE: [(u32, u8, u32); 21] = [
    (0xb2, 2, 2),
    (0xb9, 1, 1),
    (0x1369, 1, 9),
    (0x19da, 1, 1),
    (0x2070, 0, 1),
    (0x2074, 4, 6),
    (0x2080, 0, 10),
    (0x2460, 1, 9),
    (0x2474, 1, 9),
    (0x2488, 1, 9),
    (0x24ea, 0, 1),
    (0x24f5, 1, 9),
    (0x24ff, 0, 1),
    (0x2776, 1, 9),
    (0x2780, 1, 9),
    (0x278a, 1, 9),
    (0x10a40, 1, 4),
    (0x10e60, 1, 9),
    (0x11052, 1, 9),
    (0x1f100, 0, 1),
    (0x1f101, 0, 10),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the key as natsort displays it, as JSON.
    fn shown(text: &str) -> serde_json::Value {
        let number = |digits: &[u8]| {
            let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
            if text.is_empty() {
                "0".to_owned()
            } else {
                text
            }
        };
        key(text)
            .0
            .iter()
            .map(|part| match part {
                Part::Text(text) => serde_json::json!(text),
                Part::Number(Number(digits)) => serde_json::json!([number(digits)]),
            })
            .collect()
    }

    #[test]
    fn natural_order_keys_match_natsort() {
        let golden = std::fs::read_to_string("../../tests/golden/python/natsort.jsonl").unwrap();
        for line in golden.lines() {
            let (text, wanted): (String, serde_json::Value) = serde_json::from_str(line).unwrap();
            assert_eq!(shown(&text), wanted, "{text:?}");
        }
    }

    #[test]
    fn natural_order_matches_the_format_page() {
        let mut names = ["x-1.10", "x-1.5", "B/x", "a/x", "b/y", "10", "9", "Part2", "part10", "part1", "é", "z", "ß"];
        names.sort_by_key(|name| key(name));
        assert_eq!(
            names,
            ["9", "10", "a/x", "B/x", "b/y", "é", "part1", "Part2", "part10", "ß", "x-1.5", "x-1.10", "z"]
        );
        assert_eq!(key("07"), key("7"));
        assert!(key(&"9".repeat(100_000)) < key(&format!("1{}", "0".repeat(100_000))));
    }
}
