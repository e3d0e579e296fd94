//! Samples a text within seconds: reads as many documents as possible in that time, and examines a share of the distinct windows in them.
//! Small text is searched completely, as in a run.

use super::inputs::{Inputs, LineRange};
use super::report::RepeatedPassage;
use super::search_buffer::{append_text, SearchBudget, SearchBuffer};
use super::shown::{find_line, show};
use super::source::{each_line, Line};
use crate::engine::dedup::write_back::TextPieces as _;
use crate::job::pool::run_units;
use gristmill_core::{Cancel, DedupPlan, Outcome, Problem, RunOptions};
use gristmill_data::source::dedup::{line_from, Kind, Position};
use gristmill_dedup::{Estimate, Passage, ReadShare, Rule, Sampler, Samples};
use gristmill_storage::read::open_read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Limit of the time spent on reading.
const MAX_READ_TIME: Duration = Duration::from_secs(4);
/// Size of text, in bytes, up to which a full search is fast enough that no preliminary estimate is needed.
const AT_ONCE: u64 = 8 << 20;
/// Limit of the time for finding the passages that are shown.
const MAX_EXAMPLES_TIME: Duration = Duration::from_millis(500);
/// Bytes of a file that are sampled as one range.
const SAMPLE_RANGE_BYTES: u64 = 1 << 20;
/// Limit of the memory for positions of windows, in bytes. The positions are sorted at the end, which also takes time.
const MAX_PLACES: u64 = 192 << 20;
/// Size of the text that is searched completely in addition to the sample: a limit in bytes and a divisor of the memory. Passages that
/// repeat very often are certainly in it, while a sample of few keys may miss them.
const EXTRA_SEARCH_LIMITS: (u64, u64) = (32 << 20, 8);
/// Size of a position of a window, in bytes.
const PLACE_BYTES: u64 = 16;
/// Window length, in bytes, up to which all keys are examined, in less of the text. Such windows have so few distinct keys, a few of which
/// make up nearly all of the text, that a sample of the keys is not representative.
const MAX_FULLY_SAMPLED_LENGTH: u64 = 3;
/// Maximum text that can be read within the time limit, in bytes.
const MAX_TEXT: u64 = 4 << 30;
/// Limit of recorded problems.
const MAX_PROBLEMS: usize = 100;
/// Size of the range of positions reserved for the text of a compressed file, as a multiple of the file's size and as a minimum. The
/// reservation only keeps the positions in order.
const RESERVED_PLACES: (u64, u64) = (1 << 10, 1 << 32);
/// Golden ratio, which orders the stretches so that the stretches read within any time limit are evenly spread.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;

/// Cost of hashing a byte of a sampled window, as a multiple of choosing anchors for a byte.
const HASHING_COST: f64 = 0.1;
/// Cost of choosing anchors, as a multiple of reading uncompressed files. Used where the text is searched, because the cost is not measured
/// then.
const ANCHOR_COST: f64 = 1.8;

/// Limits of the text that is read for an estimate.
#[derive(Clone, Copy, Debug)]
pub struct SampleBudget {
    /// Limit of the time spent on reading.
    pub longest: Duration,
    /// Approximate limit of bytes read from disk.
    pub most_bytes: u64,
    /// Whether text that fits into memory is searched completely, as in a run, without a time limit.
    pub searches: bool,
}

impl SampleBudget {
    /// The smallest budget that gives a useful preliminary estimate.
    pub const FIRST: Self = Self { longest: Duration::from_millis(800), most_bytes: 256 << 20, searches: false };

    /// Returns the budget for searching all of the text with these rules; `None` if only a sample is examined.
    pub(super) fn search_budget(&self, inputs: &Inputs, rules: &[Rule], memory_bytes: u64) -> Option<SearchBudget> {
        let text_bytes = inputs.text_bytes();
        let searches = self.most_bytes >= inputs.bytes() && (self.searches || text_bytes <= AT_ONCE);
        searches.then(|| SearchBudget::of(text_bytes, rules, memory_bytes)).flatten()
    }
}

impl Default for SampleBudget {
    fn default() -> Self {
        Self { longest: MAX_READ_TIME, most_bytes: u64::MAX, searches: true }
    }
}

/// Data collected from the sampled text.
#[derive(Default)]
pub(super) struct Sample {
    rules: Vec<Rule>,
    samples: Vec<Samples>,
    /// Text that is searched completely: all of it instead of a sample, or a part in addition to the sample.
    search_text: SearchBuffer,
    /// Budget for searching all of the text; `None` if a sample is examined.
    search: Option<SearchBudget>,
    memory_bytes: u64,
    /// Start of each file in the range of all positions, followed by the end.
    starts: Vec<u64>,
    /// Position at which the files begin whose output is written.
    own: u64,
    /// Sampling rate of the keys for each rule: one in this many was examined.
    pub(super) one_in: Vec<u64>,
    /// Bytes on disk that were read, of all files.
    pub(super) input_bytes: u64,
    /// Bytes on disk that were read, of files whose output is written.
    pub(super) own_input_bytes: u64,
    /// Bytes of text, of all files.
    pub(super) text_bytes: u64,
    /// Bytes of text, of files whose output is written.
    pub(super) own_text_bytes: u64,
    /// Documents of files whose output is written.
    pub(super) own_documents: u64,
    pub(super) problems: Vec<Problem>,
    /// Positions at which the sampled stretches begin.
    range_starts: Vec<u64>,
    /// Fraction of the input that was read, from 0 to 1.
    part: f64,
    /// Seconds that all threads together spent on reading.
    pub(super) reading: f64,
    /// Seconds that all threads together spent on choosing anchors for one rule.
    pub(super) choosing: f64,
}

/// Results of one stretch.
struct Part {
    samples: Vec<Samples>,
    search_text: SearchBuffer,
    read: u64,
    text_bytes: u64,
    documents: u64,
    problems: Vec<Problem>,
    /// Start and end of the text of the stretch, as positions.
    places: (u64, u64),
    /// Total time, and the part of it spent on sampling.
    time: Duration,
    sampling: Duration,
}

/// Settings and counters shared by all stretches.
struct SampleReader<'a> {
    plan: &'a DedupPlan,
    inputs: &'a Inputs,
    rules: &'a [Rule],
    starts: &'a [u64],
    /// Sampling rate of the keys for each rule: one in this many is examined.
    one_in: Vec<u64>,
    search: Option<SearchBudget>,
    /// Bytes of text held in memory, and their limit.
    stored_bytes: AtomicU64,
    max_stored_bytes: u64,
    /// When reading stops; `None` if the whole text is searched.
    until: Option<Instant>,
    /// Number of recorded positions of windows, and its limit.
    kept: AtomicU64,
    most: u64,
    cancel: &'a Cancel,
}

impl Sample {
    /// Reads the sample once for all rules.
    pub(super) fn read_sample(
        plan: &DedupPlan,
        inputs: &Inputs,
        rules: Vec<Rule>,
        options: &RunOptions,
        effort: SampleBudget,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let memory = (options.memory_bytes / 2).clamp(1 << 20, MAX_PLACES);
        let text = inputs.text_bytes().min(MAX_TEXT);
        let starts = starts(inputs);
        let search = effort.search_budget(inputs, &rules, options.memory_bytes);
        let besides = EXTRA_SEARCH_LIMITS.0.min(options.memory_bytes / EXTRA_SEARCH_LIMITS.1);
        let reading = SampleReader {
            plan,
            inputs,
            rules: &rules,
            starts: &starts,
            one_in: one_in(&rules, text, memory / PLACE_BYTES),
            search,
            stored_bytes: AtomicU64::new(0),
            max_stored_bytes: search.map_or(besides, |search| search.text_bytes),
            until: search.is_none().then(|| Instant::now() + effort.longest),
            kept: AtomicU64::new(0),
            // Random sampling may record more positions than expected.
            most: 2 * memory / PLACE_BYTES,
            cancel,
        };
        let mut stretches = in_turn(sample_ranges(inputs));
        truncate_ranges(&mut stretches, inputs, effort.most_bytes);
        let parts = run_units(&stretches, options.threads.max(1), cancel, |stretch| match reading.has_time() {
            true => reading.part(stretch).map(Some),
            false => Ok(None),
        })?;
        if search.is_some() && reading.stored_bytes.load(Ordering::Relaxed) > reading.max_stored_bytes {
            // The compressed files contain more text than estimated, so a sample is examined instead.
            return Self::read_sample(
                plan,
                inputs,
                rules,
                options,
                SampleBudget {
                    searches: false,
                    most_bytes: inputs.bytes().saturating_sub(1).min(effort.most_bytes),
                    ..effort
                },
                cancel,
            );
        }
        let mut sample = Self {
            samples: rules.iter().map(|_| Samples::default()).collect(),
            own: starts.get(inputs.earlier_count).copied().unwrap_or_default(),
            one_in: if search.is_some() { vec![1; rules.len()] } else { reading.one_in.clone() },
            search,
            memory_bytes: options.memory_bytes,
            ..Self::default()
        };
        sample.search_text.reserve(reading.stored_bytes.load(Ordering::Relaxed));
        let mut parts: Vec<(&LineRange, Option<Part>)> = stretches.iter().zip(parts).collect();
        parts.sort_by_key(|(stretch, _)| (stretch.file, stretch.from.offset));
        for (stretch, part) in parts {
            if let Some(part) = part {
                sample.add(part, stretch.file >= inputs.earlier_count);
            }
        }
        sample.problems.truncate(MAX_PROBLEMS);
        sample.part = sample.input_bytes as f64 / inputs.bytes().max(1) as f64;
        (sample.rules, sample.starts) = (rules, starts);
        sample.settle_times();
        Ok(sample)
    }

    /// Whether the result is exact: everything was read, and searched as in a run.
    pub(super) fn is_exact(&self, own_bytes: u64) -> bool {
        self.search.is_some() && self.own_input_bytes >= own_bytes
    }

    fn add(&mut self, part: Part, is_own: bool) {
        for (all, some) in self.samples.iter_mut().zip(part.samples) {
            match is_own {
                true => all.join(some),
                false => all.join_earlier(some),
            }
        }
        self.search_text.join(part.search_text);
        self.input_bytes += part.read;
        self.text_bytes += part.text_bytes;
        self.reading += part.time.saturating_sub(part.sampling).as_secs_f64();
        self.choosing += part.sampling.as_secs_f64();
        // A compressed file is read from start to end; its content is counted as several stretches.
        let (from, to) = part.places;
        self.range_starts.extend((from..=to).step_by(SAMPLE_RANGE_BYTES as usize));
        if is_own {
            self.own_input_bytes += part.read;
            self.own_text_bytes += part.text_bytes;
            self.own_documents += part.documents;
        }
        self.problems.extend(part.problems);
    }

    /// Derives the duration of a run's stages from the time of the sampling.
    fn settle_times(&mut self) {
        let hashed: u64 = self.rules.iter().zip(&self.samples).map(|(rule, some)| some.hashed(rule)).sum();
        let bytes = (self.text_bytes * self.rules.len() as u64).max(1) as f64;
        self.choosing = match self.search {
            Some(_) => self.reading * ANCHOR_COST,
            None => self.choosing / (1.0 + HASHING_COST * hashed as f64 / bytes) / self.rules.len().max(1) as f64,
        };
    }

    /// Estimates the text that each rule would remove, in the order of the rules.
    pub(super) fn estimates(&mut self, most: usize, threads: usize, cancel: &Cancel) -> Outcome<Vec<Estimate>> {
        let (own, samples) = (self.own, std::mem::take(&mut self.samples));
        if let Some(search) = self.search {
            return self.search_text.estimates(&self.rules, own, (most, threads), search, cancel);
        }
        let seen = ReadShare { part: self.part, range_starts: &self.range_starts };
        let estimate = |(one, rule): (Samples, &Rule)| one.estimate(rule, own, seen, most);
        let mut all: Vec<Estimate> = samples.into_iter().zip(&self.rules).map(estimate).collect();
        let Some(search) = SearchBudget::from_buffer(&self.search_text, &self.rules, self.memory_bytes) else {
            return Ok(all);
        };
        let besides = self.search_text.estimates(&self.rules, own, (0, threads), search, cancel)?;
        for (one, besides) in all.iter_mut().zip(besides) {
            one.combine_with_searched(
                besides.removable as f64 / besides.bytes.max(1) as f64,
                self.search_text.documents(),
            );
        }
        Ok(all)
    }

    /// Returns passages with their locations and beginnings. Passages that cannot be located in time are omitted.
    pub(super) fn shown(
        &self,
        plan: &DedupPlan,
        inputs: &Inputs,
        passages: &[Passage],
        cancel: &Cancel,
    ) -> Outcome<Vec<RepeatedPassage>> {
        let until = Instant::now() + MAX_EXAMPLES_TIME;
        let mut shown = Vec::new();
        for passage in passages {
            if Instant::now() >= until {
                break;
            }
            let file = self.starts.partition_point(|start| *start <= passage.at).saturating_sub(1);
            let place = passage.at - self.starts.get(file).copied().unwrap_or_default();
            let Some((stretch, is_counted)) = find_line(inputs, file, place, cancel)? else { continue };
            let found = show(plan, inputs, &stretch, (place, passage), until, cancel)?;
            shown.extend(found.map(|found| RepeatedPassage { line: if is_counted { found.line } else { 0 }, ..found }));
        }
        Ok(shown)
    }
}

/// Returns the sampling rate of the keys for each rule, so that all rules together record about `places` positions. A rule that needs less
/// than an equal share leaves the rest to the other rules. A rule that needs slightly more than its share is sampled completely, since half
/// of the keys give much less information than all.
fn one_in(rules: &[Rule], text: u64, places: u64) -> Vec<u64> {
    let wanted = |rule: &Rule| text / Sampler::sample_distance(rule);
    let mut all = vec![1; rules.len()];
    let sampled = rules.iter().enumerate().filter(|(_, rule)| rule.min_length > MAX_FULLY_SAMPLED_LENGTH);
    let mut order: Vec<(u64, usize)> = sampled.map(|(number, rule)| (wanted(rule), number)).collect();
    order.sort_unstable();
    let (mut left, mut others) = (places, order.len() as u64);
    for (wanted, number) in order {
        let share = (left / others.max(1)).max(1);
        if let Some(one_in) = all.get_mut(number) {
            *one_in = ((wanted + share / 2) / share).max(1);
            left = left.saturating_sub(wanted / *one_in);
        }
        others -= 1;
    }
    all
}

/// Returns the start of each file in the range of all positions; the end comes last.
fn starts(inputs: &Inputs) -> Vec<u64> {
    let mut end = 0_u64;
    let mut starts = vec![0];
    for file in &inputs.files {
        let room = match file.has_plain_lines() {
            true => file.bytes,
            false => file.bytes.saturating_mul(RESERVED_PLACES.0).max(RESERVED_PLACES.1),
        };
        end = end.saturating_add(room).saturating_add(1);
        starts.push(end);
    }
    starts
}

/// Returns all stretches, in the order of the text.
fn sample_ranges(inputs: &Inputs) -> Vec<LineRange> {
    let mut all = Vec::new();
    for (number, file) in inputs.files.iter().enumerate() {
        let is_divided = file.has_plain_lines() && inputs.shard_of(number).is_none();
        let step = if is_divided { SAMPLE_RANGE_BYTES } else { u64::MAX };
        let mut at = 0_u64;
        loop {
            let to = at.saturating_add(step);
            all.push(LineRange { file: number, from: Position { offset: at, line: 0 }, to });
            at = to;
            if at >= file.bytes {
                break;
            }
        }
    }
    all
}

/// Reorders the stretches so that every prefix of the list is spread over the whole text.
fn in_turn(stretches: Vec<LineRange>) -> Vec<LineRange> {
    let turn = |number: usize| (number as f64 * GOLDEN_RATIO).fract();
    let mut numbered: Vec<(usize, LineRange)> = stretches.into_iter().enumerate().collect();
    numbered.sort_by(|a, b| turn(a.0).total_cmp(&turn(b.0)));
    numbered.into_iter().map(|(_, stretch)| stretch).collect()
}

/// Truncates the list to the first stretches that have `most_bytes` bytes together. The result does not depend on the threads.
fn truncate_ranges(stretches: &mut Vec<LineRange>, inputs: &Inputs, most_bytes: u64) {
    let bytes = |stretch: &LineRange| {
        let end = inputs.files.get(stretch.file).map_or(0, |file| file.bytes.min(stretch.to));
        end.saturating_sub(stretch.from.offset)
    };
    let mut before = 0_u64;
    let wanted = stretches.iter().take_while(|stretch| {
        let is_wanted = before < most_bytes;
        before = before.saturating_add(bytes(stretch));
        is_wanted
    });
    let count = wanted.count();
    stretches.truncate(count);
}

impl SampleReader<'_> {
    fn has_time(&self) -> bool {
        let fits = self.search.is_none() || self.stored_bytes.load(Ordering::Relaxed) <= self.max_stored_bytes;
        let has_time = self.until.is_none_or(|until| Instant::now() < until);
        fits && has_time && self.kept.load(Ordering::Relaxed) < self.most
    }

    /// Stores a document if its text is searched completely.
    fn store_if_searched(
        &self,
        line: &Line<'_>,
        place: u64,
        held: &mut SearchBuffer,
        spare: &mut String,
    ) -> Outcome<u64> {
        if self.search.is_none()
            && self.stored_bytes.load(Ordering::Relaxed) + line.most_bytes() > self.max_stored_bytes
        {
            return Ok(0);
        }
        let before = held.bytes();
        let bytes = append_text(line, place, held, spare)?;
        self.stored_bytes.fetch_add(held.bytes() - before, Ordering::Relaxed);
        Ok(bytes)
    }

    fn part(&self, stretch: &LineRange) -> Outcome<Part> {
        let begun = Instant::now();
        let mut part = Part {
            samples: Vec::new(),
            search_text: SearchBuffer::default(),
            read: 0,
            text_bytes: 0,
            documents: 0,
            problems: Vec::new(),
            places: (0, 0),
            time: Duration::ZERO,
            sampling: Duration::ZERO,
        };
        let mut samplers: Vec<Sampler> =
            self.rules.iter().zip(&self.one_in).map(|(rule, one_in)| Sampler::new(rule, *one_in)).collect();
        let Some(file) = self.inputs.files.get(stretch.file) else { return Ok(part) };
        let end = stretch.to.min(file.bytes);
        part.read = end.saturating_sub(stretch.from.offset);
        let Some(from) = self.beginning(stretch)? else { return Ok(part) };
        let stretch = LineRange { from: Position { offset: from, line: 0 }, ..*stretch };
        let base = self.starts.get(stretch.file).copied().unwrap_or_default();
        part.places = (base.saturating_add(from), base.saturating_add(from));
        let room = self.starts.get(stretch.file + 1).copied().unwrap_or(u64::MAX);
        let (mut spare, mut stopped, mut told) = (String::new(), None, 0);
        let (key, cancel) = (&self.plan.text_key, self.cancel);
        let is_index = self.inputs.shard_of(stretch.file).is_some();
        let take = &mut |line: Line<'_>, read: u64| {
            let place = base.saturating_add(line.start());
            if !self.has_time() || place.saturating_add(line.most_bytes()) >= room {
                stopped = Some(if is_index { line.start() } else { read });
                return Ok(false);
            }
            match line.kind() {
                Kind::Document => {
                    part.places.1 = place;
                    let held = self.store_if_searched(&line, place, &mut part.search_text, &mut spare)?;
                    part.text_bytes += match self.search {
                        Some(_) => held,
                        None => {
                            let begun = Instant::now();
                            let bytes = sampled(&line, place, self.rules, &mut samplers, &mut spare)?;
                            part.sampling += begun.elapsed();
                            bytes
                        }
                    };
                    part.documents += 1;
                    let kept: u64 = samplers.iter().map(|sampler| sampler.sampled() as u64).sum();
                    self.kept.fetch_add(kept - told, Ordering::Relaxed);
                    told = kept;
                }
                Kind::Passed(_) if part.problems.len() < MAX_PROBLEMS => {
                    // Line numbers are only known when the file is read from its beginning.
                    part.problems.extend(line.problem(file).filter(|_| from == 0));
                }
                _ => {}
            }
            Ok(true)
        };
        // Reading a line that is too long to be held may use all of the remaining time.
        let damage = each_line(self.inputs, &stretch, key, Box::new(Vec::new()), cancel, take)?;
        match stopped {
            Some(read) => part.read = read.clamp(from.min(end), end) - from.min(end),
            None => part.problems.extend(damage),
        }
        part.samples = samplers.iter_mut().map(Sampler::take_samples).collect();
        part.time = begun.elapsed();
        Ok(part)
    }

    /// Returns the offset of the first line of a stretch; `None` if no line starts in it.
    fn beginning(&self, stretch: &LineRange) -> Outcome<Option<u64>> {
        let Some(file) = self.inputs.files.get(stretch.file) else { return Ok(None) };
        if stretch.from.offset == 0 {
            return Ok(Some(0));
        }
        let most = stretch.to - stretch.from.offset;
        Ok(line_from(&open_read(&file.path)?, stretch.from.offset, most, self.cancel)?.filter(|at| *at < stretch.to))
    }
}

/// Passes a document to all samplers; returns the bytes of its text.
fn sampled(line: &Line<'_>, place: u64, rules: &[Rule], samplers: &mut [Sampler], spare: &mut String) -> Outcome<u64> {
    let most = line.most_bytes();
    let wants = |rule: &Rule| rule.min_length <= most;
    for (_, sampler) in rules.iter().zip(&mut *samplers).filter(|(rule, _)| wants(rule)) {
        sampler.start_document(place);
    }
    let bytes = line.each_piece(spare, &mut |piece| {
        let mut wanting = rules.iter().zip(&mut *samplers).filter(|(rule, _)| wants(rule));
        wanting.try_for_each(|(_, sampler)| sampler.push(piece.as_bytes()))
    })?;
    let mut wanting = rules.iter().zip(samplers).filter(|(rule, _)| wants(rule));
    wanting.try_for_each(|(_, sampler)| sampler.end_document()).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_longest_files_whole_and_divides_rest_of_budget() {
        let rule = |min_length| Rule { min_length, min_count: 2, keep: gristmill_core::dedup::Keep::First };
        let rules = [50, 100, 200, 500, 1_000].map(rule);
        let of_each = one_in(&rules, 92_000_000, 4_000_000);
        assert_eq!(of_each[3..], [1, 1], "{of_each:?}");
        assert!(of_each.is_sorted_by(|a, b| a >= b) && of_each[0] < 20, "{of_each:?}");
        let kept: u64 =
            rules.iter().zip(&of_each).map(|(rule, one)| 92_000_000 / Sampler::sample_distance(rule) / one).sum();
        assert!((3_000_000..6_000_000).contains(&kept), "{kept} {of_each:?}");
        assert_eq!(one_in(&[rule(MAX_FULLY_SAMPLED_LENGTH), rule(50)], 92_000_000, 1 << 40), [1, 1]);
    }
}
