//! `index`: raw indexes of Modalities, plain indexes of Forager.

use super::context::Context;
use super::exit::{fields, Done, Finished, Stopped};
use super::prepare::summary;
use super::printer::{paint, Tone};
use super::task::{follow, print_findings};
use clap::{Args, ValueEnum};
use gristmill_core::text::{agree, bytes, count, display_safe, duration};
use gristmill_core::{ExitClass, Failure, Outcome, PackFormat, Problem, ProblemKind, Severity, Subject};
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::formats::forager::INDEX_FOLDER;
use gristmill_ops::job::index::{start_forager, start_raw, ExistingFile, ForagerIndexPlan, IndexReport, RawIndexPlan};
use gristmill_ops::job::task::Task;
use gristmill_ops::source::text::{list, Selection};
use serde_json::{json, Map, Value};
use std::path::{Path, PathBuf};

/// What is indexed, and for whom.
#[derive(Args, Clone, Debug)]
pub struct IndexArgs {
    /// Modalities: .jsonl files, or folders with them; Forager: the folder that holds them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Whose index
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Modalities: where the index goes [default: next to the file, its last suffix replaced by .idx]
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

/// Makes an index, or one for each file.
pub fn run(args: &IndexArgs, context: &Context) -> Finished {
    refuse_flags(args, context)?;
    let named = args.paths.iter().map(|path| super::paths::local(path)).collect::<Outcome<Vec<_>>>()?;
    let mut done = match (args.format, named.as_slice()) {
        (Format::Forager, [folder]) => {
            let index_folder = args.index_folder.clone().unwrap_or_else(|| INDEX_FOLDER.to_owned());
            let plan =
                ForagerIndexPlan { index_folder, is_dry: context.globals.dry_run, ..ForagerIndexPlan::new(folder) };
            told(folder, start_forager(plan, context.run_options())?, context)?
        }
        (Format::Modalities, [file]) if !Path::new(file).is_dir() => raw_one(file, args, context)?,
        (Format::Modalities, _) => each(&named, args, context)?,
        (Format::Forager, _) => {
            return Err(Failure::usage("indexing", "an index of Forager is for one folder").into());
        }
    };
    done.result.insert("equivalent_command".into(), json!(command(args)));
    Ok(done)
}

/// Makes one raw index for each file. A refused file does not prevent the others.
fn each(named: &[String], args: &IndexArgs, context: &Context) -> Finished {
    if args.index_path.is_some() {
        let failure = Failure::usage("indexing", "it names one index, and there may be several files");
        let hint = "without it each index is next to its file";
        return Err(failure.on(Subject::field("--index-path")).with_hint(hint).into());
    }
    let inputs: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
    let cancel = context.signals.listen();
    let selection = Selection { follows_reference: true, ..Selection::default() };
    let listing = list(&inputs, selection, PackFormat::Modalities, &cancel)?;
    for problem in &listing.problems {
        context.printer.problem(problem);
    }
    let mut findings: Vec<(Severity, ProblemKind)> = listing.problems.iter().map(|p| (p.severity, p.kind)).collect();
    let (mut indexes, mut failures) = (Vec::new(), Vec::new());
    for file in listing.files {
        let path = file.path.to_string_lossy().into_owned();
        if !file.packing.is_plain() {
            let why = "it is compressed, and a raw index is for plain text";
            let problem = Problem::note(ProblemKind::Other, Subject::path(&file.path), why);
            context.printer.problem(&problem);
            continue;
        }
        match raw_one(&path, args, context) {
            Ok(done) => {
                findings.extend(done.kinds.iter().map(|kind| (Severity::Problem, *kind)));
                indexes.push(Value::Object(done.result));
            }
            Err(stopped) if stopped.failures.iter().all(|failure| failure.class == ExitClass::Data) => {
                failures.extend(stopped.failures);
            }
            Err(stopped) => return Err(stopped),
        }
    }
    let result = Map::from_iter([("indexes".to_owned(), json!(indexes))]);
    if failures.is_empty() {
        return Ok(Done::with_findings(result, findings));
    }
    Err(Stopped { failures, result })
}

/// Makes the raw index of one file.
fn raw_one(path: &str, args: &IndexArgs, context: &Context) -> Finished {
    let plan = RawIndexPlan {
        index: args.index_path.clone(),
        existing: args.file_existence_policy.map_or(ExistingFile::Error, Into::into),
        skip_bad_lines: args.skip_bad_lines,
        is_dry: context.globals.dry_run,
        ..RawIndexPlan::new(path)
    };
    told(path, start_raw(plan, context.run_options())?, context)
}

/// Waits for an index, and prints its facts.
fn told(path: &str, task: Task<IndexReport>, context: &Context) -> Finished {
    let is_dry = context.globals.dry_run;
    let report = follow(task, Some("indexing"), context)?;
    print_findings(&report.problems, &report.counts, context);
    for line in lines(path, &report, is_dry) {
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
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

/// Makes the index of a file for Modalities, for the command line of the reference program.
pub fn raw(path: PathBuf, index_path: Option<PathBuf>, existing: ExistingFile, context: &Context) -> Finished {
    let policy = match existing {
        ExistingFile::Error => Policy::Error,
        ExistingFile::Skip => Policy::Skip,
        ExistingFile::Override => Policy::Override,
    };
    let args = IndexArgs {
        paths: vec![path],
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
    let paths: Vec<String> = args.paths.iter().map(|path| shell_quote(&path.to_string_lossy())).collect();
    let mut command = format!("gristmill index {} --format {}", paths.join(" "), word(&args.format));
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

/// Returns the word for a flag's value.
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
        return vec![format!("{} {index} is there and was left alone.", paint(Tone::Good, "Nothing to do."))];
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
    let done = paint(Tone::Good, &format!("Indexed {path}"));
    let mut lines = vec![
        format!("{done}: {what}, took {}.", duration(report.elapsed)),
        format!("Written: {index}: {}", written.join(", ")),
    ];
    if report.skipped_lines > 0 {
        lines.push(format!(
            "Left out: {} that {} not JSON.",
            count(report.skipped_lines, "line"),
            agree(report.skipped_lines, "is", "are")
        ));
    }
    lines.extend(summary::count_lines(&report.counts));
    lines
}
