//! Compares the files to copy with their targets. No file is written before all were compared.

use super::{replaces_all, threads, CopyItem, CopyPlan, SkippedFiles, Target, ACTIVITY};
use crate::job::pool::run_units;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::text::grouped;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::listing::infos_below;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::open_any;
use md5::{Digest as _, Md5};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// Bytes hashed at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// The result of comparing a file with its target.
enum Comparison {
    /// The file must be copied.
    Differs,
    EqualMd5,
    EqualContent,
    EqualSize,
}

/// Removes the files that need not be copied from the list.
///
/// # Errors
/// Targets exist, and the plan does not specify their treatment.
pub(super) fn compare(
    plan: &CopyPlan,
    target: &Target,
    items: Vec<CopyItem>,
    context: &TaskContext,
) -> Outcome<(Vec<CopyItem>, SkippedFiles)> {
    if is_remote(&target.path) && replaces_all(plan) {
        // A key may also be a prefix of other keys, so nothing there prevents the copy.
        return Ok((items, SkippedFiles::default()));
    }
    let there = existing_targets(target, &items, context)?;
    let threads = threads(&items, context);
    let taken: Vec<&CopyItem> = items.iter().zip(&there).filter_map(|(item, there)| there.map(|_| item)).collect();
    let of_folder =
        |(item, there): (&'_ CopyItem, &Option<FileInfo>)| there.filter(FileInfo::is_dir).map(|_| item.to.clone());
    if let Some(path) = items.iter().zip(&there).find_map(of_folder) {
        return Err(Failure::usage(ACTIVITY, "there is a folder of that name").on(Subject::path(path)));
    }
    match taken.first() {
        Some(first) if !plan.if_changed && !plan.overwrite => return Err(refuse(first, taken.len())),
        Some(_) if plan.if_changed => {}
        _ => return Ok((items, SkippedFiles::default())),
    }
    let pairs: Vec<(CopyItem, Option<FileInfo>)> = items.into_iter().zip(there).collect();
    context.phase_of(Phase::Scan, "input file", "comparing files");
    context.progress.restart(pairs.len() as u64, 0);
    let compared = run_units(&pairs, threads, &context.cancel, |(item, there)| {
        let there = there.as_ref().map(|there| compare_file(item, there, &context.cancel));
        context.progress.add(1, 0);
        there.unwrap_or(Ok(Comparison::Differs))
    })?;
    let mut skipped = SkippedFiles::default();
    let mut left = Vec::new();
    for ((item, _), comparison) in pairs.into_iter().zip(compared) {
        match comparison {
            Comparison::Differs => left.push(item),
            Comparison::EqualMd5 => skipped.by_checksum += 1,
            Comparison::EqualContent => skipped.by_content += 1,
            Comparison::EqualSize => skipped.by_size += 1,
        }
    }
    Ok((left, skipped))
}

fn refuse(first: &CopyItem, count: usize) -> Failure {
    let why = match count {
        1 => "the file exists already".to_owned(),
        more => format!("there is a file of that name already, and at {} other targets, too", grouped(more as u64 - 1)),
    };
    Failure::usage(ACTIVITY, why)
        .on(Subject::path(&first.to))
        .with_hint("--if-changed skips files that are equal and replaces the others, --force-overwrite replaces all")
}

fn existing_targets(target: &Target, items: &[CopyItem], context: &TaskContext) -> Outcome<Vec<Option<FileInfo>>> {
    if is_remote(&target.path) {
        let paths: Vec<PathBuf> = items.iter().map(|item| item.to.clone()).collect();
        let infos = infos_below(&target.path, &paths).map_err(|error| Failure::io(ACTIVITY, &target.path, &error))?;
        // In a store, a key may be a prefix of other keys.
        return Ok(infos.into_iter().map(|info| info.filter(|info| !info.is_dir())).collect());
    }
    run_units(items, context.options.threads, &context.cancel, |item| {
        let info = files::metadata(&item.to).or_else(|error| match error.kind() {
            // A broken link is an existing target, too.
            ErrorKind::NotFound => files::symlink_metadata(&item.to),
            _ => Err(error),
        });
        match info {
            Ok(info) => Ok(Some(info)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                let why = "a part of its path is a file, not a folder";
                Err(Failure::usage(ACTIVITY, why).on(Subject::path(&item.to)))
            }
            Err(error) => Err(Failure::io(ACTIVITY, &item.to, &error)),
        }
    })
}

/// Compares two local files byte by byte. Other files are compared by MD5 if the store provides it, otherwise by size and time. A file that
/// cannot be read counts as different, so that the copy reports it.
fn compare_file(item: &CopyItem, there: &FileInfo, cancel: &Cancel) -> Outcome<Comparison> {
    if item.info.len() != there.len() || !there.is_file() {
        return Ok(Comparison::Differs);
    }
    if !is_remote(&item.from) && !is_remote(&item.to) {
        cancel.check()?;
        let is_same = open_any(&item.from).and_then(|from| from.is_same_as(&open_any(&item.to)?));
        return Ok(if is_same.unwrap_or(false) { Comparison::EqualContent } else { Comparison::Differs });
    }
    let (Ok(from), Ok(to)) = (files::stored_md5(&item.from), files::stored_md5(&item.to)) else {
        return Ok(Comparison::Differs);
    };
    let (from, to) = match (from, to) {
        (Some(from), None) if !is_remote(&item.to) => (Some(from), md5_of(&item.to, cancel)?),
        (None, Some(to)) if !is_remote(&item.from) => (md5_of(&item.from, cancel)?, Some(to)),
        (Some(from), Some(to)) => (Some(from), Some(to)),
        // As in the tools of the stores: a source that is newer than its target has changed.
        _ if item.info.modified_second() > there.modified_second() => return Ok(Comparison::Differs),
        _ => return Ok(Comparison::EqualSize),
    };
    Ok(if from.is_some() && from == to { Comparison::EqualMd5 } else { Comparison::Differs })
}

/// Returns the MD5 of a local file, in hexadecimal; `None` if it cannot be read.
fn md5_of(path: &Path, cancel: &Cancel) -> Outcome<Option<String>> {
    let Ok(file) = open_any(path) else { return Ok(None) };
    let (mut reader, mut hash, mut buffer) = (file.into_reader(), Md5::new(), vec![0; CHUNK_BYTES]);
    loop {
        cancel.check()?;
        let Ok(count) = reader.read(&mut buffer) else { return Ok(None) };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        hash.update(bytes);
    }
    Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}
