//! Files whose documents are rows of a table, and folders of them.

use super::figures::{texts_of, FigureGroup, Figures};
use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::browse::{self, OpenedCatalog, TokenView};
use crate::engine::check::{tables, CheckReport, CheckTexts, DatasetInfo};
use crate::job::check::run_tables;
use gristmill_core::{Cancel, Handles, Outcome, RunOptions};
use gristmill_data::source::documents::table_files;
use gristmill_storage::files;

/// Reads table files.
pub(super) struct Tables;

impl DatasetReader for Tables {
    fn texts(&self, _: &Dataset) -> CheckTexts {
        CheckTexts { shards: Some("file"), item: "row group", counted: "row" }
    }

    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        tables::info(&dataset.path, handles)
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        run_tables(&dataset.path, request.is_deep, request.run.threads, handles).map(CheckReport::from)
    }

    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        browse::tables::open(&dataset.path, dataset.kind)
    }

    fn figures(
        &self,
        dataset: &Dataset,
        group: FigureGroup,
        to: &mut Figures,
        _: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<()> {
        if group != FigureGroup::Texts {
            return Ok(());
        }
        let texts = texts_of(dataset, cancel)?;
        // In the catalog, a file that cannot be opened has no rows.
        if texts.looked_at == 0 && !files::is_dir(&dataset.path) {
            table_files(&dataset.path)?.iter().try_for_each(|file| file.format.open(&file.path).map(drop))?;
        }
        to.texts = Some(texts);
        Ok(())
    }
}
