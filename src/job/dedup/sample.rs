//! What seconds tell of a text: as many of its documents as can be read in them, and of their windows a share of all different ones.

use super::inputs::Inputs;
use super::report::RepeatedPassage;
use super::run::text_of;
use super::source::{each_line, Line, Stretch};
use crate::engine::dedup::find::{Estimate, Passage, Rule, Sampler, Samples};
use crate::engine::dedup::write_back::Pieces as _;
use crate::job::pool::run_units;
use crate::model::{Cancel, DedupPlan, Outcome, Problem, RunOptions};
use crate::source::dedup::{line_around, line_from, lines_before, Kind, Position};
use crate::source::text::Packing;
use crate::storage::read::open_read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time spent on reading, at most.
const LONGEST: Duration = Duration::from_millis(2_500);
/// Time spent on finding what is shown of passages, at most.
const LONGEST_SHOWING: Duration = Duration::from_millis(500);
/// Bytes of a plain file that are looked at together.
const STRETCH: u64 = 4 << 20;
/// Memory for places of windows, at most, in bytes; they are sorted in the end, which takes time, too.
const MOST_PLACES: u64 = 32 << 20;
/// Bytes of one such place.
const PLACE: u64 = 16;
/// Text that can be read in time, at most, in bytes.
const MOST_TEXT: u64 = 4 << 30;
/// The longest line around whose beginning is looked for, in bytes.
const LONGEST_LINE: u64 = 64 << 20;
/// Bytes of a passage that are shown.
const SHOWN: usize = 200;
/// Problems that are kept.
const PROBLEMS: usize = 100;
/// Room for the text of a packed file, as a multiple of its size and at least: only to have every place in order.
const ROOM: (u64, u64) = (1 << 10, 1 << 32);
/// Between documents whose turn it is, by the golden section: whatever the time allows lies evenly everywhere.
const TURN: f64 = 0.618_033_988_749_895;

/// What was looked at.
#[derive(Default)]
pub(super) struct Sample {
    rules: Vec<Rule>,
    samples: Vec<Samples>,
    /// Where each file begins among all places, and behind them the end.
    starts: Vec<u64>,
    /// Where the files begin whose output is written.
    own: u64,
    /// One key in so many was looked at.
    pub(super) one_in: u64,
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
    /// Time that threads spent on it, all together.
    pub(super) time: Duration,
}

/// What was seen of one stretch.
struct Part {
    samples: Vec<Samples>,
    read: u64,
    text_bytes: u64,
    documents: u64,
    problems: Vec<Problem>,
    time: Duration,
}

/// What stands for all stretches.
struct Reading<'a> {
    plan: &'a DedupPlan,
    inputs: &'a Inputs,
    rules: &'a [Rule],
    starts: &'a [u64],
    one_in: u64,
    until: Instant,
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
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let memory = (options.memory_bytes / 4).clamp(1 << 20, MOST_PLACES);
        let text = inputs.text_bytes().min(MOST_TEXT);
        let places = (text / Sampler::WINDOWS).saturating_mul(PLACE).saturating_mul(rules.len() as u64);
        let starts = starts(inputs);
        let reading = Reading {
            plan,
            inputs,
            rules: &rules,
            starts: &starts,
            one_in: places.div_ceil(memory).max(1),
            until: Instant::now() + LONGEST,
            kept: AtomicU64::new(0),
            // Chance gives more to some.
            most: 2 * memory / PLACE,
            cancel,
        };
        let stretches = in_turn(stretches(inputs));
        let parts = run_units(&stretches, options.threads.max(1), cancel, |stretch| match reading.has_time() {
            true => reading.part(stretch).map(Some),
            false => Ok(None),
        })?;
        let mut sample = Self {
            samples: rules.iter().map(|_| Samples::default()).collect(),
            own: starts.get(inputs.earlier).copied().unwrap_or_default(),
            one_in: reading.one_in,
            ..Self::default()
        };
        for (stretch, part) in stretches.iter().zip(parts) {
            if let Some(part) = part {
                sample.add(part, stretch.file >= inputs.earlier);
            }
        }
        sample.problems.truncate(PROBLEMS);
        (sample.rules, sample.starts) = (rules, starts);
        Ok(sample)
    }

    fn add(&mut self, part: Part, is_own: bool) {
        for (all, some) in self.samples.iter_mut().zip(part.samples) {
            match is_own {
                true => all.join(some),
                false => all.join_earlier(some),
            }
        }
        self.input_bytes += part.read;
        self.text_bytes += part.text_bytes;
        self.time += part.time;
        if is_own {
            self.own_input_bytes += part.read;
            self.own_text_bytes += part.text_bytes;
            self.own_documents += part.documents;
        }
        self.problems.extend(part.problems);
    }

    /// What each rule would remove, in the order of the rules.
    pub(super) fn estimates(&mut self, most: usize) -> Vec<Estimate> {
        let samples = std::mem::take(&mut self.samples);
        let own = self.own;
        samples.into_iter().zip(&self.rules).map(|(samples, rule)| samples.estimate(rule, own, most)).collect()
    }

    /// Passages with where they are and how they begin; those that cannot be told in time are left out.
    pub(super) fn shown(
        &self,
        plan: &DedupPlan,
        inputs: &Inputs,
        passages: &[Passage],
        cancel: &Cancel,
    ) -> Outcome<Vec<RepeatedPassage>> {
        let until = Instant::now() + LONGEST_SHOWING;
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
fn stretches(inputs: &Inputs) -> Vec<Stretch> {
    let mut all = Vec::new();
    for (number, file) in inputs.files.iter().enumerate() {
        let is_divided = file.packing.is_plain() && inputs.shard_of(number).is_none();
        let step = if is_divided { STRETCH } else { u64::MAX };
        let mut at = 0_u64;
        loop {
            let to = at.saturating_add(step);
            all.push(Stretch { file: number, from: Position { offset: at, line: 0 }, to });
            at = to;
            if at >= file.bytes {
                break;
            }
        }
    }
    all
}

/// Another order, of which every beginning is spread over all of them.
fn in_turn(stretches: Vec<Stretch>) -> Vec<Stretch> {
    let turn = |number: usize| (number as f64 * TURN).fract();
    let mut numbered: Vec<(usize, Stretch)> = stretches.into_iter().enumerate().collect();
    numbered.sort_by(|a, b| turn(a.0).total_cmp(&turn(b.0)));
    numbered.into_iter().map(|(_, stretch)| stretch).collect()
}

impl Reading<'_> {
    fn has_time(&self) -> bool {
        Instant::now() < self.until && self.kept.load(Ordering::Relaxed) < self.most
    }

    fn part(&self, stretch: &Stretch) -> Outcome<Part> {
        let begun = Instant::now();
        let empty = Vec::new();
        let mut part = Part {
            samples: empty,
            read: 0,
            text_bytes: 0,
            documents: 0,
            problems: Vec::new(),
            time: Duration::ZERO,
        };
        let mut samplers: Vec<Sampler> = self.rules.iter().map(|rule| Sampler::new(rule, self.one_in)).collect();
        let Some(file) = self.inputs.files.get(stretch.file) else { return Ok(part) };
        let end = stretch.to.min(file.bytes);
        part.read = end.saturating_sub(stretch.from.offset);
        let Some(from) = self.beginning(stretch)? else { return Ok(part) };
        let stretch = Stretch { from: Position { offset: from, line: 0 }, ..*stretch };
        let base = self.starts.get(stretch.file).copied().unwrap_or_default();
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
                    part.text_bytes += sampled(&line, place, self.rules, &mut samplers, &mut spare)?;
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
    fn beginning(&self, stretch: &Stretch) -> Outcome<Option<u64>> {
        let Some(file) = self.inputs.files.get(stretch.file) else { return Ok(None) };
        if stretch.from.offset == 0 {
            return Ok(Some(0));
        }
        let most = stretch.to - stretch.from.offset;
        Ok(line_from(&open_read(&file.path)?, stretch.from.offset, most, self.cancel)?.filter(|at| *at < stretch.to))
    }
}

/// Has a document looked at by all samplers; returns the bytes of its text.
fn sampled(
    line: &Line<'_>,
    place: u64,
    rules: &[Rule],
    samplers: &mut [Sampler],
    spare: &mut String,
) -> Outcome<u64> {
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

/// The line in which a place of a file is, and whether its number is right: lines are counted where that is soon done.
fn around(inputs: &Inputs, number: usize, place: u64, cancel: &Cancel) -> Outcome<Option<(Stretch, bool)>> {
    let Some(file) = inputs.files.get(number) else { return Ok(None) };
    if !file.packing.is_plain() || inputs.shard_of(number).is_some() {
        return Ok(Some((Stretch::whole(number), true)));
    }
    let open = open_read(&file.path)?;
    let Some(offset) = line_around(&open, place, LONGEST_LINE, cancel)? else { return Ok(None) };
    let is_counted = offset <= LONGEST_LINE;
    let line = if is_counted { lines_before(&open, offset, cancel)? } else { 0 };
    Ok(Some((Stretch { file: number, from: Position { offset, line }, to: offset + 1 }, is_counted)))
}

/// A passage as it is told, out of the lines of a stretch.
fn show(
    plan: &DedupPlan,
    inputs: &Inputs,
    stretch: &Stretch,
    (place, passage): (u64, &Passage),
    until: Instant,
    cancel: &Cancel,
) -> Outcome<Option<RepeatedPassage>> {
    let Some(file) = inputs.files.get(stretch.file) else { return Ok(None) };
    let (mut shown, mut spare) = (None, String::new());
    each_line(inputs, stretch, &plan.text_key, Box::new(Vec::new()), cancel, &mut |line, _| {
        let start = line.start();
        if start > place || Instant::now() >= until {
            return Ok(false);
        }
        if line.kind() != Kind::Document || start + line.most_bytes() < place {
            return Ok(true);
        }
        let (mut at, mut text) = (start, Vec::new());
        line.each_piece(&mut spare, &mut |piece| {
            let from = usize::try_from(place.saturating_sub(at)).unwrap_or(usize::MAX).min(piece.len());
            let rest = piece.as_bytes().get(from..).unwrap_or_default();
            text.extend_from_slice(rest.get(..SHOWN - text.len()).unwrap_or(rest));
            at += piece.len() as u64;
            Ok(())
        })?;
        shown = Some(RepeatedPassage {
            file: line.file().unwrap_or(&file.name).to_owned(),
            line: line.number() + 1,
            offset: place - start,
            length: passage.len,
            count: passage.count,
            text: text_of(&text),
        });
        Ok(true)
    })?;
    Ok(shown)
}
