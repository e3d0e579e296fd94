//! The scan of one shard from opening to the end: chooses the window, and processes every step and every finding.

use super::group::Grouper;
use super::header::{is_plausible, BLOCK, BLOCK_BYTES};
use super::notes::printable;
use super::walk::{Entry, Step, Walker};
use super::window::{FileWindow, StreamWindow, Window};
use super::{ScanSink, ShardScan};
use crate::source::compressed::{open_compressed, shard_packing};
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::text::bytes;
use gristmill_core::{Failure, Handles, NullProblemSink, Outcome, Problem, ProblemKind, Shard, Subject};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_any, ReadFile};
use std::sync::Arc;

/// Number of bytes after the end of the archive that are examined.
const TRAILER_BYTES: u64 = 64 << 10;
/// Interval of progress updates and cancellation checks, in bytes of the archive.
const PROGRESS_EVERY: u64 = 256 << 10;
/// Hint for a compressed shard with the wrong name.
const COMPRESSED_HINT: &str =
    "unpack it, rename it to .tgz and use --tgz rewrite, or write new shards with gristmill shard";
/// Maximum number of damaged places of a shard that are reported individually.
const MAX_DAMAGED_PLACES: u64 = 100;

/// Implements [`super::scan_shard`].
pub(super) fn scan(shard: &Shard, sink: &mut dyn ScanSink, handles: &Handles<'_>) -> Outcome<ShardScan> {
    handles.cancel.check()?;
    let named = |failure: Failure| {
        let subject = Subject { shard: Some(shard.name.clone()), ..failure.subject.clone() };
        failure.on(subject)
    };
    let file = Arc::new(open_any(&shard.path).map_err(named)?);
    let before = file.stamp().map_err(|e| Failure::io("reading the shard", &shard.path, &e))?;
    if file.is_lfs_pointer()? {
        let problem = Problem::problem(ProblemKind::BadFile, Subject::shard(&shard.name), LFS_POINTER);
        handles.problems.report(problem.with_hint(LFS_HINT))?;
        // The file is a pointer to other data, so its damage as an archive is meaningless to the user.
        let handles = Handles { problems: &NullProblemSink, ..*handles };
        let scan = Run::new(shard, FileWindow::new(file), &handles).scan(sink)?;
        handles.progress.add(1, 0);
        return Ok(ShardScan { stamp: before, ..scan });
    }
    let compression = shard_packing(&file)?;
    let mut scan = match compression {
        None => Run::new(shard, FileWindow::new(Arc::clone(&file)), handles).scan(sink)?,
        Some(kind) => {
            let stream = open_compressed(Arc::clone(&file), kind)?;
            Run::new(shard, StreamWindow::new(stream, handles.cancel), handles).scan(sink)?
        }
    };
    scan.stamp = before;
    scan.compressed = compression.is_some();
    if let Some(kind) = compression.filter(|_| !shard.is_tgz) {
        let why = format!("named .tar, but compressed with {}; the loader cannot read it", kind.title());
        let problem = Problem::problem(ProblemKind::CompressedShard, Subject::shard(&shard.name), why);
        handles.problems.report(problem.with_hint(COMPRESSED_HINT))?;
    }
    report_change(shard, &file, &scan, handles)?;
    handles.progress.add(1, 0);
    Ok(scan)
}

fn report_change(shard: &Shard, file: &ReadFile, scan: &ShardScan, handles: &Handles<'_>) -> Outcome<()> {
    if is_remote(&shard.path) {
        // Reads from a store fail if the object is not the version that was opened.
        return Ok(());
    }
    let why = match (file.stamp(), files::metadata(&shard.path)) {
        (_, Err(e)) if e.kind() == std::io::ErrorKind::NotFound => "it was removed while it was read",
        (Ok(now), _) if now != scan.stamp => "its size or time changed while it was read",
        (Ok(now), Ok(there)) if there.stamp.inode != now.inode => "it was replaced while it was read",
        _ => return Ok(()),
    };
    let problem = Problem::problem(ProblemKind::ChangedDuringScan, Subject::shard(&shard.name), why);
    handles.problems.report(problem.with_hint("wait until no program writes to it, then run again"))
}

/// Whether the content of an entry begins with these bytes.
fn begins_with<W: Window>(window: &mut W, entry: &Entry, start: &[u8]) -> Outcome<bool> {
    Ok(entry.size >= start.len() as u64 && window.bytes(entry.content_offset, start.len())? == start)
}

struct Run<'a, W> {
    shard: &'a Shard,
    handles: &'a Handles<'a>,
    walker: Walker<'a, W>,
    next_beat: u64,
    counted: u64,
    /// Number of damaged places so far.
    places: u64,
    /// Damaged places that are not reported individually: the offset of the first, and the number of bytes in all of them.
    folded: Option<(u64, u64)>,
}

impl<'a, W: Window> Run<'a, W> {
    fn new(shard: &'a Shard, window: W, handles: &'a Handles<'a>) -> Self {
        let walker = Walker::new(window, handles.cancel);
        Self { shard, handles, walker, next_beat: PROGRESS_EVERY, counted: 0, places: 0, folded: None }
    }

    fn scan(mut self, sink: &mut dyn ScanSink) -> Outcome<ShardScan> {
        let mut group = Grouper::new(&self.shard.name, sink);
        let mut is_tar = true;
        let end = loop {
            if self.walker.at >= self.next_beat {
                self.beat()?;
            }
            match self.walker.step()? {
                Step::Entry(entry) => {
                    let Walker { window, name, .. } = &mut self.walker;
                    group.entry(name, &entry, |start| begins_with(window, &entry, start))?;
                }
                Step::Global { at, suspect } => {
                    group.global(at);
                    if let Some(why) = suspect {
                        group.notes.count(ProblemKind::BadExtendedHeader, b"(global header)", at, why);
                    }
                }
                Step::Damage { from, to, kind, why, doubtful } => {
                    group.damage(doubtful)?;
                    self.damaged(from, to, kind, why)?;
                }
                Step::NotATar { why } => {
                    is_tar = false;
                    self.report(ProblemKind::DamagedHeader, 0, format!("this is not a tar archive: {why}"))?;
                    break 0;
                }
                Step::CutHeader { at } => break self.cut_header(at, &mut group)?,
                Step::CutContent { at } => break self.cut_content(at, &mut group)?,
                Step::End { at, closed } => break self.ended(at, closed, &mut group)?,
            }
        };
        let (scan, notes) = group.finish(end)?;
        notes.report(&self.shard.name, self.handles.problems)?;
        self.report_folded()?;
        self.report_excluded(&scan.damaged_keys)?;
        if let Some(excluded) = scan.apple_double.as_ref().filter(|entries| !entries.is_refused()) {
            self.handles.problems.report(excluded.problem(&self.shard.name))?;
        }
        if scan.damaged_start && scan.samples > 0 {
            let why = "something before its first sample is damaged, and the loader begins there: prepare excludes the whole \
                       shard from training";
            let subject = Subject::shard(&self.shard.name);
            self.handles.problems.report(Problem::problem(ProblemKind::SampleExcluded, subject, why))?;
        }
        if scan.samples == 0 && is_tar {
            let empty = self.walker.window.known_len() == 0;
            let why = if empty { "the file is empty" } else { "there is no sample in it" };
            self.report(ProblemKind::EmptyShard, 0, why.to_owned())?;
        }
        self.count_up_to(self.shard.stamp.bytes);
        Ok(scan)
    }

    fn beat(&mut self) -> Outcome<()> {
        self.next_beat = self.walker.at.saturating_add(PROGRESS_EVERY);
        self.count_up_to(self.walker.window.file_bytes_done(self.walker.at));
        self.handles.cancel.check()
    }

    fn count_up_to(&mut self, done: u64) {
        if done > self.counted {
            self.handles.progress.add(0, done - self.counted);
            self.counted = done;
        }
    }

    fn report(&self, kind: ProblemKind, at: u64, message: String) -> Outcome<()> {
        self.handles.problems.report(Problem::problem(kind, Subject::shard(&self.shard.name).at(at), message))
    }

    fn damaged(&mut self, from: u64, to: u64, kind: ProblemKind, why: &'static str) -> Outcome<()> {
        self.places += 1;
        let lost = to.saturating_sub(from);
        if self.places > MAX_DAMAGED_PLACES {
            let (_, sum) = self.folded.get_or_insert((from, 0));
            *sum = sum.saturating_add(lost);
            return Ok(());
        }
        let message =
            format!("an entry cannot be used: {why}; {} skipped, samples that touch them are excluded", bytes(lost));
        self.report(kind, from, message)
    }

    fn report_folded(&self) -> Outcome<()> {
        let Some((from, lost)) = self.folded else { return Ok(()) };
        let more = gristmill_core::text::count(self.places - MAX_DAMAGED_PLACES, "more damaged place");
        self.report(ProblemKind::DamagedHeader, from, format!("{more}; {} skipped in them", bytes(lost)))
    }

    fn report_excluded(&self, keys: &[String]) -> Outcome<()> {
        let listed = keys.len().min(MAX_DAMAGED_PLACES as usize);
        for (n, key) in keys[..listed].iter().enumerate() {
            let mut why = "it touches damage; prepare excludes it from training".to_owned();
            if n + 1 == listed && keys.len() > listed {
                let more = gristmill_core::text::count_verb((keys.len() - listed) as u64, "more sample", "is", "are");
                why = format!("{why}; {more} excluded from this shard");
            }
            let subject = Subject::shard(&self.shard.name).key(key);
            self.handles.problems.report(Problem::problem(ProblemKind::SampleExcluded, subject, why))?;
        }
        Ok(())
    }

    /// Processes a truncated header. Its name is used only to decide whether the sample before it is whole, which is the case if another
    /// sample begins here.
    fn cut_header(&mut self, at: u64, group: &mut Grouper<'_>) -> Outcome<u64> {
        group.release()?;
        let known = self.walker.window.bytes(at, BLOCK)?;
        let name = (known.len() > 100).then(|| &known[..memchr::memchr(0, &known[..100]).unwrap_or(100)]);
        let clears = |name: &[u8], key: &[u8]| {
            super::names::split(name).is_some_and(|dot| !key.ends_with(&name[..dot]))
                && !name.starts_with(b"././@")
                && memchr::memmem::find(name, b"PaxHeader").is_none()
        };
        let key = group.open_key().map(<[u8]>::to_owned);
        let touched = key.as_deref().is_some_and(|key| !name.is_some_and(|name| clears(name, key)));
        if touched {
            group.damage(false)?;
        }
        let last = if touched { "; the last sample may lack parts and is excluded" } else { "" };
        self.report(ProblemKind::CutShort, at, format!("{} inside a header{last}", self.cut_reason()))?;
        Ok(at)
    }

    fn cut_content(&mut self, at: u64, group: &mut Grouper<'_>) -> Outcome<u64> {
        let name = printable(&self.walker.name);
        if !group.continues(&self.walker.name) {
            group.release()?;
        }
        let continues = group.continues(&self.walker.name);
        let loses = continues || Grouper::makes_part(&self.walker.name);
        let end = if continues { group.give_up(at)? } else { at };
        let what = if loses { "; the sample it belongs to is not counted" } else { "" };
        let message = format!("{} inside the content of an entry{what}", self.cut_reason());
        let subject = Subject::shard(&self.shard.name).at(at).key(name);
        self.handles.problems.report(Problem::problem(ProblemKind::CutShort, subject, message))?;
        Ok(end)
    }

    fn cut_reason(&self) -> String {
        match self.walker.window.broken() {
            Some(why) => format!("the compressed stream ends early ({why})"),
            None => "the file ends".to_owned(),
        }
    }

    fn ended(&mut self, at: u64, closed: Option<u64>, group: &mut Grouper<'_>) -> Outcome<u64> {
        if let Some(why) = self.walker.window.broken().map(str::to_owned) {
            if closed.is_none() {
                group.damage(false)?;
                self.report(ProblemKind::CutShort, at, format!("the compressed stream ends early: {why}"))?;
            }
            return Ok(at);
        }
        match closed {
            Some(closed) => self.check_after_end(closed)?,
            None if at > 0 => {
                let subject = Subject::shard(&self.shard.name).at(at);
                let why = "there is no end mark; if the file was cut short, it was cut between two entries";
                self.handles.problems.report(Problem::note(ProblemKind::CutShort, subject, why))?;
            }
            None => {}
        }
        Ok(at)
    }

    /// Reports a second archive after the end blocks, because readers ignore it and its samples would be lost.
    fn check_after_end(&mut self, closed: u64) -> Outcome<()> {
        let from = closed + BLOCK_BYTES;
        let behind = self.walker.window.bytes(from, TRAILER_BYTES as usize)?;
        let Some(junk) = behind.iter().position(|&b| b != 0) else { return Ok(()) };
        let archive = behind
            .chunks_exact(BLOCK)
            .position(|block| <&[u8; BLOCK]>::try_from(block).is_ok_and(is_plausible))
            .map(|n| from + n as u64 * BLOCK_BYTES);
        let name = Subject::shard(&self.shard.name);
        self.handles.problems.report(match archive {
            Some(at) => Problem::problem(
                ProblemKind::JunkAfterEnd,
                name.at(at),
                "another archive follows the end of this one; no reader sees its samples",
            )
            .with_hint("join archives with tar --concatenate instead of cat"),
            None => {
                Problem::note(ProblemKind::JunkAfterEnd, name.at(from + junk as u64), "bytes after the end are ignored")
            }
        })
    }
}
