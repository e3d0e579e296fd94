//! `lint` and `verify`: check whether prepared data matches its metadata.

use super::check::{checked, ROW};
use super::context::Context;
use super::exit::Finished;
use super::{jsonl, kinds, mix, modalities, paths, tables, tokens};
use gristmill_core::{DatasetKind, Failure, Handles, Outcome, Subject};
use gristmill_data::source::discover::is_shard_file;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::check::CheckTexts;
use gristmill_ops::engine::check::LintOptions;
use gristmill_ops::engine::modalities::check::is_raw_index;
use gristmill_ops::engine::nanosets::check::Depth;
use gristmill_ops::job::check;
use gristmill_ops::job::dedup::{is_index as is_dedup_index, verify_index};
use gristmill_storage::memory::usual_memory;
use std::path::{Path, PathBuf};

/// Refuses a flag that does not apply to the path: otherwise the user would believe that it had an effect.
fn only_for(given: bool, flag: &str, fits: bool, what: &str, path: &str) -> Outcome<()> {
    if !given || fits {
        return Ok(());
    }
    let failure = Failure::usage("reading the command line", format!("{flag} is for {what}, and this is none"));
    Err(failure.on(Subject::path(path)).with_hint("leave it out"))
}

/// What `verify` compares with, in addition to the path.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// A tokenizer: no id may exceed its highest.
    pub tokenizer: Option<String>,
    /// The file that a raw index belongs to, if it is not the `.jsonl` next to it.
    pub source: Option<PathBuf>,
}

/// Checks index, splits, excludes and field map.
pub fn run(path: &Path, options: &LintOptions, context: &Context) -> Finished {
    use DatasetKind::{Filesystem, OtherFile, PlainFolder, PreparedWebDataset, RawWebDataset};
    let path = paths::local(path)?;
    let (kind, is_index) = (kind_of(Path::new(&path)), is_raw_index(Path::new(&path)));
    let holds_media = matches!(kind, Ok(PreparedWebDataset | RawWebDataset | Filesystem | PlainFolder | OtherFile));
    let is_given = options.decode && Path::new(&path).exists();
    only_for(is_given, "--decode", holds_media && !is_index, "data sets with media metadata", &path)?;
    match kind {
        Ok(DatasetKind::Jsonl) => return jsonl::lint(&path, context),
        Ok(DatasetKind::Metadataset) => return mix::check(&path, context),
        Ok(DatasetKind::Tokens(kind)) => return tokens::check(&path, kind, Depth::Index, None, context),
        Ok(DatasetKind::Table(_) | DatasetKind::TableFolder(_)) => return tables::check(&path, false, context),
        _ if is_index => return modalities::check::lint(&path, context),
        _ if is_dedup_index(Path::new(&path)) => return verify_dedup_index(&path, context),
        _ => {}
    }
    if is_shard_file(Path::new(&path)) {
        let work = |handles: &Handles<'_>| check::run_single_shard(Path::new(&path), &context.run_options(), handles);
        return checked(context, SHARDS, |handles| work(handles).map(|info| info.unwrap_or_default().checked()));
    }
    kinds::only_folders(&path)?;
    let threads = context.run_options().threads;
    checked(context, words_for(&path)?, |handles| check::run_lint(Path::new(&path), options, threads, handles))
}

/// Reads an index written by bsade or `dedup --export-index`, and compares its files with each other.
fn verify_dedup_index(path: &str, context: &Context) -> Finished {
    let threads = context.run_options().threads;
    let memory = context.globals.memory.unwrap_or_else(usual_memory);
    let words = CheckTexts { shards: Some("shard"), item: "document" };
    checked(context, words, |handles| verify_index(Path::new(path), threads, memory, handles))
}

/// Reads everything again and compares it with the index. `against` applies to tokens and raw indexes.
pub fn verify(path: &Path, against: &Against, context: &Context) -> Finished {
    let path = paths::local(path)?;
    let (kind, is_index) = (kind_of(Path::new(&path)), is_raw_index(Path::new(&path)));
    if Path::new(&path).exists() {
        let is_tokens = matches!(kind, Ok(DatasetKind::Tokens(_)));
        only_for(against.tokenizer.is_some(), "--tokenizer", is_tokens, "packed tokens", &path)?;
        only_for(against.source.is_some(), "--source", is_index, "raw indexes (.idx)", &path)?;
    }
    match kind {
        Ok(DatasetKind::Jsonl) => return jsonl::verify(&path, context),
        Ok(DatasetKind::Metadataset) => return mix::verify(&path, context),
        Ok(DatasetKind::Tokens(kind)) => {
            return tokens::check(&path, kind, Depth::Tokens, against.tokenizer.as_deref(), context);
        }
        Ok(DatasetKind::Table(_) | DatasetKind::TableFolder(_)) => return tables::check(&path, true, context),
        _ if is_index => return modalities::check::verify(&path, against.source.as_deref(), context),
        _ if is_dedup_index(Path::new(&path)) => return verify_dedup_index(&path, context),
        _ => {}
    }
    kinds::only_folders(&path)?;
    let threads = context.run_options().threads;
    checked(context, words_for(&path)?, |handles| check::run_verify(Path::new(&path), threads, handles))
}

const MEDIA_ROWS: CheckTexts = CheckTexts { shards: None, item: ROW };

/// Returns the words for a data set or a folder of media.
fn words_for(path: &str) -> Outcome<CheckTexts> {
    let is_media = kind_of(Path::new(path))? == DatasetKind::Filesystem;
    Ok(if is_media { MEDIA_ROWS } else { SHARDS })
}

const SHARDS: CheckTexts = CheckTexts { shards: Some("shard"), item: "shard" };
