//! Merges token files, and shuffles their windows.

use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::file_set::{absolute, check_space, names_there, publish, PreviousOutput, FOLDER_MODE};
use crate::job::files_report::FilesReport;
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use crate::tokens::formats::nanosets::engine::merge::inputs;
use crate::tokens::formats::nanosets::engine::{
    listing, merge, shuffle_windows, FinishedTokenFile, MergePlan, WindowsPlan,
};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::nanosets::names::merged_total;
use gristmill_storage::files;
use std::path::Path;

/// Refuses an output folder that is the input folder, because readers could not distinguish new files from old ones.
fn refuse_same_folder(what: &str, input: &Path, output: &Path) -> Outcome<()> {
    let is_same = matches!((files::canonicalize(input), files::canonicalize(output)), (Ok(a), Ok(b)) if a == b);
    if is_same {
        let failure = Failure::usage(what, "the output is the folder that is read");
        return Err(failure.on(Subject::path(output)).with_hint("--output with another folder"));
    }
    Ok(())
}

/// Whether a file belongs to a merge with the name `name`: `000_NAME.ds`, its companion files, and the total.
fn is_of_merge(file: &str, name: &str) -> bool {
    if file == merged_total(name) {
        return true;
    }
    let Some((number, rest)) = file.split_once('_') else { return false };
    let ends = [".ds", ".ds.index", ".ds.metadata", ".ds.loss"];
    let is_numbered = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_numbered && rest.strip_prefix(name).is_some_and(|end| ends.contains(&end))
}

/// Merges the token files of a folder. Without `is_written`, determines the result of the merge. Refuses to overwrite a merge with the same
/// name unless the plan allows it, in which case all of its files are removed.
pub(crate) fn run_merge(plan: &MergePlan, is_written: bool, context: &TaskContext) -> Outcome<FilesReport> {
    const ACTIVITY: &str = "merging";
    if plan.name.is_empty() || plan.name.contains(['/', '\0', '\n']) {
        return Err(Failure::usage(ACTIVITY, "it is not a valid file name").on(Subject::field("--name")));
    }
    context.phase_of(Phase::Open, "input file", "looking at the token files");
    let output = &absolute(&plan.output)?;
    refuse_same_folder(ACTIVITY, &plan.input, output)?;
    let old = names_there(output, |file| is_of_merge(file, &plan.name))?;
    let before = PreviousOutput { what: ACTIVITY, output: output.clone(), names: old, overwrite: plan.overwrite };
    // The number of files of a merge is only known after it was made. An existing merge without its total is incomplete.
    let total = output.join(merged_total(&plan.name));
    if before.is_kept() && !files::is_file(&total) {
        return Err(before.refusal());
    }
    let found = inputs(plan, &context.handles())?;
    let size = found.token_size.bytes();
    let all: u64 = found.files.iter().map(|file| file.bytes / size).sum();
    let mut report = FilesReport {
        output: output.clone(),
        inputs: found.files.len() as u64,
        tokens: if plan.max_tokens > 0 { all.min(plan.max_tokens) } else { all },
        units: found.units.iter().sum(),
        unit: if plan.chunk.is_some() { "chunk" } else { "document" },
        verbs: ("Merged", "merge"),
        token_bytes: size,
        ..FilesReport::default()
    };
    if is_written {
        check_space(ACTIVITY, output, report.tokens * size)?;
        let fs = &*context.fs;
        fs.create_folders(output.parent().unwrap_or(Path::new("/")), FOLDER_MODE)?;
        let place = ExclusiveOutput::create(fs, output, &context.options)?;
        context.phase_of(Phase::Scan, "document", "merging");
        let memory = context.options.memory_bytes;
        let done = merge::merge(plan, &found, (fs, &place.run_folder.work_folder()), memory, &context.handles())?;
        report.tokens = done.total.tokens;
        report.units = done.units;
        report.left_tokens = done.left_tokens;
        context.phase_of(Phase::Publish, "output file", "making the result visible");
        let is_published = publish(context, &place, &before, |publication, mode| {
            // The files of the new merge replace old ones; further old ones are removed.
            let new: Vec<String> = done.files.iter().flat_map(FinishedTokenFile::files).map(|(name, _)| name).collect();
            for name in before.names.iter().filter(|name| !new.contains(name) && output.join(name) != total) {
                publication.remove(&output.join(name))?;
            }
            done.files.iter().try_for_each(|made| made.stage(publication, output, mode))?;
            publication.stage_bytes(&total, done.total.to_text().as_bytes(), mode)?;
            Ok(total.clone())
        })?;
        report.nothing_to_do = !is_published;
        let total = (merged_total(&plan.name), done.total.to_text().len() as u64);
        report.files = outputs(done.files.iter().flat_map(FinishedTokenFile::files).chain([total]), &before.names);
    } else {
        before.report_kept(context)?;
    }
    report.findings = context.run_findings();
    Ok(report)
}

/// Shuffles the windows of each token file of a folder. Without `is_written`, determines the result. Refuses to overwrite files with the
/// same names unless the plan allows it.
pub(crate) fn run_windows(plan: &WindowsPlan, is_written: bool, context: &TaskContext) -> Outcome<FilesReport> {
    const ACTIVITY: &str = "shuffling windows";
    context.phase_of(Phase::Open, "input file", "looking at the token files");
    let output = &absolute(&plan.output)?;
    refuse_same_folder(ACTIVITY, &plan.input, output)?;
    // Problems of the files are reported when they are shuffled.
    let quiet = gristmill_core::ProblemLog::default();
    let found = listing::files(&plan.input, &quiet)?;
    let old = names_there(output, |name| found.iter().any(|file| file.name == name))?;
    let windows = |file: &listing::TokenFile| file.tokens.checked_div(plan.window).unwrap_or(0);
    let units: u64 = found.iter().map(windows).sum();
    let bytes =
        |file: &listing::TokenFile| windows(file) * plan.window * file.bytes.checked_div(file.tokens).unwrap_or(0);
    let files: Vec<(String, u64)> = found.iter().map(|file| (file.name.clone(), bytes(file))).collect();
    let before = PreviousOutput { what: ACTIVITY, output: output.clone(), names: old, overwrite: plan.overwrite };
    before.refuse_others(&files)?;
    let mut report = FilesReport {
        output: output.clone(),
        inputs: found.len() as u64,
        files: outputs(files.into_iter(), &before.names),
        tokens: units * plan.window,
        units,
        unit: "window",
        verbs: ("Shuffled", "shuffle"),
        left_tokens: found.iter().map(|file| file.tokens - windows(file) * plan.window).sum(),
        token_bytes: found.first().and_then(|file| file.metadata.as_ref()).map_or(2, |m| m.token_size.bytes()),
        ..FilesReport::default()
    };
    if is_written {
        check_space(ACTIVITY, output, report.files.iter().map(|file| file.bytes).sum())?;
        let fs = &*context.fs;
        fs.create_folders(output.parent().unwrap_or(Path::new("/")), FOLDER_MODE)?;
        let place = ExclusiveOutput::create(fs, output, &context.options)?;
        context.phase_of(Phase::Scan, "window", "shuffling windows");
        let (made, dropped) = shuffle_windows(plan, (fs, &place.run_folder.work_folder()), &context.handles())?;
        report.tokens = made.iter().map(|made| made.tokens).sum();
        report.left_tokens = dropped;
        report.files = outputs(made.iter().flat_map(FinishedTokenFile::files), &before.names);
        context.phase_of(Phase::Publish, "output file", "making the result visible");
        let is_published = publish(context, &place, &before, |publication, mode| {
            made.iter().try_for_each(|made| made.stage(publication, output, mode))?;
            Ok(output.join(made.last().map(|made| made.name.as_str()).unwrap_or_default()))
        })?;
        report.nothing_to_do = !is_published;
    } else if plan.window == 0 {
        return Err(Failure::usage(ACTIVITY, "a window has at least one token").on(Subject::field("--window")));
    } else {
        before.report_kept(context)?;
    }
    report.findings = context.run_findings();
    Ok(report)
}

fn outputs(files: impl Iterator<Item = (String, u64)>, old: &[String]) -> Vec<OutputFile> {
    files.map(|(name, bytes)| OutputFile { replaces: old.contains(&name), name, bytes }).collect()
}
