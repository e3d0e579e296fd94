//! `demo`: writes a generated data set for trying out the program.
//!
//! Tar shards of pictures with captions, and a text corpus next to them. The bytes are the same on every machine.

mod canvas;
mod corpus;
mod random;
mod scenes;
mod shards;

use super::context::Context;
use super::exit::CommandResult;
use super::{paths, prepare};
use gristmill_core::plan::FieldExpr;
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{Cancel, Failure, Outcome, PreparePlan, SampleMapping, SplitPlan, Subject};
use gristmill_ops::job::pool::run_units;
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The default folder of the demo.
const DEFAULT_DIR: &str = "gristmill-demo";
/// Name of the marker file that identifies a folder written by `demo`.
const MARKER: &str = ".gristmill-demo";
const CORPUS: &str = "corpus.jsonl";
const MARKER_TEXT: &str = "Written by `gristmill demo`; may be deleted together with its folder.\n";

/// Writes the missing files of the demo and prepares it: guided in a terminal, otherwise with predefined answers.
pub fn run(dir: Option<PathBuf>, context: &Context) -> CommandResult {
    let dir = dir.unwrap_or_else(|| PathBuf::from(DEFAULT_DIR));
    let path = paths::local(&dir)?;
    refuse_foreign(&dir)?;
    if context.globals.dry_run && !files::exists(dir.join(MARKER)) {
        return would_write(&path, context);
    }
    let written = write(&dir, context.run_options().threads)?;
    print_files(&path, &written, context);
    if context.may_prompt() && !context.globals.dry_run {
        return prepare::guided(PreparePlan::new(path), context);
    }
    let mut done = prepare::execute(answered(path), None, context)?;
    done.result.insert("demo_files_written".into(), json!(written.iter().map(|(name, _)| name).collect::<Vec<_>>()));
    Ok(done)
}

/// Returns a prepare plan with the predefined answers.
fn answered(path: String) -> PreparePlan {
    let field = |field: &str, expr: &str| FieldExpr { field: field.into(), expr: expr.into() };
    PreparePlan {
        splits: SplitPlan::Ratio("8,1,1".into()),
        loading: SampleMapping::FieldMap {
            sample_type: "CaptioningSample".into(),
            fields: vec![field("image", "jpg,png,webp"), field("caption", "json[caption][long],txt")],
        },
        ..PreparePlan::new(path)
    }
}

fn refuse_foreign(dir: &Path) -> Outcome<()> {
    if files::is_file(dir.join(MARKER)) {
        return Ok(());
    }
    let foreign = |why| {
        Failure::data("writing the demo", why)
            .on(Subject::path(dir))
            .with_hint("name another folder: gristmill demo DIR")
    };
    match files::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(foreign("the folder exists already and is not a demo")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(foreign("it exists already and is not a folder"))
        }
        Err(error) => Err(Failure::io("opening the demo folder", dir, &error)),
    }
}

/// Writes the missing files; returns the names and sizes of the written ones. The marker is written first, so that the next run recognizes
/// an interrupted demo and completes it.
fn write(dir: &Path, threads: usize) -> Outcome<Vec<(String, u64)>> {
    paths::make_folder(dir, 0o755)?;
    paths::make_folder(&dir.join("shards"), 0o755)?;
    if !files::exists(dir.join(MARKER)) {
        write_file(&RealFs, &dir.join(MARKER), MARKER_TEXT.as_bytes(), 0o644)?;
    }
    let missing: Vec<u64> =
        (0..shards::SHARDS).filter(|shard| !files::exists(dir.join(shards::name(*shard)))).collect();
    let mut written = run_units(&missing, threads, &Cancel::default(), |shard| {
        let name = shards::name(*shard);
        let content = shards::build(*shard)?;
        write_file(&RealFs, &dir.join(&name), &content, 0o644)?;
        Ok((name, content.len() as u64))
    })?;
    if !files::exists(dir.join(CORPUS)) {
        let text = corpus::jsonl()?;
        write_file(&RealFs, &dir.join(CORPUS), text.as_bytes(), 0o644)?;
        written.push((CORPUS.to_owned(), text.len() as u64));
    }
    Ok(written)
}

fn print_files(path: &str, written: &[(String, u64)], context: &Context) {
    let place = display_safe(path);
    if written.is_empty() {
        return context.printer.print_status(format!("The demo is in {place} already."));
    }
    let size: u64 = written.iter().map(|(_, size)| size).sum();
    context.printer.print_status(format!(
        "Wrote the demo to {place}: {} with {} and their captions, and {CORPUS} with {} ({}).",
        count(shards::SHARDS, "shard"),
        count(shards::SHARDS * shards::PER_SHARD, "picture"),
        count(corpus::DOCUMENTS, "document"),
        bytes(size)
    ));
}

fn would_write(path: &str, context: &Context) -> CommandResult {
    let names: Vec<String> = (0..shards::SHARDS).map(shards::name).chain([CORPUS.to_owned()]).collect();
    context.printer.line(format!("Would write to {}, and prepare it:", display_safe(path)));
    for name in &names {
        context.printer.line(format!("  {name}"));
    }
    let mut done = super::success_without_fields()?;
    done.result.insert("dry_run".into(), json!(true));
    done.result.insert("demo_files".into(), json!(names));
    Ok(done)
}
