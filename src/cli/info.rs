//! `info`: the content of a prepared data set.

use super::context::Context;
use super::exit::{fields, Done, Finished};
use super::facts::{head, item, print_facts, title};
use super::media::spread_lines;
use super::printer::{paint, Tone};
use super::{jsonl, kinds, mix, modalities, outputs, paths, tables, tokens};
use gristmill_core::text::{count, display_safe, grouped, size};
use gristmill_core::{DatasetKind, Handles, ProblemLog, Progress};
use gristmill_data::source::discover::is_shard_file;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::check::{info, media_folder_info, InfoOptions, InfoReport, SplitInfo};
use gristmill_ops::engine::modalities::check::is_raw_index;
use gristmill_ops::job::check::run_single_shard;
use gristmill_ops::job::recover::before_looking;
use std::path::Path;

/// Maximum number of names listed, of unassigned shards and of parts of one shard.
const MAX_LISTED_NAMES: usize = 10;

/// Prints the content of a data set of any kind; `sequence_length` determines the windows of a folder of token files.
pub fn of_any(path: &Path, sequence_length: Option<u64>, context: &Context) -> Finished {
    if sequence_length.is_some() {
        let path = paths::local(path)?;
        return match kind_of(Path::new(&path)).ok().and_then(DatasetKind::tokens) {
            Some(kind) => tokens::info(&path, kind, sequence_length, context),
            None => Err(tokens::no_windows(&path).into()),
        };
    }
    run(path, None, "dataset.yaml", context)
}

/// Prints the content of a prepared data set. `split_config` replaces `split.yaml`.
pub fn run(path: &Path, split_config: Option<&str>, dataset_config: &str, context: &Context) -> Finished {
    let path = paths::local(path)?;
    match kind_of(Path::new(&path)) {
        Ok(DatasetKind::Jsonl) => return jsonl::info(&path, context),
        Ok(DatasetKind::Metadataset) => return mix::check(&path, context),
        Ok(DatasetKind::Tokens(kind)) => return tokens::info(&path, kind, None, context),
        Ok(kind @ (DatasetKind::Table(_) | DatasetKind::TableFolder(_))) => return tables::info(&path, kind, context),
        Ok(kind @ (DatasetKind::PackedFormats | DatasetKind::MixtureIndex)) => {
            return outputs::info(&path, kind, context);
        }
        _ if is_raw_index(Path::new(&path)) => return modalities::check::info(&path, context),
        _ if is_shard_file(Path::new(&path)) => return single_shard(&path, context),
        _ => {}
    }
    kinds::only_folders(&path)?;
    let finished = ProblemLog::default();
    before_looking(Path::new(&path), &finished)?;
    for note in finished.to_vec() {
        context.printer.problem(&note);
    }
    if kind_of(Path::new(&path))? == DatasetKind::Filesystem {
        return media_folder(&path, context);
    }
    let options =
        InfoOptions { dataset_config: dataset_config.to_owned(), split_config: split_config.map(str::to_owned) };
    let report = info(Path::new(&path), &options)?;
    for line in lines(&report) {
        context.printer.line(line);
    }
    for problem in &report.problems {
        context.printer.problem(problem);
    }
    let findings: Vec<_> = report.problems.iter().map(|p| (p.severity, p.kind)).collect();
    Ok(Done::with_findings(fields(&report), findings))
}

/// Prints the content of a single shard, and its problems.
fn single_shard(path: &str, context: &Context) -> Finished {
    let cancel = context.signals.listen();
    let (progress, log) = (Progress::default(), ProblemLog::new(context.globals.strict));
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let info = run_single_shard(Path::new(path), &context.run_options(), &handles)?.unwrap_or_default();
    let mut lines = head(path, "one tar shard, not prepared");
    lines.push(item("samples", &grouped(info.samples)));
    lines.push(item("size", &size(info.bytes)));
    lines.push(format!("- {}:", paint(Tone::Strong, "parts")));
    lines.extend(info.parts.iter().take(MAX_LISTED_NAMES).map(|(name, part)| {
        format!("  - {}: in {}, {}", display_safe(name), count(part.samples, "sample"), size(part.bytes))
    }));
    if let Some(more) = info.parts.len().checked_sub(MAX_LISTED_NAMES).filter(|more| *more > 0) {
        lines.push(format!("  … and {more} more"));
    }
    Ok(print_facts((path, DatasetKind::RawWebDataset), lines, &log.to_vec(), fields(&info), context))
}

/// Prints the content of a folder of media.
fn media_folder(path: &str, context: &Context) -> Finished {
    let report = media_folder_info(Path::new(path))?;
    let mut lines = head(&report.path, "folder of media");
    lines.push(item("database", &size(report.database_bytes)));
    lines.extend(spread_lines(&report.media));
    for line in lines {
        context.printer.line(line);
    }
    Ok(Done::ok(fields(&report)))
}

fn lines(report: &InfoReport) -> Vec<String> {
    let mut lines = vec![
        title(&report.name),
        String::new(),
        item("path", &report.path),
        item("samples", &grouped(report.samples)),
        item("total shard size", &size(report.bytes)),
        item("shards", &grouped(report.shards)),
        item("version", report.version.as_deref().unwrap_or("not given")),
        item("sample type", &sample_type(report)),
    ];
    if let Some(fields) = &report.field_map {
        let fields: Vec<String> = fields.iter().map(|field| format!("{} = {}", field.field, field.expr)).collect();
        lines.push(item("field map", &fields.join("; ")));
    }
    if let Some(loader) = &report.sample_loader {
        lines.push(item("sample loader", loader));
    }
    lines.push(item("access by name", if report.has_sample_tables { "yes" } else { "no: index.sqlite is missing" }));
    lines.extend(report.media.iter().flat_map(spread_lines));
    if report.excluded_shards + report.excluded_samples > 0 {
        let shards = count(report.excluded_shards, "shard");
        lines.push(item("excluded", &format!("{shards}, {}", count(report.excluded_samples, "sample"))));
    }
    lines.push(format!("- {}:", paint(Tone::Strong, "splits")));
    lines.extend(report.splits.iter().map(split));
    if !report.unassigned.is_empty() {
        let mut names = report.unassigned.iter().take(MAX_LISTED_NAMES).cloned().collect::<Vec<_>>().join(", ");
        if report.unassigned.len() > MAX_LISTED_NAMES {
            names.push_str(", …");
        }
        lines.push(item("in no split", &format!("{} ({names})", count(report.unassigned.len() as u64, "shard"))));
    }
    lines
}

fn sample_type(report: &InfoReport) -> String {
    match (&report.sample_type, &report.sample_module) {
        (None, _) => "none: there is no dataset yaml".to_owned(),
        (Some(class), Some(module)) if !module.starts_with("megatron.energon") => format!("{module}:{class}"),
        (Some(class), _) if report.is_crude => format!("{class} (samples as plain maps of parts)"),
        (Some(class), _) => class.clone(),
    }
}

fn split(split: &SplitInfo) -> String {
    let share = format!("{:.0}", split.share * 100.0);
    let mut line = format!(
        "  - {}: {share} %, {}, {}, {}",
        paint(Tone::Strong, &display_safe(&split.name)),
        count(split.samples, "sample"),
        count(split.shards, "shard"),
        size(split.bytes)
    );
    if split.unknown_shards > 0 {
        line.push_str(&format!(", {} that the index does not have", count(split.unknown_shards, "shard")));
    }
    line
}
