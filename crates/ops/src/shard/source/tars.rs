//! Lists samples of shards, grouped as by a scan. Decompresses compressed shards first.

use super::super::record::{ListedSample, RecordWriter, Records, SpoolContext};
use super::super::sample::{Origin, Part, Sample, SampleSink, SourceContext, SourceFile};
use super::prepared::PreparedInput;
use super::{refuse_split, ACTIVITY};
use crate::job::pool::run_units;
use crate::job::recover::recover_interrupted;
use gristmill_core::text::{count_verb, display_safe_bytes};
use gristmill_core::{
    Failure, FileStamp, Handles, HiddenSample, Outcome, PartRow, Problem, ProblemKind, ProblemSink, SampleRow,
    Severity, Shard, Subject,
};
use gristmill_data::source::discover::{discover_with_packed, named_shards, shard_at};
use gristmill_data::source::documents::{Packing, UnpackedReader};
use gristmill_data::source::tar::{read_sparse_map, scan_shard, HiddenPart, ScanSink, MISREAD_BY_PYTHON};
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Number of shards per thread that are scanned before their samples are passed on.
const SHARDS_A_THREAD: usize = 8;
/// Number of bytes that are decompressed and written at a time.
const UNPACK_BYTES: usize = 1 << 20;

/// Lists the samples of a folder of shards, of one shard, or of a range of shards.
pub(super) fn list(input: &Path, context: &SourceContext<'_>, sink: &mut dyn SampleSink) -> Outcome<()> {
    let (shards, prepared) = match files::is_dir(input) {
        true => {
            if !is_remote(input) {
                recover_interrupted(input, context.handles.problems)?;
            }
            let found = discover_with_packed(input)?;
            found.findings.into_iter().try_for_each(|finding| context.handles.problems.report(finding))?;
            (found.shards, PreparedInput::read(input, context.plan)?)
        }
        false => {
            refuse_split(input, context.plan)?;
            let range = if files::is_file(input) { None } else { named_shards(input)? };
            let shards = range.map_or_else(|| shard_at(input).map(|shard| vec![shard]), Ok)?;
            (shards, PreparedInput::default())
        }
    };
    let mut units = Vec::with_capacity(shards.len());
    for shard in shards {
        match prepared.split_of(&shard.name, context.plan)? {
            Some(split) => units.push((units.len(), shard, split)),
            None => sink.count_excluded(prepared.excluded_samples(&shard.name, context.plan)),
        }
    }
    // Decompressed copies are local, so only plain shards are cached.
    let plain = units.iter().map(|(_, shard, _)| shard).filter(|shard| !shard.is_tgz);
    let plain = plain.map(|shard| (shard.path.as_path(), shard.stamp.bytes));
    context.keeper.map_or(Ok(()), |keeper| keeper.keep(plain))?;
    context.handles.progress.restart(units.len() as u64, units.iter().map(|(_, shard, _)| shard.stamp.bytes).sum());
    for chunk in units.chunks(SHARDS_A_THREAD * context.options.threads.max(1)) {
        let scanned = run_units(chunk, context.options.threads, context.handles.cancel, |(number, shard, _)| {
            scan(context, *number, shard)
        })?;
        for ((_, shard, split), scanned) in chunk.iter().zip(scanned) {
            pass_on(shard, split.as_ref(), &scanned, &prepared, context, sink)?;
            context.fs.remove_file(&scanned.records.path)?;
        }
    }
    Ok(())
}

/// A shard whose samples are in a spool.
struct ScannedShard {
    records: Records,
    /// The file to which offsets refer.
    path: PathBuf,
    stamp: FileStamp,
    /// Keys of damaged samples.
    damaged: HashSet<Vec<u8>>,
    /// The opened file, if something must be read from it again.
    file: OnceCell<Arc<ReadFile>>,
}

impl ScannedShard {
    /// Returns the reason why a sparse part of a sample cannot be expanded.
    fn sparse_defect(&self, sample: &Sample, context: &SourceContext<'_>) -> Outcome<Option<String>> {
        for part in &sample.parts {
            let Origin::Sparse { offset, .. } = part.origin else { continue };
            let file = match self.file.get() {
                Some(file) => file,
                None => self.file.get_or_init({
                    let opened = Arc::new(open_read(&self.path)?);
                    move || opened
                }),
            };
            if let Err(why) = read_sparse_map(file, offset, part.bytes, context.handles.cancel)? {
                let name = display_safe_bytes(&part.name);
                return Ok(Some(format!("the part '{name}' is a sparse entry, and {why}")));
            }
        }
        Ok(None)
    }
}

fn scan(context: &SourceContext<'_>, number: usize, shard: &Shard) -> Outcome<ScannedShard> {
    let Handles { cancel, .. } = context.handles;
    let plain = unpacked(context, shard)?;
    let spools = SpoolContext { fs: context.fs, folder: context.scratch, cancel, memory: 0 };
    let writer = RecordWriter::create(&spools, &format!("shard-{number}"))?;
    let mut sink = ShardSink {
        writer,
        parts: Vec::new(),
        sparse_at: None,
        key: Vec::new(),
        record: Vec::new(),
        damaged: Vec::new(),
    };
    let problems = ScanProblems(context.handles.problems);
    let handles = Handles { problems: &problems, ..context.handles };
    let scan = scan_shard(&plain, &mut sink, &handles)?;
    for key in scan.damaged_keys.iter().chain(&sink.damaged) {
        let why = "it touches damage; it is left out";
        let subject = Subject::shard(&shard.name).key(key);
        context.handles.problems.report(Problem::problem(ProblemKind::SampleExcluded, subject, why))?;
    }
    let damaged = scan.damaged_keys.into_iter().map(String::into_bytes).collect();
    Ok(ScannedShard {
        records: sink.writer.finish()?,
        path: plain.path,
        stamp: scan.stamp,
        damaged,
        file: OnceCell::new(),
    })
}

fn pass_on(
    shard: &Shard,
    split: Option<&String>,
    scanned: &ScannedShard,
    prepared: &PreparedInput,
    context: &SourceContext<'_>,
    sink: &mut dyn SampleSink,
) -> Outcome<()> {
    let file = match scanned.path == shard.path {
        true => sink.add_file(&scanned.path, scanned.stamp)?,
        false => sink.add_unpacked(&scanned.path, scanned.stamp, (&shard.path, shard.stamp))?,
    };
    let mut samples = scanned.records.open()?;
    let mut excluded = 0;
    while let Some(ListedSample { mut sample, .. }) = samples.next_sample()? {
        if scanned.damaged.contains(&sample.key) {
            continue;
        }
        sample.is_excluded = prepared.is_excluded(&shard.name, &sample.key);
        if sample.is_excluded && !context.plan.choice.keep_excluded {
            excluded += 1;
            continue;
        }
        for part in &mut sample.parts {
            part.origin.set_file(file);
        }
        if let Some(why) = scanned.sparse_defect(&sample, context)? {
            let why = format!("{why}; the sample is left out");
            let subject = Subject::shard(&shard.name).key(String::from_utf8_lossy(&sample.key));
            context.handles.problems.report(Problem::problem(ProblemKind::SparseEntry, subject, why))?;
            continue;
        }
        sample.shard.clone_from(&shard.name);
        sample.split = split.cloned();
        sink.add_sample(sample)?;
    }
    sink.count_excluded(excluded);
    if excluded > 0 {
        let why = format!("{} excluded by split.yaml, left out", count_verb(excluded, "sample", "is", "are"));
        let subject = Subject::shard(&shard.name);
        context.handles.problems.report(Problem::note(ProblemKind::ExcludedBySplits, subject, why))?;
    }
    Ok(())
}

/// Returns a shard that is not compressed: the shard itself, or a decompressed copy.
fn unpacked(context: &SourceContext<'_>, shard: &Shard) -> Outcome<Shard> {
    let file = Arc::new(open_read(&shard.path)?);
    let packing = Packing::of(&file)?;
    if packing.is_plain() || packing == Packing::Zip {
        return Ok(Shard { is_tgz: false, ..shard.clone() });
    }
    let stamp = file.stamp().map_err(|error| Failure::io(ACTIVITY, &shard.path, &error))?;
    // A stopped run may have decompressed the same file.
    let identity = format!("{} {stamp:?}", shard.path.display());
    let path = context.scratch.join(format!("{:032x}", xxh3_128(identity.as_bytes())));
    if !files::is_file(&path) {
        unpack(context.fs, &shard.name, (file, packing), &path, context.handles)?;
    }
    let stamp = stamp_at(&path)?;
    Ok(Shard { path, stamp, is_tgz: false, ..shard.clone() })
}

fn unpack(
    fs: &dyn Fs,
    name: &str,
    (file, packing): (Arc<gristmill_storage::read::ReadFile>, Packing),
    path: &Path,
    handles: Handles<'_>,
) -> Outcome<()> {
    let draft = path.with_extension("draft");
    fs.remove_file(&draft)?;
    let mut stream = UnpackedReader::new(file, packing)?.named(ACTIVITY);
    let mut out = fs.create_file(&draft)?;
    out.keep_in_page_cache();
    let mut buffer = vec![0; UNPACK_BYTES];
    loop {
        handles.cancel.check()?;
        match stream.read(&mut buffer)? {
            0 => break,
            read => out.write_all(buffer.get(..read).unwrap_or_default())?,
        }
    }
    if let Some(why) = stream.broken() {
        let why = format!("the {} stream ends early: {why}; samples after that are lost", packing.title());
        handles.problems.report(Problem::problem(ProblemKind::CutShort, Subject::shard(name), why))?;
    }
    out.close()?;
    fs.rename(&draft, path)
}

/// Writes the samples of a scanned shard to a spool.
struct ShardSink {
    writer: RecordWriter,
    parts: Vec<Part>,
    /// Offset of the headers of the next part, if it is sparse.
    sparse_at: Option<u64>,
    /// The key of the current sample, if it is not UTF-8.
    key: Vec<u8>,
    record: Vec<u8>,
    /// Keys of damaged samples that are not UTF-8, as displayed. These samples are omitted.
    damaged: Vec<String>,
}

impl ShardSink {
    fn add(&mut self, name: &[u8], offset: u64, bytes: u64) {
        let file = SourceFile(0);
        let origin = match self.sparse_at.take() {
            Some(offset) => Origin::Sparse { file, offset },
            None => Origin::Range { file, offset },
        };
        self.parts.push(Part { name: name.to_vec(), bytes, origin });
    }

    fn end(&mut self, key: Vec<u8>) -> Outcome<()> {
        let mut parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return Ok(());
        }
        // If parts have the same name, the last one counts.
        let mut seen = HashSet::new();
        let is_last: Vec<bool> = parts.iter().rev().map(|part| seen.insert(part.name.as_slice())).collect();
        let mut is_last = is_last.into_iter().rev();
        parts.retain(|_| is_last.next().unwrap_or(true));
        let sample = Sample { key, split: None, shard: String::new(), parts, is_excluded: false };
        self.record.clear();
        ListedSample { input: 0, sample }.encode(&mut self.record);
        self.writer.push(&self.record)
    }
}

impl ScanSink for ShardSink {
    fn sparse_entry(&mut self, offset: u64) {
        self.sparse_at = Some(offset);
    }

    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.add(row.part_name.as_bytes(), row.content_byte_offset, row.content_byte_size);
        Ok(())
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.end(row.key.as_bytes().to_vec())
    }

    fn hidden_part(&mut self, part: HiddenPart<'_>) -> Outcome<()> {
        self.key.clear();
        self.key.extend_from_slice(part.key);
        self.add(part.name, part.content_offset, part.size);
        Ok(())
    }

    fn hidden_sample(&mut self, sample: HiddenSample) -> Outcome<()> {
        let key = std::mem::take(&mut self.key);
        if sample.is_damaged {
            self.parts.clear();
            self.damaged.push(String::from_utf8_lossy(&key).into_owned());
            return Ok(());
        }
        self.end(key)
    }

    fn apple_double_sample(&mut self, _: SampleRow<'_>) -> Outcome<()> {
        self.parts.clear();
        Ok(())
    }
}

/// Forwards those problems of a scan that affect new shards.
struct ScanProblems<'a>(&'a dyn ProblemSink);

impl ProblemSink for ScanProblems<'_> {
    fn report(&self, mut problem: Problem) -> Outcome<()> {
        match problem.kind {
            // The source itself reports the omitted samples of a damaged shard.
            ProblemKind::SampleExcluded => return Ok(()),
            ProblemKind::SparseEntry => {
                problem.severity = Severity::Note;
                let of_python = if problem.message.contains(MISREAD_BY_PYTHON) { MISREAD_BY_PYTHON } else { "" };
                let why = "parts are stored as sparse entries (files with holes): all of their content is written";
                problem.message = format!("{why}{of_python}");
                problem.hint = None;
            }
            ProblemKind::BadName => problem.message.push_str("; such samples are left out"),
            ProblemKind::RepeatedPart => problem.severity = Severity::Problem,
            _ => {}
        }
        self.0.report(problem)
    }

    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        self.0.count_more(severity, kind, number);
    }
}
