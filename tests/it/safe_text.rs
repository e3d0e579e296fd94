//! Checks that no shown text contains characters that a terminal interprets.
//!
//! `GRISTMILL_TEST_STRINGS` sets the number of strings (default: 100,000).

use gristmill_core::text::{display_safe, display_safe_bytes, display_safe_lines};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A small random number generator, so that a failure can be reproduced by its number.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }
    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// Complete sequences that are harmful, and similar ones.
const PIECES: &[&str] = &[
    "shard_0001.tar",
    " ",
    "a",
    "漢",
    "😀",
    "👨\u{200d}👩\u{200d}👧",
    "می\u{200c}خواهم",
    "क्\u{200d}ष",
    "\u{200c}",
    "\u{200d}",
    "❤\u{fe0f}",
    "e\u{301}",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x1b[?1049h",
    "\u{9b}31m",
    "\u{9d}0;x\u{9c}",
    "\r\n",
    "\t",
    "\x08\x08",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
    "\u{115f}",
    "\u{3164}",
    "\u{e0001}\u{e0041}\u{e007f}",
    "\u{fe0f}\u{fe0f}\u{fe0f}",
    "葛\u{e0100}\u{e0101}",
    "\u{301}\u{302}\u{303}",
    "\u{1100}\u{1100}\u{1161}\u{11a8}",
    "नि",
    "\u{600}",
    "\u{110bd}",
    "\u{2028}",
    "\u{fffe}",
    "\u{10ffff}",
    "\u{34f}",
    "\u{17b4}",
    "\u{180e}",
    "\u{20dd}",
    "◌",
    "…",
    "<U+202E>",
    "\\xff",
];

/// Ranges of single characters.
const RANGES: &[(u32, u32)] = &[
    (0, 0x20),
    (0x20, 0x7f),
    (0x7f, 0xa0),
    (0xa0, 0x250),
    (0x300, 0x370),
    (0x590, 0x700),
    (0x900, 0xdff),
    (0x1100, 0x1200),
    (0x1780, 0x1810),
    (0x1ab0, 0x1b00),
    (0x1dc0, 0x1e00),
    (0x2000, 0x2070),
    (0x20d0, 0x2100),
    (0xd7b0, 0xd800),
    (0xfdd0, 0xfe30),
    (0xfef0, 0x1_0000),
    (0x1_1000, 0x1_1800),
    (0x1_3400, 0x1_3460),
    (0x1_bc00, 0x1_bcb0),
    (0x1_d100, 0x1_d200),
    (0x1_f1e0, 0x1_f650),
    (0xe_0000, 0xe_1000),
    (0, 0x11_0000),
];

fn string(random: &mut RandomNumbers) -> String {
    let mut text = String::new();
    for _ in 0..random.below(12) {
        match random.below(3) {
            0 => text.push_str(random.pick::<&str>(PIECES)),
            1 => {
                let &(from, to) = random.pick(RANGES);
                let c = from + u32::try_from(random.below(u64::from(to - from))).unwrap();
                let times = if random.below(8) == 0 { 40 } else { 1 };
                text.extend(std::iter::repeat_n(char::from_u32(c).unwrap_or('?'), times));
            }
            _ => text.push(char::from(u8::try_from(random.below(128)).unwrap())),
        }
    }
    text
}

/// Whether a character is forbidden. Repeated here as a check on the program's own list.
fn is_forbidden(c: char) -> bool {
    let is_bidi = matches!(c as u32, 0x061c | 0x200e | 0x200f | 0x202a..=0x202e | 0x2066..=0x2069);
    let is_zero_width =
        matches!(c as u32, 0xad | 0x34f | 0x180e | 0x200b..=0x200d | 0x2060..=0x2064 | 0xfeff | 0x2028 | 0x2029);
    let is_tag = matches!(c as u32, 0xe0000..=0xe007f);
    c.is_control() || is_bidi || is_zero_width || is_tag
}

fn is_selector(c: char) -> bool {
    matches!(c as u32, 0xfe00..=0xfe0f | 0xe0100..=0xe01ef)
}

#[track_caller]
fn assert_safe(shown: &str, of: &str) {
    let message = || format!("{of:?} became {shown:?}");
    let mut before = ' ';
    let mut chars = shown.chars().peekable();
    while let Some(c) = chars.next() {
        // Between letters of Arabic and Indic scripts these two joiners are part of the spelling.
        let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
        let is_letter =
            |c: char| matches!(c as u32, 0x620..=0x8c9 | 0x900..=0xdff | 0xfb50..=0xfefc) && !is_forbidden(c);
        let is_spelling = is_joiner && is_letter(before) && chars.peek().is_some_and(|c| is_letter(*c));
        // Between pictographs, this one makes one picture of both.
        let is_picture = |c: char| matches!(c as u32, 0x2190..=0x2bff | 0x1f000..=0x1fffd | 0xfe0f);
        let is_joined_picture = c == '\u{200d}' && is_picture(before) && chars.peek().is_some_and(|c| is_picture(*c));
        assert!(is_spelling || is_joined_picture || !is_forbidden(c), "{}", message());
        assert!(!(is_selector(c) && (is_selector(before) || before == ' ')), "a flood of selectors: {}", message());
        before = c;
    }
    for cluster in shown.graphemes(true) {
        assert!(cluster.chars().count() <= 17, "a tower of marks: {}", message());
        assert!(cluster.width() > 0, "something invisible: {}", message());
    }
}

fn strings() -> u64 {
    std::env::var("GRISTMILL_TEST_STRINGS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000)
}

#[test]
fn displayed_random_text_has_no_terminal_control_sequences() {
    for number in 0..strings() {
        let text = string(&mut RandomNumbers(number));
        let shown = display_safe(&text);
        assert_safe(&shown, &text);
        assert_eq!(display_safe(&shown), shown, "string {number}: passing twice changes nothing");
        for line in display_safe_lines(&text).split('\n') {
            assert_safe(line, &text);
        }
    }
}

#[test]
fn invalid_utf8_bytes_are_displayed_as_hexadecimal_escapes() {
    for number in 0..strings() / 10 {
        let mut random = RandomNumbers(number);
        let mut bytes = string(&mut random).into_bytes();
        for _ in 0..random.below(4) {
            let at = usize::try_from(random.below(bytes.len() as u64 + 1)).unwrap();
            bytes.insert(at, u8::try_from(0x80 + random.below(0x80)).unwrap());
        }
        let shown = display_safe_bytes(&bytes);
        assert_safe(&shown, &format!("{bytes:?}"));
        let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
        assert!(shown.matches("\\x").count() >= invalid, "string {number}: {shown}");
    }
}
