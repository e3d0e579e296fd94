//! Determines the kinds of inputs, and lists their samples.

mod files;
mod keys;
mod prepared;
mod rows;
mod tars;
pub(super) use rows::{image_of, EXTENSION};
#[cfg(test)]
mod tests;

use super::sample::{SampleSink, SourceContext};
use gristmill_core::shard_plan::{InputKind, KeyRule, Missing};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, ShardPlan, Subject};
use gristmill_data::source::discover::{is_like_shard, shard_range};
use gristmill_data::source::documents::{is_no_data, table_kind, InputRules, Packing};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::files::metadata;
use gristmill_storage::remote::is_hub_url;
use gristmill_storage::walk::Walk;
use std::io::ErrorKind;
use std::path::Path;

/// Value of `--key` for row numbers.
pub(super) const NUMBER: &str = "number";
const ACTIVITY: &str = "looking for samples";

/// Divides the name of a loose file into key and part.
pub(super) fn divide_name(name: &str, rule: KeyRule) -> Option<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    keys::divide(name.as_bytes(), rule).map(|(key, part)| (text(&key), text(part)))
}

/// Returns how each input is read.
///
/// # Errors
/// An input cannot be read, or an answer applies to no input.
pub(super) fn kinds_of(plan: &ShardPlan, problems: &dyn ProblemSink) -> Outcome<Vec<InputKind>> {
    let kinds = plan.inputs.iter().map(|input| kind_of(input, plan.read_as, problems));
    let kinds = kinds.collect::<Outcome<Vec<InputKind>>>()?;
    refuse_unused(plan, &kinds)?;
    Ok(kinds)
}

/// Returns how an input is read.
fn kind_of(input: &Path, read_as: InputKind, problems: &dyn ProblemSink) -> Outcome<InputKind> {
    let info = match metadata(input) {
        Ok(info) => info,
        Err(error) => {
            let range = match shard_range(input) {
                Err(failure) if error.kind() == ErrorKind::NotFound => return Err(failure),
                range => range.ok().flatten().map(|_| InputKind::Tars),
            };
            return range.ok_or_else(|| Failure::io(ACTIVITY, input, &error));
        }
    };
    if read_as != InputKind::Auto {
        return Ok(read_as);
    }
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    if info.is_dir() {
        return kind_of_folder(input, problems);
    }
    if is_like_shard(input.file_name().unwrap_or_default()) {
        return Ok(InputKind::Tars);
    }
    // Among other files, one that ends in .json is a part.
    let is_json = || Packing::strip_suffix(&name).to_lowercase().ends_with(".json");
    match has_rows(&name) || is_json() {
        true => Ok(InputKind::Rows),
        false => Err(Failure::usage(ACTIVITY, "its name is not that of a shard or of a file of rows")
            .on(Subject::path(input))
            .with_hint(
                "give a folder, a .tar, or a .jsonl, .ndjson, .json, .csv, .tsv, .parquet or .arrow file; --as decides how it is read",
            )),
    }
}

/// Whether a file with this name has rows.
fn has_rows(name: &str) -> bool {
    table_kind(name).is_some() || (InputRules::JSON_ROWS.is_read)(name)
}

/// Returns how a folder is read: as rows if all files that could be parts are files of rows. Reports a note if media next to shards are
/// ignored, or if files of rows are read as parts because of others.
fn kind_of_folder(folder: &Path, problems: &dyn ProblemSink) -> Outcome<InputKind> {
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let entries = Walk::new(folder).filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name()));
    let (mut shard, mut medium, mut rows, mut other) = (None, None, None, None);
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.kind().is_file()) {
        let inside = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let name = inside.to_string_lossy();
        let place = match is_like_shard(entry.file_name()) {
            true => &mut shard,
            false if type_by_extension(&name).is_some() => &mut medium,
            false if has_rows(&name) => &mut rows,
            false if entry.file_name().as_encoded_bytes().contains(&b'.') && !is_no_data(&name) => &mut other,
            false => continue,
        };
        place.get_or_insert_with(|| inside.to_owned());
        if shard.is_some() && medium.is_some() {
            break;
        }
    }
    let name = |path: &Path| display_safe(&path.to_string_lossy()).into_owned();
    let note = |why: String, hint: &'static str| {
        problems.report(Problem::note(ProblemKind::Other, Subject::path(folder), why).with_hint(hint))
    };
    match (shard, medium, rows, other) {
        (Some(shard), Some(medium), ..) => {
            let why = format!(
                "it is read as shards because of {}; files such as {} are left out",
                name(&shard),
                name(&medium)
            );
            note(why, "--as files reads the files")?;
            Ok(InputKind::Tars)
        }
        (Some(_), ..) => Ok(InputKind::Tars),
        // Data sets on the hub without shards are read as rows.
        _ if is_hub_url(&folder.to_string_lossy()) => Ok(InputKind::Rows),
        (None, None, Some(_), None) => Ok(InputKind::Rows),
        (None, Some(other), Some(rows), _) | (None, None, Some(rows), Some(other)) => {
            let why = format!(
                "it is read as files because of {}; {} is a part, not a file of rows",
                name(&other),
                name(&rows)
            );
            note(why, "--as rows reads the rows of the files")?;
            Ok(InputKind::Files)
        }
        (None, ..) => Ok(InputKind::Files),
    }
}

/// Refuses `--split` for an input without splits.
fn refuse_split(input: &Path, plan: &ShardPlan) -> Outcome<()> {
    if plan.choice.splits.is_empty() {
        return Ok(());
    }
    let failure = Failure::usage(ACTIVITY, "it has no splits for --split").on(Subject::path(input));
    Err(failure.with_hint("leave out --split; --keep-keys chooses samples by their keys"))
}

/// Refuses answers that apply to no input.
fn refuse_unused(plan: &ShardPlan, kinds: &[InputKind]) -> Outcome<()> {
    let rows = &plan.rows;
    let of_rows = [
        ("--media", !rows.media.is_empty()),
        ("--media-root", rows.media_root.is_some()),
        ("--text", !rows.text.is_empty()),
        ("--no-json", rows.no_json),
        ("--split-column", rows.split.is_some()),
        ("--missing", rows.missing != Missing::Skip),
    ];
    let (has_rows, has_files) = (kinds.contains(&InputKind::Rows), kinds.contains(&InputKind::Files));
    let of_rows = of_rows.into_iter().find(|(_, is_given)| *is_given && !has_rows).map(|(flag, _)| flag);
    let of_names = (plan.key_rule != KeyRule::FirstDot && !has_rows && !has_files).then_some("--key-rule");
    let Some(flag) = of_rows.or(of_names) else { return Ok(()) };
    let why = match of_rows {
        Some(_) => "it is about rows, and no input is read as rows",
        None => "it is about names of loose files, and all inputs are shards",
    };
    let hint = match has_files {
        true => "--as rows reads the rows of JSONL, JSON, CSV, TSV, Parquet or Arrow files in a folder",
        false => "leave it out",
    };
    Err(Failure::usage(ACTIVITY, why).on(Subject::field(flag)).with_hint(hint))
}

/// Lists the samples of an input.
pub(super) fn list(
    input: &Path,
    kind: InputKind,
    context: &SourceContext<'_>,
    sink: &mut dyn SampleSink,
) -> Outcome<()> {
    if kind != InputKind::Rows && context.plan.key.as_deref().is_some_and(|key| key != NUMBER) {
        let failure = Failure::usage(ACTIVITY, "--key names a column, and the input has none").on(Subject::path(input));
        return Err(failure.with_hint("--key number numbers all samples"));
    }
    match kind {
        InputKind::Auto | InputKind::Tars => tars::list(input, context, sink),
        InputKind::Files => files::list(input, context, sink),
        InputKind::Rows => rows::list(input, context, sink),
    }
}
