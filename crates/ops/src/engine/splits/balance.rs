//! Brings splits to a ratio of samples by moving few shards.
//!
//! Shards that are excluded as a whole, or in no split, are ignored. The target of each named split is its share of the samples of all
//! named splits. The largest suitable shard is moved from the split with the greatest excess to the split with the greatest deficit, so
//! that few moves are needed. A shard is suitable if its move brings the two splits closer to their targets. Among shards of equal size,
//! the last of the list is moved, so that ranges are not split. With shards of equal size, no smaller number of moves gives an equally good
//! result. Finally, shards are exchanged in pairs as long as an exchange corrects more than a thousandth of all samples. The last shard of
//! a split with a target above 0 is never moved.

use super::edit::Edit;
use super::editor::SplitEditor;
use gristmill_core::{Failure, Outcome, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Minimum share of all samples that an exchange must correct.
const MIN_EXCHANGE_GAIN: f64 = 0.001;

/// A proposal for moving shards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balance {
    /// The moves, in the order of `.info.json`.
    pub moves: Vec<BalanceMove>,
    /// The shares of the named splits, in the order in which they were named.
    pub shares: Vec<BalanceShare>,
    title: String,
}

/// A shard to be moved.
#[derive(Clone, Debug, PartialEq)]
pub struct BalanceMove {
    /// The name of the shard.
    pub shard: Arc<str>,
    /// Number of samples of the shard.
    pub samples: u64,
    /// The current split of the shard.
    pub from: Arc<str>,
    /// The new split of the shard.
    pub to: Arc<str>,
}

/// The share of a split before and after the moves.
#[derive(Clone, Debug, PartialEq)]
pub struct BalanceShare {
    /// The name of the split.
    pub name: Arc<str>,
    /// The target share of the samples, from 0 to 1.
    pub target_part: f64,
    /// The number of samples before the moves.
    pub samples_before: u64,
    /// The number of samples after the moves.
    pub samples_after: u64,
    /// Share of the samples before the moves, from 0 to 1.
    pub before: f64,
    /// Share of the samples after the moves, from 0 to 1.
    pub after: f64,
    /// Whether the split does not exist yet and will be added.
    pub is_new: bool,
}

impl Balance {
    /// Returns the moves as one edit; `None` if there are no moves.
    pub fn edit(&self) -> Option<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        for share in self.shares.iter().filter(|share| share.is_new) {
            edits.push(Edit::AddSplit { name: share.name.to_string() });
        }
        let mut by_target: BTreeMap<&Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for one in &self.moves {
            by_target.entry(&one.to).or_default().push(Arc::clone(&one.shard));
        }
        edits.extend(by_target.into_iter().map(|(to, shards)| Edit::MoveShards { shards, to: Some(Arc::clone(to)) }));
        (!edits.is_empty()).then(|| Edit::Many { title: self.title.clone(), edits })
    }
}

/// Reads `8,1,1` (the splits of the file in their order, or train, val and test), or `train=8,val=2`.
pub fn parse_ratios(editor: &SplitEditor, text: &str) -> Outcome<Vec<(Arc<str>, f64)>> {
    let refused = |why: String| {
        Failure::usage("reading the ratios", why)
            .on(Subject::field(text))
            .with_hint("write one number per split, as in 8,1,1, or name the splits: train=8,val=2")
    };
    let mut ratios: Vec<(Arc<str>, f64)> = Vec::new();
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let named = parts.iter().filter(|part| part.contains('=')).count();
    if named != 0 && named != parts.len() {
        return Err(refused("some numbers have a name and some have none".to_owned()));
    }
    let splits: Vec<Arc<str>> = editor.splits().iter().map(|split| Arc::clone(&split.name)).collect();
    if named == 0 && parts.len() != splits.len() {
        return Err(refused(format!(
            "{} for {}",
            gristmill_core::text::count(parts.len() as u64, "number"),
            gristmill_core::text::count(splits.len() as u64, "split")
        )));
    }
    for (index, part) in parts.iter().enumerate() {
        let (name, number) = match part.rsplit_once('=') {
            Some((name, number)) => (Arc::from(name.trim()), number.trim()),
            None => (splits.get(index).cloned().unwrap_or_default(), *part),
        };
        let number: f64 = number.parse().map_err(|_| refused(format!("'{number}' is not a number")))?;
        if !number.is_finite() || number < 0.0 {
            return Err(refused(format!("'{number}' is not a number of 0 or more")));
        }
        if ratios.iter().any(|(other, _)| *other == name) {
            return Err(refused(format!("'{name}' is named twice")));
        }
        ratios.push((name, number));
    }
    if ratios.iter().map(|(_, ratio)| ratio).sum::<f64>() <= 0.0 {
        return Err(refused("their sum must be more than 0".to_owned()));
    }
    Ok(ratios)
}

/// A split and its movable shards during the computation.
struct SplitBalance {
    name: Arc<str>,
    /// Number of samples that the split should have.
    wanted: f64,
    samples: u64,
    /// The shards that may be moved: number of samples and position in the data set.
    shards: BTreeSet<WeightedShard>,
}

impl SplitBalance {
    fn excess(&self) -> f64 {
        self.samples as f64 - self.wanted
    }

    /// Whether a shard can be moved to another split. The last shard of a split with a target above 0 must stay, because a trainer that
    /// requests an empty split fails.
    fn can_give_shard(&self) -> bool {
        let is_last = self.shards.len() == 1 && self.shards.first().is_some_and(|shard| shard.0 == self.samples);
        let keeps_it = is_last && self.wanted > 0.0;
        !self.shards.is_empty() && !keeps_it
    }
}

/// Returns the moves of whole shards that bring the splits to the ratio of samples. Negative and infinite ratios count as 0. A split in
/// `ratios` that does not exist will be added. A shard that is in two of the splits is not moved.
pub fn balance(editor: &SplitEditor, ratios: &[(Arc<str>, f64)]) -> Balance {
    let ratio = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let sum: f64 = ratios.iter().map(|(_, value)| ratio(*value)).sum();
    let found = |name: &str| editor.splits().iter().find(|split| *split.name == *name);
    let samples_of = |name: &str| found(name).map_or(0, |split| split.samples);
    let all: u64 = ratios.iter().map(|(name, _)| samples_of(name)).sum();
    let mut homes: BTreeMap<u32, u32> = BTreeMap::new();
    for shard in editor.splits().iter().flat_map(|split| split.shards.iter()) {
        shard.id.map(|id| homes.entry(id).and_modify(|count| *count += 1).or_insert(1));
    }
    let mut sides: Vec<SplitBalance> = ratios
        .iter()
        .map(|(name, value)| {
            let shards = found(name).map(|split| split.shards.as_slice()).unwrap_or_default();
            let movable = shards.iter().filter(|shard| !shard.is_excluded && shard.samples > 0);
            let movable = movable.filter_map(|shard| Some((shard.samples, shard.id?)));
            SplitBalance {
                name: Arc::clone(name),
                wanted: if sum > 0.0 { ratio(*value) / sum * all as f64 } else { samples_of(name) as f64 },
                samples: samples_of(name),
                shards: movable.filter(|(_, id)| homes.get(id) == Some(&1)).collect(),
            }
        })
        .collect();
    let before: Vec<u64> = sides.iter().map(|side| side.samples).collect();
    let mut placed: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    while let Some((from, to, shard)) = best_move(&sides) {
        transfer(&mut sides, from, to, shard, &mut placed);
    }
    while let Some((a, b, out, back)) = best_exchange(&sides, all) {
        transfer(&mut sides, a, b, out, &mut placed);
        transfer(&mut sides, b, a, back, &mut placed);
    }
    let share = |samples: u64| if all == 0 { 0.0 } else { samples as f64 / all as f64 };
    let shares = sides
        .iter()
        .zip(before)
        .map(|(side, samples_before)| BalanceShare {
            name: Arc::clone(&side.name),
            target_part: if all == 0 { 0.0 } else { side.wanted / all as f64 },
            samples_before,
            samples_after: side.samples,
            before: share(samples_before),
            after: share(side.samples),
            is_new: found(&side.name).is_none(),
        })
        .collect();
    let name = |index: usize| sides.get(index).map(|side| Arc::clone(&side.name)).unwrap_or_default();
    let moves = placed.into_iter().filter(|(_, (from, to))| from != to).filter_map(|(id, (from, to))| {
        let (shard, samples) = editor.shards().get(id as usize)?;
        Some(BalanceMove { shard: Arc::clone(shard), samples: *samples, from: name(from), to: name(to) })
    });
    let title = ratios.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(",");
    Balance { moves: moves.collect(), shares, title: format!("balance {title}") }
}

/// Moves a shard, and records its original split.
fn transfer(
    sides: &mut [SplitBalance],
    from: usize,
    to: usize,
    shard: WeightedShard,
    placed: &mut BTreeMap<u32, (usize, usize)>,
) {
    if let Some(side) = sides.get_mut(from) {
        side.shards.remove(&shard);
        side.samples -= shard.0;
    }
    if let Some(side) = sides.get_mut(to) {
        side.shards.insert(shard);
        side.samples += shard.0;
    }
    placed.entry(shard.1).and_modify(|(_, now)| *now = to).or_insert((from, to));
}

/// Returns the two splits that are farthest from their targets, in opposite directions, among those that can give a shard.
fn extremes(sides: &[SplitBalance], can_give: impl Fn(&SplitBalance) -> bool) -> Option<(usize, usize)> {
    let order = |(_, a): &(usize, &SplitBalance), (_, b): &(usize, &SplitBalance)| a.excess().total_cmp(&b.excess());
    let (from, most) = sides.iter().enumerate().filter(|(_, side)| can_give(side)).max_by(order)?;
    let (to, least) = sides.iter().enumerate().filter(|(index, _)| *index != from).min_by(order)?;
    (most.excess() > 0.0 && least.excess() < 0.0).then_some((from, to))
}

/// A shard of a split: its number of samples, and its position in the index.
type WeightedShard = (u64, u32);
/// The shards that are given and received in an exchange.
type Pair = (WeightedShard, WeightedShard);
/// The positions of two splits, and the shards that they exchange.
type ShardExchange = (usize, usize, WeightedShard, WeightedShard);

/// Returns the shard whose move brings the two farthest splits closest to their targets, if there is one.
fn best_move(sides: &[SplitBalance]) -> Option<(usize, usize, WeightedShard)> {
    let (from, to) = extremes(sides, SplitBalance::can_give_shard)?;
    let (a, b) = (sides.get(from)?, sides.get(to)?);
    let off = |moved: f64| (a.excess() - moved).abs() + (b.excess() + moved).abs();
    let fits = a.excess().min(-b.excess());
    let at_most = a.shards.range(..=(fits.floor() as u64, u32::MAX)).next_back();
    let above = a.shards.range((fits.floor() as u64 + 1, 0)..).next();
    let above = above.and_then(|(samples, _)| a.shards.range(..=(*samples, u32::MAX)).next_back());
    let best = [at_most, above].into_iter().flatten().min_by(|x, y| off(x.0 as f64).total_cmp(&off(y.0 as f64)))?;
    (off(best.0 as f64) < off(0.0)).then_some((from, to, *best))
}

/// Returns two shards whose exchange brings the two farthest splits closer to their targets, if the gain is large enough.
fn best_exchange(sides: &[SplitBalance], all: u64) -> Option<ShardExchange> {
    let (from, to) = extremes(sides, |side| !side.shards.is_empty())?;
    let (a, b) = (sides.get(from)?, sides.get(to)?);
    let off = |moved: f64| (a.excess() - moved).abs() + (b.excess() + moved).abs();
    let fits = a.excess().min(-b.excess());
    let mut best: Option<(f64, Pair)> = None;
    for &out in &a.shards {
        let back = (out.0 as f64 - fits).max(0.0).round() as u64;
        let near = [b.shards.range(..=(back, u32::MAX)).next_back(), b.shards.range((back, 0)..).next()];
        for &back in near.into_iter().flatten().filter(|back| back.0 < out.0) {
            let left = off((out.0 - back.0) as f64);
            if best.is_none_or(|(least, ..)| left < least) {
                best = Some((left, (out, back)));
            }
        }
    }
    let (left, (out, back)) = best?;
    (off(0.0) - left > all as f64 * MIN_EXCHANGE_GAIN).then_some((from, to, out, back))
}
