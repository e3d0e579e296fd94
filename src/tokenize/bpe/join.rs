//! Words of which nothing is known -> ids, several side by side.

use super::merge::{Joined, Lane, Merger, Steps};
use super::model::Model;
use super::pairs::{Asked, Merge};
use super::symbols::Start;
use super::wide::Wide;

/// So many words are joined side by side, and so many of many symbols.
const LANES: usize = 8;
const WIDE: usize = 4;

/// The ids of a word are not known yet.
const LATER: usize = usize::MAX;

/// A word of which nothing is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    /// Where it is in the text.
    pub(super) at: usize,
    pub(super) end: usize,
    /// So many ids are before it, not counting those of other cold words.
    pub(super) before: usize,
    /// Where its ids are; [`LATER`] until they are known.
    from: usize,
    to: usize,
}

impl Cold {
    pub(super) fn new(at: usize, end: usize, before: usize) -> Self {
        Self { at, end, before, from: LATER, to: LATER }
    }

    /// Its ids among those of all words that were joined.
    pub(super) fn ids<'a>(&self, all: &'a [u32]) -> &'a [u32] {
        all.get(self.from..self.to).unwrap_or_default()
    }
}

/// Memory to join words in.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    lanes: Box<[Lane; LANES]>,
    wide: Box<[Wide; WIDE]>,
    merger: Merger,
    ids: Vec<u32>,
}

impl Joiner {
    /// Joins words of a text; their ids, or `None` where a symbol is missing.
    pub(super) fn join(&mut self, model: &Model, text: &[u8], cold: &mut [Cold]) -> Option<&[u32]> {
        let Self { lanes, wide, merger, ids } = self;
        ids.clear();
        let mut later = side_by_side(model, text, lanes, cold, ids)?;
        if later > 0 {
            later = side_by_side(model, text, wide, cold, ids)?;
        }
        if later > 0 {
            for word in cold.iter_mut().filter(|word| word.from == LATER) {
                word.from = ids.len();
                alone(model, text.get(word.at..word.end).unwrap_or_default(), merger, ids)?;
                word.to = ids.len();
            }
        }
        Some(ids)
    }
}

/// One step of one lane.
#[derive(Clone, Copy, Default)]
struct Turn {
    lane: usize,
    at: usize,
    rank: u32,
    merge: Merge,
    joined: Option<Joined>,
    asked: [Asked; 2],
}

/// Joins those that are not known yet and have room in a lane; how many there are that have none. `None` where a symbol is missing.
///
/// Each part of a step is done for all lanes before the next, so that what they wait for in memory comes together.
#[inline(never)]
fn side_by_side<L: Steps, const N: usize>(
    model: &Model,
    text: &[u8],
    lanes: &mut [L; N],
    cold: &mut [Cold],
    ids: &mut Vec<u32>,
) -> Option<usize> {
    let pairs = &model.pairs;
    // Which word is in each lane.
    let mut busy = [usize::MAX; N];
    let (mut next, mut later) = (0, 0);
    let mut turns = [Turn::default(); N];
    loop {
        let mut count = 0;
        for (number, (lane, busy)) in lanes.iter_mut().zip(&mut busy).enumerate() {
            loop {
                if let Some(word) = cold.get_mut(*busy) {
                    if let Some((rank, at)) = lane.lowest() {
                        turns[count] = Turn { lane: number, at, rank, ..Turn::default() };
                        count += 1;
                        break;
                    }
                    word.from = ids.len();
                    lane.finish(ids);
                    word.to = ids.len();
                }
                *busy = usize::MAX;
                let Some(word) = cold.get_mut(next) else { break };
                next += 1;
                if word.from != LATER {
                    continue;
                }
                let bytes = text.get(word.at..word.end).unwrap_or_default();
                if let Some(id) = model.whole(bytes) {
                    word.from = ids.len();
                    ids.push(id);
                    word.to = ids.len();
                    continue;
                }
                match model.symbols.start(bytes, pairs, lane) {
                    Start::Ready => *busy = next - 1,
                    Start::TooLong => later += 1,
                    Start::Missing => return None,
                }
            }
        }
        let turns = &mut turns[..count];
        if turns.is_empty() {
            return Some(later);
        }
        for turn in turns.iter_mut() {
            turn.merge = pairs.merge(turn.rank);
        }
        for turn in turns.iter_mut() {
            turn.joined = lanes[turn.lane].join(turn.at, turn.merge);
            if let Some(joined) = &turn.joined {
                let product = turn.merge.product;
                turn.asked = [pairs.ask(joined.left, product), pairs.ask(product, joined.right)];
            }
        }
        for turn in turns.iter() {
            if let Some(joined) = &turn.joined {
                let [with_left, with_right] = turn.asked.map(|asked| pairs.answer(asked));
                lanes[turn.lane].found(turn.at, joined, with_left, with_right);
            }
        }
    }
}

/// Joins a word by itself; `None` where a symbol is missing.
#[inline(never)]
fn alone(model: &Model, word: &[u8], merger: &mut Merger, out: &mut Vec<u32>) -> Option<()> {
    if let Some(id) = model.whole(word) {
        out.push(id);
        return Some(());
    }
    let Merger { many, ranks, .. } = merger;
    many.clear();
    ranks.clear();
    if !model.symbols.spread(word, &model.pairs, many, ranks) {
        return None;
    }
    merger.join_many(&model.pairs, out);
    Some(())
}
