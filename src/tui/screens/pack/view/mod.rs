//! Draws what the guided pack has of its own: the steps, and what they come to.

mod review;
mod steps;

pub(super) use review::outlook_lines;
pub(super) use steps::{source, targets, text_field, tokenizer};
