//! External sorting: sorted runs in spool files, and their merge.
//!
//! An entry is a text and a fixed count of numbers; the order is by text (bytes), then by numbers.

pub mod bytes;

use crate::fs::Fs;
use crate::read::{open_read, ReadFile};
use bytes::{push_int, push_text, SpoolReader, SpoolWriter};
use gristmill_core::{Cancel, Outcome};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a spool that a merge reads at a time, per run.
const MERGE_CHUNK: usize = 32 * 1024;
/// Entries between two checks of the cancel flag.
pub const CANCEL_EVERY: u64 = 1024;

/// Folder and limits of a sort.
pub struct SortContext<'a> {
    /// Writes the files.
    pub fs: &'a dyn Fs,
    /// Folder of the files.
    pub scratch: &'a Path,
    /// Cancels the sort.
    pub cancel: &'a Cancel,
    /// Maximum number of sorted runs open at once.
    pub merge_width: usize,
    /// Memory limit for sorting, in bytes.
    pub sort_memory: usize,
}

/// A sorted run inside a spool file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its start, in bytes.
    pub offset: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}

#[derive(Clone, Copy)]
struct Entry<const N: usize> {
    start: u32,
    len: u32,
    numbers: [u64; N],
}

/// Collects entries up to a bound, and returns them in order or writes them as a run.
pub struct Sorter<const N: usize> {
    texts: Vec<u8>,
    entries: Vec<Entry<N>>,
    limit: usize,
}

impl<const N: usize> Sorter<N> {
    /// Returns a sorter that is full at `limit` bytes; texts are addressed with 32 bits, so at most 2 GiB are used.
    pub fn new(limit: usize) -> Self {
        Self { texts: Vec::new(), entries: Vec::new(), limit: limit.min(1 << 31) }
    }

    /// Whether the collected entries should be written before an entry with a text of `text` bytes is added. An empty sorter takes any
    /// entry.
    pub fn is_full_for(&self, text: usize) -> bool {
        let used = self.texts.len() + self.entries.len() * size_of::<Entry<N>>();
        !self.entries.is_empty() && used + text + size_of::<Entry<N>>() > self.limit
    }

    /// Adds an entry.
    pub fn push(&mut self, text: &[u8], numbers: [u64; N]) {
        let (start, len) = (self.texts.len() as u32, text.len() as u32);
        self.texts.extend_from_slice(text);
        self.entries.push(Entry { start, len, numbers });
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.entries.clear();
    }

    /// Returns everything collected, in order.
    pub fn sorted(&mut self) -> impl Iterator<Item = (&[u8], [u64; N])> + '_ {
        let texts = &self.texts;
        let text = |e: &Entry<N>| &texts[e.start as usize..][..e.len as usize];
        let before = |a: &Entry<N>, b: &Entry<N>| text(a).cmp(text(b)).then(a.numbers.cmp(&b.numbers));
        // Keys are mostly in order already, which the stable sort detects in one pass.
        self.entries.sort_by(before);
        self.entries.iter().map(move |entry| (text(entry), entry.numbers))
    }

    /// Writes everything collected as one run and empties the sorter.
    pub fn spill(&mut self, out: &mut SpoolWriter) -> Outcome<Run> {
        let offset = out.position();
        let mut before = Vec::new();
        for (text, numbers) in self.sorted() {
            write_entry(out, &mut before, text, numbers)?;
        }
        self.clear();
        Ok(Run { offset, bytes: out.position() - offset })
    }
}

fn write_entry<const N: usize>(
    out: &mut SpoolWriter,
    before: &mut Vec<u8>,
    text: &[u8],
    numbers: [u64; N],
) -> Outcome<()> {
    let buffer = out.buffer();
    push_text(buffer, before, text);
    numbers.into_iter().for_each(|number| push_int(buffer, number));
    before.clear();
    before.extend_from_slice(text);
    out.check()
}

/// A run and the base of its first numbers.
#[derive(Clone, Debug)]
pub struct RunSource {
    /// The spool file.
    pub path: PathBuf,
    /// The run in it.
    pub run: Run,
    /// Added to each first number.
    pub base: u64,
    /// Whether the file is removed once it is merged.
    pub temporary: bool,
}

struct RunReader<const N: usize> {
    from: SpoolReader,
    base: u64,
    text: Vec<u8>,
    numbers: [u64; N],
    done: bool,
}

impl<const N: usize> RunReader<N> {
    fn advance(&mut self) -> Outcome<()> {
        if self.from.at_end() {
            self.done = true;
            return Ok(());
        }
        self.from.text(&mut self.text)?;
        for number in &mut self.numbers {
            *number = self.from.int()?;
        }
        if let Some(first) = self.numbers.first_mut() {
            *first = first.wrapping_add(self.base);
        }
        Ok(())
    }

    /// Whether this reader's entry precedes the other's; an exhausted one is last.
    fn is_before(&self, other: &Self) -> bool {
        let order = self.done.cmp(&other.done).then_with(|| self.text.cmp(&other.text));
        order.then_with(|| self.numbers.cmp(&other.numbers)) == Ordering::Less
    }
}

/// Merges runs with a tree of losers: one comparison per level and entry.
pub struct Merge<const N: usize> {
    readers: Vec<RunReader<N>>,
    /// `losers[0]` is the overall winner; `losers[n]` lost the match at inner node n.
    losers: Vec<usize>,
    started: bool,
}

impl<const N: usize> Merge<N> {
    /// Opens all runs at once; neighbours in one file share its handle.
    pub fn open(sources: &[RunSource]) -> Outcome<Self> {
        let mut readers: Vec<RunReader<N>> = Vec::with_capacity(sources.len());
        let mut last: Option<(&Path, Arc<ReadFile>)> = None;
        for source in sources {
            let file = match &last {
                Some((path, file)) if *path == source.path => Arc::clone(file),
                _ => Arc::new(open_read(&source.path)?),
            };
            last = Some((&source.path, Arc::clone(&file)));
            let chunk = MERGE_CHUNK.min(source.run.bytes as usize);
            let from = SpoolReader::new(file, source.run.offset, source.run.bytes, chunk);
            let mut reader = RunReader { from, base: source.base, text: Vec::new(), numbers: [0; N], done: false };
            reader.advance()?;
            readers.push(reader);
        }
        let mut merge = Self { losers: vec![0; readers.len().max(1)], readers, started: false };
        merge.replay_all();
        Ok(merge)
    }

    /// Plays every match once, from the leaves up.
    fn replay_all(&mut self) {
        let count = self.readers.len();
        let mut winners = vec![0; 2 * count];
        for node in (1..2 * count).rev() {
            winners[node] = if node >= count {
                node - count
            } else {
                let (a, b) = (winners[2 * node], winners[2 * node + 1]);
                let (winner, loser) = if self.readers[b].is_before(&self.readers[a]) { (b, a) } else { (a, b) };
                self.losers[node] = loser;
                winner
            };
        }
        self.losers[0] = winners.get(1).copied().unwrap_or(0);
    }

    /// Returns the next entry in order.
    pub fn next_entry(&mut self) -> Outcome<Option<(&[u8], [u64; N])>> {
        if self.readers.is_empty() {
            return Ok(None);
        }
        if self.started {
            self.replay()?;
        }
        self.started = true;
        let winner = &self.readers[self.losers[0]];
        Ok((!winner.done).then_some((winner.text.as_slice(), winner.numbers)))
    }

    /// Advances the last winner, and replays its matches up to the root.
    fn replay(&mut self) -> Outcome<()> {
        let mut winner = self.losers[0];
        self.readers[winner].advance()?;
        let mut node = (winner + self.readers.len()) / 2;
        while node > 0 {
            let other = self.losers[node];
            if self.readers[other].is_before(&self.readers[winner]) {
                self.losers[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

/// Merges runs into longer ones until all can be open at once; each step merges no more than necessary. New files in the scratch folder
/// begin with `name`.
pub fn reduce<const N: usize>(
    around: &SortContext<'_>,
    sources: Vec<RunSource>,
    name: &str,
) -> Outcome<Vec<RunSource>> {
    let width = around.merge_width.max(2);
    let mut queue = VecDeque::from(sources);
    let mut step = 0;
    while queue.len() > width {
        let taken: Vec<_> = queue.drain(..width.min(queue.len() - width + 1)).collect();
        let mut out = SpoolWriter::create(around.fs, around.scratch, format!("{name}-{step}"))?;
        let mut before = Vec::new();
        let mut merge = Merge::<N>::open(&taken)?;
        let mut count = 0;
        while let Some((text, numbers)) = merge.next_entry()? {
            write_entry(&mut out, &mut before, text, numbers)?;
            count += 1;
            if count % CANCEL_EVERY == 0 {
                around.cancel.check()?;
            }
        }
        drop(merge);
        let file = out.finish()?;
        remove_temporary(around.fs, &taken)?;
        let run = Run { offset: 0, bytes: file.bytes };
        queue.push_back(RunSource { path: around.scratch.join(file.name), run, base: 0, temporary: true });
        step += 1;
    }
    Ok(queue.into())
}

/// Removes the files of merged runs.
pub fn remove_temporary(fs: &dyn Fs, sources: &[RunSource]) -> Outcome<()> {
    for source in sources.iter().filter(|s| s.temporary) {
        fs.remove_file(&source.path)?;
    }
    Ok(())
}
