//! The tree of a metadataset as text, with bars for the shares, and samples per epoch.

use crate::engine::mix::{MixFacts, MixNode, MixNodeKind};
use crate::job::report::{LineTone, ReportLine};
use gristmill_core::text::{count, display_safe, grouped, percent};

/// Width of a full bar in columns.
const BAR_COLUMNS: usize = 12;
/// Maximum number of listed nodes per split.
const MAX_LISTED_NODES: usize = 200;
/// Width of a label in columns.
const LABEL_COLUMNS: usize = 30;

/// Returns all splits, each as a tree, and the aux sources.
pub fn lines(facts: &MixFacts) -> Vec<ReportLine> {
    let mut lines = splits(facts);
    for lookup in &facts.aux {
        let all = lookup.found + lookup.missing;
        let found = format!(
            " {}: {} of {} found, in {}",
            display_safe(&lookup.member),
            grouped(lookup.found),
            count(all, "name"),
            count(lookup.records, "record")
        );
        lines.push(ReportLine { tone: LineTone::Strong, lead: "media of".to_owned(), rest: found });
    }
    lines
}

/// Returns all splits, each as a tree.
pub fn splits(facts: &MixFacts) -> Vec<ReportLine> {
    let strong = |lead: String, rest: String| ReportLine { tone: LineTone::Strong, lead, rest };
    let mut lines = Vec::new();
    for split in &facts.splits {
        lines.push(strong(display_safe(&split.name).into_owned(), format!(": {}", summary(&split.root))));
        let mut left = MAX_LISTED_NODES;
        node(&split.root, 1, &mut left, &mut lines);
        if left == 0 {
            lines.push(ReportLine::plain(format!("  … only the first {MAX_LISTED_NODES} are listed; --json has all")));
        }
    }
    lines
}

fn summary(root: &MixNode) -> String {
    let Some(samples) = root.samples_per_epoch else { return "samples per epoch are not known".to_owned() };
    match root.kind {
        MixNodeKind::Blend => format!("{} in all, drawn by weight without end", count(samples, "sample")),
        _ => format!("{} an epoch", count(samples, "sample")),
    }
}

fn node(node: &MixNode, depth: usize, left: &mut usize, lines: &mut Vec<ReportLine>) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    lines.push(ReportLine::plain(line(node, depth)));
    for child in &node.children {
        if node.kind == MixNodeKind::Join {
            lines.push(ReportLine::plain(joined(child, depth + 1)));
        } else {
            self::node(child, depth + 1, left, lines);
        }
    }
}

fn joined(child: &MixNode, depth: usize) -> String {
    format!("{}with {}{}", "  ".repeat(depth), display_safe(&child.label), split_of(child))
}

fn split_of(node: &MixNode) -> String {
    node.split_part.as_ref().map_or_else(String::new, |split| format!(" [{}]", display_safe(split)))
}

fn line(node: &MixNode, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let label = format!("{indent}{}{}", display_safe(&node.label), split_of(node));
    let width = unicode_width::UnicodeWidthStr::width(label.as_str());
    let pad = " ".repeat(LABEL_COLUMNS.saturating_sub(width));
    let mut facts = vec![node.samples.map_or_else(|| "samples not known".to_owned(), |n| count(n, "sample"))];
    if node.kind == MixNodeKind::Unusable {
        facts = vec!["cannot be used".to_owned()];
    }
    if let Some(weight) = node.weight {
        facts.push(format!("weight {weight}"));
    }
    if let Some(repetitions) = node.repetitions {
        facts.push(gristmill_core::text::times(repetitions));
        facts.extend(node.samples_per_epoch.map(|n| format!("{} an epoch", grouped(n))));
    }
    if let Some(factor) = node.oversampling.filter(|factor| (factor - 1.0).abs() > 0.005) {
        facts.push(format!("seen {factor:.2}x as often as an even mixture"));
    }
    format!("{label}{pad} {:>7} {} {}", percent(node.share), bar(node.share), facts.join(", "))
}

/// Draws a bar of fixed width. A share above 0 has at least one cell.
fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let mut full = (share * BAR_COLUMNS as f64).round() as usize;
    if share > 0.0 {
        full = full.max(1);
    }
    format!("{}{}", "█".repeat(full.min(BAR_COLUMNS)), "░".repeat(BAR_COLUMNS.saturating_sub(full)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_width_and_show_the_smallest_share() {
        assert_eq!(bar(0.5), format!("{}{}", "█".repeat(6), "░".repeat(6)));
        assert_eq!(bar(0.0001).matches('█').count(), 1);
        assert_eq!(bar(0.0).matches('█').count(), 0);
        assert_eq!(bar(7.0), "█".repeat(12));
        assert_eq!(bar(f64::NAN).chars().count(), 12);
    }
}
