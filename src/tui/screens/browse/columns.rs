//! Computes the column widths of the sample list, and shortens keys so that different keys stay distinguishable.

use crate::tui::theme::Glyphs;
use crate::tui::widgets::text;
use unicode_segmentation::UnicodeSegmentation;

/// Minimum width in columns of the part names if they differ between rows.
const MIN_PARTS_COLUMNS: usize = 6;
/// Minimum width in columns of a key next to a text.
const MIN_KEY_COLUMNS: usize = 8;

/// The content next to the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Neighbour {
    /// The start of a text; takes the rest of the row.
    Text,
    /// Names or numbers of at most this many columns.
    Names(usize),
    /// As `Names`, but equal in all rows.
    EqualNames(usize),
}

/// The column widths of the list.
#[derive(Debug)]
pub(super) struct Columns {
    /// Width of the key, in columns.
    pub(super) key: usize,
    /// Width of the content next to the key, in columns.
    pub(super) neighbour: usize,
    /// Length of the prefix that all visible keys share, in graphemes.
    common: usize,
    /// Whether the visible ends of the keys distinguish them.
    has_ends: bool,
}

impl Columns {
    /// Computes the widths for the visible keys. `columns` is the width available for both columns and the sign; `keys` are escaped.
    pub(super) fn new(columns: usize, keys: &[String], neighbour: Neighbour, glyphs: &Glyphs) -> Self {
        // Two columns of gap and two for the sign.
        let room = columns.saturating_sub(4);
        let widest = keys.iter().map(|key| text::width(key)).max().unwrap_or(0);
        let graphemes = common_graphemes(keys);
        let common = keys.first().map_or(0, |key| key.graphemes(true).take(graphemes).map(text::width).sum());
        let width = match neighbour {
            // A text takes half of the width if the ends of the keys distinguish them, otherwise a third.
            Neighbour::Text => {
                let least = room.saturating_sub(MIN_KEY_COLUMNS).min(room / 2);
                let is_apart = has_ends(common, widest, room.saturating_sub(least), glyphs);
                room.saturating_sub(widest).max(if is_apart { least } else { room / 3 })
            }
            Neighbour::Names(names) => {
                room.saturating_sub(widest).clamp(names.min(MIN_PARTS_COLUMNS), names.max(MIN_PARTS_COLUMNS)).min(names)
            }
            Neighbour::EqualNames(names) => room.saturating_sub(widest).min(names),
        };
        // Names cut to fewer than three columns carry no information.
        let width = if matches!(neighbour, Neighbour::EqualNames(names) if width < names.min(3)) { 0 } else { width };
        let key = if width == 0 { room + 2 } else { room.saturating_sub(width) };
        Self { key, neighbour: width, common: graphemes, has_ends: has_ends(common, widest, key, glyphs) }
    }

    /// Shortens an escaped key to its column.
    pub(super) fn cut(&self, key: &str, glyphs: &Glyphs) -> String {
        if text::width(key) <= self.key || self.common == 0 {
            return text::fit_middle(key, self.key, glyphs);
        }
        let room = self.key.saturating_sub(text::width(glyphs.ellipsis));
        if self.has_ends {
            return format!("{}{}", glyphs.ellipsis, text::suffix(key, room));
        }
        let rest: String = key.graphemes(true).skip(self.common).collect();
        text::prefix(&format!("{}{}", glyphs.ellipsis, text::fit_middle(&rest, room, glyphs)), self.key).to_owned()
    }
}

/// Whether the ends of the keys that fit a column distinguish them, because everything cut off is common to all keys.
fn has_ends(common: usize, widest: usize, column: usize, glyphs: &Glyphs) -> bool {
    common >= widest.saturating_sub(column.saturating_sub(text::width(glyphs.ellipsis)))
}

/// Returns the length of the prefix that all keys share, in graphemes.
fn common_graphemes(keys: &[String]) -> usize {
    let Some((first, others)) = keys.split_first() else { return 0 };
    let same = |key: &String| key.graphemes(true).zip(first.graphemes(true)).take_while(|(a, b)| a == b).count();
    others.iter().map(same).min().unwrap_or_else(|| first.graphemes(true).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Glyphs;

    fn cut(columns: usize, keys: &[&str], neighbour: Neighbour) -> (Vec<String>, usize) {
        let glyphs = Glyphs::new(false);
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let layout = Columns::new(columns, &keys, neighbour, &glyphs);
        (keys.iter().map(|key| layout.cut(key, &glyphs)).collect(), layout.neighbour)
    }

    #[test]
    fn narrow_row_omits_parts_before_cutting_keys() {
        let keys = ["000000001000", "000000002000", "000000003000"];
        assert_eq!(cut(30, &keys, Neighbour::EqualNames(8)), (keys.map(String::from).to_vec(), 8));
        assert_eq!(cut(22, &keys, Neighbour::EqualNames(8)), (keys.map(String::from).to_vec(), 6));
        assert_eq!(cut(16, &keys, Neighbour::EqualNames(8)), (keys.map(String::from).to_vec(), 0));
        let (short, width) = cut(12, &keys, Neighbour::EqualNames(8));
        assert_eq!((short, width), (vec!["…000001000".into(), "…000002000".into(), "…000003000".into()], 0));
        let (short, width) = cut(16, &keys, Neighbour::Names(12));
        assert_eq!((short, width), (vec!["…01000".into(), "…02000".into(), "…03000".into()], 6));
    }

    #[test]
    fn keys_with_an_early_difference_are_cut_after_their_common_prefix() {
        let keys = ["folder/picture_one_of_many_000", "folder/drawing_one_of_many_000"];
        let (short, _) = cut(20, &keys, Neighbour::Names(6));
        assert_ne!(short[0], short[1]);
        assert!(short[0].starts_with("…pict") && short[1].starts_with("…draw"), "{short:?}");
        let (whole, width) = cut(24, &["b<U+202E>txt", "c"], Neighbour::Text);
        assert_eq!((whole, width), (vec!["b<U+202E>txt".to_owned(), "c".to_owned()], 8));
        let (whole, width) = cut(40, &["1", "22"], Neighbour::Text);
        assert_eq!((whole, width), (vec!["1".to_owned(), "22".to_owned()], 34));
    }
}
