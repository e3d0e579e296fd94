//! `doctor`: checks whether this machine is suitable, and whether a data set is in a good state.

mod store;

pub use store::StoreArgs;

use super::bug_report;
use super::context::Context;
use super::exit::{CommandResult, CommandSuccess, Status};
use super::printer::{paint, Tone};
use gristmill_core::text::{bytes, count, count_verb, display_safe};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::energon::jsonl_idx::{self, IndexState};
use gristmill_storage::cache::{cache_usage, clear_cache};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::{publish, space, xdg};
use serde_json::{json, Map, Value};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Free space in bytes below which a warning is printed.
const LITTLE_SPACE: u64 = 1 << 30;
/// Limit of open files below which a warning is printed.
const FEW_FILES: u64 = 256;

/// The result of one check.
struct Check {
    name: String,
    is_ok: bool,
    found: String,
    hint: Option<Cow<'static, str>>,
}

impl Check {
    fn new(name: impl Into<String>, fine: bool, found: impl Into<String>) -> Self {
        Self { name: name.into(), is_ok: fine, found: found.into(), hint: None }
    }
    fn to_json(&self) -> Value {
        let hint = self.hint.as_ref().filter(|_| !self.is_ok);
        json!({ "check": self.name, "fine": self.is_ok, "found": self.found, "hint": hint })
    }
    fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Prints the results of checks.
fn print_checks(checks: &[Check], context: &Context) {
    for check in checks {
        let sign = if check.is_ok { paint(Tone::Success, "ok  ") } else { paint(Tone::Warning, "warn") };
        context.printer.line(format!("{sign} {}: {}", check.name, display_safe(&check.found)));
        if let Some(hint) = check.hint.as_ref().filter(|hint| !check.is_ok && !hint.is_empty()) {
            context.printer.line(format!("     {}", display_safe(hint)));
        }
    }
}

/// Checks the machine and, if a path is given, a data set; for the address of a store, checks only the store.
pub fn run(path: Option<&Path>, args: &StoreArgs, context: &Context) -> CommandResult {
    if args.clear_cache {
        let is_dry = context.globals.dry_run;
        let removed = if is_dry { cache_usage()? } else { clear_cache()? };
        let verb = if is_dry { "would remove" } else { "removed" };
        context.printer.line(format!("{verb} {} of stores, {}", count(removed.files, "file"), bytes(removed.bytes)));
    }
    if let Some(path) = path.filter(|path| is_remote(path)) {
        return store::run(path, args, context);
    }
    if let Some(flag) = args.first_given_flag() {
        let failure = Failure::usage("reading the command line", "it belongs to the address of a store");
        return Err(failure.on(Subject::field(flag)).with_hint("gristmill doctor s3://BUCKET/KEY").into());
    }
    let mut checks = machine(context);
    if let Some(path) = path {
        super::paths::local(path)?;
        checks.extend(dataset(path)?);
    }
    print_checks(&checks, context);
    let values: Vec<_> = checks.iter().map(Check::to_json).collect();
    let status = if checks.iter().all(|check| check.is_ok) { Status::Ok } else { Status::Problems };
    Ok(CommandSuccess { status, ..CommandSuccess::ok(Map::from_iter([("checks".to_owned(), json!(values))])) })
}

fn machine(context: &Context) -> Vec<Check> {
    let terminal = bug_report::terminal();
    let mut checks = vec![
        Check::new("program", true, bug_report::program()),
        Check::new("system", true, bug_report::system()),
        Check::new("terminal", true, terminal.describe()),
        Check::new("characters", terminal.utf8 || context.globals.ascii, terminal.locale.clone())
            .hint("the locale is not UTF-8; --ascii draws with plain characters"),
        Check::new("processors", true, format!("{} by default", count(context.run_options().threads as u64, "thread"))),
    ];
    checks.push(files_limit());
    let scratch = context.globals.scratch.clone().or_else(|| std::env::var_os("TMPDIR").map(PathBuf::from));
    checks.push(free("scratch folder", &scratch.unwrap_or_else(xdg::cache_dir)));
    checks.push(free("state folder", &xdg::state_dir()));
    checks.push(cache());
    checks.extend(settings(context));
    checks
}

/// Checks the settings file; returns a further check for each mistake in it.
fn settings(context: &Context) -> Vec<Check> {
    let settings = context.settings();
    let path = settings.path.to_string_lossy();
    let mistakes = settings.notices();
    if mistakes.is_empty() {
        let found = if settings.is_there { format!("in {path}") } else { format!("none; {path} does not exist") };
        return vec![Check::new("settings", true, found)];
    }
    let check = |(message, hint): (String, Option<String>)| {
        let check = Check::new("settings", false, message);
        match hint {
            Some(hint) => check.hint(hint),
            None => check,
        }
    };
    mistakes.into_iter().map(check).collect()
}

/// Returns the size of the cached data of stores.
fn cache() -> Check {
    match cache_usage() {
        Ok(usage) => {
            let kept = format!("{}, {} in {}", count(usage.files, "file"), bytes(usage.bytes), usage.folder.display());
            Check::new("cache of stores", true, kept)
        }
        Err(failure) => Check::new("cache of stores", false, failure.to_string()),
    }
}

fn files_limit() -> Check {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit {
        None => Check::new("open files", true, "no limit"),
        Some(number) => Check::new("open files", number >= FEW_FILES, format!("at most {number}"))
            .hint("raise it with `ulimit -n 1024`"),
    }
}

fn free(name: &str, wanted: &Path) -> Check {
    let existing = wanted.ancestors().find(|folder| files::is_dir(folder)).unwrap_or(Path::new("/"));
    let shown = wanted.display();
    match space::free_bytes(existing) {
        Ok(free) => Check::new(name, free >= LITTLE_SPACE, format!("{} free in {shown}", bytes(free)))
            .hint("choose a folder with more space: --scratch DIR"),
        Err(failure) => Check::new(name, false, failure.to_string()),
    }
}

fn dataset(path: &Path) -> Outcome<Vec<Check>> {
    if super::kinds::is_jsonl(path) {
        return jsonl(path);
    }
    if !files::is_dir(path) {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Failure::io("opening the data set", path, &missing));
    }
    let own = RunFolder::for_webdataset(path);
    let mut checks = place(path, "create a folder that you can write to, with links to the shards");
    checks.push(lock(&own)?);
    checks.push(match publish::pending(&own)? {
        None => Check::new("interrupted publication", true, "none"),
        Some(files) => Check::new(
            "interrupted publication",
            false,
            format!("{} to be published", count_verb(files.len() as u64, "file", "waits", "wait")),
        )
        .hint("the next `gristmill prepare` of this data set finishes it"),
    });
    Ok(checks)
}

/// Checks a JSONL file: the folder of its index, and the index.
fn jsonl(path: &Path) -> Outcome<Vec<Check>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut checks = place(folder, "link the file into a folder of your own");
    checks.push(lock(&RunFolder::for_output(&jsonl_idx::index_path(path)))?);
    let state = jsonl_idx::state_of(path)?;
    let found = match &state {
        IndexState::OutOfDate { why } => format!("{}: {why}", state.word()),
        _ => state.word().to_owned(),
    };
    let fits = matches!(state, IndexState::Fits { .. });
    checks.push(Check::new("index", fits, found).hint("gristmill prepare FILE.jsonl writes it"));
    Ok(checks)
}

fn place(folder: &Path, way_out: &'static str) -> Vec<Check> {
    let writable = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    vec![
        free("data set's disk", folder),
        Check::new("write access", writable, if writable { "yes" } else { "no: the folder is not writable" })
            .hint(way_out),
    ]
}

fn lock(own: &RunFolder) -> Outcome<Check> {
    Ok(match DatasetLock::holder(own)? {
        None => Check::new("lock", true, "free"),
        Some(holder) => {
            Check::new("lock", false, format!("held by process {} on {}", holder.process.pid, holder.process.host))
                .hint("wait until it has ended; use --break-lock if that process no longer exists")
        }
    })
}
