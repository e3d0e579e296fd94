//! Checks a folder of token files against its indexes and metadata.

use super::folder::{folder_facts, FileFacts, FolderFacts};
use crate::engine::check::tokens::{no_document, Depth, Vocabulary};
use crate::engine::check::CheckCounts;
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::formats::nanosets::{index_path, loss_path, Index, Shard, TokenSize};
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use std::collections::HashSet;
use std::path::Path;

/// Tokens read at a time.
const TOKENS_PER_READ: u64 = 256 << 10;
/// Limit of findings of one kind in one file that are reported individually; the others are counted.
const MAX_REPORTED: u64 = 5;

/// Checks names, sizes and metadata, and reports mismatches. Each file is then checked with [`check_file`].
pub fn begin(folder: &Path, handles: &Handles<'_>) -> Outcome<FolderFacts> {
    let facts = folder_facts(folder, None, None, handles)?;
    let entries = files::read_dir(folder).map_err(|error| Failure::io("reading the folder", folder, &error))?;
    let names: HashSet<&str> = facts.files.iter().map(|file| file.file.name.as_str()).collect();
    let mut orphans: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().map(str::to_owned))
        .filter(|name| {
            let data = [".ds.index", ".ds.loss"].iter().find_map(|end| Some(format!("{}.ds", name.strip_suffix(end)?)));
            data.is_some_and(|data| !names.contains(data.as_str()))
        })
        .collect();
    orphans.sort_unstable();
    for name in orphans {
        let message = "its .ds file does not exist";
        handles.problems.report(Problem::problem(
            ProblemKind::MissingFile,
            Subject::path(folder.join(name)),
            message,
        ))?;
    }
    if facts.tokens == 0 {
        handles.problems.report(no_document(folder))?;
    }
    Ok(facts)
}

/// Checks one file of a folder. `vocabulary` is only used if tokens are read.
pub fn check_file(
    file: &FileFacts,
    token_size: TokenSize,
    depth: Depth,
    vocabulary: Option<&Vocabulary>,
    handles: &Handles<'_>,
) -> Outcome<CheckCounts> {
    let path = &file.file.path;
    let mut checked = CheckCounts { shards: 1, samples: 0, parts: file.file.tokens, bytes: file.file.bytes };
    if file.documents.is_some() {
        checked.samples = ends(&index_path(path), file.file.tokens, handles)?;
    }
    if file.file.has_loss {
        let loss = open_read(&loss_path(path))?;
        if loss.len() != file.file.tokens {
            let message = format!(
                "it has {} for {}",
                gristmill_core::text::count(loss.len(), "byte"),
                gristmill_core::text::count(file.file.tokens, "token")
            );
            let subject = Subject::path(loss_path(path));
            handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, subject, message))?;
        }
    }
    match depth {
        Depth::Index => handles.progress.add(1, 0),
        Depth::Tokens => {
            tokens(file, token_size, vocabulary, handles)?;
            masks(file, handles)?;
            handles.progress.add(1, 0);
        }
    }
    Ok(checked)
}

/// Reports the first few findings of a kind individually, and counts the others.
struct FindingLimit<'a> {
    kind: ProblemKind,
    number: u64,
    handles: &'a Handles<'a>,
}

impl<'a> FindingLimit<'a> {
    fn new(kind: ProblemKind, handles: &'a Handles<'a>) -> Self {
        Self { kind, number: 0, handles }
    }

    fn report(&mut self, subject: Subject, message: impl FnOnce() -> String) -> Outcome<()> {
        self.number += 1;
        match self.number {
            0..=MAX_REPORTED => self.handles.problems.report(Problem::problem(self.kind, subject, message())),
            _ => {
                self.handles.problems.count_more(Severity::Problem, self.kind, 1);
                Ok(())
            }
        }
    }
}

/// Checks an index. Returns the number of documents.
fn ends(path: &Path, tokens: u64, handles: &Handles<'_>) -> Outcome<u64> {
    let index = Index::open(path)?;
    let mut limit = FindingLimit::new(ProblemKind::IndexMismatch, handles);
    let (mut last, mut document) = (0, 0);
    index.for_each_end(|end| {
        if document % (1 << 16) == 0 {
            handles.cancel.check()?;
        }
        let on = || Subject::path(path).at(document * 8);
        if end < last {
            limit.report(on(), || {
                format!("document {document} ends after token {end}, before the end of the previous one")
            })?;
        } else if end > tokens {
            limit.report(on(), || format!("document {document} ends after token {end}, and the file has {tokens}"))?;
        }
        last = end;
        document += 1;
        Ok(())
    })?;
    Ok(document)
}

fn tokens(
    file: &FileFacts,
    token_size: TokenSize,
    vocabulary: Option<&Vocabulary>,
    handles: &Handles<'_>,
) -> Outcome<()> {
    let shard = Shard::open(&file.file.path, token_size)?;
    let mut limit = FindingLimit::new(ProblemKind::BadFile, handles);
    let (mut at, mut ids) = (0, Vec::new());
    while at < file.file.tokens {
        handles.cancel.check()?;
        let count = TOKENS_PER_READ.min(file.file.tokens - at);
        let bytes = match shard.raw(at, count) {
            Err(failure) if failure.class == ExitClass::Data => {
                limit.report(Subject::path(&file.file.path), || "it became shorter while it was read".to_owned())?;
                return Ok(());
            }
            read => read?,
        };
        if let Some(vocabulary) = vocabulary {
            ids.clear();
            token_size.decode(&bytes, &mut ids);
            for (place, id) in ids.iter().enumerate().filter(|(_, id)| **id > vocabulary.greatest) {
                let token = at + place as u64;
                limit.report(Subject::path(&file.file.path).at(token * token_size.bytes()), || {
                    format!(
                        "token {token} is {id}, and the greatest id of {} is {}",
                        vocabulary.name, vocabulary.greatest
                    )
                })?;
            }
        }
        handles.progress.add(0, bytes.len() as u64);
        at += count;
    }
    Ok(())
}

fn masks(file: &FileFacts, handles: &Handles<'_>) -> Outcome<()> {
    if !file.file.has_loss {
        return Ok(());
    }
    let path = loss_path(&file.file.path);
    let loss = open_read(&path)?;
    let mut limit = FindingLimit::new(ProblemKind::BadFile, handles);
    let (mut at, mut bytes) = (0, vec![0; TOKENS_PER_READ as usize]);
    loop {
        handles.cancel.check()?;
        let count =
            loss.read_at(&mut bytes, at).map_err(|error| Failure::io("reading the loss masks", &path, &error))?;
        let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else { return Ok(()) };
        for (place, mask) in read.iter().enumerate().filter(|(_, mask)| **mask > 1) {
            let subject = Subject::path(&path).at(at + place as u64);
            limit.report(subject, || format!("a mask is {mask}, and only 0 and 1 are known"))?;
        }
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{Cancel, ProblemLog, Progress};
    use gristmill_data::formats::nanosets::metadata_path;
    use gristmill_storage::{fs::RealFs, publish::write_file};

    fn put(path: &Path, bytes: &[u8]) {
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    /// Checks a folder with one file of five tokens in two documents after `spoil` has damaged it. Returns the reports.
    fn check_damaged(spoil: impl FnOnce(&Path), depth: Depth, greatest: Option<u32>) -> String {
        let dir = tempfile::tempdir().unwrap();
        let ds = dir.path().join("a.ds");
        put(&ds, &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
        put(&index_path(&ds), &[2_u64.to_le_bytes(), 5_u64.to_le_bytes()].concat());
        put(&metadata_path(&ds), b"t|2\n5\n5.00 T");
        put(&loss_path(&ds), &[1, 1, 0, 0, 1]);
        spoil(&ds);
        let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
        let vocabulary = greatest.map(|greatest| Vocabulary { name: "v".into(), greatest });
        match begin(dir.path(), &handles) {
            Err(failure) => return failure.to_string(),
            Ok(facts) => {
                for file in &facts.files {
                    check_file(file, facts.token_size, depth, vocabulary.as_ref(), &handles).unwrap();
                }
            }
        }
        problems.to_vec().iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn undamaged_token_folder_has_no_findings() {
        assert_eq!(check_damaged(|_| (), Depth::Tokens, Some(5)), "");
    }

    #[test]
    fn inconsistent_nanosets_files_are_reported() {
        let lint = |spoil: &dyn Fn(&Path)| check_damaged(spoil, Depth::Index, None);
        let all = |spoil: &dyn Fn(&Path)| check_damaged(spoil, Depth::Tokens, Some(4));
        assert!(lint(&|ds| put(ds, &[1, 0, 2])).contains("not a multiple of"));
        assert!(lint(&|ds| put(ds, &[1, 0, 2, 0])).contains("it says 5 tokens, and the file has 2"));
        assert!(lint(&|ds| put(ds, &[])).contains("document 1 ends after token 5, and the file has 0"));
        assert!(lint(&|ds| put(&index_path(ds), b"1234")).contains("multiple of 8"));
        let down = [4_u64.to_le_bytes(), 3_u64.to_le_bytes()].concat();
        assert!(lint(&|ds| put(&index_path(ds), &down)).contains("before the end of the previous one"));
        assert!(lint(&|ds| std::fs::remove_file(index_path(ds)).unwrap()).contains("no .ds.index"));
        assert!(lint(&|ds| std::fs::remove_file(metadata_path(ds)).unwrap()).contains("no metadata"));
        assert!(lint(&|ds| put(&metadata_path(ds), b"\xff")).contains("UTF-8"));
        assert!(lint(&|ds| put(&metadata_path(ds), &vec![b'x'; 1 << 20])).contains("over the limit"));
        assert!(lint(&|ds| put(&loss_path(ds), &[1])).contains("it has 1 byte for"));
        assert!(lint(&|ds| put(&ds.with_file_name("b.ds.index"), &[])).contains("does not exist"));
        assert!(lint(&|ds| std::fs::remove_file(ds).unwrap()).contains("no .ds file"));
        assert!(all(&|_| ()).contains("token 4 is 5"));
        assert!(all(&|ds| put(&loss_path(ds), &[1, 2, 0, 0, 1])).contains("a mask is 2"));
    }
}
