//! Token folders on the command line: `nanosets merge`, `nanosets shuffle`, and `info`, `lint`, `verify` of one.

mod args;
pub mod check;

pub use args::NanosetsArgs;

use super::context::Context;
use super::end::{fields, Done, Finished};
use super::paths;
use super::prepare::summary;
use super::printer::{paint, Look};
use super::task::{follow, tell};
use crate::engine::nanosets::{MergePlan, WindowsPlan};
use crate::job::nanosets::{start_merge, start_merge_dry, start_windows, start_windows_dry, FilesReport};
use crate::model::text::{bytes, count, display_safe};
use crate::model::Outcome;
use args::{MergeArgs, MergeShuffle, NanosetsCommand, ShuffleArgs};
use serde_json::json;
use std::path::PathBuf;

/// Merges or shuffles.
pub fn run(args: NanosetsArgs, context: &Context) -> Finished {
    match args.command {
        NanosetsCommand::Merge(args) => merge(args, context),
        NanosetsCommand::Shuffle(args) => shuffle(&args, context),
    }
}

/// The folder that is read and the one that is written.
fn folders(dir: &std::path::Path, output: &std::path::Path) -> Outcome<(PathBuf, PathBuf)> {
    Ok((paths::local(dir)?.into(), paths::local(output)?.into()))
}

fn merge(args: MergeArgs, context: &Context) -> Finished {
    let (input, output) = folders(&args.dir, &args.output)?;
    let plan = MergePlan {
        input,
        name: args.name,
        seed: (args.shuffle == MergeShuffle::Documents).then_some(args.seed),
        chunk: args.chunk_size,
        max_tokens_per_file: args.max_tokens_per_file,
        max_tokens: args.max_tokens,
    };
    let start = if context.globals.dry_run { start_merge_dry } else { start_merge };
    let task = start(plan.clone(), &output, args.force_overwrite, context.run_options())?;
    let report = follow(task, Some("merging"), context)?;
    let unit = if plan.chunk.is_some() { "chunk" } else { "document" };
    told(&report, ("Merged", "merge"), unit, json!(plan), context)
}

fn shuffle(args: &ShuffleArgs, context: &Context) -> Finished {
    let (input, output) = folders(&args.dir, &args.output)?;
    let plan = WindowsPlan { input, window: args.window, seed: args.seed };
    let start = if context.globals.dry_run { start_windows_dry } else { start_windows };
    let task = start(plan.clone(), &output, args.force_overwrite, context.run_options())?;
    let report = follow(task, Some("shuffling"), context)?;
    told(&report, ("Shuffled", "shuffle"), "window", json!(plan), context)
}

/// Prints what was done, or would be.
fn told(
    report: &FilesReport,
    (done, would): (&str, &str),
    unit: &str,
    plan: serde_json::Value,
    context: &Context,
) -> Finished {
    tell(&report.problems, &report.counts, context);
    let what = format!(
        "{} with {} of {}",
        count(report.units, unit),
        count(report.tokens, "token"),
        count(report.inputs, "file")
    );
    let output = display_safe(&report.output.to_string_lossy()).into_owned();
    if context.globals.dry_run {
        context.printer.say(format!("Would {would} {what} into {output}. Nothing was written."));
    } else {
        let size = bytes(report.files.iter().map(|file| file.bytes).sum());
        let files = count(report.files.len() as u64, "file");
        context.printer.say(format!("{} {what} into {output}: {files}, {size}.", paint(Look::Good, done)));
    }
    if report.left_tokens > 0 {
        context.printer.say(format!("{} were left out.", count(report.left_tokens, "token")));
    }
    let mut result = fields(report);
    result.insert("plan".into(), plan);
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if context.globals.dry_run {
        result.insert("dry_run".into(), json!(true));
    }
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}
