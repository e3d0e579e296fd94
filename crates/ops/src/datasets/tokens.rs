//! Token files in the layouts of all formats.

use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::browse::{self, OpenedCatalog, TokenView};
use crate::engine::check::tokens::Depth;
use crate::engine::check::{CheckReport, CheckTexts, DatasetInfo};
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use crate::tokens::formats;
use crate::tokens::reader::{self, TokenReader};
use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, Handles, Outcome, RunOptions, Subject, TokenKind};

/// Reads token files, with a separate reader for each layout.
pub(super) struct Tokens;

/// Returns the layout of a data set of tokens, and its reader.
fn layout(dataset: &Dataset) -> Outcome<(&'static TokenKind, &'static dyn TokenReader)> {
    let kind = dataset.kind.tokens();
    kind.and_then(|kind| Some((kind, formats::reader(kind)?))).ok_or_else(|| {
        let title = dataset.kind.title();
        Failure::internal("opening the tokens", format!("files of {title} cannot be read"))
            .on(Subject::path(&dataset.path))
    })
}

impl DatasetReader for Tokens {
    fn texts(&self, dataset: &Dataset) -> CheckTexts {
        layout(dataset).map_or_else(|_| CheckTexts::default(), |(_, reader)| reader.texts())
    }

    fn has_windows(&self, dataset: &Dataset) -> bool {
        layout(dataset).is_ok_and(|(_, reader)| reader.has_windows())
    }

    fn info(&self, dataset: &Dataset, request: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        layout(dataset)?.1.info(&dataset.path, request.sequence_length, handles)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        let depth = if request.is_deep { Depth::Tokens } else { Depth::Index };
        let (vocabulary, threads) = (request.vocabulary.as_ref(), request.run.threads);
        let request = reader::CheckRequest { depth, vocabulary, threads };
        layout(dataset)?.1.check(&dataset.path, &request, handles).map(CheckReport::from)
    }

    fn repair(&self, dataset: &Dataset, is_dry: bool, options: RunOptions) -> Outcome<Task<RepairReport>> {
        let (_, reader) = layout(dataset)?;
        reader.repair(&dataset.path, is_dry, options).unwrap_or_else(|| {
            let (why, hint) = reader.repair_hint(&shell_quote(&dataset.path.to_string_lossy()));
            Err(Failure::usage("repairing", why).on(Subject::path(&dataset.path)).with_hint(hint))
        })
    }

    fn catalog(&self, dataset: &Dataset, view: &TokenView) -> Outcome<OpenedCatalog> {
        let (kind, reader) = layout(dataset)?;
        browse::tokens::open(&dataset.path, kind, reader.browser(), view)
    }
}
