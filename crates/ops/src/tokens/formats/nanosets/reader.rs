//! Reads token folders.

use super::super::super::reader::{CheckRequest, TokenReader};
use super::browser::TokenFolderBrowser;
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::check::each_unit;
use crate::tokens::formats::nanosets::engine::{check, folder_facts};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, display_safe, grouped};
use gristmill_core::{Failure, Handles, Outcome, ProblemLog, Subject, TokenKind};
use gristmill_data::formats::nanosets::kind::FOLDER;
use gristmill_storage::location::threads_for;
use std::path::Path;

/// Reads a folder of `.ds` files.
pub(super) struct FolderReader;

impl TokenReader for FolderReader {
    fn kind(&self) -> &'static TokenKind {
        &FOLDER
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &TokenFolderBrowser
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: Some("file"), item: "file", counted: "sample" }
    }

    fn has_windows(&self) -> bool {
        true
    }

    fn info(&self, path: &Path, sequence_length: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        if sequence_length == Some(0) {
            let failure = Failure::usage("counting windows", "a sequence of no token cannot be used");
            return Err(failure.on(Subject::field("--sequence-length")));
        }
        let log = ProblemLog::default();
        let facts = folder_facts(path, sequence_length, None, &Handles { problems: &log, ..*handles })?;
        let mut info = DatasetInfo::of(&facts);
        let files = facts.files.len() as u64;
        info.add("tokenizer", facts.tokenizer.as_deref().unwrap_or("not given"));
        info.add("bytes a token", facts.token_size.bytes().to_string());
        info.add("tokens", grouped(facts.tokens));
        info.add("documents", grouped(facts.documents));
        info.add("files", grouped(files));
        info.add("size", size(facts.bytes));
        if facts.files_with_loss > 0 {
            info.add("files with loss masks", grouped(facts.files_with_loss));
        }
        if let (Some(length), Some(windows), Some(unused)) = (facts.sequence_length, facts.windows, facts.unused_tokens)
        {
            info.add("sequence length", grouped(length));
            info.add("windows", grouped(windows));
            info.add("tokens in no window", grouped(unused));
        }
        let right = Align::Right;
        info.table = Table::new(&[
            ("file", Align::Left),
            ("tokens", right),
            ("documents", right),
            (if facts.windows.is_some() { "windows" } else { "" }, right),
        ]);
        for file in facts.files.iter().take(MAX_LISTED) {
            info.table.row([
                display_safe(&file.file.name).into_owned(),
                grouped(file.file.tokens),
                file.documents.map_or_else(|| "?".to_owned(), grouped),
                file.windows.map(grouped).unwrap_or_default(),
            ]);
        }
        Ok(DatasetInfo { files, items: facts.documents, bytes: facts.bytes, problems: log.to_vec(), ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        let facts = check::begin(path, handles)?;
        let bytes = if request.depth == Depth::Tokens { facts.bytes } else { 0 };
        let threads = threads_for(path, request.threads);
        each_unit(&facts.files, (facts.files.len() as u64, bytes), threads, handles, |file| {
            check::check_file(file, facts.token_size, request.depth, request.vocabulary, handles)
        })
    }
}
