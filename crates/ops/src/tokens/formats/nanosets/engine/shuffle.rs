//! Writes documents and chunks of a finished task in a new order (docs/formats/nanosets.md §4).
//!
//! The reference program writes the shuffled documents to one file and then its chunks to another. Here both steps are combined: the
//! documents of a chunk are looked up, and read from the original file.

use super::copy::{changed, Copier};
use super::numbers::Numbers;
use super::output::{CompanionFiles, FinishedTokenFile, OutputOptions, Writer};
use gristmill_core::{Failure, Handles, Outcome, Subject};
use gristmill_data::formats::nanosets::{Index, TokenSize};
use gristmill_pycompat::numpy_random::{Generator, Permutation};
use gristmill_storage::fs::Fs;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// The tokens of one task in their original order.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The data file.
    pub data: &'a Path,
    /// The file with the ends of the documents.
    pub index: &'a Path,
    /// The file of loss masks, with one byte per token.
    pub loss: Option<&'a Path>,
    /// Size of a token.
    pub token_size: TokenSize,
}

/// The options of a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleOptions {
    /// Whether documents are permuted.
    pub documents: bool,
    /// Size of the chunks that are then permuted, in tokens.
    pub chunk: Option<u64>,
    /// Number of tokens above which another file begins.
    pub max_tokens: Option<u64>,
    /// Seed; each task starts with the same seed.
    pub seed: u64,
}

/// The result of a shuffle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShuffleResult {
    /// The files, in order. The last file is empty if the previous one ended with the last document.
    pub files: Vec<FinishedTokenFile>,
    /// Number of tokens at the end that do not fill a chunk.
    pub dropped_tokens: u64,
}

/// Writes the tokens of a task in their new order into `folder`, under the names that `name` returns for the sub-files. `tokenizer` is the
/// name in the metadata. Uses 12 bytes of memory per document (20 for more than 2³² tokens) and 4 per chunk.
pub fn shuffle(
    source: &Source<'_>,
    options: &ShuffleOptions,
    tokenizer: &str,
    (fs, folder): (&dyn Fs, &Path),
    name: &dyn Fn(u64) -> String,
    handles: &Handles<'_>,
) -> Outcome<ShuffleResult> {
    let (data, loss) = (open_read(source.data)?, source.loss.map(open_read).transpose()?);
    let mut stream = Stream::open(source, &data)?;
    if let Some(loss) = &loss {
        if loss.len() != stream.tokens() {
            return Err(changed(loss));
        }
    }
    let mut generator = Generator::seeded(options.seed);
    if options.documents {
        stream.permute(&mut generator)?;
    }
    let companions = CompanionFiles { description: true, loss: loss.is_some() };
    let shape = OutputOptions { folder, fs, companions, token_size: source.token_size, tokenizer };
    let mut copier = Copier::new(&data, loss.as_ref(), source.token_size);
    let mut parts = Parts { shape, name, max_tokens: options.max_tokens, finished: Vec::new() };
    let mut writer = parts.begin()?;
    let Some(chunk) = options.chunk else {
        for place in 0..stream.documents() {
            let (start, end) = stream.document(place);
            copier.copy(start, end, &mut writer, handles)?;
            writer.end()?;
            handles.progress.add(1, 0);
            writer = parts.split(writer)?;
        }
        return Ok(ShuffleResult { files: parts.end(writer)?, dropped_tokens: 0 });
    };
    let chunks = stream.tokens().checked_div(chunk).ok_or_else(|| {
        Failure::usage("shuffling chunks", "a chunk has at least one token").on(Subject::field("--chunk-size"))
    })?;
    for number in generator.permutation(chunks).iter() {
        let (start, end) = (number * chunk, (number + 1) * chunk);
        let before = writer.len();
        stream.pieces(start, end, |first, last| copier.copy(first, last, &mut writer, handles))?;
        for end in stream.ends_within(start, end) {
            writer.end_at(before + end - start)?;
        }
        writer.end()?;
        handles.progress.add(1, 0);
        writer = parts.split(writer)?;
    }
    Ok(ShuffleResult { files: parts.end(writer)?, dropped_tokens: stream.tokens() % chunk })
}

/// The sub-files of one task.
struct Parts<'a> {
    shape: OutputOptions<'a>,
    name: &'a dyn Fn(u64) -> String,
    max_tokens: Option<u64>,
    finished: Vec<FinishedTokenFile>,
}

impl<'a> Parts<'a> {
    fn begin(&self) -> Outcome<Writer<'a>> {
        Writer::create(self.shape, (self.name)(self.finished.len() as u64))
    }

    /// Returns the file for the next tokens: a new one if the current one has too many tokens, even if no tokens follow.
    fn split(&mut self, writer: Writer<'a>) -> Outcome<Writer<'a>> {
        if self.max_tokens.is_none_or(|most| writer.len() <= most) {
            return Ok(writer);
        }
        self.finished.push(writer.finish()?);
        self.begin()
    }

    fn end(mut self, writer: Writer<'a>) -> Outcome<Vec<FinishedTokenFile>> {
        self.finished.push(writer.finish()?);
        Ok(self.finished)
    }
}

/// The tokens of a task, and the documents in their order.
struct Stream {
    /// Ends of the documents in the file.
    ends: Numbers,
    /// The documents in their new order, and their ends in that order.
    order: Option<(Permutation, Numbers)>,
}

impl Stream {
    /// Reads and checks the ends of the documents.
    fn open(source: &Source<'_>, data: &ReadFile) -> Outcome<Self> {
        let index = Index::open(source.index)?;
        let tokens = data.len() / source.token_size.bytes();
        let mut ends = Numbers::with_room(index.documents(), tokens)?;
        let mut last = 0;
        index.for_each_end(|end| {
            if end < last || end > tokens {
                let why = format!("document {} ends after token {end}, which cannot be", ends.len());
                return Err(Failure::data("reading the document index", why).on(Subject::path(source.index)));
            }
            last = end;
            ends.push(end);
            Ok(())
        })?;
        if last * source.token_size.bytes() != data.len() {
            let why = format!("its documents end after token {last}, and the file has {tokens}");
            return Err(Failure::data("reading the document index", why).on(Subject::path(source.index)));
        }
        Ok(Self { ends, order: None })
    }

    fn tokens(&self) -> u64 {
        self.ends.before(self.ends.len())
    }

    fn documents(&self) -> usize {
        self.ends.len()
    }

    fn permute(&mut self, generator: &mut Generator) -> Outcome<()> {
        let order = generator.permutation(self.ends.len() as u64);
        let mut ends = Numbers::with_room(self.ends.len() as u64, self.tokens())?;
        let mut end = 0;
        for document in order.iter() {
            let document = document as usize;
            end += self.ends.at(document) - self.ends.before(document);
            ends.push(end);
        }
        self.order = Some((order, ends));
        Ok(())
    }

    /// Returns the first token and the end, in the file, of the document at a position in the order.
    fn document(&self, place: usize) -> (u64, u64) {
        let document = match &self.order {
            Some((order, _)) => order.at(place) as usize,
            None => place,
        };
        (self.ends.before(document), self.ends.at(document))
    }

    /// Returns the ends of the documents in the new order.
    fn ordered_ends(&self) -> &Numbers {
        self.order.as_ref().map_or(&self.ends, |(_, ends)| ends)
    }

    /// Passes the ranges of the file that make up the tokens `start..end` in the new order to `take`.
    fn pieces(&self, start: u64, end: u64, mut take: impl FnMut(u64, u64) -> Outcome<()>) -> Outcome<()> {
        if self.order.is_none() {
            return take(start, end);
        }
        let ends = self.ordered_ends();
        let (mut at, mut place) = (start, ends.first_above(start));
        while at < end && place < ends.len() {
            let stop = ends.at(place).min(end);
            let first = self.document(place).0 + (at - ends.before(place));
            take(first, first + (stop - at))?;
            at = stop;
            place += 1;
        }
        Ok(())
    }

    /// Returns the ends of documents, in the new order, that are strictly between two tokens. Empty documents at the beginning end in the
    /// first chunk, as there is no previous chunk.
    fn ends_within(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + '_ {
        let ends = self.ordered_ends();
        let first = if start == 0 { 0 } else { ends.first_above(start) };
        (first..ends.len()).map(|place| ends.at(place)).take_while(move |inner| *inner < end)
    }
}
