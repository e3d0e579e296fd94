//! `lint` and `verify`: check whether prepared data matches its metadata.

use super::context::Context;
use super::exit::{fields, Done, Finished};
use super::printer::{paint, Tone};
use super::progress::ProgressView;
use super::report;
use super::task::print_findings;
use super::{jsonl, kinds, mix, modalities, nanosets, paths};
use gristmill_core::text::{bytes, count};
use gristmill_core::{DatasetKind, Failure, Handles, Outcome, ProblemLog, Progress, Severity, Subject};
use gristmill_ops::engine::check::{Checked, LintOptions};
use gristmill_ops::engine::modalities::check::Vocabulary;
use gristmill_ops::job::dedup::{is_index, verify_index};
use gristmill_ops::job::report::counts_value;
use gristmill_ops::job::{check, poll, JobState, JobStatus, Phase};
use gristmill_ops::source::discover::is_shard_file;
use gristmill_ops::source::kind::kind_of;
use gristmill_storage::memory::usual_memory;
use gristmill_tokenizer::Tokenizer;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the vocabulary that ids are compared with, of a tokenizer by name.
pub fn vocabulary(name: &str) -> Outcome<Vocabulary> {
    let facts = Tokenizer::load_unproven(name)?.facts();
    Ok(Vocabulary { name: name.to_owned(), greatest: facts.greatest_id })
}

/// Refuses a flag that does not apply to the path: otherwise the user would believe that it had an effect.
fn only_for(given: bool, flag: &str, fits: bool, what: &str, path: &str) -> Outcome<()> {
    if !given || fits {
        return Ok(());
    }
    let failure = Failure::usage("reading the command line", format!("{flag} is for {what}, and this is none"));
    Err(failure.on(Subject::path(path)).with_hint("leave it out"))
}

/// Checks index, splits, excludes and field map.
pub fn run(path: &Path, options: &LintOptions, context: &Context) -> Finished {
    use DatasetKind::{Filesystem, OtherFile, PlainFolder, PreparedWebDataset, RawWebDataset};
    let path = paths::local(path)?;
    let holds_media = |kind| matches!(kind, PreparedWebDataset | RawWebDataset | Filesystem | PlainFolder | OtherFile);
    let fits = kind_of(Path::new(&path)).is_ok_and(holds_media) && !modalities::check::is_ours(&path);
    only_for(options.decode && Path::new(&path).exists(), "--decode", fits, "data sets with media metadata", &path)?;
    if jsonl::is_jsonl(&path) {
        return jsonl::lint(&path, context);
    }
    if mix::is_metadataset(&path) {
        return mix::check(&path, context);
    }
    if modalities::check::is_ours(&path) {
        return modalities::check::lint(&path, context);
    }
    if modalities::folder::is_ours(&path) {
        return modalities::folder::lint(&path, context);
    }
    if nanosets::check::is_ours(&path) {
        return nanosets::check::lint(&path, context);
    }
    if is_index(Path::new(&path)) {
        return verify_dedup_index(&path, context);
    }
    if is_shard_file(Path::new(&path)) {
        let work = |handles: &Handles<'_>| check::run_single_shard(Path::new(&path), &context.run_options(), handles);
        return checked(context, SHARDS, |handles| work(handles).map(|info| info.unwrap_or_default().checked()));
    }
    kinds::only_folders(&path)?;
    let threads = context.run_options().threads;
    checked(context, words_for(&path)?, |handles| check::run_lint(Path::new(&path), options, threads, handles))
}

/// Reads an index written by bsade or `dedup --export-index`, and compares its files with each other.
fn verify_dedup_index(path: &str, context: &Context) -> Finished {
    let threads = context.run_options().threads;
    let memory = context.globals.memory.unwrap_or_else(usual_memory);
    let words = LintTexts { shards: Some("shard"), item: "document" };
    checked(context, words, |handles| verify_index(Path::new(path), threads, memory, handles))
}

/// Reads everything again and compares it with the index. `against` applies to tokens and raw indexes.
pub fn verify(path: &Path, against: &modalities::check::Against, context: &Context) -> Finished {
    let path = paths::local(path)?;
    if Path::new(&path).exists() {
        let is_packed = kind_of(Path::new(&path)).is_ok_and(DatasetKind::is_tokens);
        only_for(against.tokenizer.is_some(), "--tokenizer", is_packed, "packed tokens", &path)?;
        let is_index = modalities::check::is_ours(&path) && !is_packed;
        only_for(against.source.is_some(), "--source", is_index, "raw indexes (.idx)", &path)?;
    }
    if jsonl::is_jsonl(&path) {
        return jsonl::verify(&path, context);
    }
    if mix::is_metadataset(&path) {
        return mix::verify(&path, context);
    }
    if modalities::check::is_ours(&path) {
        return modalities::check::verify(&path, against, context);
    }
    if modalities::folder::is_ours(&path) {
        return modalities::folder::verify(&path, against.tokenizer.as_deref(), context);
    }
    if nanosets::check::is_ours(&path) {
        return nanosets::check::verify(&path, against.tokenizer.as_deref(), context);
    }
    if is_index(Path::new(&path)) {
        return verify_dedup_index(&path, context);
    }
    kinds::only_folders(&path)?;
    let threads = context.run_options().threads;
    checked(context, words_for(&path)?, |handles| check::run_verify(Path::new(&path), threads, handles))
}

/// The words for what a check counts.
#[derive(Clone, Copy)]
pub struct LintTexts {
    /// The word for its shards, in the singular; `None` if the path itself is the only thing checked.
    pub shards: Option<&'static str>,
    /// The word for an item of its progress, in the singular.
    pub item: &'static str,
}

/// The word for an item when checking a folder of media.
const ROW: &str = "row";
const MEDIA_ROWS: LintTexts = LintTexts { shards: None, item: ROW };

/// Returns the words for a data set or a folder of media.
fn words_for(path: &str) -> Outcome<LintTexts> {
    let is_media = kind_of(Path::new(path))? == DatasetKind::Filesystem;
    Ok(if is_media { MEDIA_ROWS } else { SHARDS })
}

const SHARDS: LintTexts = LintTexts { shards: Some("shard"), item: "shard" };

/// Checks with progress, and prints the findings.
pub fn checked(
    context: &Context,
    words: LintTexts,
    work: impl FnOnce(&Handles<'_>) -> Outcome<Checked> + Send,
) -> Finished {
    let cancel = context.signals.listen();
    let (progress, log) = (Progress::default(), ProblemLog::new(context.globals.strict));
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut view = ProgressView::named(context, "checking");
    let start = Instant::now();
    // Some checks read the files several times; the shown progress must not go back.
    let mut most = 0.0_f64;
    let look = || {
        let mut status = status(&progress, words.item, start);
        most = status.share.map_or(most, |share| share.max(most));
        status.share = status.share.map(|_| most);
        view.update(&status);
    };
    let result = poll::watched(|| work(&handles), look);
    view.finish();
    let mut problems = log.to_vec();
    // Shards are checked in parallel; the order of the list must not depend on timing.
    problems.sort_by(|a, b| {
        (&a.subject.shard, a.subject.byte_offset, &a.subject.path).cmp(&(
            &b.subject.shard,
            b.subject.byte_offset,
            &b.subject.path,
        ))
    });
    let counts = log.counts();
    print_findings(&problems, &counts, context);
    let done = result?;
    let grave: u64 = counts.iter().filter(|(severity, ..)| *severity > Severity::Note).map(|(.., number)| number).sum();
    let verdict = match grave {
        0 => paint(Tone::Good, "No problem found"),
        number => paint(Tone::Warning, &format!("{} found", count(number, "problem"))),
    };
    let looked = match words.item {
        ROW => count(done.samples, "media row"),
        "document" | "line" => format!("{}, {}", count(done.samples, words.item), bytes(done.bytes)),
        _ => format!("{}, {}", count(done.samples, "sample"), bytes(done.bytes)),
    };
    let shards = words.shards.map_or_else(String::new, |word| format!("{}, ", count(done.shards, word)));
    context.printer.line(format!("{verdict} in {shards}{looked}."));
    for line in report::problem_table(&counts) {
        context.printer.say(line);
    }
    let mut result =
        fields(json!({ "shards": done.shards, "samples": done.samples, "parts": done.parts, "bytes": done.bytes }));
    result.insert("problems".into(), json!(problems));
    result.insert("counts".into(), counts_value(&counts));
    result.insert("elapsed_seconds".into(), json!(start.elapsed().as_secs_f64()));
    Ok(Done::with_findings(result, counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

fn status(progress: &Progress, item: &'static str, start: Instant) -> JobStatus {
    let reading = progress.read();
    let elapsed = start.elapsed();
    let rate = reading.bytes_done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = reading.bytes_total.saturating_sub(reading.bytes_done) as f64 / rate.max(1.0);
    let told = elapsed > Duration::from_secs(3) && reading.bytes_done > 0 && left < 1e9;
    JobStatus {
        item,
        phase: Phase::Scan,
        progress: reading,
        elapsed,
        share: reading.fraction().map(|share| share.min(0.999)),
        remaining: told.then(|| Duration::from_secs_f64(left)),
        bytes_per_second: rate,
        ..JobStatus::ended(JobState::Running)
    }
}
