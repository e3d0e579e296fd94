//! Commands that write one file from others.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished, Stopped};
use super::super::paths;
use super::super::prepare::summary;
use super::super::printer::{paint, Tone};
use super::super::task::{follow, print_findings};
use super::args::{ChunkArgs, FilterArgs, MergeArgs, OutputArgs, ShuffleArgs};
use super::command;
use gristmill_core::text::{bytes, count, display_safe, duration};
use gristmill_core::{DatasetKind, ExitClass, Failure, Outcome, Subject};
use gristmill_ops::engine::modalities::chunk::Chunk;
use gristmill_ops::engine::modalities::filter::{ranges, Keep};
use gristmill_ops::engine::modalities::merge::list;
use gristmill_ops::formats::modalities::PACKED_SUFFIX;
use gristmill_ops::job::modalities::{start, Existing, Rewrite, RewritePlan, RewriteReport};
use gristmill_ops::source::kind::kind_of;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Maximum size in bytes of a list of documents.
const MAX_LIST_BYTES: u64 = 1 << 30;

/// Concatenates packed files.
pub fn merge(args: &MergeArgs, context: &Context) -> Finished {
    let command = command::merge(args, context.globals.compat);
    execute(Rewrite::Merge(args.sources.clone()), &args.output, command, context)
}

/// Shuffles documents or lines.
pub fn shuffle(args: &ShuffleArgs, context: &Context) -> Finished {
    let what = match is_packed(&args.path) {
        true => Rewrite::ShufflePacked(args.path.clone(), args.seed.seed.clone()),
        false => Rewrite::ShuffleLines(args.path.clone(), args.seed.seed.clone()),
    };
    same_kind(std::slice::from_ref(&args.path), &args.output.output)?;
    execute(what, &args.output, command::shuffle(args, context.globals.compat), context)
}

/// Writes one part of each file.
pub fn chunk(args: &ChunkArgs, context: &Context) -> Finished {
    let chunk = Chunk::new(args.part.0, args.part.1)?;
    same_kind(&args.files, &args.output.output)?;
    let seed = chunk.seed(&args.seed);
    let what = match args.files.iter().all(|path| is_packed(path)) {
        true => Rewrite::ChunkPacked(args.files.clone(), chunk, seed),
        false => Rewrite::ChunkLines(args.files.clone(), chunk, seed),
    };
    execute(what, &args.output, command::chunk(args, context.globals.compat), context)
}

/// Keeps selected documents.
pub fn filter(args: &FilterArgs, context: &Context) -> Finished {
    let text = match (&args.documents, &args.documents_from) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => Some(paths::read_text(path, "reading the documents to keep", MAX_LIST_BYTES)?),
        (None, None) => None,
    };
    let documents = text.as_deref().map(ranges).transpose()?;
    let keep = Keep { documents, least_tokens: args.min_tokens, most_tokens: args.max_tokens };
    if keep.is_everything() {
        return Err(Failure::usage("filtering", "nothing says what to keep")
            .with_hint("--documents 0-99,200, --min-tokens N or --max-tokens N")
            .into());
    }
    let command = command::filter(args, context.globals.compat);
    execute(Rewrite::Filter(args.path.clone(), keep), &args.output, command, context)
}

fn is_packed(path: &Path) -> bool {
    kind_of(path).map_or_else(|_| is_named_packed(path), |kind| kind == DatasetKind::PackedTokens)
}

fn is_named_packed(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(PACKED_SUFFIX.as_bytes())
}

/// Refuses a mixture of packed files and text, and an output with the suffix of the other kind.
fn same_kind(files: &[PathBuf], output: &Path) -> Outcome<()> {
    let kind = files.first().is_some_and(|path| is_packed(path));
    let other = files.iter().map(PathBuf::as_path).find(|path| is_packed(path) != kind);
    let is_lines = output.as_os_str().as_encoded_bytes().ends_with(b".jsonl");
    let is_misnamed = if kind { is_lines } else { is_named_packed(output) };
    match other.or_else(|| is_misnamed.then_some(output)) {
        None => Ok(()),
        Some(path) => {
            Err(Failure::usage("reading the paths", "some of them are packed files (.pbin) and others are not")
                .on(Subject::path(path))
                .with_hint("what goes in as .pbin comes out as .pbin, and text as text"))
        }
    }
}

fn execute(what: Rewrite, output: &OutputArgs, command: String, context: &Context) -> Finished {
    let existing = if output.overwrite { Existing::Replace } else { Existing::Refuse(ExitClass::Data) };
    let plan = RewritePlan { what, output: output.output.clone(), existing, compat: context.globals.compat };
    let mut done = run(plan, None, context)?;
    done.result.insert("equivalent_command".into(), json!(command));
    Ok(done)
}

/// Runs a plan and reports the result. `seed` is a generated seed, which is reported; `None` if the user gave one.
pub fn run(plan: RewritePlan, seed: Option<String>, context: &Context) -> Finished {
    if context.globals.dry_run {
        return dry(&plan, context);
    }
    let output = plan.output.display().to_string();
    let report = follow(start(plan, context.run_options())?, Some("writing"), context)?;
    print_findings(&report.problems, &report.counts, context);
    context.printer.say(line(&output, &report));
    if let Some(seed) = &seed {
        context.printer.say(format!("The seed was {seed}; --seed {seed} gives the same order again."));
    }
    for line in summary::count_lines(&report.counts) {
        context.printer.say(line);
    }
    let mut result = fields(&report);
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if let Some(seed) = seed {
        result.insert("seed".into(), json!(seed));
    }
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

fn line(output: &str, report: &RewriteReport) -> String {
    let written = &report.written;
    let done = paint(Tone::Good, &format!("Wrote {}", display_safe(output)));
    let (size, time) = (bytes(written.bytes), duration(report.elapsed));
    match written.token_bytes {
        Some(token_bytes) => {
            let (documents, tokens) = (count(written.documents, "document"), count(written.tokens, "token"));
            format!("{done}: {documents}, {tokens} of {}, {size} in {time}.", count(token_bytes.into(), "byte"))
        }
        None => format!("{done}: {}, {size} in {time}.", count(written.documents, "line")),
    }
}

/// Reports what would be read and written.
fn dry(plan: &RewritePlan, context: &Context) -> Finished {
    let sources = match &plan.what {
        Rewrite::Merge(paths) => list(paths)?,
        Rewrite::ChunkPacked(paths, ..) | Rewrite::ChunkLines(paths, ..) => paths.clone(),
        Rewrite::ShufflePacked(path, _) | Rewrite::ShuffleLines(path, _) | Rewrite::Filter(path, _) => {
            vec![path.clone()]
        }
    };
    let mut size = 0;
    for path in &sources {
        let facts = std::fs::metadata(path).map_err(|error| Stopped::from(Failure::io("opening", path, &error)))?;
        size += facts.len();
    }
    let (files, output) =
        (count(sources.len() as u64, "file"), display_safe(&plan.output.display().to_string()).into_owned());
    context.printer.line(format!("Would write {output} from {files} of {}. Nothing was written.", bytes(size)));
    Ok(Done::ok(fields(json!({ "dry_run": true, "sources": sources, "source_bytes": size, "output": output }))))
}
