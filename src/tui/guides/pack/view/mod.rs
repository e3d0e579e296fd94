//! Draws the preview of the form of pack, and those of its steps that do not consist only of fields.

mod review;
mod steps;

pub(super) use review::preview_lines;
pub(super) use steps::{draw_source, draw_text_field, draw_tokenizer, formats_foot};
