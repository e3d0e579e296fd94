//! `index`: raw indexes of Modalities, plain indexes of Forager.

use super::context::Context;
use super::end::{fields, Done, Finished};
use super::prepare::summary;
use super::printer::{paint, Look};
use super::task::{follow, tell};
use crate::engine::plan::shell_quote;
use crate::formats::forager::INDEX_FOLDER;
use crate::job::index::{start_forager, start_raw, ExistingFile, ForagerIndexPlan, IndexReport, RawIndexPlan};
use crate::model::text::{bytes, count, display_safe, duration};
use crate::model::{Failure, Outcome, Subject};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What is indexed, and for whom.
#[derive(Args, Clone, Debug)]
pub struct IndexArgs {
    /// Modalities: a .jsonl file; Forager: the folder that holds them
    path: PathBuf,
    /// Whose index
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Modalities: where the index goes [default: beside the file, its last suffix replaced by .idx]
    #[arg(long, alias = "index_path", value_name = "FILE")]
    index_path: Option<PathBuf>,
    /// Modalities: what becomes of an index that is there
    #[arg(long, alias = "file_existence_policy", value_name = "POLICY")]
    file_existence_policy: Option<Policy>,
    /// Modalities: leave out lines that are no JSON, in place of refusing the file
    #[arg(long, overrides_with = "skip_bad_lines")]
    skip_bad_lines: bool,
    /// Forager: name of the index's folder [default: index]
    #[arg(long, value_name = "NAME")]
    index_folder: Option<String>,
}

/// Whose index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One .idx beside a file; every line is checked
    Modalities,
    /// One index/ for a folder; every line is a sample as it is
    Forager,
}

/// What becomes of an index that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// It stays, and the run is refused
    Error,
    /// It stays, and nothing is done
    Skip,
    /// It is replaced
    Override,
}

impl From<Policy> for ExistingFile {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Error => Self::Error,
            Policy::Skip => Self::Skip,
            Policy::Override => Self::Override,
        }
    }
}

/// Makes an index.
pub fn run(args: &IndexArgs, context: &Context) -> Finished {
    refuse_flags(args, context)?;
    let path = super::paths::local(&args.path)?;
    let (is_dry, options) = (context.globals.dry_run, context.run_options());
    let task = match args.format {
        Format::Modalities => {
            if Path::new(&path).is_dir() {
                return Err(Failure::usage("indexing", "it is a folder, and here every file has an index of its own")
                    .on(Subject::path(&path))
                    .with_hint("name one .jsonl file")
                    .into());
            }
            let plan = RawIndexPlan {
                index: args.index_path.clone(),
                existing: args.file_existence_policy.map_or(ExistingFile::Error, Into::into),
                skip_bad_lines: args.skip_bad_lines,
                is_dry,
                ..RawIndexPlan::new(&path)
            };
            start_raw(plan, options)?
        }
        Format::Forager => {
            let index_folder = args.index_folder.clone().unwrap_or_else(|| INDEX_FOLDER.to_owned());
            start_forager(ForagerIndexPlan { index_folder, is_dry, ..ForagerIndexPlan::new(&path) }, options)?
        }
    };
    let report = follow(task, Some("indexing"), context)?;
    tell(&report.problems, &report.counts, context);
    for line in lines(&path, &report, is_dry) {
        if is_dry {
            context.printer.line(line);
        } else {
            context.printer.say(line);
        }
    }
    let mut result = fields(&report);
    result.insert("path".into(), json!(path));
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if is_dry {
        result.insert("dry_run".into(), json!(true));
    }
    result.insert("equivalent_command".into(), json!(command(args)));
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

/// Makes the index of a file for Modalities, under the other program's name.
pub fn raw(path: PathBuf, index_path: Option<PathBuf>, existing: ExistingFile, context: &Context) -> Finished {
    let policy = match existing {
        ExistingFile::Error => Policy::Error,
        ExistingFile::Skip => Policy::Skip,
        ExistingFile::Override => Policy::Override,
    };
    let args = IndexArgs {
        path,
        format: Format::Modalities,
        index_path,
        file_existence_policy: Some(policy),
        skip_bad_lines: false,
        index_folder: None,
    };
    run(&args, context)
}

/// Refuses flags that mean nothing for the format.
fn refuse_flags(args: &IndexArgs, context: &Context) -> Outcome<()> {
    let refuse = |flag: &str, why: &str| Err(Failure::usage("indexing", why).on(Subject::field(flag)));
    let of_modalities = [
        (args.index_path.is_some(), "--index-path"),
        (args.file_existence_policy.is_some(), "--file-existence-policy"),
        (args.skip_bad_lines, "--skip-bad-lines"),
    ];
    if context.globals.save_plan.is_some() {
        return refuse("--save-plan", "the flags of index are all there is to it; it has no plan");
    }
    match args.format {
        Format::Forager => match of_modalities.iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => refuse(flag, "it means nothing for an index of Forager"),
            None => Ok(()),
        },
        Format::Modalities if args.index_folder.is_some() => {
            refuse("--index-folder", "it means nothing for an index of Modalities")
        }
        Format::Modalities if args.skip_bad_lines && context.globals.compat => {
            refuse("--skip-bad-lines", "the reference program, which --compat asks for, refuses such files")
        }
        Format::Modalities => Ok(()),
    }
}

fn command(args: &IndexArgs) -> String {
    let word = |value: &dyn ValueName| value.name();
    let mut command =
        format!("gristmill index {} --format {}", shell_quote(&args.path.to_string_lossy()), word(&args.format));
    if let Some(path) = &args.index_path {
        command.push_str(&format!(" --index-path {}", shell_quote(&path.to_string_lossy())));
    }
    if let Some(policy) = &args.file_existence_policy {
        command.push_str(&format!(" --file-existence-policy {}", word(policy)));
    }
    if args.skip_bad_lines {
        command.push_str(" --skip-bad-lines");
    }
    if let Some(name) = &args.index_folder {
        command.push_str(&format!(" --index-folder {}", shell_quote(name)));
    }
    command
}

/// The word of a flag's value.
trait ValueName {
    fn name(&self) -> String;
}

impl<T: ValueEnum> ValueName for T {
    fn name(&self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn lines(path: &str, report: &IndexReport, is_dry: bool) -> Vec<String> {
    let index = report.index.to_string_lossy();
    let (path, index) = (display_safe(path), display_safe(&index));
    if report.left_alone {
        return vec![format!("{} {index} is there and was left alone.", paint(Look::Good, "Nothing to do."))];
    }
    let mut what = format!("{}, {}", count(report.samples, "sample"), bytes(report.bytes));
    if report.format == "forager" {
        what.push_str(&format!(" in {}", count(report.files, "file")));
    }
    let written: Vec<String> = report
        .written
        .iter()
        .map(|file| {
            let how = if file.replaces { ", replacing an older one" } else { "" };
            format!("{} ({}{how})", display_safe(&file.name), bytes(file.bytes))
        })
        .collect();
    if is_dry {
        return vec![
            format!("Would index {path}: {what}. Nothing was written."),
            format!("Would be written: {index}: {}", written.join(", ")),
        ];
    }
    let done = paint(Look::Good, &format!("Indexed {path}"));
    let mut lines = vec![
        format!("{done}: {what}, took {}.", duration(report.elapsed)),
        format!("Written: {index}: {}", written.join(", ")),
    ];
    if report.skipped_lines > 0 {
        lines.push(format!("Left out: {} that are no JSON.", count(report.skipped_lines, "line")));
    }
    lines.extend(summary::count_lines(&report.counts));
    lines
}
