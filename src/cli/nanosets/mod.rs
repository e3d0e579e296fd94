//! Token folders on the command line: `nanosets merge`, `nanosets shuffle`, and `info`, `lint`, `verify` of one.

mod args;
pub mod check;

pub use args::NanosetsArgs;

use super::context::Context;
use super::exit::{fields, Done, Finished};
use super::paths;
use super::prepare::{self, summary};
use super::printer::{paint, Tone};
use super::task::{follow, report_earlier_problems, tell};
use args::{MergeArgs, MergeShuffle, NanosetsCommand, ShuffleArgs};
use gristmill_core::text::{bytes, count, count_verb, display_safe};
use gristmill_core::Outcome;
use gristmill_ops::engine::nanosets::{MergePlan, WindowsPlan};
use gristmill_ops::engine::plan::{file, CommandLine};
use gristmill_ops::job::nanosets::{start_merge, start_merge_dry, start_windows, start_windows_dry, FilesReport};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Merges or shuffles.
pub fn run(args: NanosetsArgs, context: &Context) -> Finished {
    match args.command {
        NanosetsCommand::Merge(args) => merge(merge_plan(args)?, context),
        NanosetsCommand::Shuffle(args) => shuffle(windows_plan(&args)?, context),
    }
}

fn merge_plan(args: MergeArgs) -> Outcome<MergePlan> {
    Ok(MergePlan {
        seed: (args.shuffle == MergeShuffle::Documents).then_some(args.seed),
        chunk: args.chunk_size,
        max_tokens_per_file: args.max_tokens_per_file,
        max_tokens: args.max_tokens,
        overwrite: args.force_overwrite,
        ..MergePlan::new(paths::local(&args.dir)?, paths::local(&args.output)?, args.name)
    })
}

fn windows_plan(args: &ShuffleArgs) -> Outcome<WindowsPlan> {
    let (input, output) = (paths::local(&args.dir)?, paths::local(&args.output)?);
    Ok(WindowsPlan { overwrite: args.force_overwrite, ..WindowsPlan::new(input, output, args.window, args.seed) })
}

/// Merges as a plan says.
pub fn merge(plan: MergePlan, context: &Context) -> Finished {
    if let Some(path) = &context.globals.save_plan {
        let [input, output] = absolute_both(&plan.input, &plan.output)?;
        save(path, &file::merge_to_yaml(&MergePlan { input, output, ..plan.clone() })?, context)?;
    }
    let start = if context.globals.dry_run { start_merge_dry } else { start_merge };
    let report = follow(start(plan.clone(), context.run_options())?, Some("merging"), context)?;
    let unit = if plan.chunk.is_some() { "chunk" } else { "document" };
    let command = CommandLine::of_merge(&plan).text();
    told(&report, ("Merged", "merge"), unit, (json!(plan), command), context)
}

/// Shuffles windows as a plan says.
pub fn shuffle(plan: WindowsPlan, context: &Context) -> Finished {
    if let Some(path) = &context.globals.save_plan {
        let [input, output] = absolute_both(&plan.input, &plan.output)?;
        save(path, &file::windows_to_yaml(&WindowsPlan { input, output, ..plan.clone() })?, context)?;
    }
    let start = if context.globals.dry_run { start_windows_dry } else { start_windows };
    let report = follow(start(plan.clone(), context.run_options())?, Some("shuffling"), context)?;
    let command = CommandLine::of_windows(&plan).text();
    told(&report, ("Shuffled", "shuffle"), "window", (json!(plan), command), context)
}

/// Paths as a plan holds them that may be replayed from another folder.
fn absolute_both(input: &Path, output: &Path) -> Outcome<[PathBuf; 2]> {
    let absolute = |path: &Path| prepare::absolute(&path.to_string_lossy()).map(PathBuf::from);
    Ok([absolute(input)?, absolute(output)?])
}

/// Writes a plan for `gristmill run`.
pub fn save(path: &Path, yaml: &str, context: &Context) -> Outcome<()> {
    prepare::write_plan(path, yaml)?;
    context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    Ok(())
}

/// Prints what was done, or would be.
fn told(
    report: &FilesReport,
    (done, would): (&str, &str),
    unit: &str,
    (plan, command): (serde_json::Value, String),
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
    } else if report.nothing_to_do {
        let nothing = paint(Tone::Good, "Nothing to do.");
        context.printer.say(format!("{nothing} {output} holds the same files already: {what}."));
    } else {
        let size = bytes(report.files.iter().map(|file| file.bytes).sum());
        let files = count(report.files.len() as u64, "file");
        context.printer.say(format!("{} {what} into {output}: {files}, {size}.", paint(Tone::Good, done)));
    }
    if report.left_tokens > 0 {
        context.printer.say(format!("{} left out.", count_verb(report.left_tokens, "token", "was", "were")));
    }
    let mut result = fields(report);
    result.insert("plan".into(), plan);
    result.insert("equivalent_command".into(), json!(command));
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if context.globals.dry_run {
        result.insert("dry_run".into(), json!(true));
    } else if report.nothing_to_do {
        report_earlier_problems(&report.problems, &report.counts, context, &mut result);
    }
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}
