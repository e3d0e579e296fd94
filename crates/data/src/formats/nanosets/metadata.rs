//! `X.ds.metadata`: the tokenizer, the token size, the number of tokens (docs/formats/nanosets.md §1).

use super::TokenSize;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::read_whole;
use std::path::Path;

/// Maximum size of the file in bytes; a valid file has three short lines.
const MAX_METADATA_BYTES: u64 = 64 << 10;
const ACTIVITY: &str = "reading the metadata";

/// Content of a metadata file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Metadata {
    /// Name of the tokenizer that produced the tokens.
    pub tokenizer: String,
    /// Bytes of one token.
    pub token_size: TokenSize,
    /// Number of tokens in the file.
    pub tokens: u64,
}

impl Metadata {
    /// Returns the content of the file: three lines, no newline after the last.
    pub fn to_text(&self) -> String {
        let size = self.token_size.bytes();
        format!("{}|{size}\n{}\n{}", self.tokenizer, self.tokens, short_number(self.tokens))
    }

    /// Parses the content of a file. The third line is informative: its content is not checked, and it may be missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default().trim_end_matches('\r');
        let (tokenizer, size) = first.rsplit_once('|').ok_or("its first line has no '|' before the token size")?;
        let token_size = size
            .trim()
            .parse()
            .ok()
            .and_then(TokenSize::from_bytes)
            .ok_or_else(|| format!("the token size {size:?} is neither 2 nor 4"))?;
        let count = lines.next().unwrap_or_default().trim();
        let tokens = count.parse().map_err(|_| format!("its second line {count:?} is not a number of tokens"))?;
        Ok(Self { tokenizer: tokenizer.to_owned(), token_size, tokens })
    }

    /// Reads a file; returns `None` when it is missing.
    pub fn read(path: &Path) -> Outcome<Option<Self>> {
        let Some(bytes) = read_whole(path, MAX_METADATA_BYTES)? else { return Ok(None) };
        Self::parse(&bytes).map(Some).map_err(|why| Failure::data(ACTIVITY, why).on(Subject::path(path)))
    }

    /// Whether a reader that splits the first line at every `|` obtains exactly a name and a size.
    pub fn is_plain(&self) -> bool {
        !self.tokenizer.contains(['|', '\n'])
    }
}

const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// Returns a number of tokens with three digits and a prefix, as humanize's `metric(n, "T")` writes it: `1.23 kT`.
pub fn short_number(tokens: u64) -> String {
    let exponent = tokens.checked_ilog10().unwrap_or(0);
    let (text, rounded_up) = rounded(tokens, exponent);
    // A number such as 9,999 is rounded to 10,000 and then has one decimal less.
    let (text, exponent) = if rounded_up { (rounded(tokens, exponent + 1).0, exponent + 1) } else { (text, exponent) };
    format!("{text} {}T", PREFIXES.get(exponent as usize / 3).copied().unwrap_or_default())
}

/// Returns the rounded number for an exponent, and whether rounding increased it to the next power of ten.
fn rounded(tokens: u64, exponent: u32) -> (String, bool) {
    let group = exponent / 3 * 3;
    let decimals = 2 - (exponent - group) as usize;
    let value = tokens as f64 / 10_f64.powi(group as i32);
    let text = format!("{value:.decimals$}");
    let whole = text.split('.').next().unwrap_or_default();
    let rounded_up = whole.len() > (exponent - group) as usize + 1;
    (text, rounded_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_numbers_match_the_format_page() {
        for (number, text) in [
            (0, "0.00 T"),
            (1, "1.00 T"),
            (12, "12.0 T"),
            (999, "999 T"),
            (1000, "1.00 kT"),
            (1234, "1.23 kT"),
            (1755, "1.75 kT"),
            (1125, "1.12 kT"),
            (1375, "1.38 kT"),
            (9_999, "10.0 kT"),
            (10_000, "10.0 kT"),
            (99_999, "100 kT"),
            (123_456, "123 kT"),
            (999_499, "999 kT"),
            (999_500, "1.00 MT"),
            (1_234_567, "1.23 MT"),
            (15_500_000, "15.5 MT"),
            (999_999_999, "1.00 GT"),
            (1_234_567_890_123, "1.23 TT"),
            (1_000_000_000_000_000, "1.00 PT"),
            (u64::MAX, "18.4 ET"),
        ] {
            assert_eq!(short_number(number), text, "{number}");
        }
    }

    #[test]
    fn metadata_is_three_lines_without_a_last_newline() {
        let made = Metadata { tokenizer: "../t|x.json".into(), token_size: TokenSize::Two, tokens: 1124 };
        assert_eq!(made.to_text(), "../t|x.json|2\n1124\n1.12 kT");
        assert_eq!(Metadata::parse(made.to_text().as_bytes()).unwrap(), made);
        assert!(!made.is_plain());
    }

    #[test]
    fn third_metadata_line_is_ignored_by_the_reader() {
        for text in ["t|4\n7\nseven", "t|4\n7\n", "t|4\n7", "t|4\r\n7\r\n", "t|4\n 7 \nx\ny"] {
            let read = Metadata::parse(text.as_bytes()).unwrap();
            assert_eq!((read.tokenizer.as_str(), read.token_size, read.tokens), ("t", TokenSize::Four, 7), "{text:?}");
        }
        for text in ["", "t", "t|3\n7", "t|2", "t|2\n-1", "t|2\n1.5", "t|2\n99999999999999999999999"] {
            assert!(Metadata::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(Metadata::parse(b"t\xff|2\n1\n").is_err());
    }

    proptest! {
        #[test]
        fn short_numbers_have_three_digits(number in any::<u64>()) {
            let text = short_number(number);
            let digits = text.chars().filter(char::is_ascii_digit).count();
            prop_assert_eq!(digits, 3, "{}", text);
        }
    }
}
