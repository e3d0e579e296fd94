//! Reads packed files and folders of them.

use super::super::super::reader::{CheckRequest, TokenReader};
use super::browser::{PackedFileBrowser, PackedFolderBrowser};
use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo, MAX_LISTED};
use crate::job::check::each_unit;
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use crate::tokens::formats::modalities::engine::check::{self, facts_of};
use crate::tokens::formats::modalities::engine::folder::{check_file, files_of, packed_folder};
use crate::tokens::formats::modalities::job::start_repair;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes as size, display_safe, grouped};
use gristmill_core::{Handles, Outcome, RunOptions, TokenKind};
use gristmill_data::formats::modalities::kind::{PACKED_FILE, PACKED_FOLDER};
use gristmill_storage::files;
use std::path::Path;

/// Reads a `.pbin` file.
pub(super) struct PackedFileReader;

impl TokenReader for PackedFileReader {
    fn kind(&self) -> &'static TokenKind {
        &PACKED_FILE
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &PackedFileBrowser
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: None, item: "document", counted: "document" }
    }

    fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let facts = facts_of(path, handles)?;
        let mut info = DatasetInfo::of(&facts);
        let order = if facts.layout.is_big_endian { ", big-endian" } else { "" };
        info.add("documents", grouped(facts.documents));
        info.add("tokens", grouped(facts.tokens));
        info.add("bytes a token", format!("{}{order}", facts.layout.token_bytes));
        info.add("size", size(facts.bytes));
        info.add("layout", facts.era);
        if facts.documents > 0 {
            let mean = grouped((facts.tokens as f64 / facts.documents as f64).round() as u64);
            let ends = format!("{} to {}, {mean} on average", grouped(facts.shortest), grouped(facts.longest));
            info.add("tokens a document", ends);
        }
        if let Some(token) = facts.end_token {
            info.add("first document ends with", format!("the token {token}"));
        }
        Ok(DatasetInfo { files: 1, items: facts.documents, bytes: facts.bytes, problems: facts.problems, ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        match request.depth {
            Depth::Index => check::lint(path, handles),
            Depth::Tokens => check::verify(path, request.vocabulary, handles),
        }
    }

    fn repair(&self, path: &Path, is_dry: bool, options: RunOptions) -> Option<Outcome<Task<RepairReport>>> {
        Some(start_repair(path, is_dry, options))
    }
}

/// Reads a folder of `.pbin` files.
pub(super) struct PackedFolderReader;

impl TokenReader for PackedFolderReader {
    fn kind(&self) -> &'static TokenKind {
        &PACKED_FOLDER
    }

    fn browser(&self) -> &'static dyn TokenBrowser {
        &PackedFolderBrowser
    }

    fn texts(&self) -> CheckTexts {
        CheckTexts { shards: Some("file"), item: "document", counted: "document" }
    }

    fn info(&self, path: &Path, _: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let facts = packed_folder(path, handles)?;
        let mut info = DatasetInfo::of(&facts);
        let files = facts.files.len() as u64;
        info.add("documents", grouped(facts.documents));
        info.add("tokens", grouped(facts.tokens));
        info.add("files", grouped(files));
        info.add("size", size(facts.bytes));
        let right = Align::Right;
        info.table =
            Table::new(&[("file", Align::Left), ("tokens", right), ("documents", right), ("bytes a token", right)]);
        for file in facts.files.iter().take(MAX_LISTED) {
            let figure = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), grouped);
            let known = file.facts.as_ref();
            info.table.row([
                display_safe(&file.name).into_owned(),
                figure(known.map(|facts| facts.tokens)),
                figure(known.map(|facts| facts.documents)),
                figure(known.map(|facts| u64::from(facts.layout.token_bytes))),
            ]);
        }
        Ok(DatasetInfo { files, items: facts.documents, bytes: facts.bytes, problems: facts.problems, ..info })
    }

    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        let packed = files_of(path)?;
        let sizes = packed.iter().filter_map(|path| files::metadata(path).ok()).map(|facts| facts.len());
        let bytes = if request.depth == Depth::Tokens { sizes.sum() } else { 0 };
        each_unit(&packed, (0, bytes), request.threads, handles, |path| {
            check_file(path, request.depth, request.vocabulary, handles)
        })
    }

    fn repair_hint(&self, quoted: &str) -> (&'static str, String) {
        (
            "packed files are repaired one by one",
            format!("gristmill lint {quoted} reports which of them is wrong; name that file"),
        )
    }
}
