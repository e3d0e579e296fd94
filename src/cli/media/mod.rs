//! Media on the command line: what their tables hold.

mod facts;

pub use facts::spread_lines;
