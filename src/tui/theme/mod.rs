//! Colours and glyphs by role. Widgets use roles instead of colours, and never rely on a colour alone.
//!
//! A theme is a small file, in `assets/themes` or by the user; [`file`] documents its syntax.

pub mod file;
mod glyphs;

pub use file::{Mistake, BUILT_IN};
pub use glyphs::Glyphs;

use gristmill_data::preview::cells::Depth;
use ratatui::style::{Color, Modifier, Style};

/// Marks cells of bars. Not an attribute of the terminal, and never written to it.
pub const BAR: Modifier = Modifier::from_bits_retain(1 << 15);

/// Styles by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Ordinary text. Its background, if any, is the background of the whole screen.
    pub text: Style,
    /// Success.
    pub ok: Style,
    /// A warning.
    pub warn: Style,
    /// A failure.
    pub error: Style,
    /// The accent: the focus, and the effects of keys.
    pub accent: Style,
    /// Secondary text.
    pub muted: Style,
    /// The selected row of the focused pane.
    pub selected: Style,
    /// The selected row of other panes.
    pub selected_idle: Style,
    /// Pane borders.
    pub border: Style,
    /// The border of the focused pane.
    pub border_focus: Style,
    /// Pane titles.
    pub title: Style,
    /// Key names in the bottom bar and in help.
    pub key: Style,
    /// The focused text field.
    pub input: Style,
    /// Characters matched by a filter.
    pub matched: Style,
    /// An unavailable action or row.
    pub disabled: Style,
    /// Bars of splits, in split order; wraps around.
    pub bars: [Style; 4],
}

/// Whether the screen may use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourMode {
    /// The terminal's own 16 colours, which are readable on light and dark backgrounds.
    #[default]
    Sixteen,
    /// Modifiers only. No cell has a colour: with `NO_COLOR` the backend would write an empty colour sequence, which resets bold and
    /// reverse.
    None,
}

impl Theme {
    /// Returns the default theme of a colour mode.
    pub fn new(mode: ColourMode) -> Self {
        let name = match mode {
            ColourMode::Sixteen => "16-colour",
            ColourMode::None => "no-colour",
        };
        Self::built_in(name).unwrap_or_default()
    }

    /// Returns a built-in theme.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(file::read(text).0)
    }

    /// Returns the bar style of the `index`-th split, marked so that a [selection](crate::tui::widgets::draw_selection) skips it.
    pub fn bar(&self, index: usize) -> Style {
        let mut style = self.bars[index % self.bars.len()];
        style.add_modifier.insert(BAR);
        style
    }

    /// Returns every style with the name of its role in a theme file.
    pub fn roles(&self) -> Vec<(&'static str, Style)> {
        let mut copy = self.clone();
        file::ROLES.iter().map(|(role, style)| (*role, *style(&mut copy))).collect()
    }

    /// Returns the theme for a terminal without 24-bit colour: colours become the nearest ones of the 256-colour palette, or of the 16
    /// colours.
    #[must_use]
    pub fn for_depth(mut self, depth: Depth) -> Self {
        let nearest = |r, g, b| match depth {
            Depth::True => Color::Rgb(r, g, b),
            Depth::Indexed => Color::Indexed(nearest_indexed(r, g, b)),
            Depth::Shades | Depth::Ascii => nearest_of_sixteen(r, g, b),
        };
        let reduce = |colour: Option<Color>| match colour {
            Some(Color::Rgb(r, g, b)) => Some(nearest(r, g, b)),
            other => other,
        };
        for (_, style) in file::ROLES {
            let style = style(&mut self);
            (style.fg, style.bg) = (reduce(style.fg), reduce(style.bg));
        }
        self
    }
}

/// The levels of the 6×6×6 cube in the 256-colour palette.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest_indexed(r: u8, g: u8, b: u8) -> u8 {
    let step = |v: u8| (0..6_u8).min_by_key(|&i| CUBE[usize::from(i)].abs_diff(v)).unwrap_or(0);
    let (x, y, z) = (step(r), step(g), step(b));
    let cube = [CUBE[usize::from(x)], CUBE[usize::from(y)], CUBE[usize::from(z)]];
    // 24 greys from 8 to 238.
    let level = ((u16::from(r) + u16::from(g) + u16::from(b)) / 3).saturating_sub(3) / 10;
    let level = u8::try_from(level.min(23)).unwrap_or(23);
    let grey = 8 + level * 10;
    if distance([r, g, b], [grey; 3]) < distance([r, g, b], cube) {
        232 + level
    } else {
        16 + 36 * x + 6 * y + z
    }
}

fn nearest_of_sixteen(r: u8, g: u8, b: u8) -> Color {
    const NAMED_COLORS: [(Color, [u8; 3]); 16] = [
        (Color::Black, [0, 0, 0]),
        (Color::Red, [170, 0, 0]),
        (Color::Green, [0, 170, 0]),
        (Color::Yellow, [170, 120, 0]),
        (Color::Blue, [0, 0, 170]),
        (Color::Magenta, [170, 0, 170]),
        (Color::Cyan, [0, 170, 170]),
        (Color::Gray, [170, 170, 170]),
        (Color::DarkGray, [85, 85, 85]),
        (Color::LightRed, [255, 85, 85]),
        (Color::LightGreen, [85, 255, 85]),
        (Color::LightYellow, [255, 255, 85]),
        (Color::LightBlue, [85, 85, 255]),
        (Color::LightMagenta, [255, 85, 255]),
        (Color::LightCyan, [85, 255, 255]),
        (Color::White, [255, 255, 255]),
    ];
    NAMED_COLORS
        .into_iter()
        .min_by_key(|(_, known)| distance([r, g, b], *known))
        .map_or(Color::Reset, |(colour, _)| colour)
}

/// Returns the square of the Euclidean distance of two colours.
fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter().zip(b).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

#[cfg(test)]
mod tests;
