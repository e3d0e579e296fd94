//! The operations of `gristmill nanosets`.

mod merge;
mod shuffle;

pub use merge::NanosetsMerge;
pub use shuffle::NanosetsShuffle;

use crate::job::operation::{AnyOperation, Entry};

/// The operations, in the order of the help text.
pub(super) const OPERATIONS: &[&dyn AnyOperation] = &[&Entry::<NanosetsMerge>::NEW, &Entry::<NanosetsShuffle>::NEW];
