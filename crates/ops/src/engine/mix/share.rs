//! Figures of the nodes: samples, shares and epochs.

use super::facts::{MixNode, MixNodeKind};
use super::sets::{SplitView, WebSet};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use std::collections::HashMap;

/// Maximum number of excluded samples that are looked up individually; if there are more, all are assumed to exist.
const MAX_LOOKUPS: usize = 100_000;

/// Returns the number of samples from `start` to `end` of those that the loader counts, without those at `excluded` positions.
pub(super) fn without_excluded(excluded: &[u64], start: u64, end: u64) -> u64 {
    let gone = excluded.iter().filter(|at| (start..end).contains(*at)).count() as u64;
    end.saturating_sub(start).saturating_sub(gone)
}

/// Returns the positions of the excluded samples among those that the loader counts, sorted.
pub(super) fn excluded_positions(set: &WebSet, view: &SplitView) -> Vec<u64> {
    if view.excluded.is_empty() {
        return Vec::new();
    }
    // A shard may be listed twice, in which case its samples are read twice.
    let mut begins: HashMap<u32, Vec<u64>> = HashMap::new();
    let mut at = 0;
    for (id, count, _) in view.shards.iter().filter(|(_, _, is_excluded)| !is_excluded) {
        begins.entry(*id).or_default().push(at);
        at += count;
    }
    let tables = Tables::open(&layout::in_nv_meta(&set.root, layout::INDEX_SQLITE)).ok();
    let tables = tables.filter(|_| view.excluded.len() <= MAX_LOOKUPS);
    let mut positions = Vec::new();
    for (id, key) in &view.excluded {
        let Some(begins) = begins.get(id) else { continue };
        let index = match &tables {
            Some(tables) => match tables.sample_by_key(key) {
                Ok(Some(sample)) if sample.tar_file_id == *id => sample.sample_index,
                // The key is in several shards, and the tables have the sample of another one, so the position is unknown here.
                Ok(Some(_)) => 0,
                _ => continue,
            },
            // Without tables the position is unknown, so the sample is counted at the start of the shard.
            None => 0,
        };
        positions.extend(begins.iter().map(|begin| begin + index));
    }
    positions.sort_unstable();
    positions
}

/// Sets shares, samples per epoch and oversampling of a whole split.
pub(super) fn assign(root: &mut MixNode) {
    count(root);
    epochs(root, 1.0);
    shares(root, 1.0);
    let total = root.samples.filter(|&samples| samples > 0);
    oversampling(root, total);
}

/// Counts the samples of nodes with members, bottom-up.
fn count(node: &mut MixNode) {
    node.children.iter_mut().for_each(count);
    if matches!(node.kind, MixNodeKind::Blend | MixNodeKind::BlendEpochized | MixNodeKind::Metadataset) {
        node.samples = sum(node.children.iter().map(|child| child.samples));
    }
}

fn sum(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    numbers.try_fold(0u64, |sum, number| Some(sum.saturating_add(number?)))
}

/// Sets the samples per epoch. Repetitions are multiplied from the root down.
fn epochs(node: &mut MixNode, repetitions: f64) {
    let repetitions = repetitions * node.repetitions.unwrap_or(1.0);
    if matches!(node.kind, MixNodeKind::Join) || node.children.is_empty() {
        // Truncated, as in the loader.
        node.samples_per_epoch = node.samples.map(|samples| (samples as f64 * repetitions) as u64);
        return;
    }
    node.children.iter_mut().for_each(|child| epochs(child, repetitions));
    node.samples_per_epoch = sum(node.children.iter().map(|child| child.samples_per_epoch));
}

fn shares(node: &mut MixNode, share: f64) {
    node.share = share;
    match node.kind {
        MixNodeKind::Metadataset => node.children.iter_mut().for_each(|child| shares(child, share)),
        MixNodeKind::Blend => {
            let all: f64 = node.children.iter().filter_map(|child| child.weight).sum();
            for child in &mut node.children {
                let part = child.weight.unwrap_or(0.0) / all;
                shares(child, share * if part.is_finite() { part } else { 0.0 });
            }
        }
        MixNodeKind::BlendEpochized => {
            let all = node.samples_per_epoch.filter(|&all| all > 0);
            for child in &mut node.children {
                let part = match (all, child.samples_per_epoch) {
                    (Some(all), Some(mine)) => mine as f64 / all as f64,
                    _ => 0.0,
                };
                shares(child, share * part);
            }
        }
        MixNodeKind::WebDataset | MixNodeKind::Jsonl | MixNodeKind::Join | MixNodeKind::Unusable => {}
    }
}

fn oversampling(node: &mut MixNode, total: Option<u64>) {
    node.oversampling = match (total, node.samples) {
        (Some(total), Some(samples)) if samples > 0 => Some(node.share / (samples as f64 / total as f64)),
        _ => None,
    };
    if node.kind != MixNodeKind::Join {
        node.children.iter_mut().for_each(|child| oversampling(child, total));
    }
}
