//! The order of natsort 8.4.0 with case ignored, by which Forager sorts its files (Forager format page §2).

use std::cmp::Ordering;
use unicode_normalization::UnicodeNormalization as _;

/// What is compared of a text: runs of text and numbers in turn, text first.
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

/// The key of a text.
pub fn key(text: &str) -> Key {
    let folded: String = text.nfd().flat_map(char::to_lowercase).collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut run = String::new();
    let mut digits: Option<Vec<u8>> = None;
    for c in folded.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                if digits.is_none() {
                    parts.push(Part::Text(std::mem::take(&mut run)));
                }
                digits.get_or_insert_default().push(digit as u8);
            }
            None => {
                if let Some(digits) = digits.take() {
                    parts.push(Part::Number(number(digits)));
                }
                run.push(c);
            }
        }
    }
    match digits {
        Some(digits) => parts.push(Part::Number(number(digits))),
        None => parts.push(Part::Text(run)),
    }
    Key(parts)
}

fn number(digits: Vec<u8>) -> Number {
    Number(digits.into_iter().skip_while(|digit| *digit == 0).collect())
}
