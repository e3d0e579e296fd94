//! The work itself: scanning into an index, deciding, checking. Knows no terminal and spawns no thread.

pub mod index;
pub mod plan;
