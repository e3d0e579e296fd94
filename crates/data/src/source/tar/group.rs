//! Groups entries into samples: passes rows to the sink, and collects statistics for screens and notes on skipped or damaged entries.

use super::apple_double::{self, AppleDoubles};
use super::names;
use super::notes::{Notes, HAS_LONG_KEY, LACKS_PART, MISREAD_BY_PYTHON};
use super::walk::{Entry, MAX_NAME};
use super::{is_sketched, keep_sketch, HiddenPart, ScanSink, ShardScan, MAX_PART_NAMES};
use gristmill_core::{HiddenSample, Outcome, PartFacts, PartRow, PartSets, ProblemKind, SampleRow, SampleSketch};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of parts of a sample that are collected before they are passed to the sink. A sample with more is passed on in several
/// pieces, before it is known to be whole.
const MAX_BUFFERED_PARTS: usize = 1 << 16;
/// Maximum number of parts of a sample in a sketch.
const SKETCH_PARTS: usize = 64;

/// A part of the current sample; its name is stored in `Grouper::names`.
#[derive(Clone, Copy)]
struct BufferedPart {
    name_from: usize,
    name_to: usize,
    content_offset: u64,
    size: u64,
    /// Offset of the first header of the entry, if it is sparse.
    sparse_at: Option<u64>,
}

/// Groups the entries of one shard.
pub(super) struct Grouper<'a> {
    sink: &'a mut dyn ScanSink,
    shard: &'a str,
    pub(super) notes: Notes,
    /// Whether there is a current sample.
    open: bool,
    key: Vec<u8>,
    start: u64,
    damaged: bool,
    /// Whether some of its parts have already been passed to the sink.
    handed_out: bool,
    names: Vec<u8>,
    parts: Vec<BufferedPart>,
    /// Whether the next sample begins after lost bytes.
    after_damage: bool,
    /// Whether the next entry is the first after lost bytes and may have lost its true name.
    doubtful: bool,
    /// Whether the first entry of the sample being collected may have lost its true name.
    has_doubtful_name: bool,
    /// An entry that may have lost its true name and that begins another sample by the name it has. The next entry decides whether it does.
    undecided: Option<(Vec<u8>, Entry)>,
    /// Offset of global headers that directly precede the next entry.
    globals_from: Option<u64>,
    apple_doubles: AppleDoubles,
    /// Whether the previous sample is an ordinary one.
    follows_sample: bool,
    statistics: Statistics,
    scan: ShardScan,
}

impl<'a> Grouper<'a> {
    pub(super) fn new(shard: &'a str, sink: &'a mut dyn ScanSink) -> Self {
        Self {
            sink,
            shard,
            notes: Notes::default(),
            open: false,
            key: Vec::new(),
            start: 0,
            damaged: false,
            handed_out: false,
            names: Vec::new(),
            parts: Vec::new(),
            after_damage: false,
            doubtful: false,
            has_doubtful_name: false,
            undecided: None,
            globals_from: None,
            apple_doubles: AppleDoubles::default(),
            follows_sample: false,
            statistics: Statistics::default(),
            scan: ShardScan::default(),
        }
    }

    /// Adds one entry. `begins_with` returns whether its content begins with these bytes.
    pub(super) fn entry(
        &mut self,
        name: &[u8],
        entry: &Entry,
        begins_with: impl FnOnce(&[u8]) -> Outcome<bool>,
    ) -> Outcome<()> {
        let globals_from = self.globals_from.take();
        if let Some(why) = entry.suspect {
            self.notes.count(ProblemKind::BadExtendedHeader, name, entry.offset, why);
        }
        let Some(dot) = self.split_name(name, entry) else { return Ok(()) };
        let is_apple_double = apple_double::has_name(name, dot) && begins_with(&apple_double::MAGIC)?;
        let entry = &Entry { is_apple_double, ..*entry };
        let is_next = !self.open || name[..dot] != self.key[..];
        if is_next {
            self.release()?;
            if self.open && self.doubtful {
                self.undecided = Some((name.to_owned(), *entry));
                return Ok(());
            }
        } else if self.undecided.take().is_some() {
            // The sample continues, so the undecided entry is a part of it that has lost its name.
            self.doubtful = false;
        }
        self.add(name, dot, entry, globals_from)
    }

    /// Begins a sample with the undecided entry, because the next entry does not continue the sample before it.
    pub(super) fn release(&mut self) -> Outcome<()> {
        let Some((name, entry)) = self.undecided.take() else { return Ok(()) };
        let dot = names::split(&name).unwrap_or(name.len());
        self.add(&name, dot, &entry, None)
    }

    /// Records global headers at `at`. They belong to the sample after them, because a reader reads them together with the next entry: if
    /// they were at the end of the previous sample, it would read the first entry of the next sample there.
    pub(super) fn global(&mut self, at: u64) {
        self.globals_from.get_or_insert(at);
    }

    fn add(&mut self, name: &[u8], dot: usize, entry: &Entry, globals_from: Option<u64>) -> Outcome<()> {
        if !self.open || name[..dot] != self.key[..] {
            let mut start = entry.offset;
            if self.open {
                start = globals_from.unwrap_or(start);
                self.after_damage |= self.has_doubtful_name && self.parts.len() == 1;
                self.close(start)?;
            }
            self.open = true;
            let previous = self.follows_sample.then_some(self.key.as_slice());
            self.apple_doubles.begin(&name[..dot], entry, previous);
            self.key.clear();
            self.key.extend_from_slice(&name[..dot]);
            self.start = start;
            self.damaged = std::mem::take(&mut self.after_damage);
            self.handed_out = false;
            self.has_doubtful_name = self.doubtful;
        }
        self.doubtful = false;
        self.damaged |= entry.suspect.is_some() | std::mem::take(&mut self.after_damage);
        if name.len() > MAX_NAME {
            // A sample with a shorter key lacks this part. Longer keys are in no table.
            let has_long_key = dot > MAX_NAME;
            let why = if has_long_key { HAS_LONG_KEY } else { LACKS_PART };
            self.notes.count(ProblemKind::BadName, name, entry.offset, why);
            self.damaged |= !has_long_key;
            return Ok(());
        }
        if self.parts.len() >= MAX_BUFFERED_PARTS {
            self.hand_out_parts()?;
            self.handed_out = true;
        }
        self.apple_doubles.add(name, entry);
        let name_from = self.names.len();
        self.names.extend_from_slice(&name[dot + 1..]);
        let (content_offset, size) = (entry.content_offset, entry.size);
        let (name_to, sparse_at) = (self.names.len(), entry.is_sparse.then_some(entry.offset));
        self.parts.push(BufferedPart { name_from, name_to, content_offset, size, sparse_at });
        Ok(())
    }

    /// Returns the offset at which the name is split into key and part. Returns `None` for an entry that is skipped, after recording it.
    fn split_name(&mut self, name: &[u8], entry: &Entry) -> Option<usize> {
        let skipped = if entry.is_link && Self::makes_part(name) {
            ProblemKind::LinkedPart
        } else if !entry.regular {
            ProblemKind::SkippedEntryType
        } else if names::is_reserved(name) {
            ProblemKind::ReservedName
        } else if let Some(dot) = names::split(name) {
            if entry.is_sparse {
                let why = if entry.is_resized { MISREAD_BY_PYTHON } else { "" };
                self.notes.count(ProblemKind::SparseEntry, name, entry.offset, why);
            }
            return Some(dot);
        } else {
            ProblemKind::UnnamedEntry
        };
        self.notes.count(skipped, name, entry.offset, "");
        None
    }

    /// Records lost bytes: the samples before and after them may be incomplete. With `doubtful`, the first entry after them may have lost
    /// its true name; if no other entry has the same key, the sample after it may be the incomplete one.
    pub(super) fn damage(&mut self, doubtful: bool) -> Outcome<()> {
        self.release()?;
        self.scan.damaged_start |= !self.open && self.scan.samples == 0;
        self.damaged = true;
        self.after_damage = true;
        self.doubtful = doubtful;
        Ok(())
    }

    /// Whether an entry with this name would continue the current sample.
    pub(super) fn continues(&self, name: &[u8]) -> bool {
        self.open && !names::is_reserved(name) && names::split(name).is_some_and(|dot| name[..dot] == self.key[..])
    }

    /// Whether an entry with this name would be part of a sample.
    pub(super) fn makes_part(name: &[u8]) -> bool {
        !names::is_reserved(name) && names::split(name).is_some()
    }

    /// Returns the key of the current sample.
    pub(super) fn open_key(&self) -> Option<&[u8]> {
        self.open.then_some(&self.key)
    }

    /// Discards the current sample unless some of its parts have been passed to the sink; returns the new end of the archive.
    pub(super) fn give_up(&mut self, at: u64) -> Outcome<u64> {
        if !self.open {
            return Ok(at);
        }
        if self.handed_out {
            self.damaged = true;
            self.close(at)?;
            return Ok(at);
        }
        self.open = false;
        self.names.clear();
        self.parts.clear();
        Ok(self.start)
    }

    /// Ends the last sample at `end`, and returns the result of the scan.
    pub(super) fn finish(mut self, end: u64) -> Outcome<(ShardScan, Notes)> {
        self.release()?;
        if self.open {
            self.close(end)?;
        }
        self.scan.end_offset = end;
        (self.scan.apple_double, self.scan.apple_double_keys) = self.apple_doubles.finish();
        (self.scan.parts, self.scan.part_sets) = self.statistics.finish();
        Ok((self.scan, self.notes))
    }

    fn close(&mut self, end: u64) -> Outcome<()> {
        self.open = false;
        let (sample_index, byte_offset) = (self.scan.samples, self.start);
        let byte_size = end.saturating_sub(byte_offset);
        self.scan.samples += 1;
        let is_apple_double = self.apple_doubles.end(&self.key);
        self.follows_sample = !is_apple_double;
        if is_apple_double {
            self.hand_out_parts()?;
            let key = std::str::from_utf8(&self.key).unwrap_or_default();
            return self.sink.apple_double_sample(SampleRow { key, sample_index, byte_offset, byte_size });
        }
        self.sketch();
        self.hand_out_parts()?;
        self.statistics.end_sample();
        match std::str::from_utf8(&self.key) {
            _ if self.key.len() > MAX_NAME => {
                let is_damaged = self.damaged;
                self.sink.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size, is_damaged })
            }
            Ok(key) => {
                if self.damaged {
                    self.scan.damaged_keys.push(key.to_owned());
                }
                self.sink.sample(SampleRow { key, sample_index, byte_offset, byte_size })
            }
            Err(_) => {
                let why = "its samples cannot be found by name";
                self.notes.count(ProblemKind::EntryNameNotUtf8, &self.key, byte_offset, why);
                let is_damaged = self.damaged;
                self.sink.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size, is_damaged })
            }
        }
    }

    fn hand_out_parts(&mut self) -> Outcome<()> {
        if self.apple_doubles.has_no_partner() {
            self.parts.clear();
            self.names.clear();
            return Ok(());
        }
        let repeated = self.repeated();
        let key_is_text = std::str::from_utf8(&self.key).is_ok();
        for (position, part) in self.parts.iter().enumerate() {
            let name = &self.names[part.name_from..part.name_to];
            if let Some(offset) = part.sparse_at {
                self.sink.sparse_entry(offset);
            }
            let hidden = HiddenPart { key: &self.key, name, content_offset: part.content_offset, size: part.size };
            if !key_is_text {
                self.sink.hidden_part(hidden)?;
                continue;
            }
            let Ok(part_name) = std::str::from_utf8(name) else {
                self.sink.hidden_part(hidden)?;
                let why = "its parts cannot be found by name";
                self.notes.count(ProblemKind::EntryNameNotUtf8, name, part.content_offset, why);
                continue;
            };
            let again = repeated.get(position).copied().unwrap_or(false);
            if again {
                let full = [&self.key, b".".as_slice(), name].concat();
                self.notes.count(ProblemKind::RepeatedPart, &full, part.content_offset, "");
            }
            self.statistics.add(position, part_name, part.size, !again);
            let (content_byte_offset, content_byte_size) = (part.content_offset, part.size);
            self.sink.part(PartRow { part_name, content_byte_offset, content_byte_size })?;
        }
        self.parts.clear();
        self.names.clear();
        Ok(())
    }

    /// Returns for each part of the current sample whether an earlier part has the same name; empty, without allocation, in the usual case
    /// that no name is repeated.
    fn repeated(&self) -> Vec<bool> {
        let name = |part: &BufferedPart| &self.names[part.name_from..part.name_to];
        let parts = &self.parts;
        let few = parts.len() <= 16;
        if few && !parts.iter().enumerate().any(|(i, p)| parts[..i].iter().any(|earlier| name(earlier) == name(p))) {
            return Vec::new();
        }
        let mut seen = std::collections::HashSet::with_capacity(parts.len());
        parts.iter().map(|p| !seen.insert(name(p))).collect()
    }

    fn sketch(&mut self) {
        // The scan has already counted the sample.
        let index = self.scan.samples - 1;
        if self.damaged || self.key.len() > MAX_NAME || !is_sketched(index, self.scan.sketches.len()) {
            return;
        }
        let Ok(key) = std::str::from_utf8(&self.key) else { return };
        let text = |p: &BufferedPart| {
            let name = std::str::from_utf8(&self.names[p.name_from..p.name_to]).ok()?;
            Some((name.to_owned(), p.content_offset, p.size))
        };
        let parts = self.parts.iter().take(SKETCH_PARTS).filter_map(text).collect();
        let sketch = SampleSketch { shard: self.shard.to_owned(), key: key.to_owned(), parts };
        keep_sketch(&mut self.scan.sketches, sketch);
    }
}

/// Statistics per part name. Samples of a shard usually have the same parts in the same order, so a name is first compared with the name at
/// its position in the previous sample.
#[derive(Default)]
struct Statistics {
    names: Vec<(String, PartFacts)>,
    at_position: Vec<usize>,
    index: HashMap<String, usize>,
    /// Parts of the current sample, as indexes of `names`; then those of the previous sample, and the number of consecutive samples with
    /// them.
    set: Vec<usize>,
    last_set: Vec<usize>,
    in_a_row: u64,
    sets: PartSets,
}

impl Statistics {
    fn add(&mut self, position: usize, name: &str, size: u64, first: bool) {
        let guess = self.at_position.get(position).copied();
        let found = match guess.filter(|&n| self.names[n].0 == name) {
            Some(n) => n,
            None => match self.find(position, name) {
                Some(n) => n,
                None => return,
            },
        };
        if first {
            self.set.push(found);
        }
        let facts = &mut self.names[found].1;
        facts.samples += u64::from(first);
        facts.bytes = facts.bytes.saturating_add(size);
    }

    fn find(&mut self, position: usize, name: &str) -> Option<usize> {
        let found = match self.index.get(name) {
            Some(&n) => n,
            None if self.names.len() >= MAX_PART_NAMES => return None,
            None => {
                self.names.push((name.to_owned(), PartFacts::default()));
                self.index.insert(name.to_owned(), self.names.len() - 1);
                self.names.len() - 1
            }
        };
        if position < MAX_PART_NAMES {
            if self.at_position.len() <= position {
                self.at_position.resize(position + 1, found);
            }
            self.at_position[position] = found;
        }
        Some(found)
    }

    /// Counts the combination of parts of the current sample at its end.
    fn end_sample(&mut self) {
        if self.set != self.last_set {
            self.count_sets();
            std::mem::swap(&mut self.set, &mut self.last_set);
        }
        self.in_a_row += 1;
        self.set.clear();
    }

    fn count_sets(&mut self) {
        let names: Vec<&str> = self.last_set.iter().map(|&n| self.names[n].0.as_str()).collect();
        self.sets.add(&names, std::mem::take(&mut self.in_a_row));
    }

    fn finish(mut self) -> (BTreeMap<String, PartFacts>, PartSets) {
        self.count_sets();
        (self.names.into_iter().collect(), self.sets)
    }
}
