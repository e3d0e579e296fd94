//! Writes files of the log folder that datatrove's tools read in addition to its statistics: `executor.json`, which contains the number of
//! tasks, and `logs/` with the result of each task (docs/formats/nanosets.md §10). Both are written before any text is read, so that a
//! stopped run can be distinguished from one that never started.

use super::files::{log_folder, to_json, TokenFolder};
use crate::job::publish::make_folder;
use crate::job::task::TaskContext;
use crate::tokens::format::SideFile;
use gristmill_core::pack::{DocumentShuffle, SpecialToken, TextField};
use gristmill_core::{text, utc, Failure, Outcome, PackPlan, Subject};
use gristmill_storage::files;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use gristmill_storage::remote::is_hub_url;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum size of an `executor.json`, in bytes.
const MAX_LOG_BYTES: u64 = 16 << 20;
/// Permission bits in the log folder: of files, and of folders.
const MODES: (u32, u32) = (0o644, 0o755);
/// Maximum number of file names in a log.
const MAX_LISTED_FILES: usize = 1_000;

/// The log folder of a run. Without a log folder nothing is written.
pub(super) struct Logs<'a> {
    context: &'a TaskContext,
    output: &'a TokenFolder,
    folder: Option<PathBuf>,
}

/// The state of a task at the end of its log.
enum TaskEnd<'a> {
    Open,
    Done { documents: u64, tokens: u64 },
    Failed(&'a Failure),
}

impl<'a> Logs<'a> {
    pub(super) fn new(context: &'a TaskContext, output: &'a TokenFolder) -> Self {
        Self { context, output, folder: log_folder(&output.plan) }
    }

    /// Records that the tasks have started.
    pub(super) fn begin(&self) -> Outcome<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let fs = &*self.context.fs;
        make_folder(fs, &folder.join("logs"), MODES.1, &mut Vec::new())?;
        write_file(fs, &folder.join("executor.json"), &to_json(&self.executor(folder))?, MODES.0)?;
        self.write(folder, &TaskEnd::Open)
    }

    /// Records why the tasks did not finish. Errors while writing the log do not replace the failure.
    pub(super) fn failed(&self, failure: &Failure) {
        let Some(folder) = &self.folder else { return };
        if let Err(error) = self.write(folder, &TaskEnd::Failed(failure)) {
            self.context.log(format!("writing the logs of the tasks: {error}"));
        }
    }

    /// Returns the log of a finished task, which is published with its statistics.
    pub(super) fn done(&self, rank: u32, documents: u64, tokens: u64) -> Option<SideFile> {
        let folder = self.folder.as_ref()?;
        let bytes = self.text(rank, &TaskEnd::Done { documents, tokens }).into_bytes();
        Some(SideFile { target: log(folder, rank), bytes, completes: false })
    }

    fn write(&self, folder: &Path, end: &TaskEnd<'_>) -> Outcome<()> {
        let fs = &*self.context.fs;
        let mut ranks = self.output.ranks.iter();
        ranks.try_for_each(|rank| write_file(fs, &log(folder, *rank), self.text(*rank, end).as_bytes(), MODES.0))
    }

    /// Returns the log in the line format of datatrove.
    fn text(&self, rank: u32, end: &TaskEnd<'_>) -> String {
        let mut lines = String::new();
        let mut say = |when: SystemTime, level: &str, what: &str| {
            lines.push_str(&format!("{} | {level: <8} | gristmill:pack - {what}\n", utc::log_time(when)));
        };
        let now = SystemTime::now();
        let begun = now.checked_sub(self.context.elapsed()).unwrap_or(now);
        say(begun, "INFO", &format!("Launching pipeline for rank={rank}"));
        let slot = self.output.ranks.binary_search(&rank).ok();
        let files = slot.and_then(|slot| self.output.file_names.get(slot)).map_or(&[][..], Vec::as_slice);
        for (number, name) in files.iter().enumerate().take(MAX_LISTED_FILES) {
            let name = text::display_safe(name);
            say(begun, "INFO", &format!("Reading input file {name}, {}/{}", number + 1, files.len()));
        }
        if files.len() > MAX_LISTED_FILES {
            say(begun, "INFO", &format!("and {} more", files.len() - MAX_LISTED_FILES));
        }
        match end {
            TaskEnd::Open => {}
            TaskEnd::Done { documents, tokens } => {
                say(now, "SUCCESS", &format!("Processing done for rank={rank}"));
                let documents = text::count(*documents, "document");
                say(now, "INFO", &format!("Stats: Task {rank}: {documents}, {}", text::count(*tokens, "token")));
            }
            TaskEnd::Failed(failure) => say(now, "ERROR", &text::display_safe(&failure.to_string())),
        }
        lines
    }

    /// Returns the facts of the run under datatrove's names. Its tools read `world_size`.
    fn executor(&self, folder: &Path) -> Value {
        let TokenFolder { plan, target, tasks, .. } = self.output;
        let place = |path: &str| match is_hub_url(path) {
            true => format!("DataFolder(path='{path}')"),
            false => format!("DataFolder(path='{}')", files::absolute(path).unwrap_or_default().display()),
        };
        let (text_key, jq) = match &plan.text {
            TextField::Key(key) => (Some(key), None),
            TextField::Jq(program) => (None, Some(program)),
        };
        let end = match &plan.end {
            None => Value::Null,
            Some(SpecialToken::Text(text)) => json!(text),
            Some(SpecialToken::Id(id)) => json!(id),
        };
        let only = target.rank.is_some();
        json!({
            "gristmill": env!("CARGO_PKG_VERSION"),
            "pipeline": [
                {
                    "data_folder": plan.inputs.iter().map(|input| place(input)).collect::<Vec<_>>().join(", "),
                    "paths_file": plan.paths_file,
                    "glob_pattern": plan.glob,
                    "split": plan.split,
                    "subset": plan.subset,
                    "deal": target.deal,
                    "text_key": text_key,
                    "jq": jq,
                    "skip": target.skip,
                    "limit": target.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
                },
                {
                    "output_folder": place(&plan.output),
                    "tokenizer_name_or_path": plan.tokenizer_name.as_deref().unwrap_or(&plan.tokenizer),
                    "eos_token": end,
                    "save_filename": target.prefix,
                    "save_loss_metadata": target.loss_masks,
                    "shuffle_documents": target.shuffle == DocumentShuffle::Documents,
                    "shuffle_chunk_size": target.chunk_size,
                    "max_tokens_per_file": target.max_tokens_per_file,
                    "seed": plan.seed,
                },
            ],
            "logging_dir": place(&folder.to_string_lossy()),
            "skip_completed": true,
            "tasks": tasks,
            "workers": self.context.options.threads,
            "local_tasks": if only { 1 } else { *tasks },
            "local_rank_offset": target.rank.unwrap_or(0),
            "world_size": tasks,
        })
    }
}

fn log(folder: &Path, rank: u32) -> PathBuf {
    folder.join("logs").join(format!("task_{rank:05}.log"))
}

/// Refuses a log folder that was written with a different number of tasks. Each rank would have other input files, so files of ranks that
/// are marked as finished would be missing. The reference program skips such ranks, as does `--compat`.
pub(super) fn check_tasks(plan: &PackPlan, tasks: u32) -> Outcome<()> {
    let Some(folder) = log_folder(plan).filter(|_| !plan.compat) else { return Ok(()) };
    let Some(bytes) = read_whole(&folder.join("executor.json"), MAX_LOG_BYTES)? else { return Ok(()) };
    let known = serde_json::from_slice::<Value>(&bytes).ok().and_then(|value| value.get("world_size")?.as_u64());
    let Some(known) = known.filter(|known| *known != u64::from(tasks)) else { return Ok(()) };
    // Without finished ranks, no rank can be skipped by mistake.
    if !files::read_dir(folder.join("completions")).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    let why = format!("tasks of a run of {} are finished here, and this run has {tasks}", text::count(known, "task"));
    Err(Failure::data("packing for nanosets", why)
        .on(Subject::path(&folder))
        .with_hint(format!("--tasks {known} continues it; or name another --logging-dir")))
}
