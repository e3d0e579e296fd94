//! The default keys, by area of the program. The bottom bar shows the marked ones, innermost layer first.

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
    /// The action it runs.
    pub action: Action,
    /// Default keys, most typical first (`enter`, `ctrl-d`, `g g`).
    pub keys: &'static [&'static str],
    /// Whether it is shown in the bottom bar, in table order.
    pub in_bar: bool,
}

const fn bar(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: true }
}
const fn key(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: false }
}

/// Returns the whole table. The bindings of one context are in display order.
pub fn bindings() -> impl Iterator<Item = &'static Binding> {
    let rooms = [home::HOME, splits::SPLITS, browse::BROWSE, general::GENERAL];
    rooms.into_iter().chain(guided::GUIDED.iter().copied()).flatten()
}
