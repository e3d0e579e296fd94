//! Single shards, separate indexes, and files that are not data sets.

use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::browse::{self, OpenedCatalog, TokenView};
use crate::engine::check::{CheckReport, CheckTexts, DatasetInfo, InfoList};
use crate::engine::dedup::original::Index;
use crate::engine::jsonl::check_start;
use crate::job::check::run_single_shard;
use crate::job::dedup;
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use crate::tokens::formats::raw_index::{lint_index, rerun_hint, source_of, verify_index};
use gristmill_core::text::bytes as size;
use gristmill_core::text::{count, grouped, shell_quote};
use gristmill_core::{Cancel, ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_data::formats::bsade::{shard_folder, Shard};
use gristmill_data::source::discover::named_shards;
use gristmill_data::source::documents::{layout_of, list_jsonl, Compression, Selection};
use gristmill_data::source::file_start::FileStart;
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use serde_json::json;
use std::path::Path;

/// Maximum number of parts of a shard in the description.
const MAX_LISTED_PARTS: usize = 10;

/// Reads single tar shards.
pub(super) struct SingleShard;

impl DatasetReader for SingleShard {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: Some("shard"), item: "shard", counted: "sample" }
    }

    fn info(&self, dataset: &Dataset, request: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let shard = run_single_shard(&dataset.path, &request.run, handles)?.unwrap_or_default();
        let mut info = DatasetInfo::of(&shard);
        if shard.shards > 1 {
            info.add("shards", grouped(shard.shards));
        }
        info.add("samples", grouped(shard.samples));
        info.add("size", size(shard.bytes));
        let parts =
            shard.parts.iter().take(MAX_LISTED_PARTS).map(|(name, part)| {
                (name.clone(), format!("in {}, {}", count(part.samples, "sample"), size(part.bytes)))
            });
        let unlisted = shard.parts.len().saturating_sub(MAX_LISTED_PARTS) as u64;
        info.lists.push(InfoList { unlisted, ..InfoList::new("parts", parts.collect()) });
        Ok(info)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        if request.is_deep {
            return Err(dataset.refusal("checking the data set", dataset.kind.info().shards));
        }
        let shard = run_single_shard(&dataset.path, &request.run, handles)?.unwrap_or_default();
        Ok(shard.checked().into())
    }

    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        browse::raw::open(&dataset.path, named_shards(&dataset.path)?)
    }
}

/// Reads a raw index of lines.
pub(super) struct RawIndex;

impl DatasetReader for RawIndex {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: None, item: "line", counted: "line" }
    }

    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let lines = lint_index(&dataset.path, handles)?;
        let mut info = DatasetInfo::of(json!({ "lines": lines.samples, "bytes": lines.bytes }));
        info.add("lines", grouped(lines.samples));
        info.add("size", size(lines.bytes));
        Ok(info)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        if !request.is_deep {
            return lint_index(&dataset.path, handles).map(CheckReport::from);
        }
        let source = request.source.clone().unwrap_or_else(|| source_of(&dataset.path));
        if !files::exists(&source) {
            return Err(Failure::usage("comparing the index", "the file that it indexes is not next to it")
                .on(Subject::path(source))
                .with_hint("--source FILE names it"));
        }
        verify_index(&dataset.path, &source, handles).map(CheckReport::from)
    }

    fn repair(&self, dataset: &Dataset, _: bool, _: RunOptions) -> Outcome<Task<RepairReport>> {
        Err(Failure::usage("repairing", "a raw index is not repaired")
            .on(Subject::path(&dataset.path))
            .with_hint(rerun_hint(&dataset.path)))
    }
}

/// Reads an index of duplicates, written by bsade or `dedup --export-index`.
pub(super) struct DedupIndex;

impl DatasetReader for DedupIndex {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: Some("shard"), item: "document", counted: "document" }
    }

    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let index = Index::open(&dataset.path)?;
        let (mut items, mut bytes, mut problems) = (0, 0, Vec::new());
        for shard in 0..index.shards {
            handles.cancel.check()?;
            match Shard::open(&shard_folder(&dataset.path, shard)) {
                Ok(shard) => (items, bytes) = (items + shard.documents(), bytes + shard.tokenized().len()),
                Err(failure) if failure.class == ExitClass::Data => {
                    problems.push(Problem::of_failure(ProblemKind::BadFile, failure));
                }
                Err(failure) => return Err(failure),
            }
        }
        let result = json!({ "shards": index.shards, "documents": items, "bytes": bytes });
        let mut info = DatasetInfo { items, bytes, problems, ..DatasetInfo::of(result) };
        info.add("shards", grouped(u64::from(index.shards)));
        info.add("documents", grouped(items));
        info.add("size", size(bytes));
        Ok(info)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        dedup::verify_index(&dataset.path, request.run.threads, request.run.memory_bytes, handles)
            .map(CheckReport::from)
    }
}

/// Refuses compressed JSONL files for operations that need line offsets.
pub(super) struct PackedJsonl;

impl DatasetReader for PackedJsonl {
    fn info(&self, dataset: &Dataset, _: &InfoRequest, _: &Handles<'_>) -> Outcome<DatasetInfo> {
        Err(refuse(dataset))
    }

    fn check(&self, dataset: &Dataset, _: &CheckRequest, _: &Handles<'_>) -> Outcome<CheckReport> {
        Err(refuse(dataset))
    }

    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        browse::jsonl::open(&dataset.path)
    }
}

/// Refuses all other files.
pub(super) struct OtherFile;

impl DatasetReader for OtherFile {
    fn info(&self, dataset: &Dataset, _: &InfoRequest, _: &Handles<'_>) -> Outcome<DatasetInfo> {
        Err(refuse(dataset))
    }

    fn check(&self, dataset: &Dataset, _: &CheckRequest, _: &Handles<'_>) -> Outcome<CheckReport> {
        Err(refuse(dataset))
    }
}

fn refuse(dataset: &Dataset) -> Failure {
    let internal = || Failure::internal("opening the data set", "a file of another kind is refused");
    dataset.check_shards().err().unwrap_or_else(internal)
}

/// Refuses compressed JSONL files, and JSONL files with another suffix. The hint shows how to convert the file.
///
/// # Errors
/// The path is such a file.
pub(super) fn check_suffix(path: &Path) -> Outcome<()> {
    if !files::is_file(path) {
        return Ok(());
    }
    let text = path.to_string_lossy();
    let (lower, quoted) = (text.to_ascii_lowercase(), shell_quote(&text));
    if let Some((_, compression)) = Compression::of_name(&lower).filter(|(name, _)| is_named_like_lines(name)) {
        // Fails for a Git LFS pointer, which is not compressed even if its name has a compression suffix.
        open_read(path)?;
        check_start(path, FileStart::Compressed(compression))?;
    }
    if is_named_like_lines(&lower) && !text.ends_with(".jsonl") {
        let listing = list_jsonl(&[path.to_owned()], Selection::default(), &Cancel::default())?;
        for file in &listing.files {
            if let Some((why, command)) = layout_of(file, &Cancel::default())?.conversion(file) {
                return Err(Failure::usage("opening the data set", why)
                    .on(Subject::path(path))
                    .with_hint(format!("convert it: {command}")));
            }
        }
        let stem = text.rsplit_once('.').map_or(&*text, |(stem, _)| stem);
        let hint = format!("if it holds one object a line: mv {quoted} {}", shell_quote(&format!("{stem}.jsonl")));
        return Err(Failure::usage("opening the data set", "loaders know JSONL files by a name that ends in .jsonl")
            .on(Subject::path(path))
            .with_hint(hint));
    }
    Ok(())
}

fn is_named_like_lines(lower: &str) -> bool {
    [".jsonl", ".json", ".ndjson"].iter().any(|suffix| lower.ends_with(suffix))
}
