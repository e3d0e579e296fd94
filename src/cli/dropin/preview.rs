//! `energon preview`: prints samples one by one, as the training code receives them.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::paths;
use super::super::printer::{paint, Tone};
use clap::Args;
use gristmill_core::field_map::FieldExpression;
use gristmill_core::text::{bytes, display_safe};
use gristmill_core::{Failure, FileStamp, Outcome, ProblemKind, Shard, Subject};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, SampleSource};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::formats::energon::tar_idx::TarIdx;
use gristmill_data::preview::cells::{self, CellColour, Depth};
use gristmill_data::preview::{picture, text};
use gristmill_data::source::contents;
use gristmill_data::source::decode::{self, DecodedPart, Value};
use serde_json::{json, Map};
use std::collections::HashSet;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a sample in bytes.
const MAX_BYTES: usize = 256 << 20;
/// Maximum size of a picture in character cells.
const PICTURE: (u16, u16) = (72, 24);
/// Maximum number of printed characters of a text.
const MAX_CHARS: usize = 2_000;

/// The location of a sample.
struct SampleSpan<'a> {
    split: &'a str,
    shard: &'a str,
    index: u64,
}

/// A sample as stored in its shard: its key, and the names and contents of its parts.
struct RawSample {
    key: String,
    parts: Vec<(String, Vec<u8>)>,
}

/// The flags of `energon preview`.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct PreviewArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// Which splits, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "train,val,test")]
    pub split_parts: String,
    /// Name of the dataset yaml
    #[arg(long, value_name = "NAME", default_value = "dataset.yaml")]
    pub dataset_config: String,
}

/// Prints samples until the user stops; without a terminal, only the first one.
pub fn run(args: &PreviewArgs, context: &Context) -> CommandResult {
    let path = paths::local_or_readable(&args.path)?;
    let root = Path::new(&path);
    if Info::read(root)?.is_none() {
        return Err(Failure::data("opening the data set", "it is not prepared")
            .on(Subject::path(root))
            .with_hint("`gristmill prepare` prepares it")
            .into());
    }
    let splits = SplitFile::read(root)?.unwrap_or_default();
    let dataset = DatasetYaml::read(root, &args.dataset_config)?;
    let excluded: HashSet<String> = splits.expanded_excludes().0.into_iter().collect();
    let wanted: Vec<&str> = args.split_parts.split(',').map(str::trim).collect();
    let (expanded, _) = splits.expanded();
    let mut shown = Vec::new();
    for (split, shards) in expanded.iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
        for shard in shards.iter().filter(|shard| !excluded.contains(*shard)) {
            let index = TarIdx::open(&index_path(root, shard))?;
            for number in 0..index.samples() {
                let place = SampleSpan { split, shard, index: number };
                let Some(raw) = read(root, shard, index.span(number)?)? else { continue };
                if excluded.contains(&format!("{shard}/{}", raw.key)) {
                    continue;
                }
                show(&place, &raw, dataset.as_ref(), context);
                shown.push(json!({ "split": split, "shard": shard, "sample_index": number, "key": raw.key }));
                if !confirm_next(context)? {
                    return Ok(ended(shown));
                }
            }
        }
    }
    if shown.is_empty() {
        context.printer.line("These splits have no samples.");
    }
    Ok(ended(shown))
}

fn ended(shown: Vec<serde_json::Value>) -> CommandSuccess {
    CommandSuccess::ok(Map::from_iter([("samples".to_owned(), json!(shown))]))
}

fn confirm_next(context: &Context) -> Outcome<bool> {
    if !context.may_prompt() {
        return Ok(false);
    }
    crate::prompt::confirm("Show the next sample?", true)
}

fn shard_of(root: &Path, name: &str) -> Shard {
    let path = root.join(name);
    Shard { name: name.to_owned(), path, stamp: FileStamp::default(), mode: 0, is_tgz: name.ends_with(".tgz") }
}

fn index_path(root: &Path, shard: &str) -> std::path::PathBuf {
    root.join(shard_of(root, shard).index_name())
}

/// Reads a sample; `None` if its bytes contain no entry with a part name.
fn read(root: &Path, shard: &str, (from, to): (u64, u64)) -> Outcome<Option<RawSample>> {
    let broken = |why: String| Failure::data("reading a sample", why).on(Subject::shard(shard).at(from));
    let size = to.saturating_sub(from);
    if size > MAX_BYTES as u64 {
        return Err(broken(format!("it is {} large; at most {} are shown", bytes(size), bytes(MAX_BYTES as u64))));
    }
    let content = contents::read_part(&shard_of(root, shard), from, size, MAX_BYTES)?;
    let mut archive = tar::Archive::new(content.as_slice());
    let mut raw: Option<RawSample> = None;
    for entry in archive.entries().map_err(|error| broken(error.to_string()))? {
        let mut entry = entry.map_err(|error| broken(error.to_string()))?;
        if !matches!(entry.header().entry_type(), tar::EntryType::Regular | tar::EntryType::Continuous) {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let folder = name.rfind('/').map_or(0, |slash| slash + 1);
        let Some(dot) = name[folder..].find('.').map(|dot| folder + dot) else { continue };
        let mut part = Vec::new();
        entry.read_to_end(&mut part).map_err(|error| broken(error.to_string()))?;
        let raw = raw.get_or_insert_with(|| RawSample { key: name[..dot].to_owned(), parts: Vec::new() });
        raw.parts.push((name[dot + 1..].to_owned(), part));
    }
    Ok(raw)
}

fn show(place: &SampleSpan<'_>, raw: &RawSample, dataset: Option<&DatasetYaml>, context: &Context) {
    let title = format!(
        "{}, sample {} of {} in {}",
        display_safe(&raw.key),
        place.index,
        display_safe(place.shard),
        display_safe(place.split)
    );
    context.printer.line(paint(Tone::Strong, &title));
    match dataset.map(|dataset| &dataset.source) {
        Some(SampleSource::FieldMap(fields)) => show_fields(raw, fields, context),
        other => {
            if matches!(other, Some(SampleSource::Loader { .. })) {
                context.printer.line("  (its sample loader is a Python program and is not run; these are the parts)");
            }
            for (name, content) in &raw.parts {
                show_value(name, &decode::decode_part(name, content), Some(content), context);
            }
        }
    }
    context.printer.line("");
}

fn show_fields(raw: &RawSample, fields: &[gristmill_core::plan::FieldExpr], context: &Context) {
    let decoded: Vec<(&str, DecodedPart)> =
        raw.parts.iter().map(|(name, content)| (name.as_str(), decode::decode_part(name, content))).collect();
    // If a part occurs twice, the loader uses the last one.
    let part = |name: &str| decoded.iter().rev().find(|(known, _)| *known == name).map(|(_, part)| part);
    for field in fields {
        let expression = FieldExpression::parse(&field.expr);
        let value = decode::eval(&expression, &part).map_err(|error| error.to_string());
        let first = expression.options.iter().find(|option| part(&option.part).is_some());
        let content = first.and_then(|option| raw.parts.iter().rev().find(|(name, _)| *name == option.part));
        show_value(&field.field, &value, content.map(|(_, content)| content.as_slice()), context);
    }
}

fn show_value(name: &str, value: &Result<Value, String>, content: Option<&[u8]>, context: &Context) {
    let name = display_safe(name);
    match value {
        Err(why) => {
            let label = format!("{name}: {}", ProblemKind::FieldFails.title());
            context.printer.line(format!("  {}: {}", paint(Tone::Error, &label), display_safe(why)));
        }
        Ok(Value::Text(words)) => {
            let safe = text::safe_lines(words, MAX_CHARS);
            context.printer.line(format!("  {name}: {}", safe.trim_end().replace('\n', "\n    ")));
        }
        Ok(Value::Image { .. }) => {
            let drawn = content.map(picture::decode);
            match drawn {
                Some(Ok(picture)) => {
                    context.printer.line(format!("  {name}: {}", picture.facts()));
                    draw(&picture, context);
                }
                Some(Err(why)) => context.printer.line(format!("  {name}: {}", display_safe(&why.to_string()))),
                None => context.printer.line(format!("  {name}: picture")),
            }
        }
        Ok(value) => context.printer.line(format!("  {name}: {}", crate::prompt::value_line(value))),
    }
}

fn draw(picture: &picture::Picture, context: &Context) {
    let depth = depth(context);
    for row in cells::render(picture, PICTURE.0, PICTURE.1, depth).rows() {
        let mut line = String::new();
        for cell in row {
            let colours = [(38, cell.fg), (48, cell.bg)];
            for (ground, colour) in colours.into_iter().filter_map(|(ground, colour)| Some((ground, colour?))) {
                match colour {
                    CellColour::Rgb(r, g, b) => line.push_str(&format!("\x1b[{ground};2;{r};{g};{b}m")),
                    CellColour::Index(index) => line.push_str(&format!("\x1b[{ground};5;{index}m")),
                }
            }
            line.push_str(cell.symbol);
        }
        let end = if matches!(depth, Depth::True | Depth::Indexed) { "\x1b[0m" } else { "" };
        context.printer.line(format!("    {line}{end}"));
    }
}

/// Returns the colour depth: colours if the terminal supports them, and letters for files and pipes.
fn depth(context: &Context) -> Depth {
    let variable = |name| std::env::var(name).ok();
    if context.globals.ascii || !std::io::stdout().is_terminal() {
        return Depth::Ascii;
    }
    let (term, colorterm) = (variable("TERM"), variable("COLORTERM"));
    Depth::detect(!context.has_no_colour(), false, term.as_deref(), colorterm.as_deref())
}
