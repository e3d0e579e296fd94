//! The content of the media tables of a data set, in lines for `info`.

use crate::cli::printer::{paint, Tone};
use gristmill_core::text::{count, display_safe, duration, grouped};
use gristmill_ops::engine::media::MediaSpread;
use std::time::Duration;

/// Maximum number of names in a list.
const MAX_SHOWN_NAMES: usize = 8;

/// Returns one list item per fact.
pub fn spread_lines(spread: &MediaSpread) -> Vec<String> {
    let item = |name: &str, value: String| format!("  - {}: {}", paint(Tone::Strong, name), display_safe(&value));
    let rows = format!(
        "{} ({}, {} of sound or video)",
        count(spread.rows, "row"),
        count(spread.images, "picture"),
        grouped(spread.av)
    );
    let mut lines = vec![format!("- {}: {rows}", paint(Tone::Strong, "media metadata"))];
    for filter in &spread.filters {
        let patterns = if filter.patterns.is_empty() { String::new() } else { format!(" {}", filter.patterns) };
        let told = format!("{}{patterns}, first {} UTC", filter.strategy.to_lowercase(), filter.created_at);
        lines.push(item("picked by", told));
    }
    let lists = [
        ("formats", &spread.formats),
        ("modes", &spread.modes),
        ("longer side", &spread.sides),
        ("sizes", &spread.sizes),
        ("video sizes", &spread.video_sizes),
        ("durations", &spread.durations),
        ("sound", &spread.audio),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            lines.push(item(name, list_text(list)));
        }
    }
    if let Some([(width, height), (most_width, most_height)]) = spread.extent {
        let (wide, high) = (span(width, most_width), span(height, most_height));
        lines.push(item("pictures are", format!("{wide} px wide, {high} px high")));
    }
    if spread.seconds >= 1.0 {
        let all = Duration::try_from_secs_f64(spread.seconds).unwrap_or_default();
        lines.push(item("plays for", duration(all)));
    }
    if spread.unreadable > 0 {
        lines.push(item("cannot be read", count(spread.unreadable, "row")));
    }
    lines
}

fn list_text(list: &[(String, u64)]) -> String {
    let mut text = list
        .iter()
        .take(MAX_SHOWN_NAMES)
        .map(|(name, rows)| format!("{name} {}", grouped(*rows)))
        .collect::<Vec<_>>()
        .join(", ");
    if list.len() > MAX_SHOWN_NAMES {
        text.push_str(", …");
    }
    text
}

/// Formats `48` or `48–300`.
fn span(least: u32, most: u32) -> String {
    if least == most {
        return grouped(u64::from(least));
    }
    format!("{}–{}", grouped(u64::from(least)), grouped(u64::from(most)))
}
