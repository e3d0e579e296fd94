//! Folders of shards or media: WebDatasets, prepared or not, and media with or without metadata.

use super::figures::{scan, texts_of, FigureGroup, Figures};
use super::{CheckRequest, Dataset, DatasetReader, InfoRequest};
use crate::engine::browse::{self, OpenedCatalog, TokenView};
use crate::engine::check::media::Depth;
use crate::engine::check::{
    info, media_folder_info, no_media_tables, CheckReport, CheckTexts, DatasetInfo, InfoList, InfoReport,
};
use crate::engine::media::{facts_of, MediaSpread};
use crate::engine::spread::spread_of;
use crate::job::check::{run_lint, run_media, run_verify};
use gristmill_core::sample_type::ENERGON_PACKAGE;
use gristmill_core::text::{bytes, count, grouped, percent};
use gristmill_core::{Cancel, DatasetKind, Handles, Outcome, RunOptions};

/// Maximum number of named shards that are in no split.
const MAX_NAMED_SHARDS: usize = 10;

/// Reads a folder of shards or media.
pub(super) struct Folder;

impl DatasetReader for Folder {
    fn texts(&self, dataset: &Dataset) -> CheckTexts {
        match dataset.kind {
            DatasetKind::Filesystem => CheckTexts { shards: None, item: "row", counted: "media row" },
            _ => CheckTexts { shards: Some("shard"), item: "shard", counted: "sample" },
        }
    }

    fn info(&self, dataset: &Dataset, request: &InfoRequest, _: &Handles<'_>) -> Outcome<DatasetInfo> {
        if dataset.kind == DatasetKind::Filesystem {
            let report = media_folder_info(&dataset.path)?;
            let mut info = DatasetInfo::of(&report);
            info.add("database", bytes(report.database_bytes));
            info.lists.push(media_list(&report.media));
            return Ok(info);
        }
        let report = info(&dataset.path, &request.options)?;
        let mut described = DatasetInfo::of(&report);
        describe(&report, &mut described);
        Ok(DatasetInfo { items: report.samples, bytes: report.bytes, problems: report.problems, ..described })
    }

    fn check(&self, dataset: &Dataset, request: &CheckRequest, handles: &Handles<'_>) -> Outcome<CheckReport> {
        let (path, threads) = (&dataset.path, request.run.threads);
        let checked = match dataset.kind {
            DatasetKind::Filesystem if request.is_deep => run_media(path, Depth::Probe, threads, handles),
            DatasetKind::Filesystem if request.lint.decode => run_media(path, Depth::Decode, threads, handles),
            DatasetKind::Filesystem => run_media(path, Depth::Rows, threads, handles),
            _ if request.is_deep => run_verify(path, threads, handles),
            _ => run_lint(path, &request.lint, threads, handles),
        };
        checked.map(CheckReport::from)
    }

    fn catalog(&self, dataset: &Dataset, _: &TokenView) -> Outcome<OpenedCatalog> {
        match dataset.kind {
            DatasetKind::PreparedWebDataset => browse::prepared::open(&dataset.path),
            DatasetKind::RawWebDataset => browse::raw::open(&dataset.path, None),
            kind => browse::folder::open(&dataset.path, kind),
        }
    }

    fn figures(
        &self,
        dataset: &Dataset,
        group: FigureGroup,
        to: &mut Figures,
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<()> {
        let (path, kind) = (&dataset.path, dataset.kind);
        match group {
            FigureGroup::Samples if kind.has_splits() => to.samples = Some(spread_of(path, cancel)?),
            FigureGroup::Samples if kind.is_web_dataset() => to.scan = Some(scan(path, options, cancel)?),
            FigureGroup::Media if kind.has_splits() => to.media = facts_of(path, cancel)?,
            FigureGroup::Media if !kind.is_web_dataset() => {
                let media = facts_of(path, cancel)?;
                to.media = Some(media.ok_or_else(|| no_media_tables(path))?);
            }
            FigureGroup::Texts if kind.is_web_dataset() => to.texts = Some(texts_of(dataset, cancel)?),
            _ => {}
        }
        Ok(())
    }
}

/// Adds the facts and splits of a prepared WebDataset to a description.
fn describe(report: &InfoReport, info: &mut DatasetInfo) {
    info.add("samples", grouped(report.samples));
    info.add("total shard size", bytes(report.bytes));
    info.add("shards", grouped(report.shards));
    info.add("version", report.version.as_deref().unwrap_or("not given"));
    info.add("sample type", sample_type(report));
    if let Some(fields) = &report.field_map {
        let fields: Vec<String> = fields.iter().map(|field| format!("{} = {}", field.field, field.expr)).collect();
        info.add("field map", fields.join("; "));
    }
    if let Some(loader) = &report.sample_loader {
        info.add("sample loader", loader);
    }
    info.add("access by name", if report.has_sample_tables { "yes" } else { "no: index.sqlite is missing" });
    if report.excluded_shards + report.excluded_samples > 0 {
        let shards = count(report.excluded_shards, "shard");
        info.add("excluded", format!("{shards}, {}", count(report.excluded_samples, "sample")));
    }
    if !report.unassigned.is_empty() {
        let mut names = report.unassigned.iter().take(MAX_NAMED_SHARDS).cloned().collect::<Vec<_>>().join(", ");
        if report.unassigned.len() > MAX_NAMED_SHARDS {
            names.push_str(", …");
        }
        info.add("in no split", format!("{} ({names})", count(report.unassigned.len() as u64, "shard")));
    }
    let splits = report.splits.iter().map(|split| {
        let (samples, shards) = (count(split.samples, "sample"), count(split.shards, "shard"));
        let mut text = format!("{}, {samples}, {shards}, {}", percent(split.share), bytes(split.bytes));
        if split.unknown_shards > 0 {
            text.push_str(&format!(", {} that the index does not have", count(split.unknown_shards, "shard")));
        }
        (split.name.clone(), text)
    });
    info.lists.push(InfoList::new("splits", splits.collect()));
    info.lists.extend(report.media.iter().map(media_list));
}

fn sample_type(report: &InfoReport) -> String {
    match (&report.sample_type, &report.sample_module) {
        (None, _) => "none: there is no dataset yaml".to_owned(),
        (Some(class), Some(module)) if !module.starts_with(ENERGON_PACKAGE) => format!("{module}:{class}"),
        (Some(class), _) if report.is_crude => format!("{class} (samples as plain maps of parts)"),
        (Some(class), _) => class.clone(),
    }
}

fn media_list(media: &MediaSpread) -> InfoList {
    InfoList::new("media metadata", media.facts())
}
