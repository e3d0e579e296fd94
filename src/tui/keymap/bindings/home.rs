//! Keys of the home screen: its list, and its filter.

use super::{bar, key, Binding};
use crate::tui::keymap::{Action as A, Context as C};

/// The bindings of the home screen.
pub const HOME: &[Binding] = &[
    bar(C::Home, A::Open, &["enter"]),
    bar(C::Home, A::Find, &["/"]),
    bar(C::Home, A::NextPane, &["tab"]),
    bar(C::Home, A::Recent, &["r"]),
    key(C::Home, A::PreviousPane, &["backtab"]),
    key(C::Home, A::Enter, &["l", "right"]),
    key(C::Home, A::Parent, &["h", "backspace", "left", "-"]),
    key(C::Home, A::Prepare, &["p"]),
    key(C::Home, A::Resume, &["c"]),
    key(C::Home, A::Browse, &["b"]),
    key(C::Home, A::Pack, &["t"]),
    key(C::Home, A::Dedup, &["d"]),
    key(C::Home, A::Shards, &["S"]),
    key(C::Home, A::Media, &["m"]),
    key(C::Home, A::Facts, &["f"]),
    key(C::Home, A::Info, &["i"]),
    key(C::Home, A::Splits, &["s"]),
    key(C::Home, A::Mount, &["M"]),
    key(C::Home, A::Mix, &["x"]),
    key(C::Home, A::Edit, &["e"]),
    key(C::Home, A::Hidden, &["."]),
    key(C::Home, A::Reload, &["f5"]),
    key(C::Home, A::Close, &["esc"]),
    bar(C::HomeFilter, A::Accept, &["enter"]),
    bar(C::HomeFilter, A::Close, &["esc"]),
    key(C::HomeFilter, A::Up, &["up", "ctrl-p"]),
    key(C::HomeFilter, A::Down, &["down", "ctrl-n"]),
    key(C::HomeFilter, A::NextPane, &["tab"]),
];
