//! A theme file: one line per role, each a style in words.
//!
//! ```yaml
//! base: dark                  # the source of omitted roles; 16-colour without this line
//! accent: "#ff8800 bold"      # a colour; quotes, because a bare # begins a comment
//! selected: black on yellow   # and a background
//! muted: dim                  # no colour, only a modifier
//! bars: [cyan, magenta, blue, yellow]
//! ```
//!
//! Colours: the sixteen of the terminal by name, a number of the 256-colour palette, `#rrggbb`. Modifiers: `bold`, `dim`,
//! `italic`, `underline`, `reverse`. `default` sets neither colour nor modifier.

use super::Theme;
use gristmill_core::did_you_mean::nearest;
use gristmill_pycompat::yaml_read::{self, Mark, Marked, MarkedValue};
use gristmill_pycompat::Node;
use ratatui::style::{Color, Modifier, Style};

/// The built-in themes: name and file content.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("16-colour", include_str!("../../../assets/themes/16-colour.yaml")),
    ("dark", include_str!("../../../assets/themes/dark.yaml")),
    ("light", include_str!("../../../assets/themes/light.yaml")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.yaml")),
    ("no-colour", include_str!("../../../assets/themes/no-colour.yaml")),
];

/// Returns the style of a role.
type RoleStyle = fn(&mut Theme) -> &mut Style;

/// The names of all roles, with their styles.
pub(super) const ROLES: [(&str, RoleStyle); 19] = [
    ("text", |theme| &mut theme.text),
    ("ok", |theme| &mut theme.ok),
    ("warn", |theme| &mut theme.warn),
    ("error", |theme| &mut theme.error),
    ("accent", |theme| &mut theme.accent),
    ("muted", |theme| &mut theme.muted),
    ("selected", |theme| &mut theme.selected),
    ("selected-idle", |theme| &mut theme.selected_idle),
    ("border", |theme| &mut theme.border),
    ("border-focus", |theme| &mut theme.border_focus),
    ("title", |theme| &mut theme.title),
    ("key", |theme| &mut theme.key),
    ("input", |theme| &mut theme.input),
    ("matched", |theme| &mut theme.matched),
    ("disabled", |theme| &mut theme.disabled),
    ("bar 1", |theme| &mut theme.bars[0]),
    ("bar 2", |theme| &mut theme.bars[1]),
    ("bar 3", |theme| &mut theme.bars[2]),
    ("bar 4", |theme| &mut theme.bars[3]),
];

/// Returns the roles that are keys of a theme file; the bars are one list there.
fn key_roles() -> impl Iterator<Item = &'static (&'static str, RoleStyle)> {
    ROLES.iter().filter(|(role, _)| !role.starts_with("bar "))
}

/// Returns the keys of a theme file, without `base`.
fn keys() -> impl Iterator<Item = &'static str> {
    key_roles().map(|(role, _)| *role).chain(["bars"])
}

const COLOURS: [(&str, Color); 17] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::White),
    ("grey", Color::Gray),
    ("gray", Color::Gray),
    ("dark-grey", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
];

const MANNERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// A mistake in a settings or theme file, with a hint. The setting concerned keeps its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The position; line 0 if the mistake has no position.
    pub at: Mark,
    /// The description of the mistake.
    pub message: String,
    /// How to correct it.
    pub hint: Option<String>,
}

impl Mistake {
    /// Creates a mistake at a position.
    pub fn new(at: Mark, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { at, message: message.into(), hint }
    }
}

/// Parses a theme. Unusable entries are reported, and their roles keep the style of the base theme.
pub fn read(text: &str) -> (Theme, Vec<Mistake>) {
    let mut mistakes = Vec::new();
    let entries = entries_of(text, "a theme", &mut mistakes);
    let mut theme = base_of(&entries, &mut mistakes);
    for (key, at, value) in &entries {
        match key.as_str() {
            "base" => {}
            "bars" => read_bars(value, &mut theme, &mut mistakes),
            key => match key_roles().find(|(role, _)| *role == key) {
                Some((_, role_style)) => {
                    if let Some(style) = style_of(value, &mut mistakes) {
                        *role_style(&mut theme) = style;
                    }
                }
                None => {
                    let hint = match nearest(key, std::iter::once("base").chain(keys())) {
                        Some(near) => format!("did you mean '{near}'?"),
                        None => format!("roles: {}", keys().collect::<Vec<_>>().join(", ")),
                    };
                    mistakes.push(Mistake::new(*at, format!("a theme has no role '{key}'"), Some(hint)));
                }
            },
        }
    }
    (theme, mistakes)
}

/// Returns the entries of a file that must consist of one map; any other content is a mistake.
pub(in crate::tui) fn entries_of(text: &str, what: &str, mistakes: &mut Vec<Mistake>) -> Vec<(String, Mark, Marked)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match yaml_read::read_marked(text) {
        Ok(None) => Vec::new(),
        Ok(Some(Marked { value: MarkedValue::Map(entries), .. })) => entries,
        Ok(Some(other)) => {
            mistakes.push(Mistake::new(other.at, format!("{what} is a list of `name: value` lines"), None));
            Vec::new()
        }
        Err(error) => {
            let within = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let at = Mark { line: within(error.line), column: within(error.column) };
            let message = error.message.replace(" by the loader", " here");
            mistakes.push(Mistake::new(at, message, Some("the file is ignored until this is corrected".into())));
            Vec::new()
        }
    }
}

fn base_of(entries: &[(String, Mark, Marked)], mistakes: &mut Vec<Mistake>) -> Theme {
    let Some((_, _, value)) = entries.iter().find(|(key, ..)| key == "base") else {
        return Theme::default_colours(entries);
    };
    let name = text_of(value).unwrap_or_default();
    Theme::built_in(&name).unwrap_or_else(|| {
        let names = BUILT_IN.map(|(name, _)| name);
        let hint = match nearest(&name, names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("themes: {}", names.join(", ")),
        };
        mistakes.push(Mistake::new(value.at, format!("there is no theme '{name}' to begin with"), Some(hint)));
        Theme::new(super::ColourMode::Sixteen)
    })
}

impl Theme {
    /// Returns the base of a file without `base`: the 16-colour theme, unless the file defines every role.
    fn default_colours(entries: &[(String, Mark, Marked)]) -> Self {
        let says = |key: &str| entries.iter().any(|(known, ..)| known == key);
        // The 16-colour theme is such a file itself: using it as its own base would not terminate.
        match keys().all(says) {
            true => Self::default(),
            false => Self::built_in("16-colour").unwrap_or_default(),
        }
    }
}

fn read_bars(value: &Marked, theme: &mut Theme, mistakes: &mut Vec<Mistake>) {
    let MarkedValue::List(items) = &value.value else {
        let hint = Some("write it like [cyan, magenta, blue, yellow]".to_owned());
        return mistakes.push(Mistake::new(value.at, "'bars' is a list of four styles", hint));
    };
    if items.len() != theme.bars.len() {
        let message = format!(
            "'bars' has {}, {} are needed",
            gristmill_core::text::count(items.len() as u64, "style"),
            theme.bars.len()
        );
        mistakes.push(Mistake::new(value.at, message, None));
    }
    for (bar, item) in theme.bars.iter_mut().zip(items) {
        *bar = style_of(item, mistakes).unwrap_or(*bar);
    }
}

/// Returns the text of a scalar; numbers and booleans in their simplest notation.
pub(in crate::tui) fn text_of(value: &Marked) -> Option<String> {
    match &value.value {
        MarkedValue::Scalar(Node::Str(text)) => Some(text.clone()),
        MarkedValue::Scalar(Node::Int(number)) => Some(number.to_string()),
        MarkedValue::Scalar(Node::Bool(value)) => Some(value.to_string()),
        _ => None,
    }
}

fn style_of(value: &Marked, mistakes: &mut Vec<Mistake>) -> Option<Style> {
    let Some(text) = text_of(value) else {
        let hint = "a colour in #rrggbb needs quotes; 'default' changes nothing".to_owned();
        mistakes.push(Mistake::new(value.at, "a style is missing here", Some(hint)));
        return None;
    };
    match style(&text) {
        Ok(style) => Some(style),
        Err(word) => {
            let names = COLOURS.iter().map(|(name, _)| *name).chain(MANNERS.iter().map(|(name, _)| *name));
            let hint = match nearest(&word, names.chain(["default"])) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "write a colour (cyan, 208, \"#ff8800\"), `on` and a background, bold, dim, underline, reverse"
                    .into(),
            };
            mistakes.push(Mistake::new(value.at, format!("'{word}' is neither a colour nor an attribute"), Some(hint)));
            None
        }
    }
}

/// Parses a style in words. The error is the first word that is not part of a style.
fn style(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut is_background = false;
    for word in text.split_whitespace() {
        if word == "default" {
            is_background = false;
        } else if word == "on" {
            is_background = true;
        } else if let Some((_, manner)) = MANNERS.iter().find(|(name, _)| *name == word) {
            style = style.add_modifier(*manner);
        } else {
            let colour = colour(word).ok_or_else(|| word.to_owned())?;
            style = if std::mem::take(&mut is_background) { style.bg(colour) } else { style.fg(colour) };
        }
    }
    if is_background {
        return Err("on".into());
    }
    Ok(style)
}

fn colour(word: &str) -> Option<Color> {
    if let Some(digits) = word.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit())) {
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, r, g, b] = number.to_be_bytes();
        return Some(Color::Rgb(r, g, b));
    }
    if let Ok(number) = word.parse::<u8>() {
        return Some(Color::Indexed(number));
    }
    COLOURS.iter().find(|(name, _)| *name == word).map(|&(_, colour)| colour)
}
