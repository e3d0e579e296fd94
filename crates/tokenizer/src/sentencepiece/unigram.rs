//! Divides a text into the most probable sequence of pieces.

use super::message::PieceKind;
use super::pieces::{char_length, PieceTable};
use super::trie::ROOT;

/// Difference between the score of the least probable piece and that of an unknown character.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Score of a user-defined piece for every byte after its first, so that it is preferred to its parts.
const USER_DEFINED_SCORE: f32 = 0.1;

/// Sum of scores above which summing restarts at 0, to preserve precision in long texts.
const GREATEST_SUM: f32 = 100_000.0;

/// The precomputed score of an unknown character.
#[derive(Debug)]
pub(super) struct Unigram {
    unknown_score: f32,
}

/// The best division of the text before a position: its score, and the start and id of its last piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct BestCut {
    score: f32,
    start: Option<u32>,
    id: u32,
}

impl Unigram {
    pub(super) fn new(pieces: &PieceTable) -> Self {
        let normal = pieces.all.iter().filter(|piece| piece.kind == PieceKind::Normal);
        let least = normal.fold(f32::MAX, |least, piece| least.min(piece.score));
        Self { unknown_score: least - UNKNOWN_PENALTY }
    }

    /// Appends the id and length of each piece of the normalized text.
    ///
    /// As in the reference (version 0.2.3), scores are summed over the whole text in single precision, and the first of equal results is
    /// preferred. Rounding decides between pieces with nearly equal scores, so the text must not be divided into parts first.
    pub(super) fn cut(&self, text: &[u8], pieces: &PieceTable, best: &mut Vec<BestCut>, out: &mut Vec<(u32, u32)>) {
        best.clear();
        best.resize(text.len() + 1, BestCut { score: 0.0, start: None, id: 0 });
        let (mut start, mut furthest) = (0, 0);
        while start < text.len() {
            if best[start].score.abs() > GREATEST_SUM {
                let base = best[start].score;
                for ahead in best[start..=furthest].iter_mut().filter(|ahead| ahead.start.is_some()) {
                    ahead.score -= base;
                }
            }
            let so_far = best[start].score;
            let single = char_length(&text[start..]);
            let mut has_single = false;
            let mut node = ROOT;
            for (end, byte) in text.iter().enumerate().skip(start) {
                let Some(below) = pieces.of_text.step(node, *byte) else { break };
                node = below;
                let Some(id) = pieces.of_text.value(node) else { continue };
                let piece = &pieces.all[id as usize];
                let length = end + 1 - start;
                let score = match piece.kind {
                    PieceKind::Unused => continue,
                    PieceKind::UserDefined => USER_DEFINED_SCORE * (length - 1) as f32,
                    _ => piece.score,
                };
                furthest = furthest.max(end + 1);
                replace_if_better(&mut best[end + 1], score + so_far, start, id);
                has_single |= length == single;
            }
            if !has_single {
                furthest = furthest.max(start + single);
                replace_if_better(&mut best[start + single], self.unknown_score + so_far, start, pieces.unknown);
            }
            start += single;
        }
        let from = out.len();
        let mut end = text.len();
        while end > 0 {
            let BestCut { start: Some(start), id, .. } = best[end] else { break };
            out.push((id, end as u32 - start));
            end = start as usize;
        }
        out[from..].reverse();
    }
}

fn replace_if_better(best: &mut BestCut, score: f32, start: usize, id: u32) {
    if best.start.is_none() || score > best.score {
        *best = BestCut { score, start: Some(start as u32), id };
    }
}
