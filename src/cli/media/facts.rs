//! The facts about the media tables of a data set, as lines for `facts`.

use super::super::facts::item;
use crate::cli::printer::{paint, Tone};
use gristmill_ops::engine::media::MediaSpread;

/// Returns one list item per fact.
pub fn spread_lines(spread: &MediaSpread) -> Vec<String> {
    let facts = spread.facts();
    let title = format!("- {}:", paint(Tone::Strong, "media metadata"));
    std::iter::once(title).chain(facts.iter().map(|(name, value)| format!("  {}", item(name, value)))).collect()
}
