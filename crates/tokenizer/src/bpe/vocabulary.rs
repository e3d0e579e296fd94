//! The vocabulary and merges of a file as numbers: tokens indexed by spelling, and merges as ids.

use super::hash::of_bytes;
use super::index::Index;
use super::pairs::{Merge, IDS};
use crate::file::ModelFile;
use crate::join::{join_both, Join2};
use crate::lists::{Merges, Vocab};
use gristmill_core::Mutex;
use std::sync::OnceLock;

/// Number of merges whose parts are looked up together.
const AT_ONCE: usize = 128;

/// Number of merges that a thread processes at a time.
const PART: usize = 1 << 12;

/// The vocabulary and merges of a byte-pair file.
pub(crate) struct Lists<'a> {
    pub(crate) vocabulary: Vocabulary<'a>,
    /// The merges, in the order of the file.
    pub(crate) merges: Vec<Merge>,
}

impl<'a> Lists<'a> {
    /// Reads the lists of a file, and runs a closure that needs no ids in parallel; returns both results. A thread that has finished its
    /// own task continues with merges that no thread has started. Fails if two tokens have the same spelling or id, or if a part or product
    /// of a merge is not a token.
    pub(crate) fn new<T: Send>(
        file: &'a ModelFile<'a>,
        together: Join2<'_>,
        alongside: impl FnOnce() -> T + Send,
    ) -> (Result<Self, String>, Option<T>) {
        let mut merges = vec![Merge::default(); file.merges.len()];
        let known = OnceLock::new();
        let rest = Mutex::new(merges.chunks_mut(PART).enumerate());
        let next = || rest.lock().next();
        let put = || {
            let vocabulary: &Result<Vocabulary<'a>, String> = known.get_or_init(|| Vocabulary::new(file));
            let vocabulary = vocabulary.as_ref().map_err(|why| (0, why.clone()))?;
            while let Some((number, part)) = next() {
                vocabulary.put(&file.merges, number * PART, part).map_err(|why| (number, why))?;
            }
            Ok(())
        };
        let Some((one, (result_alongside, other))) = join_both(together, put, || (alongside(), put())) else {
            return (Err("they were not read".into()), None);
        };
        // Parts are started in order, so the first error of the file is the first error of one of the two threads.
        let mistakes = [one, other].into_iter().filter_map(Result::err);
        if let Some((_, why)) = mistakes.min_by_key(|(number, _): &(usize, String)| *number) {
            return (Err(why), Some(result_alongside));
        }
        let vocabulary = known.into_inner().unwrap_or_else(|| Vocabulary::new(file));
        (vocabulary.map(|vocabulary| Self { vocabulary, merges }), Some(result_alongside))
    }
}

/// The vocabulary of the file, indexed by spelling.
pub(crate) struct Vocabulary<'a> {
    pub(super) all: &'a Vocab<'a>,
    index: Index,
}

impl<'a> Vocabulary<'a> {
    /// Indexes the vocabulary. Fails if two tokens have the same spelling or id.
    fn new(file: &'a ModelFile<'a>) -> Result<Self, String> {
        let all = &file.vocab;
        let mut index = Index::new(all.len());
        let mut ids = vec![false; all.len()];
        for (number, (text, id)) in all.iter().enumerate() {
            if id >= IDS {
                return Err(format!("its ids go up to {id}"));
            }
            let id = id as usize;
            if id >= ids.len() {
                ids.resize(id + 1, false);
            }
            if std::mem::replace(&mut ids[id], true) {
                return Err("two of its tokens have one id".into());
            }
            let hash = of_bytes(text.as_bytes());
            let is_known = index.find(hash, |known| all.get(known as usize).is_some_and(|(known, _)| known == text));
            if is_known.is_some() || !index.put(hash, number as u32) {
                return Err("its vocabulary has a spelling twice, or does not spread".into());
            }
        }
        Ok(Self { all, index })
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the position of a token in the file.
    pub(crate) fn number(&self, text: &str) -> Option<usize> {
        let is_meant = |number: u32| self.all.get(number as usize).is_some_and(|(known, _)| known == text);
        self.index.find(of_bytes(text.as_bytes()), is_meant).map(|number| number as usize)
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.all.get(self.number(text)?).map(|(_, id)| id)
    }

    /// Writes the ids of the merges from index `from` to `out`, until `out` is full. Fails if a part or product of a merge is not a token.
    ///
    /// The lookup of a token waits for memory three times in sequence. Each step is done for many tokens before the next step, so that
    /// these waits overlap.
    fn put(&self, all: &Merges<'_>, from: usize, out: &mut [Merge]) -> Result<(), String> {
        let (mut numbers, mut known) = ([0; 2 * AT_ONCE], [("", 0); 2 * AT_ONCE]);
        let mut next = 0;
        for (some, out) in all.pairs_in(from..from + out.len(), AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
            let texts = || some.clone().flat_map(|(left, right)| [left, right]);
            for (number, text) in numbers.iter_mut().zip(texts()) {
                *number = self.index.first(of_bytes(text.as_bytes()));
            }
            for (known, number) in known.iter_mut().zip(numbers) {
                *known = self.all.get(number as usize).unwrap_or_default();
            }
            let mut ids = [0; 2 * AT_ONCE];
            for ((id, known), text) in ids.iter_mut().zip(known).zip(texts()) {
                *id = match known {
                    (known, id) if known == text && !text.is_empty() => id,
                    _ => self.id(text).ok_or_else(|| format!("a merge has `{text}`, which is no token"))?,
                };
            }
            for (((left_text, right_text), [left, right]), out) in some.zip(ids.as_chunks().0).zip(out) {
                // In most vocabularies, the products of merges are in the order of the merges.
                let is_next = |(text, _): &(&str, u32)| text.strip_prefix(left_text) == Some(right_text);
                let product = match self.all.get(next).filter(is_next) {
                    Some((_, product)) => product,
                    None => {
                        let joined = [left_text, right_text].concat();
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

    /// Returns the index of tokens by the hashes of their spellings.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::join::in_turn;
    use serde_json::json;

    /// Returns a file of all pairs of a hundred characters, with some merges replaced.
    fn file(others: &[(usize, [&str; 2])]) -> Vec<u8> {
        let characters: Vec<String> = ('一'..).take(100).map(String::from).collect();
        let pairs = characters.iter().flat_map(|left| characters.iter().map(move |right| [left.as_str(), right]));
        let mut merges: Vec<[&str; 2]> = pairs.collect();
        let tokens: Vec<String> = characters.iter().cloned().chain(merges.iter().map(|merge| merge.concat())).collect();
        for (number, merge) in others {
            merges[*number] = *merge;
        }
        let vocab: serde_json::Map<_, _> = tokens.into_iter().zip(0..).map(|(text, id)| (text, json!(id))).collect();
        json!({"version": "1.0", "model": {"type": "BPE", "vocab": vocab, "merges": merges}}).to_string().into()
    }

    /// Reads a file with each order in which two tasks can be run, and returns the results.
    fn of_all_ways(json: &[u8]) -> Vec<Result<Vec<Merge>, String>> {
        let other_way_round =
            |first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)| in_turn(second, first);
        let at_once = |first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)| {
            std::thread::scope(|scope| {
                scope.spawn(first);
                second();
            });
        };
        let of = |together: Join2<'_>| {
            let file = File::read(json, &in_turn).unwrap();
            let (lists, result_alongside) = Lists::new(&file.model, together, || "done");
            assert_eq!(result_alongside, Some("done"));
            lists.map(|lists| lists.merges)
        };
        vec![of(&in_turn), of(&other_way_round), of(&at_once)]
    }

    #[test]
    fn merges_and_the_first_mistake_do_not_depend_on_threads() {
        for merges in of_all_ways(&file(&[])) {
            let merges = merges.unwrap();
            assert!(merges.len() > 2 * PART);
            for (rank, merge) in merges.iter().enumerate() {
                let (left, right) = ((rank / 100) as u32, (rank % 100) as u32);
                assert_eq!(*merge, Merge { left, right, product: 100 + rank as u32 });
            }
        }
        let (near, far) = ((PART + 5, ["near", "一"]), (2 * PART + 5, ["far", "一"]));
        for wrong in of_all_ways(&file(&[near, far])) {
            assert_eq!(wrong.unwrap_err(), "a merge has `near`, which is no token");
        }
        for wrong in of_all_ways(&file(&[(7, ["一丁", "一"])])) {
            assert_eq!(wrong.unwrap_err(), "a merge gives `一丁一`, which is no token");
        }
        let twice = String::from_utf8(file(&[])).unwrap().replace("\"一丁\":101", "\"一丁\":102");
        for wrong in of_all_ways(twice.as_bytes()) {
            assert_eq!(wrong.unwrap_err(), "two of its tokens have one id");
        }
    }
}
