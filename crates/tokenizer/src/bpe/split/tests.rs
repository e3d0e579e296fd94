//! Compares words found in blocks with those found one by one.

use super::super::classes::Classes;
use super::*;
use crate::tests::RandomNumbers;

/// Kinds of text that the patterns distinguish, including the characters next to which a pattern behaves differently.
const PIECES: [&str; 48] = [
    " ",
    " ",
    "  ",
    "   ",
    "a",
    "b",
    "word",
    "it's",
    "'S",
    "'re",
    "'",
    "''",
    "1",
    "12",
    "345",
    "6789",
    ".",
    "!",
    "--",
    "—",
    "é",
    "世",
    "界",
    "\n",
    "\r\n",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "²",
    "٣",
    "ſ",
    "'ſ",
    "'ll",
    "don't",
    "\u{301}",
    "😀",
    "(",
    ")\n",
    " \n",
    "Z",
    "слово",
    "Ж",
    "ĳ",
    "漢字",
    "한국",
    "ä",
    "ी",
    "ة",
];

fn compare(scan: &impl Scan, text: &str) {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        let (mut starts, block) = (scan.starts(bytes, at), at);
        at = scan.end(bytes, at);
        while starts != 0 {
            assert_eq!(block + starts.trailing_zeros() as usize, at, "from {block} of {text:?}");
            starts &= starts - 1;
            if starts != 0 {
                at = scan.end(bytes, at);
            }
        }
    }
}

#[test]
fn block_splitting_gives_the_same_words_as_single_splitting() {
    let (classes, mut dice) = (Classes::get(), RandomNumbers(11));
    for round in 0..40_000 {
        // Some rounds use few kinds of pieces, others many.
        let (first, kinds) = (dice.roll(PIECES.len()), 2 + round % 38);
        let mut text = String::new();
        for _ in 0..40 + dice.roll(100) {
            text.push_str(PIECES[(first + dice.roll(kinds)) % PIECES.len()]);
        }
        compare(&Gpt2(classes), &text);
        compare(&Numbers { classes, digits: 1 }, &text);
        compare(&Numbers { classes, digits: 3 }, &text);
        compare(&Gpt4oSplitter(classes), &text);
    }
}
