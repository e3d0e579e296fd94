//! The most probable way to cut a text into pieces.

use super::pieces::{char_length, Pieces};
use super::trie::ROOT;
use sentencepiece_model::Type;

/// How much less an unknown character scores than the least probable piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Scores, prepared.
#[derive(Debug)]
pub(super) struct Unigram {
    unknown_score: f32,
    greatest_score: f32,
}

/// The best way to come to a place: its score, where its last piece starts, and that piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    score: f32,
    start: Option<u32>,
    id: u32,
}

impl Unigram {
    pub(super) fn new(pieces: &Pieces) -> Self {
        // The reference starts the greatest score from the least positive number, so that it never falls below that.
        let (mut least, mut greatest) = (f32::MAX, f32::MIN_POSITIVE);
        for piece in pieces.all.iter().filter(|piece| piece.kind == Type::Normal) {
            least = least.min(piece.score);
            greatest = greatest.max(piece.score);
        }
        Self { unknown_score: least - UNKNOWN_PENALTY, greatest_score: greatest }
    }

    /// Appends id and length of each piece of the normalized text.
    ///
    /// Scores add up over the whole text in single precision, and an earlier way wins over an equal later one, as in the
    /// reference: in long texts rounding decides between pieces, so that a text cannot be cut into parts first.
    pub(super) fn cut(&self, text: &[u8], pieces: &Pieces, best: &mut Vec<Best>, out: &mut Vec<(u32, u32)>) {
        best.clear();
        best.resize(text.len() + 1, Best { score: 0.0, start: None, id: 0 });
        let mut start = 0;
        while start < text.len() {
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
                    Type::Unused => continue,
                    Type::UserDefined => length as f32 * self.greatest_score - 0.1,
                    _ => piece.score,
                };
                offer(&mut best[end + 1], score + so_far, start, id);
                has_single |= length == single;
            }
            if !has_single {
                offer(&mut best[start + single], self.unknown_score + so_far, start, pieces.unknown);
            }
            start += single;
        }
        let from = out.len();
        let mut end = text.len();
        while end > 0 {
            let Best { start: Some(start), id, .. } = best[end] else { break };
            out.push((id, end as u32 - start));
            end = start as usize;
        }
        out[from..].reverse();
    }
}

fn offer(best: &mut Best, score: f32, start: usize, id: u32) {
    if best.start.is_none() || score > best.score {
        *best = Best { score, start: Some(start as u32), id };
    }
}
