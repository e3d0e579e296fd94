//! Key bindings: dispatch, the bottom bar, `?` and `:` are derived from one table.
//!
//! Owns the meaning of a key in each context. Must not know any screen or the terminal. A screen returns its [`Context`]; the context lists
//! its layers, innermost first ([`Context::layers`]), and the innermost layer with a binding determines the meaning of a key. To add an
//! action, add a line to `actions!` ([`action`]) and a line to the bindings of its area ([`bindings`](mod@bindings)).

mod action;
mod bindings;
mod context;
pub mod earlier;
mod key;
mod user_keys;

pub use action::Action;
pub use bindings::{bindings, Binding};
pub use context::Context;
pub use key::{Chord, ChordError};
pub use user_keys::{KeyConflict, UserKeys};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The bindings in use: the default ones, replaced in part by those of the user ([`Keymap::patch`]).
#[derive(Clone, Debug)]
pub struct Keymap {
    entries: Vec<KeymapEntry>,
}

/// An action in a context, with its keys.
#[derive(Clone, Debug)]
pub struct KeymapEntry {
    /// The layer it belongs to.
    pub context: Context,
    /// The action it runs.
    pub action: Action,
    /// The keys bound to it, most typical first.
    pub keys: Vec<Chord>,
    /// Whether it is shown in the bottom bar.
    pub in_bar: bool,
}

/// The meaning of a key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Run this action.
    Do(Action),
    /// The keys are the beginning of a sequence; wait for the next one.
    More,
    /// The keys have no binding.
    Nothing,
}

impl Default for Keymap {
    fn default() -> Self {
        let entries = bindings()
            .map(|b| KeymapEntry {
                context: b.context,
                action: b.action,
                keys: b.keys.iter().filter_map(|k| k.parse().ok()).collect(),
                in_bar: b.in_bar,
            })
            .collect();
        Self { entries }
    }
}

impl Keymap {
    /// Returns all entries that apply in `context`, innermost layer first, in the order of the table.
    pub fn entries(&self, context: Context) -> impl Iterator<Item = &KeymapEntry> {
        context.layers().iter().flat_map(|layer| self.entries.iter().filter(move |e| e.context == *layer))
    }

    /// Returns the meaning of the keys pressed so far.
    pub fn meaning(&self, context: Context, pressed: &[KeyEvent]) -> Meaning {
        let pressed = Chord::from_events(pressed);
        for layer in context.layers() {
            let mut more = false;
            for entry in self.entries.iter().filter(|e| e.context == *layer) {
                for chord in &entry.keys {
                    if *chord == pressed {
                        return Meaning::Do(entry.action);
                    }
                    more |= chord.starts_with(&pressed);
                }
            }
            if more {
                return Meaning::More;
            }
        }
        Meaning::Nothing
    }

    /// Returns the key to show for an action in a context: the most typical one that no inner layer hides.
    pub fn key_for(&self, context: Context, action: Action) -> Option<&Chord> {
        self.entries(context).find(|e| e.action == action).and_then(|e| e.keys.first())
    }
}

/// Whether a focused text field receives this key before the key table is consulted: keys that type or edit a character.
pub fn is_for_text_field(key: &KeyEvent) -> bool {
    let command = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(c) if command => {
            matches!(c, 'a' | 'e' | 'w' | 'u' | 'k' | 'b' | 'f' | 'h') && key.modifiers == KeyModifiers::CONTROL
        }
        KeyCode::Char(_) => true,
        KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right | KeyCode::Home | KeyCode::End => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
