//! The default keys, by the rooms of the program. The bottom bar shows the marked ones, nearest layer first.

mod browse;
mod general;
mod guided;
mod home;
mod splits;

use super::{Action, Context};

/// One line of the table: the default keys of an action in a context.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The layer it belongs to.
    pub context: Context,
    /// What it does.
    pub action: Action,
    /// Default keys, most typical first (`enter`, `ctrl-d`, `g g`).
    pub keys: &'static [&'static str],
    /// Shown in the bottom bar, in table order.
    pub in_bar: bool,
}

const fn bar(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: true }
}
const fn key(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: false }
}

/// The whole table. What one context has stands in its order.
pub fn bindings() -> impl Iterator<Item = &'static Binding> {
    let rooms = [home::HOME, splits::SPLITS, browse::BROWSE, general::GENERAL];
    rooms.into_iter().chain(guided::GUIDED.iter().copied()).flatten()
}
