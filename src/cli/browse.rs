//! `browse`: opens the browser on a terminal with a full screen, otherwise prints a few samples line by line.

use super::context::Context;
use super::exit::{fields, CommandResult, CommandSuccess};
use super::paths;
use super::printer::{paint, Tone};
use super::task::print_findings;
use crate::tui::screens::browse::{locate, BrowseStart};
use crate::tui::FirstScreen;
use clap::Args;
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::source::discover::discover;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::browse::places::place_of;
use gristmill_ops::engine::browse::{BrowseSample, Catalog, Groups, SampleAt, TokenView};
use gristmill_storage::files;
use gristmill_storage::location::{bucket_list, is_bucket_list, is_remote};
use gristmill_storage::read::open_read;
use gristmill_tokenizer::Tokenizer;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Number of samples printed if no sample is named.
const DEFAULT_SAMPLES: usize = 10;
/// Interval between two checks for the progress of a scan.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What `browse` takes.
#[derive(Args, Clone, Debug)]
pub struct BrowseArgs {
    /// Folder of tar shards (prepared or not), one .tar, .jsonl, .parquet or .arrow file, folder of media or of tables, or what dedup made: what it removed, or hf://datasets/OWNER/NAME
    pub path: PathBuf,
    /// Begin at the sample of this key; SHARD/KEY where several shards have it
    #[arg(long, value_name = "KEY", conflicts_with = "number")]
    pub sample: Option<String>,
    /// Begin at the sample of this number, counted from 0
    #[arg(long, value_name = "N")]
    pub number: Option<u64>,
    /// Of packed tokens: show their text by this tokenizer, in place of the one that their metadata names
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<String>,
    /// Of packed tokens: windows of N tokens, as training cuts them, in place of documents
    #[arg(long, value_name = "N")]
    pub sequence_length: Option<u64>,
}

/// Opens the browser, or prints the samples at which it would start.
pub fn run(args: &BrowseArgs, context: &Context) -> CommandResult {
    let view = TokenView { tokenizer: args.tokenizer.clone(), sequence_length: args.sequence_length };
    if let Some(store) = bucket_list(&args.path).filter(|_| is_bucket_list(&args.path)) {
        if let Some(flag) = view.first_flag() {
            let failure = Failure::usage("browsing", "it is a list of buckets, which have no tokens");
            return Err(failure.on(Subject::field(flag)).with_hint("name a data set in one of them").into());
        }
        if args.sample.is_some() || args.number.is_some() {
            let failure = Failure::usage("browsing", "it is a list of buckets, which have no samples");
            return Err(failure.on(Subject::path(&args.path)).with_hint("name a data set in one of them").into());
        }
        return match context.has_full_screen() {
            true => super::screen::screen(FirstScreen::Home(Some(store)), context),
            false => print_buckets(&store, context),
        };
    }
    let path = PathBuf::from(paths::local_or_readable(&args.path)?);
    let start = match (&args.sample, args.number) {
        (Some(key), _) => BrowseStart::Key(key.clone()),
        (None, Some(number)) => BrowseStart::Number(number),
        (None, None) => BrowseStart::First,
    };
    let opens_screen = context.has_full_screen();
    // For a store, the browser reports errors itself, so this thread does not wait for the store.
    let is_checked = !(opens_screen && is_remote(&path));
    check_view(&path, &view, is_checked)?;
    if is_checked {
        check_readable(&path)?;
    }
    if opens_screen {
        return super::screen::screen(FirstScreen::Browse(path, start, view), context);
    }
    print(&path, &start, &view, context)
}

/// Prints the addresses of all buckets of a store.
pub(super) fn print_buckets(store: &Path, context: &Context) -> CommandResult {
    let failed = |error: std::io::Error| Failure::io("listing the buckets", store, &error);
    let entries: Vec<_> = files::read_dir(store).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    let addresses: Vec<_> = entries.iter().map(|entry| entry.path().to_string_lossy()).collect();
    addresses.iter().for_each(|address| context.printer.line(display_safe(address)));
    Ok(CommandSuccess::ok(fields(serde_json::json!({ "path": store.to_string_lossy(), "buckets": addresses }))))
}

/// Refuses data that cannot be read: a missing path, an unreadable file, or a folder of which no shard can be opened.
fn check_readable(path: &Path) -> Outcome<()> {
    let kind = kind_of(path)?;
    if files::is_file(path) {
        return open_read(path).map(drop);
    }
    if !kind.is_web_dataset() {
        return Ok(());
    }
    let mut first = None;
    for shard in discover(path)?.shards {
        match open_read(&shard.path) {
            Ok(_) => return Ok(()),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    first.map_or(Ok(()), Err)
}

/// Refuses invalid values of the flags of packed tokens and, if `is_checked`, these flags for other data.
fn check_view(path: &Path, view: &TokenView, is_checked: bool) -> Outcome<()> {
    if view.sequence_length == Some(0) {
        let refusal = Failure::usage("opening the tokens", "a window has at least one token");
        return Err(refusal.on(Subject::field("--sequence-length")));
    }
    if is_checked {
        view.check_kind(kind_of(path)?)?;
    }
    // The browser shows an error of the tokenizer on the screen, but the screen is not open yet.
    view.tokenizer.as_deref().map(Tokenizer::load).transpose().map(drop)
}

/// The printed listing, and the result object of `--json`.
#[derive(Serialize)]
struct Listing {
    path: String,
    kind: &'static str,
    samples: u64,
    /// Whether `samples` is final, because the scan is complete.
    is_complete: bool,
    /// The word for a group: shard, file or folder.
    group_word: &'static str,
    groups: usize,
    unreadable: Vec<Unreadable>,
    listed: Vec<ListedRow>,
}

#[derive(Serialize)]
struct Unreadable {
    group: String,
    why: String,
}

#[derive(Serialize)]
struct ListedRow {
    number: u64,
    group: String,
    key: String,
    bytes: u64,
    parts: Vec<ListedPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    defect: Option<String>,
}

#[derive(Serialize)]
struct ListedPart {
    name: String,
    bytes: u64,
}

fn print(path: &Path, start: &BrowseStart, view: &TokenView, context: &Context) -> CommandResult {
    let catalog = gristmill_ops::browse::open_tokens(path, view)?;
    let cancel = Cancel::default();
    let (from, wanted) = match start {
        BrowseStart::First => (SampleAt::default(), DEFAULT_SAMPLES),
        BrowseStart::Number(number) => (numbered(catalog.as_ref(), *number)?, 1),
        BrowseStart::Key(key) => (keyed(catalog.as_ref(), key, &cancel)?, 1),
        BrowseStart::Subject(subject) => (find_sample(catalog.as_ref(), subject, &cancel)?, 1),
    };
    let kind = catalog.kind();
    if kind.is_web_dataset() && kind.has_splits() {
        // Waits until the sizes of the shards have been compared with the index.
        while catalog.groups().version == 0 {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    let groups =
        wait_until(catalog.as_ref(), |groups| groups.total() >= groups.number(from).saturating_add(wanted as u64));
    let samples = match groups.total() {
        0 => Vec::new(),
        _ => catalog.samples(from, wanted, &cancel)?,
    };
    let listing = listing(catalog.as_ref(), &groups, &samples);
    for line in lines(&listing) {
        context.printer.line(line);
    }
    let problems: Vec<Problem> = catalog.problems().others().iter().map(|problem| Problem::clone(problem)).collect();
    print_findings(&problems, &[], context);
    let unreadable = groups.groups.iter().filter(|group| group.is_unreadable());
    let defects = listing.listed.iter().filter(|row| row.defect.is_some()).map(|_| ());
    let unreadable = unreadable.map(|_| ()).chain(defects).map(|()| (Severity::Problem, ProblemKind::Unreadable));
    let mut done = CommandSuccess::with_findings(fields(&listing), unreadable);
    done.add_problems(&problems);
    Ok(done)
}

/// Waits until `is_enough` holds for a running scan, or until the scan is complete.
fn wait_until(catalog: &dyn Catalog, is_enough: impl Fn(&Groups) -> bool) -> Arc<Groups> {
    catalog.scan_all();
    loop {
        let groups = catalog.groups();
        if groups.is_complete || is_enough(&groups) {
            return groups;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn numbered(catalog: &dyn Catalog, number: u64) -> Outcome<SampleAt> {
    let groups = wait_until(catalog, |groups| groups.total() > number);
    groups.locate(number).ok_or_else(|| {
        let why = format!("there are {}, counted from 0", count(groups.total(), "sample"));
        Failure::usage(format!("finding sample {number}"), why).on(Subject::path(catalog.root()))
    })
}

/// Returns the sample of a key; if no sample has the whole key, `shard/key` is the name of a shard and a key.
fn keyed(catalog: &dyn Catalog, key: &str, cancel: &Cancel) -> Outcome<SampleAt> {
    wait_until(catalog, |_| false);
    if let Some(at) = locate(catalog, key, cancel)? {
        return Ok(at);
    }
    Err(Failure::usage(format!("finding sample {key}"), "no sample has this key")
        .on(Subject::path(catalog.root()))
        .with_hint("--number N opens a sample by its number; / in the browser searches keys"))
}

/// Returns the sample that contains the subject of a problem, or the nearest one.
fn find_sample(catalog: &dyn Catalog, subject: &Subject, cancel: &Cancel) -> Outcome<SampleAt> {
    wait_until(catalog, |_| false);
    let place = place_of(catalog, subject, cancel)?;
    place
        .sample(catalog)
        .ok_or_else(|| Failure::usage("finding the sample", "it is no longer in the data set").on(subject.clone()))
}

fn listing(catalog: &dyn Catalog, groups: &Groups, samples: &[BrowseSample]) -> Listing {
    let name = |group: u32| groups.group(group).map_or_else(String::new, |group| group.name.to_string());
    let unreadable = groups.groups.iter().filter_map(|group| {
        Some(Unreadable { group: group.name.to_string(), why: group.failure.as_ref()?.to_string() })
    });
    let listed = samples.iter().map(|sample| ListedRow {
        number: groups.number(sample.at),
        group: name(sample.at.group),
        key: sample.key.to_string(),
        bytes: sample.byte_size,
        parts: sample.parts.iter().map(|p| ListedPart { name: p.name.to_string(), bytes: p.byte_size }).collect(),
        defect: sample.defect.as_ref().map(ToString::to_string),
    });
    Listing {
        path: catalog.root().to_string_lossy().into_owned(),
        kind: catalog.kind().title(),
        samples: groups.total(),
        is_complete: groups.is_complete,
        group_word: catalog.group_word(),
        groups: groups.groups.len(),
        unreadable: unreadable.collect(),
        listed: listed.collect(),
    }
}

fn lines(listing: &Listing) -> Vec<String> {
    let samples = count(listing.samples, "sample");
    let samples = if listing.is_complete { samples } else { format!("at least {samples}") };
    let groups = count(listing.groups as u64, listing.group_word);
    let mut lines = vec![
        paint(Tone::Strong, &format!("# {}", display_safe(&listing.path))),
        format!("{}, {samples}, {groups}", listing.kind),
    ];
    for entry in &listing.unreadable {
        lines.push(format!("{} {}: {}", listing.group_word, display_safe(&entry.group), display_safe(&entry.why)));
    }
    for sample in &listing.listed {
        let parts: Vec<String> =
            sample.parts.iter().map(|part| format!("{} {}", display_safe(&part.name), bytes(part.bytes))).collect();
        let key = paint(Tone::Strong, &display_safe(&sample.key));
        lines.push(format!(
            "{} {key} in {}: {}",
            grouped(sample.number),
            display_safe(&sample.group),
            parts.join(", ")
        ));
        lines.extend(sample.defect.as_ref().map(|why| format!("  problem: {}", display_safe(why))));
    }
    lines
}
