//! Media on the command line: the flags of `prepare` about them, and what their tables hold.

mod args;
mod facts;

pub use args::{filter, no_way, MediaArgs};
pub use facts::spread_lines;
