//! Documents of packed tokens as files: their ids as a numpy array, and with `--decode` their text.
//!
//! The length of a text is known only after all of it has been decoded, which is done in blocks. The lengths of the decoded blocks of a
//! text and its most recent block are cached.

use super::files::PartsFiles;
use crate::engine::browse::tokens::TokenSet;
use crate::engine::browse::{BrowsePart, BrowseSample, Catalog as _};
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use gristmill_data::preview::tokens::{TokenCode, TokenSpellings};
use gristmill_pycompat::npy;
use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;

const ACTIVITY: &str = "reading a document";
/// Indexes of the parts of a document: the array, then the text.
const ARRAY: usize = 0;
const TEXT: u64 = 1;
/// Number of tokens that are decoded at a time; and maximum size of their text, which is also the maximum size of all cached blocks, in
/// bytes.
const BLOCK_TOKENS: u64 = 16 << 10;
const MAX_BLOCK_BYTES: usize = 8 << 20;
/// Maximum number of texts with cached lengths.
const MAX_TEXTS: usize = 64;

/// The cached texts by the number of their documents, the most recently used one last.
type Texts = VecDeque<(u64, Arc<Mutex<Text>>)>;

/// The files of documents of tokens: ids, and text if it is decoded.
pub(super) struct Documents {
    has_text: bool,
    texts: Mutex<Texts>,
}

/// The cached data of a text.
#[derive(Default)]
struct Text {
    /// The end of each decoded block in the text, in bytes.
    ends: Vec<u64>,
    /// The most recently decoded block, and its index.
    block: Option<(usize, Vec<u8>)>,
}

/// The ids of a document.
struct Ids<'a> {
    set: &'a TokenSet,
    sample: &'a BrowseSample,
    code: TokenCode,
    /// The part with the ids.
    part: BrowsePart,
}

impl Documents {
    /// Checks that there is a tokenizer if text is requested.
    pub(super) fn new(set: &TokenSet, has_text: bool) -> Outcome<Self> {
        if has_text && set.vocabulary().is_none() {
            let why = format!("ids have no text without their tokenizer; {}", set.note().unwrap_or_default());
            let failure = Failure::usage(ACTIVITY, why).on(Subject::path(set.root()));
            return Err(failure.with_hint("--tokenizer FILE names it"));
        }
        Ok(Self { has_text, texts: Mutex::default() })
    }

    /// Whether documents have files of unknown size.
    pub(super) fn has_texts(&self) -> bool {
        self.has_text
    }

    /// Replaces the parts of a document by its files. Rows of text are unchanged.
    pub(super) fn show(&self, set: &TokenSet, sample: &mut BrowseSample) {
        let Some(ids) = Ids::of(set, sample) else { return };
        let bytes = ids.header().len() as u64 + ids.part.byte_size;
        let files = [("npy", bytes), ("txt", 0)].into_iter().take(1 + usize::from(self.has_text));
        let part = |(name, byte_size)| BrowsePart { name: Arc::from(name), byte_size, ..ids.part.clone() };
        sample.parts = files.map(part).collect();
    }

    /// Returns the length of a text, or 0 if it is not known yet; `None` for other files.
    pub(super) fn text_bytes(&self, set: &TokenSet, sample: &BrowseSample, number: u64, position: u64) -> Option<u64> {
        let ids = Ids::of(set, sample).filter(|_| position == TEXT)?;
        let texts = self.texts.lock();
        let known = texts.iter().find(|(known, _)| *known == number).map(|(_, text)| Arc::clone(text));
        drop(texts);
        let text = known.unwrap_or_default();
        let text = text.lock();
        let is_whole = text.ends.len() == ids.blocks();
        Some(text.ends.last().copied().filter(|_| is_whole).unwrap_or_default())
    }

    /// Returns up to `count` bytes of a file of a document, fewer only at its end; `None` for rows of text.
    pub(super) fn read(
        &self,
        (set, files): (&TokenSet, &PartsFiles),
        (sample, number): (&BrowseSample, u64),
        position: usize,
        from: u64,
        count: usize,
    ) -> Option<Outcome<Vec<u8>>> {
        let ids = Ids::of(set, sample)?;
        if let Some(defect) = &sample.defect {
            // The readable part of the document would look like a whole one.
            return Some(Err(Failure::data(ACTIVITY, defect.to_string()).on(Subject::path(set.root()))));
        }
        if position == ARRAY {
            return Some(ids.array(files, from, count));
        }
        let text = self.text(number);
        let read = text.lock().read(&ids, files, from, count);
        self.drop_blocks();
        Some(read)
    }

    /// Drops the least recently used blocks until their total size is within the limit.
    fn drop_blocks(&self) {
        let texts = self.texts.lock();
        let mut bytes = 0;
        for (_, text) in texts.iter().rev() {
            // A locked text is being read, and its reader drops blocks, too.
            let Some(mut text) = text.try_lock() else { continue };
            bytes += text.block.as_ref().map_or(0, |(_, block)| block.len());
            if bytes > MAX_BLOCK_BYTES {
                text.block = None;
            }
        }
    }

    fn text(&self, number: u64) -> Arc<Mutex<Text>> {
        let mut texts = self.texts.lock();
        let at = texts.iter().position(|(known, _)| *known == number);
        let found = at.and_then(|at| texts.remove(at)).unwrap_or_else(|| (number, Arc::default()));
        let text = Arc::clone(&found.1);
        texts.push_back(found);
        if texts.len() > MAX_TEXTS {
            texts.pop_front();
        }
        text
    }
}

impl<'a> Ids<'a> {
    fn of(set: &'a TokenSet, sample: &'a BrowseSample) -> Option<Self> {
        let (code, byte_size) = set.ids_of(sample)?;
        let part = BrowsePart { name: Arc::from(""), byte_offset: sample.byte_offset, byte_size };
        Some(Self { set, sample, code, part })
    }

    fn header(&self) -> Vec<u8> {
        npy::header_of(&self.code.numpy(), self.part.byte_size / self.code.size())
    }

    /// Returns bytes of the array file: its header, then the ids as stored.
    fn array(&self, files: &PartsFiles, from: u64, count: usize) -> Outcome<Vec<u8>> {
        let header = self.header();
        let begin = usize::try_from(from).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = header.iter().skip(begin).take(count).copied().collect();
        let from = from.saturating_sub(header.len() as u64);
        bytes.append(&mut files.read_ids(self.set, self.sample.at.group, &self.part, from, count - bytes.len())?);
        Ok(bytes)
    }

    fn blocks(&self) -> usize {
        usize::try_from(self.part.byte_size.div_ceil(BLOCK_TOKENS * self.code.size())).unwrap_or(usize::MAX)
    }

    /// Returns the text of a block of ids. An id that is not in the vocabulary is shown as a number.
    fn decode(&self, files: &PartsFiles, block: usize) -> Outcome<Vec<u8>> {
        let Some(vocabulary) = self.set.vocabulary() else { return Ok(Vec::new()) };
        let bytes = BLOCK_TOKENS * self.code.size();
        let (from, count) = (block as u64 * bytes, usize::try_from(bytes).unwrap_or_default());
        let raw = files.read_ids(self.set, self.sample.at.group, &self.part, from, count)?;
        let mut text = Vec::new();
        for id in self.code.ids(&raw) {
            match u32::try_from(id).ok().and_then(|id| vocabulary.piece(id)) {
                Some(piece) => text.extend_from_slice(&piece),
                // Writing to memory does not fail.
                None => _ = write!(text, "<{id}>"),
            }
            if text.len() > MAX_BLOCK_BYTES {
                let why = "the tokens of its tokenizer are too long: a few thousand of them fill 8 MiB";
                return Err(Failure::data(ACTIVITY, why).on(Subject::path(self.set.root())));
            }
        }
        if vocabulary.separates_tokens() && block + 1 == self.blocks() && text.ends_with(b" ") {
            text.pop();
        }
        Ok(text)
    }
}

impl Text {
    fn read(&mut self, ids: &Ids<'_>, files: &PartsFiles, from: u64, count: usize) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let at = from.saturating_add(bytes.len() as u64);
            let block = self.ends.partition_point(|end| *end <= at);
            if block >= ids.blocks() {
                break;
            }
            let begin = block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
            let text = self.block(ids, files, block, begin)?;
            let skipped = usize::try_from(at - begin).unwrap_or(usize::MAX);
            bytes.extend(text.iter().skip(skipped).take(count - bytes.len()));
        }
        Ok(bytes)
    }

    /// Returns the text of a block that starts at byte `begin`. All previous blocks must have been decoded.
    fn block(&mut self, ids: &Ids<'_>, files: &PartsFiles, block: usize, begin: u64) -> Outcome<&[u8]> {
        if self.block.as_ref().is_none_or(|(known, _)| *known != block) {
            let text = ids.decode(files, block)?;
            if block == self.ends.len() {
                self.ends.push(begin + text.len() as u64);
            }
            self.block = Some((block, text));
        }
        Ok(self.block.as_ref().map(|(_, text)| text.as_slice()).unwrap_or_default())
    }
}
