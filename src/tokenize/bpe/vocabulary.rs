//! The lists of a file, by numbers: its tokens found by their spellings, its merges as ids.

use super::hash::of_bytes;
use super::index::Index;
use super::pairs::{Merge, IDS};
use crate::tokenize::file::{ModelFile, Spelling};
use crate::tokenize::together::{both, Together};

/// Merges whose halves are looked up together.
const AT_ONCE: usize = 128;

/// The lists of a file of byte pairs.
pub(in crate::tokenize) struct Lists<'a> {
    pub(in crate::tokenize) vocabulary: Vocabulary<'a>,
    /// In their order.
    pub(in crate::tokenize) merges: Vec<Merge>,
}

impl<'a> Lists<'a> {
    /// Of a vocabulary and the merges of the same file, each half of them by itself. Fails where a merge has or gives what is no token.
    pub(in crate::tokenize) fn new(
        vocabulary: Vocabulary<'a>,
        file: &ModelFile<'_>,
        together: Together<'_>,
    ) -> Result<Self, String> {
        let all = &file.merges.0;
        let mut merges = vec![Merge::default(); all.len()];
        let (one, other) = all.split_at(all.len() / 2);
        let (one_place, other_place) = merges.split_at_mut(one.len());
        let put = both(together, || vocabulary.put(one, one_place), || vocabulary.put(other, other_place));
        let (one, other) = put.ok_or("they were not read")?;
        one.and(other)?;
        Ok(Self { vocabulary, merges })
    }
}

/// The file's vocabulary, by spelling.
pub(in crate::tokenize) struct Vocabulary<'a> {
    pub(super) all: &'a [(Spelling<'a>, u32)],
    index: Index,
}

impl<'a> Vocabulary<'a> {
    /// Fails where two tokens have one spelling or one id.
    pub(in crate::tokenize) fn new(file: &'a ModelFile<'a>) -> Result<Self, String> {
        let all = file.vocab.0.as_slice();
        let mut index = Index::new(all.len());
        let mut ids = vec![false; all.len()];
        for (number, (text, id)) in all.iter().enumerate() {
            if *id >= IDS {
                return Err(format!("its ids go up to {id}"));
            }
            let id = *id as usize;
            if id >= ids.len() {
                ids.resize(id + 1, false);
            }
            if std::mem::replace(&mut ids[id], true) {
                return Err("two of its tokens have one id".into());
            }
            let hash = of_bytes(text.0.as_bytes());
            let is_known = index.find(hash, |known| all.get(known as usize).is_some_and(|(known, _)| known == text));
            if is_known.is_some() || !index.put(hash, number as u32) {
                return Err("its vocabulary has a spelling twice, or does not spread".into());
            }
        }
        Ok(Self { all, index })
    }

    /// How many tokens there are.
    pub(in crate::tokenize) fn count(&self) -> usize {
        self.all.len()
    }

    /// Where a token is among all.
    pub(in crate::tokenize) fn number(&self, text: &str) -> Option<usize> {
        let is_meant = |number: u32| self.all.get(number as usize).is_some_and(|(known, _)| known.0 == text);
        self.index.find(of_bytes(text.as_bytes()), is_meant).map(|number| number as usize)
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.all.get(self.number(text)?).map(|(_, id)| *id)
    }

    /// Puts some of the merges, one behind the other in the file, by their ids; fails where one has or gives what is no token.
    ///
    /// Looking a token up waits for memory three times, one after the other. Here each step is done for many of them before the next,
    /// so that they wait together.
    fn put(&self, all: &[(Spelling<'_>, Spelling<'_>)], out: &mut [Merge]) -> Result<(), String> {
        let (mut numbers, mut known) = ([0; 2 * AT_ONCE], [("", 0); 2 * AT_ONCE]);
        let (mut joined, mut next) = (String::new(), 0);
        for (some, out) in all.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
            let texts = || some.iter().flat_map(|(left, right)| [&*left.0, &*right.0]);
            for (number, text) in numbers.iter_mut().zip(texts()) {
                *number = self.index.first(of_bytes(text.as_bytes()));
            }
            for (known, number) in known.iter_mut().zip(numbers) {
                *known = self.all.get(number as usize).map_or(("", 0), |(text, id)| (&*text.0, *id));
            }
            let mut ids = [0; 2 * AT_ONCE];
            for ((id, known), text) in ids.iter_mut().zip(known).zip(texts()) {
                *id = match known {
                    (known, id) if known == text && !text.is_empty() => id,
                    _ => self.id(text).ok_or_else(|| format!("a merge has `{text}`, which is no token"))?,
                };
            }
            for (((left_text, right_text), [left, right]), out) in some.iter().zip(ids.as_chunks().0).zip(out) {
                joined.clear();
                joined.push_str(&left_text.0);
                joined.push_str(&right_text.0);
                // Most vocabularies have what comes of merges in the order of these.
                let product = match self.all.get(next).filter(|(text, _)| text.0 == joined) {
                    Some((_, product)) => *product,
                    None => {
                        next = self.number(&joined).unwrap_or(self.all.len());
                        let known = self.all.get(next);
                        known.ok_or_else(|| format!("a merge gives `{joined}`, which is no token"))?.1
                    }
                };
                next += 1;
                *out = Merge { left: *left, right: *right, product };
            }
        }
        Ok(())
    }

    /// Where tokens are among all, by the hashes of their spellings.
    pub(in crate::tokenize) fn index(&self) -> &Index {
        &self.index
    }
}
