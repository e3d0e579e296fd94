//! What seconds tell of a text: as many of its documents as can be read in them, and of their windows a share of all different ones. What
//! is small is searched as a run would search it.

use super::estimate::SampleBudget;
use super::held::{hold, SearchBudget, SearchBuffer};
use super::inputs::Inputs;
use super::report::RepeatedPassage;
use super::shown::{around, show};
use super::source::{each_line, Line, LineRange};
use crate::engine::dedup::write_back::Pieces as _;
use crate::job::pool::run_units;
use crate::source::dedup::{line_from, Kind, Position};
use crate::source::text::Packing;
use gristmill_core::{Cancel, DedupPlan, Outcome, Problem, RunOptions};
use gristmill_dedup::{Estimate, Passage, ReadShare, Rule, Sampler, Samples};
use gristmill_storage::read::open_read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time spent on finding what is shown of passages, at most.
const MAX_EXAMPLES_TIME: Duration = Duration::from_millis(500);
/// Bytes of a file that are looked at together.
const STRETCH: u64 = 1 << 20;
/// Memory for places of windows, at most, in bytes; they are sorted in the end, which takes time, too.
const MAX_PLACES: u64 = 192 << 20;
/// Text that is searched besides, in bytes, at most and as a part of the memory: what repeats very often is certain to be in it, while of
/// few keys chance may give none.
const SEARCHED_BESIDES: (u64, u64) = (32 << 20, 8);
/// Bytes of one such place.
const PLACE: u64 = 16;
/// Windows of so many bytes have so few different keys, a few of which make up nearly all of the text, that a share of the keys tells
/// nothing of the rest: all of them are looked at, in less of the text.
const ALL_KEYS: u64 = 3;
/// Text that can be read in time, at most, in bytes.
const MAX_TEXT: u64 = 4 << 30;
/// Problems that are kept.
const PROBLEMS: usize = 100;
/// Room for the text of a packed file, as a multiple of its size and at least: only to have every place in order.
const ROOM: (u64, u64) = (1 << 10, 1 << 32);
/// Between documents whose turn it is, by the golden section: whatever the time allows lies evenly everywhere.
const TURN: f64 = 0.618_033_988_749_895;

/// What hashing a byte of a sampled window takes, as a multiple of what choosing anchors takes for a byte.
const HASHING: f64 = 0.1;
/// What choosing anchors takes, as a multiple of what reading plain files takes: where text is searched, it is not measured.
const CHOOSING: f64 = 1.8;

/// What was looked at.
#[derive(Default)]
pub(super) struct Sample {
    rules: Vec<Rule>,
    samples: Vec<Samples>,
    /// Text that is searched: all of it in place of samples, else a part besides.
    held: SearchBuffer,
    /// How all of it is searched.
    search: Option<SearchBudget>,
    memory_bytes: u64,
    /// Where each file begins among all places, and behind them the end.
    starts: Vec<u64>,
    /// Where the files begin whose output is written.
    own: u64,
    /// For each rule: one key in so many was looked at.
    pub(super) one_in: Vec<u64>,
    /// Bytes on disk that were read, of all files.
    pub(super) input_bytes: u64,
    /// The same of files whose output is written.
    pub(super) own_input_bytes: u64,
    /// Bytes of text, of all files.
    pub(super) text_bytes: u64,
    /// The same of files whose output is written.
    pub(super) own_text_bytes: u64,
    /// Documents of files whose output is written.
    pub(super) own_documents: u64,
    pub(super) problems: Vec<Problem>,
    /// Stretches that were read, by where they begin.
    stretches: Vec<u64>,
    /// The part of the input that was read, from 0 to 1.
    part: f64,
    /// Seconds that threads spent on reading, all together.
    pub(super) reading: f64,
    /// Seconds that they spent on choosing anchors for one rule.
    pub(super) choosing: f64,
}

/// What was seen of one stretch.
struct Part {
    samples: Vec<Samples>,
    held: SearchBuffer,
    read: u64,
    text_bytes: u64,
    documents: u64,
    problems: Vec<Problem>,
    /// Where its text begins and ends, by place.
    places: (u64, u64),
    /// Time that it took, and what sampling took of that.
    time: Duration,
    sampling: Duration,
}

/// What stands for all stretches.
struct Reading<'a> {
    plan: &'a DedupPlan,
    inputs: &'a Inputs,
    rules: &'a [Rule],
    starts: &'a [u64],
    one_in: Vec<u64>,
    search: Option<SearchBudget>,
    /// Bytes of text that are held, and how many may be.
    held: AtomicU64,
    most_held: u64,
    until: Option<Instant>,
    /// Places that are kept, and how many may be.
    kept: AtomicU64,
    most: u64,
    cancel: &'a Cancel,
}

impl Sample {
    /// Reads it, once for all these rules.
    pub(super) fn take(
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
        let besides = SEARCHED_BESIDES.0.min(options.memory_bytes / SEARCHED_BESIDES.1);
        let reading = Reading {
            plan,
            inputs,
            rules: &rules,
            starts: &starts,
            one_in: one_in(&rules, text, memory / PLACE),
            search,
            held: AtomicU64::new(0),
            most_held: search.map_or(besides, |search| search.text_bytes),
            until: search.is_none().then(|| Instant::now() + effort.longest),
            kept: AtomicU64::new(0),
            // Chance gives more to some.
            most: 2 * memory / PLACE,
            cancel,
        };
        let mut stretches = in_turn(stretches(inputs));
        within(&mut stretches, inputs, effort.most_bytes);
        let parts = run_units(&stretches, options.threads.max(1), cancel, |stretch| match reading.has_time() {
            true => reading.part(stretch).map(Some),
            false => Ok(None),
        })?;
        if search.is_some() && reading.held.load(Ordering::Relaxed) > reading.most_held {
            // There is more text in packed files than it looked like.
            return Self::take(
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
            own: starts.get(inputs.earlier).copied().unwrap_or_default(),
            one_in: if search.is_some() { vec![1; rules.len()] } else { reading.one_in.clone() },
            search,
            memory_bytes: options.memory_bytes,
            ..Self::default()
        };
        sample.held.reserve(reading.held.load(Ordering::Relaxed));
        let mut parts: Vec<(&LineRange, Option<Part>)> = stretches.iter().zip(parts).collect();
        parts.sort_by_key(|(stretch, _)| (stretch.file, stretch.from.offset));
        for (stretch, part) in parts {
            if let Some(part) = part {
                sample.add(part, stretch.file >= inputs.earlier);
            }
        }
        sample.problems.truncate(PROBLEMS);
        sample.part = sample.input_bytes as f64 / inputs.bytes().max(1) as f64;
        (sample.rules, sample.starts) = (rules, starts);
        sample.settle_times();
        Ok(sample)
    }

    /// Whether nothing is left to chance: all was read, and searched as a run would.
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
        self.held.join(part.held);
        self.input_bytes += part.read;
        self.text_bytes += part.text_bytes;
        self.reading += part.time.saturating_sub(part.sampling).as_secs_f64();
        self.choosing += part.sampling.as_secs_f64();
        // Of a packed file one behind the other is read: what is in it counts as stretches, too.
        let (from, to) = part.places;
        self.stretches.extend((from..=to).step_by(STRETCH as usize));
        if is_own {
            self.own_input_bytes += part.read;
            self.own_text_bytes += part.text_bytes;
            self.own_documents += part.documents;
        }
        self.problems.extend(part.problems);
    }

    /// From the time that sampling took the time of what a run does, too.
    fn settle_times(&mut self) {
        let hashed: u64 = self.rules.iter().zip(&self.samples).map(|(rule, some)| some.hashed(rule)).sum();
        let bytes = (self.text_bytes * self.rules.len() as u64).max(1) as f64;
        self.choosing = match self.search {
            Some(_) => self.reading * CHOOSING,
            None => self.choosing / (1.0 + HASHING * hashed as f64 / bytes) / self.rules.len().max(1) as f64,
        };
    }

    /// What each rule would remove, in the order of the rules.
    pub(super) fn estimates(&mut self, most: usize, threads: usize, cancel: &Cancel) -> Outcome<Vec<Estimate>> {
        let (own, samples) = (self.own, std::mem::take(&mut self.samples));
        if let Some(search) = self.search {
            return self.held.estimates(&self.rules, own, (most, threads), search, cancel);
        }
        let seen = ReadShare { part: self.part, stretches: &self.stretches };
        let estimate = |(one, rule): (Samples, &Rule)| one.estimate(rule, own, seen, most);
        let mut all: Vec<Estimate> = samples.into_iter().zip(&self.rules).map(estimate).collect();
        let Some(search) = SearchBudget::of_held(&self.held, &self.rules, self.memory_bytes) else { return Ok(all) };
        let besides = self.held.estimates(&self.rules, own, (0, threads), search, cancel)?;
        for (one, besides) in all.iter_mut().zip(besides) {
            one.combine_with_searched(besides.removable as f64 / besides.bytes.max(1) as f64, self.held.documents());
        }
        Ok(all)
    }

    /// Passages with where they are and how they begin; those that cannot be told in time are left out.
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
            let Some((stretch, is_counted)) = around(inputs, file, place, cancel)? else { continue };
            let found = show(plan, inputs, &stretch, (place, passage), until, cancel)?;
            shown.extend(found.map(|found| RepeatedPassage { line: if is_counted { found.line } else { 0 }, ..found }));
        }
        Ok(shown)
    }
}

/// For each rule one key in how many is looked at, so that all together keep about so many places of a text. Who needs less than an equal
/// share leaves the rest to the others; a little more than a share is taken whole, since half of the keys tell much less than all.
fn one_in(rules: &[Rule], text: u64, places: u64) -> Vec<u64> {
    let wanted = |rule: &Rule| text / Sampler::apart(rule);
    let mut all = vec![1; rules.len()];
    let sampled = rules.iter().enumerate().filter(|(_, rule)| rule.min_length > ALL_KEYS);
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

/// Where each file begins among all places; the end comes last.
fn starts(inputs: &Inputs) -> Vec<u64> {
    let mut end = 0_u64;
    let mut starts = vec![0];
    for file in &inputs.files {
        let room = match file.packing {
            Packing::Plain => file.bytes,
            _ => file.bytes.saturating_mul(ROOM.0).max(ROOM.1),
        };
        end = end.saturating_add(room).saturating_add(1);
        starts.push(end);
    }
    starts
}

/// All stretches, in the order of the text.
fn stretches(inputs: &Inputs) -> Vec<LineRange> {
    let mut all = Vec::new();
    for (number, file) in inputs.files.iter().enumerate() {
        let is_divided = file.packing.is_plain() && inputs.shard_of(number).is_none();
        let step = if is_divided { STRETCH } else { u64::MAX };
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

/// Another order, of which every beginning is spread over all of them.
fn in_turn(stretches: Vec<LineRange>) -> Vec<LineRange> {
    let turn = |number: usize| (number as f64 * TURN).fract();
    let mut numbered: Vec<(usize, LineRange)> = stretches.into_iter().enumerate().collect();
    numbered.sort_by(|a, b| turn(a.0).total_cmp(&turn(b.0)));
    numbered.into_iter().map(|(_, stretch)| stretch).collect()
}

/// Leaves the first stretches that have so many bytes together: the same ones whatever the threads do.
fn within(stretches: &mut Vec<LineRange>, inputs: &Inputs, most_bytes: u64) {
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

impl Reading<'_> {
    fn has_time(&self) -> bool {
        let fits = self.search.is_none() || self.held.load(Ordering::Relaxed) <= self.most_held;
        let has_time = self.until.is_none_or(|until| Instant::now() < until);
        fits && has_time && self.kept.load(Ordering::Relaxed) < self.most
    }

    /// Holds a document, if it is one of those that are searched.
    fn hold(&self, line: &Line<'_>, place: u64, held: &mut SearchBuffer, spare: &mut String) -> Outcome<u64> {
        if self.search.is_none() && self.held.load(Ordering::Relaxed) + line.most_bytes() > self.most_held {
            return Ok(0);
        }
        let before = held.bytes();
        let bytes = hold(line, place, held, spare)?;
        self.held.fetch_add(held.bytes() - before, Ordering::Relaxed);
        Ok(bytes)
    }

    fn part(&self, stretch: &LineRange) -> Outcome<Part> {
        let begun = Instant::now();
        let mut part = Part {
            samples: Vec::new(),
            held: SearchBuffer::default(),
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
                    let held = self.hold(&line, place, &mut part.held, &mut spare)?;
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
                Kind::Passed(_) if part.problems.len() < PROBLEMS => {
                    // Lines are counted from the beginning of a file only.
                    part.problems.extend(line.problem(file).filter(|_| from == 0));
                }
                _ => {}
            }
            Ok(true)
        };
        // A line that is too long to be held is as much as there is time for.
        let damage = each_line(self.inputs, &stretch, key, Box::new(Vec::new()), cancel, take)?;
        match stopped {
            Some(read) => part.read = read.clamp(from.min(end), end) - from.min(end),
            None => part.problems.extend(damage),
        }
        part.samples = samplers.iter_mut().map(Sampler::take).collect();
        part.time = begun.elapsed();
        Ok(part)
    }

    /// The first line of a stretch; `None` where none begins in it.
    fn beginning(&self, stretch: &LineRange) -> Outcome<Option<u64>> {
        let Some(file) = self.inputs.files.get(stretch.file) else { return Ok(None) };
        if stretch.from.offset == 0 {
            return Ok(Some(0));
        }
        let most = stretch.to - stretch.from.offset;
        Ok(line_from(&open_read(&file.path)?, stretch.from.offset, most, self.cancel)?.filter(|at| *at < stretch.to))
    }
}

/// Has a document looked at by all samplers; returns the bytes of its text.
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
    fn the_longest_are_looked_at_whole_and_the_others_share_what_is_left() {
        let rule = |min_length| Rule { min_length, min_count: 2, keep: gristmill_core::dedup::Keep::First };
        let rules = [50, 100, 200, 500, 1_000].map(rule);
        let of_each = one_in(&rules, 92_000_000, 4_000_000);
        assert_eq!(of_each[3..], [1, 1], "{of_each:?}");
        assert!(of_each.is_sorted_by(|a, b| a >= b) && of_each[0] < 20, "{of_each:?}");
        let kept: u64 = rules.iter().zip(&of_each).map(|(rule, one)| 92_000_000 / Sampler::apart(rule) / one).sum();
        assert!((3_000_000..6_000_000).contains(&kept), "{kept} {of_each:?}");
        assert_eq!(one_in(&[rule(ALL_KEYS), rule(50)], 92_000_000, 1 << 40), [1, 1]);
    }
}
