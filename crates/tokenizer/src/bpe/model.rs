//! The byte-pair model, built from the file.

use super::boundary_filter::BoundaryFilter;
use super::hash::of_bytes;
use super::index::Index;
use super::merge_stats::MergeStats;
use super::merged_tokens::MergedTokens;
use super::pairs::Pairs;
use super::prefix_merges::PrefixMerges;
use super::symbols::{Bytes, CharacterIds, Chars, Symbols, UnknownCharacters, NONE};
use super::vocabulary::{Lists, Vocabulary};
use crate::borrowed_text::BorrowedText;
use crate::byte_level;
use crate::file::ModelFile;
use crate::lists::Vocab;

/// The mark that replaces a blank in vocabularies that spell characters.
pub(super) const MARK: &str = "▁";

/// How tokens are spelled in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VocabularySpelling {
    /// One character represents each byte.
    Bytes,
    /// Characters represent themselves.
    Chars,
}

/// The pairs, the symbols, and the words that are tokens as a whole.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) pairs: Pairs,
    pub(super) symbols: Symbols,
    whole: Option<WholeWords>,
    /// Positions at which words can be cut, unless words are looked up as a whole.
    pub(super) cuts: Option<BoundaryFilter>,
    /// Whether no merged token has a mark after another character.
    pub(super) marks_begin: bool,
    /// The merges that are done in pieces of long words; `None` if that would not be faster.
    pub(super) early: Option<PrefixMerges>,
}

/// Words that become one token regardless of merges.
#[derive(Debug)]
struct WholeWords {
    index: Index,
    /// The bytes of all words, concatenated.
    bytes: Vec<u8>,
    /// The end of each word, and its id.
    words: Vec<(u32, u32)>,
    longest: usize,
}

impl Model {
    /// Builds the model of a file with these lists. `spelt` is given for a byte vocabulary. The error is the reason why the file is not
    /// accepted.
    pub(super) fn new(file: &ModelFile<'_>, lists: &Lists<'_>, spelt: Option<MergeStats>) -> Result<Self, String> {
        let spelled = if spelt.is_some() { VocabularySpelling::Bytes } else { VocabularySpelling::Chars };
        let is_some = |text: &Option<BorrowedText<'_>>| text.as_ref().is_some_and(|text| !text.0.is_empty());
        if file.dropout.is_some_and(|dropout| dropout != 0.0) {
            return Err("it drops merges at random".into());
        }
        if is_some(&file.continuing_subword_prefix) || is_some(&file.end_of_word_suffix) {
            return Err("its tokens have prefixes or suffixes".into());
        }
        let Lists { vocabulary, merges } = lists;
        let mut joined = String::new();
        let mut begins = |(left, right): (&str, &str)| {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            !joined.trim_start_matches(MARK).contains(MARK)
        };
        let marks_begin = spelled == VocabularySpelling::Bytes || file.merges.iter().all(&mut begins);
        let pairs = Pairs::new(merges)?;
        let is_whole = file.ignore_merges == Some(true);
        let mut early = None;
        let (symbols, cuts) = match spelt {
            Some(MergeStats { cuts, early: first, seeds }) => {
                let bytes = bytes(vocabulary);
                early = Some(first).filter(PrefixMerges::is_full);
                (Symbols::Bytes(Box::new(Bytes::new(bytes, seeds.finish(&bytes, &pairs), &pairs))), Some(cuts))
            }
            None => (chars(vocabulary, file)?, None),
        };
        // Tokens that result from merging their bytes need no lookup of the whole word.
        let has_bytes = is_whole && spelled == VocabularySpelling::Bytes;
        let made = if has_bytes { MergedTokens::new(&bytes(vocabulary), merges, &pairs) } else { None };
        let is_wanted = |id: u32| made.as_ref().is_none_or(|made| !made.has(id));
        let whole = if is_whole { WholeWords::new(&file.vocab, spelled, is_wanted)? } else { None };
        let marks_begin = marks_begin && vocabulary.id(MARK).is_some();
        // A part of a word may be a token that only a lookup of a whole word produces.
        let cuts = cuts.filter(|_| whole.is_none());
        Ok(Self { pairs, symbols, whole, cuts, marks_begin, early })
    }

    /// Returns the id of a word that is one token as a whole.
    #[inline]
    pub(super) fn whole_word_id(&self, word: &[u8]) -> Option<u32> {
        self.whole.as_ref()?.id(word)
    }

    /// Whether words are looked up as a whole before merging.
    pub(super) fn takes_whole(&self) -> bool {
        self.whole.is_some()
    }
}

/// Returns the ids of the bytes.
fn bytes(vocabulary: &Vocabulary<'_>) -> [u32; 256] {
    let mut ids = [NONE; 256];
    for (text, id) in vocabulary.all.iter() {
        let mut chars = text.chars();
        if let (Some(byte), None) = (chars.next().and_then(byte_level::byte_of), chars.next()) {
            ids[usize::from(byte)] = id;
        }
    }
    ids
}

/// Returns the symbols of characters.
fn chars(vocabulary: &Vocabulary<'_>, file: &ModelFile<'_>) -> Result<Symbols, String> {
    let mut bytes = Box::new([NONE; 256]);
    for (byte, place) in bytes.iter_mut().enumerate() {
        *place = vocabulary.id(&format!("<0x{byte:02X}>")).unwrap_or(NONE);
    }
    let has_bytes = bytes.iter().all(|id| *id != NONE);
    let others = match (&file.unk_token, file.byte_fallback == Some(true)) {
        (_, true) if has_bytes => UnknownCharacters::Bytes(bytes),
        (_, true) => return Err("its vocabulary does not have every byte".into()),
        (Some(text), false) if !text.0.is_empty() => {
            let id = vocabulary.id(&text.0).ok_or("its token for the unknown is no token")?;
            UnknownCharacters::Unknown { id, is_fused: file.fuse_unk == Some(true) }
        }
        (Some(_), false) => return Err("its token for the unknown is empty".into()),
        (None, false) => UnknownCharacters::Nothing,
    };
    let mut symbols = CharacterIds::default();
    for (text, id) in vocabulary.all.iter() {
        let mut chars = text.chars();
        if let (Some(character), None) = (chars.next(), chars.next()) {
            symbols.put(character, id);
        }
    }
    Ok(Symbols::Chars(Box::new(Chars::new(symbols, others))))
}

impl WholeWords {
    /// Indexes the tokens selected by `is_wanted`; `None` if there are none.
    fn new(
        all: &Vocab<'_>,
        spelled: VocabularySpelling,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Option<Self>, String> {
        let mut whole = Self { index: Index::new(all.len()), bytes: Vec::new(), words: Vec::new(), longest: 0 };
        for (text, id) in all.iter().filter(|(_, id)| is_wanted(*id)) {
            let before = whole.bytes.len();
            let is_spelled = match spelled {
                VocabularySpelling::Chars => {
                    whole.bytes.extend_from_slice(text.as_bytes());
                    true
                }
                VocabularySpelling::Bytes => text.chars().all(|character| {
                    let byte = byte_level::byte_of(character);
                    whole.bytes.extend(byte);
                    byte.is_some()
                }),
            };
            if !is_spelled {
                whole.bytes.truncate(before);
                continue;
            }
            let word = whole.bytes.get(before..).unwrap_or_default();
            whole.longest = whole.longest.max(word.len());
            if !whole.index.put(of_bytes(word), whole.words.len() as u32) {
                return Err("its vocabulary does not spread".into());
            }
            whole.words.push((whole.bytes.len() as u32, id));
        }
        Ok(Some(whole).filter(|whole| !whole.words.is_empty()))
    }

    fn id(&self, word: &[u8]) -> Option<u32> {
        if word.len() > self.longest {
            return None;
        }
        let is_meant = |number: u32| {
            let number = number as usize;
            let start = number.checked_sub(1).and_then(|before| self.words.get(before)).map_or(0, |before| before.0);
            self.words.get(number).and_then(|(end, _)| self.bytes.get(start as usize..*end as usize)) == Some(word)
        };
        let number = self.index.find(of_bytes(word), is_meant)?;
        self.words.get(number as usize).map(|(_, id)| *id)
    }
}
