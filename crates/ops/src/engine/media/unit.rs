//! The units of work: the entries of a scanned shard, or a slice of the files of a folder.

use super::pick::{picks, ProbeVerdict, Prober};
use super::spool::{MediaRows, RowsWriter};
use crate::engine::index::{Entries, SpooledShard};
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::{Failure, Handles, MediaPlan, Outcome, Problem, ProblemKind, Shard, Subject};
use gristmill_data::source::media_folder::FileList;
use gristmill_media::{ByteSource, Part};
use gristmill_storage::fs::Fs;
use gristmill_storage::read::open_read;
use std::ops::Range;
use std::path::Path;

/// Entries between two checks of the cancel flag.
const CANCEL_EVERY: u64 = 256;
/// Hint for a picture that cannot be decoded completely.
pub const REPLACE_HINT: &str = "loaders stop at this file: put a whole one in its place, or exclude its sample";

/// Settings for probing entries and writing their rows.
#[derive(Clone, Copy)]
pub struct ProbeSettings<'a> {
    /// The plan, which selects the entries.
    pub plan: &'a MediaPlan,
    /// Whether pictures are decoded, and broken ones omitted.
    pub compat: bool,
    /// File system for writing the spool files.
    pub fs: &'a dyn Fs,
    /// The folder of the spool files, which must exist.
    pub dir: &'a Path,
}

/// Probes the entries of one shard. `unit` is used in the name of the spool file. Adds one item to the progress.
///
/// A problem with an entry, or with the whole shard, is reported, and only its own rows are missing. A shard that differs from the scanned
/// one has no rows. The entries of a compressed shard are not probed.
pub fn probe_shard(
    shard: &Shard,
    spool: &SpooledShard,
    unit: usize,
    probing: &ProbeSettings<'_>,
    handles: &Handles<'_>,
) -> Outcome<MediaRows> {
    handles.cancel.check()?;
    let rows = RowsWriter::new(probing.fs, probing.dir, unit);
    let prober = Prober::new(probing.plan, probing.compat, handles.cancel);
    let mut work = ProbeUnit { rows, prober, handles };
    let refused = shard_entries(shard, spool, probing.plan, &mut work)?;
    if let Some(problem) = refused {
        handles.problems.report(problem)?;
    }
    handles.progress.add(1, 0);
    work.rows.finish()
}

/// Iterates over the entries. Returns the reason if the shard has no entries that can be probed.
fn shard_entries(
    shard: &Shard,
    spool: &SpooledShard,
    plan: &MediaPlan,
    work: &mut ProbeUnit<'_>,
) -> Outcome<Option<Problem>> {
    let subject = || Subject::shard(&shard.name);
    if spool.scan.compressed {
        let message = "its media are not described: the archive is compressed";
        let note = Problem::note(ProblemKind::CompressedShard, subject(), message);
        return Ok(Some(note.with_hint("--tgz rewrite makes a plain .tar next to it")));
    }
    let file = match open_read(&shard.path) {
        Ok(file) => file,
        Err(failure) => {
            let problem = Problem::of_failure(ProblemKind::Unreadable, failure).on(subject());
            return Ok(Some(problem.with_effect("its media cannot be described")));
        }
    };
    if file.stamp().ok() != Some(spool.scan.stamp) {
        let message = "it changed since it was scanned; its media are not described";
        return Ok(Some(Problem::problem(ProblemKind::ChangedDuringScan, subject(), message)));
    }
    let mut entries = Entries::of(spool)?;
    let mut name = String::new();
    let mut count = 0_u64;
    while let Some(entry) = entries.next(&mut name)? {
        count += 1;
        if count.is_multiple_of(CANCEL_EVERY) {
            work.handles.cancel.check()?;
        }
        if picks(&plan.filter, &name) {
            let part = Part::new(&file, entry.offset, entry.size);
            work.probe_file(&name, &part, || subject().key(name.as_str()))?;
        }
    }
    Ok(None)
}

/// Probes the files of one slice of a folder's list. Adds one item per file to the progress.
pub fn probe_files(
    root: &Path,
    files: &FileList,
    slice: Range<usize>,
    unit: usize,
    probing: &ProbeSettings<'_>,
    handles: &Handles<'_>,
) -> Outcome<MediaRows> {
    let rows = RowsWriter::new(probing.fs, probing.dir, unit);
    let prober = Prober::new(probing.plan, probing.compat, handles.cancel);
    let mut work = ProbeUnit { rows, prober, handles };
    for position in slice {
        handles.cancel.check()?;
        let name = files.name(position);
        let path = root.join(name);
        match open_read(&path) {
            Ok(file) => work.probe_file(name, &file, || Subject::path(&path))?,
            Err(failure) => work.unreadable(Subject::path(&path), &failure)?,
        }
        handles.progress.add(1, 0);
    }
    work.rows.finish()
}

struct ProbeUnit<'a> {
    rows: RowsWriter<'a>,
    prober: Prober<'a>,
    handles: &'a Handles<'a>,
}

impl ProbeUnit<'_> {
    fn probe_file(&mut self, name: &str, source: &dyn ByteSource, subject: impl Fn() -> Subject) -> Outcome<()> {
        let verdict = self.prober.probe(name, source)?;
        let report = |problem| self.handles.problems.report(problem);
        match verdict {
            ProbeVerdict::Other => return Ok(()),
            ProbeVerdict::Media { facts, remarks, damage } => {
                if let Some(damage) = damage {
                    // The remarks of the header's reader describe the same damage, so they are not reported, too.
                    let outcome =
                        if facts.is_some() { "its row is made from its header" } else { "no row is written for it" };
                    let message = format!("the picture cannot be decoded: {damage}; {outcome}");
                    report(Problem::problem(ProblemKind::BrokenMedia, subject(), message).with_hint(REPLACE_HINT))?;
                } else {
                    for remark in remarks {
                        report(Problem::note(ProblemKind::BrokenMedia, subject(), remark))?;
                    }
                }
                if let Some(facts) = facts {
                    self.rows.row(name, &facts)?;
                }
            }
            ProbeVerdict::NotMedia(why) => {
                let hint = (why == LFS_POINTER).then(|| LFS_HINT.to_owned());
                let problem =
                    Problem::problem(ProblemKind::NotMedia, subject(), format!("no row is written for it: {why}"));
                report(Problem { hint, ..problem })?;
            }
            ProbeVerdict::Broken(why) => {
                report(Problem::problem(
                    ProblemKind::BrokenMedia,
                    subject(),
                    format!("no row is written for it: {why}"),
                ))?;
            }
            ProbeVerdict::Unreadable(error) => {
                let failure = Failure::io("reading a medium", "", &error);
                return self.unreadable(subject(), &failure);
            }
        }
        self.rows.count_entry();
        Ok(())
    }

    fn unreadable(&mut self, subject: Subject, failure: &Failure) -> Outcome<()> {
        self.rows.count_entry();
        let problem = Problem::of_failure(ProblemKind::Unreadable, failure.clone()).on(subject);
        self.handles.problems.report(problem.with_effect("no row is written for it"))
    }
}
