//! A key or a short sequence of keys: parsed from text (`ctrl-d`, `g g`), compared with events, formatted for display.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;
use std::str::FromStr;

/// One to three key presses in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chord(Vec<(KeyCode, KeyModifiers)>);

/// The error for a text that is not a [`Chord`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a key; write keys like q, G, ctrl-d, enter, f1, or a sequence like g g")]
pub struct ChordError(pub String);

const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

/// Other names of keys: as displayed, and as other programs write them.
const ALIASES: &[(&str, &str)] = &[
    ("return", "enter"),
    ("escape", "esc"),
    ("del", "delete"),
    ("ins", "insert"),
    ("pgup", "pageup"),
    ("pgdn", "pagedown"),
    ("pgdown", "pagedown"),
    ("↑", "up"),
    ("↓", "down"),
    ("←", "left"),
    ("→", "right"),
];

impl Chord {
    /// Returns the chord of key events; Shift on a character is already part of the character.
    pub fn from_events(events: &[KeyEvent]) -> Self {
        Self(events.iter().map(|e| normal(e.code, e.modifiers)).collect())
    }

    /// Returns its keys in order.
    pub fn pairs(&self) -> &[(KeyCode, KeyModifiers)] {
        &self.0
    }

    /// Whether it is longer than `other` and begins with it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }

    /// Returns its display form: `Enter`, `Ctrl-d`, `gg`, `G`.
    pub fn label(&self) -> String {
        self.label_in(false)
    }

    /// Returns its display form, limited to ASCII if `ascii` is set.
    pub fn label_in(&self, ascii: bool) -> String {
        self.0.iter().map(|&(code, mods)| label_one(code, mods, ascii)).collect()
    }

    /// Whether it cannot be distinguished from `other` while typing: both are equal, or one begins with the other.
    pub fn clashes_with(&self, other: &Self) -> bool {
        self == other || self.starts_with(other) || other.starts_with(self)
    }

    /// Suggests the intended key for a text that is not a key.
    pub fn suggestion(text: &str) -> Option<String> {
        let plain = (2..=3).contains(&text.chars().count()) && text.chars().all(|c| c.is_ascii_alphanumeric());
        let (mods, name) = text.rsplit_once('-').map_or(("", text), |(mods, name)| (mods, name));
        let near = gristmill_core::did_you_mean::nearest(name, NAMES.iter().map(|(name, _)| *name));
        match near {
            Some(near) if mods.is_empty() => Some(near.to_owned()),
            Some(near) => Some(format!("{}-{near}", mods.to_lowercase())),
            None if plain => Some(text.chars().map(String::from).collect::<Vec<_>>().join(" ")),
            None => None,
        }
    }

    /// Whether a focused text field would receive its first key.
    pub fn types_text(&self) -> bool {
        self.0.first().is_some_and(|&(code, mods)| super::is_for_text_field(&KeyEvent::new(code, mods)))
    }
}

fn normal(code: KeyCode, mods: KeyModifiers) -> (KeyCode, KeyModifiers) {
    let mods = mods & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
    match code {
        // Terminals differ in whether they report Shift with a capital letter or a symbol.
        KeyCode::Char(c) if mods.contains(KeyModifiers::CONTROL) => {
            (KeyCode::Char(c.to_ascii_lowercase()), mods - KeyModifiers::SHIFT)
        }
        KeyCode::Char(_) | KeyCode::BackTab => (code, mods - KeyModifiers::SHIFT),
        KeyCode::Tab if mods.contains(KeyModifiers::SHIFT) => (KeyCode::BackTab, mods - KeyModifiers::SHIFT),
        _ => (code, mods),
    }
}

fn label_one(code: KeyCode, mods: KeyModifiers, ascii: bool) -> String {
    let mut out = String::new();
    if mods.contains(KeyModifiers::CONTROL) {
        out.push_str("Ctrl-");
    }
    if mods.contains(KeyModifiers::ALT) {
        out.push_str("Alt-");
    }
    if mods.contains(KeyModifiers::SHIFT) {
        out.push_str("Shift-");
    }
    match code {
        KeyCode::Char(' ') => out.push_str("Space"),
        KeyCode::Char(c) => out.push(c),
        KeyCode::F(n) => out.push_str(&format!("F{n}")),
        KeyCode::BackTab => out.push_str("Shift-Tab"),
        KeyCode::PageUp => out.push_str("PgUp"),
        KeyCode::PageDown => out.push_str("PgDn"),
        KeyCode::Up if !ascii => out.push('↑'),
        KeyCode::Down if !ascii => out.push('↓'),
        KeyCode::Left if !ascii => out.push('←'),
        KeyCode::Right if !ascii => out.push('→'),
        other => out.push_str(&format!("{other:?}")),
    }
    out
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl FromStr for Chord {
    type Err = ChordError;
    fn from_str(text: &str) -> Result<Self, ChordError> {
        let keys: Option<Vec<_>> = text.split_whitespace().map(parse_key).collect();
        match keys {
            Some(keys) if (1..=3).contains(&keys.len()) => Ok(Self(keys)),
            _ => Err(ChordError(text.to_owned())),
        }
    }
}

fn parse_key(text: &str) -> Option<(KeyCode, KeyModifiers)> {
    const MODIFIERS: [(&str, KeyModifiers); 3] =
        [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];
    let mut rest = text;
    let mut mods = KeyModifiers::NONE;
    // Modifiers are accepted in any order; case is ignored in words, but significant for single characters.
    while let Some((after, modifier)) = MODIFIERS.into_iter().find_map(|(prefix, modifier)| {
        let head = rest.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix))?;
        let after = &rest[head.len()..];
        (!after.is_empty()).then_some((after, modifier))
    }) {
        mods |= modifier;
        rest = after;
    }
    let mut chars = rest.chars();
    let code = match (chars.next(), chars.next()) {
        (Some(c), None) if !ALIASES.iter().any(|(alias, _)| *alias == rest) => KeyCode::Char(c),
        _ => {
            let word = rest.to_lowercase();
            let word = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word.as_str(), |(_, name)| name);
            let named = NAMES.iter().find(|(name, _)| *name == word).map(|&(_, code)| code);
            let function = || word.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n)).map(KeyCode::F);
            named.or_else(function)?
        }
    };
    Some(normal(code, mods))
}
