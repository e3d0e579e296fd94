//! Draws the steps of pack that are more than fields, and the preview.

mod review;
mod steps;

pub(super) use review::preview_lines;
pub(super) use steps::{draw_source, draw_text_field, draw_tokenizer, formats_foot};
