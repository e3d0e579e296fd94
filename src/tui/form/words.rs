//! What a guided form is about: its steps, and the fields in them.

use crate::tui::keymap::Action;
pub use gristmill_ops::engine::plan::setting::{Kind, Setting};
use std::fmt::Debug;

/// A step, in the order in which they are asked. The last one is the review of what a run would do.
pub trait Step: Copy + Debug + Ord + 'static {
    /// All of them in order.
    const ALL: &'static [Self];

    /// Its name in the list of steps.
    fn title(self) -> &'static str;

    /// Its stable name in a draft.
    fn id(self) -> &'static str;

    /// The step that an action jumps to.
    fn of_action(action: Action) -> Option<Self>;

    /// Its number, from 0.
    fn index(self) -> usize {
        Self::ALL.iter().position(|step| *step == self).unwrap_or(0)
    }

    /// The one after it; the last one stays.
    fn next(self) -> Self {
        Self::ALL.get(self.index() + 1).copied().unwrap_or(self)
    }

    /// The one before it.
    fn previous(self) -> Option<Self> {
        self.index().checked_sub(1).and_then(|index| Self::ALL.get(index).copied())
    }

    /// Whether it is the review.
    fn is_review(self) -> bool {
        self.next() == self
    }
}

/// A field of a step: a setting of the plan.
pub trait Field: Setting {
    /// The steps.
    type Step: Step;

    /// The step that it belongs to.
    fn step(self) -> Self::Step;

    /// Whether it is shown only when everything is.
    fn is_advanced(self) -> bool;

    /// Columns by which it is indented: below what it belongs to.
    fn indent(self) -> u16 {
        0
    }
}
