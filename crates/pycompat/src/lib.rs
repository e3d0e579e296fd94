//! Reproduces, byte for byte, behaviour of Python and its common libraries on which the formats depend.

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod braces;
pub mod json_fields;
pub mod json_loads;
pub mod json_read;
pub mod json_repeats;
pub mod json_rewriter;
pub mod json_text;
pub mod json_walk;
pub mod json_write;
pub mod line_checker;
pub mod natural_order;
pub mod node;
pub mod npy;
pub mod number;
pub mod numpy_random;
pub mod pattern;
mod pattern_syntax;
pub mod pickle;
pub mod random;
pub mod white_space;
pub mod yaml_read;
mod yaml_scalar;
pub mod yaml_write;

pub use node::Node;
