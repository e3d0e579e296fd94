//! Parts of splits: `train[:40%]`, `train[2:6]+test`.

use super::{shown, ACTIVITY};
use gristmill_core::{Failure, Outcome, Subject};
use std::ops::Range;

/// A split, or a range of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPart {
    /// Name of the split.
    pub name: String,
    /// First row, and end (exclusive); `None` means the first or last row of the split.
    borders: [Option<i64>; 2],
    is_percent: bool,
}

impl SplitPart {
    /// Creates a part with all rows of a split.
    pub fn whole(name: impl Into<String>) -> Self {
        Self { name: name.into(), borders: [None, None], is_percent: false }
    }

    /// Whether the part has all rows of the split.
    pub fn is_whole(&self) -> bool {
        self.borders == [None, None]
    }

    /// Returns the range of rows for a split with `all` rows.
    pub fn rows(&self, all: u64) -> Range<u64> {
        let count = i128::from(all);
        let absolute = |border: Option<i64>, default: i128| {
            let border = match border.map(i128::from) {
                None => default,
                Some(percent) if self.is_percent => rounded(count * percent),
                Some(row) => row,
            };
            let border = if border < 0 { (count + border).max(0) } else { border.min(count) };
            u64::try_from(border).unwrap_or(all)
        };
        let [first, last] = self.borders;
        let start = absolute(first, 0);
        start..absolute(last, count).max(start)
    }
}

/// Returns a hundredth of a number, with halves rounded to even.
fn rounded(hundredfold: i128) -> i128 {
    let (whole, rest) = (hundredfold.div_euclid(100), hundredfold.rem_euclid(100));
    match rest.cmp(&50) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Greater => whole + 1,
        std::cmp::Ordering::Equal => whole + whole.rem_euclid(2),
    }
}

/// Parses splits and slices that are joined by `+`.
///
/// # Errors
/// A part is not of the form `NAME` or `NAME[FIRST:END]`; only one of its borders is in percent, or a percentage exceeds 100.
pub fn parse_split(text: &str) -> Outcome<Vec<SplitPart>> {
    text.split('+').map(|part| parse_part(part.trim())).collect()
}

fn parse_part(text: &str) -> Outcome<SplitPart> {
    let refuse = |why: &str| {
        Failure::usage(ACTIVITY, format!("{}: {why}", shown(text)))
            .on(Subject::field("--split"))
            .with_hint("for example train, train[:1000], train[10%:20%] or train+test")
    };
    let Some((name, slice)) = text.split_once('[') else {
        return match text.is_empty() {
            true => Err(refuse("a name of a split is missing")),
            false => Ok(SplitPart::whole(text)),
        };
    };
    let slice = slice.strip_suffix(']').ok_or_else(|| refuse("the slice does not end with ]"))?;
    let (first, last) = slice.split_once(':').ok_or_else(|| refuse("the slice has no colon"))?;
    let mut units = Vec::new();
    let mut border = |text: &str| -> Outcome<Option<i64>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let is_percent = text.ends_with('%');
        units.push(is_percent);
        let digits = text.strip_suffix('%').unwrap_or(text).replace('_', "");
        let number: i64 = digits.parse().map_err(|_| refuse("a border of the slice is not a number"))?;
        match is_percent && number.unsigned_abs() > 100 {
            true => Err(refuse("a border of the slice is beyond 100 percent")),
            false => Ok(Some(number)),
        }
    };
    let borders = [border(first)?, border(last)?];
    match (name.is_empty(), units.as_slice()) {
        (true, _) => Err(refuse("a name of a split is missing")),
        (_, [one, other]) if one != other => Err(refuse("one border is in percent, and one in rows")),
        (_, units) => {
            Ok(SplitPart { name: name.trim().to_owned(), borders, is_percent: units.first().copied().unwrap_or(false) })
        }
    }
}
