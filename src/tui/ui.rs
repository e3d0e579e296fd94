//! The styles, characters and key bindings that all drawing code receives.

use super::keymap::{Action, Context, Keymap};
use super::theme::{Glyphs, Theme};

/// Styles, characters and keys for drawing, in addition to a screen's own state.
#[derive(Clone, Copy)]
pub struct Ui<'a> {
    /// Styles by role.
    pub theme: &'a Theme,
    /// Characters by role.
    pub glyphs: &'a Glyphs,
    /// The key bindings, for hints in screens.
    pub keymap: &'a Keymap,
    /// Incremented with every tick (ten per second) while something runs; drives spinners.
    pub frame_count: u64,
}

impl Ui<'_> {
    /// Returns the current spinner character.
    pub fn spinner(&self) -> &'static str {
        let frames = self.glyphs.spinner;
        // Half the tick rate: one step per 0.2 s.
        frames[(self.frame_count / 2) as usize % frames.len()]
    }
    /// Returns the display form of the key for `action` in `context`: `Ctrl-d`.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.keymap.key_for(context, action).map(|k| k.label_in(self.glyphs.ascii)).unwrap_or_default()
    }
}
