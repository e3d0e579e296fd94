//! Characters by role, in a Unicode and an ASCII set.

use ratatui::symbols::border;

macro_rules! glyphs {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $unicode:expr, $ascii:expr;)*) => {
        /// Characters by role, in a Unicode and an ASCII set.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Glyphs {
            /// Whether this is the ASCII set.
            pub ascii: bool,
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl Glyphs {
            /// Returns the ASCII or the Unicode set.
            pub fn new(ascii: bool) -> Self {
                match ascii {
                    true => Self { ascii, $($name: $ascii,)* },
                    false => Self { ascii, $($name: $unicode,)* },
                }
            }
        }
    };
}

glyphs! {
    /// Precedes the selected row. One column wide.
    marker: &'static str = "▸", ">";
    /// Separates the parts of the title line. One column wide.
    crumb: &'static str = "▸", ">";
    /// Separates short items on one line. One column wide.
    dot: &'static str = "·", "-";
    /// Done or valid. One column wide.
    check: &'static str = "✓", "+";
    /// Failed. One column wide.
    cross: &'static str = "✗", "x";
    /// A warning. One column wide.
    warn: &'static str = "!", "!";
    /// Nothing, or unknown. One column wide.
    dash: &'static str = "–", "-";
    /// Replaces text that was cut.
    ellipsis: &'static str = "…", "..";
    /// A full step of a bar. One column wide.
    bar_full: &'static str = "█", "#";
    /// An empty step of a bar. One column wide.
    bar_empty: &'static str = "░", ".";
    /// Eighths of a step, from 1/8 to 7/8; empty if the set has none.
    bar_parts: &'static [&'static str] = &["▏", "▎", "▍", "▌", "▋", "▊", "▉"], &[];
    /// A chosen item of several.
    radio_on: &'static str = "(•)", "(*)";
    /// An item of several that is not chosen.
    radio_off: &'static str = "( )", "( )";
    /// A switch that is on.
    box_on: &'static str = "[x]", "[x]";
    /// A switch that is off.
    box_off: &'static str = "[ ]", "[ ]";
    /// An expanded item. One column wide.
    open: &'static str = "▾", "v";
    /// A collapsed item. One column wide.
    closed: &'static str = "▸", ">";
    /// More rows above. One column wide.
    more_up: &'static str = "↑", "^";
    /// More rows below. One column wide.
    more_down: &'static str = "↓", "v";
    /// A transition from one value to another.
    arrow: &'static str = "→", "->";
    /// The frames of the spinner; all one column wide.
    spinner: &'static [&'static str] = &["◐", "◓", "◑", "◒"], &["|", "/", "-", "\\"];
    /// Pane borders.
    border: border::Set<'static> = border::ROUNDED, ASCII_BORDER;
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
