//! Arrays: type and shape, distribution of the values, and the first values. Only the beginning of an array is read.

pub mod npy;
pub mod npz;

use gristmill_core::text::{count, display_safe, grouped};

/// Maximum size in bytes of the values of an array that are examined.
pub const MAX_EXAMINED_BYTES: usize = 4 << 20;
/// Maximum number of values that are shown.
const MAX_SHOWN_VALUES: usize = 2_000;
/// Number of classes of a distribution.
pub const CLASSES: usize = 48;

/// One array.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorView {
    /// Name in an archive of several arrays; safe to show. Empty for a single array.
    pub name: String,
    /// Type of the items in numpy notation: `<f4`; safe to show.
    pub dtype: String,
    /// Length of each axis.
    pub shape: Vec<u64>,
    /// Whether the first axis varies fastest.
    pub is_fortran: bool,
    /// The first values in the order of the file, as text; safe to show.
    pub values: Vec<String>,
    /// Distribution of the values, if they are numbers.
    pub spread: Option<ValueStatistics>,
    /// Reason why not all values, or none, are shown; safe to show.
    pub note: Option<String>,
}

/// Distribution of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueStatistics {
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Number of values examined, including those that are not finite.
    pub examined: u64,
    /// Number of values that are NaN or infinite.
    pub not_finite: u64,
    /// Number of values in each class; the classes divide the range from minimum to maximum into equal intervals.
    pub classes: [u64; CLASSES],
}

impl TensorView {
    /// Describes the array: `float32 (3, 224, 224)`.
    pub fn describe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        format!("{} ({}{comma})", type_words(&self.dtype), shape.join(", "))
    }

    /// Returns the number of items; `None` if it exceeds 64 bits.
    pub fn items(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |n, axis| n.checked_mul(*axis))
    }

    /// Formats the array as lines of at most `columns` columns: description, distribution, first values.
    pub fn lines(&self, columns: usize, ascii: bool) -> Vec<String> {
        let mut out = Vec::new();
        let mut head = if self.name.is_empty() { String::new() } else { format!("{}  ", self.name) };
        head.push_str(&self.describe());
        if self.is_fortran {
            head.push_str(", first axis fastest");
        }
        let wrapped = |words: &str| crate::preview::text::wrap(words, columns.max(1), usize::MAX - 1);
        out.extend(wrapped(&head));
        if let Some(spread) = &self.spread {
            out.extend(spread.lines(columns, ascii));
        }
        if let Some(note) = &self.note {
            out.extend(wrapped(note));
        }
        if !self.values.is_empty() {
            out.push(String::new());
            out.extend(self.value_lines(columns));
        }
        out
    }

    /// Formats the values in columns; each row of the array begins a new line if rows have more than one value.
    fn value_lines(&self, columns: usize) -> Vec<String> {
        let width = self.values.iter().map(|v| unicode_width::UnicodeWidthStr::width(v.as_str())).max().unwrap_or(1);
        let width = width.clamp(1, columns.max(1));
        let per_line = ((columns + 1) / (width + 1)).max(1);
        let row = match (self.is_fortran, self.shape.as_slice()) {
            (false, [.., row]) if self.shape.len() > 1 => usize::try_from(*row).unwrap_or(usize::MAX).max(1),
            (true, [row, ..]) if self.shape.len() > 1 => usize::try_from(*row).unwrap_or(usize::MAX).max(1),
            _ => usize::MAX,
        };
        let mut out = Vec::new();
        for values in self.values.chunks(row.min(self.values.len().max(1))) {
            for line in values.chunks(per_line) {
                let mut text = String::new();
                for value in line {
                    let missing = width.saturating_sub(unicode_width::UnicodeWidthStr::width(value.as_str()));
                    text.extend(std::iter::repeat_n(' ', missing + usize::from(!text.is_empty())));
                    text.push_str(value);
                }
                out.push(text);
            }
        }
        if let Some(more) = self.items().map(|all| all.saturating_sub(self.values.len() as u64)).filter(|m| *m > 0) {
            out.push(format!("… {} more", count(more, "value")));
        }
        out
    }
}

impl ValueStatistics {
    /// Computes the distribution of numbers; `None` if no number is finite.
    fn of(numbers: &[f64]) -> Option<Self> {
        let (mut min, mut max, mut sum, mut finite) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0_u64);
        for number in numbers.iter().filter(|n| n.is_finite()) {
            min = min.min(*number);
            max = max.max(*number);
            finite += 1;
            // An incremental mean, because a sum could overflow.
            sum += (number - sum) / finite as f64;
        }
        let seen = numbers.len() as u64;
        if finite == 0 {
            return (seen > 0).then_some(Self {
                min: 0.0,
                max: 0.0,
                mean: 0.0,
                examined: seen,
                not_finite: seen,
                classes: [0; CLASSES],
            });
        }
        let mut classes = [0; CLASSES];
        // Values are halved, because the difference of the largest numbers overflows.
        let half_width = max / 2.0 - min / 2.0;
        for number in numbers.iter().filter(|n| n.is_finite()) {
            let share = if half_width > 0.0 { (number / 2.0 - min / 2.0) / half_width } else { 0.0 };
            // The value is between 0 and the number of classes.
            let class = (share * CLASSES as f64) as usize;
            if let Some(count) = classes.get_mut(class.min(CLASSES - 1)) {
                *count += 1;
            }
        }
        Some(Self { min, max, mean: sum, examined: seen, not_finite: seen - finite, classes })
    }

    fn lines(&self, columns: usize, ascii: bool) -> Vec<String> {
        let facts_of = |words: String| crate::preview::text::wrap(&words, columns.max(1), usize::MAX - 1);
        let mut facts = match self.not_finite == self.examined {
            true => format!("none of {} is a finite number", count(self.examined, "value")),
            false => format!("{} to {}, mean {}", short(self.min), short(self.max), short(self.mean)),
        };
        if self.not_finite > 0 && self.not_finite < self.examined {
            facts.push_str(&format!(", {} NaN or infinite", grouped(self.not_finite)));
        }
        let mut out = facts_of(facts);
        if self.not_finite < self.examined && columns >= 12 {
            out.push(self.bars(columns, ascii));
        }
        out
    }

    /// Formats the distribution as one row of bars; classes are merged if there is not enough space.
    fn bars(&self, columns: usize, ascii: bool) -> String {
        const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const SIGNS: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];
        let ramp = if ascii { SIGNS } else { BLOCKS };
        let together = CLASSES.div_ceil(columns.clamp(1, CLASSES)).max(1);
        let counts: Vec<u64> = self.classes.chunks(together).map(|c| c.iter().sum()).collect();
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let level = |n: u64| match n {
            0 => 0,
            // A non-zero count has at least the lowest bar, at most bar 8.
            n => ((n as f64 / most as f64 * 8.0).round() as usize).clamp(1, 8),
        };
        counts.into_iter().map(|n| ramp.get(level(n)).copied().unwrap_or(' ')).collect()
    }
}

/// Formats a number with at most six significant digits.
pub fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let size = number.abs();
    if !number.is_finite() {
        return number.to_string();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{number:.4e}");
    }
    let digits = 5_i32.saturating_sub(size.log10().floor() as i32).clamp(0, 8);
    let text = format!("{number:.*}", usize::try_from(digits).unwrap_or(0));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Returns the common name of a type, such as `float32` for `<f4`; other type names are returned unchanged.
fn type_words(dtype: &str) -> String {
    let plain = dtype.trim_start_matches(['<', '>', '|', '=']);
    let big = if dtype.starts_with('>') { ", big-endian" } else { "" };
    let bits = |kind: char| plain.strip_prefix(kind).and_then(|n| n.parse::<u64>().ok()).and_then(|n| n.checked_mul(8));
    let word = match plain.chars().next() {
        Some('f') => bits('f').map(|b| format!("float{b}")),
        Some('i') => bits('i').map(|b| format!("int{b}")),
        Some('u') => bits('u').map(|b| format!("uint{b}")),
        Some('c') => bits('c').map(|b| format!("complex{b}")),
        Some('b') => bits('b').map(|_| "bool".to_owned()),
        Some('O') if plain.len() == 1 => Some("Python objects".to_owned()),
        _ => None,
    };
    word.map_or_else(|| display_safe(dtype).into_owned(), |word| format!("{word}{big}"))
}
