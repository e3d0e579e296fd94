//! Colours and glyphs by role. Widgets name a role, never a colour, and never rely on a colour alone.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

/// Styles by role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// Something is fine or finished.
    pub ok: Style,
    /// Something wants attention.
    pub warn: Style,
    /// Something failed or must not go on.
    pub error: Style,
    /// The one accent: what has the focus, what a key does.
    pub accent: Style,
    /// Secondary text.
    pub muted: Style,
    /// The selected row of the pane in focus.
    pub selected: Style,
    /// The selected row of a pane without focus.
    pub selected_idle: Style,
    /// Pane borders.
    pub border: Style,
    /// The border of the pane in focus.
    pub border_focus: Style,
    /// Pane titles.
    pub title: Style,
    /// Key names in the bottom bar and in help.
    pub key: Style,
    /// A text field in focus.
    pub input: Style,
    /// Characters that a filter matched.
    pub matched: Style,
    /// Something that cannot be used now.
    pub disabled: Style,
    /// Bars of splits, in split order; wraps around.
    pub bars: [Style; 4],
}

/// Whether the screen may hold colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourMode {
    /// The terminal's own 16 colours, so that light and dark both read.
    #[default]
    Sixteen,
    /// Modifiers only. Not one cell holds a colour: with `NO_COLOR` the backend would write an empty colour sequence
    /// that resets bold and reverse again.
    None,
}

impl Theme {
    /// The theme of a colour mode.
    pub fn new(mode: ColourMode) -> Self {
        match mode {
            ColourMode::Sixteen => Self::sixteen(),
            ColourMode::None => Self::colourless(),
        }
    }

    fn sixteen() -> Self {
        let plain = Style::new();
        Self {
            text: plain,
            ok: plain.fg(Color::Green),
            warn: plain.fg(Color::Yellow),
            error: plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            accent: plain.fg(Color::Cyan),
            muted: plain.add_modifier(Modifier::DIM),
            selected: plain.add_modifier(Modifier::REVERSED),
            selected_idle: plain.add_modifier(Modifier::BOLD),
            border: plain.add_modifier(Modifier::DIM),
            border_focus: plain.fg(Color::Cyan),
            title: plain.add_modifier(Modifier::BOLD),
            key: plain.fg(Color::Cyan),
            input: plain.add_modifier(Modifier::UNDERLINED),
            matched: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            disabled: plain.add_modifier(Modifier::DIM),
            bars: [plain.fg(Color::Cyan), plain.fg(Color::Magenta), plain.fg(Color::Blue), plain.fg(Color::Yellow)],
        }
    }

    fn colourless() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Self {
            text: plain,
            ok: plain,
            warn: bold,
            error: bold,
            accent: bold,
            muted: dim,
            selected: plain.add_modifier(Modifier::REVERSED),
            selected_idle: bold,
            border: dim,
            border_focus: bold,
            title: bold,
            key: bold,
            input: plain.add_modifier(Modifier::UNDERLINED),
            matched: plain.add_modifier(Modifier::UNDERLINED),
            disabled: dim,
            bars: [plain, bold, dim, plain],
        }
    }

    /// The bar style of the `index`-th split.
    pub fn bar(&self, index: usize) -> Style {
        self.bars[index % self.bars.len()]
    }

    /// Every style with its role's name: for tests and for the `doctor` page.
    pub fn roles(&self) -> Vec<(&'static str, Style)> {
        vec![
            ("text", self.text),
            ("ok", self.ok),
            ("warn", self.warn),
            ("error", self.error),
            ("accent", self.accent),
            ("muted", self.muted),
            ("selected", self.selected),
            ("selected_idle", self.selected_idle),
            ("border", self.border),
            ("border_focus", self.border_focus),
            ("title", self.title),
            ("key", self.key),
            ("input", self.input),
            ("matched", self.matched),
            ("disabled", self.disabled),
            ("bar 1", self.bars[0]),
            ("bar 2", self.bars[1]),
            ("bar 3", self.bars[2]),
            ("bar 4", self.bars[3]),
        ]
    }
}

/// Characters by role, in a Unicode and an ASCII set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// This is the ASCII set.
    pub ascii: bool,
    /// Before the selected row. One column wide.
    pub marker: &'static str,
    /// Between the parts of the title line. One column wide.
    pub crumb: &'static str,
    /// Between short items on one line. One column wide.
    pub dot: &'static str,
    /// Done, fine. One column wide.
    pub check: &'static str,
    /// Failed. One column wide.
    pub cross: &'static str,
    /// Wants attention. One column wide.
    pub warn: &'static str,
    /// Nothing, or not known. One column wide.
    pub dash: &'static str,
    /// In place of text that was cut.
    pub ellipsis: &'static str,
    /// A full step of a bar. One column wide.
    pub bar_full: &'static str,
    /// An empty step of a bar. One column wide.
    pub bar_empty: &'static str,
    /// Eighths of a step, from 1/8 to 7/8; empty where there are none.
    pub bar_parts: &'static [&'static str],
    /// A chosen item of several.
    pub radio_on: &'static str,
    /// An item of several that is not chosen.
    pub radio_off: &'static str,
    /// A switch that is on.
    pub box_on: &'static str,
    /// A switch that is off.
    pub box_off: &'static str,
    /// Something open that can be closed. One column wide.
    pub open: &'static str,
    /// Something closed that can be opened. One column wide.
    pub closed: &'static str,
    /// There is more above. One column wide.
    pub more_up: &'static str,
    /// There is more below. One column wide.
    pub more_down: &'static str,
    /// From one thing to another.
    pub arrow: &'static str,
    /// The turning sign of something that runs; all one column wide.
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
    /// The ASCII or the Unicode set.
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
    fn the_colourless_theme_holds_no_colour_at_all() {
        for (role, style) in Theme::new(ColourMode::None).roles() {
            assert_eq!((style.fg, style.bg, style.underline_color), (None, None, None), "{role}");
        }
    }

    #[test]
    fn the_selection_is_visible_without_colours() {
        let theme = Theme::new(ColourMode::None);
        assert!(theme.selected.add_modifier.contains(Modifier::REVERSED));
        assert_ne!(theme.selected, theme.text);
        assert_ne!(theme.border, theme.border_focus);
    }

    #[test]
    fn the_default_theme_uses_only_the_terminals_own_colours() {
        for (role, style) in Theme::new(ColourMode::Sixteen).roles() {
            for colour in [style.fg, style.bg].into_iter().flatten() {
                assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{role}");
            }
        }
    }

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
