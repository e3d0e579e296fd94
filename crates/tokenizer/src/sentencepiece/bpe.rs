//! Divides text into pieces by merging adjacent pieces, the pair with the best score first.

use super::charsmap::SPACE;
use super::message::PieceKind;
use super::pieces::{char_length, PieceTable};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// Maximum length of a cached part of a text, in bytes.
const MAX_KEPT_BYTES: usize = 64;

/// Number of cached parts at which the cache is cleared.
const MAX_KEPT: usize = 1 << 16;

/// The properties of a model that affect merging.
#[derive(Debug)]
pub(super) struct Bpe {
    /// Whether no piece has a space symbol after another character, so that a text can be divided before space symbols without changing a
    /// merge.
    cuts_at_spaces: bool,
    has_unused: bool,
}

/// Buffers of one thread, and the cached pieces of parts.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    symbols: Vec<Symbol>,
    merge_queue: BinaryHeap<Pair>,
    kept: HashMap<Box<[u8]>, Cut>,
}

/// Id and length in bytes of each piece of a part.
type Cut = Box<[(u32, u32)]>;

/// A symbol of the text: its start, its length (0 if it was merged into the previous one), and its neighbours.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u32,
    length: u32,
    previous: u32,
    next: u32,
    is_frozen: bool,
}

/// Marks a missing neighbour.
const NONE: u32 = u32::MAX;

/// Two adjacent symbols that form a piece.
#[derive(Clone, Copy, Debug)]
struct Pair {
    score: f32,
    left: u32,
    right: u32,
    length: u32,
}

impl Ord for Pair {
    /// The pair with the greater score is greater; of equal scores, the leftmost pair is.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal).then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

impl Bpe {
    pub(super) fn new(pieces: &PieceTable) -> Self {
        let space = "▁";
        let is_cut = |text: &str| text.trim_start_matches(space).contains(space);
        Self {
            cuts_at_spaces: !pieces.all.iter().any(|piece| is_cut(&piece.text)),
            has_unused: pieces.all.iter().any(|piece| piece.kind == PieceKind::Unused),
        }
    }

    /// Appends the id and length of each piece of the normalized text.
    pub(super) fn cut(&self, text: &[u8], pieces: &PieceTable, scratch: &mut Scratch, out: &mut Vec<(u32, u32)>) {
        if !self.cuts_at_spaces {
            self.merge(text, pieces, scratch, out);
            return;
        }
        let mut start = 0;
        while start < text.len() {
            let mut end = start;
            while text[end..].starts_with(SPACE) {
                end += SPACE.len();
            }
            end += memchr::memmem::find(&text[end..], SPACE).unwrap_or(text.len() - end);
            self.part(&text[start..end], pieces, scratch, out);
            start = end;
        }
    }

    fn part(&self, part: &[u8], pieces: &PieceTable, scratch: &mut Scratch, out: &mut Vec<(u32, u32)>) {
        if part.len() > MAX_KEPT_BYTES {
            self.merge(part, pieces, scratch, out);
            return;
        }
        if let Some(known) = scratch.kept.get(part) {
            out.extend_from_slice(known);
            return;
        }
        let from = out.len();
        self.merge(part, pieces, scratch, out);
        if scratch.kept.len() >= MAX_KEPT {
            scratch.kept.clear();
        }
        scratch.kept.insert(part.into(), out[from..].into());
    }

    fn merge(&self, text: &[u8], pieces: &PieceTable, scratch: &mut Scratch, out: &mut Vec<(u32, u32)>) {
        let Scratch { symbols, merge_queue: agenda, .. } = scratch;
        symbols.clear();
        agenda.clear();
        let mut start = 0;
        while start < text.len() {
            let user = pieces.user_defined.as_ref().and_then(|trie| trie.longest(&text[start..]));
            let length = user.map_or_else(|| char_length(&text[start..]), |(length, _)| length);
            let at = symbols.len() as u32;
            let before = if at == 0 { NONE } else { at - 1 };
            let after = if start + length < text.len() { at + 1 } else { NONE };
            let is_frozen = user.is_some();
            symbols.push(Symbol {
                start: start as u32,
                length: length as u32,
                previous: before,
                next: after,
                is_frozen,
            });
            start += length;
        }
        // The length of the left part of each unused piece. Unused pieces are later divided into their parts again.
        let mut made: HashMap<&[u8], u32> = HashMap::new();
        let mut consider = |left: u32, right: u32, symbols: &[Symbol], agenda: &mut BinaryHeap<Pair>| {
            if left == NONE || right == NONE {
                return;
            }
            let (first, second) = (symbols[left as usize], symbols[right as usize]);
            if first.is_frozen || second.is_frozen {
                return;
            }
            let length = first.length + second.length;
            let piece = part(text, first.start, length);
            let Some(id) = pieces.of_text.get(piece) else { return };
            agenda.push(Pair { score: pieces.all[id as usize].score, left, right, length });
            if self.has_unused && pieces.kind(id) == Some(PieceKind::Unused) {
                made.insert(piece, first.length);
            }
        };
        for right in 1..symbols.len() as u32 {
            consider(right - 1, right, symbols, agenda);
        }
        while let Some(pair) = agenda.pop() {
            let (left, right) = (symbols[pair.left as usize], symbols[pair.right as usize]);
            // One of the two symbols has been merged with another neighbour.
            if left.length == 0 || right.length == 0 || left.length + right.length != pair.length {
                continue;
            }
            symbols[pair.left as usize].length = pair.length;
            symbols[pair.left as usize].next = right.next;
            if right.next != NONE {
                symbols[right.next as usize].previous = pair.left;
            }
            symbols[pair.right as usize].length = 0;
            consider(left.previous, pair.left, symbols, agenda);
            consider(pair.left, right.next, symbols, agenda);
        }
        let mut open = Vec::new();
        for symbol in symbols.iter().filter(|symbol| symbol.length > 0) {
            open.push((symbol.start, symbol.length));
            while let Some((start, length)) = open.pop() {
                let piece = part(text, start, length);
                let id = pieces.id_of(piece).unwrap_or(pieces.unknown);
                match made.get(piece).filter(|_| pieces.kind(id) == Some(PieceKind::Unused)) {
                    // The left part is pushed last, so that it is processed first.
                    Some(left) => open.extend([(start + left, length - left), (start, *left)]),
                    None => out.push((id, length)),
                }
            }
        }
    }
}

fn part(text: &[u8], start: u32, length: u32) -> &[u8] {
    &text[start as usize..(start + length) as usize]
}
