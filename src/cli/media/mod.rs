//! Media metadata on the command line.

mod facts;

pub use facts::spread_lines;
