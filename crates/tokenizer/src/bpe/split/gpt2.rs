//! The pattern of GPT-2: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

use super::super::classes::{Classes, END, LETTER, NUMBER, SPACE};
use super::blocks::{Block, DECIDED_PLACES};
use super::{contractions, spaces, without_last, Scan};

/// Splits text into words with the pattern of GPT-2.
pub(in super::super) struct Gpt2(pub(in super::super) &'static Classes);

impl Scan for Gpt2 {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        let classes = self.0;
        let mut from = at;
        match text.get(at) {
            Some(b' ') => from += 1,
            Some(b'\'') => {
                let length = contractions::small(text, at);
                if length > 0 {
                    return at + length;
                }
            }
            _ => {}
        }
        let (class, length) = classes.class_at(text, from);
        if class & LETTER != 0 {
            classes.letters(text, from + length)
        } else if class & NUMBER != 0 {
            classes.run(text, from + length, NUMBER)
        } else if class & (SPACE | END) == 0 {
            classes.others(text, from + length)
        } else {
            without_last(text, at, spaces(classes, text, at))
        }
    }

    #[inline]
    fn starts(&self, text: &[u8], at: usize) -> u64 {
        let Some(block) = Block::new(self.0, text, at) else { return 0 };
        let Block { letters, spaces, blanks, .. } = block;
        let (numbers, others) = (block.numbers | block.wide_numbers, block.others());
        // Positions at which no word starts: those that continue a run of their class, and those after a space character.
        let goes_on = letters & letters << 1 | numbers & numbers << 1 | others & others << 1 | blanks << 1;
        let starts = !spaces & !goes_on | Block::ends(spaces | block.wide_spaces);
        let starts = block.contract(starts, at, |place| contractions::small(text, place));
        // From the first multi-byte space on, words are found one by one.
        starts & DECIDED_PLACES & Block::bits_below(block.wide_spaces)
    }
}
