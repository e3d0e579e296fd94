//! Characters by role, in a Unicode and an ASCII set.

use ratatui::symbols::border;

/// Characters by role, in a Unicode and an ASCII set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Whether this is the ASCII set.
    pub ascii: bool,
    /// Precedes the selected row. One column wide.
    pub marker: &'static str,
    /// Separates the parts of the title line. One column wide.
    pub crumb: &'static str,
    /// Separates short items on one line. One column wide.
    pub dot: &'static str,
    /// Done or valid. One column wide.
    pub check: &'static str,
    /// Failed. One column wide.
    pub cross: &'static str,
    /// A warning. One column wide.
    pub warn: &'static str,
    /// Nothing, or unknown. One column wide.
    pub dash: &'static str,
    /// Replaces text that was cut.
    pub ellipsis: &'static str,
    /// A full step of a bar. One column wide.
    pub bar_full: &'static str,
    /// An empty step of a bar. One column wide.
    pub bar_empty: &'static str,
    /// Eighths of a step, from 1/8 to 7/8; empty if the set has none.
    pub bar_parts: &'static [&'static str],
    /// A chosen item of several.
    pub radio_on: &'static str,
    /// An item of several that is not chosen.
    pub radio_off: &'static str,
    /// A switch that is on.
    pub box_on: &'static str,
    /// A switch that is off.
    pub box_off: &'static str,
    /// An expanded item. One column wide.
    pub open: &'static str,
    /// A collapsed item. One column wide.
    pub closed: &'static str,
    /// More rows above. One column wide.
    pub more_up: &'static str,
    /// More rows below. One column wide.
    pub more_down: &'static str,
    /// A transition from one value to another.
    pub arrow: &'static str,
    /// The frames of the spinner; all one column wide.
    pub spinner: &'static [&'static str],
    /// Pane borders.
    pub border: border::Set<'static>,
}

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Glyphs {
    /// Returns the ASCII or the Unicode set.
    pub fn new(ascii: bool) -> Self {
        if ascii {
            Self::ascii_set()
        } else {
            Self::unicode_set()
        }
    }

    fn unicode_set() -> Self {
        Self {
            ascii: false,
            marker: "▸",
            crumb: "▸",
            dot: "·",
            check: "✓",
            cross: "✗",
            warn: "!",
            dash: "–",
            ellipsis: "…",
            bar_full: "█",
            bar_empty: "░",
            bar_parts: &["▏", "▎", "▍", "▌", "▋", "▊", "▉"],
            radio_on: "(•)",
            radio_off: "( )",
            box_on: "[x]",
            box_off: "[ ]",
            open: "▾",
            closed: "▸",
            more_up: "↑",
            more_down: "↓",
            arrow: "→",
            spinner: &["◐", "◓", "◑", "◒"],
            border: border::ROUNDED,
        }
    }

    fn ascii_set() -> Self {
        Self {
            ascii: true,
            marker: ">",
            crumb: ">",
            dot: "-",
            check: "+",
            cross: "x",
            warn: "!",
            dash: "-",
            ellipsis: "..",
            bar_full: "#",
            bar_empty: ".",
            bar_parts: &[],
            radio_on: "(*)",
            radio_off: "( )",
            box_on: "[x]",
            box_off: "[ ]",
            open: "v",
            closed: ">",
            more_up: "^",
            more_down: "v",
            arrow: "->",
            spinner: &["|", "/", "-", "\\"],
            border: ASCII_BORDER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ascii_set_is_ascii() {
        let g = Glyphs::new(true);
        let border = g.border;
        let all = [
            g.marker,
            g.crumb,
            g.dot,
            g.check,
            g.cross,
            g.warn,
            g.dash,
            g.ellipsis,
            g.bar_full,
            g.bar_empty,
            g.radio_on,
            g.radio_off,
            g.box_on,
            g.box_off,
            g.open,
            g.closed,
            g.more_up,
            g.more_down,
            g.arrow,
            border.top_left,
            border.top_right,
            border.bottom_left,
            border.bottom_right,
            border.vertical_left,
            border.vertical_right,
            border.horizontal_top,
            border.horizontal_bottom,
        ];
        for glyph in all.iter().chain(g.spinner).chain(g.bar_parts) {
            assert!(glyph.is_ascii(), "{glyph}");
        }
    }
}
